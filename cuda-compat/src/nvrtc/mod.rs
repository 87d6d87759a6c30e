//! NVRTC under CUDA's names, over HIPRTC.
//!
//! # What differs
//! - HIPRTC compiles HIP C++, which is CUDA C++ in most of what kernels use. Masks of lanes have 64 bits.
//! - There is no PTX: [`nvrtcGetPTX`] and [`nvrtcGetCUBIN`] both return a code object for one architecture. `cuModuleLoadData` takes it.
//! - Without an architecture of AMD in the options, HIPRTC compiles for the current device. `sm_80` and `compute_80` are ignored.
//! - [`nvrtcCompileProgram`] translates NVRTC's options; [`translate_options`] shows how, and which are ignored.
//! - [`nvrtcVersion`] returns HIPRTC's version.

mod options;
pub mod result;
pub mod safe;
pub mod sys;

pub use options::{Translated, translate_options};
pub use safe::*;
pub use sys::*;
