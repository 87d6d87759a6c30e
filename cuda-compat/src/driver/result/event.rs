//! Events.

use super::calls::calls;
use super::sys;

calls! {
    /// Creates an event.
    fn create(flags: sys::CUevent_flags) -> sys::CUevent = |out| cuEventCreate(out, flags as u32);

    /// Records an event after the work that a stream has so far.
    unsafe fn record(event: sys::CUevent, stream: sys::CUstream) = cuEventRecord(event, stream);

    /// Returns the time between two events, in milliseconds.
    unsafe fn elapsed(start: sys::CUevent, end: sys::CUevent) -> f32 = |out| cuEventElapsedTime(out, start, end);

    /// Succeeds if the event is complete; `CUDA_ERROR_NOT_READY` if it is not.
    unsafe fn query(event: sys::CUevent) = cuEventQuery(event);

    /// Blocks until the event is complete.
    unsafe fn synchronize(event: sys::CUevent) = cuEventSynchronize(event);

    /// Destroys an event.
    unsafe fn destroy(event: sys::CUevent) = cuEventDestroy_v2(event);
}
