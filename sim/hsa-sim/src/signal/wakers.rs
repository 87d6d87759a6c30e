//! The places where those sleep who wait for signals.
//!
//! A value that is stored by a function here wakes its waiters at once. Kernels and programs may also write it in memory, which
//! nobody is told of: so a waiter looks again by itself after a while.

use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Looks before a waiter goes to sleep.
const SPINS: u32 = 300;
/// How long a waiter sleeps before it looks by itself, first and at most.
pub(super) const NAP: (Duration, Duration) = (Duration::from_micros(100), Duration::from_millis(2));

/// Who sleeps: signals share a few places to sleep at.
pub(super) struct Wakers {
    pub(super) shards: [Shard; 64],
    /// For those who wait for one of many signals.
    pub(super) any: Shard,
}

impl Default for Wakers {
    fn default() -> Self {
        Self { shards: std::array::from_fn(|_| Shard::default()), any: Shard::default() }
    }
}

#[derive(Default)]
pub(super) struct Shard {
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Shard {
    pub(super) fn notify(&self) {
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
    pub(super) fn wait<T>(
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
