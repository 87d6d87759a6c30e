//! Raw bindings to AMD's HIP for ROCm 5.7 to 10.0, loaded at run time.
//!
//! Every function of HIP's C interface is here under its C name, as an `unsafe extern "C" fn` that looks its address
//! up in `libamdhip64` on its first call. Nothing is linked and nothing is needed to build; a program that is built
//! with this crate starts on a machine without ROCm, and finds out when it calls.
//!
//! ```
//! use hip_sys::*;
//!
//! let mut count = 0;
//! // SAFETY: `count` is valid for the write.
//! let status = unsafe { hipGetDeviceCount(&mut count) };
//! if status == hipSuccess {
//!     println!("{count} devices");
//! } else if status == hipErrorSharedObjectInitFailed {
//!     println!("no HIP: {}", load_error().unwrap()); // 303; what was tried is on record
//! } else if status == hipErrorSharedObjectSymbolNotFound {
//!     println!("{}", symbol_error(c"hipGetDeviceCount").unwrap()); // 302: the library is older than the function
//! } else {
//!     println!("{status:?}"); // prints the name: hipErrorNoDevice
//! }
//! ```
//!
//! # What is missing
//! A call never panics for want of the library or of a function: it returns `hipErrorSharedObjectInitFailed` or
//! `hipErrorSharedObjectSymbolNotFound` (functions that return something else: null, or zeros, or -1). [`load_error`]
//! tells why the library could not be opened, [`has`] whether a function is there, [`symbol_error`] why it is not.
//!
//! # API levels
//! The features `rocm-5-7`, `rocm-6-2`, `rocm-6-3`, `rocm-6-4` (the default), `rocm-7-0`, `rocm-7-1`, `rocm-7-2` and
//! `rocm-10-0` choose the release whose interface is declared. Each brings the one before with it, so that features of several crates in one
//! program add up, and the highest counts ([`API_LEVEL`]). With none on, the level is 5.7. [`coverage`] has the
//! functions of each level and where their declarations come from.
//!
//! # Types
//! - C enums are integers with names ([`hipError_t`] and its constants, such as [`hipSuccess`]), not Rust enums: a
//!   newer library may return a value that this crate has no name for.
//! - Anonymous structs and unions are named after the field that holds them: `hipResourceDesc::res` is a
//!   `hipResourceDesc_res`.
//! - `float4` and the like are laid out as in C, where `float4` is aligned to 4 bytes; in device code it is aligned to 16.
//! - All structs that C can fill have `Default`, all zeros.
//! - Where C's headers rename by macro, both names are here: at levels from 6.2 on, `hipDeviceProp_t` is
//!   `hipDeviceProp_tR0600` and `hipGetDeviceProperties` is `hipGetDevicePropertiesR0600`.
//!
//! # Safety
//! The functions are C: pointers have to be valid for what the function reads or writes, handles live, and kernels
//! correct. The crate `hip` wraps them safely.

#[rustfmt::skip]
#[allow(missing_docs, reason = "not every item has a comment in C's headers")]
#[allow(non_camel_case_types, non_snake_case, non_upper_case_globals, reason = "names are C's")]
#[allow(clippy::missing_safety_doc, clippy::too_many_arguments, reason = "functions are C's")]
#[allow(clippy::identity_op, reason = "the first bit is written like the others")]
#[allow(unreachable_pub, unused_imports, reason = "levels differ in what they need")]
mod generated;

pub use generated::*;

rocm_sdk::sys_crate!(rocm_sdk::libraries::AMDHIP64);

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
