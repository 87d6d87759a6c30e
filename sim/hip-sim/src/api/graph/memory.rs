//! Allocation and free nodes of graphs.

#![allow(non_upper_case_globals, reason = "HIP's names in patterns")]

use std::ffi::{c_int, c_void};

use hip_sys::rocm_7_2::*;

use super::handles::node_of;
use super::node::add;
use crate::api::{hip_functions, put};
use crate::graph::Operation;
use crate::runtime::{Runtime, runtime};
use crate::status::{Refusal, ensure};

/// An allocation node's operation. Its address is returned at once.
pub(super) fn alloc(runtime: &Runtime, parameters: &mut hipMemAllocNodeParams) -> Result<Operation, Refusal> {
    let pool = &parameters.poolProps;
    let is_pinned = pool.allocType == hipMemAllocationTypePinned;
    let is_device = pool.location.type_ == hipMemLocationTypeDevice;
    ensure(is_pinned && is_device && parameters.bytesize > 0, hipErrorInvalidValue)?;
    let device = runtime.device(pool.location.id).map_err(|_| hipErrorInvalidValue)?;
    let memory = runtime.graph_memory.reserve(device, parameters.bytesize as u64);
    let memory = memory.map_err(|error| Refusal::new(hipErrorOutOfMemory, error.to_string()))?;
    parameters.dptr = std::ptr::with_exposed_provenance_mut(memory.base as usize);
    Ok(Operation::Alloc(memory))
}

/// An operation that frees the memory of an allocation node.
pub(super) fn free(runtime: &Runtime, ptr: *mut c_void) -> Result<Operation, Refusal> {
    let base = ptr.expose_provenance() as u64;
    runtime.graph_memory.at(base).ok_or(hipErrorInvalidValue)?;
    Ok(Operation::Free(base))
}

hip_functions! {
    fn hipGraphAddMemAllocNode(
        to: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize,
        parameters: *mut hipMemAllocNodeParams,
    ) {
        ensure(!parameters.is_null(), hipErrorInvalidValue)?;
        let parameters = &mut *parameters;
        add((to, graph, before, count), |runtime| alloc(runtime, parameters))
    }

    fn hipGraphAddMemFreeNode(
        to: *mut hipGraphNode_t, graph: hipGraph_t, before: *const hipGraphNode_t, count: usize, ptr: *mut c_void,
    ) {
        add((to, graph, before, count), |runtime| free(runtime, ptr))
    }

    fn hipGraphMemAllocNodeGetParams(node: hipGraphNode_t, parameters: *mut hipMemAllocNodeParams) {
        let node = node_of(runtime()?, node)?;
        let Operation::Alloc(memory) = node.operation().clone() else { return Err(hipErrorInvalidValue.into()) };
        let mut told = hipMemAllocNodeParams {
            bytesize: memory.size as usize,
            dptr: std::ptr::with_exposed_provenance_mut(memory.base as usize),
            ..Default::default()
        };
        told.poolProps.allocType = hipMemAllocationTypePinned;
        told.poolProps.location = hipMemLocation { type_: hipMemLocationTypeDevice, id: memory.device as c_int };
        put(parameters, told)
    }

    fn hipGraphMemFreeNodeGetParams(node: hipGraphNode_t, ptr: *mut c_void) {
        let node = node_of(runtime()?, node)?;
        let Operation::Free(base) = *node.operation() else { return Err(hipErrorInvalidValue.into()) };
        put(ptr.cast::<*mut c_void>(), std::ptr::with_exposed_provenance_mut(base as usize))
    }

    fn hipDeviceGetGraphMemAttribute(device: c_int, attribute: hipGraphMemAttributeType, value: *mut c_void) {
        let runtime = runtime()?;
        let device = runtime.device(device)?.ordinal;
        let counts = runtime.graph_memory.counts(device, |counts| *counts);
        put(value.cast::<u64>(), match attribute {
            hipGraphMemAttrUsedMemCurrent | hipGraphMemAttrReservedMemCurrent => counts.now,
            hipGraphMemAttrUsedMemHigh => counts.most,
            hipGraphMemAttrReservedMemHigh => counts.most_reserved,
            _ => return Err(hipErrorInvalidValue.into()),
        })
    }

    fn hipDeviceSetGraphMemAttribute(device: c_int, attribute: hipGraphMemAttributeType, value: *mut c_void) {
        let runtime = runtime()?;
        let device = runtime.device(device)?.ordinal;
        // Only the high-water marks can be set, and only to 0.
        ensure(!value.is_null() && *value.cast::<u64>() == 0, hipErrorInvalidValue)?;
        runtime.graph_memory.counts(device, |counts| {
            match attribute {
                hipGraphMemAttrUsedMemHigh => counts.most = counts.now,
                hipGraphMemAttrReservedMemHigh => counts.most_reserved = counts.now,
                _ => return Err(hipErrorInvalidValue.into()),
            }
            Ok(())
        })
    }

    fn hipDeviceGraphMemTrim(device: c_int) {
        // Nothing to trim: freed memory is not kept.
        runtime()?.device(device)?;
        Ok(())
    }
}
