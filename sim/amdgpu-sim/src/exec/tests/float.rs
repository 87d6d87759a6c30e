//! Single and double precision arithmetic.

use super::*;

pub(super) fn f(x: u64) -> f32 {
    f32::from_bits(x as u32)
}

pub(super) fn d(x: u64) -> f64 {
    f64::from_bits(x)
}

pub(super) fn singles(count: usize) -> Vec<Vec<u64>> {
    let mut random = Random::new(40 + count as u64);
    operands(count, SINGLES, 1024, &mut || random.next() & 0xffff_ffff)
}

pub(super) fn doubles(count: usize) -> Vec<Vec<u64>> {
    let mut random = Random::new(50 + count as u64);
    operands(count, DOUBLES, 1024, &mut || random.next())
}

/// Checks results, treating all NaNs as equal.
pub(super) fn check_single(op: Op, rsrc1: u32, x: &[Vec<u64>], reference: &dyn Fn(&[u64]) -> f32) {
    same_single(op, inst(op, v(0), &[]).mods, rsrc1, x, reference);
}

/// Treats all NaNs as equal: if the reference returns any, the result's own bits are accepted.
pub(super) fn same_single(op: Op, mods: Mods, rsrc1: u32, x: &[Vec<u64>], reference: &dyn Fn(&[u64]) -> f32) {
    let results = evaluate(op, mods, rsrc1, x);
    for (i, got) in results.iter().enumerate() {
        let args: Vec<u64> = x.iter().map(|o| o[i]).chain([0xdead_beef]).collect();
        let expected = reference(&args);
        let got = *got as u32;
        assert_eq!(
            canonical32(got),
            canonical32(expected.to_bits()),
            "{op} of {args:x?}: {} ({got:#x}), not {expected} ({:#x})",
            f32::from_bits(got),
            expected.to_bits()
        );
    }
}

fn same_double(op: Op, x: &[Vec<u64>], reference: &dyn Fn(&[u64]) -> f64) {
    for (i, got) in evaluate(op, inst(op, v(0), &[]).mods, DEFAULT_MODE, x).iter().enumerate() {
        let args: Vec<u64> = x.iter().map(|o| o[i]).chain([OLD]).collect();
        let expected = reference(&args);
        let alike = d(*got).is_nan() && expected.is_nan() || *got == expected.to_bits();
        assert!(alike, "{op} of {args:x?}: {} ({got:#x}), not {expected} ({:#x})", d(*got), expected.to_bits());
    }
}

/// The results of an operation, one per operand tuple.
pub(super) fn evaluate(op: Op, mods: Mods, rsrc1: u32, x: &[Vec<u64>]) -> Vec<u64> {
    let seen = std::cell::RefCell::new(Vec::new());
    let info = op.info();
    let plain = mods == inst(op, v(0), &[]).mods;
    let sources: Vec<Operand> = (0..x.len()).map(|i| v(4 + 4 * i as u16)).collect();
    let code = if plain { inst(op, v(0), &sources) } else { modified(op, v(0), &sources, mods) };
    for base in (0..x[0].len()).step_by(LANES) {
        let count = (x[0].len() - base).min(LANES);
        let w = machine(&[code], rsrc1, &|w| {
            for lane in 0..count {
                set_value(w, 0, 2, lane, OLD);
                for (i, operand) in x.iter().enumerate() {
                    set_value(w, 4 + 4 * i as u16, width(info.src[i]), lane, operand[base + lane]);
                }
            }
        });
        seen.borrow_mut().extend((0..count).map(|lane| value(&w, 0, width(info.dst), lane)));
    }
    seen.into_inner()
}

/// The sum rounded to single, computed from its value in double and the sign of the error: independent of hardware
/// rounding except that of double to single.
fn rounded_sum(a: f64, b: f64) -> f32 {
    // Knuth's two-sum: `sum + error` is exact.
    let sum = a + b;
    let part = sum - a;
    let error = (a - (sum - part)) + (b - part);
    if error == 0.0 || !sum.is_finite() {
        return sum as f32;
    }
    // If the sum is halfway between two singles, the error decides: moving the sum by one bit in double achieves that.
    let toward = if (error > 0.0) == (sum > 0.0) { sum.to_bits() + 1 } else { sum.to_bits() - 1 };
    let single = sum as f32;
    let halfway = {
        let (down, up) = (
            f64::from(f32::from_bits(single.to_bits().wrapping_sub(1))),
            f64::from(f32::from_bits(single.to_bits() + 1)),
        );
        let s = f64::from(single);
        sum == (s + down) / 2.0 || sum == (s + up) / 2.0
    };
    if halfway { f64::from_bits(toward) as f32 } else { single }
}

#[test]
fn single_sums_and_products_round_to_nearest() {
    let two = singles(2);
    // In double precision, both are exact or lose only irrelevant bits.
    check_single(Op::v_add_f32, DEFAULT_MODE, &two, &|x| rounded_sum(f64::from(f(x[0])), f64::from(f(x[1]))));
    check_single(Op::v_sub_f32, DEFAULT_MODE, &two, &|x| rounded_sum(f64::from(f(x[0])), -f64::from(f(x[1]))));
    check_single(Op::v_subrev_f32, DEFAULT_MODE, &two, &|x| rounded_sum(f64::from(f(x[1])), -f64::from(f(x[0]))));
    check_single(Op::v_mul_f32, DEFAULT_MODE, &two, &|x| (f64::from(f(x[0])) * f64::from(f(x[1]))) as f32);
    check_single(Op::v_mul_legacy_f32, DEFAULT_MODE, &two, &|x| {
        if f(x[0]) == 0.0 || f(x[1]) == 0.0 { 0.0 } else { (f64::from(f(x[0])) * f64::from(f(x[1]))) as f32 }
    });
}

#[test]
fn fused_multiply_add_rounds_once() {
    let three = singles(3);
    let exact = |a: u64, b: u64, c: u64| rounded_sum(f64::from(f(a)) * f64::from(f(b)), f64::from(f(c)));
    check_single(Op::v_fma_f32, DEFAULT_MODE, &three, &|x| exact(x[0], x[1], x[2]));
    check_single(Op::v_fmac_f32, DEFAULT_MODE, &singles(2), &|x| exact(x[0], x[1], OLD & 0xffff_ffff));
    // A case in which double rounding gives a different result.
    let (a, b, c) = (0x3f80_0800, 0x3f80_0800, 0xbf80_1000);
    let twice = f(a) * f(b) + f(c);
    let once = exact(a, b, c);
    assert_ne!(twice, once);
    check_single(Op::v_fma_f32, DEFAULT_MODE, &[vec![a], vec![b], vec![c]], &|_| once);
    check_single(Op::v_mad_f32, DEFAULT_MODE, &[vec![a], vec![b], vec![c]], &|_| twice);
}

#[test]
fn mad_flushes_denormals_whatever_the_mode() {
    let flush = |x: f64| if x.abs() < f64::from(f32::MIN_POSITIVE) { 0.0_f64.copysign(x) } else { x };
    check_single(Op::v_mad_f32, DEFAULT_MODE, &singles(3), &|x| {
        let [a, b, c] = [0, 1, 2].map(|i| flush(f64::from(f(x[i]))));
        let product = flush(f64::from((a * b) as f32));
        flush(f64::from(rounded_sum(product, c))) as f32
    });
}

#[test]
fn mode_flushes_single_denormals_but_not_double_ones() {
    let flush = |x: f32| if x.is_subnormal() { 0.0_f32.copysign(x) } else { x };
    check_single(Op::v_add_f32, FLUSHING, &singles(2), &|x| flush(flush(f(x[0])) + flush(f(x[1]))));
    check_single(Op::v_mul_f32, FLUSHING, &singles(2), &|x| flush(flush(f(x[0])) * flush(f(x[1]))));
    let tiny = vec![vec![1_u64], vec![2]];
    assert_eq!(evaluate(Op::v_add_f64, inst(Op::v_add_f64, v(0), &[]).mods, FLUSHING, &tiny), [3]);
    // A move does not flush denormals.
    assert_eq!(evaluate(Op::v_mov_b32, inst(Op::v_mov_b32, v(0), &[]).mods, FLUSHING, &tiny[..1]), [1]);
}

#[test]
fn s_setreg_switches_denormals() {
    // hwreg(HW_REG_MODE, 4, 2): the f32 denormal bits.
    let field = 1 | 4 << 6 | 1 << 11;
    let set = |bits| inst(Op::s_setreg_imm32_b32, Operand::None, &[imm(field), Operand::Literal(bits)]);
    let add = inst(Op::v_add_f32, v(0), &[v(1), v(1)]);
    let add2 = inst(Op::v_add_f32, v(2), &[v(1), v(1)]);
    let read = inst(Op::s_getreg_b32, s(0), &[imm(field)]);
    let w = machine(&[set(0), add, read, set(3), add2], DEFAULT_MODE, &|w| w.row_mut(1).fill(1));
    assert_eq!((w.row(0)[5], w.row(2)[5], w.slot(0)), (0, 2, 0));
}

fn signals(x: u64) -> bool {
    f(x).is_nan() && x & 0x40_0000 == 0
}

/// Minimum and maximum according to the ISA manual.
fn extreme(x: &[u64], ieee: bool, less: bool) -> u64 {
    let (a, b) = (x[0], x[1]);
    let ordered = |a: u64, b: u64| {
        let (p, q) = (f64::from(f(a)), f64::from(f(b)));
        let before = if p == q { a >> 31 > b >> 31 } else { p < q };
        if before == less { a } else { b }
    };
    match (f(a).is_nan(), f(b).is_nan()) {
        _ if ieee && signals(a) => a | 0x40_0000,
        _ if ieee && signals(b) => b | 0x40_0000,
        (true, _) => b,
        (_, true) => a,
        _ => ordered(a, b),
    }
}

#[test]
fn minimum_and_maximum() {
    let (two, three) = (singles(2), singles(3));
    let not_ieee = DEFAULT_MODE & !(1 << 23);
    let none = Mods::default();
    for (rsrc1, ieee) in [(DEFAULT_MODE, true), (not_ieee, false)] {
        check_with(Op::v_min_f32, none, rsrc1, &two, &|x| extreme(x, ieee, true));
        check_with(Op::v_max_f32, none, rsrc1, &two, &|x| extreme(x, ieee, false));
        check_with(Op::v_min3_f32, none, rsrc1, &three, &|x| extreme(&[extreme(x, ieee, true), x[2]], ieee, true));
        check_with(Op::v_max3_f32, none, rsrc1, &three, &|x| extreme(&[extreme(x, ieee, false), x[2]], ieee, false));
        check_with(Op::v_med3_f32, none, rsrc1, &three, &|x| {
            let all = [x[0], x[1], x[2]];
            if all.iter().any(|x| f(*x).is_nan()) {
                return extreme(&[extreme(x, ieee, true), x[2]], ieee, true);
            }
            let mut sorted = all;
            sorted.sort_by(|a, b| f(*a).total_cmp(&f(*b)));
            // Zeros of either sign are the same to the largest-of-three test.
            if all.iter().filter(|x| f(**x) == 0.0).count() > 1 {
                evaluate(Op::v_med3_f32, none, rsrc1, &[vec![x[0]], vec![x[1]], vec![x[2]]])[0]
            } else {
                sorted[1]
            }
        });
    }
}

#[test]
fn roundings_to_integers() {
    let one = singles(1);
    // With exact integer arithmetic, if the value has a fraction.
    let whole = |x: u64, rule: &dyn Fn(i64, i64) -> i64| {
        let value = f(x);
        if !value.is_finite() || value.abs() >= 8_388_608.0 {
            return value;
        }
        // In units of 2^-40, with a sticky bit for what lies below.
        let scaled = f64::from(value) * (1_u64 << 39) as f64;
        let units = scaled.floor() as i64 * 2 + i64::from(scaled.floor() != scaled);
        let n = rule(units >> 40, units & ((1 << 40) - 1));
        (n as f32).copysign(value)
    };
    let half = 1_i64 << 39;
    check_single(Op::v_floor_f32, DEFAULT_MODE, &one, &|x| whole(x[0], &|n, _| n));
    check_single(Op::v_ceil_f32, DEFAULT_MODE, &one, &|x| whole(x[0], &|n, part| n + i64::from(part > 0)));
    check_single(Op::v_trunc_f32, DEFAULT_MODE, &one, &|x| whole(x[0], &|n, part| n + i64::from(part > 0 && n < 0)));
    check_single(Op::v_rndne_f32, DEFAULT_MODE, &one, &|x| {
        whole(x[0], &|n, part| n + i64::from(part > half || part == half && n % 2 != 0))
    });
    check_single(Op::v_fract_f32, DEFAULT_MODE, &one, &|x| {
        let value = f64::from(f(x[0]));
        ((value - value.floor()) as f32).min(f32::from_bits(0x3f7f_ffff))
            + if value.is_nan() || value.is_infinite() { f32::NAN } else { 0.0 }
    });
}

#[test]
fn exponents_and_mantissas() {
    let one = singles(1);
    check(Op::v_frexp_exp_i32_f32, &one, &|x| {
        let value = f(x[0]).abs();
        if value == 0.0 || !value.is_finite() {
            return 0;
        }
        let mut n = -150;
        while f64::from(value) >= 2_f64.powi(n) {
            n += 1;
        }
        n as u32 as u64
    });
    check_single(Op::v_frexp_mant_f32, DEFAULT_MODE, &one, &|x| {
        let mut value = f64::from(f(x[0]));
        if value == 0.0 || !value.is_finite() {
            return value as f32;
        }
        while value.abs() >= 1.0 {
            value /= 2.0;
        }
        while value.abs() < 0.5 {
            value *= 2.0;
        }
        value as f32
    });
    let powers: Vec<u64> = [
        0,
        1,
        -1,
        23,
        -23,
        100,
        -100,
        126,
        -126,
        127,
        128,
        148,
        -149,
        -150,
        -276,
        277,
        1000,
        -1000,
        i32::MAX,
        i32::MIN,
    ]
    .map(|n: i32| u64::from(n as u32))
    .to_vec();
    let mut pairs = vec![Vec::new(), Vec::new()];
    for x in singles(1)[0].iter().take(200) {
        for n in &powers {
            pairs[0].push(*x);
            pairs[1].push(*n);
        }
    }
    check_single(Op::v_ldexp_f32, DEFAULT_MODE, &pairs, &|x| {
        // Doubling in double precision is exact for all results that are in the range of singles.
        (f64::from(f(x[0])) * 2_f64.powi((x[1] as i32).clamp(-500, 500))) as f32
    });
}

#[test]
fn doubles_obey_ieee() {
    let (one, two, three) = (doubles(1), doubles(2), doubles(3));
    same_double(Op::v_add_f64, &two, &|x| d(x[0]) + d(x[1]));
    same_double(Op::v_mul_f64, &two, &|x| d(x[0]) * d(x[1]));
    same_double(Op::v_fma_f64, &three, &|x| d(x[0]).mul_add(d(x[1]), d(x[2])));
    same_double(Op::v_fmac_f64, &two, &|x| d(x[0]).mul_add(d(x[1]), d(OLD)));
    same_double(Op::v_floor_f64, &one, &|x| d(x[0]).floor());
    same_double(Op::v_ceil_f64, &one, &|x| d(x[0]).ceil());
    same_double(Op::v_trunc_f64, &one, &|x| d(x[0]).trunc());
    same_double(Op::v_rndne_f64, &one, &|x| d(x[0]).round_ties_even());
    same_double(Op::v_sqrt_f64, &one, &|x| d(x[0]).sqrt());
    same_double(Op::v_min_f64, &two, &|x| {
        let (a, b) = (d(x[0]), d(x[1]));
        let signals = |x: u64| d(x).is_nan() && x >> 51 & 1 == 0;
        if signals(x[0]) || signals(x[1]) {
            f64::NAN
        } else if a == b {
            if x[0] >> 63 == 1 { a } else { b }
        } else {
            a.min(b)
        }
    });
    same_double(Op::v_max_f64, &two, &|x| {
        let (a, b) = (d(x[0]), d(x[1]));
        let signals = |x: u64| d(x).is_nan() && x >> 51 & 1 == 0;
        if signals(x[0]) || signals(x[1]) {
            f64::NAN
        } else if a == b {
            if x[0] >> 63 == 0 { a } else { b }
        } else {
            a.max(b)
        }
    });
    // A fraction is exact, but that of a tiny negative number stays below one.
    same_double(Op::v_fract_f64, &one, &|x| match d(x[0]) {
        y if !y.is_finite() => f64::NAN,
        y => (y - y.floor()).min(f64::from_bits(0x3fef_ffff_ffff_ffff)),
    });
}

#[test]
fn double_exponents_and_scaling() {
    let one = doubles(1);
    check(Op::v_frexp_exp_i32_f64, &one, &|x| {
        let value = d(x[0]).abs();
        if value == 0.0 || !value.is_finite() {
            return 0;
        }
        // The position of the leading bit.
        let exponent = (x[0] >> 52 & 0x7ff) as i32;
        let mantissa = x[0] & ((1 << 52) - 1);
        let n = if exponent == 0 { 64 - mantissa.leading_zeros() as i32 - 1074 } else { exponent - 1022 };
        n as u32 as u64
    });
    let mut pairs = vec![Vec::new(), Vec::new()];
    for x in one[0].iter().take(200) {
        for n in [
            0,
            1,
            -1,
            52,
            -53,
            900,
            -900,
            1022,
            -1022,
            -1023,
            1023,
            1024,
            -1074,
            -1075,
            2000,
            -2000,
            2098,
            -2098,
            i32::MAX,
            i32::MIN,
        ] {
            pairs[0].push(*x);
            pairs[1].push(u64::from(n as u32));
        }
    }
    same_double(Op::v_ldexp_f64, &pairs, &|x| scaled_exactly(x[0], x[1] as i32));
}

/// `x * 2^n`, rounded to nearest even, in integers.
pub(super) fn scaled_exactly(x: u64, n: i32) -> f64 {
    let value = d(x);
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let exponent = (x >> 52 & 0x7ff) as i64;
    let fraction = x & ((1 << 52) - 1);
    let (mantissa, exponent) = if exponent == 0 { (fraction, 1) } else { (fraction | 1 << 52, exponent) };
    // The value is mantissa * 2^(exponent - 1075).
    let shift = mantissa.leading_zeros() as i64 - 11;
    let (mantissa, exponent) = (mantissa << shift, exponent - shift + i64::from(n));
    let bits = if exponent >= 2047 {
        0x7ff << 52
    } else if exponent >= 1 {
        (exponent as u64) << 52 | mantissa & ((1 << 52) - 1)
    } else if exponent < -60 {
        0
    } else {
        let drop = 1 - exponent;
        let (kept, dropped) = (u128::from(mantissa) >> drop, u128::from(mantissa) & ((1 << drop) - 1));
        let half = 1_u128 << (drop - 1);
        (kept + u128::from(dropped > half || dropped == half && kept & 1 == 1)) as u64
    };
    d(bits | x & 1 << 63)
}

#[test]
fn literals_and_inline_constants() {
    let w = machine(
        &[
            inst(Op::v_add_f32, v(0), &[Operand::Literal(0x4048_0000), v(1)]),
            inst(Op::v_fmaak_f32, v(2), &[v(1), v(1), Operand::Literal(0x3f80_0000)]),
            inst(Op::v_madmk_f32, v(3), &[v(1), Operand::Literal(0x4000_0000), v(1)]),
            inst(Op::v_mul_f64, v(4), &[Operand::Float(crate::isa::InlineFloat::MinusTwo), v(6)]),
            inst(Op::v_mul_f64, v(8), &[Operand::Int(-3), v(6)]),
            inst(
                Op::v_add_f16,
                v(10),
                &[Operand::Float(crate::isa::InlineFloat::One), Operand::Float(crate::isa::InlineFloat::Half)],
            ),
            inst(Op::v_mul_f32, v(11), &[s(3), v(1)]),
        ],
        DEFAULT_MODE,
        &|w| {
            w.row_mut(1).fill(2_f32.to_bits());
            for lane in 0..LANES {
                set_value(w, 6, 2, lane, 1.5_f64.to_bits());
            }
            w.set_slot(3, 0.25_f32.to_bits());
        },
    );
    assert_eq!(f32::from_bits(w.row(0)[7]), 5.125);
    assert_eq!(f32::from_bits(w.row(2)[7]), 5.0);
    assert_eq!(f32::from_bits(w.row(3)[7]), 6.0);
    assert_eq!(d(value(&w, 4, 2, 63)), -3.0);
    // An inline integer constant is sign-extended integer bits: a NaN.
    assert!(d(value(&w, 8, 2, 63)).is_nan());
    assert_eq!(w.row(10)[0], 0x3e00);
    assert_eq!(f32::from_bits(w.row(11)[20]), 0.5);
}

/// Programs have rows for some constants only; others come from slots, in operands of every width.
#[test]
fn more_constants_than_rows() {
    use crate::isa::InlineFloat::{Half, MinusTwo, One};
    let uses = [
        inst(Op::v_add_u32, v(10), &[Operand::Int(-7), v(1)]),
        inst(Op::v_add_f16, v(11), &[Operand::Float(One), v(1)]),
        inst(Op::v_mul_f64, v(12), &[Operand::Float(MinusTwo), v(6)]),
        inst(Op::v_lshlrev_b64, v(14), &[Operand::Int(3), v(6)]),
        inst(Op::v_pk_add_f16, v(16), &[Operand::Float(Half), v(1)]),
        inst(Op::v_pk_add_u16, v(17), &[Operand::Int(5), v(1)]),
        inst(Op::v_pk_mov_b32, v(18), &[Operand::Int(0), Operand::Int(9)]),
        inst(Op::v_pk_fma_f32, v(20), &[v(6), Operand::Float(MinusTwo), Operand::Float(Half)]),
    ];
    // Constants that none of these has.
    let others: Vec<_> = (1000..1100).map(|bits| inst(Op::v_add_u32, v(9), &[Operand::Literal(bits), v(9)])).collect();
    let set_up = |w: &mut Wave| {
        w.row_mut(1).fill(0x4000_4200);
        w.row_mut(6).fill(1.5_f32.to_bits());
        w.row_mut(7).fill(2.5_f32.to_bits());
    };
    let few = machine(&uses, DEFAULT_MODE, &set_up);
    let many = machine(&[&others[..], &uses].concat(), DEFAULT_MODE, &set_up);
    assert_eq!(many.row(9)[5], (1000..1100).sum::<u32>());
    for row in 10..22 {
        assert_eq!(many.row(row), few.row(row), "v{row}");
    }
    assert_eq!((many.row(18)[3], many.row(19)[3]), (0, 9));
    assert_eq!([20, 21].map(|row| f32::from_bits(many.row(row)[3])), [-2.5, -4.5]);
}
