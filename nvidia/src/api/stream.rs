//! Streams and events: their flags, which device a stream is of, waits on memory.

use std::ffi::{c_uint, c_void};

use hip_sys::rocm_7_2::{hipDevice_t, hipErrorInvalidValue, hipErrorNotSupported, hipEvent_t, hipStream_t};

use crate::context;
use crate::driver::driver_functions;
use crate::status::{Failure, ensure};
use crate::table::{hip_functions, put};

driver_functions! {
    /// Creates an event.
    fn cuEventCreate(to: *mut hipEvent_t, flags: c_uint);
    /// Writes the context of a stream.
    fn cuStreamGetCtx(stream: hipStream_t, to: *mut *mut c_void);
    /// Makes a stream wait for a value in memory.
    fn cuStreamWaitValue64_v2[c"cuStreamWaitValue64"](stream: hipStream_t, address: *mut c_void, value: u64, flags: c_uint);
}

/// Flags of events that CUDA has too: blocking wait, no timing, for other processes. HIP's others choose which caches
/// AMD's GPUs flush.
const EVENT_FLAGS: c_uint = 1 | 2 | 4;

hip_functions! {
    translated fn hipEventCreateWithFlags(to: *mut hipEvent_t, flags: c_uint) {
        context::enter()?;
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        cuEventCreate(to, flags & EVENT_FLAGS)
    }

    translated fn hipStreamGetDevice(stream: hipStream_t, device: *mut hipDevice_t) {
        context::enter()?;
        let mut of = std::ptr::null_mut();
        cuStreamGetCtx(stream, &raw mut of)?;
        put(device, context::device_of(of)?)
    }

    translated fn hipStreamWaitValue64(stream: hipStream_t, address: *mut c_void, value: u64, flags: c_uint, mask: u64) {
        context::enter()?;
        if mask != u64::MAX {
            let text = "CUDA streams wait for whole values: the mask must have all bits";
            return Err(Failure::new(hipErrorNotSupported, text));
        }
        cuStreamWaitValue64_v2(stream, address, value, flags)
    }
}
