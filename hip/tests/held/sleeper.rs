//! Threads that sleep in calls: what happens meanwhile waits for that, not for a time.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A thread that others want to be asleep in a call.
#[derive(Clone, Default)]
pub(crate) struct Sleeper(Arc<OnceLock<Option<PathBuf>>>);

impl Sleeper {
    /// Called by the thread right before its call.
    pub(crate) fn calls(&self) {
        let of_thread = std::fs::read_link("/proc/thread-self").ok();
        let _ = self.0.set(of_thread.map(|link| Path::new("/proc").join(link).join("stat")));
    }

    /// Waits until the thread is asleep after [`calls`](Self::calls), or has ended. It may be on its way to the call
    /// still: a test must pass wherever it is. Returns at once where the system does not tell.
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

/// Has a thread seen as one that calls when this goes, if it was not before: one that panics is not waited for in vain.
pub(crate) struct SleeperEnds<'a>(pub(crate) &'a Sleeper);

impl Drop for SleeperEnds<'_> {
    fn drop(&mut self) {
        self.0.calls();
    }
}
