//! Nodes that record or wait for events.

use std::sync::Arc;

#[cfg(doc)]
use crate::core::error::Error;
use crate::core::error::Result;
use crate::graph::Graph;
use crate::graph::handle::{Node, NodeKind};
use crate::stream::event::Event;

impl Graph {
    /// Adds a record of an event (`hipGraphAddEventRecordNode`). Each launch records the event anew.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::Graph`] for nodes of another graph, [`Error::InvalidValue`] for an event of
    /// another process or other code.
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

    /// Adds a wait for an event (`hipGraphAddEventWaitNode`): for the work that it was last recorded after when the
    /// graph is launched.
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
