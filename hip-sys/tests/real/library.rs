// Tests of one level, whose module is imported as `sys`.

use std::ffi::CStr;

use sys::*;
use sys_testing::child::{run_with_libraries, tree};

/// The library of each release.
const FILE: &str = match API_LEVEL.0 {
    ..=5 => "libamdhip64.so.5",
    6 => "libamdhip64.so.6",
    _ => "libamdhip64.so.7",
};

fn run_in_child(test: &str) -> bool {
    run_with_libraries(&format!("{}::{test}", module_path!()), tree(API_LEVEL), &[FILE])
}

fn name_of(status: hipError_t) -> String {
    // SAFETY: takes no pointer, returns a static string.
    unsafe { CStr::from_ptr(hipGetErrorName(status)) }.to_str().unwrap().to_owned()
}

#[test]
fn statuses_have_the_names_that_the_library_gives_them() {
    if run_in_child("statuses_have_the_names_that_the_library_gives_them") {
        return;
    }
    assert!(load_error().is_none(), "{:?}", load_error());
    let mut named = 0;
    let mut differing = Vec::new();
    for value in 0..2000 {
        let ours = format!("{:?}", hipError_t(value));
        if !ours.starts_with("hipError_t(") {
            let theirs = name_of(hipError_t(value));
            match theirs.as_str() {
                _ if ours == theirs => named += 1,
                // Newer than the library: the names are those of all releases.
                "hipErrorUnknown" | "hipErrorTbd" => {}
                _ => differing.push((value, ours, theirs)),
            }
        }
    }
    assert!(named > 70, "{named}");
    assert_eq!(differing, []);
}

#[test]
fn calls_go_through() {
    if run_in_child("calls_go_through") {
        return;
    }
    let mut count = -1;
    // SAFETY: `count` is valid for the write.
    let status = unsafe { hipGetDeviceCount(&mut count) };
    assert!(status == hipErrorNoDevice || (status == hipSuccess && count > 0), "{status:?} {count}");
    // A struct that C returns by value.
    // SAFETY: takes no pointer.
    let channels = unsafe { hipCreateChannelDesc(8, 16, 32, 0, hipChannelFormatKindFloat) };
    assert_eq!((channels.x, channels.y, channels.z, channels.w), (8, 16, 32, 0));
    assert_eq!(channels.f, hipChannelFormatKindFloat);
    // SAFETY: a null destination is an error that HIP reports.
    assert_ne!(unsafe { hipMalloc(std::ptr::null_mut(), 16) }, hipSuccess);
    assert!(has(c"hipMalloc") && symbol_error(c"hipMalloc").is_none());
}
