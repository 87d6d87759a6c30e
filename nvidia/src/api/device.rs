//! Devices: count, choice, attributes, versions, flags.

use std::ffi::{c_int, c_uint};

use hip_sys::rocm_7_2::{
    API_LEVEL, hipCtx_t, hipDeviceAttribute_t, hipDeviceP2PAttr, hipErrorInvalidDevice, hipErrorInvalidValue,
};

use crate::context;
use crate::driver::{self, driver_functions};
use crate::generated::attributes::ATTRIBUTES;
use crate::status::{Failure, Outcome, ensure};
use crate::table::{hip_functions, put};

driver_functions! {
    /// Writes an attribute of a device.
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, device: c_int);
    /// Writes an attribute of a link between two devices.
    fn cuDeviceGetP2PAttribute(value: *mut c_int, attribute: c_uint, from: c_int, to: c_int);
    /// Writes the driver's version.
    fn cuDriverGetVersion(version: *mut c_int);
    /// Writes flags of the primary context, and whether it is active.
    fn cuDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, active: *mut c_int);
    /// Sets flags of the primary context.
    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint);
    /// Blocks until the current context has finished its work.
    fn cuCtxSynchronize();
}

/// HIP's version of the functions, as HIP writes it.
const VERSION: c_int = (API_LEVEL.0 * 10_000_000 + API_LEVEL.1 * 100_000) as c_int;

/// Attributes of HIP that the driver does not have, with the values that describe an NVIDIA GPU.
const FIXED: &[(u32, c_int)] = &[
    // hipDeviceAttributeImageSupport: all have textures.
    (10014, 1),
    // hipDeviceAttributeWallClockRate: `%globaltimer` counts nanoseconds. In kHz.
    (10017, 1_000_000),
    // hipDeviceAttributeNumberOfXccs: one die.
    (10018, 1),
];

/// Returns an attribute of a device by CUDA's number, 0 if the driver is too old to know it.
pub(super) fn attribute(number: c_uint, device: c_int) -> Outcome<c_int> {
    let mut value = 0;
    // SAFETY: `value` is valid for a write.
    match unsafe { cuDeviceGetAttribute(&raw mut value, number, device) } {
        Err(failure) if failure.status == hipErrorInvalidValue => Ok(0),
        other => other.map(|()| value),
    }
}

hip_functions! {
    emulated fn hipGetDeviceCount(count: *mut c_int) {
        let found = driver::start()?;
        put(count, c_int::try_from(found).unwrap_or(c_int::MAX))
    }

    emulated fn hipSetDevice(device: c_int) {
        context::set_device(device)
    }

    emulated fn hipGetDevice(device: *mut c_int) {
        driver::start()?;
        put(device, context::device())
    }

    translated fn hipDeviceSynchronize() {
        context::enter()?;
        cuCtxSynchronize()
    }

    translated fn hipDriverGetVersion(version: *mut c_int) {
        driver::start()?;
        let mut cuda = 0;
        cuDriverGetVersion(&raw mut cuda)?;
        // CUDA 13.1 is 13010, and is 13.1 in HIP's encoding too.
        put(version, cuda / 1000 * 10_000_000 + cuda % 1000 / 10 * 100_000)
    }

    emulated fn hipRuntimeGetVersion(version: *mut c_int) {
        put(version, VERSION)
    }

    translated fn hipDeviceGetAttribute(value: *mut c_int, attribute: hipDeviceAttribute_t, device: c_int) {
        context::exists(device)?;
        if let Some(&(_, fixed)) = FIXED.iter().find(|(hip, _)| *hip == attribute.0) {
            return put(value, fixed);
        }
        let number = ATTRIBUTES.binary_search_by_key(&attribute.0, |(hip, _)| *hip);
        let number = number.map_err(|_| Failure::new(hipErrorInvalidValue, format!("NVIDIA GPUs have no attribute {attribute:?}")))?;
        ensure(!value.is_null(), hipErrorInvalidValue)?;
        cuDeviceGetAttribute(value, ATTRIBUTES[number].1, device)
    }

    translated fn hipDeviceGetP2PAttribute(value: *mut c_int, attribute: hipDeviceP2PAttr, from: c_int, to: c_int) {
        context::exists(from)?;
        context::exists(to)?;
        ensure(from != to, hipErrorInvalidDevice)?;
        // CUDA counts the same attributes from 1.
        cuDeviceGetP2PAttribute(value, attribute.0.wrapping_add(1), from, to)
    }

    translated fn hipSetDeviceFlags(flags: c_uint) {
        driver::start()?;
        cuDevicePrimaryCtxSetFlags_v2(context::device(), flags)
    }

    translated fn hipGetDeviceFlags(flags: *mut c_uint) {
        driver::start()?;
        let mut active = 0;
        ensure(!flags.is_null(), hipErrorInvalidValue)?;
        cuDevicePrimaryCtxGetState(context::device(), flags, &raw mut active)
    }

    emulated fn hipCtxGetCurrent(ctx: *mut hipCtx_t) {
        put(ctx, context::enter()?.cast())
    }
}
