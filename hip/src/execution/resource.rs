//! Device resources: compute units, splits of them, and work queues.

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

/// A set of compute units of a device (`hipDevResource` with a `hipDevSmResource`): all units, a group of a split, or
/// the units of a stream or context. An [`ExecutionContext`](crate::execution::ExecutionContext) is created from such
/// sets.
///
/// It only names the units, and does not reserve them.
#[derive(Clone)]
pub struct ComputeUnits {
    /// Contains no pointer: its `nextResource` is null.
    raw: hipDevResource_st,
    device: Device,
    /// The number of the split that it comes from; 0 for none.
    split: u64,
}

// SAFETY: plain numbers; the only pointer in it is null.
unsafe impl Send for ComputeUnits {}
// SAFETY: as above.
unsafe impl Sync for ComputeUnits {}

/// The requested size and form of a group of a [split](ComputeUnits::split) (`hipDevSmResourceGroupParams`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UnitGroup {
    count: Option<u32>,
    coscheduled: u32,
    preferred_coscheduled: u32,
    backfill: bool,
}

/// The result of a split: disjoint groups.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UnitSplit {
    /// The groups, in order.
    pub groups: Vec<ComputeUnits>,
    /// The units that are in no group, if there are any.
    pub remainder: Option<ComputeUnits>,
}

/// The expected number of concurrently active streams of an execution context (`hipDevWorkqueueConfigResource`): a hint
/// for the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkQueues {
    device: Device,
    concurrency: u32,
    balanced: bool,
}

impl UnitGroup {
    const ANY: Self = Self { count: None, coscheduled: 0, preferred_coscheduled: 0, backfill: false };

    /// Requests a group of `count` units, a multiple of the [alignment](ComputeUnits::alignment).
    #[must_use]
    pub const fn new(count: u32) -> Self {
        Self { count: Some(count), ..Self::ANY }
    }

    /// Requests a group of all units that earlier groups have left, rounded down to the alignment.
    #[must_use]
    pub const fn remaining() -> Self {
        Self::ANY
    }

    /// Sets the minimum number of units that are scheduled together, for thread block clusters of that size. The group
    /// is a multiple of it. The default is the device's [alignment](ComputeUnits::alignment).
    #[must_use]
    pub const fn coscheduled(mut self, count: u32) -> Self {
        self.coscheduled = count;
        self
    }

    /// Sets the preferred number of units that are scheduled together: a hint.
    #[must_use]
    pub const fn preferred_coscheduled(mut self, count: u32) -> Self {
        self.preferred_coscheduled = count;
        self
    }

    /// Sets whether the group may have units that are not scheduled together with as many others
    /// (`hipDevSmResourceGroupBackfill`), which allows any count.
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
    /// Returns all units of a device that the program may use (`hipDeviceGetDevResource`).
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

    /// Returns `None` for a resource of no units.
    pub(crate) fn from_raw(mut raw: hipDevResource_st, device: Device, split: u64) -> Option<Self> {
        raw.nextResource = ptr::null_mut();
        let units = Self { raw, device, split };
        (raw.type_ == hip_sys::hipDevResourceTypeSm && units.count() > 0).then_some(units)
    }

    pub(super) fn to_raw(&self) -> hipDevResource_st {
        self.raw
    }

    fn body(&self) -> hip_sys::hipDevSmResource {
        // SAFETY: plain numbers, for which all bytes are valid; the type says that this variant is set.
        unsafe { self.raw.anon_1.sm }
    }

    /// Returns the number of units (`smCount`).
    #[must_use]
    pub fn count(&self) -> u32 {
        self.body().smCount
    }

    /// Returns the minimum size of a group (`minSmPartitionSize`).
    #[must_use]
    pub fn min_part(&self) -> u32 {
        self.body().minSmPartitionSize
    }

    /// Returns the number of units that are scheduled together (`smCoscheduledAlignment`): a group has a multiple of
    /// it. 2 where units come in workgroup processors, else 1.
    #[must_use]
    pub fn alignment(&self) -> u32 {
        self.body().smCoscheduledAlignment
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the number of groups of at least `min_count` units that fit (`hipDevSmResourceSplitByCount`).
    ///
    /// # Errors
    /// Those of [`split_evenly`](Self::split_evenly).
    #[doc(alias("hipDevSmResourceSplitByCount", "cuDevSmResourceSplitByCount", "cudaDevSmResourceSplitByCount"))]
    pub fn max_groups(&self, min_count: u32) -> Result<u32> {
        self.expect_splittable(min_count)?;
        let mut groups = 0;
        // SAFETY: `groups` is valid for a write, the resource for a read. Null asks for the number only.
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

    /// Splits off `groups` groups of the same size, at least `min_count`, rounded up as the device requires
    /// (`hipDevSmResourceSplitByCount`). Returns fewer groups if no more fit.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for no groups, for no units or more than available, and for the result of another split:
    /// make an [`ExecutionContext`](crate::execution::ExecutionContext) of that, whose
    /// [units](crate::execution::ExecutionContext::compute_units) can be split.
    #[doc(alias("hipDevSmResourceSplitByCount", "cuDevSmResourceSplitByCount", "cudaDevSmResourceSplitByCount"))]
    pub fn split_evenly(&self, groups: u32, min_count: u32) -> Result<UnitSplit> {
        self.expect_splittable(min_count)?;
        if groups == 0 {
            return Err(no_groups());
        }
        // A group has at least one unit.
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

    /// Splits off groups of different sizes, in their order (`hipDevSmResourceSplit`). Creates either all of them or
    /// none.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for no groups; for a group that is empty, larger than the remaining units or not a
    /// multiple of the number of units scheduled together; and for the result of another split, as for
    /// [`split_evenly`](Self::split_evenly).
    #[doc(alias("hipDevSmResourceSplit", "cuDevSmResourceSplit", "cudaDevSmResourceSplit"))]
    pub fn split(&self, groups: &[UnitGroup]) -> Result<UnitSplit> {
        self.expect_splittable(1)?;
        if groups.is_empty() {
            return Err(no_groups());
        }
        let mut left = self.count();
        for group in groups {
            let Some(count) = group.count else {
                // A group of the remaining units: the runtime determines its size.
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

    /// Returns the number that a group's size must be a multiple of.
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

    /// Returns the device, if one context can have all these units.
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
    /// Expects about `concurrency` concurrently active streams, on queues that all contexts of the device share.
    #[must_use]
    pub const fn new(device: Device, concurrency: u32) -> Self {
        Self { device, concurrency, balanced: false }
    }

    /// Sets whether the queues should be separate from those of other contexts, if possible
    /// (`hipDevWorkqueueConfigScopeGreenCtxBalanced`).
    #[must_use]
    pub const fn balanced(mut self, balanced: bool) -> Self {
        self.balanced = balanced;
        self
    }

    /// Returns the work queues of a device (`hipDeviceGetDevResource`).
    ///
    /// # Errors
    /// The runtime's status if it does not report them (`hipErrorInvalidResourceType`); [`Error::NoSymbol`] before
    /// 10.0.
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

    /// Returns the device.
    #[must_use]
    pub const fn device(&self) -> Device {
        self.device
    }

    /// Returns the expected number of concurrently active streams.
    #[must_use]
    pub const fn concurrency(&self) -> u32 {
        self.concurrency
    }

    /// Returns whether the queues should be separate from those of other contexts.
    #[must_use]
    pub const fn is_balanced(&self) -> bool {
        self.balanced
    }

    pub(super) fn from_raw(raw: &hipDevResource_st, device: Device) -> Self {
        // SAFETY: plain numbers, for which all bytes are valid; the caller asked for this type.
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
