//! Workarounds for graphs with HIP 6.3 to 7.1.
//!
//! Fills: for a graph that is a chain of nodes, these releases write the packets of its fills when it is instantiated, and put the value of
//! each where launches on the device's default stream have their arguments. That place is used again once 1 MiB of arguments has been
//! written, and the next launch of the graph fills with what is there then: pointers of other launches. A graph with branches has no packets
//! written in advance: each launch brings its own values. So graphs with fills get a node that nothing joins to the others,
//! which does nothing. The crate does not show it; Graphviz does.
//!
//! Branches: a graph with branches has streams of normal priority for them. Its launch passes over those that have the queue of the GPU that the
//! stream of the launch has, and reads past the end of the list where more of them have that queue than it thinks there can be:
//! streams share four queues. Queues of another priority are other ones. So a graph with branches is launched on a stream of its own, of
//! high priority, between events that put it in its place in the stream that it was to be launched on.

use std::ptr;

use hip_sys::{hipGraph_t, hipGraphNode_t, hipStream_t};

use super::node::{Node, NodeKind};
use super::{Graph, GraphInner, edges_of, exclusive, kind_of, nodes_of};
use crate::core::call::check;
use crate::core::error::Result;
use crate::core::lock::Mutex;
use crate::core::releases::{BRANCHES_NEED_A_QUEUE_APART, FILLS_OF_CHAINS_LOSE_THEIR_VALUE};
use crate::stream::event::{Event, EventOptions};
use crate::stream::{Stream, StreamOptions};

impl Graph {
    /// Gives the graph a node that stands alone if it now has a fill for the first time, its own or a child's, where the runtime needs that.
    /// `added` is what was added last; it is taken out again if that fails.
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
                // SAFETY: a node of this graph, which is alive; nobody has been given it yet.
                let _ = unsafe { hip_sys::hipGraphDestroyNode(added.raw) };
                Err(error)
            }
        }
    }

    /// The same for a graph that the runtime has made.
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

    /// The node that stands for that of this graph in a clone.
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
    /// Whether its nodes run one after the other, by its edges, but for nodes that do nothing. The graphs that are nodes of it may have branches.
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

/// The stream of a graph with branches.
pub(super) struct Aside {
    stream: Stream,
    before: Event,
    after: Event,
    /// Held from one event to the other.
    one: Mutex<()>,
}

impl Aside {
    /// One for this graph, if it has branches and the runtime needs it.
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

    /// Has `launch` put work on the stream, where it comes after all work that `other` has now, and before all that `other` gets later.
    pub(super) fn launch(&self, other: hipStream_t, launch: impl FnOnce(hipStream_t) -> Result<()>) -> Result<()> {
        let _one = self.one.lock();
        let own = self.stream.inner.raw();
        follow(own, other, &self.before)?;
        let launched = launch(own);
        // What a launch that fails has begun is waited for too.
        let followed = follow(other, own, &self.after);
        if followed.is_err() {
            // SAFETY: the stream is alive.
            let _ = unsafe { hip_sys::hipStreamSynchronize(own) };
        }
        launched.and(followed)
    }
}

/// Has `later` wait for all work that `first` has now.
fn follow(later: hipStream_t, first: hipStream_t, event: &Event) -> Result<()> {
    let describe = || "a graph with branches".to_owned();
    // SAFETY: both are alive, as the caller has them, and of one device.
    check(unsafe { hip_sys::hipEventRecord(event.as_raw(), first) }, "hipEventRecord", describe)?;
    // SAFETY: as above; 0 is the only flag that there is.
    check(unsafe { hip_sys::hipStreamWaitEvent(later, event.as_raw(), 0) }, "hipStreamWaitEvent", describe)
}

/// Whether each node of a graph but one waits for one other, for which no other node waits.
fn is_line(nodes: &[hipGraphNode_t], edges: Vec<(hipGraphNode_t, hipGraphNode_t)>) -> bool {
    let alone = |ends: &mut Vec<_>| {
        ends.sort_unstable();
        ends.windows(2).all(|pair| pair[0] != pair[1])
    };
    let (mut from, mut to): (Vec<_>, Vec<_>) = edges.into_iter().unzip();
    from.len() + 1 >= nodes.len() && alone(&mut from) && alone(&mut to)
}

/// Whether that holds for a graph, and for the graphs that are nodes of it.
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
