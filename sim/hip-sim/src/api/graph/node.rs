//! Adding nodes to graphs.

use std::ffi::c_void;

use hip_sys::rocm_7_2::*;

use super::describe;
use super::handles::{graph_of, handle, nodes_from};
use crate::api::hip_functions;
use crate::graph::Operation;
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, Refusal, ensure};

/// The output pointer for the new node's handle, the graph, and the nodes it depends on, as passed from C.
pub(super) type Place = (*mut hipGraphNode_t, hipGraph_t, *const hipGraphNode_t, usize);

/// Adds a node with the operation that `make` returns.
///
/// # Safety
/// The place's pointers must be as HIP requires.
pub(super) unsafe fn add(
    (to, graph, before, count): Place,
    make: impl FnOnce(&'static Runtime) -> Result<Operation, Refusal>,
) -> Outcome {
    let runtime = runtime()?;
    ensure(!to.is_null(), hipErrorInvalidValue)?;
    let of = graph_of(runtime, graph)?;
    // SAFETY: as the caller vouches.
    let before = unsafe { nodes_from(runtime, graph, before, count) }?;
    let operation = make(runtime)?;
    let node = of.add(&runtime.graphs, graph.addr(), &before, operation).ok_or(hipErrorOutOfMemory)?;
    // SAFETY: not null, hence valid, as the caller vouches.
    unsafe { to.write(handle(node)) };
    Ok(())
}

/// Copies a graph to become a child graph of `graph`.
pub(super) fn child_of(runtime: &Runtime, graph: hipGraph_t, child: hipGraph_t) -> Result<Operation, Refusal> {
    // A graph cannot contain itself.
    ensure(child.addr() != graph.addr(), hipErrorInvalidValue)?;
    let child = graph_of(runtime, child)?;
    Ok(Operation::Child(runtime.graphs.copy(&child, true).ok_or(hipErrorOutOfMemory)?))
}

hip_functions! {
    fn hipGraphAddEmptyNode(
        to: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize,
    ) {
        add((to, graph, before, count), |_| Ok(Operation::Empty))
    }

    fn hipGraphAddKernelNode(
        to: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize,
        parameters: *const hipKernelNodeParams,
    ) {
        add((to, graph, before, count), |runtime| describe::kernel(runtime, parameters))
    }

    fn hipGraphAddMemcpyNode(
        to: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize,
        parameters: *const hipMemcpy3DParms,
    ) {
        add((to, graph, before, count), |runtime| describe::copy(runtime, parameters))
    }

    fn hipGraphAddMemcpyNode1D(
        to: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize,
        destination: *mut c_void, source: *const c_void, bytes: usize, kind: hipMemcpyKind,
    ) {
        add((to, graph, before, count), |runtime| describe::flat_copy(runtime, destination, source, bytes, kind))
    }

    fn hipGraphAddMemsetNode(
        to: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize,
        parameters: *const hipMemsetParams,
    ) {
        add((to, graph, before, count), |runtime| describe::fill(runtime, parameters))
    }

    fn hipGraphAddHostNode(
        to: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize,
        parameters: *const hipHostNodeParams,
    ) {
        add((to, graph, before, count), |_| describe::host(parameters))
    }

    fn hipGraphAddChildGraphNode(
        to: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize, child: hipGraph_t,
    ) {
        add((to, graph, before, count), |runtime| child_of(runtime, graph, child))
    }

    fn hipGraphAddEventRecordNode(
        to: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize, event: hipEvent_t,
    ) {
        add((to, graph, before, count), |runtime| Ok(Operation::Record(describe::event(runtime, event)?)))
    }

    fn hipGraphAddEventWaitNode(
        to: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize, event: hipEvent_t,
    ) {
        add((to, graph, before, count), |runtime| Ok(Operation::Wait(describe::event(runtime, event)?)))
    }
}
