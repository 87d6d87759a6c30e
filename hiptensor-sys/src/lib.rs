//! Raw bindings to AMD's hipTensor for ROCm 10.0, loaded at run time: tensor contractions, permutations and reductions.
//!
//! Every function of its C interface is here under its C name, as an `unsafe extern "C" fn` that looks its address up in
//! the library on its first call. Nothing is linked and nothing is needed to build.
//!
#![cfg_attr(feature = "rocm-10-0", doc = "```")]
#![cfg_attr(not(feature = "rocm-10-0"), doc = "```ignore")]
//! use hiptensor_sys::*;
//!
//! let mut handle = std::ptr::null_mut();
//! // SAFETY: `handle` is valid for the write.
//! let status = unsafe { hiptensorCreate(&mut handle) };
//! if status == hiptensorStatus_t(0) {
//!     println!("hipTensor is there");
//! } else if let Some(why) = load_error() {
//!     println!("no hipTensor: {why}"); // what was tried is on record
//! } else {
//!     println!("{status:?}"); // prints the name
//! }
//! ```
//!
//! # What is missing
//! A call never panics for want of the library or of a function: it returns a status of `u32::MAX`, which is none of
//! hipTensor's: no source at hand has the values of its enums, which are types without constants. [`load_error`] tells why the
//! library could not be opened, [`has`] whether a function is there, [`symbol_error`] why it is not.
//!
//! # API levels
//! The features `rocm-5-7` to `rocm-10-0` choose the release whose interface is declared; each brings the one before with
//! it, and the highest counts ([`API_LEVEL`]). [`coverage`] has the functions of each level and where their declarations
//! come from. The features of the crates that it shares types with follow.
//!
//! # Types
//! C enums are integers with names, not Rust enums: a newer library may return a value that has no name here. Structs
//! have `Default`, all zeros. Its interface of ROCm 10.0 is declared; before 7.2 it was C++. Without the feature `rocm-10-0`, which is on by
//! default, the crate is empty.
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

rocm_sdk::sys_crate!(rocm_sdk::libraries::HIPTENSOR);

/// The README's example compiles.
#[cfg(all(doctest, feature = "rocm-10-0"))]
#[doc = include_str!("../README.md")]
struct Readme;
