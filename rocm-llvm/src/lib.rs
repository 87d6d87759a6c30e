//! Safe Rust for the compiler libraries of ROCm, loaded at run time.
//!
//! - [`comgr`]: compiles, links, disassembles and inspects code for AMD GPUs.
//! - [`llvm`]: builds, optimises and emits LLVM IR, with ROCm's LLVM, the system's, or the one in a Rust toolchain.
//! - [`clang`]: walks the syntax tree of C++ and HIP headers.
//!
//! Each loads a library of its own: a program can use one without the others.
//!
//! # Features
//!
//! | feature | what it does |
//! |---|---|
//! | `rocm-5-7` to `rocm-10-0` | API levels of the crate `rocm-llvm-sys` below, each with those before it; `rocm-6-4` is the default. This crate's own API is the same at each: it calls the form of a function that the loaded library has |
//! | `cli` | the command `rocm-llvm` |
//! | `sim` | the software GPU of `hip`, for tests that launch what was compiled |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod annotations;
pub mod clang;
pub mod comgr;
pub mod llvm;

pub use rocm_llvm_sys as sys;

/// Compiles the README's examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
