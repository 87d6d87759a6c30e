//! Raw bindings to AMD's hipSPARSELt for ROCm 6.3 to 10.0, loaded at run time: products with structured sparse matrices.
//!
//! Every function of its C interface is here under its C name, as an `unsafe extern "C" fn` that looks its address up in
//! the library on its first call. Nothing is linked and nothing is needed to build.
//!
#![cfg_attr(feature = "rocm-6-3", doc = "```")]
#![cfg_attr(not(feature = "rocm-6-3"), doc = "```ignore")]
//! use hipsparselt_sys::*;
//!
//! let mut handle: hipsparseLtHandle_t = Default::default();
//! // SAFETY: `handle` is valid for the write.
//! let status = unsafe { hipsparseLtInit(&mut handle) };
//! if status == HIPSPARSE_STATUS_SUCCESS {
//!     println!("hipSPARSELt is there");
//! } else if let Some(why) = load_error() {
//!     println!("no hipSPARSELt: {why}"); // what was tried is on record
//! } else {
//!     println!("{status:?}"); // prints the name
//! }
//! ```
//!
//! # What is missing
//! A call never panics for want of the library or of a function: it returns [`HIPSPARSE_STATUS_NOT_INITIALIZED`] or
//! [`HIPSPARSE_STATUS_NOT_SUPPORTED`]. [`load_error`] tells why the
//! library could not be opened, [`has`] whether a function is there, [`symbol_error`] why it is not.
//!
//! # API levels
//! The features `rocm-5-7` to `rocm-10-0` choose the release whose interface is declared; each brings the one before with
//! it, and the highest counts ([`API_LEVEL`]). [`coverage`] has the functions of each level and where their declarations
//! come from. The features of the crates that it shares types with follow.
//!
//! # Types
//! C enums are integers with names, not Rust enums: a newer library may return a value that has no name here. Structs
//! have `Default`, all zeros. Statuses, operations and orders are those of `hipsparse-sys`. There is nothing below level 6.3: two functions of 6.2
//! took another enum.
//!
//! # Safety
//! The functions are C: pointers have to be valid for what the function reads or writes, and handles live.

#[rustfmt::skip]
#[allow(missing_docs, reason = "not every item has a comment in C's headers")]
#[allow(non_camel_case_types, non_snake_case, non_upper_case_globals, reason = "names are C's")]
#[allow(clippy::missing_safety_doc, clippy::too_many_arguments, reason = "functions are C's")]
#[allow(clippy::identity_op, reason = "the first bit is written like the others")]
#[allow(unreachable_pub, unused_imports, unused_macros, reason = "levels differ in what they need")]
mod generated;

pub use generated::*;

rocm_sdk::sys_crate!(rocm_sdk::libraries::HIPSPARSELT);

/// The README's example compiles.
#[cfg(all(doctest, feature = "rocm-6-3"))]
#[doc = include_str!("../README.md")]
struct Readme;
