//! cuBLAS over hipBLAS: CUDA's names in [`sys`], and cudarc's interface.
//!
//! ```no_run
//! use cuda_compat::cublas::{CudaBlas, Gemm, GemmConfig, sys::cublasOperation_t};
//! use cuda_compat::driver::CudaContext;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let stream = CudaContext::new(0)?.default_stream();
//! let blas = CudaBlas::new(stream.clone())?;
//! let a = stream.clone_htod(&[1.0_f32, 2.0, 3.0, 4.0])?; // 2 × 2, by columns
//! let b = stream.clone_htod(&[1.0_f32, 0.0, 0.0, 1.0])?;
//! let mut c = stream.alloc_zeros::<f32>(4)?;
//! let config = GemmConfig {
//!     transa: cublasOperation_t::CUBLAS_OP_N,
//!     transb: cublasOperation_t::CUBLAS_OP_N,
//!     m: 2,
//!     n: 2,
//!     k: 2,
//!     alpha: 1.0,
//!     lda: 2,
//!     ldb: 2,
//!     beta: 0.0,
//!     ldc: 2,
//! };
//! // SAFETY: the buffers have the sizes of the configuration.
//! unsafe { blas.gemm(config, &a, &b, &mut c)? };
//! assert_eq!(stream.clone_dtoh(&c)?, [1.0, 2.0, 3.0, 4.0]);
//! # Ok(())
//! # }
//! ```
//!
//! # Implementation
//! Calls go to `hipblas-sys`, not to the crate `hipblas`: cudarc's interface needs the raw handle, the pointer mode and
//! CUDA's configurations by value, and a program may change all of them outside of `hipblas`. Buffers are tracked
//! nevertheless: each operand's `device_ptr` orders the call after the work that uses the buffer, and its guard records
//! the call.
//! # Differences from cudarc
//! - Operands that are shorter than the configuration states, and leading dimensions that are too small, are
//!   `CUBLAS_STATUS_INVALID_VALUE` before the call. cudarc passes them to the library.
//! - `f16` and `bf16` need ROCm 6.2 or newer (feature `rocm-6-2`).
//! - [`GroupedGemm`] makes one call for each problem: hipBLAS has no grouped product.

pub mod result;
pub mod safe;

pub mod sys {
    //! The names of CUDA's C header.
    pub use crate::generated::cublas::*;
    #[doc(no_inline)]
    pub use hipblas_sys::{has, load_error, symbol_error};
}

pub use safe::*;
pub use sys::*;
