//! Looking up functions by name.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use hip_sys::rocm_7_2::hipErrorInvalidValue;

use super::{hip_functions, put, put_if_wanted};
use crate::status::{Refusal, ensure};

/// `HIP_GET_PROC_ADDRESS_SUCCESS` and `HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND`.
const FOUND: c_uint = 0;
const NOT_FOUND: c_uint = 1;

hip_functions! {
    since:

    fn hipGetProcAddress(
        name: *const c_char, to: *mut *mut c_void, version: c_int, flags: u64, found: *mut c_uint,
    ) {
        // As AMD's runtime, which returns its function whatever version is requested.
        let _ = (version, flags);
        ensure(!name.is_null() && !to.is_null(), hipErrorInvalidValue)?;
        let name = CStr::from_ptr(name);
        let address = name.to_str().ok().and_then(crate::provider::address);
        put(to, address.unwrap_or(std::ptr::null_mut()))?;
        put_if_wanted(found, if address.is_some() { FOUND } else { NOT_FOUND });
        match address {
            Some(_) => Ok(()),
            None => Err(Refusal::new(hipErrorInvalidValue, format!("{name:?} is no function of the software GPU"))),
        }
    }
}
