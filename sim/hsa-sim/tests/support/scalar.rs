//! The number types of ROCm's mathematical libraries, and their values as complex f64.

use std::fmt::Debug;

use bytemuck::Pod;
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::numbers::values;

/// A type of numbers.
pub(crate) trait Scalar: Pod + Debug {
    /// The letter that BLAS uses for it.
    const LETTER: &str;
    /// Whether it has an imaginary part.
    const COMPLEX: bool;
    /// The largest relative error of rounding to it.
    const ROUNDING: f64;

    /// The number nearest to `value`.
    fn of(value: Complex64) -> Self;

    /// Its value.
    fn value(self) -> Complex64;
}

macro_rules! real {
    ($type:ty, $letter:literal, $rounding:expr, |$value:ident| $of:expr, |$number:ident| $back:expr) => {
        impl Scalar for $type {
            const LETTER: &str = $letter;
            const COMPLEX: bool = false;
            const ROUNDING: f64 = $rounding;

            fn of(value: Complex64) -> Self {
                let $value = value.re;
                $of
            }

            fn value(self) -> Complex64 {
                let $number = self;
                Complex64::new($back, 0.0)
            }
        }
    };
}

const fn half_of(epsilon: f64) -> f64 {
    epsilon / 2.0
}

real!(f64, "d", half_of(f64::EPSILON), |value| value, |number| number);
real!(f32, "s", half_of(f32::EPSILON as f64), |value| value as f32, |number| number.into());
real!(f16, "h", 1.0 / 2048.0, |value| f16::from_f64(value), |number| number.to_f64());
real!(bf16, "bf", 1.0 / 256.0, |value| bf16::from_f64(value), |number| number.to_f64());
// Integers: samples use the full range of a byte.
real!(i8, "i8", 0.0, |value| (value * 127.0) as i8, |number| number.into());
real!(i32, "i32", 0.0, |value| value as i32, |number| number.into());

macro_rules! complex {
    ($type:ty, $part:ty, $letter:literal) => {
        impl Scalar for $type {
            const LETTER: &str = $letter;
            const COMPLEX: bool = true;
            const ROUNDING: f64 = <$part>::EPSILON as f64 / 2.0;

            fn of(value: Complex64) -> Self {
                Self::new(value.re as $part, value.im as $part)
            }

            fn value(self) -> Complex64 {
                Complex64::new(self.re.into(), self.im.into())
            }
        }
    };
}

complex!(Complex32, f32, "c");
complex!(Complex64, f64, "z");

/// A real number.
pub(crate) fn real(value: f64) -> Complex64 {
    Complex64::new(value, 0.0)
}

/// `n` numbers from -1 to 1 in each part, exact in every floating-point type.
pub(crate) fn sample<T: Scalar>(n: usize, seed: u64) -> Vec<T> {
    let (re, im) = (values(n, seed), values(n, seed + 1000));
    re.into_iter().zip(im).map(|(re, im)| T::of(Complex64::new(re, if T::COMPLEX { im } else { 0.0 }))).collect()
}

/// Panics if a number differs from the reference by more than rounding plus `slack`. If the reference is infinite or
/// NaN, the number must be infinite or NaN too.
pub(crate) fn assert_agree<T: Scalar>(what: &str, got: &[T], expected: &[Complex64], slack: f64) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let mut furthest = 0.0_f64;
    for (at, (got, expected)) in got.iter().zip(expected).enumerate() {
        let number = got.value();
        for (got, expected) in [(number.re, expected.re), (number.im, expected.im)] {
            if !expected.is_finite() {
                assert!(
                    got == expected || got.is_nan() && expected.is_nan(),
                    "{what}[{at}]: {got:?} is not {expected}"
                );
                continue;
            }
            let error = (got - expected).abs();
            let allowed = T::ROUNDING * expected.abs() + slack;
            assert!(error <= allowed, "{what}[{at}]: {got:?} is not {expected} ({error:e}, {allowed:e} allowed)");
            furthest = furthest.max(error);
        }
    }
    println!("{what}: within {furthest:.1e}");
}
