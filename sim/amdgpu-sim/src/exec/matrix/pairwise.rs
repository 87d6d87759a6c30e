//! f16 and bf16 on gfx90a: sums of 4 or 2 products, added in pairs.
//!
//! Denormals of A, B and C count as unsigned zero. Each product, each sum of a pair, the sum of the pairs, and its sum
//! with C are rounded to f32, and denormal results are flushed to zero with their sign.

use super::layout::{Arithmetic, Unit, each};
use super::number::{brain, half_flushed};

#[inline(always)]
fn flushed(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

#[inline(always)]
fn without_denormals(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 { 0 } else { bits })
}

/// The product; the sign of a zero is lost.
#[inline(always)]
fn product(a: f32, b: f32) -> f32 {
    flushed(a * b + 0.0)
}

/// The hardware's algorithm for every case.
#[inline(always)]
fn careful<'v, const GROUP: usize, const C: usize>(
    mut sums: [f32; C],
    count: usize,
    term: impl Fn(usize) -> (f32, &'v [f32; C]),
) -> [f32; C] {
    sums = each(&sums, 0.0, without_denormals);
    for p in (0..count).step_by(GROUP) {
        for n in 0..C {
            let product = |q: usize| {
                let (a, b) = term(p + q);
                product(a, b[n])
            };
            let mut sum = flushed(product(0) + product(1));
            if GROUP == 4 {
                sum = flushed(sum + flushed(product(2) + product(3)));
            }
            sums[n] = flushed(sums[n] + sum);
        }
    }
    sums
}

/// The same for exact products, when no nonzero intermediate value is denormal or too large.
///
/// A product is then added without rounding it first. Zeros may differ in sign, but no sum that they are added to is
/// -0.
#[inline(always)]
fn plain<'v, const GROUP: usize, const C: usize, const FAST: bool>(
    mut sums: [f32; C],
    count: usize,
    term: impl Fn(usize) -> (f32, &'v [f32; C]),
) -> [f32; C] {
    sums = each(&sums, 0.0, without_denormals);
    for p in (0..count).step_by(GROUP) {
        let mut group = [0.0_f32; C];
        for q in (0..GROUP).step_by(2) {
            let ((a, b), (c, d)) = (term(p + q), term(p + q + 1));
            for n in 0..C {
                let second = c * d[n];
                let pair = if FAST { a.mul_add(b[n], second) } else { a * b[n] + second };
                group[n] = if q == 0 { pair } else { group[n] + pair };
            }
        }
        for n in 0..C {
            sums[n] += group[n];
        }
    }
    sums
}

/// Groups of 4 or 2 products.
pub(super) struct Pairs<const GROUP: usize>;
/// The same, for every case.
pub(super) struct CarefulPairs<const GROUP: usize>;

impl<const GROUP: usize> Arithmetic for Pairs<GROUP> {
    type Value = f32;
    type Sum = f32;

    #[inline(always)]
    fn dot<'v, const C: usize, const FAST: bool>(
        sums: [f32; C],
        count: usize,
        term: impl Fn(usize) -> (f32, &'v [f32; C]),
    ) -> [f32; C] {
        plain::<GROUP, C, FAST>(sums, count, term)
    }
}

impl<const GROUP: usize> Arithmetic for CarefulPairs<GROUP> {
    type Value = f32;
    type Sum = f32;

    #[inline(always)]
    fn dot<'v, const C: usize, const FAST: bool>(
        sums: [f32; C],
        count: usize,
        term: impl Fn(usize) -> (f32, &'v [f32; C]),
    ) -> [f32; C] {
        careful::<GROUP, C>(sums, count, term)
    }
}

/// f16: no product or sum of products is denormal, so the plain algorithm is always correct.
pub(super) struct Halves;

impl Unit for Halves {
    type Sums = Pairs<4>;
    type Careful = Self;
    const ZERO: f32 = 0.0;
    const BITS: usize = 16;

    #[inline(always)]
    fn a([bits, _]: [u32; 2]) -> f32 {
        half_flushed(bits)
    }

    #[inline(always)]
    fn b([bits, _]: [u32; 2]) -> f32 {
        half_flushed(bits)
    }
}

/// bf16 in groups of 4 (`_1k`) or 2.
pub(super) struct Brains<const GROUP: usize>;
/// The same, for very small or very large operands.
pub(super) struct CarefulBrains<const GROUP: usize>;

/// The largest exponent field, and the smallest of nonzero values.
#[inline(always)]
fn range(values: &[f32]) -> (u32, u32) {
    let (mut high, mut low) = (0, u32::MAX);
    for x in values {
        let size = x.to_bits() & 0x7fff_ffff;
        high = high.max(size);
        low = low.min(size.wrapping_sub(1));
    }
    (high >> 23, low >> 23)
}

impl<const GROUP: usize> Unit for Brains<GROUP> {
    type Sums = Pairs<GROUP>;
    type Careful = CarefulBrains<GROUP>;
    const ZERO: f32 = 0.0;
    const BITS: usize = 16;

    #[inline(always)]
    fn a([bits, _]: [u32; 2]) -> f32 {
        without_denormals(brain(bits))
    }

    #[inline(always)]
    fn b([bits, _]: [u32; 2]) -> f32 {
        without_denormals(brain(bits))
    }

    /// Products below 2^126 do not overflow in groups of four. The last bit of a product is at least 2^-102 if the sum
    /// of both exponents is at least -87 (`range` may be one too low): if C almost cancels that, the result is a
    /// multiple of 2^-126.
    #[inline(always)]
    fn suits(a: &[f32], b: &[f32]) -> bool {
        let ((a_high, a_low), (b_high, b_low)) = (range(a), range(b));
        a_high + b_high < 2 * 127 + 123 && a_low + b_low >= 2 * 127 - 87
    }
}

impl<const GROUP: usize> Unit for CarefulBrains<GROUP> {
    type Sums = CarefulPairs<GROUP>;
    type Careful = Self;
    const ZERO: f32 = 0.0;
    const BITS: usize = 16;

    fn a([bits, _]: [u32; 2]) -> f32 {
        without_denormals(brain(bits))
    }

    fn b([bits, _]: [u32; 2]) -> f32 {
        without_denormals(brain(bits))
    }
}
