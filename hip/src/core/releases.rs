//! What HIP 5.7 does wrong where threads do it at the same time, though it lets them. Releases from 6.0 on do it right, and do
//! not wait here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whether the runtime is one of those.
static OLD: AtomicBool = AtomicBool::new(false);

/// To be called with the version of the runtime before anything else is done with it.
pub(crate) fn begin((major, ..): (u32, u32, u32)) {
    OLD.store(major < 6, Ordering::Relaxed);
}

/// Held during a call that loads code (5.7 fails now and then, with 303) or gives a kernel its arguments (5.7 keeps those of
/// launches apart, but not those of graphs: a launch gets the arguments of a graph's node that has the same kernel).
#[inline]
pub(crate) fn one_at_a_time() -> Option<MutexGuard<'static, ()>> {
    static ONE: Mutex<()> = Mutex::new(());
    OLD.load(Ordering::Relaxed).then(|| ONE.lock().unwrap_or_else(PoisonError::into_inner))
}
