//! NVML's names over an AMD SMI of known values: functions of this test, given as the library's.
//!
//! The library is one for a process, so each release of AMD SMI is a process: this test starts itself again.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

use amdsmi_sys as smi;
use amdsmi_sys::amdsmi_status_t;
use cuda_compat::nvml::*;

const RELEASE: &str = "CUDA_COMPAT_TEST_AMD_SMI";

/// Handles are numbers here.
fn handle(number: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(number)
}

const SOCKETS: [usize; 2] = [0x10, 0x20];
const GPUS: [usize; 3] = [0x11, 0x21, 0x22];

static STARTED: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn init(flags: u64) -> amdsmi_status_t {
    assert_eq!(flags, 2, "GPUs alone");
    STARTED.fetch_add(1, Ordering::Relaxed);
    smi::AMDSMI_STATUS_SUCCESS
}

unsafe extern "C" fn shut_down() -> amdsmi_status_t {
    match STARTED.load(Ordering::Relaxed) {
        0 => smi::AMDSMI_STATUS_NOT_INIT,
        _ => {
            STARTED.fetch_sub(1, Ordering::Relaxed);
            smi::AMDSMI_STATUS_SUCCESS
        }
    }
}

/// Writes handles, or their number.
unsafe fn list(all: &[usize], count: *mut u32, handles: *mut *mut c_void) -> amdsmi_status_t {
    if STARTED.load(Ordering::Relaxed) == 0 {
        return smi::AMDSMI_STATUS_NOT_INIT;
    }
    // SAFETY: the functions under test pass a place for the count, and as many places as it says.
    unsafe {
        if !handles.is_null() {
            assert_eq!(*count as usize, all.len());
            for (index, number) in all.iter().enumerate() {
                handles.add(index).write(handle(*number));
            }
        }
        count.write(all.len() as u32);
    }
    smi::AMDSMI_STATUS_SUCCESS
}

unsafe extern "C" fn sockets(count: *mut u32, handles: *mut *mut c_void) -> amdsmi_status_t {
    // SAFETY: the caller's contract.
    unsafe { list(&SOCKETS, count, handles) }
}

unsafe extern "C" fn processors(socket: *mut c_void, count: *mut u32, handles: *mut *mut c_void) -> amdsmi_status_t {
    let of_socket = if socket.addr() == SOCKETS[0] { &GPUS[..1] } else { &GPUS[1..] };
    // SAFETY: the caller's contract.
    unsafe { list(of_socket, count, handles) }
}

/// Writes a value for a known handle.
unsafe fn value<T>(device: *mut c_void, place: *mut T, value: T) -> amdsmi_status_t {
    if !GPUS.contains(&device.addr()) {
        return smi::AMDSMI_STATUS_INVAL;
    }
    // SAFETY: the functions under test pass a place.
    unsafe { place.write(value) };
    smi::AMDSMI_STATUS_SUCCESS
}

unsafe extern "C" fn memory_total(
    device: *mut c_void,
    ty: smi::amdsmi_memory_type_t,
    place: *mut u64,
) -> amdsmi_status_t {
    assert_eq!(ty, smi::AMDSMI_MEM_TYPE_VRAM);
    // SAFETY: the caller's contract.
    unsafe { value(device, place, 64 << 30) }
}

unsafe extern "C" fn memory_used(
    device: *mut c_void,
    ty: smi::amdsmi_memory_type_t,
    place: *mut u64,
) -> amdsmi_status_t {
    assert_eq!(ty, smi::AMDSMI_MEM_TYPE_VRAM);
    // SAFETY: the caller's contract.
    unsafe { value(device, place, 3 << 30) }
}

unsafe extern "C" fn activity(device: *mut c_void, place: *mut smi::amdsmi_engine_usage_t) -> amdsmi_status_t {
    let usage = smi::amdsmi_engine_usage_t { gfx_activity: 77, umc_activity: 33, ..Default::default() };
    // SAFETY: the caller's contract.
    unsafe { value(device, place, usage) }
}

unsafe extern "C" fn bdf(device: *mut c_void, place: *mut u64) -> amdsmi_status_t {
    // Domain 1, bus c1, device 2, function 3, and a partition, which is none of it.
    // SAFETY: the caller's contract.
    unsafe { value(device, place, 1 << 32 | 5 << 28 | 0xc1 << 8 | 2 << 3 | (device.addr() as u64 & 3)) }
}

unsafe extern "C" fn uuid(device: *mut c_void, length: *mut u32, place: *mut c_char) -> amdsmi_status_t {
    let text = format!("{:02x}ff74a1-0000-1000-80aa-ffffffffffff\0", device.addr());
    // SAFETY: the functions under test pass a buffer of the length.
    unsafe {
        assert!(*length as usize >= text.len());
        place.cast::<u8>().copy_from(text.as_ptr(), text.len());
        length.write(text.len() as u32);
    }
    smi::AMDSMI_STATUS_SUCCESS
}

unsafe extern "C" fn temperature(
    device: *mut c_void,
    sensor: smi::amdsmi_temperature_type_t,
    metric: smi::amdsmi_temperature_metric_t,
    place: *mut i64,
) -> amdsmi_status_t {
    let degrees = match (sensor, metric, device.addr()) {
        // The second GPU has a sensor at the edge, the others have none.
        (smi::AMDSMI_TEMPERATURE_TYPE_EDGE, smi::AMDSMI_TEMP_CURRENT, 0x21) => 44,
        (smi::AMDSMI_TEMPERATURE_TYPE_HOTSPOT, smi::AMDSMI_TEMP_CURRENT, _) => 55,
        (smi::AMDSMI_TEMPERATURE_TYPE_HOTSPOT, smi::AMDSMI_TEMP_CRITICAL, _) => 100,
        (smi::AMDSMI_TEMPERATURE_TYPE_HOTSPOT, smi::AMDSMI_TEMP_EMERGENCY, _) => 110,
        (smi::AMDSMI_TEMPERATURE_TYPE_VRAM, smi::AMDSMI_TEMP_CRITICAL, _) => 95,
        _ => return smi::AMDSMI_STATUS_NOT_SUPPORTED,
    };
    // SAFETY: the caller's contract.
    unsafe { value(device, place, degrees) }
}

unsafe extern "C" fn power_cap(
    device: *mut c_void,
    sensor: u32,
    place: *mut smi::amdsmi_power_cap_info_t,
) -> amdsmi_status_t {
    assert_eq!(sensor, 0);
    let info = smi::amdsmi_power_cap_info_t {
        power_cap: 500_000_000,
        default_power_cap: 560_000_000,
        min_power_cap: 0,
        max_power_cap: 750_000_000,
        ..Default::default()
    };
    // SAFETY: the caller's contract.
    unsafe { value(device, place, info) }
}

unsafe extern "C" fn energy(
    device: *mut c_void,
    count: *mut u64,
    resolution: *mut f32,
    time: *mut u64,
) -> amdsmi_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        resolution.write(15.25);
        time.write(1);
        value(device, count, 4_000_000)
    }
}

unsafe extern "C" fn clocks(
    device: *mut c_void,
    clock: smi::rocm_6_2::amdsmi_clk_type_t,
    place: *mut smi::rocm_6_2::amdsmi_frequencies_t,
) -> amdsmi_status_t {
    let mut info = smi::rocm_6_2::amdsmi_frequencies_t { num_supported: 3, current: 1, ..Default::default() };
    match clock {
        smi::AMDSMI_CLK_TYPE_GFX => info.frequency[..3].copy_from_slice(&[500_000_000, 1_300_000_000, 2_100_000_000]),
        // The GPU sleeps: there is no current clock.
        smi::AMDSMI_CLK_TYPE_MEM => {
            (info.frequency[0], info.num_supported, info.current) = (1_600_000_000, 1, u32::MAX)
        }
        _ => return smi::AMDSMI_STATUS_NOT_SUPPORTED,
    }
    // SAFETY: the caller's contract.
    unsafe { value(device, place, info) }
}

unsafe extern "C" fn fan(device: *mut c_void, index: u32, place: *mut i64) -> amdsmi_status_t {
    if index > 0 {
        return smi::AMDSMI_STATUS_INPUT_OUT_OF_BOUNDS;
    }
    // SAFETY: the caller's contract.
    unsafe { value(device, place, 102) }
}

unsafe extern "C" fn fan_max(device: *mut c_void, _: u32, place: *mut u64) -> amdsmi_status_t {
    // SAFETY: the caller's contract.
    unsafe { value(device, place, 255) }
}

/// A buffer of a struct with this text.
fn text<const N: usize>(text: &str) -> [c_char; N] {
    let mut buffer = [0; N];
    for (to, from) in buffer.iter_mut().zip(text.bytes()) {
        *to = from as c_char;
    }
    buffer
}

/// Functions whose structs differ, for one release.
macro_rules! release {
    ($module:ident) => {
        mod $module {
            use super::*;
            use smi::$module as of;

            pub(super) unsafe extern "C" fn asic(
                device: *mut c_void,
                place: *mut of::amdsmi_asic_info_t,
            ) -> amdsmi_status_t {
                let info = of::amdsmi_asic_info_t {
                    market_name: text("AMD Instinct"),
                    vendor_id: 0x1002,
                    device_id: 0x74a1,
                    ..Default::default()
                };
                // SAFETY: the caller's contract.
                unsafe { value(device, place, info) }
            }

            pub(super) unsafe extern "C" fn power(
                device: *mut c_void,
                place: *mut of::amdsmi_power_info_t,
            ) -> amdsmi_status_t {
                let (current_socket_power, average_socket_power) =
                    if device.addr() == GPUS[0] { (u32::from(u16::MAX), 220) } else { (345, 0) };
                let info = of::amdsmi_power_info_t { current_socket_power, average_socket_power, ..Default::default() };
                // SAFETY: the caller's contract.
                unsafe { value(device, place, info) }
            }

            pub(super) unsafe extern "C" fn driver(
                device: *mut c_void,
                place: *mut of::amdsmi_driver_info_t,
            ) -> amdsmi_status_t {
                let info = of::amdsmi_driver_info_t { driver_version: text("6.12.12"), ..Default::default() };
                // SAFETY: the caller's contract.
                unsafe { value(device, place, info) }
            }

            pub(super) unsafe extern "C" fn vbios(
                device: *mut c_void,
                place: *mut of::amdsmi_vbios_info_t,
            ) -> amdsmi_status_t {
                let info = of::amdsmi_vbios_info_t { version: text("022.040"), ..Default::default() };
                // SAFETY: the caller's contract.
                unsafe { value(device, place, info) }
            }

            pub(super) unsafe extern "C" fn version(place: *mut of::amdsmi_version_t) -> amdsmi_status_t {
                let version = of::amdsmi_version_t { major: 25, minor: 3, release: 1, ..Default::default() };
                // SAFETY: the caller's contract.
                unsafe { value(handle(GPUS[0]), place, version) }
            }
        }
    };
}

release!(rocm_6_3);
release!(rocm_6_4);
release!(rocm_7_0);
release!(rocm_10_0);

unsafe extern "C" fn board_7_2(device: *mut c_void, place: *mut smi::rocm_7_2::amdsmi_board_info_t) -> amdsmi_status_t {
    let info = smi::rocm_7_2::amdsmi_board_info_t { product_name: text("AMD Instinct"), ..Default::default() };
    // SAFETY: the caller's contract.
    unsafe { value(device, place, info) }
}

/// The AMD SMI of a release.
struct Library(u32, u32);

impl smi::Provider for Library {
    fn name(&self) -> &str {
        "the test's AMD SMI"
    }

    fn release(&self) -> Option<(u32, u32)> {
        Some((self.0, self.1))
    }

    fn symbol(&self, name: &CStr) -> Option<std::ptr::NonNull<c_void>> {
        macro_rules! of_release {
            ($function:ident) => {
                match (self.0, self.1) {
                    (6, 3) => rocm_6_3::$function as *const c_void,
                    (6, 4) => rocm_6_4::$function as *const c_void,
                    (7, 0) => rocm_7_0::$function as *const c_void,
                    _ => rocm_10_0::$function as *const c_void,
                }
            };
        }
        let function = match name.to_str().ok()? {
            "amdsmi_init" => init as *const c_void,
            "amdsmi_shut_down" => shut_down as *const c_void,
            "amdsmi_get_socket_handles" => sockets as *const c_void,
            "amdsmi_get_processor_handles" => processors as *const c_void,
            "amdsmi_get_gpu_memory_total" => memory_total as *const c_void,
            "amdsmi_get_gpu_memory_usage" => memory_used as *const c_void,
            "amdsmi_get_gpu_activity" => activity as *const c_void,
            "amdsmi_get_gpu_bdf_id" => bdf as *const c_void,
            "amdsmi_get_gpu_device_uuid" => uuid as *const c_void,
            "amdsmi_get_temp_metric" => temperature as *const c_void,
            "amdsmi_get_power_cap_info" => power_cap as *const c_void,
            "amdsmi_get_energy_count" => energy as *const c_void,
            "amdsmi_get_clk_freq" => clocks as *const c_void,
            "amdsmi_get_gpu_fan_speed" => fan as *const c_void,
            "amdsmi_get_gpu_fan_speed_max" => fan_max as *const c_void,
            "amdsmi_get_gpu_board_info" if (self.0, self.1) == (7, 2) => board_7_2 as *const c_void,
            "amdsmi_get_gpu_asic_info" => of_release!(asic),
            "amdsmi_get_power_info" => of_release!(power),
            "amdsmi_get_gpu_driver_info" => of_release!(driver),
            "amdsmi_get_gpu_vbios_info" => of_release!(vbios),
            "amdsmi_get_lib_version" => of_release!(version),
            _ => return None,
        };
        std::ptr::NonNull::new(function.cast_mut())
    }
}

/// Runs the test of this name in separate processes, one for each release; returns the release in such a process.
fn in_child(test: &str, releases: &[&str]) -> Option<(u32, u32)> {
    if let Ok(release) = std::env::var(RELEASE) {
        let (major, minor) = release.split_once('.')?;
        return Some((major.parse().ok()?, minor.parse().ok()?));
    }
    for release in releases {
        crate::alone(test, RELEASE, release);
    }
    None
}

#[track_caller]
fn get<T: Default>(call: impl FnOnce(*mut T) -> nvmlReturn_t) -> T {
    let mut place = T::default();
    assert_eq!(call(&mut place), NVML_SUCCESS);
    place
}

/// A text of at most 95 bytes.
#[track_caller]
fn get_text(call: impl FnOnce(*mut c_char, u32) -> nvmlReturn_t) -> Result<String, nvmlReturn_t> {
    let mut buffer = [1; 96];
    match call(buffer.as_mut_ptr(), 96) {
        // SAFETY: a C string was written.
        NVML_SUCCESS => Ok(unsafe { CStr::from_ptr(buffer.as_ptr()) }.to_str().unwrap().to_owned()),
        error => Err(error),
    }
}

#[test]
fn values_have_nvmls_units_on_every_release() {
    let Some((major, minor)) =
        in_child("nvml::values_have_nvmls_units_on_every_release", &["6.3", "6.4", "7.0", "7.2", "10.0"])
    else {
        return;
    };
    smi::set_provider(Box::leak(Box::new(Library(major, minor)))).unwrap();
    // SAFETY: every call has places for its results, and handles of the library.
    unsafe {
        assert_eq!(nvmlDeviceGetCount_v2(&mut 0), NVML_ERROR_UNINITIALIZED);
        assert_eq!(nvmlInitWithFlags(2), NVML_ERROR_INVALID_ARGUMENT);
        assert_eq!((nvmlInit_v2(), nvmlInitWithFlags(1)), (NVML_SUCCESS, NVML_SUCCESS));
        assert_eq!(get(|count| nvmlDeviceGetCount_v2(count)), 3);
        let at = |index| {
            let mut device = null_mut();
            assert_eq!(nvmlDeviceGetHandleByIndex_v2(index, &mut device), NVML_SUCCESS);
            device
        };
        let devices = [at(0), at(1), at(2)];
        assert_eq!(devices.map(|device| device.addr()), GPUS);
        assert_eq!(nvmlDeviceGetHandleByIndex_v2(3, &mut null_mut()), NVML_ERROR_INVALID_ARGUMENT);
        assert_eq!(get(|index| nvmlDeviceGetIndex(devices[2], index)), 2);

        let memory = get(|place| nvmlDeviceGetMemoryInfo(devices[0], place));
        assert_eq!(memory, nvmlMemory_t { total: 64 << 30, free: 61 << 30, used: 3 << 30 });
        let mut memory = nvmlMemory_v2_t { version: nvmlMemory_v2, ..Default::default() };
        assert_eq!(nvmlDeviceGetMemoryInfo_v2(devices[0], &mut memory), NVML_SUCCESS);
        assert_eq!((memory.version, memory.total, memory.used), (nvmlMemory_v2, 64 << 30, 3 << 30));
        memory.version = 1;
        assert_eq!(nvmlDeviceGetMemoryInfo_v2(devices[0], &mut memory), NVML_ERROR_INVALID_ARGUMENT);

        let usage = get(|place| nvmlDeviceGetUtilizationRates(devices[0], place));
        assert_eq!(usage, nvmlUtilization_t { gpu: 77, memory: 33 });
        let temperature = |device| get(|place| nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, place));
        assert_eq!(devices.map(temperature), [55, 44, 55]);
        assert_eq!(
            nvmlDeviceGetTemperature(devices[0], nvmlTemperatureSensors_t(1), &mut 0),
            NVML_ERROR_INVALID_ARGUMENT
        );
        let threshold = |of| get(|place| nvmlDeviceGetTemperatureThreshold(devices[0], of, place));
        assert_eq!(threshold(NVML_TEMPERATURE_THRESHOLD_SHUTDOWN), 110);
        assert_eq!(threshold(NVML_TEMPERATURE_THRESHOLD_SLOWDOWN), 100);
        assert_eq!(threshold(NVML_TEMPERATURE_THRESHOLD_MEM_MAX), 95);
        let status = nvmlDeviceGetTemperatureThreshold(devices[0], NVML_TEMPERATURE_THRESHOLD_GPU_MAX, &mut 0);
        assert_eq!(status, NVML_ERROR_NOT_SUPPORTED);

        // mW of W, or no form of the struct is known.
        let mut power = 0;
        match (major, minor) {
            (7, 2) => assert_eq!(nvmlDeviceGetPowerUsage(devices[0], &mut power), NVML_ERROR_NOT_SUPPORTED),
            _ => assert_eq!(
                devices.map(|device| get(|place| nvmlDeviceGetPowerUsage(device, place))),
                [220_000, 345_000, 345_000]
            ),
        }
        assert_eq!(get(|place| nvmlDeviceGetPowerManagementLimit(devices[0], place)), 500_000);
        assert_eq!(get(|place| nvmlDeviceGetEnforcedPowerLimit(devices[0], place)), 500_000);
        assert_eq!(get(|place| nvmlDeviceGetPowerManagementDefaultLimit(devices[0], place)), 560_000);
        let (mut least, mut most) = (1, 0);
        assert_eq!(nvmlDeviceGetPowerManagementLimitConstraints(devices[0], &mut least, &mut most), NVML_SUCCESS);
        assert_eq!((least, most), (0, 750_000));
        assert_eq!(get(|place| nvmlDeviceGetTotalEnergyConsumption(devices[0], place)), 61_000); // 4e6 of 15.25 µJ

        let clock = |of| get(|place| nvmlDeviceGetClockInfo(devices[0], of, place));
        assert_eq!((clock(NVML_CLOCK_SM), clock(NVML_CLOCK_GRAPHICS)), (1300, 1300));
        assert_eq!(get(|place| nvmlDeviceGetMaxClockInfo(devices[0], NVML_CLOCK_SM, place)), 2100);
        assert_eq!(nvmlDeviceGetClockInfo(devices[0], NVML_CLOCK_MEM, &mut 0), NVML_ERROR_NO_DATA);
        assert_eq!(get(|place| nvmlDeviceGetMaxClockInfo(devices[0], NVML_CLOCK_MEM, place)), 1600);
        assert_eq!(nvmlDeviceGetClockInfo(devices[0], NVML_CLOCK_VIDEO, &mut 0), NVML_ERROR_NOT_SUPPORTED);
        assert_eq!(nvmlDeviceGetClockInfo(devices[0], nvmlClockType_t(9), &mut 0), NVML_ERROR_INVALID_ARGUMENT);
        assert_eq!(get(|place| nvmlDeviceGetFanSpeed(devices[0], place)), 40);
        assert_eq!(nvmlDeviceGetFanSpeed_v2(devices[0], 1, &mut 0), NVML_ERROR_INVALID_ARGUMENT);

        let name = get_text(|place, length| nvmlDeviceGetName(devices[0], place, length));
        assert_eq!(name.as_deref(), Ok("AMD Instinct"));
        let mut short = [0; 12];
        assert_eq!(nvmlDeviceGetName(devices[0], short.as_mut_ptr(), 12), NVML_ERROR_INSUFFICIENT_SIZE);
        assert_eq!(short, [0; 12]);
        let vbios = get_text(|place, length| nvmlDeviceGetVbiosVersion(devices[0], place, length));
        let expected = if (major, minor) == (7, 2) { Err(NVML_ERROR_NOT_SUPPORTED) } else { Ok("022.040") };
        assert_eq!(vbios.as_deref().map_err(|error| *error), expected);
        let driver = get_text(|place, length| nvmlSystemGetDriverVersion(place, length));
        assert_eq!(driver.as_deref(), Ok("6.12.12"));
        let version = get_text(|place, length| nvmlSystemGetNVMLVersion(place, length));
        assert_eq!(version.as_deref(), Ok("25.3.1"));

        let uuid = get_text(|place, length| nvmlDeviceGetUUID(devices[1], place, length)).unwrap();
        assert_eq!(uuid, "21ff74a1-0000-1000-80aa-ffffffffffff");
        let mut found = null_mut();
        assert_eq!(
            nvmlDeviceGetHandleByUUID(c"21FF74A1-0000-1000-80aa-ffffffffffff".as_ptr(), &mut found),
            NVML_SUCCESS
        );
        assert_eq!(found, devices[1]);
        assert_eq!(nvmlDeviceGetHandleByUUID(c"GPU-1".as_ptr(), &mut found), NVML_ERROR_NOT_FOUND);
        let pci = get(|place| nvmlDeviceGetPciInfo_v3(devices[2], place));
        assert_eq!((pci.domain, pci.bus, pci.device), (1, 0xc1, 2));
        assert_eq!(CStr::from_ptr(pci.busId.as_ptr()), c"00000001:C1:02.2");
        assert_eq!(CStr::from_ptr(pci.busIdLegacy.as_ptr()), c"0001:c1:02.2");
        assert_eq!(pci.pciDeviceId, if (major, minor) == (7, 2) { 0 } else { 0x74a1_1002 });
        assert_eq!(nvmlDeviceGetHandleByPciBusId_v2(pci.busId.as_ptr(), &mut found), NVML_SUCCESS);
        assert_eq!(found, devices[2]);
        assert_eq!(nvmlDeviceGetHandleByPciBusId_v2(c"0001:C1:02".as_ptr(), &mut found), NVML_SUCCESS);
        assert_eq!(found, devices[0]);
        assert_eq!(nvmlDeviceGetHandleByPciBusId_v2(c"C1:02.0".as_ptr(), &mut found), NVML_ERROR_NOT_FOUND);
        assert_eq!(nvmlDeviceGetHandleByPciBusId_v2(c"nowhere".as_ptr(), &mut found), NVML_ERROR_INVALID_ARGUMENT);

        // Null, and a handle that is none.
        assert_eq!(nvmlDeviceGetCount_v2(null_mut()), NVML_ERROR_INVALID_ARGUMENT);
        assert_eq!(nvmlDeviceGetName(devices[0], null_mut(), 96), NVML_ERROR_INVALID_ARGUMENT);
        assert_eq!(nvmlDeviceGetHandleByUUID(std::ptr::null(), &mut found), NVML_ERROR_INVALID_ARGUMENT);
        assert_eq!(nvmlDeviceGetMemoryInfo_v2(devices[0], null_mut()), NVML_ERROR_INVALID_ARGUMENT);
        let status = nvmlDeviceGetPowerManagementLimitConstraints(devices[0], &mut least, null_mut());
        assert_eq!(status, NVML_ERROR_INVALID_ARGUMENT);
        assert_eq!(nvmlDeviceGetUtilizationRates(null_mut(), &mut usage.clone()), NVML_ERROR_INVALID_ARGUMENT);
        assert_eq!(
            [nvmlShutdown(), nvmlShutdown(), nvmlShutdown()],
            [NVML_SUCCESS, NVML_SUCCESS, NVML_ERROR_UNINITIALIZED]
        );
    }
}

#[test]
fn without_amd_smi_every_call_is_a_status() {
    if in_child("nvml::without_amd_smi_every_call_is_a_status", &["0.0"]).is_none() {
        return;
    }
    struct None;
    impl smi::Provider for None {
        fn name(&self) -> &str {
            "none"
        }
        fn symbol(&self, _: &CStr) -> Option<std::ptr::NonNull<c_void>> {
            Option::None
        }
    }
    smi::set_provider(&None).unwrap();
    // SAFETY: places for the results.
    unsafe {
        assert_eq!(nvmlInit_v2(), NVML_ERROR_FUNCTION_NOT_FOUND);
        assert_eq!(nvmlDeviceGetCount_v2(&mut 0), NVML_ERROR_FUNCTION_NOT_FOUND);
        let text = |status| CStr::from_ptr(nvmlErrorString(status)).to_str().unwrap();
        assert!(text(NVML_ERROR_LIBRARY_NOT_FOUND).contains("libamd_smi"));
        assert_eq!(text(nvmlReturn_t(12345)), "Unknown error");
    }
    assert_eq!(format!("{NVML_SUCCESS:?} {:?}", nvmlReturn_t(77)), "NVML_SUCCESS nvmlReturn_t(77)");
}
