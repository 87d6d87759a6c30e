//! Kernel failures. In a process of their own, one test at a time: other threads may receive a failure.

mod common;

use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::*;
use hip_sys::rocm_7_2::*;

fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    start();
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_bad_address_comes_back_from_the_next_synchronisation_with_its_story() {
    let _alone = alone();
    let module = load(GFX90A);
    let (store, add) = (kernel(module, "store_at"), kernel(module, "add_to_all"));
    let s = stream(hipStreamNonBlocking);
    let data = upload(&[0_i32; 64]);
    // SAFETY: no pointers but the kernels'.
    unsafe {
        hipGetLastError();
        ok(launch!(store, [1; 3], [1; 3], s, (data, 64_i64, 1_i32)));
        ok(launch!(add, [1; 3], [64, 1, 1], s, (data, 64_i32, 1_i32)));
        assert_eq!(hipStreamSynchronize(s), hipErrorIllegalAddress);
        let story = hip_sim::last_fault().unwrap();
        assert!(story.contains("store_at"), "{story}");
        assert!(story.contains("256 bytes of device memory"), "{story}");
        assert_eq!(hipGetLastError(), hipErrorIllegalAddress);
        assert_eq!(hipGetLastError(), hipSuccess);
        ok(hipStreamSynchronize(s));
        assert_eq!(download::<i32>(data, 64), [0; 64], "what was queued behind it was left out");
        ok(launch!(add, [1; 3], [64, 1, 1], s, (data, 64_i32, 1_i32)));
        ok(hipStreamSynchronize(s));
        assert_eq!(download::<i32>(data, 64), [1; 64], "the device goes on");
        ok(hipStreamDestroy(s));
    }
    free(data);
}

#[test]
fn freed_and_null_addresses_are_caught() {
    let _alone = alone();
    let store = kernel(load(GFX90A), "store_at");
    let data = malloc(4096);
    free(data);
    for ptr in [data, null_mut()] {
        ok(launch!(store, [1; 3], [1; 3], null_mut(), (ptr, 0_i64, 1_i32)));
        // SAFETY: no pointers.
        assert_eq!(unsafe { hipDeviceSynchronize() }, hipErrorIllegalAddress);
        let story = hip_sim::last_fault().unwrap();
        let wanted = if ptr.is_null() { "4 bytes at null" } else { "at byte 0 of freed 4096 bytes" };
        assert!(story.contains(wanted), "{story}");
    }
}

#[test]
fn hip_memcpy_tells_the_failure_of_a_kernel_before_it() {
    let _alone = alone();
    let store = kernel(load(GFX90A), "store_at");
    let s = stream(0);
    let data = upload(&[0_i32; 4]);
    let mut back = [9_i32; 4];
    ok(launch!(store, [1; 3], [1; 3], s, (data, -1_i64, 1_i32)));
    let mut copy = || {
        // SAFETY: 16 bytes on both sides.
        unsafe { hipMemcpy(back.as_mut_ptr().cast(), data, 16, hipMemcpyDeviceToHost) }
    };
    assert_eq!(copy(), hipErrorIllegalAddress);
    ok(copy());
    free(data);
}

#[test]
fn an_event_carries_the_failure_to_a_stream_that_waits_for_it() {
    let _alone = alone();
    let module = load(GFX90A);
    let (store, add) = (kernel(module, "store_at"), kernel(module, "add_to_all"));
    let (a, b) = (stream(hipStreamNonBlocking), stream(hipStreamNonBlocking));
    let e = event();
    let data = upload(&[0_i32; 64]);
    // SAFETY: no pointers but the kernels'.
    unsafe {
        ok(launch!(store, [1; 3], [1; 3], a, (data, 1_i64 << 40, 1_i32)));
        ok(hipEventRecord(e, a));
        ok(hipStreamWaitEvent(b, e, 0));
        ok(launch!(add, [1; 3], [64, 1, 1], b, (data, 64_i32, 1_i32)));
        assert_eq!(hipStreamSynchronize(b), hipErrorIllegalAddress);
        assert_eq!(hipEventSynchronize(e), hipErrorIllegalAddress);
        ok(hipStreamSynchronize(a));
    }
    assert_eq!(download::<i32>(data, 64), [0; 64]);
    free(data);
}

#[test]
fn a_reset_ends_everything_on_the_device() {
    let _alone = alone();
    let module = load(GFX90A);
    let (add, s, e) = (kernel(module, "add_to_all"), stream(0), event());
    let data = malloc(64);
    // SAFETY: dead handles and pointers, which each call must detect.
    unsafe {
        ok(hipDeviceReset());
        assert_eq!(hipFree(data), hipErrorInvalidValue);
        assert_eq!(hipStreamSynchronize(s), hipErrorContextIsDestroyed);
        assert_eq!(hipEventQuery(e), hipErrorInvalidHandle);
        assert_eq!(hipModuleUnload(module), hipErrorInvalidHandle);
        assert_eq!(launch!(add, [1; 3], [1; 3], null_mut(), (data, 1_i32, 1_i32)), hipErrorInvalidHandle);
        let (mut free_bytes, mut total) = (0, 0);
        ok(hipMemGetInfo(&mut free_bytes, &mut total));
        assert_eq!(free_bytes, total);
        ok(hipStreamSynchronize(hipStreamPerThread));
    }
    free(malloc(64));
}
