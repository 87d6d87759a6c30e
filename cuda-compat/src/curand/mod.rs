//! cuRAND over hipRAND: CUDA's names in [`sys`], the interface of cudarc around them.
//!
//! # What it rests on
//! Calls go to `hiprand-sys`, not to the crate `hiprand`: traits of cudarc are implemented for the raw generator. Buffers are tracked by their
//! `device_ptr`.
//!
//! # What differs from cudarc
//! Numbers of a seed are rocRAND's: other numbers than cuRAND's, of the same distributions. A buffer without elements is filled without a
//! call.

pub mod result;
pub mod safe;

pub mod sys {
    //! The names of CUDA's C header.
    pub use crate::generated::curand::*;
    #[doc(no_inline)]
    pub use hiprand_sys::{has, load_error, symbol_error};
}

pub use safe::*;
pub use sys::*;
