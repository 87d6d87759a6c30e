//! Reciprocals, roots, exponentials, logarithms, sine and cosine.
//!
//! The hardware's single-precision functions are accurate to 1 ULP and do not handle denormals. These are computed in
//! double precision and rounded once, so they are nearly always correctly rounded. All are branch-free polynomials that
//! vectorise.

use super::f32::flushed;
use super::half::F16;
use super::lane_loop::operations;

/// `2^n` for -1022 to 1023.
#[inline(always)]
fn power(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

/// `2^x` to 1e-12, for -1000 to 1000.
#[inline(always)]
fn exp2(x: f64) -> f64 {
    let x = x.clamp(-1000.0, 1000.0);
    let whole = x.round_ties_even();
    let t = (x - whole) * core::f64::consts::LN_2;
    // e^t for |t| <= 0.347.
    let mut sum = 1.0 / 3_628_800.0;
    for c in
        [1.0 / 362_880.0, 1.0 / 40_320.0, 1.0 / 5_040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0]
    {
        sum = sum * t + c;
    }
    // The integer part as bits: adding 1.5 * 2^52 leaves it in the low half.
    let n = (whole + 6_755_399_441_055_744.0).to_bits() as u32 as i32;
    sum * power(n)
}

/// Base-2 logarithm of a positive normal number, to a relative 1e-11.
#[inline(always)]
fn log2(x: f64) -> f64 {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    let bits = x.to_bits();
    // The mantissa is mapped to sqrt(1/2)..sqrt(2), so that near 1 the exponent is 0 and there is no cancellation.
    let exponent = (bits.wrapping_sub(SQRT_HALF) as i64 >> 52) as i32;
    let mantissa = f64::from_bits(bits.wrapping_sub((exponent as i64 as u64) << 52));
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let s = z * z;
    let mut sum = 1.0 / 17.0;
    for c in [1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0] {
        sum = sum * s + c;
    }
    f64::from(exponent) + sum * z * (2.0 * core::f64::consts::LOG2_E)
}

/// Sine of `x` turns, for -1/4 to 1/4.
#[inline(always)]
fn sin_quarter(x: f64) -> f64 {
    let t = x * core::f64::consts::TAU;
    let s = t * t;
    let mut sum = 1.0 / 355_687_428_096_000.0;
    for c in [
        -1.0 / 1_307_674_368_000.0,
        1.0 / 6_227_020_800.0,
        -1.0 / 39_916_800.0,
        1.0 / 362_880.0,
        -1.0 / 5_040.0,
        1.0 / 120.0,
        -1.0 / 6.0,
        1.0,
    ] {
        sum = sum * s + c;
    }
    sum * t
}

#[inline(always)]
fn sin(x: f32) -> f32 {
    let x = f64::from(flushed(x));
    let turn = x - x.round_ties_even();
    // Beyond a quarter turn, the sine is mirrored.
    let folded = if turn.abs() > 0.25 { 0.5_f64.copysign(turn) - turn } else { turn };
    let value = sin_quarter(folded) as f32;
    if x.abs() > 256.0 && x.is_finite() { 0.0 } else { value }
}

#[inline(always)]
fn cos(x: f32) -> f32 {
    let x = f64::from(flushed(x));
    let turn = x - x.round_ties_even();
    let value = sin_quarter(0.25 - turn.abs()) as f32;
    if x.abs() > 256.0 && x.is_finite() { 1.0 } else { value }
}

#[inline(always)]
fn exp_f32(x: f32) -> f32 {
    let value = flushed(exp2(f64::from(flushed(x))) as f32);
    if x.is_nan() { x + x } else { value }
}

#[inline(always)]
fn log_f32(x: f32) -> f32 {
    let x = flushed(x);
    let value = log2(f64::from(x)) as f32;
    let value = if x == f32::INFINITY { x } else { value };
    let value = if x == 0.0 { f32::NEG_INFINITY } else { value };
    let value = if x < 0.0 { f32::NAN } else { value };
    if x.is_nan() { x + x } else { value }
}

#[inline(always)]
fn sqrt_f16(x: F16) -> F16 {
    F16::from_f32(x.to_f32().sqrt())
}

#[inline(always)]
fn rsq_f64(x: f64) -> f64 {
    1.0 / x.sqrt()
}

/// Sine of a half, whose range the single-precision one covers; infinity gives NaN.
#[inline(always)]
fn sin_f16(x: F16) -> F16 {
    F16::from_f32(sin(x.to_f32()))
}

#[inline(always)]
fn exp_f16(x: F16) -> F16 {
    let wide = x.to_f32();
    let value = F16::from_f64(exp2(f64::from(wide)));
    if x.is_nan() { F16::from_f32(wide) } else { value }
}

operations! { table;
    v_rcp_f32(a: f32) -> f32 = flushed(1.0 / flushed(a));
    v_rcp_iflag_f32(a: f32) -> f32 = flushed(1.0 / flushed(a));
    v_rcp_f64(a: f64) -> f64 = 1.0 / a;
    v_rcp_f16(a: F16) -> F16 = F16::from_f32(1.0 / a.to_f32());
    v_rsq_f32(a: f32) -> f32 = (1.0 / f64::from(flushed(a)).sqrt()) as f32;
    v_rsq_f64(a: f64) -> f64 = rsq_f64(a);
    v_rsq_f16(a: F16) -> F16 = F16::from_f64(1.0 / f64::from(a.to_f32()).sqrt());
    v_sqrt_f32(a: f32) -> f32 = flushed(a).sqrt();
    v_sqrt_f64(a: f64) -> f64 = a.sqrt();
    v_sqrt_f16(a: F16) -> F16 = sqrt_f16(a);
    v_exp_f32(a: f32) -> f32 = exp_f32(a);
    v_exp_legacy_f32(a: f32) -> f32 = exp_f32(a);
    v_exp_f16(a: F16) -> F16 = exp_f16(a);
    v_log_f32(a: f32) -> f32 = log_f32(a);
    v_log_legacy_f32(a: f32) -> f32 = log_f32(a);
    v_log_f16(a: F16) -> F16 = F16::from_f32(log_f32(a.to_f32()));
    v_sin_f32(a: f32) -> f32 = sin(a);
    v_sin_f16(a: F16) -> F16 = sin_f16(a);
    v_cos_f32(a: f32) -> f32 = cos(a);
    v_cos_f16(a: F16) -> F16 = F16::from_f32(cos(a.to_f32()));
}
