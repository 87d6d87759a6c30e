//! Arithmetic and conversions with a rounding mode, against exact numbers.

use std::cmp::Ordering;

use crate::device::{Buffer, Module, args};
use crate::on_a_device;
use crate::random::Random;

fn module() -> Module {
    Module::of("rounding.cu", include_str!("rounding.cu"))
}

/// An exact number: an integer times a power of two.
#[derive(Clone, Copy, Debug)]
struct Exact(i128, i32);

impl Exact {
    fn of(value: f64) -> Self {
        let bits = value.to_bits();
        let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, (bits & ((1 << 52) - 1)) as i128);
        let size = if exponent == 0 { fraction } else { fraction | 1 << 52 };
        let (mut size, mut exponent) = (if value < 0.0 { -size } else { size }, exponent.max(1) - 1075);
        while size != 0 && size % 2 == 0 {
            (size, exponent) = (size / 2, exponent + 1);
        }
        Self(size, if size == 0 { 0 } else { exponent })
    }

    fn times(self, other: Self) -> Self {
        Self(self.0 * other.0, self.1 + other.1)
    }

    fn plus(self, other: Self) -> Self {
        if self.0 == 0 || other.0 == 0 {
            return if self.0 == 0 { other } else { self };
        }
        let exponent = self.1.min(other.1);
        let shifted = |number: Self| number.0.checked_mul(1_i128.checked_shl((number.1 - exponent) as u32).unwrap());
        Self(shifted(self).unwrap() + shifted(other).unwrap(), exponent)
    }

    fn minus(self, other: Self) -> Self {
        self.plus(Self(-other.0, other.1))
    }

    fn sign(self) -> Ordering {
        self.0.cmp(&0)
    }
}

/// The rounding modes, in the kernels' order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Zero,
    Up,
    Down,
}
const MODES: [Mode; 3] = [Mode::Zero, Mode::Up, Mode::Down];

/// Checks a finite result: `above` compares the exact result with a number. The next number on the other side is too far.
#[track_caller]
fn check(mode: Mode, result: f64, next_down: f64, next_up: f64, above: impl Fn(f64) -> Ordering) {
    let is_up = match mode {
        Mode::Up => true,
        Mode::Down => false,
        Mode::Zero => above(0.0).is_lt(),
    };
    let (here, other) = (above(result), above(if is_up { next_down } else { next_up }));
    let right = if is_up { here.is_le() && other.is_gt() } else { here.is_ge() && other.is_lt() };
    assert!(right, "{mode:?}: {result:e}");
}

/// Compares the exact results of the kernels' operations with a number.
fn above(operation: usize, (x, y, z): (f64, f64, f64), number: f64) -> Ordering {
    let of = Exact::of;
    let by =
        |difference: Exact, divisor: f64| if divisor < 0.0 { difference.sign().reverse() } else { difference.sign() };
    match operation {
        0 => of(x).plus(of(y)).minus(of(number)).sign(),
        1 => of(x).times(of(y)).minus(of(number)).sign(),
        2 => of(x).times(of(y)).plus(of(z)).minus(of(number)).sign(),
        3 => by(of(x).minus(of(number).times(of(y))), y),
        // The root is at least zero.
        4 if number < 0.0 => Ordering::Greater,
        4 => of(x.abs()).minus(of(number).times(of(number))).sign(),
        5 => of(x).minus(of(y)).minus(of(number)).sign(),
        _ => by(of(1.0).minus(of(number).times(of(y))), y),
    }
}

const N: usize = 192;

on_a_device! {
    fn floats_are_rounded_in_each_direction() {
        // Exponents near those of one, with exact results among them.
        let float = |word: &u32| {
            let word = if word % 5 == 0 { word & 0xffff_f000 } else { *word };
            f32::from_bits(word & 0x807f_ffff | (120 + (word >> 24 & 15)) << 23)
        };
        let [a, b, c] = [11, 12, 13].map(|seed| Random::new(seed).words(N).iter().map(float).collect::<Vec<f32>>());
        let [x, y, z] = [&a, &b, &c].map(|values| Buffer::of(values));
        let output = Buffer::zeros::<f32>(21 * N);
        module().run("floats", 3, 64, args![&x, &y, &z, &output, N as i32]);
        for (row, found) in output.read::<f32>(21 * N).chunks(N).enumerate() {
            for (i, found) in found.iter().enumerate() {
                let operands = (f64::from(a[i]), f64::from(b[i]), f64::from(c[i]));
                let [down, here, up] = [found.next_down(), *found, found.next_up()].map(f64::from);
                check(MODES[row % 3], here, down, up, |number| above(row / 3, operands, number));
            }
        }
    }

    fn doubles_are_rounded_in_each_direction() {
        let words = |seed| {
            let (high, low) = (Random::new(seed).words(N), Random::new(seed + 50).words(N));
            high.into_iter().zip(low).map(|(high, low)| {
                let word = u64::from(high) << 32 | u64::from(if high % 5 == 0 { 0 } else { low });
                f64::from_bits(word & 0x800f_ffff_ffff_ffff | (1021 + (word >> 52 & 3)) << 52)
            }).collect::<Vec<f64>>()
        };
        let [a, b, c] = [21, 22, 23].map(words);
        let [x, y, z] = [&a, &b, &c].map(|values| Buffer::of(values));
        let output = Buffer::zeros::<f64>(21 * N);
        module().run("doubles", 3, 64, args![&x, &y, &z, &output, N as i32]);
        for (row, found) in output.read::<f64>(21 * N).chunks(N).enumerate() {
            for (i, found) in found.iter().enumerate() {
                let operands = (a[i], b[i], c[i]);
                check(MODES[row % 3], *found, found.next_down(), found.next_up(), |number| above(row / 3, operands, number));
            }
        }
    }

    fn limits_of_rounding() {
        let (max, tiny, inf) = (f64::MAX, f64::from_bits(1), f64::INFINITY);
        let root = 3_f64.sqrt() * 2_f64.powi(-537);
        // The operation, its operands, and the results towards zero, up and down.
        let cases = [
            (0, (max, max, 0.0), [max, inf, max]),
            (0, (-max, -max, 0.0), [-max, -max, -inf]),
            (0, (1.0, -1.0, 0.0), [0.0, 0.0, -0.0]),
            (0, (1.0, tiny, 0.0), [1.0, 1.0 + f64::EPSILON, 1.0]),
            (0, (inf, 1.0, 0.0), [inf, inf, inf]),
            (1, (tiny, tiny, 0.0), [0.0, tiny, 0.0]),
            (1, (-tiny, 0.5, 0.0), [-0.0, -0.0, -tiny]),
            (1, (1.5 * 2_f64.powi(-600), 2_f64.powi(-474), 0.0), [tiny, 2.0 * tiny, tiny]),
            (1, (max, 2.0, 0.0), [max, inf, max]),
            (1, (0.0, -3.0, 0.0), [-0.0, -0.0, -0.0]),
            (2, (tiny, tiny, 1.0), [1.0, 1.0 + f64::EPSILON, 1.0]),
            (2, (tiny, -tiny, 1.0), [1.0_f64.next_down(), 1.0, 1.0_f64.next_down()]),
            (2, (2_f64.powi(1000), 2_f64.powi(24), -max), [2_f64.powi(971); 3]),
            (3, (1.0, 0.0, 0.0), [inf, inf, inf]),
            (3, (tiny, 2.0, 0.0), [0.0, tiny, 0.0]),
            (3, (1.0, inf, 0.0), [0.0, 0.0, 0.0]),
            (3, (max, 0.5, 0.0), [max, inf, max]),
            (4, (tiny, 0.0, 0.0), [2_f64.powi(-537); 3]),
            (4, (3.0 * tiny, 0.0, 0.0), [root, root.next_up(), root]),
            (6, (0.0, 3.0, 0.0), [1.0 / 3.0, (1.0_f64 / 3.0).next_up(), 1.0 / 3.0]),
        ];
        let n = cases.len();
        let column = |pick: fn((f64, f64, f64)) -> f64| Buffer::of(&cases.iter().map(|case| pick(case.1)).collect::<Vec<f64>>());
        let [x, y, z] = [column(|all| all.0), column(|all| all.1), column(|all| all.2)];
        let output = Buffer::zeros::<f64>(21 * n);
        module().run("doubles", 1, 64, args![&x, &y, &z, &output, n as i32]);
        let found = output.read::<f64>(21 * n);
        for (i, (operation, operands, expected)) in cases.iter().enumerate() {
            let here = [0, 1, 2].map(|mode| found[(operation * 3 + mode) * n + i].to_bits());
            assert_eq!(here.map(f64::from_bits), *expected, "{operation}: {operands:?}");
            assert_eq!(here, expected.map(f64::to_bits), "{operation}: {operands:?}, with the sign of zero");
        }

        let (max, tiny, inf) = (f32::MAX, f32::from_bits(1), f32::INFINITY);
        let cases = [
            (0, (max, max, 0.0), [max, inf, max]),
            (0, (1.0, -1.0, 0.0), [0.0, 0.0, -0.0]),
            (0, (-1.0, tiny, 0.0), [-1.0_f32.next_down(), -1.0_f32.next_down(), -1.0]),
            (1, (tiny, tiny, 0.0), [0.0, tiny, 0.0]),
            (1, (-tiny, tiny, 0.0), [-0.0, -0.0, -tiny]),
            (2, (tiny, tiny, 1.0), [1.0, 1.0 + f32::EPSILON, 1.0]),
            (2, (1.0, 1.0, -1.0), [0.0, 0.0, -0.0]),
            (3, (tiny, 3.0, 0.0), [0.0, tiny, 0.0]),
            (3, (-1.0, 0.0, 0.0), [-inf, -inf, -inf]),
            (4, (inf, 0.0, 0.0), [inf, inf, inf]),
        ];
        let n = cases.len();
        let column = |pick: fn((f32, f32, f32)) -> f32| Buffer::of(&cases.iter().map(|case| pick(case.1)).collect::<Vec<f32>>());
        let [x, y, z] = [column(|all| all.0), column(|all| all.1), column(|all| all.2)];
        let output = Buffer::zeros::<f32>(21 * n);
        module().run("floats", 1, 64, args![&x, &y, &z, &output, n as i32]);
        let found = output.read::<f32>(21 * n);
        for (i, (operation, operands, expected)) in cases.iter().enumerate() {
            let here = [0, 1, 2].map(|mode| found[(operation * 3 + mode) * n + i].to_bits());
            assert_eq!(here.map(f32::from_bits), *expected, "{operation}: {operands:?}");
            assert_eq!(here, expected.map(f32::to_bits), "{operation}: {operands:?}, with the sign of zero");
        }
    }

    fn conversions_are_rounded_in_each_direction() {
        let (high, low) = (Random::new(31).words(64), Random::new(32).words(64));
        let mut input: Vec<i64> = high.iter().zip(low).map(|(high, low)| ((u64::from(*high) << 32 | u64::from(low)) as i64) >> (high % 50)).collect();
        (input[0], input[1], input[2], input[3]) = (i64::MAX, i64::MIN, -1, 0);
        let from = Buffer::of(&input);
        let (narrow, whole, wide) = (Buffer::zeros::<f32>(192), Buffer::zeros::<f32>(384), Buffer::zeros::<f64>(192));
        module().run("conversions", 1, 64, args![&from, &narrow, &whole, &wide]);
        let (narrow, whole, wide) = (narrow.read::<f32>(192), whole.read::<f32>(384), wide.read::<f64>(192));
        for (i, value) in input.iter().enumerate() {
            let floats = |mode, found: f32, exact: Exact| {
                let [down, here, up] = [found.next_down(), found, found.next_up()].map(f64::from);
                check(mode, here, down, up, |number| exact.minus(Exact::of(number)).sign());
            };
            let doubles = |mode, found: f64, exact: Exact| {
                check(mode, found, found.next_down(), found.next_up(), |number| exact.minus(Exact::of(number)).sign());
            };
            let (signed, unsigned) = (Exact(i128::from(*value), 0), Exact(i128::from(*value as u64), 0));
            for (row, mode) in MODES.into_iter().enumerate() {
                floats(mode, narrow[row * 64 + i], Exact::of(*value as f64 / 3.0));
                floats(mode, whole[row * 64 + i], signed);
            }
            floats(Mode::Up, whole[3 * 64 + i], unsigned);
            floats(Mode::Down, whole[4 * 64 + i], Exact(i128::from(*value as i32), 0));
            floats(Mode::Up, whole[5 * 64 + i], Exact(i128::from(*value as u32), 0));
            doubles(Mode::Zero, wide[i], unsigned);
            doubles(Mode::Up, wide[64 + i], signed);
            doubles(Mode::Down, wide[128 + i], signed);
        }
    }
}
