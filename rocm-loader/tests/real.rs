//! Real ROCm releases, if `ROCM_RS_TREES` names a folder of unpacked ones (`cargo xtask rocm fetch`, `cargo xtask
//! test`). Their libraries need a newer C library than most hosts have, so each test runs itself again through the
//! release's own loader.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(unreachable_pub, missing_docs)] // Like the functions of a -sys crate.

mod support;

use std::ffi::{CStr, CString, c_char, c_int, c_uint};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use rocm_loader::{Binding, Error, Numbering, Search, bindings, hip_version, libraries};
use support::{CHILD, is_child};

static BINDING: Binding = Binding::new(&libraries::AMDHIP64);

bindings! { binding = crate::BINDING;
    "5.7" pub fn hipRuntimeGetVersion(version: *mut c_int) -> c_uint;
    "5.7" pub fn hipGetDeviceCount(count: *mut c_int) -> c_uint;
    "5.7" pub fn hipGetErrorString(error: c_uint) -> *const c_char;
    "99.9" pub fn hipOfTheFuture() -> c_int;
}

/// Returns the unpacked release, if it exists.
fn tree(release: &str) -> Option<PathBuf> {
    let trees = PathBuf::from(std::env::var_os("ROCM_RS_TREES")?);
    Some(trees.join(release).join("usr")).filter(|usr| usr.is_dir())
}

fn check(test: &str, release: &str, major: u32, comgr: u32) {
    let Some(usr) = tree(release) else {
        let _ = writeln!(std::io::stdout(), "SKIPPED: no ROCm {release} under ROCM_RS_TREES");
        return;
    };
    if !is_child() {
        let here = usr.join("lib/x86_64-linux-gnu");
        let mut command = Command::new(here.join("ld-linux-x86-64.so.2"));
        command.arg("--library-path").arg(&here).arg(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]).env(CHILD, "1").env("ROCM_PATH", &usr);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let library = BINDING.load().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(library.soname_major(), Some(major));
    assert!(library.is_known_release() && library.path().unwrap().starts_with(&usr));

    // Debian has no .info: the number is in the file's name, and HIP itself reports the same one.
    let found = library.release().unwrap();
    assert_eq!(found.numbering, Numbering::Hip);
    assert_eq!(format!("{}.{}", found.version.major, found.version.minor), release);
    let mut encoded = 0;
    // SAFETY: the first writes one int; the second takes any value and returns a static string.
    let (status, text) = unsafe { (hipRuntimeGetVersion(&mut encoded), CStr::from_ptr(hipGetErrorString(0))) };
    assert_eq!((status, text), (0, c"no error"));
    assert_eq!(hip_version(encoded).as_ref(), Some(&found.version));

    assert!(library.check_level((found.version.major as u32, found.version.minor as u32)).is_ok());
    assert!(matches!(library.check_level((99, 0)), Err(Error::TooOld { .. })));
    assert!(BINDING.has(c"hipMalloc") && !BINDING.has(c"hipOfTheFuture"));
    // SAFETY: the function does not exist, so nothing is called.
    assert_eq!(unsafe { hipOfTheFuture() }, -1);

    let search = Search::standard();
    use libraries::{AMD_COMGR, AMDHIP64, HIPRTC, HIPRTC_BUILTINS, HSA_RUNTIME64};
    for spec in [&AMDHIP64, &HIPRTC, &HIPRTC_BUILTINS, &AMD_COMGR, &HSA_RUNTIME64] {
        let library = search.open(spec).unwrap_or_else(|e| panic!("{e}"));
        assert!(library.is_known_release(), "{:?}", library.soname());
    }
    assert_eq!(search.open(&libraries::AMD_COMGR).unwrap().soname_major(), Some(comgr));
    assert!(search.open(&libraries::HIPRTC).unwrap().symbol(c"hiprtcCreateProgram").is_some());
}

#[test]
fn rocm_7_2() {
    check("rocm_7_2", "7.2", 7, 3);
}

#[test]
fn rocm_6_4() {
    check("rocm_6_4", "6.4", 6, 3);
}

#[test]
fn rocm_5_7() {
    check("rocm_5_7", "5.7", 5, 2);
}

/// Two copies of one release, the second of which is first in the loader's path, as after a cluster's `module load`:
/// all loaded libraries are of one copy, including those that the HIP runtime opens by name. Two copies of LLVM would
/// abort the process.
#[test]
fn two_copies_of_a_release_are_not_mixed() {
    const TEST: &str = "two_copies_of_a_release_are_not_mixed";
    let Some(usr) = tree("7.2") else {
        let _ = writeln!(std::io::stdout(), "SKIPPED: no ROCm 7.2 under ROCM_RS_TREES");
        return;
    };
    let parts = ["libLLVM.so.22.1", "libamd_comgr.so.3", "libamdhip64.so.7", "libhsa-runtime64.so.1", "libhiprtc.so.7"];
    let here = usr.join("lib/x86_64-linux-gnu");
    if !is_child() {
        let other = tempfile::tempdir().unwrap();
        let lib = other.path().join("lib");
        std::fs::create_dir(&lib).unwrap();
        for part in parts {
            std::fs::copy(here.join(part), lib.join(part)).unwrap();
        }
        // HIPRTC's linker opens the runtime by this name.
        std::os::unix::fs::symlink("libamdhip64.so.7", lib.join("libamdhip64.so")).unwrap();
        let mut command = Command::new(here.join("ld-linux-x86-64.so.2"));
        let path = format!("{}:{}", lib.display(), here.display());
        command.arg("--library-path").arg(path).arg(std::env::current_exe().unwrap());
        command.args(["--exact", TEST, "--nocapture"]).env(CHILD, "1").env("ROCM_PATH", &usr);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    // Opened before the runtime that it depends on.
    let search = Search::standard();
    for spec in [&libraries::HIPRTC, &libraries::AMD_COMGR, &libraries::LLVM, &libraries::AMDHIP64] {
        search.open(spec).unwrap_or_else(|e| panic!("{e}"));
    }
    assert!(BINDING.load().is_ok());
    let mut devices = 0;
    // SAFETY: it writes one int.
    let _ = unsafe { hipGetDeviceCount(&mut devices) };
    // HIPRTC does the same.
    let by_name = CString::new("libamdhip64.so").unwrap();
    // SAFETY: a C string; the library is already loaded.
    assert!(!unsafe { libc::dlopen(by_name.as_ptr(), libc::RTLD_NOW) }.is_null());
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    for part in parts {
        let stem = part.split(".so").next().unwrap();
        let file = |line: &str| line.split_whitespace().nth(5).map(str::to_owned);
        let mut files: Vec<String> = maps.lines().filter_map(file).filter(|file| file.contains(stem)).collect();
        files.dedup();
        let [file] = &files[..] else { panic!("{part}: {files:?}") };
        assert!(file.starts_with(here.to_str().unwrap()), "{file}");
    }
}

/// Without its own loader a release opens, or is rejected with the host loader's message; it does not end the process.
#[test]
fn a_release_too_new_for_this_host_is_an_error() {
    let Some(usr) = tree("7.2") else {
        let _ = writeln!(std::io::stdout(), "SKIPPED: no ROCm 7.2 under ROCM_RS_TREES");
        return;
    };
    match Search::nowhere().root(&usr).open(&libraries::AMDHIP64) {
        Ok(library) => assert!(library.path().unwrap().starts_with(&usr)),
        Err(Error::Unusable { reason, report, .. }) => {
            println!("{reason}");
            assert!(report.first_fault().is_some());
        }
        Err(other) => panic!("{other}"),
    }
}
