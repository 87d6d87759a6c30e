//! Events.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use crate::capture::Mark;
use crate::queue::Work;
use crate::record::Record;
use crate::shared_event::SharedEvent;

/// The event behind a `hipEvent_t`.
pub(crate) struct Event {
    pub(crate) device: usize,
    pub(crate) flags: u32,
    pub(crate) record: Mutex<Option<Record>>,
    /// The shared state of an interprocess event.
    pub(crate) shared: Option<SharedEvent>,
    /// The position in a capture, if the event was last recorded on a captured stream.
    pub(crate) mark: Mutex<Option<Mark>>,
}

impl Event {
    /// The event's last recording, of this process or another one.
    pub(crate) fn latest(&self) -> Option<Record> {
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(followed) = self.shared.as_ref().and_then(SharedEvent::follow) {
            *record = Some(followed);
        }
        record.clone()
    }

    /// The command of a recording: stores the time and marks the recording as completed for other processes.
    pub(crate) fn stamp(&self) -> (Arc<OnceLock<Instant>>, Work) {
        let time = Arc::new(OnceLock::new());
        let clock = Arc::clone(&time);
        let complete = self.shared.as_ref().map(SharedEvent::begin);
        let work = Work::Always(Box::new(move || {
            clock.get_or_init(Instant::now);
            if let Some(complete) = complete {
                complete();
            }
        }));
        (time, work)
    }
}
