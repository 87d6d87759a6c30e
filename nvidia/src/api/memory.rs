//! Allocation: device, pinned and pitched memory.

use std::ffi::{c_uint, c_ulonglong, c_void};
use std::ptr;

use hip_sys::rocm_7_2::{
    hipErrorInvalidValue, hipErrorNotSupported, hipExtent, hipMemAllocationHandleType, hipMemPool_t, hipPitchedPtr,
    hipStream_t,
};

use crate::context;
use crate::driver::driver_functions;
use crate::status::{Failure, Outcome, ensure};
use crate::table::{hip_functions, put};

driver_functions! {
    /// Allocates device memory.
    fn cuMemAlloc_v2(to: *mut *mut c_void, bytes: usize);
    /// Frees device memory.
    fn cuMemFree_v2(address: *mut c_void);
    /// Allocates rows of device memory.
    fn cuMemAllocPitch_v2(to: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize, element: c_uint);
    /// Allocates pinned memory.
    fn cuMemHostAlloc(to: *mut *mut c_void, bytes: usize, flags: c_uint);
    /// Frees pinned memory.
    fn cuMemFreeHost(address: *mut c_void);
    /// Pins memory of the program.
    fn cuMemHostRegister_v2(address: *mut c_void, bytes: usize, flags: c_uint);
    /// Allocates memory in the order of a stream.
    fn cuMemAllocAsync(to: *mut *mut c_void, bytes: usize, stream: hipStream_t);
    /// Allocates memory of a pool in the order of a stream.
    fn cuMemAllocFromPoolAsync(to: *mut *mut c_void, bytes: usize, pool: hipMemPool_t, stream: hipStream_t);
    /// Frees memory in the order of a stream.
    fn cuMemFreeAsync(address: *mut c_void, stream: hipStream_t);
    /// Writes a handle of a pool for another process.
    fn cuMemPoolExportToShareableHandle(to: *mut c_void, pool: hipMemPool_t, kind: c_uint, flags: c_ulonglong);
    /// Opens a pool of another process.
    fn cuMemPoolImportFromShareableHandle(to: *mut hipMemPool_t, handle: *mut c_void, kind: c_uint, flags: c_ulonglong);
}

/// Flags of pinned memory that CUDA has too: portable, mapped, write-combined.
const HOST_FLAGS: c_uint = 1 | 2 | 4;
/// `CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP`: as on AMD, where every device reaches pinned memory.
const EVERY_DEVICE: c_uint = 1 | 2;
/// Flags of registered memory that CUDA has too: portable, mapped, of a device. 8 is another flag on CUDA (read-only).
const REGISTER_FLAGS: c_uint = 1 | 2 | 4;
/// `hipDeviceMallocDefault`, and `hipMallocSignalMemory`: streams can wait for any device memory on CUDA.
const PLAIN: [c_uint; 2] = [0, 2];
/// The largest element that `cuMemAllocPitch` accepts: rows are aligned for all others too.
const LARGEST_ELEMENT: c_uint = 16;

/// Allocates device memory; none for no bytes, as HIP does.
unsafe fn allocate(to: *mut *mut c_void, bytes: usize) -> Outcome {
    ensure(!to.is_null(), hipErrorInvalidValue)?;
    context::enter()?;
    if bytes == 0 {
        // SAFETY: not null, hence valid for a write, as the caller vouches.
        return unsafe { put(to, ptr::null_mut()) };
    }
    // SAFETY: as above.
    unsafe { cuMemAlloc_v2(to, bytes) }
}

hip_functions! {
    translated fn hipMalloc(to: *mut *mut c_void, bytes: usize) {
        allocate(to, bytes)
    }

    translated fn hipFree(address: *mut c_void) {
        context::enter()?;
        if address.is_null() { Ok(()) } else { cuMemFree_v2(address) }
    }

    translated fn hipExtMallocWithFlags(to: *mut *mut c_void, bytes: usize, flags: c_uint) {
        if !PLAIN.contains(&flags) {
            let text = "NVIDIA GPUs have no fine-grained or uncached device memory. Allocate managed or pinned memory";
            return Err(Failure::new(hipErrorNotSupported, text));
        }
        allocate(to, bytes)
    }

    translated fn hipMallocPitch(to: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize) {
        ensure(!to.is_null() && !pitch.is_null(), hipErrorInvalidValue)?;
        context::enter()?;
        if width == 0 || height == 0 {
            pitch.write(0);
            return put(to, ptr::null_mut());
        }
        cuMemAllocPitch_v2(to, pitch, width, height, LARGEST_ELEMENT)
    }

    translated fn hipMalloc3D(to: *mut hipPitchedPtr, extent: hipExtent) {
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        context::enter()?;
        let rows = extent.height.checked_mul(extent.depth).ok_or(hipErrorInvalidValue)?;
        let mut memory = hipPitchedPtr { xsize: extent.width, ysize: extent.height, ..Default::default() };
        if extent.width != 0 && rows != 0 {
            cuMemAllocPitch_v2(&raw mut memory.ptr, &raw mut memory.pitch, extent.width, rows, LARGEST_ELEMENT)?;
        }
        put(to, memory)
    }

    translated fn hipHostMalloc(to: *mut *mut c_void, bytes: usize, flags: c_uint) {
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        context::enter()?;
        if bytes == 0 {
            return put(to, ptr::null_mut());
        }
        // HIP's other flags choose coherence and NUMA nodes. Pinned memory is always coherent here.
        cuMemHostAlloc(to, bytes, flags & HOST_FLAGS | EVERY_DEVICE)
    }

    translated fn hipHostFree(address: *mut c_void) {
        context::enter()?;
        if address.is_null() { Ok(()) } else { cuMemFreeHost(address) }
    }

    translated fn hipHostRegister(address: *mut c_void, bytes: usize, flags: c_uint) {
        context::enter()?;
        cuMemHostRegister_v2(address, bytes, flags & REGISTER_FLAGS | EVERY_DEVICE)
    }

    translated fn hipMallocAsync(to: *mut *mut c_void, bytes: usize, stream: hipStream_t) {
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        context::enter()?;
        if bytes == 0 { put(to, ptr::null_mut()) } else { cuMemAllocAsync(to, bytes, stream) }
    }

    translated fn hipMallocFromPoolAsync(to: *mut *mut c_void, bytes: usize, pool: hipMemPool_t, stream: hipStream_t) {
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        context::enter()?;
        if bytes == 0 { put(to, ptr::null_mut()) } else { cuMemAllocFromPoolAsync(to, bytes, pool, stream) }
    }

    translated fn hipFreeAsync(address: *mut c_void, stream: hipStream_t) {
        context::enter()?;
        ensure(!address.is_null(), hipErrorInvalidValue)?;
        cuMemFreeAsync(address, stream)
    }

    translated fn hipMemPoolExportToShareableHandle(
        to: *mut c_void, pool: hipMemPool_t, kind: hipMemAllocationHandleType, flags: c_uint,
    ) {
        context::enter()?;
        cuMemPoolExportToShareableHandle(to, pool, kind.0 as c_uint, flags.into())
    }

    translated fn hipMemPoolImportFromShareableHandle(
        to: *mut hipMemPool_t, handle: *mut c_void, kind: hipMemAllocationHandleType, flags: c_uint,
    ) {
        context::enter()?;
        cuMemPoolImportFromShareableHandle(to, handle, kind.0 as c_uint, flags.into())
    }
}
