//! A library that lacks functions: existing functions work, and missing ones return 302 and name the release that they
//! need.

use std::path::Path;
use std::process::Command;

use hip_sys::*;

/// Acts as an old HIP: three functions, one of which returns a value that has no name in any release.
const OLD_HIP: &str = r"
int hipGetDeviceCount(int *count) { *count = 3; return 0; }
int hipInit(unsigned flags) { return 4242; }
const char *hipGetErrorName(int error) { return 0; }
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
fn missing_functions_answer_302() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("lib");
    std::fs::create_dir(&folder).unwrap();
    compile(OLD_HIP, &folder.join("libamdhip64.so.6"));
    rocm_loader::set_search(rocm_loader::Search::nowhere().root(root.path())).unwrap();

    let mut count = 0;
    // SAFETY: `count` is valid for the write.
    let status = unsafe { hipGetDeviceCount(&mut count) };
    assert_eq!((status, count), (hipSuccess, 3));
    assert!(load_error().is_none());

    // SAFETY: takes no pointer.
    let unnamed = unsafe { hipInit(0) };
    assert_eq!(unnamed, hipError_t(4242));
    assert_eq!(format!("{unnamed:?} {:?}", hipErrorNoDevice), "hipError_t(4242) hipErrorNoDevice");

    let mut pool = std::ptr::null_mut();
    // SAFETY: `pool` is valid for the write.
    let status = unsafe { hipDeviceGetMemPool(&mut pool, 0) };
    assert_eq!((status, status.0), (hipErrorSharedObjectSymbolNotFound, 302));
    assert!(has(c"hipGetDeviceCount") && !has(c"hipDeviceGetMemPool"));
    assert!(symbol_error(c"hipGetDeviceCount").is_none());
    let error = symbol_error(c"hipStreamBatchMemOp").unwrap().to_string();
    assert!(
        error.contains("hipStreamBatchMemOp") && error.contains("libamdhip64.so.6") && error.contains("6.4"),
        "{error}"
    );
}
