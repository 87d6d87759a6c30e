//! A device that is lost while the program uses it.

use std::process::Command;

use hip::device::DeviceAttribute;
use hip::{
    Device, DeviceBuffer, DevicePtr, Error, Event, Graph, Kernel, LaunchConfig, Module, PinnedBuffer, Result, Status,
    Stream,
};

use crate::{device, in_child, is_child, kernels, skipped};

fn config() -> LaunchConfig {
    LaunchConfig::new(1, 64)
}

#[test]
fn a_lost_device_is_an_error_of_every_call_from_then_on() {
    if !is_child() {
        let variables = [("HIP_SIM_LOSE", "2"), ("HIP_SIM_DEVICES", "2")];
        in_child("lost::a_lost_device_is_an_error_of_every_call_from_then_on", &variables);
        return;
    }
    let devices = Device::all().unwrap();
    let [first, second] = devices[..] else { panic!("{devices:?}") };
    let code = kernels(&first);
    let module = Module::load(&first, code).unwrap();
    let store = module.kernel("store_index").unwrap();
    let (stream, other) = (Stream::new(&first).unwrap(), Stream::new(&first).unwrap());
    let event = Event::new(&first).unwrap();
    let mut data = DeviceBuffer::<i32>::zeroed(&first, 64).unwrap();
    let mut more = DeviceBuffer::<i32>::zeroed(&first, 64).unwrap();
    let mut pinned = PinnedBuffer::<i32>::zeroed(&first, 64).unwrap();
    let (elsewhere, elsewhere_code) = (Stream::new(&second).unwrap(), Module::load(&second, code).unwrap());
    let elsewhere_store = elsewhere_code.kernel("store_index").unwrap();
    let mut elsewhere_data = DeviceBuffer::<i32>::zeroed(&second, 64).unwrap();
    let graph = Graph::new(&first).unwrap().instantiate().unwrap();
    for _ in 0..2 {
        // SAFETY: 64 threads, 64 elements; so below.
        unsafe { store.launch(&stream, config(), (&mut data,)) }.unwrap();
        assert_eq!(data.to_vec().unwrap()[63], 63);
    }

    // SAFETY: as above.
    unsafe { store.launch(&stream, config(), (&mut data,)) }.unwrap();
    let error = stream.synchronize().unwrap_err();
    let text = error.to_string();
    assert_eq!(error.status(), Some(Status::UNKNOWN), "{text}");
    for part in ["store_index<<<(1, 1, 1), (64, 1, 1)>>>", "device 0: kernel store_index: the device is lost"] {
        assert!(text.contains(part), "{part}: {text}");
    }

    let results = [
        // SAFETY: as above.
        ("launch", unsafe { store.launch(&stream, config(), (&mut data,)) }),
        // SAFETY: as above.
        ("launch on another stream", unsafe { store.launch(&other, config(), (&mut more,)) }),
        ("synchronize", stream.synchronize()),
        ("synchronize another stream", other.synchronize()),
        ("synchronize the device", first.synchronize()),
        ("is_idle", other.is_idle().map(drop)),
        ("copy to the host", data.to_vec().map(drop)),
        ("copy from the host", more.copy_from_slice(&[1; 64])),
        ("copy to pinned memory", more.copy_to_pinned_async(&other, &mut pinned)),
        ("fill", more.fill_async(&other, 7)),
        ("launch a graph", graph.launch(&other)),
        ("record", event.record(&other)),
        ("allocate", DeviceBuffer::<i32>::zeroed(&first, 64).map(drop)),
        ("pin memory", PinnedBuffer::<i32>::zeroed(&first, 64).map(drop)),
        ("make a stream", Stream::new(&first).map(drop)),
        ("make an event", Event::new(&first).map(drop)),
        ("load", Module::load(&first, code).map(drop)),
        ("memory_info", first.memory_info().map(drop)),
    ];
    for (what, result) in results {
        let error = result.expect_err(what);
        assert_eq!(error.status(), Some(Status::UNKNOWN), "{what}: {error}");
        assert!(error.to_string().contains("device 0: kernel store_index: the device is lost"), "{what}: {error}");
    }

    // The other device is not affected, before and after the objects on the lost one are dropped.
    for _ in 0..2 {
        // SAFETY: as above.
        unsafe { elsewhere_store.launch(&elsewhere, config(), (&mut elsewhere_data,)) }.unwrap();
        assert_eq!(elsewhere_data.to_vec().unwrap()[63], 63);
        elsewhere.synchronize().unwrap();
    }
    // Drops report nothing.
    drop((data, more, pinned, event, graph, stream, other, module));
    assert_eq!(elsewhere_data.to_vec().unwrap()[1], 1);
    second.synchronize().unwrap();
    assert!(first.synchronize().is_err());
}

#[test]
fn a_kernel_in_flight_is_lost_with_its_device_and_nobody_waits_for_ever() {
    if !is_child() {
        let name = "lost::a_kernel_in_flight_is_lost_with_its_device_and_nobody_waits_for_ever";
        in_child(name, &[("HIP_SIM_LOSE", "1")]);
        return;
    }
    let device = Device::get(0).unwrap();
    let module = Module::load(&device, kernels(&device)).unwrap();
    let (slow, store) = (module.kernel("slow_store").unwrap(), module.kernel("store_index").unwrap());
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let mut out = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let mut data = DeviceBuffer::<i32>::zeroed(&device, 64).unwrap();
    // SAFETY: 64 threads, 64 elements. It runs for minutes, or until it is cut off.
    unsafe { slow.launch(&stream, config(), (&mut out, u32::MAX, 1u32)) }.unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| stream.synchronize());
        // Its kernel has begun by the time another thread runs this.
        std::thread::sleep(std::time::Duration::from_millis(500));
        // SAFETY: 64 threads, 64 elements.
        let launched = unsafe { store.launch(&other, config(), (&mut data,)) };
        let error = launched.and_then(|()| other.synchronize()).unwrap_err();
        assert!(error.to_string().contains("store_index<<<"), "{error}");
        let error = waiting.join().unwrap().unwrap_err();
        assert!(error.to_string().contains("slow_store<<<"), "{error}");
        assert_eq!(error.status(), Some(Status::UNKNOWN), "{error}");
    });
}

/// The case that a child process runs.
const CASE: &str = "HIP_TEST_LOST";

/// Returns the output of a child process that runs `test` to its end, with the same command line, including the words
/// of another loader. Without core dumps, which make HIP 7.2 abort at a fault.
fn child(test: &str, case: &str, variables: &[(&str, &str)]) -> String {
    let line = std::fs::read("/proc/self/cmdline").unwrap();
    let words: Vec<&str> = line.split(|&byte| byte == 0).filter_map(|word| std::str::from_utf8(word).ok()).collect();
    let program = words.iter().position(|word| word.contains("/deps/gpu-")).unwrap();
    let output = Command::new("sh")
        .args(["-c", "ulimit -c 0; exec \"$@\"", "sh"])
        .args(&words[..=program])
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .envs([("HIP_TEST_CHILD", "1"), (CASE, case)])
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && text.contains("1 passed"), "{case} {variables:?}: {}: {text}", output.status);
    text
}

/// Returns whether the runtime returns a fault to the program; those before 7.0 end the process.
fn returns_faults() -> bool {
    let Some(device) = device() else { return false };
    if !device.is_simulated() && hip::runtime_version().unwrap().0 < 7 {
        skipped(&"this runtime ends the process at a fault");
        return false;
    }
    true
}

/// Queues a kernel that faults: it reads past a buffer, in a freed one, or at null.
fn fault(
    add: &Kernel,
    how: &str,
    stream: &Stream,
    source: &DeviceBuffer<f32>,
    out: &mut DeviceBuffer<f32>,
) -> Result<()> {
    const BIG: u32 = 1 << 26;
    let device = stream.device();
    let far = LaunchConfig::for_elements(BIG as usize, 256);
    let gone = || -> Result<DevicePtr<f32>> { Ok(DeviceBuffer::<f32>::zeroed(&device, 1 << 20)?.as_device_ptr()) };
    // SAFETY: not safe at all on a GPU; the software GPU checks every access, which is the point.
    unsafe {
        match how {
            "freed" => add.launch(stream, config(), (gone()?, source, out, 64_u32)),
            "null" => add.launch(stream, config(), (DevicePtr::<f32>::null(), source, out, 64_u32)),
            _ => add.launch(stream, far, (source, source, out, BIG)),
        }
    }
}

/// A fault causes one error with the kernel's name for the first call, the same error from every later call if the
/// device is lost, and no output on stderr.
#[test]
fn a_fault_is_one_story() {
    const TEST: &str = "lost::a_fault_is_one_story";
    if !is_child() {
        if returns_faults() {
            for (case, variables) in [
                ("far", &[("HIP_SIM_DEVICES", "1")]),
                ("far", &[("HIP_SIM_DEVICES", "2")]),
                ("far", &[("HIP_SIM_DELAY", "3000")]),
                ("freed", &[("HIP_SIM_DEVICES", "1")]),
                ("null", &[("HIP_SIM_DEVICES", "1")]),
            ] {
                let text = child(TEST, case, variables);
                assert!(!text.contains("hip: "), "{case}: {text}");
            }
        }
        return;
    }
    let case = std::env::var(CASE).unwrap();
    let device = device().unwrap();
    let module = Module::load(&device, kernels(&device)).unwrap();
    let (add, store) = (module.kernel("vector_add").unwrap(), module.kernel("store_index").unwrap());
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let event = Event::new(&device).unwrap();
    let graph = Graph::new(&device).unwrap().instantiate().unwrap();
    let source = DeviceBuffer::<f32>::zeroed(&device, 64).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&device, 64).unwrap();
    let mut data = DeviceBuffer::<i32>::zeroed(&device, 64).unwrap();
    let mut pinned = PinnedBuffer::<i32>::zeroed(&device, 64).unwrap();

    // The launch itself may return it: the runtime can notice the fault at any time.
    let error = fault(&add, &case, &stream, &source, &mut out).and_then(|()| stream.synchronize()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("vector_add<<<") && text.contains("hipErrorIllegalAddress (700)"), "{text}");
    if device.is_simulated() {
        // The device stays usable.
        assert!(matches!(error, Error::Hip(_)) && text.contains("kernel vector_add: "), "{text}");
        stream.synchronize().unwrap();
        // SAFETY: 64 threads, 64 elements.
        unsafe { store.launch(&stream, config(), (&mut data,)) }.unwrap();
        assert_eq!(data.to_vec().unwrap()[63], 63);
        return;
    }
    let mut results = vec![
        // SAFETY: 64 threads, 64 elements; so below.
        ("launch", unsafe { store.launch(&stream, config(), (&mut data,)) }),
        // SAFETY: as above.
        ("launch on another stream", unsafe { store.launch(&other, config(), (&mut data,)) }),
        ("synchronize", stream.synchronize()),
        ("synchronize another stream", other.synchronize()),
        ("synchronize the device", device.synchronize()),
        ("is_idle", other.is_idle().map(drop)),
        ("copy to the host", out.to_vec().map(drop)),
        ("copy from the host", data.copy_from_slice(&[1; 64])),
        ("copy to pinned memory", data.copy_to_pinned_async(&other, &mut pinned)),
        ("fill", data.fill_async(&other, 7)),
        ("launch a graph", graph.launch(&other)),
        ("a host function", other.launch_host_function(|| ())),
        ("record", event.record(&other)),
        ("allocate", DeviceBuffer::<i32>::zeroed(&device, 64).map(drop)),
        ("pin memory", PinnedBuffer::<i32>::zeroed(&device, 64).map(drop)),
        ("make a stream", Stream::new(&device).map(drop)),
        ("make an event", Event::new(&device).map(drop)),
        ("load", Module::load(&device, kernels(&device)).map(drop)),
        ("memory_info", device.memory_info().map(drop)),
        ("attribute", device.attribute(DeviceAttribute::WARP_SIZE).map(drop)),
        ("make it current", device.make_current()),
        ("the current device", Device::current().map(drop)),
        ("in a thread", std::thread::scope(|scope| scope.spawn(|| stream.synchronize()).join().unwrap())),
    ];
    if let Some(second) = Device::all().unwrap().get(1) {
        results.push(("another device", DeviceBuffer::<i32>::zeroed(second, 64).map(drop)));
    }
    for (what, result) in [("the first", Err(error))].into_iter().chain(results) {
        let error = result.expect_err(what);
        assert!(matches!(error, Error::DeviceLost(_)), "{what}: {error}");
        assert_eq!(error.status(), Some(Status::ILLEGAL_ADDRESS), "{what}: {error}");
        let lost =
            if Device::count().unwrap() == 1 { "device 0 is lost" } else { "the devices of this process are lost" };
        for part in [lost, "kernel vector_add<<<", " of device 0", "(700)", "restart the process"] {
            assert!(error.to_string().contains(part), "{what}: {part}: {error}");
        }
    }
}

/// If no call has returned the fault, it is written once, whatever other work was in flight; and not at all if one has.
#[test]
fn a_fault_that_nobody_asks_for_is_written_once() {
    const TEST: &str = "lost::a_fault_that_nobody_asks_for_is_written_once";
    if !is_child() {
        if returns_faults() {
            for devices in ["1", "2"] {
                for case in [
                    "nobody",
                    "a stream that stays",
                    "a graph",
                    "a panic",
                    "somebody, of another stream",
                    "two threads",
                ] {
                    let text = child(TEST, case, &[("HIP_SIM_DEVICES", devices)]);
                    // The launches may have found it, and have returned it then.
                    let expected = usize::from(!text.contains("somebody was told"));
                    assert_eq!(text.matches("hip: ").count(), expected, "{case} on {devices}: {text}");
                    let told = text.split("hip: work that nobody waited for has failed: ").nth(1);
                    let named = told.map(|rest| rest.lines().next().is_some_and(|line| line.contains("vector_add")));
                    assert_eq!(named, (expected == 1).then_some(true), "{case} on {devices}: {text}");
                }
            }
        }
        return;
    }
    static STAYS: std::sync::OnceLock<Stream> = std::sync::OnceLock::new();
    let case = std::env::var(CASE).unwrap();
    let device = device().unwrap();
    let module = Module::load(&device, kernels(&device)).unwrap();
    let (add, store) = (module.kernel("vector_add").unwrap(), module.kernel("store_index").unwrap());
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let source = DeviceBuffer::<f32>::zeroed(&device, 64).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&device, 64).unwrap();
    let mut data = DeviceBuffer::<i32>::zeroed(&device, 64).unwrap();
    let mut told = false;
    // SAFETY: 64 threads, 64 elements.
    told |= unsafe { store.launch(&other, config(), (&mut data,)) }.is_err();
    if case == "a graph" {
        let captured = stream.capture(|stream| fault(&add, "far", stream, &source, &mut out));
        told |= captured.and_then(|graph| graph.instantiate()?.launch(&stream)).is_err();
    } else {
        told |= fault(&add, "far", &stream, &source, &mut out).is_err();
    }
    match &*case {
        "nobody" | "a graph" => {}
        "a panic" => {
            let (out, stream) = (out, stream);
            let dropped = std::panic::AssertUnwindSafe(move || {
                let _dropped = (out, stream);
                panic!("as asked");
            });
            assert!(std::panic::catch_unwind(dropped).is_err());
            if told {
                println!("somebody was told");
            }
            return;
        }
        "two threads" => {
            let mut results = Vec::new();
            std::thread::scope(|scope| {
                let one = scope.spawn(|| stream.synchronize());
                let two = scope.spawn(|| {
                    let stream = Stream::new(&device)?;
                    let mut out = DeviceBuffer::<f32>::zeroed(&device, 64)?;
                    fault(&add, "far", &stream, &source, &mut out)?;
                    out.to_vec().map(drop)
                });
                results.extend([one.join().unwrap(), two.join().unwrap()]);
            });
            for result in results {
                let error = result.unwrap_err();
                assert_eq!(matches!(error, Error::DeviceLost(_)), !device.is_simulated(), "{error}");
                assert!(error.to_string().contains("vector_add<<<"), "{error}");
            }
            told = true;
        }
        "a stream that stays" => STAYS.set(stream.clone()).unwrap(),
        _ => {
            // On the embedded runtime the work of the other stream succeeds.
            told |= stream.synchronize().is_err();
            assert!(told);
            assert_eq!(other.synchronize().is_err(), !device.is_simulated());
        }
    }
    drop((out, data, source, module, add, store, other, stream));
    if told {
        println!("somebody was told");
    }
}
