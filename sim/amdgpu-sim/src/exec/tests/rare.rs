//! Instructions that compilers rarely generate.

use super::float::{check_single, f, singles};
use super::*;
use crate::isa::Sdwa;
use ::half::f16;

fn h(x: u64) -> f64 {
    f16::from_bits(x as u16).to_f64()
}

fn half(x: f64) -> u64 {
    u64::from(f16::from_f64(x).to_bits())
}

/// Checks an operation on halves, treating all NaNs as equal, and the destination's upper half.
fn check_half(op: Op, x: &[Vec<u64>], keeps: bool, reference: &dyn Fn(&[u64]) -> u64) {
    for (i, got) in float::evaluate(op, inst(op, v(0), &[]).mods, DEFAULT_MODE, x).into_iter().enumerate() {
        let args: Vec<u64> = x.iter().map(|o| o[i]).chain([OLD & 0xffff]).collect();
        let expected = reference(&args) & 0xffff;
        let alike = got & 0xffff == expected || h(got).is_nan() && h(expected).is_nan();
        assert!(alike, "{op} of {args:x?}: {got:#x}, not {expected:#x}");
        assert_eq!(got >> 16 & 0xffff, if keeps { OLD >> 16 & 0xffff } else { 0 }, "{op}: the upper half");
    }
}

fn halves(count: usize) -> Vec<Vec<u64>> {
    let mut random = Random::new(800 + count as u64);
    operands(count, HALVES, 1024, &mut || random.next() & 0xffff)
}

#[test]
fn halves_in_two_roundings() {
    let mad = |x: &[u64]| half(h(half(h(x[0]) * h(x[1]))) + h(x[2]));
    check_half(Op::v_mac_f16, &halves(2), true, &mad);
    check_half(Op::v_madak_f16, &halves(3), true, &mad);
    check_half(Op::v_madmk_f16, &halves(3), true, &mad);
    check_half(Op::v_mad_legacy_f16, &halves(3), false, &mad);
    check_half(Op::v_fma_legacy_f16, &halves(3), false, &|x| half(h(x[0]).mul_add(h(x[1]), h(x[2]))));
    check_half(Op::v_fract_f16, &halves(1), false, &|x| {
        let x = h(x[0]);
        // Never one.
        half(x - x.floor()).min(0x3bff).max(if (x - x.floor()).is_nan() { 0x7e00 } else { 0 })
    });
    check_half(Op::v_frexp_mant_f16, &halves(1), false, &|x| {
        let value = h(x[0]);
        if value == 0.0 || !value.is_finite() {
            return x[0];
        }
        let mut size = value.abs();
        while size >= 1.0 {
            size /= 2.0;
        }
        while size < 0.5 {
            size *= 2.0;
        }
        half(size.copysign(value))
    });
}

#[test]
fn madak_and_mad_legacy() {
    let flush = |x: f32| if x.is_subnormal() { 0.0_f32.copysign(x) } else { x };
    let product = |a: f32, b: f32| flush((f64::from(a) * f64::from(b)) as f32);
    let sum = |a: f32, b: f32| flush(a + b);
    check_single(Op::v_madak_f32, DEFAULT_MODE, &singles(3), &|x| {
        let [a, b, c] = [0, 1, 2].map(|i| flush(f(x[i])));
        sum(product(a, b), c)
    });
    check_single(Op::v_mad_legacy_f32, DEFAULT_MODE, &singles(3), &|x| {
        let [a, b, c] = [0, 1, 2].map(|i| flush(f(x[i])));
        sum(if a == 0.0 || b == 0.0 { 0.0 } else { a * b }, c)
    });
}

#[test]
fn literals_in_the_middle_and_accumulation() {
    // D = S0 * K + S1 in one rounding, and D = S0 * S1 + D in two.
    let exact = |x: &[u64]| f(x[0]).mul_add(f(x[1]), f(x[2]));
    check_single(Op::v_fmamk_f32, DEFAULT_MODE, &singles(3), &exact);
    let flush = |x: f32| if x.is_subnormal() { 0.0_f32.copysign(x) } else { x };
    check_single(Op::v_mac_f32, DEFAULT_MODE, &singles(2), &|x| {
        let [a, b, old] = [x[0], x[1], OLD].map(|x| flush(f(x)));
        let product = flush((f64::from(a) * f64::from(b)) as f32);
        flush(product + old)
    });
}

#[test]
fn wide_moves_sums_and_mantissas() {
    let mut random = Random::new(803);
    let one = operands(1, DOUBLES, 256, &mut || random.next());
    check(Op::v_mov_b64, &one, &|x| x[0]);
    let mut three = operands(3, DOUBLES, 512, &mut || random.next());
    // The manual only defines counts of 0 to 4.
    three[1].iter_mut().for_each(|x| *x = (*x ^ *x >> 33) % 5);
    check(Op::v_lshl_add_u64, &three, &|x| ((u128::from(x[0]) << x[1]) + u128::from(x[2])) as u64);
    for (i, got) in float::evaluate(Op::v_frexp_mant_f64, Mods::default(), DEFAULT_MODE, &one).into_iter().enumerate() {
        let x = f64::from_bits(one[0][i]);
        let got = f64::from_bits(got);
        if x == 0.0 || !x.is_finite() {
            assert!(got.to_bits() == x.to_bits() || x.is_nan() && got.is_nan(), "{x:e}: {got}");
            continue;
        }
        // The number is its mantissa times a power of two; the search for which takes no logarithm.
        let mut scaled = x.abs();
        while scaled >= 1.0 {
            scaled /= 2.0;
        }
        while scaled < 0.5 {
            scaled *= 2.0;
        }
        assert_eq!(got, scaled.copysign(x), "{x:e}");
    }
    let quotients = halves(3);
    check_half(Op::v_div_fixup_f16, &quotients, true, &|x| {
        let (q, d, n) = (h(x[0]), h(x[1]), h(x[2]));
        let sign = (x[1] ^ x[2]) & 0x8000;
        if n.is_nan() || d.is_nan() || n.abs() == d.abs() && (n == 0.0 || n.is_infinite()) {
            0x7e00
        } else if d == 0.0 || n.is_infinite() {
            sign | 0x7c00
        } else if d.is_infinite() || n == 0.0 {
            sign
        } else if q.is_nan() {
            0x7e00
        } else {
            x[0] & 0x7fff | sign
        }
    });
}

#[test]
fn extremes_of_three() {
    let three = halves(3);
    let numbers = |x: &[u64]| x[..3].iter().all(|x| !h(*x).is_nan());
    // NaNs are tested for min and max in `half_floats`; zeros of both signs are ordered by sign.
    let key = |x: &u64| {
        let bits = *x as i16;
        if bits < 0 { -i32::from(bits & 0x7fff) - 1 } else { i32::from(bits) }
    };
    for (op, which) in [(Op::v_min3_f16, 0), (Op::v_med3_f16, 1), (Op::v_max3_f16, 2)] {
        let results = float::evaluate(op, Mods::default(), DEFAULT_MODE, &three);
        for (i, got) in results.into_iter().enumerate() {
            let args: Vec<u64> = three.iter().map(|o| o[i]).collect();
            if !numbers(&args) {
                continue;
            }
            let mut sorted = args.clone();
            sorted.sort_by_key(key);
            assert_eq!(h(got), h(sorted[which]), "{op} of {args:x?}");
        }
    }
    let mut random = Random::new(801);
    let words = operands(3, WORDS, 512, &mut || random.next() & 0xffff_ffff);
    for (op, signed, which) in [
        (Op::v_min3_i16, true, 0),
        (Op::v_med3_i16, true, 1),
        (Op::v_max3_i16, true, 2),
        (Op::v_min3_u16, false, 0),
        (Op::v_med3_u16, false, 1),
        (Op::v_max3_u16, false, 2),
    ] {
        check(op, &words, &|x| {
            let mut values: Vec<i64> =
                x[..3].iter().map(|x| if signed { i64::from(*x as i16) } else { i64::from(*x as u16) }).collect();
            values.sort_unstable();
            OLD & 0xffff_0000 | u64::from(values[which] as u16)
        });
    }
    for (op, largest) in [(Op::v_pk_min_f16, false), (Op::v_pk_max_f16, true)] {
        let pairs: Vec<Vec<u64>> =
            halves(2).iter().map(|o| o.iter().map(|x| x | (x ^ 0x8000) << 16).collect()).collect();
        for (i, got) in float::evaluate(op, inst(op, v(0), &[]).mods, DEFAULT_MODE, &pairs).into_iter().enumerate() {
            for shift in [0, 16] {
                let (a, b) = (pairs[0][i] >> shift & 0xffff, pairs[1][i] >> shift & 0xffff);
                if h(a).is_nan() || h(b).is_nan() {
                    continue;
                }
                let first = (key(&a) < key(&b)) != largest;
                assert_eq!(got >> shift & 0xffff, if first || a == b { a } else { b }, "{op} of {a:#x} and {b:#x}");
            }
        }
    }
}

#[test]
fn legacy_functions_are_the_others() {
    for (old, new) in [(Op::v_exp_legacy_f32, Op::v_exp_f32), (Op::v_log_legacy_f32, Op::v_log_f32)] {
        let results = [old, new].map(|op| float::evaluate(op, Mods::default(), DEFAULT_MODE, &singles(1)));
        let canonical = |x: &Vec<u64>| x.iter().map(|x| canonical32(*x as u32)).collect::<Vec<_>>();
        assert_eq!(canonical(&results[0]), canonical(&results[1]), "{old}");
    }
}

#[test]
fn dot_products_of_halves() {
    let mut random = Random::new(802);
    let some = |random: &mut Random| {
        half(f64::from(random.next() as i16) / 512.0) | half(f64::from(random.next() as i8)) << 16
    };
    let mut x = vec![Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..1000 {
        x[0].push(some(&mut random));
        x[1].push(some(&mut random));
        x[2].push(u64::from(((random.next() as i16) as f32 / 64.0).to_bits()));
    }
    // According to the manual: the products, each exact, are added one after the other in single precision.
    let reference = |x: &[u64]| {
        let low = (h(x[0]) * h(x[1]) + f64::from(f(x[2]))) as f32;
        (h(x[0] >> 16) * h(x[1] >> 16) + f64::from(low)) as f32
    };
    check_single(Op::v_dot2_f32_f16, DEFAULT_MODE, &x, &reference);
    // The accumulating form adds to the destination.
    let code = inst(Op::v_dot2c_f32_f16, v(0), &[v(1), v(2)]);
    for i in 0..64 {
        let w = machine(&[code], DEFAULT_MODE, &|w| {
            w.row_mut(0).fill(x[2][i] as u32);
            w.row_mut(1).fill(x[0][i] as u32);
            w.row_mut(2).fill(x[1][i] as u32);
        });
        assert_eq!(w.row(0)[3], reference(&[x[0][i], x[1][i], x[2][i]]).to_bits());
    }
    let words = operands(2, WORDS, 256, &mut || random.next() & 0xffff_ffff);
    let fields = |x: u64, bits: u32| (0..32 / bits).map(move |i| ((x << (64 - bits - i * bits)) as i64) >> (64 - bits));
    for (op, bits) in [(Op::v_dot2c_i32_i16, 16), (Op::v_dot8c_i32_i4, 4)] {
        for clamp in [false, true] {
            let mods = Mods { clamp, ..inst(op, v(0), &[]).mods };
            check_with(op, mods, DEFAULT_MODE, &words, &|x| {
                let sum: i64 = fields(x[0], bits).zip(fields(x[1], bits)).map(|(a, b)| a * b).sum();
                let sum = sum + i64::from(x[2] as i32);
                let sum = if clamp { sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) } else { sum };
                u64::from(sum as u32)
            });
        }
    }
    check(Op::v_pk_fmac_f16, &[vec![0x4000_3c00; 4], vec![0x4200_4400; 4]], &|x| {
        let one = |shift: u32| half(h(x[0] >> shift).mul_add(h(x[1] >> shift), h(x[2] >> shift)));
        one(0) | one(16) << 16
    });
}

/// Their meaning is not documented, so they must not be accepted silently.
#[test]
fn signs_of_pairs_of_halves_outside_vop3p_trap() {
    for op in [Op::v_dot2c_f32_f16, Op::v_pk_fmac_f16] {
        for n in 0..2 {
            for (neg, abs) in [(1 << n, 0), (0, 1 << n)] {
                let plain = inst(op, v(0), &[v(1), v(2)]);
                let sdwa = (Format::Sdwa, Some(Sdwa::default()));
                for (format, sdwa) in [(plain.format, None), sdwa] {
                    let code = Inst { format, mods: Mods { neg, abs, sdwa, ..plain.mods }, ..plain };
                    let trap = trap(&[code], DEFAULT_MODE, &|_| ());
                    assert!(
                        matches!(trap, Trap::Unsupported(text) if text.contains("a pair of halves")),
                        "{op} {n}: {trap:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn conversions() {
    let norm = |x: f64, low: f64, scale: f64| {
        if x.is_nan() { 0 } else { u64::from((x.clamp(low, 1.0) * scale).round_ties_even() as i64 as u16) }
    };
    // Halves times 32767 and 65535 are almost exact in single precision; there are no ties among these.
    let plain: Vec<u64> = [0.0, -0.0, 0.1, -0.1, 0.7, -0.7, 1.0, -1.0, 2.0, -2.0, 1e4, -1e4, f64::NAN, 0.333]
        .iter()
        .map(|x| half(*x))
        .collect();
    let (one, two) = (vec![plain.clone()], operands(2, &plain, 0, &mut || 0));
    check(Op::v_cvt_norm_i16_f16, &one, &|x| norm(h(x[0]), -1.0, 32767.0));
    check(Op::v_cvt_norm_u16_f16, &one, &|x| norm(h(x[0]), 0.0, 65535.0));
    let both = |x: &[u64], low: f64, scale: f64| norm(h(x[0]), low, scale) | norm(h(x[1]), low, scale) << 16;
    check(Op::v_cvt_pknorm_i16_f16, &two, &|x| both(x, -1.0, 32767.0));
    check(Op::v_cvt_pknorm_u16_f16, &two, &|x| both(x, 0.0, 65535.0));
    let nibbles = vec![(0..64).collect::<Vec<u64>>()];
    check_single(Op::v_cvt_off_f32_i4, DEFAULT_MODE, &nibbles, &|x| {
        let n = (x[0] & 15) as i32;
        (if n > 7 { n - 16 } else { n }) as f32 / 16.0
    });
    let bytes =
        operands(2, &[0, 1, 2, 3, 0x437f_0000, 0x4380_0000, 0x4020_0000, 0xc020_0000, 0x7fc0_0000], 0, &mut || 0);
    check(Op::v_cvt_pkaccum_u8_f32, &bytes, &|x| {
        let byte = f64::from(f(x[0])).round_ties_even();
        let byte = if byte.is_nan() { 0 } else { byte.clamp(0.0, 255.0) as u8 };
        let mut all = (OLD as u32).to_le_bytes();
        all[x[1] as usize % 4] = byte;
        u64::from(u32::from_le_bytes(all))
    });
    let words = operands(3, &[0, 1, 0x7fff, 0x8000, 0xffff, 0x1_0002], 0, &mut || 0);
    check(Op::v_mad_legacy_i16, &words, &|x| (x[0] * x[1] + x[2]) & 0xffff);
    let quotients = halves(3);
    check_half(Op::v_div_fixup_legacy_f16, &quotients, false, &|x| {
        let (q, d, n) = (h(x[0]), h(x[1]), h(x[2]));
        let sign = (x[1] ^ x[2]) & 0x8000;
        if n.is_nan() || d.is_nan() || n.abs() == d.abs() && (n == 0.0 || n.is_infinite()) {
            0x7e00
        } else if d == 0.0 || n.is_infinite() {
            sign | 0x7c00
        } else if d.is_infinite() || n == 0.0 {
            sign
        } else if q.is_nan() {
            0x7e00
        } else {
            x[0] & 0x7fff | sign
        }
    });
}

/// A scalar operation on pairs of registers; its destination pair, and SCC.
fn scalar(op: Op, x: &[Operand], scc: bool, set_up: &dyn Fn(&mut Wave)) -> (u64, bool) {
    let w = machine(&[inst(op, s(0), x)], DEFAULT_MODE, &|w| {
        w.set_scc(scc);
        w.set_slot64(0, OLD);
        set_up(w);
    });
    (w.slot64(0), w.scc())
}

#[test]
fn scalar_bits() {
    let values = [0, 1, 5, 0x8000_0000, 0xffff_ffff, 0x1234_5678_9abc_def0, u64::MAX, 1 << 63, 0xf0];
    for a in values {
        let set = |w: &mut Wave| w.set_slot64(10, a);
        let one = |op| scalar(op, &[s(10)], true, &set);
        let low = a as u32;
        let narrow = |r: u64| OLD & !0xffff_ffff | r;
        assert_eq!(one(Op::s_bcnt0_i32_b32), (narrow(u64::from(low.count_zeros())), low.count_zeros() != 0));
        let replicated = (0..64).map(|i| u64::from(low >> (i / 2) & 1) << i).sum::<u64>();
        assert_eq!(one(Op::s_bitreplicate_b64_b32), (replicated, true));
        let zero = (0..64).find(|i| a >> i & 1 == 0).map_or(0xffff_ffff, |i| i as u64);
        assert_eq!(one(Op::s_ff0_i32_b64).0, narrow(zero));
        let quads = |i: u32, bits: u32| u64::from(if bits == 32 { u64::from(low) } else { a } >> (4 * i) & 15 != 0);
        let mask = (0..16).map(|i| quads(i, 64) << i).sum::<u64>();
        assert_eq!(one(Op::s_quadmask_b64), (mask, mask != 0));
        let whole = (0..8).map(|i| quads(i, 32) * 15 << (4 * i)).sum::<u64>();
        assert_eq!(one(Op::s_wqm_b32), (narrow(whole), whole != 0));
        for n in [0_u64, 1, 31, 33, 40, 63] {
            let with = |w: &mut Wave| {
                w.set_slot64(10, a);
                w.set_slot64(12, n);
            };
            let two = |op| scalar(op, &[s(10), s(12)], false, &with);
            assert_eq!(two(Op::s_bitcmp0_b32).1, low >> (n % 32) & 1 == 0);
            assert_eq!(two(Op::s_bitcmp1_b64).1, a >> n & 1 == 1);
            assert_eq!(scalar(Op::s_bitset0_b64, &[s(12)], false, &with).0, OLD & !(1 << n));
            assert_eq!(scalar(Op::s_bitset1_b32, &[s(12)], false, &with).0, OLD | 1 << (n % 32));
            // Width in the high half, offset in the low one.
            let size = scalar(Op::s_bfm_b64, &[s(12), s(10)], false, &with).0;
            assert_eq!(u128::from(size), (((1_u128 << n) - 1) << (a % 64)) & u128::from(u64::MAX));
        }
        for (offset, width) in [(0, 8), (4, 60), (60, 4), (0, 64), (3, 1), (7, 0)] {
            let with = |w: &mut Wave| {
                w.set_slot64(10, a);
                w.set_slot64(12, offset | width << 16);
            };
            let field = i128::from(a as i64) >> offset;
            let spare = 128 - width as u32;
            let expected = if width == 0 { 0 } else { (field << spare >> spare) as u64 };
            assert_eq!(scalar(Op::s_bfe_i64, &[s(10), s(12)], true, &with), (expected, expected != 0));
        }
        for scc in [false, true] {
            assert_eq!(scalar(Op::s_cmov_b64, &[s(10)], scc, &set), (if scc { a } else { OLD }, scc));
        }
    }
}

#[test]
fn scalar_constants_compare_unsigned() {
    let cases: [(Op, fn(u32, u32) -> bool); 6] = [
        (Op::s_cmpk_eq_u32, |a, b| a == b),
        (Op::s_cmpk_lg_u32, |a, b| a != b),
        (Op::s_cmpk_gt_u32, |a, b| a > b),
        (Op::s_cmpk_ge_u32, |a, b| a >= b),
        (Op::s_cmpk_lt_u32, |a, b| a < b),
        (Op::s_cmpk_le_u32, |a, b| a <= b),
    ];
    for (op, holds) in cases {
        for a in [0, 1, 0x7fff, 0x8000, 0xffff, 0x1_0000, u32::MAX] {
            for b in [0, 1, 0x7fff, 0x8000, 0xffff] {
                // The constant is not sign-extended.
                let code = inst(op, Operand::None, &[imm(b), s(4)]);
                let w = machine(&[code], DEFAULT_MODE, &|w| w.set_slot(4, a));
                assert_eq!(w.scc(), holds(a, b as u32), "{op} {a:#x} {b:#x}");
            }
        }
    }
}

#[test]
fn exec_and_relative_registers() {
    let (source, lanes) = (0xff00_ff00_1234_5678_u64, 0x0ff0_0ff0_ffff_0000_u64);
    for (op, expected) in [(Op::s_andn1_wrexec_b64, !source & lanes), (Op::s_andn2_wrexec_b64, source & !lanes)] {
        let w = machine(&[inst(op, s(0), &[s(10)])], DEFAULT_MODE, &|w| {
            w.set_slot64(10, source);
            w.set_exec(lanes);
        });
        assert_eq!((w.slot64(0), w.exec(), w.scc()), (expected, expected, true), "{op}");
    }
    let set_up = |w: &mut Wave| {
        w.set_slot(super::super::slot::M0, 4);
        (0..40).for_each(|i| w.set_slot(i, 100 + u32::from(i)));
    };
    let moved = |op| machine(&[inst(op, s(30), &[s(10)])], DEFAULT_MODE, &set_up);
    assert_eq!(moved(Op::s_movrels_b32).slot(30), 114);
    assert_eq!(moved(Op::s_movreld_b32).slot(34), 110);
    assert_eq!(moved(Op::s_movrels_b64).slot64(30), 114 | 115 << 32);
    assert_eq!(moved(Op::s_movreld_b64).slot64(34), 110 | 111 << 32);
}

#[test]
fn indexing_modes() {
    // The index is 2 for the sources only, then 3 for the destination only, then off.
    let mov = |dst, src| inst(Op::v_mov_b32, v(dst), &[v(src)]);
    let code = [
        inst(Op::s_set_gpr_idx_on, Operand::None, &[s(0), imm(1)]),
        mov(20, 0),
        inst(Op::s_set_gpr_idx_idx, Operand::None, &[s(1)]),
        inst(Op::s_set_gpr_idx_mode, Operand::None, &[imm(8)]),
        mov(20, 1),
        inst(Op::s_set_gpr_idx_off, Operand::None, &[]),
        mov(25, 1),
    ];
    // 32 registers.
    let w = machine(&code, DEFAULT_MODE | 3, &|w| {
        w.set_slot(0, 2);
        w.set_slot(1, 3);
        (0..8).for_each(|i| w.row_mut(i).fill(u32::from(i) + 1));
    });
    assert_eq!([20, 23, 25].map(|i| w.row(i)[9]), [3, 2, 2]);
}

#[test]
fn what_does_nothing_here() {
    let plain = |op: Op, sources: &[Operand]| inst(op, Operand::None, sources);
    let zero = [imm(0)];
    let mut code = Vec::new();
    for op in [
        Op::s_cbranch_cdbgsys,
        Op::s_cbranch_cdbguser,
        Op::s_cbranch_cdbgsys_or_user,
        Op::s_cbranch_cdbgsys_and_user,
        Op::s_setprio,
        Op::s_wakeup,
        Op::s_icache_inv,
        Op::s_incperflevel,
        Op::s_decperflevel,
        Op::s_ttracedata,
    ] {
        code.push(plain(op, &zero));
    }
    for op in [Op::s_dcache_inv, Op::s_dcache_inv_vol, Op::s_dcache_wb, Op::s_dcache_wb_vol, Op::v_nop, Op::v_clrexcp] {
        code.push(plain(op, &[]));
    }
    for op in [Op::s_dcache_discard, Op::s_dcache_discard_x2, Op::s_atc_probe, Op::s_atc_probe_buffer] {
        code.push(plain(op, &[s(4), imm(0), imm(0)]));
    }
    code.push(plain(Op::ds_nop, &[]));
    for op in [Op::buffer_wbinvl1, Op::buffer_wbinvl1_vol, Op::buffer_wbl2, Op::buffer_invl2, Op::buffer_inv] {
        code.push(plain(op, &[]));
    }
    code.push(inst(Op::s_mov_b32, s(0), &[Operand::Int(7)]));
    let w = machine(&code, DEFAULT_MODE, &|w| w.row_mut(0).fill(3));
    assert_eq!(w.slot(0), 7, "all went on to the end");
    assert_eq!((w.row(0)[5], w.exec(), w.mode.0), (3, u64::MAX, 0x3f0), "and changed nothing");
    let ends = machine(
        &[plain(Op::s_endpgm_saved, &[]), inst(Op::s_mov_b32, s(0), &[Operand::Int(7)])],
        DEFAULT_MODE,
        &|_| (),
    );
    assert_eq!(ends.slot(0), 0);
    let w = machine(&[inst(Op::v_accvgpr_mov_b32, Operand::Agpr(2), &[Operand::Agpr(1)])], DEFAULT_MODE, &|w| {
        let first = w.rows.len();
        assert!(first > 4);
        w.row_mut(2).fill(9);
    });
    // Accumulation registers follow the vector registers, of which there is one.
    assert_eq!(w.row(3)[11], 9);
}
