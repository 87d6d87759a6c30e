//! The loss of a GPU: it runs nothing any more, like one that has been reset or has fallen off the bus.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::gpu::Gpu;

/// Whether a GPU is lost.
#[derive(Debug, Default)]
pub(crate) struct Loss {
    lost: AtomicBool,
    /// The number of dispatches. Only counted if the GPU is configured to be lost.
    dispatches: AtomicU64,
}

impl Gpu {
    /// Loses the GPU permanently: running dispatches are stopped, and they and all later ones fail
    /// ([`FaultKind::Lost`](crate::FaultKind::Lost)). Its memory stays readable; the runtime decides what it reports.
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

    /// Whether the GPU is lost: by [`lose`](Self::lose), or after the [configured](crate::Config::lose_after) number of
    /// dispatches.
    pub fn is_lost(&self) -> bool {
        self.loss().lost.load(Relaxed)
    }

    /// Counts a dispatch that is about to start. Returns whether the GPU is lost.
    pub(crate) fn is_lost_now(&self) -> bool {
        if let Some(most) = self.config().lose_after {
            if self.loss().dispatches.fetch_add(1, Relaxed) >= most {
                self.lose();
            }
        }
        self.is_lost()
    }
}
