//! A kernel's panic is an error of the first wait that covers its launch, exactly once. Runs on the software GPU
//! directly, or with AMD's HIP.

use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip::device::Limit;
use hip::{Device, DeviceBuffer, Error, Event, LaunchConfig, Stream};
use hip_kernel::host::{GridState, Panic};
use hip_kernel_testing::kernels::panics::{
    Large, Leaves, OutOfBounds, PanicsAt, Recurse, SaysWhy, Small, Step, Steps, deep,
};
use hip_kernel_testing::kernels_code;

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

struct Gpu {
    device: Device,
    stream: Stream,
    kernels: hip_kernel::Kernels,
    x: DeviceBuffer<u32>,
    _alone: Option<MutexGuard<'static, ()>>,
}

/// The test's resources on device 0. One test at a time: a wait for the whole device returns the panics of all streams.
fn gpu() -> Result<Gpu> {
    static ONE: Mutex<()> = Mutex::new(());
    let alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    hip::sim_if_no_gpu()?;
    Ok(Gpu { _alone: Some(alone), ..on_device(0)? })
}

fn on_device(index: usize) -> Result<Gpu> {
    let device = Device::get(index)?;
    let kernels = kernels_code().load(&device)?;
    let x = DeviceBuffer::from_slice(&device, &[1; 100])?;
    Ok(Gpu { device, stream: Stream::new(&device)?, kernels, x, _alone: None })
}

impl Gpu {
    fn zeros(&self, n: usize) -> Result<DeviceBuffer<u32>> {
        Ok(DeviceBuffer::zeroed(&self.device, n)?)
    }

    /// Launches a kernel whose last thread is out of bounds if `y` has 101 elements.
    fn launch(&self, stream: &Stream, y: &mut DeviceBuffer<u32>) -> Result {
        let config = LaunchConfig::for_elements(y.len(), 64);
        Ok(OutOfBounds::load(&self.kernels)?.launch(stream, config, &self.x, y)?)
    }
}

/// The panic that a wait has returned.
#[track_caller]
fn panic<T: std::fmt::Debug>(waited: hip::Result<T>) -> Panic {
    match waited {
        Err(Error::KernelPanicked(panic)) => *panic,
        other => panic!("expected the panic of a kernel, got {other:?}"),
    }
}

/// Each kind of wait returns the panic with its location; afterwards there is no error.
#[test]
fn the_first_wait_returns_it() -> Result {
    let gpu = gpu()?;
    let Gpu { device, stream, .. } = &gpu;
    let other = Stream::new(device)?;
    type Wait<'a> = &'a dyn Fn(&mut DeviceBuffer<u32>) -> hip::Result<()>;
    let waits: [(&str, Wait<'_>); 10] = [
        ("synchronize", &|_| stream.synchronize()),
        ("to_vec", &|y| y.to_vec().map(drop)),
        ("copy_from_slice", &|y| y.copy_from_slice(&[0; 101])),
        ("device", &|_| device.synchronize()),
        ("completion", &|_| block_on(stream.completion()?)),
        ("query", &|_| {
            while !stream.is_idle()? {
                std::thread::yield_now();
            }
            Ok(())
        }),
        ("event", &|_| {
            let event = Event::new(device)?;
            event.record(stream)?;
            event.synchronize()
        }),
        ("an event awaited by another stream", &|_| {
            let event = Event::new(device)?;
            event.record(stream)?;
            other.wait_event(&event)?;
            other.synchronize()
        }),
        ("another stream's copy", &|y| {
            let mut copy = DeviceBuffer::<u32>::zeroed(device, 101)?;
            copy.copy_from_device_async(&other, &*y)?;
            copy.to_vec().map(drop)
        }),
        ("a stream behind another stream", &|_| {
            let third = Stream::new(device)?;
            other.wait_for(stream)?;
            third.wait_for(&other)?;
            third.synchronize()
        }),
    ];
    for (name, wait) in waits {
        let mut y = gpu.zeros(101)?;
        gpu.launch(stream, &mut y)?;
        let waited = wait(&mut y);
        assert!(waited.is_err(), "{name}");
        let Panic { file, line, block, thread, .. } = panic(waited);
        let source = include_str!("../src/kernels/panics.rs");
        let expected = source.lines().position(|line| line.contains("x[i] + 1")).map(|at| at as u32 + 1);
        assert!(file.ends_with("panics.rs") && Some(line) == expected, "{name}: {file}:{line}");
        assert_eq!((block, thread), ([1, 0, 0], [36, 0, 0]), "{name}");
        stream.synchronize()?;
        other.synchronize()?;
        device.synchronize()?;
        y.to_vec()?;
        let mut good = gpu.zeros(100)?;
        gpu.launch(stream, &mut good)?;
        assert_eq!(good.to_vec()?, [2; 100], "{name}");
    }
    Ok(())
}

fn block_on<F: std::future::Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
            std::task::Poll::Ready(output) => return output,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn it_says_why() -> Result {
    let gpu = gpu()?;
    let kernel = SaysWhy::load(&gpu.kernels)?;
    let says = |how: u32| -> Result<Option<String>> {
        let mut y = gpu.zeros(200)?;
        kernel.launch(&gpu.stream, LaunchConfig::for_elements(200, 64), 130, how, &mut y)?;
        let panic = panic(y.to_vec());
        assert_eq!((panic.block, panic.thread), ([2, 0, 0], [2, 0, 0]), "{panic}");
        Ok(panic.message)
    };
    let expected = [
        "an element that is there",
        "element {i} of {how}",
        "called `Result::unwrap()` on an `Err` value",
        "assertion `left == right` failed",
    ];
    for (how, text) in (0..).zip(expected) {
        assert_eq!(says(how)?.as_deref(), Some(text));
    }
    let mut y = gpu.zeros(101)?;
    gpu.launch(&gpu.stream, &mut y)?;
    assert_eq!(panic(y.to_vec()).message.as_deref(), Some("index out of bounds"));
    Ok(())
}

/// A stream reports only the panics of its own launches, with one device or two, and with several threads.
#[test]
fn each_stream_has_its_own() -> Result {
    let gpu = gpu()?;
    let devices = if hip::Device::all()?.len() > 1 { vec![on_device(1)?, gpu] } else { vec![gpu] };
    std::thread::scope(|scope| {
        for index in 0..8 {
            let gpu = &devices[index % devices.len()];
            scope.spawn(move || {
                let stream = Stream::new(&gpu.device).unwrap();
                let kernel = SaysWhy::load(&gpu.kernels).unwrap();
                for round in 0..6 {
                    let mut y = gpu.zeros(200).unwrap();
                    let at = if (index + round) % 3 == 0 { u32::MAX } else { 8 * round as u32 + index as u32 };
                    kernel.launch(&stream, LaunchConfig::new(1, 256), at, 1, &mut y).unwrap();
                    match at {
                        u32::MAX => stream.synchronize().unwrap(),
                        at => assert_eq!(panic(stream.synchronize()).thread, [at, 0, 0]),
                    }
                }
            });
        }
    });
    // Two concurrent launches; the one without a panic starts first.
    let gpu = &devices[0];
    let streams = [Stream::new(&gpu.device)?, Stream::new(&gpu.device)?, Stream::new(&gpu.device)?];
    let kernel = SaysWhy::load(&gpu.kernels)?;
    let mut all = [gpu.zeros(200)?, gpu.zeros(200)?, gpu.zeros(200)?];
    for (at, (stream, y)) in [u32::MAX, 5, 6].into_iter().zip(streams.iter().zip(&mut all)) {
        kernel.launch(stream, LaunchConfig::for_elements(200, 64), at, 1, y)?;
    }
    streams[0].synchronize()?;
    assert_eq!(panic(streams[2].synchronize()).thread, [6, 0, 0]);
    assert_eq!(panic(all[1].to_vec()).thread, [5, 0, 0]);
    Ok(())
}

/// Each launch of a graph, on any stream, and dropped objects.
#[test]
fn graphs_and_drops() -> Result {
    let gpu = gpu()?;
    let mut y = gpu.zeros(101)?;
    let capture = |stream: &Stream, y: &mut DeviceBuffer<u32>| {
        stream.capture(|stream| {
            let config = LaunchConfig::for_elements(y.len(), 64);
            OutOfBounds::load(&gpu.kernels)?.launch(stream, config, &gpu.x, &mut *y)
        })
    };
    let graph = capture(&gpu.stream, &mut y)?;
    gpu.stream.synchronize()?;
    let exec = graph.instantiate()?;
    let clone = graph.try_clone()?.instantiate()?;
    let mut parent = hip::Graph::new(&gpu.device)?;
    parent.add_child(&[], &graph)?;
    let parent = parent.instantiate()?;
    drop(graph);
    let other = Stream::new(&gpu.device)?;
    for (round, exec) in [&exec, &exec, &clone, &parent, &parent].into_iter().enumerate() {
        let stream = if round % 2 == 0 { &gpu.stream } else { &other };
        exec.launch(stream)?;
        let told = match round {
            0 => panic(stream.synchronize()),
            1 => panic(y.to_vec()),
            2 => panic(gpu.device.synchronize()),
            3 => {
                let event = Event::new(&gpu.device)?;
                event.record(stream)?;
                panic(event.synchronize())
            }
            _ => {
                other.wait_for(stream)?;
                panic(other.synchronize())
            }
        };
        assert_eq!(told.thread, [36, 0, 0]);
        gpu.stream.synchronize()?;
        other.synchronize()?;
    }
    // A graph that is dropped before the wait, a module, and all buffers.
    exec.launch(&gpu.stream)?;
    drop((exec, clone, parent, y));
    panic(gpu.stream.synchronize());
    let mut y = gpu.zeros(101)?;
    gpu.launch(&gpu.stream, &mut y)?;
    let Gpu { stream, device, kernels, x, _alone } = gpu;
    drop((y, kernels, x));
    panic(stream.synchronize());
    device.synchronize()?;
    Ok(())
}

/// Executable graphs made from one captured graph share its nodes. Still, each launch has its own panic, which waits
/// for its stream return.
#[test]
fn each_launch_of_a_graph_has_its_own() -> Result {
    const NONE: u32 = u32::MAX;
    let gpu = gpu()?;
    let [one, two] = [Stream::new(&gpu.device)?, Stream::new(&gpu.device)?];
    let mut at = DeviceBuffer::from_slice(&gpu.device, &[NONE])?;
    let kernel = PanicsAt::load(&gpu.kernels)?;
    let graph = gpu.stream.capture(|stream| kernel.launch(stream, LaunchConfig::new(2, 64), &at))?;
    let (exec, again, clone) = (graph.instantiate()?, graph.instantiate()?, graph.try_clone()?.instantiate()?);
    let mut parent = hip::Graph::new(&gpu.device)?;
    let first = parent.add_child(&[], &graph)?;
    parent.add_child(&[first], &graph)?;
    let parent = parent.instantiate()?;
    // All work of the stream has completed, and no wait has returned its result.
    let over = |stream: &Stream| -> Result {
        let (sender, receiver) = std::sync::mpsc::channel();
        stream.launch_host_function(move || sender.send(()).unwrap())?;
        Ok(receiver.recv()?)
    };
    let told = |stream: &Stream| match stream.synchronize() {
        Ok(()) => NONE,
        waited => {
            let Panic { block, thread, .. } = panic(waited);
            64 * block[0] + thread[0]
        }
    };
    for (name, first, second) in [
        ("one", &exec, &exec),
        ("two", &exec, &again),
        ("a clone", &clone, &exec),
        ("a child", &exec, &parent),
        ("a parent", &parent, &exec),
    ] {
        for (of_first, of_second) in [(NONE, 70), (5, NONE), (5, 70), (NONE, NONE)] {
            at.fill_async(&one, of_first)?;
            first.launch(&one)?;
            at.fill_async(&two, of_second)?;
            second.launch(&two)?;
            over(&one)?;
            over(&two)?;
            assert_eq!((told(&one), told(&two)), (of_first, of_second), "{name}");
            gpu.device.synchronize()?;
        }
        // Work that is queued after an unreported panic reports it.
        at.fill_async(&one, 5)?;
        first.launch(&one)?;
        at.fill_async(&two, NONE)?;
        second.launch(&two)?;
        assert_eq!((told(&two), told(&one)), (5, NONE), "{name}");
    }
    // With threads: each panic is reported once.
    at.fill(9)?;
    let count = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for exec in [&exec, &exec, &again, &clone] {
            let (count, gpu) = (&count, &gpu);
            scope.spawn(move || {
                let stream = Stream::new(&gpu.device).unwrap();
                for _ in 0..8 {
                    exec.launch(&stream).unwrap();
                    if stream.synchronize().is_err_and(|error| matches!(error, Error::KernelPanicked(_))) {
                        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                }
                while stream.synchronize().is_err() {
                    count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(count.into_inner(), 4 * 8);
    Ok(())
}

/// Without a wait, the panic is printed to stderr once.
#[test]
fn a_panic_that_nobody_waits_for() {
    // If the program runs under an explicit loader, it must be started by it again: `LOADER --library-path FOLDERS PROGRAM`.
    let line = std::fs::read("/proc/self/cmdline").unwrap();
    let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let (program, mut start) = (std::env::args().next().unwrap(), Vec::new());
    for word in words {
        start.push(word);
        if start.last() == Some(&program) {
            break;
        }
    }
    let mut command = Command::new(&start[0]);
    command.args(&start[1..]).args(["--exact", "nobody_waits", "--ignored", "--nocapture"]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert_eq!(text.matches("work that nobody waited for has failed: a kernel panicked at ").count(), 2, "{text}");
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn nobody_waits() -> Result {
    let gpu = gpu()?;
    let mut y = gpu.zeros(101)?;
    gpu.launch(&gpu.stream, &mut y)?;
    // Another one, whose handle is leaked at process exit.
    let stream = std::mem::ManuallyDrop::new(Stream::new(&gpu.device)?);
    let mut z = gpu.zeros(101)?;
    gpu.launch(&stream, &mut z)
}

/// A grid barrier does not wait for waves that have exited.
#[test]
fn barriers_end() -> Result {
    let gpu = gpu()?;
    let kernel = Leaves::load(&gpu.kernels)?;
    let mut state = GridState::new(&gpu.device)?;
    let n = 3 * 128;
    for how in [0, 1, 2, 3, 4, 5, 6, 0] {
        let (mut cells, mut out) = (gpu.zeros(n)?, gpu.zeros(n)?);
        kernel.launch(&gpu.stream, LaunchConfig::new(3, 128), how, &mut cells, &mut out, &mut state)?;
        let waited = gpu.stream.synchronize();
        let out = out.to_vec()?;
        match how {
            3 | 4 => assert_eq!(panic(waited).block, [1, 0, 0]),
            _ => waited?,
        }
        // The mirrored cell; 0 if its thread has exited, and for threads that have exited.
        let gone = |i: usize, at_last: bool| match how {
            1 | 4 => i / 128 == 1,
            2 => i / 64 == 3,
            3 => i / 64 == 2,
            5 => i == 128 + 70,
            6 => i / 64 == 3 && at_last,
            _ => false,
        };
        let mirrored = |i: usize| if gone(n - 1 - i, false) { 1 } else { (n - i) as u32 + 1 };
        let want: Vec<u32> = (0..n).map(|i| if gone(i, true) { 0 } else { mirrored(i) }).collect();
        assert!(out == want, "{how}: {out:?}, expected {want:?}");
    }
    // In a graph, each launch starts with a new barrier.
    let (mut cells, mut out) = (gpu.zeros(n)?, gpu.zeros(n)?);
    let graph = gpu
        .stream
        .capture(|stream| kernel.launch(stream, LaunchConfig::new(3, 128), 3, &mut cells, &mut out, &mut state));
    // Some runtimes cannot capture cooperative launches.
    if let Ok(graph) = graph {
        let exec = graph.instantiate()?;
        for _ in 0..3 {
            exec.launch(&gpu.stream)?;
            assert_eq!(panic(gpu.stream.synchronize()).thread, [3, 0, 0]);
        }
    }
    Ok(())
}

#[test]
fn no_variable_holds_the_record() -> Result {
    let gpu = gpu()?;
    let error = gpu.kernels.module().global::<u32>("hip_kernel_panic").unwrap_err();
    assert!(matches!(error, Error::InvalidValue { .. }), "{error}");
    Ok(())
}

/// A recursion that fits its stack gives the correct result. One that does not is an error, and does not write outside
/// its memory.
#[test]
fn recursion_ends_where_its_stack_does() -> Result {
    let gpu = gpu()?;
    assert!(gpu.device.limit(Limit::StackSize)? < STACK, "the test needs a device where no kernel was loaded yet");
    let kernel = Recurse::load(&gpu.kernels)?;
    for depth in [1, 40, 60, 400, 3, 20_000, 50] {
        let mut out = gpu.zeros(1024)?;
        kernel.launch(&gpu.stream, LaunchConfig::new(16, 64), depth, &mut out)?;
        let waited = out.to_vec();
        if depth > 100 {
            let panic = panic(waited);
            assert!(panic.message.as_ref().is_some_and(|text| text.contains("stack overflow")), "{depth}: {panic}");
            continue;
        }
        let want: Vec<u32> = (0..1024).map(|i| deep(depth, &mut [i; 64])).collect();
        let got = waited.map_err(|error| format!("{depth}: {error}"))?;
        assert!(got == want, "{depth}");
    }
    // Functions that are called only through `dyn` have larger frames than all that are called directly.
    let kernel = Steps::load(&gpu.kernels)?;
    for depth in [0, 1, 5, 200, 6, 40, 2] {
        let mut out = gpu.zeros(1024)?;
        kernel.launch(&gpu.stream, LaunchConfig::new(16, 64), depth, &mut out)?;
        let waited = out.to_vec();
        if depth > 12 {
            let panic = panic(waited);
            assert!(panic.message.as_ref().is_some_and(|text| text.contains("stack overflow")), "{depth}: {panic}");
            continue;
        }
        let steps = |i: u32| {
            let (small, large) = (Small(i), Large(i + 1));
            let steps: [&dyn Step; 2] = [&small, &large];
            steps[i as usize % 2].step(depth, i, steps[1 - i as usize % 2])
        };
        let got = waited.map_err(|error| format!("{depth} by dyn: {error}"))?;
        assert!(got == (0..1024).map(steps).collect::<Vec<_>>(), "{depth}");
    }
    // The stack limit is not lowered.
    assert!(gpu.device.limit(Limit::StackSize)? >= STACK);
    let error = gpu.device.set_limit(Limit::StackSize, 1024).unwrap_err();
    assert!(matches!(&error, Error::InvalidValue { allowed, .. } if allowed.contains("24576 bytes")), "{error}");
    gpu.device.set_limit(Limit::StackSize, STACK + 1024)?;
    Ok(())
}

/// The stack size declared by `recurse`.
const STACK: usize = 24_576;
