//! The words to decode, their bits and fields.

use super::error::{DecodeError, Problem};
use super::lookup;
use crate::isa::{Arch, Format, Inst, Mods, Op, OpInfo, Operand};

/// `count` bits of `word` from bit `low` on.
pub(super) const fn bits(word: u32, low: u32, count: u32) -> u32 {
    (word >> low) & ((1 << count) - 1)
}

/// Bit `at` of `word`.
pub(super) const fn bit(word: u32, at: u32) -> bool {
    bits(word, at, 1) == 1
}

/// Sign-extends the low `count` bits.
pub(super) const fn sign_extend(value: u32, count: u32) -> i32 {
    ((value << (32 - count)) as i32) >> (32 - count)
}

/// The words to decode.
pub(super) struct Input<'a> {
    pub(super) arch: Arch,
    pub(super) words: &'a [u32],
    pub(super) word: u32,
}

impl Input<'_> {
    pub(super) fn error(&self, op: Option<Op>, problem: Problem) -> DecodeError {
        DecodeError { arch: self.arch, words: self.words.iter().take(2).copied().collect(), op, problem }
    }

    /// The instruction with this opcode.
    pub(super) fn op(&self, format: Format, opcode: u32) -> Result<Fields<'_>, DecodeError> {
        match lookup::lookup(format, self.arch, opcode) {
            Some(op) => Ok(self.fields(op)),
            None => Err(self.error(None, Problem::Opcode { format, opcode })),
        }
    }

    pub(super) fn fields(&self, op: Op) -> Fields<'_> {
        Fields { input: self, op, info: op.info() }
    }
}

/// The words to decode, with the instruction found.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    pub(super) input: &'a Input<'a>,
    pub(super) op: Op,
    pub(super) info: &'static OpInfo,
}

impl Fields<'_> {
    pub(super) fn word(&self) -> u32 {
        self.input.word
    }

    /// The second word: the other half of a 64-bit encoding, an SDWA or DPP word, a literal.
    pub(super) fn second(&self) -> Result<u32, DecodeError> {
        self.input
            .words
            .get(1)
            .copied()
            .ok_or_else(|| self.input.error(Some(self.op), Problem::Truncated { needed: 8 }))
    }

    pub(super) fn bad(&self, field: &'static str, value: u32, reason: &'static str) -> DecodeError {
        self.input.error(Some(self.op), Problem::Field { field, value, reason })
    }

    /// Fails unless a field that the instruction does not use is zero.
    pub(super) fn zero(&self, field: &'static str, value: u32) -> Result<(), DecodeError> {
        if value == 0 { Ok(()) } else { Err(self.bad(field, value, "the instruction does not have it")) }
    }

    pub(super) fn inst(&self, format: Format, size: u8) -> Inst {
        Inst {
            op: self.op,
            format,
            size,
            dst: Operand::None,
            dst2: Operand::None,
            src: [Operand::None; 4],
            mods: Mods::default(),
        }
    }
}
