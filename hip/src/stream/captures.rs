//! The number of captures in progress, and calls that must not be made during one.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::core::error::Result;
use crate::core::later;
use crate::core::lock::RwLock;
use crate::core::queue::{Blocker, Queue, Verdict};

/// The number of captures, in all threads. Locked during the calls that begin or end a capture.
static CAPTURES: RwLock<usize> = RwLock::new(0);

/// The same number, readable without a lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The number of captures of this thread.
    static OWN: Cell<usize> = const { Cell::new(0) };
    /// Whether this thread is inside of [`apart_from_captures`].
    static APART: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread is in a capture.
pub(super) fn is_capturing() -> bool {
    OWN.get() != 0
}

/// A queue that stands for all captures: its work is over when there are none.
pub(super) struct Captures;

impl Queue for Captures {
    fn id(&self) -> u64 {
        u64::MAX // never the id of a stream
    }

    fn verdict(&self, _: u64) -> Verdict {
        // A thread that waits for the deferred jobs may itself be in a capture: it would wait for itself.
        if COUNT.load(Ordering::Acquire) == 0 || later::is_pressed() { Verdict::Over } else { Verdict::Open }
    }

    fn ask(&self) {}
}

/// Returns the blocker of a call that must not be made during a capture.
pub(super) fn blocker() -> Option<Blocker> {
    (COUNT.load(Ordering::Acquire) != 0).then(|| (Arc::new(Captures) as Arc<dyn Queue>, 0))
}

/// Runs `call`, which fails while a stream is captured, unless a capture is in progress. No capture begins meanwhile.
///
/// HIP keeps a set of the streams that are being captured. Calls that wait for the device or use its default stream
/// read that set without a lock: they invalidate all captures in it, or crash if another thread inserts one at the same
/// time. This crate makes such calls only through this function.
pub(super) fn apart_from_captures<R>(call: impl FnOnce() -> R) -> Option<R> {
    // `call` may drop objects whose destructors call this again. Locking again would deadlock with a thread that waits for this one.
    if APART.get() {
        return Some(call());
    }
    let captures = CAPTURES.read();
    (*captures == 0).then(|| {
        let _inside = Inside::enter();
        call()
    })
}

/// Marks this thread as inside of [`apart_from_captures`] until it is dropped.
struct Inside;

impl Inside {
    fn enter() -> Self {
        APART.set(true);
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        APART.set(false);
    }
}

/// Makes `begin`, the call that begins a capture of this thread, and counts the capture if the call succeeds. Returns
/// `None` without making it while another thread is inside of [`apart_from_captures`].
pub(super) fn try_begin(begin: impl FnOnce() -> Result<()>) -> Option<Result<()>> {
    let mut captures = CAPTURES.try_write()?;
    let begun = begin();
    if begun.is_ok() {
        *captures += 1;
        COUNT.store(*captures, Ordering::Release);
        OWN.set(OWN.get() + 1);
    }
    Some(begun)
}

/// Blocks until [`try_begin`] may succeed.
pub(super) fn wait_to_begin() {
    drop(CAPTURES.write());
}

/// Makes `end`, the call that ends a capture of this thread, which counts no more.
pub(super) fn end<R>(end: impl FnOnce() -> R) -> R {
    let mut captures = CAPTURES.write();
    *captures -= 1;
    COUNT.store(*captures, Ordering::Release);
    OWN.set(OWN.get().saturating_sub(1));
    end()
}
