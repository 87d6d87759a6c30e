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
//! Decoder and disassembler agree with LLVM 22 on every opcode and field of gfx90a and gfx942 (`tests/llvm_agree.rs` lists
//! the few things that we refuse and LLVM prints).

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
