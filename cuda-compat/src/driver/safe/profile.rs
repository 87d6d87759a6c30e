//! Profiler control.

use crate::driver::result::DriverError;
use crate::driver::sys;

/// A profiler records while this value lives.
#[derive(Debug, Default)]
pub struct Profiler;

impl Profiler {
    /// Starts recording.
    ///
    /// # Errors
    /// The errors of [`profiler_start`].
    pub fn new() -> Result<Self, DriverError> {
        profiler_start()?;
        Ok(Self)
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        // If this fails, recording ends with the program at the latest.
        let _ = profiler_stop();
    }
}

/// Starts recording.
///
/// # Errors
/// `CUDA_ERROR_NOT_SUPPORTED` from ROCm: its profilers are controlled through rocTX.
#[doc(alias("cuProfilerStart", "hipProfilerStart"))]
pub fn profiler_start() -> Result<(), DriverError> {
    // SAFETY: the function takes nothing.
    unsafe { sys::cuProfilerStart() }.result()
}

/// Stops recording.
///
/// # Errors
/// The errors of [`profiler_start`].
#[doc(alias("cuProfilerStop", "hipProfilerStop"))]
pub fn profiler_stop() -> Result<(), DriverError> {
    // SAFETY: the function takes nothing.
    unsafe { sys::cuProfilerStop() }.result()
}
