//! From a C status to an [`Error`].

use std::ffi::{CStr, c_char};

use hip_sys::hipError_t;

use crate::error::{Error, HipError, Result, Status};

/// `Ok` on `hipSuccess`; else an error that carries the runtime's words and what was asked.
/// `asked` is only called on failure.
#[inline]
pub(crate) fn check(status: hipError_t, function: &'static str, asked: impl FnOnce() -> String) -> Result<()> {
    if status.0 == 0 { Ok(()) } else { Err(failed(status, function, asked())) }
}

#[cold]
pub(crate) fn failed(status: hipError_t, function: &'static str, asked: String) -> Error {
    let code = Status(status.0);
    match code {
        Status::LIBRARY_NOT_FOUND => {
            if let Some(report) = crate::backend::load_report() {
                return Error::NoLibrary { report };
            }
        }
        Status::SYMBOL_NOT_FOUND => {
            if let Some(report) = crate::backend::symbol_report(function) {
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
    Error::Hip(Box::new(HipError {
        status: code,
        name: name.unwrap_or_else(|| format!("{status:?}")),
        description: description.unwrap_or_default(),
        function,
        asked,
        fault: crate::backend::fault_text(code),
    }))
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
