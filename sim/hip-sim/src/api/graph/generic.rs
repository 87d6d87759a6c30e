//! Generic node functions (since 6.2): one parameter structure for every kind of node.

#![allow(non_upper_case_globals, reason = "HIP's names in patterns")]

use std::ffi::{c_int, c_ulonglong, c_void};

use hip_sys::rocm_7_2::*;

use super::{describe, exec, memory, node};
use crate::api::hip_functions;
use crate::graph::Operation;
use crate::runtime::Runtime;
use crate::status::{Refusal, ensure};

/// `hipGraphNodeParams`: the kind of the node, then the parameters of that kind.
#[repr(C)]
struct Parameters {
    kind: hipGraphNodeType,
    reserved: [c_int; 3],
    of_kind: [c_ulonglong; 29],
    reserved_too: c_ulonglong,
}

/// `hipMemcpyNodeParams`.
#[repr(C)]
struct Copy {
    flags: c_int,
    reserved: [c_int; 3],
    parameters: hipMemcpy3DParms,
}

/// `hipGraphInstantiateParams`.
#[repr(C)]
struct Instantiation {
    error_node: hipGraphNode_t,
    flags: c_ulonglong,
    result: u32,
    upload: hipStream_t,
}

/// The operation that the parameters describe, for a node of `graph`.
///
/// # Safety
/// `parameters` must be null, or valid for reads and writes and as HIP requires.
unsafe fn operation(runtime: &Runtime, graph: hipGraph_t, parameters: *mut Parameters) -> Result<Operation, Refusal> {
    ensure(!parameters.is_null(), hipErrorInvalidValue)?;
    // SAFETY: not null, hence valid, as the caller vouches; the parameters are those of the kind, as HIP asks.
    unsafe {
        let of_kind = (&raw mut (*parameters).of_kind).cast::<c_void>();
        Ok(match (*parameters).kind {
            hipGraphNodeTypeEmpty => Operation::Empty,
            hipGraphNodeTypeKernel => describe::kernel(runtime, of_kind.cast())?,
            hipGraphNodeTypeMemcpy => describe::copy(runtime, &raw const (*of_kind.cast::<Copy>()).parameters)?,
            hipGraphNodeTypeMemset => describe::fill(runtime, of_kind.cast())?,
            hipGraphNodeTypeHost => describe::host(of_kind.cast())?,
            hipGraphNodeTypeGraph => node::child_of(runtime, graph, *of_kind.cast())?,
            hipGraphNodeTypeWaitEvent => Operation::Wait(describe::event(runtime, *of_kind.cast())?),
            hipGraphNodeTypeEventRecord => Operation::Record(describe::event(runtime, *of_kind.cast())?),
            #[cfg(target_os = "linux")]
            hipGraphNodeTypeExtSemaphoreSignal => super::semaphore::signal(runtime, of_kind.cast())?,
            #[cfg(target_os = "linux")]
            hipGraphNodeTypeExtSemaphoreWait => super::semaphore::wait(runtime, of_kind.cast())?,
            hipGraphNodeTypeMemAlloc => memory::alloc(runtime, &mut *of_kind.cast())?,
            hipGraphNodeTypeMemFree => memory::free(runtime, *of_kind.cast())?,
            _ => return Err(hipErrorNotSupported.into()),
        })
    }
}

/// A new operation for an existing node. Only kinds without a graph or memory of their own are accepted.
///
/// # Safety
/// As of [`operation`].
unsafe fn changed(runtime: &Runtime, parameters: *mut Parameters) -> Result<Operation, Refusal> {
    ensure(!parameters.is_null(), hipErrorInvalidValue)?;
    // SAFETY: not null, hence valid, as the caller vouches.
    let kind = unsafe { (*parameters).kind };
    let owns = [hipGraphNodeTypeGraph, hipGraphNodeTypeMemAlloc, hipGraphNodeTypeMemFree];
    ensure(!owns.contains(&kind), hipErrorNotSupported)?;
    // SAFETY: guaranteed by the caller. No graph is needed for these kinds.
    unsafe { operation(runtime, std::ptr::null_mut(), parameters) }
}

hip_functions! {
    since:

    fn hipGraphAddNode(
        to: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize,
        parameters: *mut Parameters,
    ) {
        node::add((to, graph, before, count), |runtime| operation(runtime, graph, parameters))
    }

    fn hipGraphNodeSetParams(node: hipGraphNode_t, parameters: *mut Parameters) {
        describe::change(node, |runtime| changed(runtime, parameters))
    }

    fn hipGraphExecNodeSetParams(exec: hipGraphExec_t, node: hipGraphNode_t, parameters: *mut Parameters) {
        exec::change(exec, node, |runtime| changed(runtime, parameters))
    }

    fn hipGraphInstantiateWithParams(to: *mut hipGraphExec_t, graph: hipGraph_t, parameters: *mut Instantiation) {
        ensure(!parameters.is_null(), hipErrorInvalidValue)?;
        let Instantiation { error_node, flags, result, .. } = &mut *parameters;
        *error_node = std::ptr::null_mut();
        let made = exec::instantiate(to, graph, *flags);
        // 0 for success, else 1: an error that the status describes.
        *result = u32::from(made.is_err());
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layouts_are_cs() {
        // The sizes are those that a C compiler computes from the headers of HIP 7.2.
        assert_eq!((size_of::<Parameters>(), std::mem::offset_of!(Parameters, of_kind)), (256, 16));
        assert_eq!(std::mem::offset_of!(Copy, parameters), 16);
        assert_eq!(size_of::<Instantiation>(), 32);
    }
}
