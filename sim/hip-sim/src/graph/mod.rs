//! Graphs: nodes with an order between them, made once and run often.

mod exec;
mod memory;
mod object;
mod operation;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use exec::{Exec, Mismatch};
pub(crate) use memory::{GraphMemory, MemoryUse, allocated};
pub(crate) use object::{Hold, UserObject};
#[cfg(target_os = "linux")]
pub(crate) use operation::SemaphoreNode;
pub(crate) use operation::{CopyNode, FillNode, HostCall, KernelNode, Operation, SignalNode, SignalParameters};

use crate::runtime::Runtime;

/// What a `hipGraph_t` names.
#[derive(Default)]
pub(crate) struct Graph {
    body: Mutex<Body>,
    /// What it keeps for the program.
    objects: Mutex<Vec<Hold>>,
    /// It is the graph of a node, which alone destroys it.
    pub(crate) is_child: bool,
    /// A graph that allocates can be instantiated once.
    pub(crate) instantiated: AtomicBool,
}

/// The nodes of a graph, as they were added, and its edges: handles, as numbers.
#[derive(Clone, Default)]
pub(crate) struct Body {
    pub(crate) nodes: Vec<usize>,
    pub(crate) edges: Vec<(usize, usize)>,
}

/// What a `hipGraphNode_t` names.
pub(crate) struct Node {
    /// Its graph's handle, as a number.
    pub(crate) graph: usize,
    /// The node that it was cloned from.
    origin: Option<usize>,
    operation: Mutex<Operation>,
}

impl Node {
    pub(crate) fn operation(&self) -> MutexGuard<'_, Operation> {
        self.operation.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Body {
    /// The nodes that have to be done before `node`.
    pub(crate) fn before(&self, node: usize) -> impl Iterator<Item = usize> {
        self.edges.iter().filter(move |(_, to)| *to == node).map(|(from, _)| *from)
    }

    /// The nodes that have to wait for `node`.
    pub(crate) fn after(&self, node: usize) -> impl Iterator<Item = usize> {
        self.edges.iter().filter(move |(from, _)| *from == node).map(|(_, to)| *to)
    }

    /// The nodes in an order that keeps to the edges, else as they were added. `None` if they go round in a circle.
    pub(crate) fn in_order(&self) -> Option<Vec<usize>> {
        let at = |node: usize| self.nodes.iter().position(|other| *other == node);
        let mut missing = vec![0_usize; self.nodes.len()];
        let mut followers = vec![Vec::new(); self.nodes.len()];
        for (from, to) in &self.edges {
            let (from, to) = (at(*from)?, at(*to)?);
            missing[to] += 1;
            followers[from].push(to);
        }
        let mut ready: BTreeSet<usize> = (0..self.nodes.len()).filter(|node| missing[*node] == 0).collect();
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(next) = ready.pop_first() {
            order.push(self.nodes[next]);
            for follower in &followers[next] {
                missing[*follower] -= 1;
                if missing[*follower] == 0 {
                    ready.insert(*follower);
                }
            }
        }
        (order.len() == self.nodes.len()).then_some(order)
    }
}

impl Graph {
    /// An empty graph that belongs to a node.
    fn child() -> Self {
        Self { is_child: true, ..Self::default() }
    }

    pub(crate) fn objects(&self) -> MutexGuard<'_, Vec<Hold>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn body(&self) -> MutexGuard<'_, Body> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a node behind others, whose handle `graph` is the graph's. `None` if there are no more handles.
    pub(crate) fn add(&self, runtime: &Runtime, graph: usize, before: &[usize], operation: Operation) -> Option<usize> {
        self.add_clone(runtime, graph, before, operation, None)
    }

    fn add_clone(
        &self,
        runtime: &Runtime,
        graph: usize,
        before: &[usize],
        operation: Operation,
        origin: Option<usize>,
    ) -> Option<usize> {
        let node = runtime.nodes.insert(Node { graph, origin, operation: Mutex::new(operation) })?.addr();
        let mut body = self.body();
        body.nodes.push(node);
        body.edges.extend(before.iter().map(|before| (*before, node)));
        Some(node)
    }

    /// The node that was cloned from `origin`.
    pub(crate) fn clone_of(&self, runtime: &Runtime, origin: usize) -> Option<usize> {
        let body = self.body();
        body.nodes.iter().copied().find(|node| runtime.node(*node).is_some_and(|node| node.origin == Some(origin)))
    }
}

/// Copies a graph and the graphs in it; `is_child` if it is to belong to a node. `None` if there are no more handles.
pub(crate) fn copy(runtime: &Runtime, graph: &Graph, is_child: bool) -> Option<usize> {
    let to = runtime.graphs.insert(if is_child { Graph::child() } else { Graph::default() })?;
    let (handle, to) = (to.addr(), runtime.graphs.get(to)?);
    to.objects().extend(graph.objects().iter().cloned());
    let body = graph.body().clone();
    let mut twins = Vec::with_capacity(body.nodes.len());
    for origin in &body.nodes {
        let operation = runtime.node(*origin)?.operation().clone();
        let operation = match operation {
            Operation::Child(child) => Operation::Child(copy(runtime, &*runtime.graph(child)?, true)?),
            other => other,
        };
        twins.push((*origin, to.add_clone(runtime, handle, &[], operation, Some(*origin))?));
    }
    let twin = |node: usize| twins.iter().find(|(origin, _)| *origin == node).map(|(_, twin)| *twin);
    to.body().edges = body.edges.iter().filter_map(|(a, b)| Some((twin(*a)?, twin(*b)?))).collect();
    Some(handle)
}

/// Ends a graph, its nodes and the graphs in it.
pub(crate) fn destroy(runtime: &Runtime, graph: usize) {
    let Some(graph) = runtime.graphs.remove(std::ptr::without_provenance(graph)) else { return };
    // Outside of the lock: it may call the program.
    let objects = std::mem::take(&mut *graph.objects());
    drop(objects);
    let nodes = std::mem::take(&mut graph.body().nodes);
    nodes.into_iter().for_each(|node| end_node(runtime, node));
}

/// Ends a node that its graph has forgotten.
pub(crate) fn end_node(runtime: &Runtime, node: usize) {
    let Some(node) = runtime.nodes.remove(std::ptr::without_provenance(node)) else { return };
    let child = match &*node.operation() {
        Operation::Child(child) => Some(*child),
        _ => None,
    };
    if let Some(child) = child {
        destroy(runtime, child);
    }
}

/// Whether the graph, or one in it, has a node for which `wanted` says so.
pub(crate) fn any(runtime: &Runtime, graph: &Graph, wanted: &dyn Fn(&Operation) -> bool) -> bool {
    let nodes = graph.body().nodes.clone();
    nodes.into_iter().filter_map(|node| runtime.node(node)).any(|node| {
        let operation = node.operation().clone();
        match operation {
            Operation::Child(child) => runtime.graph(child).is_some_and(|child| any(runtime, &child, wanted)),
            other => wanted(&other),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_keeps_to_the_edges_and_else_to_the_order_of_adding() {
        let mut body = Body { nodes: vec![10, 20, 30, 40], edges: vec![(40, 20), (20, 10)] };
        assert_eq!(body.in_order().unwrap(), [30, 40, 20, 10]);
        assert_eq!((body.before(20).collect::<Vec<_>>(), body.after(20).collect::<Vec<_>>()), (vec![40], vec![10]));
        body.edges.push((10, 40));
        assert!(body.in_order().is_none(), "a circle");
    }
}
