//! Launching executable graphs.

use std::sync::Arc;

use hip_sys::rocm_7_2::{
    hipErrorContextIsDestroyed, hipErrorIllegalAddress, hipErrorInvalidHandle, hipErrorInvalidValue,
    hipErrorOutOfMemory,
};

use super::exec::{Exec, Step};
use super::operation::Operation;
use crate::api::event;
use crate::fault::Failure;
use crate::queue::{Point, Work};
use crate::runtime::Runtime;
use crate::status::{Outcome, Refusal, ensure};
use crate::target::Target;

fn each<'a>(steps: &'a [Step], visit: &mut impl FnMut(&'a Operation) -> Outcome) -> Outcome {
    for step in steps.iter().filter(|step| step.enabled) {
        visit(&step.operation)?;
        each(&step.child, visit)?;
    }
    Ok(())
}

/// Performs a node's device operation immediately. Host functions, waits of unlimited duration and events are not
/// handled here.
fn perform(runtime: &Runtime, operation: &Operation) -> Result<(), Failure> {
    match operation {
        Operation::Kernel(kernel) => kernel.prepared.run(&runtime.devices),
        // SAFETY: HIP requires that the memory which a graph's copies use stays valid, and that the program does not access it in a launch.
        Operation::Copy(node) => unsafe { node.copy.run(runtime.memory()) }.map_err(|error| {
            Failure::new(hipErrorIllegalAddress, format!("a copy in a graph has not got its memory: {error}"))
        }),
        Operation::Fill(node) => node.fill.run(runtime.memory()),
        Operation::Alloc(memory) => memory.map().map_err(|error| {
            Failure::new(hipErrorOutOfMemory, format!("{} bytes of a graph cannot be allocated: {error}", memory.size))
        }),
        Operation::Empty
        | Operation::Host(_)
        | Operation::Child(_)
        | Operation::Record(_)
        | Operation::Wait(_)
        | Operation::Free(_)
        | Operation::Signals(_) => Ok(()),
        #[cfg(target_os = "linux")]
        Operation::SignalSemaphores(_) | Operation::WaitSemaphores(_) => Ok(()),
    }
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
                    let memory = self.runtime.graph_memory.at(*base);
                    let free = move || memory.into_iter().for_each(|memory| memory.unmap());
                    self.submit(Work::Always(Box::new(free)))?;
                }
                Operation::Signals(node) => {
                    let (node, runtime, device) = (Arc::clone(node), self.runtime, self.target.device);
                    self.wait(move || node.perform(&runtime.devices[device]))?;
                }
                #[cfg(target_os = "linux")]
                Operation::SignalSemaphores(node) => {
                    let (node, runtime, device) = (Arc::clone(node), self.runtime, self.target.device);
                    self.wait(move || node.signal(&runtime.devices[device]))?;
                }
                #[cfg(target_os = "linux")]
                Operation::WaitSemaphores(node) => {
                    let (node, runtime, device) = (Arc::clone(node), self.runtime, self.target.device);
                    self.wait(move || node.wait(&runtime.devices[device]))?;
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
            submission.submit(Work::Always(Box::new(move || memory.unmap())))?;
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
