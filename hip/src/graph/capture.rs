//! Capture of a stream's work into graphs.

use std::sync::Arc;

use super::{Graph, Resources};
use crate::core::call::check;
use crate::core::error::{Error, Result};
use crate::stream::{Capture, Captured, Stream};

/// Ends the capture and drops the graph when it is dropped.
struct Ending<'a> {
    stream: &'a Stream,
    capture: Arc<Capture>,
    open: bool,
}

impl Ending<'_> {
    /// Ends the capture and returns the graph, if the capture succeeded.
    fn end(&mut self) -> Result<Graph> {
        self.open = false;
        let raw = self.stream.inner.end_capture();
        let Captured { kept, kernels, is_partial } = self.capture.end();
        // Without a cell, no kernel of the graph can panic.
        let panics = self.capture.known_panic_cell().into_iter().cloned().collect();
        let resources = Resources { kept, kernels, panics, ..Resources::default() };
        let graph = Graph::adopt(raw?, self.stream.device(), resources);
        if is_partial {
            let reason = format!(
                "a call that failed has left a part of its work in the graph of {}, which is discarded",
                self.stream.inner.describe()
            );
            return Err(Error::Capture { reason });
        }
        graph.captured()
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
    /// Runs `body` and records the work that it queues on this stream in a graph, instead of running it
    /// (`hipStreamBeginCapture`, `hipStreamEndCapture`). Work on another stream is captured too once that stream [waits
    /// for an event](Self::wait_event) recorded in the capture. The captured stream must wait for an event of the other
    /// stream before `body` ends.
    ///
    /// Copies, fills and launches are written as usual; the graph keeps their memory. Only the calling thread may queue
    /// work on the stream meanwhile: other threads get [`Error::Capture`]. After an error or a panic, the stream is
    /// usable as before: if the runtime no longer accepts work on the C stream, a new C stream replaces it
    /// ([`as_raw`](Self::as_raw) changes).
    ///
    /// Allocations, blocking copies and waits for other streams run immediately, in `body` and in other threads. The
    /// graph keeps the memory that its work uses. An allocation in the order of the captured stream
    /// ([`uninit_async`](crate::DeviceBuffer::uninit_async), pools) is an error, since its memory would exist only
    /// while the graph runs; [`Graph::add_alloc`] adds one to a graph. HIP's
    /// capture modes (`hipStreamCaptureMode`) reject them to protect an order that this crate keeps itself; it captures
    /// in relaxed mode. Meanwhile, [`Device::synchronize`](crate::Device::synchronize) waits for each of this crate's
    /// streams that is not captured.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, DeviceBuffer, Stream};
    ///
    /// let device = Device::get(0)?;
    /// let stream = Stream::new(&device)?;
    /// let mut data = DeviceBuffer::<u32>::zeroed(&device, 10)?;
    /// let graph = stream.capture(|stream| data.fill_async(stream, 3));
    /// # if graph.as_ref().is_err_and(|e| e.status() == Some(hip::Status::NOT_SUPPORTED)) { return Ok(()) }
    /// let exec = graph?.instantiate()?;
    /// assert_eq!(data.to_vec()?, [0; 10]); // nothing has run yet
    /// exec.launch(&stream)?;
    /// assert_eq!(data.to_vec()?, [3; 10]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The error of `body`; [`Error::Capture`] for the default stream, for a stream that is being captured (it names
    /// the thread that captures), and for memory that a graph cannot keep; the runtime's status for work that cannot be
    /// captured (`hipErrorStreamCaptureUnsupported` and the like). [`Error::Capture`] also if `body` ignores the error of a library's
    /// call that has left a part of its work in the graph.
    ///
    /// Calls on several streams of the capture that use the same library handle are ordered one after the other in the
    /// graph.
    ///
    /// # Safety of launches
    /// The caller of [`Kernel::launch`](crate::Kernel::launch) in `body` must ensure that every launch of the graph is
    /// sound.
    #[doc(alias("hipStreamBeginCapture", "cuStreamBeginCapture", "cudaStreamBeginCapture"))]
    #[doc(alias("hipStreamEndCapture", "cuStreamEndCapture", "cudaStreamEndCapture"))]
    #[doc(alias(
        "hipStreamUpdateCaptureDependencies",
        "cuStreamUpdateCaptureDependencies",
        "cudaStreamUpdateCaptureDependencies"
    ))]
    pub fn capture(&self, body: impl FnOnce(&Self) -> Result<()>) -> Result<Graph> {
        if self.as_raw().is_null() {
            return Err(Error::Capture { reason: "the default stream cannot be captured: make one".to_owned() });
        }
        let capture = Capture::new();
        self.inner.begin_capture(&capture)?;
        let mut ending = Ending { stream: self, capture, open: true };
        match (body(self), ending.end()) {
            (Ok(()), graph) => graph,
            (Err(error), _) => Err(error),
        }
    }

    /// Returns whether the stream is being captured, by [`capture`](Self::capture) or by other code
    /// (`hipStreamIsCapturing`).
    #[doc(alias("hipStreamIsCapturing", "cuStreamIsCapturing", "cudaStreamIsCapturing"))]
    #[doc(alias("hipStreamGetCaptureInfo", "cuStreamGetCaptureInfo", "cudaStreamGetCaptureInfo"))]
    pub fn is_capturing(&self) -> Result<bool> {
        self.device().activate()?;
        let mut status = hip_sys::hipStreamCaptureStatusNone;
        let _named = self.inner.named()?;
        // SAFETY: the stream is alive; `status` is valid for a write.
        let result = unsafe { hip_sys::hipStreamIsCapturing(self.as_raw(), &mut status) };
        check(result, "hipStreamIsCapturing", || self.inner.describe())?;
        Ok(status != hip_sys::hipStreamCaptureStatusNone)
    }
}
