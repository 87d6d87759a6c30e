//! Tracking which bytes of an allocation have been written.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::observe::{Kept, Room};

/// One bit per byte of an allocation.
pub(crate) struct Written(Box<[AtomicU64]>, #[allow(dead_code, reason = "it is kept for its drop")] Kept);

impl Written {
    /// A map of `size` unwritten bytes; `None` if the budget is exhausted or the host has no memory.
    pub(super) fn new(size: u64, room: &Room) -> Option<Self> {
        let words = usize::try_from(size.div_ceil(64)).ok()?;
        let kept = room.take(8 * words as u64)?;
        let mut bits = Vec::new();
        bits.try_reserve_exact(words).ok()?;
        bits.resize_with(words, AtomicU64::default);
        Some(Self(bits.into_boxed_slice(), kept))
    }

    /// Returns whether the byte was written. Bytes beyond the end count as written.
    pub(crate) fn is_written(&self, byte: u64) -> bool {
        self.0.get((byte / 64) as usize).is_none_or(|word| word.load(Relaxed) >> (byte % 64) & 1 == 1)
    }

    /// Marks `len` bytes from `from` on as written.
    pub(crate) fn write(&self, from: u64, len: u64) {
        let end = from.saturating_add(len).min(64 * self.0.len() as u64);
        let mut at = from;
        while at < end {
            let stop = end.min((at / 64 + 1) * 64);
            let mask = u64::MAX >> (64 - (stop - at)) << (at % 64);
            self.0[(at / 64) as usize].fetch_or(mask, Relaxed);
            at = stop;
        }
    }

    /// Copies the state of `len` bytes of `source` from `from` on to the bytes from `to` on.
    pub(super) fn copy(&self, to: u64, source: &Written, from: u64, len: u64) {
        // The ranges may be in the same allocation and overlap.
        let bits: Vec<bool> = (0..len).map(|i| source.is_written(from + i)).collect();
        for (i, written) in bits.into_iter().enumerate() {
            let byte = to + i as u64;
            let Some(word) = self.0.get((byte / 64) as usize) else { return };
            if written {
                word.fetch_or(1 << (byte % 64), Relaxed);
            } else {
                word.fetch_and(!(1 << (byte % 64)), Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_marked_and_copied() {
        let room = Room::of(&crate::Config::default());
        let a = Written::new(200, &room).unwrap();
        a.write(60, 10);
        a.write(128, 64);
        let written: Vec<u64> = (0..200).filter(|i| a.is_written(*i)).collect();
        assert_eq!(written, (60..70).chain(128..192).collect::<Vec<_>>());
        a.copy(62, &a, 60, 20);
        let written: Vec<u64> = (0..100).filter(|i| a.is_written(*i)).collect();
        assert_eq!(written, (60..72).collect::<Vec<_>>());
        a.write(199, 1000);
        assert!(a.is_written(199) && a.is_written(1000));
    }
}
