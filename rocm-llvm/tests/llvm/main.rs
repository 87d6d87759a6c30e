//! `rocm_llvm::llvm` on the LLVM that is found: the system's, ROCm's or the Rust toolchain's. `libraries` runs all
//! tests again on each.

mod building;
mod code;
mod editing;
mod fatal;
mod growth;
mod jit;
mod launch;
mod libraries;
mod metadata;
mod reading;
mod support;
mod values;
mod wrong_operands;
