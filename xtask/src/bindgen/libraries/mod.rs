//! The libraries that bindings are made for, and what is particular to each: one file a field.
//!
//! A new one needs: a `Library` in one of these files, its place in [`LIBRARIES`], and a `-sys` crate with a `lib.rs`
//! like that of its neighbours. `cargo xtask bindgen --library NAME` then says what else it wants to know.

use super::library::Library;

mod blas;
mod graph;
mod hip;
mod llvm;
mod math;
mod sparse;
mod systems;
mod tensor;

/// All of them; a library comes after those that it shares types with.
pub(crate) const LIBRARIES: &[Library] = &[
    hip::HIP,
    hip::HIPRTC,
    blas::HIPBLAS,
    blas::HIPBLASLT,
    math::HIPRAND,
    sparse::HIPSPARSE,
    sparse::HIPSPARSELT,
    math::HIPFFT,
    math::HIPSOLVER,
    systems::RCCL,
    systems::ROCTX,
    systems::AMDSMI,
    systems::HIPFILE,
    tensor::HIPTENSOR,
    tensor::HIPDNN_BACKEND,
    graph::HIPGRAPH,
    llvm::AMD_COMGR,
    llvm::LLVM_C,
    llvm::CLANG_C,
];

/// Their names.
pub(crate) fn names() -> Vec<&'static str> {
    LIBRARIES.iter().map(|library| library.name).collect()
}
