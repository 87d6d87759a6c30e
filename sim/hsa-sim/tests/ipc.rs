//! Interprocess memory and events, with HIP's handles, on the real runtimes.
#![cfg(target_os = "linux")]

mod support;

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use hip_sys::*;
use support::peer::{Peer, from_hex, hex, is_peer, serve};

const RUNTIMES: [(&str, &str); 3] =
    [("7.2", "libamdhip64.so.7"), ("6.4", "libamdhip64.so.6"), ("5.7", "libamdhip64.so.5")];
/// Not a whole number of pages.
const SIZE: usize = 100_001;

/// Runs `test` with each runtime in a separate process; false in that process.
fn elsewhere(test: &str) -> bool {
    if support::inside().is_some() {
        return false;
    }
    for (release, file) in RUNTIMES {
        support::run_on(release, &[file], test, &[("HIP_SIM_DEVICES", "2")]);
    }
    true
}

#[track_caller]
fn ok(status: hipError_t) {
    assert_eq!(status, hipSuccess);
}

/// A buffer of [`SIZE`] bytes on the second GPU, which hold `value`.
fn buffer(value: u8) -> *mut c_void {
    let mut buffer = null_mut();
    // SAFETY: a place for the pointer; the buffer has as many bytes.
    unsafe {
        ok(hipSetDevice(1));
        ok(hipMalloc(&mut buffer, SIZE));
        ok(hipMemset(buffer, c_int::from(value), SIZE));
        ok(hipDeviceSynchronize());
    }
    buffer
}

/// The bytes of a buffer.
fn bytes(buffer: *const c_void) -> Vec<u8> {
    let mut out = vec![0; SIZE];
    // SAFETY: both have as many bytes.
    ok(unsafe { hipMemcpy(out.as_mut_ptr().cast(), buffer, SIZE, hipMemcpyDeviceToHost) });
    out
}

fn memory_handle(buffer: *mut c_void) -> hipIpcMemHandle_t {
    // SAFETY: all zero is a value of the struct, which there is room for.
    unsafe {
        let mut handle: hipIpcMemHandle_t = std::mem::zeroed();
        ok(hipIpcGetMemHandle(&mut handle, buffer));
        handle
    }
}

fn open(handle: hipIpcMemHandle_t) -> Result<*mut c_void, hipError_t> {
    let mut buffer = null_mut();
    // hipIpcMemLazyEnablePeerAccess, whose value ROCm 6.0 changed.
    let lazy = u32::from(support::inside().is_some_and(|release| release != "5.7"));
    // SAFETY: a place for the pointer.
    match unsafe { hipIpcOpenMemHandle(&mut buffer, handle, lazy) } {
        status if status == hipSuccess => Ok(buffer),
        status => Err(status),
    }
}

/// The second process of the memory tests. `open HANDLE` reports the value of the memory and whether all of it is
/// equal; `fill VALUE` and `close` operate on that memory; `share` returns a handle of its own memory.
fn serve_memory() {
    let mut opened = null_mut();
    serve(|line| match line.split_once(' ') {
        Some(("open", handle)) => match open(from_hex(handle)) {
            Ok(buffer) => {
                opened = buffer;
                let bytes = bytes(buffer);
                let same = bytes.iter().all(|byte| *byte == bytes[0]);
                format!("{} {same}", bytes[0])
            }
            Err(status) => format!("error {}", status.0),
        },
        Some(("fill", value)) => {
            // SAFETY: the buffer has as many bytes. Filled by a kernel, not by the host.
            unsafe {
                ok(hipMemset(opened, value.parse().unwrap(), SIZE));
                ok(hipDeviceSynchronize());
            }
            "done".to_owned()
        }
        None if line == "close" => {
            // SAFETY: it was opened.
            ok(unsafe { hipIpcCloseMemHandle(opened) });
            "done".to_owned()
        }
        None if line == "share" => hex(&memory_handle(buffer(7))),
        _ => panic!("{line}"),
    });
}

/// Each process reads what the other has written, with kernels on both sides, and the memory outlives the process that
/// shared it.
#[test]
fn memory_is_shared() {
    if elsewhere("memory_is_shared") {
        return;
    }
    if is_peer() {
        return serve_memory();
    }
    let mut peer = Peer::start();
    let ours = buffer(1);
    let handle = memory_handle(ours);
    assert_eq!(peer.ask(&format!("open {}", hex(&handle))), "1 true");
    assert_eq!(peer.ask("fill 2"), "done");
    assert!(bytes(ours).iter().all(|byte| *byte == 2));
    assert_eq!(peer.ask("close"), "done");
    // Opened again, with its current contents.
    assert_eq!(peer.ask(&format!("open {}", hex(&memory_handle(ours)))), "2 true");
    // SAFETY: the other process still has the memory.
    ok(unsafe { hipFree(ours) });
    assert_eq!(peer.ask("fill 3"), "done");
    // In the other direction; the other process ends while we have its memory open.
    let theirs = open(from_hex(&peer.ask("share"))).unwrap();
    peer.end();
    assert!(bytes(theirs).iter().all(|byte| *byte == 7));
    // SAFETY: it was opened.
    ok(unsafe { hipIpcCloseMemHandle(theirs) });
}

/// Stale and damaged handles, and handles of this process, are errors on both sides. Nothing of them stays in the
/// system.
#[test]
fn bad_handles_are_errors() {
    if elsewhere("bad_handles_are_errors") {
        return;
    }
    if is_peer() {
        return serve_memory();
    }
    let mut peer = Peer::start();
    let ours = buffer(1);
    let handle = memory_handle(ours);
    // HIP itself returns this error.
    assert_eq!(open(handle), Err(hipErrorInvalidContext));
    let good = hex(&handle);
    // The first bytes are HSA's handle.
    for at in 0..32 {
        let mut bad = from_hex::<[u8; 64]>(&good);
        bad[at] ^= 0x10;
        let answer = peer.ask(&format!("open {}", hex(&bad)));
        assert!(answer.starts_with("error"), "byte {at}: {answer}");
    }
    assert_eq!(peer.ask(&format!("open {good}")), "1 true", "the process goes on");
    // No named file of theirs is left behind. (The names in that folder do not show which process they belong to.)
    for process in [std::process::id(), peer.child.id()] {
        let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
        assert!(maps.contains("/memfd:") && !maps.contains("/dev/shm/"), "{maps}");
    }
    assert_eq!(peer.ask("close"), "done");
    // SAFETY: nobody uses it.
    ok(unsafe { hipFree(ours) });
    let answer = peer.ask(&format!("open {good}"));
    assert!(answer.starts_with("error"), "memory that was freed: {answer}");
    let theirs: hipIpcMemHandle_t = from_hex(&peer.ask("share"));
    peer.child.kill().unwrap();
    peer.child.wait().unwrap();
    assert!(open(theirs).is_err(), "memory of a process that was killed");
    // SAFETY: a place for the handle; the pointer is the host's.
    unsafe {
        let (mut handle, mut word) = (std::mem::zeroed(), 0_u32);
        assert_ne!(hipIpcGetMemHandle(&mut handle, (&raw mut word).cast()), hipSuccess);
        assert_ne!(hipIpcGetMemHandle(&mut handle, null_mut()), hipSuccess);
    }
}

/// An event of one process is waited for in the other, by a stream and by the host.
#[test]
fn events_are_shared() {
    if elsewhere("events_are_shared") {
        return;
    }
    if is_peer() {
        let mut event = null_mut();
        serve(|line| {
            // SAFETY: places for the handles; the event was opened before it is used.
            unsafe {
                if let Some(("open", handle)) = line.split_once(' ') {
                    ok(hipIpcOpenEventHandle(&mut event, from_hex(handle)));
                } else {
                    let mut stream = null_mut();
                    ok(hipEventSynchronize(event));
                    ok(hipStreamCreate(&mut stream));
                    ok(hipStreamWaitEvent(stream, event, 0));
                    ok(hipStreamSynchronize(stream));
                    ok(hipEventQuery(event));
                }
            }
            "done".to_owned()
        });
        // SAFETY: it was opened.
        return ok(unsafe { hipEventDestroy(event) });
    }
    let mut peer = Peer::start();
    let (mut event, data) = (null_mut(), buffer(0));
    // SAFETY: places for the handles; the buffer has as many bytes.
    unsafe {
        ok(hipEventCreateWithFlags(&mut event, hipEventInterprocess | hipEventDisableTiming));
        let mut handle: hipIpcEventHandle_t = std::mem::zeroed();
        ok(hipIpcGetEventHandle(&mut handle, event));
        assert_eq!(peer.ask(&format!("open {}", hex(&handle))), "done");
        for round in 0..3 {
            ok(hipMemsetAsync(data, round, SIZE, null_mut()));
            ok(hipEventRecord(event, null_mut()));
            assert_eq!(peer.ask("wait"), "done");
        }
        peer.end();
        // HIP keeps events in files of its own, which some releases do not delete.
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let files = maps.lines().filter_map(|line| line.find("/dev/shm/hip_event").map(|at| &line[at..]));
        ok(hipEventDestroy(event));
        for file in files {
            // It may have been deleted already.
            let _ = std::fs::remove_file(file);
        }
    }
}
