//! Contexts. HIP has one for each device.

use std::ffi::c_uint;

use super::calls::calls;
use super::{DriverError, primary_ctx, sys, written};

calls! {
    /// Makes a context current in this thread.
    unsafe fn set_current(ctx: sys::CUcontext) = cuCtxSetCurrent(ctx);

    /// Blocks until all work of the current device is done.
    fn synchronize() = cuCtxSynchronize();

    /// Returns a limit of the current device.
    fn get_limit(limit: sys::CUlimit) -> usize = |out| cuCtxGetLimit(out, limit);

    /// Sets a limit of the current device.
    fn set_limit(limit: sys::CUlimit, value: usize) = cuCtxSetLimit(limit, value);

    /// Returns the preference for caches or shared memory.
    fn get_cache_config() -> sys::CUfunc_cache = |out| cuCtxGetCacheConfig(out);

    /// Sets the preference for caches or shared memory, which AMD GPUs ignore.
    fn set_cache_config(config: sys::CUfunc_cache) = cuCtxSetCacheConfig(config);
}

/// Returns the context that is current in this thread; `None` if there is none.
///
/// # Errors
/// The status of `cuCtxGetCurrent`.
#[doc(alias = "cuCtxGetCurrent")]
pub fn get_current() -> Result<Option<sys::CUcontext>, DriverError> {
    // SAFETY: `out` is valid for the write.
    let context: sys::CUcontext = written(|out| unsafe { sys::cuCtxGetCurrent(out) })?;
    Ok((!context.is_null()).then_some(context))
}

/// Sets how the host waits for the current device.
///
/// # Errors
/// The status of `hipSetDeviceFlags`.
#[doc(alias = "cuCtxSetFlags")]
pub fn set_flags(flags: sys::CUctx_flags) -> Result<(), DriverError> {
    // SAFETY: the function takes no handles and no memory.
    unsafe { hip_sys::hipSetDeviceFlags(flags as c_uint) }.result()
}

/// Returns the context of a device, and makes it current: HIP has one for each device. (AMD has deprecated
/// `hipCtxCreate`, which returns the same context.)
///
/// # Errors
/// A status of HIP.
///
/// # Safety
/// `dev` must be a device.
#[doc(alias = "cuCtxCreate_v3")]
pub unsafe fn create_v3(flags: c_uint, dev: sys::CUdevice) -> Result<sys::CUcontext, DriverError> {
    // SAFETY: the caller's contract.
    let context = unsafe { primary_ctx::retain(dev) }?;
    // SAFETY: the context was just retained.
    unsafe { set_current(context) }?;
    if flags != 0 {
        // SAFETY: the function takes no handles and no memory.
        unsafe { hip_sys::hipSetDeviceFlags(flags) }.result()?;
    }
    Ok(context)
}

/// Releases a context of [`create_v3`] or [`create_v4`]. The current context does not change.
///
/// # Errors
/// A status of HIP.
///
/// # Safety
/// One of these functions must have returned the context.
#[doc(alias = "cuCtxDestroy_v2")]
pub unsafe fn destroy(ctx: sys::CUcontext) -> Result<(), DriverError> {
    let current = get_current()?;
    // SAFETY: the caller's contract.
    unsafe { set_current(ctx) }?;
    // SAFETY: `out` is valid for the write.
    let device = written(|out| unsafe { sys::cuCtxGetDevice(out) })?;
    // SAFETY: the caller's contract.
    unsafe { primary_ctx::release(device) }?;
    match current {
        // SAFETY: it was current.
        Some(current) => unsafe { set_current(current) },
        None => Ok(()),
    }
}

/// [`create_v3`]; the parameters must be null.
///
/// # Errors
/// `CUDA_ERROR_NOT_SUPPORTED` for parameters: HIP has none. The status of `cuCtxCreate`.
///
/// # Safety
/// `dev` must be a device.
#[doc(alias = "cuCtxCreate_v4")]
pub unsafe fn create_v4(
    ctx_create_params: *mut sys::CUctxCreateParams,
    flags: c_uint,
    dev: sys::CUdevice,
) -> Result<sys::CUcontext, DriverError> {
    if !ctx_create_params.is_null() {
        return Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_SUPPORTED));
    }
    // SAFETY: the caller's contract.
    unsafe { create_v3(flags, dev) }
}
