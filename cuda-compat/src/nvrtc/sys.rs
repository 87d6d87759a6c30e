//! The names of `nvrtc.h`.

#![allow(non_snake_case, reason = "names are C's")]

use core::ffi::{CStr, c_char, c_int};
use std::ffi::CString;

#[doc(no_inline)]
pub use hiprtc_sys::{has, load_error, symbol_error};

pub use crate::generated::nvrtc::*;

use super::translate_options;

/// Compiles a program. NVRTC's options are translated by [`translate_options`].
///
/// An option that is null, or not UTF-8, is `NVRTC_ERROR_INVALID_OPTION`, and so is a negative number of them.
///
/// # Safety
/// The program must be alive, and `options` must have `numOptions` C strings.
#[doc(alias("hiprtcCompileProgram"))]
pub unsafe extern "C" fn nvrtcCompileProgram(
    prog: nvrtcProgram,
    numOptions: c_int,
    options: *const *const c_char,
) -> nvrtcResult {
    let Ok(count) = usize::try_from(numOptions) else { return NVRTC_ERROR_INVALID_OPTION };
    if count > 0 && options.is_null() {
        return NVRTC_ERROR_INVALID_OPTION;
    }
    let mut given = Vec::with_capacity(count);
    for index in 0..count {
        // SAFETY: the caller ensures that there are so many.
        let option = unsafe { options.add(index).read() };
        if option.is_null() {
            return NVRTC_ERROR_INVALID_OPTION;
        }
        // SAFETY: the caller ensures that it is a C string.
        let Ok(option) = unsafe { CStr::from_ptr(option) }.to_str() else { return NVRTC_ERROR_INVALID_OPTION };
        given.push(option);
    }
    let mut options = translate_options(given).options;
    // HIPRTC asks the HIP of its own release, which is not the one in use on the software GPU.
    if !options.iter().any(|option| option.starts_with("--offload-arch") || option.starts_with("--gpu-architecture")) {
        options.extend(current_architecture().map(|arch| format!("--offload-arch={arch}")));
    }
    let translated = options.into_iter().map(CString::new);
    let Ok(translated) = translated.collect::<Result<Vec<CString>, _>>() else { return NVRTC_ERROR_INVALID_OPTION };
    let pointers: Vec<*const c_char> = translated.iter().map(|option| option.as_ptr()).collect();
    let Ok(count) = c_int::try_from(pointers.len()) else { return NVRTC_ERROR_INVALID_OPTION };
    // SAFETY: the caller's contract, and the C strings live until the end.
    unsafe { hiprtc_sys::hiprtcCompileProgram(prog, count, pointers.as_ptr()) }
}

/// The architecture of the current device; `None` if there is no device, which HIPRTC then reports.
fn current_architecture() -> Option<String> {
    let device = hip::Device::current().ok()?;
    Some(device.properties().ok()?.arch.to_string())
}
