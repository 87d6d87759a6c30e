//! Constant operands.

use crate::isa::inst::{InlineFloat, Operand};

/// How a 64-bit operand reads an inline constant or a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wide {
    /// Sign-extended inline constants, zero-extended literals.
    Unsigned,
    /// Sign-extended inline constants and literals.
    Signed,
    /// Double precision: a literal is the high half.
    Double,
}

/// The bits of a constant in a 32-bit operand.
pub(super) fn constant32(operand: Operand) -> Option<u32> {
    Some(match operand {
        Operand::Int(n) => i32::from(n) as u32,
        Operand::Float(f) => float32(f).to_bits(),
        Operand::Literal(bits) => bits,
        Operand::Imm(n) => n as u32,
        _ => return None,
    })
}

/// The bits of a constant in a 16-bit operand; inline floats are half precision.
pub(super) fn constant16(operand: Operand) -> Option<u32> {
    Some(match operand {
        Operand::Float(f) => u32::from(match f {
            InlineFloat::Half => 0x3800_u16,
            InlineFloat::MinusHalf => 0xb800,
            InlineFloat::One => 0x3c00,
            InlineFloat::MinusOne => 0xbc00,
            InlineFloat::Two => 0x4000,
            InlineFloat::MinusTwo => 0xc000,
            InlineFloat::Four => 0x4400,
            InlineFloat::MinusFour => 0xc400,
            InlineFloat::Inv2Pi => 0x3118,
        }),
        other => constant32(other)?,
    })
}

/// The bits of a constant in a 64-bit operand.
pub(super) fn constant64(operand: Operand, wide: Wide) -> Option<u64> {
    Some(match operand {
        Operand::Int(n) => i64::from(n) as u64,
        Operand::Imm(n) => i64::from(n) as u64,
        Operand::Float(InlineFloat::Inv2Pi) => 0x3fc4_5f30_6dc9_c882,
        Operand::Float(f) => f64::from(float32(f)).to_bits(),
        Operand::Literal(bits) => match wide {
            Wide::Unsigned => u64::from(bits),
            Wide::Signed => i64::from(bits as i32) as u64,
            Wide::Double => u64::from(bits) << 32,
        },
        _ => return None,
    })
}

fn float32(f: InlineFloat) -> f32 {
    match f {
        InlineFloat::Half => 0.5,
        InlineFloat::MinusHalf => -0.5,
        InlineFloat::One => 1.0,
        InlineFloat::MinusOne => -1.0,
        InlineFloat::Two => 2.0,
        InlineFloat::MinusTwo => -2.0,
        InlineFloat::Four => 4.0,
        InlineFloat::MinusFour => -4.0,
        InlineFloat::Inv2Pi => f32::from_bits(0x3e22_f983),
    }
}
