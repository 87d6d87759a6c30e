//! The threads that run commands which nobody waits for.
//!
//! As many run device work as the machine has cores: more would only take turns. But a kernel may wait for one of another stream,
//! and that one may not have a thread yet. So where commands are ready while every worker is inside of one, and none of
//! them has ended for [`PATIENCE`], one more is let in, again and again up to [`MOST_WORKERS`]. More streams than that whose
//! kernels all wait for each other stand still, as they would on a GPU that has fewer hardware queues.
//!
//! Waking a thread takes longer than many a kernel. So a worker that has nothing to do looks again of itself some times, and is
//! not woken meanwhile; a thread that launches and waits then does all by itself.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Runner, Scheduler, State};

/// How long a worker that sleeps stays.
const IDLE: Duration = Duration::from_secs(2);
/// How long a worker leaves work that nobody waits for alone, at most (but for what the system's timers add to it).
const NAP: Duration = Duration::from_micros(50);
/// Naps without work before a worker goes to sleep.
const NAPS: u32 = 20;
/// How long ready commands wait for a place while nothing ends.
const PATIENCE: Duration = Duration::from_millis(5);
/// Workers that run device work at most.
const MOST_WORKERS: usize = 256;

/// How many there are and what they do.
#[derive(Default)]
pub(super) struct Workers {
    /// All.
    threads: usize,
    /// Workers that are inside a host function or a wait, and may stay there as long as the program likes.
    pub(super) in_host_function: usize,
    /// Workers that run device work.
    pub(super) busy: usize,
    /// So many more than there are cores may do so, as others seem to wait for them.
    extra: usize,
    /// One waits for [`PATIENCE`] to be over.
    patient: bool,
    /// Workers that look again soon.
    napping: usize,
    asleep: usize,
    /// Sleeping workers that have been called and not yet come.
    called: usize,
}

#[cfg(test)]
impl Workers {
    /// So many more may run device work than there are cores.
    pub(super) fn extra_places(&self) -> usize {
        self.extra
    }
}

impl State {
    fn ready_count(&self) -> usize {
        self.ready.iter().map(std::collections::VecDeque::len).sum()
    }
}

impl Scheduler {
    /// Sees to it that workers look at the ready list: wakes one or starts one if need be. `now`: the caller is not going to see
    /// to it soon, so a nap is cut short.
    pub(super) fn call_worker(self: &Arc<Self>, state: &mut State, now: bool) {
        let ready = state.ready_count();
        let workers = &mut state.workers;
        if ready == 0 {
            return;
        }
        if now && workers.napping > 0 {
            self.nap.notify_one();
        }
        if ready <= workers.napping + workers.called {
            return;
        }
        if workers.asleep > workers.called {
            workers.called += 1;
            self.work.notify_one();
            return;
        }
        let beyond = workers.threads >= self.device_workers + workers.extra + workers.in_host_function;
        if beyond && (workers.patient || workers.threads >= MOST_WORKERS + workers.in_host_function) {
            return;
        }
        let scheduler = Arc::clone(self);
        let started = std::thread::Builder::new().name("hip-sim stream".into()).spawn(move || scheduler.serve(beyond));
        // Without another thread the ready list waits for the workers there are, or for a thread that synchronises.
        if started.is_ok() {
            workers.threads += 1;
            workers.patient |= beyond;
        }
    }

    /// A worker's life. It begins with patience if there is no place for it yet.
    fn serve(self: Arc<Self>, patient: bool) {
        let mut state = self.lock();
        if patient {
            state = self.have_patience(state);
        }
        let mut naps = 0;
        loop {
            if state.workers.busy < self.device_workers + state.workers.extra {
                if let Some(key) = state.take_ready() {
                    state = self.run_head(state, key, Runner::Worker);
                    naps = 0;
                    continue;
                }
            } else if state.ready_count() > 0 && !state.workers.patient {
                state = self.have_patience(state);
                continue;
            }
            if state.ready_count() == 0 {
                // Nothing waits for those that were let in beyond the cores.
                state.workers.extra = state.workers.busy.saturating_sub(self.device_workers);
            }
            if naps < NAPS {
                naps += 1;
                state.workers.napping += 1;
                state = self.nap.wait_timeout(state, NAP).unwrap_or_else(PoisonError::into_inner).0;
                state.workers.napping -= 1;
                continue;
            }
            naps = 0;
            state.workers.asleep += 1;
            let (relocked, timeout) = self.work.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
            state = relocked;
            state.workers.asleep -= 1;
            state.workers.called = state.workers.called.saturating_sub(1);
            if timeout.timed_out() && state.ready_count() == 0 {
                state.workers.threads -= 1;
                return;
            }
        }
    }

    /// Waits for a while, and makes one more place for a worker if no command has ended meanwhile.
    fn have_patience<'a>(self: &'a Arc<Self>, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.workers.patient = true;
        let seen = self.completions.load(Ordering::Relaxed);
        drop(state);
        std::thread::sleep(PATIENCE);
        let mut state = self.lock();
        state.workers.patient = false;
        let ready = state.ready_count() > 0;
        let workers = &mut state.workers;
        let places = self.device_workers + workers.extra;
        let stuck = self.completions.load(Ordering::Relaxed) == seen && workers.busy >= places;
        if ready && stuck && places < MOST_WORKERS {
            workers.extra += 1;
        }
        state
    }
}
