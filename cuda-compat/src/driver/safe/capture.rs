//! The resources that graphs keep: memory and code that captured work uses live as long as the graph.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use hip::interop::ForeignCapture;

use super::CudaContext;
use super::waits::{Failed, apart_from_captures};
use crate::driver::result::{self, DriverError};
use crate::driver::sys;

/// A resource that a graph uses: the uses of memory, or a module. A capture only keeps it alive.
pub(super) type Kept = Arc<dyn Any + Send + Sync>;

/// The captures in progress, and the resources that they use. A capture can spread to other streams, of other devices
/// too, which then have its number.
pub(super) struct Captures {
    /// Read without a lock.
    active: AtomicUsize,
    /// Each with the number of the capture.
    kept: Mutex<Vec<(u64, Kept)>>,
    later: Mutex<Later>,
}

pub(super) static CAPTURES: Captures = Captures {
    active: AtomicUsize::new(0),
    kept: Mutex::new(Vec::new()),
    later: Mutex::new(Later { graphs: 0, jobs: Vec::new() }),
};

/// The actions to run once no graphs exist.
struct Later {
    /// Number of existing graphs, and of captures in progress.
    graphs: usize,
    jobs: Vec<Box<dyn FnOnce() + Send>>,
}

impl Captures {
    /// Also counts the resulting graph.
    pub(super) fn begin(&self) {
        self.later().graphs += 1;
        self.active.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the resources that the captured graph keeps.
    fn end(&self, id: u64) -> Vec<Kept> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (own, others): (Vec<_>, Vec<_>) = kept.drain(..).partition(|(of, _)| *of == id);
        *kept = others;
        if self.active.fetch_sub(1, Ordering::AcqRel) == 1 {
            kept.clear();
        }
        drop(kept);
        own.into_iter().map(|(_, kept)| kept).collect()
    }

    fn later(&self) -> MutexGuard<'_, Later> {
        self.later.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called when a graph is dropped, or a capture ends without one.
    pub(super) fn end_of_graph(&self) {
        let mut later = self.later();
        later.graphs -= 1;
        let jobs = if later.graphs == 0 { std::mem::take(&mut later.jobs) } else { Vec::new() };
        drop(later);
        jobs.into_iter().for_each(|job| job());
    }

    /// Whether a capture is under way.
    pub(super) fn any(&self) -> bool {
        self.active.load(Ordering::Acquire) != 0
    }

    pub(super) fn add(&self, id: u64, new: Kept) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.iter().any(|(of, known)| *of == id && Arc::ptr_eq(known, &new)) {
            kept.push((id, new));
        }
    }
}

/// A capture in progress, which its stream owns. [`finish`](Self::finish) it when HIP has ended it.
#[derive(Debug)]
pub(super) struct Capturing {
    capture: ForeignCapture,
    /// HIP's number of it.
    id: u64,
    /// The thread that must end it, if that matters.
    thread: Option<ThreadId>,
}

impl Capturing {
    /// Begins a capture, of which `id` then returns the number. HIP is asked for the relaxed mode: in the other modes
    /// it also rejects the waits of other threads, even for streams that are not captured, and invalidates the capture;
    /// a wait that is not made leaves queued copies behind that use memory which is freed next.
    ///
    /// # Errors
    /// A status of HIP.
    ///
    /// # Safety
    /// The stream must be alive.
    pub(super) unsafe fn begin(
        raw: sys::CUstream,
        mode: sys::CUstreamCaptureMode,
        id: impl FnOnce() -> u64,
    ) -> Result<Self, DriverError> {
        const RELAXED: sys::CUstreamCaptureMode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        CAPTURES.begin();
        // SAFETY: the caller's stream.
        let begun = ForeignCapture::begin(|| unsafe { result::stream::begin_capture(raw, RELAXED) }.map_err(Failed));
        match begun {
            Ok(capture) => Ok(Self { capture, id: id(), thread: (mode != RELAXED).then(|| thread::current().id()) }),
            Err(Failed(error)) => {
                drop(CAPTURES.end(0));
                CAPTURES.end_of_graph();
                Err(error)
            }
        }
    }

    /// Makes `end`, a call that ends the capture.
    ///
    /// # Errors
    /// The error of `end`; `CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD`, without the call, in another thread than the one
    /// that began the capture, unless it is in relaxed mode.
    pub(super) fn end<R>(&mut self, end: impl FnOnce() -> Result<R, DriverError>) -> Result<R, DriverError> {
        if self.thread.is_some_and(|thread| thread != thread::current().id()) {
            return Err(DriverError(sys::CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD));
        }
        self.capture.end(end)
    }

    /// Makes `end`, which ends the capture and destroys its graph.
    pub(super) fn abandon(mut self, end: impl FnOnce()) {
        self.capture.end(end);
        drop(self.finish());
        CAPTURES.end_of_graph();
    }

    /// Returns the resources that the captured graph keeps. The graph remains counted.
    pub(super) fn finish(self) -> Vec<Kept> {
        CAPTURES.end(self.id)
    }
}

/// A library handle that any thread may destroy.
#[allow(dead_code, reason = "of the features for libraries")]
pub(crate) struct Shared<T>(pub(crate) T);

// SAFETY: handles of these libraries are not bound to a thread, and only the owner of this value uses the handle.
unsafe impl<T> Send for Shared<T> {}

#[allow(dead_code, reason = "of the features for libraries")]
impl<T: Copy> Shared<T> {
    pub(crate) fn get(&self) -> T {
        self.0
    }
}

#[allow(dead_code, reason = "of the features for libraries")]
impl CudaContext {
    /// Like [`destroy_after_graphs`](Self::destroy_after_graphs), for a library that waits for the device then: such a
    /// call ends captures, and can deadlock with other calls ([`queue_for_host`](hip::interop::queue_for_host)).
    pub(crate) fn destroy_apart_after_graphs(&self, destroy: impl FnOnce() + Send + 'static) {
        self.destroy_after_graphs(|| apart_from_captures(destroy));
    }

    /// Destroys a library object that graphs may use once no graphs exist, because graphs can be launched again.
    pub(crate) fn destroy_after_graphs(&self, destroy: impl FnOnce() + Send + 'static) {
        let mut later = CAPTURES.later();
        if later.graphs != 0 {
            later.jobs.push(Box::new(destroy));
            return;
        }
        drop(later);
        destroy();
    }

    /// Returns whether graphs exist, which may use library objects.
    pub(crate) fn has_graphs(&self) -> bool {
        CAPTURES.later().graphs != 0
    }
}
