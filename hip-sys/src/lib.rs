//! Raw bindings to AMD's HIP for ROCm 5.7 to 10.0, loaded at run time.
//!
//! Every function of HIP's C interface is declared under its C name, as an `unsafe extern "C" fn` that resolves its
//! address in `libamdhip64` on the first call. Nothing is linked, and a build needs no ROCm. A program built with this
//! crate also starts on a machine without ROCm; its HIP calls then return an error.
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
//!     println!("no HIP: {}", load_error().unwrap()); // 303; lists every path tried
//! } else if status == hipErrorSharedObjectSymbolNotFound {
//!     println!("{}", symbol_error(c"hipGetDeviceCount").unwrap()); // 302: the library is older than the function
//! } else {
//!     println!("{status:?}"); // prints the name, such as hipErrorNoDevice
//! }
//! ```
//!
//! # Missing libraries and functions
//! A call never panics because the library or the function is missing: it returns `hipErrorSharedObjectInitFailed` or
//! `hipErrorSharedObjectSymbolNotFound` (functions with another return type: null, zeros, or -1). [`load_error`]
//! returns why the library could not be opened. [`has`] returns whether a function is available, [`symbol_error`] why
//! it is not.
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
//! - C enums are integers with named constants ([`hipError_t`] and its constants, such as [`hipSuccess`]), not Rust
//!   enums: a newer library may return a value without a name here.
//! - Anonymous structs and unions are named after the field that holds them: `hipResourceDesc::res` is a
//!   `hipResourceDesc_res`.
//! - `float4` and similar types have C's layout, in which `float4` is aligned to 4 bytes. In device code it is aligned
//!   to 16 bytes.
//! - All structs that C can fill implement `Default`, all zeros.
//! - If C's headers rename an item by macro, both names are declared: in the modules of 6.2 and newer,
//!   `hipDeviceProp_t` is `hipDeviceProp_tR0600` and `hipGetDeviceProperties` is `hipGetDevicePropertiesR0600`.
//!
//! # Safety
//! These are C functions: the caller must ensure that pointers are valid for the function's reads and writes, that
//! handles are alive, and that kernels are correct. The crate `hip` wraps them safely.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[rustfmt::skip]
#[allow(missing_docs, reason = "not every item has a comment in C's headers")]
#[allow(non_camel_case_types, non_snake_case, non_upper_case_globals, reason = "names are C's")]
#[allow(clippy::missing_safety_doc, clippy::too_many_arguments, reason = "functions are C's")]
#[allow(clippy::identity_op, reason = "the first bit is written like the others")]
#[allow(unreachable_pub, unused_imports, reason = "levels differ in what they need")]
mod generated;

pub use generated::*;

rocm_loader::sys_crate!(rocm_loader::libraries::AMDHIP64);

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
