//! Waiting for a signal's value.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::condition::Condition;
use super::wakers::{NAP, Wakers};
use super::{Signal, Signals};

impl Signal {
    /// Waits until the value satisfies `condition`, the signal is destroyed, or the deadline has passed. Returns the
    /// value.
    pub(crate) fn wait(self, condition: Condition, other: i64, deadline: Option<Instant>) -> i64 {
        let shard = &self.all.wakers.shards[self.index % 64];
        let mut ready = || {
            let value = self.value().load(Ordering::SeqCst);
            (condition.holds(value, other) || !self.is_live()).then_some(value)
        };
        let found = Wakers::wait(shard, deadline, NAP.1, &mut ready);
        found.unwrap_or_else(|| self.value().load(Ordering::SeqCst))
    }

    /// Waits until `ready` returns a value. It is called after each store to this signal, and at least every `longest`.
    pub(crate) fn wait_until<T>(self, longest: Duration, mut ready: impl FnMut() -> Option<T>) -> T {
        let shard = &self.all.wakers.shards[self.index % 64];
        loop {
            if let Some(found) = Wakers::wait(shard, None, longest, &mut ready) {
                return found;
            }
        }
    }
}

impl Signals {
    /// Waits for any signal to be stored to until `ready` says something, which it is also asked at least every `longest`.
    pub(crate) fn wait_any<T>(&self, longest: Duration, mut ready: impl FnMut() -> Option<T>) -> Option<T> {
        Wakers::wait(&self.wakers.any, None, longest, &mut ready)
    }

    /// As [`wait_any`](Self::wait_any); `None` at the deadline.
    pub(crate) fn wait_any_until<T>(
        &self,
        deadline: Option<Instant>,
        mut ready: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        Wakers::wait(&self.wakers.any, deadline, NAP.1, &mut ready)
    }

    /// Wakes the waiters for any signal, so that they check other conditions.
    pub(crate) fn wake_any(&self) {
        self.wakers.any.notify();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signals() -> &'static Signals {
        Box::leak(Box::new(Signals::new().unwrap()))
    }

    /// A pause after which the other thread is probably waiting. The wait ends in either order.
    fn likely_to_wait() {
        std::thread::sleep(Duration::from_millis(5));
    }

    #[test]
    fn a_store_ends_a_wait() {
        let all = signals();
        let signal = all.create(1).unwrap();
        let waiter = std::thread::spawn(move || signal.wait(Condition::Eq, 0, None));
        likely_to_wait();
        signal.decrement();
        assert_eq!(waiter.join().unwrap(), 0);
    }

    #[test]
    fn a_write_that_nobody_told_of_ends_a_wait() {
        let signal = signals().create(1).unwrap();
        let waiter = std::thread::spawn(move || signal.wait(Condition::Lt, 1, None));
        likely_to_wait();
        signal.value().store(-3, Ordering::SeqCst);
        assert_eq!(waiter.join().unwrap(), -3);
    }

    #[test]
    fn destruction_and_deadline_end_a_wait() {
        let all = signals();
        let signal = all.create(1).unwrap();
        let deadline = Instant::now() + Duration::from_millis(3);
        assert_eq!(signal.wait(Condition::Eq, 0, Some(deadline)), 1);
        let waiter = std::thread::spawn(move || signal.wait(Condition::Eq, 0, None));
        likely_to_wait();
        signal.destroy();
        waiter.join().unwrap();
    }

    #[test]
    fn conditions_are_hsas() {
        let holds = |raw, value| Condition::new(raw).unwrap().holds(value, 5);
        assert!(holds(0, 5) && holds(1, 4) && holds(2, 4) && holds(3, 5));
        assert!(!holds(0, 4) && !holds(1, 5) && !holds(2, 5) && !holds(3, 4));
        assert!(Condition::new(4).is_none());
    }
}
