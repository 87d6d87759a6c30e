//! Interprocess memory and signals.

use std::ffi::c_void;

use super::function::{agents, all_agents, functions, put};
use crate::abi::*;
use crate::memory::{RawHandle, pointer, signal_handle, signal_name};
use crate::runtime::runtime;

functions! {
    /// Creates a handle with which other processes can open an allocation.
    fn hsa_amd_ipc_memory_create(address: *mut c_void, size: usize, handle: *mut RawHandle) {
        let runtime = runtime()?;
        if address.is_null() || handle.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let made = runtime.memory.share(&runtime.agents, address as u64, size as u64)?;
        // SAFETY: the caller vouches for it.
        unsafe { put(handle, made) }
    }

    /// Maps the memory of a handle for agents: all agents, if the list is empty.
    fn hsa_amd_ipc_memory_attach(
        handle: *const RawHandle,
        size: usize,
        count: u32,
        first: *const hsa_agent_t,
        result: *mut *mut c_void,
    ) {
        let runtime = runtime()?;
        if handle.is_null() || result.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let access = match count {
            0 => all_agents(runtime),
            // SAFETY: the caller vouches for the list.
            _ => unsafe { agents(runtime, first, count as usize) }?,
        };
        // SAFETY: not null, so the caller vouches for it.
        let raw = unsafe { handle.read_unaligned() };
        let address = runtime.memory.attach(&runtime.agents, &raw, size as u64, access)?;
        // SAFETY: the caller vouches for it.
        unsafe { put(result, pointer(address)) }
    }

    /// Unmaps such memory.
    fn hsa_amd_ipc_memory_detach(address: *mut c_void) {
        let runtime = runtime()?;
        runtime.memory.detach(&runtime.agents, address as u64)
    }

    /// Creates a handle with which other processes can open a signal, which must have been created for that
    /// (`HSA_AMD_SIGNAL_IPC`).
    fn hsa_amd_ipc_signal_create(signal: hsa_signal_t, handle: *mut RawHandle) {
        let name = runtime()?.signal(signal)?.name().ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        // SAFETY: the caller vouches for it.
        unsafe { put(handle, signal_handle(name)) }
    }

    /// Opens the signal of a handle. Destroying it does not affect the other processes.
    fn hsa_amd_ipc_signal_attach(handle: *const RawHandle, signal: *mut hsa_signal_t) {
        let runtime = runtime()?;
        if handle.is_null() || signal.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: not null, so the caller vouches for it.
        let raw = unsafe { handle.read_unaligned() };
        let attached = signal_name(&raw).and_then(|name| runtime.signals.attach(runtime.agents.space(), name));
        let attached = attached.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        // SAFETY: the caller vouches for it.
        unsafe { put(signal, attached.handle()) }
    }
}
