//! The loss of a GPU: from then on it does nothing any more, as one that has been reset or has fallen off the bus.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::gpu::Gpu;

/// Whether a GPU is lost.
#[derive(Debug, Default)]
pub(crate) struct Loss {
    lost: AtomicBool,
    /// Dispatches so far; not counted if none of them is to be the last.
    dispatches: AtomicU64,
}

impl Gpu {
    /// Loses the GPU, for good: dispatches that run are cut off, and neither they nor any later one succeed
    /// ([`FaultKind::Lost`](crate::FaultKind::Lost)). Its memory stays readable, so that what is on top can decide what it tells.
    ///
    /// ```
    /// use amdgpu_sim::{Config, Gpu};
    ///
    /// let gpu = Gpu::new(Config::default());
    /// assert!(!gpu.is_lost());
    /// gpu.lose();
    /// assert!(gpu.is_lost());
    /// ```
    pub fn lose(&self) {
        self.loss().lost.store(true, Relaxed);
    }

    /// Whether the GPU is lost: by [`lose`](Self::lose), or after as many dispatches as its configuration
    /// [says](crate::Config::lose_after).
    pub fn is_lost(&self) -> bool {
        self.loss().lost.load(Relaxed)
    }

    /// Counts a dispatch that is about to start; whether the GPU is lost.
    pub(crate) fn is_lost_now(&self) -> bool {
        if let Some(most) = self.config().lose_after {
            if self.loss().dispatches.fetch_add(1, Relaxed) >= most {
                self.lose();
            }
        }
        self.is_lost()
    }
}
