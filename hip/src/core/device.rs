//! Devices, their properties, and the current device.

use std::ffi::c_int;
use std::fmt;
use std::ops::RangeInclusive;
use std::ptr;
use std::sync::OnceLock;

pub use super::arch::{Arch, ArchFeature};
pub use super::attribute::DeviceAttribute;
pub use super::peer::{Link, LinkType, PeerAttribute};
pub use super::properties::{DeviceProperties, PciAddress};
pub use super::settings::{CachePreference, Limit, Uuid, WaitPolicy};
use crate::core::backend::runtime;
use crate::core::call::check;
use crate::core::context;
use crate::core::error::{Error, Result, Status};
use crate::core::lost::Loss;

/// A GPU. Cheap to copy. The first use of a device loads and checks the HIP runtime.
///
/// HIP has a *current device* for each thread. Users of this crate need not care about it: every object knows its
/// device and makes it current before a call that depends on it. It reads the current device from the runtime each
/// time, so other code may call `hipSetDevice` in between. With a single device there is nothing to read. The previous
/// device is not restored.
#[derive(Clone, Copy)]
pub struct Device {
    state: &'static DeviceState,
}

/// State of one device, for the life of the program.
struct DeviceState {
    index: usize,
    /// Whether this is the only device, so that there is never another one to switch from.
    only: bool,
    properties: OnceLock<DeviceProperties>,
    loss: Loss,
}

/// All devices, once the runtime has reported their number.
static DEVICES: OnceLock<Vec<DeviceState>> = OnceLock::new();

impl DeviceState {
    fn new(index: usize, only: bool) -> Self {
        Self { index, only, properties: OnceLock::new(), loss: Loss::default() }
    }
}

/// Returns the devices of the runtime, which it loads.
fn devices() -> Result<&'static [DeviceState]> {
    let count = runtime()?.devices;
    Ok(DEVICES.get_or_init(|| (0..count).map(|index| DeviceState::new(index, count == 1)).collect()))
}

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
        Ok(devices()?.len())
    }

    /// Like [`count`](Self::count), but cannot fail, as this device exists.
    pub(crate) fn siblings(&self) -> usize {
        DEVICES.get().map_or(1, Vec::len)
    }

    /// Returns the device with an index, counted from 0 in the order of the runtime (`HIP_VISIBLE_DEVICES` changes it).
    ///
    /// # Errors
    /// [`Error::DeviceIndex`] if no device has the index; those of [`Device::count`].
    #[doc(alias("hipDeviceGet", "cuDeviceGet"))]
    pub fn get(index: usize) -> Result<Self> {
        let devices = devices()?;
        match devices.get(index) {
            Some(state) => Ok(Self { state }),
            None => Err(Error::DeviceIndex { index, count: devices.len() }),
        }
    }

    /// Returns all devices, in the order of their indices.
    pub fn all() -> Result<Vec<Self>> {
        Ok(devices()?.iter().map(|state| Self { state }).collect())
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

    /// Returns the index, counted from 0.
    #[must_use]
    pub fn index(&self) -> usize {
        self.state.index
    }

    /// Returns whether this is the software GPU, or another replacement of the HIP library
    /// ([`sys::set_provider`](crate::sys::set_provider)).
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        hip_sys::BINDING.provider_name().is_some()
    }

    /// Returns name, architecture, memory and limits (`hipGetDeviceProperties`). They are read once and cached.
    #[doc(alias("hipGetDeviceProperties", "cudaGetDeviceProperties"))]
    #[doc(alias("hipDeviceGetName", "cuDeviceGetName"))]
    #[doc(alias("hipDeviceTotalMem", "cuDeviceTotalMem"))]
    #[doc(alias("hipDeviceComputeCapability", "cuDeviceComputeCapability"))]
    pub fn properties(&self) -> Result<&'static DeviceProperties> {
        let state = self.state;
        if let Some(properties) = state.properties.get() {
            return Ok(properties);
        }
        let properties = DeviceProperties::read(self)?;
        Ok(state.properties.get_or_init(|| properties))
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

    /// A fake device, for tests that do not call the runtime.
    #[cfg(test)]
    pub(crate) fn of_tests() -> Self {
        static STATE: std::sync::OnceLock<DeviceState> = std::sync::OnceLock::new();
        Self { state: STATE.get_or_init(|| DeviceState::new(0, true)) }
    }

    /// Returns the index as C's type (`hipDevice_t`).
    pub(crate) fn raw(&self) -> c_int {
        // Cannot overflow: the index was made from a c_int.
        self.state.index as c_int
    }

    /// Makes this device current. For calls that depend on the current device.
    #[inline]
    pub(crate) fn activate(&self) -> Result<()> {
        context::check_caller()?;
        if self.state.loss.is_some() {
            if let Some(error) = self.lost_error() {
                return Err(error);
            }
        }
        if self.state.only { Ok(()) } else { self.switch() }
    }

    /// Returns the record of the device's loss.
    pub(crate) fn loss(&self) -> &'static Loss {
        &self.state.loss
    }

    /// Returns the device with an index, if it exists and the runtime is in use.
    pub(crate) fn known(index: usize) -> Option<Self> {
        Some(Self { state: DEVICES.get()?.get(index)? })
    }

    /// Returns all devices if the runtime is in use, else none.
    pub(crate) fn all_known() -> Vec<Self> {
        DEVICES.get().into_iter().flatten().map(|state| Self { state }).collect()
    }

    /// Returns the current device, or the runtime's status; `None` for a device that this crate has not listed.
    pub(crate) fn current_raw() -> Result<Option<Self>, Status> {
        let mut index: c_int = 0;
        // SAFETY: `index` is valid for a write.
        let status = unsafe { hip_sys::hipGetDevice(&mut index) };
        if status.0 == 0 { Ok(usize::try_from(index).ok().and_then(Self::known)) } else { Err(Status(status.0)) }
    }

    /// Returns whether a call that is unrelated to queued work fails with `status` too. This device must be current.
    pub(crate) fn repeats(&self, status: Status) -> bool {
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: both are valid for a write.
        let repeated = unsafe { hip_sys::hipMemGetInfo(&mut free, &mut total) };
        // The probe must not leave a last error either.
        // SAFETY: takes nothing and only resets a value that belongs to this thread.
        let _ = unsafe { hip_sys::hipGetLastError() };
        Status(repeated.0) == status
    }

    #[cold]
    fn switch(&self) -> Result<()> {
        let mut current: c_int = -1;
        // SAFETY: `current` is valid for a write.
        let status = unsafe { hip_sys::hipGetDevice(&mut current) };
        if status.0 == 0 && current == self.raw() { Ok(()) } else { self.make_current() }
    }

    /// Returns `Ok` if `other` is this device.
    #[inline]
    pub(crate) fn expect(&self, other: Self, what: &'static str) -> Result<()> {
        if *self == other { Ok(()) } else { Err(self.expected(other, what)) }
    }

    #[cold]
    pub(crate) fn expected(&self, other: Self, what: &'static str) -> Error {
        Error::WrongDevice { what: what.into(), expected: self.index(), found: other.index() }
    }
}

impl PartialEq for Device {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // The table of devices is created once, so addresses identify devices.
        ptr::eq(self.state, other.state)
    }
}

impl Eq for Device {}

impl std::hash::Hash for Device {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.index().hash(state);
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.index()).finish()
    }
}

/// Prints name and architecture if they were read already, else the index. Never calls the driver.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.state.properties.get() {
            Some(p) => write!(f, "device {}: {} ({})", self.index(), p.name, p.arch),
            None => write!(f, "device {}", self.index()),
        }
    }
}
