//! Sequences of fused multiply-adds over k; and integers, which need no rounding.

use super::layout::{Arithmetic, Unit};

/// f32.
pub(super) struct Single;

impl Unit for Single {
    type Sums = Self;
    type Careful = Self;
    const ZERO: f32 = 0.0;
    const BITS: usize = 32;

    #[inline(always)]
    fn a([bits, _]: [u32; 2]) -> f32 {
        f32::from_bits(bits)
    }

    #[inline(always)]
    fn b([bits, _]: [u32; 2]) -> f32 {
        f32::from_bits(bits)
    }
}

impl Arithmetic for Single {
    type Value = f32;
    type Sum = f32;

    #[inline(always)]
    fn dot<'v, const C: usize, const FAST: bool>(
        mut sums: [f32; C],
        count: usize,
        term: impl Fn(usize) -> (f32, &'v [f32; C]),
    ) -> [f32; C] {
        for p in 0..count {
            let (a, b) = term(p);
            for n in 0..C {
                sums[n] = a.mul_add(b[n], sums[n]);
            }
        }
        sums
    }
}

/// f64.
pub(super) struct Double;

impl Unit for Double {
    type Sums = Self;
    type Careful = Self;
    const ZERO: f64 = 0.0;
    const BITS: usize = 64;

    #[inline(always)]
    fn a([low, high]: [u32; 2]) -> f64 {
        f64::from_bits(u64::from(low) | u64::from(high) << 32)
    }

    #[inline(always)]
    fn b(bits: [u32; 2]) -> f64 {
        Self::a(bits)
    }

    #[inline(always)]
    fn negated(value: f64) -> f64 {
        -value
    }
}

impl Arithmetic for Double {
    type Value = f64;
    type Sum = f64;

    #[inline(always)]
    fn dot<'v, const C: usize, const FAST: bool>(
        mut sums: [f64; C],
        count: usize,
        term: impl Fn(usize) -> (f64, &'v [f64; C]),
    ) -> [f64; C] {
        for p in 0..count {
            let (a, b) = term(p);
            for n in 0..C {
                sums[n] = a.mul_add(b[n], sums[n]);
            }
        }
        sums
    }
}

/// Signed bytes. The sum of at most 64 products has fewer than 24 bits, so it is exact in f32, which is faster.
pub(super) struct Byte;

impl Unit for Byte {
    type Sums = Self;
    type Careful = Self;
    const ZERO: f32 = 0.0;
    const BITS: usize = 8;

    #[inline(always)]
    fn a([bits, _]: [u32; 2]) -> f32 {
        ((bits << 24) as i32 >> 24) as f32
    }

    #[inline(always)]
    fn b(bits: [u32; 2]) -> f32 {
        Self::a(bits)
    }
}

impl Arithmetic for Byte {
    type Value = f32;
    type Sum = i32;

    #[inline(always)]
    fn dot<'v, const C: usize, const FAST: bool>(
        mut sums: [i32; C],
        count: usize,
        term: impl Fn(usize) -> (f32, &'v [f32; C]),
    ) -> [i32; C] {
        let mut products = [0.0_f32; C];
        for p in 0..count {
            let (a, b) = term(p);
            for n in 0..C {
                products[n] = if FAST { a.mul_add(b[n], products[n]) } else { a * b[n] + products[n] };
            }
        }
        for n in 0..C {
            // SAFETY: a whole number far inside the range of i32.
            sums[n] = sums[n].wrapping_add(unsafe { products[n].to_int_unchecked() });
        }
        sums
    }
}
