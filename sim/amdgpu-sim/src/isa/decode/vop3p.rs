//! VOP3P: packed math, dot products, MFMA and moves of accumulation registers.

use super::error::DecodeError;
use super::fields::{Fields, Input, bit, bits};
use super::operand::{Admits, vector_register};
use crate::isa::{Flags, Format, Inst, Kind, Op, Operand, Type};

const SOURCES: [&str; 3] = ["src0", "src1", "src2"];

pub(super) fn vop3p(input: &Input<'_>) -> Result<Inst, DecodeError> {
    let f = input.op(Format::Vop3p, bits(input.word, 16, 7))?;
    match f.op {
        Op::v_accvgpr_read_b32 | Op::v_accvgpr_write_b32 => f.accvgpr_move(),
        _ if f.info.is(Flags::mfma) => f.mfma(),
        _ => f.packed(),
    }
}

impl Fields<'_> {
    fn accvgpr_move(&self) -> Result<Inst, DecodeError> {
        let (word, high) = (self.word(), self.second()?);
        let mut inst = self.inst(Format::Vop3p, 8);
        self.zero("neg_hi", bits(word, 8, 3))?;
        self.zero("op_sel", bits(word, 11, 3))?;
        self.zero("neg", bits(high, 29, 3))?;
        let (vdst, code) = (bits(word, 0, 8), bits(high, 0, 9));
        if self.op == Op::v_accvgpr_read_b32 {
            inst.dst = Operand::Vgpr(vdst as u16);
            inst.src[0] = self.accumulation_source(code)?;
        } else {
            inst.dst = Operand::Agpr(vdst as u16);
            inst.src[0] = self.source("src0", code, Type::B32, Admits::NO_LITERAL)?;
        }
        Ok(inst)
    }

    fn mfma(&self) -> Result<Inst, DecodeError> {
        let (word, high) = (self.word(), self.second()?);
        let mut inst = self.inst(Format::Vop3p, 8);
        let accumulate = bit(word, 15);
        inst.dst = self.vreg_or_acc("vdst", bits(word, 0, 8), self.info.dst, accumulate)?;
        let sparse = self.info.src[2] == Type::U32;
        let in_acc = [bit(high, 27), bit(high, 28), accumulate && !sparse];
        for i in 0..3 {
            let (code, ty) = (bits(high, 9 * i as u32, 9), self.info.src[i]);
            inst.src[i] = match code.checked_sub(256) {
                Some(index) => vector_register(index, ty.dwords(), in_acc[i])
                    .map_err(|reason| self.bad(SOURCES[i], code, reason))?,
                None if i == 2 && !sparse => {
                    let constant =
                        Admits { vector: false, scalar: false, literal: false, lds_direct: false, constant: true };
                    self.source(SOURCES[i], code, ty, constant)?
                }
                None => return Err(self.bad(SOURCES[i], code, "this operand is a vector register")),
            };
        }
        let blgp = bits(high, 29, 3);
        if sparse {
            self.zero("blgp", blgp)?;
        }
        inst.mods.mfma = (bits(word, 8, 3) as u8, bits(word, 11, 4) as u8, blgp as u8);
        Ok(inst)
    }

    fn packed(&self) -> Result<Inst, DecodeError> {
        let (word, high) = (self.word(), self.second()?);
        let mut inst = self.inst(Format::Vop3p, 8);
        inst.dst = self.vreg("vdst", bits(word, 0, 8), self.info.dst)?;
        let sources = self.info.src.iter().filter(|ty| **ty != Type::None).count();
        for (i, field) in SOURCES.into_iter().enumerate().take(sources) {
            inst.src[i] = self.source(field, bits(high, 9 * i as u32, 9), self.info.src[i], Admits::NO_LITERAL)?;
        }
        let mask = (1 << sources) - 1;
        let (neg_hi, op_sel, neg) = (bits(word, 8, 3), bits(word, 11, 3), bits(high, 29, 3));
        let op_sel_hi = bits(high, 27, 2) | bits(word, 14, 1) << 2;
        self.zero("neg_hi", neg_hi & !mask)?;
        self.zero("op_sel", op_sel & !mask)?;
        self.zero("neg", neg & !mask)?;
        inst.mods.neg = neg as u8;
        // In a mixed-precision FMA these bits are the absolute values.
        if self.info.src[0].kind() == Kind::Mix {
            inst.mods.abs = neg_hi as u8;
        } else {
            inst.mods.neg_hi = neg_hi as u8;
        }
        if self.has_op_sel() {
            inst.mods.op_sel = op_sel as u8;
            inst.mods.op_sel_hi = (op_sel_hi & mask) as u8;
        } else {
            self.zero("op_sel", op_sel)?;
            inst.mods.op_sel_hi = mask as u8;
        }
        inst.mods.clamp = bit(word, 15);
        Ok(inst)
    }

    /// Dot products of 4 or 8 elements read whole registers.
    fn has_op_sel(&self) -> bool {
        self.info.src[0].element_bits() >= 16
    }
}
