//! Operands other than plain vector registers, and results with modifiers.
//!
//! [`prepare`] converts such sources to rows of their own: scalars are broadcast, DPP lanes moved, SDWA parts
//! extracted, `op_sel` halves selected, signs changed, denormals flushed. [`finish`] processes results after the
//! operation.

use super::half::F16;
use super::lane::Lanes;
use super::lane_mask::write;
use super::preparation::{From, Kind, Prepare, Result, Source};
use crate::exec::{Ctx, Flow, LANES, Micro, Mode, Wave};
use crate::isa::inst::{Dpp, SdwaSel, SdwaUnused};

/// Prepares the sources in their rows. Returns the lanes to write.
#[inline(never)]
pub(super) fn prepare(w: &mut Wave, m: &Micro, ctx: &Ctx<'_>) -> u64 {
    prepare_inline(w, m, ctx)
}

/// As [`prepare`], inlined to be compiled for its caller's CPU features.
#[inline(always)]
pub(super) fn prepare_inline(w: &mut Wave, m: &Micro, ctx: &Ctx<'_>) -> u64 {
    let p = &ctx.program.prepares[m.pre as usize - 1];
    let mut mask = w.exec();
    if let Some((row, slot)) = p.broadcast {
        w.rows[usize::from(row)].0 = [w.slot(slot); LANES];
        return mask;
    }
    for source in &p.sources {
        let rows = if source.kind.wide() { 2 } else { 1 };
        for i in 0..rows {
            match source.from {
                From::Direct => {}
                From::Row(row) => w.rows[usize::from(source.to + i)] = w.rows[usize::from(row + i)],
                From::Slot(slot) => w.rows[usize::from(source.to + i)].0 = [w.slot(slot + i); LANES],
            }
        }
    }
    if let Some(dpp) = &p.dpp {
        mask = move_lanes(w, p, dpp, mask);
    }
    for source in &p.sources {
        if source.modified {
            modify(w, source);
        }
    }
    mask
}

/// The lane that `lane` reads under a DPP control, if there is one.
fn dpp_lane(ctrl: u16, lane: usize) -> Option<usize> {
    let (row, at) = (lane & !15, lane & 15);
    let shift = usize::from(ctrl & 15);
    Some(match ctrl {
        0..=0xff => (lane & !3) + usize::from(ctrl >> (2 * (lane & 3)) & 3),
        0x101..=0x10f => row + (at + shift < 16).then_some(at + shift)?,
        0x111..=0x11f => row + at.checked_sub(shift)?,
        0x121..=0x12f => row + (at + 16 - shift) % 16,
        0x130 => (lane + 1 < LANES).then_some(lane + 1)?,
        0x134 => (lane + 1) % LANES,
        0x138 => lane.checked_sub(1)?,
        0x13c => (lane + LANES - 1) % LANES,
        0x140 => row + 15 - at,
        0x141 => (lane & !7) + 7 - (lane & 7),
        // Lanes without an earlier row read themselves: AMD's tests of rocWMMA expect that.
        0x142 => row.checked_sub(1).unwrap_or(lane),
        0x143 => (lane & !31).checked_sub(1).unwrap_or(lane),
        0x150..=0x15f => row + shift,
        _ => return None,
    })
}

/// Moves the lanes of the first source according to DPP. Returns the lanes to write.
#[inline(never)]
fn move_lanes(w: &mut Wave, p: &Prepare, dpp: &Dpp, exec: u64) -> u64 {
    let mut mask = exec;
    let rows = if p.sources[0].kind.wide() { 2 } else { 1 };
    for i in 0..rows {
        let row = &mut w.rows[usize::from(p.sources[0].to + i)].0;
        let old = *row;
        for lane in 0..LANES {
            let source = dpp_lane(dpp.ctrl, lane).filter(|s| exec >> s & 1 == 1);
            row[lane] = source.map_or(0, |s| old[s]);
            if source.is_none() && !dpp.bound_ctrl {
                mask &= !(1 << lane);
            }
        }
    }
    for lane in 0..LANES {
        if dpp.row_mask >> (lane / 16) & 1 == 0 || dpp.bank_mask >> (lane / 4 % 4) & 1 == 0 {
            mask &= !(1 << lane);
        }
    }
    mask
}

/// The bits that SDWA selects from a register.
#[inline]
fn part(bits: u32, sel: SdwaSel, signed: bool) -> u32 {
    let (shift, width) = place(sel);
    let field = bits >> shift & (u32::MAX >> (32 - width));
    if signed { ((field << (32 - width)) as i32 >> (32 - width)) as u32 } else { field }
}

/// First bit and number of bits of a part.
fn place(sel: SdwaSel) -> (u32, u32) {
    match sel {
        SdwaSel::Byte0 => (0, 8),
        SdwaSel::Byte1 => (8, 8),
        SdwaSel::Byte2 => (16, 8),
        SdwaSel::Byte3 => (24, 8),
        SdwaSel::Word0 => (0, 16),
        SdwaSel::Word1 => (16, 16),
        SdwaSel::Dword => (0, 32),
    }
}

#[inline(always)]
fn modify(w: &mut Wave, s: &Source) {
    let mode = w.mode;
    let to = usize::from(s.to);
    if let Some((sel, signed)) = s.part {
        for x in &mut w.rows[to].0 {
            *x = part(*x, sel, signed);
        }
    }
    match s.kind {
        Kind::B32 | Kind::F32 => {
            sign(&mut w.rows[to].0, 0x8000_0000, s.abs, s.neg.0);
            if s.flush && mode.0 & 0x10 == 0 {
                flush_f32(&mut w.rows[to].0);
            }
        }
        Kind::B16 | Kind::F16 => {
            if s.select.0 {
                w.rows[to].0.iter_mut().for_each(|x| *x >>= 16);
            }
            sign(&mut w.rows[to].0, 0x8000, s.abs, s.neg.0);
            if s.flush && mode.0 & 0x40 == 0 {
                flush_f16(&mut w.rows[to].0);
            }
        }
        Kind::U64 | Kind::I64 | Kind::F64 => {
            sign(&mut w.rows[to + 1].0, 0x8000_0000, s.abs, s.neg.0);
            if s.flush && mode.0 & 0x40 == 0 {
                flush_f64(w, to);
            }
        }
        Kind::P16 | Kind::PF16 => {
            let flush = s.flush && mode.0 & 0x40 == 0;
            for x in &mut w.rows[to].0 {
                let low = if s.select.0 { *x >> 16 } else { *x & 0xffff };
                let high = if s.select.1 { *x >> 16 } else { *x & 0xffff };
                let (low, high) = (low ^ u32::from(s.neg.0) << 15, high ^ u32::from(s.neg.1) << 15);
                *x = if flush { flushed_f16(low) | flushed_f16(high) << 16 } else { low | high << 16 };
            }
        }
        Kind::PF32 => {
            for lane in 0..LANES {
                let pair = [w.rows[to].0[lane], w.rows[to + 1].0[lane]];
                w.rows[to].0[lane] = pair[usize::from(s.select.0)] ^ u32::from(s.neg.0) << 31;
                w.rows[to + 1].0[lane] = pair[usize::from(s.select.1)] ^ u32::from(s.neg.1) << 31;
            }
            if s.flush && mode.0 & 0x10 == 0 {
                flush_f32(&mut w.rows[to].0);
                flush_f32(&mut w.rows[to + 1].0);
            }
        }
        Kind::Mix => {
            if s.select.1 {
                for x in &mut w.rows[to].0 {
                    let half = if s.select.0 { *x >> 16 } else { *x };
                    let half = if s.flush && mode.0 & 0x40 == 0 { flushed_f16(half & 0xffff) } else { half };
                    *x = F16(half as u16).to_f32().to_bits();
                }
            } else if s.flush && mode.0 & 0x10 == 0 {
                flush_f32(&mut w.rows[to].0);
            }
            sign(&mut w.rows[to].0, 0x8000_0000, s.abs, s.neg.0);
        }
    }
}

fn sign(row: &mut Lanes, bit: u32, abs: bool, neg: bool) {
    let keep = if abs { !bit } else { u32::MAX };
    let flip = if neg { bit } else { 0 };
    for x in row {
        *x = *x & keep ^ flip;
    }
}

fn flush_f32(row: &mut Lanes) {
    for x in row {
        *x = if *x & 0x7f80_0000 == 0 { *x & 0x8000_0000 } else { *x };
    }
}

fn flushed_f16(x: u32) -> u32 {
    if x & 0x7c00 == 0 { x & 0x8000 } else { x }
}

fn flush_f16(row: &mut Lanes) {
    for x in row {
        *x = flushed_f16(*x & 0xffff);
    }
}

fn flush_f64(w: &mut Wave, low: usize) {
    for lane in 0..LANES {
        if w.rows[low + 1].0[lane] & 0x7ff0_0000 == 0 {
            w.rows[low].0[lane] = 0;
            w.rows[low + 1].0[lane] &= 0x8000_0000;
        }
    }
}

/// Output modifiers for single precision.
fn scaled(bits: u32, omod: u8, clamp: bool, dx10: bool) -> u32 {
    let x = f32::from_bits(bits);
    let x = match omod {
        1 => x * 2.0,
        2 => x * 4.0,
        3 => x * 0.5,
        _ => x,
    };
    let x = if !clamp {
        x
    } else if x.is_nan() {
        if dx10 { 0.0 } else { x }
    } else if x > 0.0 {
        x.min(1.0)
    } else {
        0.0
    };
    x.to_bits()
}

fn scaled_f64(x: f64, omod: u8, clamp: bool, dx10: bool) -> f64 {
    let x = match omod {
        1 => x * 2.0,
        2 => x * 4.0,
        3 => x * 0.5,
        _ => x,
    };
    if !clamp {
        x
    } else if x.is_nan() {
        if dx10 { 0.0 } else { x }
    } else if x > 0.0 {
        x.min(1.0)
    } else {
        0.0
    }
}

#[inline]
fn scaled_f16(bits: u32, omod: u8, clamp: bool, dx10: bool) -> u32 {
    if omod == 0 && !clamp {
        return bits;
    }
    let x = F16(bits as u16).to_f32().to_bits();
    u32::from(F16::from_f32(f32::from_bits(scaled(x, omod, clamp, dx10))).0)
}

/// Processes the wave's result and writes it.
#[inline(never)]
pub(super) fn finish(w: &mut Wave, m: &Micro, ctx: &Ctx<'_>, mask: u64) -> Flow {
    let Some(r) = &ctx.program.prepares[m.post as usize - 1].result else { return Flow::Next };
    let mode = w.mode;
    let (rows, [low, high]) = w.rows_and_result();
    modify_result(mode, r, low, high);
    let dst = usize::from(m.dst);
    let old = rows[dst].0;
    if let Some(upper) = r.half {
        for lane in 0..LANES {
            low[lane] =
                if upper { old[lane] & 0xffff | low[lane] << 16 } else { old[lane] & 0xffff_0000 | low[lane] & 0xffff };
        }
    }
    if let Some((sel, unused)) = r.part {
        let (shift, width) = place(sel);
        let field = u32::MAX >> (32 - width);
        for lane in 0..LANES {
            let value = low[lane] & field;
            low[lane] = match unused {
                SdwaUnused::Pad => value << shift,
                SdwaUnused::Sext => (((value << (32 - width)) as i32 >> (32 - width)) as u32) << shift,
                SdwaUnused::Preserve => old[lane] & !(field << shift) | value << shift,
            };
        }
    }
    write::<false>(&mut rows[dst].0, low, mask);
    if r.kind.wide() {
        write::<false>(&mut rows[dst + 1].0, high, mask);
    }
    Flow::Next
}

fn modify_result(mode: Mode, r: &Result, low: &mut Lanes, high: &mut Lanes) {
    let dx10 = mode.dx10_clamp();
    // The hardware ignores output multipliers if denormal results or IEEE mode are enabled.
    let single = if mode.0 & 0x20 == 0 && !mode.ieee() { r.omod } else { 0 };
    let other = if mode.0 & 0x80 == 0 && !mode.ieee() { r.omod } else { 0 };
    match r.kind {
        Kind::F32 | Kind::Mix => {
            for x in low.iter_mut() {
                *x = scaled(*x, single, r.clamp, dx10);
            }
            if r.flush && mode.0 & 0x20 == 0 {
                flush_f32(low);
            }
        }
        Kind::PF32 => {
            for x in low.iter_mut().chain(high.iter_mut()) {
                *x = scaled(*x, single, r.clamp, dx10);
            }
            if r.flush && mode.0 & 0x20 == 0 {
                flush_f32(low);
                flush_f32(high);
            }
        }
        Kind::F16 => {
            for x in low.iter_mut() {
                *x = scaled_f16(*x, other, r.clamp, dx10);
            }
            if r.flush && mode.0 & 0x80 == 0 {
                flush_f16(low);
            }
        }
        Kind::PF16 => {
            let flush = r.flush && mode.0 & 0x80 == 0;
            for x in low.iter_mut() {
                let halves = [*x & 0xffff, *x >> 16].map(|h| {
                    let h = scaled_f16(h, other, r.clamp, dx10);
                    if flush { flushed_f16(h) } else { h }
                });
                *x = halves[0] | halves[1] << 16;
            }
        }
        Kind::F64 => {
            for lane in 0..LANES {
                let x = f64::from_bits(u64::from(low[lane]) | u64::from(high[lane]) << 32);
                let x = scaled_f64(x, other, r.clamp, dx10);
                let x = if r.flush && mode.0 & 0x80 == 0 && x.is_subnormal() { 0.0_f64.copysign(x) } else { x };
                low[lane] = x.to_bits() as u32;
                high[lane] = (x.to_bits() >> 32) as u32;
            }
        }
        Kind::B32 | Kind::B16 | Kind::U64 | Kind::I64 | Kind::P16 => {}
    }
}
