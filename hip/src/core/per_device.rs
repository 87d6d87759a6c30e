//! Per-device data of the layers above.

use std::sync::OnceLock;

use super::device_table::Device;

/// One `T` for each device, for the life of the program.
pub(crate) struct PerDevice<T>(OnceLock<Box<[T]>>);

impl<T: Default> PerDevice<T> {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Returns the value of a device.
    #[inline]
    pub(crate) fn of(&self, device: Device) -> &T {
        &self.0.get_or_init(|| (0..device.siblings()).map(|_| T::default()).collect())[device.index()]
    }

    /// Returns the values of all devices; empty if none was used yet.
    pub(crate) fn all(&self) -> &[T] {
        self.0.get().map_or(&[], |all| all)
    }
}
