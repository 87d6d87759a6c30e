//! Raw bindings to AMD's RCCL for ROCm 5.7 to 10.0, loaded at run time: collective communication between GPUs and
//! hosts.
//!
//! Every function of its C interface is declared under its C name, as an `unsafe extern "C" fn` that resolves its
//! address in the library on the first call. Nothing is linked, and a build needs no ROCm.
//!
//! ```
//! use rccl_sys::*;
//!
//! let mut version = 0;
//! // SAFETY: `version` is valid for the write.
//! let status = unsafe { ncclGetVersion(&mut version) };
//! if status == ncclSuccess {
//!     println!("RCCL is available");
//! } else if let Some(why) = load_error() {
//!     println!("no RCCL: {why}"); // lists every path tried
//! } else {
//!     println!("{status:?}"); // prints the name of the status
//! }
//! ```
//!
//! # Missing libraries and functions
//! A call never panics because the library or the function is missing: it returns [`ncclSystemError`] or
//! [`ncclInvalidUsage`]. [`load_error`] returns why the library could not be opened. [`has`] returns whether a function
//! is available, [`symbol_error`] why it is not.
//!
//! # API levels
//! A feature `rocm-MAJOR-MINOR` adds the module `rocm_MAJOR_MINOR`, which declares exactly the interface of that ROCm
//! release. The features `rocm-5-7` to `rocm-10-0` each enable those before it, and `rocm-6-4` is the default.
//! The root contains the items that are the same in every release since they were added. Items that AMD changed or
//! removed are only in the modules; such a function checks the library, and does not call one of another release:
//! [`symbol_error`] then returns the module to use. [`coverage`] lists the functions of each release and the sources of
//! their declarations.
//!
//! # Types
//! C enums are integers with named constants, not Rust enums: a newer library may return a value without a name here.
//! Structs implement `Default`, all zeros. Names are NCCL's. The `pnccl` functions are for profilers; the header lacks
//! them since 10.0. `ncclConfig_t` has another size in several releases: each module has its own. Initialise it with
//! the header's values before use.
//!
//! # Safety
//! These are C functions: the caller must ensure that pointers are valid for the function's reads and writes, and that
//! handles are alive.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[rustfmt::skip]
#[allow(missing_docs, reason = "not every item has a comment in C's headers")]
#[allow(non_camel_case_types, non_snake_case, non_upper_case_globals, reason = "names are C's")]
#[allow(clippy::missing_safety_doc, clippy::too_many_arguments, reason = "functions are C's")]
#[allow(clippy::identity_op, reason = "the first bit is written like the others")]
#[allow(unreachable_pub, unused_imports, unused_macros, reason = "levels differ in what they need")]
mod generated;

pub use generated::*;

rocm_loader::sys_crate!(rocm_loader::libraries::RCCL);

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
