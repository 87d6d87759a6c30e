//! The default pool and the current pool of a device.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hip_sys::hipMemPool_t;

use super::MemoryPool;
use super::inner::{PoolInner, PoolKind};
use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result};

impl Device {
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
}
