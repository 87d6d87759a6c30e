//! Single precision.

use super::entry::Entry;
use super::lane_loop::operations;

/// Flushes a denormal to zero of the same sign.
#[inline(always)]
pub(super) fn flushed(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

/// The product, rounded, then the sum, rounded; denormals are flushed regardless of MODE.
#[inline(always)]
fn mad(a: f32, b: f32, c: f32) -> f32 {
    flushed(flushed(flushed(a) * flushed(b)) + flushed(c))
}

/// Zero times anything is zero.
#[inline(always)]
fn mul_legacy(a: f32, b: f32) -> f32 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

#[inline(always)]
fn fract(x: f32) -> f32 {
    let part = x - x.floor();
    // A tiny negative number would round to one.
    if part >= 1.0 { f32::from_bits(0x3f7f_ffff) } else { part }
}

/// `a * 2^n`, rounded once.
#[inline(always)]
pub(super) fn ldexp(a: f32, n: i32) -> f32 {
    let n = n.clamp(-400, 400);
    let scale = f64::from_bits(((n + 1023) as u64) << 52);
    let scaled = (f64::from(a) * scale) as f32;
    if a.is_nan() { f32::from_bits(a.to_bits() | 0x40_0000) } else { scaled }
}

/// The exponent for a mantissa in 0.5 to 1; 0 for zero, infinities and NaN.
#[inline(always)]
fn frexp_exp(x: f32) -> i32 {
    let bits = f64::from(x).to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1022;
    if x == 0.0 || !x.is_finite() { 0 } else { exponent }
}

#[inline(always)]
fn frexp_mant(x: f32) -> f32 {
    let bits = f64::from(x).to_bits();
    let mantissa = f64::from_bits(bits & 0x800f_ffff_ffff_ffff | 0x3fe0_0000_0000_0000) as f32;
    if x == 0.0 || !x.is_finite() { x + x } else { mantissa }
}

/// Quiets a NaN.
#[inline(always)]
fn quiet(x: f32) -> f32 {
    f32::from_bits(x.to_bits() | 0x40_0000)
}

/// `rounded`, or `x` itself if it is a NaN.
#[inline(always)]
fn whole(x: f32, rounded: f32) -> f32 {
    if x.is_nan() { quiet(x) } else { rounded }
}

#[inline(always)]
fn signals(x: f32) -> bool {
    let bits = x.to_bits();
    bits & 0x7fff_ffff > 0x7f80_0000 && bits & 0x40_0000 == 0
}

/// IEEE 754-2008 minNum, with -0 below +0; in IEEE mode a signalling NaN is quieted.
#[inline(always)]
fn min(a: f32, b: f32, ieee: bool) -> f32 {
    let a_less = a < b || a == b && a.is_sign_negative();
    let number = if a_less || b.is_nan() { a } else { b };
    let number = if a.is_nan() { b } else { number };
    select_nan(a, b, number, ieee)
}

#[inline(always)]
fn max(a: f32, b: f32, ieee: bool) -> f32 {
    let a_more = a > b || a == b && b.is_sign_negative();
    let number = if a_more || b.is_nan() { a } else { b };
    let number = if a.is_nan() { b } else { number };
    select_nan(a, b, number, ieee)
}

#[inline(always)]
fn select_nan(a: f32, b: f32, number: f32, ieee: bool) -> f32 {
    if !ieee {
        return number;
    }
    let number = if signals(b) { quiet(b) } else { number };
    if signals(a) { quiet(a) } else { number }
}

#[inline(always)]
fn med3(a: f32, b: f32, c: f32, ieee: bool) -> f32 {
    let least = min(min(a, b, ieee), c, ieee);
    let most = max(max(a, b, false), c, false);
    let middle = if most == a {
        max(b, c, false)
    } else if most == b {
        max(a, c, false)
    } else {
        max(a, b, false)
    };
    if a.is_nan() || b.is_nan() || c.is_nan() { least } else { middle }
}

operations! { table;
    v_add_f32(a: f32, b: f32) -> f32 = a + b;
    v_sub_f32(a: f32, b: f32) -> f32 = a - b;
    v_subrev_f32(a: f32, b: f32) -> f32 = b - a;
    v_mul_f32(a: f32, b: f32) -> f32 = a * b;
    v_mul_legacy_f32(a: f32, b: f32) -> f32 = mul_legacy(a, b);
    v_fma_f32(a: f32, b: f32, c: f32) -> f32 = a.mul_add(b, c);
    v_fmac_f32(a: f32, b: f32, c: f32) -> f32 = a.mul_add(b, c);
    v_fmamk_f32(a: f32, b: f32, c: f32) -> f32 = a.mul_add(b, c);
    v_fmaak_f32(a: f32, b: f32, c: f32) -> f32 = a.mul_add(b, c);
    v_mad_f32(a: f32, b: f32, c: f32) -> f32 = mad(a, b, c);
    v_mac_f32(a: f32, b: f32, c: f32) -> f32 = mad(a, b, c);
    v_madmk_f32(a: f32, b: f32, c: f32) -> f32 = mad(a, b, c);
    v_madak_f32(a: f32, b: f32, c: f32) -> f32 = mad(a, b, c);
    v_mad_legacy_f32(a: f32, b: f32, c: f32) -> f32 = flushed(mul_legacy(flushed(a), flushed(b)) + flushed(c));
    v_fract_f32(a: f32) -> f32 = fract(a);
    v_trunc_f32(a: f32) -> f32 = whole(a, a.trunc());
    v_ceil_f32(a: f32) -> f32 = whole(a, a.ceil());
    v_floor_f32(a: f32) -> f32 = whole(a, a.floor());
    v_rndne_f32(a: f32) -> f32 = whole(a, a.round_ties_even());
    v_ldexp_f32(a: f32, b: i32) -> f32 = ldexp(a, b);
    v_frexp_exp_i32_f32(a: f32) -> i32 = frexp_exp(a);
    v_frexp_mant_f32(a: f32) -> f32 = frexp_mant(a);
}

operations! { quieting;
    v_min_f32(a: f32, b: f32) -> f32 = min(a, b, true);
    v_max_f32(a: f32, b: f32) -> f32 = max(a, b, true);
    v_min3_f32(a: f32, b: f32, c: f32) -> f32 = min(min(a, b, true), c, true);
    v_max3_f32(a: f32, b: f32, c: f32) -> f32 = max(max(a, b, true), c, true);
    v_med3_f32(a: f32, b: f32, c: f32) -> f32 = med3(a, b, c, true);
}

operations! { plain;
    v_min_f32(a: f32, b: f32) -> f32 = min(a, b, false);
    v_max_f32(a: f32, b: f32) -> f32 = max(a, b, false);
    v_min3_f32(a: f32, b: f32, c: f32) -> f32 = min(min(a, b, false), c, false);
    v_max3_f32(a: f32, b: f32, c: f32) -> f32 = max(max(a, b, false), c, false);
    v_med3_f32(a: f32, b: f32, c: f32) -> f32 = med3(a, b, c, false);
}

/// Minimum and maximum, with or without IEEE mode.
pub(super) fn minmax(op: crate::isa::Op, fast: bool, ieee: bool) -> Option<Entry> {
    if ieee { quieting(op, fast) } else { plain(op, fast) }
}
