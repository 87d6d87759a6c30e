//! Memory whose content a library relies on: no graph changes it, and nobody does while a graph relies on it.

use hip::interop::{Frozen, Tracked, Uses};

use super::*;

const WHAT: &str = "the indices of a test";

/// What a library call reads by its content.
fn relying(stream: &Stream, memory: &DeviceBuffer<u32>, frozen: &Frozen) -> hip::Result<()> {
    let mut uses = Uses::on(stream);
    uses.frozen("indices", memory, frozen)?;
    // SAFETY: it queues a fill of no memory.
    unsafe { uses.call(|_| Ok::<_, Error>(())) }
}

fn is_refused<T>(result: hip::Result<T>) -> bool {
    match result {
        Err(Error::Graph { reason }) if reason.contains(WHAT) => true,
        Err(other) => panic!("{other}"),
        Ok(_) => false,
    }
}

#[test]
fn memory_that_a_graph_writes_to_is_not_frozen() {
    let Some(device) = graph_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut memory = DeviceBuffer::from_slice(&device, &[1u32; 64]).unwrap();
    let graph = stream.capture(|stream| memory.fill_async(stream, 9)).unwrap();
    let again = graph.try_clone().unwrap();
    let mut parent = Graph::new(&device).unwrap();
    parent.add_child(&[], &graph).unwrap();
    let exec = graph.instantiate().unwrap();
    assert!(is_refused(Frozen::new(&memory, WHAT)));
    drop(graph);
    assert!(is_refused(Frozen::new(&memory, WHAT)), "its clone can be launched");
    drop(again);
    assert!(is_refused(Frozen::new(&memory, WHAT)), "the parent can be launched");
    drop(parent);
    assert!(is_refused(Frozen::new(memory.slice(3..4).unwrap(), WHAT)), "the ready graph can be launched");
    // A launch that is under way comes before the check, and it is the last.
    exec.launch(&stream).unwrap();
    drop(exec);
    let frozen = Frozen::new(&memory, WHAT).unwrap();
    assert_eq!(memory.to_vec().unwrap(), [9; 64]);
    drop(frozen);
    // A graph that reads is no matter.
    let mut copy = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let _reads = stream.capture(|stream| copy.copy_from_device_async(stream, &memory)).unwrap();
    Frozen::new(&memory, WHAT).unwrap();
    // Nor is it frozen during a capture that has written to it.
    let during = stream.capture(|stream| {
        memory.fill_async(stream, 1)?;
        Frozen::new(&memory, WHAT).map(drop)
    });
    assert!(is_refused(during));
    Frozen::new(&memory, WHAT).unwrap();
}

#[test]
fn no_graph_is_made_that_writes_to_frozen_memory() {
    let Some(module) = with_graphs() else { return };
    let device = module.device();
    let add = module.kernel("add_in_place").unwrap();
    let stream = Stream::new(&device).unwrap();
    let mut memory = DeviceBuffer::from_slice(&device, &[1u32; 64]).unwrap();
    let (mut other, source) =
        (DeviceBuffer::<u32>::zeroed(&device, 64).unwrap(), DeviceBuffer::<u32>::zeroed(&device, 64).unwrap());
    // Nodes of a graph that is ready, to be changed below.
    let mut graph = Graph::new(&device).unwrap();
    let fill = graph.add_fill(&[], GraphFill::new(&mut other, 1)).unwrap();
    let copy = graph.add_copy(&[fill], GraphCopy::on_device(&mut other, &source).unwrap()).unwrap();
    // SAFETY: 64 threads and elements.
    let kernel = unsafe { graph.add_kernel(&[copy], &add, ONE, (&mut other, 0i32, 64u32)) }.unwrap();
    let mut exec = graph.instantiate().unwrap();
    let frozen = Frozen::new(&memory, WHAT).unwrap();
    // The freeze lasts as long as its owner, who lets nobody else write: here, the test does it.
    assert!(is_refused(stream.capture(|stream| memory.fill_async(stream, 9))));
    assert!(is_refused(stream.capture(|stream| memory.copy_from_device_async(stream, &source))));
    // SAFETY: 64 threads and elements.
    assert!(is_refused(stream.capture(|stream| unsafe { add.launch(stream, ONE, (&mut memory, 1i32, 64u32)) })));
    let foreign = stream.capture(|stream| {
        let mut uses = Uses::on(stream);
        uses.write("indices", &mut memory)?;
        // SAFETY: it queues nothing.
        unsafe { uses.call(|_| Ok::<_, Error>(())) }
    });
    assert!(is_refused(foreign));
    let mut built = Graph::new(&device).unwrap();
    assert!(is_refused(built.add_fill(&[], GraphFill::new(&mut memory, 9))));
    assert!(is_refused(built.add_copy(&[], GraphCopy::on_device(&mut memory, &source).unwrap())));
    // SAFETY: 64 threads and elements.
    assert!(is_refused(unsafe { built.add_kernel(&[], &add, ONE, (&mut memory, 1i32, 64u32)) }));
    assert!(is_refused(exec.set_fill(fill, GraphFill::new(&mut memory, 9))));
    assert!(is_refused(exec.set_copy(copy, GraphCopy::on_device(&mut memory, &source).unwrap())));
    // SAFETY: 64 threads and elements.
    assert!(is_refused(unsafe { exec.set_kernel(kernel, &add, ONE, (&mut memory, 1i32, 64u32)) }));
    exec.launch(&stream).unwrap();
    assert_eq!(memory.to_vec().unwrap(), [1; 64], "nothing was queued or captured");
    // A graph that reads first and is then to write.
    let both = stream.capture(|stream| {
        other.copy_from_device_async(stream, &memory)?;
        memory.fill_async(stream, 9)
    });
    assert!(is_refused(both));
    drop(frozen);
    let graph = stream.capture(|stream| memory.fill_async(stream, 9)).unwrap();
    graph.instantiate().unwrap().launch(&stream).unwrap();
    assert_eq!(memory.to_vec().unwrap(), [9; 64]);
}

#[test]
fn what_a_graph_relies_on_is_not_written_until_it_is_gone() {
    let Some(module) = with_graphs() else { return };
    let device = module.device();
    let add = module.kernel("add_in_place").unwrap();
    let stream = Stream::new(&device).unwrap();
    let mut memory = DeviceBuffer::from_slice(&device, &[1u32; 64]).unwrap();
    let source = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let frozen = Frozen::new(&memory, WHAT).unwrap();
    let graph = stream.capture(|stream| relying(stream, &memory, &frozen)).unwrap();
    let (again, exec) = (graph.try_clone().unwrap(), graph.instantiate().unwrap());
    let mut parent = Graph::new(&device).unwrap();
    parent.add_child(&[], &graph).unwrap();
    let launched = Stream::new(&device).unwrap().capture(|stream| exec.launch(stream));
    // A runtime may refuse to capture a launch of a graph.
    let launched = launched.ok();
    // Neither by its end nor without one does a graph lose what it relies on.
    std::mem::forget(frozen);
    let refuse_all = |memory: &mut DeviceBuffer<u32>| {
        assert!(is_refused(memory.copy_from_slice(&[9; 64])));
        assert!(is_refused(memory.fill(9)));
        assert!(is_refused(memory.fill_async(&stream, 9)));
        assert!(is_refused(memory.copy_from_device_async(&stream, &source)));
        assert!(is_refused(memory.copy_from_device(&source)));
        // SAFETY: 64 threads and elements.
        assert!(is_refused(unsafe { add.launch(&stream, ONE, (&mut *memory, 1i32, 64u32)) }));
        let mut uses = Uses::on(&stream);
        uses.write("indices", &mut *memory).unwrap();
        // SAFETY: it queues nothing.
        assert!(is_refused(unsafe { uses.call(|_| Ok::<_, Error>(())) }));
        assert!(is_refused(stream.capture(|stream| memory.fill_async(stream, 9))));
        assert!(is_refused(memory.slice_mut(60..).unwrap().fill_async(&stream, 9)));
        assert_eq!(memory.to_vec().unwrap(), [1; 64]);
        memory.synchronize().unwrap();
    };
    refuse_all(&mut memory);
    drop(graph);
    refuse_all(&mut memory);
    drop(again);
    refuse_all(&mut memory);
    drop(parent);
    refuse_all(&mut memory);
    drop(launched);
    refuse_all(&mut memory);
    exec.launch(&stream).unwrap();
    drop(exec);
    memory.fill_async(&stream, 9).unwrap();
    memory.slice_mut(..1).unwrap().copy_from_slice(&[8]).unwrap();
    assert_eq!(memory.to_vec().unwrap()[..2], [8, 9]);
}

#[test]
fn a_part_is_frozen_and_the_rest_of_its_allocation_is_written() {
    let Some(device) = graph_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut memory = DeviceBuffer::from_slice(&device, &[1u32; 64]).unwrap();
    let graph = {
        let frozen = Frozen::new(memory.slice(8..16).unwrap(), WHAT).unwrap();
        let graph = stream.capture(|stream| {
            let mut uses = Uses::on(stream);
            uses.frozen("indices", memory.slice(8..16)?, &frozen)?;
            // SAFETY: it queues nothing.
            unsafe { uses.call(|_| Ok::<_, Error>(())) }
        });
        graph.unwrap()
    };
    for free in [0..8, 16..64] {
        memory.slice_mut(free.clone()).unwrap().fill_async(&stream, 2).unwrap();
        memory.slice_mut(free.clone()).unwrap().copy_from_slice(&vec![3; free.len()]).unwrap();
    }
    for taken in [7..9, 8..16, 15..16, 0..64] {
        assert!(is_refused(memory.slice_mut(taken).unwrap().fill_async(&stream, 2)));
    }
    assert!(is_refused(memory.fill(2)));
    drop(graph);
    memory.fill(2).unwrap();
    assert_eq!(memory.to_vec().unwrap(), [2; 64]);
}

#[test]
fn memory_that_others_may_write_to_is_not_frozen() {
    let Some(module) = with_graphs() else { return };
    let device = module.device();
    let memory = DeviceBuffer::<u32>::zeroed(&device, 4).unwrap();
    let tracked = Tracked::new();
    // SAFETY: 4 elements, which stay, and which nothing else uses.
    let view =
        unsafe { DeviceBuffer::<u32>::from_raw_parts_tracked(&device, memory.as_device_ptr(), 4, &tracked) }.unwrap();
    assert!(is_refused(Frozen::new(&view, WHAT)));
    drop(view);
    tracked.release(|| ());
}

/// A handle and a pool can ask whether a graph may use their things later.
#[test]
fn things_are_in_a_graph_until_it_can_no_longer_be_launched() {
    let Some(device) = graph_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut memory = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let tracked = Tracked::new();
    let mut queue = |stream: &Stream| {
        memory.fill_async(stream, 5)?;
        let mut uses = Uses::on(stream);
        uses.tracked(&tracked);
        // SAFETY: it queues nothing.
        unsafe { uses.call(|_| Ok::<_, Error>(())) }
    };
    queue(&stream).unwrap();
    assert!(!tracked.is_in_graph(), "queued work is over some day");
    let graph = stream.capture(&mut queue).unwrap();
    assert!(tracked.is_in_graph());
    let exec = graph.instantiate().unwrap();
    drop(graph);
    assert!(tracked.is_in_graph() && memory.as_slice().is_in_graph());
    exec.launch(&stream).unwrap();
    drop(exec);
    assert!(!tracked.is_in_graph() && !memory.as_slice().is_in_graph(), "it was launched for the last time");
    assert_eq!(memory.to_vec().unwrap(), [5; 64]);
    tracked.release(|| ());
}

/// An update that fails half way leaves a graph that uses memory of both.
#[test]
fn a_failed_update_keeps_what_either_graph_uses() {
    let Some(device) = graph_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let [mut first, mut second] = [(); 2].map(|()| DeviceBuffer::<u32>::zeroed(&device, 64).unwrap());
    let source = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let mut graph = Graph::new(&device).unwrap();
    let fill = graph.add_fill(&[], GraphFill::new(&mut first, 1)).unwrap();
    graph.add_fill(&[fill], GraphFill::new(&mut first, 2)).unwrap();
    let mut exec = graph.instantiate().unwrap();
    drop(graph);
    let mut other = Graph::new(&device).unwrap();
    let fill = other.add_fill(&[], GraphFill::new(&mut second, 3)).unwrap();
    other.add_copy(&[fill], GraphCopy::on_device(&mut second, &source).unwrap()).unwrap();
    assert!(exec.update(&other).is_err(), "the second nodes are of two kinds");
    drop((other, second));
    let victims: Vec<_> = (0..8).map(|_| DeviceBuffer::from_slice(&device, &[7u32; 64]).unwrap()).collect();
    exec.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    assert!(victims.iter().all(|victim| victim.to_vec().unwrap() == [7; 64]), "memory of another owner was filled");
}

/// Of a capture that writes and a freeze, in two threads, one is refused.
#[test]
fn of_a_freeze_and_a_graph_that_writes_one_is_refused() {
    let Some(device) = graph_device() else { return };
    for _ in 0..200 {
        let mut memory = DeviceBuffer::<u32>::zeroed(&device, 4).unwrap();
        let mut whole = memory.as_slice_mut();
        let (mut written, checked) = whole.split_at_mut(2).unwrap();
        let (graph, frozen) = std::thread::scope(|scope| {
            let graph = scope.spawn(|| {
                let mut graph = Graph::new(&device)?;
                graph.add_fill(&[], GraphFill::new(&mut written, 1))?;
                Ok::<_, Error>(graph)
            });
            let frozen = scope.spawn(|| Frozen::new(&checked, WHAT));
            (graph.join().unwrap(), frozen.join().unwrap())
        });
        assert!(graph.is_err() || frozen.is_err());
        assert!(graph.is_ok() || frozen.is_ok());
        assert!(graph.is_ok() || is_refused(graph));
        assert!(frozen.is_ok() || is_refused(frozen));
    }
}
