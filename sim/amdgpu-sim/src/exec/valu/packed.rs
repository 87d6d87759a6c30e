//! Packed math, with two values per operand; and dot products.

use super::entry::{Entry, Mask, Place};
use super::f16;
use super::half::F16;
use super::lane::Lanes;
use super::lane_loop::{Results, loops, operations, pair, prepared, store, target};
use super::pair::{Pair16, Pair32, PairF16};
use super::preparation::Kind;
use crate::isa::Op;

#[inline(always)]
fn signed(f: impl Fn(i16, i16) -> i16) -> impl Fn(u16, u16) -> u16 {
    move |a, b| f(a as i16, b as i16) as u16
}

#[inline(always)]
fn add_f16(a: F16, b: F16) -> F16 {
    F16::from_f32(a.to_f32() + b.to_f32())
}

#[inline(always)]
fn mul_f16(a: F16, b: F16) -> F16 {
    F16::from_f32(a.to_f32() * b.to_f32())
}

#[inline(always)]
fn dot2_f16(a: PairF16, b: PairF16, c: f32) -> f32 {
    let low = a.low().to_f32().mul_add(b.low().to_f32(), c);
    a.high().to_f32().mul_add(b.high().to_f32(), low)
}

/// The sum of products of the `WIDTH`-bit fields of two words; exact.
#[inline(always)]
fn dot<const WIDTH: u32, const SIGNED: bool>(a: u32, b: u32) -> i64 {
    let field = |x: u32, i: u32| {
        let top = x << (32 - WIDTH - i * WIDTH);
        if SIGNED { i64::from(top as i32 >> (32 - WIDTH)) } else { i64::from(top >> (32 - WIDTH)) }
    };
    let mut sum = 0;
    for i in 0..32 / WIDTH {
        sum += field(a, i) * field(b, i);
    }
    sum
}

#[inline(always)]
fn limit_i32(x: i64) -> i32 {
    x.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

#[inline(always)]
fn limit_u32(x: i64) -> u32 {
    x.clamp(0, i64::from(u32::MAX)) as u32
}

operations! { table;
    v_pk_mad_i16(a: Pair16, b: Pair16, c: Pair16) -> Pair16 = a.all(b, c, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    v_pk_mad_u16(a: Pair16, b: Pair16, c: Pair16) -> Pair16 = a.all(b, c, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    v_pk_mul_lo_u16(a: Pair16, b: Pair16) -> Pair16 = a.both(b, |a, b| a.wrapping_mul(b));
    v_pk_add_i16(a: Pair16, b: Pair16) -> Pair16 = a.both(b, |a, b| a.wrapping_add(b));
    v_pk_add_u16(a: Pair16, b: Pair16) -> Pair16 = a.both(b, |a, b| a.wrapping_add(b));
    v_pk_sub_i16(a: Pair16, b: Pair16) -> Pair16 = a.both(b, |a, b| a.wrapping_sub(b));
    v_pk_sub_u16(a: Pair16, b: Pair16) -> Pair16 = a.both(b, |a, b| a.wrapping_sub(b));
    v_pk_lshlrev_b16(a: Pair16, b: Pair16) -> Pair16 = a.both(b, |a, b| b << (a & 15));
    v_pk_lshrrev_b16(a: Pair16, b: Pair16) -> Pair16 = a.both(b, |a, b| b >> (a & 15));
    v_pk_ashrrev_i16(a: Pair16, b: Pair16) -> Pair16 = a.both(b, signed(|a, b| b >> (a & 15)));
    v_pk_max_i16(a: Pair16, b: Pair16) -> Pair16 = a.both(b, signed(|a, b| a.max(b)));
    v_pk_min_i16(a: Pair16, b: Pair16) -> Pair16 = a.both(b, signed(|a, b| a.min(b)));
    v_pk_max_u16(a: Pair16, b: Pair16) -> Pair16 = a.both(b, |a, b| a.max(b));
    v_pk_min_u16(a: Pair16, b: Pair16) -> Pair16 = a.both(b, |a, b| a.min(b));
    v_pk_fma_f16(a: PairF16, b: PairF16, c: PairF16) -> PairF16 = a.all(b, c, f16::fma);
    v_pk_fmac_f16(a: PairF16, b: PairF16, c: PairF16) -> PairF16 = a.all(b, c, f16::fma);
    v_pk_add_f16(a: PairF16, b: PairF16) -> PairF16 = a.both(b, add_f16);
    v_pk_mul_f16(a: PairF16, b: PairF16) -> PairF16 = a.both(b, mul_f16);
    v_pk_mov_b32(a: Pair32, b: Pair32) -> Pair32 = Pair32(a.0 & 0xffff_ffff | b.0 >> 32 << 32);

    v_dot2_f32_f16(a: PairF16, b: PairF16, c: f32) -> f32 = dot2_f16(a, b, c);
    v_dot2c_f32_f16(a: PairF16, b: PairF16, c: f32) -> f32 = dot2_f16(a, b, c);
    v_dot2_i32_i16(a: Pair16, b: Pair16, c: i32) -> i32 = (dot::<16, true>(a.0, b.0) as i32).wrapping_add(c);
    v_dot2c_i32_i16(a: Pair16, b: Pair16, c: i32) -> i32 = (dot::<16, true>(a.0, b.0) as i32).wrapping_add(c);
    v_dot2_u32_u16(a: Pair16, b: Pair16, c: u32) -> u32 = (dot::<16, false>(a.0, b.0) as u32).wrapping_add(c);
    v_dot4_i32_i8(a: u32, b: u32, c: i32) -> i32 = (dot::<8, true>(a, b) as i32).wrapping_add(c);
    v_dot4c_i32_i8(a: u32, b: u32, c: i32) -> i32 = (dot::<8, true>(a, b) as i32).wrapping_add(c);
    v_dot4_u32_u8(a: u32, b: u32, c: u32) -> u32 = (dot::<8, false>(a, b) as u32).wrapping_add(c);
    v_dot8_i32_i4(a: u32, b: u32, c: i32) -> i32 = (dot::<4, true>(a, b) as i32).wrapping_add(c);
    v_dot8c_i32_i4(a: u32, b: u32, c: i32) -> i32 = (dot::<4, true>(a, b) as i32).wrapping_add(c);
    v_dot8_u32_u4(a: u32, b: u32, c: u32) -> u32 = (dot::<4, false>(a, b) as u32).wrapping_add(c);
}

/// An operation on each of two singles.
trait Singles {
    const SOURCES: &'static [Kind];
    fn f(a: f32, b: f32, c: f32) -> f32;
}

struct Fma;
struct Mul;
struct Add;

impl Singles for Fma {
    const SOURCES: &'static [Kind] = &[Kind::PF32; 3];
    #[inline(always)]
    fn f(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

impl Singles for Mul {
    const SOURCES: &'static [Kind] = &[Kind::PF32; 2];
    #[inline(always)]
    fn f(a: f32, b: f32, _: f32) -> f32 {
        a * b
    }
}

impl Singles for Add {
    const SOURCES: &'static [Kind] = &[Kind::PF32; 2];
    #[inline(always)]
    fn f(a: f32, b: f32, _: f32) -> f32 {
        a + b
    }
}

#[inline(always)]
fn lanes<O: Singles>(a: &Lanes, b: &Lanes, c: &Lanes, out: &mut Lanes) {
    // Without an array's `map`, which is not inlined in every profile.
    for (i, out) in out.iter_mut().enumerate() {
        *out = O::f(f32::from_bits(a[i]), f32::from_bits(b[i]), f32::from_bits(c[i])).to_bits();
    }
}

loops! {
    fn singles<O: Singles>(w, m, ctx) {
        let mask = prepared::<FAST>(w, m, ctx);
        // Without a third operand, the first one takes its place, unused.
        let third = if O::SOURCES.len() == 3 { m.src[2] } else { m.src[0] };
        let (to, rows) = (usize::from(target(w, m, mask)), &mut w.rows);
        let mut results = Results::ZERO;
        let [a, b, c] = [m.src[0], m.src[1], third].map(|first| pair::<Pair32>(rows, first));
        lanes::<O>(a.0, b.0, c.0, &mut results.low);
        lanes::<O>(a.1, b.1, c.1, &mut results.high);
        results.write::<Pair32>(rows, to);
        store::<Pair32, FAST>(w, m, ctx, mask)
    }
}

/// The operations on pairs of singles.
pub(super) fn pairs(op: Op, fast: bool) -> Option<Entry> {
    fn entry<O: Singles>(fast: bool) -> Entry {
        Entry { run: singles::<O>(fast), src: O::SOURCES, dst: Place::Vector(Kind::PF32), mask: Mask::None }
    }
    Some(match op {
        Op::v_pk_fma_f32 => entry::<Fma>(fast),
        Op::v_pk_mul_f32 => entry::<Mul>(fast),
        Op::v_pk_add_f32 => entry::<Add>(fast),
        _ => return None,
    })
}

// Operations with `clamp`: the exact result, clamped to the type.
operations! { saturating;
    v_pk_add_i16(a: Pair16, b: Pair16) -> Pair16 = a.both(b, signed(|a, b| a.saturating_add(b)));
    v_pk_add_u16(a: Pair16, b: Pair16) -> Pair16 = a.both(b, |a, b| a.saturating_add(b));
    v_pk_sub_i16(a: Pair16, b: Pair16) -> Pair16 = a.both(b, signed(|a, b| a.saturating_sub(b)));
    v_pk_sub_u16(a: Pair16, b: Pair16) -> Pair16 = a.both(b, |a, b| a.saturating_sub(b));
    v_pk_mad_i16(a: Pair16, b: Pair16, c: Pair16) -> Pair16 = a.all(b, c, |a, b, c| {
        let exact = i64::from(a as i16) * i64::from(b as i16) + i64::from(c as i16);
        exact.clamp(-0x8000, 0x7fff) as u16
    });
    v_pk_mad_u16(a: Pair16, b: Pair16, c: Pair16) -> Pair16 =
        a.all(b, c, |a, b, c| (u64::from(a) * u64::from(b) + u64::from(c)).min(0xffff) as u16);
    v_dot2_i32_i16(a: Pair16, b: Pair16, c: i32) -> i32 = limit_i32(dot::<16, true>(a.0, b.0) + i64::from(c));
    v_dot2c_i32_i16(a: Pair16, b: Pair16, c: i32) -> i32 = limit_i32(dot::<16, true>(a.0, b.0) + i64::from(c));
    v_dot4c_i32_i8(a: u32, b: u32, c: i32) -> i32 = limit_i32(dot::<8, true>(a, b) + i64::from(c));
    v_dot8c_i32_i4(a: u32, b: u32, c: i32) -> i32 = limit_i32(dot::<4, true>(a, b) + i64::from(c));
    v_dot2_u32_u16(a: Pair16, b: Pair16, c: u32) -> u32 = limit_u32(dot::<16, false>(a.0, b.0) + i64::from(c));
    v_dot4_i32_i8(a: u32, b: u32, c: i32) -> i32 = limit_i32(dot::<8, true>(a, b) + i64::from(c));
    v_dot4_u32_u8(a: u32, b: u32, c: u32) -> u32 = limit_u32(dot::<8, false>(a, b) + i64::from(c));
    v_dot8_i32_i4(a: u32, b: u32, c: i32) -> i32 = limit_i32(dot::<4, true>(a, b) + i64::from(c));
    v_dot8_u32_u4(a: u32, b: u32, c: u32) -> u32 = limit_u32(dot::<4, false>(a, b) + i64::from(c));
}

operations! { quieting;
    v_pk_min_f16(a: PairF16, b: PairF16) -> PairF16 = a.both(b, |a, b| f16::min(a, b, true));
    v_pk_max_f16(a: PairF16, b: PairF16) -> PairF16 = a.both(b, |a, b| f16::max(a, b, true));
}

operations! { plain;
    v_pk_min_f16(a: PairF16, b: PairF16) -> PairF16 = a.both(b, |a, b| f16::min(a, b, false));
    v_pk_max_f16(a: PairF16, b: PairF16) -> PairF16 = a.both(b, |a, b| f16::max(a, b, false));
}

/// Minimum and maximum, with or without IEEE mode.
pub(super) fn minmax(op: crate::isa::Op, fast: bool, ieee: bool) -> Option<Entry> {
    if ieee { quieting(op, fast) } else { plain(op, fast) }
}
