//! All functions by name.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use hip_sys::rocm_7_2::{hipDriverProcAddressQueryResult, hipErrorInvalidValue};

use crate::api;
use crate::generated::forward;
use crate::status::{Failure, ensure};
use crate::table::{Function, hip_functions, put};

/// Returns a function by its name.
pub(crate) fn find(name: &str) -> Option<Function> {
    static TABLE: OnceLock<HashMap<&'static str, Function>> = OnceLock::new();
    TABLE.get_or_init(|| all().copied().collect()).get(name).copied()
}

/// Returns all functions with their names.
pub(crate) fn all() -> impl Iterator<Item = &'static (&'static str, Function)> {
    [
        FUNCTIONS,
        forward::FUNCTIONS,
        api::array::FUNCTIONS,
        api::copy::FUNCTIONS,
        api::device::FUNCTIONS,
        api::error::FUNCTIONS,
        api::fill::FUNCTIONS,
        api::graph::FUNCTIONS,
        api::launch::FUNCTIONS,
        api::memory::FUNCTIONS,
        api::module::FUNCTIONS,
        api::peer::FUNCTIONS,
        api::pointer::FUNCTIONS,
        api::properties::FUNCTIONS,
        api::stream::FUNCTIONS,
        api::texture::FUNCTIONS,
        api::virtual_memory::FUNCTIONS,
    ]
    .into_iter()
    .flatten()
}

/// `HIP_GET_PROC_ADDRESS_SUCCESS` and `HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND`.
const FOUND: hipDriverProcAddressQueryResult = hipDriverProcAddressQueryResult(0);
const NOT_FOUND: hipDriverProcAddressQueryResult = hipDriverProcAddressQueryResult(1);

hip_functions! {
    emulated fn hipGetProcAddress(
        name: *const c_char, to: *mut *mut c_void, version: c_int, flags: u64, found: *mut hipDriverProcAddressQueryResult,
    ) {
        // As AMD's runtime, which returns its function whatever version is requested.
        let _ = (version, flags);
        ensure(!name.is_null() && !to.is_null(), hipErrorInvalidValue)?;
        let name = CStr::from_ptr(name);
        let function = name.to_str().ok().and_then(find);
        put(to, function.map_or(ptr::null_mut(), |function| function.address()))?;
        if !found.is_null() {
            found.write(if function.is_some() { FOUND } else { NOT_FOUND });
        }
        match function {
            Some(_) => Ok(()),
            None => Err(Failure::new(hipErrorInvalidValue, format!("{name:?} is not supported on NVIDIA GPUs"))),
        }
    }
}
