//! Floating-point test data in four precisions, and rounding and comparison of results.

use half::{bf16, f16};

use crate::common::{Plain, Random};

/// A precision: its representation, and its values as `f64`, which can represent all of them.
pub(crate) trait Number: Plain {
    /// Bits of the significand, the hidden one included.
    const DIGITS: i32;
    /// The exponents of the least and of the largest normal number.
    const EXPONENTS: (i32, i32);
    fn wide(self) -> f64;
    /// Rounded to nearest, ties to even.
    fn narrow(value: f64) -> Self;
    fn from_bits(bits: u64) -> Self;
    fn to_bits(self) -> u64;
}

/// A half, as its bits: the device's buffers hold plain integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Half(pub(crate) u16);

/// A bfloat16, as its bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Brain(pub(crate) u16);

macro_rules! plain {
    ($($t:ident)*) => {$(impl Plain for $t {
        fn bytes(self) -> Vec<u8> {
            self.0.to_le_bytes().to_vec()
        }
        fn read(bytes: &[u8]) -> Self {
            Self(u16::read(bytes))
        }
    })*};
}
plain!(Half Brain);

macro_rules! number {
    ($t:ty, $digits:literal, $exponents:expr, $wide:expr, $narrow:expr, $from:expr, $to:expr) => {
        impl Number for $t {
            const DIGITS: i32 = $digits;
            const EXPONENTS: (i32, i32) = $exponents;
            fn wide(self) -> f64 {
                $wide(self)
            }
            fn narrow(value: f64) -> Self {
                $narrow(value)
            }
            fn from_bits(bits: u64) -> Self {
                $from(bits)
            }
            fn to_bits(self) -> u64 {
                $to(self)
            }
        }
    };
}
number!(f64, 53, (-1022, 1023), |x| x, |x| x, f64::from_bits, f64::to_bits);
number!(f32, 24, (-126, 127), f64::from, |x| x as f32, |b| f32::from_bits(b as u32), |x: f32| u64::from(x.to_bits()));
number!(
    Half,
    11,
    (-14, 15),
    |x: Half| f16::from_bits(x.0).to_f64(),
    |x| Half(round_to::<11>(x, -14, 15, |x| f16::from_f64(x).to_bits())),
    |b| Half(b as u16),
    |x: Half| u64::from(x.0)
);
number!(
    Brain,
    8,
    (-126, 127),
    |x: Brain| bf16::from_bits(x.0).to_f64(),
    |x| Brain(round_to::<8>(x, -126, 127, |x| bf16::from_f64(x).to_bits())),
    |b| Brain(b as u16),
    |x: Brain| u64::from(x.0)
);

/// `value` rounded to `DIGITS` bits, ties to even, with gradual underflow and overflow to infinity; then `exactly`
/// stores it.
///
/// The rounding follows its definition, so that no library's conversion must be trusted.
fn round_to<const DIGITS: i32>(value: f64, least: i32, largest: i32, exactly: fn(f64) -> u16) -> u16 {
    if value == 0.0 || !value.is_finite() {
        return exactly(value);
    }
    let exponent = exponent(value).max(least);
    let unit = power(exponent - (DIGITS - 1));
    let rounded = (value / unit).round_ties_even() * unit;
    exactly(if rounded.abs() >= power(largest) * 2.0 { f64::INFINITY.copysign(value) } else { rounded })
}

/// 2 to an integer power in the range of `f64`, without using a library.
pub(crate) fn power(exponent: i32) -> f64 {
    if exponent >= -1022 {
        f64::from_bits(((exponent + 1023) as u64) << 52)
    } else {
        f64::from_bits(1 << (exponent + 1074))
    }
}

/// The exponent of a finite number that is not zero.
pub(crate) fn exponent(value: f64) -> i32 {
    let bits = value.to_bits() >> 52 & 0x7ff;
    if bits == 0 { exponent(value * power(64)) - 64 } else { bits as i32 - 1023 }
}

/// `x + y`, rounded to odd: rounding it again to a shorter format gives the same as a single rounding.
pub(crate) fn sum_to_odd(x: f64, y: f64) -> f64 {
    let sum = x + y;
    if !sum.is_finite() || sum.to_bits() & 1 == 1 {
        return sum;
    }
    // Knuth's two-sum: the error of the sum, exactly.
    let back = sum - x;
    let error = (x - (sum - back)) + (y - back);
    if error == 0.0 {
        return sum;
    }
    // The neighbour in the direction of the error: further from zero or nearer to it.
    f64::from_bits(if (error > 0.0) == (sum > 0.0) { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
}

/// Numbers of all magnitudes: normal, subnormal, zeros, infinities, (quiet) NaNs, and small integers, whose results are
/// often exact.
pub(crate) fn numbers<T: Number>(random: &mut Random, count: usize) -> Vec<T> {
    let bits = 8 * size_of::<T>() as u32;
    let quiet = T::narrow(f64::NAN).to_bits();
    (0..count)
        .map(|_| match random.next() % 8 {
            0 => {
                let x = T::from_bits(random.next() >> (64 - bits));
                if x.wide().is_nan() { T::from_bits(quiet) } else { x }
            }
            1 => T::from_bits(random.next() & ((1 << (T::DIGITS - 1)) - 1) | (random.next() & 1) << (bits - 1)),
            2 => T::narrow(
                [0.0, -0.0, f64::INFINITY, -f64::INFINITY, f64::NAN, 1.0, -1.0, 0.5][random.next() as usize % 8],
            ),
            3 => T::narrow((random.next() % 65) as f64 - 32.0),
            4 => T::narrow(((random.next() % 65) as f64 - 32.0) / 2.0),
            // Similar magnitudes: sums cancel, quotients are near one.
            5 | 6 => T::narrow(random.between(-4.0, 4.0)),
            _ => {
                let (least, largest) = T::EXPONENTS;
                let exponent = least + (random.next() % (largest - least) as u64) as i32;
                T::narrow(random.between(-2.0, 2.0) * power(exponent))
            }
        })
        .collect()
}

/// Equal bit for bit, or both not a number.
pub(crate) fn same<T: Number>(a: T, b: T) -> bool {
    a.to_bits() == b.to_bits() || a.wide().is_nan() && b.wide().is_nan()
}

/// Distance in units of the last place of the precision. Two NaNs have distance 0; a NaN is far from everything else.
pub(crate) fn ulps<T: Number>(a: T, b: T) -> u64 {
    let sign = 1_u64 << (8 * size_of::<T>() - 1);
    let place = |x: T| {
        let bits = x.to_bits();
        if bits & sign == 0 { i128::from(bits) } else { -i128::from(bits & (sign - 1)) }
    };
    match (a.wide().is_nan(), b.wide().is_nan()) {
        (true, true) => 0,
        (false, false) => place(a).abs_diff(place(b)) as u64,
        _ => u64::MAX,
    }
}
