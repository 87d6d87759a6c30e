//! A library that lacks functions: what it has works, what it lacks answers a status, and says which release it needs.

use std::path::Path;
use std::process::Command;

use hiprtc_sys::*;

/// Stands in for an old HIPRTC: two functions, one of which answers a value that no release has a name for.
const OLD_HIPRTC: &str = r"
int hiprtcVersion(int *major, int *minor) { *major = 9; *minor = 0; return 0; }
int hiprtcDestroyProgram(void **program) { return 4242; }
";

fn compile(source: &str, library: &Path) {
    let file = library.with_extension("c");
    std::fs::write(&file, source).unwrap();
    let soname = library.file_name().unwrap().to_string_lossy();
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(compiler)
        .args(["-shared", "-fPIC", &format!("-Wl,-soname,{soname}"), "-o"])
        .args([library, &file])
        .status()
        .expect("a C compiler");
    assert!(status.success());
}

#[test]
fn missing_functions_answer_a_status() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("lib");
    std::fs::create_dir(&folder).unwrap();
    compile(OLD_HIPRTC, &folder.join("libhiprtc.so.6"));
    rocm_sdk::set_search(rocm_sdk::Search::nowhere().root(root.path())).unwrap();

    let (mut major, mut minor) = (0, 0);
    // SAFETY: both are valid for the write.
    let status = unsafe { hiprtcVersion(&mut major, &mut minor) };
    assert_eq!((status, major), (HIPRTC_SUCCESS, 9));
    assert!(load_error().is_none());

    let mut program = std::ptr::null_mut();
    // SAFETY: `program` is valid; the stand-in reads nothing.
    let unnamed = unsafe { hiprtcDestroyProgram(&mut program) };
    assert_eq!((unnamed, format!("{unnamed:?}")), (hiprtcResult(4242), "hiprtcResult(4242)".to_owned()));

    let mut size = 0;
    // SAFETY: `size` is valid for the write.
    let status = unsafe { hiprtcGetBitcodeSize(program, &mut size) };
    assert_eq!(status, HIPRTC_ERROR_INTERNAL_ERROR);
    assert!(has(c"hiprtcVersion") && !has(c"hiprtcGetBitcodeSize"));
    let error = symbol_error(c"hiprtcGetBitcodeSize").unwrap().to_string();
    assert!(error.contains("hiprtcGetBitcodeSize") && error.contains("libhiprtc.so.6"), "{error}");
}
