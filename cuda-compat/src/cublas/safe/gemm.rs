use core::ffi::{c_int, c_longlong};

use super::sizes;
use crate::cublas::{CublasError, CudaBlas, result, sys};
use crate::driver::{DevicePtr, DevicePtrMut};

/// The arguments of [`Gemm::gemm`]: `C = alpha · op(A) · op(B) + beta · C`.
#[derive(Debug, Copy, Clone)]
pub struct GemmConfig<T> {
    /// The operation on `A`.
    pub transa: sys::cublasOperation_t,
    /// The operation on `B`.
    pub transb: sys::cublasOperation_t,
    /// The rows of `op(A)` and `C`.
    pub m: c_int,
    /// The columns of `op(B)` and `C`.
    pub n: c_int,
    /// The columns of `op(A)` and the rows of `op(B)`.
    pub k: c_int,
    /// The factor of the product.
    pub alpha: T,
    /// The distance between columns of `A`.
    pub lda: c_int,
    /// The distance between columns of `B`.
    pub ldb: c_int,
    /// The factor of `C`.
    pub beta: T,
    /// The distance between columns of `C`.
    pub ldc: c_int,
}

/// The arguments of [`Gemm::gemm_strided_batched`]. Strides are in elements.
#[derive(Debug, Copy, Clone)]
pub struct StridedBatchedConfig<T> {
    /// The arguments of each product.
    pub gemm: GemmConfig<T>,
    /// The number of products.
    pub batch_size: c_int,
    /// The distance between two `A`; 0 for a matrix that all products share.
    pub stride_a: c_longlong,
    /// The distance between two `B`; 0 for a matrix that all products share.
    pub stride_b: c_longlong,
    /// The distance between two `C`.
    pub stride_c: c_longlong,
}

/// Products of matrices.
#[diagnostic::on_unimplemented(note = "`half::f16` and `bf16` need the features `f16` and `rocm-6-2` of `cuda-compat`")]
pub trait Gemm<T> {
    /// Queues `C = alpha · op(A) · op(B) + beta · C`. Matrices are column-major. Half-precision products are summed
    /// in single precision.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE` if a size is negative, or an operand has fewer elements than the configuration
    /// states.
    ///
    /// # Safety
    /// No other thread may make a call with this handle at the same time. In `CUBLAS_POINTER_MODE_DEVICE`, the call
    /// reads `alpha` and `beta` on the device, but the configuration is on the host.
    #[doc(alias("hipblasSgemm", "hipblasDgemm", "hipblasGemmEx"))]
    unsafe fn gemm<A: DevicePtr<T>, B: DevicePtr<T>, C: DevicePtrMut<T>>(
        &self,
        cfg: GemmConfig<T>,
        a: &A,
        b: &B,
        c: &mut C,
    ) -> Result<(), CublasError>;

    /// Queues a batch of products, whose matrices are at equal distances.
    ///
    /// # Errors
    /// As for [`gemm`](Self::gemm); also if a stride is negative.
    ///
    /// # Safety
    /// As for [`gemm`](Self::gemm).
    #[doc(alias("hipblasSgemmStridedBatched", "hipblasDgemmStridedBatched", "hipblasGemmStridedBatchedEx"))]
    unsafe fn gemm_strided_batched<A: DevicePtr<T>, B: DevicePtr<T>, C: DevicePtrMut<T>>(
        &self,
        cfg: StridedBatchedConfig<T>,
        a: &A,
        b: &B,
        c: &mut C,
    ) -> Result<(), CublasError>;
}

impl<T> GemmConfig<T> {
    /// Returns the number of elements that each operand needs.
    pub(super) fn needs(&self) -> Result<[usize; 3], CublasError> {
        let [m, n, k] = sizes::sizes([self.m, self.n, self.k])?;
        Ok([
            sizes::operand(self.transa, m, k, self.lda)?,
            sizes::operand(self.transb, k, n, self.ldb)?,
            sizes::matrix(m, n, self.ldc)?,
        ])
    }

    /// Returns an error if operands of these lengths are too short.
    pub(super) fn check(&self, has: [usize; 3]) -> Result<(), CublasError> {
        let needs = self.needs()?;
        sizes::fit([0, 1, 2].map(|operand| (has[operand], needs[operand])))
    }
}

impl<T> StridedBatchedConfig<T> {
    /// Returns an error if operands of these lengths are too short.
    fn check(&self, has: [usize; 3]) -> Result<(), CublasError> {
        let [count] = sizes::sizes([self.batch_size])?;
        let [a, b, c] = self.gemm.needs()?;
        sizes::fit([
            (has[0], sizes::batch(a, self.stride_a, count)?),
            (has[1], sizes::batch(b, self.stride_b, count)?),
            (has[2], sizes::batch(c, self.stride_c, count)?),
        ])
    }
}

/// Implements the trait for a type: the calls of the C function, for one product and for a batch.
macro_rules! gemm {
    ($($ty:ty: $one:expr, $batch:expr;)+) => {$(
        impl Gemm<$ty> for CudaBlas {
            unsafe fn gemm<A: DevicePtr<$ty>, B: DevicePtr<$ty>, C: DevicePtrMut<$ty>>(
                &self,
                cfg: GemmConfig<$ty>,
                a: &A,
                b: &B,
                c: &mut C,
            ) -> Result<(), CublasError> {
                cfg.check([a.len(), b.len(), c.len()])?;
                let (a, a_read) = a.device_ptr(&self.stream);
                let (b, b_read) = b.device_ptr(&self.stream);
                let (c, c_written) = c.device_ptr_mut(&self.stream);
                let call = || {
                    // SAFETY: operands are long enough, and the rest is the caller's contract.
                    unsafe { $one(self, &cfg, a, b, c) }
                };
                // SAFETY: the caller's contract.
                unsafe { self.queue([a_read, b_read, c_written], call) }
            }

            unsafe fn gemm_strided_batched<A: DevicePtr<$ty>, B: DevicePtr<$ty>, C: DevicePtrMut<$ty>>(
                &self,
                cfg: StridedBatchedConfig<$ty>,
                a: &A,
                b: &B,
                c: &mut C,
            ) -> Result<(), CublasError> {
                cfg.check([a.len(), b.len(), c.len()])?;
                let (a, a_read) = a.device_ptr(&self.stream);
                let (b, b_read) = b.device_ptr(&self.stream);
                let (c, c_written) = c.device_ptr_mut(&self.stream);
                let call = || {
                    // SAFETY: operands are long enough, and the rest is the caller's contract.
                    unsafe { $batch(self, &cfg, a, b, c) }
                };
                // SAFETY: the caller's contract.
                unsafe { self.queue([a_read, b_read, c_written], call) }
            }
        }
    )+};
}

/// Calls of functions whose names contain a letter for the type.
macro_rules! by_letter {
    ($name:ident, $batched:ident, $ty:ty, $one:ident, $batch:ident) => {
        /// # Safety
        /// The requirements of the function called.
        unsafe fn $name(blas: &CudaBlas, cfg: &GemmConfig<$ty>, a: u64, b: u64, c: u64) -> Result<(), CublasError> {
            let (a, b, c) = (a as *const $ty, b as *const $ty, c as *mut $ty);
            // SAFETY: the caller's contract.
            unsafe {
                result::$one(
                    blas.handle,
                    cfg.transa,
                    cfg.transb,
                    cfg.m,
                    cfg.n,
                    cfg.k,
                    &cfg.alpha,
                    a,
                    cfg.lda,
                    b,
                    cfg.ldb,
                    &cfg.beta,
                    c,
                    cfg.ldc,
                )
            }
        }

        /// # Safety
        /// The requirements of the function called.
        unsafe fn $batched(
            blas: &CudaBlas,
            cfg: &StridedBatchedConfig<$ty>,
            a: u64,
            b: u64,
            c: u64,
        ) -> Result<(), CublasError> {
            let (of, a, b, c) = (&cfg.gemm, a as *const $ty, b as *const $ty, c as *mut $ty);
            // SAFETY: the caller's contract.
            unsafe {
                result::$batch(
                    blas.handle,
                    of.transa,
                    of.transb,
                    of.m,
                    of.n,
                    of.k,
                    &of.alpha,
                    a,
                    of.lda,
                    cfg.stride_a,
                    b,
                    of.ldb,
                    cfg.stride_b,
                    &of.beta,
                    c,
                    of.ldc,
                    cfg.stride_c,
                    cfg.batch_size,
                )
            }
        }
    };
}

by_letter!(single, singles, f32, sgemm, sgemm_strided_batched);
by_letter!(double, doubles, f64, dgemm, dgemm_strided_batched);

gemm! {
    f32: single, singles;
    f64: double, doubles;
}

#[cfg(all(feature = "f16", feature = "rocm-6-2"))]
mod halves {
    //! Half-precision matrices are multiplied by the functions with types as parameters, and summed in single
    //! precision.

    use super::*;

    /// A 16-bit type.
    pub(super) trait Half: Copy {
        const TYPE: sys::cudaDataType_t;
        fn to_single(self) -> f32;
    }

    impl Half for half::f16 {
        const TYPE: sys::cudaDataType_t = sys::cudaDataType_t::CUDA_R_16F;

        fn to_single(self) -> f32 {
            self.to_f32()
        }
    }

    impl Half for half::bf16 {
        const TYPE: sys::cudaDataType_t = sys::cudaDataType_t::CUDA_R_16BF;

        fn to_single(self) -> f32 {
            self.to_f32()
        }
    }

    const COMPUTE: sys::cublasComputeType_t = sys::cublasComputeType_t::CUBLAS_COMPUTE_32F;
    const ALGORITHM: sys::cublasGemmAlgo_t = sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT;

    /// # Safety
    /// The requirements of the function called.
    unsafe fn one<T: Half>(blas: &CudaBlas, cfg: &GemmConfig<T>, a: u64, b: u64, c: u64) -> Result<(), CublasError> {
        let (alpha, beta) = (cfg.alpha.to_single(), cfg.beta.to_single());
        let (alpha, beta) = ((&raw const alpha).cast(), (&raw const beta).cast());
        let (a, b, c) = (a as *const _, b as *const _, c as *mut _);
        // SAFETY: the caller's contract.
        unsafe {
            result::gemm_ex(
                blas.handle,
                cfg.transa,
                cfg.transb,
                cfg.m,
                cfg.n,
                cfg.k,
                alpha,
                a,
                T::TYPE,
                cfg.lda,
                b,
                T::TYPE,
                cfg.ldb,
                beta,
                c,
                T::TYPE,
                cfg.ldc,
                COMPUTE,
                ALGORITHM,
            )
        }
    }

    /// # Safety
    /// The requirements of the function called.
    unsafe fn batch<T: Half>(
        blas: &CudaBlas,
        cfg: &StridedBatchedConfig<T>,
        a: u64,
        b: u64,
        c: u64,
    ) -> Result<(), CublasError> {
        let of = &cfg.gemm;
        let (alpha, beta) = (of.alpha.to_single(), of.beta.to_single());
        let (alpha, beta) = ((&raw const alpha).cast(), (&raw const beta).cast());
        let (a, b, c) = (a as *const _, b as *const _, c as *mut _);
        // SAFETY: the caller's contract.
        unsafe {
            result::gemm_strided_batched_ex(
                blas.handle,
                of.transa,
                of.transb,
                of.m,
                of.n,
                of.k,
                alpha,
                a,
                T::TYPE,
                of.lda,
                cfg.stride_a,
                b,
                T::TYPE,
                of.ldb,
                cfg.stride_b,
                beta,
                c,
                T::TYPE,
                of.ldc,
                cfg.stride_c,
                cfg.batch_size,
                COMPUTE,
                ALGORITHM,
            )
        }
    }

    gemm! {
        half::f16: one, batch;
        half::bf16: one, batch;
    }
}
