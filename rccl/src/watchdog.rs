//! Keeps the deadlines of waits whose threads are stuck in HIP.
//!
//! While a thread waits in HIP for a whole device, HIP answers nobody who asks for a stream with unfinished work. RCCL waits
//! for the device where a communicator is made or destroyed. A collective whose peer never calls ends only when its
//! communicator is aborted. So a thread that never asks HIP must do that.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::handle::{Handle, Pause};

/// How long the thread that waits has, after a deadline, to see it by itself. It comes first because it alone knows whether
/// the work is done.
const GRACE: Duration = Duration::from_secs(1);

/// Between two looks for errors of the library.
const PERIOD: Duration = Duration::from_millis(20);

/// How long the thread stays when there is nothing to watch, so that a program that waits often starts it once. Shorter than
/// [`GRACE`]: a new wait need not wake it.
const LINGER: Duration = Duration::from_millis(100);

struct Waits {
    watched: Vec<Arc<Watched>>,
    /// The process that has a thread for them: the child of a fork has none.
    process: Option<u32>,
}

static WAITS: Mutex<Waits> = Mutex::new(Waits { watched: Vec::new(), process: None });

fn waits() -> MutexGuard<'static, Waits> {
    WAITS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A wait that is watched.
pub(crate) struct Watched {
    pub(crate) handle: Arc<Handle>,
    pub(crate) begin: Instant,
    /// `None` if it is later than the clock can say.
    deadline: Option<Instant>,
    outcome: Mutex<Outcome>,
}

/// What became of a wait. Locked after the state of its communicator, if both are.
pub(crate) enum Outcome {
    Waiting,
    /// The communicator is being aborted, and the error is not known yet.
    Aborting,
    /// The communicator was aborted because of this.
    Aborted(Error),
    /// The thread waits no more.
    Over,
}

impl Watched {
    pub(crate) fn outcome(&self) -> MutexGuard<'_, Outcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long ago it should have ended.
    fn late_by(&self, now: Instant) -> Option<Duration> {
        self.deadline.and_then(|deadline| now.checked_duration_since(deadline))
    }
}

/// A wait of this thread, watched until it is dropped.
pub(crate) struct Watch(Arc<Watched>);

impl Watch {
    /// Has a wait watched that began then.
    pub(crate) fn new(handle: &Arc<Handle>, begin: Instant, timeout: Duration) -> Self {
        let deadline = begin.checked_add(timeout).and_then(|deadline| deadline.checked_add(GRACE));
        let outcome = Mutex::new(Outcome::Waiting);
        let watched = Arc::new(Watched { handle: Arc::clone(handle), begin, deadline, outcome });
        let process = std::process::id();
        let mut waits = waits();
        if waits.process != Some(process) {
            if waits.process.is_some() {
                waits.watched.clear();
            }
            // Without a thread, the one that waits sees the deadline, as long as HIP answers it.
            let started = std::thread::Builder::new().name("rccl watchdog".to_owned()).spawn(watch);
            waits.process = started.is_ok().then_some(process);
        }
        waits.watched.push(Arc::clone(&watched));
        Self(watched)
    }

    /// Ends it. The error if the communicator was aborted because of it.
    pub(crate) fn end(self) -> Option<Error> {
        let mut pause = Pause::default();
        loop {
            let mut outcome = self.0.outcome();
            match std::mem::replace(&mut *outcome, Outcome::Over) {
                Outcome::Aborted(error) => return Some(error),
                Outcome::Waiting | Outcome::Over => return None,
                Outcome::Aborting => *outcome = Outcome::Aborting,
            }
            drop(outcome);
            pause.wait();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        *self.0.outcome() = Outcome::Over;
        waits().watched.retain(|watched| !Arc::ptr_eq(watched, &self.0));
    }
}

fn watch() {
    let mut was_idle = false;
    loop {
        let mut waits = waits();
        let watched = waits.watched.clone();
        if watched.is_empty() && was_idle {
            waits.process = None;
            return;
        }
        drop(waits);
        was_idle = watched.is_empty();
        let now = Instant::now();
        watched.iter().for_each(|watched| watched.handle.look_at(watched, watched.late_by(now)));
        drop(watched);
        std::thread::sleep(if was_idle { LINGER } else { PERIOD });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handle::Kept;

    #[test]
    fn a_wait_that_is_stuck_is_a_timeout_and_no_thread_stays() {
        let handle = || Handle::new(1, 2, Duration::from_secs(100), false, Kept::default());
        // Stuck until the communicator is aborted, as in HIP.
        let stuck = handle();
        let result = stuck.watched(Duration::from_millis(10), || {
            while !stuck.is_aborted() {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        });
        match result {
            Err(Error::Timeout { waited, context }) => {
                assert!(waited >= Duration::from_millis(10));
                assert_eq!((context.rank, context.size), (1, 2));
            }
            other => panic!("{other:?}"),
        }
        // Over before anybody looks: its result counts, also where the deadline has passed.
        let over = handle();
        assert_eq!(over.watched(Duration::ZERO, || Ok(7)).unwrap(), 7);
        assert!(!over.is_aborted());
        drop(over.watch_call());
        // The thread ends by itself.
        while waits().process.is_some() {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(waits().watched.is_empty());
    }
}
