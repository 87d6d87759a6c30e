//! cuSOLVER over hipSOLVER: CUDA's names in [`sys`], handles as cudarc has them.
//!
//! # What it rests on
//! Handles are those of `hipsolver-sys`; the crate `hipsolver` has the factorisations, over handles of its own. Sparse and refactorisation
//! handles need ROCm 6.2 or newer (feature `rocm-6-2`), the deterministic mode 6.3.

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
