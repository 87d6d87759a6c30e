//! Numbers whose squares overflow or underflow: norms computed on the host, and scaling by powers of two.

use hip::bytemuck;
use hip_linalg::Scalar;

/// Returns the real numbers of elements, two for each complex one. Reals are `f32` or `f64`.
fn reals<T: Scalar>(elements: &[T]) -> impl Iterator<Item = f64> + '_ {
    let size = size_of::<T::Real>();
    bytemuck::cast_slice::<T, u8>(elements).chunks_exact(size).map(move |bytes| match size {
        4 => bytemuck::pod_read_unaligned::<f32>(bytes).into(),
        _ => bytemuck::pod_read_unaligned::<f64>(bytes),
    })
}

/// Converts to a real number of this type, with rounding.
fn real<R: Scalar>(value: f64) -> R {
    match size_of::<R>() {
        4 => bytemuck::pod_read_unaligned(bytemuck::bytes_of(&(value as f32))),
        _ => bytemuck::pod_read_unaligned(bytemuck::bytes_of(&value)),
    }
}

/// Returns whether a norm of `len` elements that was computed from unscaled squares is right: no square overflowed, and
/// those that underflowed are negligible. NaN is right.
pub(crate) fn is_norm<R: Scalar>(norm: R, len: usize) -> bool {
    let norm: f64 = reals(&[norm]).sum();
    let (least, epsilon) = match size_of::<R>() {
        4 => (f64::from(f32::MIN_POSITIVE), f64::from(f32::EPSILON)),
        _ => (f64::MIN_POSITIVE, f64::EPSILON),
    };
    // A complex number has two squares.
    let lost = (2.0 * len as f64 * least / epsilon).sqrt();
    norm.is_nan() || (norm.is_finite() && norm >= lost)
}

/// Sums of squares, with separate sums for large, small and other numbers: no square overflows or underflows.
#[derive(Debug, Default)]
pub(crate) struct Norm {
    large: f64,
    other: f64,
    small: f64,
}

/// Exponent of the bound: numbers that are larger, or smaller than its inverse, are scaled before they are squared.
const LARGE: i32 = 400;
const SCALE: i32 = 600;

impl Norm {
    pub(crate) fn add<T: Scalar>(&mut self, elements: &[T]) {
        let (large, small) = (2.0_f64.powi(LARGE), 2.0_f64.powi(-LARGE));
        for x in reals(elements).map(f64::abs) {
            if x > large {
                self.large += (x * 2.0_f64.powi(-SCALE)).powi(2);
            } else if x < small {
                self.small += (x * 2.0_f64.powi(SCALE)).powi(2);
            } else {
                self.other += x * x;
            }
        }
    }

    pub(crate) fn result<R: Scalar>(&self) -> R {
        let Self { large, other, small } = *self;
        let down = 2.0_f64.powi(-SCALE);
        real(if other.is_nan() {
            f64::NAN
        } else if large > 0.0 {
            (large + other * down * down).sqrt() * 2.0_f64.powi(SCALE)
        } else if other > 0.0 {
            (other + small * down * down).sqrt()
        } else {
            small.sqrt() * down
        })
    }
}

/// Returns the power of two by which numbers are multiplied so that their squares are in range: 0 if they already are,
/// or are not finite.
pub(crate) fn power<T: Scalar>(numbers: &[T]) -> i32 {
    let largest = reals(numbers).map(f64::abs).fold(0.0, f64::max);
    if largest == 0.0 || !reals(numbers).all(f64::is_finite) {
        return 0;
    }
    let exponent = largest.log2().floor() as i32;
    let limit = if size_of::<T::Real>() == 4 { 40 } else { 400 };
    if exponent.abs() <= limit { 0 } else { -exponent }
}

/// Multiplies a number by a power of two.
pub(crate) fn times_power<T: Scalar>(number: T, power: i32) -> T {
    if power == 0 {
        return number;
    }
    let (numbers, half) = ([number], power / 2);
    let scaled = reals(&numbers).map(|x| x * 2.0_f64.powi(half) * 2.0_f64.powi(power - half));
    let bytes: Vec<u8> = match size_of::<T::Real>() {
        4 => scaled.flat_map(|x| (x as f32).to_ne_bytes()).collect(),
        _ => scaled.flat_map(f64::to_ne_bytes).collect(),
    };
    bytemuck::pod_read_unaligned(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn norm<T: Scalar<Real = R>, R: Scalar>(elements: &[T]) -> R {
        let mut norm = Norm::default();
        norm.add(elements);
        norm.result()
    }

    #[test]
    fn norms_of_small_and_large_numbers() {
        assert_eq!(norm(&[3e30_f32, 4e30]), 5e30);
        assert_eq!(norm(&[3e-30_f32, 4e-30]), 5e-30);
        assert_eq!(norm::<f32, f32>(&[]), 0.0);
        for power in [-1070, -700, -400, -10, 0, 399, 401, 700, 1020] {
            let [three, four, five] = [3.0_f64, 4.0, 5.0].map(|x| times_power(x, power));
            assert!((norm::<f64, f64>(&[three, 0.0, -four]) / five - 1.0).abs() < 1e-15, "2^{power}");
        }
        // Each of them alone, and together with a larger one.
        assert_eq!(norm(&[1e300_f64, 1.0, 1e-300]), 1e300);
        assert_eq!(norm(&[1.0_f64, 1e-300]), 1.0);
        assert!(norm(&[f64::INFINITY, 1.0]).is_infinite() && norm(&[1e300, f64::NAN]).is_nan());
        assert!(norm(&[f32::MAX, f32::MAX]).is_infinite());
    }

    #[test]
    fn norms_that_plain_squares_get_right() {
        assert!(is_norm(1e-15_f32, 3) && is_norm(1e19_f32, 3) && is_norm(f32::NAN, 3));
        assert!(!is_norm(0.0_f32, 3) && !is_norm(1e-17_f32, 3) && !is_norm(f32::INFINITY, 3));
        assert!(!is_norm(1e-15_f32, 1 << 40), "so many squares that underflow count");
        assert!(is_norm(1e-100_f64, 3) && !is_norm(1e-160_f64, 3));
    }

    #[test]
    fn powers_bring_numbers_near_one() {
        assert_eq!((power(&[1.0_f32, 2e-30]), power(&[0.0_f32]), power(&[f32::INFINITY, 1e30])), (0, 0, 0));
        assert_eq!(power(&[2.0_f64.powi(500)]), -500);
        assert_eq!(times_power(times_power(3e-40_f32, 130), -130), 3e-40);
    }
}
