//! The floating-point formats of A and B, and their decoding.

/// A format whose values are all representable in f32.
pub(super) trait Format {
    /// Bits that an element takes.
    const BITS: usize;
    /// Bits of the fraction.
    const FRACTION: i32;
    /// The significand as a signed integer with `FRACTION` fractional bits, and its exponent.
    ///
    /// A denormal has the exponent of the smallest normal number, and zero has -126. The truncation of other products
    /// depends on that.
    fn split(bits: u32) -> (i32, i32);
    /// Returns whether it is neither infinite nor NaN.
    fn is_finite(bits: u32) -> bool;
    /// The value.
    fn value(bits: u32) -> f64;
}

macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident: $bits:literal bits, cut $cut:literal, exponent $exponent:literal, fraction $fraction:literal,
        bias $bias:literal, infinite $infinite:literal;)*) => { $(
        $(#[$doc])*
        pub(super) struct $name;

        impl Format for $name {
            const BITS: usize = $bits;
            const FRACTION: i32 = $fraction;

            #[inline(always)]
            fn split(bits: u32) -> (i32, i32) {
                let bits = bits >> $cut;
                let fraction = bits & ((1 << $fraction) - 1);
                let field = bits >> $fraction & ((1 << $exponent) - 1);
                let size = (fraction | u32::from(field != 0) << $fraction) as i32;
                let negative = bits >> ($exponent + $fraction) & 1 != 0;
                let exponent = if size == 0 { -126 } else { field.max(1) as i32 - $bias };
                (if negative { -size } else { size }, exponent)
            }

            #[inline(always)]
            fn is_finite(bits: u32) -> bool {
                let bits = bits >> $cut;
                if $infinite {
                    bits >> $fraction & ((1 << $exponent) - 1) != (1 << $exponent) - 1
                } else {
                    // The code of negative zero is the only NaN.
                    bits & ((1 << ($exponent + $fraction + 1)) - 1) != 1 << ($exponent + $fraction)
                }
            }

            #[inline]
            fn value(bits: u32) -> f64 {
                let (significand, exponent) = Self::split(bits);
                if Self::is_finite(bits) {
                    f64::from(significand) * power(exponent - $fraction)
                } else if $infinite && bits >> $cut & ((1 << $fraction) - 1) == 0 {
                    f64::INFINITY.copysign(f64::from(significand))
                } else {
                    f64::NAN
                }
            }
        }
    )* };
}

formats! {
    /// IEEE binary16.
    Half: 16 bits, cut 0, exponent 5, fraction 10, bias 15, infinite true;
    /// bfloat16.
    Brain: 16 bits, cut 0, exponent 8, fraction 7, bias 127, infinite true;
    /// f32 of which 10 bits of fraction are used. If truncation removes a NaN's fraction, it becomes infinite.
    Cut: 32 bits, cut 13, exponent 8, fraction 10, bias 127, infinite true;
    /// E4M3, bias 8, no infinities, no negative zero.
    Fp8: 8 bits, cut 0, exponent 4, fraction 3, bias 8, infinite false;
    /// E5M2, bias 16, no infinities, no negative zero.
    Bf8: 8 bits, cut 0, exponent 5, fraction 2, bias 16, infinite false;
}

/// 2 to the power of `n`, which must be in the range of normal numbers.
#[inline(always)]
pub(super) fn power(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

/// A bfloat16 as f32.
#[inline(always)]
pub(super) fn brain(bits: u32) -> f32 {
    f32::from_bits(bits << 16)
}

/// A binary16 as f32, denormals as zero.
#[inline(always)]
pub(super) fn half_flushed(bits: u32) -> f32 {
    let size = bits & 0x7fff;
    let finite = if size < 0x400 { 0 } else { (size << 13) + 0x3800_0000 };
    let bits_of_size = if size >= 0x7c00 { size << 13 | 0x7f80_0000 } else { finite };
    let sign = if size < 0x400 { 0 } else { (bits & 0x8000) << 16 };
    f32::from_bits(bits_of_size | sign)
}
