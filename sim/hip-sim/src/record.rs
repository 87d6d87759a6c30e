//! Recordings of events.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::queue::{Point, Scope};

/// One recording of an event.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) point: Point,
    pub(crate) time: Arc<OnceLock<Instant>>,
}

impl Record {
    /// The scope of the recording.
    pub(crate) fn scope(&self) -> Scope {
        Scope::Named(self.point)
    }
}
