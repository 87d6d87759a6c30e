//! Verification of the decoder: every instruction of the code objects in ROCm's libraries, decoded by `amdgpu-sim` and
//! by LLVM.
//!
//! For each code object for gfx90a and gfx942 in a file of any format ([`amdgpu_sim::bundle`]), every executable
//! section is decoded from start to end. At each position both sides must find an instruction of the same length with
//! the same text, or both must find none. The LLVM is rustc's own.
//!
//! Most instructions occur many times. The result of both sides depends only on the bytes: neither knows the address,
//! and neither reads more than eight bytes, the longest encoding. So a pair of words that has been compared is not
//! compared again while it is cached; a [`Checker`](check::Checker) has a cache of fixed size.
//!
//! `cargo xtask isa` checks the complete libraries and writes the record, `sim/amdgpu-sim/DECODING.md`; the test of
//! this crate checks a sample.

pub mod check;
pub mod files;
pub mod form;
pub mod record;

#[path = "../../amdgpu-sim/tests/llvm/mod.rs"]
#[allow(dead_code, reason = "shared with the tests of amdgpu-sim")]
mod llvm;
