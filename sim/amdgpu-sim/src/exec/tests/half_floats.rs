//! Half precision, against the `half` crate and exact arithmetic in double precision.

use super::float::evaluate;
use super::*;
use half::f16;

fn h(x: u64) -> f64 {
    f16::from_bits(x as u16).to_f64()
}

fn halves(count: usize) -> Vec<Vec<u64>> {
    let mut random = Random::new(60 + count as u64);
    operands(count, HALVES, 2048, &mut || random.next() & 0xffff)
}

fn same(op: Op, x: &[Vec<u64>], reference: &dyn Fn(&[u64]) -> f64) {
    let keeps = op.info().format == Format::Vop3;
    for (i, got) in evaluate(op, inst(op, v(0), &[]).mods, DEFAULT_MODE, x).iter().enumerate() {
        let args: Vec<u64> = x.iter().map(|o| o[i]).collect();
        let expected = f16::from_f64(reference(&args));
        let got16 = f16::from_bits(*got as u16);
        let alike = got16.is_nan() && expected.is_nan() || got16.to_bits() == expected.to_bits();
        assert!(alike, "{op} of {args:x?}: {got16} ({got:#x}), not {expected} ({:#x})", expected.to_bits());
        let upper = if keeps { 0x0bad } else { 0 };
        assert_eq!(got >> 16, upper, "{op}: the other half of the destination");
    }
}

#[test]
fn every_half_converts_to_single_and_back() {
    let all = vec![(0..0x1_0000).collect::<Vec<u64>>()];
    for (i, got) in evaluate(Op::v_cvt_f32_f16, Mods::default(), DEFAULT_MODE, &all).iter().enumerate() {
        let expected = f16::from_bits(i as u16).to_f32();
        let alike = expected.is_nan() && f32::from_bits(*got as u32).is_nan() || *got == u64::from(expected.to_bits());
        assert!(alike, "{i:#x}: {got:#x}");
    }
    // The bits of singles around every half, and around the middle between two of them.
    let mut around = Vec::new();
    for i in 0..0x7c00_u16 {
        let x = f16::from_bits(i).to_f32().to_bits();
        let next = f16::from_bits(i + 1).to_f32().to_bits();
        let middle = f32::midpoint(f32::from_bits(x), f32::from_bits(next.min(0x4780_0000))).to_bits();
        around.extend([x, x + 1, middle - 1, middle, middle + 1].map(u64::from));
    }
    let x = vec![around];
    for (i, got) in evaluate(Op::v_cvt_f16_f32, Mods::default(), DEFAULT_MODE, &x).iter().enumerate() {
        assert_eq!(*got, u64::from(f16::from_f32(f32::from_bits(x[0][i] as u32)).to_bits()), "{:#x}", x[0][i]);
    }
}

#[test]
fn arithmetic_rounds_once() {
    let (one, two, three) = (halves(1), halves(2), halves(3));
    // Sums, products and fused sums of halves are exact in double or lose only what cannot matter.
    same(Op::v_add_f16, &two, &|x| h(x[0]) + h(x[1]));
    same(Op::v_sub_f16, &two, &|x| h(x[0]) - h(x[1]));
    same(Op::v_subrev_f16, &two, &|x| h(x[1]) - h(x[0]));
    same(Op::v_mul_f16, &two, &|x| h(x[0]) * h(x[1]));
    same(Op::v_fma_f16, &three, &|x| h(x[0]).mul_add(h(x[1]), h(x[2])));
    same(Op::v_mad_f16, &three, &|x| f16::from_f64(h(x[0]) * h(x[1])).to_f64() + h(x[2]));
    same(Op::v_rcp_f16, &one, &|x| 1.0 / h(x[0]));
    same(Op::v_sqrt_f16, &one, &|x| h(x[0]).sqrt());
    same(Op::v_floor_f16, &one, &|x| h(x[0]).floor());
    same(Op::v_ceil_f16, &one, &|x| h(x[0]).ceil());
    same(Op::v_trunc_f16, &one, &|x| h(x[0]).trunc());
    same(Op::v_rndne_f16, &one, &|x| h(x[0]).round_ties_even());
    let quiet = |x: u64| h(x).is_nan() && x & 0x200 == 0;
    same(Op::v_max_f16, &two, &|x| if quiet(x[0]) || quiet(x[1]) { f64::NAN } else { extreme(h(x[0]), h(x[1]), 1.0) });
    same(Op::v_min_f16, &two, &|x| if quiet(x[0]) || quiet(x[1]) { f64::NAN } else { extreme(h(x[0]), h(x[1]), -1.0) });
}

/// The larger (`side` 1) or smaller (-1) number, +0 above -0.
fn extreme(a: f64, b: f64, side: f64) -> f64 {
    if a == b && a == 0.0 {
        if a.is_sign_positive() == (side > 0.0) { a } else { b }
    } else if side > 0.0 {
        a.max(b)
    } else {
        a.min(b)
    }
}

#[test]
fn scaling_and_taking_apart() {
    let mut pairs = vec![Vec::new(), Vec::new()];
    for x in &halves(1)[0] {
        for n in [0, 1, -1, 5, -10, 14, -14, 24, -24, 40, -40, 0x7fff, -0x8000] {
            pairs[0].push(*x);
            pairs[1].push(u64::from(n as u16));
        }
    }
    same(Op::v_ldexp_f16, &pairs, &|x| h(x[0]) * 2_f64.powi(i32::from(x[1] as u16 as i16).clamp(-80, 80)));
    for (i, got) in evaluate(Op::v_frexp_exp_i16_f16, Mods::default(), DEFAULT_MODE, &halves(1)).iter().enumerate() {
        let x = h(halves(1)[0][i]);
        let expected = if x == 0.0 || !x.is_finite() { 0 } else { x.abs().log2().floor() as i16 + 1 };
        assert_eq!(*got, u64::from(expected as u16), "{x}");
    }
}

#[test]
fn functions_within_a_bit() {
    let all = vec![(0..0x1_0000).collect::<Vec<u64>>()];
    let near = |op: Op, ulps: i64, reference: &dyn Fn(f64) -> f64| {
        for (i, got) in evaluate(op, Mods::default(), DEFAULT_MODE, &all).iter().enumerate() {
            let expected = f16::from_f64(reference(h(i as u64)));
            let got = f16::from_bits(*got as u16);
            if expected.is_nan() {
                assert!(got.is_nan(), "{op} of {i:#x}: {got}");
                continue;
            }
            let place =
                |x: f16| if x.is_sign_negative() { -i64::from(x.to_bits() & 0x7fff) } else { i64::from(x.to_bits()) };
            assert!((place(got) - place(expected)).abs() <= ulps, "{op} of {i:#x}: {got}, not {expected}");
        }
    };
    near(Op::v_exp_f16, 1, &f64::exp2);
    near(Op::v_log_f16, 1, &f64::log2);
    near(Op::v_rsq_f16, 1, &|x| 1.0 / x.sqrt());
    near(Op::v_sin_f16, 1, &|x| {
        if x.abs() > 256.0 && x.is_finite() { 0.0 } else { (x.rem_euclid(1.0) * std::f64::consts::TAU).sin() }
    });
    near(Op::v_cos_f16, 1, &|x| {
        if x.abs() > 256.0 && x.is_finite() { 1.0 } else { (x.rem_euclid(1.0) * std::f64::consts::TAU).cos() }
    });
}

#[test]
fn mixed_precision_multiply_add() {
    let mut random = Random::new(12);
    for op in [Op::v_fma_mix_f32, Op::v_fma_mixlo_f16, Op::v_fma_mixhi_f16] {
        for case in 0..64_u8 {
            // Which operands are halves, and which half of the register.
            let (halves, uppers) = (case & 7, case >> 3);
            // All combinations of signs come up with each of them.
            let abs = (case.wrapping_mul(5) ^ case >> 2) & 7;
            let mods = Mods { op_sel_hi: halves, op_sel: uppers, neg: 1, abs, ..Mods::default() };
            let x: Vec<Vec<u64>> = (0..3)
                .map(|i| {
                    (0..LANES)
                        .map(|_| {
                            let small = |r: u64| u64::from(f16::from_f64((r % 2000) as f64 / 64.0 - 15.0).to_bits());
                            let single = u64::from(((random.next() % 2000) as f32 / 64.0 - 15.0).to_bits());
                            if halves >> i & 1 == 1 {
                                small(random.next()) | small(random.next()) << 16
                            } else {
                                single
                            }
                        })
                        .collect()
                })
                .collect();
            check_with(op, mods, DEFAULT_MODE, &x, &|x| {
                let get = |i: usize| {
                    let value = if halves >> i & 1 == 0 {
                        f64::from(f32::from_bits(x[i] as u32))
                    } else {
                        h(if uppers >> i & 1 == 1 { x[i] >> 16 } else { x[i] & 0xffff })
                    };
                    if abs >> i & 1 == 1 { value.abs() } else { value }
                };
                let exact = -get(0) * get(1) + get(2);
                let rounded = exact as f32;
                let half = u64::from(f16::from_f32(rounded).to_bits());
                match op {
                    Op::v_fma_mix_f32 => u64::from(rounded.to_bits()),
                    Op::v_fma_mixlo_f16 => x[3] & 0xffff_0000 | half,
                    _ => x[3] & 0xffff | half << 16,
                }
            });
        }
    }
}
