//! SMEM, DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF, MIMG.

use super::error::{DecodeError, Problem};
use super::fields::{Fields, Input, bit, bits, sign_extend};
use super::operand::{Admits, scalar_register};
use crate::isa::{Arch, Flags, Format, Inst, Op, Operand, Type};

pub(super) fn smem(input: &Input<'_>) -> Result<Inst, DecodeError> {
    let word = input.word;
    let f = input.op(Format::Smem, bits(word, 18, 8))?;
    let high = f.second()?;
    let mut inst = f.inst(Format::Smem, 8);
    let sdata = bits(word, 6, 7);
    let immediate = bit(word, 17);
    if f.info.src[0] == Type::None {
        f.zero("imm", bits(word, 17, 1))?;
        if f.info.dst != Type::None {
            inst.dst = f.smem_data(sdata, f.info.dst)?;
        }
        return Ok(inst);
    }
    let base = bits(word, 0, 6) << 1;
    inst.src[0] = f.sreg("sbase", base, f.info.src[0])?;
    let register = |code| f.sreg("soffset", code, Type::U32);
    match (immediate, bit(word, 14)) {
        (true, false) => inst.src[1] = Operand::Imm(sign_extend(high, 21)),
        (false, false) => {
            inst.src[1] = register(bits(high, 0, 7))?;
            inst.mods.soffset_en = true;
        }
        (also_immediate, true) => {
            inst.src[1] = register(bits(high, 25, 7))?;
            inst.mods.soffset_en = true;
            if also_immediate {
                inst.mods.offset = sign_extend(high, 21);
                inst.src[3] = Operand::Imm(inst.mods.offset);
            }
        }
    }
    let glc = bit(word, 16);
    match f.info.src[2] {
        Type::None => {}
        Type::Uimm7 => {
            inst.src[2] = Operand::Imm(sdata as i32);
            return Ok(inst);
        }
        ty => inst.src[2] = f.smem_data(sdata, ty)?,
    }
    if f.info.is(Flags::atomic) {
        if glc {
            inst.dst = inst.src[2];
        }
    } else if f.info.dst != Type::None {
        inst.dst = f.smem_data(sdata, f.info.dst)?;
    } else if f.info.src[2] == Type::None {
        return Ok(inst);
    }
    inst.mods.glc = glc;
    Ok(inst)
}

impl Fields<'_> {
    fn smem_data(&self, code: u32, ty: Type) -> Result<Operand, DecodeError> {
        if code >= 124 {
            return Err(self.bad("sdata", code, "scalar memory data cannot be in m0 or exec"));
        }
        self.sreg("sdata", code, ty)
    }
}

pub(super) fn ds(input: &Input<'_>) -> Result<Inst, DecodeError> {
    let word = input.word;
    let f = input.op(Format::Ds, bits(word, 17, 8))?;
    let high = f.second()?;
    let mut inst = f.inst(Format::Ds, 8);
    let acc = bit(word, 25);
    let field = |name, low, ty| {
        let index = bits(high, low, 8);
        if ty == Type::None {
            f.zero(name, index)?;
        }
        f.vreg_or_acc(name, index, ty, acc && (name != "addr" || f.info.is(Flags::gds)))
    };
    inst.src[0] = field("addr", 0, f.info.src[0])?;
    inst.src[1] = field("data0", 8, f.info.src[1])?;
    inst.src[2] = field("data1", 16, f.info.src[2])?;
    inst.dst = field("vdst", 24, f.info.dst)?;
    inst.mods.gds = bit(word, 16);
    if inst.mods.gds != f.info.is(Flags::gds) {
        let reason = if inst.mods.gds {
            "these GPUs have no global data share, only its wave synchronisation"
        } else {
            "the instruction works on the global data share only"
        };
        return Err(f.bad("gds", bits(word, 16, 1), reason));
    }
    if f.info.src[..2] == [Type::None; 2] && f.info.dst == Type::None {
        f.zero("acc", bits(word, 25, 1))?;
        if !inst.mods.gds {
            f.zero("offset", bits(word, 0, 16))?;
        }
    }
    if f.info.is(Flags::two_offsets) {
        inst.mods.offset = bits(word, 0, 8) as i32;
        inst.mods.offset1 = bits(word, 8, 8) as u8;
    } else {
        inst.mods.offset = bits(word, 0, 16) as i32;
    }
    Ok(inst)
}

const FLOAT_ATOMIC_SCC: &str = "a floating-point atomic cannot be system coherent";
const LDS_IS_NOT_ACC: &str = "data that goes to LDS goes to no accumulation register";

/// The value of `saddr` without a scalar address.
const NO_SADDR: u32 = 0x7f;

pub(super) fn flat(input: &Input<'_>) -> Result<Inst, DecodeError> {
    let word = input.word;
    let format = match bits(word, 14, 2) {
        0 => Format::Flat,
        1 => Format::Scratch,
        2 => Format::Global,
        _ => return Err(input.error(None, Problem::Encoding)),
    };
    let f = input.op(format, bits(word, 18, 7))?;
    let high = f.second()?;
    let mut inst = f.inst(format, 8);
    inst.mods.glc = bit(word, 16);
    inst.mods.slc = bit(word, 17);
    inst.mods.scc = bit(word, 25);
    if inst.mods.scc && input.arch == Arch::Gfx90a && f.info.is(Flags::atomic) && f.info.dst.is_float() {
        return Err(f.bad("scc", 1, FLOAT_ATOMIC_SCC));
    }
    // On gfx942, bit 13 of a scratch instruction enables the vector address.
    let sve = format == Format::Scratch && input.arch == Arch::Gfx942;
    let bit13 = bit(word, 13);
    inst.mods.lds = bit13 && !sve;
    if inst.mods.lds && (!f.info.is(Flags::lds) || input.arch == Arch::Gfx942) {
        return Err(f.bad("lds", 1, "the instruction cannot move data to LDS"));
    }
    inst.mods.offset = sign_extend(word, 13);
    if format == Format::Flat && inst.mods.offset < 0 {
        return Err(f.bad("offset", bits(word, 0, 13), "the offset of a flat address is below 4096"));
    }
    let saddr = bits(high, 16, 7);
    let has_saddr = format != Format::Flat && saddr != NO_SADDR;
    if has_saddr {
        if format == Format::Global && saddr >= 124 {
            return Err(f.bad("saddr", saddr, "a scalar address cannot be in m0 or exec"));
        }
        inst.src[2] = f.sreg("saddr", saddr, f.info.src[2])?;
    } else if format == Format::Flat {
        f.zero("saddr", saddr)?;
    }
    let has_vaddr = match format {
        Format::Scratch if sve => bit13,
        Format::Scratch => !has_saddr,
        _ => true,
    };
    if has_vaddr {
        let ty = if has_saddr { Type::U32 } else { f.info.src[0] };
        inst.src[0] = f.vreg("vaddr", bits(high, 0, 8), ty)?;
    }
    let acc = bit(high, 23);
    if acc && (inst.mods.lds || f.info.is(Flags::lds_only)) {
        return Err(f.bad("acc", 1, LDS_IS_NOT_ACC));
    }
    inst.src[1] = f.vreg_or_acc("vdata", bits(high, 8, 8), f.info.src[1], acc)?;
    let returns = if f.info.is(Flags::atomic) { inst.mods.glc } else { !inst.mods.lds };
    if returns {
        inst.dst = f.vreg_or_acc("vdst", bits(high, 24, 8), f.info.dst, acc)?;
    }
    Ok(inst)
}

impl Fields<'_> {
    /// Address, resource, offset and data of a buffer instruction.
    fn buffer(&self, inst: &mut Inst, high: u32) -> Result<(), DecodeError> {
        let word = self.word();
        inst.mods.offset = bits(word, 0, 12) as i32;
        inst.mods.offen = bit(word, 12);
        inst.mods.idxen = bit(word, 13);
        inst.mods.glc = bit(word, 14);
        match (inst.mods.offen, inst.mods.idxen) {
            (false, false) => {}
            (true, true) => inst.src[0] = self.vreg("vaddr", bits(high, 0, 8), Type::B64)?,
            _ => inst.src[0] = self.vreg("vaddr", bits(high, 0, 8), Type::U32)?,
        }
        let srsrc = bits(high, 16, 5) << 2;
        inst.src[2] = scalar_register(srsrc, 4).map_err(|reason| self.bad("srsrc", srsrc, reason))?;
        let admits = Admits { literal: false, ..Admits::SCALAR };
        inst.src[3] = self.source("soffset", bits(high, 24, 8), Type::U32, admits)?;
        let acc = bit(high, 23);
        if acc && inst.mods.lds {
            return Err(self.bad("acc", 1, LDS_IS_NOT_ACC));
        }
        let vdata = bits(high, 8, 8);
        inst.src[1] = self.vreg_or_acc("vdata", vdata, self.info.src[1], acc)?;
        if self.info.is(Flags::atomic) {
            if inst.mods.glc {
                inst.dst = inst.src[1];
            }
        } else if !inst.mods.lds {
            inst.dst = self.vreg_or_acc("vdata", vdata, self.info.dst, acc)?;
        }
        Ok(())
    }
}

pub(super) fn mubuf(input: &Input<'_>) -> Result<Inst, DecodeError> {
    let word = input.word;
    let f = input.op(Format::Mubuf, bits(word, 18, 7))?;
    let high = f.second()?;
    let mut inst = f.inst(Format::Mubuf, 8);
    inst.mods.scc = bit(word, 15);
    inst.mods.lds = bit(word, 16);
    inst.mods.slc = bit(word, 17);
    if inst.mods.lds && !f.info.is(Flags::lds) && !f.info.is(Flags::lds_only) {
        return Err(f.bad("lds", 1, "the instruction cannot move data to LDS"));
    }
    if f.info.is(Flags::lds_only) && !inst.mods.lds {
        return Err(f.bad("lds", 0, "the instruction moves data from LDS"));
    }
    if f.info.is(Flags::lds_only) {
        f.zero("offen", bits(word, 12, 2))?;
    }
    if f.info.src[0] == Type::None {
        // Cache control.
        f.zero("offen", bits(word, 12, 2))?;
        f.zero("acc", bits(high, 23, 1))?;
        inst.mods.slc = false;
        if input.arch == Arch::Gfx942 {
            inst.mods.glc = bit(word, 14);
        } else if f.op == Op::buffer_wbl2 {
            inst.mods.scc = false;
        } else {
            f.zero("glc", bits(word, 14, 1))?;
            f.zero("scc", bits(word, 15, 1))?;
        }
        return Ok(inst);
    }
    if inst.mods.scc && input.arch == Arch::Gfx90a && f.info.is(Flags::atomic) && f.info.dst.is_float() {
        return Err(f.bad("scc", 1, FLOAT_ATOMIC_SCC));
    }
    f.buffer(&mut inst, high)?;
    Ok(inst)
}

pub(super) fn mtbuf(input: &Input<'_>) -> Result<Inst, DecodeError> {
    let word = input.word;
    let f = input.op(Format::Mtbuf, bits(word, 15, 4))?;
    let high = f.second()?;
    let mut inst = f.inst(Format::Mtbuf, 8);
    inst.mods.format = bits(word, 19, 7) as u8;
    inst.mods.scc = bit(high, 21);
    inst.mods.slc = bit(high, 22);
    f.buffer(&mut inst, high)?;
    Ok(inst)
}
