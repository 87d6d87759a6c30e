//! Memory and semaphores of other APIs, by file descriptor. Linux only.

#![allow(non_upper_case_globals, reason = "HIP's names in patterns")]

use std::ffi::{c_uint, c_void};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use amdgpu_sim::AllocKind;
use hip_sys::rocm_7_2::*;

use super::{hip_functions, put};
use crate::allocation::{make_room, pointer};
use crate::external_memory::ExternalMemory;
use crate::graph::{Operation, SemaphoreNode};
use crate::memory::{Block, Kind};
use crate::queue::Work;
use crate::runtime::{Runtime, runtime};
use crate::semaphore::{Semaphore, What};
use crate::status::{Outcome, Refusal, ensure};

/// `hipExternalSemaphoreHandleTypeTimelineSemaphoreFd`, added in HIP 6.2.
const TIMELINE_FD: hipExternalSemaphoreHandleType = hipExternalSemaphoreHandleType(9);

/// Imports memory for the current device. The caller keeps the descriptor.
fn import(runtime: &Runtime, descriptor: i32, size: u64) -> Result<*mut c_void, Refusal> {
    let device = runtime.live_current()?;
    let refused = |why: String| {
        // AMD's runtime returns this status.
        Refusal::new(hipErrorOutOfMemory, format!("descriptor {descriptor} is no memory that can be imported: {why}"))
    };
    ensure(descriptor >= 0, hipErrorOutOfMemory)?;
    // SAFETY: borrowed for one call, which fails if the descriptor is not open.
    let copy = unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned();
    let copy = copy.map_err(|error| refused(error.to_string()))?;
    let physical = runtime.memory().import_physical(copy, Some(device.gpu.agent()));
    let physical = physical.map_err(|error| refused(error.to_string()))?;
    if size > physical.size() {
        return Err(refused(format!("it has {} bytes, not {size}", physical.size())));
    }
    let memory = ExternalMemory { physical, device: device.ordinal, size };
    Ok(runtime.external_memory.insert(memory).ok_or(hipErrorOutOfMemory)?)
}

/// Maps a part of imported memory to an address.
fn map(runtime: &Runtime, memory: &ExternalMemory, offset: u64, size: u64) -> Result<*mut c_void, Refusal> {
    let inside = offset.checked_add(size).is_some_and(|end| end <= memory.size);
    if size == 0 || !inside {
        let text = format!("{size} bytes from byte {offset} on of {} bytes of imported memory", memory.size);
        return Err(Refusal::new(hipErrorInvalidValue, text));
    }
    let device = &runtime.devices[memory.device];
    device.alive()?;
    make_room(runtime, device, memory.physical.size());
    let access = runtime.peers.hold();
    let attached =
        runtime.memory().attach(&memory.physical, AllocKind::Device, access.rights(&runtime.devices, device));
    let start = attached.map_err(|error| Refusal::new(hipErrorOutOfMemory, error.to_string()))?;
    let (base, kind, device) = (start + offset, Kind::Imported { offset }, device.ordinal);
    runtime.blocks.insert(Block { base, size, kind, device, flags: 0, freeing: false, share: None });
    Ok(pointer(base))
}

/// Looks semaphores up, and pairs each with the value that `value` reads from its parameters.
///
/// # Safety
/// Both must be null or valid for reads of `count`.
unsafe fn fences<P: Copy>(
    runtime: &Runtime,
    handles: *const hipExternalSemaphore_t,
    parameters: *const P,
    count: c_uint,
    read: impl Fn(&P) -> (u64, c_uint),
) -> Result<Arc<SemaphoreNode<P>>, Refusal> {
    ensure(!handles.is_null() && !parameters.is_null() && count > 0, hipErrorInvalidValue)?;
    // SAFETY: not null, hence valid, as the caller vouches.
    let (handles, parameters) = unsafe {
        let count = count as usize;
        (std::slice::from_raw_parts(handles, count).to_vec(), std::slice::from_raw_parts(parameters, count).to_vec())
    };
    let mut fences = Vec::with_capacity(handles.len());
    for (handle, parameters) in handles.iter().zip(&parameters) {
        let semaphore = runtime.semaphores.get(*handle).ok_or(hipErrorInvalidValue)?;
        let (value, flags) = read(parameters);
        ensure(flags == 0, hipErrorInvalidValue)?;
        fences.push((semaphore, value));
    }
    Ok(Arc::new(SemaphoreNode { fences, handles, parameters }))
}

/// The operation that signals semaphores, with a value for each.
///
/// # Safety
/// Both must be null or valid for reads of `count`.
pub(super) unsafe fn signals(
    runtime: &Runtime,
    handles: *const hipExternalSemaphore_t,
    parameters: *const hipExternalSemaphoreSignalParams,
    count: c_uint,
) -> Result<Operation, Refusal> {
    // SAFETY: as the caller vouches.
    let node = unsafe { fences(runtime, handles, parameters, count, |of| (of.params.fence.value, of.flags)) };
    node.map(Operation::SignalSemaphores)
}

/// The operation that waits for semaphores, with a value for each.
///
/// # Safety
/// Both must be null or valid for reads of `count`.
pub(super) unsafe fn waits(
    runtime: &Runtime,
    handles: *const hipExternalSemaphore_t,
    parameters: *const hipExternalSemaphoreWaitParams,
    count: c_uint,
) -> Result<Operation, Refusal> {
    // SAFETY: as the caller vouches.
    let node = unsafe { fences(runtime, handles, parameters, count, |of| (of.params.fence.value, of.flags)) };
    node.map(Operation::WaitSemaphores)
}

/// Queues a semaphore operation, or adds it to the graph of a capture.
fn queue(runtime: &'static Runtime, stream: hipStream_t, operation: Operation) -> Outcome {
    let target = runtime.live_target(stream)?;
    if runtime.captures.is_captured(target.queue) {
        return runtime.captures.add(&runtime.graphs, target.queue, operation);
    }
    let work = Work::Wait(Box::new(move || match &operation {
        Operation::SignalSemaphores(node) => node.signal(&runtime.devices[target.device]),
        Operation::WaitSemaphores(node) => node.wait(&runtime.devices[target.device]),
        _ => Ok(()),
    }));
    runtime.scheduler.submit(target.queue, work, &[]).ok_or(hipErrorContextIsDestroyed)?;
    Ok(())
}

hip_functions! {
    fn hipImportExternalMemory(to: *mut hipExternalMemory_t, description: *const hipExternalMemoryHandleDesc) {
        let runtime = runtime()?;
        ensure(!to.is_null() && !description.is_null(), hipErrorInvalidValue)?;
        let hipExternalMemoryHandleDesc { type_, handle, size, flags, .. } = *description;
        ensure(size > 0 && flags & !hipExternalMemoryDedicated == 0, hipErrorInvalidValue)?;
        ensure(type_ == hipExternalMemoryHandleTypeOpaqueFd, hipErrorInvalidValue)?;
        put(to, import(runtime, handle.fd, size)?)
    }

    fn hipExternalMemoryGetMappedBuffer(
        to: *mut *mut c_void, memory: hipExternalMemory_t, description: *const hipExternalMemoryBufferDesc,
    ) {
        let runtime = runtime()?;
        runtime.captures.refuse_unsafe()?;
        ensure(!to.is_null() && !description.is_null(), hipErrorInvalidValue)?;
        let memory = runtime.external_memory.get(memory).ok_or(hipErrorInvalidValue)?;
        let hipExternalMemoryBufferDesc { offset, size, flags, .. } = *description;
        ensure(flags == 0, hipErrorInvalidValue)?;
        put(to, map(runtime, &memory, offset, size)?)
    }

    fn hipDestroyExternalMemory(memory: hipExternalMemory_t) {
        // Mappings keep the memory alive.
        runtime()?.external_memory.remove(memory).ok_or(hipErrorInvalidValue)?;
        Ok(())
    }

    fn hipImportExternalSemaphore(
        to: *mut hipExternalSemaphore_t, description: *const hipExternalSemaphoreHandleDesc,
    ) {
        let runtime = runtime()?;
        ensure(!to.is_null() && !description.is_null(), hipErrorInvalidValue)?;
        runtime.live_current()?;
        let hipExternalSemaphoreHandleDesc { type_, handle, flags, .. } = *description;
        ensure(flags == 0, hipErrorInvalidValue)?;
        let what = match type_ {
            hipExternalSemaphoreHandleTypeOpaqueFd => What::Binary,
            TIMELINE_FD => What::Timeline,
            _ => return Err(hipErrorInvalidValue.into()),
        };
        let semaphore = Semaphore::take(handle.fd, what)?;
        put(to, runtime.semaphores.insert(semaphore).ok_or(hipErrorOutOfMemory)?)
    }

    fn hipDestroyExternalSemaphore(semaphore: hipExternalSemaphore_t) {
        // Queued operations keep the semaphore alive.
        runtime()?.semaphores.remove(semaphore).ok_or(hipErrorInvalidValue)?;
        Ok(())
    }

    fn hipSignalExternalSemaphoresAsync(
        semaphores: *const hipExternalSemaphore_t, parameters: *const hipExternalSemaphoreSignalParams,
        count: c_uint, stream: hipStream_t,
    ) {
        let runtime = runtime()?;
        queue(runtime, stream, signals(runtime, semaphores, parameters, count)?)
    }

    fn hipWaitExternalSemaphoresAsync(
        semaphores: *const hipExternalSemaphore_t, parameters: *const hipExternalSemaphoreWaitParams,
        count: c_uint, stream: hipStream_t,
    ) {
        let runtime = runtime()?;
        queue(runtime, stream, waits(runtime, semaphores, parameters, count)?)
    }
}
