//! From a C status to an [`Error`].

use std::ffi::{CStr, CString, c_char};

use hip_sys::hipError_t;

use crate::core::error::{Error, HipError, Result, Status};
use crate::core::lost::Suspects;

/// `Ok` on `hipSuccess`; else an error that carries the runtime's words and what was asked.
/// `asked` is only called on failure.
#[inline]
pub(crate) fn check(status: hipError_t, function: &'static str, asked: impl FnOnce() -> String) -> Result<()> {
    if status.0 == 0 { Ok(()) } else { Err(failed(status, function, asked)) }
}

impl Status {
    /// `Ok` on success; else an error with the runtime's name and description of the status, for raw calls of [`sys`](crate::sys).
    /// `asked` says what was asked of `function`. It is only called on failure.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// # hip::Device::get(0)?;
    /// use hip::{Status, sys};
    ///
    /// let mut count = 0;
    /// // SAFETY: `count` is valid for a write.
    /// let status = unsafe { sys::hipGetDeviceCount(&mut count) };
    /// Status::from(status).check("hipGetDeviceCount", || "the number of devices".to_owned())?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Hip`]; [`Error::NoLibrary`], [`Error::NoSymbol`] and [`Error::NoDevice`] for the statuses that mean so.
    pub fn check(self, function: &'static str, asked: impl FnOnce() -> String) -> Result<()> {
        check(self.into(), function, asked)
    }
}

/// The error of a call that has failed with `status`.
#[cold]
pub(crate) fn failed(status: hipError_t, function: &'static str, asked: impl FnOnce() -> String) -> Error {
    // Before `asked`, which may take the launches of a stream, so that they are named once.
    let suspects = Suspects::of(Status(status.0));
    failed_of(status, function, asked(), suspects)
}

fn failed_of(status: hipError_t, function: &'static str, asked: String, suspects: Option<Suspects>) -> Error {
    let code = Status(status.0);
    match code {
        Status::LIBRARY_NOT_FOUND => {
            if let Some(report) = load_report() {
                return Error::NoLibrary { report };
            }
        }
        Status::SYMBOL_NOT_FOUND => {
            if let Some(report) = symbol_report(function) {
                return Error::NoSymbol { function, asked, report };
            }
        }
        Status::NO_DEVICE => return Error::NoDevice,
        _ => {}
    }
    // The failed call left its status behind as the thread's last error, where unrelated code that asks for
    // it (hipGetLastError after a launch) would take it for its own.
    // SAFETY: takes nothing and only resets a value that belongs to this thread.
    let _ = unsafe { hip_sys::hipGetLastError() };
    // SAFETY: both functions take any status and return null or a string constant.
    let (name, description) =
        unsafe { (text(hip_sys::hipGetErrorName(status)), text(hip_sys::hipGetErrorString(status))) };
    let error = HipError {
        status: code,
        name: name.unwrap_or_else(|| format!("{status:?}")),
        description: description.unwrap_or_default(),
        function,
        asked,
        fault: fault_text(code),
    };
    suspects.and_then(|suspects| suspects.lost(&error)).unwrap_or_else(|| Error::Hip(Box::new(error)))
}

/// # Safety
/// `text` is null or a C string constant.
unsafe fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, and by the caller's promise a C string that stays.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// Why the library could not be loaded, for errors.
fn load_report() -> Option<String> {
    hip_sys::load_error().map(|error| error.to_string())
}

/// Why a function is missing, for errors.
fn symbol_report(function: &str) -> Option<String> {
    let name = CString::new(function).ok()?;
    hip_sys::symbol_error(&name).map(|error| error.to_string())
}

/// The software GPU's account of what is behind a status: the fault, or why it refused a code object or a setting.
#[cfg(feature = "sim")]
fn fault_text(status: Status) -> Option<String> {
    let told = matches!(
        status,
        Status::ILLEGAL_ADDRESS
            | Status::LAUNCH_FAILURE
            | Status::LAUNCH_TIMEOUT
            | Status::ASSERT
            | Status::INVALID_IMAGE
            | Status::NOT_INITIALIZED
            | Status::UNKNOWN
    );
    let in_use = hip_sys::BINDING.provider_name().is_some();
    let fault = if told && in_use { hip_sim::last_fault() } else { None };
    fault.map(|fault| {
        // The software GPU knows nothing of how a launch is written.
        if fault.contains(" bytes of LDS: ") {
            fault + " (LaunchConfig::with_shared_bytes asks for dynamic shared memory)"
        } else {
            fault
        }
    })
}

#[cfg(not(feature = "sim"))]
fn fault_text(_status: Status) -> Option<String> {
    None
}
