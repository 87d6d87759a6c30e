//! Graphs captured from streams: their content, calls that are rejected meanwhile, and the state after a failure.

use hip::interop::Uses;

use super::*;

#[test]
fn a_captured_stream_runs_when_its_graph_is_launched() {
    let Some(module) = with_graphs() else { return };
    let device = module.device();
    let (store, add) = (module.kernel("slow_store").unwrap(), module.kernel("add_in_place").unwrap());
    {
        let stream = Stream::new(&device).unwrap();
        let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
        let mut copy = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
        let graph = stream.capture(|stream| {
            assert!(stream.is_capturing()?);
            // SAFETY: 64 threads, 64 elements; u32 and int have the same bytes.
            unsafe {
                store.launch(stream, ONE, (&mut data, 100u32, 40u32))?;
                add.launch(stream, ONE, (&mut data, 2i32, 64u32))?;
            }
            copy.copy_from_device_async(stream, &data)
        });
        let graph = graph.unwrap();
        assert!(!stream.is_capturing().unwrap());
        assert_eq!(copy.to_vec().unwrap(), [0; 64], "nothing has run yet");
        let kinds: Vec<NodeKind> = graph.nodes().unwrap().iter().map(|node| node.kind()).collect();
        assert_eq!(kinds.iter().filter(|kind| **kind == NodeKind::Kernel).count(), 2, "{kinds:?}");
        assert_eq!(kinds.len(), 3, "{kinds:?}");
        assert_eq!(graph.edges().unwrap().len(), 2);
        let exec = graph.instantiate().unwrap();
        for _ in 0..3 {
            copy.fill(0).unwrap();
            exec.launch(&stream).unwrap();
            assert_eq!(copy.to_vec().unwrap(), [42; 64]);
        }
        // The stream is usable as before.
        data.fill_async(&stream, 1).unwrap();
        assert_eq!(data.to_vec().unwrap(), [1; 64]);
    }
}

/// A capture of a stream that is being captured says which thread captures it, and the first capture goes on.
#[test]
fn a_capture_in_a_capture_names_the_thread_that_captures() {
    let Some(device) = graph_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let again = || match stream.capture(|_| Ok(())) {
        Err(Error::Capture { reason }) => reason,
        other => panic!("{other:?}"),
    };
    let (mut own, mut other, mut call) = (String::new(), String::new(), String::new());
    let captured = thread::scope(|scope| {
        let captor = thread::Builder::new().name("captor".to_owned()).spawn_scoped(scope, || {
            stream.capture(|stream| {
                own = again();
                thread::scope(|scope| {
                    let refused = scope.spawn(|| (again(), stream.synchronize().unwrap_err().to_string()));
                    (other, call) = refused.join().unwrap();
                });
                data.fill_async(stream, 7)
            })
        });
        captor.unwrap().join().unwrap()
    });
    assert!(own.ends_with("is already being captured by this thread: end that capture first"), "{own}");
    assert!(other.contains("is already being captured by another thread (\"captor\")"), "{other}");
    assert!(call.contains("is captured by another thread (\"captor\")"), "{call}");
    captured.unwrap().instantiate().unwrap().launch(&stream).unwrap();
    assert_eq!(data.to_vec().unwrap(), [7; 64]);
}

/// The error of an allocation in the order of a captured stream names what allocates instead, and the capture goes on.
#[test]
fn an_allocation_on_a_captured_stream_names_what_allocates_instead() {
    let Some(device) = graph_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let pool = supported(MemoryPool::new(&device, PoolOptions::new()));
    let mut result = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let mut refused = Vec::new();
    let graph = stream.capture(|stream| {
        refused.push(DeviceBuffer::<u32>::uninit_async(stream, 64).unwrap_err());
        refused.push(DeviceBuffer::<u32>::zeroed_async(stream, 64).unwrap_err());
        refused.extend(pool.as_ref().map(|pool| pool.uninit_async::<u32>(stream, 64).unwrap_err()));
        let mut scratch = DeviceBuffer::<u32>::uninit(&device, 64)?;
        scratch.fill_async(stream, 7)?;
        result.copy_from_device_async(stream, &scratch)
    });
    for error in refused {
        let Error::Capture { reason } = &error else { panic!("{error:?}") };
        assert!(reason.contains("DeviceBuffer::uninit") && reason.contains("Graph::add_alloc"), "{reason}");
    }
    // The graph keeps the memory of `scratch`, which was dropped in the capture.
    let exec = graph.unwrap().instantiate().unwrap();
    for _ in 0..2 {
        result.fill(0).unwrap();
        exec.launch(&stream).unwrap();
        assert_eq!(result.to_vec().unwrap(), [7; 64]);
    }
}

#[test]
fn a_capture_that_fails_leaves_the_stream_well() {
    let Some(device) = graph_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let own = stream.capture(|stream| {
        data.fill_async(stream, 1)?;
        Err(Error::EventNotRecorded)
    });
    assert!(matches!(own, Err(Error::EventNotRecorded)));
    // A wait for work that is not running.
    let waits = stream.capture(Stream::synchronize);
    assert!(matches!(waits, Err(Error::Capture { .. })), "{waits:?}");
    let waits = stream.capture(|stream| stream.launch_host_function(|| ()));
    assert!(matches!(waits, Err(Error::Capture { .. })), "{waits:?}");
    // The runtime would execute these immediately, instead of capturing them.
    if let Ok(signal) = Signal::new(&device, 0) {
        let waits = stream.capture(|stream| stream.wait_signal(&signal, WaitCondition::Equal(0)));
        assert!(matches!(waits, Err(Error::Capture { .. })), "{waits:?}");
        let writes = stream.capture(|stream| stream.write_signal(&signal, 1));
        assert!(matches!(writes, Err(Error::Capture { .. })), "{writes:?}");
        stream.synchronize().unwrap();
        assert_eq!(signal.load().unwrap(), 0);
    }
    #[cfg(feature = "rocm-7-1")]
    {
        let other = DeviceBuffer::from_slice(&device, &[5u32; 64]).unwrap();
        let mut batch = hip::memory::CopyBatch::new();
        batch.on_device(&mut data, &other).unwrap();
        let copies = stream.capture(|stream| batch.queue(stream));
        assert!(matches!(copies, Err(Error::Capture { .. })), "{copies:?}");
        let mut batch = hip::memory::CopyBatch3d::new();
        batch.pitched(data.as_slice_mut().into_rows(8).unwrap(), other.as_slice().into_rows(8).unwrap()).unwrap();
        let copies = stream.capture(|stream| batch.queue(stream));
        assert!(matches!(copies, Err(Error::Capture { .. })), "{copies:?}");
        assert_eq!(data.to_vec().unwrap(), [0; 64]);
    }
    let nested = stream.capture(|stream| stream.capture(|_| Ok(())).map(drop));
    assert!(nested.is_err());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = stream.capture(|_| panic!("in a capture"));
    }));
    assert!(panicked.is_err());
    assert!(matches!(device.default_stream().capture(|_| Ok(())), Err(Error::Capture { .. })));
    // Another thread's work is not captured.
    let mixed = stream.capture(|stream| {
        let there = std::thread::scope(|scope| {
            let data = &mut data;
            scope.spawn(move || data.fill_async(stream, 3)).join().unwrap()
        });
        assert!(matches!(there, Err(Error::Capture { .. })), "{there:?}");
        Ok(())
    });
    mixed.unwrap();
    data.fill_async(&stream, 8).unwrap();
    assert_eq!(data.to_vec().unwrap(), [8; 64], "no capture has filled it, and the stream works");
}

#[test]
fn what_the_runtime_does_not_capture_is_an_error() {
    let Some(module) = with_graphs() else { return };
    let device = module.device();
    let (stream, store) = (Stream::new(&device).unwrap(), module.kernel("slow_store").unwrap());
    let add = module.kernel("add_in_place").unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let mut inner = Graph::new(&device).unwrap();
    inner.add_fill(&[], GraphFill::new(&mut data, 1)).unwrap();
    let inner = inner.instantiate().unwrap();
    let captured = |name: &str, body: &mut dyn FnMut(&Stream) -> hip::Result<()>| match stream.capture(body) {
        Ok(graph) => assert!(!graph.nodes().unwrap().is_empty(), "{name} was done at once, or not at all"),
        Err(Error::Capture { .. } | Error::NoSymbol { .. }) => {}
        Err(error) => assert!(matches!(error, Error::Unsupported { .. } | Error::Hip(_)), "{name}: {error}"),
    };
    captured("a launch of a graph", &mut |stream| inner.launch(stream));
    captured("an upload of a graph", &mut |stream| inner.upload(stream));
    // SAFETY: 64 threads, 64 elements; u32 and int have the same bytes.
    captured("a cooperative launch", &mut |stream| unsafe {
        add.launch_cooperative(stream, ONE, (&mut data, 2i32, 64u32))
    });
    #[cfg(feature = "rocm-7-0")]
    // SAFETY: as above.
    captured("a launch with attributes", &mut |stream| unsafe {
        add.launch_with(stream, ONE, hip::module::LaunchAttributes::new(), (&mut data, 2i32, 64u32))
    });
    // SAFETY: as above.
    captured("a launch", &mut |stream| unsafe { store.launch(stream, ONE, (&mut data, 100u32, 4u32)) });
    if let Ok(mut managed) = ManagedBuffer::<u32>::zeroed(&device, 64) {
        captured("a prefetch", &mut |stream| managed.prefetch_async(stream, MemoryLocation::Device(device)));
        captured("an attachment", &mut |stream| managed.attach_async(stream, MemoryAttach::Single));
    }
    if let Ok(second) = Device::get(1) {
        let there = DeviceBuffer::from_slice(&second, &[5u32; 64]).unwrap();
        captured("a copy from another device", &mut |stream| data.copy_from_device_async(stream, &there));
    }
    data.fill_async(&stream, 8).unwrap();
    assert_eq!(data.to_vec().unwrap(), [8; 64], "the stream works");
}

#[test]
fn a_capture_follows_events_to_other_streams_and_back() {
    let Some(device) = graph_device() else { return };
    let (first, second) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let (mut a, mut b) =
        (DeviceBuffer::<u32>::zeroed(&device, 64).unwrap(), DeviceBuffer::<u32>::zeroed(&device, 64).unwrap());
    // Work of the second stream that is not done yet when it joins.
    b.fill_async(&second, 1).unwrap();
    if hip::runtime_version().unwrap() < (6, 0, 0) {
        second.synchronize().unwrap(); // HIP 5.7 cannot wait for it during a capture
    }
    let (fork, join) = (Event::without_timing(&device).unwrap(), Event::without_timing(&device).unwrap());
    let graph = first.capture(|first| {
        fork.record(first)?;
        second.wait_event(&fork)?;
        a.fill_async(first, 2)?;
        b.fill_async(&second, 3)?;
        join.record(&second)?;
        first.wait_event(&join)
    });
    let graph = graph.unwrap();
    assert_eq!(graph.nodes().unwrap().len(), 2);
    assert!(matches!(fork.synchronize(), Err(Error::Capture { .. })));
    assert!(matches!(second.wait_event(&fork), Err(Error::Capture { .. })), "the graph is complete");
    assert_eq!((a.to_vec().unwrap()[0], b.to_vec().unwrap()[0]), (0, 1));
    graph.instantiate().unwrap().launch(&second).unwrap();
    assert_eq!((a.to_vec().unwrap()[63], b.to_vec().unwrap()[63]), (2, 3));
    b.fill_async(&second, 9).unwrap();
    assert_eq!(b.to_vec().unwrap(), [9; 64]);
}

#[test]
fn memory_that_goes_while_its_stream_is_captured_is_not_freed_by_the_graph() {
    let Some(device) = graph_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let scratch = DeviceBuffer::<u32>::zeroed_async(&stream, 64).unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let graph = stream.capture(|stream| {
        drop(scratch);
        data.fill_async(stream, 3)
    });
    let Some(graph) = supported(graph) else { return };
    let kinds: Vec<NodeKind> = graph.nodes().unwrap().iter().map(|node| node.kind()).collect();
    assert_eq!(kinds, [NodeKind::Fill]);
}

#[test]
fn copies_of_slices_are_refused_while_their_stream_is_captured() {
    let Some(device) = graph_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 4).unwrap();
    let captured = stream.capture(|stream| {
        let both = [data.copy_from_slice_on(stream, &[1; 4]), data.copy_to_slice_on(stream, &mut [1; 4])];
        assert!(both.iter().all(|result| matches!(result, Err(Error::Capture { .. }))), "{both:?}");
        assert!(DeviceBuffer::from_slice_on(stream, &[1u32]).is_err());
        Ok(())
    });
    captured.unwrap();
    assert_eq!(data.to_vec().unwrap(), [0; 4]);
}

/// What the part refers to may be gone when the graph is launched, such as an array of the library on its stack.
#[test]
fn a_graph_with_a_part_of_a_call_that_failed_is_discarded() {
    let Some(device) = graph_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut memory = DeviceBuffer::<u8>::zeroed(&device, 64).unwrap();
    let mut captured = |queues: bool| {
        stream.capture(|stream| {
            let mut uses = Uses::on(stream);
            let to = uses.write("the memory", &mut memory)?;
            // SAFETY: it queues at most a fill of the memory.
            let made: Result<(), Box<dyn std::error::Error>> = unsafe {
                uses.call(|raw| {
                    if queues {
                        assert_eq!(hip::sys::hipMemsetAsync(to.cast(), 1, 64, raw).0, 0);
                    }
                    Err("it failed".into())
                })
            };
            assert_eq!(made.unwrap_err().to_string(), "it failed");
            Ok(())
        })
    };
    let error = captured(true).unwrap_err();
    assert!(matches!(&error, Error::Capture { reason } if reason.contains("a part of its work")), "{error}");
    let whole = captured(false).unwrap();
    assert_eq!(whole.nodes().unwrap().len(), 0);
    memory.fill_async(&stream, 3).unwrap();
    assert_eq!(memory.to_vec().unwrap(), [3; 64]);
}
