//! Order of work: in a stream, between streams, and against the host.

use std::time::{Duration, Instant};

use hip::{DeviceBuffer, Error, Event, Kernel, LaunchConfig, PinnedBuffer, Stream};

use crate::{device, kernel, module};

const SLOW: u32 = 20_000;
const ONE: LaunchConfig =
    LaunchConfig { grid: hip::Dim3::new(1, 1, 1), block: hip::Dim3::new(64, 1, 1), shared_bytes: 0 };

/// Queues a slow kernel, which then stores `value` in all 64 elements.
fn store_slowly(kernel: &Kernel, stream: &Stream, out: &mut DeviceBuffer<u32>, value: u32) {
    // SAFETY: 64 threads, 64 elements.
    unsafe { kernel.launch(stream, ONE, (out, SLOW, value)) }.unwrap();
}

#[test]
fn a_copy_to_the_host_waits_for_the_kernel() {
    let Some(slow) = kernel("slow_store") else { return };
    let stream = Stream::new(&slow.device()).unwrap();
    let mut out = DeviceBuffer::<u32>::zeroed(&slow.device(), 64).unwrap();
    for value in 1..5 {
        store_slowly(&slow, &stream, &mut out, value);
        assert_eq!(out.to_vec().unwrap(), [value; 64]);
    }
}

#[test]
fn a_copy_of_a_buffer_comes_after_the_kernel() {
    let Some(kernel) = kernel("slow_store") else { return };
    let stream = Stream::new(&kernel.device()).unwrap();
    let mut out = DeviceBuffer::<u32>::zeroed(&kernel.device(), 64).unwrap();
    for value in 1..5 {
        store_slowly(&kernel, &stream, &mut out, value);
        let mut copy = out.try_clone().unwrap();
        assert_eq!(copy.to_vec().unwrap(), [value; 64]);
        copy.fill(0).unwrap();
        assert_eq!(out.to_vec().unwrap(), [value; 64], "it is memory of its own");
    }
    let none = DeviceBuffer::<u32>::zeroed(&kernel.device(), 0).unwrap();
    assert!(none.try_clone().unwrap().is_empty());
}

#[test]
fn a_copy_from_the_host_waits_for_the_kernel() {
    let Some(slow) = kernel("slow_store") else { return };
    let stream = Stream::new(&slow.device()).unwrap();
    let mut out = DeviceBuffer::<u32>::zeroed(&slow.device(), 64).unwrap();
    store_slowly(&slow, &stream, &mut out, 5);
    out.copy_from_slice(&[6; 64]).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(out.to_vec().unwrap(), [6; 64], "the kernel must not overwrite what came after it");
}

#[test]
fn streams_that_share_a_buffer_take_turns() {
    let Some(module) = module() else { return };
    let device = module.device();
    let (slow, add) = (module.kernel("slow_store").unwrap(), module.kernel("add_in_place").unwrap());
    let streams: Vec<Stream> = (0..3).map(|_| Stream::new(&device).unwrap()).collect();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let mut copy = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    for round in 0..10 {
        store_slowly(&slow, &streams[0], &mut data, 100 * round);
        // SAFETY: 64 threads, 64 elements; u32 and int have the same bytes.
        unsafe { add.launch(&streams[1], ONE, (&mut data, 1i32, 64u32)) }.unwrap();
        copy.copy_from_device_async(&streams[2], &data).unwrap();
        // This write comes after the copy's read.
        store_slowly(&slow, &streams[0], &mut data, 7);
        assert_eq!(copy.to_vec().unwrap(), [100 * round + 1; 64]);
        assert_eq!(data.to_vec().unwrap(), [7; 64]);
    }
}

#[test]
fn a_buffer_is_freed_after_the_kernel_that_writes_to_it() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    for _ in 0..10 {
        let stream = Stream::new(&device).unwrap();
        let mut out = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
        store_slowly(&slow, &stream, &mut out, 3);
        drop(out);
        // On the software GPU a store to freed memory would be an error here.
        stream.synchronize().unwrap();
    }
}

#[test]
fn any_order_of_drops_will_do() {
    let Some(module) = module() else { return };
    let device = module.device();
    // Six objects that depend on each other, dropped in various orders while work is queued.
    for order in 0..24u32 {
        let module = hip::Module::load(&device, crate::kernels(&device)).unwrap();
        let kernel = module.kernel("slow_store").unwrap();
        let (first, second) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
        let mut out = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
        let mut pinned = PinnedBuffer::<u32>::zeroed(&device, 64).unwrap();
        store_slowly(&kernel, &first, &mut out, 3);
        out.copy_to_pinned_async(&second, &mut pinned).unwrap();
        let event = second.record().unwrap();
        let mut things: Vec<Box<dyn std::any::Any>> = vec![
            Box::new(module),
            Box::new(kernel),
            Box::new(first),
            Box::new(second),
            Box::new(out),
            Box::new(pinned),
            Box::new(event),
        ];
        let mut state = order;
        while !things.is_empty() {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
            drop(things.swap_remove((state >> 16) as usize % things.len()));
        }
    }
    device.synchronize().unwrap();
}

#[test]
fn an_event_orders_streams_and_is_seen_by_the_host() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let (first, second) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let mut out = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    store_slowly(&slow, &first, &mut out, 9);
    let event = Event::without_timing(&device).unwrap();
    event.record(&first).unwrap();
    second.wait_event(&event).unwrap();
    second.synchronize().unwrap();
    assert!(event.is_complete().unwrap(), "the second stream has waited for it");
    event.synchronize().unwrap();
    first.synchronize().unwrap();
    assert!(first.is_idle().unwrap() && second.is_idle().unwrap());
}

#[test]
fn events_measure_the_time_between_them() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let stream = Stream::new(&device).unwrap();
    let mut out = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let begun = Instant::now();
    let start = stream.record().unwrap();
    store_slowly(&slow, &stream, &mut out, 1);
    let end = stream.record().unwrap();
    let elapsed = end.elapsed_since(&start).unwrap();
    // Milliseconds of work, with a clock of at least microsecond resolution; and no more than this thread measured.
    assert!(elapsed > Duration::ZERO && elapsed < 2 * begun.elapsed(), "{elapsed:?}");
    assert_eq!(start.elapsed_since(&start).unwrap(), Duration::ZERO);
    let error = start.elapsed_since(&end).unwrap_err();
    assert!(matches!(error, Error::InvalidValue { .. }), "{error}");
}

#[test]
fn events_that_cannot_tell_say_so() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let fresh = Event::new(&device).unwrap();
    assert!(matches!(fresh.synchronize(), Err(Error::EventNotRecorded)));
    assert!(matches!(fresh.is_complete(), Err(Error::EventNotRecorded)));
    assert!(matches!(stream.wait_event(&fresh), Err(Error::EventNotRecorded)));
    let recorded = stream.record().unwrap();
    assert!(matches!(recorded.elapsed_since(&fresh), Err(Error::EventNotRecorded)));
    let untimed = Event::without_timing(&device).unwrap();
    untimed.record(&stream).unwrap();
    assert!(matches!(recorded.elapsed_since(&untimed), Err(Error::EventWithoutTiming)));
}

#[test]
fn the_default_stream_is_one_for_all() {
    let Some(device) = device() else { return };
    assert_eq!(device.default_stream(), device.default_stream());
    assert_ne!(device.default_stream(), Stream::new(&device).unwrap());
    assert!(device.default_stream().as_raw().is_null());
    device.default_stream().synchronize().unwrap();
}
