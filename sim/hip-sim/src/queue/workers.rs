//! The worker threads, which run commands that no thread waits for.
//!
//! As many workers run device work as the machine has cores: more would only share them. But a kernel may wait for a
//! kernel of another stream that does not have a thread yet. So if commands are ready while every worker is running
//! one, and none has completed for [`PATIENCE`], one more worker is admitted, repeatedly, up to [`MOST_WORKERS`]. If
//! more streams than that have kernels that all wait for each other, they deadlock, as on a GPU with fewer hardware
//! queues.
//!
//! Waking a thread takes longer than many kernels. So an idle worker first polls the ready list several times and is
//! not woken meanwhile. A thread that launches and waits then does all the work itself.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Runner, Scheduler, State};

/// How long a sleeping worker stays before it exits.
const IDLE: Duration = Duration::from_secs(2);
/// The longest time that work without a waiting thread stays unnoticed by a napping worker (plus the system's timer
/// slack).
const NAP: Duration = Duration::from_micros(50);
/// Naps without work before a worker goes to sleep.
const NAPS: u32 = 20;
/// How long ready commands wait for a worker place while no command completes.
const PATIENCE: Duration = Duration::from_millis(5);
/// The maximum number of workers that run device work.
const MOST_WORKERS: usize = 256;

impl State {
    fn ready_count(&self) -> usize {
        self.ready.iter().map(std::collections::VecDeque::len).sum()
    }
}

impl Scheduler {
    /// Ensures that a worker will look at the ready list: wakes or starts one if necessary. With `now`, the caller will
    /// not take the work itself soon, so a nap is cut short.
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
        // If no thread can be started, the ready list waits for the existing workers or for a synchronising thread.
        if started.is_ok() {
            workers.threads += 1;
            workers.patient |= beyond;
        }
    }

    /// The main loop of a worker. With `patient`, it starts without a place and waits for [`PATIENCE`] first.
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
                // The workers admitted beyond the cores have nothing left to wait for.
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

    /// Waits for [`PATIENCE`], and adds a worker place if no command has completed meanwhile.
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
