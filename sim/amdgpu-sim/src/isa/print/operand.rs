//! Registers and constants.

use super::{Printer, put};
use crate::isa::{InlineFloat, Kind, Operand, Special, Type};
use std::fmt::Write;

/// 1 / (2 * pi).
const INV_2PI: u32 = 0x3e22_f983;
const INV_2PI_F16: u32 = 0x3118;

/// The values that [`InlineFloat`] holds, besides 1 / (2 * pi).
const FLOATS: [f32; 8] = [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0];

/// The f16 bits of a value in [`FLOATS`], which all have one significant bit.
fn f16_bits(value: f32) -> u32 {
    let bits = value.to_bits();
    let exponent = (bits >> 23 & 0xff) + 15 - 127;
    bits >> 16 & 0x8000 | exponent << 10
}

fn f32_constant(bits: u32) -> Option<&'static str> {
    if bits == INV_2PI {
        return Some("0.15915494");
    }
    const NAMES: [&str; 8] = ["0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"];
    FLOATS.iter().position(|float| float.to_bits() == bits).map(|i| NAMES[i])
}

fn is_small(value: i64) -> bool {
    (-16..=64).contains(&value)
}

/// Returns whether a literal equals an inline constant, so that the text needs `lit()` to distinguish them.
fn could_be_inline(literal: u32, ty: Type) -> bool {
    let low = literal & 0xffff;
    let f16 = low == INV_2PI_F16 || FLOATS.iter().any(|&float| f16_bits(float) == low);
    let word = is_small(i64::from(literal as i32)) || f32_constant(literal).is_some();
    match (ty.kind(), ty.element_bits(), ty.elements()) {
        (Kind::Float, 16, 1) => is_small(i64::from(low as u16 as i16)) || f16,
        (Kind::Float, 16, _) => is_small(i64::from(literal as i32)) || (f16 && literal == low),
        (_, 16, 1) => word,
        (_, 64, _) => is_small(i64::from(literal)),
        _ => word,
    }
}

fn special(name: Special, dwords: u32) -> &'static str {
    match (name, dwords) {
        (Special::FlatScratchLo, 2) => "flat_scratch",
        (Special::XnackMaskLo, 2) => "xnack_mask",
        (Special::VccLo, 2) => "vcc",
        (Special::ExecLo, 2) => "exec",
        (Special::FlatScratchLo, _) => "flat_scratch_lo",
        (Special::FlatScratchHi, _) => "flat_scratch_hi",
        (Special::XnackMaskLo, _) => "xnack_mask_lo",
        (Special::XnackMaskHi, _) => "xnack_mask_hi",
        (Special::VccLo, _) => "vcc_lo",
        (Special::VccHi, _) => "vcc_hi",
        (Special::M0, _) => "m0",
        (Special::ExecLo, _) => "exec_lo",
        (Special::ExecHi, _) => "exec_hi",
        (Special::SharedBase, _) => "src_shared_base",
        (Special::SharedLimit, _) => "src_shared_limit",
        (Special::PrivateBase, _) => "src_private_base",
        (Special::PrivateLimit, _) => "src_private_limit",
        (Special::PopsExitingWaveId, _) => "src_pops_exiting_wave_id",
        (Special::Vccz, _) => "src_vccz",
        (Special::Execz, _) => "src_execz",
        (Special::Scc, _) => "src_scc",
        (Special::LdsDirect, _) => "src_lds_direct",
    }
}

impl Printer<'_> {
    pub(super) fn value(&mut self, operand: Operand, ty: Type) {
        match operand {
            Operand::None => {}
            Operand::Vgpr(first) => self.registers("v", first, ty),
            Operand::Agpr(first) => self.registers("a", first, ty),
            Operand::Sgpr(first) => self.registers("s", first, ty),
            Operand::Ttmp(first) => self.registers("ttmp", first, ty),
            Operand::Special(name) => self.text.push_str(special(name, ty.dwords())),
            Operand::Int(value) => {
                put!(self, "{value}");
            }
            Operand::Float(float) => self.float(float, ty),
            Operand::Literal(value) => self.literal(value, ty),
            Operand::Imm(value) => self.field(value, ty),
        }
    }

    fn registers(&mut self, file: &str, first: u16, ty: Type) {
        match ty.dwords() {
            0 | 1 => {
                put!(self, "{file}{first}");
            }
            dwords => {
                put!(self, "{file}[{first}:{}]", u32::from(first) + dwords - 1);
            }
        }
    }

    fn float(&mut self, float: InlineFloat, ty: Type) {
        // A 16-bit integer operand gets the bits of the f16.
        let as_bits = ty.element_bits() == 16 && ty.elements() == 1 && ty.kind() != Kind::Float;
        if float == InlineFloat::Inv2Pi {
            self.text.push_str(match ty.element_bits() {
                16 if as_bits => "0x3118",
                bits if bits == 64 || (bits < 32 && ty.dwords() == 2) => "0.15915494309189532",
                _ => "0.15915494",
            });
            return;
        }
        let value = FLOATS[float as usize];
        if as_bits {
            put!(self, "{:#x}", f16_bits(value));
        } else {
            put!(self, "{value:.1}");
        }
    }

    fn literal(&mut self, value: u32, ty: Type) {
        if ty == Type::F64 {
            return self.f64_literal(value);
        }
        if could_be_inline(value, ty) {
            put!(self, "lit({value:#x})");
        } else if ty.element_bits() == 16 && ty.elements() == 1 {
            put!(self, "{:#x}", value & 0xffff);
        } else {
            put!(self, "{value:#x}");
        }
    }

    /// Prints the high half of an f64, by name if it is an inline constant.
    fn f64_literal(&mut self, high: u32) {
        let constant = FLOATS.iter().find(|&&float| (f64::from(float).to_bits() >> 32) as u32 == high);
        match constant {
            Some(float) => {
                put!(self, "{float:.1}");
            }
            None if high == 0 => self.text.push('0'),
            None => {
                put!(self, "{high:#x}");
            }
        }
    }

    /// Prints a 32-bit value that cannot be mistaken for a literal, by name if it is an inline constant.
    pub(super) fn immediate32(&mut self, value: u32) {
        if is_small(i64::from(value as i32)) {
            put!(self, "{}", value as i32);
        } else if let Some(name) = f32_constant(value) {
            self.text.push_str(name);
        } else {
            put!(self, "{value:#x}");
        }
    }

    pub(super) fn signed_hex(&mut self, value: i32) {
        put!(self, "{}{:#x}", if value < 0 { "-" } else { "" }, value.unsigned_abs());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_one_spelling() {
        assert_eq!(f16_bits(0.5), 0x3800);
        assert_eq!(f16_bits(-4.0), 0xc400);
        assert_eq!(INV_2PI, (0.5 / std::f32::consts::PI).to_bits());
        assert_eq!(f32_constant(0xc080_0000), Some("-4.0"));
    }
}
