//! hipFile (ROCm 10.0) under CUDA's names.

/// The names of CUDA's C header.
pub mod sys {
    #[allow(unused_imports, unreachable_pub, reason = "there is nothing before ROCm 10.0")]
    pub use crate::generated::cufile::*;
    #[doc(no_inline)]
    pub use hipfile_sys::{has, load_error, symbol_error};

    /// Writes the version of the library: 1000 times the major version plus 10 times the minor one. After an error,
    /// nothing is written.
    ///
    /// # Safety
    /// `version` must be valid for the write, or null, which is an error.
    #[doc(alias("hipFileGetVersion"))]
    #[cfg(feature = "rocm-10-0")]
    #[allow(non_snake_case, reason = "the name is C's")]
    #[inline]
    pub unsafe extern "C" fn cuFileGetVersion(version: *mut core::ffi::c_int) -> hipfile_sys::hipFileError_t {
        if version.is_null() {
            return hipfile_sys::hipFileError_t { err: hipfile_sys::hipFileInvalidValue, ..Default::default() };
        }
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        // SAFETY: room for three results.
        let status = unsafe { hipfile_sys::hipFileGetVersion(&mut major, &mut minor, &mut patch) };
        if status.err != hipfile_sys::hipFileSuccess {
            return status;
        }
        // SAFETY: the caller ensures that it is valid.
        unsafe { version.write((1000 * major + 10 * minor).try_into().unwrap_or(core::ffi::c_int::MAX)) };
        status
    }
}
pub use sys::*;
