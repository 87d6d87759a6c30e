//! Fills.

use std::ffi::{c_int, c_uchar, c_void};

use hip_sys::rocm_7_2::{hipErrorInvalidValue, hipExtent, hipPitchedPtr, hipStream_t};

use crate::context;
use crate::driver::driver_functions;
use crate::status::{Outcome, ensure};
use crate::table::hip_functions;

driver_functions! {
    /// Fills memory with a byte.
    fn cuMemsetD8Async(dst: *mut c_void, value: c_uchar, count: usize, stream: hipStream_t);
    /// Fills rows with a byte.
    fn cuMemsetD2D8Async(dst: *mut c_void, pitch: usize, value: c_uchar, width: usize, height: usize, stream: hipStream_t);
}

/// # Safety
/// The rows must be valid until the fill is complete.
unsafe fn rows(
    dst: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
    stream: hipStream_t,
) -> Outcome {
    if width == 0 || height == 0 {
        return Ok(());
    }
    // SAFETY: the caller's contract. As C's `memset`, HIP takes the lowest byte.
    unsafe { cuMemsetD2D8Async(dst, pitch, value as c_uchar, width, height, stream) }
}

hip_functions! {
    translated fn hipMemsetAsync(dst: *mut c_void, value: c_int, bytes: usize, stream: hipStream_t) {
        context::enter()?;
        if bytes == 0 { Ok(()) } else { cuMemsetD8Async(dst, value as c_uchar, bytes, stream) }
    }

    translated fn hipMemset2DAsync(
        dst: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize, stream: hipStream_t,
    ) {
        context::enter()?;
        rows(dst, pitch, value, width, height, stream)
    }

    emulated fn hipMemset3DAsync(memory: hipPitchedPtr, value: c_int, extent: hipExtent, stream: hipStream_t) {
        context::enter()?;
        if memory.ysize == extent.height || extent.depth <= 1 {
            let height = extent.height.checked_mul(extent.depth).ok_or(hipErrorInvalidValue)?;
            return rows(memory.ptr, memory.pitch, value, extent.width, height, stream);
        }
        // Slices with a gap between them: one fill each.
        ensure(extent.height < memory.ysize, hipErrorInvalidValue)?;
        let slice = memory.pitch.checked_mul(memory.ysize).ok_or(hipErrorInvalidValue)?;
        for z in 0..extent.depth {
            let start = memory.ptr.wrapping_byte_add(slice.wrapping_mul(z));
            rows(start, memory.pitch, value, extent.width, extent.height, stream)?;
        }
        Ok(())
    }
}
