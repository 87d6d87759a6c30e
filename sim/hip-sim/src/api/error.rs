//! Errors: the thread's last error, names and descriptions.

#![allow(non_snake_case)] // the names are HIP's

use std::ffi::c_char;

use hip_sys::rocm_7_2::{hipError_t, hipErrorInvalidValue};

use super::Function;
use crate::status::{description, last_error, name, unremembered};

extern "C" fn hipGetLastError() -> hipError_t {
    last_error(true)
}

extern "C" fn hipExtGetLastError() -> hipError_t {
    last_error(true)
}

extern "C" fn hipPeekAtLastError() -> hipError_t {
    last_error(false)
}

extern "C" fn hipGetErrorName(status: hipError_t) -> *const c_char {
    name(status).as_ptr()
}

extern "C" fn hipGetErrorString(status: hipError_t) -> *const c_char {
    description(status).as_ptr()
}

unsafe extern "C" fn hipDrvGetErrorName(status: hipError_t, to: *mut *const c_char) -> hipError_t {
    unremembered(|| {
        // SAFETY: null or valid, as HIP documents for the parameter.
        unsafe { super::put(to, if is_known(status) { name(status).as_ptr() } else { std::ptr::null() }) }?;
        crate::status::ensure(is_known(status), hipErrorInvalidValue)
    })
}

unsafe extern "C" fn hipDrvGetErrorString(status: hipError_t, to: *mut *const c_char) -> hipError_t {
    unremembered(|| {
        let text = if is_known(status) { description(status).as_ptr() } else { std::ptr::null() };
        // SAFETY: null or valid, as HIP documents for the parameter.
        unsafe { super::put(to, text) }?;
        crate::status::ensure(is_known(status), hipErrorInvalidValue)
    })
}

fn is_known(status: hipError_t) -> bool {
    status == hip_sys::rocm_7_2::hipErrorUnknown || name(status) != c"hipErrorUnknown"
}

const _: () = {
    let _: unsafe extern "C" fn() -> hipError_t = hip_sys::rocm_7_2::hipGetLastError;
    let _: unsafe extern "C" fn() -> hipError_t = hip_sys::rocm_7_2::hipPeekAtLastError;
    let _: unsafe extern "C" fn(hipError_t) -> *const c_char = hip_sys::rocm_7_2::hipGetErrorName;
    let _: unsafe extern "C" fn(hipError_t) -> *const c_char = hip_sys::rocm_7_2::hipGetErrorString;
    let _: unsafe extern "C" fn(hipError_t, *mut *const c_char) -> hipError_t = hip_sys::rocm_7_2::hipDrvGetErrorName;
    let _: unsafe extern "C" fn(hipError_t, *mut *const c_char) -> hipError_t = hip_sys::rocm_7_2::hipDrvGetErrorString;
};

/// The functions of this file by name.
pub(crate) const FUNCTIONS: &[(&str, Function)] = &[
    ("hipGetLastError", Function(hipGetLastError as *const ())),
    ("hipExtGetLastError", Function(hipExtGetLastError as *const ())),
    ("hipPeekAtLastError", Function(hipPeekAtLastError as *const ())),
    ("hipGetErrorName", Function(hipGetErrorName as *const ())),
    ("hipGetErrorString", Function(hipGetErrorString as *const ())),
    ("hipDrvGetErrorName", Function(hipDrvGetErrorName as *const ())),
    ("hipDrvGetErrorString", Function(hipDrvGetErrorString as *const ())),
];
