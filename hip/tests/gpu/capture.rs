//! Blocking calls while a stream is captured, in the capture and in other threads.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use hip::{Device, DeviceBuffer, Error, Event, Graph, Module, Result, Stream};

use crate::capture_calls::each_call;
use crate::{SetOnDrop, Watchdog, device, kernels};

/// The device, if graphs are supported.
fn graphs() -> Option<Device> {
    let device = device()?;
    crate::supported(Graph::new(&device)).map(|_| device)
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
    // Calls that the backend does not support at all may fail too.
    assert!(unexpected.iter().all(|(_, error)| error.contains("upport")), "{unexpected:?}");
    assert!(refused.iter().all(|what| names.contains(what)), "{names:?}");
}

/// Counts running threads: when the last one ends, also by a panic, the others stop.
struct Counted<'a> {
    left: &'a AtomicU32,
    stop: &'a AtomicBool,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.stop.store(true, Ordering::SeqCst);
        }
    }
}

/// Threads that share nothing: some capture, each on its own streams; others copy to and from their own buffers.
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
                let _counted = Counted { left, stop };
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

/// Runs `capture` repeatedly while another thread queues work on the stream: that work is either rejected or done, but
/// never lost.
fn nothing_is_lost(device: Device, stream: &Stream, mut capture: impl FnMut() -> Result<()> + Send) {
    const ROUNDS: u32 = 300;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let capturing = scope.spawn(|| {
            let _stop = SetOnDrop(&stop);
            (0..ROUNDS).try_for_each(|_| capture())
        });
        let (mut done, mut round) = (0, 0);
        let other = Stream::new(&device).unwrap();
        let mut data = DeviceBuffer::<u32>::zeroed(&device, 1 << 10).unwrap();
        let mut copy = DeviceBuffer::<u32>::zeroed(&device, 1 << 10).unwrap();
        // At least once after the captures are over.
        while !stop.load(Ordering::SeqCst) || done == 0 {
            round += 1;
            match data.fill_async(stream, round) {
                Err(Error::Capture { .. }) => continue,
                other => other.unwrap(),
            }
            // It was queued, so this must succeed, on another stream that no other thread uses.
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
