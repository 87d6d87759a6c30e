//! A stream whose work goes into a graph.

use std::ptr;
use std::slice;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use hip_sys::hipStream_t;

use super::{Launching, StreamInner};
use crate::core::call::check;
use crate::core::error::{Error, Result};
use crate::stream::usage::{Access, AccessKind, Kept, MemoryKind};

/// What a capture has met so far.
pub(crate) struct Capture {
    thread: ThreadId,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    kept: Vec<Kept>,
    /// Kernels, for errors of the graph.
    kernels: Vec<Arc<str>>,
    /// Streams that came in through an event, beside the first.
    joined: Vec<Arc<StreamInner>>,
    /// Streams on which the runtime has done at once what was to be captured.
    at_once: Vec<Arc<StreamInner>>,
    ended: bool,
}

/// Notes that a graph does `access`, and keeps its memory.
///
/// # Errors
/// [`Error::Graph`] for memory that cannot be kept.
pub(crate) fn keep(kept: &mut Vec<Kept>, access: &Access<'_>) -> Result<()> {
    if access.usage.memory_kind() == MemoryKind::Borrowed {
        return Err(Error::Graph {
            reason: "it would use memory that is only borrowed, which a graph cannot keep".to_owned(),
        });
    }
    match kept.iter_mut().find(|known| known.is(access.usage)) {
        Some(known) if access.kind == AccessKind::Write => known.kind = AccessKind::Write,
        Some(_) => {}
        None => kept.push(access.usage.keep(access.kind)),
    }
    Ok(())
}

impl Capture {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { thread: thread::current().id(), state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends it for all streams that joined, and gives what the graph keeps and the names of its kernels. The runtime's capture has
    /// ended before.
    pub(crate) fn end(&self) -> (Vec<Kept>, Vec<Arc<str>>) {
        let ended = State { ended: true, ..State::default() };
        let State { kept, kernels, joined, at_once, .. } = std::mem::replace(&mut *self.lock(), ended);
        for stream in joined {
            stream.set_capture(None);
        }
        for stream in at_once {
            // It has no ticket, and what it uses is kept no longer than by `kept`.
            if let Err(error) = stream.synchronize() {
                stream.report.put(error);
            }
        }
        (kept, kernels)
    }
}

/// Runs `body` with calls allowed that this thread's capture would refuse (`hipThreadExchangeStreamCaptureMode`): for a call
/// on a stream that is not captured.
fn relaxed<R>(body: impl FnOnce() -> R) -> R {
    let exchange = |mut mode| {
        // SAFETY: `mode` is valid for a read and a write.
        let status = unsafe { hip_sys::hipThreadExchangeStreamCaptureMode(&mut mode) };
        (status.0 == 0).then_some(mode)
    };
    let before = exchange(hip_sys::hipStreamCaptureModeRelaxed);
    let result = body();
    if let Some(before) = before {
        exchange(before);
    }
    result
}

impl StreamInner {
    #[inline]
    pub(crate) fn is_captured(&self) -> bool {
        self.captured.load(Ordering::Acquire)
    }

    pub(crate) fn capture(&self) -> Option<Arc<Capture>> {
        if !self.is_captured() {
            return None;
        }
        self.capture.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_capture(&self, capture: Option<Arc<Capture>>) {
        let mut slot = self.capture.lock().unwrap_or_else(PoisonError::into_inner);
        self.captured.store(capture.is_some(), Ordering::Release);
        *slot = capture;
    }

    /// For what cannot be done while the stream is captured.
    pub(crate) fn refuse_captured(&self, what: &str) -> Result<()> {
        if self.is_captured() {
            return Err(Error::Capture { reason: format!("{what} while {} is captured", self.describe()) });
        }
        Ok(())
    }

    /// Brings this stream into a capture, as waiting for one of its events does.
    pub(super) fn join(self: &Arc<Self>, capture: &Arc<Capture>) -> Result<()> {
        match self.capture() {
            Some(own) if Arc::ptr_eq(&own, capture) => return Ok(()),
            Some(_) => {
                return Err(Error::Capture { reason: format!("{} is captured into another graph", self.describe()) });
            }
            None => {}
        }
        // So that nobody has to wait for it while it is captured. (HIP 5.7 allows it to nobody who captures.)
        let issued = self.lock().issued;
        if self.completed() < issued {
            relaxed(|| self.synchronize())?;
        }
        let mut state = capture.lock();
        if state.ended {
            return Err(Error::Capture { reason: "the event marks a place in a graph that is complete".to_owned() });
        }
        let _queue = self.lock();
        self.set_capture(Some(Arc::clone(capture)));
        state.joined.push(Arc::clone(self));
        Ok(())
    }

    /// Puts one piece of work into the graph: it waits for nothing now, and its memory is kept.
    ///
    /// # Errors
    /// [`Error::Capture`] if the runtime has done it at once, in place of that.
    #[cold]
    pub(super) fn submit_captured(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        launch: Option<Launching<'_>>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<()> {
        let Some(capture) = self.capture() else {
            return Err(Error::Capture { reason: format!("that of {} ended meanwhile", self.describe()) });
        };
        if capture.thread != thread::current().id() {
            return Err(Error::Capture {
                reason: format!("{} is captured by another thread: use a stream of your own", self.describe()),
            });
        }
        self.device.activate()?;
        let mut state = capture.lock();
        for access in accesses {
            keep(&mut state.kept, access)?;
        }
        let before = self.last_captured();
        queue(self.raw)?;
        if before.is_some() && before == self.last_captured() {
            state.at_once.push(Arc::clone(self));
            let what = launch.map_or_else(|| "it".to_owned(), |launch| format!("the launch of {}", launch.kernel));
            return Err(Error::Capture {
                reason: format!(
                    "the runtime does {what} at once, and leaves it out of the graph of {}",
                    self.describe()
                ),
            });
        }
        state.kernels.extend(launch.map(|launch| Arc::clone(launch.kernel)));
        Ok(())
    }

    /// The nodes that the next one will wait for, which each that is captured changes; `None` if the runtime does not tell.
    fn last_captured(&self) -> Option<Vec<usize>> {
        let (mut state, mut nodes, mut count) = (hip_sys::hipStreamCaptureStatusNone, ptr::null(), 0);
        let (no_id, no_graph) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the stream is alive; state, nodes and their number are valid for a write, and the others are not asked for.
        let status = unsafe {
            hip_sys::hipStreamGetCaptureInfo_v2(self.raw, &mut state, no_id, no_graph, &mut nodes, &mut count)
        };
        check(status, "hipStreamGetCaptureInfo_v2", || self.describe()).ok()?;
        if state != hip_sys::hipStreamCaptureStatusActive {
            return None;
        }
        if nodes.is_null() || count == 0 {
            return Some(Vec::new());
        }
        // SAFETY: the runtime's list of as many handles, which stays until the next call that captures.
        Some(unsafe { slice::from_raw_parts(nodes, count) }.iter().map(|node| node.addr()).collect())
    }

    /// Begins a capture with `begin`, so that no other thread queues work in between.
    pub(crate) fn begin_capture(
        &self,
        capture: &Arc<Capture>,
        begin: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<()> {
        self.synchronize()?;
        let _queue = self.lock();
        begin(self.raw)?;
        self.set_capture(Some(Arc::clone(capture)));
        Ok(())
    }
}
