//! Packed math and dot products.

use super::*;
use ::half::f16;

fn halves(x: u64) -> [u64; 2] {
    [x & 0xffff, x >> 16 & 0xffff]
}

fn join(x: [i64; 2]) -> u64 {
    u64::from(x[0] as u16) | u64::from(x[1] as u16) << 16
}

fn random_words(count: usize, seed: u64) -> Vec<Vec<u64>> {
    let mut random = Random::new(seed);
    operands(count, WORDS, 256, &mut || random.next() & 0xffff_ffff)
}

/// Checks a packed operation with several selections of halves.
fn check_packed(op: Op, count: usize, clamp: bool, f: &dyn Fn(&[i64]) -> i64, signed: bool) {
    for (op_sel, op_sel_hi) in [(0, 7), (7, 0), (2, 5), (0, 0)] {
        let mods = Mods { op_sel, op_sel_hi, clamp, ..Mods::default() };
        check_with(op, mods, DEFAULT_MODE, &random_words(count, 90), &|x| {
            let one = |select: u8| {
                let args: Vec<i64> = (0..count)
                    .map(|i| {
                        let half = halves(x[i])[usize::from(select >> i & 1)];
                        if signed { i64::from(half as i16) } else { half as i64 }
                    })
                    .collect();
                f(&args)
            };
            join([one(op_sel), one(op_sel_hi)])
        });
    }
}

#[test]
fn integers() {
    check_packed(Op::v_pk_add_u16, 2, false, &|x| x[0] + x[1], false);
    check_packed(Op::v_pk_sub_i16, 2, false, &|x| x[0] - x[1], true);
    check_packed(Op::v_pk_mul_lo_u16, 2, false, &|x| x[0] * x[1], false);
    check_packed(Op::v_pk_mad_u16, 3, false, &|x| x[0] * x[1] + x[2], false);
    check_packed(Op::v_pk_mad_i16, 3, false, &|x| x[0] * x[1] + x[2], true);
    check_packed(Op::v_pk_lshlrev_b16, 2, false, &|x| x[1] << (x[0] & 15), false);
    check_packed(Op::v_pk_lshrrev_b16, 2, false, &|x| x[1] >> (x[0] & 15), false);
    check_packed(Op::v_pk_ashrrev_i16, 2, false, &|x| x[1] >> (x[0] & 15), true);
    check_packed(Op::v_pk_min_i16, 2, false, &|x| x[0].min(x[1]), true);
    check_packed(Op::v_pk_max_i16, 2, false, &|x| x[0].max(x[1]), true);
    check_packed(Op::v_pk_min_u16, 2, false, &|x| x[0].min(x[1]), false);
    check_packed(Op::v_pk_max_u16, 2, false, &|x| x[0].max(x[1]), false);
    let (i, u) = (|x: i64| x.clamp(-32768, 32767), |x: i64| x.clamp(0, 65535));
    check_packed(Op::v_pk_add_i16, 2, true, &|x| i(x[0] + x[1]), true);
    check_packed(Op::v_pk_sub_u16, 2, true, &|x| u(x[0] - x[1]), false);
    check_packed(Op::v_pk_mad_i16, 3, true, &|x| i(x[0] * x[1] + x[2]), true);
}

#[test]
fn floats() {
    let mut random = Random::new(91);
    let x = operands(3, &[0, 0x3c00_3c00, 0x0001_8001, 0x7bff_fbff, 0x7c00_0400, 0x4248_b555], 512, &mut || {
        random.next() & 0xffff_ffff
    });
    let number = |x: u64| f16::from_bits(x as u16).to_f64();
    let check_halves = |op: Op, count: usize, mods: Mods, f: &dyn Fn(&[f64]) -> f64| {
        let results = super::float::evaluate(op, mods, DEFAULT_MODE, &x[..count]);
        for (n, got) in results.iter().enumerate() {
            for half in 0..2 {
                let args: Vec<f64> = (0..count)
                    .map(|i| {
                        let select = if half == 0 { mods.op_sel } else { mods.op_sel_hi };
                        let neg = if half == 0 { mods.neg } else { mods.neg_hi };
                        let value = number(halves(x[i][n])[usize::from(select >> i & 1)]);
                        if neg >> i & 1 == 1 { -value } else { value }
                    })
                    .collect();
                let expected = f16::from_f64(f(&args));
                let got = f16::from_bits(halves(*got)[half] as u16);
                assert!(
                    got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan(),
                    "{op} {args:?}: {got}, not {expected}"
                );
            }
        }
    };
    let plain = Mods { op_sel_hi: 7, ..Mods::default() };
    let odd = Mods { op_sel: 1, op_sel_hi: 2, neg: 1, neg_hi: 2, ..Mods::default() };
    for mods in [plain, odd] {
        check_halves(Op::v_pk_add_f16, 2, mods, &|x| x[0] + x[1]);
        check_halves(Op::v_pk_mul_f16, 2, mods, &|x| x[0] * x[1]);
        check_halves(Op::v_pk_fma_f16, 3, mods, &|x| x[0].mul_add(x[1], x[2]));
    }
}

#[test]
fn pairs_of_singles() {
    let pair = |low: f32, high: f32| u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32;
    let x = vec![vec![pair(1.5, -2.0); 8], vec![pair(3.0, 0.25); 8], vec![pair(10.0, 20.0); 8]];
    let plain = Mods { op_sel_hi: 7, ..Mods::default() };
    let swapped = Mods { op_sel: 1, op_sel_hi: 6, neg: 4, ..Mods::default() };
    check_with(Op::v_pk_fma_f32, plain, DEFAULT_MODE, &x, &|_| pair(14.5, 19.5));
    check_with(Op::v_pk_fma_f32, swapped, DEFAULT_MODE, &x, &|_| pair(-2.0 * 3.0 - 10.0, 1.5 * 0.25 + 20.0));
    check_with(Op::v_pk_mul_f32, plain, DEFAULT_MODE, &x[..2], &|_| pair(4.5, -0.5));
    check_with(Op::v_pk_add_f32, plain, DEFAULT_MODE, &x[..2], &|_| pair(4.5, -1.75));
    // Scalar pairs.
    let code = modified(Op::v_pk_mul_f32, v(0), &[v(4), s(2)], Mods { op_sel_hi: 1, ..Mods::default() });
    let w = machine(&[code], DEFAULT_MODE, &|w| {
        set_value(w, 4, 2, 3, pair(1.5, -2.0));
        w.set_slot64(2, pair(8.0, 100.0));
    });
    assert_eq!(value(&w, 0, 2, 3), pair(12.0, -16.0));
}

#[test]
fn dot_products() {
    let x = random_words(3, 92);
    let fields = |x: u64, bits: u32, signed: bool| -> Vec<i64> {
        (0..32 / bits)
            .map(|i| {
                let field = (x >> (i * bits) & ((1 << bits) - 1)) as i64;
                if signed && field >> (bits - 1) == 1 { field - (1 << bits) } else { field }
            })
            .collect()
    };
    for (op, bits, signed) in [
        (Op::v_dot2_i32_i16, 16, true),
        (Op::v_dot2_u32_u16, 16, false),
        (Op::v_dot4_i32_i8, 8, true),
        (Op::v_dot4_u32_u8, 8, false),
        (Op::v_dot8_i32_i4, 4, true),
        (Op::v_dot8_u32_u4, 4, false),
    ] {
        for clamp in [false, true] {
            let mods = Mods { clamp, op_sel_hi: 7, ..Mods::default() };
            check_with(op, mods, DEFAULT_MODE, &x, &|x| {
                let products: i64 =
                    fields(x[0], bits, signed).iter().zip(fields(x[1], bits, signed)).map(|(a, b)| a * b).sum();
                let addend = if signed { i64::from(x[2] as i32) } else { x[2] as i64 };
                let sum = products + addend;
                let limited =
                    if signed { sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) } else { sum.min(0xffff_ffff) };
                u64::from(if clamp { limited } else { sum } as u32)
            });
        }
    }
    // Accumulating forms add to the destination.
    check(Op::v_dot4c_i32_i8, &x[..2], &|x| {
        let products: i64 = fields(x[0], 8, true).iter().zip(fields(x[1], 8, true)).map(|(a, b)| a * b).sum();
        u64::from((products + x[2] as i64) as u32)
    });
}
