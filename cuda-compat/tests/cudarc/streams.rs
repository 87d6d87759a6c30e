//! Order between streams, and what contexts hold.

use std::sync::Arc;

use cuda_compat::driver::sys::{CUevent_flags, CUfunc_cache, CUresult};
use cuda_compat::driver::{CudaContext, LaunchConfig, PushKernelArg};

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
