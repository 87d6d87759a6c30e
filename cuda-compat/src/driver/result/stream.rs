//! Streams, and their capture.

use std::ffi::c_void;
use std::ptr::null_mut;

use super::calls::calls;
use super::{DriverError, sys};

/// The relation of a stream to the default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// It waits for the default stream, and vice versa.
    Default,
    /// It does not wait for the default stream.
    NonBlocking,
}

impl StreamKind {
    fn flags(self) -> u32 {
        match self {
            Self::Default => sys::CUstream_flags::CU_STREAM_DEFAULT as u32,
            Self::NonBlocking => sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32,
        }
    }
}

/// Returns the handle of the default stream.
#[must_use]
pub fn null() -> sys::CUstream {
    null_mut()
}

calls! {
    /// Creates a stream.
    fn create(kind: StreamKind) -> sys::CUstream = |out| cuStreamCreate(out, kind.flags());

    /// Creates a stream with a priority: lower numbers come first.
    fn create_with_priority(kind: StreamKind, priority: i32) -> sys::CUstream = |out| cuStreamCreateWithPriority(out, kind.flags(), priority);

    /// Blocks until the work of a stream is done.
    unsafe fn synchronize(stream: sys::CUstream) = cuStreamSynchronize(stream);

    /// Destroys a stream. Its queued work continues.
    unsafe fn destroy(stream: sys::CUstream) = cuStreamDestroy_v2(stream);

    /// Makes later work of a stream wait for an event.
    unsafe fn wait_event(stream: sys::CUstream, event: sys::CUevent, flags: sys::CUevent_wait_flags) = cuStreamWaitEvent(stream, event, flags as u32);

    /// Sets which streams use managed memory.
    unsafe fn attach_mem_async(stream: sys::CUstream, dptr: sys::CUdeviceptr, num_bytes: usize, flags: sys::CUmemAttach_flags) = cuStreamAttachMemAsync(stream, dptr, num_bytes, flags as u32);

    /// Queues a host function. It must not call HIP.
    unsafe fn launch_host_function(stream: sys::CUstream, func: unsafe extern "C" fn(*mut c_void), arg: *mut c_void) = cuLaunchHostFunc(stream, Some(func), arg);

    /// Starts to record the work of a stream to a graph.
    unsafe fn begin_capture(stream: sys::CUstream, mode: sys::CUstreamCaptureMode) = cuStreamBeginCapture_v2(stream, mode);

    /// Ends the capture, and returns the graph.
    unsafe fn end_capture(stream: sys::CUstream) -> sys::CUgraph = |out| cuStreamEndCapture(stream, out);

    /// Returns whether a stream is captured.
    unsafe fn is_capturing(stream: sys::CUstream) -> sys::CUstreamCaptureStatus = |out| cuStreamIsCapturing(stream, out);
}

/// Returns the lowest and the highest priority of streams, in this order.
///
/// # Errors
/// The status of `cuCtxGetStreamPriorityRange`.
#[doc(alias = "cuCtxGetStreamPriorityRange")]
pub fn get_priority_range() -> Result<(i32, i32), DriverError> {
    let (mut least, mut greatest) = (0, 0);
    // SAFETY: room for two results.
    unsafe { sys::cuCtxGetStreamPriorityRange(&mut least, &mut greatest) }.result()?;
    Ok((least, greatest))
}
