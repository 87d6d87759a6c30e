//! What goes on while a stream is captured: calls that block, in the capture and in other threads.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use hip::memory::array::{Array, ArrayShape};
use hip::memory::{Extent, PitchedBuffer, RegisterOptions, Registered};
use hip::{
    Device, DeviceBuffer, Error, Event, Graph, GraphExec, ManagedBuffer, Module, PinnedBuffer, Result, Status, Stream,
};

use crate::{Watchdog, device, kernels};

/// The device, if graphs are supported.
fn graphs() -> Option<Device> {
    let device = device()?;
    crate::supported(Graph::new(&device)).map(|_| device)
}

/// What is at hand in a capture.
pub(crate) struct Scene {
    device: Device,
    other: Stream,
    busy: DeviceBuffer<u32>,
    gone: Vec<DeviceBuffer<u32>>,
    pooled: Vec<DeviceBuffer<u32>>,
    pinned: Option<PinnedBuffer<u32>>,
    module: Option<Module>,
    graph: Option<GraphExec>,
    event: Event,
}

impl Scene {
    fn new(device: Device) -> Result<Self> {
        let other = Stream::new(&device)?;
        let mut busy = DeviceBuffer::zeroed(&device, 1 << 14)?;
        let gone = (0..2).map(|_| DeviceBuffer::zeroed(&device, 16)).collect::<Result<_>>()?;
        let pooled = DeviceBuffer::uninit_async(&other, 16).into_iter().collect();
        let pinned = Some(PinnedBuffer::zeroed(&device, 16)?);
        let module = Module::load(&device, kernels(&device)).ok();
        let graph = Some(Graph::new(&device)?.instantiate()?);
        busy.fill_async(&other, 5)?;
        let event = other.record()?;
        busy.fill_async(&other, 6)?;
        Ok(Self { device, other, busy, gone, pooled, pinned, module, graph, event })
    }
}

type Call = fn(&mut Scene, &Stream) -> Result<()>;

/// What may be called in a capture though it has nothing to do with it.
const CALLS: &[(&str, Call)] = &[
    ("to_vec", |scene, _| scene.busy.to_vec().map(|read| assert_eq!(read, vec![6; 1 << 14]))),
    ("copy_from_slice", |scene, _| scene.gone[0].copy_from_slice(&[3; 16])),
    ("a copy in the order of another stream", |scene, _| scene.busy.copy_from_slice_on(&scene.other, &[6; 1 << 14])),
    ("fill", |scene, _| scene.gone[0].fill(4)),
    ("try_clone", |scene, _| scene.busy.try_clone().map(drop)),
    ("Device::synchronize", |scene, _| scene.device.synchronize()),
    ("uninit", |scene, _| DeviceBuffer::<u32>::uninit(&scene.device, 1 << 12).map(drop)),
    ("zeroed", |scene, _| DeviceBuffer::<u32>::zeroed(&scene.device, 1 << 12).map(drop)),
    ("dropping a buffer", |scene, _| {
        scene.gone.clear();
        Ok(())
    }),
    ("dropping a buffer that is used", |scene, _| {
        scene.gone[1].fill_async(&scene.other, 1)?;
        scene.gone.clear();
        Ok(())
    }),
    ("pinned memory", |scene, _| {
        PinnedBuffer::<u32>::zeroed(&scene.device, 16)?.as_mut_slice()?[0] = 1;
        scene.pinned.take();
        Ok(())
    }),
    ("registered memory", |scene, _| {
        let mut mine = vec![0u32; 1 << 12];
        Registered::scope(&scene.device, &mut mine, RegisterOptions::new(), |_| ()).map(drop)
    }),
    ("managed memory", |scene, _| {
        let mut managed = ManagedBuffer::<u32>::zeroed(&scene.device, 16)?;
        managed.as_mut_slice()?[0] = 1;
        Ok(())
    }),
    ("pitched memory", |scene, _| {
        let pitched = PitchedBuffer::<u32>::zeroed(&scene.device, Extent::new_2d(10, 10))?;
        pitched.to_vec().map(|read| assert_eq!(read, vec![0; 100]))
    }),
    ("an array", |scene, _| {
        let mut array = Array::<f32>::new(&scene.device, ArrayShape::D2(8, 8))?;
        array.copy_from_slice(&[2.0; 64])?;
        array.to_vec().map(|read| assert_eq!(read, [2.0; 64]))
    }),
    ("loading a module", |scene, _| Module::load(&scene.device, kernels(&scene.device)).map(drop)),
    ("unloading a module", |scene, _| {
        scene.module.take();
        Ok(())
    }),
    ("a global", |scene, _| match scene.module.as_ref().map(|module| module.kernel("empty")) {
        Some(kernel) => kernel.map(drop),
        None => Ok(()),
    }),
    ("waiting for an event", |scene, _| scene.event.synchronize()),
    ("asking for an event", |scene, _| scene.event.is_complete().map(drop)),
    ("recording on another stream", |scene, _| scene.other.record()?.synchronize()),
    ("waiting for another stream", |scene, _| scene.other.synchronize()),
    ("asking for another stream", |scene, _| scene.other.is_idle().map(drop)),
    ("work on another stream", |scene, _| {
        scene.busy.fill_async(&scene.other, 6)?;
        scene.other.launch_host_function(|| ())?;
        scene.other.synchronize()
    }),
    ("making and dropping a stream", |scene, _| Stream::new(&scene.device)?.synchronize()),
    ("uninit_async", |scene, _| DeviceBuffer::<u32>::uninit_async(&scene.other, 16)?.fill_async(&scene.other, 1)),
    ("dropping memory of a pool", |scene, _| {
        scene.pooled.clear();
        Ok(())
    }),
    ("trimming a pool", |scene, _| scene.device.memory_pool()?.trim(0)),
    ("a launch of a graph", |scene, _| scene.graph.as_ref().unwrap().launch(&scene.other)),
    ("making and dropping a graph", |scene, _| {
        scene.graph.take();
        Graph::new(&scene.device)?.instantiate().map(drop)
    }),
    ("asking for memory", |scene, _| scene.device.memory_info().map(drop)),
    ("the default stream", |scene, _| {
        scene.gone[0].fill_async(&scene.device.default_stream(), 2)?;
        scene.device.default_stream().synchronize()
    }),
    ("waiting for itself", |_, stream| stream.synchronize()),
    ("asking for itself", |_, stream| stream.is_idle().map(drop)),
    ("a copy on itself", |scene, stream| scene.gone[0].copy_from_slice_on(stream, &[1; 16])),
    ("memory in its own order", |_, stream| DeviceBuffer::<u32>::uninit_async(stream, 16).map(drop)),
    ("an event recorded and waited for", |_, stream| stream.record()?.synchronize()),
    ("a capture of another stream", |scene, _| scene.other.capture(|_| Ok(())).map(drop)),
    ("a capture of itself", |_, stream| stream.capture(|_| Ok(())).map(drop)),
    ("an error of its own", |_, _| Err(Error::EventNotRecorded)),
];

/// Whether the documentation names it: by `Stream::capture`, or as what the backend does not support.
fn is_documented(error: &Error) -> bool {
    let of_captures = |status: Status| (900..=908).contains(&status.0) || status == Status::NOT_SUPPORTED;
    matches!(
        error,
        Error::Capture { .. } | Error::EventNotRecorded | Error::Unsupported { .. } | Error::NoSymbol { .. }
    ) || error.status().is_some_and(of_captures)
}

/// Each of the calls in a capture of a stream: it succeeds or fails as is documented, and all goes on after it. The errors
/// of those that fail come back with their names.
pub(crate) fn each_call(device: Device, new: impl Fn() -> Stream) -> Vec<(&'static str, String)> {
    let mut failed = Vec::new();
    for &(what, call) in CALLS {
        let _watchdog = Watchdog::new(what);
        let stream = new();
        let mut scene = Scene::new(device).unwrap();
        let mut data = DeviceBuffer::<u32>::zeroed(&device, 16).unwrap();
        let captured = stream.capture(|stream| {
            data.fill_async(stream, 1)?;
            call(&mut scene, stream)
        });
        if let Err(error) = &captured {
            assert!(is_documented(error), "{what}: {error}");
            failed.push((what, error.to_string()));
        }
        data.fill_async(&stream, 3).unwrap_or_else(|error| panic!("{what}, then work: {error}"));
        assert_eq!(data.to_vec().unwrap_or_else(|error| panic!("{what}, then read: {error}")), [3; 16], "{what}");
        stream.synchronize().unwrap_or_else(|error| panic!("{what}, then waited: {error}"));
        let again = stream.capture(|stream| data.fill_async(stream, 4));
        let again = again.unwrap_or_else(|error| panic!("{what}, then captured: {error}"));
        for (graph, value) in [(captured.ok(), 1), (Some(again), 4)] {
            let Some(graph) = graph else { continue };
            let exec = graph.instantiate().unwrap_or_else(|error| panic!("{what}: {error}"));
            exec.launch(&stream).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(data.to_vec().unwrap(), [value; 16], "{what}");
        }
        assert_eq!(scene.busy.to_vec().unwrap(), vec![6; 1 << 14], "{what}");
        scene.other.synchronize().unwrap();
    }
    failed
}

#[test]
fn calls_that_block_in_a_capture_do_not_spoil_it() {
    let Some(device) = graphs() else { return };
    let failed = each_call(device, || Stream::new(&device).unwrap());
    let names: Vec<&str> = failed.iter().map(|(what, _)| *what).collect();
    let refused = [
        "waiting for itself",
        "asking for itself",
        "a copy on itself",
        "memory in its own order",
        "an event recorded and waited for",
        "a capture of itself",
        "an error of its own",
    ];
    let unexpected: Vec<_> = failed.iter().filter(|(what, _)| !refused.contains(what)).collect();
    // What the backend does not support at all may fail too.
    assert!(unexpected.iter().all(|(_, error)| error.contains("upport")), "{unexpected:?}");
    assert!(refused.iter().all(|what| names.contains(what)), "{names:?}");
}

/// Threads that share nothing: some capture, each on streams of its own; others copy to and from buffers of their own.
#[test]
fn captures_and_copies_of_other_threads_go_beside_each_other() {
    const CAPTURES: u32 = 150;
    let Some(device) = graphs() else { return };
    let _watchdog = Watchdog::new("captures and copies");
    let stop = AtomicBool::new(false);
    let left = AtomicU32::new(3);
    thread::scope(|scope| {
        for kept in [false, false, true] {
            let (left, stop) = (&left, &stop);
            scope.spawn(move || {
                let mut data = DeviceBuffer::<u32>::zeroed(&device, 16).unwrap();
                let mut stream = Stream::new(&device).unwrap();
                for round in 1..=CAPTURES {
                    let graph = stream.capture(|stream| {
                        thread::yield_now();
                        data.fill_async(stream, round)
                    });
                    let exec = graph.unwrap().instantiate().unwrap();
                    if round % 8 == 0 {
                        exec.launch(&stream).unwrap();
                        assert_eq!(data.to_vec().unwrap(), [round; 16]);
                    }
                    if !kept {
                        stream = Stream::new(&device).unwrap();
                        data = DeviceBuffer::zeroed(&device, 16).unwrap();
                    }
                }
                if left.fetch_sub(1, Ordering::SeqCst) == 1 {
                    stop.store(true, Ordering::SeqCst);
                }
            });
        }
        for ordered in [false, true, false] {
            let stop = &stop;
            scope.spawn(move || {
                let own = Stream::new(&device).unwrap();
                let mut data = DeviceBuffer::<u32>::uninit(&device, 256).unwrap();
                let mut back = vec![0; 256];
                for round in 0.. {
                    if ordered {
                        data.copy_from_slice_on(&own, &[round; 256]).unwrap();
                        data.copy_to_slice_on(&own, &mut back).unwrap();
                    } else {
                        data.copy_from_slice(&[round; 256]).unwrap();
                        data.copy_to_slice(&mut back).unwrap();
                    }
                    assert_eq!(back, [round; 256]);
                    if round % 16 == 0 {
                        device.synchronize().unwrap();
                        drop(Module::load(&device, kernels(&device)));
                    }
                    if stop.load(Ordering::SeqCst) {
                        break;
                    }
                }
            });
        }
    });
}

/// Runs `capture` over and over while another thread queues on the stream, which is refused or done: never lost.
fn nothing_is_lost(device: Device, stream: &Stream, mut capture: impl FnMut() -> Result<()> + Send) {
    const ROUNDS: u32 = 300;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let capturing = scope.spawn(|| {
            let result = (0..ROUNDS).try_for_each(|_| capture());
            stop.store(true, Ordering::SeqCst);
            result
        });
        let (mut done, mut round) = (0, 0);
        let other = Stream::new(&device).unwrap();
        let mut data = DeviceBuffer::<u32>::zeroed(&device, 1 << 10).unwrap();
        let mut copy = DeviceBuffer::<u32>::zeroed(&device, 1 << 10).unwrap();
        // At least one, when the captures are over.
        while !stop.load(Ordering::SeqCst) || done == 0 {
            round += 1;
            match data.fill_async(stream, round) {
                Err(Error::Capture { .. }) => continue,
                other => other.unwrap(),
            }
            // It was queued, so this has to work: another stream, of which nobody else knows.
            copy.copy_from_device_async(&other, &data).unwrap();
            assert_eq!(copy.to_vec().unwrap(), vec![round; 1 << 10]);
            done += 1;
        }
        capturing.join().unwrap().unwrap();
    });
}

#[test]
fn work_of_another_thread_is_refused_or_done_when_a_capture_begins() {
    let Some(device) = graphs() else { return };
    let _watchdog = Watchdog::new("a capture beside work");
    let stream = Stream::new(&device).unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 16).unwrap();
    nothing_is_lost(device, &stream, || {
        let graph = stream.capture(|stream| {
            thread::yield_now();
            data.fill_async(stream, 1)
        })?;
        assert_eq!(graph.nodes()?.len(), 1);
        Ok(())
    });
}

#[test]
fn work_of_another_thread_is_refused_or_done_when_a_stream_joins_a_capture() {
    let Some(device) = graphs() else { return };
    let _watchdog = Watchdog::new("a stream that joins");
    let (first, second) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let (fork, join) = (Event::without_timing(&device).unwrap(), Event::without_timing(&device).unwrap());
    nothing_is_lost(device, &second, || {
        let graph = first.capture(|first| {
            fork.record(first)?;
            second.wait_event(&fork)?;
            join.record(&second)?;
            first.wait_event(&join)
        });
        graph.map(drop)
    });
}
