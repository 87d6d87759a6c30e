//! The names of `nvrtc.h`.

#[doc(no_inline)]
pub use hiprtc_sys::{has, load_error, symbol_error};

pub use crate::generated::nvrtc::*;

pub use super::program::{
    nvrtcCompileProgram, nvrtcCreateProgram, nvrtcDestroyProgram, nvrtcGetProgramLog, nvrtcGetProgramLogSize,
};
