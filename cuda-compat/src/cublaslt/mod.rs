//! cuBLASLt over hipBLASLt (ROCm 6.2 or newer): CUDA's names in [`sys`], and cudarc's interface.
//!
//! # Implementation
//! Calls go to `hipblaslt-sys`, not to the crate `hipblaslt`: cudarc's interface needs the raw handle and CUDA's
//! attributes. Buffers are tracked by their `device_ptr`, as in
//! [`cublas`](https://docs.rs/cuda-compat/latest/cuda_compat/cublas/index.html).
//!
//! # Differences from cudarc
//! - Operands that are shorter than the configuration states are `CUBLAS_STATUS_INVALID_VALUE` before the call.
//! - hipBLASLt does not support a transposed `C`, and supports a stride of the bias only since ROCm 10.0:
//!   `CUBLAS_STATUS_NOT_SUPPORTED`.
//! - `result::set_matmul_desc_attribute` accepts CUDA's numbers of an operation (0, 1, 2) and ROCm's.
//! - `CublasError` is one type here and in `cublas`: ROCm has one status for both.
//! - `f32` is multiplied in single precision. cudarc requests 10-bit factors (TF32), which few AMD GPUs support.
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
