//! [`cuda_compat`] under the name of cudarc, for `[patch.crates-io]`:
//!
//! ```toml
//! [patch.crates-io]
//! cudarc = { path = "../rocm-for-rust/cuda-compat/cudarc" }
//! ```
//!
//! Every crate of a program that depends on cudarc 0.19 then uses AMD GPUs: Cargo accepts only a package named `cudarc` in
//! its place.

pub use cuda_compat::*;
