//! Matrix instructions, compared with products that follow the manuals' layout in exact arithmetic.
//!
//! Shape and types are derived from the mnemonic and the width of the registers, not from the table under test.

#![allow(clippy::needless_range_loop, reason = "a lane is the same place in several arrays")]

use super::*;
use crate::isa::{Kind, Type};

/// How the sums are rounded: see the documentation of `exec::matrix`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rounding {
    Exact,
    Chain,
    Pairs(usize),
    Aligned(usize),
}

#[derive(Clone, Debug)]
struct Shape {
    op: Op,
    m: usize,
    k: usize,
    blocks: usize,
    sparse: bool,
    gfx942: bool,
    rounding: Rounding,
}

/// Every matrix instruction.
fn shapes() -> Vec<Shape> {
    Op::ALL.iter().copied().filter(|op| op.info().is(crate::isa::Flags::mfma)).map(Shape::new).collect()
}

impl Shape {
    fn new(op: Op) -> Shape {
        let info = op.info();
        let name = op.mnemonic();
        let part = name.split('_').find(|p| p.matches('x').count() >= 2 && p.as_bytes()[0].is_ascii_digit()).unwrap();
        let mut numbers = part.split('x').map(|n| {
            let digits = n.find(|c: char| !c.is_ascii_digit()).unwrap_or(n.len());
            // "32x32x1f32", "16x16x4bf16": k ends where the type begins.
            n[..digits].parse::<usize>().unwrap()
        });
        let (m, n, k) = (numbers.next().unwrap(), numbers.next().unwrap(), numbers.next().unwrap());
        assert_eq!(m, n, "{name}");
        let blocks = info.dst.elements() as usize * 64 / (m * n);
        let gfx942 = info.opcode[0].is_none();
        let rounding = match (info.src[0].kind(), info.src[0].element_bits()) {
            (Kind::Signed, _) => Rounding::Exact,
            (Kind::Float, 32) if name.contains("xf32") => Rounding::Aligned(4),
            (Kind::Float, 32 | 64) => Rounding::Chain,
            (Kind::Fp8 | Kind::Bf8, _) => Rounding::Aligned(16),
            _ if gfx942 => Rounding::Aligned(8),
            (Kind::Bfloat, _) if !name.ends_with("_1k") => Rounding::Pairs(2),
            _ => Rounding::Pairs(4),
        };
        Shape { op, m, k, blocks, sparse: name.contains("smfmac"), gfx942, rounding }
    }

    /// Elements of A that are stored, in a row.
    fn stored(&self) -> usize {
        if self.sparse { self.k / 2 } else { self.k }
    }

    fn double(&self) -> bool {
        self.op.info().dst.element_bits() == 64
    }

    /// Row, column and block of the element of D in register `r` (for doubles: pair `r`) and `lane`, according to the
    /// manual's tables.
    fn element_of_d(&self, r: usize, lane: usize) -> (usize, usize, usize) {
        match (self.m, self.double()) {
            (32, _) => (8 * (r / 4 % 4) + 4 * (lane / 32) + r % 4, lane % 32, r / 16),
            (16, false) => (4 * (lane / 16) + r % 4, lane % 16, r / 4),
            (16, true) => (4 * r + lane / 16, lane % 16, 0),
            (4, false) => (r, lane % 4, lane / 4),
            (4, true) => (lane / 16, lane % 4, lane / 4 % 4),
            other => panic!("{other:?}"),
        }
    }

    /// The lane, and the position in it, of element k of row (A) or column (B) i.
    fn place(&self, ks: usize, i: usize, k: usize, block: usize) -> (usize, usize) {
        let share = ks * self.m * self.blocks / 64;
        (i + self.m * (block + self.blocks * (k / share)), k % share)
    }

    fn allows_blocks(&self) -> bool {
        !self.sparse && !self.double() && self.blocks > 1
    }

    fn allows_lanes(&self) -> bool {
        let old = self.blocks > 1 || self.op.info().src[0] == Type::F32;
        !self.sparse && !self.double() && (!self.gfx942 || old)
    }
}

/// The k-th element of a lane in registers from `register` on.
fn bits(w: &[Vec<u32>], ty: Type, e: usize, lane: usize) -> u64 {
    let size = ty.element_bits() as usize;
    match size {
        64 => u64::from(w[2 * e][lane]) | u64::from(w[2 * e + 1][lane]) << 32,
        _ => {
            let word = w[e * size / 32][lane];
            u64::from(word) >> (e * size % 32) & ((1 << size) - 1)
        }
    }
}

/// A finite number as integer times power of two; the exponent is that of a significand between 1 and 2 (or below 1 for
/// denormals and zeros), `fraction` bits below it.
#[derive(Clone, Copy, Debug)]
struct Parts {
    integer: i128,
    exponent: i32,
    fraction: i32,
}

/// A decoded element.
#[derive(Clone, Copy, Debug)]
struct Number {
    value: f64,
    parts: Parts,
}

/// By the definition of the format: sign, `exponent` bits of exponent, `fraction` bits of fraction.
fn decode(bits: u64, exponent: u32, fraction: u32, bias: i32, fnuz: bool) -> Number {
    let field = bits >> fraction & ((1 << exponent) - 1);
    let below = bits & ((1 << fraction) - 1);
    let negative = bits >> (exponent + fraction) & 1 == 1;
    let sign = if negative { -1.0 } else { 1.0 };
    let leading = if field == 0 { 0 } else { 1_i128 << fraction };
    let integer = (leading + i128::from(below)) * if negative { -1 } else { 1 };
    let scale = if field == 0 { 1 - bias } else { field as i32 - bias };
    let finite = integer as f64 * 2_f64.powi(scale - fraction as i32);
    let value = if fnuz && negative && field == 0 && below == 0 {
        f64::NAN
    } else if !fnuz && field == (1 << exponent) - 1 {
        if below == 0 { sign * f64::INFINITY } else { f64::NAN }
    } else if integer == 0 {
        0.0 * sign
    } else {
        finite
    };
    let scale = if integer == 0 { -126 } else { scale };
    Number { value, parts: Parts { integer, exponent: scale, fraction: fraction as i32 } }
}

fn number(bits: u64, ty: Type, xf32: bool) -> Number {
    match (ty.kind(), ty.element_bits()) {
        (Kind::Float, 16) => decode(bits, 5, 10, 15, false),
        (Kind::Bfloat, _) => decode(bits, 8, 7, 127, false),
        (Kind::Float, 32) if xf32 => decode(bits >> 13, 8, 10, 127, false),
        (Kind::Float, 32) => decode(bits, 8, 23, 127, false),
        (Kind::Fp8, _) => decode(bits, 4, 3, 8, true),
        (Kind::Bf8, _) => decode(bits, 5, 2, 16, true),
        (Kind::Signed, 8) => {
            let value = f64::from(bits as u8 as i8);
            Number { value, parts: Parts { integer: 0, exponent: 0, fraction: 0 } }
        }
        (Kind::Float, 64) => {
            Number { value: f64::from_bits(bits), parts: Parts { integer: 0, exponent: 0, fraction: 0 } }
        }
        other => panic!("{other:?}"),
    }
}

/// `integer * 2^exponent` in multiples of `2^unit`, truncated toward zero or rounded down.
fn scaled(integer: i128, exponent: i32, unit: i32, down: bool) -> i128 {
    let shift = exponent - unit;
    if shift >= 0 {
        return integer << shift;
    }
    let divisor = 1_i128 << (-shift).min(100);
    if down { integer.div_euclid(divisor) } else { integer / divisor }
}

/// The sum of terms truncated to 24 bits below the largest exponent, and that exponent.
fn aligned(terms: &[(i128, i32, i32)]) -> (i128, i32) {
    let largest = terms.iter().map(|t| t.1).max().unwrap();
    (terms.iter().map(|(i, e, f)| scaled(*i, e - f, largest - 24, false)).sum(), largest)
}

/// One group of products and C on gfx942.
fn fused(a: &[Number], b: &[Number], c: f32, bytes: bool) -> f32 {
    let products: Vec<f64> = a.iter().zip(b).map(|(a, b)| a.value * b.value).collect();
    let sum = products.iter().sum::<f64>() + f64::from(c);
    if !sum.is_finite() {
        return sum as f32;
    }
    let limit = 2_f64.powi(128);
    match (products.iter().any(|p| *p >= limit), products.iter().any(|p| *p <= -limit)) {
        (true, true) => return f32::NAN,
        (true, false) => return f32::INFINITY,
        (false, true) => return f32::NEG_INFINITY,
        _ => {}
    }
    let terms: Vec<(i128, i32, i32)> = a
        .iter()
        .zip(b)
        .map(|(a, b)| {
            let (a, b) = (a.parts, b.parts);
            (a.integer * b.integer, a.exponent + b.exponent, a.fraction + b.fraction)
        })
        .collect();
    let (group, exponent) = if bytes {
        let every_other = |first: usize| terms.iter().copied().skip(first).step_by(2).collect::<Vec<_>>();
        let (even, odd) = (aligned(&every_other(0)), aligned(&every_other(1)));
        let largest = even.1.max(odd.1);
        let down = |(sum, at): (i128, i32)| scaled(sum, at - 24, largest - 24, true);
        (down(even) + down(odd), largest)
    } else {
        aligned(&terms)
    };
    let own = decode(u64::from(c.to_bits()), 8, 23, 127, false).parts;
    let largest = exponent.max(own.exponent);
    let group = scaled(group, exponent - 24, largest - 31, true);
    let far = bytes && own.exponent < largest - 25;
    let own = if far { 0 } else { scaled(own.integer, own.exponent - own.fraction, largest - 24, true) << 7 };
    ((group + own) as f64 * 2_f64.powi(largest - 31)) as f32
}

/// `a * b + c` rounded once, without a fused operation: an inexact sum in f64 is rounded to odd.
fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
    let product = f64::from(a) * f64::from(b);
    let c = f64::from(c);
    let sum = product + c;
    if !sum.is_finite() {
        return sum as f32;
    }
    // The error of the addition.
    let rest = sum - product;
    let lost = (product - (sum - rest)) + (c - rest);
    let mut bits = sum.to_bits();
    if lost != 0.0 && bits & 1 == 0 {
        // Toward the error: away from zero if it has the sum's sign.
        bits = if (lost > 0.0) == (sum > 0.0) { bits + 1 } else { bits - 1 };
    }
    f64::from_bits(bits) as f32
}

const SMALLEST: f32 = f32::MIN_POSITIVE;

/// Denormals become zero, which keeps its sign.
fn flush(x: f32) -> f32 {
    if x.abs() < SMALLEST { 0.0_f32.copysign(x) } else { x }
}

/// One group of products on gfx90a.
fn in_pairs(a: &[f32], b: &[f32]) -> f32 {
    if let ([a], [b]) = (a, b) {
        let product = (f64::from(*a) * f64::from(*b)) as f32;
        return flush(if product == 0.0 { 0.0 } else { product });
    }
    let half = a.len() / 2;
    let sums = [in_pairs(&a[..half], &b[..half]), in_pairs(&a[half..], &b[half..])];
    flush((f64::from(sums[0]) + f64::from(sums[1])) as f32)
}

/// The expected value of one element of D.
fn element(shape: &Shape, a: &[Number], b: &[Number], c: u64) -> u64 {
    let single = f32::from_bits(c as u32);
    match shape.rounding {
        Rounding::Exact => {
            let sum: i64 = a.iter().zip(b).map(|(a, b)| a.value as i64 * b.value as i64).sum();
            u64::from(sum.wrapping_add(i64::from(c as i32)) as u32)
        }
        Rounding::Chain if shape.double() => {
            a.iter().zip(b).fold(f64::from_bits(c), |sum, (a, b)| a.value.mul_add(b.value, sum)).to_bits()
        }
        Rounding::Chain => {
            let sum = a.iter().zip(b).fold(single, |sum, (a, b)| multiply_add(a.value as f32, b.value as f32, sum));
            u64::from(sum.to_bits())
        }
        Rounding::Pairs(group) => {
            let half = shape.op.info().src[0].kind() == Kind::Float;
            let least = if half { 2_f32.powi(-14) } else { SMALLEST };
            let clean = |n: &Number| if (n.value as f32).abs() < least { 0.0 } else { n.value as f32 };
            let (a, b): (Vec<f32>, Vec<f32>) = (a.iter().map(clean).collect(), b.iter().map(clean).collect());
            let mut sum = if single.abs() < SMALLEST { 0.0 } else { single };
            for (a, b) in a.chunks(group).zip(b.chunks(group)) {
                sum = flush((f64::from(sum) + f64::from(in_pairs(a, b))) as f32);
            }
            u64::from(sum.to_bits())
        }
        Rounding::Aligned(group) => {
            let mut sum = single;
            for (a, b) in a.chunks(group).zip(b.chunks(group)) {
                sum = fused(a, b, sum, group == 16);
            }
            u64::from(sum.to_bits())
        }
    }
}

/// The effect of the modifiers, according to the manual's text.
fn lane_of_b(blgp: u8, lane: usize) -> usize {
    match blgp {
        0 => lane,
        1 => lane % 32,
        2 => 32 + lane % 32,
        3 => (lane + 16) % 64,
        n => 16 * usize::from(n - 4) + lane % 16,
    }
}

type Registers = Vec<Vec<u32>>;

/// Operands, and the expected D.
struct Case {
    a: Registers,
    b: Registers,
    c: Registers,
    index: Vec<u32>,
}

impl Case {
    fn expected(&self, shape: &Shape, (cbsz, abid, blgp): (u8, u8, u8)) -> Registers {
        let info = shape.op.info();
        let xf32 = shape.op.mnemonic().contains("xf32");
        let doubles = shape.double();
        let negated = |n: u8, x: f64| if doubles && shape.gfx942 && blgp >> n & 1 == 1 { -x } else { x };
        let decoded = |registers: &Registers, ty: Type, e: usize, lane: usize, n: u8| {
            let mut number = number(bits(registers, ty, e, lane), ty, xf32);
            number.value = negated(n, number.value);
            number
        };
        let mut d = vec![vec![0; 64]; info.dst.dwords() as usize];
        let width = if doubles { 2 } else { 1 };
        for r in 0..info.dst.elements() as usize {
            for lane in 0..64 {
                let (i, j, block) = shape.element_of_d(r, lane);
                let group = 1_usize << if shape.allows_blocks() { cbsz } else { 0 };
                let block_of_a = if shape.allows_blocks() { block / group * group + usize::from(abid) } else { block };
                let (mut a, mut b) = (Vec::new(), Vec::new());
                for s in 0..shape.stored() {
                    let (at, e) = shape.place(shape.stored(), i, s, block_of_a);
                    a.push(decoded(&self.a, info.src[0], e, at, 0));
                    let k = if shape.sparse {
                        let a_share = shape.stored() * shape.m / 64;
                        let set = if cbsz == 0 { usize::from(abid) } else { 0 };
                        s / 2 * 4 + (self.index[at] >> (2 * (e + set * a_share)) & 3) as usize
                    } else {
                        s
                    };
                    let (at, e) = shape.place(shape.k, j, k, block);
                    let at = if doubles { at } else { lane_of_b(blgp, at) };
                    b.push(decoded(&self.b, info.src[1], e, at, 1));
                }
                let mut c = u64::from(self.c[r * width][lane]);
                if doubles {
                    c |= u64::from(self.c[r * width + 1][lane]) << 32;
                    c = negated(2, f64::from_bits(c)).to_bits();
                }
                let value = element(shape, &a, &b, c);
                d[r * width][lane] = value as u32;
                if doubles {
                    d[r * width + 1][lane] = (value >> 32) as u32;
                }
            }
        }
        d
    }
}

/// The distribution of random operands.
#[derive(Clone, Copy, Debug)]
enum Taste {
    /// Like real data: similar exponents.
    Ordinary,
    /// Any bits at all.
    Any,
    /// Zeros, denormals, infinities, NaNs, largest and smallest numbers.
    Special,
    /// Finite, with widely different exponents.
    Wide,
}

/// A random element of `bits` bits with `exponent` bits of exponent.
fn random_element(r: &mut Random, ty: Type, taste: Taste) -> u64 {
    let size = ty.element_bits();
    let all = if size == 64 { u64::MAX } else { (1 << size) - 1 };
    let any = r.next() & all;
    let exponent = match (ty.kind(), size) {
        (Kind::Signed, _) => return any,
        (Kind::Float, 16) | (Kind::Bf8, _) => 5,
        (Kind::Fp8, _) => 4,
        (Kind::Float, 64) => 11,
        _ => 8,
    };
    let fraction = size - 1 - exponent;
    let top = 1_u64 << (exponent - 1);
    let with = |field: u64| any & !(((1 << exponent) - 1) << fraction) | field << fraction;
    let pick = r.next() >> 20;
    match taste {
        Taste::Any => any,
        Taste::Ordinary => with(top - 2 + pick % 4),
        Taste::Wide => {
            // Products of the extremes stay finite.
            let reach = (top / 2).min(60);
            with(top - reach + pick % (2 * reach - 1))
        }
        Taste::Special => match pick % 12 {
            0 => 0,
            1 => 1 << (size - 1),
            2 => any & ((1 << fraction) - 1),
            3 => with(0),
            4 => with((1 << exponent) - 2),
            5 if pick % 5 == 0 => with((1 << exponent) - 1),
            6 if pick % 5 == 0 => ((1 << exponent) - 1) << fraction,
            7 => with(1),
            8 => with(top / 2),
            _ => with(top - 2 + pick % 4),
        },
    }
}

fn random_registers(r: &mut Random, ty: Type, taste: Taste) -> Registers {
    let mut all = vec![vec![0; 64]; ty.dwords() as usize];
    let size = ty.element_bits() as usize;
    for e in 0..ty.elements() as usize {
        for lane in 0..64 {
            let x = random_element(r, ty, taste);
            if size == 64 {
                all[2 * e][lane] = x as u32;
                all[2 * e + 1][lane] = (x >> 32) as u32;
            } else {
                all[e * size / 32][lane] |= (x as u32) << (e * size % 32);
            }
        }
    }
    all
}

impl Case {
    fn random(shape: &Shape, r: &mut Random, taste: Taste) -> Case {
        let info = shape.op.info();
        let c_taste = if matches!(taste, Taste::Special) && r.next() >> 30 & 1 == 0 { Taste::Ordinary } else { taste };
        Case {
            a: random_registers(r, info.src[0], taste),
            b: random_registers(r, info.src[1], taste),
            c: random_registers(r, info.dst, c_taste),
            index: (0..64).map(|_| r.next() as u32).collect(),
        }
    }

    /// An inline constant for C.
    fn with_constant(mut self, shape: &Shape, constant: Operand) -> Case {
        let double = shape.double();
        let words = match constant {
            Operand::Int(n) if double => [n as i64 as u64 as u32, (i64::from(n) >> 32) as u32],
            Operand::Int(n) => [i32::from(n) as u32; 2],
            Operand::Float(InlineFloat::MinusHalf) if double => [0, 0xbfe0_0000],
            Operand::Float(InlineFloat::MinusHalf) => [0xbf00_0000; 2],
            other => panic!("{other:?}"),
        };
        for (n, register) in self.c.iter_mut().enumerate() {
            register.fill(words[n % 2]);
        }
        self
    }
}

/// The register files of the operands, and the position of C.
#[derive(Clone, Copy, Debug)]
struct Where {
    a: fn(u16) -> Operand,
    b: fn(u16) -> Operand,
    d: fn(u16) -> Operand,
    /// First register of C, or a constant.
    c: Option<u16>,
    constant: Operand,
    exec: u64,
}

const A: u16 = 4;
const B: u16 = 8;
const INDEX: u16 = 14;
const D: u16 = 50;

fn acc(n: u16) -> Operand {
    Operand::Agpr(n)
}

const PLAIN: Where = Where { a: v, b: v, d: v, c: Some(D), constant: Operand::None, exec: u64::MAX };

/// Runs one case and compares all of D.
fn check_case(shape: &Shape, case: &Case, mods: (u8, u8, u8), place: Where) {
    let info = shape.op.info();
    let third = if shape.sparse { v(INDEX) } else { place.c.map_or(place.constant, place.d) };
    let mut code = inst(shape.op, (place.d)(D), &[(place.a)(A), (place.b)(B), third]);
    code.mods.mfma = mods;
    code.mods.op_sel_hi = 0;
    // Rows of accumulation registers follow those of vector registers.
    let reach = |o: Operand| match o {
        Operand::Vgpr(n) => n + 32,
        _ => 0,
    };
    let vgprs = [code.dst, code.src[0], code.src[1], code.src[2]].into_iter().map(reach).max().unwrap().max(1);
    let row = |o: Operand| match o {
        Operand::Vgpr(n) => n,
        Operand::Agpr(n) => vgprs + n,
        other => panic!("{other:?}"),
    };
    let c = if shape.sparse { Some(code.dst) } else { place.c.map(place.d) };
    let w = machine(&[code], DEFAULT_MODE, &|w| {
        w.set_exec(place.exec);
        let mut put = |first: u16, registers: &Registers| {
            for (n, register) in registers.iter().enumerate() {
                w.row_mut(first + n as u16).copy_from_slice(register);
            }
        };
        if let Some(c) = c {
            put(row(c), &case.c);
        }
        put(row(code.src[0]), &case.a);
        put(row(code.src[1]), &case.b);
        if shape.sparse {
            put(row(code.src[2]), &vec![case.index.clone()]);
        }
    });
    let expected = case.expected(shape, mods);
    let integers = info.dst.kind() == Kind::Signed;
    for (r, register) in expected.iter().enumerate() {
        for lane in 0..64 {
            let got = w.row(row(code.dst) + r as u16)[lane];
            let same = if shape.double() {
                let high = w.row(row(code.dst) + (r | 1) as u16)[lane];
                let low = w.row(row(code.dst) + (r & !1) as u16)[lane];
                let value = |low: u32, high: u32| f64::from_bits(u64::from(low) | u64::from(high) << 32);
                value(low, high).is_nan() && value(expected[r & !1][lane], expected[r | 1][lane]).is_nan()
                    || got == register[lane]
            } else if integers {
                got == register[lane]
            } else {
                canonical32(got) == canonical32(register[lane])
            };
            assert!(
                same,
                "{} {mods:?} {place:?}: register {r} lane {lane} is {got:#x} ({}), not {:#x} ({}); C was {:#x}",
                shape.op,
                f32::from_bits(got),
                register[lane],
                f32::from_bits(register[lane]),
                case.c[r][lane],
            );
        }
    }
}

#[test]
fn there_are_as_many_as_the_manuals_list() {
    let count = |arch: usize| shapes().iter().filter(|s| s.op.info().opcode[arch].is_some()).count();
    assert_eq!((count(0), count(1)), (27, 46));
}

#[test]
fn products_of_all_kinds_of_numbers() {
    let mut r = Random::new(1);
    for shape in shapes() {
        for taste in [Taste::Ordinary, Taste::Any, Taste::Special, Taste::Wide] {
            for _ in 0..3 {
                check_case(&shape, &Case::random(&shape, &mut r, taste), (0, 0, 0), PLAIN);
            }
        }
    }
}

#[test]
fn broadcasts_of_blocks_of_a() {
    let mut r = Random::new(2);
    for shape in shapes().iter().filter(|s| s.allows_blocks()) {
        for cbsz in 0..=shape.blocks.trailing_zeros() as u8 {
            for abid in 0..1_u8 << cbsz {
                check_case(shape, &Case::random(shape, &mut r, Taste::Ordinary), (cbsz, abid, 0), PLAIN);
            }
        }
    }
}

#[test]
fn lanes_of_b_moved() {
    let mut r = Random::new(3);
    for shape in shapes().iter().filter(|s| s.allows_lanes()) {
        for blgp in 1..8 {
            let broadcast = if shape.allows_blocks() { (1, 1) } else { (0, 0) };
            let mods = (broadcast.0, broadcast.1, blgp);
            check_case(shape, &Case::random(shape, &mut r, Taste::Ordinary), mods, PLAIN);
        }
    }
}

#[test]
fn doubles_negated() {
    let mut r = Random::new(4);
    for shape in shapes().iter().filter(|s| s.double() && s.gfx942) {
        for neg in 1..8 {
            for taste in [Taste::Ordinary, Taste::Special] {
                check_case(shape, &Case::random(shape, &mut r, taste), (0, 0, neg), PLAIN);
            }
        }
    }
}

#[test]
fn sets_of_indices_of_sparse_products() {
    let mut r = Random::new(5);
    for shape in shapes().iter().filter(|s| s.sparse) {
        let sets = if shape.op.info().src[0].element_bits() == 16 { 4 } else { 2 };
        for mods in (0..sets).map(|abid| (0, abid, 0)).chain([(1, 0, 0), (1, 1, 0), (7, 15, 0)]) {
            for taste in [Taste::Ordinary, Taste::Wide] {
                check_case(shape, &Case::random(shape, &mut r, taste), mods, PLAIN);
            }
        }
    }
}

#[test]
fn operands_in_either_register_file_whatever_exec_is() {
    let mut r = Random::new(6);
    let files: [fn(u16) -> Operand; 2] = [v, acc];
    for shape in shapes() {
        for n in 0..8 {
            let place = Where {
                a: files[n & 1],
                b: files[n >> 1 & 1],
                d: files[n >> 2 & 1],
                // In D, beside it, overlapping it from either side.
                c: Some([D, D + 32, D + 2, D - 2][n % 4]),
                exec: [u64::MAX, 0, 0x5555_0000_ffff_1234][n % 3],
                ..PLAIN
            };
            check_case(&shape, &Case::random(&shape, &mut r, Taste::Ordinary), (0, 0, 0), place);
        }
    }
}

#[test]
fn constants_to_add_to() {
    let mut r = Random::new(7);
    for shape in shapes().iter().filter(|s| !s.sparse) {
        for constant in [Operand::Int(0), Operand::Int(-5), Operand::Int(64), Operand::Float(InlineFloat::MinusHalf)] {
            let case = Case::random(shape, &mut r, Taste::Ordinary).with_constant(shape, constant);
            check_case(shape, &case, (0, 0, 0), Where { c: None, constant, ..PLAIN });
        }
    }
}

#[test]
fn whole_number_products_are_what_mathematics_says() {
    // Nothing is rounded: only the layout matters, with each type's encoding of integers.
    let mut r = Random::new(8);
    for shape in shapes() {
        let info = shape.op.info();
        let encode = |x: i64, ty: Type| match (ty.kind(), ty.element_bits()) {
            (Kind::Float, 64) => (x as f64).to_bits(),
            (Kind::Float, 32) => u64::from((x as f32).to_bits()),
            (Kind::Float, 16) => u64::from(::half::f16::from_f64(x as f64).to_bits()),
            (Kind::Bfloat, _) => u64::from((x as f32).to_bits() >> 16),
            (Kind::Fp8, _) => [0xcc, 0xc8, 0xc0, 0x00, 0x40, 0x48, 0x4c][(x + 3) as usize],
            (Kind::Bf8, _) => [0xc6, 0xc4, 0xc0, 0x00, 0x40, 0x44, 0x46][(x + 3) as usize],
            (_, bits) => x as u64 & ((1 << bits) - 1),
        };
        let mut fill = |ty: Type| {
            let size = ty.element_bits() as usize;
            let mut values = vec![vec![0_i64; 64]; ty.elements() as usize];
            let mut registers = vec![vec![0; 64]; ty.dwords() as usize];
            for (e, values) in values.iter_mut().enumerate() {
                for (lane, value) in values.iter_mut().enumerate() {
                    *value = (r.next() >> 40) as i64 % 7 - 3;
                    let x = encode(*value, ty);
                    if size == 64 {
                        registers[2 * e][lane] = x as u32;
                        registers[2 * e + 1][lane] = (x >> 32) as u32;
                    } else {
                        registers[e * size / 32][lane] |= (x as u32) << (e * size % 32);
                    }
                }
            }
            (values, registers)
        };
        let ((a, a_registers), (b, b_registers), (c, c_registers)) =
            (fill(info.src[0]), fill(info.src[1]), fill(info.dst));
        let index: Vec<u32> = (0..64).map(|_| r.next() as u32).collect();
        let case = Case { a: a_registers, b: b_registers, c: c_registers, index: index.clone() };
        let mut d = case.expected(&shape, (0, 0, 0));
        for element in 0..info.dst.elements() as usize {
            for lane in 0..64 {
                let (i, j, block) = shape.element_of_d(element, lane);
                let mut sum = c[element][lane];
                for s in 0..shape.stored() {
                    let (lane_of_a, e) = shape.place(shape.stored(), i, s, block);
                    let k = if shape.sparse { s / 2 * 4 + (index[lane_of_a] >> (2 * e) & 3) as usize } else { s };
                    let (lane_of_b, f) = shape.place(shape.k, j, k, block);
                    sum += a[e][lane_of_a] * b[f][lane_of_b];
                }
                let bits = encode(sum, info.dst);
                let width = info.dst.element_bits() as usize / 32;
                // The reference of the other tests has to agree, too.
                assert_eq!(d[element * width][lane], bits as u32, "{}: {sum}", shape.op);
                d[element * width][lane] = bits as u32;
            }
        }
        check_case(&shape, &case, (0, 0, 0), PLAIN);
    }
}

#[test]
fn modifiers_that_the_manual_does_not_define_trap() {
    let why = |op: Op, mods: (u8, u8, u8)| {
        let mut code = inst(op, v(D), &[v(A), v(B), v(D)]);
        code.mods.mfma = mods;
        trap(&[code], DEFAULT_MODE, &|_| ())
    };
    for (op, mods) in [
        (Op::v_mfma_f32_32x32x2f32, (1, 0, 0)),
        (Op::v_mfma_f32_32x32x1f32, (2, 0, 0)),
        (Op::v_mfma_f32_32x32x1f32, (1, 2, 0)),
        (Op::v_mfma_f32_4x4x1f32, (0, 1, 0)),
        (Op::v_mfma_f64_16x16x4f64, (0, 0, 1)),
        (Op::v_mfma_f64_4x4x4_4b_f64, (1, 0, 0)),
        (Op::v_mfma_f32_16x16x16_f16, (0, 0, 1)),
        (Op::v_smfmac_f32_16x16x32_f16, (0, 4, 0)),
        (Op::v_smfmac_i32_16x16x64_i8, (0, 2, 0)),
    ] {
        let trap = why(op, mods);
        assert!(matches!(trap, Trap::Unsupported(text) if text.contains("does not define")), "{op} {mods:?}: {trap:?}");
    }
}

/// As AMD states for gfx942 (pull request 9176 of ROCm/rocm-libraries): bits below 10 bits of fraction are dropped, not
/// rounded.
#[test]
fn inputs_of_xf32_are_cut_off() {
    for (op, k) in [(Op::v_mfma_f32_32x32x4_xf32, 4.0_f32), (Op::v_mfma_f32_16x16x8_xf32, 8.0)] {
        let product = |a: u32| {
            let mut code = inst(op, v(D), &[v(A), v(B), v(D)]);
            code.mods.op_sel_hi = 0;
            let w = machine(&[code], DEFAULT_MODE, &|w| {
                (0..32).for_each(|n| w.row_mut(D + n).fill(0));
                (0..2).for_each(|n| w.row_mut(A + n).fill(a));
                (0..2).for_each(|n| w.row_mut(B + n).fill(1_f32.to_bits()));
            });
            f32::from_bits(w.row(D)[5])
        };
        // All dropped bits, the half that would round to even, and a negative number: none of these bits matters.
        for low in [0x1fff, 0x1000, 1] {
            assert_eq!(product(1_f32.to_bits() | low), k, "{op} {low:#x}");
            assert_eq!(product((-1.5_f32).to_bits() | low), -1.5 * k, "{op} {low:#x}");
        }
        assert_eq!(product(1_f32.to_bits() | 0x2000), k * (1.0 + 1.0 / 1024.0), "{op}");
        // The bits that make this a NaN are dropped, too.
        assert_eq!(product(0x7f80_0001), f32::INFINITY, "{op}");
        assert!(product(0x7fc0_0000).is_nan(), "{op}");
    }
}

/// Elements with 8 exponent bits: exponents `low` or one more, occasionally zero.
fn with_exponent(r: &mut Random, ty: Type, low: i32) -> Registers {
    let mut all = random_registers(r, ty, Taste::Any);
    let field = |r: &mut Random| ((low + 127).clamp(1, 253) + (r.next() >> 40 & 1) as i32) as u32;
    for register in &mut all {
        for word in register.iter_mut() {
            *word = *word & 0x807f_ffff | field(r) << 23;
            if ty.element_bits() == 16 {
                *word = *word & 0xffff_807f | field(r) << 7;
            }
            if r.next() >> 40 & 15 == 0 {
                *word &= 0x8000_ffff;
            }
        }
    }
    all
}

#[test]
fn products_and_sums_at_both_ends_of_the_range_and_sums_that_cancel() {
    let mut r = Random::new(9);
    for shape in shapes() {
        let info = shape.op.info();
        let wide = info.src[0].kind() == Kind::Bfloat || shape.op.mnemonic().contains("xf32");
        if !wide {
            continue;
        }
        for exponent in (-150..-76).step_by(3).chain(120..130) {
            let first = exponent / 2 + (r.next() >> 40) as i32 % 5;
            let mut case = Case {
                a: with_exponent(&mut r, info.src[0], first),
                b: with_exponent(&mut r, info.src[1], exponent - first),
                c: with_exponent(&mut r, info.dst, exponent),
                index: (0..64).map(|_| r.next() as u32).collect(),
            };
            check_case(&shape, &case, (0, 0, 0), PLAIN);
            // A value that almost cancels the products.
            case.c.iter_mut().for_each(|register| register.fill(0));
            case.c = case.expected(&shape, (0, 0, 0));
            for word in case.c.iter_mut().flatten() {
                *word ^= 1 << 31 | (r.next() >> 40) as u32 & 3;
            }
            check_case(&shape, &case, (0, 0, 0), PLAIN);
        }
    }
}
