//! cuSPARSE over hipSPARSE: CUDA's names in [`sys`], and handles in [`result`], as in cudarc.
//!
//! cudarc has no safe layer for it. The crate `hipsparse` is one, over the same library and the same handles.

pub mod result;

pub mod sys {
    //! The names of CUDA's C header.
    pub use crate::generated::cusparse::*;
    #[doc(no_inline)]
    pub use hipsparse_sys::{has, load_error, symbol_error};
}

pub use sys::*;
