//! Safe Rust for the compiler libraries of ROCm, loaded at run time.
//!
//! - [`comgr`]: compiles, links, disassembles and inspects code for AMD GPUs.
//! - [`llvm`]: builds, optimises and emits LLVM IR, with ROCm's LLVM, the system's, or the one in a Rust toolchain.
//! - [`clang`]: walks the syntax tree of C++ and HIP headers.
//!
//! Each loads a library of its own: a program can use one without the others.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod clang;
pub mod comgr;
pub mod llvm;

pub use rocm_llvm_sys as sys;

/// Compiles the README's examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
