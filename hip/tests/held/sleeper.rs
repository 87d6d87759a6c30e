//! Detection of threads that sleep in calls, so that tests need not rely on times.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A thread that other threads expect to fall asleep in a call.
#[derive(Clone, Default)]
pub(crate) struct Sleeper(Arc<OnceLock<Option<PathBuf>>>);

impl Sleeper {
    /// Called by the thread immediately before its call.
    pub(crate) fn calls(&self) {
        let of_thread = std::fs::read_link("/proc/thread-self").ok();
        let _ = self.0.set(of_thread.map(|link| Path::new("/proc").join(link).join("stat")));
    }

    /// Waits until the thread is asleep after [`calls`](Self::calls), or has ended. It may still be on its way to the
    /// call: a test must pass in either case. Returns at once if the system does not report it.
    pub(crate) fn until_asleep(&self) {
        loop {
            match self.0.get() {
                None => {}
                Some(None) => return,
                Some(Some(stat)) => {
                    // The state follows the name, which is in parentheses.
                    let stat = std::fs::read_to_string(stat).unwrap_or_default();
                    if !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('R')) {
                        return;
                    }
                }
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

/// Marks the thread as calling when this is dropped, so that other threads do not wait forever for a thread that
/// panics.
pub(crate) struct SleeperEnds<'a>(pub(crate) &'a Sleeper);

impl Drop for SleeperEnds<'_> {
    fn drop(&mut self) {
        self.0.calls();
    }
}
