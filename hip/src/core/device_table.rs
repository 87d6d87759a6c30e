//! The table of devices, and [`Device`], which refers to an entry of it.

use std::ffi::c_int;
use std::fmt;
use std::ptr;
use std::sync::OnceLock;

use super::error::{Error, Result};
use super::loss::Loss;
use super::properties::DeviceProperties;

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

/// Creates the table at the first call, for `count` devices. Returns the number of devices.
pub(super) fn create(count: usize) -> usize {
    DEVICES.get_or_init(|| (0..count).map(|index| DeviceState::new(index, count == 1)).collect()).len()
}

impl Device {
    /// Returns the index, counted from 0.
    #[must_use]
    pub fn index(&self) -> usize {
        self.state.index
    }

    /// Returns the index as C's type (`hipDevice_t`).
    pub(crate) fn raw(&self) -> c_int {
        // Cannot overflow: the index was made from a c_int.
        self.state.index as c_int
    }

    /// Returns the device with an index, if it exists and the runtime is in use.
    pub(crate) fn known(index: usize) -> Option<Self> {
        Some(Self { state: DEVICES.get()?.get(index)? })
    }

    /// Returns all devices if the runtime is in use, else none.
    pub(crate) fn all_known() -> Vec<Self> {
        DEVICES.get().into_iter().flatten().map(|state| Self { state }).collect()
    }

    /// Returns the number of devices, this one included.
    pub(crate) fn siblings(&self) -> usize {
        DEVICES.get().map_or(1, Vec::len)
    }

    /// Returns whether this is the only device, so that there is never another one to switch from.
    #[inline]
    pub(super) fn is_only(&self) -> bool {
        self.state.only
    }

    /// Returns the record of the device's loss.
    #[inline]
    pub(crate) fn loss(&self) -> &'static Loss {
        &self.state.loss
    }

    /// Returns the cache of the device's properties.
    pub(super) fn cached_properties(&self) -> &'static OnceLock<DeviceProperties> {
        &self.state.properties
    }

    /// A fake device, for tests that do not call the runtime.
    #[cfg(test)]
    pub(crate) fn of_tests() -> Self {
        static STATE: OnceLock<DeviceState> = OnceLock::new();
        Self { state: STATE.get_or_init(|| DeviceState::new(0, true)) }
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
