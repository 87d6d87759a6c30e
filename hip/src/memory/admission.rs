//! Admission of work on another device's memory: from the check until the work is queued, or until access is revoked.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

use std::thread;

use crate::core::error::{Error, Result};
use crate::core::lock::Mutex;

/// The number of pieces of work that were admitted in even and in odd epochs, and are not queued yet.
static ADMITTED: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

static EPOCH: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The number of this thread's own admissions.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

/// Returns `Ok` unless this thread is in the middle of queueing admitted work (in a `tracing` subscriber). Waiting for
/// that work here would deadlock.
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

/// Held from before the check that a device may use another one's memory until the work is queued. Revoking access
/// waits for it.
#[must_use = "held until the work is queued"]
pub(crate) struct Admission(Option<usize>, PhantomData<*const ()>);

impl Admission {
    /// For work on memory of its own device.
    pub(crate) const OWN: Self = Self(None, PhantomData);

    #[inline]
    pub(crate) fn is_own(&self) -> bool {
        self.0.is_none()
    }

    /// Begins an admission, for work on memory of another device. Call this before the check.
    pub(super) fn begin() -> Self {
        loop {
            let epoch = EPOCH.load(Ordering::SeqCst) % 2;
            ADMITTED[epoch].fetch_add(1, Ordering::SeqCst);
            OWN.set(OWN.get() + 1);
            let admission = Self(Some(epoch), PhantomData);
            // Otherwise the thread that has begun the next epoch may have missed this admission.
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

/// Blocks until all work that was admitted before is queued. Call this after access is denied to new work.
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
