//! Nodes, with a module for each kind.

mod copy;
mod event;
#[cfg(unix)]
mod external;
mod fill;
mod host;
mod kernel;
mod memory;
#[cfg(feature = "rocm-6-4")]
mod signal;

use std::fmt;
use std::ptr;

use hip_sys::{hipError_t, hipGraphNode_t};

#[cfg(unix)]
pub(super) use external::{with_signal, with_wait};
pub use fill::GraphFill;
pub(super) use host::host_params;
pub(super) use kernel::kernel_params;
#[cfg(feature = "rocm-6-4")]
pub(super) use signal::SignalOps;

use super::{Graph, exclusive};
use crate::core::call::check;
use crate::core::error::{Error, Result};

/// A handle of a node of a [`Graph`], which is only usable with that graph (`hipGraphNode_t`).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    pub(super) raw: hipGraphNode_t,
    pub(super) graph: u64,
    pub(super) kind: NodeKind,
}

// SAFETY: a handle that only the runtime dereferences, with the graph that it belongs to.
unsafe impl Send for Node {}
// SAFETY: as above.
unsafe impl Sync for Node {}

/// The kind of a [`Node`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeKind {
    /// A launch.
    Kernel,
    /// A copy.
    Copy,
    /// A fill.
    Fill,
    /// A Rust function.
    Host,
    /// Another graph.
    Child,
    /// A synchronization point that does nothing.
    Empty,
    /// Waits for an event.
    EventWait,
    /// Records an event.
    EventRecord,
    /// Allocates memory.
    Alloc,
    /// Frees memory that another node has allocated.
    Free,
    /// Waits for signals and writes to them.
    SignalOps,
    /// Signals a semaphore of another API.
    ExternalSignal,
    /// Waits for a semaphore of another API.
    ExternalWait,
    /// Another kind (`hipGraphNodeType`).
    Other(u32),
}

impl NodeKind {
    pub(super) fn from_raw(raw: hip_sys::hipGraphNodeType) -> Self {
        match raw {
            hip_sys::hipGraphNodeTypeKernel => Self::Kernel,
            hip_sys::hipGraphNodeTypeMemcpy => Self::Copy,
            hip_sys::hipGraphNodeTypeMemset => Self::Fill,
            hip_sys::hipGraphNodeTypeHost => Self::Host,
            hip_sys::hipGraphNodeTypeGraph => Self::Child,
            hip_sys::hipGraphNodeTypeEmpty => Self::Empty,
            hip_sys::hipGraphNodeTypeWaitEvent => Self::EventWait,
            hip_sys::hipGraphNodeTypeEventRecord => Self::EventRecord,
            hip_sys::hipGraphNodeTypeMemAlloc => Self::Alloc,
            hip_sys::hipGraphNodeTypeMemFree => Self::Free,
            hip_sys::hipGraphNodeTypeExtSemaphoreSignal => Self::ExternalSignal,
            hip_sys::hipGraphNodeTypeExtSemaphoreWait => Self::ExternalWait,
            #[cfg(feature = "rocm-6-4")]
            hip_sys::hipGraphNodeTypeBatchMemOp => Self::SignalOps,
            other => Self::Other(other.0),
        }
    }
}

impl Node {
    /// Returns its kind.
    #[must_use]
    pub fn kind(self) -> NodeKind {
        self.kind
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} node {:?} of graph {}", self.kind, self.raw, self.graph)
    }
}

impl Graph {
    /// Adds a node with `add`, which gets the place for the handle, the graph, the preceding nodes and their number.
    fn add(
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

pub(super) fn not_empty(bytes: usize) -> Result<()> {
    if bytes != 0 {
        return Ok(());
    }
    Err(Error::InvalidValue {
        what: "the work of a node",
        value: "0 bytes".to_owned(),
        allowed: "1 at least".to_owned(),
    })
}
