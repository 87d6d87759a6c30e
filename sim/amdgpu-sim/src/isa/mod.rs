//! The instruction set: a table that describes each instruction once, and the decoder and disassembler made from it.

pub mod inst;
#[macro_use]
mod table;
mod op;
mod types;

pub use inst::{Dpp, Format, InlineFloat, Inst, Mods, Operand, Sdwa, SdwaSel, SdwaUnused, Special};
pub use op::{Arch, Flags, Op, OpInfo};
pub use types::{Kind, Type};
