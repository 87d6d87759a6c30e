//! The code object manager: one-call pipelines from source to code objects and back.
//!
//! Comgr is the compiler behind HIPRTC: Clang, LLVM's code generator for AMD GPUs, its linker and its disassembler in
//! one library. It needs no GPU. Each pipeline is one function:
//!
//! | from | to | function |
//! |---|---|---|
//! | HIP source | bitcode | [`hip_to_bitcode`] |
//! | HIP source | code object | [`hip_to_code_object`] |
//! | LLVM IR as text, or bitcode | object file, assembly, code object | [`ir_to_object`], [`ir_to_assembly`], [`ir_to_code_object`] |
//! | several bitcodes, and the device libraries | bitcode | [`link_bitcode`] |
//! | assembly | object file, code object | [`assemble`], [`assembly_to_code_object`] |
//! | several object files | code object | [`link_objects`] |
//! | code object or object file | instructions | [`disassemble`] |
//! | code object or object file | metadata | [`metadata`] |
//! | code object or object file | symbols | [`symbols`] |
//! | code object | addresses with their source lines | [`source_lines`] |
//!
//! ```
//! use rocm_llvm::comgr::{self, Options};
//!
//! const SOURCE: &str = r#"
//! extern "C" __global__ void twice(float *x, unsigned n) {
//!     unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
//!     if (i < n) x[i] *= 2.0f;
//! }"#;
//!
//! # fn main() -> comgr::Result<()> {
//! if let Err(why) = comgr::available() {
//!     println!("{why}"); // lists every path searched
//!     return Ok(());
//! }
//! let code = comgr::hip_to_code_object("twice.hip", SOURCE, "gfx90a", &Options::new().optimize(3))?.bytes;
//! let metadata = comgr::metadata(&code)?;
//! let kernel = &metadata["amdhsa.kernels"][0];
//! assert_eq!(kernel[".name"].as_str(), Some("twice"));
//! println!("{} vector registers", kernel[".vgpr_count"].as_u64().unwrap_or_default());
//! // SAFETY: the compiler has just written it.
//! println!("{}", unsafe { comgr::disassemble(&code) }?);
//! # Ok(())
//! # }
//! ```
//!
//! If the compiler rejects its input, the result is an [`Error::Action`] with the compiler's messages. Comgr's own
//! objects are also available: [`Data`], [`DataSet`], [`ActionInfo`] and [`Action`].
//!
//! # Releases
//! One program works with Comgr 2 (ROCm 5.7 to 6.3) and Comgr 3 (since 6.4). AMD renumbered the actions and languages
//! in Comgr 3, which accepts the old numbers for other actions without an error. This module chooses the numbers by the
//! version of the library that it finds, and returns [`Error::Numbering`] if it does not know them. An action that the
//! library does not have is [`Error::NotSupported`].
//!
//! # Trust
//! LLVM's readers of bitcode and object files expect the output of a compiler. Damaged or crafted files crash them, or
//! end the process. So only an `unsafe` call lets them read bytes from elsewhere: [`Input::trusted`],
//! [`ActionInfo::run`]. The disassembler can crash at words that are not instructions, so [`disassemble`] is `unsafe`,
//! too. Sources, LLVM IR as text, and the output of this process's compiler ([`Artifact`]) are safe. Options can name
//! further files, which are trusted like the rest. [`metadata`], [`symbols`] and [`source_lines`] check code objects
//! before they pass them to Comgr. The crate `hiprtc` has the same rule for its `Linker`.
//!
//! LLVM IR as text has one exception. While LLVM reads it, it converts metadata and intrinsics of older releases before
//! its verifier sees them, and crashes if their form is wrong. `!nvvm.annotations` is checked by this crate. Read other text
//! that no compiler wrote with [`Context::parse_ir`](crate::llvm::Context::parse_ir) first, which tries it in a child
//! process.
//!
//! # Threads
//! The functions may be called from any thread, and at the same time. Comgr's objects are not `Send`: a data object may
//! be in several sets, and Comgr does not allow two threads to use it at once.

mod action;
mod bundle;
mod data;
mod data_set;
mod demangle;
mod disassembler;
mod disassembly;
mod error;
mod format;
mod hip_header;
mod input;
mod isa;
mod kind;
mod library;
mod metadata;
mod names;
mod notes;
mod numbering;
mod options;
mod pipeline;
mod source_lines;
mod symbols;
mod version;

pub use action::{ActionInfo, Output};
pub use bundle::find_code_objects;
pub use data::Data;
pub use data_set::DataSet;
pub use demangle::demangle;
pub use disassembler::{Disassembler, Instruction};
pub use disassembly::{Disassembly, Function, disassemble};
pub use error::{Error, Result};
pub use hip_header::hip_header;
pub use input::{Artifact, Input};
pub use isa::{Isa, isa_metadata, isas};
pub use kind::{Action, DataKind, Language};
pub use library::{available, version};
pub use metadata::Metadata;
pub use names::NameExpressions;
pub use options::Options;
pub use pipeline::{
    Built, assemble, assembly_to_code_object, hip_to_bitcode, hip_to_code_object, ir_to_assembly, ir_to_code_object,
    ir_to_object, link_bitcode, link_objects, metadata, symbols,
};
pub use source_lines::{SourceLine, SourcePlace, Symbolizer, source_lines};
pub use symbols::{Symbol, SymbolKind};
pub use version::Version;
