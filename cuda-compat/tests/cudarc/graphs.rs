//! Graphs keep the resources that they use, and do not use memory that may be freed or borrowed when they are launched.

use std::sync::{Arc, Barrier};

use cuda_compat::driver::sys::{CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode};
use cuda_compat::driver::{CudaContext, CudaGraph, CudaStream, DriverError};

use crate::{context, vector_add};

const N: usize = 1 << 12;

/// Captures a graph of the work that `body` queues.
pub(crate) fn captured(stream: &Arc<CudaStream>, body: impl FnOnce() -> Result<(), DriverError>) -> CudaGraph {
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
    body().unwrap();
    stream.end_capture(CUgraphInstantiate_flags(0)).unwrap().unwrap()
}

fn is_refused<T>(result: Result<T, DriverError>) -> bool {
    result.is_err_and(|error| error.0 == CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
}

#[test]
fn memory_of_the_host_is_not_captured() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let mut slice = stream.clone_htod(&[1_u32; N]).unwrap();
    let mut host = vec![5_u32; N];
    // SAFETY: the elements are set before they are read.
    let mut pinned = unsafe { context.alloc_pinned::<u32>(N) }.unwrap();
    let graph = captured(&stream, || {
        assert!(is_refused(stream.memcpy_htod(&host, &mut slice)));
        assert!(is_refused(stream.memcpy_dtoh(&slice, &mut host)));
        assert!(is_refused(stream.memcpy_htod(&pinned, &mut slice)));
        assert!(is_refused(stream.memcpy_dtoh(&slice, &mut pinned)));
        assert!(is_refused(stream.clone_dtoh(&slice)));
        stream.memset_zeros(&mut slice)
    });
    // No refusal is returned by another call.
    context.check_err().unwrap();
    drop((host, pinned));
    graph.launch().unwrap();
    assert_eq!(stream.clone_dtoh(&slice).unwrap(), [0; N]);
}

#[test]
fn memory_lives_as_long_as_graphs_that_use_it() {
    let context = context();
    let stream = context.new_stream().unwrap();
    for launch_first in [false, true] {
        let mut victim = stream.clone_htod(&[1_u8; N]).unwrap();
        let source = stream.clone_htod(&[3_u8; N]).unwrap();
        let graph = captured(&stream, || {
            stream.memset_zeros(&mut victim)?;
            stream.memcpy_dtod(&source, &mut victim)
        });
        if launch_first {
            graph.launch().unwrap();
            assert_eq!(stream.clone_dtoh(&victim).unwrap(), [3; N]);
        }
        drop((victim, source));
        stream.synchronize().unwrap();
        let others: Vec<_> = (0..8).map(|_| stream.clone_htod(&[7_u8; N]).unwrap()).collect();
        graph.launch().unwrap();
        stream.synchronize().unwrap();
        assert!(others.iter().all(|other| stream.clone_dtoh(other).unwrap() == [7; N]));
        drop(graph);
        context.synchronize().unwrap();
    }
    context.check_err().unwrap();
}

#[test]
fn launches_are_in_order_with_other_streams() {
    let context = context();
    let (stream, other) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let mut slice = stream.clone_htod(&vec![1_u32; 1 << 18]).unwrap();
    let source = stream.clone_htod(&vec![2_u32; 1 << 18]).unwrap();
    let graph = captured(&stream, || stream.memcpy_dtod(&source, &mut slice));
    for _ in 0..10 {
        other.memset_zeros(&mut slice).unwrap();
        graph.launch().unwrap();
        assert!(other.clone_dtoh(&slice).unwrap().iter().all(|&x| x == 2));
    }
}

#[test]
fn code_lives_as_long_as_graphs_that_use_it() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let (a, b) = (stream.clone_htod(&[1.0_f32; 64]).unwrap(), stream.clone_htod(&[2.0_f32; 64]).unwrap());
    let mut c = stream.alloc_zeros::<f32>(64).unwrap();
    let graph = {
        let kernel = context.load_module(vector_add()).unwrap().load_function("vector_add").unwrap();
        captured(&stream, || {
            let mut launch = stream.launch_builder(&kernel);
            use cuda_compat::driver::PushKernelArg as _;
            launch.arg(&a).arg(&b).arg(&mut c).arg(&64_u32);
            let config =
                cuda_compat::driver::LaunchConfig { grid_dim: (1, 1, 1), block_dim: (64, 1, 1), shared_mem_bytes: 0 };
            // SAFETY: 64 threads and elements.
            unsafe { launch.launch(config) }.map(drop)
        })
    };
    drop((a, b));
    graph.launch().unwrap();
    assert_eq!(stream.clone_dtoh(&c).unwrap(), [3.0; 64]);
}

/// Memory that is allocated in a capture exists before the first launch.
#[test]
fn memory_is_allocated_beside_a_capture() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let mut slice = None;
    let graph = captured(&stream, || stream.alloc_zeros::<u32>(N).map(|new| slice = Some(new)));
    let mut slice = slice.unwrap();
    assert_eq!(stream.clone_dtoh(&slice).unwrap(), [0; N]);
    stream.memcpy_htod(&[4_u32; N], &mut slice).unwrap();
    graph.launch().unwrap();
    assert_eq!(stream.clone_dtoh(&slice).unwrap(), [0; N]);
    drop(slice);
    graph.launch().unwrap();
    stream.synchronize().unwrap();
    drop(graph);
    context.check_err().unwrap();
}

fn goes_on(context: &Arc<CudaContext>) {
    let stream = context.new_stream().unwrap();
    let slice = stream.clone_htod(&[9_u8; 16]).unwrap();
    assert_eq!(stream.clone_dtoh(&slice).unwrap(), [9; 16]);
}

#[test]
fn a_capture_that_fails_or_is_forgotten_leaves_no_trace() {
    let context = context();
    let stream = context.new_stream().unwrap();
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
    assert!(stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).is_err());
    let _ = stream.end_capture(CUgraphInstantiate_flags(0));
    assert!(stream.end_capture(CUgraphInstantiate_flags(0)).is_err());
    let forgotten = context.new_stream().unwrap();
    forgotten.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
    drop(forgotten);
    // The capture has recorded work, so it keeps memory of its stream.
    let forgotten = context.new_stream().unwrap();
    let mut slice = forgotten.clone_htod(&[1_u32; N]).unwrap();
    forgotten.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
    forgotten.memset_zeros(&mut slice).unwrap();
    drop((slice, forgotten));
    context.synchronize().unwrap();
    goes_on(&context);
}

#[test]
fn the_module_of_a_variable_lives_as_long_as_graphs_that_use_it() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let code = concat!(env!("CARGO_MANIFEST_DIR"), "/../hip/tests/kernels/globals.gfx90a.co");
    let Ok(module) = context.load_module(cuda_compat::nvrtc::Ptx::from_file(code)) else { return }; // of another processor
    let graph = captured(&stream, || {
        let mut counters = module.get_global("counters", &stream)?;
        stream.memset_zeros(&mut counters)
    });
    drop(module);
    let others: Vec<_> = (0..16).map(|_| stream.clone_htod(&[7_u8; 256]).unwrap()).collect();
    graph.launch().unwrap();
    stream.synchronize().unwrap();
    assert!(others.iter().all(|other| stream.clone_dtoh(other).unwrap() == [7; 256]));
}

/// A call that does not end the capture does not drop the resources that its graph must keep.
#[test]
fn a_capture_goes_on_after_a_refused_end() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let mut victim = stream.clone_htod(&[1_u8; N]).unwrap();
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
    stream.memset_zeros(&mut victim).unwrap();
    let end = || stream.end_capture(CUgraphInstantiate_flags(0));
    assert!(std::thread::scope(|scope| scope.spawn(|| end().is_err()).join().unwrap()));
    let graph = end().unwrap().unwrap();
    drop(victim);
    stream.synchronize().unwrap();
    let others: Vec<_> = (0..8).map(|_| stream.clone_htod(&[7_u8; N]).unwrap()).collect();
    graph.launch().unwrap();
    stream.synchronize().unwrap();
    assert!(others.iter().all(|other| stream.clone_dtoh(other).unwrap() == [7; N]));
}

/// Contexts, first streams, and waits for the device and its default stream: all of them end captures in HIP.
#[test]
fn waits_of_other_threads_leave_captures_alone() {
    const MODES: [CUstreamCaptureMode; 3] = [
        CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL,
        CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED,
    ];
    const ROUNDS: usize = 30;
    let start = Barrier::new(4);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let start = &start;
            scope.spawn(move || {
                let context = context();
                let stream = context.new_stream().unwrap();
                let mut slice = stream.clone_htod(&[1_u32; N]).unwrap();
                start.wait();
                for round in 0..ROUNDS {
                    stream.begin_capture(MODES[(round + thread) % 3]).unwrap();
                    stream.memset_zeros(&mut slice).unwrap();
                    std::thread::yield_now();
                    let graph = stream.end_capture(CUgraphInstantiate_flags(0)).unwrap().unwrap();
                    stream.memcpy_htod(&[round as u32 + 1; N], &mut slice).unwrap();
                    graph.launch().unwrap();
                    assert_eq!(stream.clone_dtoh(&slice).unwrap(), [0; N]);
                }
                context.check_err().unwrap();
            });
        }
        let start = &start;
        scope.spawn(move || {
            start.wait();
            for _ in 0..ROUNDS {
                let context = context();
                let own = context.default_stream().clone_htod(&[7_u32; N]).unwrap();
                let stream = context.new_stream().unwrap();
                assert_eq!(stream.clone_dtoh(&own).unwrap(), [7; N]);
                context.synchronize().unwrap();
            }
        });
        scope.spawn(move || {
            let context = context();
            let stream = context.default_stream();
            start.wait();
            for round in 0..ROUNDS as u32 {
                let slice = stream.clone_htod(&vec![round; N]).unwrap();
                stream.synchronize().unwrap();
                assert_eq!(stream.clone_dtoh(&slice).unwrap(), [round; N]);
            }
            context.check_err().unwrap();
        });
    });
}

#[test]
fn a_thread_that_captures_uses_its_default_stream() {
    let context = context();
    let (stream, default) = (context.new_stream().unwrap(), context.default_stream());
    let mut slice = stream.clone_htod(&[1_u32; N]).unwrap();
    let other = default.clone_htod(&[2_u32; N]).unwrap();
    let graph = captured(&stream, || {
        stream.memset_zeros(&mut slice)?;
        assert_eq!(default.clone_dtoh(&other)?, [2; N]);
        default.synchronize()?;
        // It would wait for itself.
        assert!(is_refused(context.synchronize()));
        // The first stream of a context.
        let fresh = crate::context();
        assert_eq!(fresh.new_stream()?.clone_dtoh(&other)?, [2; N]);
        Ok(())
    });
    graph.launch().unwrap();
    assert_eq!(stream.clone_dtoh(&slice).unwrap(), [0; N]);
    context.check_err().unwrap();
}

/// As in CUDA, the thread that begins a capture also ends it, except in relaxed mode.
#[test]
fn captures_are_ended_by_their_thread() {
    let context = context();
    for (mode, refused) in [
        (CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL, true),
        (CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, true),
        (CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED, false),
    ] {
        let stream = context.new_stream().unwrap();
        let mut slice = stream.clone_htod(&[1_u8; N]).unwrap();
        stream.begin_capture(mode).unwrap();
        stream.memset_zeros(&mut slice).unwrap();
        let end = || stream.end_capture(CUgraphInstantiate_flags(0));
        let launch = || end().map(|graph| graph.unwrap().launch().unwrap());
        let elsewhere = std::thread::scope(|scope| scope.spawn(launch).join().unwrap());
        if refused {
            assert_eq!(elsewhere.unwrap_err().0, CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
            launch().unwrap();
        }
        assert_eq!(stream.clone_dtoh(&slice).unwrap(), [0; N]);
    }
}

/// HIP refuses waits for events of earlier work while their stream is captured.
#[test]
fn memory_of_earlier_work_is_freed_and_used_during_a_capture() {
    let context = context();
    let (stream, other) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let mut slice = stream.clone_htod(&[1_u32; N]).unwrap();
    let mut shared = other.clone_htod(&[2_u32; N]).unwrap();
    let gone = other.clone_htod(&[3_u32; N]).unwrap();
    for used in [&gone, &shared] {
        stream.memcpy_dtod(used, &mut slice).unwrap();
    }
    let graph = captured(&stream, || {
        drop(gone);
        other.memset_zeros(&mut shared)?;
        assert_eq!(other.clone_dtoh(&shared)?, [0; N]);
        stream.memset_zeros(&mut slice)
    });
    assert_eq!(stream.clone_dtoh(&slice).unwrap(), [2; N]);
    graph.launch().unwrap();
    assert_eq!(stream.clone_dtoh(&slice).unwrap(), [0; N]);
    context.check_err().unwrap();
}

/// A wait for a captured stream invalidates the capture. HIP would use freed nodes if it was captured again.
#[test]
fn a_stream_whose_capture_was_invalidated_is_not_captured_again() {
    const RELAXED: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    let context = context();
    let stream = context.new_stream().unwrap();
    let mut slice = stream.clone_htod(&[1_u32; N]).unwrap();
    stream.begin_capture(RELAXED).unwrap();
    stream.memset_zeros(&mut slice).unwrap();
    assert!(stream.synchronize().is_err());
    let again = || stream.begin_capture(RELAXED).unwrap_err().0;
    assert_eq!(again(), CUresult::CUDA_ERROR_ILLEGAL_STATE);
    assert!(stream.end_capture(CUgraphInstantiate_flags(0)).is_err());
    assert_eq!(again(), CUresult::CUDA_ERROR_ILLEGAL_STATE);
    drop(slice);
    // Nothing is left of the capture.
    context.synchronize().unwrap();
    let stream = context.new_stream().unwrap();
    let mut slice = stream.clone_htod(&[1_u32; N]).unwrap();
    captured(&stream, || stream.memset_zeros(&mut slice)).launch().unwrap();
    assert_eq!(stream.clone_dtoh(&slice).unwrap(), [0; N]);
}
