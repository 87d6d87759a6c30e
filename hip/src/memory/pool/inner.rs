//! The state of a pool, shared by its handles and by all allocations from it; and pools that are kept for reuse.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr;
use std::sync::Arc;

use bytemuck::Pod;
use hip_sys::{
    hipMemPool_t, hipMemPoolAttr, hipMemPoolAttrReleaseThreshold, hipMemPoolReuseAllowInternalDependencies,
    hipMemPoolReuseAllowOpportunistic, hipMemPoolReuseFollowEventDependencies,
};

use super::grants::Grants;
use super::options::{PoolOptions, PoolReuse};
use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::Result;
use crate::core::later;
use crate::core::lock::Mutex;
use crate::core::per_device::PerDevice;
use crate::stream::usage::AccessKind;

pub(crate) struct PoolInner {
    pub(super) raw: hipMemPool_t,
    pub(super) device: Device,
    pub(super) kind: PoolKind,
    /// Other devices that may use its memory.
    pub(super) grants: Grants,
}

/// The origin of a pool, which determines what happens when it is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PoolKind {
    /// The default pool of the device.
    Default,
    /// Created with `hipMemPoolCreate`: it is reused with the same options.
    Created(PoolOptions),
    /// Imported from another process.
    #[cfg_attr(not(unix), allow(dead_code))]
    Imported,
}

// SAFETY: a hipMemPool_t is a handle that the HIP runtime allows any thread to use (the runtime locks its pools); it is never destroyed.
// All other fields are Send and Sync.
unsafe impl Send for PoolInner {}
// SAFETY: as above.
unsafe impl Sync for PoolInner {}

impl PoolInner {
    pub(super) fn new(raw: hipMemPool_t, device: Device, kind: PoolKind) -> Arc<Self> {
        Arc::new(Self { raw, device, kind, grants: Grants::default() })
    }

    /// Returns whether `device`, which is not the pool's own, may perform an access of `kind` to its memory.
    pub(crate) fn admits(&self, device: Device, kind: AccessKind) -> bool {
        self.grants.admits(device, kind)
    }

    pub(super) fn describe(&self) -> String {
        format!("a memory pool of device {}", self.device.index())
    }
}

impl Drop for PoolInner {
    /// Keeps the pool for reuse instead of destroying it: the HIP runtimes up to 7.2 at least crash when one thread
    /// destroys a pool while others make, wait for or destroy streams.
    fn drop(&mut self) {
        if let PoolKind::Created(options) = self.kind {
            if context::is_no_place() {
                let rest = Self {
                    raw: self.raw,
                    device: self.device,
                    kind: self.kind,
                    grants: std::mem::take(&mut self.grants),
                };
                return later::in_time(move || drop(rest));
            }
            // Releases its memory to the system: now, or when the work that was queued before the last free is done.
            let emptied = self.set(hipMemPoolAttrReleaseThreshold, 0u64).is_ok() && self.trim(0).is_ok();
            let as_new = self.set_reuse(PoolReuse::default()).is_ok() && self.grants.is_empty();
            if emptied && as_new {
                park(self.device, options, self.raw);
            }
        }
    }
}

impl PoolInner {
    pub(super) fn trim(&self, keep: usize) -> Result<()> {
        self.device.activate()?;
        // SAFETY: the pool is alive.
        let status = unsafe { hip_sys::hipMemPoolTrimTo(self.raw, keep) };
        check(status, "hipMemPoolTrimTo", || format!("{} to {keep} bytes", self.describe()))
    }

    pub(super) fn set_reuse(&self, reuse: PoolReuse) -> Result<()> {
        self.set(hipMemPoolReuseFollowEventDependencies, c_int::from(reuse.event_dependencies))?;
        self.set(hipMemPoolReuseAllowOpportunistic, c_int::from(reuse.opportunistic))?;
        self.set(hipMemPoolReuseAllowInternalDependencies, c_int::from(reuse.internal_dependencies))
    }

    /// Reads an attribute. `V` must be its C type: `int` or `uint64_t`.
    pub(super) fn get<V: Pod>(&self, attribute: hipMemPoolAttr) -> Result<V> {
        let mut value = V::zeroed();
        self.device.activate()?;
        // SAFETY: the pool is alive; the value has the attribute's type.
        let status =
            unsafe { hip_sys::hipMemPoolGetAttribute(self.raw, attribute, ptr::from_mut(&mut value).cast::<c_void>()) };
        check(status, "hipMemPoolGetAttribute", || format!("{attribute:?} of {}", self.describe()))?;
        Ok(value)
    }

    /// Like [`get`](Self::get), but sets it.
    pub(super) fn set<V: Pod + fmt::Debug>(&self, attribute: hipMemPoolAttr, mut value: V) -> Result<()> {
        self.device.activate()?;
        // SAFETY: as above.
        let status =
            unsafe { hip_sys::hipMemPoolSetAttribute(self.raw, attribute, ptr::from_mut(&mut value).cast::<c_void>()) };
        check(status, "hipMemPoolSetAttribute", || format!("{attribute:?} of {} to {value:?}", self.describe()))
    }
}

/// Pools of each device without a user, for reuse with the same options.
static PARKED: PerDevice<Mutex<Vec<(PoolOptions, Parked)>>> = PerDevice::new();

struct Parked(hipMemPool_t);

// SAFETY: a handle that the HIP runtime allows any thread to use.
unsafe impl Send for Parked {}

fn park(device: Device, options: PoolOptions, pool: hipMemPool_t) {
    PARKED.of(device).lock().push((options, Parked(pool)));
}

/// Takes a pool that was kept for reuse.
pub(super) fn unpark(device: Device, options: PoolOptions) -> Option<hipMemPool_t> {
    let mut parked = PARKED.of(device).lock();
    let at = parked.iter().position(|(other, _)| *other == options)?;
    Some(parked.swap_remove(at).1.0)
}
