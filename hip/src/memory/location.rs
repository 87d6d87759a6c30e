//! Devices as C's memory functions name them.

use hip_sys::{hipMemLocation, hipMemLocationTypeDevice};

use crate::core::device::Device;

/// Returns a device as C's memory functions name it.
pub(super) fn location(device: &Device) -> hipMemLocation {
    hipMemLocation { type_: hipMemLocationTypeDevice, id: device.raw() }
}
