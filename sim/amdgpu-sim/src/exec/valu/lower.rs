//! Lowers decoded vector instructions to micro-operations.

use super::entry::{Entry, Mask, Place};
use super::preparation::{From, Kind, Prepare, Result, Source};
use super::table::entry;
use super::{address, cmp, fp8, int, lanes, packed, round, sad, special};
use crate::exec::constant::{Wide, constant16, constant32, constant64};
use crate::exec::{Handler, Lowering, Micro, slot};
use crate::isa::Op;
use crate::isa::inst::{Format, Inst, Operand, SdwaSel, Special};

/// Lowers a vector instruction: resolves its operands into `m` and returns the handler.
pub(in crate::exec) fn lower(inst: &Inst, l: &mut Lowering, m: &mut Micro) -> Option<Handler> {
    if let Some(handler) = lanes::lower(inst, l, m) {
        return Some(handler);
    }
    if let Some(handler) = address::lower(inst, l, m) {
        return Some(handler);
    }
    if let Some(handler) = special::move_scalar(inst, l, m) {
        return Some(handler);
    }
    let mut entry = match cmp::entry_of(inst, m, l.avx2).or_else(|| fp8::entry_of(inst, m)) {
        Some(entry) => entry,
        None => find(inst, l)?,
    };
    let mut sources = Vec::with_capacity(entry.src.len());
    for (i, kind) in entry.src.iter().enumerate() {
        // Accumulating operations have their third source only as destination.
        let operand = match inst.src[i] {
            Operand::None => inst.dst,
            // `v_cndmask` has its mask there, an accumulating operation with fewer sources its destination.
            other => other,
        };
        sources.push(source(inst, l, m, i, *kind, operand)?);
    }
    let mut prepare = Prepare::new(sources.into_iter().flatten().collect(), inst.mods.dpp);
    if inst.mods.dpp.is_some() && !prepare.sources.iter().any(|s| s.to == l.prepared(0)) {
        return None;
    }
    if inst.op == Op::v_mqsad_u32_u8 {
        m.src[2] = l.row(inst.src[2])?;
    }
    entry = round::choose(inst.op, entry, l, m)?;
    masks(inst, l, m, &mut entry)?;
    match entry.dst {
        Place::Vector(kind) => {
            m.dst = l.row(inst.dst)?;
            prepare.result = result(inst, l, kind);
        }
        Place::Mask => {}
        Place::Nothing => {}
    }
    let (before, after) = (!prepare.sources.is_empty(), prepare.result.is_some());
    if before || after {
        let index = l.push_prepare(prepare)?;
        m.pre = if before { index } else { 0 };
        m.post = if after { index } else { 0 };
    }
    Some(entry.run)
}

/// Finds the operation by opcode, and by modifiers that change it.
fn find(inst: &Inst, l: &Lowering) -> Option<Entry> {
    if inst.mods.clamp {
        // Integer operations with clamp saturate: a different operation.
        let saturating = int::saturating(inst.op, l.avx2)
            .or_else(|| packed::saturating(inst.op, l.avx2))
            .or_else(|| special::saturating(inst.op, l.avx2))
            .or_else(|| sad::table(inst.op, l.avx2, true));
        if saturating.is_some() {
            return saturating;
        }
        let entry = entry(inst.op, l.avx2, l.mode.ieee())?;
        let float = matches!(entry.dst, Place::Vector(Kind::F32 | Kind::F64 | Kind::F16 | Kind::PF16 | Kind::PF32));
        return (float || never_overflows(inst.op)).then_some(entry);
    }
    entry(inst.op, l.avx2, l.mode.ieee())
}

/// Resolves source `i` into `m`. Returns its preparation, if it needs one.
fn source(
    inst: &Inst,
    l: &mut Lowering,
    m: &mut Micro,
    i: usize,
    kind: Kind,
    operand: Operand,
) -> Option<Option<Source>> {
    let mods = &inst.mods;
    let packed = inst.format == Format::Vop3p;
    let bit = |field: u8| field >> i & 1 == 1;
    let mut from = From::Direct;
    if let Some(row) = l.row(operand) {
        m.src[i] = row;
        from = From::Row(row);
    } else if let Some(constant) = constant_row(l, kind, operand, packed && bit(mods.op_sel_hi)) {
        m.src[i] = constant;
        from = From::Row(constant);
    } else {
        let slot = scalar(l, kind, operand)?;
        m.src[i] = l.prepared(i);
        from = match from {
            From::Direct => From::Slot(slot),
            other => other,
        };
    }
    let float = !matches!(kind, Kind::P16 | Kind::U64 | Kind::I64 | Kind::B16);
    let flush = l.flush
        && matches!(kind, Kind::F32 | Kind::F16 | Kind::F64 | Kind::PF16 | Kind::PF32 | Kind::Mix)
        && !special::keeps_denormals(inst.op);
    let part =
        mods.sdwa.and_then(|s| (i < 2).then(|| (s.src_sel[i], s.sext[i]))).filter(|p| *p != (SdwaSel::Dword, false));
    let (mut select, mut abs, mut neg) = ((false, true), false, (false, false));
    let mut changed = part.is_some() || flush;
    match kind {
        Kind::P16 | Kind::PF16 | Kind::PF32 if packed => {
            select = (bit(mods.op_sel), bit(mods.op_sel_hi));
            neg = (bit(mods.neg), bit(mods.neg_hi));
            if special::picks_dwords(inst.op) {
                select = (bit(mods.op_sel), bit(mods.op_sel));
            }
            changed |= select != (false, true) || neg != (false, false);
        }
        Kind::Mix => {
            select = (bit(mods.op_sel), bit(mods.op_sel_hi));
            neg.0 = bit(mods.neg);
            abs = bit(mods.abs);
            changed |= select.1 || neg.0 || abs;
        }
        _ => {
            select.0 = !packed && kind.half() && bit(mods.op_sel);
            abs = bit(mods.abs);
            neg.0 = bit(mods.neg);
            changed |= select.0 || abs || neg.0;
            // For pairs outside VOP3P their meaning is not documented (LLVM assembles them, and never generates them).
            if (abs || neg.0) && (!float && kind != Kind::B16 || kind == Kind::PF16) {
                return None;
            }
        }
    }
    let moved = i == 0 && mods.dpp.is_some();
    if !changed && !moved && matches!(from, From::Row(_)) {
        return Some(None);
    }
    m.src[i] = l.prepared(i);
    Some(Some(Source { from, to: l.prepared(i), kind, modified: changed, part, select, abs, neg, flush }))
}

/// The row of a constant operand, if it is one and there is room.
fn constant_row(l: &mut Lowering, kind: Kind, operand: Operand, high: bool) -> Option<u16> {
    match kind {
        Kind::B32 | Kind::F32 => l.constant_row(constant32(operand)?),
        Kind::B16 | Kind::F16 => l.constant_row(constant16(operand)?),
        Kind::P16 => l.constant_row(constant32(operand)?),
        Kind::PF16 => l.constant_row(constant16(operand)?),
        Kind::Mix => l.constant_row(if high { constant16(operand)? } else { constant32(operand)? }),
        Kind::PF32 => l.constant_row_pair(in_both(constant32(operand)?)),
        Kind::U64 | Kind::I64 | Kind::F64 => l.constant_row_pair(constant64(operand, wide(kind))?),
    }
}

/// A constant of packed 32-bit operands: both halves are the same.
fn in_both(bits: u32) -> u64 {
    u64::from(bits) | u64::from(bits) << 32
}

fn wide(kind: Kind) -> Wide {
    match kind {
        Kind::I64 => Wide::Signed,
        Kind::F64 => Wide::Double,
        _ => Wide::Unsigned,
    }
}

/// The slot of a scalar operand.
fn scalar(l: &mut Lowering, kind: Kind, operand: Operand) -> Option<u16> {
    // Values whose width differs, once the constant rows are used up.
    let bits = match kind {
        Kind::B16 | Kind::F16 | Kind::PF16 => constant16(operand),
        _ => None,
    };
    if let Some(bits) = bits {
        return l.slot(Operand::Literal(bits));
    }
    if let (Kind::PF32, Some(bits)) = (kind, constant32(operand)) {
        return l.constant_slots(in_both(bits));
    }
    if kind.wide() { l.slot64(operand, wide(kind)) } else { l.slot(operand) }
}

/// Resolves the lane masks that an operation reads and writes.
fn masks(inst: &Inst, l: &mut Lowering, m: &mut Micro, entry: &mut Entry) -> Option<()> {
    let vcc = Operand::Special(Special::VccLo);
    let or_vcc = |o: Operand| if o == Operand::None { vcc } else { o };
    match entry.mask {
        Mask::None => {}
        Mask::Vcc => m.src[3] = slot::VCC,
        Mask::In => m.src[3] = l.slot64(or_vcc(inst.src[entry.src.len()]), Wide::Unsigned)?,
        Mask::Out => m.dst2 = l.slot64(or_vcc(inst.dst2), Wide::Unsigned)?,
        Mask::InOut => {
            m.src[3] = l.slot64(or_vcc(inst.src[entry.src.len()]), Wide::Unsigned)?;
            m.dst2 = l.slot64(or_vcc(inst.dst2), Wide::Unsigned)?;
        }
    }
    if entry.dst == Place::Mask {
        m.dst = l.slot64(or_vcc(inst.dst), Wide::Unsigned)?;
    }
    Some(())
}

/// The processing of a result of `kind`, if it needs any.
fn result(inst: &Inst, l: &Lowering, kind: Kind) -> Option<Result> {
    let mods = &inst.mods;
    let float = matches!(kind, Kind::F32 | Kind::F16 | Kind::F64 | Kind::PF16 | Kind::PF32);
    let flush = l.flush && float && !special::keeps_denormals(inst.op);
    let half = match inst.op {
        Op::v_fma_mixlo_f16 => Some(false),
        Op::v_fma_mixhi_f16 => Some(true),
        op if kind.half() && keeps_other_half(op) => Some(mods.op_sel & 8 != 0),
        _ => None,
    };
    let part = mods.sdwa.map(|s| (s.dst_sel, s.dst_unused)).filter(|(sel, _)| *sel != SdwaSel::Dword);
    let (clamp, omod) = if float { (mods.clamp, mods.omod) } else { (false, 0) };
    if !flush && !clamp && omod == 0 && half.is_none() && part.is_none() {
        return None;
    }
    Some(Result { kind, omod, clamp, flush, part, half })
}

/// Integer operations whose results clamping does not change.
fn never_overflows(op: Op) -> bool {
    matches!(
        op,
        Op::v_alignbit_b32
            | Op::v_alignbyte_b32
            | Op::v_min3_i16
            | Op::v_min3_u16
            | Op::v_max3_i16
            | Op::v_max3_u16
            | Op::v_med3_i16
            | Op::v_med3_u16
    )
}

/// 16-bit operations that keep the other half of their destination; the others clear it.
fn keeps_other_half(op: Op) -> bool {
    matches!(
        op,
        Op::v_mad_f16
            | Op::v_mad_u16
            | Op::v_mad_i16
            | Op::v_fma_f16
            | Op::v_div_fixup_f16
            | Op::v_mac_f16
            | Op::v_madak_f16
            | Op::v_madmk_f16
            | Op::v_add_i16
            | Op::v_sub_i16
            | Op::v_min3_f16
            | Op::v_min3_i16
            | Op::v_min3_u16
            | Op::v_max3_f16
            | Op::v_max3_i16
            | Op::v_max3_u16
            | Op::v_med3_f16
            | Op::v_med3_i16
            | Op::v_med3_u16
    )
}
