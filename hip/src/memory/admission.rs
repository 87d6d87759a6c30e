//! Work on memory of another device: admitted when it is queued, until access is taken away.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

use std::thread;

use crate::core::error::{Error, Result};
use crate::core::lock::Mutex;

/// Work that was admitted in even epochs and in odd ones, and is not queued yet.
static ADMITTED: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

static EPOCH: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// How many this thread has, which it does not give to others.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

/// `Ok` unless this thread is in the midst of queueing admitted work, which then would never be queued: a `tracing` subscriber runs there.
pub(super) fn expect_none_here() -> Result<()> {
    if OWN.get() == 0 {
        return Ok(());
    }
    Err(Error::InvalidValue {
        what: "the place where access to a device's memory is taken away",
        value: "a tracing subscriber, told of work on that memory that is about to be queued".to_owned(),
        allowed: "outside of it".to_owned(),
    })
}

/// Held from before the check that a device may use another one's memory until the work is queued. Access that is taken away
/// meanwhile is gone only then.
#[must_use = "held until the work is queued"]
pub(crate) struct Admission(Option<usize>, PhantomData<*const ()>);

impl Admission {
    /// For work on memory of the device itself.
    pub(crate) const OWN: Self = Self(None, PhantomData);

    #[inline]
    pub(crate) fn is_own(&self) -> bool {
        self.0.is_none()
    }

    /// For work on memory of another device, before the check.
    pub(super) fn begin() -> Self {
        loop {
            let epoch = EPOCH.load(Ordering::SeqCst) % 2;
            ADMITTED[epoch].fetch_add(1, Ordering::SeqCst);
            OWN.set(OWN.get() + 1);
            let admission = Self(Some(epoch), PhantomData);
            // Else who has begun the next epoch may have seen none of the last.
            if EPOCH.load(Ordering::SeqCst) % 2 == epoch {
                return admission;
            }
        }
    }
}

impl Drop for Admission {
    #[inline]
    fn drop(&mut self) {
        if let Some(epoch) = self.0 {
            ADMITTED[epoch].fetch_sub(1, Ordering::SeqCst);
            OWN.set(OWN.get() - 1);
        }
    }
}

/// Blocks until all work is queued that was admitted before. To be called when access is denied to new work.
pub(super) fn wait_for_admitted() {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock();
    let last = EPOCH.fetch_add(1, Ordering::SeqCst) % 2;
    while ADMITTED[last].load(Ordering::SeqCst) != 0 {
        thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn access_is_not_taken_away_by_who_is_about_to_use_it() {
        assert!(expect_none_here().is_ok());
        let admission = Admission::begin();
        assert!(expect_none_here().is_err());
        thread::spawn(|| assert!(expect_none_here().is_ok())).join().unwrap();
        drop(admission);
        assert!(expect_none_here().is_ok());
    }

    #[test]
    fn access_goes_when_admitted_work_is_queued() {
        let (allowed, queued) = (AtomicBool::new(true), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        let _admission = Admission::begin();
                        if allowed.load(Ordering::SeqCst) {
                            thread::yield_now();
                            queued.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                });
            }
            scope.spawn(|| {
                for _ in 0..200 {
                    allowed.store(false, Ordering::SeqCst);
                    wait_for_admitted();
                    let before = queued.load(Ordering::SeqCst);
                    (0..20).for_each(|_| thread::yield_now());
                    assert_eq!(queued.load(Ordering::SeqCst), before, "queued after access was gone");
                    allowed.store(true, Ordering::SeqCst);
                }
            });
        });
    }
}
