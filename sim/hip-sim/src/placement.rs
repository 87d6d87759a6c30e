//! Advice about managed memory: preferred location and accessing devices. It only changes the values that queries
//! return.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The advice for a range of bytes. Locations are device ordinals, or [`HOST`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) read_mostly: bool,
    pub(crate) coarse_grained: bool,
    pub(crate) preferred: Option<i32>,
    pub(crate) last_prefetch: Option<i32>,
    pub(crate) accessed_by: Vec<i32>,
}

/// `hipCpuDeviceId`.
pub(crate) const HOST: i32 = -1;

/// Placements by the start of their range, with the range's end. The ranges do not overlap.
#[derive(Default)]
pub(crate) struct Placements(Mutex<BTreeMap<u64, (u64, Placement)>>);

impl Placements {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, (u64, Placement)>> {
        // The ranges are consistent whenever the lock is released.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the placement of the bytes from `start` up to `end`.
    pub(crate) fn change(&self, start: u64, end: u64, change: impl Fn(&mut Placement)) {
        let mut ranges = self.lock();
        split(&mut ranges, start);
        split(&mut ranges, end);
        let mut at = start;
        while at < end {
            let next = ranges.range(at..end).next().map(|(first, _)| *first);
            if next == Some(at) {
                if let Some((stop, placement)) = ranges.get_mut(&at) {
                    change(placement);
                    at = *stop;
                    continue;
                }
            }
            let stop = next.unwrap_or(end);
            let mut placement = Placement::default();
            change(&mut placement);
            ranges.insert(at, (stop, placement));
            at = stop;
        }
    }

    /// Returns `ask` of the placement of the bytes from `start` up to `end`; `None` if it differs between them.
    pub(crate) fn common<T: PartialEq>(&self, start: u64, end: u64, ask: impl Fn(&Placement) -> T) -> Option<T> {
        let mut ranges = self.lock();
        split(&mut ranges, start);
        split(&mut ranges, end);
        let mut answers = Vec::new();
        let mut at = start;
        for (first, (stop, placement)) in ranges.range(start..end) {
            if *first > at {
                answers.push(ask(&Placement::default()));
            }
            answers.push(ask(placement));
            at = *stop;
        }
        if at < end {
            answers.push(ask(&Placement::default()));
        }
        let first = answers.pop()?;
        answers.iter().all(|other| *other == first).then_some(first)
    }

    /// Removes the placement of bytes that have become new memory.
    pub(crate) fn forget(&self, start: u64, end: u64) {
        let mut ranges = self.lock();
        split(&mut ranges, start);
        split(&mut ranges, end);
        let gone: Vec<u64> = ranges.range(start..end).map(|(first, _)| *first).collect();
        gone.iter().for_each(|first| drop(ranges.remove(first)));
    }
}

/// Splits the range that contains `at`, so that a range starts there.
fn split(ranges: &mut BTreeMap<u64, (u64, Placement)>, at: u64) {
    let Some((_, (end, placement))) = ranges.range_mut(..at).next_back() else { return };
    if *end > at {
        let second = (*end, placement.clone());
        *end = at;
        ranges.insert(at, second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_changed_in_parts_and_asked_for_together() {
        let placements = Placements::default();
        let preferred = |start, end| placements.common(start, end, |p| p.preferred);
        assert_eq!(preferred(0, 100), Some(None));
        placements.change(10, 90, |p| p.preferred = Some(1));
        placements.change(40, 60, |p| p.read_mostly = true);
        assert_eq!((preferred(10, 90), preferred(0, 90), preferred(10, 91)), (Some(Some(1)), None, None));
        let mostly = |start, end| placements.common(start, end, |p| p.read_mostly);
        assert_eq!((mostly(40, 60), mostly(39, 60), mostly(60, 200)), (Some(true), None, Some(false)));
        placements.change(0, 100, |p| p.preferred = Some(2));
        assert_eq!((preferred(0, 100), mostly(40, 60)), (Some(Some(2)), Some(true)));
        placements.forget(50, 100);
        assert_eq!((preferred(50, 100), preferred(0, 50), mostly(40, 50)), (Some(None), Some(Some(2)), Some(true)));
    }
}
