//! Devices, their properties, and the current device.

use std::ffi::c_int;
use std::ops::RangeInclusive;

pub use super::arch::{Arch, ArchFeature};
pub use super::attribute::DeviceAttribute;
pub use super::device_table::Device;
pub use super::peer::{Link, LinkType, PeerAttribute};
pub use super::properties::{DeviceProperties, PciAddress};
pub use super::settings::{CachePreference, Limit, Uuid, WaitPolicy};
use crate::core::backend::runtime;
use crate::core::call::check;
use crate::core::context;
use crate::core::device_table;
use crate::core::error::{Error, Result};
use crate::core::nvidia;
use crate::core::properties::read::read;

/// A device's memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Free memory of the whole device. Other programs use memory too.
    pub free: u64,
    /// Total memory.
    pub total: u64,
}

impl Device {
    /// Returns the number of devices (`hipGetDeviceCount`), at least one.
    ///
    /// # Errors
    /// [`Error::NoLibrary`], [`Error::NoDevice`] or [`Error::Version`] if no usable device is available.
    #[doc(alias("hipGetDeviceCount", "cuDeviceGetCount", "cudaGetDeviceCount"))]
    pub fn count() -> Result<usize> {
        Ok(device_table::create(runtime()?.devices))
    }

    /// Returns the device with an index, counted from 0 in the order of the runtime (`HIP_VISIBLE_DEVICES` changes it).
    ///
    /// # Errors
    /// [`Error::DeviceIndex`] if no device has the index; those of [`Device::count`].
    #[doc(alias("hipDeviceGet", "cuDeviceGet"))]
    pub fn get(index: usize) -> Result<Self> {
        let count = Self::count()?;
        Self::known(index).ok_or(Error::DeviceIndex { index, count })
    }

    /// Returns all devices, in the order of their indices.
    pub fn all() -> Result<Vec<Self>> {
        Self::count()?;
        Ok(Self::all_known())
    }

    /// Returns this thread's current device (`hipGetDevice`): device 0 unless another one was set.
    #[doc(alias("hipGetDevice", "cudaGetDevice"))]
    pub fn current() -> Result<Self> {
        runtime()?;
        context::check_caller()?;
        let mut index: c_int = 0;
        // SAFETY: `index` is valid for a write.
        let status = unsafe { hip_sys::hipGetDevice(&mut index) };
        check(status, "hipGetDevice", || "this thread's current device".to_owned())?;
        Self::get(usize::try_from(index).unwrap_or(usize::MAX))
    }

    /// Makes this the current device of this thread (`hipSetDevice`), for other code that uses the current device.
    #[doc(alias("hipSetDevice", "cudaSetDevice"))]
    pub fn make_current(&self) -> Result<()> {
        context::check_caller()?;
        // SAFETY: takes only an index.
        let status = unsafe { hip_sys::hipSetDevice(self.raw()) };
        check(status, "hipSetDevice", || format!("device {}", self.index()))
    }

    /// Makes this device current in this thread, runs `body`, then restores the previous current device
    /// (`hipSetDevice`). For other code that uses the current device.
    ///
    /// # Errors
    /// Those of [`make_current`](Self::make_current), before `body` runs or after it.
    #[doc(alias("hipSetDevice", "cudaSetDevice"))]
    pub fn with_current<R>(&self, body: impl FnOnce() -> R) -> Result<R> {
        struct Restore(Option<Device>);
        impl Drop for Restore {
            fn drop(&mut self) {
                if let Some(before) = self.0.take() {
                    let _ = before.make_current();
                }
            }
        }
        let before = Self::current()?;
        self.make_current()?;
        let mut restore = Restore(Some(before));
        let result = body();
        restore.0 = None;
        before.make_current()?;
        Ok(result)
    }

    /// Returns whether this is the software GPU, or another replacement of the HIP library
    /// ([`sys::set_provider`](crate::sys::set_provider)) that is not NVIDIA's driver.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        hip_sys::BINDING.provider_name().is_some() && !nvidia::is_in_use()
    }

    /// Returns the product name, such as `AMD Instinct MI210`: that of [`properties`](Self::properties).
    #[doc(alias("hipDeviceGetName", "cuDeviceGetName"))]
    pub fn name(&self) -> Result<&'static str> {
        Ok(&self.properties()?.name)
    }

    /// Returns name, architecture, memory and limits (`hipGetDeviceProperties`). They are read once and cached.
    #[doc(alias("hipGetDeviceProperties", "cudaGetDeviceProperties"))]
    #[doc(alias("hipDeviceTotalMem", "cuDeviceTotalMem"))]
    #[doc(alias("hipDeviceComputeCapability", "cuDeviceComputeCapability"))]
    pub fn properties(&self) -> Result<&'static DeviceProperties> {
        let cache = self.cached_properties();
        if let Some(properties) = cache.get() {
            return Ok(properties);
        }
        let properties = read(self)?;
        Ok(cache.get_or_init(|| properties))
    }

    /// Returns an attribute (`hipDeviceGetAttribute`), in the unit that the attribute's documentation gives.
    ///
    /// # Errors
    /// The runtime's status if it does not know the attribute: [`DeviceAttribute`] may be newer than the runtime.
    #[doc(alias("hipDeviceGetAttribute", "cuDeviceGetAttribute", "cudaDeviceGetAttribute"))]
    pub fn attribute(&self, attribute: DeviceAttribute) -> Result<i32> {
        context::check_caller()?;
        let mut value: c_int = 0;
        // SAFETY: `value` is valid for a write; for an attribute that the runtime does not know, it returns an error.
        let status = unsafe { hip_sys::hipDeviceGetAttribute(&mut value, attribute.raw(), self.raw()) };
        check(status, "hipDeviceGetAttribute", || format!("{attribute:?} of device {}", self.index()))?;
        Ok(value)
    }

    /// Returns free and total memory (`hipMemGetInfo`).
    #[doc(alias("hipMemGetInfo", "cuMemGetInfo", "cudaMemGetInfo"))]
    pub fn memory_info(&self) -> Result<MemoryInfo> {
        self.activate()?;
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: both are valid for a write.
        let status = unsafe { hip_sys::hipMemGetInfo(&mut free, &mut total) };
        check(status, "hipMemGetInfo", || format!("memory of device {}", self.index()))?;
        Ok(MemoryInfo { free: free as u64, total: total as u64 })
    }

    /// Returns the range of stream priorities (`hipDeviceGetStreamPriorityRange`), from the highest priority, which is
    /// the lowest number, to the lowest priority.
    #[doc(alias("hipDeviceGetStreamPriorityRange", "cuCtxGetStreamPriorityRange", "cudaDeviceGetStreamPriorityRange"))]
    pub fn stream_priority_range(&self) -> Result<RangeInclusive<i32>> {
        self.activate()?;
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: both are valid for a write.
        let status = unsafe { hip_sys::hipDeviceGetStreamPriorityRange(&mut least, &mut greatest) };
        check(status, "hipDeviceGetStreamPriorityRange", || format!("device {}", self.index()))?;
        Ok(greatest..=least)
    }

    /// Makes this device current. For calls that depend on the current device.
    #[inline]
    pub(crate) fn activate(&self) -> Result<()> {
        context::check_caller()?;
        if self.loss().is_some() {
            if let Some(error) = self.lost_error() {
                return Err(error);
            }
        }
        if self.is_only() { Ok(()) } else { self.switch() }
    }

    #[cold]
    fn switch(&self) -> Result<()> {
        let mut current: c_int = -1;
        // SAFETY: `current` is valid for a write.
        let status = unsafe { hip_sys::hipGetDevice(&mut current) };
        if status.0 == 0 && current == self.raw() { Ok(()) } else { self.make_current() }
    }
}
