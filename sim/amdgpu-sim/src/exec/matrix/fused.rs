//! f16, bf16, xf32, fp8 and bf8 on gfx942: several products and C are aligned, truncated and added as integers.
//!
//! For a group of products:
//! 1. Each product is exact. The largest exponent (the sum of the two elements' exponents) is that of the group.
//! 2. Each product is truncated toward zero below 2^-24 of that exponent; the products are added.
//! 3. The larger of C's exponent and the group's is chosen. The group's sum is rounded down (toward minus infinity) to
//!    multiples of 2^-31 of it, C to multiples of 2^-24.
//! 4. The sum of both is rounded to the nearest f32, ties to even, denormals kept. It is C for the next group.
//!
//! With fp8 and bf8, even and odd k have separate sums in step 2; both are rounded down to 2^-24 of the larger exponent
//! and added. There, C counts as zero if its exponent is smaller by more than 25.

use std::marker::PhantomData;

use super::layout::{Arithmetic, Unit};
use super::number::{Format, power};

/// Elements of formats `A` and `B`, both with significands of `FRACTION` fractional bits, added by [`Aligned`].
pub(super) struct Fused<A, B, const FRACTION: i32, const GROUP: usize, const SPLIT: bool>(PhantomData<(A, B)>);
/// The same for operands with infinite or NaN elements, or with products that may exceed the range of f32.
pub(super) struct CarefulFused<A, B, const FRACTION: i32, const GROUP: usize, const SPLIT: bool>(PhantomData<(A, B)>);

/// Groups of at most `GROUP` products, with even and odd ones separate if `SPLIT`.
pub(super) struct Aligned<const FRACTION: i32, const GROUP: usize, const SPLIT: bool>;
/// The same for all operands.
pub(super) struct CarefulAligned<const FRACTION: i32, const GROUP: usize, const SPLIT: bool>;

/// The value of an element, and its parts.
type Whole = (f64, i32);

/// The bias that makes exponents positive.
const OFFSET: i32 = 256;

/// The significand in the upper half, the exponent in the lower one. For infinities and NaN, the exponent is large.
#[inline(always)]
fn packed<F: Format, const FRACTION: i32>(bits: u32) -> i32 {
    let (significand, exponent) = F::split(bits);
    significand << (16 + FRACTION - F::FRACTION) | if F::is_finite(bits) { exponent + OFFSET } else { 0x4000 }
}

#[inline(always)]
fn exponent(x: i32) -> i32 {
    x & 0xffff
}

/// Sums of the products from `first` on, `step` apart, before `end`: multiples of 2^-24 of the corresponding exponents.
#[inline(always)]
fn products<'v, const FRACTION: i32, const C: usize>(
    (first, end, step): (usize, usize, usize),
    term: &impl Fn(usize) -> (i32, &'v [i32; C]),
) -> ([i32; C], [i32; C]) {
    let mut largest = [0; C];
    for p in (first..end).step_by(step) {
        let (a, b) = term(p);
        for n in 0..C {
            largest[n] = i32::max(largest[n], exponent(a) + exponent(b[n]));
        }
    }
    let mut sums = [0; C];
    for p in (first..end).step_by(step) {
        let (a, b) = term(p);
        for n in 0..C {
            let product = ((a >> 16) * (b[n] >> 16)) << (24 - 2 * FRACTION);
            let below = (largest[n] - exponent(a) - exponent(b[n])).min(31);
            let sign = product >> 31;
            let size = ((product ^ sign) - sign) >> below;
            sums[n] += (size ^ sign) - sign;
        }
    }
    (sums, largest)
}

/// Adds one group to one sum: `group` is a multiple of 2^-24 of `at`.
#[inline(always)]
fn add<const SPLIT: bool>(sum: f32, group: i32, at: i32) -> f32 {
    let bits = sum.to_bits();
    let field = (bits >> 23 & 0xff) as i32;
    let size = (bits & 0x7f_ffff) as i32 | i32::from(field != 0) << 23;
    let significand = if bits >> 31 != 0 { -size } else { size };
    let (at, from) = (at - 2 * OFFSET, field.max(1) - 127);
    let largest = at.max(from);
    let group = (f64::from(group) * power(7 - (largest - at))).floor();
    let below = largest - from;
    let own = 2 * significand >> below.min(31);
    let own = if SPLIT && below > 25 { 0 } else { own };
    let all = ((group + 128.0 * f64::from(own)) * power(largest - 31)) as f32;
    // An infinite or NaN sum does not change.
    if field == 255 { sum } else { all }
}

#[inline(always)]
fn dot<'v, const FRACTION: i32, const GROUP: usize, const SPLIT: bool, const C: usize>(
    mut sums: [f32; C],
    count: usize,
    term: impl Fn(usize) -> (i32, &'v [i32; C]),
) -> [f32; C] {
    for p in (0..count).step_by(GROUP) {
        let end = count.min(p + GROUP);
        let (mut group, mut at);
        if SPLIT {
            let (even, even_at) = products::<FRACTION, C>((p, end, 2), &term);
            let (odd, odd_at) = products::<FRACTION, C>((p + 1, end, 2), &term);
            (group, at) = ([0; C], [0; C]);
            for n in 0..C {
                at[n] = even_at[n].max(odd_at[n]);
                group[n] = (even[n] >> (at[n] - even_at[n]).min(31)) + (odd[n] >> (at[n] - odd_at[n]).min(31));
            }
        } else {
            (group, at) = products::<FRACTION, C>((p, end, 1), &term);
        }
        for n in 0..C {
            sums[n] = add::<SPLIT>(sums[n], group[n], at[n]);
        }
    }
    sums
}

impl<const FRACTION: i32, const GROUP: usize, const SPLIT: bool> Arithmetic for Aligned<FRACTION, GROUP, SPLIT> {
    type Value = i32;
    type Sum = f32;

    #[inline(always)]
    fn dot<'v, const C: usize, const FAST: bool>(
        sums: [f32; C],
        count: usize,
        term: impl Fn(usize) -> (i32, &'v [i32; C]),
    ) -> [f32; C] {
        dot::<FRACTION, GROUP, SPLIT, C>(sums, count, term)
    }
}

impl<const FRACTION: i32, const GROUP: usize, const SPLIT: bool> CarefulAligned<FRACTION, GROUP, SPLIT> {
    /// Adds one group of products, each given by its elements, to one sum.
    fn add(group: &[(Whole, Whole)], sum: f32) -> f32 {
        let products = || group.iter().map(|(a, b)| a.0 * b.0);
        let value = products().sum::<f64>() + f64::from(sum);
        if !value.is_finite() {
            return value as f32;
        }
        let too_large = |sign: f64| products().any(|x| x * sign >= power(128));
        match (too_large(1.0), too_large(-1.0)) {
            (true, true) => f32::NAN,
            (true, false) => f32::INFINITY,
            (false, true) => f32::NEG_INFINITY,
            (false, false) => {
                let mut b = [[0; 1]; GROUP];
                for (to, (_, b)) in b.iter_mut().zip(group) {
                    *to = [b.1];
                }
                dot::<FRACTION, GROUP, SPLIT, 1>([sum], group.len(), |p| (group[p].0.1, &b[p]))[0]
            }
        }
    }
}

impl<const FRACTION: i32, const GROUP: usize, const SPLIT: bool> Arithmetic for CarefulAligned<FRACTION, GROUP, SPLIT> {
    type Value = Whole;
    type Sum = f32;

    fn dot<'v, const C: usize, const FAST: bool>(
        mut sums: [f32; C],
        count: usize,
        term: impl Fn(usize) -> (Whole, &'v [Whole; C]),
    ) -> [f32; C] {
        for p in (0..count).step_by(GROUP) {
            let length = GROUP.min(count - p);
            for n in 0..C {
                let mut group = [((0.0, 0), (0.0, 0)); GROUP];
                for (q, to) in group.iter_mut().enumerate().take(length) {
                    let (a, b) = term(p + q);
                    *to = (a, b[n]);
                }
                sums[n] = Self::add(&group[..length], sums[n]);
            }
        }
        sums
    }
}

impl<A: Format, B: Format, const FRACTION: i32, const GROUP: usize, const SPLIT: bool> Unit
    for Fused<A, B, FRACTION, GROUP, SPLIT>
{
    type Sums = Aligned<FRACTION, GROUP, SPLIT>;
    type Careful = CarefulFused<A, B, FRACTION, GROUP, SPLIT>;
    const ZERO: i32 = 0;
    const BITS: usize = A::BITS;

    #[inline(always)]
    fn a([bits, _]: [u32; 2]) -> i32 {
        packed::<A, FRACTION>(bits)
    }

    #[inline(always)]
    fn b([bits, _]: [u32; 2]) -> i32 {
        packed::<B, FRACTION>(bits)
    }

    #[inline(always)]
    fn suits(a: &[i32], b: &[i32]) -> bool {
        let largest = |values: &[i32]| values.iter().fold(0, |most, x| exponent(*x).max(most));
        // In that case, products are below 2^128.
        largest(a) + largest(b) <= 126 + 2 * OFFSET
    }
}

impl<A: Format, B: Format, const FRACTION: i32, const GROUP: usize, const SPLIT: bool> Unit
    for CarefulFused<A, B, FRACTION, GROUP, SPLIT>
{
    type Sums = CarefulAligned<FRACTION, GROUP, SPLIT>;
    type Careful = Self;
    const ZERO: Whole = (0.0, 0);
    const BITS: usize = A::BITS;

    fn a([bits, _]: [u32; 2]) -> Whole {
        (A::value(bits), packed::<A, FRACTION>(bits))
    }

    fn b([bits, _]: [u32; 2]) -> Whole {
        (B::value(bits), packed::<B, FRACTION>(bits))
    }
}
