//! Memory that processes share, by handles. Linux alone has it.

use std::ffi::{c_uint, c_void};

use amdgpu_sim::{AllocKind, MemoryError};
use hip_sys::*;

use super::device::release;
use super::memory::{address, pointer};
use super::{hip_functions, put};
use crate::ipc::{MemoryHandle, WORDS};
use crate::memory::{Block, Kind};
use crate::runtime::{Runtime, runtime};
use crate::status::{Refusal, ensure};

/// `hipIpcMemLazyEnablePeerAccess`: 1 since HIP 6, which takes nothing else, and 0 before.
const LAZY_PEER_ACCESS: c_uint = if hip_sys::API_LEVEL.0 >= 6 { 1 } else { 0 };

const _: () = assert!(size_of::<hipIpcMemHandle_t>() == size_of::<[u32; WORDS]>());

/// A handle for the memory of `hipMalloc` around `at`.
fn share(runtime: &Runtime, at: u64) -> Result<MemoryHandle, Refusal> {
    let block = runtime.memory.find(at).filter(|block| block.kind == Kind::Device && block.share.is_none());
    let block = block.ok_or_else(|| {
        Refusal::new(hipErrorInvalidValue, format!("{at:#x} is not in live memory of hipMalloc's, of this process"))
    })?;
    // Its bytes may move to where others find them, and nothing may write them meanwhile.
    runtime.drain(None);
    let refused = |error: MemoryError| Refusal::new(hipErrorInvalidValue, error.to_string());
    let name = runtime.memory().share(block.base).and_then(|physical| physical.name()).map_err(refused)?;
    Ok(MemoryHandle { name, device: block.device as u32, size: block.size, offset: at - block.base })
}

/// Opens the memory of another process, for the current device; where it begins.
fn open(runtime: &Runtime, handle: &MemoryHandle) -> Result<u64, Refusal> {
    let MemoryHandle { name, size, offset, .. } = *handle;
    ensure(name.process() != std::process::id(), hipErrorInvalidContext)?;
    let gone = || Refusal::new(hipErrorInvalidDevicePointer, "the memory, or the process whose it is, is gone");
    let device = runtime.live_current()?;
    let file = name.open().ok_or_else(gone)?;
    let physical = runtime.memory().import_physical(file, Some(device.gpu.agent())).map_err(|_| gone())?;
    ensure(offset < size && size <= physical.size(), hipErrorInvalidValue)?;
    super::memory::make_room(runtime, device, physical.size());
    let access = runtime.peers.hold();
    let attached = runtime.memory().attach(&physical, AllocKind::Device, access.rights(runtime, device));
    let base = attached.map_err(|error| Refusal::new(hipErrorOutOfMemory, error.to_string()))?;
    let (kind, device) = (Kind::Opened, device.ordinal);
    runtime.memory.insert(Block { base, size, kind, device, flags: 0, freeing: false, share: None });
    Ok(base + offset)
}

hip_functions! {
    fn hipIpcGetMemHandle(handle: *mut hipIpcMemHandle_t, ptr: *mut c_void) {
        let runtime = runtime()?;
        runtime.captures.refuse_unsafe()?;
        ensure(!handle.is_null() && !ptr.is_null(), hipErrorInvalidValue)?;
        put(handle.cast(), share(runtime, address(ptr))?.write().map(u32::to_le_bytes))
    }

    fn hipIpcOpenMemHandle(ptr: *mut *mut c_void, handle: hipIpcMemHandle_t, flags: c_uint) {
        let runtime = runtime()?;
        runtime.captures.refuse_unsafe()?;
        ensure(!ptr.is_null() && flags == LAZY_PEER_ACCESS, hipErrorInvalidValue)?;
        let words = (&raw const handle).cast::<[[u8; 4]; WORDS]>().read().map(u32::from_le_bytes);
        let handle = MemoryHandle::read(&words)
            .ok_or_else(|| Refusal::new(hipErrorInvalidValue, "not a handle of hipIpcGetMemHandle's, or damaged"))?;
        put(ptr, pointer(open(runtime, &handle)?))
    }

    fn hipIpcCloseMemHandle(ptr: *mut c_void) {
        let runtime = runtime()?;
        let opened = |block: &Block| block.kind == Kind::Opened;
        let block = runtime.memory.find(address(ptr)).filter(opened).ok_or(hipErrorInvalidValue)?;
        runtime.drain(None);
        // Another thread may have been faster.
        let block = runtime.memory.remove(block.base, opened).ok_or(hipErrorInvalidValue)?;
        release(runtime, &block);
        Ok(())
    }
}
