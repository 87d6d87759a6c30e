//! The order between streams, and the lifetime of contexts.

use std::sync::Arc;

use cuda_compat::driver::sys::{CUevent_flags, CUfunc_cache, CUresult};
use cuda_compat::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cuda_compat::nvrtc::Ptx;

use crate::{context, vector_add};

#[test]
fn work_on_another_stream_waits_for_the_slice() {
    let context = context();
    let kernel = context.load_module(vector_add()).unwrap().load_function("vector_add").unwrap();
    let (first, second) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let n = 1 << 16;
    for round in 0..20 {
        let a = first.clone_htod(&vec![round as f32; n]).unwrap();
        let mut c = first.alloc_zeros::<f32>(n).unwrap();
        for stream in [&first, &second, &first] {
            let b = stream.clone_dtod(&c).unwrap();
            let mut launch = stream.launch_builder(&kernel);
            launch.arg(&a).arg(&b).arg(&mut c).arg(&n);
            // SAFETY: the arguments are those of the kernel, which stays within.
            unsafe { launch.launch(LaunchConfig::for_num_elems(n as u32)) }.unwrap();
        }
        let sums = second.clone_dtoh(&c).unwrap();
        assert!(sums.iter().all(|sum| *sum == 3.0 * round as f32), "round {round}: {}", sums[0]);
    }
}

#[test]
fn handles_of_a_device_are_one_context() {
    let primary = context();
    let other = CudaContext::new_non_primary(0, 0).unwrap();
    assert!(primary.is_primary() && !other.is_primary());
    // Memory of the one is memory of the other.
    let slice = primary.default_stream().clone_htod(&[1_u8, 2, 3]).unwrap();
    assert_eq!(other.default_stream().clone_dtod(&slice).unwrap().context().ordinal(), 0);
    assert_eq!(Arc::strong_count(&other), 1);
}

#[test]
fn events_take_time_only_when_asked() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let timed = || stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).unwrap();
    let (start, end) = (timed(), timed());
    assert!(start.elapsed_ms(&end).unwrap() >= 0.0);
    let plain = stream.record_event(None).unwrap();
    assert_eq!(start.elapsed_ms(&plain).unwrap_err().0, CUresult::CUDA_ERROR_INVALID_HANDLE);
}

#[test]
fn the_preference_for_caches_is_an_enum() {
    let context = context();
    context.set_cache_config(CUfunc_cache::CU_FUNC_CACHE_PREFER_L1).unwrap();
    match context.get_cache_config().unwrap() {
        CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE
        | CUfunc_cache::CU_FUNC_CACHE_PREFER_SHARED
        | CUfunc_cache::CU_FUNC_CACHE_PREFER_L1
        | CUfunc_cache::CU_FUNC_CACHE_PREFER_EQUAL => {}
    }
}

/// The stream of a thread stays the same stream when it moves to another thread: its work stays in order.
#[test]
fn the_stream_of_a_thread_is_one_stream_everywhere() {
    let context = context();
    let stream = context.per_thread_stream();
    assert!(Arc::ptr_eq(&stream, &context.per_thread_stream()));
    const N: usize = 1 << 18;
    for round in 1..=10_u32 {
        let source = stream.clone_htod(&vec![round; N]).unwrap();
        let mut slice = stream.alloc_zeros::<u32>(N).unwrap();
        stream.memcpy_dtod(&source, &mut slice).unwrap();
        let moved = Arc::clone(&stream);
        let back = std::thread::spawn(move || {
            assert!(*moved.context().per_thread_stream() != *moved);
            moved.clone_dtoh(&slice).unwrap()
        });
        assert!(back.join().unwrap().iter().all(|&x| x == round));
    }
}

/// Two views of one variable are of the same memory: their uses are in order, on whatever streams.
#[test]
fn views_of_a_variable_are_in_order() {
    let context = context();
    let code = concat!(env!("CARGO_MANIFEST_DIR"), "/../hip/tests/kernels/globals.gfx90a.co");
    let Ok(module) = context.load_module(Ptx::from_file(code)) else { return }; // of another processor
    let (one, two) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    for round in 1..=20_u8 {
        let mut first = module.get_global("counters", &one).unwrap();
        let mut second = module.get_global("counters", &two).unwrap();
        let bytes = first.len();
        let source = one.clone_htod(&vec![round; bytes]).unwrap();
        one.memcpy_dtod(&source, &mut first).unwrap();
        assert!(two.clone_dtoh(&second).unwrap().iter().all(|&x| x == round));
        two.memset_zeros(&mut second).unwrap();
        assert!(one.clone_dtoh(&first).unwrap().iter().all(|&x| x == 0));
    }
}
