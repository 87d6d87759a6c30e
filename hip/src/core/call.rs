//! Conversion of C statuses to [`Error`]s.

use std::ffi::{CStr, CString, c_char};

use hip_sys::hipError_t;

use crate::core::error::{Error, HipError, Result, Status, no_library};
use crate::core::lost::Suspects;
use crate::core::nvidia;

/// Returns `Ok` for `hipSuccess`, else an error with the runtime's description and the request. `asked` describes the
/// request and is only called on failure.
#[inline]
pub(crate) fn check(status: hipError_t, function: &'static str, asked: impl FnOnce() -> String) -> Result<()> {
    if status.0 == 0 { Ok(()) } else { Err(failed(status, function, asked)) }
}

impl Status {
    /// Returns `Ok` on success, else an error with the runtime's name and description of the status. For raw calls of
    /// [`sys`](crate::sys). `asked` describes the request to `function` and is only called on failure.
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
    /// [`Error::Hip`]; [`Error::NoLibrary`], [`Error::NoSymbol`] and [`Error::NoDevice`] for the statuses with these
    /// meanings.
    pub fn check(self, function: &'static str, asked: impl FnOnce() -> String) -> Result<()> {
        check(self.into(), function, asked)
    }
}

/// Returns the error of a call that has failed with `status`.
#[cold]
pub(crate) fn failed(status: hipError_t, function: &'static str, asked: impl FnOnce() -> String) -> Error {
    // Before `asked`, which may also take the launches of a stream: each launch is named only once.
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
    let fault = fault_text(code).or_else(nvidia::last_fault);
    // The failed call set the thread's last error. Reset it, or unrelated code that calls hipGetLastError after a launch would take it for
    // its own error.
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
        fault,
    };
    suspects.and_then(|suspects| suspects.lost(&error)).unwrap_or_else(|| Error::Hip(Box::new(error)))
}

/// # Safety
/// `text` is null or a C string constant.
unsafe fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller promises that it is a C string constant.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// Describes why the library could not be loaded.
fn load_report() -> Option<String> {
    hip_sys::load_error().map(no_library)
}

/// Describes why a function is missing.
fn symbol_report(function: &str) -> Option<String> {
    let name = CString::new(function).ok()?;
    hip_sys::symbol_error(&name).map(|error| error.to_string())
}

/// Returns the software GPU's explanation of a status: the fault, or the reason why it rejected a code object or a
/// setting.
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
    let in_use = hip_sys::BINDING.provider_name() == Some(hip_sim::provider().name());
    let fault = if told && in_use { hip_sim::last_fault() } else { None };
    fault.map(|fault| {
        // The software GPU does not know how a launch is written in Rust.
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
