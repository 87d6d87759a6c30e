//! Graphs: built and captured, launched, changed, and outliving the objects that they use.

mod captures;
#[path = "../gpu/common.rs"]
#[allow(dead_code, reason = "of the tests in tests/gpu too")]
mod common;
mod trusted;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use hip::graph::{GraphCopy, GraphCopy3d, GraphFill, InstantiateOptions, NodeKind};
use hip::memory::array::{Array, ArrayShape};
use hip::memory::pool::{MemoryPool, PoolOptions};
use hip::memory::{Extent, MemoryAttach, MemoryLocation, PitchedBuffer, RegisterOptions, RegisteredBuffer};
use hip::stream::{Signal, WaitCondition};
use hip::{
    Device, DeviceBuffer, Error, Event, Graph, GraphExec, LaunchConfig, ManagedBuffer, Module, PinnedBuffer, Stream,
};

use common::{device, eventually, module, skipped, supported};

const ONE: LaunchConfig =
    LaunchConfig { grid: hip::Dim3::new(1, 1, 1), block: hip::Dim3::new(64, 1, 1), shared_bytes: 0 };

/// Returns the kernels, if graphs are supported.
fn with_graphs() -> Option<Module> {
    let module = module()?;
    supported(Graph::new(&module.device()))?;
    Some(module)
}

/// Held by tests that compare the total memory of a device's graphs.
fn graph_memory() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn graph_device() -> Option<Device> {
    let device = device()?;
    supported(Graph::new(&device))?;
    Some(device)
}

#[test]
fn a_graph_built_node_by_node_runs_in_the_order_of_its_edges() {
    let Some(module) = with_graphs() else { return };
    let device = module.device();
    let add = module.kernel("add_in_place").unwrap();
    let stream = Stream::new(&device).unwrap();
    let (mut a, mut b) =
        (DeviceBuffer::<u32>::zeroed(&device, 64).unwrap(), DeviceBuffer::<u32>::zeroed(&device, 64).unwrap());
    let calls = Arc::new(AtomicU32::new(0));
    let mut graph = Graph::new(&device).unwrap();
    let fill_a = graph.add_fill(&[], GraphFill::new(&mut a, 5)).unwrap();
    let fill_b = graph.add_fill(&[], GraphFill::new(&mut b, 7)).unwrap();
    let meet = graph.add_empty(&[fill_a, fill_b]).unwrap();
    // SAFETY: 64 threads, 64 elements; no other node runs concurrently.
    let launch = unsafe { graph.add_kernel(&[meet], &add, ONE, (&mut a, 10i32, 64u32)) }.unwrap();
    let copy = graph.add_copy(&[launch], GraphCopy::on_device(&mut b, &a).unwrap()).unwrap();
    let counter = Arc::clone(&calls);
    let host = graph.add_host(&[copy], move || {
        counter.fetch_add(1, Ordering::SeqCst);
    });
    let host = host.unwrap();
    assert_eq!(graph.nodes().unwrap().len(), 6);
    assert_eq!(graph.edges().unwrap().len(), 5);
    let kinds = [fill_a, meet, launch, copy, host].map(hip::graph::Node::kind);
    assert_eq!(kinds, [NodeKind::Fill, NodeKind::Empty, NodeKind::Kernel, NodeKind::Copy, NodeKind::Host]);

    let exec = graph.instantiate().unwrap();
    exec.upload(&stream).unwrap();
    for round in 1..=3 {
        exec.launch(&stream).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(calls.load(Ordering::SeqCst), round);
        assert_eq!((a.to_vec().unwrap()[63], b.to_vec().unwrap()[0]), (15, 15));
    }
    // Two launches at once, on two streams: one after the other, as they write to the same buffers.
    let other = Stream::new(&device).unwrap();
    exec.launch(&stream).unwrap();
    exec.launch(&other).unwrap();
    assert_eq!(b.to_vec().unwrap(), [15; 64]);
    other.synchronize().unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 5);
}

#[test]
fn a_graph_keeps_the_memory_and_the_code_that_it_uses() {
    let Some(module) = with_graphs() else { return };
    let device = module.device();
    let stream = Stream::new(&device).unwrap();
    let mut result = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let exec = {
        let module = Module::load(&device, common::kernels(&device)).unwrap();
        let add = module.kernel("add_in_place").unwrap();
        let mut scratch = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
        let mut graph = Graph::new(&device).unwrap();
        let fill = graph.add_fill(&[], GraphFill::new(&mut scratch, 1)).unwrap();
        // SAFETY: 64 threads, 64 elements.
        let launch = unsafe { graph.add_kernel(&[fill], &add, ONE, (&mut scratch, 1i32, 64u32)) }.unwrap();
        graph.add_copy(&[launch], GraphCopy::on_device(&mut result, &scratch).unwrap()).unwrap();
        graph.instantiate().unwrap()
        // The module, the buffer and the graph are dropped here.
    };
    // Allocations that would reuse freed memory.
    let others: Vec<_> = (0..8).map(|_| DeviceBuffer::<u32>::from_slice(&device, &[99; 64]).unwrap()).collect();
    exec.launch(&stream).unwrap();
    assert_eq!(result.to_vec().unwrap(), [2; 64]);
    drop(exec);
    for other in others {
        assert_eq!(other.to_vec().unwrap(), [99; 64], "the graph wrote to memory that was not its own");
    }
}

#[test]
fn work_before_and_after_a_launch_on_other_streams_is_in_order() {
    let Some(module) = with_graphs() else { return };
    let device = module.device();
    let (slow, add) = (module.kernel("slow_store").unwrap(), module.kernel("add_in_place").unwrap());
    let streams: Vec<Stream> = (0..3).map(|_| Stream::new(&device).unwrap()).collect();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let mut copy = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    // SAFETY: 64 threads, 64 elements.
    unsafe { graph.add_kernel(&[], &add, ONE, (&mut data, 1i32, 64u32)) }.unwrap();
    let exec = graph.instantiate().unwrap();
    for round in 0..10u32 {
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch(&streams[0], ONE, (&mut data, 20_000u32, 100 * round)) }.unwrap();
        exec.launch(&streams[1]).unwrap();
        copy.copy_from_device_async(&streams[2], &data).unwrap();
        assert_eq!(copy.to_vec().unwrap(), [100 * round + 1; 64]);
    }
}

#[test]
fn nodes_of_a_ready_graph_can_be_changed() {
    let Some(module) = with_graphs() else { return };
    let device = module.device();
    let add = module.kernel("add_in_place").unwrap();
    let stream = Stream::new(&device).unwrap();
    let mut a = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let (mut b, mut c) =
        (DeviceBuffer::<u32>::zeroed(&device, 64).unwrap(), DeviceBuffer::<u32>::zeroed(&device, 64).unwrap());
    let mut graph = Graph::new(&device).unwrap();
    let fill = graph.add_fill(&[], GraphFill::new(&mut a, 1)).unwrap();
    // SAFETY: 64 threads, 64 elements.
    let launch = unsafe { graph.add_kernel(&[fill], &add, ONE, (&mut a, 1i32, 64u32)) }.unwrap();
    let copy = graph.add_copy(&[launch], GraphCopy::on_device(&mut b, &a).unwrap()).unwrap();
    let seen = Arc::new(AtomicU32::new(0));
    let first = Arc::clone(&seen);
    let host = graph.add_host(&[copy], move || first.store(1, Ordering::SeqCst)).unwrap();
    let mut exec = graph.instantiate().unwrap();
    exec.launch(&stream).unwrap();
    assert_eq!(b.to_vec().unwrap(), [2; 64]);

    exec.set_fill(fill, GraphFill::new(&mut a, 30)).unwrap();
    // SAFETY: as above.
    unsafe { exec.set_kernel(launch, &add, ONE, (&mut a, 5i32, 64u32)) }.unwrap();
    exec.set_copy(copy, GraphCopy::on_device(&mut c, &a).unwrap()).unwrap();
    let second = Arc::clone(&seen);
    exec.set_host(host, move || second.store(2, Ordering::SeqCst)).unwrap();
    exec.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    assert_eq!((b.to_vec().unwrap()[0], c.to_vec().unwrap()[0], seen.load(Ordering::SeqCst)), (2, 35, 2));

    // Disabled and enabled again.
    assert!(exec.is_enabled(launch).unwrap());
    exec.set_enabled(launch, false).unwrap();
    assert!(!exec.is_enabled(launch).unwrap());
    exec.launch(&stream).unwrap();
    assert_eq!(c.to_vec().unwrap(), [30; 64]);
    exec.set_enabled(launch, true).unwrap();
    exec.launch(&stream).unwrap();
    assert_eq!(c.to_vec().unwrap(), [35; 64]);

    // Restores all parameters from the unchanged graph.
    exec.update(&graph).unwrap();
    exec.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    assert_eq!((b.to_vec().unwrap()[0], seen.load(Ordering::SeqCst)), (2, 1));
    let other = Graph::new(&device).unwrap();
    let error = exec.update(&other).unwrap_err();
    assert!(matches!(error, Error::Graph { .. } | Error::Hip(_)), "{error}");
}

/// HIP 6.4 stores values of fills in the memory for arguments of launches on the default stream, of which it has 1 MiB:
/// some 1500 fills.
#[test]
fn a_fill_keeps_its_value_whatever_the_default_stream_does() {
    let Some(device) = graph_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut built = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    let fill = graph.add_fill(&[], GraphFill::new(&mut built, 1)).unwrap();
    assert_eq!(graph.nodes().unwrap(), [fill]);
    let clone = graph.try_clone().unwrap();
    assert_eq!(clone.nodes().unwrap().len(), 1);
    let mut parent = Graph::new(&device).unwrap();
    let node = parent.add_child(&[], &clone).unwrap();
    assert_eq!(parent.nodes().unwrap(), [node]);
    let mut captured = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let capture = stream.capture(|stream| captured.fill_async(stream, 2)).unwrap();
    assert_eq!(capture.nodes().unwrap().len(), 1);
    let [first, cloned, child, captures] =
        [&graph, &clone, &parent, &capture].map(|graph| graph.instantiate().unwrap());
    let [mut changed, mut updated] = [(); 2].map(|()| graph.instantiate().unwrap());
    changed.set_fill(fill, GraphFill::new(&mut built, 3)).unwrap();
    updated.update(&clone).unwrap();

    let mut other = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    (0..3000).for_each(|round| other.fill(round).unwrap());
    let launch = |exec: &GraphExec, buffer: &mut DeviceBuffer<u32>, value, what: &str| {
        for _ in 0..2 {
            buffer.fill(0).unwrap();
            exec.launch(&stream).unwrap();
            assert_eq!(buffer.to_vec().unwrap(), [value; 64], "{what}");
        }
    };
    launch(&first, &mut built, 1, "built");
    launch(&cloned, &mut built, 1, "a clone");
    launch(&child, &mut built, 1, "a child");
    launch(&captures, &mut captured, 2, "captured");
    launch(&changed, &mut built, 3, "changed");
    launch(&updated, &mut built, 1, "updated");
}

/// HIP has four queues of a GPU, which streams share. Here, the streams for the branches of a graph share the queue of
/// the stream of the launch, which 6.4 does not handle.
#[test]
fn branches_of_a_graph_run_on_whatever_queues_there_are() {
    let Some(device) = graph_device() else { return };
    let mut data: Vec<_> = (0..4).map(|_| DeviceBuffer::<u32>::zeroed(&device, 64).unwrap()).collect();
    let ones = DeviceBuffer::from_slice(&device, &[1u32; 64]).unwrap();
    for which in 0..4 {
        // Once each queue has some streams, one in four shares a queue.
        let streams = (0..64).map(|_| Stream::new(&device).unwrap()).collect::<Vec<_>>().into_iter().enumerate();
        let (alike, _others): (Vec<_>, Vec<_>) = streams.partition(|(number, _)| number % 4 == which);
        let (_, stream) = alike.into_iter().next_back().unwrap();
        let mut graph = Graph::new(&device).unwrap();
        for buffer in &mut data {
            graph.add_copy(&[], GraphCopy::on_device(buffer, &ones).unwrap()).unwrap();
        }
        let exec = graph.instantiate().unwrap();
        for _ in 0..2 {
            data.iter_mut().for_each(|buffer| buffer.fill(0).unwrap());
            exec.launch(&stream).unwrap();
            assert!(data.iter().all(|buffer| buffer.to_vec().unwrap() == [1; 64]));
        }
    }
}

#[test]
fn nodes_of_other_graphs_and_kinds_are_refused() {
    let Some(device) = graph_device() else { return };
    let mut a = DeviceBuffer::<u32>::zeroed(&device, 8).unwrap();
    let (mut first, mut second) = (Graph::new(&device).unwrap(), Graph::new(&device).unwrap());
    let foreign = second.add_empty(&[]).unwrap();
    let fill = first.add_fill(&[], GraphFill::new(&mut a, 1)).unwrap();
    let error = first.add_empty(&[foreign]).unwrap_err();
    assert!(matches!(&error, Error::Graph { reason } if reason.contains("no node of this graph")), "{error}");
    assert!(matches!(first.add_dependency(foreign, fill), Err(Error::Graph { .. })));
    let mut exec = first.instantiate().unwrap();
    assert!(matches!(exec.set_host(fill, || ()), Err(Error::Graph { .. })));
    assert!(matches!(exec.set_fill(foreign, GraphFill::new(&mut a, 1)), Err(Error::Graph { .. })));
    assert!(matches!(exec.set_enabled(foreign, true), Err(Error::Graph { .. })));
    // A value that the runtime cannot repeat, and an empty slice.
    let mut wide = DeviceBuffer::<f64>::zeroed(&device, 8).unwrap();
    assert!(matches!(first.add_fill(&[], GraphFill::new(&mut wide, 1.1)), Err(Error::InvalidValue { .. })));
    let mut none = DeviceBuffer::<u32>::zeroed(&device, 0).unwrap();
    assert!(matches!(first.add_fill(&[], GraphFill::new(&mut none, 1)), Err(Error::InvalidValue { .. })));
    assert!(matches!(GraphCopy::on_device(&mut none, &a), Err(Error::Length { .. })));
}

#[test]
fn edges_can_be_added_and_a_circle_cannot() {
    let Some(device) = graph_device() else { return };
    let mut graph = Graph::new(&device).unwrap();
    let (a, b) = (graph.add_empty(&[]).unwrap(), graph.add_empty(&[]).unwrap());
    graph.add_dependency(a, b).unwrap();
    assert_eq!(graph.edges().unwrap(), [(a, b)]);
    assert!(graph.add_dependency(a, b).is_err(), "it is there already");
    // SAFETY: the nodes do nothing.
    unsafe { graph.remove_dependency(a, b) }.unwrap();
    assert_eq!(graph.edges().unwrap(), []);
    // Rejected immediately or at launch.
    graph.add_dependency(a, b).unwrap();
    let circle = graph.add_dependency(b, a).and_then(|()| graph.instantiate());
    assert!(circle.is_err_and(|error| error.status().is_some()), "a circle");
}

#[test]
fn a_clone_has_nodes_of_its_own() {
    let Some(device) = graph_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 8).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    let fill = graph.add_fill(&[], GraphFill::new(&mut data, 4)).unwrap();
    let clone = graph.try_clone().unwrap();
    let twin = clone.find(fill).unwrap();
    assert_ne!(twin, fill);
    let mut stranger = Graph::new(&device).unwrap();
    let node = stranger.add_empty(&[]).unwrap();
    for (graph, node) in [(&clone, node), (&graph, fill), (&graph, twin), (&clone.try_clone().unwrap(), fill)] {
        assert!(matches!(graph.find(node), Err(Error::Graph { .. })), "{graph:?} {node:?}");
    }
    drop(graph);
    // Its nodes are gone with it, so nothing accesses them.
    assert!(matches!(clone.find(fill), Err(Error::Graph { .. })));
    let mut exec = clone.instantiate().unwrap();
    exec.launch(&stream).unwrap();
    assert_eq!(data.to_vec().unwrap(), [4; 8]);
    exec.set_fill(twin, GraphFill::new(&mut data, 6)).unwrap();
    exec.launch(&stream).unwrap();
    assert_eq!(data.to_vec().unwrap(), [6; 8]);
}

#[test]
fn a_child_graph_is_a_node_and_keeps_what_it_uses() {
    let Some(device) = graph_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut result = DeviceBuffer::<u32>::zeroed(&device, 8).unwrap();
    let mut parent = Graph::new(&device).unwrap();
    let node;
    {
        let mut scratch = DeviceBuffer::<u32>::zeroed(&device, 8).unwrap();
        let mut child = Graph::new(&device).unwrap();
        let fill = child.add_fill(&[], GraphFill::new(&mut scratch, 11)).unwrap();
        child.add_copy(&[fill], GraphCopy::on_device(&mut result, &scratch).unwrap()).unwrap();
        node = parent.add_child(&[], &child).unwrap();
        assert_eq!(node.kind(), NodeKind::Child);
    }
    let mut exec = parent.instantiate().unwrap();
    drop(parent);
    exec.launch(&stream).unwrap();
    assert_eq!(result.to_vec().unwrap(), [11; 8]);
    {
        let mut scratch = DeviceBuffer::<u32>::zeroed(&device, 8).unwrap();
        let mut child = Graph::new(&device).unwrap();
        let fill = child.add_fill(&[], GraphFill::new(&mut scratch, 12)).unwrap();
        child.add_copy(&[fill], GraphCopy::on_device(&mut result, &scratch).unwrap()).unwrap();
        exec.set_child(node, &child).unwrap();
    }
    exec.launch(&stream).unwrap();
    assert_eq!(result.to_vec().unwrap(), [12; 8]);
}

#[test]
fn pinned_memory_takes_the_unsafe_launch() {
    let Some(device) = graph_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut input = PinnedBuffer::<u32>::from_slice(&device, &[1, 2, 3]).unwrap();
    let mut output = PinnedBuffer::<u32>::zeroed(&device, 3).unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 3).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    let up = graph.add_copy(&[], GraphCopy::from_pinned(&mut data, &input).unwrap()).unwrap();
    graph.add_copy(&[up], GraphCopy::to_pinned(&mut output, &data).unwrap()).unwrap();
    let exec = graph.instantiate().unwrap();
    let error = exec.launch(&stream).unwrap_err();
    assert!(matches!(&error, Error::Graph { reason } if reason.contains("launch_with_host_memory")), "{error}");
    for round in 0..4 {
        input.as_mut_slice().unwrap().fill(round);
        // SAFETY: no slice of either is borrowed.
        unsafe { exec.launch_with_host_memory(&stream) }.unwrap();
        assert_eq!(output.as_slice().unwrap(), [round; 3]);
    }
    // The memory outlives its owners here too.
    drop((input, output, data));
    // SAFETY: dropped, so not borrowed.
    unsafe { exec.launch_with_host_memory(&stream) }.unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn events_in_a_graph_mark_its_launches() {
    let Some(device) = graph_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let event = Arc::new(Event::without_timing(&device).unwrap());
    let mut graph = Graph::new(&device).unwrap();
    let fill = graph.add_fill(&[], GraphFill::new(&mut data, 4)).unwrap();
    graph.add_event_record(&[fill], &event).unwrap();
    let exec = graph.instantiate().unwrap();
    assert!(matches!(event.synchronize(), Err(Error::EventNotRecorded)));
    exec.launch(&stream).unwrap();
    event.synchronize().unwrap();
    stream.synchronize().unwrap();
    assert!(event.is_complete().unwrap());
    assert_eq!(data.to_vec().unwrap(), [4; 64]);

    // The event does not report the end of later nodes of its graph.
    let Some(slow) = module().map(|module| module.kernel("slow_store").unwrap()) else { return };
    let mut graph = Graph::new(&device).unwrap();
    let first = graph.add_event_record(&[], &event).unwrap();
    // SAFETY: 64 threads, 64 elements.
    unsafe { graph.add_kernel(&[first], &slow, ONE, (&mut data, 100_000u32, 9u32)) }.unwrap();
    let exec = graph.instantiate().unwrap();
    for _ in 0..3 {
        data.fill(0).unwrap();
        exec.launch(&stream).unwrap();
        event.synchronize().unwrap();
        assert_eq!(data.to_vec().unwrap(), [9; 64]);
    }

    let mut waiting = Graph::new(&device).unwrap();
    let wait = waiting.add_event_wait(&[], &event).unwrap();
    waiting.add_fill(&[wait], GraphFill::new(&mut data, 5)).unwrap();
    let other = Stream::new(&device).unwrap();
    waiting.instantiate().unwrap().launch(&other).unwrap();
    assert_eq!(data.to_vec().unwrap(), [5; 64]);
}

#[test]
fn a_panic_in_a_host_node_comes_back_from_the_stream_of_the_launch() {
    let Some(device) = graph_device() else { return };
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let mut graph = Graph::new(&device).unwrap();
    graph.add_host(&[], || panic!("in a graph")).unwrap();
    let exec = graph.instantiate().unwrap();
    exec.launch(&stream).unwrap();
    let error = stream.synchronize().unwrap_err();
    assert!(matches!(&error, Error::HostFunctionPanicked { message } if message == "in a graph"), "{error}");
    stream.synchronize().unwrap();
    other.synchronize().unwrap();
}

#[test]
fn graphs_allocate_memory() {
    let _counted = graph_memory();
    let Some(module) = with_graphs() else { return };
    let device = module.device();
    let (add, stream) = (module.kernel("add_in_place").unwrap(), Stream::new(&device).unwrap());
    let mut graph = Graph::new(&device).unwrap();
    let Some((alloc, pointer)) = supported(graph.add_alloc::<i32>(&[], 64)) else { return };
    // SAFETY: 64 elements are allocated, and used by one node after the other.
    unsafe {
        let launch = graph.add_kernel(&[alloc], &add, ONE, (pointer, 1i32, 64u32)).unwrap();
        graph.add_free(&[launch], pointer).unwrap();
    }
    let exec = graph.instantiate().unwrap();
    for _ in 0..3 {
        exec.launch(&stream).unwrap();
    }
    stream.synchronize().unwrap();
    drop((exec, graph));
    if let Some(info) = supported(device.graph_memory()) {
        assert!(info.used_high >= info.used && info.reserved_high >= info.reserved, "{info:?}");
        assert!(info.used_high > 0, "{info:?}");
        device.reset_graph_memory_high_watermarks().unwrap();
        let after = device.graph_memory().unwrap();
        assert!(after.used_high < info.used_high && after.used_high >= after.used, "{info:?}, then {after:?}");
    }
    if supported(device.trim_graph_memory()).is_some() {
        let info = device.graph_memory().unwrap();
        assert_eq!(info.used, 0, "{info:?}");
        // 5.7 decrements by numbers that it reads from freed memory.
        assert!(info.reserved == 0 || hip::runtime_version().unwrap().0 < 6, "{info:?}");
    }
    // The next launch frees memory that a launch has left, with the option, and is rejected without it.
    let leaves = |options| {
        let mut graph = Graph::new(&device).unwrap();
        let (alloc, pointer) = graph.add_alloc::<i32>(&[], 64).unwrap();
        // SAFETY: the 64 elements are allocated by an earlier node.
        unsafe { graph.add_kernel(&[alloc], &add, ONE, (pointer, 1i32, 64u32)) }.unwrap();
        supported(graph.instantiate_with(options))
    };
    let Some(exec) = leaves(InstantiateOptions::new().auto_free(true)) else { return };
    for _ in 0..3 {
        exec.launch(&stream).unwrap();
        stream.synchronize().unwrap();
    }
    drop(exec);
    let plain = leaves(InstantiateOptions::new()).unwrap();
    plain.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    assert!(plain.launch(&stream).is_err(), "it has not freed what the launch before has allocated");
}

#[test]
fn a_change_waits_for_the_launch_that_runs() {
    let Some(module) = with_graphs() else { return };
    let (device, slow) = (module.device(), module.kernel("slow_store").unwrap());
    let stream = Stream::new(&device).unwrap();
    let mut busy = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    // SAFETY: 64 threads, 64 elements.
    let first = unsafe { graph.add_kernel(&[], &slow, ONE, (&mut busy, 100_000u32, 1u32)) }.unwrap();
    let fill = graph.add_fill(&[first], GraphFill::new(&mut data, 4)).unwrap();
    let mut exec = graph.instantiate().unwrap();
    for round in 5..8 {
        exec.launch(&stream).unwrap();
        exec.set_fill(fill, GraphFill::new(&mut data, round)).unwrap();
        assert!(stream.is_idle().unwrap(), "the launch is over");
        assert_eq!(data.to_vec().unwrap(), [round - 1; 64], "with what it was launched with");
    }
}

#[test]
fn a_vector_that_a_graph_uses_is_given_back_as_a_copy() {
    let Some(device) = graph_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let registered = RegisteredBuffer::new(&device, vec![3u32; 64], RegisterOptions::new()).unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    graph.add_copy(&[], GraphCopy::from_pinned(&mut data, &registered).unwrap()).unwrap();
    let exec = graph.instantiate().unwrap();
    let mut vector = registered.into_vec().unwrap();
    assert_eq!(vector, [3; 64]);
    vector.fill(4);
    // SAFETY: no slice of the registered memory is borrowed.
    unsafe { exec.launch_with_host_memory(&stream) }.unwrap();
    assert_eq!(data.to_vec().unwrap(), [3; 64], "what the graph keeps");
}

/// Memory that the last launch has left is freed with the `GraphExec`, unless another graph has freed it.
#[test]
fn memory_that_a_graph_leaves_is_freed_with_it() {
    let Some(device) = graph_device() else { return };
    let _counted = graph_memory();
    const BYTES: u64 = 3 << 20;
    let stream = Stream::new(&device).unwrap();
    let used = || device.graph_memory().unwrap().used;
    let allocating = |options| {
        let mut graph = Graph::new(&device).unwrap();
        let (_, pointer) = supported(graph.add_alloc::<u8>(&[], BYTES as usize))?;
        Some((graph.instantiate_with(options).unwrap(), graph, pointer))
    };
    if hip::runtime_version().unwrap().0 < 6 {
        skipped(&"HIP 5.7 has the memory from when the node is made, and keeps it");
        return;
    }
    eventually("what another test has left is freed", || used() == 0);
    let before = used();
    for options in [InstantiateOptions::new(), InstantiateOptions::new().auto_free(true)] {
        let Some((exec, graph, _)) = allocating(options) else { return };
        exec.launch(&stream).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(used(), before + BYTES, "{options:?}");
        drop((exec, graph));
        eventually("freed with the graph", || used() == before);
        // Dropped while the launch may still run.
        let (exec, ..) = allocating(options).unwrap();
        exec.launch(&stream).unwrap();
        drop(exec);
        stream.synchronize().unwrap();
        eventually("freed with the graph", || used() == before);
        // A graph that was never launched has nothing to free.
        drop(allocating(options));
        eventually("freed with the graph", || used() == before);
    }
    // In a child graph, and after an update.
    let (_, child, _) = allocating(InstantiateOptions::new()).unwrap();
    let mut parent = Graph::new(&device).unwrap();
    parent.add_child(&[], &child).unwrap();
    let exec = parent.instantiate().unwrap();
    exec.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(used(), before + BYTES);
    drop(exec);
    eventually("freed with the graph", || used() == before);
    // Another graph frees it: then it may be reused.
    let (exec, _graph, pointer) = allocating(InstantiateOptions::new()).unwrap();
    let mut other = Graph::new(&device).unwrap();
    // SAFETY: launched once, after the allocation, when the memory is not in use anymore.
    unsafe { other.add_free(&[], pointer) }.unwrap();
    let other = other.instantiate().unwrap();
    exec.launch(&stream).unwrap();
    other.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    eventually("freed with the graph", || used() == before);
    drop((exec, other));
    eventually("freed with the graph", || used() == before);
    // Updated to another graph, if the runtime supports it: the memory of both is tracked.
    let (mut exec, _first, _) = allocating(InstantiateOptions::new()).unwrap();
    let (_, second, _) = allocating(InstantiateOptions::new()).unwrap();
    exec.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    match exec.update(&second) {
        Ok(()) => {}
        Err(error) => skipped(&error),
    }
    drop(exec);
    eventually("freed with the graph", || used() == before);
    // When a graph with auto-free is launched, AMD's runtimes also free memory that other graphs have left: it is not freed again.
    let (left, _first, _) = allocating(InstantiateOptions::new()).unwrap();
    let (auto, _second, _) = allocating(InstantiateOptions::new().auto_free(true)).unwrap();
    left.launch(&stream).unwrap();
    auto.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    drop(left);
    assert_eq!(used(), before + BYTES, "the memory of the one that is left");
    drop(auto);
    eventually("freed with the graph", || used() == before);
    device.synchronize().unwrap();
    device.trim_graph_memory().unwrap();
    assert_eq!(device.graph_memory().unwrap().reserved, before);
}

#[test]
fn a_graph_is_written_as_dot() {
    let Some(device) = graph_device() else { return };
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 8).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    graph.add_fill(&[], GraphFill::new(&mut data, 4)).unwrap();
    let path = std::env::temp_dir().join(format!("hip-graph-{}.dot", std::process::id()));
    let written = |verbose| {
        graph.write_dot(&path, verbose).unwrap();
        std::fs::read_to_string(&path).unwrap()
    };
    let (short, long) = (written(false), written(true));
    std::fs::remove_file(&path).unwrap();
    assert!(short.contains("digraph") && short.to_lowercase().contains("memset"), "{short}");
    assert!(long.len() > short.len(), "{long}, and not verbose {short}");
    assert!(graph.write_dot("/nowhere/at/all.dot", false).is_err());
}

#[test]
fn copies_of_two_and_three_dimensions_are_nodes() {
    let Some(module) = with_graphs() else { return };
    let device = module.device();
    let stream = Stream::new(&device).unwrap();
    let source: Vec<u32> = (0..5 * 4 * 3).collect();
    for extent in [Extent::new_3d(5, 4, 3), Extent::new_2d(5, 12)] {
        let from = PitchedBuffer::from_slice(&device, extent, &source).unwrap();
        let mut to = PitchedBuffer::<u32>::zeroed(&device, extent).unwrap();
        let mut part = PitchedBuffer::<u32>::zeroed(&device, extent).unwrap();
        let mut graph = Graph::new(&device).unwrap();
        let copy = GraphCopy3d::pitched(to.as_slice_mut(), &from).unwrap();
        let first = graph.add_copy_3d(&[], copy).unwrap();
        assert_eq!(first.kind(), NodeKind::Copy);
        let corner = to.region(1..3, 2.., ..).unwrap();
        let copy = GraphCopy3d::pitched(part.region_mut(..2, 2.., ..).unwrap(), corner).unwrap();
        graph.add_copy_3d(&[first], copy).unwrap();
        let differs = GraphCopy3d::pitched(part.as_slice_mut(), to.region(1.., .., ..).unwrap());
        assert!(matches!(differs, Err(Error::InvalidValue { .. })), "{differs:?}");
        let none =
            GraphCopy3d::pitched(part.region_mut(..0, .., ..).unwrap(), to.region(..0, .., ..).unwrap()).unwrap();
        assert!(matches!(graph.add_copy_3d(&[], none), Err(Error::InvalidValue { .. })));
        let exec = graph.instantiate().unwrap();
        drop((graph, from)); // kept by what is instantiated
        exec.launch(&stream).unwrap();
        assert_eq!(to.to_vec().unwrap(), source);
        let expected = to.region(1..3, 2.., ..).unwrap().to_vec().unwrap();
        assert_eq!(part.region(..2, 2.., ..).unwrap().to_vec().unwrap(), expected);
        assert_eq!(part.to_vec().unwrap().iter().filter(|number| **number != 0).count(), expected.len());
    }
}

#[test]
fn copies_to_and_from_arrays_are_nodes() {
    let Some(module) = with_graphs() else { return };
    let device = module.device();
    if !device.has_images().unwrap() {
        skipped(&format_args!("{device} has no images"));
        return;
    }
    let stream = Stream::new(&device).unwrap();
    let source: Vec<u32> = (1..=5 * 4 * 3).collect();
    for shape in [ArrayShape::D3(5, 4, 3), ArrayShape::D2Layered(5, 4, 3), ArrayShape::D2(5, 12)] {
        let from = PitchedBuffer::from_slice(&device, shape.extent(), &source).unwrap();
        let mut to = PitchedBuffer::<u32>::zeroed(&device, shape.extent()).unwrap();
        let mut array = Array::<u32>::zeroed(&device, shape).unwrap();
        let mut graph = Graph::new(&device).unwrap();
        let first = graph.add_copy_3d(&[], GraphCopy3d::to_array(&mut array, &from).unwrap()).unwrap();
        graph.add_copy_3d(&[first], GraphCopy3d::from_array(to.as_slice_mut(), &array).unwrap()).unwrap();
        let exec = graph.instantiate().unwrap();
        drop((graph, array)); // which the graph keeps
        exec.launch(&stream).unwrap();
        assert_eq!(to.to_vec().unwrap(), source, "{shape}");
    }
}

/// Increments a counter when it is dropped.
struct Tell(Arc<AtomicU32>);

impl Drop for Tell {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn what_runs_in_a_graph_outlives_a_graph_that_is_dropped_in_it() {
    let Some(device) = graph_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let dropped = Arc::new(AtomicU32::new(0));
    let slot = Arc::new(Mutex::new(None));
    let seen = Arc::new(AtomicU32::new(99));
    let mut graph = Graph::new(&device).unwrap();
    let (tell, here, during) = (Tell(Arc::clone(&dropped)), Arc::clone(&slot), Arc::clone(&seen));
    graph
        .add_host(&[], move || {
            drop(here.lock().unwrap().take());
            // Otherwise this host function would be destroyed while it runs.
            during.store(tell.0.load(Ordering::SeqCst), Ordering::SeqCst);
        })
        .unwrap();
    let exec = graph.instantiate().unwrap();
    let mut held = slot.lock().unwrap();
    exec.launch(&stream).unwrap();
    *held = Some((exec, graph));
    drop(held);
    stream.synchronize().unwrap();
    assert_eq!(seen.load(Ordering::SeqCst), 0, "dropped while it ran");
    eventually("and dropped once it had", || dropped.load(Ordering::SeqCst) == 1);
}

#[cfg(feature = "rocm-6-4")]
#[test]
fn waits_for_signals_and_writes_to_them_are_nodes() {
    use hip::stream::SignalOp::{Wait, Write};
    let Some(device) = graph_device() else { return };
    let Some(go) = supported(Signal::new(&device, 0)) else { return };
    let done = Signal::new(&device, 0).unwrap();
    let stream = Stream::new(&device).unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    assert!(matches!(graph.add_signal_ops(&[], &[]), Err(Error::InvalidValue { .. })));
    assert!(matches!(graph.add_signal_ops(&[], &[Write(&go, 1); 257]), Err(Error::InvalidValue { .. })));
    let first =
        graph.add_signal_ops(&[], &[Wait(&go, WaitCondition::AtLeast(5)), Wait(&done, WaitCondition::Equal(0))]);
    let Some(first) = supported(first) else { return };
    let fill = graph.add_fill(&[first], GraphFill::new(&mut data, 3)).unwrap();
    let last = graph.add_signal_ops(&[fill], &[Write(&done, 1), Write(&go, 6)]).unwrap();
    assert_eq!((first.kind(), last.kind()), (NodeKind::SignalOps, NodeKind::SignalOps));
    let kinds: Vec<NodeKind> = graph.nodes().unwrap().iter().map(|node| node.kind()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == NodeKind::SignalOps).count(), 2, "{kinds:?}");

    let mut exec = graph.try_clone().unwrap().instantiate().unwrap();
    exec.launch(&stream).unwrap();
    assert!(!stream.is_idle().unwrap());
    assert_eq!(done.load().unwrap(), 0);
    go.store(5).unwrap();
    stream.synchronize().unwrap();
    assert_eq!((go.load().unwrap(), done.load().unwrap()), (6, 1));
    assert_eq!(data.to_vec().unwrap(), [3; 64]);

    // Replaces the operations of the instance; the graph keeps the signals.
    drop(exec);
    exec = graph.instantiate().unwrap();
    assert!(matches!(exec.set_signal_ops(fill, &[Write(&done, 2)]), Err(Error::Graph { .. })));
    let third = Signal::new(&device, 0).unwrap();
    exec.set_signal_ops(first, &[Wait(&go, WaitCondition::Equal(6))]).unwrap();
    exec.set_signal_ops(last, &[Write(&done, 2), Write(&third, 9)]).unwrap();
    exec.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    assert_eq!((done.load().unwrap(), third.load().unwrap()), (2, 9));
    drop((graph, go, third));
    exec.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(done.load().unwrap(), 2);
}
