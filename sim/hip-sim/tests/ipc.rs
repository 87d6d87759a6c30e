//! Memory of other processes: this test program starts itself again, and the child opens the memory that the parent
//! shares.
#![cfg(target_os = "linux")]

mod common;

use std::process::Command;
use std::ptr::null_mut;

use common::*;
use hip_sys::rocm_7_2::*;

const FLAGS: u32 = 1;

fn share(ptr: *mut std::ffi::c_void) -> hipIpcMemHandle_t {
    let mut handle = hipIpcMemHandle_t::default();
    // SAFETY: a place for the result.
    ok(unsafe { hipIpcGetMemHandle(&mut handle, ptr) });
    handle
}

/// Runs `other_process` with a handle and returns its output.
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
                    // The child exits with the memory open while a kernel is running.
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

fn event_handle(event: hipEvent_t) -> hipIpcEventHandle_t {
    let mut handle = hipIpcEventHandle_t::default();
    // SAFETY: a place for the result.
    ok(unsafe { hipIpcGetEventHandle(&mut handle, event) });
    handle
}

fn shared_event() -> hipEvent_t {
    start();
    let mut event = null_mut();
    // SAFETY: a place for the result.
    ok(unsafe { hipEventCreateWithFlags(&mut event, hipEventInterprocess | hipEventDisableTiming) });
    event
}

/// The first process's kernel spins until this process has noticed that; this process's kernel is queued after it.
#[test]
#[ignore = "run by the others"]
fn other_process_with_event() {
    start();
    let handle = |name: &str| -> [u8; 64] {
        let hex = std::env::var(name).unwrap();
        std::array::from_fn(|index| u8::from_str_radix(&hex[2 * index..][..2], 16).unwrap())
    };
    let memory = hipIpcMemHandle_t { reserved: handle("IPC_HANDLE").map(|byte| byte as _) };
    let event = hipIpcEventHandle_t { reserved: handle("IPC_EVENT").map(|byte| byte as _) };
    let (mut data, mut theirs) = (null_mut(), null_mut());
    // SAFETY: all pointers are valid.
    unsafe {
        ok(hipIpcOpenMemHandle(&mut data, memory, FLAGS));
        ok(hipIpcOpenEventHandle(&mut theirs, event));
        assert_eq!(hipEventQuery(theirs), hipErrorNotReady, "their kernel spins");
        let s = stream(hipStreamNonBlocking);
        ok(hipStreamWaitEvent(s, theirs, 0));
        ok(launch!(kernel(load(GFX90A), "add_to_all"), [1; 3], [1; 3], s, (data, 1_i32, 100_i32)));
        assert_eq!(hipStreamQuery(s), hipErrorNotReady);
        match std::env::var("IPC_WHAT").unwrap().as_str() {
            // The other process ends in the middle: no thread waits for ever.
            "orphan" => {
                println!("@ready");
                ok(hipEventSynchronize(theirs));
                println!("@over");
            }
            _ => {
                // The other stream lets their kernel end.
                ok(hipMemcpy(data.byte_add(4), (&raw const ONE).cast(), 4, hipMemcpyHostToDevice));
                ok(hipEventSynchronize(theirs));
                ok(hipEventQuery(theirs));
                ok(hipStreamSynchronize(s));
                assert_eq!(download::<i32>(data, 1), [107], "behind their work");
                // The other direction.
                ok(hipEventRecord(theirs, s));
                ok(hipStreamSynchronize(s));
            }
        }
        ok(hipEventDestroy(theirs));
        ok(hipIpcCloseMemHandle(data));
    }
}

static ONE: i32 = 1;

fn with_event(memory: &hipIpcMemHandle_t, event: &hipIpcEventHandle_t, what: &str) -> Command {
    let hex =
        |bytes: &[std::ffi::c_char; 64]| bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect::<String>();
    let mut command = Command::new(std::env::args_os().next().unwrap());
    command.args(["--exact", "other_process_with_event", "--ignored", "--nocapture"]);
    command.env("IPC_HANDLE", hex(&memory.reserved)).env("IPC_EVENT", hex(&event.reserved)).env("IPC_WHAT", what);
    command
}

#[test]
fn an_event_orders_the_work_of_two_processes() {
    let (data, event, s) = (upload(&[0_i32, 0]), shared_event(), stream(hipStreamNonBlocking));
    let module = load(GFX90A);
    let (memory, handle) = (share(data), event_handle(event));
    // SAFETY: inside of the data.
    let flag = unsafe { data.byte_add(4) };
    // SAFETY: all pointers are valid.
    unsafe {
        ok(hipEventQuery(event));
        ok(launch!(kernel(module, "spin"), [1; 3], [1; 3], s, (flag)));
        ok(launch!(kernel(module, "add_to_all"), [1; 3], [1; 3], s, (data, 1_i32, 7_i32)));
        ok(hipEventRecord(event, s));
        let output = with_event(&memory, &handle, "order").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        ok(hipEventQuery(event));
        ok(hipEventSynchronize(event));
        assert_eq!(download::<i32>(data, 2), [107, 1]);
        ok(hipEventDestroy(event));
        ok(hipStreamDestroy(s));
    }
    free(data);
}

#[test]
fn an_event_of_a_process_that_ends_is_not_waited_for() {
    use std::io::{BufRead as _, BufReader};
    if let Ok(handles) = std::env::var("IPC_ORPHAN") {
        // Meanwhile, a process records an event after an endless kernel and is killed.
        assert_eq!(handles, "1");
        let (data, event, s) = (upload(&[0_i32, 0]), shared_event(), stream(hipStreamNonBlocking));
        // A memory handle is created only after all queued work has completed.
        let memory = share(malloc(4));
        ok(launch!(kernel(load(GFX90A), "spin"), [1; 3], [1; 3], s, (data)));
        // SAFETY: a live event on a live stream.
        ok(unsafe { hipEventRecord(event, s) });
        let mut other = with_event(&memory, &event_handle(event), "orphan");
        drop(other.spawn().unwrap());
        loop {
            std::thread::park();
        }
    }
    let mut command = Command::new(std::env::args_os().next().unwrap());
    command.args(["--exact", "an_event_of_a_process_that_ends_is_not_waited_for", "--nocapture"]);
    let mut first = command.env("IPC_ORPHAN", "1").stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("@ready")));
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(lines.any(|line| line.contains("@over")), "the second process goes on");
    lines.for_each(drop);
}

#[test]
fn events_that_make_no_sense_are_refused() {
    let (shared, own, bad) = (shared_event(), event(), hipErrorInvalidValue);
    let (mut handle, mut opened) = (hipIpcEventHandle_t::default(), null_mut());
    // SAFETY: all pointers are null or valid; the simulator checks the rest.
    unsafe {
        assert_eq!(hipIpcGetEventHandle(&mut handle, own), hipErrorInvalidConfiguration);
        assert_eq!(hipIpcGetEventHandle(null_mut(), shared), bad);
        assert_eq!(hipIpcGetEventHandle(&mut handle, null_mut()), bad);
        assert_eq!(hipIpcOpenEventHandle(&mut opened, handle), bad, "no handle");
        let good = event_handle(shared);
        assert_eq!(hipIpcOpenEventHandle(&mut opened, good), hipErrorInvalidContext, "its own process has it");
        assert_eq!(hipIpcOpenEventHandle(null_mut(), good), bad);
        let memory = hipIpcEventHandle_t { reserved: share(malloc(4)).reserved };
        assert_eq!(hipIpcOpenEventHandle(&mut opened, memory), bad, "a handle of memory");
        ok(hipEventDestroy(shared));
        ok(hipEventDestroy(own));
        hipGetLastError();
    }
}
