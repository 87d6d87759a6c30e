//! Executable graphs: instantiation, launch and updates.

use std::ffi::{c_char, c_uint, c_ulonglong, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hip_sys::rocm_7_2::*;

use super::describe;
use super::handles::{graph_of, handle, node_of};
use crate::api::{hip_functions, put, put_if_wanted};
use crate::graph::{Exec, Mismatch, Operation};
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, Refusal, ensure};

/// `hipGraphInstantiateFlagAutoFreeOnLaunch`.
const AUTO_FREE: c_ulonglong = 1;
/// `AUTO_FREE` and `hipGraphInstantiateFlagUseNodePriority`.
const KNOWN_FLAGS: c_ulonglong = AUTO_FREE | 8;

fn exec_of(runtime: &Runtime, exec: hipGraphExec_t) -> Result<Arc<Exec>, Refusal> {
    runtime.execs.get(exec.cast()).ok_or_else(|| hipErrorInvalidValue.into())
}

/// # Safety
/// `to` must be null or valid for a write.
pub(super) unsafe fn instantiate(to: *mut hipGraphExec_t, graph: hipGraph_t, flags: c_ulonglong) -> Outcome {
    let runtime = runtime()?;
    ensure(!to.is_null() && flags & !KNOWN_FLAGS == 0, hipErrorInvalidValue)?;
    let graph = graph_of(runtime, graph)?;
    let exec = Exec::new(&runtime.graphs, &graph, flags)?;
    if runtime.graphs.any(&graph, &|operation| matches!(operation, Operation::Alloc(_) | Operation::Free(_))) {
        // The addresses belong to the nodes, so only one executable graph can have memory there.
        ensure(!graph.instantiated.swap(true, Ordering::AcqRel), hipErrorNotSupported)?;
    }
    // SAFETY: not null, hence valid, as the caller vouches.
    unsafe { put(to, runtime.execs.insert(exec).ok_or(hipErrorOutOfMemory)?.cast()) }
}

/// Replaces the operation of a node in an executable graph by another one of the same kind.
pub(super) fn change(
    exec: hipGraphExec_t,
    node: hipGraphNode_t,
    new: impl FnOnce(&'static Runtime) -> Result<Operation, Refusal>,
) -> Outcome {
    let runtime = runtime()?;
    let exec = exec_of(runtime, exec)?;
    ensure(!node.is_null(), hipErrorInvalidValue)?;
    let new = new(runtime)?;
    let changed = exec.with(node.addr(), |operation, _| {
        let fits = operation.kind() == new.kind();
        if fits {
            *operation = new;
        }
        fits
    });
    ensure(changed == Some(true), hipErrorInvalidValue)
}

/// Returns whether nodes of this kind can be disabled.
fn can_be_disabled(operation: &Operation) -> bool {
    matches!(operation, Operation::Kernel(_) | Operation::Copy(_) | Operation::Fill(_))
}

hip_functions! {
    fn hipGraphInstantiate(
        to: *mut hipGraphExec_t, graph: hipGraph_t, error_node: *mut hipGraphNode_t, log: *mut c_char, size: usize,
    ) {
        let _ = (error_node, log, size);
        instantiate(to, graph, 0)
    }

    fn hipGraphInstantiateWithFlags(to: *mut hipGraphExec_t, graph: hipGraph_t, flags: c_ulonglong) {
        instantiate(to, graph, flags)
    }

    fn hipGraphExecDestroy(exec: hipGraphExec_t) {
        let runtime = runtime()?;
        // Queued launches keep running.
        runtime.execs.remove(exec.cast()).ok_or(hipErrorInvalidValue)?.settle(&runtime.scheduler);
        Ok(())
    }

    fn hipGraphLaunch(exec: hipGraphExec_t, stream: hipStream_t) {
        let runtime = runtime()?;
        let exec = exec_of(runtime, exec)?;
        let target = runtime.live_target(stream)?;
        if runtime.captures.is_captured(target.queue) {
            let child = exec.to_graph(&runtime.graphs).ok_or(hipErrorOutOfMemory)?;
            return runtime.captures.add(&runtime.graphs, target.queue, Operation::Child(child)).inspect_err(|_| {
                runtime.graphs.destroy(child);
            });
        }
        exec.launch(runtime, &target, exec.flags & AUTO_FREE != 0)
    }

    fn hipGraphUpload(exec: hipGraphExec_t, stream: hipStream_t) {
        // Does nothing: a launch needs no upload.
        let runtime = runtime()?;
        exec_of(runtime, exec)?;
        runtime.live_target(stream).map(drop)
    }

    fn hipGraphExecUpdate(
        exec: hipGraphExec_t, graph: hipGraph_t, node: *mut hipGraphNode_t, result: *mut hipGraphExecUpdateResult,
    ) {
        let runtime = runtime()?;
        let exec = exec_of(runtime, exec)?;
        ensure(!node.is_null() && !result.is_null(), hipErrorInvalidValue)?;
        let graph = graph_of(runtime, graph)?;
        let (status, at) = match exec.update(&runtime.graphs, &graph) {
            Ok(()) => (hipGraphExecUpdateSuccess, 0),
            Err(Mismatch::Topology) => (hipGraphExecUpdateErrorTopologyChanged, 0),
            Err(Mismatch::Kind { node }) => (hipGraphExecUpdateErrorNodeTypeChanged, node),
        };
        put(result, status)?;
        put_if_wanted(node, handle(at));
        ensure(status == hipGraphExecUpdateSuccess, hipErrorGraphExecUpdateFailure)
    }

    fn hipGraphNodeSetEnabled(exec: hipGraphExec_t, node: hipGraphNode_t, enabled: c_uint) {
        let runtime = runtime()?;
        let exec = exec_of(runtime, exec)?;
        ensure(!node.is_null(), hipErrorInvalidValue)?;
        let changed = exec.with(node.addr(), |operation, is_enabled| {
            let can = can_be_disabled(operation);
            if can {
                *is_enabled = enabled != 0;
            }
            can
        });
        ensure(changed == Some(true), hipErrorInvalidValue)
    }

    fn hipGraphNodeGetEnabled(exec: hipGraphExec_t, node: hipGraphNode_t, enabled: *mut c_uint) {
        let runtime = runtime()?;
        let exec = exec_of(runtime, exec)?;
        let found = exec.with(node.addr(), |operation, enabled| can_be_disabled(operation).then_some(*enabled));
        put(enabled, c_uint::from(found.flatten().ok_or(hipErrorInvalidValue)?))
    }

    fn hipGraphExecKernelNodeSetParams(
        exec: hipGraphExec_t, node: hipGraphNode_t, parameters: *const hipKernelNodeParams,
    ) {
        change(exec, node, |runtime| describe::kernel(runtime, parameters))
    }

    fn hipGraphExecMemcpyNodeSetParams(
        exec: hipGraphExec_t, node: hipGraphNode_t, parameters: *mut hipMemcpy3DParms,
    ) {
        change(exec, node, |runtime| describe::copy(runtime, parameters))
    }

    fn hipGraphExecMemcpyNodeSetParams1D(
        exec: hipGraphExec_t, node: hipGraphNode_t, to: *mut c_void, from: *const c_void, bytes: usize,
        kind: hipMemcpyKind,
    ) {
        change(exec, node, |runtime| describe::flat_copy(runtime, to, from, bytes, kind))
    }

    fn hipGraphExecMemsetNodeSetParams(
        exec: hipGraphExec_t, node: hipGraphNode_t, parameters: *const hipMemsetParams,
    ) {
        change(exec, node, |runtime| describe::fill(runtime, parameters))
    }

    fn hipGraphExecHostNodeSetParams(
        exec: hipGraphExec_t, node: hipGraphNode_t, parameters: *const hipHostNodeParams,
    ) {
        change(exec, node, |_| describe::host(parameters))
    }

    fn hipGraphExecEventRecordNodeSetEvent(exec: hipGraphExec_t, node: hipGraphNode_t, event: hipEvent_t) {
        change(exec, node, |runtime| Ok(Operation::Record(describe::event(runtime, event)?)))
    }

    fn hipGraphExecEventWaitNodeSetEvent(exec: hipGraphExec_t, node: hipGraphNode_t, event: hipEvent_t) {
        change(exec, node, |runtime| Ok(Operation::Wait(describe::event(runtime, event)?)))
    }

    fn hipGraphExecChildGraphNodeSetParams(exec: hipGraphExec_t, node: hipGraphNode_t, child: hipGraph_t) {
        let runtime = runtime()?;
        let exec = exec_of(runtime, exec)?;
        node_of(runtime, node)?;
        let child = graph_of(runtime, child)?;
        match exec.update_child(&runtime.graphs, node.addr(), &child) {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) => Err(hipErrorUnknown.into()),
            None => Err(hipErrorInvalidValue.into()),
        }
    }

    since:

    fn hipGraphExecGetFlags(exec: hipGraphExec_t, flags: *mut c_ulonglong) {
        put(flags, exec_of(runtime()?, exec)?.flags)
    }
}
