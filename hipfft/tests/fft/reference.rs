//! Transforms on the host, in 64 bits, and the bound of their error.

use hipfft::half::f16;
use hipfft::{Complex, Complex64, FftReal};
use rustfft::{FftDirection, FftPlanner};

/// Real numbers of the tests.
pub(crate) trait Number: FftReal {
    /// The unit roundoff.
    const EPS: f64;
    fn wide(self) -> f64;
    fn narrow(value: f64) -> Self;
    fn complex(value: Complex64) -> Self::Complex;
    fn wide_complex(value: Self::Complex) -> Complex64;
}

macro_rules! numbers {
    ($($t:ty: $eps:expr, |$x:ident| $wide:expr, |$v:ident| $narrow:expr;)*) => {$(
        impl Number for $t {
            const EPS: f64 = $eps;
            fn wide(self) -> f64 { let $x = self; $wide }
            fn narrow($v: f64) -> Self { $narrow }
            fn complex(value: Complex64) -> Complex<Self> {
                Complex { re: Self::narrow(value.re), im: Self::narrow(value.im) }
            }
            fn wide_complex(value: Complex<Self>) -> Complex64 {
                Complex64::new(value.re.wide(), value.im.wide())
            }
        }
    )*};
}

numbers! {
    f16: 4.9e-4, |x| x.to_f64(), |v| f16::from_f64(v);
    f32: 6.0e-8, |x| x.into(), |v| v as f32;
    f64: 1.2e-16, |x| x, |v| v;
}

/// Sums with exp(∓2πi jk/n), as the definition has it.
pub(crate) fn naive(input: &[Complex64], inverse: bool) -> Vec<Complex64> {
    let n = input.len();
    let sign = if inverse { 1.0 } else { -1.0 };
    let root = |power: usize| Complex64::from_polar(1.0, sign * std::f64::consts::TAU * (power % n) as f64 / n as f64);
    (0..n).map(|k| input.iter().enumerate().map(|(j, x)| x * root(j * k)).sum()).collect()
}

/// Of an array of up to three dimensions, the last one contiguous: `rustfft` along each of them.
pub(crate) fn transform(data: &mut [Complex64], lengths: &[usize], inverse: bool) {
    let direction = if inverse { FftDirection::Inverse } else { FftDirection::Forward };
    let mut planner = FftPlanner::new();
    for (dimension, &length) in lengths.iter().enumerate() {
        let fft = planner.plan_fft(length, direction);
        let stride: usize = lengths[dimension + 1..].iter().product();
        for first in (0..data.len()).filter(|at| at / stride % length == 0) {
            let mut line: Vec<Complex64> = (0..length).map(|at| data[first + at * stride]).collect();
            fft.process(&mut line);
            line.into_iter().enumerate().for_each(|(at, value)| data[first + at * stride] = value);
        }
    }
}

/// Panics unless the root mean square of the errors is within that of theory, ε log₂ n, of that of the results, and no
/// error is much larger than the others.
#[track_caller]
pub(crate) fn assert_close<T: Number>(what: &str, got: &[Complex64], want: &[Complex64], n: usize) {
    assert_eq!(got.len(), want.len(), "{what}");
    let size = (want.iter().map(|x| x.norm_sqr()).sum::<f64>() / want.len().max(1) as f64).sqrt();
    let levels = (n.max(2) as f64).log2() + 1.0;
    let errors: Vec<f64> = got.iter().zip(want).map(|(got, want)| (got - want).norm()).collect();
    let rms = (errors.iter().map(|error| error * error).sum::<f64>() / errors.len().max(1) as f64).sqrt();
    let bound = 3.0 * T::EPS * levels * size;
    assert!(rms <= bound, "{what}: errors of {rms:e}, bound {bound:e}");
    for (at, error) in errors.iter().enumerate() {
        assert!(*error <= 8.0 * bound, "{what}: {at} is {}, not {}: off by {error:e}", got[at], want[at]);
    }
}

/// The reference is the definition.
#[test]
fn rustfft_is_the_definition() {
    let mut rng = linalg_testing::Rng::new(3);
    for n in [1, 2, 3, 8, 15, 31] {
        let input: Vec<Complex64> = rng.numbers(n);
        for inverse in [false, true] {
            let mut found = input.clone();
            transform(&mut found, &[n], inverse);
            assert_close::<f64>("rustfft", &found, &naive(&input, inverse), n);
        }
    }
    // Two dimensions: rows, then columns.
    let input: Vec<Complex64> = rng.numbers(12);
    let mut found = input.clone();
    transform(&mut found, &[3, 4], false);
    let rows: Vec<Complex64> = input.chunks(4).flat_map(|row| naive(row, false)).collect();
    let want: Vec<Complex64> =
        (0..12).map(|at| naive(&[rows[at % 4], rows[at % 4 + 4], rows[at % 4 + 8]], false)[at / 4]).collect();
    assert_close::<f64>("two dimensions", &found, &want, 12);
}

#[test]
#[should_panic(expected = "errors of")]
fn a_wrong_transform_is_found() {
    let input: Vec<Complex64> = linalg_testing::Rng::new(3).numbers(8);
    assert_close::<f32>("the other direction", &naive(&input, true), &naive(&input, false), 8);
}
