//! Errors, and the only place that calls C functions and reads their errors.

use std::ffi::{CStr, CString};
use std::fmt;

use hipgraph_sys::*;

/// The reason that a function of this crate failed. Everything that can be checked is checked before the C call.
#[derive(Clone)]
#[non_exhaustive]
pub enum Error {
    /// hipGRAPH returned an error.
    Library {
        /// Its status.
        status: hipgraph_error_code_t,
        /// Its message; empty if it has none.
        message: String,
        /// The C function.
        function: &'static str,
        /// The request.
        request: String,
    },
    /// hipGRAPH could not be loaded.
    NoLibrary {
        /// Every path that was tried, with the result.
        report: String,
    },
    /// The library or engine lacks a function.
    NoSymbol {
        /// The C function.
        function: &'static str,
        /// The library that was loaded.
        report: String,
    },
    /// Invalid input, found before the C call.
    Invalid {
        /// The invalid argument.
        what: &'static str,
        /// Its value.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// An error of `hip`: memory, streams, devices.
    Hip(hip::Error),
}

/// What to do without hipGRAPH.
pub(crate) const ADVICE: &str = "`hipgraph::reference_if_missing()` chooses the reference engine";

/// The result of nearly every function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Returns the library's status, if it returned one.
    #[must_use]
    pub fn status(&self) -> Option<hipgraph_error_code_t> {
        match self {
            Error::Library { status, .. } => Some(*status),
            Error::NoLibrary { .. } => Some(HIPGRAPH_UNKNOWN_ERROR),
            Error::NoSymbol { .. } => Some(HIPGRAPH_NOT_IMPLEMENTED),
            Error::Invalid { .. } | Error::Hip(_) => None,
        }
    }
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Library { status, message, function, request } => {
                write!(f, "{function} returned {status:?} for {request}")?;
                if message.is_empty() { Ok(()) } else { write!(f, ": {message}") }
            }
            Error::NoLibrary { report } => write!(f, "hipGRAPH could not be loaded: {report}"),
            Error::NoSymbol { function, report } => {
                write!(f, "{function} is not in the hipGRAPH that is used: {report}")
            }
            Error::Invalid { what, value, allowed } => write!(f, "{what} is {value}, but must be {allowed}"),
            Error::Hip(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Hip(error) => Some(error),
            _ => None,
        }
    }
}

impl From<hip::Error> for Error {
    fn from(error: hip::Error) -> Error {
        Error::Hip(error)
    }
}

/// Returns the error for an invalid argument.
pub(crate) fn invalid(what: &'static str, value: impl Into<String>, allowed: impl Into<String>) -> Error {
    Error::Invalid { what, value: value.into(), allowed: allowed.into() }
}

/// Makes the error of a call from the library's error object, which may be null.
///
/// # Safety
/// `object` must be null or an error object of the library that is not used again.
unsafe fn error_of(
    function: &'static str,
    status: hipgraph_error_code_t,
    object: *mut hipgraph_error_t,
    request: impl FnOnce() -> String,
) -> Error {
    let mut message = String::new();
    if !object.is_null() {
        // SAFETY: as the caller ensures; the text lives as long as the object.
        unsafe {
            let text = hipgraph_error_message(object);
            if !text.is_null() {
                message = CStr::from_ptr(text).to_string_lossy().into_owned();
            }
            hipgraph_error_free(object);
        }
    }
    if message.is_empty() {
        if let Some(why) = load_error() {
            return Error::NoLibrary { report: why.with_advice(ADVICE) };
        }
        if let Some(why) = CString::new(function).ok().and_then(|name| symbol_error(&name)) {
            return Error::NoSymbol { function, report: why.to_string() };
        }
    }
    Error::Library { status, message, function, request: request() }
}

/// Calls a function that has an error object as its last parameter.
pub(crate) fn call(
    function: &'static str,
    request: impl FnOnce() -> String,
    run: impl FnOnce(*mut *mut hipgraph_error_t) -> hipgraph_error_code_t,
) -> Result<()> {
    let mut object = std::ptr::null_mut();
    // The library waits for the device and uses its default stream, which invalidates captures of all threads.
    let status = match hip::Device::current() {
        Ok(device) => hip::interop::wait_for_device(&device, || Ok::<_, Error>(run(&mut object)))?,
        Err(_) => run(&mut object),
    };
    if status == HIPGRAPH_SUCCESS {
        return Ok(());
    }
    // SAFETY: the function wrote it, or left it null.
    Err(unsafe { error_of(function, status, object, request) })
}

/// Calls a function that has a result and an error object as its last parameters.
pub(crate) fn make<R>(
    function: &'static str,
    request: impl FnOnce() -> String,
    run: impl FnOnce(*mut *mut R, *mut *mut hipgraph_error_t) -> hipgraph_error_code_t,
) -> Result<*mut R> {
    let mut result = std::ptr::null_mut();
    call(function, request, |error| run(&mut result, error))?;
    match result.is_null() {
        true => Err(Error::Library {
            status: HIPGRAPH_UNKNOWN_ERROR,
            message: "it returned success and no result".to_owned(),
            function,
            request: String::new(),
        }),
        false => Ok(result),
    }
}

/// Converts to C's boolean.
pub(crate) fn flag(value: bool) -> hipgraph_bool_t {
    if value { HIPGRAPH_TRUE } else { HIPGRAPH_FALSE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_is_the_text() {
        assert_eq!(format!("{:?}", invalid("alpha", "2", "in 0..1")), "alpha is 2, but must be in 0..1");
    }
}
