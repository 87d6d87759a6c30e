//! Kernels from LLVM IR, for instructions that HIP C++ rarely reaches, compiled at run time by rustc's own LLVM.

#![allow(missing_docs, reason = "a test")]
#![allow(clippy::precedence, clippy::type_complexity, reason = "tables of short formulas")]

mod atomics;
#[path = "../common/mod.rs"]
mod common;
mod compiler;
mod flow;
mod interpret;
mod intrinsics;
mod modes;
mod modifiers;
#[path = "../suite/numbers.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod numbers;
mod random;
mod units;
