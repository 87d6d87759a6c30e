// Tests of one level, whose module is imported as `sys`.

use hip_sys::HIP_R_32F;
use hipblas_sys::{
    HIPBLAS_COMPUTE_32F, HIPBLAS_STATUS_INVALID_VALUE, HIPBLAS_STATUS_NOT_INITIALIZED, HIPBLAS_STATUS_SUCCESS,
};
use sys::*;
use sys_testing::child::{run_with_libraries, tree};

fn run_in_child(test: &str) -> bool {
    run_with_libraries(&format!("{}::{test}", module_path!()), tree(API_LEVEL), &["libhipblaslt.so.1"])
}

/// Sets an attribute and reads it back.
fn round_trip<T: Copy + Default>(
    value: T,
    set: impl FnOnce(*const std::ffi::c_void, usize) -> hipblasStatus_t,
    get: impl FnOnce(*mut std::ffi::c_void, usize, *mut usize) -> hipblasStatus_t,
) -> (T, usize) {
    let (mut back, mut written) = (T::default(), 0);
    assert_eq!(set((&raw const value).cast(), size_of::<T>()), HIPBLAS_STATUS_SUCCESS);
    assert_eq!(get((&raw mut back).cast(), size_of::<T>(), &mut written), HIPBLAS_STATUS_SUCCESS);
    (back, written)
}

#[test]
fn attributes_go_in_and_come_back() {
    if run_in_child("attributes_go_in_and_come_back") {
        return;
    }
    let mut product = std::ptr::null_mut();
    let mut preference = std::ptr::null_mut();
    let mut layout = std::ptr::null_mut();
    // SAFETY: here and below: pointers are valid for the writes, and their memory has the given sizes; objects live until they are
    // destroyed.
    unsafe {
        assert_eq!(hipblasLtMatmulDescCreate(&mut product, HIPBLAS_COMPUTE_32F, HIP_R_32F), HIPBLAS_STATUS_SUCCESS);
        assert_eq!(hipblasLtMatmulPreferenceCreate(&mut preference), HIPBLAS_STATUS_SUCCESS);
        assert_eq!(hipblasLtMatrixLayoutCreate(&mut layout, HIP_R_32F, 1 << 33, 3, 1 << 33), HIPBLAS_STATUS_SUCCESS);

        let key = HIPBLASLT_MATMUL_DESC_TRANSB;
        let transposed = round_trip(
            hipblas_sys::HIPBLAS_OP_T.0,
            |at, size| hipblasLtMatmulDescSetAttribute(product, key, at, size),
            |at, size, written| hipblasLtMatmulDescGetAttribute(product, key, at, size, written),
        );
        assert_eq!(transposed, (hipblas_sys::HIPBLAS_OP_T.0, 4));
        let key = HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
        let workspace = round_trip(
            1_u64 << 40,
            |at, size| hipblasLtMatmulPreferenceSetAttribute(preference, key, at, size),
            |at, size, written| hipblasLtMatmulPreferenceGetAttribute(preference, key, at, size, written),
        );
        assert_eq!(workspace, (1 << 40, 8));
        let key = HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT;
        let batches = round_trip(
            7_i32,
            |at, size| hipblasLtMatrixLayoutSetAttribute(layout, key, at, size),
            |at, size, written| hipblasLtMatrixLayoutGetAttribute(layout, key, at, size, written),
        );
        assert_eq!(batches, (7, 4));

        assert_eq!(hipblasLtMatrixLayoutDestroy(layout), HIPBLAS_STATUS_SUCCESS);
        assert_eq!(hipblasLtMatmulPreferenceDestroy(preference), HIPBLAS_STATUS_SUCCESS);
        assert_eq!(hipblasLtMatmulDescDestroy(product), HIPBLAS_STATUS_SUCCESS);
    }
}

#[test]
fn a_missing_handle_is_a_status() {
    if run_in_child("a_missing_handle_is_a_status") {
        return;
    }
    let mut version = -1;
    // SAFETY: null is neither a handle nor a valid place for one, and hipBLASLt reports that. (With a valid place, and without a GPU, it
    // ends the process.)
    let statuses =
        unsafe { [hipblasLtGetVersion(std::ptr::null_mut(), &mut version), hipblasLtCreate(std::ptr::null_mut())] };
    assert_eq!(statuses, [HIPBLAS_STATUS_NOT_INITIALIZED, HIPBLAS_STATUS_INVALID_VALUE]);
    assert_eq!(version, -1);
}
