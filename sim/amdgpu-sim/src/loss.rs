//! The loss of a GPU: it runs nothing any more, like one that has been reset or has fallen off the bus.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Whether a GPU is lost.
#[derive(Debug, Default)]
pub(crate) struct Loss {
    lost: AtomicBool,
    /// The number of dispatches. Only counted if the GPU is configured to be lost.
    dispatches: AtomicU64,
}

impl Loss {
    /// Loses the GPU permanently.
    pub(crate) fn lose(&self) {
        self.lost.store(true, Relaxed);
    }

    /// Returns whether the GPU is lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Relaxed)
    }

    /// Counts a dispatch that is about to start, of a GPU that is lost after `most` of them. Returns whether the GPU is
    /// lost.
    pub(crate) fn count(&self, most: Option<u64>) -> bool {
        if let Some(most) = most {
            if self.dispatches.fetch_add(1, Relaxed) >= most {
                self.lose();
            }
        }
        self.is_lost()
    }
}
