//! Memory of other drivers, by file descriptor.

use std::ffi::{c_int, c_void};
use std::os::fd::IntoRawFd as _;
use std::ptr;

use super::function::{agents, functions, put};
use crate::abi::*;
use crate::memory::pointer;
use crate::result::Result;
use crate::runtime::runtime;

/// # Safety
/// `descriptor` and `offset` must be null or valid for a write.
unsafe fn export_dmabuf(address: *const c_void, size: usize, descriptor: *mut c_int, offset: *mut u64) -> Result<()> {
    let runtime = runtime()?;
    if address.is_null() || size == 0 || descriptor.is_null() || offset.is_null() {
        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    let (file, from) = runtime.memory.export(&runtime.agents, address as u64, size as u64)?;
    // SAFETY: the caller vouches for both.
    unsafe {
        put(offset, from)?;
        put(descriptor, file.into_raw_fd())
    }
}

functions! {
    /// Maps memory that another driver has exported, for agents. Only its size is known; it has no metadata.
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

    /// Unmaps such memory.
    fn hsa_amd_interop_unmap_buffer(address: *mut c_void) {
        let runtime = runtime()?;
        runtime.memory.unmap_foreign(&runtime.agents, address as u64)
    }

    /// Exports GPU memory as a file descriptor, which other drivers and processes can map. Also returns the offset of
    /// `address` in it.
    fn hsa_amd_portable_export_dmabuf(address: *const c_void, size: usize, descriptor: *mut c_int, offset: *mut u64) {
        // SAFETY: the caller vouches for both.
        unsafe { export_dmabuf(address, size, descriptor, offset) }
    }

    /// The same. The flags may request a mapping over PCIe, which is always possible here.
    fn hsa_amd_portable_export_dmabuf_v2(
        address: *const c_void,
        size: usize,
        descriptor: *mut c_int,
        offset: *mut u64,
        flags: u64,
    ) {
        if flags & !u64::from(HSA_AMD_DMABUF_MAPPING_TYPE_PCIE) != 0 {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller vouches for both.
        unsafe { export_dmabuf(address, size, descriptor, offset) }
    }

    /// Closes such a descriptor. Existing mappings keep the memory.
    fn hsa_amd_portable_close_dmabuf(descriptor: c_int) {
        // SAFETY: no memory is passed; the call fails on a number that is not a descriptor.
        let seals = unsafe { libc::fcntl(descriptor, libc::F_GET_SEALS) };
        // Any other descriptor was not exported here and stays open.
        if seals < 0 || seals & libc::F_SEAL_SHRINK == 0 {
            return Err(HSA_STATUS_ERROR_RESOURCE_FREE);
        }
        // SAFETY: the program's own descriptor, whose ownership it passes here.
        if unsafe { libc::close(descriptor) } == 0 { Ok(()) } else { Err(HSA_STATUS_ERROR_RESOURCE_FREE) }
    }
}
