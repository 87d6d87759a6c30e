//! Execution contexts: parts of a device with streams of their own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hip_sys::rocm_7_2::{hipError_t, hipErrorContextIsDestroyed, hipErrorInvalidHandle};

use crate::capture::Captures;
use crate::device::Device;
use crate::event::Event;
use crate::properties::compute_units;
use crate::queue::{Order, Point, Priority, QueueKey, Scheduler, Work};
use crate::record::Record;
use crate::status::{Outcome, Refusal, ensure};
use crate::units::{UnitSet, Units, WorkQueues};

/// `hipErrorStreamDetached`, added in HIP 10.0.
pub(crate) const STREAM_DETACHED: hipError_t = hipError_t(916);

/// The context behind a `hipExecutionCtx_t`.
pub(crate) struct Context {
    pub(crate) id: u64,
    pub(crate) device: usize,
    /// Whether it is the device's primary context.
    pub(crate) is_primary: bool,
    pub(crate) units: Units,
    pub(crate) work_queues: Option<WorkQueues>,
    /// The queue for markers that cover all streams of the context.
    markers: QueueKey,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_destroyed: bool,
    /// The queues of its streams.
    streams: Vec<QueueKey>,
    /// The points that streams created later must wait for.
    awaited: Vec<Point>,
}

/// The descriptor behind a `hipDevResourceDesc_t`: the resources for a new context.
pub(crate) struct Descriptor {
    pub(crate) units: Units,
    pub(crate) work_queues: Option<WorkQueues>,
}

impl Context {
    pub(crate) fn new(scheduler: &Scheduler, device: usize, is_primary: bool, resources: &Descriptor) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            device,
            is_primary,
            units: resources.units.clone(),
            work_queues: resources.work_queues,
            markers: scheduler.open(device, Order::Free, Priority::Normal),
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The lists are consistent after every statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_destroyed(&self) -> bool {
        self.lock().is_destroyed
    }

    /// Opens a queue for a new stream, unless the context's device is lost. Its work waits for every point that the
    /// context was told to wait for.
    pub(crate) fn open_queue(
        &self,
        scheduler: &Arc<Scheduler>,
        device: &Device,
        priority: Priority,
    ) -> Result<QueueKey, Refusal> {
        let mut state = self.lock();
        ensure(!state.is_destroyed, hipErrorContextIsDestroyed)?;
        device.alive()?;
        let queue = scheduler.open(self.device, Order::Free, priority);
        state.awaited.retain(|point| !scheduler.reached(*point));
        if !state.awaited.is_empty() {
            scheduler.submit(queue, nothing(), &state.awaited);
        }
        state.streams.push(queue);
        Ok(queue)
    }

    /// Removes the queue of a destroyed stream.
    pub(crate) fn close_queue(&self, queue: QueueKey) {
        self.lock().streams.retain(|other| *other != queue);
    }

    /// Ends the context: its streams can only be destroyed from now on. What is queued on them still runs.
    pub(crate) fn destroy(&self, scheduler: &Arc<Scheduler>) {
        let mut state = self.lock();
        state.is_destroyed = true;
        state.streams.clear();
        drop(state);
        scheduler.close(self.markers);
    }

    /// The last point of each of its streams.
    pub(crate) fn points(&self, scheduler: &Scheduler) -> Vec<Point> {
        self.lock().streams.iter().filter_map(|queue| scheduler.last(*queue)).collect()
    }

    /// Refuses the call while one of the context's streams is captured.
    pub(crate) fn refuse_captured(&self, captures: &Captures) -> Outcome {
        self.lock().streams.iter().try_for_each(|queue| captures.refuse_use(*queue))
    }

    /// Records `event` after all work on the context's streams.
    pub(crate) fn record(&self, scheduler: &Arc<Scheduler>, captures: &Captures, event: &Event) -> Outcome {
        ensure(event.device == self.device, hipErrorInvalidHandle)?;
        self.refuse_captured(captures)?;
        *event.mark.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut record = event.record.lock().unwrap_or_else(PoisonError::into_inner);
        let (time, stamp) = event.stamp();
        let point = scheduler.submit(self.markers, stamp, &self.points(scheduler));
        *record = Some(Record { point: point.ok_or(hipErrorContextIsDestroyed)?, time });
        Ok(())
    }

    /// Makes later work on the context's streams wait for `point`, including streams that do not exist yet.
    pub(crate) fn wait(&self, scheduler: &Arc<Scheduler>, captures: &Captures, point: Point) -> Outcome {
        self.refuse_captured(captures)?;
        let mut state = self.lock();
        ensure(!state.is_destroyed, hipErrorContextIsDestroyed)?;
        for queue in &state.streams {
            scheduler.submit(*queue, nothing(), &[point]);
        }
        state.awaited.retain(|point| !scheduler.reached(*point));
        state.awaited.push(point);
        Ok(())
    }
}

/// An empty command that marks a position in a queue.
fn nothing() -> Work {
    Work::Always(Box::new(|| {}))
}

/// All units of a device.
pub(crate) fn units_of_device(device: &Device) -> Units {
    Units::of_device(device.ordinal, compute_units(device).min(UnitSet::MOST))
}
