//! Memory of other processes: this test program, run again, opens what the first one shares.
#![cfg(target_os = "linux")]

mod common;

use std::process::Command;
use std::ptr::null_mut;

use common::*;
use hip_sys::*;

const FLAGS: u32 = if hip_sys::API_LEVEL.0 >= 6 { 1 } else { 0 };

fn share(ptr: *mut std::ffi::c_void) -> hipIpcMemHandle_t {
    let mut handle = hipIpcMemHandle_t::default();
    // SAFETY: a place for the result.
    ok(unsafe { hipIpcGetMemHandle(&mut handle, ptr) });
    handle
}

/// Runs `other_process` with a handle. What it prints.
#[track_caller]
fn other(handle: &hipIpcMemHandle_t, what: &str) -> String {
    let hex: String = handle.reserved.iter().map(|byte| format!("{:02x}", *byte as u8)).collect();
    let mut command = Command::new(std::env::args_os().next().unwrap());
    command.args(["--exact", "other_process", "--ignored", "--nocapture"]).envs([("IPC_HANDLE", hex.as_str())]);
    let output = command.env("IPC_WHAT", what).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    text
}

#[test]
#[ignore = "run by the others"]
fn other_process() {
    start();
    let mut handle = hipIpcMemHandle_t::default();
    let hex = std::env::var("IPC_HANDLE").unwrap();
    for (index, byte) in handle.reserved.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * index..][..2], 16).unwrap() as _;
    }
    let mut ptr = null_mut();
    // SAFETY: a place for the result.
    let status = unsafe { hipIpcOpenMemHandle(&mut ptr, handle, FLAGS) };
    match std::env::var("IPC_WHAT").unwrap().as_str() {
        "gone" => {
            assert_eq!(status, hipErrorInvalidDevicePointer);
            assert!(hip_sim::last_fault().unwrap().contains("is gone"));
        }
        what => {
            ok(status);
            let add = kernel(load(GFX90A), "add_to_all");
            let (mut base, mut size) = (null_mut(), 0);
            // SAFETY: the simulator checks the addresses.
            unsafe {
                ok(hipMemGetAddressRange(&mut base, &mut size, ptr));
                println!("@{size} {}", ptr.byte_offset_from(base));
                ok(launch!(add, [4, 1, 1], [256, 1, 1], null_mut(), (ptr, 1000_i32, 5_i32)));
                assert_eq!(hipMemset(ptr, 0, size + 1), hipErrorInvalidValue);
                ok(hipDeviceSynchronize());
                if what == "die" {
                    // With the memory open, and a kernel that does not end.
                    let (spin, flag) = (kernel(load(GFX90A), "spin"), upload(&[0_i32]));
                    ok(launch!(spin, [1; 3], [1; 3], stream(hipStreamNonBlocking), (flag)));
                    println!("1 passed");
                    std::process::exit(0);
                }
                assert_eq!(hipFree(base), hipErrorInvalidValue, "not hipMalloc's");
                assert_eq!(hipIpcGetMemHandle(&mut handle, ptr), hipErrorInvalidValue, "of this process alone");
                ok(hipIpcCloseMemHandle(ptr));
                assert_eq!(hipIpcCloseMemHandle(ptr), hipErrorInvalidValue);
                assert_eq!(hipMemset(ptr, 0, 4), hipErrorInvalidValue);
            }
        }
    }
}

#[test]
fn a_process_writes_to_the_memory_of_another() {
    let (data, beside) = (upload(&(0..1000).collect::<Vec<i32>>()), upload(&[3_i32; 1000]));
    let handle = share(data);
    assert!(other(&handle, "close").contains("@4000 0"));
    assert_eq!(download::<i32>(data, 1000), (5..1005).collect::<Vec<i32>>());
    // From here on the handle is the same, and so is the memory.
    assert_eq!(share(data).reserved, handle.reserved);
    assert!(other(&handle, "die").contains("@4000 0"));
    assert_eq!(download::<i32>(data, 1000), (10..1010).collect::<Vec<i32>>());
    assert_eq!(download::<i32>(beside, 1000), [3; 1000]);
    free(data);
    other(&handle, "gone");
    free(beside);
}

#[test]
fn a_handle_is_of_the_byte_that_was_asked_for() {
    let data = upload(&vec![0_i32; 5000]);
    // SAFETY: inside.
    let inside = share(unsafe { data.byte_add(400) });
    assert!(other(&inside, "close").contains("@20000 400"));
    let found = download::<i32>(data, 1101);
    assert!(found[..100].iter().all(|n| *n == 0) && found[100..1100].iter().all(|n| *n == 5) && found[1100] == 0);
    free(data);
}

#[test]
fn what_makes_no_sense_is_refused() {
    start();
    let (data, bad) = (malloc(100), hipErrorInvalidValue);
    let (mut handle, mut ptr, mut host) = (hipIpcMemHandle_t::default(), null_mut(), null_mut());
    // SAFETY: all pointers are null or valid; the simulator checks the rest.
    unsafe {
        assert_eq!(hipIpcGetMemHandle(null_mut(), data), bad);
        assert_eq!(hipIpcGetMemHandle(&mut handle, null_mut()), bad);
        ok(hipHostMalloc(&mut host, 100, 0));
        assert_eq!(hipIpcGetMemHandle(&mut handle, host), bad, "only device memory");
        ok(hipHostFree(host));
        let mut pooled = null_mut();
        ok(hipMallocAsync(&mut pooled, 100, null_mut()));
        assert_eq!(hipIpcGetMemHandle(&mut handle, pooled), bad, "a pool's");
        ok(hipFreeAsync(pooled, null_mut()));
        assert_eq!(hipIpcOpenMemHandle(&mut ptr, handle, FLAGS), bad, "no handle");
        let good = share(data);
        assert_eq!(hipIpcOpenMemHandle(&mut ptr, good, FLAGS), hipErrorInvalidContext, "its own process has it");
        assert_eq!(hipIpcOpenMemHandle(&mut ptr, good, 7), bad);
        assert_eq!(hipIpcOpenMemHandle(null_mut(), good, FLAGS), bad);
        let mut damaged = good;
        damaged.reserved[30] ^= 1;
        assert_eq!(hipIpcOpenMemHandle(&mut ptr, damaged, FLAGS), bad);
        assert_eq!(hipIpcCloseMemHandle(data), bad);
        assert_eq!(hipIpcCloseMemHandle(null_mut()), bad);
        hipGetLastError();
    }
    free(data);
}
