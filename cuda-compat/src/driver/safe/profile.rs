//! What a profiler records.

use crate::driver::result::DriverError;
use crate::driver::sys;

/// Lets a profiler record while it lives.
#[derive(Debug, Default)]
pub struct Profiler;

impl Profiler {
    /// Lets a profiler record from here.
    ///
    /// # Errors
    /// Those of [`profiler_start`].
    pub fn new() -> Result<Self, DriverError> {
        profiler_start()?;
        Ok(Self)
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        // What has begun ends with the program at the latest.
        let _ = profiler_stop();
    }
}

/// Lets a profiler record from here.
///
/// # Errors
/// `CUDA_ERROR_NOT_SUPPORTED` from ROCm: its profilers are told by rocTX.
#[doc(alias("cuProfilerStart", "hipProfilerStart"))]
pub fn profiler_start() -> Result<(), DriverError> {
    // SAFETY: the function takes nothing.
    unsafe { sys::cuProfilerStart() }.result()
}

/// Lets a profiler record no more.
///
/// # Errors
/// Those of [`profiler_start`].
#[doc(alias("cuProfilerStop", "hipProfilerStop"))]
pub fn profiler_stop() -> Result<(), DriverError> {
    // SAFETY: the function takes nothing.
    unsafe { sys::cuProfilerStop() }.result()
}
