//! The instruction set: a table that describes each instruction once, and the decoder and disassembler made from it.

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
