//! Functions of [`sys`] that return a [`Result`]: cudarc's layer `driver::result`.

mod calls;
pub mod ctx;
pub mod device;
pub mod event;
#[cfg(feature = "rocm-6-2")]
pub mod external_memory;
pub mod function;
pub mod graph;
pub mod mem_pool;
mod memory;
pub mod module;
pub mod occupancy;
pub mod primary_ctx;
pub mod stream;

use std::ffi::{c_uint, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use super::sys;

pub use hip_sys::cuda::DriverError;
pub use memory::*;

/// Returns the value that a function of `sys` writes.
pub(crate) fn written<T>(call: impl FnOnce(*mut T) -> sys::CUresult) -> Result<T, DriverError> {
    let mut value = MaybeUninit::zeroed();
    call(value.as_mut_ptr()).result()?;
    // SAFETY: the call succeeded, so it has written the value.
    Ok(unsafe { value.assume_init() })
}

/// Initializes the driver API, which other functions do, too. The first call selects the runtime: ROCm's, or the one in
/// the environment variable `HIP_RS_BACKEND` (see [`hip::backend`]).
///
/// # Errors
/// `CUDA_ERROR_NOT_SUPPORTED` for a backend that is not built in, or an unknown name; the status of `cuInit`.
#[doc(alias = "cuInit")]
pub fn init() -> Result<(), DriverError> {
    hip::backend().map_err(|error| {
        let status = error.status().map_or(sys::CUresult::CUDA_ERROR_NOT_SUPPORTED, |status| sys::CUresult(status.0));
        DriverError(status).explained(error.to_string())
    })?;
    // SAFETY: the function takes no handles and no memory.
    unsafe { sys::cuInit(0) }.result()
}

/// Queues a kernel: `grid_dim` blocks of `block_dim` threads each.
///
/// # Errors
/// The status of `cuLaunchKernel`.
///
/// # Safety
/// `kernel_params` must contain an address for each parameter of the kernel, which points to as many bytes as the
/// parameter has. The kernel must be correct, and the memory that it uses valid until it is done.
#[doc(alias = "cuLaunchKernel")]
#[inline]
pub unsafe fn launch_kernel(
    f: sys::CUfunction,
    grid_dim: (c_uint, c_uint, c_uint),
    block_dim: (c_uint, c_uint, c_uint),
    shared_mem_bytes: c_uint,
    stream: sys::CUstream,
    kernel_params: &mut [*mut c_void],
) -> Result<(), DriverError> {
    let ((x, y, z), (bx, by, bz)) = (grid_dim, block_dim);
    let parameters = kernel_params.as_mut_ptr();
    // SAFETY: the caller's contract is that of the function called.
    unsafe { sys::cuLaunchKernel(f, x, y, z, bx, by, bz, shared_mem_bytes, stream, parameters, null_mut()) }.result()
}

/// As [`launch_kernel`], with all blocks running at the same time, so that they can wait for each other.
///
/// # Errors
/// The status of `cuLaunchCooperativeKernel`, which accepts no more blocks than can run at the same time.
///
/// # Safety
/// The requirements of [`launch_kernel`].
#[doc(alias = "cuLaunchCooperativeKernel")]
#[inline]
pub unsafe fn launch_cooperative_kernel(
    f: sys::CUfunction,
    grid_dim: (c_uint, c_uint, c_uint),
    block_dim: (c_uint, c_uint, c_uint),
    shared_mem_bytes: c_uint,
    stream: sys::CUstream,
    kernel_params: &mut [*mut c_void],
) -> Result<(), DriverError> {
    let ((x, y, z), (bx, by, bz)) = (grid_dim, block_dim);
    let parameters = kernel_params.as_mut_ptr();
    // SAFETY: the caller's contract is that of the function called.
    unsafe { sys::cuLaunchCooperativeKernel(f, x, y, z, bx, by, bz, shared_mem_bytes, stream, parameters) }.result()
}
