//! The unmodified HIP runtimes of ROCm 7.2, 6.4 and 5.7 on the software GPU.
//!
//! `cargo xtask test hsa` runs all tests of `hip` in this way; this file has tests of HSA itself.
#![cfg(target_os = "linux")]

mod support;

use hip::{Device, DeviceBuffer, LaunchConfig, Module, Stream};

const RUNTIMES: [(&str, &str); 3] =
    [("7.2", "libamdhip64.so.7"), ("6.4", "libamdhip64.so.6"), ("5.7", "libamdhip64.so.5")];
const KERNELS: [(&str, &[u8]); 2] = [
    ("gfx90a", include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../hip/tests/kernels/kernels.gfx90a.co"))),
    ("gfx942", include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../hip/tests/kernels/kernels.gfx942.co"))),
];

/// Kernels with known mistakes.
const OBSERVED: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../amdgpu-sim/tests/kernels/observe.co"));

/// The first device.
fn device() -> Device {
    Device::get(0).unwrap()
}

/// The kernels for a device.
fn module(device: &Device) -> Module {
    let arch = device.properties().unwrap().arch.to_string();
    let (_, code) = KERNELS.iter().find(|(name, _)| arch.starts_with(name)).unwrap();
    Module::load(device, code).unwrap()
}

fn add(device: &Device, n: usize) {
    let module = module(device);
    let kernel = module.kernel("vector_add").unwrap();
    let stream = Stream::new(device).unwrap();
    let (a, b): (Vec<f32>, Vec<f32>) = (0..n).map(|i| (i as f32, 0.25 * i as f32)).unzip();
    let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    let (a, b) = (DeviceBuffer::from_slice(device, &a).unwrap(), DeviceBuffer::from_slice(device, &b).unwrap());
    let mut c = DeviceBuffer::<f32>::zeroed(device, n).unwrap();
    // SAFETY: three buffers of n floats, and the kernel checks against n.
    unsafe { kernel.launch(&stream, LaunchConfig::for_elements(n, 256), (&a, &b, &mut c, n as u32)) }.unwrap();
    assert_eq!(c.to_vec().unwrap(), expected);
}

/// Copies (by HIP's own kernel, and by the copy engines for large sizes), a launch, and the device's properties.
#[test]
fn vectors_are_added_by_each_runtime() {
    if support::inside().is_none() {
        for (release, file) in RUNTIMES {
            support::run_on(release, &[file], "vectors_are_added_by_each_runtime", &[]);
        }
        return;
    }
    let device = device();
    let properties = device.properties().unwrap();
    assert!(properties.name.contains("amdgpu-sim"), "{properties:?}");
    assert_eq!(properties.arch.to_string(), "gfx90a:sramecc+:xnack-");
    for n in [1, 1000, 3_000_000] {
        add(&device, n);
    }
}

/// With all checks enabled, a correct program has no findings: neither in its own kernels nor in HIP's fill and copy
/// kernels, whose arguments HIP 7.2 writes to device memory on gfx942.
#[test]
fn a_correct_program_passes_all_checks() {
    if support::inside().is_none() {
        for (release, file) in RUNTIMES {
            for (arch, _) in KERNELS {
                let variables = [("HIP_SIM_ARCH", arch), ("HIP_SIM_CHECK", "all")];
                let name = "a_correct_program_passes_all_checks";
                let Some(text) = support::run_on(release, &[file], name, &variables) else { continue };
                assert!(!text.contains("hsa-sim:"), "{release} {arch}: {text}");
            }
        }
        return;
    }
    let device = device();
    for n in [1, 1000, 100_000] {
        add(&device, n);
    }
}

/// The same checks with a kernel that reads uninitialised memory.
#[test]
fn a_read_of_what_nothing_has_written_is_told_of() {
    if support::inside().is_none() {
        let (release, file) = RUNTIMES[0];
        for (arch, _) in KERNELS {
            let variables = [("HIP_SIM_ARCH", arch), ("HIP_SIM_CHECK", "all,warn")];
            let name = "a_read_of_what_nothing_has_written_is_told_of";
            let Some(text) = support::run_on(release, &[file], name, &variables) else { continue };
            let told: Vec<&str> = text.lines().filter(|line| line.contains("hsa-sim:")).collect();
            assert!(told.len() == 1 && told[0].contains("kernel vector_add: uninitialised memory"), "{arch}: {text}");
        }
        return;
    }
    let device = device();
    let module = module(&device);
    let kernel = module.kernel("vector_add").unwrap();
    let stream = Stream::new(&device).unwrap();
    let a = DeviceBuffer::from_slice(&device, &[1.0_f32; 64]).unwrap();
    let unwritten = DeviceBuffer::<f32>::uninit(&device, 64).unwrap();
    let mut c = DeviceBuffer::<f32>::zeroed(&device, 64).unwrap();
    // SAFETY: three buffers of 64 floats, and the kernel checks against n.
    unsafe { kernel.launch(&stream, LaunchConfig::new(1, 64), (&a, &unwritten, &mut c, 64_u32)) }.unwrap();
    stream.synchronize().unwrap();
}

/// Accesses beyond LDS, and lanes of one wave that store different values to one address: each is found by its check,
/// and by no other.
#[test]
fn mistakes_of_one_wave_are_found_by_their_checks() {
    const WHICH: &str = "HSA_SIM_TEST_MISTAKE";
    let Some(_) = support::inside() else {
        let (release, file) = RUNTIMES[0];
        for (mistake, checks, told) in [
            (
                "beyond_local 0",
                "memory",
                "kernel beyond_local: out of bounds: read of 4 bytes at LDS address 0x100; in ",
            ),
            (
                "beyond_local 1",
                "memory",
                "kernel beyond_local: out of bounds: write of 4 bytes at LDS address 0x100; in ",
            ),
            ("lanes_global 64", "race", "lanes of one wave write different values at once"),
            ("beyond_local 1", "race,init,barrier", ""),
            ("lanes_global 64", "memory,init,barrier", ""),
        ] {
            let variables = [(WHICH, mistake), ("HIP_SIM_CHECK", checks)];
            let name = "mistakes_of_one_wave_are_found_by_their_checks";
            let Some((success, text)) = support::try_on(release, &[file], name, &variables) else { return };
            assert!(success, "{mistake}, {checks}: {text}");
            let lines: Vec<&str> = text.lines().filter(|line| line.contains("hsa-sim: ")).collect();
            assert_eq!(lines.is_empty(), told.is_empty(), "{mistake}, {checks}: {text}");
            assert!(
                text.contains(told) && text.contains(if told.is_empty() { "it ran" } else { "it failed" }),
                "{text}"
            );
        }
        return;
    };
    let mistake = std::env::var(WHICH).unwrap();
    let (name, argument) = mistake.split_once(' ').unwrap();
    let argument: u32 = argument.parse().unwrap();
    let device = device();
    let kernel = Module::load(&device, OBSERVED).unwrap().kernel(name).unwrap();
    let stream = Stream::new(&device).unwrap();
    let mut out = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    // The store offset and the distance beyond the end; the number of lanes that share an address, and of values that they store.
    let last = if name == "beyond_local" { 1_u32 } else { 64 };
    // SAFETY: 64 threads, an element for each; the software GPU checks every access.
    let launched = unsafe { kernel.launch(&stream, LaunchConfig::new(1, 64), (&mut out, argument, last)) };
    let result = launched.and_then(|()| stream.synchronize());
    println!("{}", if result.is_ok() { "it ran" } else { "it failed" });
}

/// A store far out of bounds is reported on stderr with all details. The runtime of 7.2 returns an error code to the
/// program; earlier ones end the process, as on a GPU.
#[test]
fn a_fault_reaches_the_program() {
    if support::inside().is_none() {
        for (release, file) in RUNTIMES {
            let Some((success, text)) = support::try_on(release, &[file], "a_fault_reaches_the_program", &[]) else {
                continue;
            };
            if text.contains("SKIPPED") {
                continue;
            }
            assert_eq!(success, release == "7.2", "{release}: {text}");
            for part in
                ["hsa-sim: kernel store_index: out of bounds", "0 bytes past the end of 256 bytes of device memory"]
            {
                assert!(text.contains(part), "{release}: {text}");
            }
        }
        return;
    }
    let device = device();
    let module = module(&device);
    let store = module.kernel("store_index").unwrap();
    let stream = Stream::new(&device).unwrap();
    let mut data = DeviceBuffer::<i32>::zeroed(&device, 64).unwrap();
    // SAFETY: not safe on a GPU; the software GPU checks every access, which is what this tests.
    let launched = unsafe { store.launch(&stream, LaunchConfig::new(1024, 256), (&mut data,)) };
    // The launch itself fails if the kernel has already failed.
    let error = launched.and_then(|()| stream.synchronize()).unwrap_err();
    assert_eq!(error.status(), Some(hip::Status::ILLEGAL_ADDRESS), "{error}");
    // The device stays in the error state, like a GPU.
    assert!(data.to_vec().is_err() && DeviceBuffer::<i32>::zeroed(&device, 64).is_err());
}

/// Four GPUs, each with memory of its own; copies between them.
#[test]
fn several_gpus_are_there() {
    if support::inside().is_none() {
        for (release, file) in RUNTIMES {
            support::run_on(release, &[file], "several_gpus_are_there", &[("HIP_SIM_DEVICES", "4")]);
        }
        return;
    }
    let devices = Device::all().unwrap();
    assert_eq!(devices.len(), 4);
    for device in &devices {
        add(device, 5000);
    }
}
