//! Copy nodes.

use super::add::not_empty;
#[cfg(doc)]
use crate::core::error::Error;
use crate::core::error::Result;
use crate::graph::Graph;
use crate::graph::handle::{Node, NodeKind};
use crate::memory::graph_copy::{GraphCopy, GraphCopy3d};

impl Graph {
    /// Adds a copy (`hipGraphAddMemcpyNode1D`).
    ///
    /// Nodes without a path between them may run concurrently: if one writes bytes that another reads, the values that
    /// are read are unspecified.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::Graph`] for nodes of another graph, [`Error::InvalidValue`] for no bytes.
    #[doc(alias("hipGraphAddMemcpyNode1D", "cudaGraphAddMemcpyNode1D"))]
    pub fn add_copy(&mut self, after: &[Node], copy: GraphCopy<'_>) -> Result<Node> {
        self.inner.device.expect(copy.device, "the copy")?;
        not_empty(copy.bytes)?;
        self.resources.keep(&copy.accesses)?;
        let asked = || format!("{copy:?}");
        self.add(NodeKind::Copy, after, "hipGraphAddMemcpyNode1D", asked, |node, graph, before, count| {
            let GraphCopy { destination, source, bytes, kind, .. } = copy;
            // SAFETY: the graph and the nodes are alive; both sides hold `bytes` bytes, and are kept by the graph.
            unsafe { hip_sys::hipGraphAddMemcpyNode1D(node, graph, before, count, destination, source, bytes, kind) }
        })
    }

    /// Adds a copy of two or three dimensions (`hipGraphAddMemcpyNode`). Concurrent nodes are as for
    /// [`add_copy`](Self::add_copy).
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::Graph`] for nodes of another graph, [`Error::InvalidValue`] for no elements.
    #[doc(alias("hipGraphAddMemcpyNode", "cudaGraphAddMemcpyNode"))]
    pub fn add_copy_3d(&mut self, after: &[Node], copy: GraphCopy3d<'_>) -> Result<Node> {
        self.inner.device.expect(copy.device, "the copy")?;
        not_empty(copy.extent.elements().unwrap_or(usize::MAX))?;
        self.resources.keep(&copy.accesses)?;
        let (asked, parameters) = (|| format!("{copy:?}"), copy.parameters());
        self.add(NodeKind::Copy, after, "hipGraphAddMemcpyNode", asked, |node, graph, before, count| {
            // SAFETY: the graph and the nodes are alive; both sides hold the box, and are kept by the graph.
            unsafe { hip_sys::hipGraphAddMemcpyNode(node, graph, before, count, &parameters) }
        })
    }
}
