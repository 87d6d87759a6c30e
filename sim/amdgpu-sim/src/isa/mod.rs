//! The instruction set: a table that describes each instruction once, and the decoder and disassembler made from it.
//!
//! ```
//! use amdgpu_sim::isa::{Arch, Op, Operand, Type, decode};
//!
//! let inst = decode(&[0xd3b0_4008, 0x1c0a_0902], Arch::Gfx90a)?;
//! assert_eq!((inst.op, inst.src[0]), (Op::v_pk_fma_f32, Operand::Vgpr(2)));
//! assert_eq!(inst.op.info().dst, Type::F32x2);
//! assert_eq!(inst.to_string(), "v_pk_fma_f32 v[8:9], v[2:3], v[4:5], v[2:3]");
//! # Ok::<(), amdgpu_sim::isa::DecodeError>(())
//! ```
//!
//! # One table, and what is not in it
//! A row of the table has an instruction's mnemonic, encoding, opcode on each architecture, the types of its operands, and facts
//! ([`Flags`]). The enum [`Op`], the decoder's lookup, which encodings there are beside the native one (`_e64`, SDWA, DPP), how many registers
//! each operand takes, which modifiers are allowed, and the text all follow from it. Beside it stand
//! * in the decoder and the printer: what single instructions do otherwise than their encoding (about twenty, each where it
//!   matters: `v_nop` without a suffix, `s_endpgm` without its zero, the literals of `v_madmk_*`, ...);
//! * in `exec`: what instructions do. A row names no function, on purpose. Which handler runs is chosen when a kernel is lowered, by the
//!   opcode, modifiers, modes and the CPU: up to a dozen an instruction, which a row can't say; and the table stays data that
//!   decoder and disassembler are made from alone. `exec` matches on [`Op`] and on the row's types, and has tables of its own for
//!   families that need more (matrix products, atomics). Tests over the whole table keep the two together: every instruction is
//!   carried out or listed with a reason (`exec::tests::coverage`, which makes COVERAGE.md), and reads and writes the registers that its
//!   row says, every one of them and no other (`exec::tests::footprint`).
//!
//! # Proof
//! Decoder and disassembler agree with LLVM 22 on every opcode and field of gfx90a and gfx942 (`tests/llvm_agree.rs` says what it
//! goes over, and lists the few things that we refuse and LLVM prints), and on every instruction in the kernels of ROCm 7.2.4's libraries
//! (DECODING.md, written by `cargo xtask isa`).

pub mod inst;
#[macro_use]
mod table;
mod decode;
mod op;
mod print;
#[cfg(test)]
mod tests;
mod types;

pub use decode::{DecodeError, Problem, decode};
pub use inst::{Dpp, Format, Image, InlineFloat, Inst, Mods, Operand, Sdwa, SdwaSel, SdwaUnused, Special};
pub use op::{Arch, Flags, Op, OpInfo};
pub use print::disassemble;
pub use types::{Kind, Type};
