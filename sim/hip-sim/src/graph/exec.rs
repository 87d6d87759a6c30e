//! Executable graphs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hip_sys::rocm_7_2::{hipErrorContextIsDestroyed, hipErrorInvalidHandle, hipErrorInvalidValue};

use super::operation::perform;
use super::{Graph, Hold, Operation};
use crate::api::event;
use crate::fault::Failure;
use crate::queue::{Point, Work};
use crate::runtime::{Runtime, Target};
use crate::status::{Outcome, Refusal, ensure};

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
    steps: Vec<Step>,
    /// The end of the last launch. Launches of one graph run one after the other.
    last: Option<Point>,
}

struct Step {
    /// The handle of the node that the step was made from, by which the program names it.
    node: usize,
    operation: Operation,
    /// The indices of the steps that must run first.
    before: Vec<usize>,
    enabled: bool,
    /// The steps of a child graph.
    child: Vec<Step>,
}

/// Why an executable graph cannot be updated from another graph.
pub(crate) enum Mismatch {
    Topology,
    Kind { node: usize },
}

/// Whether a node is enabled.
pub(crate) type Enabled = bool;

/// Returns `None` if the edges form a cycle.
fn steps_of(runtime: &Runtime, graph: &Graph) -> Option<Vec<Step>> {
    let body = graph.body().clone();
    let order = body.in_order()?;
    let at = |node: usize| order.iter().position(|other| *other == node);
    let step = |node: &usize| {
        let operation = runtime.node(*node)?.operation().clone();
        let child = match &operation {
            Operation::Child(child) => steps_of(runtime, &*runtime.graph(*child)?)?,
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

fn each<'a>(steps: &'a [Step], visit: &mut impl FnMut(&'a Operation) -> Outcome) -> Outcome {
    for step in steps.iter().filter(|step| step.enabled) {
        visit(&step.operation)?;
        each(&step.child, visit)?;
    }
    Ok(())
}

/// The user objects that a graph and its child graphs retain.
fn kept(runtime: &Runtime, graph: &Graph) -> Vec<Hold> {
    let mut all: Vec<Hold> = graph.objects().clone();
    let nodes = graph.body().nodes.clone();
    for node in nodes.into_iter().filter_map(|node| runtime.node(node)) {
        if let Operation::Child(child) = node.operation().clone() {
            all.extend(runtime.graph(child).map(|child| kept(runtime, &child)).unwrap_or_default());
        }
    }
    all
}

fn to_graph(runtime: &Runtime, steps: &[Step]) -> Option<usize> {
    let handle = runtime.graphs.insert(Graph::child())?;
    let graph = runtime.graphs.get(handle)?;
    let mut nodes = Vec::with_capacity(steps.len());
    for step in steps {
        let operation = match &step.operation {
            Operation::Child(_) => Operation::Child(to_graph(runtime, &step.child)?),
            _ if !step.enabled => Operation::Empty,
            other => other.clone(),
        };
        let before: Vec<usize> = step.before.iter().map(|at| nodes[*at]).collect();
        nodes.push(graph.add(runtime, handle.addr(), &before, operation)?);
    }
    Some(handle.addr())
}

/// Submits steps to a stream's queue. Consecutive device steps become one command.
struct Submission<'a> {
    runtime: &'static Runtime,
    target: &'a Target,
    waits: Vec<Point>,
    /// The end of the previous launch, which the first command waits for.
    behind: Option<Point>,
    row: Vec<Operation>,
    last: Option<Point>,
}

impl Submission<'_> {
    fn submit(&mut self, work: Work) -> Outcome {
        let waits = std::mem::take(&mut self.waits);
        let behind = self.behind.take();
        let point = self.runtime.scheduler.submit_behind(self.target.queue, work, &waits, behind);
        self.last = Some(point.ok_or(hipErrorContextIsDestroyed)?);
        Ok(())
    }

    fn end_row(&mut self) -> Outcome {
        if self.row.is_empty() {
            return Ok(());
        }
        let (runtime, row) = (self.runtime, std::mem::take(&mut self.row));
        let device = self.target.device;
        let run = move || {
            runtime.devices[device].carries_on()?;
            row.iter().try_for_each(|operation| perform(runtime, operation))
        };
        self.submit(Work::Device(Box::new(run)))
    }

    /// Submits a step that may block for an unlimited time.
    fn wait(&mut self, work: impl FnOnce() -> Result<(), Failure> + Send + 'static) -> Outcome {
        self.end_row()?;
        self.submit(Work::Wait(Box::new(work)))
    }

    fn steps(&mut self, steps: &[Step]) -> Outcome {
        for step in steps.iter().filter(|step| step.enabled) {
            match &step.operation {
                Operation::Empty => {}
                Operation::Child(_) => self.steps(&step.child)?,
                Operation::Kernel(_) | Operation::Copy(_) | Operation::Fill(_) | Operation::Alloc(_) => {
                    self.row.push(step.operation.clone());
                }
                Operation::Host(call) => {
                    self.end_row()?;
                    let call = *call;
                    self.submit(Work::Host(Box::new(move |_| call.call())))?;
                }
                Operation::Free(base) => {
                    self.end_row()?;
                    let (runtime, memory) = (self.runtime, self.runtime.graph_memory.at(*base));
                    let free = move || memory.into_iter().for_each(|memory| memory.unmap(runtime));
                    self.submit(Work::Always(Box::new(free)))?;
                }
                Operation::Signals(node) => {
                    let (node, runtime, device) = (Arc::clone(node), self.runtime, self.target.device);
                    self.wait(move || node.perform(runtime, device))?;
                }
                #[cfg(target_os = "linux")]
                Operation::SignalSemaphores(node) => {
                    let (node, runtime, device) = (Arc::clone(node), self.runtime, self.target.device);
                    self.wait(move || node.signal(runtime, device))?;
                }
                #[cfg(target_os = "linux")]
                Operation::WaitSemaphores(node) => {
                    let (node, runtime, device) = (Arc::clone(node), self.runtime, self.target.device);
                    self.wait(move || node.wait(runtime, device))?;
                }
                Operation::Record(event) => {
                    self.end_row()?;
                    self.last = Some(event::record_on(self.runtime, *event, self.target)?);
                }
                Operation::Wait(event) => {
                    self.end_row()?;
                    if let Some(point) = event::point_of(self.runtime, *event)? {
                        self.waits.push(point);
                        self.submit(Work::Always(Box::new(|| {})))?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Exec {
    /// Instantiates a graph.
    ///
    /// # Errors
    /// `hipErrorInvalidValue` if its edges form a cycle.
    pub(crate) fn new(runtime: &Runtime, graph: &Graph, flags: u64) -> Result<Self, Refusal> {
        let steps = steps_of(runtime, graph);
        let steps = steps.ok_or_else(|| Refusal::new(hipErrorInvalidValue, "the graph's edges make a circle"))?;
        Ok(Self { flags, objects: kept(runtime, graph), plan: Mutex::new(Plan { steps, last: None }) })
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `change` with a node's operation and whether the node is enabled. `None` if the node is not in this graph.
    pub(crate) fn with<R>(&self, node: usize, change: impl FnOnce(&mut Operation, &mut Enabled) -> R) -> Option<R> {
        let mut plan = self.plan();
        let step = find(&mut plan.steps, node)?;
        Some(change(&mut step.operation, &mut step.enabled))
    }

    /// Takes over the operations of `graph`, which must have the same nodes in the same order.
    pub(crate) fn update(&self, runtime: &Runtime, graph: &Graph) -> Result<(), Mismatch> {
        let new = steps_of(runtime, graph).ok_or(Mismatch::Topology)?;
        let mut plan = self.plan();
        compare(&plan.steps, &new)?;
        replace(&mut plan.steps, new);
        Ok(())
    }

    /// Updates one of its child graphs from `graph`, as [`update`](Self::update). `None` if the node is not in this
    /// graph.
    pub(crate) fn update_child(&self, runtime: &Runtime, node: usize, graph: &Graph) -> Option<Result<(), Mismatch>> {
        let new = steps_of(runtime, graph)?;
        let mut plan = self.plan();
        let step = find(&mut plan.steps, node).filter(|step| matches!(step.operation, Operation::Child(_)))?;
        Some(compare(&step.child, &new).map(|()| replace(&mut step.child, new)))
    }

    /// Waits for the last launch if the graph retains user objects, which are released with it.
    pub(crate) fn settle(&self, runtime: &Runtime) {
        let last = self.plan().last;
        if let (Some(last), false) = (last, self.objects.is_empty()) {
            runtime.scheduler.wait(&[last]);
        }
    }

    /// Creates an equal graph for a node to own. `None` if the handles are used up.
    pub(crate) fn to_graph(&self, runtime: &Runtime) -> Option<usize> {
        to_graph(runtime, &self.plan().steps)
    }

    /// Queues the whole graph. With `auto_free`, memory that is still allocated is freed first.
    pub(crate) fn launch(&self, runtime: &'static Runtime, target: &Target, auto_free: bool) -> Outcome {
        let mut plan = self.plan();
        let mut devices_fit = true;
        let mut stale = Vec::new();
        each(&plan.steps, &mut |operation| {
            match operation {
                Operation::Kernel(kernel) => devices_fit &= kernel.prepared.device == target.device,
                Operation::Alloc(memory) if memory.is_held() => stale.push(Arc::clone(memory)),
                Operation::Record(event) | Operation::Wait(event) => {
                    ensure(event::exists(runtime, *event), hipErrorInvalidHandle)?;
                }
                _ => {}
            }
            Ok(())
        })?;
        if !devices_fit {
            return Err(Refusal::new(
                hipErrorInvalidValue,
                format!("the graph has kernels of another device than the stream's, {}", target.device),
            ));
        }
        if !stale.is_empty() && !auto_free {
            return Err(Refusal::new(
                hipErrorInvalidValue,
                "memory that the launch before has allocated is not freed: instantiate with \
                 hipGraphInstantiateFlagAutoFreeOnLaunch, or free it",
            ));
        }
        let mut submission =
            Submission { runtime, target, waits: Vec::new(), behind: plan.last, row: Vec::new(), last: None };
        for memory in stale {
            memory.release();
            submission.submit(Work::Always(Box::new(move || memory.unmap(runtime))))?;
        }
        each(&plan.steps, &mut |operation| {
            match operation {
                Operation::Alloc(memory) => drop(memory.hold()),
                Operation::Free(base) => drop(runtime.graph_memory.at(*base).map(|memory| memory.release())),
                _ => {}
            }
            Ok(())
        })?;
        submission.steps(&plan.steps)?;
        submission.end_row()?;
        let last = submission.last;
        plan.last = last.or(plan.last);
        Ok(())
    }
}
