//! Nodes that wait for or write to signals.

#[cfg(doc)]
use crate::core::error::Error;
use crate::core::error::Result;
use crate::graph::Graph;
use crate::graph::handle::{Node, NodeKind};
use crate::graph::signal_ops::SignalOps;
use crate::stream::SignalOp;

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
