//! Concurrent use from several threads.

use hip::{Device, DeviceBuffer, Event, Graph, Kernel, LaunchConfig, Module, PinnedBuffer, Stream};

use crate::{device, module, supported};

fn send_and_sync<T: Send + Sync>() {}

#[test]
fn everything_can_be_shared() {
    send_and_sync::<Device>();
    send_and_sync::<Stream>();
    send_and_sync::<Event>();
    send_and_sync::<DeviceBuffer<f32>>();
    send_and_sync::<PinnedBuffer<f32>>();
    send_and_sync::<hip::DeviceSlice<'static, f32>>();
    send_and_sync::<hip::DeviceSliceMut<'static, f32>>();
    send_and_sync::<Module>();
    send_and_sync::<Kernel>();
    send_and_sync::<hip::Error>();
}

#[test]
fn threads_share_kernels_streams_and_inputs() {
    let Some(module) = module() else { return };
    let device = module.device();
    let kernel = module.kernel("vector_add").unwrap();
    let n = 4096;
    let ones = DeviceBuffer::from_slice(&device, &vec![1.0f32; n]).unwrap();
    let shared_stream = Stream::new(&device).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8usize {
            let (kernel, ones, shared_stream) = (&kernel, &ones, &shared_stream);
            scope.spawn(move || {
                let own = Stream::new(&device).unwrap();
                let stream = if thread % 2 == 0 { shared_stream } else { &own };
                for round in 0..10 {
                    let mine = vec![(thread * 100 + round) as f32; n];
                    let a = DeviceBuffer::from_slice(&device, &mine).unwrap();
                    let mut c = DeviceBuffer::<f32>::uninit(&device, n).unwrap();
                    // SAFETY: three buffers of n floats.
                    unsafe { kernel.launch(stream, LaunchConfig::for_elements(n, 256), (&a, ones, &mut c, n as u32)) }
                        .unwrap();
                    drop(a);
                    assert!(c.to_vec().unwrap().iter().all(|&x| x == mine[0] + 1.0));
                }
            });
        }
    });
}

#[test]
fn halves_of_a_buffer_are_written_by_two_threads() {
    let Some(module) = module() else { return };
    let device = module.device();
    let add = module.kernel("add_in_place").unwrap();
    let n = 1024;
    let mut data = DeviceBuffer::<i32>::zeroed(&device, 2 * n).unwrap();
    {
        let mut all = data.as_slice_mut();
        let (low, high) = all.split_at_mut(n).unwrap();
        std::thread::scope(|scope| {
            for (mut half, value) in [(low, 1i32), (high, 2)] {
                let add = &add;
                scope.spawn(move || {
                    let stream = Stream::new(&device).unwrap();
                    for _ in 0..20 {
                        // SAFETY: n elements, and the kernel checks against n.
                        unsafe {
                            add.launch(&stream, LaunchConfig::for_elements(n, 256), (&mut half, value, n as u32))
                        }
                        .unwrap();
                    }
                    // The stream is dropped while its work is queued; the buffer still tracks it.
                });
            }
        });
    }
    let data = data.to_vec().unwrap();
    assert!(data[..n].iter().all(|&x| x == 20) && data[n..].iter().all(|&x| x == 40));
}

#[test]
fn an_event_recorded_by_two_threads_loses_no_work() {
    let Some(module) = module() else { return };
    let device = module.device();
    let slow = module.kernel("slow_store").unwrap();
    let event = Event::without_timing(&device).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let (slow, event) = (&slow, &event);
            scope.spawn(move || {
                let stream = Stream::new(&device).unwrap();
                for round in 0..10 {
                    let mut out = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
                    // SAFETY: 64 threads, 64 elements.
                    unsafe {
                        slow.launch(&stream, LaunchConfig::new(1, 64), (&mut out, 2000u32, thread * 100 + round))
                    }
                    .unwrap();
                    event.record(&stream).unwrap();
                    // The wait may be for another thread's mark, which must not count as the end of this thread's work.
                    event.synchronize().unwrap();
                    assert_eq!(out.to_vec().unwrap(), [thread * 100 + round; 64]);
                }
            });
        }
    });
}

/// HIP 5.7 passed launches the arguments of graphs that were created at the same time.
#[test]
fn launches_and_graphs_of_one_kernel_keep_their_arguments_apart() {
    let Some(module) = module() else { return };
    let device = module.device();
    let add = &module.kernel("add_in_place").unwrap();
    let n = 64;
    let config = LaunchConfig::for_elements(n, 64);
    let work = |by_graph: bool| {
        let stream = Stream::new(&device).unwrap();
        let mut data = DeviceBuffer::<i32>::zeroed(&device, n).unwrap();
        for value in 1..=200i32 {
            let args = (&mut data, value, n as u32);
            if by_graph {
                let Some(mut graph) = supported(Graph::new(&device)) else { return };
                // SAFETY: n elements, and the kernel checks against it.
                unsafe { graph.add_kernel(&[], add, config, args) }.unwrap();
                graph.instantiate().unwrap().launch(&stream).unwrap();
            } else {
                // SAFETY: as above.
                unsafe { add.launch(&stream, config, args) }.unwrap();
            }
        }
        assert_eq!(data.to_vec().unwrap(), vec![200 * 201 / 2; n]);
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || work(thread % 2 == 0));
        }
    });
}

/// HIP drops its thread-local data before the thread's own data, if that was created first.
#[test]
fn what_a_thread_has_for_itself_may_end_with_it() {
    thread_local! {
        static MINE: std::cell::RefCell<Option<(Stream, DeviceBuffer<i32>, Probe)>> =
            const { std::cell::RefCell::new(None) };
    }
    struct Probe(Device, std::sync::mpsc::Sender<hip::Result<Stream>>);
    impl Drop for Probe {
        fn drop(&mut self) {
            self.1.send(Stream::new(&self.0)).unwrap();
        }
    }
    let Some(device) = device() else { return };
    for _ in 0..50 {
        let (sender, made_at_the_end) = std::sync::mpsc::channel();
        let end = || {
            MINE.with_borrow_mut(|mine| {
                let stream = Stream::new(&device).unwrap();
                let mut data = DeviceBuffer::zeroed(&device, 64).unwrap();
                data.fill_async(&stream, 1).unwrap();
                *mine = Some((stream, data, Probe(device, sender)));
            });
        };
        std::thread::scope(|scope| scope.spawn(end).join().unwrap());
        let refused = made_at_the_end.recv().unwrap();
        assert!(matches!(refused, Err(hip::Error::ThreadEnding)), "{refused:?}");
    }
    // Resources of the threads are freed now.
    device.synchronize().unwrap();
}
