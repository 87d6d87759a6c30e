//! The bindings on the real HIP library of their level, on a machine with or without a GPU.
//!
//! The fetched libraries need a newer glibc than most hosts have: the test runs itself again through their own loader.

use std::ffi::CStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use hip_sys::*;

/// Statuses of the headers that the library of the same release has no name for.
const NAMELESS: [(&str, &str); 2] = [("6.4", "hipErrorInvalidChannelDescriptor"), ("6.4", "hipErrorInvalidTexture")];
/// Set in the process that runs through the loader of a tree.
const INSIDE: &str = "HIP_SYS_TEST_INSIDE";

/// Runs `test` in a process that has the real library; `false` in that process.
fn run_through_loader(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return false;
    }
    let trees = std::env::var_os("ROCM_RS_TREES").map(PathBuf::from);
    let trees = trees.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/rocm"));
    let libraries = trees.join(API_LEVEL_NAME).join("usr/lib/x86_64-linux-gnu");
    let loader = libraries.join("ld-linux-x86-64.so.2");
    if !loader.exists() {
        let why = format!("SKIPPED: no ROCm in {} (`cargo xtask rocm fetch {API_LEVEL_NAME}`)\n", libraries.display());
        let _ = std::io::stdout().write_all(why.as_bytes());
        return true;
    }
    let output = Command::new(loader)
        .arg("--library-path")
        .arg(&libraries)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    true
}

fn name_of(status: hipError_t) -> String {
    // SAFETY: takes no pointer, returns a static string.
    unsafe { CStr::from_ptr(hipGetErrorName(status)) }.to_str().unwrap().to_owned()
}

#[test]
fn statuses_have_the_names_that_the_library_gives_them() {
    if run_through_loader("statuses_have_the_names_that_the_library_gives_them") {
        return;
    }
    assert!(load_error().is_none(), "{:?}", load_error());
    let mut named = 0;
    let mut differing = Vec::new();
    for value in 0..2000 {
        let ours = format!("{:?}", hipError_t(value));
        if !ours.starts_with("hipError_t(") {
            named += 1;
            let theirs = name_of(hipError_t(value));
            let nameless = theirs == "hipErrorUnknown" && NAMELESS.contains(&(API_LEVEL_NAME, &ours));
            if ours != theirs && !nameless {
                differing.push((value, ours, theirs));
            }
        }
    }
    assert!(named > 70, "{named}");
    assert_eq!(differing, []);
}

#[test]
fn calls_go_through() {
    if run_through_loader("calls_go_through") {
        return;
    }
    let mut count = -1;
    // SAFETY: `count` is valid for the write.
    let status = unsafe { hipGetDeviceCount(&mut count) };
    assert!(status == hipErrorNoDevice || (status == hipSuccess && count > 0), "{status:?} {count}");
    // A struct by value, back from C.
    // SAFETY: takes no pointer.
    let channels = unsafe { hipCreateChannelDesc(8, 16, 32, 0, hipChannelFormatKindFloat) };
    assert_eq!((channels.x, channels.y, channels.z, channels.w), (8, 16, 32, 0));
    assert_eq!(channels.f, hipChannelFormatKindFloat);
    // SAFETY: a null destination is an error that HIP reports.
    assert_ne!(unsafe { hipMalloc(std::ptr::null_mut(), 16) }, hipSuccess);
    assert!(has(c"hipMalloc") && symbol_error(c"hipMalloc").is_none());
}
