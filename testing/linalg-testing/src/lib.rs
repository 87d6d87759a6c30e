//! Reference implementations on the host in 64-bit complex numbers, with theoretical error bounds: |computed − exact| ≤
//! c·n·ε·|A||B|, element by element (Higham, Accuracy and Stability of Numerical Algorithms, chapter 3).

mod counting;
mod declared;
mod memory;
mod turns;

use half::{bf16, f16};
use hip_linalg::Scalar;
use num_complex::{Complex32, Complex64};

pub use counting::{Counting, assert_steady};
pub use declared::{Declared, ParameterKind, declared};
pub use memory::{
    Held, HeldMut, Kind, Layout, Memory, TestMatrix, TestVector, packed, packed_mut, unpacked, vector_mut,
};
pub use turns::Turns;

/// A number type that tests can convert to the reference's and back.
pub trait Number: Scalar {
    /// The unit roundoff.
    const EPS: f64;
    /// In the reference's type.
    fn wide(self) -> Complex64;
    /// Rounded to this type; the imaginary part of a real number is dropped.
    fn narrow(value: Complex64) -> Self;
}

macro_rules! numbers {
    ($($t:ty: $eps:expr, |$x:ident| $wide:expr, |$v:ident| $narrow:expr;)*) => {$(
        impl Number for $t {
            const EPS: f64 = $eps;
            fn wide(self) -> Complex64 { let $x = self; $wide }
            fn narrow($v: Complex64) -> Self { $narrow }
        }
    )*};
}

numbers! {
    f16: 4.9e-4, |x| x.to_f64().into(), |v| f16::from_f64(v.re);
    bf16: 4.0e-3, |x| x.to_f64().into(), |v| bf16::from_f64(v.re);
    f32: 6.0e-8, |x| f64::from(x).into(), |v| v.re as f32;
    f64: 1.2e-16, |x| x.into(), |v| v.re;
    Complex32: 6.0e-8, |x| Complex64::new(x.re.into(), x.im.into()), |v| Complex32::new(v.re as f32, v.im as f32);
    Complex64: 1.2e-16, |x| x, |v| v;
    i8: 0.0, |x| f64::from(x).into(), |v| v.re as i8;
    i32: 0.0, |x| f64::from(x).into(), |v| v.re as i32;
}

/// Repeatable pseudo-random numbers.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// From a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// Less than `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.any() % end as u64) as usize
    }

    /// One of these.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// A multiple of 1/8 between -1 and 1, which is exact in every floating-point type. For an integer type, an integer
    /// from -8 to 8.
    pub fn number<T: Number>(&mut self) -> T {
        let mut part = || (self.below(17) as f64 - 8.0) / if T::EPS == 0.0 { 1.0 } else { 8.0 };
        T::narrow(Complex64::new(part(), part()))
    }

    /// A vector of `len` such numbers.
    pub fn numbers<T: Number>(&mut self, len: usize) -> Vec<T> {
        (0..len).map(|_| self.number()).collect()
    }
}

/// A matrix of the reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// Column after column.
    pub data: Vec<Complex64>,
}

impl Host {
    /// A matrix with elements computed from row and column.
    pub fn from_fn(rows: usize, cols: usize, mut element: impl FnMut(usize, usize) -> Complex64) -> Self {
        let data = (0..cols).flat_map(|col| (0..rows).map(move |row| (row, col))).map(|(row, col)| element(row, col));
        Self { rows, cols, data: data.collect() }
    }

    /// Reads a matrix in BLAS layout.
    pub fn of<T: Number>(memory: &[T], rows: usize, cols: usize, ld: usize) -> Self {
        Self::from_fn(rows, cols, |row, col| memory[col * ld + row].wide())
    }

    /// Reads a vector in BLAS layout, as a column.
    pub fn vector<T: Number>(memory: &[T], len: usize, increment: isize) -> Self {
        let step = increment.unsigned_abs();
        Self::from_fn(len, 1, |row, _| memory[if increment < 0 { len - 1 - row } else { row } * step].wide())
    }

    /// One element.
    #[must_use]
    pub fn at(&self, row: usize, col: usize) -> Complex64 {
        self.data[col * self.rows + row]
    }

    /// The transpose.
    #[must_use]
    pub fn t(&self) -> Self {
        Self::from_fn(self.cols, self.rows, |row, col| self.at(col, row))
    }

    /// The conjugate transpose.
    #[must_use]
    pub fn h(&self) -> Self {
        Self::from_fn(self.cols, self.rows, |row, col| self.at(col, row).conj())
    }

    /// The product.
    #[must_use]
    pub fn mul(&self, other: &Self) -> Self {
        assert_eq!(self.cols, other.rows);
        Self::from_fn(self.rows, other.cols, |row, col| {
            (0..self.cols).map(|k| self.at(row, k) * other.at(k, col)).sum()
        })
    }

    /// α times this.
    #[must_use]
    pub fn scale(&self, alpha: Complex64) -> Self {
        self.map(|x| alpha * x)
    }

    /// Applies `f` to each element.
    #[must_use]
    pub fn map(&self, f: impl Fn(Complex64) -> Complex64) -> Self {
        Self { data: self.data.iter().map(|&x| f(x)).collect(), ..*self }
    }

    /// The sum.
    #[must_use]
    pub fn add(&self, other: &Self) -> Self {
        assert_eq!((self.rows, self.cols), (other.rows, other.cols));
        Self::from_fn(self.rows, self.cols, |row, col| self.at(row, col) + other.at(row, col))
    }

    /// The absolute values as |re| + |im|, which also bounds products.
    #[must_use]
    pub fn abs(&self) -> Self {
        self.map(|x| (x.re.abs() + x.im.abs()).into())
    }

    /// The identity.
    #[must_use]
    pub fn identity(order: usize) -> Self {
        Self::from_fn(order, order, |row, col| f64::from(row == col).into())
    }

    /// The largest absolute value; NaN if any element is NaN.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.data.iter().map(|x| x.norm()).fold(0.0, |a, b| if b.is_nan() || b > a { b } else { a })
    }

    /// The elements of one triangle, with ones on the diagonal if `unit`, and zeros elsewhere.
    #[must_use]
    pub fn triangle(&self, lower: bool, unit: bool) -> Self {
        Self::from_fn(self.rows, self.cols, |row, col| match row == col {
            true if unit => 1.0.into(),
            same if same || (row > col) == lower => self.at(row, col),
            _ => 0.0.into(),
        })
    }

    /// The symmetric or Hermitian matrix with the given triangle.
    #[must_use]
    pub fn mirrored(&self, lower: bool, hermitian: bool) -> Self {
        Self::from_fn(self.rows, self.cols, |row, col| match (row == col, (row > col) == lower) {
            (true, _) if hermitian => self.at(row, col).re.into(),
            (true, _) | (false, true) => self.at(row, col),
            (false, false) if hermitian => self.at(col, row).conj(),
            (false, false) => self.at(col, row),
        })
    }
}

/// Panics unless each element of `got` is within `terms` roundings of type `T` of `want`, each relative to `size`:
/// c·n·ε·|A||B|.
#[track_caller]
pub fn assert_close<T: Number>(what: &str, got: &Host, want: &Host, size: &Host, terms: usize) {
    assert_eq!((got.rows, got.cols), (want.rows, want.cols), "{what}: shape");
    // A complex product has two more roundings than a real one; storing the result is another.
    let factor = (terms + 3) as f64 * T::EPS * if T::COMPLEX { 3.0 } else { 1.0 };
    for (index, ((got, want), size)) in got.data.iter().zip(&want.data).zip(&size.data).enumerate() {
        let error = (got - want).norm();
        let bound = factor * (size.norm() + want.norm());
        assert!(error <= bound, "{what}: element {index} is {got}, not {want}: off by {error:e}, bound {bound:e}");
    }
}

/// Reports that a test is skipped, bypassing libtest's capture; `cargo xtask test` counts it.
pub fn skipped(why: &dyn std::fmt::Display) {
    use std::io::Write as _;
    let why = why.to_string();
    let _ = writeln!(std::io::stdout(), "SKIPPED: {}", why.lines().next().unwrap_or_default());
}

/// Returns whether the tests run on a ROCm release older than this one, such as `(6, 2)`.
///
/// # Panics
/// Panics if `ROCM_RS_RELEASE` is not a release.
#[must_use]
pub fn before(release: (u32, u32)) -> bool {
    std::env::var("ROCM_RS_RELEASE").is_ok_and(|found| {
        let (major, minor) = found.split_once('.').expect("two numbers");
        (major.parse().expect("a number"), minor.parse().expect("a number")) < release
    })
}

/// The device to test on: any GPU of a real HIP runtime, for ROCm's libraries. `None` after reporting why there is
/// none.
pub fn device() -> Option<hip::Device> {
    let found = match hip::backend() {
        Ok(hip::Backend::Rocm) => hip::Device::get(0),
        Ok(_) => {
            skipped(&"the embedded software GPU runs no libraries of ROCm");
            return None;
        }
        Err(error) => Err(error),
    };
    match found {
        Ok(device) => Some(device),
        Err(error) => {
            skipped(&error);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_multiplies_as_by_hand() {
        let a = Host::of(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3, 2);
        assert_eq!(a.mul(&a.t()), Host::of(&[35.0_f64, 44.0, 44.0, 56.0], 2, 2, 2));
        let i = Host::of(&[Complex32::new(0.0, 1.0)], 1, 1, 1);
        assert_eq!(i.mul(&i.h()), Host::identity(1));
        assert_eq!(Host::vector(&[1.0_f32, 0.0, 2.0], 2, -2), Host::of(&[2.0_f32, 1.0], 2, 1, 2));
        let half = Host::of(&[1.0_f32, 2.0, 9.0, 3.0], 2, 2, 2);
        assert_eq!(half.mirrored(true, false), Host::of(&[1.0_f32, 2.0, 2.0, 3.0], 2, 2, 2));
        assert_eq!(half.triangle(false, true), Host::of(&[1.0_f32, 0.0, 9.0, 1.0], 2, 2, 2));
    }

    #[test]
    #[should_panic(expected = "off by")]
    fn an_error_of_more_than_the_bound_is_found() {
        let one = Host::identity(1);
        assert_close::<f32>("one", &one.scale((1.0 + 2e-6).into()), &one, &one, 1);
    }

    #[test]
    #[should_panic(expected = "NaN")]
    fn a_nan_is_found() {
        let one = Host::identity(1);
        assert_close::<f32>("one", &one.scale(f64::NAN.into()), &one, &one, 1);
    }
}
