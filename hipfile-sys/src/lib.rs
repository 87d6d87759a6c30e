//! Raw bindings to AMD's hipFile for ROCm 10.0, loaded at run time: direct copies between files and GPU memory.
//!
//! Every function of its C interface is here under its C name, as an `unsafe extern "C" fn` that looks its address up in
//! the library on its first call. Nothing is linked and nothing is needed to build.
//!
#![cfg_attr(feature = "rocm-10-0", doc = "```")]
#![cfg_attr(not(feature = "rocm-10-0"), doc = "```ignore")]
//! use hipfile_sys::*;
//!
//! let (mut major, mut minor, mut patch) = (0, 0, 0);
//! // SAFETY: all three are valid for the write.
//! let error = unsafe { hipFileGetVersion(&mut major, &mut minor, &mut patch) };
//! if error.err == hipFileSuccess {
//!     println!("hipFile {major}.{minor}.{patch}");
//! } else if let Some(why) = load_error() {
//!     println!("no hipFile: {why}"); // what was tried is on record
//! }
//! ```
//!
//! # What is missing
//! A call never panics for want of the library or of a function: its error is `hipFileDriverNotInitialized`.
//! [`load_error`] tells why the
//! library could not be opened, [`has`] whether a function is there, [`symbol_error`] why it is not.
//!
//! # API levels
//! The features `rocm-5-7` to `rocm-10-0` choose the release whose interface is declared; each brings the one before with
//! it, and the highest counts ([`API_LEVEL`]). [`coverage`] has the functions of each level and where their declarations
//! come from. The features of the crates that it shares types with follow.
//!
//! # Types
//! C enums are integers with names, not Rust enums: a newer library may return a value that has no name here. Structs
//! have `Default`, all zeros. hipFile came with ROCm 10.0: without the feature `rocm-10-0`, which is on by default, the crate is empty.
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

rocm_sdk::sys_crate!(rocm_sdk::libraries::HIPFILE);

/// `hipFileDriverNotInitialized`, with no error of HIP.
#[cfg(feature = "rocm-10-0")]
impl MissingValue for hipFileError {
    fn missing(_: Missing) -> Self {
        Self { err: hipFileDriverNotInitialized, ..Self::default() }
    }
}

/// The README's example compiles.
#[cfg(all(doctest, feature = "rocm-10-0"))]
#[doc = include_str!("../README.md")]
struct Readme;
