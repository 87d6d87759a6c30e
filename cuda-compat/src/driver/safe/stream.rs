//! Streams.

use std::cell::RefCell;
use std::ptr::null_mut;
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
    /// `None` for a borrowed stream.
    owned: Option<Arc<Owned>>,
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
        let Some(capturing) = self.capturing.get_mut().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let (raw, context, is_owned) = (self.raw, &self.context, self.owned.is_some());
        capturing.abandon(|| {
            if is_owned {
                context.record_err(context.bind_to_thread());
                // SAFETY: this value has the stream, and the graph is of this call.
                let _ = unsafe { result::stream::end_capture(raw).and_then(|graph| result::graph::destroy(graph)) };
            }
        });
    }
}

/// A stream that is destroyed when this is dropped.
#[derive(Debug)]
struct Owned {
    raw: sys::CUstream,
    context: Arc<CudaContext>,
}

// SAFETY: as for `CudaStream`.
unsafe impl Send for Owned {}
// SAFETY: as above.
unsafe impl Sync for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        self.context.record_err(self.context.bind_to_thread());
        self.context.remove_stream();
        // SAFETY: this value owns the stream. HIP finishes its queued work.
        self.context.record_err(unsafe { result::stream::destroy(self.raw) });
    }
}

impl CudaContext {
    fn stream(self: &Arc<Self>, raw: sys::CUstream, is_owned: bool) -> Arc<CudaStream> {
        let context = Arc::clone(self);
        let owned = is_owned.then(|| Arc::new(Owned { raw, context: Arc::clone(self) }));
        Arc::new(CudaStream { raw, context, owned, capturing: Mutex::new(None) })
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
    /// Returns another handle of the stream, for memory that a capture may keep. A capture ends with the last handle
    /// that the program has.
    pub(super) fn for_memory(&self) -> Arc<Self> {
        let (context, owned) = (Arc::clone(&self.context), self.owned.clone());
        Arc::new(Self { raw: self.raw, context, owned, capturing: Mutex::new(None) })
    }

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
        self.capture().is_some()
    }

    /// Returns whether a capture of the stream can still be ended. HIP also shows a stream as captured after the end of
    /// a capture that was invalidated, until the next one begins.
    pub(super) fn is_capture_active(&self) -> bool {
        self.capture_info().0 == sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE
    }

    /// Returns the capture that the stream takes part in, by HIP's number; 0 for one that HIP has invalidated.
    fn capture(&self) -> Option<u64> {
        let (status, id) = self.capture_info();
        (status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE).then_some(id)
    }

    fn capture_info(&self) -> (sys::CUstreamCaptureStatus, u64) {
        let none = (sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE, 0);
        let (mut status, mut id) = none;
        // SAFETY: the stream is alive, both are valid for writes, and the others may be null.
        let told = unsafe {
            sys::cuStreamGetCaptureInfo_v2(self.raw, &mut status, &mut id, null_mut(), null_mut(), null_mut())
        };
        if told.result().is_ok() { (status, id) } else { none }
    }

    /// Returns whether work on the stream is recorded to a graph. The graph then keeps the resource.
    pub(super) fn is_kept_by_capture(&self, kept: impl FnOnce() -> Kept) -> bool {
        let Some(id) = CAPTURES.any().then(|| self.capture()).flatten() else { return false };
        CAPTURES.add(id, kept());
        true
    }

    /// Begins a capture of the stream.
    pub(super) fn capture_in(&self, mode: sys::CUstreamCaptureMode) -> Result<(), DriverError> {
        let mut capturing = self.capturing.lock().unwrap_or_else(PoisonError::into_inner);
        // HIP captures a stream again whose capture was invalidated, with nodes of the graph that it has freed.
        if capturing.is_some() || self.is_captured() {
            return Err(DriverError(sys::CUresult::CUDA_ERROR_ILLEGAL_STATE));
        }
        // Waits for events of earlier work are skipped during the capture (`wait`): HIP refuses them.
        self.synchronize()?;
        // SAFETY: the stream is alive.
        *capturing = Some(unsafe { Capturing::begin(self.raw, mode, || self.capture().unwrap_or(0)) }?);
        Ok(())
    }
}
