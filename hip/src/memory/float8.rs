//! 8-bit floating-point numbers, as elements of buffers and kernel arguments.

use std::fmt;

use bytemuck::{Pod, Zeroable};

/// An 8-bit format.
struct Format {
    mantissa_bits: i32,
    bias: i32,
    /// The bit pattern of the largest finite number.
    largest: u8,
    /// The bit pattern of a NaN.
    nan: u8,
    /// Whether `nan` is the only NaN, and replaces minus zero.
    one_zero: bool,
}

impl Format {
    /// Rounds to nearest, ties to even; larger values become the largest finite number.
    fn encode(&self, value: f32) -> u8 {
        if value.is_nan() {
            return self.nan;
        }
        let sign = u8::from(value.is_sign_negative()) << 7;
        let magnitude = f64::from(value.abs());
        let top = 1 << self.mantissa_bits;
        let code = if magnitude >= f64::from(self.decode(self.largest)) {
            self.largest
        } else {
            // The largest power of two that is not above the value, but at least that of the smallest normal number.
            let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(1 - self.bias);
            let units = (magnitude / exp2(exponent - self.mantissa_bits)).round_ties_even() as i32;
            // A carry out of the mantissa correctly increments the exponent.
            let code = ((exponent + self.bias) << self.mantissa_bits) + units - top;
            code.clamp(0, i32::from(self.largest)) as u8
        };
        if code == 0 && self.one_zero { 0 } else { sign | code }
    }

    fn decode(&self, code: u8) -> f32 {
        let magnitude = code & 0x7f;
        let mantissa = i32::from(magnitude) & ((1 << self.mantissa_bits) - 1);
        let exponent = i32::from(magnitude) >> self.mantissa_bits;
        let infinite = self.mantissa_bits == 2 && magnitude == 0x7c && !self.one_zero;
        let absolute = if infinite {
            f32::INFINITY
        } else if (self.one_zero && code == self.nan) || (!self.one_zero && magnitude > self.largest) {
            return f32::NAN;
        } else if exponent == 0 {
            (f64::from(mantissa) * exp2(1 - self.bias - self.mantissa_bits)) as f32
        } else {
            let mantissa = mantissa + (1 << self.mantissa_bits);
            (f64::from(mantissa) * exp2(exponent - self.bias - self.mantissa_bits)) as f32
        };
        if code & 0x80 == 0 { absolute } else { -absolute }
    }
}

/// Returns a power of two within `f64`'s normal numbers.
fn exp2(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

macro_rules! float8 {
    ($(#[$doc:meta])* $name:ident, $format:expr) => {
        $(#[$doc])*
        ///
        /// Arithmetic runs on the device only. On the host, the type converts numbers, and is an element type (it is
        /// [`Pod`]).
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name(u8);

        // SAFETY: transparent over u8: zero is a valid value.
        unsafe impl Zeroable for $name {}
        // SAFETY: transparent over u8, which is Pod.
        unsafe impl Pod for $name {}

        impl $name {
            const FORMAT: Format = $format;
            /// The largest finite number.
            pub const MAX: Self = Self(Self::FORMAT.largest);
            /// Not a number.
            pub const NAN: Self = Self(Self::FORMAT.nan);

            /// Creates a number from its bits.
            #[must_use]
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// Returns its bits.
            #[must_use]
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// Converts to the nearest number, ties to even. Larger values, infinity included, become the largest
            /// finite number with the same sign (AMD's `__HIP_SATFINITE`).
            #[must_use]
            pub fn from_f32(value: f32) -> Self {
                Self(Self::FORMAT.encode(value))
            }

            /// Converts exactly.
            #[must_use]
            pub fn to_f32(self) -> f32 {
                Self::FORMAT.decode(self.0)
            }
        }

        impl From<$name> for f32 {
            fn from(value: $name) -> Self {
                value.to_f32()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.to_f32())
            }
        }
    };
}

float8!(
    /// 8 bits of OCP's E4M3: 4 of exponent, 3 of mantissa, no infinity, up to 448 (`__hip_fp8_e4m3`; gfx950, gfx12).
    F8E4M3,
    Format { mantissa_bits: 3, bias: 7, largest: 0x7e, nan: 0x7f, one_zero: false }
);
float8!(
    /// 8 bits of OCP's E5M2: 5 of exponent, 2 of mantissa, up to 57344 (`__hip_fp8_e5m2`; gfx950, gfx12).
    F8E5M2,
    Format { mantissa_bits: 2, bias: 15, largest: 0x7b, nan: 0x7f, one_zero: false }
);
float8!(
    /// 8 bits of E4M3 with one zero and one NaN, up to 240 (`__hip_fp8_e4m3_fnuz`; gfx942).
    F8E4M3Fnuz,
    Format { mantissa_bits: 3, bias: 8, largest: 0x7f, nan: 0x80, one_zero: true }
);
float8!(
    /// 8 bits of E5M2 with one zero and one NaN, up to 57344 (`__hip_fp8_e5m2_fnuz`; gfx942).
    F8E5M2Fnuz,
    Format { mantissa_bits: 2, bias: 16, largest: 0x7f, nan: 0x80, one_zero: true }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_the_formats_define() {
        assert_eq!(F8E4M3::MAX.to_f32(), 448.0);
        assert_eq!(F8E5M2::MAX.to_f32(), 57344.0);
        assert_eq!(F8E4M3Fnuz::MAX.to_f32(), 240.0);
        assert_eq!(F8E5M2Fnuz::MAX.to_f32(), 57344.0);
        assert_eq!(F8E4M3::from_bits(0x38).to_f32(), 1.0);
        assert_eq!(F8E5M2::from_bits(0x3c).to_f32(), 1.0);
        assert_eq!(F8E4M3Fnuz::from_bits(0x40).to_f32(), 1.0);
        assert_eq!(F8E5M2Fnuz::from_bits(0x40).to_f32(), 1.0);
        assert_eq!(F8E4M3::from_bits(0x01).to_f32(), 2f32.powi(-9), "the smallest");
        assert_eq!(F8E5M2::from_bits(0x01).to_f32(), 2f32.powi(-16));
        assert_eq!(F8E4M3Fnuz::from_bits(0x01).to_f32(), 2f32.powi(-10));
        assert_eq!(F8E5M2::from_bits(0xfc).to_f32(), f32::NEG_INFINITY);
        assert!(F8E4M3::from_bits(0xff).to_f32().is_nan() && F8E5M2::from_bits(0x7d).to_f32().is_nan());
        assert!(F8E4M3Fnuz::from_bits(0x80).to_f32().is_nan() && F8E5M2Fnuz::NAN.to_f32().is_nan());
    }

    /// Compares with a search through all 256 patterns for the nearest, for values of all sizes.
    fn agrees_with_search(format: &Format) {
        let finite: Vec<(u8, f32)> =
            (0..=255).map(|code| (code, format.decode(code))).filter(|(_, value)| value.is_finite()).collect();
        for (code, value) in &finite {
            if *value != 0.0 {
                assert_eq!(format.encode(*value), *code, "{value} stays what it is");
            }
        }
        let mut state = 1u32;
        for _ in 0..20_000 {
            state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            let value = f32::from_bits(state);
            if !value.is_finite() {
                continue;
            }
            // Also values halfway between two neighbours, where ties go to even.
            for value in [value, value % 600.0, format.decode((state >> 24) as u8 & 0x7f) * 1.0625] {
                if !value.is_finite() {
                    continue;
                }
                let distance = |(_, other): &&(u8, f32)| (f64::from(*other) - f64::from(value)).abs();
                let best = finite.iter().map(|f| distance(&f)).fold(f64::INFINITY, f64::min);
                let got = format.encode(value);
                assert_eq!((f64::from(format.decode(got)) - f64::from(value)).abs(), best, "{value} became {got:#x}");
                let tied = finite.iter().filter(|f| distance(f) == best && f.1 != 0.0).count();
                if tied == 2 && value.abs() < format.decode(format.largest) {
                    assert_eq!(got & 1, 0, "{value} lies between two: the even one");
                }
            }
        }
    }

    #[test]
    fn rounding_is_to_the_nearest() {
        for format in [F8E4M3::FORMAT, F8E5M2::FORMAT, F8E4M3Fnuz::FORMAT, F8E5M2Fnuz::FORMAT] {
            agrees_with_search(&format);
            assert_eq!(format.encode(f32::INFINITY), format.largest);
            assert_eq!(format.encode(-1e30), format.largest | 0x80);
            assert_eq!(format.encode(f32::NAN), format.nan);
            assert_eq!(format.encode(-1e-30), if format.one_zero { 0 } else { 0x80 });
        }
    }
}
