//! Memory of other drivers, by file descriptor.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::{agents, functions, put};
use crate::abi::*;
use crate::memory::pointer;
use crate::runtime::runtime;

functions! {
    /// Maps memory that another driver has exported for agents. Nothing is known of it but its size: there is no metadata.
    fn hsa_amd_interop_map_buffer(
        count: u32,
        first: *mut hsa_agent_t,
        descriptor: c_int,
        flags: u32,
        size: *mut usize,
        address: *mut *mut c_void,
        metadata_size: *mut usize,
        metadata: *mut *const c_void,
    ) {
        let runtime = runtime()?;
        if count == 0 || flags != 0 || size.is_null() || address.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller vouches for the list.
        let access = unsafe { agents(runtime, first, count as usize) }?;
        let (base, bytes) = runtime.memory.map_foreign(&runtime.agents, descriptor, access)?;
        // SAFETY: the caller vouches for all four.
        unsafe {
            put(size, bytes as usize)?;
            put(address, pointer(base))?;
            if !metadata_size.is_null() {
                put(metadata_size, 0_usize)?;
            }
            if !metadata.is_null() {
                put(metadata, ptr::null::<c_void>())?;
            }
        }
        Ok(())
    }

    /// Takes such memory away again.
    fn hsa_amd_interop_unmap_buffer(address: *mut c_void) {
        let runtime = runtime()?;
        runtime.memory.unmap_foreign(&runtime.agents, address as u64)
    }
}
