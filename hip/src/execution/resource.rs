//! Device resources: compute units and how they are split, and work queues.

use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use hip_sys::{
    hipDevResource_st, hipDevSmResourceGroupBackfill, hipDevSmResourceGroupDefault, hipDevSmResourceGroupParams_st,
    hipDevWorkqueueConfigResource, hipDevWorkqueueConfigScopeDeviceCtx, hipDevWorkqueueConfigScopeGreenCtxBalanced,
};

use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};

/// Some compute units of a device (`hipDevResource` with a `hipDevSmResource`): all of them, a part that was split off, or those of a
/// stream or context. An [`ExecutionContext`](crate::execution::ExecutionContext) is made of such.
///
/// It says which units, and holds none of them.
#[derive(Clone)]
pub struct ComputeUnits {
    /// Refers to nothing: its `nextResource` is null.
    raw: hipDevResource_st,
    device: Device,
    /// The split that it comes from; 0 for none.
    split: u64,
}

// SAFETY: numbers; the one pointer in it is null.
unsafe impl Send for ComputeUnits {}
// SAFETY: as above.
unsafe impl Sync for ComputeUnits {}

/// What a group of a [split](ComputeUnits::split) should be (`hipDevSmResourceGroupParams`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UnitGroup {
    count: Option<u32>,
    coscheduled: u32,
    preferred_coscheduled: u32,
    backfill: bool,
}

/// What a split gives: groups that have no unit in common.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UnitSplit {
    /// The groups, in order.
    pub groups: Vec<ComputeUnits>,
    /// The units in none of them, if there are any.
    pub remainder: Option<ComputeUnits>,
}

/// How many streams of an execution context are expected to work at a time (`hipDevWorkqueueConfigResource`): a hint for the
/// runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkQueues {
    device: Device,
    concurrency: u32,
    balanced: bool,
}

impl UnitGroup {
    const ANY: Self = Self { count: None, coscheduled: 0, preferred_coscheduled: 0, backfill: false };

    /// A group of `count` units, a multiple of the [alignment](ComputeUnits::alignment).
    #[must_use]
    pub const fn new(count: u32) -> Self {
        Self { count: Some(count), ..Self::ANY }
    }

    /// A group of as many units as are left when its turn comes, in whole alignments.
    #[must_use]
    pub const fn remaining() -> Self {
        Self::ANY
    }

    /// Units that are scheduled together at least, for thread block clusters of that size; the group is a multiple of it. The default is the
    /// device's [alignment](ComputeUnits::alignment).
    #[must_use]
    pub const fn coscheduled(mut self, count: u32) -> Self {
        self.coscheduled = count;
        self
    }

    /// Units that are better scheduled together, where that can be: a hint.
    #[must_use]
    pub const fn preferred_coscheduled(mut self, count: u32) -> Self {
        self.preferred_coscheduled = count;
        self
    }

    /// Whether the group may have units that are not scheduled together with as many others (`hipDevSmResourceGroupBackfill`), and so any
    /// count.
    #[must_use]
    pub const fn backfill(mut self, backfill: bool) -> Self {
        self.backfill = backfill;
        self
    }

    fn raw(self) -> hipDevSmResourceGroupParams_st {
        let flags = if self.backfill { hipDevSmResourceGroupBackfill } else { hipDevSmResourceGroupDefault };
        hipDevSmResourceGroupParams_st {
            smCount: self.count.unwrap_or(0),
            coscheduledSmCount: self.coscheduled,
            preferredCoscheduledSmCount: self.preferred_coscheduled,
            flags: flags.0,
            ..Default::default()
        }
    }
}

impl ComputeUnits {
    /// All units of a device that the program may use (`hipDeviceGetDevResource`).
    ///
    /// # Errors
    /// [`Error::NoSymbol`] from a runtime before 10.0.
    #[doc(alias("hipDeviceGetDevResource", "cuDeviceGetDevResource", "cudaDeviceGetDevResource"))]
    pub fn for_device(device: &Device) -> Result<Self> {
        device.activate()?;
        let mut raw = hipDevResource_st::default();
        // SAFETY: `raw` is valid for a write.
        let status = unsafe { hip_sys::hipDeviceGetDevResource(device.raw(), &mut raw, hip_sys::hipDevResourceTypeSm) };
        check(status, "hipDeviceGetDevResource", || format!("the compute units of device {}", device.index()))?;
        Self::from_raw(raw, *device, 0).ok_or_else(|| Error::Unsupported {
            what: "a resource of compute units",
            reason: format!("device {} gives none", device.index()),
        })
    }

    /// `None` for a resource of no units.
    pub(crate) fn from_raw(mut raw: hipDevResource_st, device: Device, split: u64) -> Option<Self> {
        raw.nextResource = ptr::null_mut();
        let units = Self { raw, device, split };
        (raw.type_ == hip_sys::hipDevResourceTypeSm && units.count() > 0).then_some(units)
    }

    pub(super) fn to_raw(&self) -> hipDevResource_st {
        self.raw
    }

    fn body(&self) -> hip_sys::hipDevSmResource {
        // SAFETY: numbers, of which any bytes are some; the type says that these are what is there.
        unsafe { self.raw.anon_1.sm }
    }

    /// How many there are (`smCount`).
    #[must_use]
    pub fn count(&self) -> u32 {
        self.body().smCount
    }

    /// The fewest that a part can have (`minSmPartitionSize`).
    #[must_use]
    pub fn min_part(&self) -> u32 {
        self.body().minSmPartitionSize
    }

    /// How many are scheduled together (`smCoscheduledAlignment`): parts have a multiple of it. 2 where units come in workgroup processors, else 1.
    #[must_use]
    pub fn alignment(&self) -> u32 {
        self.body().smCoscheduledAlignment
    }

    /// The device that they are of.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// How many groups of at least `min_count` units there can be (`hipDevSmResourceSplitByCount`).
    ///
    /// # Errors
    /// Those of [`split_evenly`](Self::split_evenly).
    #[doc(alias("hipDevSmResourceSplitByCount", "cuDevSmResourceSplitByCount", "cudaDevSmResourceSplitByCount"))]
    pub fn max_groups(&self, min_count: u32) -> Result<u32> {
        self.expect_splittable(min_count)?;
        let mut groups = 0;
        // SAFETY: `groups` is valid for a write, the resource for a read. There is no result to write to.
        let status = unsafe {
            hip_sys::hipDevSmResourceSplitByCount(
                ptr::null_mut(),
                &mut groups,
                &self.raw,
                ptr::null_mut(),
                0,
                min_count,
            )
        };
        check(status, "hipDevSmResourceSplitByCount", || format!("groups of {min_count} of {self:?}"))?;
        Ok(groups)
    }

    /// Splits off `groups` groups of the same size, which is at least `min_count`, rounded up as the device needs it
    /// (`hipDevSmResourceSplitByCount`). There are fewer groups where no more fit.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for no groups, for no units or more than there are, and for what comes from a split itself: make an
    /// [`ExecutionContext`](crate::execution::ExecutionContext) of that, whose [units](crate::execution::ExecutionContext::compute_units) can be split.
    #[doc(alias("hipDevSmResourceSplitByCount", "cuDevSmResourceSplitByCount", "cudaDevSmResourceSplitByCount"))]
    pub fn split_evenly(&self, groups: u32, min_count: u32) -> Result<UnitSplit> {
        self.expect_splittable(min_count)?;
        if groups == 0 {
            return Err(no_groups());
        }
        // A group has a unit at least.
        let mut found = groups.min(self.count());
        let mut raw = vec![hipDevResource_st::default(); found as usize];
        let mut rest = hipDevResource_st::default();
        // SAFETY: `raw` has room for `found` groups; the others are valid for a write, and the resource for a read.
        let status = unsafe {
            hip_sys::hipDevSmResourceSplitByCount(raw.as_mut_ptr(), &mut found, &self.raw, &mut rest, 0, min_count)
        };
        check(status, "hipDevSmResourceSplitByCount", || format!("{groups} groups of {min_count} of {self:?}"))?;
        raw.truncate(found as usize);
        Ok(self.parts(raw, rest))
    }

    /// Splits off groups of different sizes, in their order (`hipDevSmResourceSplit`): all of them, or none.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for no groups, for one that is empty, larger than what is left or no multiple of what is scheduled
    /// together, and for what comes from a split itself, as for [`split_evenly`](Self::split_evenly).
    #[doc(alias("hipDevSmResourceSplit", "cuDevSmResourceSplit", "cudaDevSmResourceSplit"))]
    pub fn split(&self, groups: &[UnitGroup]) -> Result<UnitSplit> {
        self.expect_splittable(1)?;
        if groups.is_empty() {
            return Err(no_groups());
        }
        let mut left = self.count();
        for group in groups {
            let Some(count) = group.count else {
                // The rest: how much, the runtime decides.
                left = if group.backfill { 0 } else { left % self.step(group) };
                continue;
            };
            let step = if group.backfill { 1 } else { self.step(group) };
            if count == 0 || count % step != 0 || count > left {
                return Err(Error::InvalidValue {
                    what: "the compute units of a group",
                    value: count.to_string(),
                    allowed: format!("a multiple of {step} from {step} to {left}, which are left"),
                });
            }
            left -= count;
        }
        let mut params: Vec<_> = groups.iter().map(|group| group.raw()).collect();
        let mut raw = vec![hipDevResource_st::default(); groups.len()];
        let mut rest = hipDevResource_st::default();
        let count = u32::try_from(groups.len()).unwrap_or(u32::MAX);
        // SAFETY: there are `count` groups to read and as many to write to; `rest` is valid for a write and the resource for a read.
        let status = unsafe {
            hip_sys::hipDevSmResourceSplit(raw.as_mut_ptr(), count, &self.raw, &mut rest, 0, params.as_mut_ptr())
        };
        check(status, "hipDevSmResourceSplit", || format!("{groups:?} of {self:?}"))?;
        Ok(self.parts(raw, rest))
    }

    /// What the units of a group are a multiple of.
    fn step(&self, group: &UnitGroup) -> u32 {
        let step = if group.coscheduled == 0 { self.alignment() } else { group.coscheduled };
        step.max(1)
    }

    fn parts(&self, groups: Vec<hipDevResource_st>, rest: hipDevResource_st) -> UnitSplit {
        static SPLITS: AtomicU64 = AtomicU64::new(0);
        let split = SPLITS.fetch_add(1, Ordering::Relaxed) + 1;
        let part = |raw| Self::from_raw(raw, self.device, split);
        UnitSplit { groups: groups.into_iter().filter_map(part).collect(), remainder: part(rest) }
    }

    fn expect_splittable(&self, min_count: u32) -> Result<()> {
        if self.split != 0 {
            return Err(Error::InvalidValue {
                what: "the compute units to split",
                value: "the result of a split".to_owned(),
                allowed: "those of a device, a stream or an execution context: make a context of them first".to_owned(),
            });
        }
        if !(1..=self.count()).contains(&min_count) {
            return Err(Error::InvalidValue {
                what: "the compute units of a group",
                value: min_count.to_string(),
                allowed: format!("from 1 to {}, which there are", self.count()),
            });
        }
        self.device.activate()
    }

    /// The device of units that one context can have together.
    pub(super) fn expect_mergeable(units: &[Self]) -> Result<Device> {
        let refused = |value: &str, allowed: &str| {
            Err(Error::InvalidValue {
                what: "the compute units of an execution context",
                value: value.to_owned(),
                allowed: allowed.to_owned(),
            })
        };
        let Some((first, others)) = units.split_first() else {
            return refused("no groups", "one group, or several of one split");
        };
        for other in others {
            first.device.expect(other.device, "a group of compute units")?;
            if first.split == 0 || first.split != other.split {
                return refused("groups that are not of one split", "one group, or several of one split");
            }
            if first.alignment() != other.alignment() {
                return refused("groups with different alignments", "groups with the same alignment");
            }
        }
        Ok(first.device)
    }
}

fn no_groups() -> Error {
    Error::InvalidValue {
        what: "the groups to split compute units into",
        value: "none".to_owned(),
        allowed: "at least one".to_owned(),
    }
}

impl fmt::Debug for ComputeUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComputeUnits")
            .field("device", &self.device.index())
            .field("count", &self.count())
            .field("alignment", &self.alignment())
            .finish()
    }
}

impl WorkQueues {
    /// For about `concurrency` streams that work at a time, on queues that all contexts of the device share.
    #[must_use]
    pub const fn new(device: Device, concurrency: u32) -> Self {
        Self { device, concurrency, balanced: false }
    }

    /// Whether queues should be apart from those of other contexts, where that can be (`hipDevWorkqueueConfigScopeGreenCtxBalanced`).
    #[must_use]
    pub const fn balanced(mut self, balanced: bool) -> Self {
        self.balanced = balanced;
        self
    }

    /// Those of a device (`hipDeviceGetDevResource`).
    ///
    /// # Errors
    /// The runtime's if it does not tell (`hipErrorInvalidResourceType`); [`Error::NoSymbol`] before 10.0.
    #[doc(alias("hipDeviceGetDevResource", "cuDeviceGetDevResource", "cudaDeviceGetDevResource"))]
    pub fn for_device(device: &Device) -> Result<Self> {
        device.activate()?;
        let mut raw = hipDevResource_st::default();
        let kind = hip_sys::hipDevResourceTypeWorkqueueConfig;
        // SAFETY: `raw` is valid for a write.
        let status = unsafe { hip_sys::hipDeviceGetDevResource(device.raw(), &mut raw, kind) };
        check(status, "hipDeviceGetDevResource", || format!("the work queues of device {}", device.index()))?;
        Ok(Self::from_raw(&raw, *device))
    }

    /// The device that they are of.
    #[must_use]
    pub const fn device(&self) -> Device {
        self.device
    }

    /// Streams that are expected to work at a time.
    #[must_use]
    pub const fn concurrency(&self) -> u32 {
        self.concurrency
    }

    /// Whether they should be apart from those of other contexts.
    #[must_use]
    pub const fn is_balanced(&self) -> bool {
        self.balanced
    }

    pub(super) fn from_raw(raw: &hipDevResource_st, device: Device) -> Self {
        // SAFETY: numbers, of which any bytes are some; the caller asked for this type.
        let body = unsafe { raw.anon_1.wqConfig };
        let balanced = body.sharingScope == hipDevWorkqueueConfigScopeGreenCtxBalanced;
        Self { device, concurrency: body.wqConcurrencyLimit, balanced }
    }

    pub(super) fn to_raw(self) -> hipDevResource_st {
        let mut raw =
            hipDevResource_st { type_: hip_sys::hipDevResourceTypeWorkqueueConfig, ..hipDevResource_st::default() };
        let balanced = self.balanced;
        raw.anon_1.wqConfig = hipDevWorkqueueConfigResource {
            device: self.device.raw(),
            wqConcurrencyLimit: self.concurrency,
            sharingScope: match balanced {
                true => hipDevWorkqueueConfigScopeGreenCtxBalanced,
                false => hipDevWorkqueueConfigScopeDeviceCtx,
            },
        };
        raw
    }
}
