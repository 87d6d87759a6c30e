//! The host's memory that checks take, all of a process together, and the bound for it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::gpu::Config;

/// Bytes that are kept now.
static KEPT: AtomicU64 = AtomicU64::new(0);

/// Bytes that count until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Kept(u64);

impl Kept {
    /// So many, whatever the bound.
    pub(super) fn new(bytes: u64) -> Self {
        KEPT.fetch_add(bytes, Relaxed);
        Self(bytes)
    }

    /// So many more, whatever the bound.
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

/// How much there may be.
#[derive(Debug)]
pub(crate) struct Room {
    most: u64,
    /// Somebody has asked for more.
    exhausted: AtomicBool,
}

impl Room {
    /// As a GPU is configured.
    pub(crate) fn of(config: &Config) -> Self {
        Self {
            most: config.check_memory.unwrap_or_else(|| crate::memory::host::total() / 4),
            exhausted: AtomicBool::new(false),
        }
    }

    /// Bytes that there may be.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// So many bytes, if they are left.
    pub(crate) fn take(&self, bytes: u64) -> Option<Kept> {
        let kept = Kept::new(bytes);
        if self.is_exceeded() {
            self.exhausted.store(true, Relaxed);
            return None;
        }
        Some(kept)
    }

    /// Whether there is more than there may be, by what was counted without being asked for.
    pub(super) fn is_exceeded(&self) -> bool {
        KEPT.load(Relaxed) > self.most
    }

    /// Whether bytes were asked for and not there, since this was asked last.
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
        // What was refused does not count.
        assert!(room.take(1 << 40).is_some());
    }
}
