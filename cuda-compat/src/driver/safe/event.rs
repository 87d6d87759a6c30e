//! Events.

use std::sync::{Arc, Mutex, PoisonError};

use super::{CudaContext, CudaStream};
use crate::driver::result::{self, DriverError};
use crate::driver::sys;

/// A point in the work of a stream.
#[derive(Debug)]
pub struct CudaEvent {
    raw: sys::CUevent,
    context: Arc<CudaContext>,
    /// Held while the event is waited for and recorded again.
    moving: Mutex<()>,
}

// SAFETY: an event of HIP is a handle, which every thread can use.
unsafe impl Send for CudaEvent {}
// SAFETY: as above.
unsafe impl Sync for CudaEvent {}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        self.context.record_err(self.context.bind_to_thread());
        // SAFETY: this value owns the event.
        self.context.record_err(unsafe { result::event::destroy(self.raw) });
    }
}

impl CudaContext {
    /// Creates an event; without flags it takes no time (`CU_EVENT_DISABLE_TIMING`).
    ///
    /// # Errors
    /// A status of HIP.
    #[doc(alias("cuEventCreate", "hipEventCreateWithFlags"))]
    pub fn new_event(self: &Arc<Self>, flags: Option<sys::CUevent_flags>) -> Result<CudaEvent, DriverError> {
        self.bind_to_thread()?;
        let raw = result::event::create(flags.unwrap_or(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING))?;
        Ok(CudaEvent { raw, context: Arc::clone(self), moving: Mutex::new(()) })
    }
}

impl CudaStream {
    /// Creates a stream whose work waits for the work that this one has so far.
    ///
    /// # Errors
    /// A status of HIP.
    pub fn fork(&self) -> Result<Arc<Self>, DriverError> {
        let stream = self.context().new_stream()?;
        stream.join(self)?;
        Ok(stream)
    }

    /// Records a new event; see [`CudaContext::new_event`] for the flags.
    ///
    /// # Errors
    /// A status of HIP.
    pub fn record_event(&self, flags: Option<sys::CUevent_flags>) -> Result<CudaEvent, DriverError> {
        let event = self.context().new_event(flags)?;
        event.record(self)?;
        Ok(event)
    }

    /// Makes later work wait for an event, which may be of another device.
    ///
    /// # Errors
    /// A status of HIP, or an earlier error ([`CudaContext::check_err`]); later work waits in any case.
    #[doc(alias("cuStreamWaitEvent", "hipStreamWaitEvent"))]
    pub fn wait(&self, event: &CudaEvent) -> Result<(), DriverError> {
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        self.context().in_any_case(|| {
            // SAFETY: both are alive.
            match unsafe { result::stream::wait_event(self.cu_stream(), event.cu_event(), flags) } {
                // The stream of the event is captured now, and the event was recorded before that: it is complete.
                Err(DriverError(sys::CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION)) if !self.is_captured() => Ok(()),
                waits => waits,
            }
        })
    }

    /// Makes later work wait for the work that another stream has so far.
    ///
    /// # Errors
    /// A status of HIP.
    pub fn join(&self, other: &CudaStream) -> Result<(), DriverError> {
        self.wait(&other.record_event(None)?)
    }
}

impl CudaEvent {
    /// Records the event after the work that `stream` has so far and after the work that it covered before: it covers
    /// the work of every stream that it was recorded on.
    pub(super) fn extend(&self, stream: &CudaStream) -> Result<(), DriverError> {
        let _moving = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = stream.wait(self);
        let recorded = self.record(stream);
        waits.and(recorded)
    }

    /// Returns the handle.
    pub fn cu_event(&self) -> sys::CUevent {
        self.raw
    }

    /// Returns the context.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Records the event after the work that `stream` has so far.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_CONTEXT` for a stream of another context; a status of HIP, or an earlier error
    /// ([`CudaContext::check_err`]): the event is recorded in any case.
    #[doc(alias("cuEventRecord", "hipEventRecord"))]
    pub fn record(&self, stream: &CudaStream) -> Result<(), DriverError> {
        if self.context != *stream.context() {
            return Err(DriverError(sys::CUresult::CUDA_ERROR_INVALID_CONTEXT));
        }
        // SAFETY: both are alive.
        self.context.in_any_case(|| unsafe { result::event::record(self.raw, stream.cu_stream()) })
    }

    /// Blocks until the event is complete. An event that was not recorded is complete.
    ///
    /// # Errors
    /// A status of HIP, an error of the work before the event, or an earlier one ([`CudaContext::check_err`]); the
    /// event is complete in any case.
    #[doc(alias("cuEventSynchronize", "hipEventSynchronize"))]
    pub fn synchronize(&self) -> Result<(), DriverError> {
        // SAFETY: the event is alive.
        self.context.in_any_case(|| unsafe { result::event::synchronize(self.raw) })
    }

    /// Returns the time from this event to `end`, in milliseconds. Blocks until both are complete.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_CONTEXT` for an event of another context; `CUDA_ERROR_INVALID_HANDLE` for events without
    /// timing, or that were not recorded.
    #[doc(alias("cuEventElapsedTime", "hipEventElapsedTime"))]
    pub fn elapsed_ms(&self, end: &Self) -> Result<f32, DriverError> {
        if self.context != end.context {
            return Err(DriverError(sys::CUresult::CUDA_ERROR_INVALID_CONTEXT));
        }
        self.synchronize()?;
        end.synchronize()?;
        // SAFETY: both are alive.
        unsafe { result::event::elapsed(self.raw, end.raw) }
    }

    /// Returns whether the event is complete; also false after an error.
    pub fn is_complete(&self) -> bool {
        matches!(self.try_is_complete(), Ok(true))
    }

    /// Returns whether the event is complete.
    ///
    /// # Errors
    /// A status of HIP, or an error of the work before the event.
    #[doc(alias("cuEventQuery", "hipEventQuery"))]
    pub fn try_is_complete(&self) -> Result<bool, DriverError> {
        // SAFETY: the event is alive.
        match unsafe { result::event::query(self.raw) } {
            Ok(()) => Ok(true),
            Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
