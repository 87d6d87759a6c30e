//! Memory of the program that is locked for GPUs. Overlapping locks share one entry in the allocation table.

use amdgpu_sim::{AllocKind, Memory};

use super::{pointer, status_of};
use crate::abi::{HSA_STATUS_ERROR_INVALID_ALLOCATION, HSA_STATUS_ERROR_INVALID_ARGUMENT};
use crate::result::Result;

/// The locked ranges.
#[derive(Default)]
pub(super) struct Locks {
    groups: Vec<Group>,
}

/// Overlapping locks, merged to one range.
struct Group {
    base: u64,
    end: u64,
    /// The (address, size) of each lock; duplicates are possible.
    members: Vec<(u64, u64)>,
    /// Parts that now hold other memory: start and end.
    lost: Vec<(u64, u64)>,
}

impl Group {
    /// Unregisters the parts that were not lost.
    fn unregister(mut self, space: &Memory) {
        self.lost.sort_unstable();
        self.lost.push((self.end, self.end));
        let mut at = self.base;
        for (from, to) in self.lost {
            if at < from {
                space.unregister_host_in(at, from - at);
            }
            at = at.max(to);
        }
    }
}

impl Locks {
    /// Locks a range. Returns the range (address, size) that is registered now, and the addresses of the ranges that it
    /// replaces.
    ///
    /// # Safety
    /// As of [`Memory::register_host`].
    pub(super) unsafe fn add(&mut self, space: &Memory, base: u64, size: u64) -> Result<((u64, u64), Vec<u64>)> {
        let end = base.checked_add(size).filter(|_| size > 0 && base > 0).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let overlaps = |group: &Group| group.base < end && base < group.end;
        // The locked memory may have been freed and allocated again by this program.
        let is_whole = space.find(base).is_some_and(|a| a.kind == AllocKind::Registered && end <= a.end());
        let around = |group: &&mut Group| is_whole && group.base <= base && end <= group.end;
        if let Some(group) = self.groups.iter_mut().find(around) {
            group.members.push((base, size));
            return Ok(((group.base, group.end - group.base), Vec::new()));
        }
        let old: Vec<&Group> = self.groups.iter().filter(|group| overlaps(group)).collect();
        let mut new = Group { base, end, members: vec![(base, size)], lost: Vec::new() };
        for group in &old {
            new.base = new.base.min(group.base);
            new.end = new.end.max(group.end);
            new.members.extend(&group.members);
        }
        let gone = old.iter().map(|group| group.base).collect();
        // SAFETY: as the caller vouches, now and for the ranges before.
        let register = |base: u64, end: u64| unsafe { space.register_host_around(pointer(base).cast(), end - base) };
        // Registered in one step, since a running kernel may use previously locked memory. A part of it may belong to something else by
        // now.
        if old.iter().any(|group| !group.lost.is_empty()) || register(new.base, new.end).is_err() {
            space.forget_registrations(base, size);
            register(base, end).map_err(|error| status_of(&error))?;
            (new.base, new.end) = (base, end);
        }
        let range = (new.base, new.end - new.base);
        self.groups.retain(|group| !overlaps(group));
        self.groups.push(new);
        Ok((range, gone))
    }

    /// Removes one lock of this address. Returns the address of a range that is no longer registered.
    pub(super) fn remove(&mut self, space: &Memory, address: u64) -> Result<Option<u64>> {
        for (at, group) in self.groups.iter_mut().enumerate() {
            if let Some(member) = group.members.iter().position(|(base, _)| *base == address) {
                group.members.swap_remove(member);
                if !group.members.is_empty() {
                    return Ok(None);
                }
                let group = self.groups.swap_remove(at);
                let base = group.base;
                group.unregister(space);
                return Ok(Some(base));
            }
        }
        Err(HSA_STATUS_ERROR_INVALID_ALLOCATION)
    }

    /// Marks locked memory in a range as lost if `is_new` says that other memory has replaced it. The locks can still
    /// be removed.
    pub(super) fn lose(&mut self, space: &Memory, (from, to): (u64, u64), is_new: impl Fn((u64, u64)) -> bool) {
        for group in self.groups.iter_mut().filter(|group| group.base < to && from < group.end) {
            let part = (from.max(group.base), to.min(group.end));
            // The new memory there belongs to something else.
            let is_lost = group.lost.iter().any(|(from, to)| *from <= part.0 && part.1 <= *to);
            if !is_lost && is_new(part) {
                space.forget_registrations(part.0, part.1 - part.0);
                group.lost.push(part);
            }
        }
    }

    /// Removes all locks.
    pub(super) fn clear(&mut self, space: &Memory) {
        self.groups.drain(..).for_each(|group| group.unregister(space));
    }
}

#[cfg(test)]
mod tests {
    use amdgpu_sim::{Config, Gpu};

    use super::*;

    #[test]
    fn ranges_that_overlap_are_locked_until_the_last_is_unlocked() {
        let gpu = Gpu::new(Config::default());
        let space = gpu.memory();
        let bytes = vec![0_u8; 4096].leak();
        let base = bytes.as_mut_ptr().expose_provenance() as u64;
        let mut locks = Locks::default();
        let lock = |locks: &mut Locks, from: u64, size: u64| {
            // SAFETY: the bytes are leaked, and no kernel runs.
            unsafe { locks.add(space, base + from, size) }
        };
        assert_eq!(lock(&mut locks, 0, 100).unwrap(), ((base, 100), vec![]));
        assert_eq!(lock(&mut locks, 200, 100).unwrap(), ((base + 200, 100), vec![]));
        assert_eq!(lock(&mut locks, 50, 200).unwrap(), ((base, 300), vec![base, base + 200]));
        assert_eq!(lock(&mut locks, 60, 10).unwrap(), ((base, 300), vec![]));
        assert_eq!(space.find(base + 150).unwrap().size, 300);
        for (from, gone) in [(0, None), (60, None), (200, None), (50, Some(base))] {
            assert_eq!(locks.remove(space, base + from), Ok(gone), "{from}");
        }
        assert!(space.find(base).is_none());
        assert!(locks.remove(space, base).is_err());
        assert!(lock(&mut locks, 0, 0).is_err() && lock(&mut locks, 8, u64::MAX).is_err());
        // Memory inside a locked range is freed and locked again.
        lock(&mut locks, 0, 300).unwrap();
        space.forget_registrations(base + 100, 50);
        assert!(
            space.find(base + 50).is_some() && space.find(base + 120).is_none() && space.find(base + 200).is_some()
        );
        lock(&mut locks, 110, 20).unwrap();
        assert!(space.find(base + 120).is_some());
        for from in [110, 0] {
            locks.remove(space, base + from).unwrap();
        }
        assert!([50, 120, 200].iter().all(|at| space.find(base + at).is_none()));
    }

    #[test]
    fn what_is_lost_of_a_lock_is_let_go_of() {
        let gpu = Gpu::new(Config::default());
        let space = gpu.memory();
        let base = vec![0_u8; 4096].leak().as_mut_ptr().expose_provenance() as u64;
        let mut locks = Locks::default();
        // SAFETY: the bytes are leaked, and no kernel runs.
        let lock = |locks: &mut Locks, from: u64, size: u64| unsafe { locks.add(space, base + from, size) };
        lock(&mut locks, 0, 300).unwrap();
        locks.lose(space, (base + 100, base + 200), |_| false);
        assert!(space.find(base + 150).is_some(), "nothing is lost that is still there");
        locks.lose(space, (base + 100, base + 200), |part| part == (base + 100, base + 200));
        assert!(space.find(base + 50).is_some() && space.find(base + 150).is_none());
        // SAFETY: as above.
        unsafe { space.register_host(pointer(base + 120).cast(), 10) }.unwrap();
        locks.lose(space, (base + 110, base + 190), |_| true);
        assert_eq!(locks.remove(space, base), Ok(Some(base)));
        assert!(space.find(base + 50).is_none() && space.find(base + 250).is_none());
        assert!(space.find(base + 125).is_some(), "somebody else's");
    }
}
