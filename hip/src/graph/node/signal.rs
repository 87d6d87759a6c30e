//! Nodes that wait for or write to signals.

use std::ptr;
use std::sync::Arc;

use hip_sys::{hipBatchMemOpNodeParams, hipCtx_t, hipStreamBatchMemOpParams};
use smallvec::SmallVec;

use super::{Graph, Node, NodeKind};
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::stream::SignalOp;
use crate::stream::usage::Access;

/// The operations of such a node. The runtime reads them in place whenever a graph is instantiated or launched.
pub(in crate::graph) struct SignalOps(Box<[hipStreamBatchMemOpParams]>);

// SAFETY: numbers, and the addresses of words that only the runtime dereferences; it is never changed after creation.
unsafe impl Send for SignalOps {}
// SAFETY: as above.
unsafe impl Sync for SignalOps {}

impl SignalOps {
    /// Maximum number of operations per node, the same as per call: the runtime's limit.
    const MOST: usize = 256;

    pub(in crate::graph) fn new(operations: &[SignalOp<'_>]) -> Result<Arc<Self>> {
        if operations.is_empty() || operations.len() > Self::MOST {
            return Err(Error::InvalidValue {
                what: "the operations on signals of a node",
                value: operations.len().to_string(),
                allowed: format!("from 1 to {}", Self::MOST),
            });
        }
        Ok(Arc::new(Self(operations.iter().map(SignalOp::raw).collect())))
    }

    pub(in crate::graph) fn accesses<'a>(operations: &'a [SignalOp<'_>]) -> SmallVec<[Access<'a>; 8]> {
        operations.iter().map(SignalOp::access).collect()
    }

    /// Returns the C parameters.
    pub(in crate::graph) fn params(&self, device: Device) -> Result<hipBatchMemOpNodeParams> {
        device.activate()?;
        let mut context: hipCtx_t = ptr::null_mut();
        // SAFETY: `context` is valid for a write.
        let status = unsafe { hip_sys::hipCtxGetCurrent(&mut context) };
        check(status, "hipCtxGetCurrent", || format!("that of device {}", device.index()))?;
        // The runtime only reads them.
        let operations = self.0.as_ptr().cast_mut();
        Ok(hipBatchMemOpNodeParams { ctx: context, count: self.0.len() as u32, paramArray: operations, flags: 0 })
    }
}

impl Graph {
    /// Adds waits for signals and writes to them (`hipGraphAddBatchMemOpNode`, of ROCm 6.4). They run in any order,
    /// possibly concurrently: put operations that must come after a wait into another node.
    ///
    /// The rules of [`Signal`](crate::stream::Signal) for waits apply to every launch of the graph: a wait for a value
    /// that is never written never ends.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for no operations and for more than 256; [`Error::Graph`] for nodes of another graph;
    /// [`Error::NoSymbol`] from a runtime before 6.4.
    #[doc(alias("hipGraphAddBatchMemOpNode", "cuGraphAddBatchMemOpNode"))]
    pub fn add_signal_ops(&mut self, after: &[Node], operations: &[SignalOp<'_>]) -> Result<Node> {
        let batch = SignalOps::new(operations)?;
        let params = batch.params(self.inner.device)?;
        self.resources.keep(&SignalOps::accesses(operations))?;
        self.resources.signals.push(batch);
        let asked = || format!("{operations:?}");
        self.add(NodeKind::SignalOps, after, "hipGraphAddBatchMemOpNode", asked, |node, graph, before, count| {
            // SAFETY: the graph and the nodes are alive; the operations and their signals are kept by the graph and its instances.
            unsafe { hip_sys::hipGraphAddBatchMemOpNode(node, graph, before, count, &params) }
        })
    }
}
