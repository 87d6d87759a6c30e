//! Memory of other interfaces.

use super::calls::calls;
use super::{DriverError, sys, written};

calls! {
    /// Ends the use of imported memory.
    unsafe fn destroy_external_memory(external_memory: sys::CUexternalMemory) = cuDestroyExternalMemory(external_memory);
}

/// Imports memory by an opaque file descriptor, which HIP then owns.
///
/// # Errors
/// The status of `cuImportExternalMemory`.
///
/// # Safety
/// `fd` must be such a descriptor, of memory of this size.
#[cfg(unix)]
#[doc(alias = "cuImportExternalMemory")]
pub unsafe fn import_external_memory_opaque_fd(
    fd: std::os::fd::RawFd,
    size: u64,
) -> Result<sys::CUexternalMemory, DriverError> {
    let mut description = sys::CUDA_EXTERNAL_MEMORY_HANDLE_DESC {
        type_: hip_sys::hipExternalMemoryHandleTypeOpaqueFd,
        size,
        ..Default::default()
    };
    description.handle.fd = fd;
    // SAFETY: the caller's contract, and `out` is valid for the write.
    written(|out| unsafe { sys::cuImportExternalMemory(out, &description) })
}

/// Returns the address of a range of imported memory.
///
/// # Errors
/// The status of `cuExternalMemoryGetMappedBuffer`.
///
/// # Safety
/// The memory must be imported, and the range within it.
#[doc(alias = "cuExternalMemoryGetMappedBuffer")]
pub unsafe fn get_mapped_buffer(
    external_memory: sys::CUexternalMemory,
    offset: u64,
    size: u64,
) -> Result<sys::CUdeviceptr, DriverError> {
    let description = sys::CUDA_EXTERNAL_MEMORY_BUFFER_DESC { offset, size, ..Default::default() };
    // SAFETY: the caller's contract, and `out` is valid for the write.
    written(|out| unsafe { sys::cuExternalMemoryGetMappedBuffer(out, external_memory, &description) })
}
