//! Decodes machine words to [`Inst`].

mod error;
mod image;
mod lookup;
mod memory;
mod operand;
mod scalar;
mod vector;
mod vop3p;

pub use error::{DecodeError, Problem};

use super::inst::{Format, Inst, Mods, Operand};
use super::op::{Arch, Op, OpInfo};

/// `count` bits of `word` from bit `low` on.
const fn bits(word: u32, low: u32, count: u32) -> u32 {
    (word >> low) & ((1 << count) - 1)
}

/// Bit `at` of `word`.
const fn bit(word: u32, at: u32) -> bool {
    bits(word, at, 1) == 1
}

/// Sign-extends the low `count` bits.
const fn sign_extend(value: u32, count: u32) -> i32 {
    ((value << (32 - count)) as i32) >> (32 - count)
}

/// Decodes the instruction at the start of `words`.
///
/// Two words are enough for any instruction of the supported architectures; only a 32-bit instruction decodes from one.
///
/// # Errors
/// Returns an error if the words are not an instruction of `arch`, or have an operand that the hardware does not
/// support there (a misaligned register tuple, a register past the last one, a modifier that the instruction lacks).
pub fn decode(words: &[u32], arch: Arch) -> Result<Inst, DecodeError> {
    let Some(&word) = words.first() else {
        return Err(DecodeError { arch, words: Vec::new(), op: None, problem: Problem::Truncated { needed: 4 } });
    };
    let input = Input { arch, words, word };
    match word >> 26 {
        0b110000 => memory::smem(&input),
        0b110100 => {
            if bits(word, 23, 3) == 0b111 {
                vop3p::vop3p(&input)
            } else {
                vector::vop3(&input)
            }
        }
        0b110110 => memory::ds(&input),
        0b110111 => memory::flat(&input),
        0b111000 => memory::mubuf(&input),
        0b111010 => memory::mtbuf(&input),
        0b111100 => image::mimg(&input),
        _ => match word >> 23 {
            0b101111101 => scalar::sop1(&input),
            0b101111110 => scalar::sopc(&input),
            0b101111111 => scalar::sopp(&input),
            _ if word >> 28 == 0b1011 => scalar::sopk(&input),
            _ if word >> 30 == 0b10 => scalar::sop2(&input),
            _ if word >> 25 == 0b0111111 => vector::vop1(&input),
            _ if word >> 25 == 0b0111110 => vector::vopc(&input),
            _ if word >> 31 == 0 => vector::vop2(&input),
            _ => Err(input.error(None, Problem::Encoding)),
        },
    }
}

/// The words to decode.
struct Input<'a> {
    arch: Arch,
    words: &'a [u32],
    word: u32,
}

impl Input<'_> {
    fn error(&self, op: Option<Op>, problem: Problem) -> DecodeError {
        DecodeError { arch: self.arch, words: self.words.iter().take(2).copied().collect(), op, problem }
    }

    /// The instruction with this opcode.
    fn op(&self, format: Format, opcode: u32) -> Result<Fields<'_>, DecodeError> {
        match lookup::lookup(format, self.arch, opcode) {
            Some(op) => Ok(self.fields(op)),
            None => Err(self.error(None, Problem::Opcode { format, opcode })),
        }
    }

    fn fields(&self, op: Op) -> Fields<'_> {
        Fields { input: self, op, info: op.info() }
    }
}

/// The words to decode, with the instruction found.
#[derive(Clone, Copy)]
struct Fields<'a> {
    input: &'a Input<'a>,
    op: Op,
    info: &'static OpInfo,
}

impl Fields<'_> {
    fn word(&self) -> u32 {
        self.input.word
    }

    /// The second word: the other half of a 64-bit encoding, an SDWA or DPP word, a literal.
    fn second(&self) -> Result<u32, DecodeError> {
        self.input
            .words
            .get(1)
            .copied()
            .ok_or_else(|| self.input.error(Some(self.op), Problem::Truncated { needed: 8 }))
    }

    fn bad(&self, field: &'static str, value: u32, reason: &'static str) -> DecodeError {
        self.input.error(Some(self.op), Problem::Field { field, value, reason })
    }

    /// Fails unless a field that the instruction does not use is zero.
    fn zero(&self, field: &'static str, value: u32) -> Result<(), DecodeError> {
        if value == 0 { Ok(()) } else { Err(self.bad(field, value, "the instruction does not have it")) }
    }

    fn inst(&self, format: Format, size: u8) -> Inst {
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
