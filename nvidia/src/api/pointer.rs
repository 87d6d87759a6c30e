//! Attributes of addresses.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use hip_sys::rocm_7_2::{
    hipErrorInvalidValue, hipMemoryType, hipMemoryTypeDevice, hipMemoryTypeHost, hipMemoryTypeManaged,
    hipMemoryTypeUnregistered, hipPointerAttribute_t,
};

use crate::context;
use crate::driver::driver_functions;
use crate::status::ensure;
use crate::table::{hip_functions, put};

driver_functions! {
    /// Writes attributes of the memory at an address; zeros if the driver does not know it.
    fn cuPointerGetAttributes(count: c_uint, attributes: *const c_uint, values: *mut *mut c_void, address: *const c_void);
}

/// Numbers of `CUpointer_attribute`.
const MEMORY_TYPE: c_uint = 2;
const DEVICE_POINTER: c_uint = 3;
const HOST_POINTER: c_uint = 4;
const IS_MANAGED: c_uint = 8;
const DEVICE_ORDINAL: c_uint = 9;

/// Returns HIP's memory type for `CUmemorytype` and `IS_MANAGED`.
fn memory_type(cuda: c_uint, managed: bool) -> hipMemoryType {
    match cuda {
        _ if managed => hipMemoryTypeManaged,
        1 => hipMemoryTypeHost,
        2 => hipMemoryTypeDevice,
        _ => hipMemoryTypeUnregistered,
    }
}

hip_functions! {
    translated fn hipPointerGetAttributes(to: *mut hipPointerAttribute_t, address: *const c_void) {
        ensure(!to.is_null() && !address.is_null(), hipErrorInvalidValue)?;
        context::enter()?;
        let (mut kind, mut managed, mut device) = (0 as c_uint, 0 as c_uint, 0 as c_int);
        let (mut on_device, mut on_host) = (ptr::null_mut::<c_void>(), ptr::null_mut::<c_void>());
        let attributes = [MEMORY_TYPE, DEVICE_POINTER, HOST_POINTER, IS_MANAGED, DEVICE_ORDINAL];
        let mut values: [*mut c_void; 5] = [
            (&raw mut kind).cast(), (&raw mut on_device).cast(), (&raw mut on_host).cast(), (&raw mut managed).cast(),
            (&raw mut device).cast(),
        ];
        cuPointerGetAttributes(5, attributes.as_ptr(), values.as_mut_ptr(), address)?;
        let kind = memory_type(kind, managed != 0);
        let known = kind != hipMemoryTypeUnregistered;
        put(to, hipPointerAttribute_t {
            type_: kind,
            // The driver says -2 for memory that it does not know, HIP says -1.
            device: if known { device } else { -1 },
            devicePointer: on_device,
            hostPointer: on_host,
            isManaged: c_int::from(managed != 0),
            allocationFlags: 0,
        })
    }
}
