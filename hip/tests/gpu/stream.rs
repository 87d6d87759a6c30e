//! Other functions of streams: host functions, futures, signals, masks, priorities.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};

use hip::{DeviceBuffer, Error, Event, EventOptions, LaunchConfig, Stream, StreamOptions};

use crate::{device, kernel, supported};

const SLOW: u32 = 20_000;

#[test]
fn a_host_function_comes_after_the_work_before_it_and_before_the_work_after() {
    let Some(slow) = kernel("slow_store") else { return };
    let stream = Stream::new(&slow.device()).unwrap();
    let mut out = DeviceBuffer::<u32>::zeroed(&slow.device(), 64).unwrap();
    let order = Arc::new(AtomicU32::new(0));
    for round in 0..5 {
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch(&stream, LaunchConfig::new(1, 64), (&mut out, SLOW, round)) }.unwrap();
        let order = Arc::clone(&order);
        stream
            .launch_host_function(move || {
                assert_eq!(order.swap(round + 1, Ordering::SeqCst), round, "host functions run in order, once each");
            })
            .unwrap();
    }
    stream.synchronize().unwrap();
    assert_eq!(order.load(Ordering::SeqCst), 5);
}

#[test]
fn a_panic_in_a_host_function_comes_back_from_the_next_wait_and_the_stream_goes_on() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 4).unwrap();
    stream.launch_host_function(|| panic!("on purpose")).unwrap();
    data.fill_async(&stream, 5).unwrap();
    let error = stream.synchronize().unwrap_err();
    assert!(matches!(&error, Error::HostFunctionPanicked { message } if message == "on purpose"), "{error}");
    stream.synchronize().unwrap();
    assert_eq!(data.to_vec().unwrap(), [5; 4]);
}

#[test]
fn hip_cannot_be_called_in_a_host_function_and_what_is_dropped_there_is_freed_later() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let (mut buffer, other) = (DeviceBuffer::<u32>::zeroed(&device, 64).unwrap(), Stream::new(&device).unwrap());
    buffer.fill_async(&stream, 1).unwrap();
    let event = stream.record().unwrap();
    let (sender, receiver) = mpsc::channel();
    let here = stream.clone();
    stream
        .launch_host_function(move || {
            // Each of these would wait for this host function.
            let results = [here.synchronize(), buffer.to_vec().map(drop), event.synchronize(), other.synchronize()];
            drop((buffer, other, event));
            sender.send(results).unwrap();
        })
        .unwrap();
    for result in receiver.recv().unwrap() {
        assert!(matches!(result, Err(Error::InHostFunction)), "{result:?}");
    }
    stream.synchronize().unwrap();
}

#[test]
fn streams_tell_how_they_were_made() {
    let Some(device) = device() else { return };
    let range = device.stream_priority_range().unwrap();
    for priority in range.clone() {
        let stream = Stream::with_options(&device, StreamOptions::new().priority(priority)).unwrap();
        assert_eq!(stream.priority().unwrap(), priority);
        assert!(!stream.is_blocking().unwrap());
    }
    let blocking = Stream::with_options(&device, StreamOptions::new().blocking(true)).unwrap();
    assert!(blocking.is_blocking().unwrap() && device.default_stream().is_blocking().unwrap());
    let error = Stream::with_options(&device, StreamOptions::new().priority(range.end() + 1)).unwrap_err();
    assert!(matches!(error, Error::InvalidValue { .. }), "{error}");
}

#[test]
fn a_stream_can_be_held_to_some_compute_units() {
    let Some(device) = device() else { return };
    assert!(matches!(Stream::with_cu_mask(&device, &[0, 0]), Err(Error::InvalidValue { .. })));
    assert!(matches!(Stream::with_cu_mask(&device, &[]), Err(Error::InvalidValue { .. })));
    let Some(stream) = supported(Stream::with_cu_mask(&device, &[0b1111])) else { return };
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 100).unwrap();
    data.fill_async(&stream, 4).unwrap();
    assert_eq!(data.to_vec().unwrap(), [4; 100]);
    let mask = stream.cu_mask().unwrap();
    let units = device.properties().unwrap().compute_units.min(4);
    assert_eq!(mask[0] & 0xf, (1 << units) - 1, "{mask:x?}");
    let all = Stream::new(&device).unwrap().cu_mask().unwrap();
    assert_eq!(all.iter().map(|word| word.count_ones()).sum::<u32>(), device.properties().unwrap().compute_units);
    // One unit, and bits for units that the device does not have.
    let one = Stream::with_cu_mask(&device, &[0b1, 0, 0x8000_0000]).unwrap();
    assert_eq!(one.cu_mask().unwrap()[0] & 0xf, 1);
}

#[test]
fn each_thread_has_its_own_default_stream() {
    let Some(device) = device() else { return };
    let stream = Stream::per_thread(&device).unwrap();
    assert_eq!(stream, Stream::per_thread(&device).unwrap());
    assert!(stream.is_blocking().unwrap());
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 100).unwrap();
    std::thread::scope(|scope| {
        let data = &mut data;
        scope.spawn(move || {
            let other = Stream::per_thread(&data.device()).unwrap();
            assert_ne!(stream, other);
            data.fill_async(&other, 6).unwrap();
        });
    });
    // The thread and its stream are gone, but their work is done.
    assert_eq!(data.to_vec().unwrap(), [6; 100]);
}

#[test]
fn events_have_options() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let event = Event::with_options(&device, EventOptions::new().blocking_sync(true)).unwrap();
    event.record(&stream).unwrap();
    event.synchronize().unwrap();
    assert!(event.elapsed_since(&event).is_ok(), "it has timing");
    assert!(matches!(event.ipc_handle(), Err(Error::InvalidValue { .. })), "it is of this process alone");

    let bad = EventOptions::new().interprocess(true).timing(true);
    assert!(matches!(Event::with_options(&device, bad), Err(Error::InvalidValue { .. })));
    let Some(shared) = supported(Event::with_options(&device, EventOptions::new().interprocess(true))) else { return };
    shared.record(&stream).unwrap();
    shared.synchronize().unwrap();
    assert!(matches!(shared.elapsed_since(&event), Err(Error::EventWithoutTiming)));
    let Some(handle) = supported(shared.ipc_handle()) else { return };
    let other = hip::stream::IpcEventHandle::from_bytes(handle.to_bytes());
    assert_eq!(handle, other);
}

#[cfg(feature = "rocm-7-1")]
#[test]
fn a_stream_has_a_wait_policy() {
    use hip::device::WaitPolicy;
    let Some(device) = device() else { return };
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let Some(first) = supported(stream.wait_policy()) else { return };
    assert_eq!(first, WaitPolicy::Auto);
    for policy in [WaitPolicy::Spin, WaitPolicy::Yield, WaitPolicy::Block, WaitPolicy::Auto, WaitPolicy::Block] {
        stream.set_wait_policy(policy).unwrap();
        assert_eq!(stream.wait_policy().unwrap(), policy);
    }
    assert_eq!(other.wait_policy().unwrap(), WaitPolicy::Auto, "of one stream alone");
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 10).unwrap();
    data.fill_async(&stream, 3).unwrap();
    stream.synchronize().unwrap();
    #[cfg(feature = "rocm-7-2")]
    if supported(other.copy_attributes_from(&stream)).is_some() {
        assert_eq!(other.wait_policy().unwrap(), WaitPolicy::Block);
    }
}

#[cfg(feature = "rocm-7-2")]
#[test]
fn attributes_of_a_stream_of_another_device_are_not_copied() {
    let name = "stream::attributes_of_a_stream_of_another_device_are_not_copied";
    let Some((first, second)) = super::peer::two(name) else { return };
    let (stream, there) = (Stream::new(&first).unwrap(), Stream::new(&second).unwrap());
    assert!(matches!(there.copy_attributes_from(&stream), Err(Error::WrongDevice { .. })));
}
