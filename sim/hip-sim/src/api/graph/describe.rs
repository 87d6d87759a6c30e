//! Node parameters: reading and validating those from C, and getting and setting them.

use std::ffi::c_void;
use std::sync::Arc;

use hip_sys::rocm_7_2::*;

use super::handles::{handle, node_of};
use crate::api::copy::{cuboid, ensure_kind};
use crate::api::{hip_functions, put};
use crate::copy::{Copy, Shape};
use crate::fill::Fill;
use crate::graph::{CopyNode, FillNode, HostCall, KernelNode, Operation};
use crate::launch::{Launch, Prepared};
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, Refusal, ensure};

/// Reads a kernel node's parameters.
///
/// # Safety
/// `parameters` must be null or as HIP asks of them.
pub(super) unsafe fn kernel(runtime: &Runtime, parameters: *const hipKernelNodeParams) -> Result<Operation, Refusal> {
    ensure(!parameters.is_null(), hipErrorInvalidValue)?;
    // SAFETY: not null, hence valid, as the caller vouches.
    let parameters = unsafe { *parameters };
    let hipKernelNodeParams { blockDim: block, extra, func, gridDim: grid, kernelParams, sharedMemBytes: lds } =
        parameters;
    ensure(!func.is_null(), hipErrorInvalidValue)?;
    let (grid, block) = ([grid.x, grid.y, grid.z], [block.x, block.y, block.z]);
    let threads = block.iter().map(|n| u64::from(*n)).product::<u64>();
    let is_sized = !grid.contains(&0) && threads > 0 && threads <= u64::from(crate::properties::MAX_THREADS);
    ensure(is_sized, hipErrorInvalidConfiguration)?;
    let launch = Launch::from_blocks(grid, block, lds)?;
    // SAFETY: as the caller vouches.
    let prepared = unsafe { Prepared::new(runtime, func.cast(), launch, kernelParams, extra) };
    let prepared = prepared.map_err(|refusal| {
        // Nodes report an invalid function handle as an invalid value.
        if refusal.is(hipErrorInvalidHandle) { hipErrorInvalidValue.into() } else { refusal }
    })?;
    Ok(Operation::Kernel(Arc::new(KernelNode::new(prepared, parameters))))
}

/// Reads the parameters of a two- or three-dimensional copy.
///
/// # Safety
/// `parameters` must be null or as HIP asks of them.
pub(super) unsafe fn copy(runtime: &Runtime, parameters: *const hipMemcpy3DParms) -> Result<Operation, Refusal> {
    ensure(!parameters.is_null(), hipErrorInvalidValue)?;
    // SAFETY: not null, hence valid, as the caller vouches.
    let parameters = unsafe { *parameters };
    ensure_kind(parameters.kind)?;
    let (to, from, shape) = cuboid(runtime, &parameters)?;
    ensure(!shape.is_empty() && !to.is_null() && !from.is_null(), hipErrorInvalidValue)?;
    let copy = Copy::check(runtime, to, from, shape, parameters.kind)?;
    Ok(Operation::Copy(Arc::new(CopyNode { copy, parameters })))
}

/// A copy from address to address.
pub(super) fn flat_copy(
    runtime: &Runtime,
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: hipMemcpyKind,
) -> Result<Operation, Refusal> {
    ensure(bytes > 0 && !to.is_null() && !from.is_null(), hipErrorInvalidValue)?;
    ensure_kind(kind)?;
    // The kind is not checked against the memory: graphs accept a wrong kind and copy by the actual memory.
    let copy = Copy::check(runtime, to, from, Shape::flat(bytes), hipMemcpyDefault)?;
    let whole = |ptr: *mut c_void| hipPitchedPtr { ptr, pitch: 0, xsize: 0, ysize: 0 };
    let parameters = hipMemcpy3DParms {
        dstPtr: whole(to),
        srcPtr: whole(from.cast_mut()),
        extent: hipExtent { width: bytes, height: 1, depth: 1 },
        kind,
        ..Default::default()
    };
    Ok(Operation::Copy(Arc::new(CopyNode { copy, parameters })))
}

/// Reads the parameters of a fill.
///
/// # Safety
/// `parameters` must be null or valid for a read.
pub(super) unsafe fn fill(runtime: &Runtime, parameters: *const hipMemsetParams) -> Result<Operation, Refusal> {
    ensure(!parameters.is_null(), hipErrorInvalidValue)?;
    // SAFETY: not null, hence valid, as the caller vouches.
    let parameters = unsafe { *parameters };
    let hipMemsetParams { dst, elementSize: element, height, pitch, value, width } = parameters;
    ensure([1, 2, 4].contains(&element) && width > 0 && height > 0 && !dst.is_null(), hipErrorInvalidValue)?;
    let pattern = (value.to_le_bytes(), element as usize);
    let fill = Fill::check(runtime, dst, pattern, width, (pitch, height))?;
    Ok(Operation::Fill(FillNode { fill, parameters }))
}

/// Reads the parameters of a host function.
///
/// # Safety
/// `parameters` must be null or valid for a read.
pub(super) unsafe fn host(parameters: *const hipHostNodeParams) -> Result<Operation, Refusal> {
    ensure(!parameters.is_null(), hipErrorInvalidValue)?;
    // SAFETY: not null, hence valid, as the caller vouches.
    let hipHostNodeParams { fn_, userData: data } = unsafe { *parameters };
    Ok(Operation::Host(HostCall { function: fn_.ok_or(hipErrorInvalidValue)?, data }))
}

/// Checks that an event exists.
pub(super) fn event(runtime: &Runtime, handle: hipEvent_t) -> Result<usize, Refusal> {
    runtime.events.get(handle.cast()).ok_or(hipErrorInvalidValue)?;
    Ok(handle.addr())
}

/// Replaces a node's operation by another one of the same kind.
pub(super) fn change(
    node: hipGraphNode_t,
    new: impl FnOnce(&'static Runtime) -> Result<Operation, Refusal>,
) -> Outcome {
    let runtime = runtime()?;
    let node = node_of(runtime, node)?;
    let new = new(runtime)?;
    let mut operation = node.operation();
    ensure(operation.kind() == new.kind(), hipErrorInvalidValue)?;
    *operation = new;
    Ok(())
}

/// Writes the parameters that `tell` reads from a node's operation. Refuses null and nodes of other kinds.
///
/// # Safety
/// `to` must be null or valid for a write.
pub(super) unsafe fn ask<T>(node: hipGraphNode_t, to: *mut T, tell: impl FnOnce(&Operation) -> Option<T>) -> Outcome {
    let node = node_of(runtime()?, node)?;
    let told = tell(&node.operation()).ok_or(hipErrorInvalidValue)?;
    // SAFETY: as the caller vouches.
    unsafe { put(to, told) }
}

hip_functions! {
    fn hipGraphKernelNodeGetParams(node: hipGraphNode_t, parameters: *mut hipKernelNodeParams) {
        ask(node, parameters, |operation| match operation {
            Operation::Kernel(kernel) => Some(kernel.parameters()),
            _ => None,
        })
    }

    fn hipGraphKernelNodeSetParams(node: hipGraphNode_t, parameters: *const hipKernelNodeParams) {
        change(node, |runtime| kernel(runtime, parameters))
    }

    fn hipGraphMemcpyNodeGetParams(node: hipGraphNode_t, parameters: *mut hipMemcpy3DParms) {
        ask(node, parameters, |operation| match operation {
            Operation::Copy(copy) => Some(copy.parameters),
            _ => None,
        })
    }

    fn hipGraphMemcpyNodeSetParams(node: hipGraphNode_t, parameters: *const hipMemcpy3DParms) {
        change(node, |runtime| copy(runtime, parameters))
    }

    fn hipGraphMemcpyNodeSetParams1D(
        node: hipGraphNode_t, to: *mut c_void, from: *const c_void, bytes: usize, kind: hipMemcpyKind,
    ) {
        change(node, |runtime| flat_copy(runtime, to, from, bytes, kind))
    }

    fn hipGraphMemsetNodeGetParams(node: hipGraphNode_t, parameters: *mut hipMemsetParams) {
        ask(node, parameters, |operation| match operation {
            Operation::Fill(fill) => Some(fill.parameters),
            _ => None,
        })
    }

    fn hipGraphMemsetNodeSetParams(node: hipGraphNode_t, parameters: *const hipMemsetParams) {
        change(node, |runtime| fill(runtime, parameters))
    }

    fn hipGraphHostNodeGetParams(node: hipGraphNode_t, parameters: *mut hipHostNodeParams) {
        ask(node, parameters, |operation| match operation {
            Operation::Host(call) => Some(hipHostNodeParams { fn_: Some(call.function), userData: call.data }),
            _ => None,
        })
    }

    fn hipGraphHostNodeSetParams(node: hipGraphNode_t, parameters: *const hipHostNodeParams) {
        change(node, |_| host(parameters))
    }

    fn hipGraphChildGraphNodeGetGraph(node: hipGraphNode_t, graph: *mut hipGraph_t) {
        ask(node, graph, |operation| match operation {
            Operation::Child(child) => Some(handle(*child)),
            _ => None,
        })
    }

    fn hipGraphEventRecordNodeGetEvent(node: hipGraphNode_t, to: *mut hipEvent_t) {
        ask(node, to, |operation| match operation {
            Operation::Record(event) => Some(handle(*event)),
            _ => None,
        })
    }

    fn hipGraphEventRecordNodeSetEvent(node: hipGraphNode_t, to: hipEvent_t) {
        change(node, |runtime| Ok(Operation::Record(event(runtime, to)?)))
    }

    fn hipGraphEventWaitNodeGetEvent(node: hipGraphNode_t, to: *mut hipEvent_t) {
        ask(node, to, |operation| match operation {
            Operation::Wait(event) => Some(handle(*event)),
            _ => None,
        })
    }

    fn hipGraphEventWaitNodeSetEvent(node: hipGraphNode_t, to: hipEvent_t) {
        change(node, |runtime| Ok(Operation::Wait(event(runtime, to)?)))
    }
}
