//! Sums of absolute differences, 8-bit floats, cube maps, and clamped integers.

use super::float::{f, same_single, singles};
use super::*;

fn clamped() -> Mods {
    Mods { clamp: true, ..Mods::default() }
}

fn byte(x: u64, i: usize) -> u64 {
    x >> (8 * i) & 0xff
}

fn differences(x: u64, reference: u64, masked: bool) -> u64 {
    (0..4).filter(|i| !masked || byte(reference, *i) != 0).map(|i| byte(x, i).abs_diff(byte(reference, i))).sum()
}

#[test]
fn sums_of_differences_at_four_places() {
    let mut random = Random::new(301);
    // Reference bytes are often zero.
    let mut x: Vec<Vec<u64>> = vec![Vec::new(); 3];
    for n in 0..600 {
        let (a, b, c) = (random.next(), random.next() & random.next(), random.next());
        x[0].push(if n % 7 == 0 { u64::MAX } else { a });
        x[1].push(b as u32 as u64 & if n % 5 == 0 { 0x00ff_00ff } else { u64::MAX });
        x[2].push(if n % 3 == 0 { c | 0xffc0_ffc0_ffc0_ffc0 } else { c });
    }
    for (op, masked) in [(Op::v_qsad_pk_u16_u8, false), (Op::v_mqsad_pk_u16_u8, true)] {
        for clamp in [false, true] {
            let mods = if clamp { clamped() } else { Mods::default() };
            check_with(op, mods, DEFAULT_MODE, &x, &|x| {
                (0..4).fold(0, |all, i| {
                    let sum = (x[2] >> (16 * i) & 0xffff) + differences(x[0] >> (8 * i), x[1], masked);
                    all | (if clamp { sum.min(0xffff) } else { sum & 0xffff }) << (16 * i)
                })
            });
        }
    }
}

#[test]
fn sums_of_differences_in_four_words() {
    let mut random = Random::new(302);
    let values: Vec<[u64; 4]> = (0..LANES).map(|_| [0; 4].map(|_| random.next())).collect();
    let exec = 0xfff0_1234_5678_abcf;
    for clamp in [false, true] {
        let mods = if clamp { clamped() } else { Mods::default() };
        let code = modified(Op::v_mqsad_u32_u8, v(0), &[v(4), v(6), v(8)], mods);
        let w = machine(&[code], DEFAULT_MODE, &|w| {
            w.set_exec(exec);
            for (lane, [a, b, c, d]) in values.iter().enumerate() {
                set_value(w, 4, 2, lane, *a);
                set_value(w, 6, 1, lane, *b & 0xffff_00ff);
                set_value(w, 8, 2, lane, *c | 0xffff_fff0);
                set_value(w, 10, 2, lane, *d);
            }
        });
        for (lane, [a, b, c, d]) in values.iter().enumerate() {
            let addends = [*c as u32 | 0xffff_fff0, (*c >> 32) as u32, *d as u32, (*d >> 32) as u32];
            for (i, addend) in addends.into_iter().enumerate() {
                let sum = u64::from(addend) + differences(a >> (8 * i), b & 0xffff_00ff, true);
                let sum = if clamp { sum.min(0xffff_ffff) } else { sum & 0xffff_ffff };
                let expected = if exec >> lane & 1 == 1 { sum as u32 } else { 0 };
                assert_eq!(w.row(i as u16)[lane], expected, "lane {lane}, word {i}");
            }
        }
    }
}

#[test]
fn clamped_integers_saturate() {
    let mut random = Random::new(303);
    let two = operands(2, WORDS, 256, &mut || random.next() & 0xffff_ffff);
    let three = operands(3, WORDS, 256, &mut || random.next() & 0xffff_ffff);
    let check = |op: Op, x: &[Vec<u64>], exact: &dyn Fn(&[i128]) -> i128, low: i128, high: i128, signed: bool| {
        check_with(op, clamped(), DEFAULT_MODE, x, &|x| {
            let wide = |x: &u64| if signed { i128::from(*x as u32 as i32) } else { i128::from(*x as u32) };
            let x: Vec<i128> = x.iter().map(wide).collect();
            exact(&x).clamp(low, high) as u32 as u64
        });
    };
    let (least, most, all) = (i128::from(i32::MIN), i128::from(i32::MAX), i128::from(u32::MAX));
    let s24 = |x: i128| i128::from((x as i32) << 8 >> 8);
    let u24 = |x: i128| x & 0xff_ffff;
    check(Op::v_mul_i32_i24, &two, &|x| s24(x[0]) * s24(x[1]), least, most, true);
    check(Op::v_mul_u32_u24, &two, &|x| u24(x[0]) * u24(x[1]), 0, all, false);
    let sad = |x: &[i128], masked| i128::from(differences(x[0] as u64, x[1] as u64, masked));
    check(Op::v_sad_hi_u8, &three, &|x| (sad(x, false) << 16) + x[2], 0, all, false);
    check(Op::v_msad_u8, &three, &|x| sad(x, true) + x[2], 0, all, false);
    check(
        Op::v_sad_u16,
        &three,
        &|x| ((x[0] & 0xffff) - (x[1] & 0xffff)).abs() + ((x[0] >> 16) - (x[1] >> 16)).abs() + x[2],
        0,
        all,
        false,
    );
    // With a carry: it is returned whether or not the result is clamped.
    for (op, reference) in [
        (Op::v_add_co_u32, (|a, b| (a + b).min(u64::from(u32::MAX))) as fn(u64, u64) -> u64),
        (Op::v_sub_co_u32, |a, b| a.saturating_sub(b)),
        (Op::v_subrev_co_u32, |a, b| b.saturating_sub(a)),
    ] {
        check_with(op, clamped(), DEFAULT_MODE, &two, &|x| reference(x[0], x[1]));
    }
    let code = Inst { dst2: s(10), ..modified(Op::v_mad_u64_u32, v(0), &[v(4), v(5), v(6)], clamped()) };
    let w = machine(&[code], DEFAULT_MODE, &|w| {
        for lane in 0..LANES {
            set_value(w, 4, 1, lane, 0xffff_ffff);
            set_value(w, 5, 1, lane, lane as u64);
            set_value(w, 6, 2, lane, u64::MAX - 0x1f_0000_0000);
        }
    });
    for lane in 0..LANES as u64 {
        let exact = u128::from(0xffff_ffff * lane) + u128::from(u64::MAX - 0x1f_0000_0000);
        let carry = exact > u128::from(u64::MAX);
        assert_eq!(value(&w, 0, 2, lane as usize), exact.min(u128::from(u64::MAX)) as u64);
        assert_eq!(w.slot64(10) >> lane & 1 == 1, carry, "lane {lane}");
    }
}

#[test]
fn cube_maps() {
    let three = singles(3);
    // As the manual has it, branch by branch.
    let which = |x: &[u64]| {
        let [a, b, c] = [f(x[0]), f(x[1]), f(x[2])];
        if c.abs() >= a.abs() && c.abs() >= b.abs() {
            (2, a, b, c, c < 0.0)
        } else if b.abs() >= a.abs() {
            (1, a, b, c, b < 0.0)
        } else {
            (0, a, b, c, a < 0.0)
        }
    };
    let check = |op, reference: &dyn Fn(&[u64]) -> f32| {
        same_single(op, Mods::default(), DEFAULT_MODE, &three, reference);
    };
    check(Op::v_cubeid_f32, &|x| {
        let (axis, .., negative) = which(x);
        (2 * axis + i32::from(negative)) as f32
    });
    check(Op::v_cubesc_f32, &|x| match which(x) {
        (2, a, .., true) => -a,
        (2 | 1, a, ..) => a,
        (_, _, _, c, true) => c,
        (_, _, _, c, false) => -c,
    });
    check(Op::v_cubetc_f32, &|x| match which(x) {
        (1, _, _, c, true) => -c,
        (1, _, _, c, false) => c,
        (_, _, b, ..) => -b,
    });
    check(Op::v_cubema_f32, &|x| match which(x) {
        (2, _, _, c, _) => c * 2.0,
        (1, _, b, ..) => b * 2.0,
        (_, a, ..) => a * 2.0,
    });
}

/// The value of an 8-bit float without infinities and negative zero: `bias` and mantissa bits; `None` is NaN.
fn small_float(code: u8, bias: i32, mantissa: i32) -> Option<f64> {
    let sign = if code & 0x80 != 0 { -1.0 } else { 1.0 };
    let exponent = i32::from(code & 0x7f) >> mantissa;
    let fraction = f64::from(code & ((1 << mantissa) - 1)) / f64::from(1 << mantissa);
    match (code, exponent) {
        (0x80, _) => None,
        (_, 0) => Some(sign * fraction * 2_f64.powi(1 - bias)),
        _ => Some(sign * (1.0 + fraction) * 2_f64.powi(exponent - bias)),
    }
}

const FORMATS: [(Op, Op, Op, Op, i32, i32); 2] = [
    (Op::v_cvt_f32_fp8, Op::v_cvt_pk_f32_fp8, Op::v_cvt_pk_fp8_f32, Op::v_cvt_sr_fp8_f32, 8, 3),
    (Op::v_cvt_f32_bf8, Op::v_cvt_pk_f32_bf8, Op::v_cvt_pk_bf8_f32, Op::v_cvt_sr_bf8_f32, 16, 2),
];

#[test]
fn small_floats_widen() {
    for (single, pair, _, _, bias, mantissa) in FORMATS {
        let reference = |code: u64| small_float(code as u8, bias, mantissa).map_or(f32::NAN, |x| x as f32);
        let codes = vec![(0..256).map(|c: u64| c | (255 - c) << 8 | 0xabcd << 16).collect::<Vec<u64>>()];
        same_single(single, Mods::default(), DEFAULT_MODE, &codes, &|x| reference(x[0]));
        for (i, got) in float::evaluate(pair, Mods::default(), DEFAULT_MODE, &codes).into_iter().enumerate() {
            for (half, code) in [(got, i as u64), (got >> 32, 255 - i as u64)] {
                assert_eq!(canonical32(half as u32), canonical32(reference(code).to_bits()), "{pair} of {code:#x}");
            }
        }
    }
    // SDWA picks the byte.
    let select = crate::isa::inst::Sdwa { src_sel: [crate::isa::SdwaSel::Byte2; 2], ..Default::default() };
    let plain = inst(Op::v_cvt_f32_fp8, v(0), &[v(4)]);
    let code = Inst { format: Format::Sdwa, mods: Mods { sdwa: Some(select), ..plain.mods }, ..plain };
    let w = machine(&[code], DEFAULT_MODE, &|w| w.row_mut(4).fill(0x0040_0000));
    assert_eq!(w.row(0)[0], 1.0_f32.to_bits());
}

/// The codes of the nearest values below and above (or equal to) `x`, for non-negative numbers.
fn around(x: f64, bias: i32, mantissa: i32) -> (u8, Option<u8>) {
    let value = |code: u8| small_float(code, bias, mantissa).expect("a number");
    let below = (0..0x80_u8).rev().find(|c| value(*c) <= x).expect("zero");
    let above = if value(below) == x { Some(below) } else { Some(below + 1).filter(|c| *c < 0x80) };
    (below, above)
}

#[test]
fn singles_narrow_to_the_nearest_small_float() {
    for (_, _, pack, _, bias, mantissa) in FORMATS {
        let value = |code: u8| small_float(code, bias, mantissa).expect("a number");
        let most = value(0x7f);
        // The value after the largest, if it existed.
        let beyond = 2.0 * most - value(0x7e);
        let reference = |x: f32, saturate: bool| -> u8 {
            let size = f64::from(x.abs());
            if !x.is_finite() {
                return 0x80;
            }
            let (below, above) = around(size, bias, mantissa);
            let next = above.map_or(beyond, value);
            let middle = (value(below) + next) / 2.0;
            let up = size > middle || size == middle && below & 1 == 1;
            let magnitude = match (up && Some(below) != above, above) {
                (false, _) => below,
                (true, Some(above)) => above,
                (true, None) if saturate => 0x7f,
                (true, None) => return 0x80,
            };
            if magnitude != 0 && x < 0.0 { magnitude | 0x80 } else { magnitude }
        };
        let mut x = singles(2);
        let mut random = Random::new(305);
        // All values, the midpoints between them and their neighbours, and other numbers in their range.
        for code in 0..0x80_u8 {
            let next = if code == 0x7f { beyond } else { value(code + 1) };
            let middle = (((value(code) + next) / 2.0) as f32).to_bits();
            for bits in [(value(code) as f32).to_bits(), middle, middle - 1, middle + 1] {
                x[0].push(u64::from(bits));
                x[1].push(u64::from(bits | 1 << 31));
            }
        }
        for _ in 0..2000 {
            let r = random.next();
            x[0].push(r & 0x807f_ffff | (100 + (r >> 32) % 48) << 23);
            x[1].push(random.next() & 0xffff_ffff);
        }
        for (place, saturate) in [(0, false), (8, false), (0, true)] {
            let mods = Mods { op_sel: place, ..Mods::default() };
            let rsrc1 = DEFAULT_MODE | u32::from(saturate) << 26;
            for (i, got) in float::evaluate(pack, mods, rsrc1, &x).into_iter().enumerate() {
                let [a, b] = [f(x[0][i]), f(x[1][i])].map(|x| u32::from(reference(x, saturate)));
                let old = OLD as u32;
                let both = a | b << 8;
                let expected = if place == 0 { old & 0xffff_0000 | both } else { old & 0xffff | both << 16 };
                assert_eq!(got as u32, expected, "{pack} of {} and {}", f(x[0][i]), f(x[1][i]));
            }
        }
    }
}

#[test]
fn stochastic_rounding_goes_up_as_often_as_it_should() {
    for (_, _, _, round, bias, mantissa) in FORMATS {
        let value = |code: u8| small_float(code, bias, mantissa).expect("a number");
        let mut random = Random::new(306);
        let numbers: Vec<f32> = (0..64)
            .map(|i| {
                let r = random.next();
                f32::from_bits((r & 0x807f_ffff) as u32 | (127 - bias as u32 + 1 - mantissa as u32 + i % 12) << 23)
            })
            .collect();
        for place in [0, 4, 8, 12] {
            let dropped = 23 - mantissa;
            for x in numbers.iter().take(16) {
                // Seeds are evenly distributed in their upper bits: the fraction of results rounded up is the distance from below.
                let count = 4096_u64;
                let seeds: Vec<u64> = (0..count).map(|n| (n << 20) | random.next() & 0xf_ffff).collect();
                let operands = vec![vec![u64::from(x.to_bits()); seeds.len()], seeds];
                let mods = Mods { op_sel: place, ..Mods::default() };
                let (below, above) = around(f64::from(x.abs()), bias, mantissa);
                let above = above.expect("not the largest");
                let sign = |code: u8| if *x < 0.0 && code != 0 { code | 0x80 } else { code };
                let mut up = 0;
                let at = 8 * (u32::from(place) >> 2 & 3);
                for got in float::evaluate(round, mods, DEFAULT_MODE, &operands) {
                    let code = (got >> at) as u8;
                    assert_eq!(got as u32 & !(0xff << at), OLD as u32 & !(0xff << at), "the other bytes stay");
                    assert!(code == sign(below) || code == sign(above), "{x}: {code:#x} ({dropped} bits)");
                    up += u32::from(code == sign(above));
                }
                let span = value(above) - value(below);
                let share = if span == 0.0 { 1.0 } else { (f64::from(x.abs()) - value(below)) / span };
                assert!((f64::from(up) / count as f64 - share).abs() < 0.002, "{x}: {up} of {count}, not {share}");
            }
        }
    }
    // Zero, infinity and NaN are unchanged, whatever the seed.
    let x = vec![vec![0, 0x8000_0000, 0x7f80_0000, 0x7fc0_0000], vec![0xffff_ffff; 4]];
    let got = float::evaluate(Op::v_cvt_sr_fp8_f32, Mods::default(), DEFAULT_MODE, &x);
    assert_eq!(got.iter().map(|x| x & 0xff).collect::<Vec<_>>(), [0, 0, 0x80, 0x80]);
}
