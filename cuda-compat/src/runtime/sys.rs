//! The names of `cuda_runtime_api.h`, `driver_types.h`, `vector_types.h` and `library_types.h`.

#![allow(non_camel_case_types, non_snake_case, reason = "names are C's")]

use core::ffi::c_char;

#[doc(no_inline)]
pub use hip_sys::{has, load_error, symbol_error};

pub use crate::driver::sys::{
    CUgraphExecUpdateResultInfo as cudaGraphExecUpdateResultInfo, cuGraphExecUpdate as cudaGraphExecUpdate,
};
#[cfg(feature = "rocm-7-1")]
pub use crate::driver::sys::{
    cuLibraryLoadData as cudaLibraryLoadData, cuLibraryLoadFromFile as cudaLibraryLoadFromFile,
};
pub use crate::generated::runtime::*;

use crate::driver::sys::{LACKING, name_of};

/// Returns the name of a status: HIP's, or the driver's if HIP lacks the status.
///
/// # Safety
/// Always safe to call; it is `unsafe` as all functions here are.
#[doc(alias("hipGetErrorName"))]
pub unsafe extern "C" fn cudaGetErrorName(error: cudaError_t) -> *const c_char {
    // SAFETY: a status.
    name_of(error).map_or_else(|| unsafe { hip_sys::hipGetErrorName(error) }, core::ffi::CStr::as_ptr)
}

/// Returns the description of a status.
///
/// # Safety
/// Always safe to call; it is `unsafe` as all functions here are.
#[doc(alias("hipGetErrorString"))]
pub unsafe extern "C" fn cudaGetErrorString(error: cudaError_t) -> *const c_char {
    // SAFETY: a status.
    name_of(error).map_or_else(|| unsafe { hip_sys::hipGetErrorString(error) }, |_| LACKING.as_ptr())
}
