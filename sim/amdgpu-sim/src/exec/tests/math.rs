//! Reciprocals, roots, exponentials, logarithms, sines: within the hardware's documented error.

use super::float::{d, doubles, evaluate, f, scaled_exactly, singles};
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
            assert!(
                alike || ((got - expected) / expected).abs() < 1e-15,
                "{op} of {:e}: {got:e}, not {expected:e}",
                d(x[0][i])
            );
        }
    }
}

/// 2/pi in 1280 bits, from Machin's formula in integers.
fn two_over_pi() -> Vec<u32> {
    // Numbers below 2^(32 * LIMBS), most significant limb first; the first one is the whole part.
    const LIMBS: usize = 44;
    let divide = |x: &[u32], by: u64| {
        let mut rest = 0_u64;
        x.iter()
            .map(|limb| {
                let part = rest << 32 | u64::from(*limb);
                rest = part % by;
                (part / by) as u32
            })
            .collect::<Vec<u32>>()
    };
    let add = |x: &mut [u32], y: &[u32], minus: bool| {
        let mut carry = 0_i64;
        for (x, y) in x.iter_mut().zip(y).rev() {
            let sum = i64::from(*x) + carry + if minus { -i64::from(*y) } else { i64::from(*y) };
            *x = sum as u32;
            carry = sum >> 32;
        }
    };
    let arctan = |n: u64, times: u32| {
        let mut one = vec![0; LIMBS];
        one[0] = times;
        let mut power = divide(&one, n);
        let mut sum = power.clone();
        for k in 1..1000 {
            power = divide(&power, n * n);
            add(&mut sum, &divide(&power, 2 * k + 1), k % 2 == 1);
        }
        sum
    };
    // pi = 16 arctan(1/5) - 4 arctan(1/239)
    let mut pi = arctan(5, 16);
    add(&mut pi, &arctan(239, 4), true);
    // 2/pi bit by bit: the remainder doubles, and gives a one where pi goes into it.
    let mut rest = vec![0; LIMBS];
    rest[0] = 2;
    let mut result = vec![0_u32; 40];
    for bit in 0..1280 {
        let copy = rest.clone();
        add(&mut rest, &copy, false);
        if rest >= pi {
            add(&mut rest, &pi, true);
            result[bit / 32] |= 1 << (31 - bit % 32);
        }
    }
    result
}

#[test]
fn pieces_of_two_over_pi() {
    let digits = two_over_pi();
    let bit = |i: i32| if i < 1201 { u64::from(digits[i as usize / 32] >> (31 - i % 32) & 1) } else { 0 };
    let mut x = vec![Vec::new(), Vec::new()];
    for argument in [1.0, 1e10, 2_f64.powi(54), 2_f64.powi(55), 1e100, 1e300] {
        for n in 0..22_u64 {
            x[0].push(f64::to_bits(argument));
            x[1].push(n);
        }
    }
    check(Op::v_trig_preop_f64, &x, &|x| {
        let exponent = (x[0] >> 52 & 0x7ff) as i32;
        let start = 53 * x[1] as i32 + (exponent - 1077).max(0);
        let up = if exponent >= 1968 { 128 } else { 0 };
        let piece: u64 = (0..53).map(|i| bit(start + i) << (52 - i)).sum();
        scaled_exactly((piece as f64).to_bits(), up - 53 - start).to_bits()
    });
}
