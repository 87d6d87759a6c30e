//! Destructors that are blocked by queued work return at once: the work waits for a later action of the host.

use std::sync::mpsc::{self, Sender};

use hip::graph::GraphFill;
use hip::memory::array::{Array, ArrayShape};
use hip::memory::{RegisterOptions, RegisteredBuffer};
use hip::stream::Signal;
use hip::{DeviceBuffer, Event, Graph, GraphExec, LaunchConfig, ManagedBuffer, Module, PinnedBuffer, Stream};

use super::alone;
use super::common::{Watchdog, device, eventually, kernel, kernels, supported};

/// Blocks the stream until the sender sends or is dropped.
fn hold(stream: &Stream) -> Sender<()> {
    let (go, held) = mpsc::channel();
    stream.launch_host_function(move || _ = held.recv()).unwrap();
    go
}

/// Queues work on a blocked stream, and drops objects that the work uses.
type Act = Box<dyn FnOnce(&Stream)>;

/// Creates the objects before the stream is blocked: streams share hardware queues, so that work of another one may
/// wait too.
type Make = fn(&Stream) -> Act;

fn act(act: impl FnOnce(&Stream) + 'static) -> Act {
    Box::new(act)
}

const DROPS: &[(&str, Make)] = &[
    ("a buffer", |stream| {
        let mut gone = DeviceBuffer::<u32>::uninit(&stream.device(), 16).unwrap();
        act(move |stream| gone.fill_async(stream, 1).unwrap())
    }),
    ("a buffer that no work uses", |stream| {
        let gone = DeviceBuffer::<u32>::uninit(&stream.device(), 16).unwrap();
        act(move |_| drop(gone))
    }),
    ("stream-ordered memory", |stream| {
        let gone = supported(DeviceBuffer::<u32>::uninit_async(stream, 16));
        act(move |stream| {
            if let Some(mut gone) = gone {
                gone.fill_async(stream, 1).unwrap();
            }
        })
    }),
    ("pinned memory", |stream| {
        let mut gone = PinnedBuffer::<u32>::zeroed(&stream.device(), 16).unwrap();
        let buffer = DeviceBuffer::<u32>::uninit(&stream.device(), 16).unwrap();
        act(move |stream| buffer.copy_to_pinned_async(stream, &mut gone).unwrap())
    }),
    ("pinned memory that no work uses", |stream| {
        let gone = PinnedBuffer::<u32>::zeroed(&stream.device(), 16).unwrap();
        act(move |_| drop(gone))
    }),
    ("registered memory", |stream| {
        let mut gone = RegisteredBuffer::new(&stream.device(), vec![0u32; 16], RegisterOptions::new()).unwrap();
        let buffer = DeviceBuffer::<u32>::uninit(&stream.device(), 16).unwrap();
        act(move |stream| buffer.copy_to_pinned_async(stream, &mut gone).unwrap())
    }),
    ("managed memory", |stream| {
        let gone = ManagedBuffer::<u32>::zeroed(&stream.device(), 16).unwrap();
        act(move |_| drop(gone))
    }),
    ("an array", |stream| {
        let gone = supported(Array::<f32>::new(&stream.device(), ArrayShape::D2(4, 4)));
        act(move |_| drop(gone))
    }),
    ("a module", |stream| {
        let mut gone = DeviceBuffer::<i32>::uninit(&stream.device(), 64).unwrap();
        let Ok(module) = Module::load(&stream.device(), kernels(&stream.device())) else { return act(|_| ()) };
        let store = module.kernel("store_index").unwrap();
        act(move |stream| {
            // SAFETY: 64 threads, 64 elements.
            unsafe { store.launch(stream, LaunchConfig::new(1, 64), (&mut gone,)) }.unwrap();
            drop((store, module));
        })
    }),
    ("a graph", |stream| {
        let mut gone = DeviceBuffer::<u32>::uninit(&stream.device(), 16).unwrap();
        let graph = filling(&mut gone);
        act(move |stream| {
            if let Some(graph) = graph {
                graph.launch(stream).unwrap();
            }
            drop(gone);
        })
    }),
    ("an event", |_| act(|stream| drop(stream.record().unwrap()))),
    ("a signal", |stream| {
        let gone = supported(Signal::new(&stream.device(), 0));
        act(move |_| drop(gone))
    }),
    ("another stream with work behind it", |stream| {
        let other = Stream::new(&stream.device()).unwrap();
        let mut gone = DeviceBuffer::<u32>::uninit(&stream.device(), 16).unwrap();
        act(move |stream| {
            other.wait_event(&stream.record().unwrap()).unwrap();
            gone.fill_async(&other, 1).unwrap();
        })
    }),
    ("the last handle of a stream that is held up too", |stream| {
        let other = Stream::new(&stream.device()).unwrap();
        act(move |stream| other.wait_event(&stream.record().unwrap()).unwrap())
    }),
];

fn filling(data: &mut DeviceBuffer<u32>) -> Option<GraphExec> {
    let mut graph = supported(Graph::new(&data.device()))?;
    graph.add_fill(&[], GraphFill::new(data, 7)).unwrap();
    Some(graph.instantiate().unwrap())
}

#[test]
fn destructors_do_not_wait() {
    let _alone = alone();
    let Some(device) = device() else { return };
    for (what, make) in DROPS {
        let _watchdog = Watchdog::new(what);
        let stream = Stream::new(&device).unwrap();
        let act = make(&stream);
        let go = hold(&stream);
        act(&stream);
        assert!(!stream.is_idle().unwrap(), "{what}");
        go.send(()).unwrap();
        stream.synchronize().unwrap();
    }
    // The stream itself.
    let _watchdog = Watchdog::new("a stream");
    let stream = Stream::new(&device).unwrap();
    let gone = DeviceBuffer::<u32>::zeroed(&device, 16).unwrap();
    let go = hold(&stream);
    drop(stream);
    drop(gone);
    go.send(()).unwrap();
}

/// Work on an idle stream does not wait for another stream whose handles are dropped.
#[test]
fn a_stream_that_is_gone_holds_nobody_up() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let _watchdog = Watchdog::new("a stream that is gone");
    let first = Stream::new(&device).unwrap();
    let seconds: Vec<Stream> = (0..8).map(|_| Stream::new(&device).unwrap()).collect();
    let mut data = DeviceBuffer::<u32>::uninit(&device, 16).unwrap();
    data.fill_async(&first, 1).unwrap();
    first.synchronize().unwrap();
    let go = hold(&first);
    drop(first); // the buffer keeps it
    for (index, second) in seconds.iter().enumerate() {
        data.fill_async(second, index as u32).unwrap();
    }
    go.send(()).unwrap();
    assert_eq!(data.to_vec().unwrap(), [7; 16]);
}

/// Like [`a_stream_that_is_gone_holds_nobody_up`], for launches of graphs by threads that share nothing.
#[test]
fn threads_that_share_nothing_do_not_wait_for_each_other() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let _watchdog = Watchdog::new("threads that share nothing");
    let [mut x, mut y] = [0; 2].map(|_| DeviceBuffer::<u32>::uninit(&device, 16).unwrap());
    let (Some(of_x), Some(of_y)) = (filling(&mut x), filling(&mut y)) else { return };
    let (first, second, third) =
        (Stream::new(&device).unwrap(), Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    x.fill_async(&first, 1).unwrap();
    first.synchronize().unwrap();
    let go = hold(&first);
    drop(first);
    std::thread::scope(|scope| {
        scope.spawn(|| of_x.launch(&second).unwrap());
        scope.spawn(|| {
            of_y.launch(&third).unwrap();
            go.send(()).unwrap();
        });
    });
    assert_eq!((x.to_vec().unwrap(), y.to_vec().unwrap()), (vec![7; 16], vec![7; 16]));
}

/// A copy of memory that nothing uses does not wait for the default stream.
#[test]
fn blocking_copies_do_not_wait_for_the_default_stream() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let _watchdog = Watchdog::new("a copy beside the default stream");
    let mut warm = DeviceBuffer::<u32>::zeroed(&device, 16).unwrap();
    warm.copy_from_slice(&[1; 16]).unwrap();
    let go = hold(&device.default_stream());
    let mut data = DeviceBuffer::<u32>::uninit(&device, 16).unwrap();
    data.copy_from_slice(&[2; 16]).unwrap();
    assert_eq!(data.to_vec().unwrap(), [2; 16]);
    data.fill(3).unwrap();
    warm.copy_from_device(&data).unwrap();
    assert_eq!(warm.to_vec().unwrap(), [3; 16]);
    assert!(!device.default_stream().is_idle().unwrap());
    go.send(()).unwrap();
    device.default_stream().synchronize().unwrap();
}

type WaitFor = fn(&Stream);

/// Memory that is dropped in host functions is freed, whichever way the host waits.
#[test]
fn memory_dropped_in_host_functions_comes_back() {
    const BYTES: usize = 16 << 20;
    const ROUNDS: usize = 16;
    let _alone = alone();
    let Some(device) = device() else { return };
    let _watchdog = Watchdog::new("memory dropped in host functions");
    let waits: [(&str, WaitFor); 4] = [
        ("an event", |stream| stream.record().unwrap().synchronize().unwrap()),
        ("asking an event", |stream| {
            let event = Event::without_timing(&stream.device()).unwrap();
            event.record(stream).unwrap();
            while !event.is_complete().unwrap() {
                std::thread::yield_now();
            }
        }),
        ("is_idle", |stream| {
            while !stream.is_idle().unwrap() {
                std::thread::yield_now();
            }
        }),
        ("a future", |stream| super::block_on(stream.completion().unwrap()).unwrap()),
    ];
    for (what, wait) in waits {
        let stream = Stream::new(&device).unwrap();
        let before = device.memory_info().unwrap().free;
        for _ in 0..ROUNDS {
            let mut buffer = DeviceBuffer::<u8>::uninit(&device, BYTES).unwrap();
            buffer.fill_async(&stream, 1).unwrap();
            stream.launch_host_function(move || drop(buffer)).unwrap();
            wait(&stream);
        }
        eventually(what, || device.memory_info().unwrap().free + BYTES as u64 / 2 > before);
    }
}

/// An allocation that lacks memory waits for the deferred jobs of destructors. On a small device, because other
/// programs may use a machine's memory.
#[test]
fn an_allocation_waits_for_memory_that_was_dropped() {
    let test = "drops::an_allocation_waits_for_memory_that_was_dropped";
    if crate::process::in_own_process(test, &[("HIP_SIM_MEMORY", "256M")]) {
        return;
    }
    let _alone = alone();
    let Some(device) = device() else { return };
    let _watchdog = Watchdog::new("an allocation");
    let stream = Stream::new(&device).unwrap();
    // More than half of the free memory, so that there is no room for two.
    let bytes = device.memory_info().unwrap().free as usize / 3 * 2;
    for round in 0..3 {
        let Ok(mut large) = DeviceBuffer::<u8>::uninit(&device, bytes) else {
            assert_eq!(round, 0, "what was dropped did not come back");
            return crate::common::skipped(&"the memory that is free is in pieces");
        };
        large.slice_mut(..16).unwrap().fill_async(&stream, 1).unwrap();
        // The next allocation is likely to come before the memory is freed; there is enough for it in any case.
        stream.launch_host_function(|| std::thread::sleep(std::time::Duration::from_millis(20))).unwrap();
        drop(large);
    }
}

/// Memory is also freed on a device that is never idle, if no work on it waits for the host.
#[test]
fn memory_comes_back_from_a_device_that_is_never_idle() {
    let _alone = alone();
    let Some(slow) = kernel("slow_store") else { return };
    let _watchdog = Watchdog::new("a device that is never idle");
    let device = slow.device();
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let mut out = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let before = device.memory_info().unwrap().free;
    let mut gone = Some(DeviceBuffer::<u8>::uninit(&device, 16 << 20).unwrap());
    let mut last: Option<Event> = None;
    loop {
        for _ in 0..4 {
            // SAFETY: 64 threads, 64 elements.
            unsafe { slow.launch(&stream, LaunchConfig::new(1, 64), (&mut out, 20_000u32, 8u32)) }.unwrap();
        }
        let event = stream.record().unwrap();
        // The work before it is not done yet.
        if let Some(last) = last.replace(event) {
            last.synchronize().unwrap();
        }
        if let Some(mut gone) = gone.take() {
            gone.fill_async(&other, 1).unwrap();
        } else if device.memory_info().unwrap().free + (8 << 20) > before {
            break;
        }
    }
    stream.synchronize().unwrap();
}
