//! cuBLASLt functions that return results instead of statuses.

use core::ffi::c_void;
use core::ptr::null_mut;

use super::sys;

pub use hipblas_sys::cuda::CublasError;

const NOT_SUPPORTED: CublasError = CublasError(sys::cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED);

/// Creates a handle on the current device.
///
/// # Errors
/// `CUBLAS_STATUS_NOT_INITIALIZED` if hipBLASLt cannot be loaded: [`sys::load_error`] returns the reason.
#[doc(alias("hipblasLtCreate"))]
pub fn create_handle() -> Result<sys::cublasLtHandle_t, CublasError> {
    let mut handle = null_mut();
    // SAFETY: room for the result.
    unsafe { sys::cublasLtCreate(&mut handle) }.result()?;
    Ok(handle)
}

/// Destroys a handle.
///
/// # Errors
/// If the library returns an error.
///
/// # Safety
/// The handle must be alive, and not used again.
#[doc(alias("hipblasLtDestroy"))]
pub unsafe fn destroy_handle(handle: sys::cublasLtHandle_t) -> Result<(), CublasError> {
    // SAFETY: the caller's contract.
    unsafe { sys::cublasLtDestroy(handle) }.result()
}

/// Creates the layout of a column-major matrix, whose columns are `ld` elements apart.
///
/// # Errors
/// If the library returns an error.
#[doc(alias("hipblasLtMatrixLayoutCreate"))]
pub fn create_matrix_layout(
    matrix_type: sys::cudaDataType,
    rows: u64,
    cols: u64,
    ld: i64,
) -> Result<sys::cublasLtMatrixLayout_t, CublasError> {
    let mut layout = null_mut();
    // SAFETY: room for the result.
    unsafe { sys::cublasLtMatrixLayoutCreate(&mut layout, matrix_type, rows, cols, ld) }.result()?;
    Ok(layout)
}

/// Sets an attribute of a layout.
///
/// # Errors
/// If the library does not know the attribute, or rejects the value.
///
/// # Safety
/// The layout must be alive, and `buf` valid for reads of `buf_size` bytes.
#[doc(alias("hipblasLtMatrixLayoutSetAttribute"))]
pub unsafe fn set_matrix_layout_attribute(
    matrix_layout: sys::cublasLtMatrixLayout_t,
    attr: sys::cublasLtMatrixLayoutAttribute_t,
    buf: *const c_void,
    buf_size: usize,
) -> Result<(), CublasError> {
    // SAFETY: the caller's contract.
    unsafe { sys::cublasLtMatrixLayoutSetAttribute(matrix_layout, attr, buf, buf_size) }.result()
}

/// Destroys a layout.
///
/// # Errors
/// If the library returns an error.
///
/// # Safety
/// The layout must be alive, and not used again.
#[doc(alias("hipblasLtMatrixLayoutDestroy"))]
pub unsafe fn destroy_matrix_layout(matrix_layout: sys::cublasLtMatrixLayout_t) -> Result<(), CublasError> {
    // SAFETY: the caller's contract.
    unsafe { sys::cublasLtMatrixLayoutDestroy(matrix_layout) }.result()
}

/// Creates the descriptor of a product: the types of sums and of scalars.
///
/// # Errors
/// If the library returns an error.
#[doc(alias("hipblasLtMatmulDescCreate"))]
pub fn create_matmul_desc(
    compute_type: sys::cublasComputeType_t,
    scale_type: sys::cudaDataType,
) -> Result<sys::cublasLtMatmulDesc_t, CublasError> {
    let mut desc = null_mut();
    // SAFETY: room for the result.
    unsafe { sys::cublasLtMatmulDescCreate(&mut desc, compute_type, scale_type) }.result()?;
    Ok(desc)
}

/// Returns ROCm's operation for a number: CUDA's 0, 1 and 2 are `CUBLAS_OP_N`, `CUBLAS_OP_T` and `CUBLAS_OP_C`.
fn operation(number: u32) -> u32 {
    match number {
        0..=2 => hipblas_sys::HIPBLAS_OP_N.0 + number,
        other => other,
    }
}

/// Sets an attribute of a product.
///
/// An operation may have CUDA's number, for programs that pass an integer. For `CUBLASLT_MATMUL_DESC_TRANSC`, only
/// `CUBLAS_OP_N` is accepted, which is hipBLASLt's behaviour.
///
/// # Errors
/// If the library does not know the attribute, or rejects the value; `CUBLAS_STATUS_NOT_SUPPORTED` for another
/// operation on `C`.
///
/// # Safety
/// The descriptor must be alive, and `buf` valid for reads of `buf_size` bytes.
#[doc(alias("hipblasLtMatmulDescSetAttribute"))]
pub unsafe fn set_matmul_desc_attribute(
    matmul_desc: sys::cublasLtMatmulDesc_t,
    attr: sys::cublasLtMatmulDescAttributes_t,
    buf: *const c_void,
    buf_size: usize,
) -> Result<(), CublasError> {
    use sys::cublasLtMatmulDescAttributes_t as Attribute;

    let is_operation = [
        Attribute::CUBLASLT_MATMUL_DESC_TRANSA,
        Attribute::CUBLASLT_MATMUL_DESC_TRANSB,
        Attribute::CUBLASLT_MATMUL_DESC_TRANSC,
    ]
    .contains(&attr);
    if !is_operation || buf.is_null() || buf_size != size_of::<u32>() {
        // SAFETY: the caller's contract.
        return unsafe { sys::cublasLtMatmulDescSetAttribute(matmul_desc, attr, buf, buf_size) }.result();
    }
    // SAFETY: the caller ensures that it can be read.
    let operation = operation(unsafe { buf.cast::<u32>().read_unaligned() });
    if attr == Attribute::CUBLASLT_MATMUL_DESC_TRANSC {
        return if operation == hipblas_sys::HIPBLAS_OP_N.0 { Ok(()) } else { Err(NOT_SUPPORTED) };
    }
    // SAFETY: the caller's contract, and a value of this size.
    unsafe { sys::cublasLtMatmulDescSetAttribute(matmul_desc, attr, (&raw const operation).cast(), buf_size) }.result()
}

/// Destroys the descriptor of a product.
///
/// # Errors
/// If the library returns an error.
///
/// # Safety
/// The descriptor must be alive, and not used again.
#[doc(alias("hipblasLtMatmulDescDestroy"))]
pub unsafe fn destroy_matmul_desc(matmul_desc: sys::cublasLtMatmulDesc_t) -> Result<(), CublasError> {
    // SAFETY: the caller's contract.
    unsafe { sys::cublasLtMatmulDescDestroy(matmul_desc) }.result()
}

/// Creates preferences for the algorithm search.
///
/// # Errors
/// If the library returns an error.
#[doc(alias("hipblasLtMatmulPreferenceCreate"))]
pub fn create_matmul_pref() -> Result<sys::cublasLtMatmulPreference_t, CublasError> {
    let mut preference = null_mut();
    // SAFETY: room for the result.
    unsafe { sys::cublasLtMatmulPreferenceCreate(&mut preference) }.result()?;
    Ok(preference)
}

/// Sets a preference.
///
/// # Errors
/// If the library does not know it, or rejects the value.
///
/// # Safety
/// The preferences must be alive, and `buf` valid for reads of `buf_size` bytes.
#[doc(alias("hipblasLtMatmulPreferenceSetAttribute"))]
pub unsafe fn set_matmul_pref_attribute(
    matmul_pref: sys::cublasLtMatmulPreference_t,
    attr: sys::cublasLtMatmulPreferenceAttributes_t,
    buf: *const c_void,
    buf_size: usize,
) -> Result<(), CublasError> {
    // SAFETY: the caller's contract.
    unsafe { sys::cublasLtMatmulPreferenceSetAttribute(matmul_pref, attr, buf, buf_size) }.result()
}

/// Destroys preferences.
///
/// # Errors
/// If the library returns an error.
///
/// # Safety
/// The preferences must be alive, and not used again.
#[doc(alias("hipblasLtMatmulPreferenceDestroy"))]
pub unsafe fn destroy_matmul_pref(matmul_pref: sys::cublasLtMatmulPreference_t) -> Result<(), CublasError> {
    // SAFETY: the caller's contract.
    unsafe { sys::cublasLtMatmulPreferenceDestroy(matmul_pref) }.result()
}

/// Returns the algorithm that the library estimates to be the fastest.
///
/// # Errors
/// `CUBLAS_STATUS_NOT_SUPPORTED` if the library has no algorithm for the product.
///
/// # Safety
/// The handles must be alive.
#[doc(alias("hipblasLtMatmulAlgoGetHeuristic"))]
pub unsafe fn get_matmul_algo_heuristic(
    handle: sys::cublasLtHandle_t,
    matmul_desc: sys::cublasLtMatmulDesc_t,
    a_layout: sys::cublasLtMatrixLayout_t,
    b_layout: sys::cublasLtMatrixLayout_t,
    c_layout: sys::cublasLtMatrixLayout_t,
    d_layout: sys::cublasLtMatrixLayout_t,
    matmul_pref: sys::cublasLtMatmulPreference_t,
) -> Result<sys::cublasLtMatmulHeuristicResult_t, CublasError> {
    let mut heuristic = sys::cublasLtMatmulHeuristicResult_t::default();
    let mut count = 0;
    // SAFETY: the caller's contract, and room for the results.
    unsafe {
        sys::cublasLtMatmulAlgoGetHeuristic(
            handle,
            matmul_desc,
            a_layout,
            b_layout,
            c_layout,
            d_layout,
            matmul_pref,
            1,
            &mut heuristic,
            &mut count,
        )
    }
    .result()?;
    if count == 0 {
        return Err(NOT_SUPPORTED);
    }
    heuristic.state.result()?;
    Ok(heuristic)
}

/// Queues `D = alpha · op(A) · op(B) + beta · C`, with the descriptor's epilogue.
///
/// # Errors
/// If the library returns an error.
///
/// # Safety
/// Handles must be alive, and pointers valid for the layouts: of matrices and the workspace on the device, of scalars
/// and the algorithm on the host.
#[allow(clippy::too_many_arguments, reason = "C's")]
#[doc(alias("hipblasLtMatmul"))]
pub unsafe fn matmul(
    handle: sys::cublasLtHandle_t,
    matmul_desc: sys::cublasLtMatmulDesc_t,
    alpha: *const c_void,
    beta: *const c_void,
    a: *const c_void,
    a_layout: sys::cublasLtMatrixLayout_t,
    b: *const c_void,
    b_layout: sys::cublasLtMatrixLayout_t,
    c: *const c_void,
    c_layout: sys::cublasLtMatrixLayout_t,
    d: *mut c_void,
    d_layout: sys::cublasLtMatrixLayout_t,
    algo: *const sys::cublasLtMatmulAlgo_t,
    workspace: *mut c_void,
    workspace_size: usize,
    stream: sys::cudaStream_t,
) -> Result<(), CublasError> {
    // SAFETY: the caller's contract.
    unsafe {
        sys::cublasLtMatmul(
            handle,
            matmul_desc,
            alpha,
            a,
            a_layout,
            b,
            b_layout,
            beta,
            c,
            c_layout,
            d,
            d_layout,
            algo,
            workspace,
            workspace_size,
            stream,
        )
    }
    .result()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_cuda_are_those_of_rocm() {
        let all = [hipblas_sys::HIPBLAS_OP_N, hipblas_sys::HIPBLAS_OP_T, hipblas_sys::HIPBLAS_OP_C];
        assert_eq!([0, 1, 2].map(operation), all.map(|operation| operation.0));
        assert_eq!(all.map(|of| operation(of.0)), all.map(|operation| operation.0));
        assert_eq!(operation(3), 3);
    }
}
