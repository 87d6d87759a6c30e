//! Decodes machine words to [`Inst`].

mod error;
mod fields;
mod image;
mod lookup;
mod memory;
mod operand;
mod scalar;
mod vector;
mod vop3p;

pub use error::{DecodeError, Problem};

use super::inst::Inst;
use super::op::Arch;
use fields::{Input, bits};

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
