//! Conversions: rounding, saturation, NaN.

use super::float::{check_single, d, doubles, evaluate, f, singles};
use super::*;

#[test]
fn floats_to_integers_truncate_and_saturate() {
    let limit = |x: f64, low: f64, high: f64| if x.is_nan() { 0 } else { x.trunc().clamp(low, high) as i64 as u32 };
    let (i, u) = ((-2_147_483_648.0, 2_147_483_647.0), (0.0, 4_294_967_295.0));
    check(Op::v_cvt_i32_f32, &singles(1), &|x| u64::from(limit(f64::from(f(x[0])), i.0, i.1)));
    check(Op::v_cvt_u32_f32, &singles(1), &|x| u64::from(limit(f64::from(f(x[0])), u.0, u.1)));
    check(Op::v_cvt_i32_f64, &doubles(1), &|x| u64::from(limit(d(x[0]), i.0, i.1)));
    check(Op::v_cvt_u32_f64, &doubles(1), &|x| u64::from(limit(d(x[0]), u.0, u.1)));
    check(Op::v_cvt_flr_i32_f32, &singles(1), &|x| u64::from(limit(f64::from(f(x[0])).floor(), i.0, i.1)));
    check(Op::v_cvt_rpi_i32_f32, &singles(1), &|x| u64::from(limit((f64::from(f(x[0])) + 0.5).floor(), i.0, i.1)));
    let h = |x: u64| ::half::f16::from_bits(x as u16).to_f64();
    let all = vec![(0..0x1_0000).collect::<Vec<u64>>()];
    check(Op::v_cvt_i16_f16, &all, &|x| u64::from(limit(h(x[0]), -32768.0, 32767.0) as u16));
    check(Op::v_cvt_u16_f16, &all, &|x| u64::from(limit(h(x[0]), 0.0, 65535.0) as u16));
}

#[test]
fn integers_to_floats_round_to_nearest() {
    let mut random = Random::new(21);
    let x = operands(1, WORDS, 4096, &mut || random.next() & 0xffff_ffff);
    // Every 32-bit integer is exact in double.
    check_single(Op::v_cvt_f32_i32, DEFAULT_MODE, &x, &|x| f64::from(x[0] as i32) as f32);
    check_single(Op::v_cvt_f32_u32, DEFAULT_MODE, &x, &|x| f64::from(x[0] as u32) as f32);
    check(Op::v_cvt_f64_i32, &x, &|x| f64::from(x[0] as i32).to_bits());
    check(Op::v_cvt_f64_u32, &x, &|x| f64::from(x[0] as u32).to_bits());
    for (n, op) in
        [Op::v_cvt_f32_ubyte0, Op::v_cvt_f32_ubyte1, Op::v_cvt_f32_ubyte2, Op::v_cvt_f32_ubyte3].into_iter().enumerate()
    {
        check_single(op, DEFAULT_MODE, &x, &|x| f32::from((x[0] as u32).to_le_bytes()[n]));
    }
    let all = vec![(0..0x1_0000).collect::<Vec<u64>>()];
    check(Op::v_cvt_f16_u16, &all, &|x| u64::from(::half::f16::from_f64(x[0] as f64).to_bits()));
    check(Op::v_cvt_f16_i16, &all, &|x| u64::from(::half::f16::from_f64(f64::from(x[0] as u16 as i16)).to_bits()));
}

#[test]
fn between_float_widths() {
    check_single(Op::v_cvt_f32_f64, DEFAULT_MODE, &doubles(1), &|x| d(x[0]) as f32);
    for (i, got) in evaluate(Op::v_cvt_f64_f32, Mods::default(), DEFAULT_MODE, &singles(1)).iter().enumerate() {
        let x = f(singles(1)[0][i]);
        assert!(x.is_nan() && d(*got).is_nan() || d(*got) == f64::from(x), "{x}");
    }
    // Toward zero: the half next to zero of the nearest one, if that is further out.
    check(Op::v_cvt_pkrtz_f16_f32, &singles(2), &|x| {
        let cut = |x: f32| {
            let nearest = ::half::f16::from_f32(x);
            let bits = nearest.to_bits();
            let further = nearest.to_f64().abs() > f64::from(x).abs();
            u64::from(if further && !x.is_nan() { bits - 1 } else { bits })
        };
        cut(f(x[0])) | cut(f(x[1])) << 16
    });
}

#[test]
fn packing() {
    let mut random = Random::new(22);
    let words = operands(2, WORDS, 256, &mut || random.next() & 0xffff_ffff);
    check(Op::v_cvt_pk_u16_u32, &words, &|x| x[0].min(0xffff) | x[1].min(0xffff) << 16);
    check(Op::v_cvt_pk_i16_i32, &words, &|x| {
        let limit = |x: u64| u64::from(i64::from(x as i32).clamp(-32768, 32767) as u16);
        limit(x[0]) | limit(x[1]) << 16
    });
    let norm = |x: f32, low: f64, scale: f64| {
        if x.is_nan() { 0 } else { u64::from((f64::from(x).clamp(low, 1.0) * scale).round_ties_even() as i64 as u16) }
    };
    // Singles that are not within a rounding error of a tie.
    let plain: Vec<u64> = [0.0_f32, -0.0, 0.1, -0.1, 0.7, -0.7, 1.0, -1.0, 2.0, -2.0, 1e30, -1e30, f32::NAN, 0.333]
        .iter()
        .map(|x| u64::from(x.to_bits()))
        .collect();
    let x = operands(2, &plain, 0, &mut || 0);
    check(Op::v_cvt_pknorm_i16_f32, &x, &|x| norm(f(x[0]), -1.0, 32767.0) | norm(f(x[1]), -1.0, 32767.0) << 16);
    check(Op::v_cvt_pknorm_u16_f32, &x, &|x| norm(f(x[0]), 0.0, 65535.0) | norm(f(x[1]), 0.0, 65535.0) << 16);
    let bytes = operands(
        3,
        &[0, 1, 2, 3, 0x437f_0000, 0x4380_0000, 0x3f00_0000, 0x4020_0000, 0xc020_0000, 0x7fc0_0000, 0x1234_5678],
        0,
        &mut || 0,
    );
    check(Op::v_cvt_pk_u8_f32, &bytes, &|x| {
        let byte = f64::from(f(x[0])).round_ties_even();
        let byte = if byte.is_nan() { 0 } else { byte.clamp(0.0, 255.0) as u8 };
        let mut all = (x[2] as u32).to_le_bytes();
        all[x[1] as usize % 4] = byte;
        u64::from(u32::from_le_bytes(all))
    });
}
