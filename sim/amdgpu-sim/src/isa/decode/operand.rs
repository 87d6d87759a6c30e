//! Operand fields.

use super::error::DecodeError;
use super::fields::Fields;
use crate::isa::{InlineFloat, Kind, Operand, Special, Type};

/// First code of a vector register in a 9-bit source field.
const VGPR: u32 = 256;
/// A literal follows.
pub(super) const LITERAL: u32 = 255;
/// The second word is an SDWA word.
pub(super) const SDWA: u32 = 249;
/// The second word is a DPP word.
pub(super) const DPP: u32 = 250;
/// The number of numbered scalar registers.
const SGPRS: u32 = 102;
/// Code of `ttmp0`.
const TTMP: u32 = 108;
const TTMPS: u32 = 16;
/// The code after `exec_hi`, the last register.
const REGISTERS: u32 = 128;

const MISALIGNED: &str = "a tuple of registers starts at a multiple of its size (at most 4)";
const ODD_VECTOR: &str = "a tuple of vector registers starts at an even one";
const PAST_END: &str = "the tuple runs past the last register";
const NO_REGISTER: &str = "no register has this code";
const NO_VALUE: &str = "no value has this code";

/// The scalar register with this code, as the first of `dwords`.
pub(super) fn scalar_register(code: u32, dwords: u32) -> Result<Operand, &'static str> {
    let named = |special| Ok(Operand::Special(special));
    let align = dwords.next_power_of_two().min(4);
    match code {
        0..SGPRS => {
            if code % align != 0 {
                Err(MISALIGNED)
            } else if code + dwords > SGPRS {
                Err(PAST_END)
            } else {
                Ok(Operand::Sgpr(code as u16))
            }
        }
        TTMP..124 => {
            let first = code - TTMP;
            if first % align != 0 {
                Err(MISALIGNED)
            } else if first + dwords > TTMPS {
                Err(PAST_END)
            } else {
                Ok(Operand::Ttmp(first as u16))
            }
        }
        _ if dwords > 2 => Err(PAST_END),
        102 => named(Special::FlatScratchLo),
        104 => named(Special::XnackMaskLo),
        106 => named(Special::VccLo),
        126 => named(Special::ExecLo),
        _ if dwords == 2 => Err(MISALIGNED),
        103 => named(Special::FlatScratchHi),
        105 => named(Special::XnackMaskHi),
        107 => named(Special::VccHi),
        124 => named(Special::M0),
        127 => named(Special::ExecHi),
        _ => Err(NO_REGISTER),
    }
}

/// The vector register with this number, as the first of `dwords`.
pub(super) fn vector_register(index: u32, dwords: u32, accumulation: bool) -> Result<Operand, &'static str> {
    if dwords > 1 && index % 2 == 1 {
        Err(ODD_VECTOR)
    } else if index + dwords > 256 {
        Err(PAST_END)
    } else if accumulation {
        Ok(Operand::Agpr(index as u16))
    } else {
        Ok(Operand::Vgpr(index as u16))
    }
}

/// The constant or value register with this code.
fn value(code: u32, dwords: u32) -> Result<Operand, &'static str> {
    let float = |constant| Ok(Operand::Float(constant));
    let named = |special| Ok(Operand::Special(special));
    match code {
        128..=192 => Ok(Operand::Int((code - 128) as i8)),
        193..=208 => Ok(Operand::Int(-((code - 192) as i8))),
        235 => named(Special::SharedBase),
        236 => named(Special::SharedLimit),
        237 => named(Special::PrivateBase),
        238 => named(Special::PrivateLimit),
        239 => named(Special::PopsExitingWaveId),
        240 => float(InlineFloat::Half),
        241 => float(InlineFloat::MinusHalf),
        242 => float(InlineFloat::One),
        243 => float(InlineFloat::MinusOne),
        244 => float(InlineFloat::Two),
        245 => float(InlineFloat::MinusTwo),
        246 => float(InlineFloat::Four),
        247 => float(InlineFloat::MinusFour),
        248 => float(InlineFloat::Inv2Pi),
        251 => named(Special::Vccz),
        252 => named(Special::Execz),
        253 => named(Special::Scc),
        254 if dwords == 1 => named(Special::LdsDirect),
        _ => Err(NO_VALUE),
    }
}

/// The operands that a source field accepts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Admits {
    pub(super) vector: bool,
    pub(super) scalar: bool,
    pub(super) constant: bool,
    pub(super) literal: bool,
    pub(super) lds_direct: bool,
}

impl Admits {
    /// The first source of a 32-bit vector instruction.
    pub(super) const ALL: Admits =
        Admits { vector: true, scalar: true, constant: true, literal: true, lds_direct: true };
    /// A scalar instruction's source.
    pub(super) const SCALAR: Admits = Admits { vector: false, lds_direct: false, ..Admits::ALL };
    /// A source of the 64-bit vector encoding.
    pub(super) const NO_LITERAL: Admits = Admits { literal: false, ..Admits::ALL };
    /// A vector register only.
    pub(super) const VECTOR: Admits =
        Admits { vector: true, scalar: false, constant: false, literal: false, lds_direct: false };
    /// A scalar register only.
    pub(super) const REGISTER: Admits =
        Admits { vector: false, scalar: true, constant: false, literal: false, lds_direct: false };
}

impl Fields<'_> {
    /// A scalar register in a destination or address field.
    pub(super) fn sreg(&self, field: &'static str, code: u32, ty: Type) -> Result<Operand, DecodeError> {
        scalar_register(code, ty.dwords()).map_err(|reason| self.bad(field, code, reason))
    }

    /// A vector register in an 8-bit field; `None` for an operand that the instruction lacks.
    pub(super) fn vreg(&self, field: &'static str, index: u32, ty: Type) -> Result<Operand, DecodeError> {
        self.vreg_or_acc(field, index, ty, false)
    }

    /// A vector or accumulation register in an 8-bit field.
    pub(super) fn vreg_or_acc(
        &self,
        field: &'static str,
        index: u32,
        ty: Type,
        accumulation: bool,
    ) -> Result<Operand, DecodeError> {
        if ty == Type::None {
            return Ok(Operand::None);
        }
        vector_register(index, ty.dwords(), accumulation).map_err(|reason| self.bad(field, index, reason))
    }

    /// A source in a field of 8 or 9 bits.
    pub(super) fn source(
        &self,
        field: &'static str,
        code: u32,
        ty: Type,
        admits: Admits,
    ) -> Result<Operand, DecodeError> {
        let dwords = ty.dwords();
        let bad = |reason| self.bad(field, code, reason);
        match code {
            LITERAL if admits.literal => self.second().map(Operand::Literal),
            LITERAL => Err(bad("this operand cannot be a literal")),
            VGPR.. if admits.vector => vector_register(code - VGPR, dwords, false).map_err(bad),
            VGPR.. => Err(bad("this operand cannot be a vector register")),
            0..REGISTERS if admits.scalar => scalar_register(code, dwords).map_err(bad),
            0..REGISTERS => Err(bad("this operand cannot be a scalar register")),
            254 if !admits.lds_direct => Err(bad("this operand cannot be LDS data")),
            254 => value(code, dwords).map_err(bad),
            235..=239 | 251..=253 if admits.scalar => value(code, dwords).map_err(bad),
            _ if admits.constant => value(code, dwords).map_err(bad),
            _ => Err(bad("this operand cannot be a constant")),
        }
    }
}

/// Returns whether the hardware supports input modifiers for a source of this type.
pub(super) fn has_modifiers(ty: Type) -> bool {
    matches!(ty.kind(), Kind::Float | Kind::Mix)
}
