//! cuSOLVER over hipSOLVER: CUDA's names in [`sys`], and handles as in cudarc.
//!
//! # Implementation
//! Handles are those of `hipsolver-sys`; the crate `hipsolver` provides the factorizations, with its own handles.
//! Sparse and refactorization handles need ROCm 6.2 or newer (feature `rocm-6-2`), the deterministic mode 6.3.

pub mod result;
pub mod safe;

pub mod sys {
    //! The names of CUDA's C header.
    pub use crate::generated::cusolver::*;
    #[doc(no_inline)]
    pub use hipsolver_sys::{has, load_error, symbol_error};
}

pub use safe::*;
pub use sys::*;
