//! Executable graphs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hip_sys::rocm_7_2::hipErrorInvalidValue;

use super::{Graph, Graphs, Hold, Operation};
use crate::queue::{Point, Scheduler};
use crate::status::Refusal;

/// The executable graph behind a `hipGraphExec_t`.
pub(crate) struct Exec {
    pub(crate) flags: u64,
    /// The user objects that its graph retained.
    objects: Vec<Hold>,
    plan: Mutex<Plan>,
}

/// Nodes in the order in which they run.
#[derive(Default)]
pub(crate) struct Plan {
    pub(super) steps: Vec<Step>,
    /// The end of the last launch. Launches of one graph run one after the other.
    pub(super) last: Option<Point>,
}

pub(super) struct Step {
    /// The handle of the node that the step was made from, by which the program names it.
    node: usize,
    pub(super) operation: Operation,
    /// The indices of the steps that must run first.
    before: Vec<usize>,
    pub(super) enabled: bool,
    /// The steps of a child graph.
    pub(super) child: Vec<Step>,
}

/// Why an executable graph cannot be updated from another graph.
pub(crate) enum Mismatch {
    Topology,
    Kind { node: usize },
}

/// Whether a node is enabled.
pub(crate) type Enabled = bool;

/// Returns `None` if the edges form a cycle.
fn steps_of(graphs: &Graphs, graph: &Graph) -> Option<Vec<Step>> {
    let body = graph.body().clone();
    let order = body.in_order()?;
    let at = |node: usize| order.iter().position(|other| *other == node);
    let step = |node: &usize| {
        let operation = graphs.node(*node)?.operation().clone();
        let child = match &operation {
            Operation::Child(child) => steps_of(graphs, &*graphs.graph(*child)?)?,
            _ => Vec::new(),
        };
        let mut before: Vec<usize> = body.before(*node).filter_map(at).collect();
        before.sort_unstable();
        Some(Step { node: *node, operation, before, enabled: true, child })
    };
    order.iter().map(step).collect()
}

fn find(steps: &mut [Step], node: usize) -> Option<&mut Step> {
    for step in steps {
        if step.node == node {
            return Some(step);
        }
        if let Some(found) = find(&mut step.child, node) {
            return Some(found);
        }
    }
    None
}

/// Whether `new` can take the place of `old`.
fn compare(old: &[Step], new: &[Step]) -> Result<(), Mismatch> {
    if old.len() != new.len() {
        return Err(Mismatch::Topology);
    }
    for (old, new) in old.iter().zip(new) {
        if old.operation.kind() != new.operation.kind() {
            return Err(Mismatch::Kind { node: new.node });
        }
        if old.before != new.before {
            return Err(Mismatch::Topology);
        }
        compare(&old.child, &new.child)?;
    }
    Ok(())
}

fn replace(old: &mut [Step], new: Vec<Step>) {
    for (old, new) in old.iter_mut().zip(new) {
        old.operation = new.operation;
        replace(&mut old.child, new.child);
    }
}

/// The user objects that a graph and its child graphs retain.
fn kept(graphs: &Graphs, graph: &Graph) -> Vec<Hold> {
    let mut all: Vec<Hold> = graph.objects().clone();
    let nodes = graph.body().nodes.clone();
    for node in nodes.into_iter().filter_map(|node| graphs.node(node)) {
        if let Operation::Child(child) = node.operation().clone() {
            all.extend(graphs.graph(child).map(|child| kept(graphs, &child)).unwrap_or_default());
        }
    }
    all
}

fn to_graph(graphs: &Graphs, steps: &[Step]) -> Option<usize> {
    let handle = graphs.create_child()?;
    let graph = graphs.graph(handle)?;
    let mut nodes = Vec::with_capacity(steps.len());
    for step in steps {
        let operation = match &step.operation {
            Operation::Child(_) => Operation::Child(to_graph(graphs, &step.child)?),
            _ if !step.enabled => Operation::Empty,
            other => other.clone(),
        };
        let before: Vec<usize> = step.before.iter().map(|at| nodes[*at]).collect();
        nodes.push(graph.add(graphs, handle, &before, operation)?);
    }
    Some(handle)
}

impl Exec {
    /// Instantiates a graph.
    ///
    /// # Errors
    /// `hipErrorInvalidValue` if its edges form a cycle.
    pub(crate) fn new(graphs: &Graphs, graph: &Graph, flags: u64) -> Result<Self, Refusal> {
        let steps = steps_of(graphs, graph);
        let steps = steps.ok_or_else(|| Refusal::new(hipErrorInvalidValue, "the graph's edges make a circle"))?;
        Ok(Self { flags, objects: kept(graphs, graph), plan: Mutex::new(Plan { steps, last: None }) })
    }

    pub(super) fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `change` with a node's operation and whether the node is enabled. `None` if the node is not in this graph.
    pub(crate) fn with<R>(&self, node: usize, change: impl FnOnce(&mut Operation, &mut Enabled) -> R) -> Option<R> {
        let mut plan = self.plan();
        let step = find(&mut plan.steps, node)?;
        Some(change(&mut step.operation, &mut step.enabled))
    }

    /// Takes over the operations of `graph`, which must have the same nodes in the same order.
    pub(crate) fn update(&self, graphs: &Graphs, graph: &Graph) -> Result<(), Mismatch> {
        let new = steps_of(graphs, graph).ok_or(Mismatch::Topology)?;
        let mut plan = self.plan();
        compare(&plan.steps, &new)?;
        replace(&mut plan.steps, new);
        Ok(())
    }

    /// Updates one of its child graphs from `graph`, as [`update`](Self::update). `None` if the node is not in this
    /// graph.
    pub(crate) fn update_child(&self, graphs: &Graphs, node: usize, graph: &Graph) -> Option<Result<(), Mismatch>> {
        let new = steps_of(graphs, graph)?;
        let mut plan = self.plan();
        let step = find(&mut plan.steps, node).filter(|step| matches!(step.operation, Operation::Child(_)))?;
        Some(compare(&step.child, &new).map(|()| replace(&mut step.child, new)))
    }

    /// Waits for the last launch if the graph retains user objects, which are released with it.
    pub(crate) fn settle(&self, scheduler: &Arc<Scheduler>) {
        let last = self.plan().last;
        if let (Some(last), false) = (last, self.objects.is_empty()) {
            scheduler.wait(&[last]);
        }
    }

    /// Creates an equal graph for a node to own. `None` if the handles are used up.
    pub(crate) fn to_graph(&self, graphs: &Graphs) -> Option<usize> {
        to_graph(graphs, &self.plan().steps)
    }
}
