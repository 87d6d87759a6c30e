// Tests of one level, whose module is imported as `sys`.

use hip_sys::{HIP_LIBRARY_MAJOR_VERSION, HIP_LIBRARY_MINOR_VERSION, HIP_LIBRARY_PATCH_LEVEL, HIP_R_16F};
use hipsparse_sys::rocm_7_2::{HIPSPARSE_ORDER_COL, HIPSPARSE_STATUS_INVALID_VALUE, HIPSPARSE_STATUS_SUCCESS};
use sys::*;
use sys_testing::child::{run_with_libraries, tree};

fn run_in_child(test: &str) -> bool {
    // hipSPARSELt does not load without rocTX.
    let files = ["libhipsparselt.so.0", "libroctx64.so.4"];
    run_with_libraries(&format!("{}::{test}", module_path!()), tree(API_LEVEL), &files)
}

#[test]
fn version_is_told_whole_and_in_parts() {
    if run_in_child("version_is_told_whole_and_in_parts") {
        return;
    }
    let (mut version, handle) = (-1, hipsparseLtHandle_t::default());
    // SAFETY: `version` is valid for the write, and the handle is not used.
    assert_eq!(unsafe { hipsparseLtGetVersion(&handle, &mut version) }, HIPSPARSE_STATUS_SUCCESS);
    let parts = [HIP_LIBRARY_MAJOR_VERSION, HIP_LIBRARY_MINOR_VERSION, HIP_LIBRARY_PATCH_LEVEL].map(|name| {
        let mut part = -1;
        // SAFETY: `part` is valid for the write.
        assert_eq!(unsafe { hipsparseLtGetProperty(name, &mut part) }, HIPSPARSE_STATUS_SUCCESS);
        part
    });
    let [major, minor, patch] = parts;
    assert!((0..2).contains(&major) && minor > 0, "{parts:?}");
    assert_eq!(version, major * 100_000 + minor * 100 + patch);
}

/// A zeroed handle is not a handle; nothing is written outside of a descriptor.
#[test]
fn a_handle_that_is_none_is_a_status() {
    if run_in_child("a_handle_that_is_none_is_a_status") {
        return;
    }
    let handle = hipsparseLtHandle_t::default();
    let mut descriptors = [hipsparseLtMatDescriptor_t::default(); 2];
    // SAFETY: both are valid for the reads and writes.
    let status = unsafe {
        hipsparseLtDenseDescriptorInit(&handle, &mut descriptors[0], 64, 32, 64, 16, HIP_R_16F, HIPSPARSE_ORDER_COL)
    };
    assert_eq!(status, HIPSPARSE_STATUS_INVALID_VALUE);
    assert!(descriptors[1].data.iter().all(|byte| *byte == 0));
}
