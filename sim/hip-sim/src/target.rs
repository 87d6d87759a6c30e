//! Streams as they are passed to functions, the default streams among them.

use crate::queue::{Point, QueueKey, Scheduler, Scope};

/// A stream as passed to a function.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) queue: QueueKey,
    pub(crate) device: usize,
    /// Whether it is the legacy default stream. Waiting for that one includes the blocking streams.
    pub(crate) is_null: bool,
    /// Whether the legacy default stream waits for it.
    pub(crate) is_blocking: bool,
}

impl Target {
    /// The scope of a synchronisation with the stream.
    pub(crate) fn scope(&self, scheduler: &Scheduler) -> Scope {
        match scheduler.last(self.queue) {
            _ if self.is_null => Scope::NullStream(self.device),
            Some(point) => Scope::Named(point),
            None => Scope::Named(Point { queue: self.queue, ticket: 0 }),
        }
    }
}
