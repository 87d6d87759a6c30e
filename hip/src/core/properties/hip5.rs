//! A device's properties as HIP 5 lays them out. HIP 6.0 gave the structure a new layout and its function a new name,
//! `hipGetDevicePropertiesR0600`, which a runtime before it does not have.

use hip_sys::rocm_5_7::{hipDeviceProp_t, hipGetDeviceProperties};

use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::Result;

/// The properties of a device (`hipGetDeviceProperties` of HIP 5), for a runtime before 6.0.
///
/// # Errors
/// [`Error::NoSymbol`](crate::Error::NoSymbol) if the runtime lacks the function, and the runtime's status.
pub(super) fn read(device: &Device) -> Result<Box<hipDeviceProp_t>> {
    let mut raw = Box::<hipDeviceProp_t>::default();
    // SAFETY: the pointer is valid for a write of the structure that a runtime before 6.0 fills; no other is called.
    let status = unsafe { hipGetDeviceProperties(&mut *raw, device.raw()) };
    check(status, "hipGetDeviceProperties", || format!("properties of device {}", device.index()))?;
    Ok(raw)
}
