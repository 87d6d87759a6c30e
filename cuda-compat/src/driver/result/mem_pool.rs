//! Memory pools.

use std::ffi::c_void;

use super::calls::calls;
use super::sys;

calls! {
    /// Creates a pool.
    unsafe fn create(pool_props: *const sys::CUmemPoolProps) -> sys::CUmemoryPool = |out| cuMemPoolCreate(out, pool_props);

    /// Destroys a pool.
    unsafe fn destroy(pool: sys::CUmemoryPool) = cuMemPoolDestroy(pool);

    /// Frees memory that the pool keeps, except for this many bytes.
    unsafe fn trim_to(pool: sys::CUmemoryPool, min_bytes_to_keep: usize) = cuMemPoolTrimTo(pool, min_bytes_to_keep);

    /// Writes an attribute of a pool to `value`.
    unsafe fn get_attribute(pool: sys::CUmemoryPool, attr: sys::CUmemPool_attribute, value: *mut c_void) = cuMemPoolGetAttribute(pool, attr, value);

    /// Sets an attribute of a pool to the value that `value` points to.
    unsafe fn set_attribute(pool: sys::CUmemoryPool, attr: sys::CUmemPool_attribute, value: *mut c_void) = cuMemPoolSetAttribute(pool, attr, value);

    /// Allocates device memory of a pool in the order of a stream.
    unsafe fn alloc_async(pool: sys::CUmemoryPool, num_bytes: usize, stream: sys::CUstream) -> sys::CUdeviceptr = |out| cuMemAllocFromPoolAsync(out, num_bytes, pool, stream);
}
