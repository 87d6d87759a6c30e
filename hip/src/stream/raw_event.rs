//! C events, recorded on a stream and waited for by it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hip_sys::hipEvent_t;

use super::capture::Capture;
use super::idle::queueing_what_may_be_held;
use super::inner::{Queue, StreamInner};
use crate::core::call::check;
use crate::core::error::{Result, Status};

/// `hipErrorStreamCaptureIsolation`: HIP's status for an event, even one recorded before the capture, whose stream is
/// being captured.
pub(super) const ISOLATED: Status = Status(905);

impl StreamInner {
    pub(crate) fn note_waited(&self, stream: u64, ticket: u64) {
        let mut queue = self.lock();
        match queue.waited.iter_mut().find(|(id, _)| *id == stream) {
            Some((_, known)) => *known = (*known).max(ticket),
            None => {
                if queue.waited.len() == 64 {
                    // Forgetting an entry only costs an unnecessary wait.
                    queue.waited.remove(0);
                }
                queue.waited.push((stream, ticket));
            }
        }
    }

    /// Records an event after all queued work. Returns the ticket of the last of it, and the capture that the event is
    /// recorded in.
    pub(crate) fn record_raw_event(&self, event: hipEvent_t) -> Result<(u64, Option<Arc<Capture>>)> {
        self.device.activate()?;
        self.record_locked(event, &self.lock())
    }

    /// Like [`record_raw_event`](Self::record_raw_event), for a caller that has no handle of the stream and waits for
    /// the work up to `ticket`. Returns `None` if that is over: a stream of other code may not exist any more then.
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

    /// Like [`wait_raw_event`](Self::wait_raw_event), for an event that may take arbitrarily long. The wait counts as
    /// work, because it may block the stream.
    pub(super) fn wait_held_event(&self, event: hipEvent_t) -> Result<()> {
        let _held = queueing_what_may_be_held()?;
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
        // SAFETY: the caller's event and this stream are alive; 0 is the only flag that HIP defines.
        let status = unsafe { hip_sys::hipStreamWaitEvent(self.raw(), event, 0) };
        check(status, "hipStreamWaitEvent", || self.describe())
    }
}
