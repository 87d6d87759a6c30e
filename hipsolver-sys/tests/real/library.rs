// Tests of one level, whose module is imported as `sys`.

use sys::*;
use sys_testing::child::{run_with_libraries, tree};

/// hipSOLVER does not load without rocSOLVER and rocBLAS.
const FILES: [&str; 3] = match API_LEVEL.0 {
    ..=5 => ["libhipsolver.so.0", "librocsolver.so.0", "librocblas.so.0"],
    6 => ["libhipsolver.so.0", "librocsolver.so.0", "librocblas.so.4"],
    _ => ["libhipsolver.so.1", "librocsolver.so.0", "librocblas.so.5"],
};

fn run_in_child(test: &str) -> bool {
    run_with_libraries(&format!("{}::{test}", module_path!()), tree(API_LEVEL), &FILES)
}

/// Settings are made on the host: handles, and a number in a floating-point register.
#[test]
fn settings_are_made_and_taken_down() {
    if run_in_child("settings_are_made_and_taken_down") {
        return;
    }
    let mut info = std::ptr::null_mut();
    // SAFETY: `info` is valid for the write, and lives until it is destroyed.
    unsafe {
        assert_eq!(hipsolverCreateSyevjInfo(&mut info), HIPSOLVER_STATUS_SUCCESS);
        assert!(!info.is_null());
        assert_eq!(hipsolverXsyevjSetTolerance(info, 1e-6), HIPSOLVER_STATUS_SUCCESS);
        assert_eq!(hipsolverXsyevjSetMaxSweeps(info, 20), HIPSOLVER_STATUS_SUCCESS);
        assert_eq!(hipsolverXsyevjSetMaxSweeps(info, -1), HIPSOLVER_STATUS_INVALID_VALUE);
        assert_eq!(hipsolverXsyevjSetSortEig(info, 1), HIPSOLVER_STATUS_SUCCESS);
        assert_eq!(hipsolverDestroySyevjInfo(info), HIPSOLVER_STATUS_SUCCESS);
    }
}

#[test]
fn a_missing_place_or_handle_is_a_status() {
    if run_in_child("a_missing_place_or_handle_is_a_status") {
        return;
    }
    // SAFETY: null is neither a handle nor a valid place for one, and hipSOLVER reports that before it reads or writes anything.
    let results = unsafe {
        [hipsolverSetStream(std::ptr::null_mut(), std::ptr::null_mut()), hipsolverCreateSyevjInfo(std::ptr::null_mut())]
    };
    assert_eq!(results, [HIPSOLVER_STATUS_NOT_INITIALIZED, HIPSOLVER_STATUS_INVALID_VALUE]);
}
