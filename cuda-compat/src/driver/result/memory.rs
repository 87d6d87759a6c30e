//! Memory: allocation, copies, fills.

use std::ffi::{c_uchar, c_uint, c_void};

use super::calls::calls;
use super::{DriverError, sys};

calls! {
    /// Allocates device memory in the order of a stream.
    unsafe fn malloc_async(stream: sys::CUstream, num_bytes: usize) -> sys::CUdeviceptr = |out| cuMemAllocAsync(out, num_bytes, stream);

    /// Allocates device memory.
    unsafe fn malloc_sync(num_bytes: usize) -> sys::CUdeviceptr = |out| cuMemAlloc_v2(out, num_bytes);

    /// Allocates memory that host and devices share.
    unsafe fn malloc_managed(num_bytes: usize, flags: sys::CUmemAttach_flags) -> sys::CUdeviceptr = |out| cuMemAllocManaged(out, num_bytes, flags as u32);

    /// Allocates pinned host memory.
    unsafe fn malloc_host(num_bytes: usize, flags: c_uint) -> *mut c_void = |out| cuMemHostAlloc(out, num_bytes, flags);

    /// Frees pinned host memory.
    unsafe fn free_host(host_ptr: *mut c_void) = cuMemFreeHost(host_ptr);

    /// Frees device memory in the order of a stream.
    unsafe fn free_async(dptr: sys::CUdeviceptr, stream: sys::CUstream) = cuMemFreeAsync(dptr, stream);

    /// Frees device memory.
    unsafe fn free_sync(dptr: sys::CUdeviceptr) = cuMemFree_v2(dptr);

    /// The same as [`free_sync`].
    unsafe fn memory_free(device_ptr: sys::CUdeviceptr) = cuMemFree_v2(device_ptr);

    /// Queues a fill with a byte.
    unsafe fn memset_d8_async(dptr: sys::CUdeviceptr, uc: c_uchar, num_bytes: usize, stream: sys::CUstream) = cuMemsetD8Async(dptr, uc, num_bytes, stream);

    /// Fills with a byte.
    unsafe fn memset_d8_sync(dptr: sys::CUdeviceptr, uc: c_uchar, num_bytes: usize) = cuMemsetD8_v2(dptr, uc, num_bytes);

    /// Queues a copy on a device.
    unsafe fn memcpy_dtod_async(dst: sys::CUdeviceptr, src: sys::CUdeviceptr, num_bytes: usize, stream: sys::CUstream) = cuMemcpyDtoDAsync_v2(dst, src, num_bytes, stream);

    /// Copies on a device.
    unsafe fn memcpy_dtod_sync(dst: sys::CUdeviceptr, src: sys::CUdeviceptr, num_bytes: usize) = cuMemcpyDtoD_v2(dst, src, num_bytes);
}

/// Queues a copy of a slice to a device.
///
/// # Errors
/// The status of `cuMemcpyHtoDAsync`.
///
/// # Safety
/// `dst` must have the size of `src`, and both must be valid until the copy is done.
#[doc(alias = "cuMemcpyHtoDAsync_v2")]
pub unsafe fn memcpy_htod_async<T>(dst: sys::CUdeviceptr, src: &[T], stream: sys::CUstream) -> Result<(), DriverError> {
    // SAFETY: the caller's contract is that of the function called.
    unsafe { sys::cuMemcpyHtoDAsync_v2(dst, src.as_ptr().cast(), size_of_val(src), stream) }.result()
}

/// Copies a slice to a device.
///
/// # Errors
/// The status of `cuMemcpyHtoD`.
///
/// # Safety
/// `dst` must have the size of `src`.
#[doc(alias = "cuMemcpyHtoD_v2")]
pub unsafe fn memcpy_htod_sync<T>(dst: sys::CUdeviceptr, src: &[T]) -> Result<(), DriverError> {
    // SAFETY: the caller's contract is that of the function called.
    unsafe { sys::cuMemcpyHtoD_v2(dst, src.as_ptr().cast(), size_of_val(src)) }.result()
}

/// Queues a copy from a device to a slice.
///
/// # Errors
/// The status of `cuMemcpyDtoHAsync`.
///
/// # Safety
/// `src` must have the size of `dst`, its bytes must be values of `T`, and both must be valid until the copy is done.
#[doc(alias = "cuMemcpyDtoHAsync_v2")]
pub unsafe fn memcpy_dtoh_async<T>(
    dst: &mut [T],
    src: sys::CUdeviceptr,
    stream: sys::CUstream,
) -> Result<(), DriverError> {
    // SAFETY: the caller's contract is that of the function called.
    unsafe { sys::cuMemcpyDtoHAsync_v2(dst.as_mut_ptr().cast(), src, size_of_val(dst), stream) }.result()
}

/// Copies from a device to a slice.
///
/// # Errors
/// The status of `cuMemcpyDtoH`.
///
/// # Safety
/// `src` must have the size of `dst`, and its bytes must be values of `T`.
#[doc(alias = "cuMemcpyDtoH_v2")]
pub unsafe fn memcpy_dtoh_sync<T>(dst: &mut [T], src: sys::CUdeviceptr) -> Result<(), DriverError> {
    // SAFETY: the caller's contract is that of the function called.
    unsafe { sys::cuMemcpyDtoH_v2(dst.as_mut_ptr().cast(), src, size_of_val(dst)) }.result()
}

/// Queues a copy between devices. HIP finds the devices from the addresses; the contexts are not used.
///
/// # Errors
/// The status of `cuMemcpyDtoDAsync`.
///
/// # Safety
/// Both must be valid for this many bytes until the copy is done.
#[doc(alias = "cuMemcpyPeerAsync")]
pub unsafe fn memcpy_peer_async(
    _dst_ctx: sys::CUcontext,
    dst: sys::CUdeviceptr,
    _src_ctx: sys::CUcontext,
    src: sys::CUdeviceptr,
    num_bytes: usize,
    stream: sys::CUstream,
) -> Result<(), DriverError> {
    // SAFETY: the caller's contract is that of the function called.
    unsafe { memcpy_dtod_async(dst, src, num_bytes, stream) }
}

/// Sets advice on where managed memory is used.
///
/// # Errors
/// `CUDA_ERROR_NOT_SUPPORTED` for a NUMA node of the host; the status of `hipMemAdvise`.
///
/// # Safety
/// The memory must be managed, and valid for this many bytes.
#[doc(alias = "cuMemAdvise_v2")]
pub unsafe fn mem_advise(
    dptr: sys::CUdeviceptr,
    num_bytes: usize,
    advice: sys::CUmem_advise,
    location: sys::CUmemLocation,
) -> Result<(), DriverError> {
    let device = device_of(location)?;
    // SAFETY: the caller's contract is that of the function called.
    unsafe { hip_sys::hipMemAdvise(address(dptr), num_bytes, advice, device) }.result()
}

/// Queues the move of managed memory to a device, or to the host.
///
/// # Errors
/// `CUDA_ERROR_NOT_SUPPORTED` for a NUMA node of the host; the status of `hipMemPrefetchAsync`.
///
/// # Safety
/// The memory must be managed, and valid for this many bytes until the work is done.
#[doc(alias = "cuMemPrefetchAsync_v2")]
pub unsafe fn mem_prefetch_async(
    dptr: sys::CUdeviceptr,
    num_bytes: usize,
    location: sys::CUmemLocation,
    stream: sys::CUstream,
) -> Result<(), DriverError> {
    let device = device_of(location)?;
    // SAFETY: the caller's contract is that of the function called.
    unsafe { hip_sys::hipMemPrefetchAsync(address(dptr), num_bytes, device, stream) }.result()
}

fn address(dptr: sys::CUdeviceptr) -> *const c_void {
    dptr as usize as *const c_void
}

/// `CU_MEM_LOCATION_TYPE_HOST`, which HIP has named since 7.1.
pub(crate) const HOST: sys::CUmemLocationType = sys::CUmemLocationType(2);

/// `CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT`, which HIP has named since 7.1.
const HOST_NUMA_CURRENT: sys::CUmemLocationType = sys::CUmemLocationType(4);

/// Returns the number of a location in the functions that HIP has had since 5.7: that of a device, or -1 for the host.
fn device_of(location: sys::CUmemLocation) -> Result<i32, DriverError> {
    match location.type_ {
        sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE => Ok(location.id),
        HOST | HOST_NUMA_CURRENT => Ok(hip_sys::hipCpuDeviceId),
        _ => Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_SUPPORTED)),
    }
}

/// Returns the free and the total memory of the current device, in bytes.
///
/// # Errors
/// The status of `cuMemGetInfo`.
#[doc(alias = "cuMemGetInfo_v2")]
pub fn mem_get_info() -> Result<(usize, usize), DriverError> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: room for two results.
    unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) }.result()?;
    Ok((free, total))
}
