//! Operations that block a stream until the host acts: signals, futures, order between streams.
//!
//! The tests run one at a time, and separately from the other tests: streams share hardware queues, and calls of other
//! threads that wait for the whole device hold locks of ROCm's runtime, which the calls here need before they can
//! release the stream.

#[path = "held/apart.rs"]
mod apart;
#[path = "gpu/common.rs"]
#[allow(dead_code, reason = "of the tests in tests/gpu too")]
mod common;
#[path = "held/drops.rs"]
mod drops;
#[path = "gpu/process.rs"]
mod process;
#[path = "held/sleeper.rs"]
mod sleeper;

use std::future::Future as _;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, mpsc};
use std::task::{Context, Poll, Wake};

use common::{device, eventually, kernel, supported};
use hip::stream::{IpcEventHandle, Signal, SignalOp, WaitCondition};
use hip::{Device, DeviceBuffer, Event, EventOptions, LaunchConfig, Stream};
use process::{Peer, from_hex, hex, is_peer, serve};

const SLOW: u32 = 20_000;

/// Serializes the tests.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    static QUEUES: Once = Once::new();
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // The default stream and the stream of blocking copies are created before all others, so that each has its own hardware queue.
    QUEUES.call_once(|| {
        let Some(device) = device() else { return };
        let mut data = DeviceBuffer::<u32>::uninit(&device, 16).unwrap();
        data.fill_async(&device.default_stream(), 1).unwrap();
        device.default_stream().synchronize().unwrap();
        data.copy_from_slice(&[2; 16]).unwrap();
    });
    alone
}

/// Returns whether a stream is still busy after enough queries for unblocked work to be done.
fn is_held(stream: &Stream) -> bool {
    // On a busy machine, a thread that yields is rescheduled late, so that 2,000 yields take a minute; a thread that slept is scheduled at
    // once.
    (0..200).all(|_| {
        std::thread::sleep(std::time::Duration::from_micros(50));
        !stream.is_idle().unwrap()
    })
}

#[test]
fn streams_wait_for_signals_and_write_them() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let Some(signal) = supported(Signal::new(&device, 1)) else { return };
    let first = Stream::new(&device).unwrap();
    // Before the wait, which may block the queue of the default stream.
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 8).unwrap();
    let Some(()) = supported(first.wait_signal(&signal, WaitCondition::AtLeast(3))) else { return };
    data.fill_async(&first, 9).unwrap();
    assert!(is_held(&first), "the signal is 1");
    signal.store(2).unwrap();
    assert!(is_held(&first), "the signal is 2");
    signal.store(3).unwrap();
    assert_eq!(data.to_vec().unwrap(), [9; 8]);
    first.write_signal(&signal, 44).unwrap();
    first.wait_signal(&signal, WaitCondition::Equal(44)).unwrap();
    first.synchronize().unwrap();
    assert_eq!(signal.load().unwrap(), 44);
    // All 64 bits count.
    signal.store(1 << 40 | 17).unwrap();
    first.wait_signal(&signal, WaitCondition::Equal(17)).unwrap();
    assert!(is_held(&first), "the lower half is 17");
    signal.store(17).unwrap();
    first.synchronize().unwrap();
    // The other conditions.
    for (condition, value) in
        [(WaitCondition::Equal(17), 17), (WaitCondition::AnyBit(0b100), 0b110), (WaitCondition::Nor(1), 8)]
    {
        // Larger than any of them, so that it is not the same as AtLeast.
        signal.store(0b11001).unwrap();
        first.wait_signal(&signal, condition).unwrap();
        if condition != WaitCondition::Nor(1) {
            assert!(is_held(&first), "{condition:?}");
        }
        signal.store(value).unwrap();
        first.synchronize().unwrap();
    }
}

/// Counts its wake-ups, and unparks a thread.
struct Waker(std::thread::Thread, AtomicU32);

impl Wake for Waker {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.unpark();
    }
}

#[test]
fn operations_on_signals_come_between_what_is_queued_before_and_after() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let Some(go) = supported(Signal::new(&device, 0)) else { return };
    let [first, second, last] = [0; 3].map(|_| Signal::new(&device, 0).unwrap());
    let stream = Stream::new(&device).unwrap();
    stream.batch_signal_ops(&[]).unwrap();
    let both = [SignalOp::Wait(&go, WaitCondition::AnyBit(4)), SignalOp::Wait(&last, WaitCondition::Equal(0))];
    if supported(stream.batch_signal_ops(&both)).is_none() {
        return;
    }
    // More operations than the runtime accepts in one call.
    let writes: Vec<_> =
        (0..300).map(|i| SignalOp::Write(if i % 2 == 0 { &first } else { &second }, 7 + i % 2)).collect();
    stream.batch_signal_ops(&writes).unwrap();
    stream.batch_signal_ops(&[SignalOp::Write(&last, 9)]).unwrap();
    assert!(is_held(&stream), "it waits for the host");
    assert_eq!([&first, &second, &last].map(|signal| signal.load().unwrap()), [0; 3]);
    go.store(6).unwrap();
    stream.synchronize().unwrap();
    assert_eq!([&go, &first, &second, &last].map(|signal| signal.load().unwrap()), [6, 7, 8, 9]);
    // Dropped signals are freed after the stream is done with them.
    stream.batch_signal_ops(&[SignalOp::Write(&first, 7), SignalOp::Write(&second, 8)]).unwrap();
    drop((first, second));
    stream.synchronize().unwrap();
}

/// Returns the output of a future.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = std::task::Waker::from(Arc::new(Waker(std::thread::current(), AtomicU32::new(0))));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => return result,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn a_future_of_a_stream_wakes_when_the_work_is_done() {
    let _alone = alone();
    let Some(slow) = kernel("slow_store") else { return };
    let stream = Stream::new(&slow.device()).unwrap();
    let mut out = DeviceBuffer::<u32>::zeroed(&slow.device(), 64).unwrap();
    // The stream is blocked until the test has seen that the future is pending.
    let (go, held) = mpsc::channel::<()>();
    stream.launch_host_function(move || held.recv().unwrap()).unwrap();
    // SAFETY: 64 threads, 64 elements.
    unsafe { slow.launch(&stream, LaunchConfig::new(1, 64), (&mut out, SLOW, 8u32)) }.unwrap();
    let mut finished = pin!(stream.completion().unwrap());
    let waker = Arc::new(Waker(std::thread::current(), AtomicU32::new(0)));
    let task = std::task::Waker::from(Arc::clone(&waker));
    let mut context = Context::from_waker(&task);
    assert!(finished.as_mut().poll(&mut context).is_pending());
    assert_eq!(waker.1.load(Ordering::SeqCst), 0);
    go.send(()).unwrap();
    loop {
        match finished.as_mut().poll(&mut context) {
            Poll::Ready(result) => break result.unwrap(),
            Poll::Pending => std::thread::park(),
        }
    }
    assert!(waker.1.load(Ordering::SeqCst) <= 1);
    assert_eq!(out.to_vec().unwrap(), [8; 64]);
    // A future that is never awaited.
    drop(stream.completion().unwrap());
    stream.synchronize().unwrap();
}

#[test]
fn without_order_streams_do_not_wait_for_each_other_and_the_host_still_does() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let held = Stream::new(&device).unwrap();
    // Some of them share a hardware queue with the blocked stream, but not all.
    let others: Vec<Stream> = (0..12).map(|_| Stream::new(&device).unwrap()).collect();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 200).unwrap();
    let (go, wait) = mpsc::channel::<()>();
    held.launch_host_function(move || wait.recv().unwrap()).unwrap();
    {
        let mut whole = data.as_slice_mut();
        let (mut low, mut high) = whole.split_at_mut(100).unwrap();
        low.fill_async(&held, 1).unwrap();
        for other in &others {
            // SAFETY: the halves have no byte in common, and whichever fill of the second comes last, the bytes are the same.
            unsafe { hip::stream::without_stream_order(|| high.fill_async(other, 2)) }.unwrap();
        }
    }
    // None would be done if those streams waited for the blocked one.
    eventually("a stream goes on beside the one that is held up", || {
        others.iter().any(|other| other.is_idle().unwrap())
    });
    go.send(()).unwrap();
    let all = data.to_vec().unwrap();
    assert_eq!((&all[..100], &all[100..]), (&[1; 100][..], &[2; 100][..]));
    others.iter().for_each(|other| other.synchronize().unwrap());
}

fn open_event(device: &Device, handle: &str) -> hip::Result<Event> {
    // SAFETY: the first process's event, which it keeps until this one is dropped; other bytes are rejected.
    unsafe { Event::open_ipc(device, IpcEventHandle::from_bytes(from_hex(handle))) }
}

/// The second process: opens an event by its handle and reports whether it is `done`, `wait`s for it on the host or
/// with a `stream`, or `record`s it.
fn serve_events(device: Device) {
    let stream = Stream::new(&device).unwrap();
    let mut known: Option<(String, Event)> = None;
    serve(|line| {
        let (what, handle) = line.split_once(' ').unwrap();
        if known.as_ref().is_none_or(|(opened, _)| opened != handle) {
            match open_event(&device, handle) {
                Ok(event) => known = Some((handle.to_owned(), event)),
                Err(error) => return format!("error {error}"),
            }
        }
        let event = &known.as_ref().unwrap().1;
        match what {
            "done" => {}
            "wait" => event.synchronize().unwrap(),
            "stream" => {
                stream.wait_event(event).unwrap();
                stream.synchronize().unwrap();
            }
            _ => event.record(&stream).unwrap(),
        }
        event.is_complete().unwrap().to_string()
    });
}

#[test]
fn an_event_is_waited_for_by_another_process() {
    let _alone = alone();
    const TEST: &str = "an_event_is_waited_for_by_another_process";
    let Some(device) = device() else { return };
    if is_peer() {
        return serve_events(device);
    }
    let stream = Stream::new(&device).unwrap();
    let options = EventOptions::new().interprocess(true);
    let Some(event) = supported(Event::with_options(&device, options)) else { return };
    let Some(handle) = supported(event.ipc_handle()) else { return };
    let handle = hex(&handle.to_bytes());
    let mut peer = Peer::start(TEST);
    // Older runtimes report it as done as soon as it is recorded.
    let tells = hip::runtime_version().unwrap().0 >= 7;
    for how in ["wait", "stream", "wait"] {
        let (go, held) = mpsc::channel::<()>();
        stream.launch_host_function(move || held.recv().unwrap()).unwrap();
        event.record(&stream).unwrap();
        assert!(!event.is_complete().unwrap(), "the stream is held up");
        if tells {
            assert_eq!(peer.ask(&format!("done {handle}")), "false", "the stream is held up");
        }
        go.send(()).unwrap();
        assert_eq!(peer.ask(&format!("{how} {handle}")), "true");
    }
    // Records by the other process do not replace waits for this one's streams.
    let (go, held) = mpsc::channel::<()>();
    stream.launch_host_function(move || held.recv().unwrap()).unwrap();
    event.record(&stream).unwrap();
    if tells {
        peer.ask(&format!("record {handle}"));
        assert!(!event.is_complete().unwrap(), "the stream is held up");
    }
    go.send(()).unwrap();
    event.synchronize().unwrap();
    // HIP 6.4 marks the event before the stream has finished the marker, and another process's mark does not replace a wait for the stream.
    stream.synchronize().unwrap();
    assert!(stream.is_idle().unwrap());
    let no_end = hex(&[b'x'; 64]);
    assert!(peer.ask(&format!("done {no_end}")).contains("those that Event::ipc_handle gave"));
    assert!(peer.ask(&format!("done {}", hex(&[0; 64]))).starts_with("error"));
    peer.end();
    // HIP keeps events in its own files, which not every release deletes.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let files = maps.lines().filter_map(|line| line.find("/dev/shm/hip_event").map(|at| &line[at..]));
    drop(event);
    files.for_each(|file| drop(std::fs::remove_file(file)));
}

/// Memory that is freed on its stream while another one still uses it is not reused before that use is over.
#[test]
fn memory_goes_back_behind_its_uses_on_every_stream() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let user = Stream::new(&device).unwrap();
    // Some of them share a hardware queue with the blocked stream, but not all.
    let owners: Vec<Stream> = (0..8).map(|_| Stream::new(&device).unwrap()).collect();
    let new = |owner: &Stream| DeviceBuffer::<u32>::uninit_async(owner, 64);
    if supported(new(&user)).is_none() {
        return;
    }
    for owner in &owners {
        // Warm-up: the first allocation of a stream may wait.
        drop(new(owner).unwrap());
        owner.synchronize().unwrap();
        let mut used = new(owner).unwrap();
        let mut copy = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
        used.fill_async(&user, 5).unwrap();
        let (go, held) = mpsc::channel::<()>();
        user.launch_host_function(move || held.recv().unwrap()).unwrap();
        copy.copy_from_device_async(&user, &used).unwrap();
        drop(used);
        assert!(is_held(owner), "what frees it waits for the copy");
        go.send(()).unwrap();
        assert_eq!(copy.to_vec().unwrap(), [5; 64]);
    }
}

#[cfg(target_os = "linux")]
mod semaphores {
    //! Semaphores of other APIs. No other API is available, so the tests use the other end of each themselves. The
    //! descriptors are in `hip-sim`'s own format; no ROCm for Linux can import any.

    use std::ffi::{c_int, c_uint};
    use std::fs::File;
    use std::io::{Read as _, Write as _};
    use std::os::fd::{FromRawFd as _, OwnedFd};

    use hip::memory::external::{ExternalSemaphore, ExternalSemaphoreKind};

    use super::*;
    use common::skipped;

    unsafe extern "C" {
        fn eventfd(count: c_uint, flags: c_int) -> c_int;
    }

    /// Returns the device if it is the embedded software GPU.
    fn simulated() -> Option<Device> {
        let device = device()?;
        if device.is_simulated() {
            return Some(device);
        }
        skipped(&"no ROCm for Linux imports semaphores");
        None
    }

    fn import(device: &Device, file: &File, kind: ExternalSemaphoreKind) -> hip::Result<ExternalSemaphore> {
        let descriptor: OwnedFd = file.try_clone().unwrap().into();
        // SAFETY: a descriptor of such a semaphore, or rejected.
        unsafe { ExternalSemaphore::import_fd(device, descriptor, kind) }
    }

    /// Creates a binary semaphore, and its other end.
    fn binary(device: &Device) -> (ExternalSemaphore, File) {
        // SAFETY: takes numbers; the descriptor is new.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(eventfd(0, 0)) });
        (import(device, &file, ExternalSemaphoreKind::Binary).unwrap(), file)
    }

    /// Creates the file of a timeline.
    #[cfg(feature = "rocm-6-2")]
    fn timeline() -> File {
        use std::os::unix::fs::FileExt as _;
        let path = std::env::temp_dir().join(format!("hip-timeline-{}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file.write_all_at(b"HIPTIME1\0\0\0\0\0\0\0\0", 0).unwrap();
        file
    }

    #[test]
    fn a_stream_waits_for_a_binary_semaphore_and_takes_its_signal() {
        let _alone = alone();
        let Some(device) = simulated() else { return };
        let (semaphore, mut other_end) = binary(&device);
        assert_eq!((semaphore.kind(), semaphore.device()), (ExternalSemaphoreKind::Binary, device));
        let stream = Stream::new(&device).unwrap();
        let mut data = DeviceBuffer::<u32>::zeroed(&device, 8).unwrap();
        for round in 1..4 {
            stream.wait_external(&semaphore, 0).unwrap();
            data.fill_async(&stream, round).unwrap();
            assert!(is_held(&stream), "not signalled, or not any more");
            other_end.write_all(&1_u64.to_ne_bytes()).unwrap();
            assert_eq!(data.to_vec().unwrap(), [round; 8]);
        }
        stream.signal_external(&semaphore, 0).unwrap();
        stream.synchronize().unwrap();
        let mut count = [0; 8];
        other_end.read_exact(&mut count).unwrap();
        assert_eq!(u64::from_ne_bytes(count), 1);
    }

    #[test]
    fn one_stream_waits_for_what_another_signals_later() {
        let _alone = alone();
        let Some(device) = simulated() else { return };
        let (semaphore, _other_end) = binary(&device);
        let (first, second) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
        let mut data = DeviceBuffer::<u32>::zeroed(&device, 8).unwrap();
        first.wait_external(&semaphore, 0).unwrap();
        data.fill_async(&first, 3).unwrap();
        assert!(is_held(&first), "not signalled");
        second.signal_external(&semaphore, 0).unwrap();
        drop(semaphore); // after both
        second.synchronize().unwrap();
        assert_eq!(data.to_vec().unwrap(), [3; 8]);
    }

    #[cfg(feature = "rocm-6-2")]
    #[test]
    fn a_stream_waits_until_a_timeline_has_come_to_a_value() {
        use std::os::unix::fs::FileExt as _;
        let _alone = alone();
        let Some(device) = simulated() else { return };
        let other_end = timeline();
        let value = || {
            let mut bytes = [0; 8];
            other_end.read_exact_at(&mut bytes, 8).unwrap();
            u64::from_le_bytes(bytes)
        };
        let semaphore = import(&device, &other_end, ExternalSemaphoreKind::Timeline).unwrap();
        let stream = Stream::new(&device).unwrap();
        let mut data = DeviceBuffer::<u32>::zeroed(&device, 8).unwrap();
        stream.wait_external(&semaphore, 5).unwrap();
        data.fill_async(&stream, 9).unwrap();
        stream.signal_external(&semaphore, 7).unwrap();
        assert!(is_held(&stream), "it is at 0");
        other_end.write_all_at(&4_u64.to_le_bytes(), 8).unwrap();
        assert!(is_held(&stream), "it is at 4");
        assert_eq!(value(), 4);
        other_end.write_all_at(&6_u64.to_le_bytes(), 8).unwrap();
        stream.synchronize().unwrap();
        assert_eq!((data.to_vec().unwrap(), value()), (vec![9; 8], 7));
        // A wait for a value that it has passed does not block.
        stream.wait_external(&semaphore, 3).unwrap();
        stream.synchronize().unwrap();
        // Decreasing the value is an error of the stream.
        stream.signal_external(&semaphore, 7).unwrap();
        let error = stream.synchronize().unwrap_err();
        assert_eq!(error.status(), Some(hip::Status::INVALID_VALUE), "{error}");
        assert_eq!(value(), 7);
        // The kinds are not interchangeable.
        for (file, kind) in
            [(&other_end, ExternalSemaphoreKind::Binary), (&binary(&device).1, ExternalSemaphoreKind::Timeline)]
        {
            let error = import(&device, file, kind).unwrap_err();
            assert!(matches!(error, hip::Error::Hip(_)), "{error}");
        }
        other_end.write_all_at(b"x", 0).unwrap();
        assert!(import(&device, &other_end, ExternalSemaphoreKind::Timeline).is_err(), "it does not begin like one");
    }

    #[test]
    fn a_captured_graph_waits_for_a_semaphore_and_signals_it_in_each_launch() {
        let _alone = alone();
        let Some(device) = simulated() else { return };
        let (go, mut other_end) = binary(&device);
        let (done, mut done_end) = binary(&device);
        let stream = Stream::new(&device).unwrap();
        let mut data = DeviceBuffer::<u32>::zeroed(&device, 8).unwrap();
        let graph = stream
            .capture(|stream| {
                stream.wait_external(&go, 0)?;
                data.fill_async(stream, 6)?;
                stream.signal_external(&done, 0)
            })
            .unwrap();
        let exec = graph.instantiate().unwrap();
        drop((go, done)); // the graph keeps them
        for _ in 0..2 {
            data.fill(1).unwrap();
            exec.launch(&stream).unwrap();
            assert!(is_held(&stream), "not signalled, or not any more");
            other_end.write_all(&1_u64.to_ne_bytes()).unwrap();
            stream.synchronize().unwrap();
            assert_eq!(data.to_vec().unwrap(), [6; 8]);
            done_end.read_exact(&mut [0; 8]).unwrap();
        }
    }

    #[test]
    fn nodes_wait_for_semaphores_and_signal_them() {
        use hip::Graph;
        use hip::graph::{GraphFill, NodeKind};
        let _alone = alone();
        let Some(device) = simulated() else { return };
        let ((go, mut go_end), (done, mut done_end)) = (binary(&device), binary(&device));
        let stream = Stream::new(&device).unwrap();
        let mut data = DeviceBuffer::<u32>::zeroed(&device, 8).unwrap();
        let mut graph = Graph::new(&device).unwrap();
        let wait = graph.add_external_wait(&[], &go, 0).unwrap();
        let fill = graph.add_fill(&[wait], GraphFill::new(&mut data, 4)).unwrap();
        let signal = graph.add_external_signal(&[fill], &done, 0).unwrap();
        let kinds: Vec<NodeKind> = graph.nodes().unwrap().iter().map(|node| node.kind()).collect();
        assert_eq!(kinds, [NodeKind::ExternalWait, NodeKind::Fill, NodeKind::ExternalSignal]);
        let mut exec = graph.instantiate().unwrap();
        let mut launch = |exec: &hip::GraphExec, go: &mut File, done: &mut File| {
            data.fill(0).unwrap();
            exec.launch(&stream).unwrap();
            assert!(is_held(&stream), "not signalled, or not any more");
            go.write_all(&1_u64.to_ne_bytes()).unwrap();
            stream.synchronize().unwrap();
            done.read_exact(&mut [0; 8]).unwrap();
            assert_eq!(data.to_vec().unwrap(), [4; 8]);
        };
        launch(&exec, &mut go_end, &mut done_end);
        // The other way round.
        assert!(matches!(exec.set_external_wait(signal, &done, 0), Err(hip::Error::Graph { .. })));
        assert!(matches!(exec.set_external_signal(fill, &done, 0), Err(hip::Error::Graph { .. })));
        exec.set_external_wait(wait, &done, 0).unwrap();
        exec.set_external_signal(signal, &go, 0).unwrap();
        drop((go, done, graph)); // the `GraphExec` keeps them
        for _ in 0..2 {
            launch(&exec, &mut done_end, &mut go_end);
        }
    }
}
