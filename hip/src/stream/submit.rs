//! Work is put on a stream, after what must come before it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hip_sys::{hipEvent_t, hipStream_t};

use super::capture::Capture;
use super::event::PooledEvent;
use super::inner::Queue;
use super::launches::Launching;
use super::usage::{self, Access, Accesses, Pending};
use super::{StreamInner, of_device};
use crate::core::call::check;
use crate::core::context;
use crate::core::error::{Error, Result, Status};
use crate::core::trace;

/// `hipErrorStreamCaptureIsolation`: what HIP says of an event, though it lies in front, whose stream is being captured.
pub(super) const ISOLATED: Status = Status(905);

impl StreamInner {
    /// Queues one piece of work that touches `accesses`, after whatever must come before it.
    ///
    /// `queue` gets the C stream and makes the C call. The device is current when it runs.
    #[inline]
    pub(crate) fn submit(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        launch: Option<Launching<'_>>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<()> {
        self.submit_numbered(accesses, launch, queue).map(drop)
    }

    /// As [`submit`](Self::submit), and returns the ticket; 0 for work that went into a graph.
    #[inline]
    pub(crate) fn submit_numbered(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        launch: Option<Launching<'_>>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<u64> {
        self.submit_checked(accesses, launch, || Ok(()), queue)
    }

    /// As [`submit`](Self::submit), for a call of another library, which may queue nothing.
    #[inline]
    pub(crate) fn submit_foreign(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<()> {
        if self.is_captured() {
            return self.capture_with(accesses, |_| queue(self.raw()));
        }
        self.submit(accesses, None, queue)
    }

    /// As [`submit_numbered`](Self::submit_numbered), for work that may wait for something that the host does. No subscriber is told.
    pub(crate) fn submit_held(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        launch: Option<Launching<'_>>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<u64> {
        let _held = of_device::queueing_what_may_be_held()?;
        let submitted = self.submit_untold(accesses, launch, || Ok(()), queue);
        // What a call that failed has queued counts too.
        self.note_held();
        submitted
    }

    /// Notes that all work so far may wait for something that the host does.
    pub(crate) fn note_held(&self) {
        self.held.fetch_max(self.issued(), Ordering::AcqRel);
    }

    /// As [`submit_numbered`](Self::submit_numbered), with `check` asked first, unless the stream's last launch was the same.
    #[inline]
    pub(crate) fn submit_checked<'a>(
        self: &Arc<Self>,
        accesses: impl Accesses<'a>,
        launch: Option<Launching<'_>>,
        check: impl FnOnce() -> Result<()>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<u64> {
        let ticket = self.submit_untold(accesses, launch, check, queue)?;
        // No lock is held: a subscriber may do what it likes.
        if let Some(Launching { kernel, config }) = launch {
            trace::launch(self.device, self.id, kernel, config.copied());
        }
        Ok(ticket)
    }

    #[inline]
    pub(super) fn submit_untold<'a>(
        self: &Arc<Self>,
        accesses: impl Accesses<'a>,
        launch: Option<Launching<'_>>,
        check: impl FnOnce() -> Result<()>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<u64> {
        self.device.activate()?;
        let mut state = self.lock();
        let known = launch.is_some_and(|launch| state.launches.is_last(&launch));
        if !known {
            check()?;
        }
        // No other stream uses any of it: the common case. A mark with a ticket that is not given out yet does no harm.
        let ticket = state.issued + 1;
        let alone = move |access: Access<'_>| access.usage.mark_alone(self, access.kind, ticket);
        if self.is_captured() || !accesses.all(alone) {
            drop(state);
            return self.submit_in_order(&accesses.list(), launch, queue);
        }
        state.issued = ticket;
        queue(self.raw()).map_err(|error| self.lost_with_queue(error, &state, launch))?;
        if let Some(launch) = launch.filter(|_| !known) {
            state.launches.remember(launch);
        }
        Ok(ticket)
    }

    /// Notes a launch that is queued already, for errors that come back late, and traces it.
    pub(crate) fn launched(&self, launch: Launching<'_>) {
        let Launching { kernel, config } = launch;
        self.lock().launches.remember(launch);
        trace::launch(self.device, self.id, kernel, config.copied());
    }

    /// As [`submit_numbered`](Self::submit_numbered), where the stream is captured, or others may use the same memory.
    pub(super) fn submit_in_order(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        launch: Option<Launching<'_>>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<u64> {
        if self.is_captured() {
            return self.submit_captured(accesses, launch, queue).map(|()| 0);
        }
        // A graph may rely on what this would overwrite. It keeps the memory, which so is not used alone.
        accesses.iter().try_for_each(Access::expect_allowed)?;
        // What a graph keeps may be used by others without a borrow: finding out what to wait for and marking are one.
        let _order = if accesses.iter().any(|access| access.usage.needs_order()) { Some(usage::order()) } else { None };
        self.submit_after_others(accesses, launch, queue)
    }

    /// As [`submit_numbered`](Self::submit_numbered), where other streams use the same memory.
    pub(super) fn submit_after_others(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        launch: Option<Launching<'_>>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<u64> {
        let mut pending: Vec<Pending> = Vec::new();
        for access in accesses {
            access.usage.claim();
            access.usage.pending(access.kind, &mut pending);
        }
        for work in &pending {
            if !Arc::ptr_eq(&work.stream, self) && !context::is_unordered() {
                self.wait_for_stream(work)?;
            }
        }
        self.device.activate()?;
        let mut state = self.lock();
        if self.is_captured() {
            // Since we looked.
            drop(state);
            return self.submit_captured(accesses, launch, queue).map(|()| 0);
        }
        state.issued += 1;
        let ticket = state.issued;
        let mut retired = Vec::new();
        // Marked before the outcome is known: a call that fails may have queued something.
        for access in accesses {
            access.usage.mark(self, access.kind, ticket, &mut retired);
        }
        let queued = queue(self.raw());
        if let (Ok(()), Some(launch)) = (&queued, launch) {
            state.launches.remember(launch);
        }
        queued.map(|()| ticket).map_err(|error| self.lost_with_queue(error, &state, launch))
    }

    /// The error of a call that was made with the queue locked: the loss of the device names the launches in it, too, and the one that the
    /// call was to make. The kernel may have run, and failed, before the call returned.
    #[cold]
    fn lost_with_queue(&self, error: Error, queue: &Queue, launch: Option<Launching<'_>>) -> Error {
        self.device.lost_with(error, self.id, || {
            let mut names = self.launches_of(queue);
            names.extend(launch.map(|launch| format!("{launch} on {}", self.describe())));
            names
        })
    }

    /// Makes this stream wait, on the device, for what another one has queued.
    pub(super) fn wait_for_stream(&self, work: &Pending) -> Result<()> {
        let known = self.lock().waited.iter().any(|&(id, ticket)| id == work.stream.id && ticket >= work.ticket);
        if known {
            return Ok(());
        }
        let event = PooledEvent::take(work.stream.device)?;
        // Who begins to capture the other stream meanwhile has waited for its work.
        let is_over = || work.stream.completed() >= work.ticket;
        let ticket = match work.stream.record_unless_over(event.raw(), work.ticket) {
            Ok(Some(ticket)) => ticket,
            Ok(None) => return Ok(()),
            Err(Error::Capture { .. }) if is_over() => return Ok(()),
            Err(error) => return Err(error),
        };
        self.watch_stream(&work.stream);
        match self.wait_raw_event(event.raw()) {
            Err(error) if error.status() == Some(ISOLATED) && is_over() => return Ok(()),
            other => other?,
        }
        // The event goes back to the pool: the runtime keeps what the wait needs of it.
        self.note_waited(work.stream.id, ticket);
        Ok(())
    }

    pub(crate) fn note_waited(&self, stream: u64, ticket: u64) {
        let mut queue = self.lock();
        match queue.waited.iter_mut().find(|(id, _)| *id == stream) {
            Some((_, known)) => *known = (*known).max(ticket),
            None => {
                if queue.waited.len() == 64 {
                    // Forgetting only costs a wait that was not needed.
                    queue.waited.remove(0);
                }
                queue.waited.push((stream, ticket));
            }
        }
    }

    /// Records an event behind all that is queued. Returns the ticket of the last of it, and the capture that the event is recorded in.
    pub(crate) fn record_raw_event(&self, event: hipEvent_t) -> Result<(u64, Option<Arc<Capture>>)> {
        self.device.activate()?;
        self.record_locked(event, &self.lock())
    }

    /// As [`record_raw_event`](Self::record_raw_event), for who has no handle of the stream and waits for the work up to `ticket`. `None` if
    /// that is over: a stream of other code may be gone then.
    pub(super) fn record_unless_over(&self, event: hipEvent_t, ticket: u64) -> Result<Option<u64>> {
        self.device.activate()?;
        let queue = self.lock();
        if !self.is_ours() && self.is_over(ticket) {
            return Ok(None);
        }
        self.record_locked(event, &queue).map(|(ticket, _)| Some(ticket))
    }

    pub(super) fn record_locked(&self, event: hipEvent_t, queue: &Queue) -> Result<(u64, Option<Arc<Capture>>)> {
        let capture = self.own_capture()?;
        // SAFETY: the caller's event and this stream are alive and on one device.
        let status = unsafe { hip_sys::hipEventRecord(event, self.raw()) };
        check(status, "hipEventRecord", || self.describe())?;
        Ok((queue.issued, capture))
    }

    /// As [`wait_raw_event`](Self::wait_raw_event), of an event that comes nobody knows when. It counts as work, for it may hold the stream up.
    pub(super) fn wait_held_event(&self, event: hipEvent_t) -> Result<()> {
        let _held = of_device::queueing_what_may_be_held()?;
        let waited = self.wait_raw_event(event);
        let mut queue = self.lock();
        if !self.is_captured() {
            queue.issued += 1;
            self.held.fetch_max(queue.issued, Ordering::AcqRel);
        }
        waited
    }

    pub(super) fn wait_raw_event(&self, event: hipEvent_t) -> Result<()> {
        self.device.activate()?;
        let _state = self.lock();
        self.own_capture()?;
        // SAFETY: the caller's event and this stream are alive; 0 is the only flag that there is.
        let status = unsafe { hip_sys::hipStreamWaitEvent(self.raw(), event, 0) };
        check(status, "hipStreamWaitEvent", || self.describe())
    }
}
