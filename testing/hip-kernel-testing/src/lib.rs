//! The kernels of `hip-kernel`'s tests, their code, and the same algorithms in HIP C++.

#![allow(missing_docs, elided_lifetimes_in_paths, clippy::all, clippy::pedantic)]

use hip_kernel::Code;

pub mod compare;
pub mod instinct;
pub mod kernels;

/// The code of [`kernels`].
#[must_use]
pub fn kernels_code() -> Code {
    hip_kernel::code!("kernels")
}

/// The code of [`instinct`].
#[must_use]
pub fn instinct_code() -> Code {
    hip_kernel::code!("instinct")
}
