//! The names of `nvml.h`.

#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals, reason = "names are C's")]

use core::ffi::{CStr, c_char, c_uint, c_ulonglong};
use core::ptr::null_mut;

#[doc(no_inline)]
pub use amdsmi_sys::{has, load_error, symbol_error};

pub use super::types::*;

use amdsmi_sys as smi;

use super::convert::{Result, argument, check, form, status, text, write, write_text};

/// Starts AMD SMI. Every call needs a matching [`nvmlShutdown`].
///
/// # Safety
/// Always safe to call; it is `unsafe` as all functions here are.
#[doc(alias("amdsmi_init"))]
pub unsafe extern "C" fn nvmlInit_v2() -> nvmlReturn_t {
    // SAFETY: it takes no pointer.
    status(unsafe { smi::amdsmi_init(smi::AMDSMI_INIT_AMD_GPUS.0.into()) })
}

pub use nvmlInit_v2 as nvmlInit;

/// Starts AMD SMI; the flags must be 0 or `NVML_INIT_FLAG_NO_GPUS` (1), which is AMD SMI's behaviour anyway.
///
/// # Safety
/// Always safe to call; it is `unsafe` as all functions here are.
#[doc(alias("amdsmi_init"))]
pub unsafe extern "C" fn nvmlInitWithFlags(flags: c_uint) -> nvmlReturn_t {
    if flags > 1 {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    // SAFETY: it takes no pointer.
    unsafe { nvmlInit_v2() }
}

/// Shuts down AMD SMI after [`nvmlInit_v2`].
///
/// # Safety
/// Always safe to call; it is `unsafe` as all functions here are.
#[doc(alias("amdsmi_shut_down"))]
pub unsafe extern "C" fn nvmlShutdown() -> nvmlReturn_t {
    // SAFETY: it takes no pointer.
    status(unsafe { smi::amdsmi_shut_down() })
}

/// Returns the description of a status.
///
/// # Safety
/// Always safe to call; it is `unsafe` as all functions here are.
#[doc(alias("amdsmi_status_code_to_string"))]
pub unsafe extern "C" fn nvmlErrorString(result: nvmlReturn_t) -> *const c_char {
    let text: &'static CStr = match result {
        NVML_SUCCESS => c"Success",
        NVML_ERROR_UNINITIALIZED => c"Uninitialized: call nvmlInit_v2 first",
        NVML_ERROR_INVALID_ARGUMENT => c"Invalid argument",
        NVML_ERROR_NOT_SUPPORTED => c"Not supported by the GPU, or by this release of AMD SMI",
        NVML_ERROR_NO_PERMISSION => c"Insufficient permissions",
        NVML_ERROR_ALREADY_INITIALIZED => c"Already initialized",
        NVML_ERROR_NOT_FOUND => c"Not found",
        NVML_ERROR_INSUFFICIENT_SIZE => c"Insufficient size",
        NVML_ERROR_INSUFFICIENT_POWER => c"Insufficient external power",
        NVML_ERROR_DRIVER_NOT_LOADED => c"The driver amdgpu is not loaded",
        NVML_ERROR_TIMEOUT => c"Timeout",
        NVML_ERROR_IRQ_ISSUE => c"Interrupt request issue",
        NVML_ERROR_LIBRARY_NOT_FOUND => c"AMD SMI (libamd_smi.so) was not found",
        NVML_ERROR_FUNCTION_NOT_FOUND => c"AMD SMI lacks the function",
        NVML_ERROR_CORRUPTED_INFOROM => c"Corrupted infoROM",
        NVML_ERROR_GPU_IS_LOST => c"The GPU is lost",
        NVML_ERROR_RESET_REQUIRED => c"The GPU requires a reset",
        NVML_ERROR_OPERATING_SYSTEM => c"The operating system refused the access",
        NVML_ERROR_LIB_RM_VERSION_MISMATCH => c"Driver and library do not match",
        NVML_ERROR_IN_USE => c"In use",
        NVML_ERROR_MEMORY => c"Insufficient memory",
        NVML_ERROR_NO_DATA => c"No data",
        _ => c"Unknown error",
    };
    text.as_ptr()
}

/// Returns all GPUs, in AMD SMI's order.
fn devices() -> Result<Vec<nvmlDevice_t>> {
    let mut count = 0;
    // SAFETY: room for the count; with null, only the count is written.
    check(unsafe { smi::amdsmi_get_socket_handles(&mut count, null_mut()) })?;
    let mut sockets = vec![null_mut(); count as usize];
    if count > 0 {
        // SAFETY: room for this many handles.
        check(unsafe { smi::amdsmi_get_socket_handles(&mut count, sockets.as_mut_ptr()) })?;
    }
    sockets.truncate(count as usize);
    let mut devices = Vec::new();
    for socket in sockets {
        let mut count = 0;
        // SAFETY: room for the count; with null, only the count is written.
        check(unsafe { smi::amdsmi_get_processor_handles(socket, &mut count, null_mut()) })?;
        let mut processors = vec![null_mut(); count as usize];
        if count > 0 {
            // SAFETY: room for this many handles.
            check(unsafe { smi::amdsmi_get_processor_handles(socket, &mut count, processors.as_mut_ptr()) })?;
        }
        processors.truncate(count as usize);
        devices.extend(processors);
    }
    Ok(devices)
}

/// Returns the first GPU that passes the test.
fn find(mut test: impl FnMut(nvmlDevice_t) -> Result<bool>) -> Result<nvmlDevice_t> {
    for device in devices()? {
        if test(device)? {
            return Ok(device);
        }
    }
    Err(NVML_ERROR_NOT_FOUND)
}

/// Writes the driver version of the first GPU.
///
/// # Safety
/// `version` must be valid for writes of `length` bytes, or null, which is an error.
#[doc(alias("amdsmi_get_gpu_driver_info"))]
pub unsafe extern "C" fn nvmlSystemGetDriverVersion(version: *mut c_char, length: c_uint) -> nvmlReturn_t {
    let driver = || {
        let device = *devices()?.first().ok_or(NVML_ERROR_NOT_FOUND)?;
        form!(amdsmi_get_gpu_driver_info(device) -> amdsmi_driver_info_t in rocm_10_0, rocm_6_3;
            |info| text(&info.driver_version))
    };
    // SAFETY: the caller's contract.
    unsafe { write_text(version, length, driver) }
}

/// Writes the version of AMD SMI, such as `26.2.0`.
///
/// # Safety
/// `version` must be valid for writes of `length` bytes, or null, which is an error.
#[doc(alias("amdsmi_get_lib_version"))]
pub unsafe extern "C" fn nvmlSystemGetNVMLVersion(version: *mut c_char, length: c_uint) -> nvmlReturn_t {
    let library = || {
        form!(amdsmi_get_lib_version() -> amdsmi_version_t in rocm_10_0, rocm_6_4;
            |info| format!("{}.{}.{}", info.major, info.minor, info.release))
    };
    // SAFETY: the caller's contract.
    unsafe { write_text(version, length, library) }
}

/// Writes the number of GPUs.
///
/// # Safety
/// `deviceCount` must be valid for the write, or null, which is an error.
#[doc(alias("amdsmi_get_processor_handles"))]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(deviceCount: *mut c_uint) -> nvmlReturn_t {
    // SAFETY: the caller's contract.
    unsafe { write(deviceCount, || devices()?.len().try_into().map_err(|_| NVML_ERROR_UNKNOWN)) }
}

pub use nvmlDeviceGetCount_v2 as nvmlDeviceGetCount;

/// Writes the handle of a GPU; an index that is too large is an invalid argument.
///
/// # Safety
/// `device` must be valid for the write, or null, which is an error.
#[doc(alias("amdsmi_get_processor_handles"))]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, device: *mut nvmlDevice_t) -> nvmlReturn_t {
    let at = || devices()?.get(index as usize).copied().ok_or(NVML_ERROR_INVALID_ARGUMENT);
    // SAFETY: the caller's contract.
    unsafe { write(device, at) }
}

pub use nvmlDeviceGetHandleByIndex_v2 as nvmlDeviceGetHandleByIndex;

/// Writes the handle of the GPU with a UUID in the format of [`nvmlDeviceGetUUID`].
///
/// # Safety
/// `uuid` must be a C string, or null, which is an error, and `device` valid for the write, or null, which is an error.
#[doc(alias("amdsmi_get_gpu_device_uuid"))]
pub unsafe extern "C" fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, device: *mut nvmlDevice_t) -> nvmlReturn_t {
    let by_uuid = || {
        // SAFETY: the caller's contract.
        let wanted = unsafe { argument(uuid) }?;
        find(|device| Ok(uuid_of(device)?.eq_ignore_ascii_case(wanted)))
    };
    // SAFETY: the caller's contract.
    unsafe { write(device, by_uuid) }
}

/// Writes the handle of the GPU at a PCI address: `DOMAIN:BUS:DEVICE.FUNCTION` in hexadecimal digits. The default
/// domain is 0; without a function, any function matches.
///
/// # Safety
/// `pciBusId` must be a C string, or null, which is an error, and `device` valid for the write, or null, which is an
/// error.
#[doc(alias("amdsmi_get_gpu_bdf_id"))]
pub unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(
    pciBusId: *const c_char,
    device: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    let by_address = || {
        // SAFETY: the caller's contract.
        let wanted = Address::parse(unsafe { argument(pciBusId) }?).ok_or(NVML_ERROR_INVALID_ARGUMENT)?;
        find(|device| {
            let is = Address::of(device)?;
            Ok((is.domain, is.bus, is.device) == (wanted.domain, wanted.bus, wanted.device)
                && wanted.function.is_none_or(|function| is.function == Some(function)))
        })
    };
    // SAFETY: the caller's contract.
    unsafe { write(device, by_address) }
}

pub use nvmlDeviceGetHandleByPciBusId_v2 as nvmlDeviceGetHandleByPciBusId;

/// Writes the index of a GPU.
///
/// # Safety
/// `index` must be valid for the write, or null, which is an error.
#[doc(alias("amdsmi_get_processor_handles"))]
pub unsafe extern "C" fn nvmlDeviceGetIndex(device: nvmlDevice_t, index: *mut c_uint) -> nvmlReturn_t {
    let position = || {
        let position = devices()?.iter().position(|other| *other == device).ok_or(NVML_ERROR_INVALID_ARGUMENT)?;
        position.try_into().map_err(|_| NVML_ERROR_UNKNOWN)
    };
    // SAFETY: the caller's contract.
    unsafe { write(index, position) }
}

/// Writes the name of a GPU, such as `AMD Instinct MI300X`.
///
/// # Safety
/// `name` must be valid for writes of `length` bytes, or null, which is an error.
#[doc(alias("amdsmi_get_gpu_asic_info", "amdsmi_get_gpu_board_info"))]
pub unsafe extern "C" fn nvmlDeviceGetName(device: nvmlDevice_t, name: *mut c_char, length: c_uint) -> nvmlReturn_t {
    let market_name = || {
        let asic = form!(amdsmi_get_gpu_asic_info(device) -> amdsmi_asic_info_t
            in rocm_10_0, rocm_7_0, rocm_6_4, rocm_6_3, rocm_6_2; |info| text(&info.market_name));
        match asic {
            // ROCm 7.1 and 7.2.
            Err(NVML_ERROR_NOT_SUPPORTED) => form!(amdsmi_get_gpu_board_info(device) -> amdsmi_board_info_t
                in rocm_7_1; |info| text(&info.product_name)),
            asic => asic,
        }
    };
    // SAFETY: the caller's contract.
    unsafe { write_text(name, length, market_name) }
}

fn uuid_of(device: nvmlDevice_t) -> Result<String> {
    let mut buffer = [0; 96];
    let mut length = 96;
    // SAFETY: a buffer of this length, which is more than AMD SMI needs (38).
    check(unsafe { smi::amdsmi_get_gpu_device_uuid(device, &mut length, buffer.as_mut_ptr()) })?;
    Ok(text(&buffer))
}

/// Writes the UUID of a GPU in AMD SMI's format, without the prefix `GPU-`.
///
/// # Safety
/// `uuid` must be valid for writes of `length` bytes, or null, which is an error.
#[doc(alias("amdsmi_get_gpu_device_uuid"))]
pub unsafe extern "C" fn nvmlDeviceGetUUID(device: nvmlDevice_t, uuid: *mut c_char, length: c_uint) -> nvmlReturn_t {
    // SAFETY: the caller's contract.
    unsafe { write_text(uuid, length, || uuid_of(device)) }
}

/// Writes the version of a GPU's VBIOS.
///
/// # Safety
/// `version` must be valid for writes of `length` bytes, or null, which is an error.
#[doc(alias("amdsmi_get_gpu_vbios_info"))]
pub unsafe extern "C" fn nvmlDeviceGetVbiosVersion(
    device: nvmlDevice_t,
    version: *mut c_char,
    length: c_uint,
) -> nvmlReturn_t {
    let vbios = || {
        form!(amdsmi_get_gpu_vbios_info(device) -> amdsmi_vbios_info_t in rocm_10_0, rocm_7_0, rocm_6_4, rocm_6_3;
            |info| text(&info.version))
    };
    // SAFETY: the caller's contract.
    unsafe { write_text(version, length, vbios) }
}

/// A PCI address.
struct Address {
    domain: u32,
    bus: u32,
    device: u32,
    /// `None` matches any function.
    function: Option<u32>,
}

impl Address {
    fn of(device: nvmlDevice_t) -> Result<Self> {
        let mut id = 0_u64;
        // SAFETY: room for the result.
        check(unsafe { smi::amdsmi_get_gpu_bdf_id(device, &mut id) })?;
        // The domain is in the upper half; bits 28 to 31 are a partition.
        let bits = |from: u32, count: u32| ((id >> from) & ((1 << count) - 1)) as u32;
        Ok(Self { domain: (id >> 32) as u32, bus: bits(8, 8), device: bits(3, 5), function: Some(bits(0, 3)) })
    }

    fn parse(text: &str) -> Option<Self> {
        let hexadecimal = |text: &str| u32::from_str_radix(text, 16).ok();
        let (rest, function) = match text.split_once('.') {
            Some((rest, function)) => (rest, Some(hexadecimal(function)?)),
            None => (text, None),
        };
        let parts: Vec<&str> = rest.split(':').collect();
        let (domain, bus, device) = match parts[..] {
            [domain, bus, device] => (hexadecimal(domain)?, bus, device),
            [bus, device] => (0, bus, device),
            _ => return None,
        };
        Some(Self { domain, bus: hexadecimal(bus)?, device: hexadecimal(device)?, function })
    }
}

/// Writes the PCI address of a GPU.
///
/// # Safety
/// `pci` must be valid for the write, or null, which is an error.
#[doc(alias("amdsmi_get_gpu_bdf_id"))]
pub unsafe extern "C" fn nvmlDeviceGetPciInfo_v3(device: nvmlDevice_t, pci: *mut nvmlPciInfo_t) -> nvmlReturn_t {
    let info = || {
        let Address { domain, bus, device: number, function } = Address::of(device)?;
        let function = function.unwrap_or_default();
        let mut info = nvmlPciInfo_t { domain, bus, device: number, ..Default::default() };
        let copy = |to: &mut [c_char], from: String| {
            for (to, from) in to.iter_mut().zip(from.bytes()) {
                *to = from as c_char;
            }
        };
        copy(&mut info.busIdLegacy[..15], format!("{domain:04x}:{bus:02x}:{number:02x}.{function}"));
        copy(&mut info.busId[..31], format!("{domain:08X}:{bus:02X}:{number:02X}.{function}"));
        let ids = form!(amdsmi_get_gpu_asic_info(device) -> amdsmi_asic_info_t
            in rocm_10_0, rocm_7_0, rocm_6_4, rocm_6_3, rocm_6_2; |info| (info.device_id, info.vendor_id));
        if let Ok((device, vendor)) = ids {
            info.pciDeviceId = ((device & 0xffff) as c_uint) << 16 | vendor & 0xffff;
        }
        Ok(info)
    };
    // SAFETY: the caller's contract.
    unsafe { write(pci, info) }
}

pub use nvmlDeviceGetPciInfo_v3 as nvmlDeviceGetPciInfo;

fn memory(device: nvmlDevice_t) -> Result<nvmlMemory_t> {
    let (mut total, mut used) = (0, 0);
    // SAFETY: room for the results.
    unsafe {
        check(smi::amdsmi_get_gpu_memory_total(device, smi::AMDSMI_MEM_TYPE_VRAM, &mut total))?;
        check(smi::amdsmi_get_gpu_memory_usage(device, smi::AMDSMI_MEM_TYPE_VRAM, &mut used))?;
    }
    Ok(nvmlMemory_t { total, free: total.saturating_sub(used), used })
}

/// Writes the total and the used memory of a GPU, in bytes.
///
/// # Safety
/// `memory` must be valid for the write, or null, which is an error.
#[doc(alias("amdsmi_get_gpu_memory_total", "amdsmi_get_gpu_memory_usage"))]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo(device: nvmlDevice_t, memory: *mut nvmlMemory_t) -> nvmlReturn_t {
    // SAFETY: the caller's contract.
    unsafe { write(memory, || self::memory(device)) }
}

/// Writes the total and the used memory of a GPU, in bytes. `version` must be [`nvmlMemory_v2`].
///
/// # Safety
/// `memory` must be valid for reads and writes, or null, which is an error.
#[doc(alias("amdsmi_get_gpu_memory_total", "amdsmi_get_gpu_memory_usage"))]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(
    device: nvmlDevice_t,
    memory: *mut nvmlMemory_v2_t,
) -> nvmlReturn_t {
    // SAFETY: the caller's contract; it is not null.
    if memory.is_null() || unsafe { (*memory).version } != nvmlMemory_v2 {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    let with_version = || {
        let nvmlMemory_t { total, free, used } = self::memory(device)?;
        Ok(nvmlMemory_v2_t { version: nvmlMemory_v2, total, reserved: 0, free, used })
    };
    // SAFETY: the caller's contract.
    unsafe { write(memory, with_version) }
}

/// Returns an error for the value that AMD SMI uses for unknown.
fn known(value: u32) -> Result<u32> {
    if value == u32::MAX || value == u32::from(u16::MAX) { Err(NVML_ERROR_NOT_SUPPORTED) } else { Ok(value) }
}

/// Writes the utilization of a GPU, in percent.
///
/// # Safety
/// `utilization` must be valid for the write, or null, which is an error.
#[doc(alias("amdsmi_get_gpu_activity"))]
pub unsafe extern "C" fn nvmlDeviceGetUtilizationRates(
    device: nvmlDevice_t,
    utilization: *mut nvmlUtilization_t,
) -> nvmlReturn_t {
    let rates = || {
        let mut usage = smi::amdsmi_engine_usage_t::default();
        // SAFETY: room for the result.
        check(unsafe { smi::amdsmi_get_gpu_activity(device, &mut usage) })?;
        Ok(nvmlUtilization_t { gpu: known(usage.gfx_activity)?, memory: known(usage.umc_activity)? })
    };
    // SAFETY: the caller's contract.
    unsafe { write(utilization, rates) }
}

/// Returns a temperature in °C.
fn temperature(
    device: nvmlDevice_t,
    sensor: smi::amdsmi_temperature_type_t,
    metric: smi::amdsmi_temperature_metric_t,
) -> Result<c_uint> {
    let mut value = 0_i64;
    // SAFETY: room for the result.
    check(unsafe { smi::amdsmi_get_temp_metric(device, sensor, metric, &mut value) })?;
    // NVML's value is unsigned: temperatures below zero are reported as zero.
    Ok(value.clamp(0, u32::MAX.into()).try_into().unwrap_or_default())
}

/// Returns a temperature of the edge, or of the hottest spot if there is no edge sensor.
fn temperature_of_gpu(device: nvmlDevice_t, metric: smi::amdsmi_temperature_metric_t) -> Result<c_uint> {
    match temperature(device, smi::AMDSMI_TEMPERATURE_TYPE_EDGE, metric) {
        Err(NVML_ERROR_NOT_SUPPORTED | NVML_ERROR_NO_DATA) => {
            temperature(device, smi::AMDSMI_TEMPERATURE_TYPE_HOTSPOT, metric)
        }
        edge => edge,
    }
}

/// Writes the temperature of a GPU in °C.
///
/// # Safety
/// `temp` must be valid for the write, or null, which is an error.
#[doc(alias("amdsmi_get_temp_metric"))]
pub unsafe extern "C" fn nvmlDeviceGetTemperature(
    device: nvmlDevice_t,
    sensorType: nvmlTemperatureSensors_t,
    temp: *mut c_uint,
) -> nvmlReturn_t {
    if sensorType != NVML_TEMPERATURE_GPU {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    // SAFETY: the caller's contract.
    unsafe { write(temp, || temperature_of_gpu(device, smi::AMDSMI_TEMP_CURRENT)) }
}

/// Writes a temperature that a GPU reacts to, in °C: for a shutdown AMD's emergency limit, for a slowdown the critical
/// one.
///
/// # Safety
/// `temp` must be valid for the write, or null, which is an error.
#[doc(alias("amdsmi_get_temp_metric"))]
pub unsafe extern "C" fn nvmlDeviceGetTemperatureThreshold(
    device: nvmlDevice_t,
    thresholdType: nvmlTemperatureThresholds_t,
    temp: *mut c_uint,
) -> nvmlReturn_t {
    let threshold = || match thresholdType {
        NVML_TEMPERATURE_THRESHOLD_SHUTDOWN => temperature_of_gpu(device, smi::AMDSMI_TEMP_EMERGENCY),
        NVML_TEMPERATURE_THRESHOLD_SLOWDOWN => temperature_of_gpu(device, smi::AMDSMI_TEMP_CRITICAL),
        NVML_TEMPERATURE_THRESHOLD_MEM_MAX => {
            temperature(device, smi::AMDSMI_TEMPERATURE_TYPE_VRAM, smi::AMDSMI_TEMP_CRITICAL)
        }
        _ => Err(NVML_ERROR_NOT_SUPPORTED),
    };
    // SAFETY: the caller's contract.
    unsafe { write(temp, threshold) }
}

/// Writes the power that a GPU draws, in mW: AMD SMI reports whole watts.
///
/// # Safety
/// `power` must be valid for the write, or null, which is an error.
#[doc(alias("amdsmi_get_power_info"))]
pub unsafe extern "C" fn nvmlDeviceGetPowerUsage(device: nvmlDevice_t, power: *mut c_uint) -> nvmlReturn_t {
    let milliwatts = || {
        let (current, average) = form!(amdsmi_get_power_info(device) -> amdsmi_power_info_t
            in rocm_10_0, rocm_7_0, rocm_6_4, rocm_6_3; |info| (info.current_socket_power, info.average_socket_power))?;
        // MI300 and newer report the current power, older GPUs the average.
        let watts = known(current).ok().filter(|watts| *watts > 0).map_or_else(|| known(average), Ok)?;
        watts.checked_mul(1000).ok_or(NVML_ERROR_UNKNOWN)
    };
    // SAFETY: the caller's contract.
    unsafe { write(power, milliwatts) }
}

/// Returns a power limit of a GPU, converted from µW to mW.
fn power_cap(device: nvmlDevice_t, of: impl FnOnce(&smi::amdsmi_power_cap_info_t) -> u64) -> Result<c_uint> {
    let mut info = smi::amdsmi_power_cap_info_t::default();
    // SAFETY: room for the result; 0 is the sensor that every GPU has.
    check(unsafe { smi::amdsmi_get_power_cap_info(device, 0, &mut info) })?;
    (of(&info) / 1000).try_into().map_err(|_| NVML_ERROR_UNKNOWN)
}

/// Writes the power limit of a GPU, in mW.
///
/// # Safety
/// `limit` must be valid for the write, or null, which is an error.
#[doc(alias("amdsmi_get_power_cap_info"))]
pub unsafe extern "C" fn nvmlDeviceGetPowerManagementLimit(device: nvmlDevice_t, limit: *mut c_uint) -> nvmlReturn_t {
    // SAFETY: the caller's contract.
    unsafe { write(limit, || power_cap(device, |info| info.power_cap)) }
}

pub use nvmlDeviceGetPowerManagementLimit as nvmlDeviceGetEnforcedPowerLimit;

/// Writes the default power limit of a GPU, in mW.
///
/// # Safety
/// `defaultLimit` must be valid for the write, or null, which is an error.
#[doc(alias("amdsmi_get_power_cap_info"))]
pub unsafe extern "C" fn nvmlDeviceGetPowerManagementDefaultLimit(
    device: nvmlDevice_t,
    defaultLimit: *mut c_uint,
) -> nvmlReturn_t {
    // SAFETY: the caller's contract.
    unsafe { write(defaultLimit, || power_cap(device, |info| info.default_power_cap)) }
}

/// Writes the range of power limits of a GPU, in mW.
///
/// # Safety
/// `minLimit` and `maxLimit` must be valid for the writes, or null, which is an error.
#[doc(alias("amdsmi_get_power_cap_info"))]
pub unsafe extern "C" fn nvmlDeviceGetPowerManagementLimitConstraints(
    device: nvmlDevice_t,
    minLimit: *mut c_uint,
    maxLimit: *mut c_uint,
) -> nvmlReturn_t {
    if maxLimit.is_null() {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    // SAFETY: the caller's contract.
    match unsafe { write(minLimit, || power_cap(device, |info| info.min_power_cap)) } {
        // SAFETY: the caller's contract.
        NVML_SUCCESS => unsafe { write(maxLimit, || power_cap(device, |info| info.max_power_cap)) },
        error => error,
    }
}

/// Writes the energy that a GPU has used since the driver was loaded, in mJ.
///
/// # Safety
/// `energy` must be valid for the write, or null, which is an error.
#[doc(alias("amdsmi_get_energy_count"))]
pub unsafe extern "C" fn nvmlDeviceGetTotalEnergyConsumption(
    device: nvmlDevice_t,
    energy: *mut c_ulonglong,
) -> nvmlReturn_t {
    let millijoules = || {
        let (mut count, mut microjoules, mut time) = (0, 0_f32, 0);
        // SAFETY: room for the results.
        check(unsafe { smi::amdsmi_get_energy_count(device, &mut count, &mut microjoules, &mut time) })?;
        Ok((count as f64 * f64::from(microjoules) / 1000.0) as c_ulonglong)
    };
    // SAFETY: the caller's contract.
    unsafe { write(energy, millijoules) }
}

/// Returns a clock in MHz, given the frequencies (in Hz) that it supports.
fn clock(device: nvmlDevice_t, clock: nvmlClockType_t, of: fn(&[u64], u32) -> Option<u64>) -> Result<c_uint> {
    let clock = match clock {
        NVML_CLOCK_GRAPHICS | NVML_CLOCK_SM => smi::AMDSMI_CLK_TYPE_GFX,
        NVML_CLOCK_MEM => smi::AMDSMI_CLK_TYPE_MEM,
        NVML_CLOCK_VIDEO => smi::AMDSMI_CLK_TYPE_VCLK0,
        _ => return Err(NVML_ERROR_INVALID_ARGUMENT),
    };
    let hertz = form!(amdsmi_get_clk_freq(device, clock) -> amdsmi_frequencies_t in rocm_6_2; |info| {
        let all = &info.frequency;
        of(&all[..all.len().min(info.num_supported as usize)], info.current)
    })?;
    (hertz.ok_or(NVML_ERROR_NO_DATA)? / 1_000_000).try_into().map_err(|_| NVML_ERROR_UNKNOWN)
}

/// Writes a clock's frequency in MHz. Graphics and SM clocks are the same.
///
/// # Safety
/// `clock` must be valid for the write, or null, which is an error.
#[doc(alias("amdsmi_get_clk_freq"))]
pub unsafe extern "C" fn nvmlDeviceGetClockInfo(
    device: nvmlDevice_t,
    r#type: nvmlClockType_t,
    clock: *mut c_uint,
) -> nvmlReturn_t {
    let current = || self::clock(device, r#type, |all, current| all.get(current as usize).copied());
    // SAFETY: the caller's contract.
    unsafe { write(clock, current) }
}

/// Writes a clock's maximum frequency in MHz.
///
/// # Safety
/// `clock` must be valid for the write, or null, which is an error.
#[doc(alias("amdsmi_get_clk_freq"))]
pub unsafe extern "C" fn nvmlDeviceGetMaxClockInfo(
    device: nvmlDevice_t,
    r#type: nvmlClockType_t,
    clock: *mut c_uint,
) -> nvmlReturn_t {
    // SAFETY: the caller's contract.
    unsafe { write(clock, || self::clock(device, r#type, |all, _| all.iter().max().copied())) }
}

/// Writes a fan's speed in percent of its maximum.
///
/// # Safety
/// `speed` must be valid for the write, or null, which is an error.
#[doc(alias("amdsmi_get_gpu_fan_speed", "amdsmi_get_gpu_fan_speed_max"))]
pub unsafe extern "C" fn nvmlDeviceGetFanSpeed_v2(
    device: nvmlDevice_t,
    fan: c_uint,
    speed: *mut c_uint,
) -> nvmlReturn_t {
    let percent = || {
        let (mut now, mut highest) = (0_i64, 0_u64);
        // SAFETY: room for the results.
        unsafe {
            check(smi::amdsmi_get_gpu_fan_speed(device, fan, &mut now))?;
            check(smi::amdsmi_get_gpu_fan_speed_max(device, fan, &mut highest))?;
        }
        let (now, highest) = (u64::try_from(now).map_err(|_| NVML_ERROR_NO_DATA)?, highest);
        let percent = now.checked_mul(100).and_then(|now| now.checked_div(highest)).ok_or(NVML_ERROR_NO_DATA)?;
        percent.try_into().map_err(|_| NVML_ERROR_UNKNOWN)
    };
    // SAFETY: the caller's contract.
    unsafe { write(speed, percent) }
}

/// Writes the first fan's speed in percent of its maximum.
///
/// # Safety
/// `speed` must be valid for the write, or null, which is an error.
#[doc(alias("amdsmi_get_gpu_fan_speed", "amdsmi_get_gpu_fan_speed_max"))]
pub unsafe extern "C" fn nvmlDeviceGetFanSpeed(device: nvmlDevice_t, speed: *mut c_uint) -> nvmlReturn_t {
    // SAFETY: the caller's contract.
    unsafe { nvmlDeviceGetFanSpeed_v2(device, 0, speed) }
}
