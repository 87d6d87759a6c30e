//! The known state of a stream's work, and waits of the host for it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hip_sys::{hipError_t, hipStream_t};

use super::inner::{Queue, StreamInner};
use super::report::Report;
use crate::core::call::failed;
use crate::core::context;
use crate::core::error::{Error, Result, Status};
use crate::core::later;
use crate::core::lock::RwLockReadGuard;
use crate::core::lost;
use crate::core::queue::{self, Blocker, Verdict};
use crate::core::trace;

impl StreamInner {
    /// Blocks until all work queued so far is over, for a wait for the whole device: errors of host functions are left
    /// for a wait for the stream.
    pub(super) fn wait_for_device(&self) -> Result<()> {
        let issued = self.issued();
        let issued = self.synchronize_unless_over(issued)?;
        drop(self.asking.lock());
        self.over.fetch_max(issued, Ordering::AcqRel);
        let failed = self.report.take_of_device().or_else(|| self.lock().watched.take_of_device());
        if !self.has_pending() {
            self.completed.fetch_max(issued, Ordering::AcqRel);
        }
        failed.map_or(Ok(()), Err)
    }

    /// Like [`credit`](Self::credit), for all work of a locked queue.
    pub(super) fn credit_queue(&self, queue: &Queue) -> Result<()> {
        self.over.fetch_max(queue.issued, Ordering::AcqRel);
        let kept = self.report.take().or_else(|| queue.watched.take());
        self.completed.fetch_max(queue.issued, Ordering::AcqRel);
        kept.map_or(Ok(()), Err)
    }

    /// Records that all work up to `ticket` is over. Returns a stored error of it.
    pub(crate) fn credit(&self, ticket: u64) -> Result<()> {
        // A thread that has taken an error out of the runtime stores it in the report before it releases this lock.
        drop(self.asking.lock());
        self.over.fetch_max(ticket, Ordering::AcqRel);
        let kept = self.reported(ticket);
        self.completed.fetch_max(ticket, Ordering::AcqRel);
        if !self.is_ours() {
            // The stream's owner may destroy it from now on. A thread that has not seen yet that the work is over still holds this lock.
            drop(self.direct.write());
            drop(self.lock());
        }
        kept.map_or(Ok(()), Err)
    }

    /// Returns the ticket up to which work may wait for an action of the host.
    pub(super) fn held_until(&self) -> u64 {
        self.held.load(Ordering::Acquire)
    }

    /// Returns the work up to `ticket`, if it is not known to be over.
    pub(super) fn blocker(self: &Arc<Self>, ticket: u64) -> Option<Blocker> {
        let open = queue::Queue::verdict(&**self, ticket) == Verdict::Open;
        open.then(|| (Arc::clone(self) as Arc<dyn queue::Queue>, ticket))
    }

    /// Blocks until the work with `ticket` is done.
    pub(crate) fn wait_for(&self, ticket: u64) -> Result<()> {
        if self.completed() >= ticket {
            return Ok(());
        }
        let result = self.synchronize_unless_over(ticket).and_then(|issued| self.credit(issued));
        later::catch_up();
        result
    }

    /// Held during a call of the runtime that uses the stream while its queue is not locked. No capture of it begins
    /// meanwhile.
    pub(crate) fn direct(&self, what: &str) -> Result<RwLockReadGuard<'_, ()>> {
        let direct = self.named()?;
        self.refuse_captured(what)?;
        Ok(direct)
    }

    /// Like [`direct`](Self::direct), for a caller without a handle of the stream that asks about the work up to
    /// `ticket`. Returns `None` if that is over: a stream of other code may not exist any more then.
    pub(super) fn direct_unless_over(&self, what: &str, ticket: u64) -> Result<Option<RwLockReadGuard<'_, ()>>> {
        let direct = self.direct(what)?;
        Ok((self.is_ours() || !self.is_over(ticket)).then_some(direct))
    }

    /// Held during a call of the runtime that uses the stream, captured or not. The C stream does not change meanwhile.
    pub(crate) fn named(&self) -> Result<RwLockReadGuard<'_, ()>> {
        context::check_caller()?;
        Ok(self.direct.read())
    }

    /// Returns whether all work queued so far is over, with or without an error. Returns an error of it, or a stored
    /// one.
    pub(crate) fn is_idle(&self) -> Result<bool> {
        let direct = self.direct("asking whether its work is done")?;
        self.device.activate()?;
        let (over, issued) = (self.known_over(), self.lock().issued);
        // SAFETY: the stream is alive as long as `self`.
        let status = unsafe { hip_sys::hipStreamQuery(self.raw()) };
        drop(direct);
        match Status(status.0) {
            Status::SUCCESS => self.credit(issued).map(|()| true),
            Status::NOT_READY => Ok(false),
            _ => Err(self.told(status, "hipStreamQuery", over)),
        }
    }

    /// Returns whether all work that has a ticket is over, and no other code can have queued any.
    pub(super) fn has_nothing_left(&self) -> bool {
        !self.handed_out.load(Ordering::Relaxed) && self.completed() >= self.issued()
    }

    /// Makes a call that copies from or to host memory, and waits for the copy, because the memory is only borrowed.
    pub(crate) fn copy_now(&self, call: impl FnOnce(hipStream_t) -> Result<()>) -> Result<()> {
        let direct = self.direct("a copy from or to memory that is not pinned")?;
        self.device.activate()?;
        let copied = call(self.raw());
        drop(direct);
        // Usually nothing is left, and a query costs a fraction of a wait. A failed call may have begun a copy, which is waited for too.
        let finished = self.is_idle().and_then(|idle| if idle { Ok(()) } else { self.wait_all() });
        copied.and(finished)
    }

    /// Blocks until all work queued so far is over. Returns an error of it, or a stored one.
    pub(crate) fn wait_all(&self) -> Result<()> {
        let result = self.synchronize().and_then(|issued| self.credit(issued));
        later::catch_up();
        result
    }

    /// Takes an error that host functions, destructors or kernels have reported, of the work up to `ticket`, which is
    /// over, and possibly of later work.
    fn reported(&self, ticket: u64) -> Option<Error> {
        let mut retired = Vec::new();
        let mut queue = self.lock();
        let error = self.report.take().or_else(|| queue.watched.take());
        queue.watched.retire(ticket, &mut retired);
        drop(queue);
        // Dropped without a lock: dropping the last handle of a report may write to stderr.
        drop(retired);
        error
    }

    /// Returns whether there is an error of finished work that was not reported yet.
    fn has_pending(&self) -> bool {
        self.report.is_pending() || self.lock().watched.is_pending()
    }

    pub(crate) fn report(&self) -> &Arc<Report> {
        &self.report
    }

    /// Blocks until all work queued so far is done, and returns its last ticket.
    pub(super) fn synchronize(&self) -> Result<u64> {
        let _span = trace::wait(self.device, self.id);
        let _direct = self.direct("waiting for its work")?;
        self.wait_raw()
    }

    /// Like [`synchronize`](Self::synchronize), for a caller without a handle of the stream. If the work up to `ticket`
    /// was already over, only that much is known to be done.
    pub(super) fn synchronize_unless_over(&self, ticket: u64) -> Result<u64> {
        let _span = trace::wait(self.device, self.id);
        match self.direct_unless_over("waiting for its work", ticket)? {
            Some(_direct) => self.wait_raw(),
            None => Ok(ticket),
        }
    }

    /// Like [`synchronize`](Self::synchronize), for a caller that ensures that the stream is not captured meanwhile.
    pub(super) fn wait_raw(&self) -> Result<u64> {
        self.device.activate()?;
        let (over, issued) = (self.known_over(), self.lock().issued);
        // SAFETY: the stream is alive as long as `self`.
        let status = unsafe { hip_sys::hipStreamSynchronize(self.raw()) };
        if status.0 != 0 {
            return Err(self.told(status, "hipStreamSynchronize", over));
        }
        let mut state = self.lock();
        if state.issued == issued {
            state.launches.end(issued);
        }
        Ok(issued)
    }

    /// Returns the error of the work that a wait got, or the one that a destructor got for the same work, as that one
    /// names the launches.
    pub(super) fn told(&self, status: hipError_t, function: &'static str, over: u64) -> Error {
        let _asking = self.asking.lock();
        self.report.take_failed().unwrap_or_else(|| self.failed_work(status, function, over))
    }

    /// Returns the error of the stream's work that a call got, with the launches that may have caused it. Before the call,
    /// the work up to `over` was known to be over.
    fn failed_work(&self, status: hipError_t, function: &'static str, over: u64) -> Error {
        match failed(status, function, || self.describe()) {
            Error::Hip(mut error) => {
                error.asked = self.describe_with_launches("", over);
                Error::Hip(error)
            }
            // For a lost device, all launches are already included.
            other => other,
        }
    }

    /// Stores an error of the stream's work for the next wait, unless the program already knows it.
    fn keep(&self, error: Error) {
        if !lost::is_told(&error) {
            self.report.put(error);
        }
    }
}

impl queue::Queue for StreamInner {
    fn id(&self) -> u64 {
        self.id
    }

    fn verdict(&self, ticket: u64) -> Verdict {
        if self.is_over(ticket) {
            Verdict::Over
        } else if self.unknown.load(Ordering::Acquire) >= ticket {
            Verdict::Unknown
        } else {
            Verdict::Open
        }
    }

    fn ask(&self) {
        if context::is_forked() {
            return; // the work belongs to the parent
        }
        lost::quietly(|| self.ask_runtime());
    }
}

impl StreamInner {
    /// Asks the runtime whether all work is over; see [`queue::Queue::ask`].
    fn ask_runtime(&self) {
        let _asking = self.asking.lock();
        // A first failure may be the work's own; a second one means that the stream is broken for good.
        for _ in 0..2 {
            let Ok(_direct) = self.direct("asking whether its work is done") else { return };
            let (over, issued) = (self.known_over(), self.lock().issued);
            if queue::Queue::verdict(self, issued) == Verdict::Over {
                return; // a thread that has waited for it may have destroyed the stream, if it is not ours
            }
            if let Err(error) = self.device.activate() {
                self.keep(error);
                break;
            }
            // SAFETY: the stream is alive as long as `self`.
            let status = unsafe { hip_sys::hipStreamQuery(self.raw()) };
            match Status(status.0) {
                Status::NOT_READY => return,
                Status::SUCCESS => {
                    self.over.fetch_max(issued, Ordering::AcqRel);
                    if !self.has_pending() {
                        self.completed.fetch_max(issued, Ordering::AcqRel);
                    }
                    return;
                }
                _ => self.keep(self.failed_work(status, "hipStreamQuery", over)),
            }
        }
        let issued = self.lock().issued;
        self.unknown.fetch_max(issued, Ordering::AcqRel);
    }
}
