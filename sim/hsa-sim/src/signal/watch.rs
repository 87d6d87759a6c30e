//! Work that waits for signals: a thread that looks at all of them and does what is ready.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use amdgpu_sim::Delay;

use super::Signals;

/// A piece of work. Told each time whether to stay.
pub(crate) trait Pending: Send {
    /// Whether it can be done now.
    fn ready(&self) -> bool;
    /// Does it; true to be kept and done again when it is ready again.
    fn run(&mut self) -> bool;
}

/// A list of work, and the thread that does it, started with the first.
pub(crate) struct Watch {
    name: &'static str,
    delay: Option<Delay>,
    added: Mutex<Vec<Box<dyn Pending>>>,
    thread: OnceLock<bool>,
}

impl Watch {
    /// No work yet. `name` is the thread's, which waits before each piece as `delay` says.
    pub(crate) fn new(name: &'static str, delay: Option<Delay>) -> Self {
        Self { name, delay, added: Mutex::default(), thread: OnceLock::new() }
    }

    /// Adds a piece of work; false if the host has no more threads.
    pub(crate) fn add(&'static self, signals: &'static Signals, work: Box<dyn Pending>) -> bool {
        let started = *self.thread.get_or_init(|| {
            let builder = std::thread::Builder::new().name(self.name.into());
            builder.spawn(move || self.work(signals)).is_ok()
        });
        if started {
            self.added.lock().unwrap_or_else(PoisonError::into_inner).push(work);
            signals.wake_any();
        }
        started
    }

    fn work(&self, signals: &Signals) {
        crate::leaving::exempt();
        let mut list: Vec<Box<dyn Pending>> = Vec::new();
        // Threads have other waits than queues, and than each other.
        let (place, mut step) = (u64::MAX - self.name.len() as u64, 0);
        loop {
            // With nothing to watch there is nothing to look for but more work, of which it is told.
            let longest = if list.is_empty() { Duration::from_secs(60) } else { Duration::from_millis(2) };
            signals.wait_any(longest, || {
                let added = &mut *self.added.lock().unwrap_or_else(PoisonError::into_inner);
                let more = !added.is_empty();
                list.append(added);
                (more || list.iter().any(|work| work.ready())).then_some(())
            });
            // What is ready is done in the order in which it came.
            let mut kept = Vec::with_capacity(list.len());
            for mut work in list.drain(..) {
                let ready = work.ready();
                if let Some(delay) = self.delay.filter(|_| ready) {
                    std::thread::sleep(delay.wait(place, step));
                    step += 1;
                }
                if !ready || work.run() {
                    kept.push(work);
                }
            }
            list = kept;
        }
    }
}
