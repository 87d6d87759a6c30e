//! A device that is lost while the program uses it.

use hip::{Device, DeviceBuffer, Event, Graph, LaunchConfig, Module, PinnedBuffer, Status, Stream};

use crate::{in_child, is_child, kernels};

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

    // The other device has nothing to do with it, before what was on the lost one is dropped and after.
    for _ in 0..2 {
        // SAFETY: as above.
        unsafe { elsewhere_store.launch(&elsewhere, config(), (&mut elsewhere_data,)) }.unwrap();
        assert_eq!(elsewhere_data.to_vec().unwrap()[63], 63);
        elsewhere.synchronize().unwrap();
    }
    // Nothing to hear of.
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
        // It has begun when another thread runs it.
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
