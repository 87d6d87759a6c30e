//! Devices and what they can do.

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

/// A GPU. Cheap to copy; the HIP runtime is loaded and checked when the first one is asked for.
///
/// HIP has a *current device* for each thread. Whoever uses this crate need not think of it: every object knows its
/// device and makes it current before a call that depends on it (asking the runtime each time, so that foreign code may
/// call `hipSetDevice` in between; with one device there is nothing to ask). It is not set back after.
#[derive(Clone, Copy)]
pub struct Device {
    state: &'static DeviceState,
}

/// What is kept for each device, for the life of the program.
struct DeviceState {
    index: usize,
    /// There is no other device, hence none to switch from.
    only: bool,
    properties: OnceLock<DeviceProperties>,
    loss: Loss,
}

/// The devices that there are, once the runtime has told.
static DEVICES: OnceLock<Vec<DeviceState>> = OnceLock::new();

impl DeviceState {
    fn new(index: usize, only: bool) -> Self {
        Self { index, only, properties: OnceLock::new(), loss: Loss::default() }
    }
}

/// The devices of the runtime, which is loaded for it.
fn devices() -> Result<&'static [DeviceState]> {
    let count = runtime()?.devices;
    Ok(DEVICES.get_or_init(|| (0..count).map(|index| DeviceState::new(index, count == 1)).collect()))
}

/// A device's memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Free now, on the whole device: other programs count too.
    pub free: u64,
    /// All that there is.
    pub total: u64,
}

impl Device {
    /// How many devices there are (`hipGetDeviceCount`); at least one.
    ///
    /// # Errors
    /// [`Error::NoLibrary`], [`Error::NoDevice`] or [`Error::Version`] if there is none that can be used.
    #[doc(alias("hipGetDeviceCount", "cuDeviceGetCount", "cudaGetDeviceCount"))]
    pub fn count() -> Result<usize> {
        Ok(devices()?.len())
    }

    /// As [`count`](Self::count), of a device that there is already.
    pub(crate) fn siblings(&self) -> usize {
        DEVICES.get().map_or(1, Vec::len)
    }

    /// The device with an index, counted from 0 in the order of the runtime (`HIP_VISIBLE_DEVICES` changes it).
    ///
    /// # Errors
    /// [`Error::DeviceIndex`] if there is none; those of [`Device::count`].
    #[doc(alias("hipDeviceGet", "cuDeviceGet"))]
    pub fn get(index: usize) -> Result<Self> {
        let devices = devices()?;
        match devices.get(index) {
            Some(state) => Ok(Self { state }),
            None => Err(Error::DeviceIndex { index, count: devices.len() }),
        }
    }

    /// All devices, in the order of their indices.
    pub fn all() -> Result<Vec<Self>> {
        Ok(devices()?.iter().map(|state| Self { state }).collect())
    }

    /// This thread's current device (`hipGetDevice`): device 0 unless something has set another.
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

    /// Makes this the current device of this thread (`hipSetDevice`), for foreign code that goes by it.
    #[doc(alias("hipSetDevice", "cudaSetDevice"))]
    pub fn make_current(&self) -> Result<()> {
        context::check_caller()?;
        // SAFETY: takes an index and nothing else.
        let status = unsafe { hip_sys::hipSetDevice(self.raw()) };
        check(status, "hipSetDevice", || format!("device {}", self.index()))
    }

    /// Runs `body` with this the current device of this thread, then makes the one current again that was before (`hipSetDevice`): for
    /// foreign code that goes by the current device.
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

    /// The index, counted from 0.
    #[must_use]
    pub fn index(&self) -> usize {
        self.state.index
    }

    /// Whether this is the software GPU, or whatever else was put in the place of the HIP library
    /// ([`sys::set_provider`](crate::sys::set_provider)).
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        hip_sys::BINDING.provider_name().is_some()
    }

    /// Name, architecture, memory, limits: read once (`hipGetDeviceProperties`), then kept.
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

    /// One attribute (`hipDeviceGetAttribute`), in the unit that its documentation gives.
    ///
    /// # Errors
    /// The runtime's status if it does not know the attribute: a newer [`DeviceAttribute`] than the runtime.
    #[doc(alias("hipDeviceGetAttribute", "cuDeviceGetAttribute", "cudaDeviceGetAttribute"))]
    pub fn attribute(&self, attribute: DeviceAttribute) -> Result<i32> {
        context::check_caller()?;
        let mut value: c_int = 0;
        // SAFETY: `value` is valid for a write; an attribute that the runtime does not know is an error to it.
        let status = unsafe { hip_sys::hipDeviceGetAttribute(&mut value, attribute.raw(), self.raw()) };
        check(status, "hipDeviceGetAttribute", || format!("{attribute:?} of device {}", self.index()))?;
        Ok(value)
    }

    /// Free and total memory (`hipMemGetInfo`).
    #[doc(alias("hipMemGetInfo", "cuMemGetInfo", "cudaMemGetInfo"))]
    pub fn memory_info(&self) -> Result<MemoryInfo> {
        self.activate()?;
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: both are valid for a write.
        let status = unsafe { hip_sys::hipMemGetInfo(&mut free, &mut total) };
        check(status, "hipMemGetInfo", || format!("memory of device {}", self.index()))?;
        Ok(MemoryInfo { free: free as u64, total: total as u64 })
    }

    /// The priorities that streams may have (`hipDeviceGetStreamPriorityRange`): from the one that goes first, the lowest
    /// number, to the last.
    #[doc(alias("hipDeviceGetStreamPriorityRange", "cuCtxGetStreamPriorityRange", "cudaDeviceGetStreamPriorityRange"))]
    pub fn stream_priority_range(&self) -> Result<RangeInclusive<i32>> {
        self.activate()?;
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: both are valid for a write.
        let status = unsafe { hip_sys::hipDeviceGetStreamPriorityRange(&mut least, &mut greatest) };
        check(status, "hipDeviceGetStreamPriorityRange", || format!("device {}", self.index()))?;
        Ok(greatest..=least)
    }

    /// A device that is none, for tests of what calls no runtime.
    #[cfg(test)]
    pub(crate) fn of_tests() -> Self {
        static STATE: std::sync::OnceLock<DeviceState> = std::sync::OnceLock::new();
        Self { state: STATE.get_or_init(|| DeviceState::new(0, true)) }
    }

    /// The index as C has it (`hipDevice_t`).
    pub(crate) fn raw(&self) -> c_int {
        // Made from a c_int.
        self.state.index as c_int
    }

    /// Makes this device current where a call depends on it.
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

    /// What is known of its loss.
    pub(crate) fn loss(&self) -> &'static Loss {
        &self.state.loss
    }

    /// The device with an index, if there is one and the runtime is in use.
    pub(crate) fn known(index: usize) -> Option<Self> {
        Some(Self { state: DEVICES.get()?.get(index)? })
    }

    /// All devices, if the runtime is in use.
    pub(crate) fn all_known() -> Vec<Self> {
        DEVICES.get().into_iter().flatten().map(|state| Self { state }).collect()
    }

    /// The current device, or the runtime's status; `None` for a device that nobody has asked for.
    pub(crate) fn current_raw() -> Result<Option<Self>, Status> {
        let mut index: c_int = 0;
        // SAFETY: `index` is valid for a write.
        let status = unsafe { hip_sys::hipGetDevice(&mut index) };
        if status.0 == 0 { Ok(usize::try_from(index).ok().and_then(Self::known)) } else { Err(Status(status.0)) }
    }

    /// Whether the runtime answers a call on the current device, which is this one, that has nothing to do with its work by a status too.
    pub(crate) fn repeats(&self, status: Status) -> bool {
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: both are valid for a write.
        let repeated = unsafe { hip_sys::hipMemGetInfo(&mut free, &mut total) };
        // Nor is it left as the thread's last error.
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

    /// `Ok` if `other` is this device.
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
        // The table of devices is made once.
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

/// A name and architecture if they were read already, else the index: never a call to the driver.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.state.properties.get() {
            Some(p) => write!(f, "device {}: {} ({})", self.index(), p.name, p.arch),
            None => write!(f, "device {}", self.index()),
        }
    }
}
