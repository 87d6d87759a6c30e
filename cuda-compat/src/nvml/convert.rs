//! Conversions between AMD SMI and NVML: statuses, strings, and structs whose form depends on the release.

use core::ffi::{CStr, c_char, c_uint};

use amdsmi_sys as smi;
use amdsmi_sys::amdsmi_status_t;

use super::types::*;

/// The internal result of a query; the C functions return a status.
pub(super) type Result<T> = core::result::Result<T, nvmlReturn_t>;

/// Converts AMD SMI's status to NVML's.
pub(super) fn status(status: amdsmi_status_t) -> nvmlReturn_t {
    match status {
        smi::AMDSMI_STATUS_SUCCESS => NVML_SUCCESS,
        smi::AMDSMI_STATUS_INVAL | smi::AMDSMI_STATUS_INPUT_OUT_OF_BOUNDS => NVML_ERROR_INVALID_ARGUMENT,
        smi::AMDSMI_STATUS_NOT_SUPPORTED | smi::AMDSMI_STATUS_NOT_YET_IMPLEMENTED => NVML_ERROR_NOT_SUPPORTED,
        smi::AMDSMI_STATUS_FAIL_LOAD_MODULE => NVML_ERROR_LIBRARY_NOT_FOUND,
        smi::AMDSMI_STATUS_FAIL_LOAD_SYMBOL => NVML_ERROR_FUNCTION_NOT_FOUND,
        smi::AMDSMI_STATUS_NO_PERM => NVML_ERROR_NO_PERMISSION,
        smi::AMDSMI_STATUS_NOT_INIT | smi::AMDSMI_STATUS_INIT_ERROR => NVML_ERROR_UNINITIALIZED,
        smi::AMDSMI_STATUS_NOT_FOUND => NVML_ERROR_NOT_FOUND,
        smi::AMDSMI_STATUS_INSUFFICIENT_SIZE => NVML_ERROR_INSUFFICIENT_SIZE,
        smi::AMDSMI_STATUS_TIMEOUT => NVML_ERROR_TIMEOUT,
        smi::AMDSMI_STATUS_BUSY => NVML_ERROR_IN_USE,
        smi::AMDSMI_STATUS_NO_DATA => NVML_ERROR_NO_DATA,
        smi::AMDSMI_STATUS_OUT_OF_RESOURCES => NVML_ERROR_MEMORY,
        smi::AMDSMI_STATUS_DRM_ERROR => NVML_ERROR_DRIVER_NOT_LOADED,
        smi::AMDSMI_STATUS_IO | smi::AMDSMI_STATUS_FILE_ERROR => NVML_ERROR_OPERATING_SYSTEM,
        _ => NVML_ERROR_UNKNOWN,
    }
}

/// Converts a status to a result.
pub(super) fn check(of: amdsmi_status_t) -> Result<()> {
    match status(of) {
        NVML_SUCCESS => Ok(()),
        error => Err(error),
    }
}

/// Writes a value, or returns the reason that there is none. Null is an invalid argument; then `value` is not called.
///
/// # Safety
/// `place` must be valid for the write, or null.
pub(super) unsafe fn write<T>(place: *mut T, value: impl FnOnce() -> Result<T>) -> nvmlReturn_t {
    if place.is_null() {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    match value() {
        Ok(value) => {
            // SAFETY: the caller's contract; it is not null.
            unsafe { place.write(value) };
            NVML_SUCCESS
        }
        Err(error) => error,
    }
}

/// Writes a C string, or returns the reason that there is none. A string that does not fit is
/// `NVML_ERROR_INSUFFICIENT_SIZE`.
///
/// # Safety
/// `place` must be valid for writes of `length` bytes, or null.
pub(super) unsafe fn write_text(
    place: *mut c_char,
    length: c_uint,
    text: impl FnOnce() -> Result<String>,
) -> nvmlReturn_t {
    if place.is_null() {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    let text = match text() {
        Ok(text) => text,
        Err(error) => return error,
    };
    let bytes = text.bytes().take_while(|byte| *byte != 0);
    let size = bytes.clone().count() + 1;
    if usize::try_from(length).map_or(true, |length| length < size) {
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    for (index, byte) in bytes.chain([0]).enumerate() {
        // SAFETY: the caller's contract; the index is below `size`, which is at most `length`.
        unsafe { place.add(index).write(byte as c_char) };
    }
    NVML_SUCCESS
}

/// Returns the text in a buffer of a struct.
pub(super) fn text(buffer: &[c_char]) -> String {
    let bytes: Vec<u8> = buffer.iter().take_while(|c| **c != 0).map(|c| c.to_ne_bytes()[0]).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns a C string that the caller passed; null or invalid UTF-8 is an invalid argument.
///
/// # Safety
/// `pointer` must be null or a C string that lives as long as the result.
pub(super) unsafe fn argument<'a>(pointer: *const c_char) -> Result<&'a str> {
    if pointer.is_null() {
        return Err(NVML_ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: the caller's contract; it is not null.
    unsafe { CStr::from_ptr(pointer) }.to_str().map_err(|_| NVML_ERROR_INVALID_ARGUMENT)
}

/// Returns whether a function may have the form of another release. Makes no call.
pub(super) fn is_other(status: amdsmi_status_t) -> bool {
    matches!(status, smi::AMDSMI_STATUS_FAIL_LOAD_SYMBOL | smi::AMDSMI_STATUS_NOT_SUPPORTED)
}

/// Calls the form of a function that fits the library: the first of these releases that has it.
macro_rules! form {
    (@call $release:ident $function:ident ($($argument:expr),*) $place:expr) => {
        // SAFETY: room for the result; AMD SMI rejects unknown handles.
        unsafe { amdsmi_sys::$release::$function($($argument,)* $place) }
    };
    ($function:ident $arguments:tt -> $info:ident in $($release:ident),*; |$name:ident| $value:expr) => {{
        let mut status = amdsmi_sys::AMDSMI_STATUS_FAIL_LOAD_SYMBOL;
        let mut found = None;
        $(if $crate::nvml::convert::is_other(status) {
            let mut $name = amdsmi_sys::$release::$info::default();
            status = form!(@call $release $function $arguments &mut $name);
            if status == amdsmi_sys::AMDSMI_STATUS_SUCCESS {
                found = Some($value);
            }
        })*
        // If the library is loaded, but no form for its release is known, the function is not supported.
        found.ok_or_else(|| match $crate::nvml::convert::is_other(status) {
            true => NVML_ERROR_NOT_SUPPORTED,
            false => $crate::nvml::convert::status(status),
        })
    }};
}
pub(super) use form;
