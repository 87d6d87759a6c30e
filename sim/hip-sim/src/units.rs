//! Sets of compute units as device resources, and their splitting.
//!
//! The program keeps and copies resources, so a resource carries all its state in the bytes that C leaves to the
//! runtime: its device, the split that it comes from, and its units. An invented or modified resource is recognised.

use std::ffi::c_int;

use hip_sys::rocm_7_2::{hipError_t, hipErrorInvalidValue};

use crate::status::{Refusal, ensure};

/// `hipErrorInvalidResourceType`, added in HIP 10.0.
pub(crate) const INVALID_RESOURCE_TYPE: hipError_t = hipError_t(914);
/// `hipErrorInvalidResourceConfiguration`, added in HIP 10.0.
pub(crate) const INVALID_RESOURCE_CONFIGURATION: hipError_t = hipError_t(915);

/// `hipDevResourceTypeInvalid`.
pub(crate) const TYPE_INVALID: u32 = 0;
/// `hipDevResourceTypeSm`.
pub(crate) const TYPE_UNITS: u32 = 1;
/// `hipDevResourceTypeWorkqueueConfig`.
pub(crate) const TYPE_WORK_QUEUES: u32 = 1000;

/// `hipDevSmResourceGroupBackfill`.
pub(crate) const BACKFILL: u32 = 1;

/// The number of CUs that are scheduled together. gfx90a and gfx942 have no workgroup processors, so it is 1.
pub(crate) const ALIGNMENT: u32 = 1;

/// Marks a resource as created by the runtime.
const MAGIC: u32 = 0x5573_6571;
const WORDS: usize = 20;

/// A set of compute unit numbers, 640 at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnitSet([u32; WORDS]);

impl UnitSet {
    /// The maximum number of units in a set. Further units of a device are in no resource.
    pub(crate) const MOST: u32 = 32 * WORDS as u32;

    /// The units from 0 up to `count`.
    pub(crate) fn first(count: u32) -> Self {
        let mut set = Self::default();
        for unit in 0..count.min(Self::MOST) {
            set.0[unit as usize / 32] |= 1 << (unit % 32);
        }
        set
    }

    /// The units of the set that a bit mask selects. Unit 0 is bit 0 of the first word.
    pub(crate) fn masked(&self, mask: &[u32]) -> Self {
        let mut set = *self;
        for (index, word) in set.0.iter_mut().enumerate() {
            *word &= mask.get(index).copied().unwrap_or(0);
        }
        set
    }

    pub(crate) fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Removes the `count` lowest units and returns them.
    pub(crate) fn take(&mut self, count: u32) -> Self {
        let mut taken = Self::default();
        let mut left = count;
        for (from, to) in self.0.iter_mut().zip(&mut taken.0) {
            while left > 0 && *from != 0 {
                let lowest = *from & from.wrapping_neg();
                *from ^= lowest;
                *to |= lowest;
                left -= 1;
            }
        }
        taken
    }

    pub(crate) fn union(&self, other: &Self) -> Self {
        let mut union = *self;
        union.0.iter_mut().zip(other.0).for_each(|(word, other)| *word |= other);
        union
    }

    /// A word of the set as a bit mask. Unit 0 is bit 0 of the first word.
    pub(crate) fn word(&self, index: usize) -> u32 {
        self.0.get(index).copied().unwrap_or(0)
    }
}

/// `hipDevResource`, in its layout of HIP 10.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct DevResource {
    pub(crate) kind: u32,
    magic: u32,
    device: u32,
    family: u32,
    units: UnitSet,
    /// C's union. For units: their number, the smallest partition, the alignment and flags. For work queues: device,
    /// limit and scope.
    body: [u32; 10],
    pub(crate) next: *mut DevResource,
}

const _: () = {
    assert!(size_of::<DevResource>() == 144);
    assert!(std::mem::offset_of!(DevResource, body) == 96);
};

/// `hipDevSmResourceGroupParams`, in its layout of HIP 10.0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GroupParams {
    pub(crate) count: u32,
    pub(crate) coscheduled: u32,
    pub(crate) preferred_coscheduled: u32,
    pub(crate) flags: u32,
    pub(crate) reserved: [u32; 12],
}

impl DevResource {
    /// A resource of the invalid type.
    pub(crate) fn none() -> Self {
        Self {
            kind: TYPE_INVALID,
            magic: 0,
            device: 0,
            family: 0,
            units: UnitSet::default(),
            body: [0; 10],
            next: std::ptr::null_mut(),
        }
    }
}

/// Compute units of a device (`hipDevSmResource`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Units {
    pub(crate) device: usize,
    /// The split that it comes from; 0 for a device's own units.
    pub(crate) family: u32,
    pub(crate) set: UnitSet,
    pub(crate) alignment: u32,
    pub(crate) flags: u32,
}

impl Units {
    /// All `count` units of a device.
    pub(crate) fn of_device(device: usize, count: u32) -> Self {
        Self { device, family: 0, set: UnitSet::first(count), alignment: ALIGNMENT, flags: 0 }
    }

    /// Decodes `resource`, which must be of compute units.
    pub(crate) fn read(resource: &DevResource) -> Result<Self, Refusal> {
        ensure(resource.kind == TYPE_UNITS, INVALID_RESOURCE_TYPE)?;
        let [count, _, alignment, flags, ..] = resource.body;
        if resource.magic != MAGIC || count != resource.units.count() || count == 0 || alignment == 0 {
            return Err(Refusal::new(
                INVALID_RESOURCE_CONFIGURATION,
                "a resource of compute units that does not come from a device, a stream, a context or a split, or was changed since",
            ));
        }
        Ok(Self { device: resource.device as usize, family: resource.family, set: resource.units, alignment, flags })
    }

    pub(crate) fn write(&self) -> DevResource {
        let mut body = [0; 10];
        body[..4].copy_from_slice(&[self.set.count(), self.alignment, self.alignment, self.flags]);
        DevResource {
            kind: TYPE_UNITS,
            magic: MAGIC,
            device: self.device as u32,
            family: self.family,
            units: self.set,
            body,
            ..DevResource::none()
        }
    }

    /// The size of equal groups with at least `least` units.
    fn group_size(&self, least: u32) -> Option<u32> {
        least.max(1).checked_next_multiple_of(self.alignment)
    }

    /// The maximum number of groups of at least `least` units.
    pub(crate) fn even_groups(&self, least: u32) -> u32 {
        self.group_size(least).map_or(0, |size| self.set.count() / size)
    }

    /// Splits off at most `most` equal groups of at least `least` units.
    pub(crate) fn split_evenly(&self, most: u32, least: u32, family: u32) -> Split {
        let groups = self.even_groups(least).min(most);
        let size = self.group_size(least).unwrap_or(0);
        let mut left = self.set;
        let part = |set| Self { family, set, flags: 0, ..*self };
        Split { groups: (0..groups).map(|_| part(left.take(size))).collect(), remainder: rest(part(left)) }
    }

    /// Splits off groups as `params` specifies, in order, and stores the chosen values there. A dry run may succeed
    /// where a real split fails.
    pub(crate) fn split(&self, params: &mut [GroupParams], dry: bool, family: u32) -> Result<Split, Refusal> {
        let total = self.set.count();
        let refused = |text: String| Refusal::new(INVALID_RESOURCE_CONFIGURATION, text);
        for (index, group) in params.iter_mut().enumerate() {
            ensure(group.flags & !BACKFILL == 0, hipErrorInvalidValue)?;
            if group.coscheduled == 0 {
                group.coscheduled = self.alignment;
            }
            if group.preferred_coscheduled == 0 {
                group.preferred_coscheduled = group.coscheduled;
            }
            if group.count != 0 && !(self.alignment..=total).contains(&group.count) {
                let text = format!("group {index}: {} compute units, of {} to {total}", group.count, self.alignment);
                return Err(refused(text));
            }
        }
        let mut free = total;
        for (index, group) in params.iter_mut().enumerate() {
            if group.count == 0 {
                let backfill = group.flags & BACKFILL != 0;
                group.count = if backfill { free } else { free / group.coscheduled * group.coscheduled };
            }
            free = free.checked_sub(group.count).ok_or_else(|| {
                refused(format!("group {index}: {} compute units, of {free} that are left", group.count))
            })?;
        }
        let mut left = self.set;
        let mut groups = Vec::new();
        for (index, group) in params.iter().enumerate() {
            let whole = group.count % group.coscheduled == 0 || group.flags & BACKFILL != 0;
            if !dry && (group.count < group.coscheduled || !whole) {
                let text = format!("group {index}: {} compute units in steps of {}", group.count, group.coscheduled);
                return Err(refused(text));
            }
            let set = left.take(group.count);
            groups.push(Self { family, set, alignment: group.coscheduled, flags: group.flags, ..*self });
        }
        Ok(Split { groups, remainder: rest(Self { family, set: left, flags: 0, ..*self }) })
    }
}

fn rest(units: Units) -> Option<Units> {
    (units.set.count() > 0).then_some(units)
}

/// The result of a split.
#[derive(Debug)]
pub(crate) struct Split {
    pub(crate) groups: Vec<Units>,
    /// The units in no group, if there are any.
    pub(crate) remainder: Option<Units>,
}

/// The expected number of concurrently active streams of a context (`hipDevWorkqueueConfigResource`): a hint without
/// effect here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorkQueues {
    pub(crate) device: c_int,
    pub(crate) limit: u32,
    /// 0: shared by all contexts of the device; 1: separate if possible.
    pub(crate) scope: u32,
}

impl WorkQueues {
    /// Decodes `resource`, which must be of this kind.
    pub(crate) fn read(resource: &DevResource) -> Result<Self, Refusal> {
        let [device, limit, scope, ..] = resource.body;
        ensure(scope <= 1, INVALID_RESOURCE_CONFIGURATION)?;
        Ok(Self { device: device as c_int, limit, scope })
    }

    pub(crate) fn write(&self) -> DevResource {
        let mut body = [0; 10];
        body[..3].copy_from_slice(&[self.device as u32, self.limit, self.scope]);
        DevResource { kind: TYPE_WORK_QUEUES, body, ..DevResource::none() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 units that are scheduled in pairs.
    fn pairs() -> Units {
        Units { alignment: 2, ..Units::of_device(0, 10) }
    }

    fn group(count: u32, coscheduled: u32, flags: u32) -> GroupParams {
        GroupParams { count, coscheduled, flags, ..GroupParams::default() }
    }

    fn counts(split: &Split) -> (Vec<u32>, u32) {
        let sizes = split.groups.iter().map(|group| group.set.count()).collect();
        (sizes, split.remainder.as_ref().map_or(0, |rest| rest.set.count()))
    }

    /// Returns whether the parts are disjoint and cover all units.
    fn is_partition(of: &Units, split: &Split) -> bool {
        let parts = split.groups.iter().chain(&split.remainder);
        let union = parts.clone().fold(UnitSet::default(), |all, part| all.union(&part.set));
        union == of.set && parts.map(|part| part.set.count()).sum::<u32>() == of.set.count()
    }

    #[test]
    fn a_set_gives_its_lowest_units() {
        let mut set = UnitSet::first(70);
        assert_eq!(set.count(), 70);
        let low = set.take(40);
        assert_eq!((low.count(), set.count()), (40, 30));
        assert_eq!((low.word(0), low.word(1), set.word(1), set.word(2)), (u32::MAX, 0xff, 0xffff_ff00, 0x3f));
        assert_eq!(set.take(100).count(), 30);
        assert_eq!(UnitSet::first(10_000).count(), UnitSet::MOST);
    }

    #[test]
    fn equal_groups_are_rounded_up_and_as_many_as_fit() {
        let units = pairs();
        for (most, least, sizes, rest) in [
            (9, 2, vec![2; 5], 0),
            (2, 2, vec![2; 2], 6),
            (9, 3, vec![4; 2], 2),
            (9, 0, vec![2; 5], 0),
            (9, 10, vec![10], 0),
            (9, 11, vec![], 10),
            (9, u32::MAX, vec![], 10),
        ] {
            let split = units.split_evenly(most, least, 7);
            assert_eq!(counts(&split), (sizes, rest), "{most} of {least}");
            assert!(is_partition(&units, &split));
            assert!(split.groups.iter().chain(&split.remainder).all(|part| part.family == 7));
        }
        assert_eq!((units.even_groups(3), units.even_groups(11), units.even_groups(u32::MAX)), (2, 0, 0));
    }

    #[test]
    fn groups_get_what_they_ask_for_or_what_is_left() {
        let units = pairs();
        for (mut params, sizes, rest) in [
            (vec![group(4, 0, 0), group(2, 0, 0)], vec![4, 2], 4),
            (vec![group(4, 0, 0), group(0, 0, 0)], vec![4, 6], 0),
            (vec![group(0, 4, 0)], vec![8], 2),
            (vec![group(7, 0, BACKFILL), group(0, 0, BACKFILL)], vec![7, 3], 0),
        ] {
            let split = units.split(&mut params, false, 1).unwrap();
            assert_eq!(counts(&split), (sizes.clone(), rest), "{params:?}");
            assert!(is_partition(&units, &split));
            assert_eq!(params.iter().map(|group| group.count).collect::<Vec<_>>(), sizes, "the choice is told");
            assert!(params.iter().all(|group| group.coscheduled != 0 && group.preferred_coscheduled != 0));
        }
    }

    #[test]
    fn groups_that_cannot_be_are_refused() {
        let units = pairs();
        for params in [
            vec![group(1, 0, 0)],
            vec![group(12, 0, 0)],
            vec![group(u32::MAX, 0, 0)],
            vec![group(3, 0, 0)],
            vec![group(4, u32::MAX, 0)],
            vec![group(8, 0, 0), group(4, 0, 0)],
            vec![group(10, 0, 0), group(0, 0, 0)],
        ] {
            let refusal = units.split(&mut params.clone(), false, 1).unwrap_err();
            assert!(refusal.is(INVALID_RESOURCE_CONFIGURATION), "{params:?}");
        }
        assert!(units.split(&mut [group(2, 0, 6)], false, 1).unwrap_err().is(hipErrorInvalidValue));
        assert!(units.split(&mut [group(3, 0, 0)], true, 1).is_ok(), "a dry run takes what a real one does not");
    }

    #[test]
    fn a_resource_that_is_not_the_runtimes_is_recognised() {
        let units = pairs();
        let resource = units.write();
        assert_eq!(Units::read(&resource).unwrap(), units);
        for spoil in [
            (|r: &mut DevResource| r.magic = 0) as fn(&mut DevResource),
            |r| r.body[0] = 3,
            |r| r.body[2] = 0,
            |r| r.units = UnitSet::default(),
        ] {
            let mut changed = resource;
            spoil(&mut changed);
            assert!(Units::read(&changed).unwrap_err().is(INVALID_RESOURCE_CONFIGURATION));
        }
        assert!(Units::read(&DevResource::none()).unwrap_err().is(INVALID_RESOURCE_TYPE));
    }
}
