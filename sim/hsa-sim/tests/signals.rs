//! Interprocess signals: each process can wait for the other's stores, and destroying one does not affect the other.
#![cfg(target_os = "linux")]

mod support;

use std::ffi::c_void;
use std::ptr::null;
use std::sync::atomic::{AtomicI64, Ordering};

use hsa_sim::abi::*;
use libloading::os::unix::{Library, Symbol};
use support::peer::{Peer, from_hex, hex, is_peer, serve};

type Handle = [u32; 8];
/// `HSA_SIGNAL_CONDITION_EQ`, and the other arguments of `hsa_signal_wait_*`.
const EQ: u32 = 0;
const LONG: u64 = 60_000_000_000;

/// The library, started.
struct Hsa(Library);

impl Hsa {
    fn open() -> Self {
        // SAFETY: loading it starts nothing.
        let hsa = Self(unsafe { Library::new(support::library()) }.unwrap());
        // SAFETY: the type is that of hsa.h.
        assert_eq!(unsafe { hsa.get::<unsafe extern "C" fn() -> hsa_status_t>("hsa_init")() }, HSA_STATUS_SUCCESS);
        hsa
    }

    /// A function; the caller vouches for its type.
    unsafe fn get<T>(&self, name: &str) -> Symbol<T> {
        // SAFETY: as the caller vouches.
        unsafe { self.0.get(name.as_bytes()) }.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn create(&self, value: i64, attributes: u64) -> hsa_signal_t {
        type Create = unsafe extern "C" fn(i64, u32, *const c_void, u64, *mut hsa_signal_t) -> hsa_status_t;
        let mut signal = hsa_signal_t::default();
        // SAFETY: the type is that of hsa_ext_amd.h.
        let status = unsafe { self.get::<Create>("hsa_amd_signal_create")(value, 0, null(), attributes, &mut signal) };
        assert_eq!(status, HSA_STATUS_SUCCESS);
        signal
    }

    fn share(&self, signal: hsa_signal_t) -> Result<Handle, hsa_status_t> {
        let mut handle = Handle::default();
        // SAFETY: the type is that of hsa_ext_amd.h.
        let status = unsafe {
            self.get::<unsafe extern "C" fn(hsa_signal_t, *mut Handle) -> hsa_status_t>("hsa_amd_ipc_signal_create")(
                signal,
                &mut handle,
            )
        };
        if status == HSA_STATUS_SUCCESS { Ok(handle) } else { Err(status) }
    }

    fn attach(&self, handle: &Handle) -> Result<hsa_signal_t, hsa_status_t> {
        let mut signal = hsa_signal_t::default();
        // SAFETY: the type is that of hsa_ext_amd.h.
        let status = unsafe {
            self.get::<unsafe extern "C" fn(*const Handle, *mut hsa_signal_t) -> hsa_status_t>(
                "hsa_amd_ipc_signal_attach",
            )(handle, &mut signal)
        };
        if status == HSA_STATUS_SUCCESS { Ok(signal) } else { Err(status) }
    }

    fn store(&self, signal: hsa_signal_t, value: i64) {
        // SAFETY: the type is that of hsa.h.
        unsafe { self.get::<unsafe extern "C" fn(hsa_signal_t, i64)>("hsa_signal_store_screlease")(signal, value) };
    }

    /// Waits until the signal has this value. Returns its value then.
    fn wait(&self, signal: hsa_signal_t, value: i64) -> i64 {
        type Wait = unsafe extern "C" fn(hsa_signal_t, u32, i64, u64, u32) -> i64;
        // SAFETY: the type is that of hsa.h.
        unsafe { self.get::<Wait>("hsa_signal_wait_scacquire")(signal, EQ, value, LONG, 0) }
    }

    fn destroy(&self, signal: hsa_signal_t) -> hsa_status_t {
        // SAFETY: the type is that of hsa.h.
        unsafe { self.get::<unsafe extern "C" fn(hsa_signal_t) -> hsa_status_t>("hsa_signal_destroy")(signal) }
    }
}

/// The value that a signal handler received.
static TOLD: AtomicI64 = AtomicI64::new(0);

unsafe extern "C" fn told(value: i64, _: *mut c_void) -> bool {
    TOLD.store(value, Ordering::SeqCst);
    false
}

/// The second process: attaches, stores, waits and destroys on request.
fn serve_signals() {
    let hsa = Hsa::open();
    let mut signal = hsa_signal_t::default();
    serve(|line| match line.split_once(' ') {
        Some(("attach", handle)) => match hsa.attach(&from_hex(handle)) {
            Ok(attached) => {
                signal = attached;
                "attached".to_owned()
            }
            Err(status) => format!("error {}", status.0),
        },
        Some(("store", value)) => {
            hsa.store(signal, value.parse().unwrap());
            "stored".to_owned()
        }
        Some(("wait", value)) => hsa.wait(signal, value.parse().unwrap()).to_string(),
        None if line == "destroy" => format!("{}", hsa.destroy(signal).0),
        _ => panic!("{line}"),
    });
}

/// Runs a test in a separate process with its own output, like the second process; false in that process.
fn elsewhere(test: &str) -> bool {
    if std::env::args().any(|argument| argument == "--nocapture") {
        return false;
    }
    let child = std::process::Command::new("/proc/self/exe").args([test, "--exact", "--nocapture"]).status();
    assert!(child.unwrap().success());
    true
}

#[test]
fn two_processes_have_one_signal() {
    if elsewhere("two_processes_have_one_signal") {
        return;
    }
    if is_peer() {
        return serve_signals();
    }
    let hsa = Hsa::open();
    let mut peer = Peer::start();
    let signal = hsa.create(1, u64::from(HSA_AMD_SIGNAL_IPC));
    let handle = hsa.share(signal).unwrap();
    assert_eq!(peer.ask(&format!("attach {}", hex(&handle))), "attached");
    // A handler is called when the other process stores.
    type Async = unsafe extern "C" fn(
        hsa_signal_t,
        u32,
        i64,
        unsafe extern "C" fn(i64, *mut c_void) -> bool,
        *mut c_void,
    ) -> hsa_status_t;
    // SAFETY: the type is that of hsa_ext_amd.h.
    let status = unsafe { hsa.get::<Async>("hsa_amd_signal_async_handler")(signal, EQ, 2, told, std::ptr::null_mut()) };
    assert_eq!(status, HSA_STATUS_SUCCESS);
    assert_eq!(peer.ask("store 2"), "stored");
    assert_eq!(hsa.wait(signal, 2), 2);
    // The function is called by another thread.
    while TOLD.load(Ordering::SeqCst) != 2 {
        std::thread::yield_now();
    }
    // In the other direction, while it is waiting: by now it probably is, and the store wakes it in any case.
    peer.tell("wait 3");
    std::thread::sleep(std::time::Duration::from_millis(50));
    hsa.store(signal, 3);
    assert_eq!(peer.hear(), "3");
    // The creator destroys it; the other process keeps it, and its name becomes invalid.
    assert_eq!(hsa.destroy(signal), HSA_STATUS_SUCCESS);
    assert_eq!(hsa.destroy(signal), HSA_STATUS_ERROR_INVALID_SIGNAL);
    assert_eq!(peer.ask("wait 3"), "3");
    assert_eq!(peer.ask("destroy"), "0");
    assert!(peer.ask(&format!("attach {}", hex(&handle))).starts_with("error"), "stale");
    peer.end();
}

#[test]
fn what_is_no_shared_signal_is_refused() {
    let hsa = Hsa::open();
    let refused = Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    let plain = hsa.create(1, 0);
    assert_eq!(hsa.share(plain), refused, "one of this process alone");
    assert_eq!(hsa.share(hsa_signal_t { handle: 7 }), Err(HSA_STATUS_ERROR_INVALID_SIGNAL));
    let shared = hsa.create(5, u64::from(HSA_AMD_SIGNAL_IPC));
    let handle = hsa.share(shared).unwrap();
    for bit in 0..256 {
        let mut bad = handle;
        bad[bit / 32] ^= 1 << (bit % 32);
        assert_eq!(hsa.attach(&bad).map(drop), Err(HSA_STATUS_ERROR_INVALID_ARGUMENT), "bit {bit}");
    }
    // Attached in the same process, it is a second signal with the same value.
    let second = hsa.attach(&handle).unwrap();
    hsa.store(second, 6);
    assert_eq!(hsa.wait(shared, 6), 6);
    for signal in [plain, shared, second] {
        assert_eq!(hsa.destroy(signal), HSA_STATUS_SUCCESS);
    }
}
