//! Graphs from the work of a stream.

use std::ptr;
use std::sync::Arc;

use hip_sys::{hipGraph_t, hipStreamCaptureMode};

use super::{Graph, Resources};
use crate::core::call::check;
use crate::core::error::{Error, Result};
use crate::stream::{Capture, Stream};

/// Which calls are refused while a stream is captured, because they could block or change what is captured
/// (`hipStreamCaptureMode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaptureMode {
    /// Calls of any thread.
    Global,
    /// Calls of the thread that captures.
    #[default]
    ThreadLocal,
    /// None: allocating and the like are done at once, in place of being captured.
    Relaxed,
}

impl CaptureMode {
    fn raw(self) -> hipStreamCaptureMode {
        match self {
            Self::Global => hip_sys::hipStreamCaptureModeGlobal,
            Self::ThreadLocal => hip_sys::hipStreamCaptureModeThreadLocal,
            Self::Relaxed => hip_sys::hipStreamCaptureModeRelaxed,
        }
    }
}

/// Ends the capture whatever happens, and the graph with it.
struct Ending<'a> {
    stream: &'a Stream,
    capture: Arc<Capture>,
    open: bool,
}

impl Ending<'_> {
    /// The graph, if the capture went well.
    fn end(&mut self) -> Result<Graph> {
        self.open = false;
        let inner = &self.stream.inner;
        let mut raw: hipGraph_t = ptr::null_mut();
        // SAFETY: the stream is alive and captured by us; `raw` is valid for a write.
        let status = unsafe { hip_sys::hipStreamEndCapture(self.stream.as_raw(), &mut raw) };
        inner.set_capture(None);
        let (kept, kernels) = self.capture.end();
        check(status, "hipStreamEndCapture", || inner.describe())?;
        let resources = Resources { kept, kernels, ..Resources::default() };
        Graph::adopt(raw, self.stream.device(), resources).captured()
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if self.open {
            let _ = self.end();
        }
    }
}

impl Stream {
    /// Runs `body` and puts the work that it queues on this stream into a graph, in place of running it
    /// (`hipStreamBeginCapture`, `hipStreamEndCapture`). Work on another stream is captured too from where that stream
    /// [waits for an event](Self::wait_event) recorded in the capture; it must come back by an event before `body` ends.
    ///
    /// Copies, fills and launches are captured as they are written anywhere else; the graph keeps their memory. The stream is
    /// captured for the calling thread alone: another that queues work on it gets [`Error::Capture`]. After an
    /// error, and after a panic, the stream is as it was.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{CaptureMode, Device, DeviceBuffer, Stream};
    ///
    /// let device = Device::get(0)?;
    /// let stream = Stream::new(&device)?;
    /// let mut data = DeviceBuffer::<u32>::zeroed(&device, 10)?;
    /// let graph = stream.capture(CaptureMode::ThreadLocal, |stream| data.fill_async(stream, 3));
    /// # if graph.as_ref().is_err_and(|e| e.status() == Some(hip::Status::NOT_SUPPORTED)) { return Ok(()) }
    /// let exec = graph?.instantiate()?;
    /// assert_eq!(data.to_vec()?, [0; 10]); // nothing has run yet
    /// exec.launch(&stream)?;
    /// assert_eq!(data.to_vec()?, [3; 10]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// What `body` returns; [`Error::Capture`] for the default stream, a stream that is being captured, memory that a graph cannot keep;
    /// the runtime's for what cannot be captured (`hipErrorStreamCaptureUnsupported` and the like).
    ///
    /// # Safety of launches
    /// Who calls [`Kernel::launch`](crate::Kernel::launch) in `body` answers for every launch of the graph.
    pub fn capture(&self, mode: CaptureMode, body: impl FnOnce(&Self) -> Result<()>) -> Result<Graph> {
        if self.as_raw().is_null() {
            return Err(Error::Capture { reason: "the default stream cannot be captured: make one".to_owned() });
        }
        let capture = Capture::new();
        self.inner.begin_capture(&capture, |raw| {
            // SAFETY: the stream is alive.
            let status = unsafe { hip_sys::hipStreamBeginCapture(raw, mode.raw()) };
            check(status, "hipStreamBeginCapture", || self.inner.describe())
        })?;
        let mut ending = Ending { stream: self, capture, open: true };
        match (body(self), ending.end()) {
            (Ok(()), graph) => graph,
            (Err(error), _) => Err(error),
        }
    }

    /// Whether the stream is being captured, by [`capture`](Self::capture) or by foreign code (`hipStreamIsCapturing`).
    pub fn is_capturing(&self) -> Result<bool> {
        self.device().activate()?;
        let mut status = hip_sys::hipStreamCaptureStatusNone;
        // SAFETY: the stream is alive; `status` is valid for a write.
        let result = unsafe { hip_sys::hipStreamIsCapturing(self.as_raw(), &mut status) };
        check(result, "hipStreamIsCapturing", || self.inner.describe())?;
        Ok(status != hip_sys::hipStreamCaptureStatusNone)
    }
}
