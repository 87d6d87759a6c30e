//! The division sequence that compilers emit gives correctly rounded quotients.

use super::float::{d, doubles, f, singles};
use super::*;

/// The sequence, for numerators in `v0` and denominators in `v2`, quotient to `v4`; `neg` marks the operand that is
/// negated.
fn sequence(double: bool) -> Vec<Inst> {
    let op = |single, wide| if double { wide } else { single };
    let (scale, fma) = (op(Op::v_div_scale_f32, Op::v_div_scale_f64), op(Op::v_fma_f32, Op::v_fma_f64));
    let negated = Mods { neg: 1, ..Mods::default() };
    let one = Operand::Float(crate::isa::InlineFloat::One);
    let with_mask = |mask, inst: Inst| Inst { dst2: mask, ..inst };
    let mut code = vec![
        with_mask(s(10), inst(scale, v(6), &[v(2), v(2), v(0)])),
        with_mask(VCC, inst(scale, v(8), &[v(0), v(2), v(0)])),
        inst(op(Op::v_rcp_f32, Op::v_rcp_f64), v(10), &[v(6)]),
        modified(fma, v(12), &[v(6), v(10), one], negated),
        inst(fma, v(10), &[v(12), v(10), v(10)]),
    ];
    if double {
        code.push(modified(fma, v(12), &[v(6), v(10), one], negated));
        code.push(inst(fma, v(10), &[v(10), v(12), v(10)]));
        code.push(inst(Op::v_mul_f64, v(14), &[v(8), v(10)]));
    } else {
        code.push(inst(Op::v_mul_f32, v(14), &[v(8), v(10)]));
        code.push(modified(fma, v(12), &[v(6), v(14), v(8)], negated));
        code.push(inst(fma, v(14), &[v(12), v(10), v(14)]));
    }
    code.push(modified(fma, v(12), &[v(6), v(14), v(8)], negated));
    code.push(inst(op(Op::v_div_fmas_f32, Op::v_div_fmas_f64), v(10), &[v(12), v(10), v(14)]));
    code.push(inst(op(Op::v_div_fixup_f32, Op::v_div_fixup_f64), v(4), &[v(10), v(2), v(0)]));
    code
}

fn divide(double: bool, x: &[Vec<u64>], quotient: &dyn Fn(u64, u64) -> u64, is_nan: &dyn Fn(u64) -> bool) {
    let registers = if double { 2 } else { 1 };
    let code = sequence(double);
    for base in (0..x[0].len()).step_by(LANES) {
        let count = (x[0].len() - base).min(LANES);
        let w = machine(&code, DEFAULT_MODE, &|w| {
            for lane in 0..count {
                set_value(w, 0, registers, lane, x[0][base + lane]);
                set_value(w, 2, registers, lane, x[1][base + lane]);
            }
        });
        for lane in 0..count {
            let (n, d) = (x[0][base + lane], x[1][base + lane]);
            let (got, expected) = (value(&w, 4, registers, lane), quotient(n, d));
            assert!(got == expected || is_nan(got) && is_nan(expected), "{n:#x} / {d:#x}: {got:#x}, not {expected:#x}");
        }
    }
}

#[test]
fn single_quotients_are_correctly_rounded() {
    let mut x = singles(2);
    let mut random = Random::new(71);
    // Everywhere in the range, quotients that are denormal or nearly overflow among them.
    for _ in 0..20_000 {
        x[0].push(random.next() >> 32);
        x[1].push(random.next() >> 32);
    }
    for _ in 0..20_000 {
        let r = random.next();
        x[0].push((r & 0x7f_ffff) | (r >> 23 & 0x3f) << 23);
        x[1].push((r >> 32 & 0x7f_ffff) | (0x60 + (r >> 58)) << 23);
    }
    // A quotient of singles rounded by way of double is correctly rounded where it is normal; the host's own division is everywhere.
    divide(false, &x, &|n, d| u64::from((f(n) / f(d)).to_bits()), &|x| f(x).is_nan());
}

#[test]
fn double_quotients_are_correctly_rounded() {
    let mut x = doubles(2);
    let mut random = Random::new(72);
    for _ in 0..20_000 {
        x[0].push(random.next());
        x[1].push(random.next());
    }
    // Quotients around and below the least normal number.
    for _ in 0..20_000 {
        let r = random.next();
        x[0].push((r & ((1 << 52) - 1)) | (r >> 56 & 0x3f) << 52);
        x[1].push((random.next() & ((1 << 52) - 1)) | (0x3f0 + (r >> 58)) << 52);
    }
    divide(true, &x, &|n, q| (d(n) / d(q)).to_bits(), &|x| d(x).is_nan());
}

#[test]
fn halfway_quotients_round_to_even() {
    // Small integers over powers of two, scaled into the denormals: ties at every place.
    let mut x = vec![Vec::new(), Vec::new()];
    for n in 1..2048_u64 {
        for power in [1_u64, 2, 3, 4] {
            x[0].push((n as f64 * 2_f64.powi(-1022)).to_bits());
            x[1].push(2_f64.powi(52 + power as i32).to_bits());
        }
    }
    divide(true, &x, &|n, q| (d(n) / d(q)).to_bits(), &|x| d(x).is_nan());
    let mut x = vec![Vec::new(), Vec::new()];
    for n in 1..2048_u64 {
        for power in [1, 2, 3, 4] {
            x[0].push(u64::from((n as f32 * 2_f32.powi(-126)).to_bits()));
            x[1].push(u64::from(2_f32.powi(23 + power).to_bits()));
        }
    }
    divide(false, &x, &|n, d| u64::from((f(n) / f(d)).to_bits()), &|x| f(x).is_nan());
}
