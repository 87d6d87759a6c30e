// Tests of one level, whose module is imported as `sys`.

use hip_sys::{HIP_R_32F, HIP_R_64F};
use sys::*;
use sys_testing::child::{run_with_libraries, tree};

/// hipSPARSE does not load without rocSPARSE.
const FILES: [&str; 2] = match API_LEVEL.0 {
    ..=5 => ["libhipsparse.so.0", "librocsparse.so.0"],
    6 => ["libhipsparse.so.1", "librocsparse.so.1"],
    _ => ["libhipsparse.so.4", "librocsparse.so.1"],
};

fn run_in_child(test: &str) -> bool {
    run_with_libraries(&format!("{}::{test}", module_path!()), tree(API_LEVEL), &FILES)
}

/// The library names statuses like rocSPARSE, which has fewer.
#[test]
fn statuses_are_those_that_the_library_means() {
    if API_LEVEL < (6, 2) {
        return sys_testing::skipped("hipSPARSE of ROCm 5.7 has no names for statuses");
    }
    if run_in_child("statuses_are_those_that_the_library_means") {
        return;
    }
    for (status, theirs) in [
        (HIPSPARSE_STATUS_SUCCESS, c"rocsparse_status_success"),
        (HIPSPARSE_STATUS_NOT_INITIALIZED, c"rocsparse_status_not_initialized"),
        (HIPSPARSE_STATUS_ALLOC_FAILED, c"rocsparse_status_memory_error"),
        (HIPSPARSE_STATUS_INVALID_VALUE, c"rocsparse_status_invalid_value"),
        (HIPSPARSE_STATUS_ARCH_MISMATCH, c"rocsparse_status_arch_mismatch"),
        (HIPSPARSE_STATUS_INTERNAL_ERROR, c"rocsparse_status_internal_error"),
        (HIPSPARSE_STATUS_ZERO_PIVOT, c"rocsparse_status_zero_pivot"),
        (HIPSPARSE_STATUS_NOT_SUPPORTED, c"rocsparse_status_not_implemented"),
    ] {
        // SAFETY: takes no pointer, returns a static string.
        assert_eq!(unsafe { std::ffi::CStr::from_ptr(hipsparse_sys::hipsparseGetErrorName(status)) }, theirs, "{status:?}");
    }
}

#[test]
fn enums_go_in_and_come_back() {
    if run_in_child("enums_go_in_and_come_back") {
        return;
    }
    let mut descriptor = std::ptr::null_mut();
    // SAFETY: `descriptor` is valid for the write, and lives until it is destroyed.
    unsafe {
        assert_eq!(hipsparseCreateMatDescr(&mut descriptor), HIPSPARSE_STATUS_SUCCESS);
        assert_eq!(hipsparseGetMatType(descriptor), HIPSPARSE_MATRIX_TYPE_GENERAL);
        assert_eq!(hipsparseGetMatIndexBase(descriptor), HIPSPARSE_INDEX_BASE_ZERO);
        assert_eq!(hipsparseSetMatType(descriptor, HIPSPARSE_MATRIX_TYPE_TRIANGULAR), HIPSPARSE_STATUS_SUCCESS);
        assert_eq!(hipsparseSetMatIndexBase(descriptor, HIPSPARSE_INDEX_BASE_ONE), HIPSPARSE_STATUS_SUCCESS);
        assert_eq!(hipsparseGetMatType(descriptor), HIPSPARSE_MATRIX_TYPE_TRIANGULAR);
        assert_eq!(hipsparseGetMatIndexBase(descriptor), HIPSPARSE_INDEX_BASE_ONE);
        assert_eq!(hipsparseDestroyMatDescr(descriptor), HIPSPARSE_STATUS_SUCCESS);
    }
}

/// Eleven arguments of different widths, including hip-sys's data type, arrive in order.
#[test]
fn a_sparse_matrix_gives_back_what_it_was_made_of() {
    if run_in_child("a_sparse_matrix_gives_back_what_it_was_made_of") {
        return;
    }
    let (mut offsets, mut columns, mut values) = ([1, 2, 4_i32], [3, 1, 2_i64], [1.0, 2.0, 3.0_f64]);
    let pointers = [offsets.as_mut_ptr().cast(), columns.as_mut_ptr().cast(), values.as_mut_ptr().cast()];
    let [at_offsets, at_columns, at_values] = pointers;
    let mut matrix = std::ptr::null_mut();
    let (mut rows, mut width, mut count) = (0, 0, 0);
    let mut back = [std::ptr::null_mut(); 3];
    let [back_offsets, back_columns, back_values] = &mut back;
    let (mut offset_type, mut column_type) = (hipsparseIndexType_t::default(), hipsparseIndexType_t::default());
    let (mut base, mut data) = (hipsparseIndexBase_t::default(), HIP_R_32F);
    // SAFETY: pointers are valid for the writes; the arrays outlive the matrix, and none of them is read.
    unsafe {
        let status = hipsparseCreateCsr(
            &mut matrix,
            2,
            3,
            3,
            at_offsets,
            at_columns,
            at_values,
            HIPSPARSE_INDEX_32I,
            HIPSPARSE_INDEX_64I,
            HIPSPARSE_INDEX_BASE_ONE,
            HIP_R_64F,
        );
        assert_eq!(status, HIPSPARSE_STATUS_SUCCESS);
        let status = hipsparseCsrGet(
            matrix,
            &mut rows,
            &mut width,
            &mut count,
            back_offsets,
            back_columns,
            back_values,
            &mut offset_type,
            &mut column_type,
            &mut base,
            &mut data,
        );
        assert_eq!(status, HIPSPARSE_STATUS_SUCCESS);
        assert_eq!(hipsparseDestroySpMat(matrix), HIPSPARSE_STATUS_SUCCESS);
    }
    assert_eq!((rows, width, count, back), (2, 3, 3, pointers));
    assert_eq!((offset_type, column_type), (HIPSPARSE_INDEX_32I, HIPSPARSE_INDEX_64I));
    assert_eq!((base, data), (HIPSPARSE_INDEX_BASE_ONE, HIP_R_64F));
}
