//! The bindings on the real HIP library of their level, on a machine with or without a GPU.

use std::collections::BTreeSet;
use std::ffi::CStr;

use hip_sys::*;
use sys_testing::child::{run_with_libraries, tree};

/// The library by release.
const FILE: &str = match API_LEVEL.0 {
    ..=5 => "libamdhip64.so.5",
    6 => "libamdhip64.so.6",
    _ => "libamdhip64.so.7",
};

/// Statuses of the headers that the library of the same release has no name for.
const NAMELESS: [(&str, &str); 2] = [("6.4", "hipErrorInvalidChannelDescriptor"), ("6.4", "hipErrorInvalidTexture")];

/// Functions that the libraries export and that are not here, by release, and why.
const NOT_HERE: [(&str, &[&str], &str); 8] = [
    ("hipChooseDevice", &["6.4", "7.2"], "from 6.2 on for the struct of ROCm 5; in C a macro hides it"),
    ("hipGetDeviceProperties", &["6.4", "7.2"], "likewise"),
    ("hipChooseDeviceR0000", &["6.4", "7.2"], "of hip_deprecated.h, for the struct of ROCm 5"),
    ("hipGetDevicePropertiesR0000", &["6.4", "7.2"], "likewise"),
    ("hipExtModuleLaunchKernel", &["6.4", "7.2"], "of hip_ext.h, declared for C++ alone; in 5.7 it is a C++ function"),
    ("hipHccModuleLaunchKernel", &["6.4", "7.2"], "likewise"),
    ("hipGetCmdName", &["5.7", "6.4", "7.2"], "for AMD's tracers, in no header"),
    ("hipRegisterTracerCallback", &["5.7", "6.4", "7.2"], "likewise"),
];

fn run_in_child(test: &str) -> bool {
    run_with_libraries(&format!("{}::{test}", module_path!()), tree(API_LEVEL), &[FILE])
}

fn name_of(status: hipError_t) -> String {
    // SAFETY: takes no pointer, returns a static string.
    unsafe { CStr::from_ptr(hipGetErrorName(status)) }.to_str().unwrap().to_owned()
}

/// The library of an older release than the level's does not know the newest statuses.
fn is_of_the_level() -> bool {
    API_LEVEL_NAME == tree(API_LEVEL)
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
            named += 1;
            let theirs = name_of(hipError_t(value));
            let listed = NAMELESS.contains(&(tree(API_LEVEL), &ours)) || !is_of_the_level();
            let nameless = ["hipErrorUnknown", "hipErrorTbd"].contains(&theirs.as_str()) && listed;
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
    if run_in_child("calls_go_through") {
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

/// In every fetched tree, whatever the level: no function of HIP is left out unawares.
#[test]
fn exported_functions_that_are_not_here_are_listed() {
    let mut needed = BTreeSet::new();
    let mut trees = 0;
    for (level, file) in [((5, 7), "libamdhip64.so.5"), ((6, 4), "libamdhip64.so.6"), ((7, 2), "libamdhip64.so.7")] {
        let Some(exported) = sys_testing::symbols::exported(tree(level), file) else { continue };
        trees += 1;
        let covered = sys_testing::covered(&coverage::FUNCTIONS, level);
        let hip = |name: &str| name.starts_with("hip") && !name.starts_with("hiprtc") && !name.starts_with("hip_");
        let beyond: BTreeSet<&str> =
            exported.iter().map(String::as_str).filter(|name| hip(name) && !covered.contains(name)).collect();
        let listed = NOT_HERE.iter().filter(|(_, releases, _)| releases.contains(&tree(level)));
        let listed: BTreeSet<&str> = listed.map(|(name, ..)| *name).collect();
        assert_eq!(beyond, listed, "exported by {file} and not here; NOT_HERE lists for it");
        needed.extend(listed);
    }
    assert!(trees < 3 || needed.len() == NOT_HERE.len(), "{needed:?}");
}
