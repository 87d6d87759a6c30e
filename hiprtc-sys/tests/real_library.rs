//! The bindings on the real HIPRTC of their level, on a machine with or without a GPU.
//!
//! The fetched libraries need a newer glibc than most hosts have: the test runs itself again through their own loader.

use std::ffi::CStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use hiprtc_sys::*;

/// Set in the process that runs through the loader of a tree.
const INSIDE: &str = "HIPRTC_SYS_TEST_INSIDE";

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

#[test]
fn results_have_the_names_that_the_library_gives_them() {
    if run_through_loader("results_have_the_names_that_the_library_gives_them") {
        return;
    }
    assert!(load_error().is_none(), "{:?}", load_error());
    let mut named = 0;
    for value in 0..200 {
        let ours = format!("{:?}", hiprtcResult(value));
        if !ours.starts_with("hiprtcResult(") {
            named += 1;
            // SAFETY: takes no pointer, returns a static string.
            let theirs = unsafe { CStr::from_ptr(hiprtcGetErrorString(hiprtcResult(value))) };
            assert_eq!(ours, theirs.to_str().unwrap());
        }
    }
    assert_eq!(named, 13);
}

#[test]
fn calls_go_through() {
    if run_through_loader("calls_go_through") {
        return;
    }
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both are valid for the write.
    assert_eq!(unsafe { hiprtcVersion(&mut major, &mut minor) }, HIPRTC_SUCCESS);
    assert!(major >= 5, "{major}.{minor}");
    // SAFETY: a null destination is an error that HIPRTC reports.
    assert_eq!(unsafe { hiprtcVersion(std::ptr::null_mut(), &mut minor) }, HIPRTC_ERROR_INVALID_INPUT);
}
