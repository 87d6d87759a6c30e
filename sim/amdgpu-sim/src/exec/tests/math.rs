//! Reciprocals, roots, exponentials, logarithms, sines: within the hardware's documented error.

use super::float::{d, doubles, evaluate, f, singles};
use super::*;

/// Distance in units of the last place of `expected`, which is exact to double precision.
fn ulps(got: f32, expected: f64) -> f64 {
    if expected.is_nan() || got.is_nan() {
        return if expected.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let rounded = expected as f32;
    if got == rounded {
        return 0.0;
    }
    let exponent = (rounded.abs().max(f32::MIN_POSITIVE).to_bits() >> 23) as i32 - 127;
    (f64::from(got) - expected).abs() / 2_f64.powi(exponent - 23)
}

/// Single denormals count as zero, in and out.
fn flushed(x: f64) -> f64 {
    if x.abs() < f64::from(f32::MIN_POSITIVE) { 0.0_f64.copysign(x) } else { x }
}

fn near(op: Op, x: &[Vec<u64>], limit: f64, reference: &dyn Fn(f64) -> f64) {
    let mut worst = 0.0_f64;
    for (i, got) in evaluate(op, Mods::default(), DEFAULT_MODE, x).iter().enumerate() {
        let arg = flushed(f64::from(f(x[0][i])));
        let expected = flushed(reference(arg));
        let error = ulps(f(*got), expected);
        worst = worst.max(error);
        assert!(error <= limit, "{op} of {arg:e}: {:e}, not {expected:e}: {error} ULP", f(*got));
    }
    assert!(worst <= limit);
}

/// Values of a range, dense, and the special ones.
fn ranges(low: f32, high: f32) -> Vec<Vec<u64>> {
    let mut x = singles(1);
    for i in 0..8192 {
        x[0].push(u64::from((low + (high - low) * i as f32 / 8192.0).to_bits()));
    }
    x
}

#[test]
fn reciprocals_and_roots_within_one_ulp() {
    let x = ranges(0.5, 4.0);
    near(Op::v_rcp_f32, &x, 1.0, &|x| 1.0 / x);
    near(Op::v_rcp_iflag_f32, &x, 1.0, &|x| 1.0 / x);
    near(Op::v_sqrt_f32, &x, 1.0, &f64::sqrt);
    near(Op::v_rsq_f32, &x, 1.0, &|x| 1.0 / x.sqrt());
}

#[test]
fn exponentials_and_logarithms_within_one_ulp() {
    near(Op::v_exp_f32, &ranges(-130.0, 130.0), 1.0, &|x| if x < -140.0 { 0.0 } else { x.exp2() });
    near(Op::v_exp_f32, &ranges(-0.01, 0.01), 1.0, &f64::exp2);
    near(Op::v_log_f32, &ranges(0.0, 100.0), 1.0, &f64::log2);
    near(Op::v_log_f32, &ranges(0.99, 1.01), 1.0, &f64::log2);
}

#[test]
fn sine_and_cosine_take_turns() {
    let reduced = |x: f64| {
        let turn = x - x.round_ties_even();
        turn * std::f64::consts::TAU
    };
    let out = |x: f64| x.is_finite() && x.abs() > 256.0;
    let exact = |x: f64| if x.is_finite() { (x * 4.0).round_ties_even() == x * 4.0 } else { false };
    for x in [ranges(-1.0, 1.0), ranges(-256.0, 256.0)] {
        // At multiples of a quarter turn the result is exact; the reference is not.
        near(Op::v_sin_f32, &x, 1.0, &|x| match x {
            _ if out(x) => 0.0,
            _ if exact(x) => [0.0_f64, 1.0, 0.0, -1.0][(x * 4.0).rem_euclid(4.0) as usize],
            _ => reduced(x).sin(),
        });
        near(Op::v_cos_f32, &x, 1.0, &|x| match x {
            _ if out(x) => 1.0,
            _ if exact(x) => [1.0_f64, 0.0, -1.0, 0.0][(x * 4.0).rem_euclid(4.0) as usize],
            _ => reduced(x).cos(),
        });
    }
}

#[test]
fn doubles_well_within_two_to_the_minus_24() {
    for (op, reference) in [
        (Op::v_rcp_f64, (|x| 1.0 / x) as fn(f64) -> f64),
        (Op::v_rsq_f64, |x| 1.0 / x.sqrt()),
        (Op::v_sqrt_f64, f64::sqrt),
    ] {
        let x = doubles(1);
        for (i, got) in evaluate(op, Mods::default(), DEFAULT_MODE, &x).iter().enumerate() {
            let (got, expected) = (d(*got), reference(d(x[0][i])));
            let alike = got == expected || got.is_nan() && expected.is_nan();
            assert!(alike || ((got - expected) / expected).abs() < 1e-15, "{op} of {:e}: {got:e}, not {expected:e}", d(x[0][i]));
        }
    }
}
