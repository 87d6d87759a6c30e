//! The runtime as a whole: its last errors, its functions by name, its profiler.

use std::ffi::c_int;
#[cfg(feature = "rocm-6-2")]
use std::{
    ffi::{CStr, c_void},
    ptr::{self, NonNull},
};

pub use super::backend::{backend, runtime_version, select_backend, sim_if_no_gpu};
pub use super::backend_kind::Backend;
use crate::core::backend::runtime;
use crate::core::call::check;
use crate::core::context;
#[cfg(feature = "rocm-6-2")]
use crate::core::error::Error;
use crate::core::error::{Result, Status};

/// The last error of this thread, which stays (`hipPeekAtLastError`): of raw calls. Calls of this crate return their errors, and leave
/// none behind. Where HIP cannot be called (in a host function, in a forked child), there is none: [`Status::SUCCESS`].
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

/// The last error of this thread, which is then forgotten (`hipGetLastError`): see [`peek_last_error`].
#[doc(alias("hipGetLastError", "cudaGetLastError"))]
pub fn take_last_error() -> Status {
    if context::is_no_place() || context::is_forked() {
        return Status::SUCCESS;
    }
    // SAFETY: takes nothing and only resets a value that belongs to this thread.
    Status(unsafe { hip_sys::hipGetLastError() }.0)
}

/// The address of a function of the runtime by its name (`hipGetProcAddress`), as of the version of the runtime in use.
/// [`sys`](crate::sys) has all that this API level knows; this is for those that it does not.
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

/// The version of the driver below the runtime: major, minor, patch (`hipDriverGetVersion`).
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

/// Asks a profiler that is attached to go on (`hipProfilerStart`). ROCm's profilers from 6.0 on listen to roctx instead, and the
/// runtime answers `hipErrorNotSupported`.
#[doc(alias("hipProfilerStart", "cuProfilerStart", "cudaProfilerStart"))]
pub fn profiler_start() -> Result<()> {
    runtime()?;
    context::check_caller()?;
    // SAFETY: takes nothing.
    let status = unsafe { hip_sys::hipProfilerStart() };
    check(status, "hipProfilerStart", || "the profiler".to_owned())
}

/// Asks a profiler that is attached to pause (`hipProfilerStop`): see [`profiler_start`].
#[doc(alias("hipProfilerStop", "cuProfilerStop", "cudaProfilerStop"))]
pub fn profiler_stop() -> Result<()> {
    runtime()?;
    context::check_caller()?;
    // SAFETY: takes nothing.
    let status = unsafe { hip_sys::hipProfilerStop() };
    check(status, "hipProfilerStop", || "the profiler".to_owned())
}
