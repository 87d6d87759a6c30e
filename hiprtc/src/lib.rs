//! Compile HIP C++ kernels at run time, or ship them compiled for several AMD GPUs.
//!
//! ```
//! use hiprtc::Program;
//!
//! let program = Program::new(
//!     "scale.hip",
//!     r#"extern "C" __global__ void scale(float *x, float by) { x[threadIdx.x] *= by; }"#,
//! );
//! match program.clone().arch("gfx90a").compile() {
//!     Ok(code) => println!("{} bytes for {}", code.as_bytes().len(), code.arch()),
//!     // Nothing of ROCm is linked: this program runs on a machine without it, too.
//!     Err(error) if error.is_unavailable() => println!("{error}"),
//!     Err(error) => return Err(error),
//! }
//! # Ok::<(), hiprtc::Error>(())
//! ```
//!
//! | To | use | C functions |
//! |---|---|---|
//! | know whether there is a compiler | [`available`] | |
//! | compile | [`Program`], [`Options`] | `hiprtcCreateProgram`, `hiprtcCompileProgram`, `hiprtcGetProgramLog`, `hiprtcGetCode` |
//! | instantiate templates | [`Program::name_expression`], [`Code::lowered_name`] | `hiprtcAddNameExpression`, `hiprtcGetLoweredName` |
//! | load the result | [`Code::load`] | `hipModuleLoadData` |
//! | ship code for several GPUs | [`Program::compile_bundle`], [`Bundle`] | clang's offload bundles |
//! | compile if possible, else take what was shipped | [`compile_or_bundle`] | |
//!
//! Kernels are compiled for the current device, or for the architecture that is named; no device is needed then. Whatever is wrong with the input is an
//! error before HIPRTC sees it; what the compiler says is in [`Error::Compilation`].

mod available;
mod bundle;
mod code;
mod comgr;
mod error;
mod options;
mod program;

pub use hip::Arch;
pub use hiprtc_sys as sys;

pub use available::available;
pub use bundle::{Bundle, BundleWriter, Entry};
pub use code::{Code, Origin, compile_or_bundle};
pub use error::{Error, HiprtcError, Result};
pub use options::{CppStandard, OptLevel, Options};
pub use program::Program;

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
