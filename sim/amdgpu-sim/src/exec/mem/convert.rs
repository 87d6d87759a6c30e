//! Half-precision conversions for packed atomics.

/// The value of a binary16; exact.
pub(super) fn f16_to_f64(bits: u16) -> f64 {
    let sign = if bits & 0x8000 != 0 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    match exponent {
        0 => sign * fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * 2_f64.powi(exponent - 15),
    }
}

/// The nearest binary16, ties to even.
pub(super) fn f64_to_f16(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let size = value.abs();
    if value.is_nan() {
        return 0x7e00;
    }
    // From here on, the nearest value is infinity (65520 is half way and rounds to even).
    if size >= 65520.0 {
        return sign | 0x7c00;
    }
    // The unit in the last place of the result; adding and rounding in this unit is exact in f64.
    let exponent = (((size.to_bits() >> 52) as i32) - 1023).max(-14);
    let units = (size / 2_f64.powi(exponent - 10)).round_ties_even() as u32;
    // `units` is below 2048 + 1: a carry propagates into the exponent field.
    let biased = (exponent + 14) as u32;
    sign | ((biased << 10) + units) as u16
}

/// The nearest bfloat16, ties to even.
pub(super) fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn all_halves_there_and_back() {
        for bits in 0..=u16::MAX {
            let expected = f16::from_bits(bits);
            let value = f16_to_f64(bits);
            assert!(value == expected.to_f64() || (value.is_nan() && expected.is_nan()), "{bits:#x}");
            if !value.is_nan() {
                assert_eq!(f64_to_f16(value), bits);
            }
        }
    }

    #[test]
    fn rounding_is_to_nearest_even() {
        for bits in (0..u32::MAX).step_by(9973) {
            let value = f32::from_bits(bits);
            let (half, brain) = (f16::from_f32(value), bf16::from_f32(value));
            if value.is_nan() {
                assert!(
                    f16::from_bits(f64_to_f16(value.into())).is_nan() && bf16::from_bits(f32_to_bf16(value)).is_nan()
                );
            } else {
                assert_eq!(f64_to_f16(value.into()), half.to_bits(), "{value}");
                assert_eq!(f32_to_bf16(value), brain.to_bits(), "{value}");
            }
        }
    }
}
