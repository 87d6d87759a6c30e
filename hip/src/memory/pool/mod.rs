//! Memory pools, for memory that is allocated and freed in the order of a stream.

pub(super) mod allocate;
mod grants;
pub(super) mod inner;
mod of_device;
mod options;
#[cfg(unix)]
mod share;
mod state;

use std::ffi::c_int;
use std::fmt;
use std::ptr;
use std::sync::Arc;

use bytemuck::Pod;
use hip_sys::{
    hipMemAccessDesc, hipMemPool_t, hipMemPoolAttrReleaseThreshold, hipMemPoolAttrReservedMemCurrent,
    hipMemPoolAttrReservedMemHigh, hipMemPoolAttrUsedMemCurrent, hipMemPoolAttrUsedMemHigh,
    hipMemPoolReuseAllowInternalDependencies, hipMemPoolReuseAllowOpportunistic,
    hipMemPoolReuseFollowEventDependencies,
};

pub use options::{MemoryAccess, PoolOptions, PoolReuse, PoolUsage};
#[cfg(unix)]
pub use share::PoolPointer;

use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::memory::admission::{expect_none_here, wait_for_admitted};
use crate::memory::bounds::byte_len;
use crate::memory::buffer::DeviceBuffer;
use crate::memory::location::location;
use crate::stream::Stream;
use allocate::allocate;
use inner::{PoolInner, PoolKind, unpark};

/// A pool for stream-ordered allocations (`hipMemPool_t`). A clone is another handle of the same pool.
///
/// Freed memory stays in the pool for later allocations, up to the [release threshold](Self::set_release_threshold).
/// After its last handle and the last buffer from it are dropped, the pool releases its memory, and is kept for reuse
/// by a new pool with the same options: AMD's runtimes crash if a pool is destroyed (`hipMemPoolDestroy`) while other
/// threads work.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::{Device, Stream};
/// use hip::memory::pool::{MemoryPool, PoolOptions};
///
/// let device = Device::get(0)?;
/// let stream = Stream::new(&device)?;
/// let pool = match MemoryPool::new(&device, PoolOptions::new()) {
///     Ok(pool) => pool,
///     Err(error) if error.status() == Some(hip::Status::NOT_SUPPORTED) => return Ok(()),
///     Err(error) => return Err(error),
/// };
/// pool.set_release_threshold(u64::MAX)?; // keeps all that was freed
///
/// let mut numbers = pool.zeroed_async::<u32>(&stream, 1000)?;
/// numbers.fill_async(&stream, 7)?;
/// assert_eq!(numbers.to_vec()?, [7; 1000]);
/// assert!(pool.usage()?.used >= 4000);
/// # Ok(()) }
/// ```
#[doc(alias("hipMemPoolDestroy", "cuMemPoolDestroy", "cudaMemPoolDestroy"))]
#[derive(Clone)]
pub struct MemoryPool {
    inner: Arc<PoolInner>,
}

impl MemoryPool {
    /// Creates a pool on a device (`hipMemPoolCreate`).
    ///
    /// # Errors
    /// The runtime's status, `hipErrorNotSupported` if the device does not support pools.
    #[doc(alias("hipMemPoolCreate", "cuMemPoolCreate", "cudaMemPoolCreate"))]
    pub fn new(device: &Device, options: PoolOptions) -> Result<Self> {
        device.activate()?;
        if let Some(raw) = unpark(*device, options) {
            return Ok(Self { inner: PoolInner::new(raw, *device, PoolKind::Created(options)) });
        }
        let properties = options.properties(device);
        let mut raw: hipMemPool_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write, the properties for a read.
        let status = unsafe { hip_sys::hipMemPoolCreate(&mut raw, &properties) };
        check(status, "hipMemPoolCreate", || format!("a pool on device {} with {options:?}", device.index()))?;
        Ok(Self { inner: PoolInner::new(raw, *device, PoolKind::Created(options)) })
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.inner.device
    }

    /// Creates a buffer whose elements are arbitrary, allocated from this pool in the order of `stream`
    /// (`hipMallocFromPoolAsync`). Like [`DeviceBuffer::uninit_async`], which uses the current pool.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] if the stream is on another device than the pool; those of [`DeviceBuffer::uninit`].
    #[doc(alias("hipMallocFromPoolAsync", "cuMemAllocFromPoolAsync", "cudaMallocFromPoolAsync"))]
    pub fn uninit_async<T: Pod>(&self, stream: &Stream, len: usize) -> Result<DeviceBuffer<T>> {
        let memory = allocate(stream, Some(&self.inner), byte_len::<T>(len)?)?;
        Ok(DeviceBuffer::from_allocation(memory, len))
    }

    /// Creates a buffer of zeros, allocated from this pool and filled in the order of `stream`.
    ///
    /// # Errors
    /// Those of [`uninit_async`](Self::uninit_async).
    pub fn zeroed_async<T: Pod>(&self, stream: &Stream, len: usize) -> Result<DeviceBuffer<T>> {
        let mut buffer = self.uninit_async(stream, len)?;
        buffer.fill_bytes_async(stream, 0)?;
        Ok(buffer)
    }

    /// Releases unused memory to the system, until at most `keep` bytes are left in the pool (`hipMemPoolTrimTo`).
    #[doc(alias("hipMemPoolTrimTo", "cuMemPoolTrimTo", "cudaMemPoolTrimTo"))]
    pub fn trim(&self, keep: usize) -> Result<()> {
        self.inner.trim(keep)
    }

    /// Returns the number of bytes that the pool keeps when a stream, an event or the device is waited for
    /// (`hipMemPoolAttrReleaseThreshold`). Free memory beyond that goes back to the system. The default is 0.
    #[doc(alias("hipMemPoolGetAttribute", "cuMemPoolGetAttribute", "cudaMemPoolGetAttribute"))]
    pub fn release_threshold(&self) -> Result<u64> {
        self.inner.get(hipMemPoolAttrReleaseThreshold)
    }

    /// Sets [`release_threshold`](Self::release_threshold); [`u64::MAX`] keeps all memory.
    #[doc(alias("hipMemPoolSetAttribute", "cuMemPoolSetAttribute", "cudaMemPoolSetAttribute"))]
    pub fn set_release_threshold(&self, bytes: u64) -> Result<()> {
        self.inner.set(hipMemPoolAttrReleaseThreshold, bytes)
    }

    /// Returns the current and highest usage in bytes (`hipMemPoolAttrReservedMem*`, `hipMemPoolAttrUsedMem*`). ROCm
    /// 5.7 may return any number after memory of the pool went back to the system.
    #[doc(alias("hipMemPoolGetAttribute", "cuMemPoolGetAttribute", "cudaMemPoolGetAttribute"))]
    pub fn usage(&self) -> Result<PoolUsage> {
        Ok(PoolUsage {
            reserved: self.inner.get(hipMemPoolAttrReservedMemCurrent)?,
            reserved_high: self.inner.get(hipMemPoolAttrReservedMemHigh)?,
            used: self.inner.get(hipMemPoolAttrUsedMemCurrent)?,
            used_high: self.inner.get(hipMemPoolAttrUsedMemHigh)?,
        })
    }

    /// Resets [`PoolUsage::reserved_high`] and [`PoolUsage::used_high`].
    #[doc(alias("hipMemPoolSetAttribute", "cuMemPoolSetAttribute", "cudaMemPoolSetAttribute"))]
    pub fn reset_high_watermarks(&self) -> Result<()> {
        self.inner.set(hipMemPoolAttrReservedMemHigh, 0u64)?;
        self.inner.set(hipMemPoolAttrUsedMemHigh, 0u64)
    }

    /// Returns when memory that one stream has freed may be reused by another (`hipMemPoolReuse*`).
    #[doc(alias("hipMemPoolGetAttribute", "cuMemPoolGetAttribute", "cudaMemPoolGetAttribute"))]
    pub fn reuse(&self) -> Result<PoolReuse> {
        let flag = |attribute| self.inner.get::<c_int>(attribute).map(|value| value != 0);
        Ok(PoolReuse {
            event_dependencies: flag(hipMemPoolReuseFollowEventDependencies)?,
            opportunistic: flag(hipMemPoolReuseAllowOpportunistic)?,
            internal_dependencies: flag(hipMemPoolReuseAllowInternalDependencies)?,
        })
    }

    /// Sets [`reuse`](Self::reuse).
    #[doc(alias("hipMemPoolSetAttribute", "cuMemPoolSetAttribute", "cudaMemPoolSetAttribute"))]
    pub fn set_reuse(&self, reuse: PoolReuse) -> Result<()> {
        self.inner.set_reuse(reuse)
    }

    /// Sets the access of another device to the pool's memory, including existing allocations (`hipMemPoolSetAccess`).
    /// With access, launches and copies on `device` accept its buffers.
    ///
    /// Access is revoked after all work of `device` is done.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for the pool's own device, which always has access, and for revoking access in a
    /// `tracing` subscriber. The runtime's status if `device` cannot access the pool's device.
    #[doc(alias("hipMemPoolSetAccess", "cuMemPoolSetAccess", "cudaMemPoolSetAccess"))]
    pub fn set_access(&self, device: &Device, access: MemoryAccess) -> Result<()> {
        if *device == self.inner.device {
            return Err(Error::InvalidValue {
                what: "the device to give access to a pool",
                value: format!("device {}", device.index()),
                allowed: "another than the pool's own".to_owned(),
            });
        }
        if access != MemoryAccess::ReadWrite {
            expect_none_here()?;
            // First stop admitting work, then wait for the admitted work.
            self.inner.grants.set(*device, access);
            wait_for_admitted();
            device.synchronize()?;
        }
        let description = hipMemAccessDesc { location: location(device), flags: access.raw() };
        self.inner.device.activate()?;
        // SAFETY: the pool is alive as long as `self`, and there is one description.
        let status = unsafe { hip_sys::hipMemPoolSetAccess(self.inner.raw, &description, 1) };
        check(status, "hipMemPoolSetAccess", || {
            format!("{access:?} for device {} to {}", device.index(), self.inner.describe())
        })?;
        self.inner.grants.set(*device, access);
        Ok(())
    }

    /// Returns a device's access to the pool's memory (`hipMemPoolGetAccess`).
    #[doc(alias("hipMemPoolGetAccess", "cuMemPoolGetAccess", "cudaMemPoolGetAccess"))]
    pub fn access(&self, device: &Device) -> Result<MemoryAccess> {
        let mut place = location(device);
        let mut flags = hip_sys::hipMemAccessFlagsProtNone;
        self.inner.device.activate()?;
        // SAFETY: the pool is alive as long as `self`; both others are valid for the function's accesses.
        let status = unsafe { hip_sys::hipMemPoolGetAccess(&mut flags, self.inner.raw, &mut place) };
        check(status, "hipMemPoolGetAccess", || {
            format!("that of device {} to {}", device.index(), self.inner.describe())
        })?;
        Ok(MemoryAccess::from_raw(flags))
    }

    /// Returns the C handle, for calls of [`hip_sys`] that this crate does not make. The pool keeps ownership.
    #[must_use]
    pub fn as_raw(&self) -> hipMemPool_t {
        self.inner.raw
    }
}

impl PartialEq for MemoryPool {
    /// Returns whether both are handles of one pool.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for MemoryPool {}

impl fmt::Debug for MemoryPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryPool")
            .field("device", &self.inner.device.index())
            .field("kind", &self.inner.kind)
            .field("raw", &self.inner.raw)
            .finish()
    }
}
