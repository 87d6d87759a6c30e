//! The bindings on the real HIPRTC of their level, on a machine with or without a GPU.

use std::ffi::CStr;

use hiprtc_sys::*;
use sys_testing::child::{run_with_libraries, tree};

/// The library by release.
const FILE: &str = match API_LEVEL.0 {
    ..=5 => "libamdhip64.so.5",
    6 => "libhiprtc.so.6",
    _ => "libhiprtc.so.7",
};

fn run_in_child(test: &str) -> bool {
    run_with_libraries(&format!("{}::{test}", module_path!()), tree(API_LEVEL), &[FILE])
}

#[test]
fn results_have_the_names_that_the_library_gives_them() {
    if run_in_child("results_have_the_names_that_the_library_gives_them") {
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
    if run_in_child("calls_go_through") {
        return;
    }
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both are valid for the write.
    assert_eq!(unsafe { hiprtcVersion(&mut major, &mut minor) }, HIPRTC_SUCCESS);
    assert!(major >= 5, "{major}.{minor}");
    // SAFETY: a null destination is an error that HIPRTC reports.
    assert_eq!(unsafe { hiprtcVersion(std::ptr::null_mut(), &mut minor) }, HIPRTC_ERROR_INVALID_INPUT);
}
