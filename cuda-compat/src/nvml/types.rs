//! Types and constants of `nvml.h`, with NVML's numbers.

#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals, reason = "names are C's")]

use core::ffi::{c_char, c_uint, c_ulonglong};
use core::fmt;

/// A GPU: a processor handle of AMD SMI.
pub type nvmlDevice_t = amdsmi_sys::amdsmi_processor_handle;

macro_rules! enums {
    ($($(#[$about:meta])* $ty:ident { $($name:ident = $value:literal,)* })*) => {$(
        $(#[$about])*
        #[repr(transparent)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $ty(pub c_uint);

        $(#[doc = concat!("Of [`", stringify!($ty), "`].")]
        pub const $name: $ty = $ty($value);)*

        impl fmt::Debug for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {
                    $($name => f.write_str(stringify!($name)),)*
                    $ty(other) => write!(f, concat!(stringify!($ty), "({})"), other),
                }
            }
        }
    )*};
}

enums! {
    /// The status of a call.
    nvmlReturn_t {
        NVML_SUCCESS = 0,
        NVML_ERROR_UNINITIALIZED = 1,
        NVML_ERROR_INVALID_ARGUMENT = 2,
        NVML_ERROR_NOT_SUPPORTED = 3,
        NVML_ERROR_NO_PERMISSION = 4,
        NVML_ERROR_ALREADY_INITIALIZED = 5,
        NVML_ERROR_NOT_FOUND = 6,
        NVML_ERROR_INSUFFICIENT_SIZE = 7,
        NVML_ERROR_INSUFFICIENT_POWER = 8,
        NVML_ERROR_DRIVER_NOT_LOADED = 9,
        NVML_ERROR_TIMEOUT = 10,
        NVML_ERROR_IRQ_ISSUE = 11,
        NVML_ERROR_LIBRARY_NOT_FOUND = 12,
        NVML_ERROR_FUNCTION_NOT_FOUND = 13,
        NVML_ERROR_CORRUPTED_INFOROM = 14,
        NVML_ERROR_GPU_IS_LOST = 15,
        NVML_ERROR_RESET_REQUIRED = 16,
        NVML_ERROR_OPERATING_SYSTEM = 17,
        NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
        NVML_ERROR_IN_USE = 19,
        NVML_ERROR_MEMORY = 20,
        NVML_ERROR_NO_DATA = 21,
        NVML_ERROR_UNKNOWN = 999,
    }
    /// A temperature sensor.
    nvmlTemperatureSensors_t {
        NVML_TEMPERATURE_GPU = 0,
    }
    /// A temperature that the GPU reacts to.
    nvmlTemperatureThresholds_t {
        NVML_TEMPERATURE_THRESHOLD_SHUTDOWN = 0,
        NVML_TEMPERATURE_THRESHOLD_SLOWDOWN = 1,
        NVML_TEMPERATURE_THRESHOLD_MEM_MAX = 2,
        NVML_TEMPERATURE_THRESHOLD_GPU_MAX = 3,
    }
    /// A clock.
    nvmlClockType_t {
        NVML_CLOCK_GRAPHICS = 0,
        NVML_CLOCK_SM = 1,
        NVML_CLOCK_MEM = 2,
        NVML_CLOCK_VIDEO = 3,
    }
}

/// A size for [`nvmlDeviceGetName`](super::nvmlDeviceGetName) that holds every name.
pub const NVML_DEVICE_NAME_V2_BUFFER_SIZE: c_uint = 96;
/// A size for [`nvmlDeviceGetUUID`](super::nvmlDeviceGetUUID) that holds every UUID.
pub const NVML_DEVICE_UUID_V2_BUFFER_SIZE: c_uint = 96;
/// A size for [`nvmlSystemGetDriverVersion`](super::nvmlSystemGetDriverVersion).
pub const NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE: c_uint = 80;
/// A size for [`nvmlSystemGetNVMLVersion`](super::nvmlSystemGetNVMLVersion).
pub const NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE: c_uint = 80;

/// Memory of a GPU, in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct nvmlMemory_t {
    /// Total memory.
    pub total: c_ulonglong,
    /// Free memory.
    pub free: c_ulonglong,
    /// Memory used by all processes and the driver.
    pub used: c_ulonglong,
}

/// Memory of a GPU, in bytes, with a version.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct nvmlMemory_v2_t {
    /// Must be [`nvmlMemory_v2`].
    pub version: c_uint,
    /// Total memory.
    pub total: c_ulonglong,
    /// Always 0: AMD SMI counts memory that the driver holds as used.
    pub reserved: c_ulonglong,
    /// Free memory.
    pub free: c_ulonglong,
    /// Used memory.
    pub used: c_ulonglong,
}

/// The version of [`nvmlMemory_v2_t`].
pub const nvmlMemory_v2: c_uint = size_of::<nvmlMemory_v2_t>() as c_uint | 2 << 24;

/// The utilization of a GPU, in percent.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct nvmlUtilization_t {
    /// Compute units.
    pub gpu: c_uint,
    /// The memory controller.
    pub memory: c_uint,
}

/// The address of a GPU on the PCI bus.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct nvmlPciInfo_t {
    /// The address with a domain of 4 digits, as a C string: `0000:c1:00.0`.
    pub busIdLegacy: [c_char; 16],
    /// The domain.
    pub domain: c_uint,
    /// The bus.
    pub bus: c_uint,
    /// The device.
    pub device: c_uint,
    /// Device ID in the upper 16 bits, vendor ID in the lower; 0 if AMD SMI does not report them.
    pub pciDeviceId: c_uint,
    /// Always 0.
    pub pciSubSystemId: c_uint,
    /// The address with a domain of 8 digits, as a C string: `00000000:C1:00.0`.
    pub busId: [c_char; 32],
}
