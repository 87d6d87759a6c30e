//! Raw bindings to AMD's hipGRAPH, loaded at run time: graph analytics with a C interface of cuGraph's shape.
//!
//! Every function of its C interface is declared under its C name, as an `unsafe extern "C" fn` that resolves its
//! address in the library on the first call. Nothing is linked, and a build needs no ROCm.
//!
#![cfg_attr(feature = "rocm-6-4", doc = "```")]
#![cfg_attr(not(feature = "rocm-6-4"), doc = "```ignore")]
//! use hipgraph_sys::*;
//!
//! // SAFETY: null asks for a handle of the library's own.
//! let handle = unsafe { hipgraph_create_resource_handle(std::ptr::null_mut()) };
//! if handle.is_null() {
//!     // lists every path tried
//!     println!("no hipGRAPH: {:?}", load_error().map(ToString::to_string));
//! } else {
//!     // SAFETY: the handle was just created, and nothing uses it.
//!     unsafe { hipgraph_free_resource_handle(handle) };
//! }
//! ```
//!
//! # Missing libraries and functions
//! A call never panics because the library or the function is missing: it returns `HIPGRAPH_UNKNOWN_ERROR` or
//! `HIPGRAPH_NOT_IMPLEMENTED`, or null if it returns a pointer. [`load_error`] returns why the library could not be
//! opened. [`has`] returns whether a function is available, [`symbol_error`] why it is not. AMD declares 11 functions
//! that its library does not define; the README lists them.
//!
//! # API levels
//! hipGRAPH is not part of a ROCm release. The crate declares the interface of its version 1.0.0b1 (May 2025), which
//! was built for ROCm 6.4: the modules `rocm_6_4` to `rocm_10_0`, which the features of these names add, and the root
//! have all of it. [`coverage`] lists the functions and the source of their declarations.
//!
//! # Types
//! C enums are integers with named constants, not Rust enums: a newer library may return a value without a name here.
//! The structs behind handles are opaque: their only member is C's placeholder.
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

rocm_loader::sys_crate!(rocm_loader::libraries::HIPGRAPH);

/// Compiles the README's example.
#[cfg(all(doctest, feature = "rocm-6-4"))]
#[doc = include_str!("../README.md")]
struct Readme;
