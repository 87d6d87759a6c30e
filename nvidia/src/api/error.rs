//! The last error, and names and descriptions of statuses.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char};
use std::sync::{Mutex, OnceLock, PoisonError};

use hip_sys::rocm_7_2::{hipError_t, hipErrorUnknown};

use crate::driver;
use crate::status::{has_name, last_error, name};
use crate::table::{Function, Functions};

/// The functions of this file by name.
pub(crate) const FUNCTIONS: Functions = &[
    ("hipGetLastError", Function(hipGetLastError as *const ())),
    ("hipPeekAtLastError", Function(hipPeekAtLastError as *const ())),
    ("hipGetErrorName", Function(hipGetErrorName as *const ())),
    ("hipGetErrorString", Function(hipGetErrorString as *const ())),
];

// These do not return the status of a call, so the macro `hip_functions` does not fit.
const _: () = {
    let _: [unsafe extern "C" fn() -> hipError_t; 2] =
        [hip_sys::rocm_7_2::hipGetLastError, hip_sys::rocm_7_2::hipPeekAtLastError];
    let _: [unsafe extern "C" fn(hipError_t) -> *const c_char; 2] =
        [hip_sys::rocm_7_2::hipGetErrorName, hip_sys::rocm_7_2::hipGetErrorString];
};

/// emulated
#[allow(non_snake_case)]
unsafe extern "C" fn hipGetLastError() -> hipError_t {
    last_error(true)
}

/// emulated
#[allow(non_snake_case)]
unsafe extern "C" fn hipPeekAtLastError() -> hipError_t {
    last_error(false)
}

/// emulated
#[allow(non_snake_case)]
unsafe extern "C" fn hipGetErrorName(status: hipError_t) -> *const c_char {
    c_name(status).as_ptr()
}

/// emulated
#[allow(non_snake_case)]
unsafe extern "C" fn hipGetErrorString(status: hipError_t) -> *const c_char {
    // CUDA's text for a number that HIP has too is right, because the numbers have the same meanings.
    let text = if has_name(status) { driver::text(status.0) } else { None };
    text.unwrap_or_else(|| c_name(status)).as_ptr()
}

/// Returns the name of a status as a C string that lives for ever. Unknown statuses are `hipErrorUnknown`.
fn c_name(status: hipError_t) -> &'static CStr {
    static NAMES: OnceLock<Mutex<HashMap<u32, &'static CStr>>> = OnceLock::new();
    let status = if has_name(status) { status } else { hipErrorUnknown };
    let mut names = NAMES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    names.entry(status.0).or_insert_with(|| {
        // One text per status of HIP, at most.
        let text = CString::new(name(status)).unwrap_or_default();
        Box::leak(text.into_boxed_c_str())
    })
}

#[cfg(test)]
mod tests {
    use hip_sys::rocm_7_2::hipErrorInvalidValue;

    use super::*;

    #[test]
    fn a_status_has_hips_name_and_an_unknown_one_is_unknown() {
        assert_eq!(c_name(hipErrorInvalidValue), c"hipErrorInvalidValue");
        assert_eq!(c_name(hipError_t(98765)), c"hipErrorUnknown");
        assert!(std::ptr::eq(c_name(hipErrorInvalidValue), c_name(hipErrorInvalidValue)), "made once");
    }
}
