//! Memory whose content a library relies on: no graph changes it, and nothing else does while a graph relies on it.

use hip::DeviceSlice;
use hip::graph::Node;
use hip::interop::{Tracked, Uses};

use super::*;

const WHAT: &str = "the indices of a test";

/// A library call that relies on the content of memory.
fn relying(stream: &Stream, memory: DeviceSlice<'_, u32>) -> hip::Result<()> {
    let mut uses = Uses::on(stream);
    uses.read_trusted(WHAT, memory)?;
    // SAFETY: it queues nothing.
    unsafe { uses.call(|_| Ok::<_, Error>(())) }
}

/// Returns an error unless only the owner can change the memory.
fn check(memory: DeviceSlice<'_, u32>) -> hip::Result<()> {
    memory.expect_unwritten(WHAT)
}

fn is_refused<T>(result: hip::Result<T>) -> bool {
    match result {
        Err(Error::Graph { reason }) if reason.contains(WHAT) => true,
        Err(other) => panic!("{other}"),
        Ok(_) => false,
    }
}

#[test]
fn memory_that_a_graph_writes_to_is_not_relied_on() {
    let Some(device) = graph_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut memory = DeviceBuffer::from_slice(&device, &[1u32; 64]).unwrap();
    let graph = stream.capture(|stream| memory.slice_mut(..8)?.fill_async(stream, 9)).unwrap();
    let again = graph.try_clone().unwrap();
    let mut parent = Graph::new(&device).unwrap();
    parent.add_child(&[], &graph).unwrap();
    let exec = graph.instantiate().unwrap();
    assert!(is_refused(check(memory.as_slice())));
    assert!(is_refused(check(memory.slice(7..9).unwrap())));
    check(memory.slice(8..).unwrap()).unwrap();
    drop(graph);
    assert!(is_refused(check(memory.as_slice())), "its clone can be launched");
    drop(again);
    assert!(is_refused(check(memory.as_slice())), "the parent can be launched");
    drop(parent);
    assert!(is_refused(check(memory.slice(3..4).unwrap())), "the ready graph can be launched");
    // Without a check, a graph does not rely on it either.
    assert!(is_refused(stream.capture(|stream| relying(stream, memory.as_slice()))));
    // A launch that is queued comes before the check, and no later one exists.
    exec.launch(&stream).unwrap();
    drop(exec);
    check(memory.as_slice()).unwrap();
    assert_eq!(memory.to_vec().unwrap()[..9], [9, 9, 9, 9, 9, 9, 9, 9, 1]);
    // A graph that only reads does not matter.
    let mut copy = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let _reads = stream.capture(|stream| copy.copy_from_device_async(stream, &memory)).unwrap();
    check(memory.as_slice()).unwrap();
    // Nor can content be relied on during a capture that has written to it.
    let during = stream.capture(|stream| {
        memory.fill_async(stream, 1)?;
        check(memory.as_slice())
    });
    assert!(is_refused(during));
    check(memory.as_slice()).unwrap();
}

/// All ways in which a graph can write to a buffer.
#[test]
fn each_node_that_writes_counts_and_each_is_refused() {
    let Some(module) = with_graphs() else { return };
    let device = module.device();
    let add = module.kernel("add_in_place").unwrap();
    let stream = Stream::new(&device).unwrap();
    let mut memory = DeviceBuffer::from_slice(&device, &[1u32; 64]).unwrap();
    let (mut other, source) =
        (DeviceBuffer::<u32>::zeroed(&device, 64).unwrap(), DeviceBuffer::<u32>::zeroed(&device, 64).unwrap());
    let mut graph = Graph::new(&device).unwrap();
    let fill = graph.add_fill(&[], GraphFill::new(&mut other, 1)).unwrap();
    let copy = graph.add_copy(&[fill], GraphCopy::on_device(&mut other, &source).unwrap()).unwrap();
    // SAFETY: 64 threads and elements.
    let kernel = unsafe { graph.add_kernel(&[copy], &add, ONE, (&mut other, 0i32, 64u32)) }.unwrap();
    // Creates a graph that writes to the memory, in each way; the graph is stored in `built` or `exec`.
    type Way<'a> = &'a dyn Fn(&mut DeviceBuffer<u32>, &mut Graph, &mut GraphExec) -> hip::Result<()>;
    let captured = |built: &mut Graph, body: &mut dyn FnMut(&Stream) -> hip::Result<()>| {
        *built = stream.capture(body)?;
        Ok(())
    };
    let ways: [Way<'_>; 10] = [
        &|memory, built, _| captured(built, &mut |stream| memory.fill_async(stream, 9)),
        &|memory, built, _| captured(built, &mut |stream| memory.copy_from_device_async(stream, &source)),
        &|memory, built, _| {
            // SAFETY: 64 threads and elements.
            captured(built, &mut |stream| unsafe { add.launch(stream, ONE, (&mut *memory, 1i32, 64u32)) })
        },
        &|memory, built, _| {
            captured(built, &mut |stream| {
                let mut uses = Uses::on(stream);
                uses.write("indices", &mut *memory)?;
                // SAFETY: it queues nothing.
                unsafe { uses.call(|_| Ok::<_, Error>(())) }
            })
        },
        &|memory, built, _| built.add_fill(&[], GraphFill::new(memory, 9)).map(drop),
        &|memory, built, _| built.add_copy(&[], GraphCopy::on_device(memory, &source).unwrap()).map(drop),
        // SAFETY: 64 threads and elements.
        &|memory, built, _| unsafe { built.add_kernel(&[], &add, ONE, (memory, 1i32, 64u32)) }.map(drop),
        &|memory, _, exec| exec.set_fill(fill, GraphFill::new(memory, 9)),
        &|memory, _, exec| exec.set_copy(copy, GraphCopy::on_device(memory, &source).unwrap()),
        // SAFETY: 64 threads and elements.
        &|memory, _, exec| unsafe { exec.set_kernel(kernel, &add, ONE, (memory, 1i32, 64u32)) },
    ];
    for (number, way) in ways.iter().enumerate() {
        let (mut built, mut exec) = (Graph::new(&device).unwrap(), graph.instantiate().unwrap());
        way(&mut memory, &mut built, &mut exec).unwrap();
        assert!(is_refused(check(memory.as_slice())), "{number}");
        drop((built, exec));
        check(memory.as_slice()).unwrap();
        let relies = stream.capture(|stream| relying(stream, memory.as_slice())).unwrap();
        let (mut built, mut exec) = (Graph::new(&device).unwrap(), graph.instantiate().unwrap());
        assert!(is_refused(way(&mut memory, &mut built, &mut exec)), "{number}");
        built.instantiate().unwrap().launch(&stream).unwrap();
        exec.launch(&stream).unwrap();
        assert_eq!(memory.to_vec().unwrap(), [1; 64], "{number}: nothing was captured");
        drop(relies);
    }
    // A graph that relies on memory and then writes to it, and the other way round.
    let both = stream.capture(|stream| {
        relying(stream, memory.as_slice())?;
        memory.fill_async(stream, 9)
    });
    assert!(is_refused(both));
    let both = stream.capture(|stream| {
        memory.fill_async(stream, 9)?;
        relying(stream, memory.as_slice())
    });
    assert!(is_refused(both));
}

#[test]
fn what_a_graph_relies_on_is_not_written_until_it_is_gone() {
    let Some(module) = with_graphs() else { return };
    let device = module.device();
    let add = module.kernel("add_in_place").unwrap();
    let stream = Stream::new(&device).unwrap();
    let mut memory = DeviceBuffer::from_slice(&device, &[1u32; 64]).unwrap();
    let source = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    check(memory.as_slice()).unwrap();
    let graph = stream.capture(|stream| relying(stream, memory.as_slice())).unwrap();
    let (again, exec) = (graph.try_clone().unwrap(), graph.instantiate().unwrap());
    let mut parent = Graph::new(&device).unwrap();
    parent.add_child(&[], &graph).unwrap();
    let launched = Stream::new(&device).unwrap().capture(|stream| exec.launch(stream));
    // A runtime may not support capturing a launch of a graph.
    let launched = launched.ok();
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
fn a_part_is_relied_on_and_the_rest_of_its_allocation_is_written() {
    let Some(device) = graph_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut memory = DeviceBuffer::from_slice(&device, &[1u32; 64]).unwrap();
    let graph = stream.capture(|stream| relying(stream, memory.slice(8..16)?)).unwrap();
    stream.capture(|stream| memory.slice_mut(16..)?.fill_async(stream, 2)).unwrap();
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
fn memory_that_others_may_write_to_is_not_relied_on() {
    let Some(module) = with_graphs() else { return };
    let device = module.device();
    let memory = DeviceBuffer::<u32>::zeroed(&device, 4).unwrap();
    let tracked = Tracked::new();
    // SAFETY: 4 elements, which stay, and which nothing else uses.
    let view =
        unsafe { DeviceBuffer::<u32>::from_raw_parts_tracked(&device, memory.as_device_ptr(), 4, &tracked) }.unwrap();
    assert!(is_refused(check(view.as_slice())));
    drop(view);
    tracked.release(|| ());
}

/// A handle and a pool can query whether a graph may use their resources later.
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

/// An update that fails midway leaves a graph that uses memory of both.
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

/// A library handle has internal memory, which two concurrent calls would corrupt: calls on two streams of a capture
/// are ordered one after the other, and so are child graphs.
#[test]
fn branches_of_a_graph_do_not_use_a_handle_at_a_time() {
    let Some(device) = graph_device() else { return };
    let [first, second, third] = [(); 3].map(|()| Stream::new(&device).unwrap());
    let handle = Tracked::new();
    let mut memory = [(); 3].map(|()| DeviceBuffer::<u32>::zeroed(&device, 64).unwrap());
    let [one, two, three] = &mut memory;
    // A library call: it fills with the handle, or only reads through it.
    let call = |stream: &Stream, memory: &mut DeviceBuffer<u32>, reads: bool| {
        let mut uses = Uses::on(stream);
        if reads {
            uses.tracked_shared(&handle)
        } else {
            uses.tracked(&handle)
        }
        let to = uses.write("memory", &mut *memory)?;
        let bytes = 64 * size_of::<u32>();
        // SAFETY: memory of so many bytes, named.
        unsafe {
            uses.call(|raw| {
                let status = hip::sys::hipMemsetAsync(to.cast(), 1, bytes, raw);
                hip::Status::from(status).check("hipMemsetAsync", String::new)
            })
        }
    };
    // Returns whether one node depends on another, through any path.
    let follows = |graph: &Graph| {
        let (nodes, edges) = (graph.nodes().unwrap(), graph.edges().unwrap());
        let fills: Vec<_> = nodes.into_iter().filter(|node| node.kind() != NodeKind::Empty).collect();
        let reaches = |from: Node, to: Node| {
            let mut seen = vec![from];
            let mut index = 0;
            while let Some(&node) = seen.get(index) {
                let next: Vec<Node> =
                    edges.iter().filter(|edge| edge.0 == node && !seen.contains(&edge.1)).map(|edge| edge.1).collect();
                seen.extend(next);
                index += 1;
            }
            seen.contains(&to)
        };
        let pairs = fills.iter().flat_map(|&a| fills.iter().map(move |&b| (a, b)));
        pairs.filter(|&(a, b)| a != b && reaches(a, b)).count()
    };
    let fork = |streams: [&Stream; 2]| -> hip::Result<()> {
        for stream in streams {
            stream.wait_event(&first.record()?)?;
        }
        Ok(())
    };
    let join = |streams: [&Stream; 2]| -> hip::Result<()> {
        for stream in streams {
            first.wait_event(&stream.record()?)?;
        }
        Ok(())
    };
    let graph = first.capture(|_| {
        call(&first, one, false)?;
        fork([&second, &third])?;
        call(&second, two, false)?;
        call(&third, three, false)?;
        join([&second, &third])
    });
    assert_eq!(follows(&graph.unwrap()), 3, "each call after those before");
    let mut captured = |kinds: [bool; 3]| {
        first.capture(|_| {
            fork([&second, &third])?;
            call(&second, one, kinds[0])?;
            call(&third, two, kinds[1])?;
            call(&first, three, kinds[2])?;
            join([&second, &third])
        })
    };
    assert_eq!(follows(&captured([true; 3]).unwrap()), 0, "reads go beside each other");
    assert_eq!(follows(&captured([true, true, false]).unwrap()), 2, "a write comes after both reads");
    assert_eq!(follows(&captured([false, true, true]).unwrap()), 2, "both reads come after a write");
    let graph = captured([false; 3]).unwrap();
    graph.instantiate().unwrap().launch(&first).unwrap();
    // Graphs in a graph.
    let mut parent = Graph::new(&device).unwrap();
    let mut fill = DeviceBuffer::<u32>::zeroed(&device, 4).unwrap();
    parent.add_fill(&[], GraphFill::new(&mut fill, 1)).unwrap();
    let child = parent.add_child(&[], &graph).unwrap();
    assert_eq!(follows(&parent), 0, "nothing else uses the handle");
    parent.add_child(&[], &graph).unwrap();
    assert_eq!(follows(&parent), 2);
    let mut exec = parent.instantiate().unwrap();
    let refused = exec.set_child(child, &graph).unwrap_err();
    assert!(refused.to_string().contains("a handle of a library"), "{refused}");
    exec.launch(&first).unwrap();
    let mut line = Graph::new(&device).unwrap();
    let child = line.add_child(&[], &graph).unwrap();
    line.add_child(&[child], &graph).unwrap();
    assert_eq!(line.edges().unwrap().len(), 1, "no edge twice");
    supported(line.instantiate().unwrap().set_child(child, &graph));
    assert!(memory.iter().all(|memory| memory.to_vec().unwrap() == [0x0101_0101; 64]));
    drop((graph, parent, exec, line));
    handle.release(|| ());
}
