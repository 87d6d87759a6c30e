//! Host function nodes.

use std::ffi::c_void;
use std::sync::Arc;

#[cfg(doc)]
use crate::core::error::Error;
use crate::core::error::Result;
use crate::graph::handle::{Node, NodeKind};
use crate::graph::{Graph, HostCall};

unsafe extern "C" fn host_trampoline(data: *mut c_void) {
    // SAFETY: `data` points to a HostCall that the graph keeps as long as it may run.
    unsafe { &*data.cast::<HostCall>() }.run();
}

pub(in crate::graph) fn host_params(call: &Arc<HostCall>) -> hip_sys::hipHostNodeParams {
    hip_sys::hipHostNodeParams { fn_: Some(host_trampoline), userData: Arc::as_ptr(call).cast_mut().cast() }
}

impl Graph {
    /// Adds a Rust function (`hipGraphAddHostNode`), which every launch of the graph calls on a thread of the runtime.
    ///
    /// The rules of [`Stream::launch_host_function`](crate::Stream::launch_host_function) hold: the function must not
    /// call HIP, and if it panics, the next wait for the stream of the launch returns [`Error::HostFunctionPanicked`].
    /// HIP does not tell the function which launch calls it: if several are under way on different streams, the first
    /// wait for any of these streams returns the error.
    ///
    /// # Errors
    /// [`Error::Graph`] for nodes of another graph.
    #[doc(alias("hipGraphAddHostNode", "cuGraphAddHostNode", "cudaGraphAddHostNode"))]
    pub fn add_host(&mut self, after: &[Node], function: impl Fn() + Send + Sync + 'static) -> Result<Node> {
        let call = Arc::new(HostCall { function: Box::new(function), report: Arc::default() });
        let params = host_params(&call);
        let asked = || "a host function".to_owned();
        self.resources.hosts.push(call);
        self.add(NodeKind::Host, after, "hipGraphAddHostNode", asked, |node, graph, before, count| {
            // SAFETY: the graph and the nodes are alive; the data is kept by the graph and its instances.
            unsafe { hip_sys::hipGraphAddHostNode(node, graph, before, count, &params) }
        })
    }
}
