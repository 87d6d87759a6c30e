//! Rounding modes, half-precision overflow, and changes of IEEE and DX10_CLAMP by code.

use super::*;

/// A MODE with rounding modes for single precision and for the others, denormals kept.
fn rounding(single: u32, other: u32) -> u32 {
    DEFAULT_MODE | (single | other << 2) << 12
}

/// A float format: mantissa bits and exponent bits.
#[derive(Clone, Copy)]
struct Layout(u32, u32);

const HALF: Layout = Layout(10, 5);
const SINGLE: Layout = Layout(23, 8);
const DOUBLE: Layout = Layout(52, 11);

impl Layout {
    /// All finite numbers are `n * unit`: a number as such an integer is exact, but large. Here: mantissa and power of
    /// two.
    fn parts(self, bits: u64) -> Option<(i128, i32)> {
        let Layout(m, e) = self;
        let exponent = (bits >> m & ((1 << e) - 1)) as i32;
        if exponent == (1 << e) - 1 {
            return None;
        }
        let mantissa = i128::from(bits & ((1 << m) - 1)) + if exponent != 0 { 1 << m } else { 0 };
        let power = exponent.max(1) - ((1 << (e - 1)) - 1) - m as i32;
        Some((if bits >> (m + e) & 1 == 1 { -mantissa } else { mantissa }, power))
    }

    /// The neighbours below and above (or equal) of a rational number, by search among all codes, which are ordered.
    /// `compare` orders the value of a code relative to the number.
    fn neighbours(self, negative: bool, compare: &dyn Fn(u64) -> std::cmp::Ordering) -> (u64, u64) {
        let Layout(m, e) = self;
        let infinity = ((1_u64 << e) - 1) << m;
        let sign = u64::from(negative) << (m + e);
        // The largest finite magnitude that is not more than the number's.
        let (mut low, mut high) = (0, infinity);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if compare(sign | middle) == std::cmp::Ordering::Greater { high = middle } else { low = middle }
        }
        let above = if compare(sign | low) == std::cmp::Ordering::Equal { low } else { low + 1 };
        (sign | low, sign | above)
    }
}

/// A number in any precision: sign, digits base 2^32 (lowest first), power of two.
#[derive(Clone, Debug)]
struct Big(bool, Vec<u32>, i32);

impl Big {
    fn new((n, power): (i128, i32)) -> Big {
        let u = n.unsigned_abs();
        Big(n < 0, (0..4).map(|i| (u >> (32 * i)) as u32).collect(), power)
    }

    fn times(&self, b: &Big) -> Big {
        let mut digits = vec![0_u32; self.1.len() + b.1.len() + 1];
        for (i, x) in self.1.iter().enumerate() {
            let mut carry = 0;
            for (j, y) in b.1.iter().chain([&0]).enumerate() {
                let sum = u64::from(digits[i + j]) + u64::from(*x) * u64::from(*y) + carry;
                digits[i + j] = sum as u32;
                carry = sum >> 32;
            }
        }
        Big(self.0 != b.0, digits, self.2 + b.2)
    }

    /// The digits with the power brought down to `power`.
    fn at(&self, power: i32) -> Vec<u32> {
        let by = (self.2 - power) as usize;
        let mut digits = vec![0; by / 32];
        let shift = by % 32;
        let mut carry = 0_u64;
        for digit in self.1.iter().chain([&0]) {
            let wide = u64::from(*digit) << shift | carry;
            digits.push(wide as u32);
            carry = wide >> 32;
        }
        digits
    }

    fn plus(&self, b: &Big) -> Big {
        let power = self.2.min(b.2);
        let (mut x, mut y) = (self.at(power), b.at(power));
        let length = x.len().max(y.len()) + 1;
        x.resize(length, 0);
        y.resize(length, 0);
        let add = |x: &[u32], y: &[u32]| -> Vec<u32> {
            let mut carry = 0;
            let mut out = Vec::new();
            for (a, b) in x.iter().zip(y) {
                let sum = u64::from(*a) + u64::from(*b) + carry;
                out.push(sum as u32);
                carry = sum >> 32;
            }
            out
        };
        let less = |x: &[u32], y: &[u32]| x.iter().rev().lt(y.iter().rev());
        let minus = |x: &[u32], y: &[u32]| -> Vec<u32> {
            let mut borrow = 0;
            let mut out = Vec::new();
            for (a, b) in x.iter().zip(y) {
                let difference = i64::from(*a) - i64::from(*b) - borrow;
                out.push(difference as u32);
                borrow = i64::from(difference < 0);
            }
            out
        };
        if self.0 == b.0 {
            Big(self.0, add(&x, &y), power)
        } else if less(&x, &y) {
            Big(b.0, minus(&y, &x), power)
        } else {
            Big(self.0, minus(&x, &y), power)
        }
    }

    fn is_zero(&self) -> bool {
        self.1.iter().all(|d| *d == 0)
    }

    /// Compares magnitudes.
    fn compare(&self, b: &Big) -> std::cmp::Ordering {
        let power = self.2.min(b.2);
        let (mut x, mut y) = (self.at(power), b.at(power));
        let length = x.len().max(y.len());
        x.resize(length, 0);
        y.resize(length, 0);
        x.iter().rev().cmp(y.iter().rev())
    }

    /// The code in a format, and a mode; `zero` is the sign if it is zero.
    fn round(&self, layout: Layout, mode: u32, zero: bool) -> u64 {
        let Layout(m, e) = layout;
        if self.is_zero() {
            return u64::from(zero) << (m + e);
        }
        let of = |bits: u64| Big::new(layout.parts(bits).expect("finite"));
        let (below, above) = layout.neighbours(self.0, &|bits| of(bits).compare(self));
        if below == above {
            return below;
        }
        let infinity = ((1_u64 << e) - 1) << m | u64::from(self.0) << (m + e);
        match mode {
            1 => return if self.0 { below } else { above },
            2 => return if self.0 { above } else { below },
            3 => return below,
            _ => {}
        }
        // Half way between the neighbours; beyond the largest number, as if another one followed.
        let next = if above == infinity {
            let (n, power) = layout.parts(below).expect("finite");
            Big::new((n + n.signum(), power))
        } else {
            of(above)
        };
        let twice = Big(self.0, self.1.clone(), self.2 + 1);
        match twice.compare(&of(below).plus(&next)) {
            std::cmp::Ordering::Less => below,
            std::cmp::Ordering::Greater => above,
            std::cmp::Ordering::Equal => below + (below & 1),
        }
    }
}

/// `a * b + c`, in a format; `None` where an operand is not finite.
fn exact(layout: Layout, to: Layout, mode: u32, [a, b, c]: [u64; 3]) -> Option<u64> {
    let sign = |x: u64| x >> (layout.0 + layout.1) & 1 == 1;
    let [x, y, z] = [a, b, c].map(|n| layout.parts(n).map(Big::new));
    let product = x?.times(&y?);
    let z = z?;
    let same = sign(a) ^ sign(b) == sign(c);
    let zero = if same && product.is_zero() && z.is_zero() { sign(c) } else { mode == 2 };
    Some(product.plus(&z).round(to, mode, zero))
}

fn one(layout: Layout) -> u64 {
    (((1 << (layout.1 - 1)) - 1) as u64) << layout.0
}

type Reference<'a> = &'a dyn Fn(&[u64], u32) -> Option<u64>;

/// Checks all modes, for operands with a known reference. `single`: the mode for single precision applies.
fn check_modes(op: Op, single: bool, x: &[Vec<u64>], reference: Reference<'_>) {
    for mode in 0..4 {
        let rsrc1 = if single { rounding(mode, 0) } else { rounding(0, mode) };
        // A mixed operation reads singles unless `op_sel_hi` says otherwise.
        let mods = if op == Op::v_fma_mix_f32 { Mods::default() } else { inst(op, v(0), &[]).mods };
        let results = float::evaluate(op, mods, rsrc1, x);
        let mut compared = 0;
        for (i, got) in results.iter().enumerate() {
            let args: Vec<u64> = x.iter().map(|o| o[i]).collect();
            if let Some(expected) = reference(&args, mode) {
                assert_eq!(*got, expected, "{op} of {args:x?} in mode {mode}: {got:#x}, not {expected:#x}");
                compared += 1;
            }
        }
        assert!(compared > results.len() / 4, "{op}: hardly anything compared");
    }
}

/// Operands of similar magnitude, so that sums cancel and round.
fn near(count: usize, layout: Layout, special: &[u64], seed: u64) -> Vec<Vec<u64>> {
    let mut random = Random::new(seed);
    let mut some = 0;
    let Layout(m, e) = layout;
    let middle = (1_u64 << (e - 1)) - 1;
    operands(count, special, 200, &mut || {
        some += 1;
        let bits = random.next();
        if some % 3 == 0 {
            return bits & (u64::MAX >> (63 - m - e));
        }
        let exponent = (middle + (bits >> 58) % 6).wrapping_sub(2);
        bits & ((1 << m) - 1) | exponent << m | (bits >> 57 & 1) << (m + e)
    })
}

fn few(all: &[u64]) -> Vec<u64> {
    all.iter().copied().step_by(2).collect()
}

#[test]
fn single_precision() {
    let two = near(2, SINGLE, &few(SINGLES), 201);
    let three = near(3, SINGLE, &few(&few(SINGLES)), 202);
    let f = |mode, x| exact(SINGLE, SINGLE, mode, x);
    let (one, minus) = (one(SINGLE), 0x8000_0000);
    check_modes(Op::v_add_f32, true, &two, &|x, mode| f(mode, [x[0], one, x[1]]));
    check_modes(Op::v_sub_f32, true, &two, &|x, mode| f(mode, [x[0], one, x[1] ^ minus]));
    check_modes(Op::v_subrev_f32, true, &two, &|x, mode| f(mode, [x[1], one, x[0] ^ minus]));
    check_modes(Op::v_mul_f32, true, &two, &|x, mode| f(mode, [x[0], x[1], (x[0] ^ x[1]) & minus]));
    check_modes(Op::v_fma_f32, true, &three, &|x, mode| f(mode, [x[0], x[1], x[2]]));
    check_modes(Op::v_fma_mix_f32, true, &three, &|x, mode| f(mode, [x[0], x[1], x[2]]));
}

#[test]
fn double_precision() {
    let two = near(2, DOUBLE, &few(DOUBLES), 203);
    let three = near(3, DOUBLE, &few(&few(DOUBLES)), 204);
    let f = |mode, x| exact(DOUBLE, DOUBLE, mode, x);
    check_modes(Op::v_add_f64, false, &two, &|x, mode| f(mode, [x[0], one(DOUBLE), x[1]]));
    check_modes(Op::v_mul_f64, false, &two, &|x, mode| f(mode, [x[0], x[1], (x[0] ^ x[1]) & 1 << 63]));
    check_modes(Op::v_fma_f64, false, &three, &|x, mode| f(mode, [x[0], x[1], x[2]]));
}

#[test]
fn half_precision() {
    let two = near(2, HALF, HALVES, 205);
    let three = near(3, HALF, &few(HALVES), 206);
    let f = |mode, x| exact(HALF, HALF, mode, x);
    let sign = 0x8000;
    check_modes(Op::v_add_f16, false, &two, &|x, mode| f(mode, [x[0], one(HALF), x[1]]));
    check_modes(Op::v_sub_f16, false, &two, &|x, mode| f(mode, [x[0], one(HALF), x[1] ^ sign]));
    check_modes(Op::v_mul_f16, false, &two, &|x, mode| f(mode, [x[0], x[1], (x[0] ^ x[1]) & sign]));
    check_modes(Op::v_mad_legacy_f16, false, &three, &|x, mode| {
        let product = f(mode, [x[0], x[1], (x[0] ^ x[1]) & sign])?;
        f(mode, [product, one(HALF), x[2]])
    });
    let pairs: Vec<Vec<u64>> = two.iter().map(|o| o.iter().map(|x| x | (x ^ sign) << 16).collect()).collect();
    check_modes(Op::v_pk_add_f16, false, &pairs, &|x, mode| {
        let half = |by: u32| f(mode, [x[0] >> by & 0xffff, one(HALF), x[1] >> by & 0xffff]);
        Some(half(0)? | half(16)? << 16)
    });
}

#[test]
fn conversions_and_scaling() {
    let mut random = Random::new(207);
    let words = operands(1, WORDS, 500, &mut || random.next() & 0xffff_ffff);
    let integer = |n: i64, mode| Some(Big::new((i128::from(n), 0)).round(SINGLE, mode, false));
    check_modes(Op::v_cvt_f32_u32, true, &words, &|x, mode| integer(x[0] as i64, mode));
    check_modes(Op::v_cvt_f32_i32, true, &words, &|x, mode| integer(i64::from(x[0] as i32), mode));
    let sign64 = 1 << 63;
    let doubles = near(1, DOUBLE, DOUBLES, 208);
    let narrow = |x: u64, from: Layout, to: Layout, mode, minus: u64| {
        Some(Big::new(from.parts(x)?).round(to, mode, x & minus != 0))
    };
    check_modes(Op::v_cvt_f32_f64, true, &doubles, &|x, mode| narrow(x[0], DOUBLE, SINGLE, mode, sign64));
    let mut singles = near(1, SINGLE, SINGLES, 209);
    // Around what a half can hold.
    singles[0].extend((0..64).map(|n| 0x477f_c000 + n * 0x400));
    singles[0].extend((0..64).map(|n| 0x3300_0000 + n * 0x2_0000));
    check_modes(Op::v_cvt_f16_f32, false, &singles, &|x, mode| narrow(x[0], SINGLE, HALF, mode, 1 << 31));
    let mut scale = near(2, SINGLE, SINGLES, 210);
    for (n, by) in scale[1].iter_mut().enumerate() {
        *by = (n as i64 % 320 - 160) as u32 as u64;
    }
    check_modes(Op::v_ldexp_f32, true, &scale, &|x, mode| {
        let (n, power) = SINGLE.parts(x[0])?;
        Some(Big::new((n, power + x[1] as i32)).round(SINGLE, mode, x[0] >> 31 == 1))
    });
    let far = vec![vec![0x3f80_0001; 4], vec![5000, 0x7fff_ffff, 0xffff_ec78, 0x8000_0000]];
    let limits = [[0x7f80_0000, 0x7f80_0000, 0, 0], [0x7f80_0000, 0x7f80_0000, 1, 1], [0x7f7f_ffff, 0x7f7f_ffff, 0, 0]];
    for (mode, expected) in limits.into_iter().enumerate() {
        let got = float::evaluate(Op::v_ldexp_f32, Mods::default(), rounding(mode as u32, 0), &far);
        assert_eq!(got, expected, "mode {mode}");
    }
}

#[test]
fn code_changes_the_mode() {
    let hwreg = |offset: i32, width: i32| imm(1 | offset << 6 | (width - 1) << 11);
    let set = |offset, width, value| {
        inst(Op::s_setreg_imm32_b32, Operand::None, &[hwreg(offset, width), Operand::Literal(value)])
    };
    let add = |dst| inst(Op::v_add_f32, v(dst), &[v(1), v(2)]);
    // 1 + 2^-30 in the modes one after the other, and back.
    let code = [add(3), set(0, 2, 1), add(4), set(0, 4, 2), add(5), set(0, 2, 0), add(6)];
    let set_up = |w: &mut Wave| {
        w.row_mut(1).fill(1.0_f32.to_bits());
        w.row_mut(2).fill(2_f32.powi(-30).to_bits());
    };
    let w = machine(&code, DEFAULT_MODE, &set_up);
    assert_eq!([3, 4, 5, 6].map(|r| w.row(r)[7]), [0x3f80_0000, 0x3f80_0001, 0x3f80_0000, 0x3f80_0000]);

    // IEEE: a signalling NaN is quieted, and a number is preferred to it.
    let min = |dst| inst(Op::v_min_f32, v(dst), &[v(1), v(2)]);
    let code = [min(3), set(9, 1, 0), min(4), set(9, 1, 1), min(5)];
    let w = machine(&code, DEFAULT_MODE, &|w| {
        w.row_mut(1).fill(0x7f80_0001);
        w.row_mut(2).fill(1.0_f32.to_bits());
    });
    assert_eq!([3, 4, 5].map(|r| w.row(r)[0]), [0x7fc0_0001, 0x3f80_0000, 0x7fc0_0001]);

    // DX10_CLAMP: clamp turns NaN into zero, or keeps it.
    let clamped = |dst| modified(Op::v_add_f32, v(dst), &[v(1), v(2)], Mods { clamp: true, ..Mods::default() });
    let w = machine(&[clamped(3), set(8, 1, 0), clamped(4)], DEFAULT_MODE, &|w| w.row_mut(1).fill(0x7fc0_0000));
    assert_eq!(w.row(3)[0], 0);
    assert!(f32::from_bits(w.row(4)[0]).is_nan());

    // Denormals: flushed in, flushed out, kept.
    let half = |dst| inst(Op::v_mul_f32, v(dst), &[v(1), v(2)]);
    let twice = |dst| inst(Op::v_mul_f32, v(dst), &[v(4), v(5)]);
    let code = [half(10), twice(11), set(4, 2, 2), half(12), twice(13), set(4, 2, 1), half(14), twice(15)];
    let w = machine(&code, DEFAULT_MODE, &|w| {
        w.row_mut(1).fill(0x0080_0000);
        w.row_mut(2).fill(0.5_f32.to_bits());
        w.row_mut(4).fill(0x0040_0000);
        w.row_mut(5).fill(4.0_f32.to_bits());
    });
    // 2 keeps results only, 1 operands only.
    let expected = [0x0040_0000, 0x0100_0000, 0x0040_0000, 0, 0, 0x0100_0000];
    assert_eq!([10, 11, 12, 13, 14, 15].map(|r| w.row(r)[0]), expected);

    // FP16_OVFL: the largest number instead of infinity, but infinite operands give infinity.
    let product = |dst| inst(Op::v_mul_f16, v(dst), &[v(1), v(2)]);
    let w = machine(&[product(3), set(23, 1, 1), product(4)], DEFAULT_MODE, &|w| {
        w.row_mut(1).fill(0x7bff);
        w.row_mut(2).fill(0xc000);
        w.row_mut(1)[1] = 0x7c00;
    });
    assert_eq!([w.row(3)[0], w.row(4)[0], w.row(4)[1]], [0xfc00, 0xfbff, 0xfc00]);
    // The mode can be read; unsupported bits are reported.
    let w = machine(&[set(0, 4, 9), inst(Op::s_getreg_b32, s(0), &[hwreg(0, 32)])], DEFAULT_MODE, &|_| ());
    assert_eq!(w.slot(0), 0x3f9);
    for (offset, what) in [(12, "exceptions"), (27, "GPR_IDX_EN")] {
        match trap(&[set(offset, 1, 1)], DEFAULT_MODE, &|_| ()) {
            Trap::Unsupported(why) => assert!(why.contains(what)),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn hardware_registers_and_messages() {
    let read =
        |id: i32, offset: i32, width: i32| inst(Op::s_getreg_b32, s(0), &[imm(id | offset << 6 | (width - 1) << 11)]);
    let value = |i: Inst| machine(&[i], DEFAULT_MODE, &|w| w.id = 6).slot(0);
    assert_eq!(value(read(6, 12, 9)), 2, "1024 bytes of local memory are 2 granules");
    assert_eq!((value(read(4, 0, 4)), value(read(4, 4, 2)), value(read(4, 8, 4))), (1, 2, 0), "the seventh wave");
    assert_eq!((value(read(3, 0, 32)), value(read(20, 0, 4))), (0, 0));
    assert!(matches!(trap(&[read(60, 0, 32)], DEFAULT_MODE, &|_| ()), Trap::Unsupported(_)));
    let write = inst(Op::s_setreg_b32, Operand::None, &[imm(2 | 31 << 11), s(0)]);
    assert!(matches!(trap(&[write], DEFAULT_MODE, &|_| ()), Trap::Unsupported(_)), "STATUS is not written");
    let plain = |op, n| Inst { size: 4, ..inst(op, Operand::None, &[imm(n)]) };
    let marked = |i: Inst| [i, inst(Op::s_mov_b32, s(0), &[Operand::Int(7)])];
    for (op, n) in [(Op::s_sendmsg, 1), (Op::s_sethalt, 0), (Op::s_setkill, 0)] {
        assert_eq!(machine(&marked(plain(op, n)), DEFAULT_MODE, &|_| ()).slot(0), 7, "{op} {n} goes on");
    }
    assert_eq!(machine(&marked(plain(Op::s_setkill, 1)), DEFAULT_MODE, &|_| ()).slot(0), 0, "a killed wave ends");
    let messages = "a message other than MSG_INTERRUPT";
    for (op, n, why) in [
        (Op::s_sendmsg, 2, messages),
        (Op::s_sendmsghalt, 2, messages),
        (Op::s_sendmsghalt, 1, "halts"),
        (Op::s_sethalt, 1, "halts"),
    ] {
        let trap = trap(&[plain(op, n)], DEFAULT_MODE, &|_| ());
        assert!(matches!(trap, Trap::Unsupported(text) if text.contains(why)), "{op} {n}: {trap:?}");
    }
}
