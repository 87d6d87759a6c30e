//! Operations with a lane mask in addition to their operands: selection, carries, counting lanes.

use super::entry::{Entry, Mask, Place};
use super::lane::{Lane, Lanes};
use super::lane_loop::{Results, loops, pair, prepared, store, target};
use super::lane_mask::{gather, spread, write};
use super::preparation::Kind;
use crate::exec::{Handler, LANES, Lowering, Micro, Row};
use crate::isa::Op;
use crate::isa::inst::{Format, Inst};

/// Addition and subtraction of 32 bits with carry.
trait Carry {
    /// Result and carry out (borrow, for subtractions).
    fn f(a: u32, b: u32, carry: u32) -> (u32, bool);
}

macro_rules! carries {
    ($($name:ident |$a:ident, $b:ident, $c:ident| $e:expr;)*) => { $(
        struct $name;
        impl Carry for $name {
            #[inline(always)]
            fn f($a: u32, $b: u32, $c: u32) -> (u32, bool) { $e }
        }
    )* };
}

#[inline(always)]
fn add(a: u32, b: u32, carry: u32) -> (u32, bool) {
    let sum = a.wrapping_add(b);
    let all = sum.wrapping_add(carry);
    (all, (sum < a) | (all < sum))
}

#[inline(always)]
fn sub(a: u32, b: u32, borrow: u32) -> (u32, bool) {
    let difference = a.wrapping_sub(b);
    (difference.wrapping_sub(borrow), (a < b) | (difference < borrow))
}

carries! {
    Add |a, b, c| add(a, b, c);
    Sub |a, b, c| sub(a, b, c);
    SubReversed |a, b, c| sub(b, a, c);
    AddClamped |a, b, c| limited(add(a, b, c), u32::MAX);
    SubClamped |a, b, c| limited(sub(a, b, c), 0);
    SubReversedClamped |a, b, c| limited(sub(b, a, c), 0);
}

/// Returns `limit` if the result carries.
#[inline(always)]
fn limited((result, carry): (u32, bool), limit: u32) -> (u32, bool) {
    (if carry { limit } else { result }, carry)
}

/// Multiplication of 32 bits, added to 64, with the 65th bit.
trait Multiply {
    fn f(a: u32, b: u32, c: u64) -> (u64, bool);
}

struct Unsigned;
struct Signed;
struct UnsignedClamped;
struct SignedClamped;

impl Multiply for UnsignedClamped {
    #[inline(always)]
    fn f(a: u32, b: u32, c: u64) -> (u64, bool) {
        let (sum, carry) = Unsigned::f(a, b, c);
        (if carry { u64::MAX } else { sum }, carry)
    }
}

impl Multiply for SignedClamped {
    #[inline(always)]
    fn f(a: u32, b: u32, c: u64) -> (u64, bool) {
        let (_, carry) = Signed::f(a, b, c);
        ((i64::from(a as i32) * i64::from(b as i32)).saturating_add(c as i64) as u64, carry)
    }
}

impl Multiply for Unsigned {
    #[inline(always)]
    fn f(a: u32, b: u32, c: u64) -> (u64, bool) {
        let sum = (u64::from(a) * u64::from(b)).wrapping_add(c);
        (sum, sum < c)
    }
}

impl Multiply for Signed {
    #[inline(always)]
    fn f(a: u32, b: u32, c: u64) -> (u64, bool) {
        let (sum, overflow) = (i64::from(a as i32) * i64::from(b as i32)).overflowing_add(c as i64);
        (sum as u64, (sum < 0) ^ overflow)
    }
}

/// Bits of a mask below a lane.
trait Below {
    fn below(lane: usize) -> u32;
}

struct Low;
struct High;

impl Below for Low {
    #[inline(always)]
    fn below(lane: usize) -> u32 {
        if lane < 32 { (1 << lane) - 1 } else { u32::MAX }
    }
}

impl Below for High {
    #[inline(always)]
    fn below(lane: usize) -> u32 {
        if lane < 32 { 0 } else { (1 << (lane - 32)) - 1 }
    }
}

#[inline(always)]
fn row(rows: &[Row], n: u16) -> &Lanes {
    &rows[usize::from(n)].0
}

loops! {
    fn select<T: Lane>(w, m, ctx) {
        let mask = prepared::<FAST>(w, m, ctx);
        let chosen = spread(w.slot64(m.src[3]));
        let (to, rows) = (usize::from(target(w, m, mask)), &mut w.rows);
        let mut results = Results::ZERO;
        let (a, b) = (row(rows, m.src[0]), row(rows, m.src[1]));
        for i in 0..LANES {
            results.low[i] = a[i] & !chosen[i] | b[i] & chosen[i];
        }
        results.write::<u32>(rows, to);
        store::<u32, FAST>(w, m, ctx, mask)
    }

    fn carry_out<T: Carry>(w, m, ctx) {
        let mask = prepared::<FAST>(w, m, ctx);
        let (to, rows) = (usize::from(target(w, m, mask)), &mut w.rows);
        let (mut results, mut flags) = (Results::ZERO, [0; LANES]);
        let (a, b) = (row(rows, m.src[0]), row(rows, m.src[1]));
        for i in 0..LANES {
            let (sum, carry) = T::f(a[i], b[i], 0);
            results.low[i] = sum;
            flags[i] = if carry { u32::MAX } else { 0 };
        }
        results.write::<u32>(rows, to);
        let out = gather::<FAST>(&flags);
        w.set_slot64(m.dst2, out & mask);
        store::<u32, FAST>(w, m, ctx, mask)
    }

    fn carry_through<T: Carry>(w, m, ctx) {
        let mask = prepared::<FAST>(w, m, ctx);
        let carries = spread(w.slot64(m.src[3]));
        let (to, rows) = (usize::from(target(w, m, mask)), &mut w.rows);
        let (mut results, mut flags) = (Results::ZERO, [0; LANES]);
        let (a, b) = (row(rows, m.src[0]), row(rows, m.src[1]));
        for i in 0..LANES {
            let (sum, carry) = T::f(a[i], b[i], carries[i] & 1);
            results.low[i] = sum;
            flags[i] = if carry { u32::MAX } else { 0 };
        }
        results.write::<u32>(rows, to);
        let out = gather::<FAST>(&flags);
        w.set_slot64(m.dst2, out & mask);
        store::<u32, FAST>(w, m, ctx, mask)
    }

    fn multiply_add<T: Multiply>(w, m, ctx) {
        let mask = prepared::<FAST>(w, m, ctx);
        let (to, rows) = (usize::from(target(w, m, mask)), &mut w.rows);
        let (mut results, mut flags) = (Results::ZERO, [0; LANES]);
        let (a, b) = (row(rows, m.src[0]), row(rows, m.src[1]));
        let c = pair::<u64>(rows, m.src[2]);
        for i in 0..LANES {
            let (sum, carry) = T::f(a[i], b[i], u64::get(c.0, c.1, i));
            sum.put(&mut results.low, &mut results.high, i);
            flags[i] = if carry { u32::MAX } else { 0 };
        }
        results.write::<u64>(rows, to);
        let out = gather::<FAST>(&flags);
        w.set_slot64(m.dst2, out & mask);
        store::<u64, FAST>(w, m, ctx, mask)
    }

    fn count_below<T: Below>(w, m, ctx) {
        let mask = prepared::<FAST>(w, m, ctx);
        let (to, rows) = (usize::from(target(w, m, mask)), &mut w.rows);
        let mut results = Results::ZERO;
        let (a, b) = (row(rows, m.src[0]), row(rows, m.src[1]));
        for i in 0..LANES {
            results.low[i] = (a[i] & T::below(i)).count_ones().wrapping_add(b[i]);
        }
        results.write::<u32>(rows, to);
        store::<u32, FAST>(w, m, ctx, mask)
    }

    fn broadcast<T: Lane>(w, m, _ctx) {
        let value = w.slot(m.src[0]);
        let mask = w.exec();
        if mask == u64::MAX {
            w.row_mut(m.dst).fill(value);
        } else {
            write::<FAST>(w.row_mut(m.dst), &[value; LANES], mask);
        }
        Flow::Next
    }
}

/// A move from a scalar to a vector register, the most common one, without an intermediate row.
pub(super) fn move_scalar(inst: &Inst, l: &mut Lowering, m: &mut Micro) -> Option<Handler> {
    let plain = matches!(inst.format, Format::Vop1 | Format::Vop3) && inst.mods == Default::default();
    let op = matches!(inst.op, Op::v_mov_b32 | Op::v_accvgpr_write_b32);
    if !op || !(plain || inst.op == Op::v_accvgpr_write_b32) || l.row(inst.src[0]).is_some() {
        return None;
    }
    m.src[0] = l.slot(inst.src[0])?;
    m.dst = l.row(inst.dst)?;
    Some(broadcast::<u32>(l.avx2))
}

/// Operations that keep denormals regardless of MODE.
pub(super) fn keeps_denormals(op: Op) -> bool {
    matches!(
        op,
        Op::v_cmp_class_f32
            | Op::v_cmpx_class_f32
            | Op::v_cmp_class_f64
            | Op::v_cmpx_class_f64
            | Op::v_cmp_class_f16
            | Op::v_cmpx_class_f16
            | Op::v_div_scale_f32
            | Op::v_div_scale_f64
            | Op::v_div_fixup_f32
            | Op::v_div_fixup_f64
            | Op::v_div_fixup_f16
            | Op::v_pk_mov_b32
            | Op::v_cvt_pk_u8_f32
    )
}

/// Packed operations whose `op_sel` selects one register of each source.
pub(super) fn picks_dwords(op: Op) -> bool {
    op == Op::v_pk_mov_b32
}

const WORD: Place = Place::Vector(Kind::B32);

fn out(run: Handler) -> Entry {
    Entry { run, src: &[Kind::B32; 2], dst: WORD, mask: Mask::Out }
}

fn through(run: Handler) -> Entry {
    Entry { run, src: &[Kind::B32; 2], dst: WORD, mask: Mask::InOut }
}

fn product(run: Handler) -> Entry {
    Entry { run, src: &[Kind::B32, Kind::B32, Kind::U64], dst: Place::Vector(Kind::U64), mask: Mask::Out }
}

/// Operations with `clamp`: the exact result, clamped to the type.
pub(super) fn saturating(op: Op, fast: bool) -> Option<Entry> {
    Some(match op {
        Op::v_add_co_u32 => out(carry_out::<AddClamped>(fast)),
        Op::v_sub_co_u32 => out(carry_out::<SubClamped>(fast)),
        Op::v_subrev_co_u32 => out(carry_out::<SubReversedClamped>(fast)),
        Op::v_addc_co_u32 => through(carry_through::<AddClamped>(fast)),
        Op::v_subb_co_u32 => through(carry_through::<SubClamped>(fast)),
        Op::v_subbrev_co_u32 => through(carry_through::<SubReversedClamped>(fast)),
        Op::v_mad_u64_u32 => product(multiply_add::<UnsignedClamped>(fast)),
        Op::v_mad_i64_i32 => product(multiply_add::<SignedClamped>(fast)),
        _ => return None,
    })
}

/// The operations of this module.
pub(super) fn table(op: Op, fast: bool) -> Option<Entry> {
    let count = |run| Entry { run, src: &[Kind::B32; 2], dst: WORD, mask: Mask::None };
    Some(match op {
        Op::v_cndmask_b32 => Entry { run: select::<u32>(fast), src: &[Kind::B32; 2], dst: WORD, mask: Mask::In },
        Op::v_add_co_u32 => out(carry_out::<Add>(fast)),
        Op::v_sub_co_u32 => out(carry_out::<Sub>(fast)),
        Op::v_subrev_co_u32 => out(carry_out::<SubReversed>(fast)),
        Op::v_addc_co_u32 => through(carry_through::<Add>(fast)),
        Op::v_subb_co_u32 => through(carry_through::<Sub>(fast)),
        Op::v_subbrev_co_u32 => through(carry_through::<SubReversed>(fast)),
        Op::v_mad_u64_u32 => product(multiply_add::<Unsigned>(fast)),
        Op::v_mad_i64_i32 => product(multiply_add::<Signed>(fast)),
        Op::v_mbcnt_lo_u32_b32 => count(count_below::<Low>(fast)),
        Op::v_mbcnt_hi_u32_b32 => count(count_below::<High>(fast)),
        _ => return None,
    })
}
