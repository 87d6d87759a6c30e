//! Workarounds for graphs with HIP 6.3 to 7.1.
//!
//! Fills: if a graph is a chain of nodes, these releases write the packets of its fills at instantiation, and store
//! each value in the memory that holds the arguments of launches on the device's default stream. That memory is reused
//! after 1 MiB of arguments, and the next launch of the graph fills with whatever it holds then, such as pointers of
//! other launches. For a graph with branches, packets are not written in advance: each launch passes its own values. So
//! this crate adds an unconnected empty node to graphs with fills. The crate hides that node; Graphviz shows it.
//!
//! Branches: the runtime keeps streams of normal priority for the branches of a graph. A launch skips those that share
//! the GPU's queue with the stream of the launch. It reads past the end of the list if more streams share that queue
//! than it expects, as streams share four queues. Streams of another priority use other queues. So this crate launches
//! a graph with branches on a private stream of high priority, between events that order it within the stream that the
//! caller passed.

use std::ptr;

use hip_sys::{hipGraph_t, hipGraphNode_t, hipStream_t};

use super::handle::{Node, NodeKind};
use super::{Graph, GraphInner, edges_of, exclusive, kind_of, nodes_of};
use crate::core::call::check;
use crate::core::error::Result;
use crate::core::lock::Mutex;
use crate::core::releases::{BRANCHES_NEED_A_QUEUE_APART, FILLS_OF_CHAINS_LOSE_THEIR_VALUE};
use crate::stream::event::{Event, EventOptions};
use crate::stream::{Stream, StreamOptions};

impl Graph {
    /// Adds the unconnected node if the graph now has its first fill, its own or a child's, and the runtime needs the
    /// workaround. `added` is the node that was added last; on failure it is removed again.
    pub(super) fn set_apart(&mut self, added: Node) -> Result<()> {
        if self.apart.is_some() || !FILLS_OF_CHAINS_LOSE_THEIR_VALUE.in_use() {
            return Ok(());
        }
        match self.add_empty(&[]) {
            Ok(node) => {
                self.apart = Some(node);
                Ok(())
            }
            Err(error) => {
                let _exclusive = exclusive();
                // SAFETY: a node of this graph, which is alive; it was not returned to the caller yet.
                let _ = unsafe { hip_sys::hipGraphDestroyNode(added.raw) };
                Err(error)
            }
        }
    }

    /// Does the same for a graph that the runtime has captured.
    pub(super) fn captured(mut self) -> Result<Self> {
        if !FILLS_OF_CHAINS_LOSE_THEIR_VALUE.in_use() {
            return Ok(self);
        }
        let fill = self.nodes()?.into_iter().find(|node| node.kind == NodeKind::Fill);
        if let Some(fill) = fill {
            self.set_apart(fill)?;
        }
        Ok(self)
    }

    /// Returns the clone's counterpart of this graph's unconnected node.
    pub(super) fn apart_in(&self, clone: &GraphInner) -> Result<Option<Node>> {
        let Some(node) = self.apart else { return Ok(None) };
        let mut raw = ptr::null_mut();
        let _exclusive = exclusive();
        // SAFETY: `raw` is valid for a write; both graphs are alive.
        let status = unsafe { hip_sys::hipGraphNodeFindInClone(&mut raw, node.raw, clone.raw) };
        check(status, "hipGraphNodeFindInClone", || self.describe())?;
        Ok(Some(Node { raw, graph: clone.id, kind: node.kind }))
    }
}

impl GraphInner {
    /// Returns whether edges put all nodes but empty ones in a single sequence. Child graphs may have branches.
    pub(super) fn is_line(&self) -> Result<bool> {
        let describe = || "a graph".to_owned();
        let _exclusive = exclusive();
        let (mut nodes, edges) = (nodes_of(self.raw, &describe)?, edges_of(self.raw, &describe)?);
        let mut kinds = nodes.iter().map(|&node| kind_of(node, &describe)).collect::<Result<Vec<_>>>()?.into_iter();
        let joined = |node: hipGraphNode_t| edges.iter().any(|&(from, to)| from == node || to == node);
        nodes.retain(|&node| kinds.next() != Some(NodeKind::Empty) || joined(node));
        Ok(is_line(&nodes, edges))
    }
}

/// The private stream of a graph with branches.
pub(super) struct Aside {
    stream: Stream,
    before: Event,
    after: Event,
    /// Held from the first event to the second.
    one: Mutex<()>,
}

impl Aside {
    /// Creates the private stream if the graph has branches and the runtime needs the workaround.
    pub(super) fn new(graph: &Graph) -> Result<Option<Self>> {
        let is_chain = || {
            let _exclusive = exclusive();
            is_chain(graph.inner.raw)
        };
        if !BRANCHES_NEED_A_QUEUE_APART.in_use() || is_chain()? {
            return Ok(None);
        }
        let device = graph.inner.device;
        let high = *device.stream_priority_range()?.start();
        let event = || Event::with_options(&device, EventOptions::new().timing(false));
        Ok(Some(Self {
            stream: Stream::with_options(&device, StreamOptions::new().priority(high))?,
            before: event()?,
            after: event()?,
            one: Mutex::default(),
        }))
    }

    /// Calls `launch` with the private stream. Its work comes after all work that `other` has now, and before all later
    /// work of `other`.
    pub(super) fn launch(&self, other: hipStream_t, launch: impl FnOnce(hipStream_t) -> Result<()>) -> Result<()> {
        let _one = self.one.lock();
        let own = self.stream.inner.raw();
        follow(own, other, &self.before)?;
        let launched = launch(own);
        // `other` also waits for work that a failed launch has begun.
        let followed = follow(other, own, &self.after);
        if followed.is_err() {
            // SAFETY: the stream is alive.
            let _ = unsafe { hip_sys::hipStreamSynchronize(own) };
        }
        launched.and(followed)
    }
}

/// Makes `later` wait for all work that `first` has now.
fn follow(later: hipStream_t, first: hipStream_t, event: &Event) -> Result<()> {
    let describe = || "a graph with branches".to_owned();
    // SAFETY: the caller keeps both alive, and they are of one device.
    check(unsafe { hip_sys::hipEventRecord(event.as_raw(), first) }, "hipEventRecord", describe)?;
    // SAFETY: as above; 0 is the only flag that HIP defines.
    check(unsafe { hip_sys::hipStreamWaitEvent(later, event.as_raw(), 0) }, "hipStreamWaitEvent", describe)
}

/// Returns whether each node except the first waits for exactly one other, and no two wait for the same.
fn is_line(nodes: &[hipGraphNode_t], edges: Vec<(hipGraphNode_t, hipGraphNode_t)>) -> bool {
    let alone = |ends: &mut Vec<_>| {
        ends.sort_unstable();
        ends.windows(2).all(|pair| pair[0] != pair[1])
    };
    let (mut from, mut to): (Vec<_>, Vec<_>) = edges.into_iter().unzip();
    from.len() + 1 >= nodes.len() && alone(&mut from) && alone(&mut to)
}

/// Returns whether a graph and all of its child graphs are chains.
fn is_chain(graph: hipGraph_t) -> Result<bool> {
    let describe = || "a graph".to_owned();
    let nodes = nodes_of(graph, &describe)?;
    if !is_line(&nodes, edges_of(graph, &describe)?) {
        return Ok(false);
    }
    for node in nodes {
        if kind_of(node, &describe)? == NodeKind::Child {
            let mut child: hipGraph_t = ptr::null_mut();
            // SAFETY: a node of that kind, of a graph that is alive; `child` is valid for a write.
            let status = unsafe { hip_sys::hipGraphChildGraphNodeGetGraph(node, &mut child) };
            check(status, "hipGraphChildGraphNodeGetGraph", describe)?;
            if !is_chain(child)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
