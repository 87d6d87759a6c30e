//! Graphs: work that is recorded once, and queued as often as needed.

use std::sync::Arc;

use super::{CudaStream, DriverError};
use crate::driver::{result, sys};

/// Work that was recorded from a stream, and is queued on it by [`launch`](Self::launch).
///
/// The memory that the work uses must live as long as the graph is launched, as in cudarc.
pub struct CudaGraph {
    graph: sys::CUgraph,
    exec: sys::CUgraphExec,
    stream: Arc<CudaStream>,
}

impl Drop for CudaGraph {
    fn drop(&mut self) {
        let context = self.stream.context();
        // SAFETY: both are this one's. Launches that are under way are HIP's.
        context.record_err(unsafe { result::graph::exec_destroy(self.exec) });
        // SAFETY: as above.
        context.record_err(unsafe { result::graph::destroy(self.graph) });
    }
}

impl CudaStream {
    /// Begins to record the work of the stream instead of doing it.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` for the default stream; the status of HIP.
    #[doc(alias("cuStreamBeginCapture", "hipStreamBeginCapture"))]
    pub fn begin_capture(&self, mode: sys::CUstreamCaptureMode) -> Result<(), DriverError> {
        self.context().bind_to_thread()?;
        // SAFETY: the stream is alive.
        unsafe { result::stream::begin_capture(self.cu_stream(), mode) }
    }

    /// Ends the recording, and returns the work as a graph; `None` if there is no graph.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for flags that exclude each other; the status of HIP.
    #[doc(alias("cuStreamEndCapture", "hipStreamEndCapture"))]
    pub fn end_capture(
        self: &Arc<Self>,
        flags: sys::CUgraphInstantiate_flags,
    ) -> Result<Option<CudaGraph>, DriverError> {
        self.context().bind_to_thread()?;
        // SAFETY: the stream is alive.
        let graph = unsafe { result::stream::end_capture(self.cu_stream()) }?;
        if graph.is_null() {
            return Ok(None);
        }
        // SAFETY: the graph is alive.
        match unsafe { result::graph::instantiate(graph, flags) } {
            Ok(exec) => Ok(Some(CudaGraph { graph, exec, stream: Arc::clone(self) })),
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
    /// The status of HIP.
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
    /// The status of HIP.
    #[doc(alias("cuGraphLaunch", "hipGraphLaunch"))]
    pub fn launch(&self) -> Result<(), DriverError> {
        self.stream.context().bind_to_thread()?;
        // SAFETY: both are alive.
        unsafe { result::graph::launch(self.exec, self.stream.cu_stream()) }
    }

    /// Queues the upload of the graph to the device, so that the first launch is as fast as later ones.
    ///
    /// # Errors
    /// The status of HIP.
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
