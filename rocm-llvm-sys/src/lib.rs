//! Raw bindings to the compiler libraries of AMD's ROCm 5.7 to 10.0, loaded at run time.
//!
//! - [`comgr`]: the code object manager, which compiles, links, disassembles and inspects code for AMD GPUs;
//! - [`llvm`]: LLVM's C interface, of ROCm's own LLVM;
//! - [`clang`]: libclang, the C interface to Clang's parser.
//!
//! Each is a library of its own: it is opened on the first call of one of its functions, and a program may have one
//! without the others. Nothing is linked and nothing is needed to build.
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
//!     Some(why) => println!("no LLVM: {why}"), // what was tried is on record
//!     None => println!("LLVM is there"),
//! }
//! ```
//!
//! # What is missing
//! A call never panics for want of the library or of a function: it returns its status (Comgr's
//! `AMD_COMGR_STATUS_ERROR`), null, or zero. `load_error` of each module tells why its library could not be opened, `has`
//! whether a function is there, `symbol_error` why it is not. LLVM's functions have no status of their own: ask first.
//!
//! # API levels
//! The features `rocm-5-7` to `rocm-10-0` choose the release whose interface is declared; each brings the one before with
//! it, and the highest counts. LLVM's and libclang's functions of a level are those that AMD's packages of that release
//! name, declared as in the nearest LLVM release whose headers are at hand (17, 19, 22, 23): `coverage` of each module.
//!
//! # Safety
//! The functions are C: pointers have to be valid for what the function reads or writes, and handles live. LLVM ends the
//! process on errors that it takes for the caller's own.

pub mod clang;
pub mod comgr;
pub mod llvm;

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
