//! cuBLAS functions that return results instead of statuses.
//!
//! The functions only pass their arguments on. Pointers to operands are device addresses; scalars are on the host, or
//! on the device in `CUBLAS_POINTER_MODE_DEVICE`.

use core::ffi::{c_int, c_longlong};
use core::ptr::null_mut;

use super::sys;

pub use hipblas_sys::cuda::CublasError;

/// Creates a handle on the current device.
///
/// # Errors
/// `CUBLAS_STATUS_NOT_INITIALIZED` if hipBLAS cannot be loaded: [`sys::load_error`] returns the reason.
#[doc(alias("hipblasCreate"))]
pub fn create_handle() -> Result<sys::cublasHandle_t, CublasError> {
    let mut handle = null_mut();
    // SAFETY: room for the result.
    unsafe { sys::cublasCreate_v2(&mut handle) }.result()?;
    Ok(handle)
}

/// Destroys a handle.
///
/// # Errors
/// If the library returns an error.
///
/// # Safety
/// The handle must be alive, and not used again.
#[doc(alias("hipblasDestroy"))]
pub unsafe fn destroy_handle(handle: sys::cublasHandle_t) -> Result<(), CublasError> {
    // SAFETY: the caller's contract.
    unsafe { sys::cublasDestroy_v2(handle) }.result()
}

/// Sets the stream of a handle.
///
/// # Errors
/// If the library returns an error.
///
/// # Safety
/// The handle and the stream must be alive.
#[doc(alias("hipblasSetStream"))]
pub unsafe fn set_stream(handle: sys::cublasHandle_t, stream: sys::cudaStream_t) -> Result<(), CublasError> {
    // SAFETY: the caller's contract.
    unsafe { sys::cublasSetStream_v2(handle, stream) }.result()
}

/// Defines functions of one form for several types.
macro_rules! functions {
    ($($(#[$attribute:meta])* $name:ident($($argument:ident: $ty:ty),+ $(,)?) = $function:ident($($passed:expr),+ $(,)?);)+) => {$(
        $(#[$attribute])*
        ///
        /// # Errors
        /// If the library returns an error, or lacks the function.
        ///
        /// # Safety
        /// The handle must be alive, and pointers valid for the sizes, increments and leading dimensions.
        #[allow(clippy::too_many_arguments, reason = "C's")]
        pub unsafe fn $name(handle: sys::cublasHandle_t, $($argument: $ty),+) -> Result<(), CublasError> {
            // SAFETY: the caller's contract.
            unsafe { sys::$function(handle, $($passed),+) }.result()
        }
    )+};
}

/// `y = alpha · op(A) · x + beta · y`.
macro_rules! gemv {
    ($($(#[$attribute:meta])* $name:ident, $function:ident, $ty:ty;)+) => {functions! {$(
        $(#[$attribute])*
        $name(
            trans: sys::cublasOperation_t, m: c_int, n: c_int, alpha: *const $ty, a: *const $ty, lda: c_int,
            x: *const $ty, incx: c_int, beta: *const $ty, y: *mut $ty, incy: c_int,
        ) = $function(trans, m, n, alpha, a, lda, x, incx, beta, y, incy);
    )+}};
}

gemv! {
    /// Computes `y = alpha · op(A) · x + beta · y` in single precision.
    sgemv, cublasSgemv_v2, f32;
    /// Computes `y = alpha · op(A) · x + beta · y` in double precision.
    dgemv, cublasDgemv_v2, f64;
}

/// `C = alpha · op(A) · op(B) + beta · C`, of one matrix and of batches.
macro_rules! gemm {
    ($($(#[$attribute:meta])* $name:ident, $function:ident, $batched:ident, $of_batches:ident, $ty:ty;)+) => {functions! {$(
        $(#[$attribute])*
        $name(
            transa: sys::cublasOperation_t, transb: sys::cublasOperation_t, m: c_int, n: c_int, k: c_int,
            alpha: *const $ty, a: *const $ty, lda: c_int, b: *const $ty, ldb: c_int, beta: *const $ty, c: *mut $ty,
            ldc: c_int,
        ) = $function(
            transa, transb, m, n, k, alpha.cast(), a.cast(), lda, b.cast(), ldb, beta.cast(), c.cast(), ldc,
        );
        $(#[$attribute])*
        ///
        /// For a batch: matrix `i` starts `i` strides after the first.
        $batched(
            transa: sys::cublasOperation_t, transb: sys::cublasOperation_t, m: c_int, n: c_int, k: c_int,
            alpha: *const $ty, a: *const $ty, lda: c_int, stride_a: c_longlong, b: *const $ty, ldb: c_int,
            stride_b: c_longlong, beta: *const $ty, c: *mut $ty, ldc: c_int, stride_c: c_longlong, batch_size: c_int,
        ) = $of_batches(
            transa, transb, m, n, k, alpha.cast(), a.cast(), lda, stride_a, b.cast(), ldb, stride_b, beta.cast(),
            c.cast(), ldc, stride_c, batch_size,
        );
    )+}};
}

gemm! {
    /// Computes `C = alpha · op(A) · op(B) + beta · C` in single precision.
    sgemm, cublasSgemm_v2, sgemm_strided_batched, cublasSgemmStridedBatched, f32;
    /// Computes `C = alpha · op(A) · op(B) + beta · C` in double precision.
    dgemm, cublasDgemm_v2, dgemm_strided_batched, cublasDgemmStridedBatched, f64;
}

#[cfg(feature = "f16")]
gemm! {
    /// Computes `C = alpha · op(A) · op(B) + beta · C` in half precision.
    hgemm, cublasHgemm, hgemm_strided_batched, cublasHgemmStridedBatched, half::f16;
}

#[cfg(feature = "rocm-6-2")]
functions! {
    /// Computes `C = alpha · op(A) · op(B) + beta · C` with types as parameters. Scalars have the type of
    /// `compute_type`.
    gemm_ex(
        transa: sys::cublasOperation_t, transb: sys::cublasOperation_t, m: c_int, n: c_int, k: c_int,
        alpha: *const core::ffi::c_void, a: *const core::ffi::c_void, a_type: sys::cudaDataType, lda: c_int, b: *const core::ffi::c_void,
        b_type: sys::cudaDataType, ldb: c_int, beta: *const core::ffi::c_void, c: *mut core::ffi::c_void, c_type: sys::cudaDataType,
        ldc: c_int, compute_type: sys::cublasComputeType_t, algo: sys::cublasGemmAlgo_t,
    ) = cublasGemmEx(
        transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, compute_type, algo,
    );
    /// Computes `C = alpha · op(A) · op(B) + beta · C` for a batch, with types as parameters. Scalars have the type
    /// of `compute_type`.
    gemm_strided_batched_ex(
        transa: sys::cublasOperation_t, transb: sys::cublasOperation_t, m: c_int, n: c_int, k: c_int,
        alpha: *const core::ffi::c_void, a: *const core::ffi::c_void, a_type: sys::cudaDataType, lda: c_int, stride_a: c_longlong,
        b: *const core::ffi::c_void, b_type: sys::cudaDataType, ldb: c_int, stride_b: c_longlong, beta: *const core::ffi::c_void,
        c: *mut core::ffi::c_void, c_type: sys::cudaDataType, ldc: c_int, stride_c: c_longlong, batch_count: c_int,
        compute_type: sys::cublasComputeType_t, algo: sys::cublasGemmAlgo_t,
    ) = cublasGemmStridedBatchedEx(
        transa, transb, m, n, k, alpha, a, a_type, lda, stride_a, b, b_type, ldb, stride_b, beta, c, c_type, ldc,
        stride_c, batch_count, compute_type, algo,
    );
}

functions! {
    /// Writes the sum of the absolute values of `n` elements, in single precision.
    sasum(n: c_int, x: *const f32, incx: c_int, result: *mut f32) = cublasSasum_v2(n, x, incx, result);
    /// Writes the sum of the absolute values of `n` elements, in double precision.
    dasum(n: c_int, x: *const f64, incx: c_int, result: *mut f64) = cublasDasum_v2(n, x, incx, result);
}
