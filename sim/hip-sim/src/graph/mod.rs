//! Graphs: nodes with dependencies, built once and launched repeatedly.

mod exec;
mod launch;
mod memory;
mod object;
mod operation;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use exec::{Exec, Mismatch};
pub(crate) use memory::MemoryUse;
pub(crate) use object::{Hold, UserObject};
#[cfg(target_os = "linux")]
pub(crate) use operation::SemaphoreNode;
pub(crate) use operation::{CopyNode, FillNode, HostCall, KernelNode, Operation, SignalNode, SignalParameters};

use crate::handles::{Handles, Kind};

/// The graph behind a `hipGraph_t`.
#[derive(Default)]
pub(crate) struct Graph {
    body: Mutex<Body>,
    /// The user objects that the graph retains.
    objects: Mutex<Vec<Hold>>,
    /// The graph belongs to a child graph node and is destroyed only with it.
    pub(crate) is_child: bool,
    /// A graph with allocation nodes can be instantiated only once.
    pub(crate) instantiated: AtomicBool,
}

/// All graphs and their nodes.
pub(crate) struct Graphs {
    graphs: Handles<Graph>,
    nodes: Handles<Node>,
}

impl Graphs {
    pub(crate) fn new() -> Self {
        Self { graphs: Handles::new(Kind::Graph), nodes: Handles::new(Kind::Node) }
    }

    /// Creates an empty graph and returns its handle, as a number. `None` if the handles are used up.
    pub(crate) fn create(&self) -> Option<usize> {
        Some(self.graphs.insert(Graph::default())?.addr())
    }

    /// Creates an empty graph that belongs to a node, as [`create`](Self::create).
    fn create_child(&self) -> Option<usize> {
        Some(self.graphs.insert(Graph { is_child: true, ..Graph::default() })?.addr())
    }

    /// The graph whose handle is this number.
    pub(crate) fn graph(&self, handle: usize) -> Option<Arc<Graph>> {
        self.graphs.get(std::ptr::without_provenance(handle))
    }

    /// The node whose handle is this number.
    pub(crate) fn node(&self, handle: usize) -> Option<Arc<Node>> {
        self.nodes.get(std::ptr::without_provenance(handle))
    }

    /// Copies a graph and its child graphs; with `is_child`, the copy belongs to a node. `None` if the handles are used
    /// up.
    pub(crate) fn copy(&self, graph: &Graph, is_child: bool) -> Option<usize> {
        let handle = if is_child { self.create_child()? } else { self.create()? };
        let to = self.graph(handle)?;
        to.objects().extend(graph.objects().iter().cloned());
        let body = graph.body().clone();
        let mut twins = Vec::with_capacity(body.nodes.len());
        for origin in &body.nodes {
            let operation = self.node(*origin)?.operation().clone();
            let operation = match operation {
                Operation::Child(child) => Operation::Child(self.copy(&*self.graph(child)?, true)?),
                other => other,
            };
            twins.push((*origin, to.add_clone(self, handle, &[], operation, Some(*origin))?));
        }
        let twin = |node: usize| twins.iter().find(|(origin, _)| *origin == node).map(|(_, twin)| *twin);
        to.body().edges = body.edges.iter().filter_map(|(a, b)| Some((twin(*a)?, twin(*b)?))).collect();
        Some(handle)
    }

    /// Destroys a graph, its nodes and its child graphs.
    pub(crate) fn destroy(&self, graph: usize) {
        let Some(graph) = self.graphs.remove(std::ptr::without_provenance(graph)) else { return };
        // Dropped outside the lock: a destructor may call the program.
        let objects = std::mem::take(&mut *graph.objects());
        drop(objects);
        let nodes = std::mem::take(&mut graph.body().nodes);
        nodes.into_iter().for_each(|node| self.end_node(node));
    }

    /// Destroys a node that is no longer in its graph.
    pub(crate) fn end_node(&self, node: usize) {
        let Some(node) = self.nodes.remove(std::ptr::without_provenance(node)) else { return };
        let child = match &*node.operation() {
            Operation::Child(child) => Some(*child),
            _ => None,
        };
        if let Some(child) = child {
            self.destroy(child);
        }
    }

    /// Returns whether `wanted` selects a node of the graph or of its child graphs.
    pub(crate) fn any(&self, graph: &Graph, wanted: &dyn Fn(&Operation) -> bool) -> bool {
        let nodes = graph.body().nodes.clone();
        nodes.into_iter().filter_map(|node| self.node(node)).any(|node| {
            let operation = node.operation().clone();
            match operation {
                Operation::Child(child) => self.graph(child).is_some_and(|child| self.any(&child, wanted)),
                other => wanted(&other),
            }
        })
    }
}

/// The nodes of a graph in the order of their addition, and its edges. Nodes are handles, as numbers.
#[derive(Clone, Default)]
pub(crate) struct Body {
    pub(crate) nodes: Vec<usize>,
    pub(crate) edges: Vec<(usize, usize)>,
}

/// The node behind a `hipGraphNode_t`.
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
    /// The nodes that `node` depends on.
    pub(crate) fn before(&self, node: usize) -> impl Iterator<Item = usize> {
        self.edges.iter().filter(move |(_, to)| *to == node).map(|(from, _)| *from)
    }

    /// The nodes that depend on `node`.
    pub(crate) fn after(&self, node: usize) -> impl Iterator<Item = usize> {
        self.edges.iter().filter(move |(from, _)| *from == node).map(|(_, to)| *to)
    }

    /// The nodes in topological order, otherwise in the order of their addition. `None` if the edges form a cycle.
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
    pub(crate) fn objects(&self) -> MutexGuard<'_, Vec<Hold>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn body(&self) -> MutexGuard<'_, Body> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a node that depends on `before`; `graph` is the handle of this graph. `None` if the handles are used up.
    pub(crate) fn add(&self, graphs: &Graphs, graph: usize, before: &[usize], operation: Operation) -> Option<usize> {
        self.add_clone(graphs, graph, before, operation, None)
    }

    fn add_clone(
        &self,
        graphs: &Graphs,
        graph: usize,
        before: &[usize],
        operation: Operation,
        origin: Option<usize>,
    ) -> Option<usize> {
        let node = graphs.nodes.insert(Node { graph, origin, operation: Mutex::new(operation) })?.addr();
        let mut body = self.body();
        body.nodes.push(node);
        body.edges.extend(before.iter().map(|before| (*before, node)));
        Some(node)
    }

    /// The node that was cloned from `origin`.
    pub(crate) fn clone_of(&self, graphs: &Graphs, origin: usize) -> Option<usize> {
        let body = self.body();
        body.nodes.iter().copied().find(|node| graphs.node(*node).is_some_and(|node| node.origin == Some(origin)))
    }
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
