//! Nodes that record events and wait for them.

use std::sync::Arc;

use super::{Graph, Node, NodeKind};
#[cfg(doc)]
use crate::core::error::Error;
use crate::core::error::Result;
use crate::stream::event::Event;

impl Graph {
    /// Adds a record of an event (`hipGraphAddEventRecordNode`): each launch moves the event's mark.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::Graph`] for nodes of another graph, [`Error::InvalidValue`] for an event of other processes or other code.
    #[doc(alias("hipGraphAddEventRecordNode", "cuGraphAddEventRecordNode", "cudaGraphAddEventRecordNode"))]
    pub fn add_event_record(&mut self, after: &[Node], event: &Arc<Event>) -> Result<Node> {
        self.inner.device.expect(event.device(), "the event")?;
        event.refuse_shared("the event of a graph")?;
        let raw = event.raw();
        self.resources.recorded.push(Arc::clone(event));
        self.add(
            NodeKind::EventRecord,
            after,
            "hipGraphAddEventRecordNode",
            || "an event".to_owned(),
            |node, graph, before, count| {
                // SAFETY: the graph and the nodes are alive; the event is kept by the graph.
                unsafe { hip_sys::hipGraphAddEventRecordNode(node, graph, before, count, raw) }
            },
        )
    }

    /// Adds a wait for an event (`hipGraphAddEventWaitNode`): for what it was last recorded behind when the graph is launched.
    ///
    /// # Errors
    /// [`Error::Graph`] for nodes of another graph.
    #[doc(alias("hipGraphAddEventWaitNode", "cuGraphAddEventWaitNode", "cudaGraphAddEventWaitNode"))]
    pub fn add_event_wait(&mut self, after: &[Node], event: &Arc<Event>) -> Result<Node> {
        let raw = event.raw();
        self.resources.waited.push(Arc::clone(event));
        self.add(
            NodeKind::EventWait,
            after,
            "hipGraphAddEventWaitNode",
            || "an event".to_owned(),
            |node, graph, before, count| {
                // SAFETY: the graph and the nodes are alive; the event is kept by the graph.
                unsafe { hip_sys::hipGraphAddEventWaitNode(node, graph, before, count, raw) }
            },
        )
    }
}
