//! Calls of other libraries that wait for the whole device: they are not made during a capture, nor while the host
//! blocks a stream. On ROCm's runtime such a call ends the captures of all threads, and calls on a blocked stream do
//! not return before it.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, mpsc};

use hip::interop::{ForeignCapture, Tracked, Uses, free_memory, queue_for_host, wait_for_device};
use hip::{Device, DeviceBuffer, Error, Stream, sys};

use crate::common::{device, supported};
use crate::sleeper::{Sleeper, SleeperEnds};
use crate::{alone, is_held};

/// Like a library function that frees memory or copies it.
fn wait_in_runtime() -> Result<(), Error> {
    // SAFETY: takes nothing.
    assert_eq!(unsafe { sys::hipDeviceSynchronize() }, sys::hipSuccess);
    Ok(())
}

/// Like a library's call on a stream.
fn call_on(stream: &Stream) -> Result<(), Error> {
    // SAFETY: it queues nothing.
    unsafe { Uses::on(stream).call_waiting_for_device(|_| wait_in_runtime()) }
}

/// Calls `wait` in another thread while a host function of a stream waits for an action of this thread after its next
/// call on that stream.
fn beside_a_held_stream(device: &Device, wait: impl FnOnce() -> Result<(), Error> + Send) {
    let held = Stream::new(device).unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(device, 64).unwrap();
    let (go, waits) = mpsc::channel::<()>();
    let Some(()) = supported(held.launch_host_function(move || waits.recv().unwrap())) else { return };
    assert!(is_held(&held));
    let (done, other) = (AtomicBool::new(false), Sleeper::default());
    std::thread::scope(|scope| {
        // Moved in, so that it is dropped, and the stream released, before the other thread is joined.
        let go = go;
        scope.spawn(|| {
            other.calls();
            wait().unwrap();
            done.store(true, Ordering::Release);
        });
        other.until_asleep();
        data.fill_async(&held, 7).unwrap();
        assert!(!done.load(Ordering::Acquire), "the device has work");
        go.send(()).unwrap();
    });
    assert_eq!(data.to_vec().unwrap(), [7; 64]);
}

#[test]
fn a_call_waits_for_what_the_host_holds_up() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    beside_a_held_stream(&device, || call_on(&stream));
    beside_a_held_stream(&device, || wait_for_device(&device, wait_in_runtime));
}

/// The other way round: a host function that is launched during the call could block it.
#[test]
fn what_may_be_held_is_queued_after_the_call() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let (over, launches) = (AtomicBool::new(false), Sleeper::default());
    let (inside, begun) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let call = || {
                inside.send(()).unwrap();
                launches.until_asleep();
                over.store(true, Ordering::Release);
                wait_in_runtime()
            };
            wait_for_device(&device, call).unwrap();
        });
        begun.recv().unwrap();
        launches.calls();
        supported(stream.launch_host_function(|| {}));
        assert!(over.load(Ordering::Acquire));
    });
}

/// Whether the library's host function has ended.
static OVER: AtomicBool = AtomicBool::new(false);
/// The thread that waits for the device meanwhile.
static WAITS: LazyLock<Sleeper> = LazyLock::new(Sleeper::default);

unsafe extern "C" fn in_library(_: *mut c_void) {
    WAITS.until_asleep();
    OVER.store(true, Ordering::Release);
}

/// A library may take a lock in its host functions that its calls take too: nothing waits for the device from the
/// beginning of such a call to the end of its queued work.
#[test]
fn nothing_waits_for_the_device_beside_a_library_that_queues_host_functions() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let (inside, begun) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _ends = SleeperEnds(&WAITS);
            begun.recv().unwrap();
            let call = || {
                assert!(OVER.load(Ordering::Acquire), "the library's function is still to come");
                wait_in_runtime()
            };
            WAITS.calls();
            wait_for_device(&device, call).unwrap();
        });
        // Dropped with the call: the other thread does not wait for a call that is not made.
        let call = move |raw| {
            inside.send(()).unwrap();
            // The other thread begins to wait.
            WAITS.until_asleep();
            // SAFETY: a function that takes nothing, on a stream that is alive.
            let status = unsafe { sys::hipLaunchHostFunc(raw, Some(in_library), std::ptr::null_mut()) };
            assert_eq!(status, sys::hipSuccess);
            Ok::<_, Error>(())
        };
        // SAFETY: it uses no memory of the device.
        unsafe { Uses::on(&stream).call_queueing_for_host(call).unwrap() };
        stream.synchronize().unwrap();
    });
}

/// The same for a call on a stream of another crate, and for memory of another crate.
#[test]
fn nothing_waits_for_the_device_beside_other_code_that_queues_host_functions() {
    let _alone = alone();
    let Some(device) = device() else { return };
    for frees in [false, true] {
        let (inside, begun) = mpsc::channel::<()>();
        let (over, waits) = (AtomicBool::new(false), Sleeper::default());
        std::thread::scope(|scope| {
            let (over, waits) = (&over, &waits);
            scope.spawn(move || {
                let _ends = SleeperEnds(waits);
                begun.recv().unwrap();
                let call = || {
                    assert!(over.load(Ordering::Acquire), "the library is still in its call");
                    wait_in_runtime()
                };
                waits.calls();
                if frees { free_memory(call) } else { wait_for_device(&device, call) }.unwrap();
            });
            let call = move || {
                inside.send(()).unwrap();
                waits.until_asleep();
                over.store(true, Ordering::Release);
                Ok::<_, Error>(())
            };
            queue_for_host(call).unwrap();
        });
    }
}

/// The other way round.
#[test]
fn other_code_queues_host_functions_after_memory_is_freed() {
    let _alone = alone();
    if device().is_none() {
        return;
    }
    let (over, queues) = (AtomicBool::new(false), Sleeper::default());
    let (inside, begun) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let (over, queues) = (&over, &queues);
        scope.spawn(move || {
            let call = || {
                inside.send(()).unwrap();
                queues.until_asleep();
                over.store(true, Ordering::Release);
                wait_in_runtime()
            };
            free_memory(call).unwrap();
        });
        begun.recv().unwrap();
        queues.calls();
        let is_over = queue_for_host(|| Ok::<_, Error>(over.load(Ordering::Acquire))).unwrap();
        assert!(is_over);
    });
}

/// Runs `other` in another thread while this one captures a graph. The capture ends when `other` is asleep after it has
/// called its argument, or has ended.
fn while_captured(device: &Device, other: impl FnOnce(&AtomicBool, &Sleeper) + Send) {
    let stream = Stream::new(device).unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(device, 64).unwrap();
    let (captured, sleeper) = (AtomicBool::new(true), Sleeper::default());
    let graph = std::thread::scope(|scope| {
        let graph = stream.capture(|stream| {
            scope.spawn(|| {
                let _ends = SleeperEnds(&sleeper);
                other(&captured, &sleeper);
            });
            sleeper.until_asleep();
            data.fill_async(stream, 5)?;
            captured.store(false, Ordering::Release);
            Ok(())
        });
        graph.unwrap()
    });
    graph.instantiate().unwrap().launch(&stream).unwrap();
    assert_eq!(data.to_vec().unwrap(), [5; 64]);
}

#[test]
fn a_call_waits_for_the_captures_of_other_threads() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    while_captured(&device, |captured, sleeper| {
        sleeper.calls();
        wait_for_device(&device, || {
            assert!(!captured.load(Ordering::Acquire));
            wait_in_runtime()
        })
        .unwrap();
    });
    while_captured(&device, |captured, sleeper| {
        sleeper.calls();
        call_on(&stream).unwrap();
        assert!(!captured.load(Ordering::Acquire));
    });
}

/// Freeing memory does not end captures.
#[test]
fn memory_of_other_code_is_freed_during_a_capture() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let (mut on_device, mut on_host) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: both are valid for writes.
    let made = unsafe { [sys::hipMalloc(&mut on_device, 64), sys::hipHostMalloc(&mut on_host, 64, 0)] };
    assert_eq!(made, [sys::hipSuccess; 2]);
    let memory = [on_device, on_host].map(|pointer| pointer.expose_provenance());
    while_captured(&device, |captured, _| {
        let [on_device, on_host] = memory.map(std::ptr::with_exposed_provenance_mut);
        let free = || {
            // SAFETY: nothing else has them.
            let freed = unsafe { [sys::hipFree(on_device), sys::hipHostFree(on_host)] };
            assert_eq!(freed, [sys::hipSuccess; 2]);
            Ok::<_, Error>(())
        };
        free_memory(free).unwrap();
        assert!(captured.load(Ordering::Acquire), "it does not wait for the end of the capture");
    });
}

#[test]
fn a_library_is_not_destroyed_during_a_capture() {
    let _alone = alone();
    let Some(device) = device() else { return };
    while_captured(&device, |captured, sleeper| {
        let (destroyed, when) = mpsc::channel();
        Tracked::new().release_when_idle(&device, move || {
            wait_in_runtime().unwrap();
            destroyed.send(()).unwrap();
        });
        assert!(captured.load(Ordering::Acquire), "nothing is waited for");
        assert!(when.try_recv().is_err());
        sleeper.calls();
        when.recv().expect("it is destroyed after the capture");
        assert!(!captured.load(Ordering::Acquire));
    });
}

/// A resource that is destroyed may contain memory of this crate, and resources of its own, which are dropped with it.
#[test]
fn a_capture_that_begins_waits_for_what_is_being_destroyed() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let (inside, begun) = mpsc::channel::<()>();
    let (over, inner_over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let inner = Arc::clone(&inner_over);
    let (done, of_device) = (Arc::clone(&over), device);
    let capturing = Sleeper::default();
    let captures = capturing.clone();
    let destroy = move || {
        inside.send(()).unwrap();
        // The other thread is about to begin.
        captures.until_asleep();
        drop(data);
        Tracked::new().release_when_idle(&of_device, move || inner.store(true, Ordering::Release));
        done.store(true, Ordering::Release);
    };
    std::thread::scope(|scope| {
        scope.spawn(|| Tracked::new().release_when_idle(&device, destroy));
        begun.recv().unwrap();
        capturing.calls();
        let graph = stream.capture(|_| {
            assert!(over.load(Ordering::Acquire));
            Ok(())
        });
        graph.unwrap();
    });
    device.synchronize().unwrap();
    crate::common::eventually("what it had is destroyed", || inner_over.load(Ordering::Acquire));
}

#[test]
fn who_captures_cannot_wait() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let [captured, other] = [(); 2].map(|()| Stream::new(&device).unwrap());
    let graph = captured.capture(|_| {
        for refused in [wait_for_device(&device, wait_in_runtime), call_on(&other)] {
            let error = refused.unwrap_err();
            assert!(matches!(error, Error::Capture { .. }), "{error}");
        }
        Ok(())
    });
    graph.unwrap();
    call_on(&other).unwrap();
}

/// A capture that another crate makes, of a stream of its own.
#[test]
fn a_call_waits_for_captures_of_other_crates() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let mut raw = std::ptr::null_mut();
    // SAFETY: `raw` is valid for the write.
    assert_eq!(unsafe { sys::hipStreamCreateWithFlags(&mut raw, sys::hipStreamNonBlocking) }, sys::hipSuccess);
    // SAFETY: the stream is alive.
    let begin = || unsafe { sys::hipStreamBeginCapture(raw, sys::hipStreamCaptureModeRelaxed) };
    let mut capture = ForeignCapture::begin(|| {
        assert_eq!(begin(), sys::hipSuccess);
        Ok::<_, Error>(())
    })
    .unwrap();
    let own = wait_for_device(&device, wait_in_runtime).unwrap_err();
    assert!(matches!(own, Error::Capture { .. }), "{own}");
    let (over, other) = (AtomicBool::new(false), Sleeper::default());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            other.calls();
            let waited = wait_for_device(&device, || {
                assert!(over.load(Ordering::Acquire), "the capture goes on");
                wait_in_runtime()
            });
            waited.unwrap();
        });
        other.until_asleep();
        let mut graph = std::ptr::null_mut();
        // SAFETY: the stream is alive and captured, and `graph` is valid for the write.
        let status = capture.end(|| unsafe { sys::hipStreamEndCapture(raw, &mut graph) });
        assert_eq!(status, sys::hipSuccess, "no wait has ended the capture");
        over.store(true, Ordering::Release);
        drop(capture);
        // SAFETY: nothing else has them.
        let destroyed = unsafe { [sys::hipGraphDestroy(graph), sys::hipStreamDestroy(raw)] };
        assert_eq!(destroyed, [sys::hipSuccess; 2]);
    });
}
