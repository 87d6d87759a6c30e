//! Addresses, and what is refused of them.

use std::ffi::c_void;
use std::ptr::NonNull;

use amdgpu_sim::MemoryError;

use crate::abi::{
    HSA_STATUS_ERROR_INVALID_ALLOCATION, HSA_STATUS_ERROR_INVALID_ARGUMENT, HSA_STATUS_ERROR_OUT_OF_RESOURCES,
    hsa_status_t,
};

/// The status for a request that the software GPU's memory refused.
pub(crate) fn status_of(error: &MemoryError) -> hsa_status_t {
    match error {
        MemoryError::OutOfMemory { .. } | MemoryError::OutOfHostMemory { .. } => HSA_STATUS_ERROR_OUT_OF_RESOURCES,
        MemoryError::Empty | MemoryError::Alignment { .. } => HSA_STATUS_ERROR_INVALID_ARGUMENT,
        _ => HSA_STATUS_ERROR_INVALID_ALLOCATION,
    }
}

/// Zeroed memory that is never given back and takes none before it is written; `None` if the host gives no address space.
pub(crate) fn reserve_for_good(bytes: usize) -> Option<NonNull<u8>> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new private mapping.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if base == libc::MAP_FAILED { None } else { NonNull::new(base.cast()) }
}

/// An address as C's pointer.
pub(crate) fn pointer(address: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address as usize)
}
