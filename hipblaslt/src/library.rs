//! The library's version and properties, and settings for all calls of a handle.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use crate::{BlasLt, Result, check, raw};

impl BlasLt {
    /// Returns the library's version: 100 000 times the major number, 100 times the minor number, and the patch.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hipblasLtGetVersion", "cublasLtGetVersion"))]
    pub fn version(&self) -> Result<i32> {
        self.handle.configure(|handle| {
            let mut version = 0;
            // SAFETY: a handle; the function writes the number there.
            check(unsafe { raw::hipblasLtGetVersion(handle, &mut version) }, "hipblasLtGetVersion", String::new)?;
            Ok(version)
        })
    }

    /// Returns the source revision that the library was built from. Empty if the build did not record it, as in
    /// Debian's package.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hipblasLtGetGitRevision"))]
    pub fn revision(&self) -> Result<String> {
        self.handle.configure(|handle| {
            // The library copies its constant, about ten letters, and does not ask for the buffer's size.
            let mut text = [0_u8; 1024];
            // SAFETY: a handle, and a buffer that is larger than any revision.
            let status = unsafe { raw::hipblasLtGetGitRevision(handle, text.as_mut_ptr().cast()) };
            check(status, "hipblasLtGetGitRevision", String::new)?;
            Ok(CStr::from_bytes_until_nul(&text).unwrap_or_default().to_string_lossy().into_owned())
        })
    }

    /// Returns the architecture that the library chooses its code for, such as `gfx90a`.
    ///
    /// # Errors
    /// An error from the library, or from `hip` for the device's name.
    #[doc(alias("hipblasLtGetArchName"))]
    pub fn arch(&self) -> Result<String> {
        let device = self.stream().device();
        let longest = device.properties()?.arch.name().len();
        device.with_current(|| {
            let mut text: *mut c_char = ptr::null_mut();
            // SAFETY: the function writes the address of memory that the caller owns from then on.
            check(unsafe { raw::hipblasLtGetArchName(&mut text) }, "hipblasLtGetArchName", String::new)?;
            // Up to 7.2, the name is not terminated, and its length is unknown: no more bytes are read than the device's name has.
            // SAFETY: the name, which is as long as the device's, or ends with a 0 before.
            let letter = |at| unsafe { text.add(at).read() } as u8;
            let name = (0..longest).map(letter).take_while(u8::is_ascii_alphanumeric).map(char::from).collect();
            #[cfg(unix)]
            // SAFETY: the library allocated it with `malloc`, which is the process's allocator.
            unsafe {
                free(text.cast());
            }
            Ok(name)
        })?
    }

    /// Sets how many compute units products may use, if the library respects it; 0 means all. ROCm 10.0 and newer.
    ///
    /// # Errors
    /// `HIPBLAS_STATUS_NOT_SUPPORTED` on older releases.
    #[doc(alias("hipblasLtSetSmCountTarget", "cublasSetSmCountTarget"))]
    pub fn set_compute_units(&mut self, count: u32) -> Result<()> {
        let asked = i32::try_from(count).unwrap_or(i32::MAX);
        self.handle.configure(|handle| {
            // SAFETY: a handle that is alive.
            let status = unsafe { raw::hipblasLtSetSmCountTarget(handle, asked) };
            check(status, "hipblasLtSetSmCountTarget", || format!("{count} compute units"))
        })?;
        self.forget_algorithms();
        Ok(())
    }

    /// Returns the number set by [`set_compute_units`](Self::set_compute_units), or 0.
    ///
    /// # Errors
    /// As [`set_compute_units`](Self::set_compute_units).
    #[doc(alias("hipblasLtGetSmCountTarget", "cublasGetSmCountTarget"))]
    pub fn compute_units(&self) -> Result<u32> {
        self.handle.configure(|handle| {
            let mut count = 0;
            // SAFETY: a handle that is alive; the function writes the number there.
            let status = unsafe { raw::hipblasLtGetSmCountTarget(handle, &mut count) };
            check(status, "hipblasLtGetSmCountTarget", String::new)?;
            Ok(count.unsigned_abs())
        })
    }

    /// Waits, and returns the first product since the last such call that had a NaN in D, counted from 1. `None` if
    /// there was none, or if the environment variable `HIPBLASLT_CHECK_NUMERICS` was not set when this handle was made.
    /// ROCm 10.0 and newer.
    ///
    /// # Errors
    /// `HIPBLAS_STATUS_NOT_SUPPORTED` on older releases.
    #[doc(alias("hipblasLtCheckNumericsDrain"))]
    pub fn first_nan(&self) -> Result<Option<u32>> {
        self.stream().synchronize()?;
        let device = self.stream().device();
        device.with_current(|| {
            self.handle.configure(|handle| {
                let mut first = 0;
                // SAFETY: a handle that is alive; the function writes the number there.
                let status = unsafe { raw::hipblasLtCheckNumericsDrain(handle, &mut first) };
                check(status, "hipblasLtCheckNumericsDrain", String::new)?;
                Ok((first != 0).then_some(first))
            })
        })?
    }
}

#[cfg(unix)]
unsafe extern "C" {
    fn free(memory: *mut c_void);
}
