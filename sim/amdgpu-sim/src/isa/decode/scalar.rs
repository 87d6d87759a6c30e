//! SOP1, SOP2, SOPC, SOPK, SOPP.

use super::error::DecodeError;
use super::fields::{Fields, Input, bits, sign_extend};
use super::operand::{Admits, LITERAL};
use crate::isa::{Flags, Format, Inst, Op, Operand, Type};

/// The instruction's size: 8 if any source field indicates a literal.
fn size(fields: &[u32]) -> u8 {
    if fields.contains(&LITERAL) { 8 } else { 4 }
}

impl Fields<'_> {
    fn sdst(&self) -> Result<Operand, DecodeError> {
        let code = bits(self.word(), 16, 7);
        if self.info.dst == Type::None { Ok(Operand::None) } else { self.sreg("sdst", code, self.info.dst) }
    }
}

pub(super) fn sop2(input: &Input<'_>) -> Result<Inst, DecodeError> {
    let word = input.word;
    let f = input.op(Format::Sop2, bits(word, 23, 7))?;
    let codes = [bits(word, 0, 8), bits(word, 8, 8)];
    let mut inst = f.inst(Format::Sop2, size(&codes));
    inst.dst = f.sdst()?;
    inst.src[0] = f.source("ssrc0", codes[0], f.info.src[0], Admits::SCALAR)?;
    inst.src[1] = f.source("ssrc1", codes[1], f.info.src[1], Admits::SCALAR)?;
    Ok(inst)
}

pub(super) fn sop1(input: &Input<'_>) -> Result<Inst, DecodeError> {
    let word = input.word;
    let f = input.op(Format::Sop1, bits(word, 8, 8))?;
    let code = bits(word, 0, 8);
    let mut inst = f.inst(Format::Sop1, 4);
    inst.dst = f.sdst()?;
    if f.info.src[0] != Type::None {
        inst.size = size(&[code]);
        let admits = match f.op {
            Op::s_movrels_b32 | Op::s_movrels_b64 | Op::s_setpc_b64 | Op::s_rfe_b64 | Op::s_cbranch_join => {
                Admits::REGISTER
            }
            _ => Admits::SCALAR,
        };
        inst.src[0] = f.source("ssrc0", code, f.info.src[0], admits)?;
    }
    Ok(inst)
}

pub(super) fn sopc(input: &Input<'_>) -> Result<Inst, DecodeError> {
    let word = input.word;
    let f = input.op(Format::Sopc, bits(word, 16, 7))?;
    let codes = [bits(word, 0, 8), bits(word, 8, 8)];
    let mut inst = f.inst(Format::Sopc, size(&codes[..1]));
    inst.src[0] = f.source("ssrc0", codes[0], f.info.src[0], Admits::SCALAR)?;
    if f.info.src[1] == Type::GprIdx {
        inst.src[1] = Operand::Imm(codes[1] as i32);
    } else {
        inst.size = size(&codes);
        inst.src[1] = f.source("ssrc1", codes[1], f.info.src[1], Admits::SCALAR)?;
    }
    Ok(inst)
}

pub(super) fn sopk(input: &Input<'_>) -> Result<Inst, DecodeError> {
    let word = input.word;
    let f = input.op(Format::Sopk, bits(word, 23, 5))?;
    let mut inst = f.inst(Format::Sopk, 4);
    inst.dst = f.sdst()?;
    inst.src[0] = match f.info.src[0] {
        Type::Uimm16 | Type::HwReg => Operand::Imm(bits(word, 0, 16) as i32),
        _ => Operand::Imm(sign_extend(word, 16)),
    };
    if f.info.is(Flags::literal) {
        inst.src[1] = Operand::Literal(f.second()?);
        inst.size = 8;
    } else if f.info.src[1] != Type::None {
        inst.src[1] = f.sreg("sdst", bits(word, 16, 7), f.info.src[1])?;
    }
    Ok(inst)
}

pub(super) fn sopp(input: &Input<'_>) -> Result<Inst, DecodeError> {
    let word = input.word;
    let f = input.op(Format::Sopp, bits(word, 16, 7))?;
    let mut inst = f.inst(Format::Sopp, 4);
    if f.info.src[0] == Type::None {
        f.zero("simm16", bits(word, 0, 16))?;
    } else {
        inst.src[0] = Operand::Imm(sign_extend(word, 16));
    }
    Ok(inst)
}
