//! Graphs.

use super::calls::calls;
use super::sys;

calls! {
    /// Makes a graph executable.
    unsafe fn instantiate(graph: sys::CUgraph, flags: sys::CUgraphInstantiate_flags) -> sys::CUgraphExec = |out| cuGraphInstantiateWithFlags(out, graph, u64::from(flags.0));

    /// Destroys an executable graph.
    unsafe fn exec_destroy(graph_exec: sys::CUgraphExec) = cuGraphExecDestroy(graph_exec);

    /// Destroys a graph.
    unsafe fn destroy(graph: sys::CUgraph) = cuGraphDestroy(graph);

    /// Queues an executable graph.
    unsafe fn launch(graph_exec: sys::CUgraphExec, stream: sys::CUstream) = cuGraphLaunch(graph_exec, stream);

    /// Queues the upload of an executable graph to the device.
    unsafe fn upload(graph_exec: sys::CUgraphExec, stream: sys::CUstream) = cuGraphUpload(graph_exec, stream);
}
