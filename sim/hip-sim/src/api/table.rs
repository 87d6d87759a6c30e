//! The table of all functions, and looking them up by name.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use hip_sys::rocm_7_2::hipErrorInvalidValue;

use super::{Function, hip_functions, put, put_if_wanted};
use crate::status::{Refusal, ensure};

/// `HIP_GET_PROC_ADDRESS_SUCCESS` and `HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND`.
const FOUND: c_uint = 0;
const NOT_FOUND: c_uint = 1;

/// All functions by name.
pub(crate) fn table() -> &'static HashMap<&'static str, Function> {
    static TABLE: OnceLock<HashMap<&'static str, Function>> = OnceLock::new();
    TABLE.get_or_init(|| {
        [
            super::error::FUNCTIONS,
            super::device::FUNCTIONS,
            super::memory::FUNCTIONS,
            super::managed::FUNCTIONS,
            super::copy::FUNCTIONS,
            super::memset::FUNCTIONS,
            super::stream::FUNCTIONS,
            super::execution_context::FUNCTIONS,
            super::capture::FUNCTIONS,
            super::event::FUNCTIONS,
            super::module::FUNCTIONS,
            super::library::FUNCTIONS,
            super::launch::FUNCTIONS,
            super::occupancy::FUNCTIONS,
            super::pool::FUNCTIONS,
            super::virtual_memory::FUNCTIONS,
            #[cfg(target_os = "linux")]
            super::ipc::FUNCTIONS,
            super::array::FUNCTIONS,
            super::texture::FUNCTIONS,
            super::mipmap::FUNCTIONS,
            super::signal::FUNCTIONS,
            #[cfg(target_os = "linux")]
            super::external::FUNCTIONS,
            super::batch::FUNCTIONS,
            super::limit::FUNCTIONS,
            super::link::FUNCTIONS,
            super::attribute::FUNCTIONS,
            FUNCTIONS,
        ]
        .into_iter()
        .chain(super::graph::FUNCTIONS.iter().copied())
        .flatten()
        .copied()
        .collect()
    })
}

/// The address of a supported function.
fn address(name: &str) -> Option<*mut c_void> {
    table().get(name).map(|function| function.address())
}

hip_functions! {
    since:

    fn hipGetProcAddress(
        name: *const c_char, to: *mut *mut c_void, version: c_int, flags: u64, found: *mut c_uint,
    ) {
        // As AMD's runtime, which returns its function whatever version is requested.
        let _ = (version, flags);
        ensure(!name.is_null() && !to.is_null(), hipErrorInvalidValue)?;
        let name = CStr::from_ptr(name);
        let address = name.to_str().ok().and_then(address);
        put(to, address.unwrap_or(std::ptr::null_mut()))?;
        put_if_wanted(found, if address.is_some() { FOUND } else { NOT_FOUND });
        match address {
            Some(_) => Ok(()),
            None => Err(Refusal::new(hipErrorInvalidValue, format!("{name:?} is no function of the software GPU"))),
        }
    }
}
