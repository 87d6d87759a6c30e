//! Prints instructions in LLVM's syntax.

mod fields;
mod operand;

use super::inst::{Format, Inst, Mods, Operand, SdwaSel, SdwaUnused};
use super::op::{Arch, Flags, Op};
use super::types::{Kind, Type};
use std::fmt::{self, Write};

/// The instruction in LLVM's assembly syntax for `arch`, as `llvm-objdump` and `llvm-mc` print it.
///
/// Branch targets are the 16-bit field itself: the distance in dwords from the next instruction, as an unsigned number.
#[must_use]
pub fn disassemble(inst: &Inst, arch: Arch) -> String {
    let mut printer = Printer { inst, arch, text: String::with_capacity(64), operands: 0 };
    printer.print();
    printer.text
}

/// As [`disassemble`] for gfx90a.
impl fmt::Display for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&disassemble(self, Arch::Gfx90a))
    }
}

struct Printer<'a> {
    inst: &'a Inst,
    arch: Arch,
    text: String,
    operands: usize,
}

/// Writes to the text, which cannot fail.
macro_rules! put {
    ($printer:expr, $($arg:tt)*) => {
        let _ = write!($printer.text, $($arg)*);
    };
}
use put;

impl Printer<'_> {
    fn print(&mut self) {
        let info = self.inst.op.info();
        self.text.push_str(info.mnemonic);
        self.text.push_str(self.suffix());
        match self.inst.format {
            Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp => self.scalar(),
            Format::Smem => self.smem(),
            Format::Vop1
            | Format::Vop2
            | Format::Vopc
            | Format::Vop3
            | Format::Vop3b
            | Format::Vop3p
            | Format::Sdwa
            | Format::Dpp => self.vector(),
            Format::Ds => self.ds(),
            Format::Flat | Format::Global | Format::Scratch => self.flat(),
            Format::Mubuf | Format::Mtbuf => self.buffer(),
            Format::Mimg => self.image(),
            // Not supported by these architectures.
            Format::Vintrp | Format::Exp => {}
        }
    }

    fn suffix(&self) -> &'static str {
        let info = self.inst.op.info();
        match self.inst.format {
            // They have no operands, so LLVM prints no suffix to distinguish the forms.
            _ if matches!(self.inst.op, Op::v_nop | Op::v_clrexcp) => "",
            Format::Sdwa => "_sdwa",
            Format::Dpp => "_dpp",
            Format::Vop1 | Format::Vop2 | Format::Vopc if !info.is(Flags::no_e64) => "_e32",
            Format::Vop3 | Format::Vop3b if info.format != Format::Vop3 => "_e64",
            _ => "",
        }
    }

    /// Starts the next operand.
    fn next(&mut self) {
        self.text.push_str(if self.operands == 0 { " " } else { ", " });
        self.operands += 1;
    }

    fn operand(&mut self, operand: Operand, ty: Type) {
        if operand != Operand::None {
            self.next();
            self.value(operand, ty);
        }
    }

    fn off_or(&mut self, operand: Operand, ty: Type) {
        if operand == Operand::None {
            self.next();
            self.text.push_str("off");
        } else {
            self.operand(operand, ty);
        }
    }

    fn flag(&mut self, set: bool, name: &str) {
        if set {
            put!(self, " {name}");
        }
    }

    fn scalar(&mut self) {
        let (inst, info) = (self.inst, self.inst.op.info());
        self.operand(inst.dst, info.dst);
        match inst.op {
            // The register comes first.
            _ if inst.format == Format::Sopk && info.dst == Type::None && info.src[0] != Type::HwReg => {
                self.operand(inst.src[1], info.src[1]);
                self.operand(inst.src[0], info.src[0]);
            }
            Op::s_setreg_imm32_b32 => {
                self.operand(inst.src[0], info.src[0]);
                if let Operand::Literal(value) = inst.src[1] {
                    self.next();
                    self.immediate32(value);
                }
            }
            Op::s_endpgm => {
                if inst.src[0] != Operand::Imm(0) {
                    self.operand(inst.src[0], Type::Branch);
                }
            }
            _ => {
                for (&src, &ty) in inst.src.iter().zip(&info.src) {
                    // A scalar source is printed as a whole register, even if only a part is used.
                    let narrow = ty.kind() != Kind::Immediate && ty.element_bits() < 32;
                    self.operand(src, if narrow { Type::B32 } else { ty });
                }
            }
        }
    }

    fn smem(&mut self) {
        let (inst, info) = (self.inst, self.inst.op.info());
        if inst.src[2] == Operand::None {
            self.operand(inst.dst, info.dst);
        } else {
            self.operand(inst.src[2], info.src[2]);
        }
        self.operand(inst.src[0], info.src[0]);
        match inst.src[1] {
            Operand::Imm(offset) => {
                self.next();
                self.signed_hex(offset);
            }
            register => self.operand(register, Type::U32),
        }
        if let Operand::Imm(offset) = inst.src[3] {
            self.text.push_str(" offset:");
            self.signed_hex(offset);
        }
        self.flag(inst.mods.glc, "glc");
    }

    fn vector(&mut self) {
        let (inst, info) = (self.inst, self.inst.op.info());
        let mods = &inst.mods;
        self.operand(inst.dst, info.dst);
        self.operand(inst.dst2, info.dst2);
        for i in 0..3 {
            if inst.src[i] == Operand::None {
                continue;
            }
            self.next();
            if info.is(Flags::literal) && !(i == 0 || matches!(inst.src[i], Operand::Vgpr(_))) {
                if let Operand::Literal(value) = inst.src[i] {
                    put!(self, "{value:#x}");
                }
                continue;
            }
            self.modified_source(i);
        }
        match inst.format {
            Format::Vop3p => self.packed_modifiers(),
            Format::Vop3 if mods.op_sel != 0 => {
                let sources = info.src.iter().filter(|ty| **ty != Type::None).count();
                let all = matches!(inst.op, Op::v_cvt_sr_fp8_f32 | Op::v_cvt_sr_bf8_f32);
                let mut halves: Vec<u8> = (0..if all { 3 } else { sources }).map(|i| mods.op_sel >> i & 1).collect();
                halves.push(mods.op_sel >> 3 & 1);
                self.list("op_sel", &halves);
            }
            _ => {}
        }
        self.flag(mods.clamp, "clamp");
        match mods.omod {
            1 => self.text.push_str(" mul:2"),
            2 => self.text.push_str(" mul:4"),
            3 => self.text.push_str(" div:2"),
            _ => {}
        }
        self.sdwa();
        self.dpp();
    }

    fn modified_source(&mut self, i: usize) {
        let (inst, info) = (self.inst, self.inst.op.info());
        let mods: &Mods = &inst.mods;
        let bit = |mask: u8| mask >> i & 1 == 1;
        let inline = inst.format != Format::Vop3p || info.src[i].kind() == Kind::Mix;
        // LLVM does not print them, as their meaning here is not documented.
        let silent = inst.format == Format::Sdwa && inst.op == Op::v_pk_fmac_f16;
        let (neg, abs) = (inline && !silent && bit(mods.neg), !silent && bit(mods.abs));
        let sext = i < 2 && mods.sdwa.is_some_and(|sdwa| sdwa.sext[i]);
        let constant = matches!(inst.src[i], Operand::Int(_) | Operand::Float(_));
        // `-1` would be a different constant from the negation of 1.
        let close = if sext {
            self.text.push_str("sext(");
            ")"
        } else if neg && !abs && constant {
            self.text.push_str("neg(");
            ")"
        } else {
            if neg {
                self.text.push('-');
            }
            if abs { "|" } else { "" }
        };
        if abs {
            self.text.push('|');
        }
        // LLVM treats this shift count as an f16.
        let ty = if inst.op == Op::v_ldexp_f16 { Type::F16 } else { info.src[i] };
        self.value(inst.src[i], ty);
        self.text.push_str(close);
    }

    fn list(&mut self, name: &str, bits: &[u8]) {
        put!(self, " {name}:[");
        for (i, bit) in bits.iter().enumerate() {
            put!(self, "{}{bit}", if i == 0 { "" } else { "," });
        }
        self.text.push(']');
    }

    fn packed_modifiers(&mut self) {
        let (inst, info) = (self.inst, self.inst.op.info());
        let mods = &inst.mods;
        let sources = info.src.iter().filter(|ty| **ty != Type::None).count();
        let all = (1 << sources) - 1;
        let each = |mask: u8| -> Vec<u8> { (0..sources).map(|i| mask >> i & 1).collect() };
        let (cbsz, abid, blgp) = mods.mfma;
        if cbsz != 0 {
            put!(self, " cbsz:{cbsz}");
        }
        if abid != 0 {
            put!(self, " abid:{abid}");
        }
        if blgp != 0 {
            // The f64 products of gfx942 negate their sources with these bits.
            if matches!(inst.op, Op::v_mfma_f64_16x16x4_f64 | Op::v_mfma_f64_4x4x4_4b_f64) {
                self.list("neg", &each(blgp));
            } else {
                put!(self, " blgp:{blgp}");
            }
        }
        if info.is(Flags::mfma) || sources < 2 {
            return;
        }
        let mix = info.src[0].kind() == Kind::Mix;
        if mods.op_sel != 0 {
            self.list("op_sel", &each(mods.op_sel));
        }
        if mods.op_sel_hi != if mix { 0 } else { all } {
            self.list("op_sel_hi", &each(mods.op_sel_hi));
        }
        if mods.neg != 0 && !mix {
            self.list("neg_lo", &each(mods.neg));
        }
        if mods.neg_hi != 0 {
            self.list("neg_hi", &each(mods.neg_hi));
        }
    }

    fn sdwa(&mut self) {
        let Some(sdwa) = self.inst.mods.sdwa else { return };
        let info = self.inst.op.info();
        let from_fp8 = matches!(info.src[0].kind(), Kind::Fp8 | Kind::Bf8);
        if info.dst != Type::Mask && !from_fp8 {
            put!(self, " dst_sel:{}", selection(sdwa.dst_sel));
            let unused = match sdwa.dst_unused {
                SdwaUnused::Pad => "UNUSED_PAD",
                SdwaUnused::Sext => "UNUSED_SEXT",
                SdwaUnused::Preserve => "UNUSED_PRESERVE",
            };
            put!(self, " dst_unused:{unused}");
        }
        for i in 0..2 {
            if self.inst.src[i] != Operand::None {
                put!(self, " src{i}_sel:{}", selection(sdwa.src_sel[i]));
            }
        }
    }

    fn dpp(&mut self) {
        let Some(dpp) = self.inst.mods.dpp else { return };
        let ctrl = dpp.ctrl;
        match ctrl {
            0..=0xff => {
                let lanes: Vec<u8> = (0..4).map(|i| (ctrl >> (2 * i) & 3) as u8).collect();
                self.list("quad_perm", &lanes);
            }
            0x101..=0x10f => put_lane(&mut self.text, "row_shl", ctrl),
            0x111..=0x11f => put_lane(&mut self.text, "row_shr", ctrl),
            0x121..=0x12f => put_lane(&mut self.text, "row_ror", ctrl),
            0x130 => self.text.push_str(" wave_shl:1"),
            0x134 => self.text.push_str(" wave_rol:1"),
            0x138 => self.text.push_str(" wave_shr:1"),
            0x13c => self.text.push_str(" wave_ror:1"),
            0x140 => self.text.push_str(" row_mirror"),
            0x141 => self.text.push_str(" row_half_mirror"),
            0x142 => self.text.push_str(" row_bcast:15"),
            0x143 => self.text.push_str(" row_bcast:31"),
            _ => put_lane(&mut self.text, "row_newbcast", ctrl),
        }
        put!(self, " row_mask:{:#x} bank_mask:{:#x}", dpp.row_mask, dpp.bank_mask);
        self.flag(dpp.bound_ctrl, "bound_ctrl:1");
    }

    fn ds(&mut self) {
        let (inst, info) = (self.inst, self.inst.op.info());
        self.operand(inst.dst, info.dst);
        for i in 0..3 {
            self.operand(inst.src[i], info.src[i]);
        }
        let (offset, offset1) = (inst.mods.offset, inst.mods.offset1);
        if inst.op == Op::ds_swizzle_b32 {
            if offset != 0 {
                self.text.push_str(" offset:");
                self.swizzle(offset as u32);
            }
        } else if info.is(Flags::two_offsets) {
            if offset != 0 {
                put!(self, " offset0:{offset}");
            }
            if offset1 != 0 {
                put!(self, " offset1:{offset1}");
            }
        } else if offset != 0 {
            put!(self, " offset:{offset}");
        }
        self.flag(inst.mods.gds, "gds");
    }

    fn cache_policy(&mut self) {
        let mods = &self.inst.mods;
        let [glc, slc, scc] = match self.arch {
            Arch::Gfx90a => ["glc", "slc", "scc"],
            Arch::Gfx942 => ["sc0", "nt", "sc1"],
        };
        self.flag(mods.glc, glc);
        self.flag(mods.slc, slc);
        self.flag(mods.scc, scc);
    }

    fn flat(&mut self) {
        let (inst, info) = (self.inst, self.inst.op.info());
        self.operand(inst.dst, info.dst);
        let has_saddr = inst.src[2] != Operand::None;
        self.off_or(inst.src[0], if has_saddr { Type::U32 } else { info.src[0] });
        self.operand(inst.src[1], info.src[1]);
        if inst.format != Format::Flat {
            self.off_or(inst.src[2], info.src[2]);
        }
        if inst.mods.offset != 0 {
            put!(self, " offset:{}", inst.mods.offset);
        }
        self.cache_policy();
        self.flag(inst.mods.lds, "lds");
    }

    fn buffer(&mut self) {
        let (inst, info) = (self.inst, self.inst.op.info());
        let mods = &inst.mods;
        if info.src[0] != Type::None {
            if inst.src[1] == Operand::None {
                self.operand(inst.dst, info.dst);
            } else {
                self.operand(inst.src[1], info.src[1]);
            }
            let vaddr = if mods.offen && mods.idxen { Type::B64 } else { Type::U32 };
            if info.is(Flags::lds_only) {
                self.operand(inst.src[0], vaddr);
            } else {
                self.off_or(inst.src[0], vaddr);
            }
            self.operand(inst.src[2], info.src[2]);
            self.operand(inst.src[3], info.src[3]);
        }
        if inst.format == Format::Mtbuf {
            self.buffer_format(mods.format);
        }
        self.flag(mods.idxen, "idxen");
        self.flag(mods.offen, "offen");
        if mods.offset != 0 {
            put!(self, " offset:{}", mods.offset);
        }
        self.flag(mods.lds && info.is(Flags::lds_only), "lds");
        self.cache_policy();
        self.flag(mods.tfe, "tfe");
        self.flag(mods.lds && !info.is(Flags::lds_only), "lds");
    }

    fn image(&mut self) {
        let (inst, info) = (self.inst, self.inst.op.info());
        let Some(image) = inst.mods.image else { return };
        let data = if inst.src[1] == Operand::None { inst.dst } else { inst.src[1] };
        self.operand(data, image.data(inst.op));
        self.operand(inst.src[0], info.src[0]);
        self.operand(inst.src[2], info.src[2]);
        self.operand(inst.src[3], info.src[3]);
        if image.dmask != 0 {
            put!(self, " dmask:{:#x}", image.dmask);
        }
        self.flag(image.unorm, "unorm");
        self.cache_policy();
        self.flag(image.a16, "a16");
        self.flag(image.lwe, "lwe");
        self.flag(image.da, "da");
        self.flag(image.d16, "d16");
    }
}

fn put_lane(text: &mut String, name: &str, ctrl: u16) {
    let _ = write!(text, " {name}:{}", ctrl & 15);
}

fn selection(part: SdwaSel) -> &'static str {
    match part {
        SdwaSel::Byte0 => "BYTE_0",
        SdwaSel::Byte1 => "BYTE_1",
        SdwaSel::Byte2 => "BYTE_2",
        SdwaSel::Byte3 => "BYTE_3",
        SdwaSel::Word0 => "WORD_0",
        SdwaSel::Word1 => "WORD_1",
        SdwaSel::Dword => "DWORD",
    }
}
