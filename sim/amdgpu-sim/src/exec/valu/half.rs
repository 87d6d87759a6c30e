//! Half precision as bit operations that vectorise.

/// Conversions for other modules, on bits.
pub(in crate::exec) mod bits {
    use super::F16;

    /// A half in single precision.
    pub(in crate::exec) fn widen(bits: u16) -> f32 {
        F16(bits).to_f32()
    }

    /// The nearest half.
    #[inline]
    pub(in crate::exec) fn narrow(x: f32) -> u16 {
        F16::from_f32(x).0
    }

    /// The next half toward zero; infinity is unchanged.
    #[inline]
    pub(in crate::exec) fn truncate(x: f32) -> u16 {
        F16::from_f32_toward_zero(x).0
    }
}

/// The bits of an IEEE 754 binary16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct F16(pub(super) u16);

impl F16 {
    /// The same value in single precision (always exact). A signalling NaN stays signalling.
    #[inline(always)]
    pub(super) fn to_f32(self) -> f32 {
        let bits = u32::from(self.0);
        let magnitude = bits & 0x7fff;
        // The exponent's bias moves from 15 to 127; the product is exact for denormals too.
        let finite = (f32::from_bits(magnitude << 13) * f32::from_bits(0x7780_0000)).to_bits();
        let value = if magnitude >= 0x7c00 { magnitude << 13 | 0x7f80_0000 } else { finite };
        f32::from_bits(value | (bits & 0x8000) << 16)
    }

    /// Rounded to nearest, ties to even. NaNs come out quiet.
    #[inline(always)]
    pub(super) fn from_f32(x: f32) -> F16 {
        let bits = x.to_bits();
        let magnitude = bits & 0x7fff_ffff;
        let rounded = magnitude.wrapping_add(0xfff).wrapping_add(magnitude >> 13 & 1);
        let normal = rounded.wrapping_sub(0x3800_0000) >> 13;
        // Adding 0.5 leaves a rounded denormal result in the low bits.
        let denormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
        let finite = if magnitude < 0x3880_0000 { denormal } else { normal };
        let value = if magnitude > 0x7f80_0000 {
            0x7e00 | magnitude >> 13 & 0x3ff
        } else if rounded >= 0x4780_0000 {
            0x7c00
        } else {
            finite
        };
        F16((value | bits >> 16 & 0x8000) as u16)
    }

    /// Rounded toward zero: too large a value becomes the largest finite one, infinity is unchanged.
    #[inline(always)]
    pub(super) fn from_f32_toward_zero(x: f32) -> F16 {
        let bits = x.to_bits();
        let magnitude = bits & 0x7fff_ffff;
        let shift = 126_u32.wrapping_sub(magnitude >> 23);
        let mantissa = magnitude & 0x7f_ffff | 0x80_0000;
        let denormal = if shift < 32 { mantissa >> (shift & 31) } else { 0 };
        let value = if magnitude > 0x7f80_0000 {
            0x7e00 | magnitude >> 13 & 0x3ff
        } else if magnitude == 0x7f80_0000 {
            0x7c00
        } else if magnitude >= 0x4780_0000 {
            0x7bff
        } else if magnitude >= 0x3880_0000 {
            (magnitude - 0x3800_0000) >> 13
        } else {
            denormal
        };
        F16((value | bits >> 16 & 0x8000) as u16)
    }

    /// Rounded to nearest directly, not through single precision.
    #[inline(always)]
    pub(super) fn from_f64(x: f64) -> F16 {
        F16::from_f32(to_odd(x))
    }

    /// Returns whether it is a signalling NaN.
    #[inline(always)]
    pub(super) fn signals(self) -> bool {
        self.0 & 0x7fff > 0x7c00 && self.0 & 0x200 == 0
    }

    /// Whether it is a NaN.
    #[inline(always)]
    pub(super) fn is_nan(self) -> bool {
        self.0 & 0x7fff > 0x7c00
    }
}

/// `x` in single precision, rounded to odd: an inexact value becomes the neighbour whose last bit is one. Rounding that
/// again to fewer bits gives the same result as rounding `x`.
#[inline(always)]
pub(super) fn to_odd(x: f64) -> f32 {
    let nearest = x as f32;
    let back = f64::from(nearest);
    let bits = nearest.to_bits();
    let toward_zero = if back.abs() > x.abs() { bits.wrapping_sub(1) } else { bits };
    f32::from_bits(if back == x || x.is_nan() { bits } else { toward_zero | 1 })
}
