//! Handles of nodes, and the kinds of nodes.

use std::fmt;

use hip_sys::hipGraphNode_t;

/// A handle of a node of a [`Graph`](crate::Graph), which is only usable with that graph (`hipGraphNode_t`).
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
