//! Waiting for a signal's value.
//!
//! A value that is stored by a function here wakes its waiters at once. Kernels and programs may also write it in memory, which
//! nobody is told of: so a waiter looks again by itself after a while.

use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Signal;
use crate::abi::{HSA_SIGNAL_CONDITION_EQ, HSA_SIGNAL_CONDITION_GTE, HSA_SIGNAL_CONDITION_LT, HSA_SIGNAL_CONDITION_NE};

/// Looks before a waiter goes to sleep.
const SPINS: u32 = 300;
/// How long a waiter sleeps before it looks by itself, first and at most.
const NAP: (Duration, Duration) = (Duration::from_micros(100), Duration::from_millis(2));

/// A comparison with a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Condition {
    Eq,
    Ne,
    Lt,
    Gte,
}

impl Condition {
    /// From `hsa_signal_condition_t`.
    pub(crate) fn new(raw: u32) -> Option<Self> {
        Some(match raw {
            HSA_SIGNAL_CONDITION_EQ => Self::Eq,
            HSA_SIGNAL_CONDITION_NE => Self::Ne,
            HSA_SIGNAL_CONDITION_LT => Self::Lt,
            HSA_SIGNAL_CONDITION_GTE => Self::Gte,
            _ => return None,
        })
    }

    /// Whether `value` is as it is to be, compared with `other`.
    pub(crate) fn holds(self, value: i64, other: i64) -> bool {
        match self {
            Self::Eq => value == other,
            Self::Ne => value != other,
            Self::Lt => value < other,
            Self::Gte => value >= other,
        }
    }
}

/// Who sleeps: signals share a few places to sleep at.
pub(super) struct Wakers {
    shards: [Shard; 64],
    /// For those who wait for one of many signals.
    any: Shard,
}

impl Default for Wakers {
    fn default() -> Self {
        Self { shards: std::array::from_fn(|_| Shard::default()), any: Shard::default() }
    }
}

#[derive(Default)]
struct Shard {
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Shard {
    fn notify(&self) {
        // Pairs with the fence of a sleeper: either it sees the new value, or it is seen here.
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) > 0 {
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.wake.notify_all();
        }
    }

    /// Sleeps until `ready` says something, `nap` is over or somebody wakes; then asks `ready` again.
    fn sleep<T>(&self, nap: Duration, ready: &mut dyn FnMut() -> Option<T>) -> Option<T> {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let mut found = ready();
        if found.is_none() {
            drop(self.wake.wait_timeout(guard, nap).unwrap_or_else(PoisonError::into_inner));
            found = ready();
        } else {
            drop(guard);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        found
    }
}

impl Wakers {
    pub(super) fn notify(&self, index: usize) {
        self.shards[index % self.shards.len()].notify();
        self.any.notify();
    }

    /// Waits at one place until `ready` says something; `None` at the deadline.
    fn wait<T>(
        shard: &Shard,
        deadline: Option<Instant>,
        longest: Duration,
        ready: &mut dyn FnMut() -> Option<T>,
    ) -> Option<T> {
        for _ in 0..SPINS {
            if let Some(found) = ready() {
                return Some(found);
            }
            std::hint::spin_loop();
        }
        let mut nap = NAP.0;
        loop {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return ready();
            }
            if let Some(found) = shard.sleep(left.map_or(nap, |left| left.min(nap)), ready) {
                return Some(found);
            }
            nap = (nap * 2).min(longest);
        }
    }
}

impl Signal {
    /// Waits until the value is as `condition` says, the signal is destroyed, or the deadline has come. Returns the value.
    pub(crate) fn wait(self, condition: Condition, other: i64, deadline: Option<Instant>) -> i64 {
        let shard = &self.all.wakers.shards[self.index % 64];
        let mut ready = || {
            let value = self.value().load(Ordering::SeqCst);
            (condition.holds(value, other) || !self.is_live()).then_some(value)
        };
        let found = Wakers::wait(shard, deadline, NAP.1, &mut ready);
        found.unwrap_or_else(|| self.value().load(Ordering::SeqCst))
    }

    /// Waits for this signal to be stored to until `ready` says something, which it is also asked at least every `longest`.
    pub(crate) fn wait_until<T>(self, longest: Duration, mut ready: impl FnMut() -> Option<T>) -> T {
        let shard = &self.all.wakers.shards[self.index % 64];
        loop {
            if let Some(found) = Wakers::wait(shard, None, longest, &mut ready) {
                return found;
            }
        }
    }
}

impl super::Signals {
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

    /// Wakes those who wait for any signal, to look at what has changed beside them.
    pub(crate) fn wake_any(&self) {
        self.wakers.any.notify();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::Signals;

    fn signals() -> &'static Signals {
        Box::leak(Box::new(Signals::new().unwrap()))
    }

    /// A pause after which the other thread is likely to wait. The wait ends whichever comes first.
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
