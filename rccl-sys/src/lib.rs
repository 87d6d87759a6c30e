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
//! The features `rocm-5-7` to `rocm-10-0` select the release whose interface is declared. Each enables those before it,
//! and the highest one counts ([`API_LEVEL`]). The same features of the `-sys` crates whose types this crate uses are
//! enabled too. [`coverage`] lists the functions of each level and the sources of their declarations.
//!
//! # Types
//! C enums are integers with named constants, not Rust enums: a newer library may return a value without a name here.
//! Structs implement `Default`, all zeros. Names are NCCL's. The `pnccl` functions are for profilers; the header lacks
//! them since 10.0. `ncclConfig_t` has the size of the selected level: initialise it with the header's values before
//! use.
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
