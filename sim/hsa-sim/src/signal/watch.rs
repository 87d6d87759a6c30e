//! Work that waits for signals: a thread that polls all of it and performs what is ready.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use amdgpu_sim::Delay;

use super::Signals;

/// A piece of work that waits for signals.
pub(crate) trait Pending: Send {
    /// Returns whether it can be performed now.
    fn ready(&self) -> bool;
    /// Performs it. True to keep it, and perform it again when it is ready again.
    fn run(&mut self) -> bool;
}

/// A list of work and the thread that performs it, which starts with the first piece.
pub(crate) struct Watch {
    name: &'static str,
    delay: Option<Delay>,
    added: Mutex<Vec<Box<dyn Pending>>>,
    thread: OnceLock<bool>,
    /// The number of requests to report that nothing is ready, and the number of the last answered one.
    asked: AtomicU64,
    answered: AtomicU64,
}

impl Watch {
    /// An empty list. `name` is the thread's name; `delay` gives the delay before each piece.
    pub(crate) fn new(name: &'static str, delay: Option<Delay>) -> Self {
        Self {
            name,
            delay,
            added: Mutex::default(),
            thread: OnceLock::new(),
            asked: AtomicU64::new(0),
            answered: AtomicU64::new(0),
        }
    }

    /// Adds a piece of work. False if the host cannot start a thread.
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

    /// Waits until the work that is ready now has been performed, at most `longest`.
    pub(crate) fn settle(&self, signals: &Signals, longest: Duration) {
        if self.thread.get() != Some(&true) {
            return;
        }
        let question = self.asked.fetch_add(1, SeqCst) + 1;
        let deadline = Instant::now() + longest;
        while self.answered.load(SeqCst) < question && Instant::now() < deadline {
            signals.wake_any();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn work(&self, signals: &Signals) {
        crate::exempt::exempt();
        let mut list: Vec<Box<dyn Pending>> = Vec::new();
        // A place number that differs from those of queues and of other watch threads, for their delays.
        let (place, mut step) = (u64::MAX - self.name.len() as u64, 0);
        loop {
            // An empty list needs no polling: adding work wakes the thread.
            let longest = if list.is_empty() { Duration::from_secs(60) } else { Duration::from_millis(2) };
            signals.wait_any(longest, || {
                let question = self.asked.load(SeqCst);
                let added = &mut *self.added.lock().unwrap_or_else(PoisonError::into_inner);
                let more = !added.is_empty();
                list.append(added);
                let ready = list.iter().any(|work| work.ready());
                if !ready {
                    self.answered.store(question, SeqCst);
                }
                (more || ready).then_some(())
            });
            // Work that is ready is performed in the order of its addition.
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::signal::Signal;

    /// Slow work that waits for a signal to be 0.
    struct Slow(Signal, &'static AtomicBool);

    impl Pending for Slow {
        fn ready(&self) -> bool {
            self.0.value().load(SeqCst) == 0
        }

        fn run(&mut self) -> bool {
            std::thread::sleep(Duration::from_millis(20));
            self.1.store(true, SeqCst);
            false
        }
    }

    #[test]
    fn what_is_ready_is_done_before_it_has_settled_and_what_is_not_holds_nothing_up() {
        const HOUR: Duration = Duration::from_secs(3600);
        let signals: &Signals = Box::leak(Box::new(Signals::new().unwrap()));
        let watch: &Watch = Box::leak(Box::new(Watch::new("test", None)));
        watch.settle(signals, HOUR);
        let never = signals.create(1).unwrap();
        assert!(watch.add(signals, Box::new(Slow(never, Box::leak(Box::default())))));
        for _ in 0..5 {
            let (signal, done): (_, &AtomicBool) = (signals.create(1).unwrap(), Box::leak(Box::default()));
            assert!(watch.add(signals, Box::new(Slow(signal, done))));
            watch.settle(signals, HOUR);
            assert!(!done.load(SeqCst));
            // Like a kernel, which does not notify waiters.
            signal.value().store(0, SeqCst);
            watch.settle(signals, HOUR);
            assert!(done.load(SeqCst));
        }
    }
}
