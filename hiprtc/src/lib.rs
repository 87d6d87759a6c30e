//! Compiles HIP C++ kernels at run time, or loads kernels that were compiled ahead of time for several AMD GPUs.
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
//!     // Nothing of ROCm is linked: this program also runs on a machine without it.
//!     Err(error) if error.is_unavailable() => println!("{error}"),
//!     Err(error) => return Err(error),
//! }
//! # Ok::<(), hiprtc::Error>(())
//! ```
//!
//! | To | use | C functions |
//! |---|---|---|
//! | find out whether a compiler is available | [`available`] | |
//! | compile | [`Program`], [`Options`] | `hiprtcCreateProgram`, `hiprtcCompileProgram`, `hiprtcGetProgramLog`, `hiprtcGetCode` |
//! | instantiate templates | [`Program::name_expression`], [`Code::lowered_name`] | `hiprtcAddNameExpression`, `hiprtcGetLoweredName` |
//! | load the result | [`Code::load`] | `hipModuleLoadData` |
//! | compile and load, once for each program and device | [`Program::load`], [`Loaded`] | |
//! | compile to bitcode | [`Program::compile_bitcode`], [`Bitcode`] | `hiprtcGetBitcode` |
//! | link bitcode, LLVM IR, bundles and archives | [`Linker`], [`LinkInput`] | `hiprtcLinkCreate`, `hiprtcLinkAddData`, `hiprtcLinkAddFile`, `hiprtcLinkComplete` |
//! | write code for several GPUs to a file | [`Program::compile_bundle`], [`Bundle`] | clang's offload bundles |
//! | compile kernels in a build script, and call them like functions | [`build`], [`kernels!`] | |
//! | keep compiled code on disk, and modules in memory (on by default) | [`cache`], [`Program::uncached`] | |
//! | compile if a compiler is available, otherwise use a bundle | [`compile_or_bundle`] | |
//!
//! Kernels are compiled for the current device, or for a named architecture, which needs no device. Invalid input is an
//! error before HIPRTC is called. The compiler's messages are in [`Error::Compilation`] and [`Code::log`], and as
//! values in [`Error::diagnostics`] and [`Code::diagnostics`].
//!
//! # Features
//!
//! | feature | what it does |
//! |---|---|
//! | `rocm-5-7` to `rocm-10-0` | API levels, as in [`hip`]; `rocm-6-4` is the default |
//! | `compressed` | reads compressed bundles |
//! | `nvidia` | compiles for NVIDIA's GPUs with NVRTC of CUDA 12 or 13: architectures such as `sm_90` (machine code) and `compute_90` (PTX) |
//! | `sim` | `hip`'s feature `sim`: builds in the embedded runtime. It has no compiler: without ROCm's HIPRTC a program needs a bundle |
//! | `cli` | the command `hiprtc-compile` |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod available;
mod bitcode;
pub mod build;
mod bundle;
pub mod cache;
mod code;
mod comgr;
mod compiler;
#[cfg(test)]
mod damage;
mod diagnostic;
mod error;
mod fallback;
mod given;
mod handle;
mod includes;
mod link;
mod loaded;
#[cfg(feature = "nvidia")]
mod nvrtc;
mod options;
mod program;
mod raw;
mod source;

pub use hip;
pub use hip::Arch;
pub use hiprtc_sys as sys;

pub use bitcode::Bitcode;
pub use bundle::{Bundle, BundleWriter, Entry};
pub use code::{Code, Origin};
pub use compiler::available;
pub use diagnostic::{Diagnostic, Severity};
pub use error::{Error, HiprtcError, LinkError, Result};
pub use fallback::compile_or_bundle;
pub use link::{LinkInput, Linker};
pub use loaded::Loaded;
pub use options::{CppStandard, OptLevel, Options};
pub use program::Program;

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
