//! 16-bit floats: [`struct@f16`] and [`bf16`]. Their bits are those of the crate `half`.

use crate::identity::{Layout, Plain};
use crate::value::Value;

/// IEEE half precision: 5 bits of exponent, 10 bits of mantissa.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct f16(u16);

/// The upper half of an `f32`: 8 bits of exponent, 7 bits of mantissa.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct bf16(u16);

impl f16 {
    /// Rounds to nearest, ties to even.
    #[inline(always)]
    #[must_use]
    pub fn from_f32(value: f32) -> Self {
        #[cfg(target_arch = "amdgpu")]
        // SAFETY: arithmetic.
        return Self(unsafe { crate::raw::f32_to_f16(value) });
        #[cfg(not(target_arch = "amdgpu"))]
        Self(to_f16(value))
    }

    /// Converts to `f32`, exactly.
    #[inline(always)]
    #[must_use]
    pub fn to_f32(self) -> f32 {
        #[cfg(target_arch = "amdgpu")]
        // SAFETY: arithmetic.
        return unsafe { crate::raw::f16_to_f32(self.0) };
        #[cfg(not(target_arch = "amdgpu"))]
        from_f16(self.0)
    }
}

impl bf16 {
    /// Rounds to nearest, ties to even.
    #[inline(always)]
    #[must_use]
    pub fn from_f32(value: f32) -> Self {
        let bits = value.to_bits();
        if value.is_nan() {
            // A quiet NaN, and not an infinity.
            return Self((bits >> 16) as u16 | 0x40);
        }
        let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
        Self((rounded >> 16) as u16)
    }

    /// Converts to `f32`, exactly.
    #[inline(always)]
    #[must_use]
    pub fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

macro_rules! both {
    ($($type:ident)*) => {$(
        impl $type {
            /// Returns the number with these bits.
            #[inline(always)]
            #[must_use]
            pub const fn from_bits(bits: u16) -> Self {
                Self(bits)
            }

            /// Returns the bits.
            #[inline(always)]
            #[must_use]
            pub const fn to_bits(self) -> u16 {
                self.0
            }
        }

        // SAFETY: its bits are passed.
        unsafe impl Value for $type {
            type Abi = u16;
            const LAYOUT: Layout = <Self as Plain>::LAYOUT;
            #[inline(always)]
            unsafe fn from_abi(abi: u16) -> Self {
                Self(abi)
            }
            #[inline(always)]
            fn to_abi(self) -> u16 {
                self.0
            }
        }

        impl core::ops::Neg for $type {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self(self.0 ^ 0x8000)
            }
        }

        impl PartialOrd for $type {
            #[inline(always)]
            fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        // SAFETY: 16 bits, and every bit pattern is a number.
        unsafe impl Plain for $type {
            const LAYOUT: Layout = Layout::of::<Self>(stringify!($type));
        }

        #[cfg(not(target_arch = "amdgpu"))]
        // SAFETY: 16 bits, and every bit pattern is a number.
        unsafe impl hip::bytemuck::Zeroable for $type {}
        #[cfg(not(target_arch = "amdgpu"))]
        // SAFETY: as above.
        unsafe impl hip::bytemuck::Pod for $type {}
    )*};
}

both!(f16 bf16);

macro_rules! arithmetic {
    ($($trait:ident $method:ident $raw:ident;)*) => {$(
        impl core::ops::$trait for f16 {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                #[cfg(target_arch = "amdgpu")]
                // SAFETY: arithmetic.
                return Self(unsafe { crate::raw::$raw(self.0, other.0) });
                // One operation in single precision rounds to the same half.
                #[cfg(not(target_arch = "amdgpu"))]
                Self::from_f32(core::ops::$trait::$method(self.to_f32(), other.to_f32()))
            }
        }

        impl core::ops::$trait for bf16 {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self::from_f32(core::ops::$trait::$method(self.to_f32(), other.to_f32()))
            }
        }
    )*};
}

arithmetic! {
    Add add add_f16;
    Sub sub sub_f16;
    Mul mul mul_f16;
    Div div div_f16;
}

#[cfg(not(target_arch = "amdgpu"))]
fn to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return sign | 0x7e00 | (magnitude >> 13) as u16 & 0x3ff;
    }
    // 65520 and more round to infinity.
    if magnitude >= 0x477f_f000 {
        return sign | 0x7c00;
    }
    if magnitude < 0x3880_0000 {
        // Below 2^-14: a multiple of 2^-24, to which the sum rounds.
        let sum = f32::from_bits(magnitude) + f32::from_bits(0x3f00_0000);
        return sign | (sum.to_bits() - 0x3f00_0000) as u16;
    }
    let odd = magnitude >> 13 & 1;
    sign | ((magnitude + 0xfff + odd - 0x3800_0000) >> 13) as u16
}

#[cfg(not(target_arch = "amdgpu"))]
fn from_f16(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff);
    let value = match magnitude {
        0x7c00.. => f32::from_bits(magnitude << 13 | 0x7f80_0000),
        0x400.. => f32::from_bits((magnitude << 13) + 0x3800_0000),
        _ => magnitude as f32 * f32::from_bits(0x3380_0000),
    };
    f32::from_bits(value.to_bits() | sign)
}

#[cfg(all(test, not(target_arch = "amdgpu")))]
mod tests {
    use super::*;

    /// Every half is unchanged by a conversion to single precision and back, and the middle between two rounds to the
    /// even one.
    #[test]
    fn halves_round_to_the_nearest() {
        for bits in 0..=u16::MAX {
            let value = f16(bits).to_f32();
            if value.is_nan() {
                assert!(f16::from_f32(value).to_f32().is_nan(), "{bits:#x}");
                continue;
            }
            assert_eq!(f16::from_f32(value).0, bits, "{value}");
            let next = f16(bits.wrapping_add(1)).to_f32();
            if bits & 0x7fff < 0x7bff {
                let middle = (value + next) / 2.0;
                assert_eq!(f16::from_f32(middle).0 & 1, 0, "{middle}");
                assert_eq!(f16::from_f32(f32::from_bits(middle.to_bits() + 1)).0, bits + 1, "{middle}");
            }
        }
        assert_eq!(f16::from_f32(65519.0).to_f32(), 65504.0);
        assert_eq!(f16::from_f32(65520.0).to_f32(), f32::INFINITY);
        assert_eq!((f16::from_f32(1.5) + f16::from_f32(2.25)).to_f32(), 3.75);
    }

    #[test]
    fn bf16_rounds_to_the_nearest() {
        assert_eq!(bf16::from_f32(1.0).to_bits(), 0x3f80);
        assert_eq!(bf16::from_f32(f32::from_bits(0x3f80_8000)).to_bits(), 0x3f80);
        assert_eq!(bf16::from_f32(f32::from_bits(0x3f81_8000)).to_bits(), 0x3f82);
        assert!(bf16::from_f32(f32::from_bits(0x7f80_0001)).to_f32().is_nan());
        assert_eq!(bf16::from_f32(f32::MAX).to_f32(), f32::INFINITY);
    }
}
