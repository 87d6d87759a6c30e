//! Devices.

use std::ffi::{CStr, c_int};

use super::calls::calls;
use super::{DriverError, sys};

calls! {
    /// Returns the device with an index, from 0.
    fn get(ordinal: c_int) -> sys::CUdevice = |out| cuDeviceGet(out, ordinal);

    /// Returns the number of devices.
    fn get_count() -> c_int = |out| cuDeviceGetCount(out);

    /// Returns the size of the device's memory, in bytes.
    unsafe fn total_mem(dev: sys::CUdevice) -> usize = |out| cuDeviceTotalMem_v2(out, dev);

    /// Returns an attribute of the device.
    unsafe fn get_attribute(dev: sys::CUdevice, attrib: sys::CUdevice_attribute) -> i32 = |out| cuDeviceGetAttribute(out, attrib, dev);

    /// Returns the UUID of the device.
    fn get_uuid(dev: sys::CUdevice) -> sys::CUuuid = |out| cuDeviceGetUuid(out, dev);

    /// Returns the default memory pool of the device.
    unsafe fn get_default_mem_pool(dev: sys::CUdevice) -> sys::CUmemoryPool = |out| cuDeviceGetDefaultMemPool(out, dev);

    /// Returns the memory pool in use.
    unsafe fn get_mem_pool(dev: sys::CUdevice) -> sys::CUmemoryPool = |out| cuDeviceGetMemPool(out, dev);

    /// Sets the memory pool of later allocations.
    unsafe fn set_mem_pool(dev: sys::CUdevice, pool: sys::CUmemoryPool) = cuDeviceSetMemPool(dev, pool);
}

/// Returns the name of the device.
///
/// # Errors
/// The status of `cuDeviceGetName`.
#[doc(alias = "cuDeviceGetName")]
pub fn get_name(dev: sys::CUdevice) -> Result<String, DriverError> {
    let mut name = [0_u8; 256];
    // SAFETY: a buffer of the size that is passed.
    unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as c_int, dev) }.result()?;
    Ok(CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into_owned())
}
