//! What the library says of itself, and what holds for all calls of a handle.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use crate::{BlasLt, Result, check, raw};

impl BlasLt {
    /// The library's version: 100 000 times the major, 100 times the minor number, and the patch.
    ///
    /// # Errors
    /// Those of the library.
    #[doc(alias("hipblasLtGetVersion", "cublasLtGetVersion"))]
    pub fn version(&self) -> Result<i32> {
        self.handle.configure(|handle| {
            let mut version = 0;
            // SAFETY: a handle; it writes the number there.
            check(unsafe { raw::hipblasLtGetVersion(handle, &mut version) }, "hipblasLtGetVersion", String::new)?;
            Ok(version)
        })
    }

    /// The revision that the library was built from. Empty if its build was not told, as Debian's.
    ///
    /// # Errors
    /// Those of the library.
    #[doc(alias("hipblasLtGetGitRevision"))]
    pub fn revision(&self) -> Result<String> {
        self.handle.configure(|handle| {
            // The library copies a constant of it, of some ten letters, and does not ask for the room.
            let mut text = [0_u8; 1024];
            // SAFETY: a handle, and more room than there are letters in a revision.
            let status = unsafe { raw::hipblasLtGetGitRevision(handle, text.as_mut_ptr().cast()) };
            check(status, "hipblasLtGetGitRevision", String::new)?;
            Ok(CStr::from_bytes_until_nul(&text).unwrap_or_default().to_string_lossy().into_owned())
        })
    }

    /// The architecture that the library chooses its code for, such as `gfx90a`.
    ///
    /// # Errors
    /// Those of the library, and of `hip` for the device's name.
    #[doc(alias("hipblasLtGetArchName"))]
    pub fn arch(&self) -> Result<String> {
        let device = self.stream().device();
        let longest = device.properties()?.arch.name().len();
        device.with_current(|| {
            let mut text: *mut c_char = ptr::null_mut();
            // SAFETY: it writes an address there, of memory that is the caller's from then on.
            check(unsafe { raw::hipblasLtGetArchName(&mut text) }, "hipblasLtGetArchName", String::new)?;
            // Up to 7.2, no 0 ends the name, and nothing tells its length: no more is read than the device's name has.
            // SAFETY: the name, which is as long as the device's, or ends with a 0 before.
            let letter = |at| unsafe { text.add(at).read() } as u8;
            let name = (0..longest).map(letter).take_while(u8::is_ascii_alphanumeric).map(char::from).collect();
            #[cfg(unix)]
            // SAFETY: from the library's `malloc`, which is the process's.
            unsafe {
                free(text.cast());
            }
            Ok(name)
        })?
    }

    /// How many compute units products may use, as far as the library heeds it; 0 is all. ROCm 10.0 and newer.
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

    /// What [`set_compute_units`](Self::set_compute_units) has set, or 0.
    ///
    /// # Errors
    /// As [`set_compute_units`](Self::set_compute_units).
    #[doc(alias("hipblasLtGetSmCountTarget", "cublasGetSmCountTarget"))]
    pub fn compute_units(&self) -> Result<u32> {
        self.handle.configure(|handle| {
            let mut count = 0;
            // SAFETY: a handle that is alive; it writes the number there.
            let status = unsafe { raw::hipblasLtGetSmCountTarget(handle, &mut count) };
            check(status, "hipblasLtGetSmCountTarget", String::new)?;
            Ok(count.unsigned_abs())
        })
    }

    /// Waits, and returns which product was the first with a NaN in D, counted from 1, since the last such call. `None` if there was none, or
    /// unless the environment variable `HIPBLASLT_CHECK_NUMERICS` was set when this was made. ROCm 10.0 and newer.
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
                // SAFETY: a handle that is alive; it writes the number there.
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
