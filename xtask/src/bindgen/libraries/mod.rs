//! The libraries with bindings, and their particularities: one file per field.
//!
//! A new one needs a `Library` in one of these files, a place in [`LIBRARIES`], and a `-sys` crate with a `lib.rs` like
//! those of the others. `cargo xtask bindgen --library NAME` then reports what else is missing.

use super::library::Library;

mod blas;
mod graph;
mod hip;
mod llvm;
mod math;
mod sparse;
mod systems;
mod tensor;

/// All libraries; a library comes after those that it shares types with.
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

/// Returns their names.
pub(crate) fn names() -> Vec<&'static str> {
    LIBRARIES.iter().map(|library| library.name).collect()
}
