//! The state of streams whose work is captured into a graph.

use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};

use hip_sys::{hipGraph_t, hipStream_t};

use super::captures;
use super::inner::StreamInner;
use super::launches::Launching;
use super::panic_cell::PanicCell;
use super::turns::Turns;
use super::usage::{Access, Kept, MemoryKind};
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::lock::{Mutex, MutexGuard};
use crate::core::lost;

/// The state of a capture.
pub(crate) struct Capture {
    thread: Thread,
    state: Mutex<State>,
    /// The cell in which kernels of the graph find the record for their panics, if a kernel that may panic was
    /// launched.
    panic_cell: OnceLock<Arc<PanicCell>>,
}

#[derive(Default)]
pub(super) struct State {
    kept: Vec<Kept>,
    turns: Turns,
    /// Names of kernels, for errors of the graph.
    kernels: Vec<Arc<str>>,
    /// Streams that joined through an event, without the first stream.
    joined: Vec<Arc<StreamInner>>,
    /// Streams on which the runtime has executed work immediately instead of capturing it.
    at_once: Vec<Arc<StreamInner>>,
    /// Whether the graph has a part of the work of a call that failed, which may refer to what the call has released.
    is_partial: bool,
    ended: bool,
}

/// What is known of the graph of a capture that is over.
pub(crate) struct Captured {
    /// The memory that it keeps.
    pub(crate) kept: Vec<Kept>,
    /// The names of its kernels.
    pub(crate) kernels: Vec<Arc<str>>,
    /// Whether it has a part of the work of a call that failed.
    pub(crate) is_partial: bool,
}

/// Records that a graph does `access`, and keeps the memory.
///
/// # Errors
/// [`Error::Graph`] for memory that cannot be kept, and for a write to memory whose content a graph relies on.
pub(crate) fn keep(kept: &mut Vec<Kept>, access: &Access<'_>) -> Result<()> {
    if access.usage.memory_kind() == MemoryKind::Borrowed {
        return Err(Error::Graph {
            reason: "it would use memory that is only borrowed, which a graph cannot keep".to_owned(),
        });
    }
    Kept::add(kept, access)
}

impl Capture {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { thread: thread::current(), state: Mutex::default(), panic_cell: OnceLock::new() })
    }

    /// Returns whether this thread captures.
    fn is_own(&self) -> bool {
        self.thread.id() == thread::current().id()
    }

    /// Returns who captures, for errors.
    fn captor(&self) -> String {
        match self.thread.name() {
            _ if self.is_own() => "this thread".to_owned(),
            Some(name) => format!("another thread ({name:?})"),
            None => "another thread".to_owned(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Returns the panic cell, if a kernel that may panic was launched.
    pub(crate) fn known_panic_cell(&self) -> Option<&Arc<PanicCell>> {
        self.panic_cell.get()
    }

    /// Returns the panic cell for a kernel that is being launched. `device` is always the same.
    fn panic_cell(&self, device: Device) -> Result<&Arc<PanicCell>> {
        match self.panic_cell.get() {
            Some(cell) => Ok(cell),
            None => {
                let cell = Arc::new(PanicCell::new(device)?);
                Ok(self.panic_cell.get_or_init(|| cell))
            }
        }
    }

    /// Ends the capture for all streams that joined. The runtime's capture must have ended before.
    pub(crate) fn end(&self) -> Captured {
        let ended = State { ended: true, ..State::default() };
        let State { kept, kernels, joined, at_once, is_partial, .. } = std::mem::replace(&mut *self.lock(), ended);
        for stream in joined {
            stream.leave_capture();
        }
        for stream in at_once {
            // The executed work has no ticket, and only `kept` keeps its memory.
            if let Err(error) = lost::quietly(|| stream.synchronize()) {
                stream.report.put(error);
            }
        }
        Captured { kept, kernels, is_partial }
    }
}

/// The captured streams by their ids, and the capture of each.
static CAPTURED: Mutex<Vec<(u64, Arc<Capture>)>> = Mutex::new(Vec::new());

impl StreamInner {
    pub(crate) fn capture(&self) -> Option<Arc<Capture>> {
        if !self.is_captured() {
            return None;
        }
        let captured = CAPTURED.lock();
        captured.iter().find(|(stream, _)| *stream == self.id).map(|(_, capture)| Arc::clone(capture))
    }

    /// Records that the stream is in a capture.
    fn enter_capture(&self, capture: &Arc<Capture>) {
        CAPTURED.lock().push((self.id, Arc::clone(capture)));
        self.captured.store(true, Ordering::Release);
    }

    /// Adds this stream to a capture, as waiting for one of its events does.
    pub(super) fn join(self: &Arc<Self>, capture: &Arc<Capture>) -> Result<()> {
        match self.capture() {
            Some(own) if Arc::ptr_eq(&own, capture) => return Ok(()),
            Some(_) => {
                return Err(Error::Capture { reason: format!("{} is captured into another graph", self.describe()) });
            }
            None => {}
        }
        self.while_empty(|| {
            let mut state = capture.lock();
            if state.ended {
                return Err(Error::Capture {
                    reason: "the event marks a place in a graph that is complete".to_owned(),
                });
            }
            self.enter_capture(capture);
            state.joined.push(Arc::clone(self));
            Ok(())
        })
    }

    /// Returns the capture that the stream is in. It must be this thread's, as other threads must not add work to it.
    pub(super) fn own_capture(&self) -> Result<Option<Arc<Capture>>> {
        let capture = self.capture();
        match &capture {
            Some(capture) if !capture.is_own() => Err(self.captured_elsewhere(capture)),
            _ => Ok(capture),
        }
    }

    fn captured_elsewhere(&self, capture: &Capture) -> Error {
        Error::Capture {
            reason: format!("{} is captured by {}: use a stream of your own", self.describe(), capture.captor()),
        }
    }

    /// Returns an error while the stream is captured. For operations that are not possible then.
    pub(crate) fn refuse_captured(&self, what: &str) -> Result<()> {
        match self.capture() {
            Some(capture) => {
                let (stream, captor) = (self.describe(), capture.captor());
                Err(Error::Capture { reason: format!("{what} while {stream} is captured by {captor}") })
            }
            None => Ok(()),
        }
    }

    /// Returns an error if the stream is being captured, by this crate or by other code.
    fn refuse_second_capture(&self) -> Result<()> {
        let _named = self.named()?;
        self.device.activate()?;
        let captor = match self.capture() {
            Some(capture) => capture.captor(),
            None if self.runtime_captures() => "other code".to_owned(),
            None => return Ok(()),
        };
        let reason = format!("{} is already being captured by {captor}: end that capture first", self.describe());
        Err(Error::Capture { reason })
    }

    /// Returns whether the runtime captures the stream.
    fn runtime_captures(&self) -> bool {
        let mut state = hip_sys::hipStreamCaptureStatusNone;
        // SAFETY: the stream is alive; `state` is valid for a write.
        let status = unsafe { hip_sys::hipStreamIsCapturing(self.raw(), &mut state) };
        status.0 == 0 && state == hip_sys::hipStreamCaptureStatusActive
    }

    /// Waits until the stream has no work, and runs `body` while no work can be queued and no other call uses the
    /// stream.
    fn while_empty(&self, body: impl FnOnce() -> Result<()>) -> Result<()> {
        // The first attempts wait without locking the stream, as long as other threads leave a gap.
        for _ in 0..4 {
            self.wait_all()?;
            let _direct = self.direct.write();
            let queue = self.lock();
            if self.completed() >= queue.issued {
                self.refuse_captured("another capture")?;
                return body();
            }
        }
        let _direct = self.direct.write();
        self.refuse_captured("another capture")?;
        let queue = self.lock();
        self.device.activate()?;
        // SAFETY: the stream is alive as long as `self`.
        let status = unsafe { hip_sys::hipStreamSynchronize(self.raw()) };
        check(status, "hipStreamSynchronize", || self.describe())?;
        self.credit_queue(&queue)?;
        body()
    }

    /// Removes the stream from a capture that is over.
    fn leave_capture(&self) {
        let _direct = self.direct.write();
        let _queue = self.lock();
        self.renew_if_spoilt();
        self.captured.store(false, Ordering::Release);
        // The capture is not dropped here: its thread still ends it.
        CAPTURED.lock().retain(|(stream, _)| *stream != self.id);
    }

    /// Replaces the C stream by a new one if a failed capture has made it unusable: HIP 6 and 7 then reject all work on
    /// it. The stream must be locked and have no work.
    fn renew_if_spoilt(&self) {
        let (old, mut state) = (self.raw(), hip_sys::hipStreamCaptureStatusNone);
        // SAFETY: the stream is alive; `state` is valid for a write.
        let told = unsafe { hip_sys::hipStreamIsCapturing(old, &mut state) };
        if !self.owned || told.0 != 0 || state == hip_sys::hipStreamCaptureStatusNone {
            return;
        }
        // If no stream can be created, the old one stays, and the next call on it returns its error.
        if let Ok(new) = self.another_like_this() {
            self.raw.store(new, Ordering::Relaxed);
            // SAFETY: owned by this object, without work, and nothing else refers to it. Destroying it removes it from HIP's list of
            // captured streams.
            let _ = unsafe { hip_sys::hipStreamDestroy(old) };
        }
    }

    /// Captures one piece of work: nothing is waited for now, and its memory is kept.
    ///
    /// # Errors
    /// [`Error::Capture`] if the runtime has executed the work immediately instead.
    #[cold]
    pub(super) fn submit_captured(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        launch: Option<Launching<'_>>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<()> {
        self.capture_with(accesses, |state| {
            let before = self.last_captured();
            queue(self.raw())?;
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
        })
    }

    /// Captures a call of another library, which returns whether it succeeded.
    #[cold]
    pub(super) fn capture_call(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        call: impl FnOnce(hipStream_t) -> bool,
    ) -> Result<()> {
        self.capture_with(accesses, |state| {
            let before = self.last_captured();
            let succeeded = call(self.raw());
            // Without an answer of the runtime, the graph may have changed.
            state.is_partial |= !succeeded && (before.is_none() || before != self.last_captured());
            Ok(())
        })
    }

    /// Runs `body` for the graph that this thread captures the stream into. The graph keeps the memory.
    ///
    /// # Errors
    /// [`Error::Capture`] if other code has ended the runtime's capture: some releases then run at once what is queued.
    pub(super) fn capture_with(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        body: impl FnOnce(&mut State) -> Result<()>,
    ) -> Result<()> {
        let Some(capture) = self.capture() else {
            return Err(Error::Capture { reason: format!("that of {} ended meanwhile", self.describe()) });
        };
        if !capture.is_own() {
            return Err(self.captured_elsewhere(&capture));
        }
        self.device.activate()?;
        let mut state = capture.lock();
        if self.is_spoilt() {
            return Err(self.spoilt());
        }
        for access in accesses {
            keep(&mut state.kept, access)?;
        }
        self.await_turns(&state.turns, accesses)?;
        let done = body(&mut state);
        if self.is_spoilt() {
            // The call may have come after the end of the capture: its work is waited for before the memory is released.
            state.at_once.push(Arc::clone(self));
            return Err(self.spoilt());
        }
        self.note_turns(&mut state.turns, accesses);
        done
    }

    /// Returns whether the runtime no longer captures the stream, which this crate has not ended.
    fn is_spoilt(&self) -> bool {
        let mut state = hip_sys::hipStreamCaptureStatusNone;
        // SAFETY: the stream is alive; `state` is valid for a write.
        let status = unsafe { hip_sys::hipStreamIsCapturing(self.raw(), &mut state) };
        status.0 == 0 && state != hip_sys::hipStreamCaptureStatusActive
    }

    fn spoilt(&self) -> Error {
        Error::Capture {
            reason: format!(
                "other code has ended the capture of {}: HIP ends all captures when a thread waits for the device, or copies on the \
                 default stream, outside of this crate",
                self.describe()
            ),
        }
    }

    /// Begins a capture.
    pub(crate) fn begin_capture(&self, capture: &Arc<Capture>) -> Result<()> {
        self.refuse_second_capture()?;
        loop {
            let mut begun = false;
            self.while_empty(|| {
                // Do not block here with the stream locked: a call of `apart_from_captures` may be working on all streams.
                let tried = captures::try_begin(|| {
                    // Relaxed mode: in the other modes HIP also rejects waits for other streams and events, allocations and frees while
                    // a stream is captured, and invalidates the capture. They protect an order that this crate keeps itself.
                    // SAFETY: the stream is alive.
                    let status =
                        unsafe { hip_sys::hipStreamBeginCapture(self.raw(), hip_sys::hipStreamCaptureModeRelaxed) };
                    check(status, "hipStreamBeginCapture", || self.describe())?;
                    self.enter_capture(capture);
                    Ok(())
                });
                begun = tried.is_some();
                tried.unwrap_or(Ok(()))
            })?;
            if begun {
                return Ok(());
            }
            captures::wait_to_begin();
        }
    }

    /// Ends the capture and returns its graph.
    pub(crate) fn end_capture(&self) -> Result<hipGraph_t> {
        let mut graph: hipGraph_t = ptr::null_mut();
        // SAFETY: the stream is alive and captured by us; `graph` is valid for a write.
        let status = captures::end(|| unsafe { hip_sys::hipStreamEndCapture(self.raw(), &mut graph) });
        let ended = check(status, "hipStreamEndCapture", || self.describe());
        self.leave_capture();
        ended.map(|()| graph)
    }

    /// Returns the kernel argument for the place of a panic: the address of the stream's record, or the cell of the
    /// graph that the stream is captured into.
    #[inline]
    pub(crate) fn panic_record(&self) -> Result<u64> {
        if self.is_captured() {
            if let Some(capture) = self.own_capture()? {
                return Ok(capture.panic_cell(self.device)?.argument());
            }
        }
        Ok(self.report.record(self.device)?.address())
    }
}
