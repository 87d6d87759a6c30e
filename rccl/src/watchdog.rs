//! Enforces the deadlines of waits whose threads are blocked in HIP.
//!
//! While a thread waits in HIP for a whole device, HIP blocks all calls for a stream with unfinished work. RCCL waits
//! for the device when it creates or destroys a communicator. A collective whose peer never calls only ends when its
//! communicator is aborted. So a thread that never calls HIP must do that.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::wait::{Outcome, Pause, Wait};

/// Grace period after a deadline in which the waiting thread may notice it first. It has priority because only it knows
/// whether the work is done.
const GRACE: Duration = Duration::from_secs(1);

/// Interval between checks for errors of the library.
const PERIOD: Duration = Duration::from_millis(20);

/// How long the thread stays when there is nothing to watch, so that a program that waits often starts it only once.
/// Shorter than [`GRACE`]: a new wait need not wake it.
const LINGER: Duration = Duration::from_millis(100);

struct Waits {
    watched: Vec<Arc<Watched>>,
    /// The process that owns the watchdog thread. A forked child has none.
    process: Option<u32>,
}

static WAITS: Mutex<Waits> = Mutex::new(Waits { watched: Vec::new(), process: None });

fn waits() -> MutexGuard<'static, Waits> {
    WAITS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A wait that is watched.
struct Watched {
    handle: Arc<Handle>,
    wait: Arc<Wait>,
    /// `None` if the clock cannot represent it.
    deadline: Option<Instant>,
}

impl Watched {
    /// Returns how long ago it should have ended.
    fn late_by(&self, now: Instant) -> Option<Duration> {
        self.deadline.and_then(|deadline| now.checked_duration_since(deadline))
    }
}

/// A wait of this thread, watched until it is dropped.
pub(crate) struct Watch(Arc<Watched>);

impl Watch {
    /// Starts to watch a wait that began at `begin`.
    pub(crate) fn new(handle: &Arc<Handle>, begin: Instant, timeout: Duration) -> Self {
        let deadline = begin.checked_add(timeout).and_then(|deadline| deadline.checked_add(GRACE));
        let watched = Arc::new(Watched { handle: Arc::clone(handle), wait: Arc::new(Wait::new(begin)), deadline });
        let process = std::process::id();
        let mut waits = waits();
        if waits.process != Some(process) {
            if waits.process.is_some() {
                waits.watched.clear();
            }
            // Without a thread, the waiting thread notices the deadline, as long as HIP does not block it.
            let started = std::thread::Builder::new().name("rccl watchdog".to_owned()).spawn(watch);
            waits.process = started.is_ok().then_some(process);
        }
        waits.watched.push(Arc::clone(&watched));
        Self(watched)
    }

    /// Ends the watch. Returns the error if the communicator was aborted because of the wait.
    pub(crate) fn end(self) -> Option<Error> {
        let mut pause = Pause::default();
        loop {
            let mut outcome = self.0.wait.outcome();
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
        *self.0.wait.outcome() = Outcome::Over;
        waits().watched.retain(|watched| !Arc::ptr_eq(watched, &self.0));
    }
}

impl Handle {
    /// As [`wait_until`](Self::wait_until), for a `done` that calls HIP. HIP may block until the communicator is
    /// aborted, so another thread aborts it.
    pub(crate) fn wait_until_watched(
        self: &Arc<Self>,
        timeout: Duration,
        done: impl FnMut() -> Result<bool>,
    ) -> Result<()> {
        self.watched(timeout, || self.wait_until(timeout, done))
    }

    /// Returns the result of `wait`, or the error for which the communicator was aborted meanwhile: at the deadline, or
    /// because the library has an error.
    pub(crate) fn watched<R>(self: &Arc<Self>, timeout: Duration, wait: impl FnOnce() -> Result<R>) -> Result<R> {
        let watch = Watch::new(self, Instant::now(), timeout);
        let waited = wait();
        self.end_watch(Some(watch)).and(waited)
    }

    /// Watches the next call of the library on this thread, and the wait for it: the call may also block in HIP. A
    /// blocking call has no deadline.
    pub(crate) fn watch_call(self: &Arc<Self>) -> Option<Watch> {
        (!self.blocking).then(|| Watch::new(self, Instant::now(), self.timeout))
    }

    /// Ends the watch. Returns the error for which the communicator was aborted meanwhile.
    pub(crate) fn end_watch(&self, watch: Option<Watch>) -> Result<()> {
        let Some(error) = watch.and_then(Watch::end) else { return Ok(()) };
        self.wait_for_abort();
        Err(error)
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
        watched.iter().for_each(|watched| watched.handle.look_at(&watched.wait, watched.late_by(now)));
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
        // Blocked until the communicator is aborted, as in HIP.
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
        // Over before any check: its result is used, even past the deadline.
        let over = handle();
        assert_eq!(over.watched(Duration::ZERO, || Ok(7)).unwrap(), 7);
        assert!(!over.is_aborted());
        drop(over.watch_call());
        // The thread ends on its own.
        while waits().process.is_some() {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(waits().watched.is_empty());
    }
}
