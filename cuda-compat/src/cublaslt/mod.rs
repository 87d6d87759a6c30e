//! cuBLASLt over hipBLASLt (ROCm 6.2 or newer): CUDA's names in [`sys`], the interface of cudarc around them.
//!
//! # What it rests on
//! Calls go to `hipblaslt-sys`, not to the crate `hipblaslt`: the shape needs the raw handle and CUDA's attributes. Buffers are tracked by
//! their `device_ptr`, as in [`cublas`](https://docs.rs/cuda-compat/latest/cuda_compat/cublas/index.html).
//!
//! # What differs from cudarc
//! - Operands that are shorter than the configuration says are `CUBLAS_STATUS_INVALID_VALUE` before the call.
//! - hipBLASLt has no transposed `C`, and a stride of the bias only since ROCm 10.0: `CUBLAS_STATUS_NOT_SUPPORTED`.
//! - `result::set_matmul_desc_attribute` takes CUDA's numbers of an operation (0, 1, 2) and ROCm's.
//! - `CublasError` is one type here and in `cublas`: ROCm has one status for both.
//! - `f32` is multiplied in single precision. cudarc asks for factors of 10 bits (TF32), which few AMD GPUs have.
//! - `cublasLtLogger…` functions are absent: set `HIPBLASLT_LOG_LEVEL` and `HIPBLASLT_LOG_FILE`.

#[cfg(feature = "rocm-6-2")]
pub mod result;
#[cfg(feature = "rocm-6-2")]
pub mod safe;

pub mod sys {
    //! The names of CUDA's C header.
    pub use crate::generated::cublaslt::*;
    #[doc(no_inline)]
    pub use hipblaslt_sys::{has, load_error, symbol_error};
}

#[cfg(feature = "rocm-6-2")]
pub use safe::*;
pub use sys::*;
