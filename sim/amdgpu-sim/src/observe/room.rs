//! The memory limit of all checks of the process.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::config::Config;

/// The bytes in use.
static KEPT: AtomicU64 = AtomicU64::new(0);

/// Bytes in use, released on drop.
#[derive(Debug, Default)]
pub(crate) struct Kept(u64);

impl Kept {
    /// Accounts for `bytes`, regardless of the limit.
    pub(super) fn new(bytes: u64) -> Self {
        KEPT.fetch_add(bytes, Relaxed);
        Self(bytes)
    }

    /// Accounts for `bytes` more, regardless of the limit.
    pub(super) fn grow(&mut self, bytes: u64) {
        KEPT.fetch_add(bytes, Relaxed);
        self.0 += bytes;
    }
}

impl Clone for Kept {
    fn clone(&self) -> Self {
        Self::new(self.0)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        KEPT.fetch_sub(self.0, Relaxed);
    }
}

/// A memory limit.
#[derive(Debug)]
pub(crate) struct Room {
    most: u64,
    /// A request has exceeded the limit.
    exhausted: AtomicBool,
}

impl Room {
    /// The limit in a GPU's configuration.
    pub(crate) fn of(config: &Config) -> Self {
        Self {
            most: config.check_memory.unwrap_or_else(|| crate::memory::host::total() / 4),
            exhausted: AtomicBool::new(false),
        }
    }

    /// The limit in bytes.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// Takes `bytes`, if they are within the limit.
    pub(crate) fn take(&self, bytes: u64) -> Option<Kept> {
        let kept = Kept::new(bytes);
        if self.is_exceeded() {
            self.exhausted.store(true, Relaxed);
            return None;
        }
        Some(kept)
    }

    /// Returns whether usage that was accounted for regardless of the limit exceeds it.
    pub(super) fn is_exceeded(&self) -> bool {
        KEPT.load(Relaxed) > self.most
    }

    /// Returns whether a request has been refused since the last call.
    pub(crate) fn was_exhausted(&self) -> bool {
        self.exhausted.swap(false, Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_free_again() {
        let room = Room { most: u64::MAX / 2, exhausted: AtomicBool::new(false) };
        assert!(room.take(1 << 40).is_some() && !room.was_exhausted());
        assert!(room.take(u64::MAX / 2 + 1).is_none() && room.was_exhausted());
        // A refused request does not count as usage.
        assert!(room.take(1 << 40).is_some());
    }
}
