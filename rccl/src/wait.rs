//! A wait for other ranks, as the thread that waits and the one that watches it see it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Error;

/// When it began, and what became of it.
pub(crate) struct Wait {
    pub(crate) begin: Instant,
    outcome: Mutex<Outcome>,
}

/// The outcome of a wait. If both are locked, the state of its communicator is locked first.
pub(crate) enum Outcome {
    Waiting,
    /// The communicator is being aborted, and the error is not known yet.
    Aborting,
    /// The communicator was aborted because of this error.
    Aborted(Error),
    /// The thread no longer waits.
    Over,
}

impl Wait {
    pub(crate) fn new(begin: Instant) -> Self {
        Self { begin, outcome: Mutex::new(Outcome::Waiting) }
    }

    pub(crate) fn outcome(&self) -> MutexGuard<'_, Outcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits between polls, for increasing times.
#[derive(Default)]
pub(crate) struct Pause(u32);

impl Pause {
    pub(crate) fn wait(&mut self) {
        self.0 = self.0.saturating_add(1);
        match self.0 {
            ..50 => std::thread::yield_now(),
            looks => std::thread::sleep(Duration::from_micros((u64::from(looks - 49) * 10).min(1000))),
        }
    }
}
