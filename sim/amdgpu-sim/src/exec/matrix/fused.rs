//! f16, bf16, xf32, fp8 and bf8 on gfx942: several products and C are aligned, cut off and added as integers.
//!
//! For a group of products:
//! 1. each is exact; the largest exponent (sum of the two elements' exponents) is that of the group;
//! 2. each is cut off, toward zero, below 2^-24 of that; they are added;
//! 3. the larger of C's exponent and the group's is taken; the group's sum is rounded down (toward minus infinity) to
//!    multiples of 2^-31 of it, C to multiples of 2^-24;
//! 4. the sum of both is rounded to the nearest f32, ties to even, denormals kept. It is C for the next group.
//!
//! With fp8 and bf8, even and odd k make sums of their own in step 2; both are rounded down to 2^-24 of the larger
//! exponent and added. C counts as zero there if its exponent is more than 25 below.

use std::marker::PhantomData;

use super::layout::Unit;
use super::number::{Format, power};

/// Elements of formats `A` and `B`, groups of at most `GROUP` products, even and odd ones apart if `SPLIT`.
pub(super) struct Fused<A, B, const GROUP: usize, const SPLIT: bool>(PhantomData<(A, B)>);
/// The same where some element is infinite or NaN, or a product may be too large for an f32.
pub(super) struct Careful<A, B, const GROUP: usize, const SPLIT: bool>(PhantomData<(A, B)>);

/// Exponents are kept as positive numbers.
const OFFSET: i32 = 256;

/// Significand in the upper half, exponent in the lower one: a large one for what is not finite.
#[inline(always)]
fn packed<F: Format>(bits: u32) -> i32 {
    let (significand, exponent) = F::split(bits);
    significand << 16 | if F::is_finite(bits) { exponent + OFFSET } else { 0x4000 }
}

#[inline(always)]
fn exponent(x: i32) -> i32 {
    x & 0xffff
}

/// Sums of the products from `first` on, `step` apart, before `end`: multiples of 2^-24 of the exponents that go with them.
#[inline(always)]
fn products<'v, A: Format, B: Format, const C: usize>(
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
            let product = ((a >> 16) * (b[n] >> 16)) << (24 - A::FRACTION - B::FRACTION);
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
    // An infinite or NaN sum stays what it is.
    if field == 255 { sum } else { all }
}

#[inline(always)]
fn dot<'v, A: Format, B: Format, const GROUP: usize, const SPLIT: bool, const C: usize>(
    mut sums: [f32; C],
    range: std::ops::Range<usize>,
    term: impl Fn(usize) -> (i32, &'v [i32; C]),
) -> [f32; C] {
    for p in range.clone().step_by(GROUP) {
        let end = range.end.min(p + GROUP);
        let (mut group, mut at);
        if SPLIT {
            let ((even, even_at), (odd, odd_at)) =
                (products::<A, B, C>((p, end, 2), &term), products::<A, B, C>((p + 1, end, 2), &term));
            (group, at) = ([0; C], [0; C]);
            for n in 0..C {
                at[n] = even_at[n].max(odd_at[n]);
                group[n] = (even[n] >> (at[n] - even_at[n]).min(31)) + (odd[n] >> (at[n] - odd_at[n]).min(31));
            }
        } else {
            (group, at) = products::<A, B, C>((p, end, 1), &term);
        }
        for n in 0..C {
            sums[n] = add::<SPLIT>(sums[n], group[n], at[n]);
        }
    }
    sums
}

impl<A: Format, B: Format, const GROUP: usize, const SPLIT: bool> Unit for Fused<A, B, GROUP, SPLIT> {
    type Value = i32;
    type Sum = f32;
    type Careful = Careful<A, B, GROUP, SPLIT>;
    const ZERO: i32 = 0;
    const BITS: usize = A::BITS;

    #[inline(always)]
    fn a([bits, _]: [u32; 2]) -> i32 {
        packed::<A>(bits)
    }

    #[inline(always)]
    fn b([bits, _]: [u32; 2]) -> i32 {
        packed::<B>(bits)
    }

    #[inline(always)]
    fn suits(a: &[i32], b: &[i32]) -> bool {
        let largest = |values: &[i32]| values.iter().fold(0, |most, x| most.max(exponent(*x)));
        // Products are below 2^128 then.
        largest(a) + largest(b) <= 126 + 2 * OFFSET
    }

    #[inline(always)]
    fn dot<'v, const C: usize, const FAST: bool>(
        sums: [f32; C],
        count: usize,
        term: impl Fn(usize) -> (i32, &'v [i32; C]),
    ) -> [f32; C] {
        dot::<A, B, GROUP, SPLIT, C>(sums, 0..count, term)
    }
}

impl<A: Format, B: Format, const GROUP: usize, const SPLIT: bool> Unit for Careful<A, B, GROUP, SPLIT> {
    /// The value, and its parts.
    type Value = (f64, i32);
    type Sum = f32;
    type Careful = Self;
    const ZERO: (f64, i32) = (0.0, 0);
    const BITS: usize = A::BITS;

    fn a([bits, _]: [u32; 2]) -> (f64, i32) {
        (A::value(bits), packed::<A>(bits))
    }

    fn b([bits, _]: [u32; 2]) -> (f64, i32) {
        (B::value(bits), packed::<B>(bits))
    }

    fn dot<'v, const C: usize, const FAST: bool>(
        mut sums: [f32; C],
        count: usize,
        term: impl Fn(usize) -> ((f64, i32), &'v [(f64, i32); C]),
    ) -> [f32; C] {
        for p in (0..count).step_by(GROUP) {
            let group = p..count.min(p + GROUP);
            for n in 0..C {
                let values = || {
                    group.clone().map(|p| {
                        let (a, b) = term(p);
                        a.0 * b[n].0
                    })
                };
                let sum = values().sum::<f64>() + f64::from(sums[n]);
                let too_large = |sign: f64| values().any(|x| x * sign >= power(128));
                sums[n] = if !sum.is_finite() {
                    sum as f32
                } else {
                    match (too_large(1.0), too_large(-1.0)) {
                        (true, true) => f32::NAN,
                        (true, false) => f32::INFINITY,
                        (false, true) => f32::NEG_INFINITY,
                        (false, false) => {
                            let mut parts = [[0; 1]; GROUP];
                            for q in group.clone() {
                                parts[q - p] = [term(q).1[n].1];
                            }
                            let term = |q: usize| (term(q).0.1, &parts[q - p]);
                            dot::<A, B, GROUP, SPLIT, 1>([sums[n]], group.clone(), term)[0]
                        }
                    }
                };
            }
        }
        sums
    }
}
