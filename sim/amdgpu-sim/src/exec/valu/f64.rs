//! Double precision.

use super::entry::Entry;
use super::lane_loop::operations;

#[inline(always)]
fn fract(x: f64) -> f64 {
    let part = x - x.floor();
    if part >= 1.0 { f64::from_bits(0x3fef_ffff_ffff_ffff) } else { part }
}

/// `2^n` for -1022 to 1023.
#[inline(always)]
fn power(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

/// `a * 2^n`, rounded once.
#[inline(always)]
pub(super) fn ldexp(a: f64, n: i32) -> f64 {
    // In steps that keep intermediate values normal if the result may be denormal, so that only the last one rounds.
    let up = if n > 1023 { 1023 } else { 0 };
    let a = a * power(up);
    let n = n.wrapping_sub(up);
    let up = if n > 1023 { 1023 } else { 0 };
    let a = a * power(up);
    let n = n.wrapping_sub(up).min(1023);
    let down = if n < -1022 { -969 } else { 0 };
    let a = a * power(down);
    let n = n.wrapping_sub(down);
    let down = if n < -1022 { -969 } else { 0 };
    let a = a * power(down);
    let n = n.wrapping_sub(down).max(-1022);
    a * power(n)
}

#[inline(always)]
fn frexp_exp(x: f64) -> i32 {
    let (bits, bias) = scaled(x);
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1022 - bias;
    if x == 0.0 || !x.is_finite() { 0 } else { exponent }
}

#[inline(always)]
fn frexp_mant(x: f64) -> f64 {
    let (bits, _) = scaled(x);
    let mantissa = f64::from_bits(bits & 0x800f_ffff_ffff_ffff | 0x3fe0_0000_0000_0000);
    if x == 0.0 || !x.is_finite() { x + x } else { mantissa }
}

/// The bits of `x` normalised, and the exponent of the scaling.
#[inline(always)]
fn scaled(x: f64) -> (u64, i32) {
    let small = x.to_bits() & 0x7ff0_0000_0000_0000 == 0;
    let normal = x * power(54);
    (if small { normal.to_bits() } else { x.to_bits() }, if small { 54 } else { 0 })
}

/// `rounded`, or `x` itself if it is a NaN.
#[inline(always)]
fn whole(x: f64, rounded: f64) -> f64 {
    if x.is_nan() { quiet(x) } else { rounded }
}

#[inline(always)]
fn signals(x: f64) -> bool {
    let bits = x.to_bits();
    bits & (u64::MAX >> 1) > 0x7ff0_0000_0000_0000 && bits >> 51 & 1 == 0
}

#[inline(always)]
fn quiet(x: f64) -> f64 {
    f64::from_bits(x.to_bits() | 1 << 51)
}

#[inline(always)]
fn min(a: f64, b: f64, ieee: bool) -> f64 {
    let a_less = a < b || a == b && a.is_sign_negative();
    let number = if a_less || b.is_nan() { a } else { b };
    let number = if a.is_nan() { b } else { number };
    select_nan(a, b, number, ieee)
}

#[inline(always)]
fn max(a: f64, b: f64, ieee: bool) -> f64 {
    let a_more = a > b || a == b && b.is_sign_negative();
    let number = if a_more || b.is_nan() { a } else { b };
    let number = if a.is_nan() { b } else { number };
    select_nan(a, b, number, ieee)
}

#[inline(always)]
fn select_nan(a: f64, b: f64, number: f64, ieee: bool) -> f64 {
    if !ieee {
        return number;
    }
    let number = if signals(b) { quiet(b) } else { number };
    if signals(a) { quiet(a) } else { number }
}

operations! { table;
    v_add_f64(a: f64, b: f64) -> f64 = a + b;
    v_mul_f64(a: f64, b: f64) -> f64 = a * b;
    v_fma_f64(a: f64, b: f64, c: f64) -> f64 = a.mul_add(b, c);
    v_fmac_f64(a: f64, b: f64, c: f64) -> f64 = a.mul_add(b, c);
    v_fract_f64(a: f64) -> f64 = fract(a);
    v_trunc_f64(a: f64) -> f64 = whole(a, a.trunc());
    v_ceil_f64(a: f64) -> f64 = whole(a, a.ceil());
    v_floor_f64(a: f64) -> f64 = whole(a, a.floor());
    v_rndne_f64(a: f64) -> f64 = whole(a, a.round_ties_even());
    v_ldexp_f64(a: f64, b: i32) -> f64 = ldexp(a, b);
    v_frexp_exp_i32_f64(a: f64) -> i32 = frexp_exp(a);
    v_frexp_mant_f64(a: f64) -> f64 = frexp_mant(a);
}

operations! { quieting;
    v_min_f64(a: f64, b: f64) -> f64 = min(a, b, true);
    v_max_f64(a: f64, b: f64) -> f64 = max(a, b, true);
}

operations! { plain;
    v_min_f64(a: f64, b: f64) -> f64 = min(a, b, false);
    v_max_f64(a: f64, b: f64) -> f64 = max(a, b, false);
}

/// Minimum and maximum, with or without IEEE mode.
pub(super) fn minmax(op: crate::isa::Op, fast: bool, ieee: bool) -> Option<Entry> {
    if ieee { quieting(op, fast) } else { plain(op, fast) }
}
