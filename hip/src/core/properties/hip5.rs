//! Device properties in the layout of HIP 5. HIP 6.0 changed the layout and renamed the function to
//! `hipGetDevicePropertiesR0600`, which older runtimes lack.

use hip_sys::rocm_5_7::{hipDeviceProp_t, hipGetDeviceProperties};

use crate::core::call::check;
use crate::core::device_table::Device;
use crate::core::error::Result;

/// Reads the properties of a device (`hipGetDeviceProperties` of HIP 5), for a runtime before 6.0.
///
/// # Errors
/// [`Error::NoSymbol`](crate::Error::NoSymbol) if the runtime lacks the function; the runtime's status.
pub(super) fn read(device: &Device) -> Result<Box<hipDeviceProp_t>> {
    let mut raw = Box::<hipDeviceProp_t>::default();
    // SAFETY: the pointer is valid for a write of the structure that a runtime before 6.0 fills; the caller ensures that the runtime is
    // one.
    let status = unsafe { hipGetDeviceProperties(&mut *raw, device.raw()) };
    check(status, "hipGetDeviceProperties", || format!("properties of device {}", device.index()))?;
    Ok(raw)
}
