//! Raw bindings to AMD's HIPRTC for ROCm 5.7 to 10.0, loaded at run time.
//!
//! HIPRTC compiles HIP C++ to AMD GPU machine code while a program runs. Every function of its C interface is here
//! under its C name, as an `unsafe extern "C" fn` that looks its address up in `libhiprtc` on its first call. Nothing
//! is linked and nothing is needed to build.
//!
//! ```
//! use hiprtc_sys::*;
//!
//! let (mut major, mut minor) = (0, 0);
//! // SAFETY: both are valid for the write.
//! match unsafe { hiprtcVersion(&mut major, &mut minor) } {
//!     HIPRTC_SUCCESS => println!("HIPRTC {major}.{minor}"),
//!     status => match load_error() {
//!         Some(why) => println!("no HIPRTC: {why}"),
//!         None => println!("{status:?}"), // prints the name: HIPRTC_ERROR_INTERNAL_ERROR
//!     },
//! }
//! ```
//!
//! # What is missing
//! A call never panics for want of the library or of a function: it returns `HIPRTC_ERROR_INTERNAL_ERROR`, since
//! HIPRTC has no status of its own for it (`hiprtcGetErrorString`: null). [`load_error`] tells why the library could
//! not be opened, [`has`] whether a function is there, [`symbol_error`] why it is not.
//!
//! # API levels
//! The features `rocm-5-7`, `rocm-6-2`, `rocm-6-3`, `rocm-6-4` (the default), `rocm-7-0`, `rocm-7-1`, `rocm-7-2` and
//! `rocm-10-0` choose the release whose interface is declared. Each brings the one before with it, so that features of several crates in one
//! program add up, and the highest counts ([`API_LEVEL`]). With none on, the level is 5.7. [`coverage`] has the
//! functions of each level and where their declarations come from.
//!
//! # Types
//! C enums are integers with names ([`hiprtcResult`] and its constants, such as [`HIPRTC_SUCCESS`]), not Rust enums: a
//! newer library may return a value that this crate has no name for. From 6.4 on, the options of the linker are named
//! `hipJitOption...`; the older names `HIPRTC_JIT_...` stay.
//!
//! # Safety
//! The functions are C: pointers have to be valid for what the function reads or writes, and handles live. The crate
//! `hiprtc` wraps them safely.

#[rustfmt::skip]
#[allow(missing_docs, reason = "not every item has a comment in C's headers")]
#[allow(non_camel_case_types, non_snake_case, non_upper_case_globals, reason = "names are C's")]
#[allow(clippy::missing_safety_doc, clippy::too_many_arguments, reason = "functions are C's")]
#[allow(clippy::identity_op, reason = "the first bit is written like the others")]
#[allow(unreachable_pub, unused_imports, reason = "levels differ in what they need")]
mod generated;

pub use generated::*;

rocm_sdk::sys_crate!(rocm_sdk::libraries::HIPRTC);

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
