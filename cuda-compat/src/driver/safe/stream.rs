//! Streams.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::CudaContext;
use super::capture::{CAPTURES, Capturing, Kept};
use super::waits::wait_for_default_stream;
use crate::driver::result::stream::StreamKind;
use crate::driver::result::{self, DriverError};
use crate::driver::sys;

/// A queue of work of a device.
#[derive(Debug)]
pub struct CudaStream {
    raw: sys::CUstream,
    context: Arc<CudaContext>,
    is_owned: bool,
    /// Present between `begin_capture` and `end_capture`.
    pub(super) capturing: Mutex<Option<Capturing>>,
}

// SAFETY: a stream of HIP is a handle, which every thread can use.
unsafe impl Send for CudaStream {}
// SAFETY: as above.
unsafe impl Sync for CudaStream {}

impl PartialEq for CudaStream {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw && self.context == other.context
    }
}

impl Eq for CudaStream {}

impl Drop for CudaStream {
    fn drop(&mut self) {
        let (raw, context, is_owned) = (self.raw, &self.context, self.is_owned);
        let destroy = || {
            if is_owned {
                context.record_err(context.bind_to_thread());
                context.remove_stream();
                // SAFETY: this value owns the stream. HIP finishes its queued work.
                context.record_err(unsafe { result::stream::destroy(raw) });
            }
        };
        match self.capturing.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            Some(capturing) => capturing.abandon(destroy),
            None => destroy(),
        }
    }
}

impl CudaContext {
    fn stream(self: &Arc<Self>, raw: sys::CUstream, is_owned: bool) -> Arc<CudaStream> {
        Arc::new(CudaStream { raw, context: Arc::clone(self), is_owned, capturing: Mutex::new(None) })
    }

    /// Returns the default stream.
    pub fn default_stream(self: &Arc<Self>) -> Arc<CudaStream> {
        self.stream(result::stream::null(), false)
    }

    /// Returns a stream for the calling thread, the same at each call from the thread. Like the per-thread default
    /// stream (`CU_STREAM_PER_THREAD`), it is ordered with the default stream; unlike that, it stays the same stream
    /// when it moves to another thread. If no stream can be created, it is the default stream, and
    /// [`check_err`](Self::check_err) returns the reason.
    #[doc(alias("CU_STREAM_PER_THREAD", "hipStreamPerThread"))]
    pub fn per_thread_stream(self: &Arc<Self>) -> Arc<CudaStream> {
        thread_local! {
            static OWN: RefCell<Vec<Weak<CudaStream>>> = const { RefCell::new(Vec::new()) };
        }
        OWN.with_borrow_mut(|own| {
            own.retain(|stream| stream.strong_count() != 0);
            let mine = own.iter().filter_map(Weak::upgrade).find(|stream| Arc::ptr_eq(&stream.context, self));
            if let Some(stream) = mine {
                return stream;
            }
            match self.counted(|| result::stream::create(StreamKind::Default)) {
                Ok(stream) => {
                    own.push(Arc::downgrade(&stream));
                    stream
                }
                Err(error) => {
                    self.record_err(Err::<(), _>(error));
                    self.default_stream()
                }
            }
        })
    }

    /// Wraps a borrowed stream of other code.
    ///
    /// # Safety
    /// `cu_stream` must be a stream of this device, and live as long as the result and everything made from it.
    pub unsafe fn wrap_borrowed_stream(self: &Arc<Self>, cu_stream: sys::CUstream) -> Arc<CudaStream> {
        self.stream(cu_stream, false)
    }

    /// Creates a stream. The first one waits for the work of the default stream; from then on, slices are ordered
    /// between streams.
    ///
    /// # Errors
    /// A status of HIP.
    #[doc(alias("cuStreamCreate", "hipStreamCreateWithFlags"))]
    pub fn new_stream(self: &Arc<Self>) -> Result<Arc<CudaStream>, DriverError> {
        self.counted(|| result::stream::create(StreamKind::NonBlocking))
    }

    /// As [`new_stream`](Self::new_stream), with a priority: lower numbers come first.
    ///
    /// # Errors
    /// A status of HIP.
    #[doc(alias("cuStreamCreateWithPriority", "hipStreamCreateWithPriority"))]
    pub fn new_stream_with_priority(self: &Arc<Self>, priority: i32) -> Result<Arc<CudaStream>, DriverError> {
        self.counted(|| result::stream::create_with_priority(StreamKind::NonBlocking, priority))
    }

    fn counted(
        self: &Arc<Self>,
        create: impl FnOnce() -> Result<sys::CUstream, DriverError>,
    ) -> Result<Arc<CudaStream>, DriverError> {
        self.bind_to_thread()?;
        match self.add_stream().and_then(|()| create()) {
            Ok(raw) => Ok(self.stream(raw, true)),
            Err(error) => {
                self.remove_stream();
                Err(error)
            }
        }
    }
}

impl CudaStream {
    /// Returns the handle.
    pub fn cu_stream(&self) -> sys::CUstream {
        self.raw
    }

    /// Returns the context.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Blocks until the work of the stream is done.
    ///
    /// # Errors
    /// An error of that work, a status of HIP, or an earlier error ([`CudaContext::check_err`]); the work is done in
    /// any case.
    #[doc(alias("cuStreamSynchronize", "hipStreamSynchronize"))]
    pub fn synchronize(&self) -> Result<(), DriverError> {
        self.context.in_any_case(|| match self.raw == result::stream::null() {
            true => wait_for_default_stream(),
            // SAFETY: the stream is alive.
            false => unsafe { result::stream::synchronize(self.raw) },
        })
    }

    /// Returns whether work is recorded to a graph instead of executed.
    pub(crate) fn is_captured(&self) -> bool {
        // SAFETY: the stream is alive.
        let status = unsafe { result::stream::is_capturing(self.raw) };
        status.is_ok_and(|status| status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
    }

    /// Returns whether work on the stream is recorded to a graph. The graph then keeps the resource.
    pub(super) fn is_kept_by_capture(&self, kept: impl FnOnce() -> Kept) -> bool {
        if !CAPTURES.any() || !self.is_captured() {
            return false;
        }
        CAPTURES.add(kept());
        true
    }
}
