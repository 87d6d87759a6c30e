//! Raw bindings to AMD's HIPRTC for ROCm 5.7 to 10.0, loaded at run time.
//!
//! HIPRTC compiles HIP C++ to AMD GPU machine code at run time. Every function of its C interface is declared under its
//! C name, as an `unsafe extern "C" fn` that resolves its address in `libhiprtc` on the first call. Nothing is linked,
//! and a build needs no ROCm.
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
//!         None => println!("{status:?}"), // prints the name, HIPRTC_ERROR_INTERNAL_ERROR
//!     },
//! }
//! ```
//!
//! # Missing libraries and functions
//! A call never panics because the library or the function is missing: it returns `HIPRTC_ERROR_INTERNAL_ERROR`,
//! because HIPRTC has no separate status for this case (`hiprtcGetErrorString` returns null). [`load_error`] returns
//! why the library could not be opened. [`has`] returns whether a function is available, [`symbol_error`] why it is
//! not.
//!
//! Some releases of HIPRTC terminate the process if Comgr, the compiler behind them, is missing. `hiprtc::available`,
//! in the safe crate, checks for it first.
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
//! C enums are integers with named constants ([`hiprtcResult`] and its constants, such as [`HIPRTC_SUCCESS`]), not Rust
//! enums: a newer library may return a value without a name here. From 6.4 on, the linker options are named
//! `hipJitOption...`; the older names `HIPRTC_JIT_...` remain.
//!
//! # Safety
//! These are C functions: the caller must ensure that pointers are valid for the function's reads and writes, and that
//! handles are alive. The crate `hiprtc` wraps them safely.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[rustfmt::skip]
#[allow(missing_docs, reason = "not every item has a comment in C's headers")]
#[allow(non_camel_case_types, non_snake_case, non_upper_case_globals, reason = "names are C's")]
#[allow(clippy::missing_safety_doc, clippy::too_many_arguments, reason = "functions are C's")]
#[allow(clippy::identity_op, reason = "the first bit is written like the others")]
#[allow(unreachable_pub, unused_imports, reason = "levels differ in what they need")]
mod generated;

pub use generated::*;

rocm_loader::sys_crate!(rocm_loader::libraries::HIPRTC);

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
