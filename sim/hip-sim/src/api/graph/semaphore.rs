//! Nodes that signal semaphores of other APIs and wait for them.

use hip_sys::rocm_7_2::*;

use super::{describe, exec, node};
use crate::api::external;
use crate::api::hip_functions;
use crate::graph::Operation;
use crate::runtime::Runtime;
use crate::status::{Refusal, ensure};

/// The operation of a signal node.
///
/// # Safety
/// `parameters` must be null or valid for a read, with contents as HIP requires.
pub(super) unsafe fn signal(
    runtime: &Runtime,
    parameters: *const hipExternalSemaphoreSignalNodeParams,
) -> Result<Operation, Refusal> {
    ensure(!parameters.is_null(), hipErrorInvalidValue)?;
    // SAFETY: as the caller vouches.
    unsafe {
        let hipExternalSemaphoreSignalNodeParams { extSemArray, paramsArray, numExtSems } = *parameters;
        external::signals(runtime, extSemArray, paramsArray, numExtSems)
    }
}

/// The operation of a wait node.
///
/// # Safety
/// As of [`signal`].
pub(super) unsafe fn wait(
    runtime: &Runtime,
    parameters: *const hipExternalSemaphoreWaitNodeParams,
) -> Result<Operation, Refusal> {
    ensure(!parameters.is_null(), hipErrorInvalidValue)?;
    // SAFETY: as the caller vouches.
    unsafe {
        let hipExternalSemaphoreWaitNodeParams { extSemArray, paramsArray, numExtSems } = *parameters;
        external::waits(runtime, extSemArray, paramsArray, numExtSems)
    }
}

hip_functions! {
    fn hipGraphAddExternalSemaphoresSignalNode(
        to: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize,
        parameters: *const hipExternalSemaphoreSignalNodeParams,
    ) {
        node::add((to, graph, before, count), |runtime| signal(runtime, parameters))
    }

    fn hipGraphAddExternalSemaphoresWaitNode(
        to: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize,
        parameters: *const hipExternalSemaphoreWaitNodeParams,
    ) {
        node::add((to, graph, before, count), |runtime| wait(runtime, parameters))
    }

    fn hipGraphExternalSemaphoresSignalNodeSetParams(
        of: hipGraphNode_t, parameters: *const hipExternalSemaphoreSignalNodeParams,
    ) {
        describe::change(of, |runtime| signal(runtime, parameters))
    }

    fn hipGraphExternalSemaphoresWaitNodeSetParams(
        of: hipGraphNode_t, parameters: *const hipExternalSemaphoreWaitNodeParams,
    ) {
        describe::change(of, |runtime| wait(runtime, parameters))
    }

    fn hipGraphExecExternalSemaphoresSignalNodeSetParams(
        exec: hipGraphExec_t, of: hipGraphNode_t, parameters: *const hipExternalSemaphoreSignalNodeParams,
    ) {
        exec::change(exec, of, |runtime| signal(runtime, parameters))
    }

    fn hipGraphExecExternalSemaphoresWaitNodeSetParams(
        exec: hipGraphExec_t, of: hipGraphNode_t, parameters: *const hipExternalSemaphoreWaitNodeParams,
    ) {
        exec::change(exec, of, |runtime| wait(runtime, parameters))
    }

    since:

    // In older headers, the output parameter is `const`.
    fn hipGraphExternalSemaphoresSignalNodeGetParams(
        of: hipGraphNode_t, to: *mut hipExternalSemaphoreSignalNodeParams,
    ) {
        describe::ask(of, to, |operation| match operation {
            // The pointers lead to data that the node owns and never changes.
            Operation::SignalSemaphores(node) => Some(hipExternalSemaphoreSignalNodeParams {
                extSemArray: node.handles.as_ptr().cast_mut(),
                paramsArray: node.parameters.as_ptr(),
                numExtSems: node.handles.len() as u32,
            }),
            _ => None,
        })
    }

    fn hipGraphExternalSemaphoresWaitNodeGetParams(of: hipGraphNode_t, to: *mut hipExternalSemaphoreWaitNodeParams) {
        describe::ask(of, to, |operation| match operation {
            Operation::WaitSemaphores(node) => Some(hipExternalSemaphoreWaitNodeParams {
                extSemArray: node.handles.as_ptr().cast_mut(),
                paramsArray: node.parameters.as_ptr(),
                numExtSems: node.handles.len() as u32,
            }),
            _ => None,
        })
    }
}
