//! Streams and events: order, independence, timing, callbacks, misuse.
//!
//! One test at a time: they block streams, and would block each other through the default stream.

mod common;

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};

use common::*;
use hip_sys::rocm_7_2::*;

fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    start();
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a boxed closure as a host function.
unsafe extern "C" fn call(data: *mut c_void) {
    // SAFETY: `host` passes a box of this type, once.
    let closure = unsafe { Box::from_raw(data.cast::<Box<dyn FnOnce() + Send>>()) };
    closure();
}

fn host(stream: hipStream_t, closure: impl FnOnce() + Send + 'static) {
    let closure: Box<dyn FnOnce() + Send> = Box::new(closure);
    // SAFETY: `call` takes the box back.
    ok(unsafe { hipLaunchHostFunc(stream, Some(call), Box::into_raw(Box::new(closure)).cast()) });
}

/// Blocks the stream until the sender is used.
fn gate(stream: hipStream_t) -> mpsc::Sender<()> {
    let (open, opened) = mpsc::channel();
    host(stream, move || opened.recv().unwrap());
    open
}

fn query(stream: hipStream_t) -> hipError_t {
    // SAFETY: no pointers.
    unsafe { hipStreamQuery(stream) }
}

fn synchronize(stream: hipStream_t) {
    // SAFETY: no pointers.
    ok(unsafe { hipStreamSynchronize(stream) });
}

#[test]
fn launches_return_before_the_stream_comes_to_them() {
    let _alone = alone();
    let s = stream(hipStreamNonBlocking);
    let module = load(GFX90A);
    let data = upload(&[0_i32; 64]);
    let open = gate(s);
    ok(launch!(kernel(module, "add_to_all"), [1; 3], [64, 1, 1], s, (data, 64_i32, 5_i32)));
    assert_eq!(query(s), hipErrorNotReady);
    assert_eq!(download::<i32>(data, 64), [0; 64], "the default stream does not wait for a non-blocking one");
    open.send(()).unwrap();
    synchronize(s);
    assert_eq!(query(s), hipSuccess);
    assert_eq!(download::<i32>(data, 64), [5; 64]);
    // SAFETY: no pointers.
    ok(unsafe { hipStreamDestroy(s) });
}

#[test]
fn the_default_stream_waits_for_blocking_streams_and_they_for_it() {
    let _alone = alone();
    let (a, b) = (stream(0), stream(0));
    let order = std::sync::Arc::new(Mutex::new(Vec::new()));
    let note = |stream, text| {
        let order = order.clone();
        host(stream, move || order.lock().unwrap().push(text));
    };
    let open = gate(a);
    note(a, "a");
    note(null_mut(), "default");
    note(b, "b");
    assert_eq!(query(b), hipErrorNotReady);
    open.send(()).unwrap();
    synchronize(b);
    assert_eq!(*order.lock().unwrap(), ["a", "default", "b"]);
}

#[test]
fn a_copy_with_hip_memcpy_comes_after_blocking_streams() {
    let _alone = alone();
    let s = stream(0);
    let module = load(GFX90A);
    let data = upload(&[1_i32; 64]);
    let open = gate(s);
    ok(launch!(kernel(module, "add_to_all"), [1; 3], [64, 1, 1], s, (data, 64_i32, 5_i32)));
    let opener = std::thread::spawn(move || {
        // By then the copy is probably waiting; it runs after the kernel in any case.
        std::thread::sleep(std::time::Duration::from_millis(20));
        open.send(()).unwrap();
    });
    assert_eq!(download::<i32>(data, 64), [6; 64]);
    opener.join().unwrap();
}

#[test]
fn an_event_orders_two_streams_and_counts_as_of_its_last_recording() {
    let _alone = alone();
    let (a, b) = (stream(hipStreamNonBlocking), stream(hipStreamNonBlocking));
    let e = event();
    let passed = std::sync::Arc::new(AtomicBool::new(false));
    // SAFETY: no pointers.
    unsafe {
        ok(hipStreamWaitEvent(b, e, 0)); // never recorded: no wait
        synchronize(b);
        assert_eq!(hipEventQuery(e), hipSuccess);
        let open = gate(a);
        ok(hipEventRecord(e, a));
        assert_eq!(hipEventQuery(e), hipErrorNotReady);
        ok(hipStreamWaitEvent(b, e, 0));
        let seen = passed.clone();
        host(b, move || seen.store(true, Ordering::SeqCst));
        // Recorded again on another stream; the wait is for the earlier recording.
        ok(hipEventRecord(e, null_mut()));
        ok(hipEventSynchronize(e));
        assert!(!passed.load(Ordering::SeqCst));
        open.send(()).unwrap();
        synchronize(b);
        assert!(passed.load(Ordering::SeqCst));
        ok(hipEventDestroy(e));
        assert_eq!(hipEventDestroy(e), hipErrorContextIsDestroyed);
        assert_eq!(hipEventRecord(e, a), hipErrorInvalidHandle);
    }
}

#[test]
fn elapsed_time_is_between_the_recordings() {
    let _alone = alone();
    let s = stream(0);
    let (start, stop) = (event(), event());
    let mut ms = -1.0_f32;
    // SAFETY: `ms` is valid for the write.
    unsafe {
        assert_eq!(hipEventElapsedTime(&mut ms, start, stop), hipErrorInvalidHandle);
        ok(hipEventRecord(start, s));
        ok(hipEventSynchronize(start));
        let open = gate(s);
        ok(hipEventRecord(stop, s));
        assert_eq!(hipEventElapsedTime(&mut ms, start, stop), hipErrorNotReady);
        std::thread::sleep(std::time::Duration::from_millis(5));
        open.send(()).unwrap();
        ok(hipEventSynchronize(stop));
        ok(hipEventElapsedTime(&mut ms, start, stop));
        assert!(ms >= 5.0, "{ms}");
        let mut back = 0.0;
        ok(hipEventElapsedTime(&mut back, stop, start));
        assert_eq!(back, -ms);
        assert_eq!(hipEventElapsedTime(null_mut(), start, stop), hipErrorInvalidValue);
        let mut untimed = null_mut();
        ok(hipEventCreateWithFlags(&mut untimed, hipEventDisableTiming));
        ok(hipEventRecord(untimed, s));
        ok(hipEventSynchronize(untimed));
        assert_eq!(hipEventElapsedTime(&mut ms, start, untimed), hipErrorInvalidHandle);
        assert_eq!(hipEventCreateWithFlags(&mut untimed, 0x10), hipErrorInvalidValue);
        assert_eq!(hipEventCreateWithFlags(&mut untimed, 4), hipErrorInvalidValue);
    }
}

#[test]
fn callbacks_come_in_order_with_stream_and_status() {
    let _alone = alone();
    static COUNT: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn callback(stream: hipStream_t, status: hipError_t, data: *mut c_void) {
        assert!(!stream.is_null());
        assert_eq!(status, hipSuccess);
        assert_eq!(COUNT.fetch_add(1, Ordering::SeqCst) as usize, data.addr());
    }
    let s = stream(0);
    // SAFETY: the callback reads no memory through its data.
    unsafe {
        for n in 0..10 {
            ok(hipStreamAddCallback(s, Some(callback), std::ptr::without_provenance_mut(n), 0));
        }
        assert_eq!(hipStreamAddCallback(s, None, null_mut(), 0), hipErrorInvalidValue);
        assert_eq!(hipStreamAddCallback(s, Some(callback), null_mut(), 1), hipErrorInvalidValue);
        assert_eq!(hipLaunchHostFunc(s, None, null_mut()), hipErrorInvalidValue);
    }
    synchronize(s);
    assert_eq!(COUNT.load(Ordering::SeqCst), 10);
}

#[test]
fn streams_tell_what_they_are() {
    let _alone = alone();
    start();
    let (mut s, mut value, mut flags, mut device) = (null_mut(), 0, 9, 9);
    // SAFETY: places for the results.
    unsafe {
        ok(hipStreamCreateWithPriority(&mut s, hipStreamNonBlocking, -5));
        ok(hipStreamGetPriority(s, &mut value));
        assert_eq!(value, -1, "clamped");
        ok(hipStreamGetFlags(s, &mut flags));
        assert_eq!(flags, hipStreamNonBlocking);
        ok(hipStreamGetDevice(s, &mut device));
        assert_eq!(device, 0);
        let mut capturing = hipStreamCaptureStatusActive;
        ok(hipStreamIsCapturing(s, &mut capturing));
        assert_eq!(capturing, hipStreamCaptureStatusNone);
        assert_eq!(hipStreamCreateWithFlags(&mut s, 8), hipErrorInvalidValue);
        assert_eq!(hipStreamCreate(null_mut()), hipErrorInvalidValue);
        assert_eq!(hipStreamGetFlags(null_mut(), &mut flags), hipErrorInvalidValue);
    }
}

#[test]
fn dead_streams_are_errors_in_every_call() {
    let _alone = alone();
    let s = stream(0);
    let e = event();
    let data = malloc(4);
    // SAFETY: a destroyed stream; each call must detect that.
    unsafe {
        ok(hipStreamDestroy(s));
        for status in [
            hipStreamDestroy(s),
            hipStreamSynchronize(s),
            hipStreamQuery(s),
            hipEventRecord(e, s),
            hipMemsetAsync(data, 0, 4, s),
            hipMemcpyAsync(data, data, 4, hipMemcpyDeviceToDevice, s),
            hipLaunchHostFunc(s, Some(call), null_mut()),
        ] {
            assert_eq!(status, hipErrorContextIsDestroyed);
        }
        assert_eq!(hipStreamWaitEvent(s, e, 0), hipErrorInvalidHandle);
        assert_eq!(hipStreamDestroy(null_mut()), hipErrorInvalidHandle);
        assert_eq!(hipStreamSynchronize(e.cast()), hipErrorContextIsDestroyed);
        assert_eq!(hipEventQuery(s.cast()), hipErrorInvalidHandle);
        assert_eq!(hipEventQuery(null_mut()), hipErrorInvalidHandle);
    }
    free(data);
}

#[test]
fn every_thread_has_its_own_per_thread_stream() {
    let _alone = alone();
    start();
    let open = gate(hipStreamPerThread);
    std::thread::spawn(|| {
        assert_eq!(query(hipStreamPerThread), hipSuccess);
        let done = std::sync::Arc::new(AtomicBool::new(false));
        let seen = done.clone();
        host(hipStreamPerThread, move || seen.store(true, Ordering::SeqCst));
        synchronize(hipStreamPerThread);
        assert!(done.load(Ordering::SeqCst));
    })
    .join()
    .unwrap();
    assert_eq!(query(hipStreamPerThread), hipErrorNotReady);
    open.send(()).unwrap();
    synchronize(hipStreamPerThread);
}

#[test]
fn thirty_two_threads_on_shared_streams_lose_nothing() {
    let _alone = alone();
    let module = load(GFX90A) as usize;
    let streams: Vec<_> = (0..4).map(|n| stream(n % 2) as usize).collect();
    std::thread::scope(|threads| {
        for t in 0..32_usize {
            let streams = &streams;
            threads.spawn(move || {
                let s = streams[t % streams.len()] as hipStream_t;
                let add = kernel(module as hipModule_t, "add_to_all");
                let data = upload(&[t as i32; 64]);
                for _ in 0..20 {
                    ok(launch!(add, [1; 3], [64, 1, 1], s, (data, 64_i32, 1_i32)));
                    let mut scratch = null_mut();
                    // SAFETY: a place for the result; the block is used on its own stream alone.
                    unsafe {
                        ok(hipMallocAsync(&mut scratch, 512, s));
                        ok(hipMemsetAsync(scratch, t as i32, 512, s));
                        ok(hipFreeAsync(scratch, s));
                    }
                }
                synchronize(s);
                assert_eq!(download::<i32>(data, 64), [t as i32 + 20; 64]);
                free(data);
            });
        }
    });
}

/// Kernels that pass a turn around, each in a stream of its own.
const WAITING: &[u8] = include_bytes!("../../amdgpu-sim/tests/kernels/waiting.co");

#[test]
fn kernels_of_many_streams_wait_for_each_other() {
    let _alone = alone();
    let module = load(WAITING);
    let (all, rounds) = (16_u32, 3_u32);
    let (turn, log) = (upload(&[0_u32]), upload(&vec![0_u32; (all * rounds) as usize]));
    let streams: Vec<_> = (0..all).map(|_| stream(hipStreamNonBlocking)).collect();
    // The kernel that has the first turn is launched last.
    for (me, stream) in (0..all).zip(&streams).rev() {
        ok(launch!(kernel(module, "ping_pong"), [1; 3], [64, 1, 1], *stream, (turn, me, all, rounds, log)));
    }
    // Polled without waiting, so that only workers run the kernels.
    while streams.iter().any(|stream| query(*stream) == hipErrorNotReady) {
        std::thread::yield_now();
    }
    assert_eq!(download::<u32>(turn, 1), [all * rounds]);
    for stream in streams {
        // SAFETY: ours, and no longer used.
        ok(unsafe { hipStreamDestroy(stream) });
    }
    free(turn);
    free(log);
}
