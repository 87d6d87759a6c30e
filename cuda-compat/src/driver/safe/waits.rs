//! Calls that wait for a whole device, or for its default stream. HIP ends the captures of all threads in such calls.

use std::cell::Cell;

use hip::interop::{free_memory, wait_for_current_device};

use crate::driver::result::DriverError;
use crate::driver::{result, sys};

/// Returns the status for a `hip` error, with its message.
pub(super) fn explained(error: &hip::Error) -> DriverError {
    let status = match error {
        hip::Error::Image { .. } => sys::CUresult::CUDA_ERROR_INVALID_IMAGE,
        hip::Error::Architecture { .. } => sys::CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
        hip::Error::KernelNotFound { .. } => sys::CUresult::CUDA_ERROR_NOT_FOUND,
        hip::Error::Capture { .. } => sys::CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
        hip::Error::InHostFunction => sys::CUresult::CUDA_ERROR_NOT_PERMITTED,
        other => match other.status() {
            Some(status) => sys::CUresult(status.0),
            None => sys::CUresult::CUDA_ERROR_UNKNOWN,
        },
    };
    DriverError(status).explained(error.to_string())
}

/// A status, as an error of the functions of `hip::interop`.
pub(super) struct Failed(pub(super) DriverError);

impl From<hip::Error> for Failed {
    fn from(error: hip::Error) -> Self {
        Self(explained(&error))
    }
}

/// Waits for the current device, when no stream is captured.
///
/// # Errors
/// An error of the device's work; `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` if this thread captures a stream: the capture
/// continues, and nothing was waited for.
pub(super) fn wait_for_device() -> Result<(), DriverError> {
    wait_for_current_device(|| result::ctx::synchronize().map_err(Failed)).map_err(|Failed(error)| error)
}

/// Makes a call when no stream is captured; at once in a thread that captures a stream, which it could wait for
/// forever.
pub(super) fn apart_from_captures<R>(call: impl FnOnce() -> R) -> R {
    let call = Cell::new(Some(call));
    let make = || call.take().map(|call| call());
    let made = wait_for_current_device(|| Ok::<_, Failed>(make())).ok().flatten();
    made.or_else(make).expect("made once")
}

/// Frees memory, in which HIP waits for the device: not beside calls that deadlock with that.
pub(super) fn free(call: impl FnOnce() -> Result<(), DriverError>) -> Result<(), DriverError> {
    free_memory(|| call().map_err(Failed)).map_err(|Failed(error)| error)
}

/// Waits for the default stream of the current device: when no stream is captured, or by an event if this thread
/// captures a stream.
pub(super) fn wait_for_default_stream() -> Result<(), DriverError> {
    let mut made = false;
    let waited = wait_for_current_device(|| {
        made = true;
        // SAFETY: the default stream always exists.
        unsafe { result::stream::synchronize(result::stream::null()) }.map_err(Failed)
    });
    if made {
        return waited.map_err(|Failed(error)| error);
    }
    let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)?;
    // SAFETY: the event was created above.
    let recorded = unsafe { result::event::record(event, result::stream::null()) };
    // SAFETY: as above.
    let waited = recorded.and_then(|()| unsafe { result::event::synchronize(event) });
    // SAFETY: as above; nothing else has it.
    waited.and(unsafe { result::event::destroy(event) })
}
