//! Captures with effects on the whole process: of blocking streams, and those that calls of other code invalidate.
//!
//! They run in their own process: while a blocking stream is captured, ROCm 7.2 refuses stream-ordered memory to every
//! thread, and other code's call on the default stream invalidates the captures of every thread.

#[path = "gpu/capture_calls.rs"]
mod calls;
#[path = "gpu/common.rs"]
#[allow(dead_code, reason = "of the tests in tests/gpu too")]
mod common;

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::*;
use hip::{Device, DeviceBuffer, Event, Graph, Stream, StreamOptions, sys};

/// Serializes the tests, and returns the device if graphs are supported.
fn alone() -> Option<(MutexGuard<'static, ()>, Device)> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let device = device()?;
    supported(Graph::new(&device)).map(|_| (alone, device))
}

#[test]
fn blocking_streams_are_captured() {
    let Some((_alone, device)) = alone() else { return };
    let failed =
        calls::each_call(device, || Stream::with_options(&device, StreamOptions::new().blocking(true)).unwrap());
    eprintln!("{failed:#?}");
    // Memory that was dropped meanwhile, and could not be freed in order, is available again.
    let stream = Stream::new(&device).unwrap();
    if let Ok(memory) = DeviceBuffer::<u32>::uninit_async(&stream, 16) {
        drop(memory);
        stream.synchronize().unwrap();
    }
}

#[test]
fn streams_on_some_compute_units_are_captured() {
    let Some((_alone, device)) = alone() else { return };
    if supported(Stream::with_cu_mask(&device, &[1])).is_none() {
        return;
    }
    let failed = calls::each_call(device, || Stream::with_cu_mask(&device, &[1]).unwrap());
    eprintln!("{failed:#?}");
}

/// Pool memory that is dropped while a blocking stream is captured is freed, in order or later.
#[test]
fn pooled_memory_that_is_dropped_beside_a_capture_comes_back() {
    let Some((_alone, device)) = alone() else { return };
    let _watchdog = Watchdog::new("pooled memory");
    let (stream, blocking) =
        (Stream::new(&device).unwrap(), Stream::with_options(&device, StreamOptions::new().blocking(true)).unwrap());
    let Some(first) = supported(DeviceBuffer::<u8>::uninit_async(&stream, 1 << 20)) else { return };
    drop(first);
    stream.synchronize().unwrap();
    let pool = device.memory_pool().unwrap();
    let used = || pool.usage().unwrap().used;
    let before = used();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 16).unwrap();
    for _ in 0..4 {
        let mut memory = DeviceBuffer::<u8>::uninit_async(&stream, 1 << 20).unwrap();
        memory.fill_async(&stream, 1).unwrap();
        let graph = blocking.capture(|blocking| {
            drop(memory);
            data.fill_async(blocking, 1)
        });
        graph.unwrap();
    }
    eventually("it comes back", || {
        stream.synchronize().unwrap();
        used() <= before
    });
}

/// A call that other code may make during a capture: a copy on the default stream, which HIP 6 and 7 reject, and which
/// invalidates the capture.
fn foreign_copy(device: &Device, from: &DeviceBuffer<u32>) -> sys::hipError_t {
    device.make_current().unwrap();
    let mut word = 0u32;
    let source = from.as_device_ptr().address() as *const c_void;
    // SAFETY: four bytes from the buffer, which lives, to the word.
    unsafe { sys::hipMemcpy((&raw mut word).cast(), source, 4, sys::hipMemcpyDeviceToHost) }
}

#[test]
fn a_capture_that_other_code_spoils_leaves_its_streams_usable() {
    let Some((_alone, device)) = alone() else { return };
    let _watchdog = Watchdog::new("a spoilt capture");
    let source = DeviceBuffer::from_slice(&device, &[5u32; 16]).unwrap();
    let kinds: [fn(&Device) -> hip::Result<Stream>; 4] = [
        Stream::new,
        |device| Stream::with_options(device, StreamOptions::new().blocking(true)),
        |device| Stream::with_options(device, StreamOptions::new().priority(*device.stream_priority_range()?.start())),
        |device| Stream::with_cu_mask(device, &[1]),
    ];
    for new in kinds {
        let Some(stream) = supported(new(&device)) else { continue };
        let joined = Stream::new(&device).unwrap();
        let (blocking, priority) = (stream.is_blocking().unwrap(), stream.priority().unwrap());
        let mut data = DeviceBuffer::<u32>::zeroed(&device, 16).unwrap();
        let mut more = DeviceBuffer::<u32>::zeroed(&device, 16).unwrap();
        let (fork, join) = (Event::without_timing(&device).unwrap(), Event::without_timing(&device).unwrap());
        for after_join in [false, true] {
            // It may succeed or not, depending on the runtime.
            let captured = stream.capture(|stream| {
                data.fill_async(stream, 1)?;
                if !after_join {
                    foreign_copy(&device, &source);
                }
                fork.record(stream)?;
                joined.wait_event(&fork)?;
                more.fill_async(&joined, 2)?;
                if after_join {
                    foreign_copy(&device, &source);
                }
                join.record(&joined)?;
                stream.wait_event(&join)
            });
            eprintln!("{stream:?}, spoilt after the other joined {after_join}: {:?}", captured.as_ref().map(drop));
            for (stream, data) in [(&stream, &mut data), (&joined, &mut more)] {
                data.fill_async(stream, 7).unwrap();
                stream.synchronize().unwrap();
                assert!(stream.is_idle().unwrap() && !stream.is_capturing().unwrap());
                assert_eq!(data.to_vec().unwrap(), [7; 16]);
                let again = stream.capture(|stream| data.fill_async(stream, 8)).unwrap();
                again.instantiate().unwrap().launch(stream).unwrap();
                assert_eq!(data.to_vec().unwrap(), [8; 16]);
            }
            assert_eq!((stream.is_blocking().unwrap(), stream.priority().unwrap()), (blocking, priority));
            stream.wait_event(&stream.record().unwrap()).unwrap();
            assert_eq!(source.to_vec().unwrap(), [5; 16]);
        }
    }
}

/// Captures of other threads are invalidated too, and later captures work.
#[test]
fn captures_of_other_threads_that_other_code_spoils_leave_their_streams_usable() {
    let Some((_alone, device)) = alone() else { return };
    let _watchdog = Watchdog::new("captures that are spoilt by another thread");
    let source = DeviceBuffer::from_slice(&device, &[5u32; 16]).unwrap();
    let stream = Stream::new(&device).unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 16).unwrap();
    for round in 0..20 {
        let mut after = None;
        let captured = stream.capture(|stream| {
            data.fill_async(stream, 1)?;
            let copied = std::thread::scope(|scope| scope.spawn(|| foreign_copy(&device, &source)).join().unwrap());
            let filled = data.fill_async(stream, 2);
            after =
                Some((copied, stream.is_capturing().unwrap(), filled.as_ref().map(drop).map_err(ToString::to_string)));
            filled
        });
        // What comes after it is refused, or captured: it never runs at once with memory that nobody keeps for it.
        if round == 0 {
            eprintln!("the copy, whether the stream is captured after it, and the fill after it: {after:?}");
        }
        assert_eq!(after.unwrap().2.is_ok(), captured.is_ok());
        drop(captured);
        assert_eq!(data.to_vec().unwrap(), [if round == 0 { 0 } else { round - 1 }; 16], "nothing has run");
        data.fill_async(&stream, round).unwrap();
        assert_eq!(data.to_vec().unwrap(), [round; 16]);
    }
}

#[test]
fn a_stream_that_other_code_captures_is_not_captured_again() {
    let Some((_alone, device)) = alone() else { return };
    let stream = Stream::new(&device).unwrap();
    // SAFETY: the stream is alive, and its capture ends below.
    let begun = unsafe { sys::hipStreamBeginCapture(stream.as_raw(), sys::hipStreamCaptureModeRelaxed) };
    assert_eq!(begun, sys::hipSuccess);
    let again = stream.capture(|_| Ok(())).map(drop);
    let mut graph = std::ptr::null_mut();
    // SAFETY: the capture from above; the graph, which nothing else has, is destroyed.
    unsafe {
        assert_eq!(sys::hipStreamEndCapture(stream.as_raw(), &mut graph), sys::hipSuccess);
        assert_eq!(sys::hipGraphDestroy(graph), sys::hipSuccess);
    }
    let error = again.unwrap_err();
    assert!(error.to_string().contains("is already being captured by other code"), "{error}");
    stream.capture(|_| Ok(())).unwrap();
}
