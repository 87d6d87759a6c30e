// Tests of one level, whose module is imported as `sys`.

use std::ffi::CStr;

use sys::*;
use sys_testing::child::{run_with_libraries, tree};

/// hipBLAS does not load without rocBLAS and rocSOLVER.
const FILES: &[&str] = match API_LEVEL.0 {
    ..=5 => &["libhipblas.so.0", "librocblas.so.0", "librocsolver.so.0"],
    6 => &["libhipblas.so.2", "librocblas.so.4"],
    _ => &["libhipblas.so.3", "librocblas.so.5", "librocsolver.so.0"],
};

fn run_in_child(test: &str) -> bool {
    run_with_libraries(&format!("{}::{test}", module_path!()), tree(API_LEVEL), FILES)
}

#[test]
fn statuses_have_the_names_that_the_library_gives_them() {
    if run_in_child("statuses_have_the_names_that_the_library_gives_them") {
        return;
    }
    for value in 0..=HIPBLAS_STATUS_UNKNOWN.0 {
        let status = hipblasStatus_t(value);
        // SAFETY: takes no pointer, returns a static string.
        let theirs = unsafe { CStr::from_ptr(hipblasStatusToString(status)) };
        assert_eq!(format!("{status:?}"), theirs.to_str().unwrap());
    }
    // SAFETY: likewise.
    let unknown = unsafe { CStr::from_ptr(hipblasStatusToString(hipblasStatus_t(9999))) };
    assert!(!unknown.is_empty());
}

#[test]
fn a_missing_handle_is_a_status() {
    if run_in_child("a_missing_handle_is_a_status") {
        return;
    }
    let null = std::ptr::null_mut();
    // SAFETY: null is not a handle, and hipBLAS reports that before it reads or writes anything.
    let results = unsafe { [hipblasDestroy(null), hipblasSetStream(null, std::ptr::null_mut())] };
    assert_eq!(results, [HIPBLAS_STATUS_NOT_INITIALIZED, HIPBLAS_STATUS_NOT_INITIALIZED]);
}
