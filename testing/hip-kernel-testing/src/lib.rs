//! The kernels of the tests of `hip-kernel`, their code, and HIP C++ of the same algorithms.

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
