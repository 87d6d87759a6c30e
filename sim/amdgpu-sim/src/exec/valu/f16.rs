//! Half precision: computed in single or double, rounded once.

use super::entry::Entry;
use super::half::F16;
use super::lane_loop::operations;

/// `f` in single precision, rounded: for sums, products, quotients and roots the same as rounding the exact result.
#[inline(always)]
fn rounded(x: f32) -> F16 {
    F16::from_f32(x)
}

#[inline(always)]
fn add(a: F16, b: F16) -> F16 {
    rounded(a.to_f32() + b.to_f32())
}

#[inline(always)]
fn mul(a: F16, b: F16) -> F16 {
    rounded(a.to_f32() * b.to_f32())
}

/// The product is exact in double, and the sum close enough that the rounding to half is that of the exact result.
#[inline(always)]
pub(super) fn fma(a: F16, b: F16, c: F16) -> F16 {
    F16::from_f64(f64::from(a.to_f32()) * f64::from(b.to_f32()) + f64::from(c.to_f32()))
}

#[inline(always)]
fn mad(a: F16, b: F16, c: F16) -> F16 {
    add(mul(a, b), c)
}

#[inline(always)]
fn ldexp(a: F16, n: i32) -> F16 {
    rounded(super::f32::ldexp(a.to_f32(), n.clamp(-60, 60)))
}

#[inline(always)]
fn fract(a: F16) -> F16 {
    let x = a.to_f32();
    let part = rounded(x - x.floor());
    if part.0 == 0x3c00 { F16(0x3bff) } else { part }
}

#[inline(always)]
fn frexp_exp(a: F16) -> i16 {
    let x = a.to_f32();
    let exponent = (x.to_bits() >> 23 & 0xff) as i16 - 126;
    if x == 0.0 || !x.is_finite() { 0 } else { exponent }
}

#[inline(always)]
fn frexp_mant(a: F16) -> F16 {
    let x = a.to_f32();
    let mantissa = f32::from_bits(x.to_bits() & 0x807f_ffff | 0x3f00_0000);
    rounded(if x == 0.0 || !x.is_finite() { x } else { mantissa })
}

#[inline(always)]
pub(super) fn min(a: F16, b: F16, ieee: bool) -> F16 {
    let (x, y) = (a.to_f32(), b.to_f32());
    let a_less = x < y || x == y && x.is_sign_negative();
    let number = if a_less || b.is_nan() { a } else { b };
    let number = if a.is_nan() { b } else { number };
    select_nan(a, b, number, ieee)
}

#[inline(always)]
pub(super) fn max(a: F16, b: F16, ieee: bool) -> F16 {
    let (x, y) = (a.to_f32(), b.to_f32());
    let a_more = x > y || x == y && y.is_sign_negative();
    let number = if a_more || b.is_nan() { a } else { b };
    let number = if a.is_nan() { b } else { number };
    select_nan(a, b, number, ieee)
}

#[inline(always)]
fn select_nan(a: F16, b: F16, number: F16, ieee: bool) -> F16 {
    if !ieee {
        return number;
    }
    let number = if b.signals() { F16(b.0 | 0x200) } else { number };
    if a.signals() { F16(a.0 | 0x200) } else { number }
}

#[inline(always)]
fn med3(a: F16, b: F16, c: F16, ieee: bool) -> F16 {
    let least = min(min(a, b, ieee), c, ieee);
    let most = max(max(a, b, false), c, false).to_f32();
    let middle = if most == a.to_f32() {
        max(b, c, false)
    } else if most == b.to_f32() {
        max(a, c, false)
    } else {
        max(a, b, false)
    };
    if a.is_nan() || b.is_nan() || c.is_nan() { least } else { middle }
}

/// What the division sequence ends with: special cases, and the sign.
#[inline(always)]
fn div_fixup(quotient: F16, denominator: F16, numerator: F16) -> F16 {
    let sign = (denominator.0 ^ numerator.0) & 0x8000;
    let (d, n) = (denominator.0 & 0x7fff, numerator.0 & 0x7fff);
    let ordinary = quotient.0 & 0x7fff | sign;
    let special = if d == 0 || n == 0x7c00 {
        0x7c00 | sign
    } else if d == 0x7c00 || n == 0 {
        sign
    } else {
        ordinary
    };
    let special = if d == n && (d == 0 || d == 0x7c00) { 0xfe00 } else { special };
    let special = if d > 0x7c00 { denominator.0 | 0x200 } else { special };
    F16(if n > 0x7c00 { numerator.0 | 0x200 } else { special })
}

operations! { table;
    v_add_f16(a: F16, b: F16) -> F16 = add(a, b);
    v_sub_f16(a: F16, b: F16) -> F16 = rounded(a.to_f32() - b.to_f32());
    v_subrev_f16(a: F16, b: F16) -> F16 = rounded(b.to_f32() - a.to_f32());
    v_mul_f16(a: F16, b: F16) -> F16 = mul(a, b);
    v_mac_f16(a: F16, b: F16, c: F16) -> F16 = mad(a, b, c);
    v_madmk_f16(a: F16, b: F16, c: F16) -> F16 = mad(a, b, c);
    v_madak_f16(a: F16, b: F16, c: F16) -> F16 = mad(a, b, c);
    v_mad_f16(a: F16, b: F16, c: F16) -> F16 = mad(a, b, c);
    v_mad_legacy_f16(a: F16, b: F16, c: F16) -> F16 = mad(a, b, c);
    v_fma_f16(a: F16, b: F16, c: F16) -> F16 = fma(a, b, c);
    v_fma_legacy_f16(a: F16, b: F16, c: F16) -> F16 = fma(a, b, c);
    v_ldexp_f16(a: F16, b: i16) -> F16 = ldexp(a, i32::from(b));
    v_fract_f16(a: F16) -> F16 = fract(a);
    v_trunc_f16(a: F16) -> F16 = rounded(a.to_f32().trunc());
    v_ceil_f16(a: F16) -> F16 = rounded(a.to_f32().ceil());
    v_floor_f16(a: F16) -> F16 = rounded(a.to_f32().floor());
    v_rndne_f16(a: F16) -> F16 = rounded(a.to_f32().round_ties_even());
    v_frexp_exp_i16_f16(a: F16) -> i16 = frexp_exp(a);
    v_frexp_mant_f16(a: F16) -> F16 = frexp_mant(a);
    v_div_fixup_f16(a: F16, b: F16, c: F16) -> F16 = div_fixup(a, b, c);
    v_div_fixup_legacy_f16(a: F16, b: F16, c: F16) -> F16 = div_fixup(a, b, c);
}

operations! { quieting;
    v_min_f16(a: F16, b: F16) -> F16 = min(a, b, true);
    v_max_f16(a: F16, b: F16) -> F16 = max(a, b, true);
    v_min3_f16(a: F16, b: F16, c: F16) -> F16 = min(min(a, b, true), c, true);
    v_max3_f16(a: F16, b: F16, c: F16) -> F16 = max(max(a, b, true), c, true);
    v_med3_f16(a: F16, b: F16, c: F16) -> F16 = med3(a, b, c, true);
}

operations! { plain;
    v_min_f16(a: F16, b: F16) -> F16 = min(a, b, false);
    v_max_f16(a: F16, b: F16) -> F16 = max(a, b, false);
    v_min3_f16(a: F16, b: F16, c: F16) -> F16 = min(min(a, b, false), c, false);
    v_max3_f16(a: F16, b: F16, c: F16) -> F16 = max(max(a, b, false), c, false);
    v_med3_f16(a: F16, b: F16, c: F16) -> F16 = med3(a, b, c, false);
}

/// Minimum and maximum, with or without IEEE mode.
pub(super) fn minmax(op: crate::isa::Op, fast: bool, ieee: bool) -> Option<Entry> {
    if ieee { quieting(op, fast) } else { plain(op, fast) }
}
