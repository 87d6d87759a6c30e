//! Raw bindings to the compiler libraries of AMD's ROCm 5.7 to 10.0, loaded at run time.
//!
//! - [`comgr`]: the code object manager, which compiles, links, disassembles and inspects code for AMD GPUs.
//! - [`llvm`]: the C interface of ROCm's own LLVM.
//! - [`clang`]: libclang, the C interface to Clang's parser.
//!
//! Each is a separate library, opened on the first call of one of its functions. A program may have one without the
//! others. Nothing is linked, and a build needs no ROCm.
//!
//! ```
//! use rocm_llvm_sys::{comgr, llvm};
//!
//! let (mut major, mut minor) = (0, 0);
//! if comgr::load_error().is_none() {
//!     // SAFETY: both are valid for the write.
//!     unsafe { comgr::amd_comgr_get_version(&mut major, &mut minor) };
//!     println!("Comgr {major}.{minor}");
//! }
//! match llvm::load_error() {
//!     Some(why) => println!("no LLVM: {why}"), // lists every path tried
//!     None => println!("LLVM is available"),
//! }
//! ```
//!
//! # Missing libraries and functions
//! A call never panics because the library or the function is missing: it returns its API's status (Comgr's
//! `AMD_COMGR_STATUS_ERROR`), null, or zero. `load_error` of each module returns why its library could not be opened.
//! `has` returns whether a function is available, `symbol_error` why it is not. LLVM's functions return no status: ask
//! first.
//!
//! # API levels
//! A feature `rocm-MAJOR-MINOR` adds the module `rocm_MAJOR_MINOR`, which declares exactly the interface of that ROCm
//! release. The features `rocm-5-7` to `rocm-10-0` each enable those before it, and `rocm-6-4` is the default. The root
//! of each library's module contains the items that are the same in every release since they were added. Items that AMD
//! changed or removed are only in the modules of the releases; such a function checks the library, and returns a status
//! or nothing if the library belongs to another release. LLVM's and libclang's functions of a release are those that
//! AMD's packages of that release name, declared as in the nearest LLVM release whose headers are available (17, 19,
//! 22, 23): see `coverage`.
//!
//! # Safety
//! These are C functions: the caller must ensure that pointers are valid for the function's reads and writes, and that
//! handles are alive. LLVM terminates the process on errors that it attributes to the caller.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod clang;
pub mod comgr;
pub mod llvm;

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
