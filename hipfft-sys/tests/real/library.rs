// Tests of one level, whose module is imported as `sys`.

use sys::*;
use sys_testing::child::{run_with_libraries, tree};

fn run_in_child(test: &str) -> bool {
    let files = ["libhipfft.so.0", "librocfft.so.0"];
    run_with_libraries(&format!("{}::{test}", module_path!()), tree(API_LEVEL), &files)
}

#[test]
fn version_is_told_whole_and_in_parts() {
    if run_in_child("version_is_told_whole_and_in_parts") {
        return;
    }
    let mut version = 0;
    // SAFETY: `version` is valid for the write.
    assert_eq!(unsafe { hipfftGetVersion(&mut version) }, HIPFFT_SUCCESS);
    let mut parts = [-1; 3];
    let names = [HIPFFT_MAJOR_VERSION, HIPFFT_MINOR_VERSION, HIPFFT_PATCH_LEVEL];
    for (part, name) in parts.iter_mut().zip(names) {
        // SAFETY: `part` is valid for the write.
        assert_eq!(unsafe { hipfftGetProperty(name, part) }, HIPFFT_SUCCESS);
    }
    let [major, minor, patch] = parts;
    assert_eq!(major, 1);
    assert_eq!(version, major * 10_000 + minor * 100 + patch);
    let mut value = 0;
    // SAFETY: `value` is valid for the write.
    let status = unsafe { hipfftGetProperty(hipfftLibraryPropertyType_t(99), &mut value) };
    assert!([HIPFFT_INVALID_TYPE, HIPFFT_INVALID_VALUE].contains(&status), "{status:?}");
}

/// Handles and sizes: making a plan needs a GPU; without one the result is a status.
#[test]
fn plans_are_made_or_refused() {
    if run_in_child("plans_are_made_or_refused") {
        return;
    }
    let mut plan = sys_testing::nowhere();
    let mut size = usize::MAX;
    // SAFETY: the pointers are valid for the writes, and the plan lives until it is destroyed.
    unsafe {
        assert_eq!(hipfftCreate(&mut plan), HIPFFT_SUCCESS);
        assert!(!plan.is_null());
        assert_eq!(hipfftSetAutoAllocation(plan, 0), HIPFFT_SUCCESS);
        assert_eq!(hipfftMakePlan1d(plan, -1, HIPFFT_C2C, 1, &mut size), HIPFFT_INVALID_SIZE);
        assert_eq!(size, usize::MAX);
        // hipFFT of ROCm 5.7 throws a C++ exception if it finds no GPU.
        if API_LEVEL > (6, 0) {
            let status = hipfftMakePlan1d(plan, 1024, HIPFFT_C2C, 1, &mut size);
            // rocFFT fails before it can return a reason of its own.
            let refused = [HIPFFT_PARSE_ERROR, HIPFFT_INVALID_VALUE].contains(&status) && size == usize::MAX;
            assert!(refused || (status == HIPFFT_SUCCESS && size < usize::MAX), "{status:?} {size}");
        }
        assert_eq!(hipfftDestroy(plan), HIPFFT_SUCCESS);
    }
}
