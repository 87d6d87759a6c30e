//! Graphs: work that is recorded once, and launched repeatedly.

use std::sync::{Arc, PoisonError};

use super::capture::{CAPTURES, Capturing, Kept};
use super::usage::Usage;
use super::{CudaEvent, CudaStream, DriverError};
use crate::driver::{result, sys};

/// Work that was recorded from a stream. [`launch`](Self::launch) queues it on the stream.
///
/// It keeps the device memory and the modules that the work uses. A launch is ordered after earlier uses of the memory
/// on other streams, and later uses are ordered after it. Copies from and to host memory cannot be recorded, because
/// that memory may be freed, or borrowed, when the graph is launched.
pub struct CudaGraph {
    graph: sys::CUgraph,
    exec: sys::CUgraphExec,
    stream: Arc<CudaStream>,
    /// The last launch.
    launched: CudaEvent,
    kept: Vec<Kept>,
    /// The memory among what is kept.
    memory: Vec<Usage>,
    /// Dropped last.
    _counted: Counted,
}

/// Counts a graph of a context, or the end of its capture.
struct Counted(bool);

impl Drop for Counted {
    fn drop(&mut self) {
        if self.0 {
            CAPTURES.end_of_graph();
        }
    }
}

impl Drop for CudaGraph {
    fn drop(&mut self) {
        let context = self.stream.context();
        // Kept memory may be freed next, in the order of its uses; unloading code is not ordered.
        context.record_err(self.launched.synchronize());
        // SAFETY: this value owns both, and no launch is in progress.
        context.record_err(unsafe { result::graph::exec_destroy(self.exec) });
        // SAFETY: as above.
        context.record_err(unsafe { result::graph::destroy(self.graph) });
    }
}

impl CudaStream {
    /// Starts to record the work of the stream instead of running it. Blocks until its earlier work is done.
    ///
    /// `mode` decides which threads may end the recording. It refuses no calls of other threads, as CUDA does: these
    /// are in order with the recording, or wait for its end.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` for the default stream; `CUDA_ERROR_ILLEGAL_STATE` for a stream that is
    /// recorded already, or whose last recording a wait has invalidated: HIP cannot use such a stream again; a status
    /// of HIP.
    #[doc(alias("cuStreamBeginCapture", "hipStreamBeginCapture"))]
    pub fn begin_capture(&self, mode: sys::CUstreamCaptureMode) -> Result<(), DriverError> {
        self.context().bind_to_thread()?;
        self.capture_in(mode)
    }

    /// Ends the recording, and returns the work as a graph; `None` if there is no graph.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for flags that exclude each other; `CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD` in
    /// another thread than the one that began the recording, unless it did so in relaxed mode; a status of HIP.
    #[doc(alias("cuStreamEndCapture", "hipStreamEndCapture"))]
    pub fn end_capture(
        self: &Arc<Self>,
        flags: sys::CUgraphInstantiate_flags,
    ) -> Result<Option<CudaGraph>, DriverError> {
        self.context().bind_to_thread()?;
        let mut capturing = self.capturing.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the stream is alive.
        let end = || unsafe { result::stream::end_capture(self.cu_stream()) };
        let graph = match &mut *capturing {
            Some(capturing) => capturing.end(end),
            None => end(),
        };
        // The capture has ended even after most errors. Some leave it active.
        let finished = if self.is_capture_active() { None } else { capturing.take().map(Capturing::finish) };
        drop(capturing);
        let counted = Counted(finished.is_some());
        let kept = finished.unwrap_or_default();
        let graph = graph?;
        if graph.is_null() {
            return Ok(None);
        }
        // SAFETY: the graph is alive.
        let exec = unsafe { result::graph::instantiate(graph, flags) };
        match exec.and_then(|exec| Ok((exec, self.context().new_event(None)?))) {
            Ok((exec, launched)) => {
                let (stream, memory) = (Arc::clone(self), kept.iter().filter_map(Usage::of_kept).collect());
                Ok(Some(CudaGraph { graph, exec, stream, launched, kept, memory, _counted: counted }))
            }
            Err(error) => {
                // SAFETY: nothing else has the graph.
                self.context().record_err(unsafe { result::graph::destroy(graph) });
                Err(error)
            }
        }
    }

    /// Returns whether the work of the stream is recorded.
    ///
    /// # Errors
    /// A status of HIP.
    #[doc(alias("cuStreamIsCapturing", "hipStreamIsCapturing"))]
    pub fn capture_status(&self) -> Result<sys::CUstreamCaptureStatus, DriverError> {
        self.context().bind_to_thread()?;
        // SAFETY: the stream is alive.
        unsafe { result::stream::is_capturing(self.cu_stream()) }
    }
}

impl CudaGraph {
    /// Queues the work.
    ///
    /// # Errors
    /// A status of HIP.
    #[doc(alias("cuGraphLaunch", "hipGraphLaunch"))]
    pub fn launch(&self) -> Result<(), DriverError> {
        self.stream.context().bind_to_thread()?;
        let ordered = self.stream.context().is_managing_stream_synchronization() && !self.stream.is_captured();
        if ordered {
            self.memory.iter().try_for_each(|usage| usage.wait_on(&self.stream))?;
        }
        for kept in &self.kept {
            self.stream.is_kept_by_capture(|| kept.clone());
        }
        // SAFETY: both are alive, and so are the resources that the graph uses.
        unsafe { result::graph::launch(self.exec, self.stream.cu_stream()) }?;
        // Records all events, even after an error: the graph's memory is freed after these events.
        let mut recorded = Ok(());
        if !self.stream.is_captured() {
            recorded = self.launched.record(&self.stream);
        }
        if ordered {
            recorded = self.memory.iter().map(|usage| usage.record_on(&self.stream)).fold(recorded, Result::and);
        }
        recorded
    }

    /// Queues the upload of the graph to the device, so that the first launch is as fast as later ones.
    ///
    /// # Errors
    /// A status of HIP.
    #[doc(alias("cuGraphUpload", "hipGraphUpload"))]
    pub fn upload(&self) -> Result<(), DriverError> {
        self.stream.context().bind_to_thread()?;
        // SAFETY: both are alive.
        unsafe { result::graph::upload(self.exec, self.stream.cu_stream()) }
    }

    /// Returns the handle of the graph.
    pub fn cu_graph(&self) -> sys::CUgraph {
        self.graph
    }

    /// Returns the handle of the executable graph.
    pub fn cu_graph_exec(&self) -> sys::CUgraphExec {
        self.exec
    }
}
