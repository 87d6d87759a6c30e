//! Nodes added to a graph: by the functions of each kind, of other graphs, and without work.

use std::ptr;

use hip_sys::{hipError_t, hipGraphNode_t};

use crate::core::call::check;
use crate::core::error::{Error, Result};
use crate::graph::handle::{Node, NodeKind};
use crate::graph::{Graph, exclusive};

impl Graph {
    /// Adds a node with `add`, which gets the place for the handle, the graph, the preceding nodes and their number.
    pub(super) fn add(
        &mut self,
        kind: NodeKind,
        after: &[Node],
        function: &'static str,
        asked: impl FnOnce() -> String,
        add: impl FnOnce(*mut hipGraphNode_t, hip_sys::hipGraph_t, *const hipGraphNode_t, usize) -> hipError_t,
    ) -> Result<Node> {
        self.expect(after)?;
        self.inner.device.activate()?;
        let before: Vec<hipGraphNode_t> = after.iter().map(|node| node.raw).collect();
        let before_pointer = if before.is_empty() { ptr::null() } else { before.as_ptr() };
        let mut raw: hipGraphNode_t = ptr::null_mut();
        let _exclusive = exclusive();
        let status = add(&mut raw, self.inner.raw, before_pointer, before.len());
        check(status, function, asked)?;
        Ok(Node { raw, graph: self.inner.id, kind })
    }

    /// Adds a copy of a whole graph, in its current state, as a node (`hipGraphAddChildGraphNode`).
    ///
    /// If nodes of this graph use the same library handle as the child ([`interop::Tracked`](crate::interop::Tracked)),
    /// the child comes after all existing nodes, so that two calls never use the library's memory concurrently.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::Graph`] for nodes of another graph.
    #[doc(alias("hipGraphAddChildGraphNode", "cuGraphAddChildGraphNode", "cudaGraphAddChildGraphNode"))]
    pub fn add_child(&mut self, after: &[Node], child: &Self) -> Result<Node> {
        self.inner.device.expect(child.inner.device, "the child graph")?;
        self.expect(after)?;
        let mut after = after.to_vec();
        if self.resources.takes_turns_with(&child.resources) {
            let edges = self.edges()?;
            let is_last = |node: &Node| edges.iter().all(|(from, _)| from.raw != node.raw);
            let last = self.nodes()?.into_iter().filter(is_last);
            after.extend(last.filter(|node| after.iter().all(|other| other.raw != node.raw)).collect::<Vec<_>>());
        }
        self.resources.extend(&child.resources)?;
        let raw = child.inner.raw;
        let node = self.add(
            NodeKind::Child,
            &after,
            "hipGraphAddChildGraphNode",
            || "a graph".to_owned(),
            |node, graph, before, count| {
                // SAFETY: both graphs and the nodes are alive; the child's resources are kept by this graph too.
                unsafe { hip_sys::hipGraphAddChildGraphNode(node, graph, before, count, raw) }
            },
        )?;
        if child.apart.is_some() {
            self.set_apart(node)?;
        }
        Ok(node)
    }

    /// Adds a node that does nothing, as a synchronization point (`hipGraphAddEmptyNode`).
    ///
    /// # Errors
    /// [`Error::Graph`] for nodes of another graph.
    #[doc(alias("hipGraphAddEmptyNode", "cuGraphAddEmptyNode", "cudaGraphAddEmptyNode"))]
    pub fn add_empty(&mut self, after: &[Node]) -> Result<Node> {
        self.add(
            NodeKind::Empty,
            after,
            "hipGraphAddEmptyNode",
            || "an empty node".to_owned(),
            |node, graph, before, count| {
                // SAFETY: the graph and the nodes are alive.
                unsafe { hip_sys::hipGraphAddEmptyNode(node, graph, before, count) }
            },
        )
    }
}

pub(in crate::graph) fn not_empty(bytes: usize) -> Result<()> {
    if bytes != 0 {
        return Ok(());
    }
    Err(Error::InvalidValue {
        what: "the work of a node",
        value: "0 bytes".to_owned(),
        allowed: "1 at least".to_owned(),
    })
}
