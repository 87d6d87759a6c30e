//! Queueing of work on a stream, after conflicting work of other streams.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hip_sys::hipStream_t;

use super::idle::queueing_what_may_be_held;
use super::inner::{Queue, StreamInner};
use super::launches::Launching;
use super::pooled_event::PooledEvent;
use super::raw_event::ISOLATED;
use super::usage::{self, Access, Accesses, Pending};
use crate::core::context;
use crate::core::error::{Error, Result};
use crate::core::trace;

impl StreamInner {
    /// Queues one piece of work that touches `accesses`, after all work that it conflicts with.
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

    /// Like [`submit`](Self::submit), and returns the ticket; 0 for captured work.
    #[inline]
    pub(crate) fn submit_numbered(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        launch: Option<Launching<'_>>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<u64> {
        self.submit_checked(accesses, launch, || Ok(()), queue)
    }

    /// Like [`submit`](Self::submit), for a call of another library, which may queue nothing.
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

    /// Like [`submit_foreign`](Self::submit_foreign), for one call, which returns whether it succeeded. A failed one may
    /// have queued a part of its work.
    #[inline]
    pub(crate) fn submit_call(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        call: impl FnOnce(hipStream_t) -> bool,
    ) -> Result<()> {
        if self.is_captured() {
            return self.capture_call(accesses, call);
        }
        self.submit(accesses, None, |raw| {
            call(raw);
            Ok(())
        })
    }

    /// Like [`submit_numbered`](Self::submit_numbered), for work that may wait for an action of the host. Does not
    /// report to `tracing`.
    pub(crate) fn submit_held(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        launch: Option<Launching<'_>>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<u64> {
        let _held = queueing_what_may_be_held()?;
        let submitted = self.submit_untold(accesses, launch, || Ok(()), queue);
        // A failed call may have queued work too.
        self.note_held();
        submitted
    }

    /// Records that all work so far may wait for an action of the host.
    pub(crate) fn note_held(&self) {
        self.held.fetch_max(self.issued(), Ordering::AcqRel);
    }

    /// Like [`submit_numbered`](Self::submit_numbered), but calls `check` first, unless the stream's last launch was
    /// the same.
    #[inline]
    pub(crate) fn submit_checked<'a>(
        self: &Arc<Self>,
        accesses: impl Accesses<'a>,
        launch: Option<Launching<'_>>,
        check: impl FnOnce() -> Result<()>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<u64> {
        let ticket = self.submit_untold(accesses, launch, check, queue)?;
        // The subscriber is called without a lock, since it may run any code.
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
        // No other stream uses this memory: the common case. A mark with a ticket that is not issued yet is harmless.
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

    /// Records a launch that is already queued, for errors that are returned late, and traces it.
    pub(crate) fn launched(&self, launch: Launching<'_>) {
        let Launching { kernel, config } = launch;
        self.lock().launches.remember(launch);
        trace::launch(self.device, self.id, kernel, config.copied());
    }

    /// Like [`submit_numbered`](Self::submit_numbered), for a captured stream, or for memory that other streams or
    /// graphs may use.
    pub(super) fn submit_in_order(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        launch: Option<Launching<'_>>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<u64> {
        if self.is_captured() {
            return self.submit_captured(accesses, launch, queue).map(|()| 0);
        }
        // A graph may rely on content that this would overwrite. The graph keeps the memory, so this path is taken.
        accesses.iter().try_for_each(Access::expect_allowed)?;
        // Memory that a graph keeps can be used without a borrow: collecting the waits and marking must be one atomic step.
        let _order = if accesses.iter().any(|access| access.usage.needs_order()) { Some(usage::order()) } else { None };
        self.submit_after_others(accesses, launch, queue)
    }

    /// Like [`submit_numbered`](Self::submit_numbered), if other streams use the same memory.
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
            // The capture began after the check above.
            drop(state);
            return self.submit_captured(accesses, launch, queue).map(|()| 0);
        }
        state.issued += 1;
        let ticket = state.issued;
        let mut retired = Vec::new();
        // Marked before the result is known: a failed call may have queued something.
        for access in accesses {
            access.usage.mark(self, access.kind, ticket, &mut retired);
        }
        let queued = queue(self.raw());
        if let (Ok(()), Some(launch)) = (&queued, launch) {
            state.launches.remember(launch);
        }
        queued.map(|()| ticket).map_err(|error| self.lost_with_queue(error, &state, launch))
    }

    /// Returns the error of a call that was made with the queue locked: the loss of the device also names the queue's
    /// launches, and the one that the call was to make, as the kernel may have run and failed before the call returned.
    #[cold]
    fn lost_with_queue(&self, error: Error, queue: &Queue, launch: Option<Launching<'_>>) -> Error {
        self.device.lost_with(error, self.id, || {
            let mut names = self.launches_of(queue);
            names.extend(launch.map(|launch| format!("{launch} on {}", self.describe())));
            names
        })
    }

    /// Makes this stream wait, on the device, for work of another one.
    pub(super) fn wait_for_stream(&self, work: &Pending) -> Result<()> {
        let known = self.lock().waited.iter().any(|&(id, ticket)| id == work.stream.id && ticket >= work.ticket);
        if known {
            return Ok(());
        }
        let event = PooledEvent::take(work.stream.device)?;
        // If a thread begins to capture the other stream meanwhile, it has waited for that stream's work.
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
        // The event can go back to the pool: the runtime keeps its state for the wait.
        self.note_waited(work.stream.id, ticket);
        Ok(())
    }
}
