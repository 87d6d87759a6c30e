//! Proof of decoding: every instruction of the code objects in ROCm's libraries, read by `amdgpu-sim` and by LLVM.
//!
//! What is compared: for each code object for gfx90a and gfx942 that a file holds, in whatever form
//! ([`amdgpu_sim::bundle`]), every executable section is read from its start to its end. At each place both sides have to find an
//! instruction of the same length with the same text, or both have to find none. The LLVM is rustc's own.
//!
//! Most instructions occur many times. What both sides say depends on the bytes alone: neither is told an address, and none reads
//! more than the eight bytes that are the longest encoding. So a pair of words that has been compared is not asked for again
//! while it is remembered; a [`Checker`](check::Checker) remembers as many as fit a table of fixed size.
//!
//! `cargo xtask isa` runs it on the whole libraries and writes the record, `sim/amdgpu-sim/DECODING.md`; the test of this crate takes a
//! sample.

pub mod check;
pub mod files;
pub mod form;
pub mod record;

#[path = "../../amdgpu-sim/tests/llvm/mod.rs"]
#[allow(dead_code, reason = "shared with the tests of amdgpu-sim")]
mod llvm;
