//! Physical memory of virtual addresses: what CUDA's description of it must not leave open.

use std::ffi::{c_uint, c_ulonglong};

use hip_sys::rocm_7_2::{
    hipErrorInvalidValue, hipMemAllocationGranularity_flags, hipMemAllocationProp, hipMemGenericAllocationHandle_t,
};

use crate::context;
use crate::driver::driver_functions;
use crate::status::ensure;
use crate::structures::AllocationProperties;
use crate::table::hip_functions;

driver_functions! {
    /// Allocates physical memory.
    fn cuMemCreate(to: *mut hipMemGenericAllocationHandle_t, bytes: usize, properties: *const AllocationProperties, flags: c_ulonglong);
    /// Writes the unit of sizes of physical memory.
    fn cuMemGetAllocationGranularity(to: *mut usize, properties: *const AllocationProperties, option: c_uint);
}

impl AllocationProperties {
    /// The last bytes of HIP's structure are padding, which HIP's callers leave as it is. CUDA requires zeros there.
    fn of(hip: &hipMemAllocationProp) -> Self {
        Self {
            kind: hip.type_.0,
            // SAFETY: both fields of the union are the same number.
            handles: unsafe { hip.anon_1.requestedHandleTypes }.0,
            location: hip.location,
            metadata: hip.win32HandleMetaData,
            compression: hip.allocFlags.compressionType,
            is_for_rdma: hip.allocFlags.gpuDirectRDMACapable,
            usage: hip.allocFlags.usage,
            reserved: [0; 4],
        }
    }
}

hip_functions! {
    translated fn hipMemCreate(
        to: *mut hipMemGenericAllocationHandle_t, bytes: usize, properties: *const hipMemAllocationProp, flags: c_ulonglong,
    ) {
        ensure(!to.is_null() && !properties.is_null(), hipErrorInvalidValue)?;
        context::enter()?;
        cuMemCreate(to, bytes, &AllocationProperties::of(&*properties), flags)
    }

    translated fn hipMemGetAllocationGranularity(
        to: *mut usize, properties: *const hipMemAllocationProp, option: hipMemAllocationGranularity_flags,
    ) {
        ensure(!to.is_null() && !properties.is_null(), hipErrorInvalidValue)?;
        context::enter()?;
        cuMemGetAllocationGranularity(to, &AllocationProperties::of(&*properties), option.0)
    }
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use super::*;

    #[test]
    fn padding_is_not_passed_on() {
        let mut raw = MaybeUninit::<hipMemAllocationProp>::uninit();
        // SAFETY: integers and pointers, for which all bytes are values.
        let hip = unsafe {
            raw.as_mut_ptr().write_bytes(0xee, 1);
            raw.assume_init_mut()
        };
        hip.location.id = 3;
        hip.allocFlags.usage = 7;
        let cuda = AllocationProperties::of(hip);
        assert_eq!((cuda.kind, cuda.handles, cuda.location.id), (0xeeee_eeee, 0xeeee_eeee, 3));
        assert_eq!((cuda.compression, cuda.is_for_rdma, cuda.usage, cuda.reserved), (0xee, 0xee, 7, [0; 4]));
    }
}
