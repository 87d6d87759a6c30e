//! Functions of the runtime as a whole: last errors, functions by name, the profiler.

use std::ffi::c_int;
#[cfg(feature = "rocm-6-2")]
use std::{
    ffi::{CStr, c_void},
    ptr::{self, NonNull},
};

pub use super::backend::{backend, chosen_backend, runtime_version, select_any_gpu, select_backend, sim_if_no_gpu};
pub use super::backend_kind::Backend;
use crate::core::backend::runtime;
use crate::core::call::check;
use crate::core::context;
#[cfg(feature = "rocm-6-2")]
use crate::core::error::Error;
use crate::core::error::{Result, Status};

/// Returns the last error of this thread and keeps it (`hipPeekAtLastError`). Only raw calls set it: calls of this
/// crate return their errors, and reset it. Returns [`Status::SUCCESS`] where HIP cannot be called (in a host function,
/// in a forked child).
///
/// ```
/// # if hip::sim_if_no_gpu().is_err() { return }
/// // A raw call that fails: no device has this number.
/// unsafe { hip::sys::hipSetDevice(1000) };
/// assert_eq!(hip::runtime::peek_last_error(), hip::Status::INVALID_DEVICE);
/// assert_eq!(hip::runtime::take_last_error(), hip::Status::INVALID_DEVICE);
/// assert_eq!(hip::runtime::take_last_error(), hip::Status::SUCCESS);
/// ```
#[doc(alias("hipPeekAtLastError", "cudaPeekAtLastError"))]
#[must_use]
pub fn peek_last_error() -> Status {
    if context::is_no_place() || context::is_forked() {
        return Status::SUCCESS;
    }
    // SAFETY: takes nothing.
    Status(unsafe { hip_sys::hipPeekAtLastError() }.0)
}

/// Returns the last error of this thread and resets it (`hipGetLastError`); see [`peek_last_error`].
#[doc(alias("hipGetLastError", "cudaGetLastError"))]
pub fn take_last_error() -> Status {
    if context::is_no_place() || context::is_forked() {
        return Status::SUCCESS;
    }
    // SAFETY: takes nothing and only resets a value that belongs to this thread.
    Status(unsafe { hip_sys::hipGetLastError() }.0)
}

/// Returns the address of a function of the runtime by name (`hipGetProcAddress`), for the version of the runtime in
/// use. Use this for functions that this API level of [`sys`](crate::sys) does not declare.
///
/// # Errors
/// [`Error::Unsupported`] if the runtime has no such function.
#[doc(alias("hipGetProcAddress", "cuGetProcAddress"))]
#[cfg(feature = "rocm-6-2")]
pub fn proc_address(name: &CStr) -> Result<NonNull<c_void>> {
    let (major, minor, patch) = runtime_version()?;
    context::check_caller()?;
    let version = c_int::try_from(major * 10_000_000 + minor * 100_000 + patch).unwrap_or(c_int::MAX);
    let mut address = ptr::null_mut();
    let mut found = hip_sys::HIP_GET_PROC_ADDRESS_SUCCESS;
    // SAFETY: the name is terminated; `address` and `found` are valid for a write.
    let status = unsafe { hip_sys::hipGetProcAddress(name.as_ptr(), &mut address, version, 0, &mut found) };
    if found != hip_sys::HIP_GET_PROC_ADDRESS_SUCCESS {
        take_last_error();
        return Err(Error::Unsupported { what: "a function of the runtime", reason: format!("{name:?}: {found:?}") });
    }
    check(status, "hipGetProcAddress", || format!("{name:?}"))?;
    NonNull::new(address).ok_or_else(|| Error::Unsupported {
        what: "a function of the runtime",
        reason: format!("{name:?} has no address"),
    })
}

/// Returns the version of the driver that the runtime uses: major, minor, patch (`hipDriverGetVersion`).
#[doc(alias("hipDriverGetVersion", "cuDriverGetVersion", "cudaDriverGetVersion"))]
pub fn driver_version() -> Result<(u32, u32, u32)> {
    runtime()?;
    context::check_caller()?;
    let mut raw: c_int = 0;
    // SAFETY: `raw` is valid for a write.
    let status = unsafe { hip_sys::hipDriverGetVersion(&mut raw) };
    check(status, "hipDriverGetVersion", || "the version of the driver".to_owned())?;
    Ok(crate::core::backend::decode_version(raw))
}

/// Resumes an attached profiler (`hipProfilerStart`). ROCm's profilers from 6.0 on use roctx instead, and the runtime
/// returns `hipErrorNotSupported`.
#[doc(alias("hipProfilerStart", "cuProfilerStart", "cudaProfilerStart"))]
pub fn profiler_start() -> Result<()> {
    runtime()?;
    context::check_caller()?;
    // SAFETY: takes nothing.
    let status = unsafe { hip_sys::hipProfilerStart() };
    check(status, "hipProfilerStart", || "the profiler".to_owned())
}

/// Pauses an attached profiler (`hipProfilerStop`); see [`profiler_start`].
#[doc(alias("hipProfilerStop", "cuProfilerStop", "cudaProfilerStop"))]
pub fn profiler_stop() -> Result<()> {
    runtime()?;
    context::check_caller()?;
    // SAFETY: takes nothing.
    let status = unsafe { hip_sys::hipProfilerStop() };
    check(status, "hipProfilerStop", || "the profiler".to_owned())
}
