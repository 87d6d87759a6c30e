//! Streams, events and memory of other code: created, used and destroyed by C functions without this crate.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hip::graph::GraphFill;
use hip::sys::{self, hipEvent_t, hipStream_t, hipSuccess};
use hip::{
    Device, DeviceBuffer, DevicePtr, Error, Event, EventOptions, Graph, LaunchConfig, Module, PinnedBuffer, Status,
    Stream,
};

use crate::{SetOnDrop, device, eventually, kernel, module};

const ONE: LaunchConfig =
    LaunchConfig { grid: hip::Dim3::new(1, 1, 1), block: hip::Dim3::new(64, 1, 1), shared_bytes: 0 };

/// Creates a C stream that waits for no other.
fn raw_stream(device: &Device) -> hipStream_t {
    device.make_current().unwrap();
    let mut raw = ptr::null_mut();
    // SAFETY: `raw` is valid for a write.
    assert_eq!(unsafe { sys::hipStreamCreateWithFlags(&mut raw, sys::hipStreamNonBlocking) }, hipSuccess);
    raw
}

fn raw_event(device: &Device, flags: u32) -> hipEvent_t {
    device.make_current().unwrap();
    let mut raw = ptr::null_mut();
    // SAFETY: `raw` is valid for a write.
    assert_eq!(unsafe { sys::hipEventCreateWithFlags(&mut raw, flags) }, hipSuccess);
    raw
}

#[test]
fn a_stream_of_other_code_has_its_place_in_the_order() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let (raw, other) = (raw_stream(&device), Stream::new(&device).unwrap());
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    for round in 1..4u32 {
        // SAFETY: alive until the end of the test, which has waited for it by then; it is not captured.
        let borrowed = unsafe { Stream::borrow_raw(&device, raw).unwrap() };
        assert_eq!((borrowed.as_raw(), borrowed.device()), (raw, device));
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch(&borrowed, ONE, (&mut data, 20_000u32, round)) }.unwrap();
        // Another stream waits for it, and so does the host.
        let mut copy = DeviceBuffer::<u32>::uninit_async(&other, 64).unwrap();
        copy.copy_from_device_async(&other, &data).unwrap();
        assert_eq!(copy.to_vec().unwrap(), [round; 64]);
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch(&borrowed, ONE, (&mut data, 20_000u32, round + 10)) }.unwrap();
        assert_eq!(data.to_vec().unwrap(), [round + 10; 64]);
        // Waiting for the stream includes work of other code.
        let pointer = data.as_device_ptr().address() as *mut _;
        // SAFETY: 64 elements; the stream is waited for before they are read.
        assert_eq!(unsafe { sys::hipMemsetD32Async(pointer, 7, 64, raw) }, hipSuccess);
        borrowed.synchronize().unwrap();
        assert_eq!(data.to_vec().unwrap(), [7; 64]);
    }
    // It was not destroyed. SAFETY: it is alive, and not used anymore.
    unsafe {
        assert_eq!(sys::hipStreamSynchronize(raw), hipSuccess);
        assert_eq!(sys::hipStreamDestroy(raw), hipSuccess);
    }
}

/// Other threads wait for the device, and for a buffer that the stream worked on, when the owner destroys the stream.
#[test]
fn a_stream_of_other_code_is_destroyed_while_others_wait() {
    const ROUNDS: u32 = 100;
    let Some(device) = device() else { return };
    let stop = AtomicBool::new(false);
    let (sender, receiver) = std::sync::mpsc::sync_channel::<DeviceBuffer<u32>>(0);
    std::thread::scope(|scope| {
        let (stop, sender) = (&stop, sender);
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                device.synchronize().unwrap();
            }
        });
        let wanted = |round| vec![round; 64];
        scope.spawn(move || {
            (0..).zip(receiver).for_each(|(round, data)| assert_eq!(data.to_vec().unwrap(), wanted(round)))
        });
        let _stop = SetOnDrop(stop);
        for round in 0..ROUNDS {
            let raw = raw_stream(&device);
            let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
            // SAFETY: alive until it was waited for, and all derived handles and buffers are dropped.
            let borrowed = unsafe { Stream::borrow_raw(&device, raw).unwrap() };
            data.fill_async(&borrowed, round).unwrap();
            sender.send(data).unwrap();
            borrowed.synchronize().unwrap();
            drop(borrowed);
            // SAFETY: the conditions of `borrow_raw` are met.
            unsafe { assert_eq!(sys::hipStreamDestroy(raw), hipSuccess) };
        }
    });
}

#[test]
fn a_stream_that_is_taken_over_lives_as_long_as_its_work() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    // SAFETY: new, without another owner.
    let stream = unsafe { Stream::from_raw(&device, raw_stream(&device)).unwrap() };
    // SAFETY: 64 threads, 64 elements.
    unsafe { slow.launch(&stream, ONE, (&mut data, 20_000u32, 5u32)) }.unwrap();
    drop(stream);
    assert_eq!(data.to_vec().unwrap(), [5; 64]);
}

#[test]
fn default_streams_and_those_of_other_devices_are_refused() {
    let Some((first, second)) = crate::peer::two("foreign::default_streams_and_those_of_other_devices_are_refused")
    else {
        return;
    };
    for handle in 0..3usize {
        let raw = ptr::without_provenance_mut::<std::ffi::c_void>(handle).cast();
        // SAFETY: handles of default streams, which always exist.
        for refused in unsafe { [Stream::from_raw(&first, raw), Stream::borrow_raw(&first, raw)] } {
            let error = refused.unwrap_err();
            assert!(
                matches!(error, Error::InvalidValue { .. }) && error.to_string().contains("default_stream"),
                "{error}"
            );
        }
    }
    let raw = raw_stream(&second);
    // SAFETY: alive until the end of the test.
    let error = unsafe { Stream::borrow_raw(&first, raw) }.unwrap_err();
    assert!(matches!(error, Error::WrongDevice { expected: 0, found: 1, .. }), "{error}");
    // SAFETY: it has no other owner.
    drop(unsafe { Stream::from_raw(&second, raw) }.unwrap());
}

#[test]
fn an_event_of_other_code_is_waited_for() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let (theirs, ours, raw) =
        (raw_stream(&device), Stream::new(&device).unwrap(), raw_event(&device, sys::hipEventDisableTiming));
    let options = EventOptions::new().timing(false);
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let pointer = data.as_device_ptr();
    for round in 1..4u32 {
        // SAFETY: alive until the end of the test.
        let (event, stream) = unsafe {
            (Event::borrow_raw(&device, raw, options).unwrap(), Stream::borrow_raw(&device, theirs).unwrap())
        };
        // Passed by address, so that no buffer tracks it, as for other code's work.
        // SAFETY: 64 threads, 64 elements, which are not used before the event is waited for.
        unsafe {
            slow.launch(&stream, ONE, (pointer, 20_000u32, round)).unwrap();
            assert_eq!(sys::hipEventRecord(raw, theirs), hipSuccess);
        }
        match round {
            1 => event.synchronize().unwrap(),
            2 => while !event.is_complete().unwrap() {},
            _ => {
                let mut copy = DeviceBuffer::<u32>::uninit(&device, 64).unwrap();
                ours.wait_event(&event).unwrap();
                copy.copy_from_device_async(&ours, &data).unwrap();
                assert_eq!(copy.to_vec().unwrap(), [round; 64]);
            }
        }
        assert_eq!(data.to_vec().unwrap(), [round; 64]);
        stream.synchronize().unwrap();
    }
    // Records by other code do not replace waits for our streams.
    // SAFETY: alive until the end of the test.
    let event = unsafe { Event::borrow_raw(&device, raw, options).unwrap() };
    for round in 10..14u32 {
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch(&ours, ONE, (&mut data, 20_000u32, round)) }.unwrap();
        event.record(&ours).unwrap();
        // SAFETY: both are alive. The stream is idle, so that the event is done at once.
        unsafe { assert_eq!(sys::hipEventRecord(raw, theirs), hipSuccess) };
        event.synchronize().unwrap();
        assert_eq!(data.to_vec().unwrap(), [round; 64], "the host has waited for the kernel, not for the event alone");
    }
    // It can be recorded in streams only.
    if let Ok(mut graph) = Graph::new(&device) {
        let error = graph.add_event_record(&[], &Arc::new(event)).unwrap_err();
        assert!(error.to_string().contains("other code"), "{error}");
    }
    // SAFETY: alive, and not used anymore.
    unsafe {
        assert_eq!(sys::hipEventSynchronize(raw), hipSuccess);
        assert_eq!((sys::hipEventDestroy(raw), sys::hipStreamDestroy(theirs)), (hipSuccess, hipSuccess));
    }
    // SAFETY: null is rejected.
    assert!(matches!(unsafe { Event::from_raw(&device, ptr::null_mut(), options) }, Err(Error::InvalidValue { .. })));
}

#[test]
fn an_event_that_is_taken_over_measures() {
    let Some(device) = device() else { return };
    let (start, stream) = (raw_event(&device, 0), Stream::new(&device).unwrap());
    // SAFETY: both are alive.
    assert_eq!(unsafe { sys::hipEventRecord(start, stream.as_raw()) }, hipSuccess);
    // SAFETY: it has no other owner.
    let start = unsafe { Event::from_raw(&device, start, EventOptions::new()).unwrap() };
    assert_eq!(start.options(), EventOptions::new());
    let end = stream.record().unwrap();
    assert!(end.elapsed_since(&start).is_ok());
}

#[test]
fn memory_of_other_code_is_taken_over_and_given_away() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let stream = Stream::new(&device).unwrap();
    let mut raw = ptr::null_mut();
    device.make_current().unwrap();
    // SAFETY: `raw` is valid for a write.
    assert_eq!(unsafe { sys::hipMalloc(&mut raw, 256) }, hipSuccess);
    let pointer = DevicePtr::<u32>::from_address(raw.addr() as u64);
    let known = || DevicePtr::<u32>::from_address(pointer.address()).attributes().unwrap().is_some();
    // SAFETY: 64 elements without another owner.
    let mut buffer = unsafe { DeviceBuffer::from_raw_parts(&device, pointer, 64).unwrap() };
    assert_eq!((buffer.len(), buffer.byte_len(), buffer.device()), (64, 256, device));
    // SAFETY: 64 threads, 64 elements.
    unsafe { slow.launch(&stream, ONE, (&mut buffer, 20_000u32, 3u32)) }.unwrap();
    // Waits for the kernel.
    assert_eq!(buffer.into_raw_parts().unwrap(), (pointer, 64));
    assert!(known(), "it is not freed");
    assert!(stream.is_idle().unwrap());
    // SAFETY: as above.
    let buffer = unsafe { DeviceBuffer::from_raw_parts(&device, pointer, 64).unwrap() };
    assert_eq!(buffer.to_vec().unwrap(), [3; 64]);
    drop(buffer);
    eventually("it is freed", || !known());
    // Memory that was allocated in the order of a stream.
    let mut scratch = DeviceBuffer::<u32>::uninit_async(&stream, 64).unwrap();
    scratch.fill_async(&stream, 9).unwrap();
    let (pointer, len) = scratch.into_raw_parts().unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { DeviceBuffer::from_raw_parts(&device, pointer, len) }.unwrap().to_vec().unwrap(), [9; 64]);
    // An empty buffer.
    let (null, none) = DeviceBuffer::<u32>::uninit(&device, 0).unwrap().into_raw_parts().unwrap();
    assert_eq!((null, none), (DevicePtr::null(), 0));
    // SAFETY: no elements.
    assert!(unsafe { DeviceBuffer::from_raw_parts(&device, null, none) }.unwrap().is_empty());
}

#[test]
fn memory_that_cannot_be_taken_over_is_refused_and_stays() {
    let Some(module) = module() else { return };
    let device = module.device();
    let buffer = DeviceBuffer::from_slice(&device, &[1u64, 2, 3, 4]).unwrap();
    let address = buffer.as_device_ptr().address();
    let host = PinnedBuffer::<u64>::zeroed(&device, 4).unwrap();
    let local = 0u64;
    let refused = [
        (address + 8, 1, "behind its first byte"),
        (address, 1 << 40, "of which"),
        (address + 4, 1, "multiple of 8"),
        (0, 1, "null if and only if"),
        (address, 0, "null if and only if"),
        (host.as_slice().unwrap().as_ptr().addr() as u64, 4, "memory of device 0"),
        ((&raw const local).addr() as u64, 1, "that the runtime knows"),
    ];
    for (address, len, why) in refused {
        // SAFETY: rejected.
        let error = unsafe { DeviceBuffer::<u64>::from_raw_parts(&device, DevicePtr::from_address(address), len) };
        let error = error.unwrap_err().to_string();
        assert!(error.contains(why), "{error}, not: {why}");
    }
    // SAFETY: rejected.
    let error =
        unsafe { DeviceBuffer::<()>::from_raw_parts(&device, DevicePtr::from_address(address), 1) }.unwrap_err();
    assert!(matches!(error, Error::ZeroSizedType { .. }), "{error}");
    assert_eq!(buffer.to_vec().unwrap(), [1, 2, 3, 4]);
    // Memory that hipFree does not free cannot be taken out.
    if let Ok(counters) = module.global::<u32>("counters") {
        assert!(matches!(counters.into_raw_parts(), Err(Error::InvalidValue { .. })));
    }
    // SAFETY: elements of `buffer`, which lives longer.
    let view = unsafe { DeviceBuffer::from_raw_parts_with(&device, buffer.as_device_ptr(), 4, ()) }.unwrap();
    assert!(matches!(view.into_raw_parts(), Err(Error::InvalidValue { .. })));
    if let Ok(mut graph) = Graph::new(&device) {
        let mut kept = DeviceBuffer::<u32>::zeroed(&device, 4).unwrap();
        graph.add_fill(&[], GraphFill::new(&mut kept, 1)).unwrap();
        assert!(matches!(kept.into_raw_parts(), Err(Error::Graph { .. })));
    }
}

/// Sets a flag when it is dropped.
struct Owner(Arc<AtomicBool>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn an_owner_keeps_memory_until_its_work_is_done() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let stream = Stream::new(&device).unwrap();
    let whole = DeviceBuffer::<u32>::zeroed(&device, 100).unwrap();
    let gone = Arc::new(AtomicBool::new(false));
    let part = DevicePtr::from_address(whole.as_device_ptr().address() + 16);
    // SAFETY: 64 of the 100 elements, without another use meanwhile.
    let mut buffer =
        unsafe { DeviceBuffer::<u32>::from_raw_parts_with(&device, part, 64, Owner(Arc::clone(&gone))) }.unwrap();
    // SAFETY: 64 threads, 64 elements.
    unsafe { slow.launch(&stream, ONE, (&mut buffer, 20_000u32, 8u32)) }.unwrap();
    assert!(!gone.load(Ordering::SeqCst));
    drop(buffer);
    eventually("the owner goes", || gone.load(Ordering::SeqCst));
    assert!(stream.is_idle().unwrap(), "after the work");
    let found = whole.to_vec().unwrap();
    assert_eq!((&found[..4], &found[4..68], &found[68..]), (&[0; 4][..], &[8; 64][..], &[0; 32][..]));
    // SAFETY: null is rejected.
    assert!(unsafe { DeviceBuffer::<u32>::from_raw_parts_with(&device, DevicePtr::null(), 1, ()) }.is_err());
}

#[test]
fn memory_of_one_device_is_not_another_s() {
    let Some((first, second)) = crate::peer::two("foreign::memory_of_one_device_is_not_another_s") else { return };
    let buffer = DeviceBuffer::<u32>::zeroed(&first, 4).unwrap();
    // SAFETY: both are rejected.
    let refused = unsafe {
        [
            DeviceBuffer::from_raw_parts(&second, buffer.as_device_ptr(), 4),
            DeviceBuffer::from_raw_parts_with(&second, buffer.as_device_ptr(), 4, ()),
        ]
    };
    for error in refused.map(Result::unwrap_err) {
        assert!(error.to_string().contains("memory of device 1"), "{error}");
    }
}

#[test]
fn copies_of_slices_are_in_the_order_of_a_stream() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let (first, second) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let mut source = vec![0u32; 100_000];
    for round in 0..4u32 {
        source.fill(round);
        let mut numbers = DeviceBuffer::from_slice_on(&first, &source).unwrap();
        source.fill(u32::MAX); // is ours again
        assert_eq!(numbers.to_vec().unwrap(), vec![round; 100_000]);
        let mut few = numbers.slice_mut(..64).unwrap();
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch(&second, ONE, (&mut few, 100_000u32, 50 + round)) }.unwrap();
        // After the kernel of the other stream, in both directions.
        let mut back = [0; 64];
        few.as_slice().copy_to_slice_on(&first, &mut back).unwrap();
        assert_eq!(back, [50 + round; 64]);
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch(&second, ONE, (&mut few, 100_000u32, 60 + round)) }.unwrap();
        few.copy_from_slice_on(&first, &[70 + round; 64]).unwrap();
        assert_eq!(numbers.slice(..64).unwrap().to_vec().unwrap(), [70 + round; 64]);
    }
    let pinned = PinnedBuffer::from_slice(&device, &source).unwrap();
    assert_eq!(DeviceBuffer::from_pinned_async(&second, &pinned).unwrap().to_vec().unwrap(), source);
    // Empty slices, and other lengths.
    assert!(DeviceBuffer::<u32>::from_slice_on(&first, &[]).unwrap().is_empty());
    let mut few = DeviceBuffer::<u32>::zeroed(&device, 3).unwrap();
    assert!(matches!(few.copy_from_slice_on(&first, &[1; 4]), Err(Error::Length { .. })));
    assert!(matches!(few.copy_to_slice_on(&first, &mut [1; 2]), Err(Error::Length { .. })));
}

#[test]
fn copies_of_slices_are_refused_for_memory_of_another_device() {
    let Some((first, second)) = crate::peer::two("foreign::copies_of_slices_are_refused_for_memory_of_another_device")
    else {
        return;
    };
    let mut theirs = DeviceBuffer::<u32>::zeroed(&second, 4).unwrap();
    let stream = Stream::new(&first).unwrap();
    assert!(matches!(theirs.copy_from_slice_on(&stream, &[1; 4]), Err(Error::WrongDevice { .. })));
    assert!(matches!(theirs.copy_to_slice_on(&stream, &mut [1; 4]), Err(Error::WrongDevice { .. })));
}

#[test]
fn an_error_in_front_of_a_copy_comes_back_from_it() {
    if !crate::is_child() {
        crate::in_child("foreign::an_error_in_front_of_a_copy_comes_back_from_it", &[]);
        return;
    }
    let device = device().unwrap();
    let module = Module::load(&device, crate::kernels(&device)).unwrap();
    let stream = Stream::new(&device).unwrap();
    let store = module.kernel("slow_store").unwrap();
    // SAFETY: the software GPU finds the bad address.
    unsafe { store.launch(&stream, ONE, (DevicePtr::<u32>::from_address(64), 1u32, 1u32)) }.unwrap();
    let error = DeviceBuffer::from_slice_on(&stream, &[1u32; 64]).unwrap_err();
    assert_eq!(error.status(), Some(Status::ILLEGAL_ADDRESS), "{error}");
}

/// The address may have been given to another owner meanwhile, whose memory a second free would take. This names the fault.
#[test]
fn memory_that_other_code_frees_is_told() {
    let Some(device) = device() else { return };
    let test = "foreign::memory_that_other_code_frees_is_told";
    if let Some(text) = crate::process::output_of_own_process(test, &[]) {
        for function in ["hipFree", "hipHostFree"] {
            let told = |line: &&str| {
                line.starts_with("hip: other code has freed the memory at 0x")
                    && line.contains(&format!(": {function} does"))
            };
            assert_eq!(text.lines().filter(told).count(), 1, "{function}: {text}");
        }
        return;
    }
    let buffer = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let host = PinnedBuffer::<u32>::zeroed(&device, 64).unwrap();
    device.make_current().unwrap();
    let first = host.as_slice().unwrap().as_ptr().addr() as u64;
    let raw = |address: u64| ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: no work uses the memory, and nothing is allocated in this process until the second free.
    unsafe {
        assert_eq!(sys::hipFree(raw(buffer.as_device_ptr().address())), hipSuccess);
        assert_eq!(sys::hipHostFree(raw(first)), hipSuccess);
    }
    drop((buffer, host));
}
