//! Interprocess memory and events, shared by handles. Linux only.

use std::ffi::{c_uint, c_void};
use std::sync::{Arc, Mutex};

use amdgpu_sim::{Agent, AllocKind, MemoryError, PAGE, Physical};
use hip_sys::rocm_7_2::*;

use super::event::INTERPROCESS;
use super::{hip_functions, put};
use crate::allocation::{address, make_room, pointer, release};
use crate::event::Event;
use crate::ipc::{Handle, WORDS, What};
use crate::memory::{Block, Kind};
use crate::runtime::{Runtime, runtime};
use crate::shared_event::SharedEvent;
use crate::status::{Refusal, ensure};

/// `hipIpcMemLazyEnablePeerAccess`: the only flag that HIP accepts.
const LAZY_PEER_ACCESS: c_uint = 1;

/// Creates a handle for the `hipMalloc` memory that contains `at`.
fn share(runtime: &Runtime, at: u64) -> Result<Handle, Refusal> {
    let block = runtime.blocks.find(at).filter(|block| block.kind == Kind::Device && block.share.is_none());
    let block = block.ok_or_else(|| {
        Refusal::new(hipErrorInvalidValue, format!("{at:#x} is not in live memory of hipMalloc's, of this process"))
    })?;
    // Sharing may move the bytes to a shared file, so nothing may write them meanwhile.
    runtime.drain(None);
    let refused = |error: MemoryError| Refusal::new(hipErrorInvalidValue, error.to_string());
    let name = runtime.memory().share(block.base).and_then(|physical| physical.name()).map_err(refused)?;
    Ok(Handle { what: What::Memory, name, device: block.device as u32, size: block.size, offset: at - block.base })
}

/// The memory of another process behind a handle.
fn import(runtime: &Runtime, handle: &Handle, owner: Option<Agent>) -> Result<Arc<Physical>, Refusal> {
    ensure(handle.name.process() != std::process::id(), hipErrorInvalidContext)?;
    let physical = handle.name.open().and_then(|file| runtime.memory().import_physical(file, owner).ok());
    physical
        .ok_or_else(|| Refusal::new(hipErrorInvalidDevicePointer, "the memory, or the process whose it is, is gone"))
}

/// Decodes a handle of kind `what`.
fn read<T>(handle: &T, what: What) -> Result<Handle, Refusal> {
    const { assert!(size_of::<T>() == size_of::<[u32; WORDS]>()) };
    // SAFETY: the sizes are equal, and any bytes are a valid value.
    let words = unsafe { std::ptr::from_ref(handle).cast::<[[u8; 4]; WORDS]>().read_unaligned() };
    let refused = || Refusal::new(hipErrorInvalidValue, format!("no handle of {what:?}, or damaged"));
    Handle::read(&words.map(u32::from_le_bytes), what).ok_or_else(refused)
}

/// Opens the memory of another process on the current device and returns its address.
fn open(runtime: &Runtime, handle: &Handle) -> Result<u64, Refusal> {
    let Handle { size, offset, .. } = *handle;
    let device = runtime.live_current()?;
    let physical = import(runtime, handle, Some(device.gpu.agent()))?;
    ensure(offset < size && size <= physical.size(), hipErrorInvalidValue)?;
    make_room(runtime, device, physical.size());
    let access = runtime.peers.hold();
    let attached = runtime.memory().attach(&physical, AllocKind::Device, access.rights(&runtime.devices, device));
    let base = attached.map_err(|error| Refusal::new(hipErrorOutOfMemory, error.to_string()))?;
    let (kind, device) = (Kind::Opened, device.ordinal);
    runtime.blocks.insert(Block { base, size, kind, device, flags: 0, freeing: false, share: None });
    Ok(base + offset)
}

hip_functions! {
    fn hipIpcGetMemHandle(handle: *mut hipIpcMemHandle_t, ptr: *mut c_void) {
        let runtime = runtime()?;
        ensure(!handle.is_null() && !ptr.is_null(), hipErrorInvalidValue)?;
        put(handle.cast(), share(runtime, address(ptr))?.write().map(u32::to_le_bytes))
    }

    fn hipIpcOpenMemHandle(ptr: *mut *mut c_void, handle: hipIpcMemHandle_t, flags: c_uint) {
        let runtime = runtime()?;
        runtime.captures.refuse_unsafe()?;
        ensure(!ptr.is_null() && flags == LAZY_PEER_ACCESS, hipErrorInvalidValue)?;
        put(ptr, pointer(open(runtime, &read(&handle, What::Memory)?)?))
    }

    fn hipIpcCloseMemHandle(ptr: *mut c_void) {
        let runtime = runtime()?;
        let opened = |block: &Block| block.kind == Kind::Opened;
        let block = runtime.blocks.find(address(ptr)).filter(opened).ok_or(hipErrorInvalidValue)?;
        runtime.drain(None);
        // Another thread may have closed it first.
        let block = runtime.blocks.remove(block.base, opened).ok_or(hipErrorInvalidValue)?;
        release(runtime, &block);
        Ok(())
    }

    fn hipIpcGetEventHandle(handle: *mut hipIpcEventHandle_t, event: hipEvent_t) {
        let runtime = runtime()?;
        ensure(!handle.is_null() && !event.is_null(), hipErrorInvalidValue)?;
        let event = runtime.events.get(event.cast()).ok_or(hipErrorInvalidHandle)?;
        ensure(event.flags & INTERPROCESS != 0, hipErrorInvalidConfiguration)?;
        let shared = event.shared.as_ref().ok_or(hipErrorNotSupported)?;
        let name = shared.physical().name();
        let name = name.map_err(|error| Refusal::new(hipErrorInvalidValue, error.to_string()))?;
        let words = Handle { what: What::Event, name, device: event.device as u32, size: PAGE, offset: 0 };
        put(handle.cast(), words.write().map(u32::to_le_bytes))
    }

    fn hipIpcOpenEventHandle(to: *mut hipEvent_t, handle: hipIpcEventHandle_t) {
        let runtime = runtime()?;
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        let device = runtime.live_current()?;
        let physical = import(runtime, &read(&handle, What::Event)?, None)?;
        ensure(physical.size() == PAGE, hipErrorInvalidValue)?;
        let shared = SharedEvent::new(&runtime.scheduler, device, Some(physical));
        let shared = Some(shared.map_err(|error| Refusal::new(hipErrorOutOfMemory, error.to_string()))?);
        let flags = INTERPROCESS | hipEventDisableTiming;
        let event = Event { device: device.ordinal, flags, record: Mutex::default(), shared, mark: Mutex::default() };
        put(to, runtime.events.insert(event).ok_or(hipErrorOutOfMemory)?.cast())
    }
}
