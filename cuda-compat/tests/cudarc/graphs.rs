//! Graphs keep the resources that they use, and do not use memory that may be freed or borrowed when they are launched.

use std::sync::Arc;

use cuda_compat::driver::sys::{CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode};
use cuda_compat::driver::{CudaContext, CudaGraph, CudaStream, DriverError};

use crate::{context, vector_add};

const N: usize = 1 << 12;

/// Captures a graph of the work that `body` queues. `body` is called again if a wait for the device in another test's
/// thread has ended the capture.
pub(crate) fn captured(stream: &Arc<CudaStream>, mut body: impl FnMut() -> Result<(), DriverError>) -> CudaGraph {
    loop {
        stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
        let queued = body();
        if let (Ok(()), Ok(Some(graph))) = (queued, stream.end_capture(CUgraphInstantiate_flags(0))) {
            return graph;
        }
    }
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
    let elsewhere = std::thread::scope(|scope| {
        let end = || stream.end_capture(CUgraphInstantiate_flags(0)).map(|graph| graph.map(drop));
        scope.spawn(end).join().unwrap()
    });
    // A runtime may end the capture nevertheless.
    if elsewhere.is_ok() {
        return;
    }
    let Ok(Some(graph)) = stream.end_capture(CUgraphInstantiate_flags(0)) else { return };
    drop(victim);
    stream.synchronize().unwrap();
    let others: Vec<_> = (0..8).map(|_| stream.clone_htod(&[7_u8; N]).unwrap()).collect();
    graph.launch().unwrap();
    stream.synchronize().unwrap();
    assert!(others.iter().all(|other| stream.clone_dtoh(other).unwrap() == [7; N]));
}
