//! The names of `cuda_runtime_api.h`, `driver_types.h`, `vector_types.h` and `library_types.h`.

#![allow(non_camel_case_types, non_snake_case, reason = "names are C's")]

use core::ffi::{c_char, c_int};

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

/// Writes an attribute of a device. The compute capability and the size of warps are those of
/// [`device`](crate::device); other values are HIP's.
///
/// # Safety
/// `value` must be valid for the write, or null, which is an error.
#[doc(alias("hipDeviceGetAttribute"))]
pub unsafe extern "C" fn cudaDeviceGetAttribute(value: *mut c_int, attr: cudaDeviceAttr, device: c_int) -> cudaError_t {
    // SAFETY: the caller's contract.
    unsafe { crate::device::get_attribute(value, attr, device) }
}

/// Writes the properties of a device. The compute capability (`major`, `minor`) and `warpSize` are those of
/// [`device`](crate::device); other values are HIP's.
///
/// # Safety
/// `prop` must be valid for the write, or null, which is an error.
#[cfg(feature = "rocm-6-2")]
#[doc(alias("hipGetDeviceProperties"))]
pub unsafe extern "C" fn cudaGetDeviceProperties(prop: *mut cudaDeviceProp, device: c_int) -> cudaError_t {
    // SAFETY: the caller's contract is that of the function called.
    let status = unsafe { hip_sys::rocm_6_2::hipGetDeviceProperties(prop, device) };
    if status == hip_sys::hipSuccess {
        // SAFETY: the call has written it.
        let prop = unsafe { &mut *prop };
        (prop.major, prop.minor) = crate::device::COMPUTE_CAPABILITY;
        prop.warpSize = crate::device::lanes().unwrap_or(prop.warpSize);
    }
    status
}

#[cfg(feature = "rocm-6-2")]
pub use cudaGetDeviceProperties as cudaGetDeviceProperties_v2;
