//! The pools of each device, as allocations need them.

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::inner::PoolInner;
use crate::core::device::Device;
use crate::core::error::Result;
use crate::core::lock::RwLock;
use crate::core::per_device::PerDevice;
use crate::stream::captures::apart_from_captures;
use crate::stream::usage::AccessKind;

/// The pools of a device: the default pool, and the current one.
#[derive(Default)]
pub(crate) struct DevicePools {
    pub(super) default: OnceLock<Arc<PoolInner>>,
    /// Whether `chosen` holds a pool: readable before each allocation without a lock.
    pub(super) has_chosen: AtomicBool,
    /// The current pool, which this keeps alive.
    pub(super) chosen: RwLock<Option<Arc<PoolInner>>>,
    /// Whether the device has its default stream; see [`Device::prepare_pools`].
    prepared: AtomicBool,
}

impl DevicePools {
    /// Returns the current pool if it is not the default one.
    #[inline]
    pub(crate) fn chosen(&self) -> Option<Arc<PoolInner>> {
        if !self.has_chosen.load(Ordering::Acquire) {
            return None;
        }
        self.chosen.read().clone()
    }
}

/// The pools of each device.
static POOLS: PerDevice<DevicePools> = PerDevice::new();

impl Device {
    pub(crate) fn pools(&self) -> &'static DevicePools {
        POOLS.of(*self)
    }

    /// Call this before memory is taken from a pool of this device.
    ///
    /// HIP creates a device's default stream when it is first needed. If an allocation needs it (7.x), the allocation
    /// waits for the device's lock with the pool's lock held. A thread that frees or waits takes these locks in the
    /// opposite order, so both deadlock. If the default stream already exists, the allocation does not lock the device.
    #[inline]
    pub(crate) fn prepare_pools(&self) -> Result<()> {
        if self.pools().prepared.load(Ordering::Acquire) { Ok(()) } else { self.make_default_stream() }
    }

    #[cold]
    fn make_default_stream(&self) -> Result<()> {
        self.activate()?;
        // Querying the default stream while another stream is captured would invalidate the capture.
        let mut capturing = hip_sys::hipStreamCaptureStatusNone;
        // SAFETY: the default stream, and `capturing` is valid for a write.
        let known = unsafe { hip_sys::hipStreamIsCapturing(ptr::null_mut(), &mut capturing) };
        if known.0 != 0 || capturing != hip_sys::hipStreamCaptureStatusNone {
            return Ok(());
        }
        // The captures of this crate are of streams that HIP's answer leaves out, and none begins meanwhile.
        // SAFETY: the default stream of the current device. Its state does not matter.
        let asked = apart_from_captures(|| unsafe { hip_sys::hipStreamQuery(ptr::null_mut()) });
        self.pools().prepared.store(asked.is_some(), Ordering::Release);
        Ok(())
    }

    /// Returns whether another `device` may access memory of this device's default pool.
    pub(crate) fn default_pool_admits(&self, device: Self, kind: AccessKind) -> bool {
        self.pools().default.get().is_some_and(|pool| pool.admits(device, kind))
    }
}
