//! cuRAND over hipRAND: CUDA's names in [`sys`], and cudarc's interface.
//!
//! # Implementation
//! Calls go to `hiprand-sys`, not to the crate `hiprand`: cudarc's traits are implemented for the raw generator.
//! Buffers are tracked by their `device_ptr`.
//!
//! # Differences from cudarc
//! For the same seed, rocRAND generates other numbers than cuRAND, of the same distributions. For a buffer without
//! elements, no call is made.

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
