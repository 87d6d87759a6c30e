//! Pools of each device, and access of devices to each pool.

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use hip_sys::hipMemPool_t;

use super::{MemoryAccess, MemoryPool, PoolInner, PoolKind, PoolOptions};
use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::lock::{Mutex, RwLock};
use crate::core::per_device::PerDevice;
use crate::stream::usage::AccessKind;

/// Other devices that may use memory.
#[derive(Default)]
pub(crate) struct Grants(RwLock<Vec<(Device, MemoryAccess)>>);

impl Grants {
    pub(crate) fn set(&self, device: Device, access: MemoryAccess) {
        let mut grants = self.0.write();
        grants.retain(|(other, _)| *other != device);
        grants.push((device, access));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.read().is_empty()
    }

    pub(crate) fn admits(&self, device: Device, kind: AccessKind) -> bool {
        let needed = match kind {
            AccessKind::Read => MemoryAccess::Read,
            AccessKind::Write => MemoryAccess::ReadWrite,
        };
        let grants = self.0.read();
        grants.iter().any(|(other, access)| *other == device && *access >= needed)
    }
}

/// The pools of a device: the default pool, and the current one.
#[derive(Default)]
pub(crate) struct DevicePools {
    default: OnceLock<Arc<PoolInner>>,
    /// Whether `chosen` holds a pool: readable before each allocation without a lock.
    has_chosen: AtomicBool,
    /// The current pool, which this keeps alive.
    chosen: RwLock<Option<Arc<PoolInner>>>,
    /// Unused pools, for reuse with the same options.
    parked: Mutex<Vec<(PoolOptions, Parked)>>,
    /// Whether the device has its default stream; see [`Device::prepare_pools`].
    prepared: AtomicBool,
}

struct Parked(hipMemPool_t);

// SAFETY: a handle that the HIP runtime allows any thread to use.
unsafe impl Send for Parked {}

impl DevicePools {
    pub(super) fn park(&self, options: PoolOptions, pool: hipMemPool_t) {
        self.parked.lock().push((options, Parked(pool)));
    }

    pub(super) fn unpark(&self, options: PoolOptions) -> Option<hipMemPool_t> {
        let mut parked = self.parked.lock();
        let at = parked.iter().position(|(other, _)| *other == options)?;
        Some(parked.swap_remove(at).1.0)
    }

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
        // SAFETY: the default stream of the current device. Its state does not matter.
        unsafe { hip_sys::hipStreamQuery(ptr::null_mut()) };
        self.pools().prepared.store(true, Ordering::Release);
        Ok(())
    }

    /// Returns the device's default pool, which is its current one unless another was set
    /// (`hipDeviceGetDefaultMemPool`).
    #[doc(alias("hipDeviceGetDefaultMemPool", "cuDeviceGetDefaultMemPool", "cudaDeviceGetDefaultMemPool"))]
    pub fn default_memory_pool(&self) -> Result<MemoryPool> {
        if let Some(inner) = self.pools().default.get() {
            return Ok(MemoryPool { inner: Arc::clone(inner) });
        }
        context::check_caller()?;
        let mut raw: hipMemPool_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write.
        let status = unsafe { hip_sys::hipDeviceGetDefaultMemPool(&mut raw, self.raw()) };
        check(status, "hipDeviceGetDefaultMemPool", || format!("that of device {}", self.index()))?;
        let inner = self.pools().default.get_or_init(|| PoolInner::new(raw, *self, PoolKind::Default));
        Ok(MemoryPool { inner: Arc::clone(inner) })
    }

    /// Returns the pool that [`DeviceBuffer::uninit_async`](crate::DeviceBuffer::uninit_async) allocates from
    /// (`hipDeviceGetMemPool`).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if other code has set a pool that this crate does not know.
    #[doc(alias("hipDeviceGetMemPool", "cuDeviceGetMemPool", "cudaDeviceGetMemPool"))]
    pub fn memory_pool(&self) -> Result<MemoryPool> {
        context::check_caller()?;
        let mut raw: hipMemPool_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write.
        let status = unsafe { hip_sys::hipDeviceGetMemPool(&mut raw, self.raw()) };
        check(status, "hipDeviceGetMemPool", || format!("that of device {}", self.index()))?;
        let known = [self.pools().chosen().map(|inner| MemoryPool { inner }), self.default_memory_pool().ok()];
        known.into_iter().flatten().find(|pool| pool.as_raw() == raw).ok_or_else(|| Error::InvalidValue {
            what: "the device's current memory pool",
            value: format!("{raw:p}"),
            allowed: "its default one, or one that was set with Device::set_memory_pool".to_owned(),
        })
    }

    /// Makes a pool the current one, from which stream-ordered allocations on the device are made
    /// (`hipDeviceSetMemPool`). It is kept alive as long.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] if the pool is on another device.
    #[doc(alias("hipDeviceSetMemPool", "cuDeviceSetMemPool", "cudaDeviceSetMemPool"))]
    pub fn set_memory_pool(&self, pool: &MemoryPool) -> Result<()> {
        self.expect(pool.device(), "the memory pool")?;
        context::check_caller()?;
        let pools = self.pools();
        let mut chosen = pools.chosen.write();
        // SAFETY: the pool is alive, and stays so while it is current.
        let status = unsafe { hip_sys::hipDeviceSetMemPool(self.raw(), pool.as_raw()) };
        check(status, "hipDeviceSetMemPool", || format!("that of device {}", self.index()))?;
        let before = chosen.take();
        if pool.inner.kind != PoolKind::Default {
            *chosen = Some(Arc::clone(&pool.inner));
        }
        pools.has_chosen.store(chosen.is_some(), Ordering::Release);
        drop(chosen);
        drop(before);
        Ok(())
    }

    /// Returns whether another `device` may access memory of this device's default pool.
    pub(crate) fn default_pool_admits(&self, device: Self, kind: AccessKind) -> bool {
        self.pools().default.get().is_some_and(|pool| pool.admits(device, kind))
    }
}
