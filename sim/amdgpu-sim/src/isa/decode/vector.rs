//! VOP1, VOP2, VOPC, their SDWA and DPP forms, and VOP3.

use super::error::DecodeError;
use super::fields::{Fields, Input, bit, bits};
use super::operand::{Admits, DPP, LITERAL, SDWA, has_modifiers};
use crate::isa::{Dpp, Flags, Format, Inst, Op, Operand, Sdwa, SdwaSel, SdwaUnused, Special, Type};

/// Code of `m0`.
const M0: u32 = 124;
const VCC: Operand = Operand::Special(Special::VccLo);

pub(super) fn vop2(input: &Input<'_>) -> Result<Inst, DecodeError> {
    let word = input.word;
    let f = input.op(Format::Vop2, bits(word, 25, 6))?;
    let src0 = bits(word, 0, 9);
    let mut inst = match f.e32_form(Format::Vop2, src0)? {
        Form::Sdwa => f.sdwa(Some(bits(word, 9, 8)))?,
        Form::Dpp => f.dpp(Some(bits(word, 9, 8)))?,
        Form::Plain(mut inst) => {
            let vsrc1 = bits(word, 9, 8);
            if f.info.is(Flags::literal) {
                inst.size = 8;
                let literal = Operand::Literal(f.second()?);
                // v_madmk: src0, K, src1; v_madak: src0, src1, K.
                let (vsrc_at, literal_at) = if f.is_madmk() { (2, 1) } else { (1, 2) };
                inst.src[vsrc_at] = f.vreg("vsrc1", vsrc1, f.info.src[vsrc_at])?;
                inst.src[literal_at] = literal;
            } else {
                inst.src[1] = f.vreg("vsrc1", vsrc1, f.info.src[1])?;
            }
            inst
        }
    };
    inst.dst = f.vreg("vdst", bits(word, 17, 8), f.info.dst)?;
    if f.info.dst2 == Type::Mask {
        inst.dst2 = VCC;
    }
    if f.info.src[2] == Type::Mask {
        inst.src[2] = VCC;
    }
    Ok(inst)
}

pub(super) fn vop1(input: &Input<'_>) -> Result<Inst, DecodeError> {
    let word = input.word;
    let f = input.op(Format::Vop1, bits(word, 9, 8))?;
    let vdst = bits(word, 17, 8);
    if f.info.src[0] == Type::None {
        // v_nop and v_clrexcp: the source field is ignored.
        f.zero("vdst", vdst)?;
        return match bits(word, 0, 9) {
            code @ (SDWA | DPP) if f.op == Op::v_nop => {
                Err(f.bad("src0", code, "no assembler makes a v_nop with this"))
            }
            _ => Ok(f.inst(Format::Vop1, 4)),
        };
    }
    if f.op == Op::v_accvgpr_mov_b32 {
        let mut inst = f.inst(Format::Vop1, 4);
        inst.dst = Operand::Agpr(vdst as u16);
        inst.src[0] = f.accumulation_source(bits(word, 0, 9))?;
        return Ok(inst);
    }
    let mut inst = match f.e32_form(Format::Vop1, bits(word, 0, 9))? {
        Form::Sdwa => f.sdwa(None)?,
        Form::Dpp => f.dpp(None)?,
        Form::Plain(inst) => inst,
    };
    inst.dst = f.vdst(vdst)?;
    Ok(inst)
}

pub(super) fn vopc(input: &Input<'_>) -> Result<Inst, DecodeError> {
    let word = input.word;
    let f = input.op(Format::Vopc, bits(word, 17, 8))?;
    let vsrc1 = bits(word, 9, 8);
    match f.e32_form(Format::Vopc, bits(word, 0, 9))? {
        Form::Sdwa => f.sdwa(Some(vsrc1)),
        Form::Dpp => Err(f.bad("src0", DPP, "compares have no DPP form")),
        Form::Plain(mut inst) => {
            inst.dst = VCC;
            inst.src[1] = f.vreg("vsrc1", vsrc1, f.info.src[1])?;
            Ok(inst)
        }
    }
}

/// The form that the first source field of a 32-bit encoding selects.
enum Form {
    /// Source 0 is set.
    Plain(Inst),
    Sdwa,
    Dpp,
}

impl Fields<'_> {
    fn is_madmk(&self) -> bool {
        matches!(self.op, Op::v_madmk_f32 | Op::v_madmk_f16 | Op::v_fmamk_f32)
    }

    fn e32_form(&self, format: Format, src0: u32) -> Result<Form, DecodeError> {
        match src0 {
            SDWA if self.info.is(Flags::no_sdwa) => Err(self.bad("src0", src0, "the instruction has no SDWA form")),
            DPP if self.info.is(Flags::no_dpp) => Err(self.bad("src0", src0, "the instruction has no DPP form")),
            SDWA => Ok(Form::Sdwa),
            DPP => Ok(Form::Dpp),
            _ => {
                let mut inst = self.inst(format, if src0 == LITERAL { 8 } else { 4 });
                let admits = match self.op {
                    Op::v_readfirstlane_b32 => Admits { lds_direct: true, ..Admits::VECTOR },
                    Op::v_swap_b32 => Admits::VECTOR,
                    _ => Admits::ALL,
                };
                inst.src[0] = self.source("src0", src0, self.info.src[0], admits)?;
                Ok(Form::Plain(inst))
            }
        }
    }

    /// A destination in an 8-bit vector register field; a few instructions have a scalar one there.
    fn vdst(&self, code: u32) -> Result<Operand, DecodeError> {
        if self.info.is(Flags::scalar_dst) || self.info.dst == Type::Mask {
            if self.info.is(Flags::scalar_dst) && code == M0 {
                return Err(self.bad("sdst", code, "a lane cannot be read into m0"));
            }
            self.sreg("sdst", code, self.info.dst)
        } else {
            self.vreg("vdst", code, self.info.dst)
        }
    }

    /// A source field that names an accumulation register.
    pub(super) fn accumulation_source(&self, code: u32) -> Result<Operand, DecodeError> {
        match code.checked_sub(256) {
            Some(index) => Ok(Operand::Agpr(index as u16)),
            None => Err(self.bad("src0", code, "this operand is an accumulation register")),
        }
    }

    fn sdwa(&self, vsrc1: Option<u32>) -> Result<Inst, DecodeError> {
        let word = self.second()?;
        let mut inst = self.inst(Format::Sdwa, 8);
        let mut sdwa = Sdwa::default();
        if self.info.format == Format::Vopc {
            inst.dst = if bit(word, 15) { self.sreg("sdst", bits(word, 8, 7), Type::Mask)? } else { VCC };
        } else {
            inst.mods.clamp = bit(word, 13);
            inst.mods.omod = bits(word, 14, 2) as u8;
            if !self.info.dst.is_float() {
                self.zero("omod", bits(word, 14, 2))?;
            }
            if self.converts_from_fp8() {
                if bits(word, 8, 3) != 6 {
                    return Err(self.bad("dst_sel", bits(word, 8, 3), "the instruction writes the whole register"));
                }
            } else {
                sdwa.dst_sel = self.selection("dst_sel", bits(word, 8, 3))?;
                sdwa.dst_unused = match bits(word, 11, 2) {
                    0 => SdwaUnused::Pad,
                    1 => SdwaUnused::Sext,
                    2 => SdwaUnused::Preserve,
                    other => return Err(self.bad("dst_unused", other, "no such choice")),
                };
            }
        }
        let second = match vsrc1 {
            Some(code) => Some(code),
            None => {
                self.zero("src1", word >> 24 & 0b1011_1111)?;
                None
            }
        };
        for (i, code) in [Some(bits(word, 0, 8)), second].into_iter().enumerate() {
            let Some(code) = code else { continue };
            let field = ["src0", "src1"][i];
            let half = bits(word, 16 + 8 * i as u32, 8);
            let ty = self.info.src[i];
            let scalar = bit(half, 7);
            inst.src[i] = if scalar {
                self.source(field, code, ty, Admits { literal: false, ..Admits::ALL })?
            } else {
                self.vreg(field, code, ty)?
            };
            sdwa.src_sel[i] = self.selection("src_sel", bits(half, 0, 3))?;
            sdwa.sext[i] = bit(half, 3);
            let (neg, abs) = (bits(half, 4, 1), bits(half, 5, 1));
            if self.float_source(i) {
                self.zero("sext", bits(half, 3, 1))?;
                inst.mods.neg |= (neg << i) as u8;
                inst.mods.abs |= (abs << i) as u8;
            } else {
                self.zero("neg", neg)?;
                self.zero("abs", abs)?;
            }
        }
        inst.mods.sdwa = Some(sdwa);
        Ok(inst)
    }

    fn converts_from_fp8(&self) -> bool {
        matches!(self.op, Op::v_cvt_f32_fp8 | Op::v_cvt_f32_bf8 | Op::v_cvt_pk_f32_fp8 | Op::v_cvt_pk_f32_bf8)
    }

    fn selection(&self, field: &'static str, code: u32) -> Result<SdwaSel, DecodeError> {
        Ok(match code {
            0 => SdwaSel::Byte0,
            1 => SdwaSel::Byte1,
            2 => SdwaSel::Byte2,
            3 => SdwaSel::Byte3,
            4 => SdwaSel::Word0,
            5 => SdwaSel::Word1,
            6 => SdwaSel::Dword,
            _ => return Err(self.bad(field, code, "no such part of a register")),
        })
    }

    fn dpp(&self, vsrc1: Option<u32>) -> Result<Inst, DecodeError> {
        let word = self.second()?;
        let mut inst = self.inst(Format::Dpp, 8);
        let ctrl = bits(word, 8, 9);
        let broadcast = (0x150..0x160).contains(&ctrl);
        let wide = [self.info.dst, self.info.src[0]].iter().any(|ty| ty.dwords() == 2);
        match ctrl {
            _ if broadcast => {}
            _ if wide => return Err(self.bad("dpp_ctrl", ctrl, "a 64-bit operation only has row_newbcast")),
            0..=0xff | 0x101..=0x10f | 0x111..=0x11f | 0x121..=0x12f => {}
            0x130 | 0x134 | 0x138 | 0x13c | 0x140..=0x143 => {}
            _ => return Err(self.bad("dpp_ctrl", ctrl, "no such pattern")),
        }
        inst.mods.dpp = Some(Dpp {
            ctrl: ctrl as u16,
            row_mask: bits(word, 28, 4) as u8,
            bank_mask: bits(word, 24, 4) as u8,
            bound_ctrl: bit(word, 19),
        });
        inst.src[0] = self.vreg("src0", bits(word, 0, 8), self.info.src[0])?;
        if let Some(code) = vsrc1 {
            inst.src[1] = self.vreg("vsrc1", code, self.info.src[1])?;
        }
        for i in 0..2 {
            let (neg, abs) = (bits(word, 20 + 2 * i, 1), bits(word, 21 + 2 * i, 1));
            if self.float_source(i as usize) {
                inst.mods.neg |= (neg << i) as u8;
                inst.mods.abs |= (abs << i) as u8;
            } else if !self.ignores_modifiers(i as usize) {
                self.zero("neg", neg)?;
                self.zero("abs", abs)?;
            }
        }
        Ok(inst)
    }

    /// Returns whether source `i` supports negation and absolute value.
    fn float_source(&self, i: usize) -> bool {
        has_modifiers(self.info.src[i]) || (self.op == Op::v_cndmask_b32 && i < 2)
    }

    /// Returns whether the modifier bits of source `i` are ignored, rather than invalid.
    fn ignores_modifiers(&self, i: usize) -> bool {
        !matches!(self.info.src[i], Type::None | Type::Mask)
            && (self.float_source(0)
                || matches!(self.op, Op::v_dot2c_i32_i16 | Op::v_dot4c_i32_i8 | Op::v_dot8c_i32_i4))
            && self.info.format != Format::Vopc
    }

    fn vop3_sources(&self, inst: &mut Inst, high: u32) -> Result<(), DecodeError> {
        for (i, field) in ["src0", "src1", "src2"].into_iter().enumerate() {
            let ty = self.info.src[i];
            if ty == Type::None {
                continue;
            }
            let admits = match (self.op, i) {
                (Op::v_readlane_b32, 0) => Admits { lds_direct: true, ..Admits::VECTOR },
                (Op::v_readlane_b32, _) | (Op::v_writelane_b32, _) => Admits { literal: false, ..Admits::SCALAR },
                _ if ty == Type::Mask => Admits::REGISTER,
                _ if ty.dwords() > 2 => Admits::VECTOR,
                _ => Admits::NO_LITERAL,
            };
            inst.src[i] = self.source(field, bits(high, 9 * i as u32, 9), ty, admits)?;
        }
        Ok(())
    }

    fn vop3_modifiers(&self, inst: &mut Inst, high: u32) -> Result<(), DecodeError> {
        let word = self.word();
        let has_sdst = self.info.dst2 != Type::None;
        let (abs, op_sel) = if has_sdst { (0, 0) } else { (bits(word, 8, 3), bits(word, 11, 4)) };
        let neg = bits(high, 29, 3);
        for i in 0..3 {
            let (abs, neg) = (bits(abs, i, 1), bits(neg, i, 1));
            if self.float_source(i as usize) {
                inst.mods.abs |= (abs << i) as u8;
                inst.mods.neg |= (neg << i) as u8;
            } else if !self.ignores_modifiers(i as usize) && !self.rounds_to_fp8() {
                self.zero("abs", abs)?;
                self.zero("neg", neg)?;
            }
        }
        if self.info.is(Flags::op_sel) {
            for i in 0..3 {
                if self.info.src[i as usize] == Type::None && !self.rounds_to_fp8() {
                    self.zero("op_sel", bits(op_sel, i, 1))?;
                }
            }
            inst.mods.op_sel = op_sel as u8;
        }
        let float = self.float_source(0) || self.info.dst.is_float();
        inst.mods.clamp = bit(word, 15);
        let clamp =
            self.info.is(Flags::clamp) || (float && !self.info.is(Flags::no_clamp) && self.op != Op::v_cndmask_b32);
        if !clamp {
            self.zero("clamp", bits(word, 15, 1))?;
        }
        inst.mods.omod = bits(high, 27, 2) as u8;
        let omod = self.info.dst.is_float() || (self.info.format == Format::Vop1 && self.float_source(0));
        if !omod || self.info.is(Flags::no_omod) {
            self.zero("omod", bits(high, 27, 2))?;
        }
        Ok(())
    }

    fn rounds_to_fp8(&self) -> bool {
        matches!(self.op, Op::v_cvt_sr_fp8_f32 | Op::v_cvt_sr_bf8_f32)
    }
}

pub(super) fn vop3(input: &Input<'_>) -> Result<Inst, DecodeError> {
    let word = input.word;
    let f = input.op(Format::Vop3, bits(word, 16, 10))?;
    let high = f.second()?;
    let format = if f.info.dst2 == Type::None { Format::Vop3 } else { Format::Vop3b };
    let mut inst = f.inst(format, 8);
    f.vop3_modifiers(&mut inst, high)?;
    f.vop3_sources(&mut inst, high)?;
    if f.info.dst == Type::None {
        f.zero("vdst", bits(word, 0, 8))?;
    } else {
        inst.dst = f.vdst(bits(word, 0, 8))?;
    }
    if format == Format::Vop3b {
        inst.dst2 = f.sreg("sdst", bits(word, 8, 7), f.info.dst2)?;
    }
    Ok(inst)
}
