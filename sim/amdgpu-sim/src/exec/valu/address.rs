//! Fused address arithmetic: the sequences that compilers generate for every access to global memory. They are the
//! 64-bit sum of three instructions, and the scaling of an index.
//!
//! ```text
//! v_lshlrev_b64 v[0:1], 2, v[0:1]
//! v_mov_b32 v3, s1
//! v_add_co_u32 v2, vcc, s0, v0
//! v_addc_co_u32 v3, vcc, v3, v1, vcc
//! ```
//!
//! The original instructions of a sum stay in the program after it, for jumps into them.

use super::lane_loop::{Results, pair, store, target};
use super::lane_mask::{gather, write};
use crate::exec::{Ctx, Flow, Handler, Lowering, Micro, Wave, slot};
use crate::exec::{LANES, cpu};
use crate::isa::Op;
use crate::isa::inst::{Format, Inst, Mods, Operand, Special};

const VCC: Operand = Operand::Special(Special::VccLo);

/// A value per lane, or the same for all.
#[inline(always)]
fn operand<const SLOT: bool>(w: &Wave, place: u16, lane: usize, scalar: u32) -> u32 {
    if SLOT { scalar } else { w.row(place)[lane] }
}

/// `aux`: the number of instructions that it replaces.
fn sum<const LOW: bool, const HIGH: bool, const CARRY: bool>(fast: bool) -> Handler {
    #[inline(always)]
    fn body<const LOW: bool, const HIGH: bool, const CARRY: bool, const FAST: bool>(
        w: &mut Wave,
        m: &Micro,
        _: &mut Ctx<'_>,
    ) -> Flow {
        let mask = w.exec();
        let scalar = |slot: bool, place: u16| if slot { w.slot(place) } else { 0 };
        let (low, high) = (scalar(LOW, m.src[0]), scalar(HIGH, m.src[2]));
        let to = if mask == u64::MAX { [m.dst, m.dst2] } else { [w.result_row(), w.result_row() + 1] };
        let (mut results, mut flags) = (Results::ZERO, [0; LANES]);
        for i in 0..LANES {
            let (b, d) = (w.row(m.src[1])[i], w.row(m.src[3])[i]);
            let sum = operand::<LOW>(w, m.src[0], i, low).wrapping_add(b);
            let half = operand::<HIGH>(w, m.src[2], i, high).wrapping_add(d);
            let all = half.wrapping_add(u32::from(sum < b));
            results.low[i] = sum;
            results.high[i] = all;
            if CARRY {
                flags[i] = if (half < d) | (all < half) { u32::MAX } else { 0 };
            }
        }
        *w.row_mut(to[0]) = results.low;
        *w.row_mut(to[1]) = results.high;
        if CARRY {
            w.set_slot64(slot::VCC, gather::<FAST>(&flags) & mask);
        }
        if mask != u64::MAX {
            let (rows, [low, high]) = w.rows_and_result();
            write::<FAST>(&mut rows[usize::from(m.dst)].0, low, mask);
            write::<FAST>(&mut rows[usize::from(m.dst2)].0, high, mask);
        }
        Flow::Skip
    }
    cpu::versions!(fast, [const LOW: bool, const HIGH: bool, const CARRY: bool], [LOW, HIGH, CARRY])
}

/// `aux`: the shift in bits, 1 to 31.
fn scale(fast: bool) -> Handler {
    #[inline(always)]
    fn body<const FAST: bool>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
        let (mask, by) = (w.exec(), m.aux & 31);
        let (to, rows) = (usize::from(target(w, m, mask)), &mut w.rows);
        let mut results = Results::ZERO;
        let (low, high) = pair::<u64>(rows, m.src[0]);
        for i in 0..LANES {
            results.low[i] = low[i] << by;
            results.high[i] = high[i] << by | low[i] >> (32 - by & 31);
        }
        results.write::<u64>(rows, to);
        store::<u64, FAST>(w, m, ctx, mask)
    }
    cpu::versions!(fast, [], [])
}

/// A 64-bit left shift by a constant below 32.
pub(super) fn lower(inst: &Inst, l: &mut Lowering, m: &mut Micro) -> Option<Handler> {
    let Operand::Int(by @ 1..=31) = inst.src[0] else { return None };
    if inst.op != Op::v_lshlrev_b64 || inst.mods != Mods::default() {
        return None;
    }
    m.src[0] = l.row(inst.src[1])?;
    m.dst = l.row(inst.dst)?;
    m.aux = u32::from(by.unsigned_abs());
    Some(scale(l.avx2))
}

/// Returns whether `inst` is `op` without modifiers, with its carry in VCC.
fn is_plain(inst: &Inst, op: Op) -> bool {
    let carry = |o: Operand| matches!(o, Operand::None) || o == VCC;
    inst.op == op
        && matches!(inst.format, Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3b)
        && inst.mods == Mods::default()
        && carry(inst.dst2)
        && (op != Op::v_addc_co_u32 || carry(inst.src[2]))
}

/// A 64-bit sum.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec) struct Sum {
    /// The micro-operation that replaces the first of its instructions.
    pub(in crate::exec) micro: Micro,
    /// The number of its instructions.
    pub(in crate::exec) count: usize,
    /// The word of the next instruction.
    pub(in crate::exec) after: u32,
    /// The low halves of the two numbers, then the high halves: rows, or slots (`true`).
    pub(in crate::exec) operands: [(u16, bool); 4],
    /// The rows of its low and high half.
    pub(in crate::exec) results: [u16; 2],
    /// Whether the carry may be read.
    pub(in crate::exec) carries: bool,
}

/// The 64-bit sum that the last instructions of `code` compute, if they do. `after` are the following instructions,
/// from word `next` on.
pub(in crate::exec) fn fuse<'i>(
    code: &[Inst],
    next: u32,
    after: impl Iterator<Item = &'i Inst>,
    l: &mut Lowering,
) -> Option<Sum> {
    let [before @ .., low, high] = code else { return None };
    if !is_plain(low, Op::v_add_co_u32) || !is_plain(high, Op::v_addc_co_u32) {
        return None;
    }
    let [b, d] = [l.row(low.src[1])?, l.row(high.src[1])?];
    let to = [l.row(low.dst)?, l.row(high.dst)?];
    // The first half is written before the second is read.
    if to[0] == to[1] || d == to[0] || l.row(high.src[0]) == Some(to[0]) {
        return None;
    }
    let place = |l: &mut Lowering, o: Operand| match l.row(o) {
        Some(row) => Some((row, false)),
        None => Some((l.slot(o)?, true)),
    };
    let a = place(l, low.src[0])?;
    let c = place(l, high.src[0])?;
    let moved = before.last().filter(|m| {
        let row = l.row(m.dst);
        let reads = [l.row(low.src[0]), Some(b), Some(d), Some(to[0])];
        is_plain(m, Op::v_mov_b32)
            && l.row(m.src[0]).is_none()
            && row == Some(to[1])
            && row == l.row(high.src[0])
            && !reads.contains(&row)
    });
    let (count, c) = match moved {
        Some(m) => (3, (l.slot(m.src[0])?, true)),
        None => (2, c),
    };
    let dead = carry_is_dead(after);
    let run: fn(bool) -> Handler = match (a.1, c.1, dead) {
        (false, false, false) => sum::<false, false, true>,
        (false, true, false) => sum::<false, true, true>,
        (true, false, false) => sum::<true, false, true>,
        (true, true, false) => sum::<true, true, true>,
        (false, false, true) => sum::<false, false, false>,
        (false, true, true) => sum::<false, true, false>,
        (true, false, true) => sum::<true, false, false>,
        (true, true, true) => sum::<true, true, false>,
    };
    let mut m = crate::exec::program::plain(run(l.avx2), 0);
    m.src = [a.0, b, c.0, d];
    [m.dst, m.dst2] = to;
    m.aux = count as u32;
    let operands = [a, (b, false), c, (d, false)];
    Some(Sum { micro: m, count, after: next, operands, results: to, carries: !dead })
}

/// Returns whether VCC is overwritten before anything may read it.
fn carry_is_dead<'i>(after: impl Iterator<Item = &'i Inst>) -> bool {
    for inst in after {
        let names_vcc = |o: &Operand| matches!(o, Operand::Special(Special::VccLo | Special::VccHi | Special::Vccz));
        if inst.src.iter().any(names_vcc) {
            return false;
        }
        match (inst.op, inst.format) {
            (Op::s_endpgm, _) => return true,
            (Op::v_add_co_u32 | Op::v_sub_co_u32, Format::Vop2) | (_, Format::Vopc) => return true,
            (Op::s_waitcnt, _) => {}
            (Op::v_addc_co_u32 | Op::v_subb_co_u32 | Op::v_subbrev_co_u32 | Op::v_cndmask_b32, _) => return false,
            (_, Format::Vop1 | Format::Vop2 | Format::Global | Format::Flat | Format::Ds | Format::Smem) => {}
            _ => return false,
        }
    }
    false
}
