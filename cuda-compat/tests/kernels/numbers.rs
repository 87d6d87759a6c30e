//! Half, bfloat16 and 8-bit floating-point numbers.

use crate::device::{Buffer, Module, args};
use crate::on_a_device;
use crate::random::Random;

/// A format of floating-point numbers of up to 16 bits.
pub(crate) struct Format {
    pub(crate) exponent: u32,
    pub(crate) mantissa: u32,
    /// Whether the largest exponent means infinity and NaN; otherwise only its largest mantissa is NaN.
    pub(crate) ieee: bool,
}

pub(crate) const F16: Format = Format { exponent: 5, mantissa: 10, ieee: true };
pub(crate) const BF16: Format = Format { exponent: 8, mantissa: 7, ieee: true };
pub(crate) const E4M3: Format = Format { exponent: 4, mantissa: 3, ieee: false };
const E5M2: Format = Format { exponent: 5, mantissa: 2, ieee: true };

impl Format {
    pub(crate) fn value(&self, bits: u16) -> f64 {
        let fraction = u32::from(bits) & ((1 << self.mantissa) - 1);
        let exponent = u32::from(bits) >> self.mantissa & ((1 << self.exponent) - 1);
        let sign = if u32::from(bits) >> (self.mantissa + self.exponent) & 1 == 1 { -1.0 } else { 1.0 };
        let (top, bias) = ((1 << self.exponent) - 1, (1 << (self.exponent - 1)) - 1);
        let all = (1 << self.mantissa) - 1;
        let magnitude = match exponent {
            _ if exponent == top && self.ieee && fraction == 0 => f64::INFINITY,
            _ if exponent == top && (self.ieee || fraction == all) => f64::NAN,
            0 => f64::from(fraction) * 2_f64.powi(1 - bias - self.mantissa as i32),
            _ => f64::from(fraction | 1 << self.mantissa) * 2_f64.powi(exponent as i32 - bias - self.mantissa as i32),
        };
        sign * magnitude
    }

    /// The bits of the largest finite number.
    fn largest(&self) -> u16 {
        let top = ((1_u32 << self.exponent) - 1) << self.mantissa;
        (if self.ieee { top - 1 } else { (top | ((1 << self.mantissa) - 1)) - 1 }) as u16
    }

    /// Returns the nearest number; of two, the even one. Half a step beyond the largest is infinity, or NaN if the type
    /// has none.
    pub(crate) fn nearest(&self, value: f64) -> u16 {
        if value.is_nan() {
            return 0x7fff;
        }
        let sign = if value.is_sign_negative() { 1 << (self.exponent + self.mantissa) } else { 0 };
        let (mut low, mut high) = (0, self.largest());
        // The largest number that is not above.
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.value(middle) <= value.abs() { low = middle } else { high = middle - 1 }
        }
        let below = self.value(low);
        let above = if low == self.largest() { 2.0 * below - self.value(low - 1) } else { self.value(low + 1) };
        let up = (value.abs() - below).total_cmp(&(above - value.abs()));
        sign | if up.is_gt() || (up.is_eq() && low & 1 == 1) { low + 1 } else { low }
    }
}

fn module() -> Module {
    Module::of("numbers.cu", include_str!("numbers.cu"))
}

/// Returns whether values are as near as one step in the last place, or both NaN.
#[track_caller]
fn assert_near(format: &Format, found: &[u16], expected: impl Iterator<Item = f64>) {
    let mut count = 0;
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let nearest = format.nearest(expected);
        let step = (i32::from(*found) - i32::from(nearest)).abs();
        let both_nan = expected.is_nan() && format.value(*found).is_nan();
        assert!(step <= 1 || both_nan, "{at}: {} for {expected}", format.value(*found));
        count += 1;
    }
    assert_eq!(count, found.len());
}

fn halves(format: &Format, seed: u64, count: usize) -> (Vec<u16>, Vec<f64>) {
    let bits: Vec<u16> =
        Random::new(seed).floats(count).iter().map(|value| format.nearest(f64::from(*value) / 2.0)).collect();
    let values = bits.iter().map(|bits| format.value(*bits)).collect();
    (bits, values)
}

#[test]
fn the_reference_knows_published_numbers() {
    assert_eq!((F16.value(0x3c00), F16.value(0x7bff), F16.value(1)), (1.0, 65504.0, 2_f64.powi(-24)));
    assert_eq!((BF16.value(0x3f80), BF16.nearest(1.0 + 2_f64.powi(-8))), (1.0, 0x3f80));
    assert_eq!((E4M3.value(0x7e), E4M3.value(1), E5M2.value(0x7b)), (448.0, 2_f64.powi(-9), 57344.0));
    assert!(E4M3.value(0x7f).is_nan() && E5M2.value(0x7c).is_infinite());
    assert_eq!((F16.nearest(65519.0), F16.nearest(65520.0), F16.nearest(-1e9)), (0x7bff, 0x7c00, 0xfc00));
}

on_a_device! {
    fn axpy_in_half() {
        let ((x, xs), (y, ys)) = (halves(&F16, 1, 256), halves(&F16, 2, 256));
        let (input, output) = (Buffer::of(&x), Buffer::of(&y));
        module().run("half_axpy", 2, 64, args![F16.nearest(1.5), &input, &output, 128_i32]);
        let expected: Vec<u16> = xs.iter().zip(&ys).map(|(x, y)| F16.nearest(1.5 * x + y)).collect();
        assert_eq!(output.read::<u16>(256), expected, "one rounding");
    }

    fn mathematics_in_half() {
        let (bits, values) = halves(&F16, 3, 128);
        let (input, output) = (Buffer::of(&bits), Buffer::zeros::<u16>(5 * 128));
        module().run("half_math", 1, 128, args![&input, &output]);
        let found = output.read::<u16>(5 * 128);
        assert_near(&F16, &found[..128], values.iter().map(|a| a.exp()));
        assert_near(&F16, &found[128..256], values.iter().map(|a| a.abs().sqrt()));
        assert_near(&F16, &found[384..512], values.iter().map(|a| a.tanh()));
        assert_near(&F16, &found[512..], (0..128).map(|i| f64::from(i) + 0.5));
        for (found, a) in found[256..384].iter().zip(&values) {
            // Each operation rounds to 11 bits.
            let expected = a * a + 1.0 - a / 2.0;
            assert!((F16.value(*found) - expected).abs() <= (a * a + a.abs() + 1.0) * 2_f64.powi(-10), "{a}");
        }
    }

    fn minima_and_maxima_with_nan() {
        let (nan, one, minus, inf) = (0x7e00_u16, 0x3c00, 0xbc00, 0x7c00);
        let (a, b) = ([one, nan, one, nan, minus, inf], [minus, one, nan, nan, minus, one]);
        let (left, right, output) = (Buffer::of(&a), Buffer::of(&b), Buffer::zeros::<u16>(24));
        module().run("half_min_max", 1, 6, args![&left, &right, &output]);
        let found = output.read::<u16>(24);
        let is_nan = |bits: u16| F16.value(bits).is_nan();
        assert_eq!((&found[..3], &found[4..6]), (&[one; 3][..], &[minus, inf][..]));
        assert_eq!((&found[6..9], &found[10..12]), (&[minus, one, one][..], &[minus, one][..]));
        assert!(is_nan(found[3]) && is_nan(found[9]), "of two there is no other");
        for row in [12, 18] {
            assert!(found[row + 1..row + 4].iter().all(|bits| is_nan(*bits)));
        }
        assert_eq!((found[12], found[18]), (one, minus));
    }

    fn sums_of_halves_by_shuffles() {
        let bits: Vec<u16> = (0..64).map(|i| F16.nearest(f64::from(i % 7) - 3.0)).collect();
        let (input, output) = (Buffer::of(&bits), Buffer::zeros::<u16>(64));
        module().run("half_sum", 1, 64, args![&input, &output]);
        for (warp, found) in bits.chunks(32).zip(output.read::<u16>(64).chunks(32)) {
            assert_eq!(found, [F16.nearest(warp.iter().map(|bits| F16.value(*bits)).sum()); 32]);
        }
    }

    fn bfloat16_rounds_to_the_nearest_even() {
        let mut values: Vec<f64> = vec![0.0, -0.0, 1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 3.4e38, -3.4e38, 1e-40, 1e300];
        // Ties, and numbers that differ from a tie by less than a float can represent.
        for step in 0..64 {
            let tie = 1.0 + f64::from(step) / 128.0 + 1.0 / 256.0;
            values.extend([tie, tie + 2_f64.powi(-40), tie - 2_f64.powi(-40), -tie]);
        }
        values.extend(Random::new(4).words(500).iter().map(|word| f64::from(f32::from_bits(*word))));
        let floats: Vec<f32> = values.iter().map(|value| *value as f32).collect();
        let n = values.len();
        let (f, d, of, od) = (Buffer::of(&floats), Buffer::of(&values), Buffer::zeros::<u16>(n), Buffer::zeros::<u16>(n));
        module().run("bf16_round", n.div_ceil(128) as u32, 128, args![&f, &of, &d, &od, n as i32]);
        let expected: Vec<u16> = floats.iter().map(|value| BF16.nearest(f64::from(*value))).collect();
        assert_eq!(of.read::<u16>(n), expected);
        assert_eq!(od.read::<u16>(n), values.iter().map(|value| BF16.nearest(*value)).collect::<Vec<_>>());
    }

    fn products_of_bfloat16_matrices_and_vectors() {
        let ((m, ms), (x, xs)) = (halves(&BF16, 5, 8 * 200), halves(&BF16, 6, 200));
        let (matrix, vector, output) = (Buffer::of(&m), Buffer::of(&x), Buffer::zeros::<f32>(8));
        module().run("bf16_gemv", 8, 32, args![&matrix, &vector, &output, 200_i32]);
        for (row, found) in ms.chunks(200).zip(output.read::<f32>(8)) {
            let expected: f64 = row.iter().zip(&xs).map(|(a, b)| a * b).sum();
            let size: f64 = row.iter().zip(&xs).map(|(a, b)| (a * b).abs()).sum();
            assert!((f64::from(found) - expected).abs() <= size * 1e-6, "{found} {expected}");
        }
    }

    fn mathematics_in_bfloat16() {
        let (bits, values) = halves(&BF16, 7, 128);
        let (input, output, max) = (Buffer::of(&bits), Buffer::zeros::<u16>(3 * 128), Buffer::zeros::<u16>(64));
        module().run("bf16_math", 1, 64, args![&input, &output, &max]);
        let found = output.read::<u16>(3 * 128);
        let round = |value: f64| BF16.value(BF16.nearest(value));
        let first: Vec<u16> = values.iter().map(|a| BF16.nearest(round(a * a) + 0.5)).collect();
        assert_eq!(found[..128], first);
        let pairs: Vec<&[f64]> = values.chunks(2).collect();
        let fused: Vec<u16> =
            pairs.iter().flat_map(|pair| pair.iter().map(|a| BF16.nearest(a * pair[0] + a)).collect::<Vec<_>>()).collect();
        assert_eq!(found[128..256], fused);
        assert_near(&BF16, &found[256..], pairs.iter().flat_map(|pair| [pair[0].exp(), pair[1].abs().sqrt()]));
        let expected: Vec<u16> = pairs
            .iter()
            .map(|pair| BF16.nearest(if pair[0].max(pair[1]) > 0.0 { pair[0] - pair[1] } else { -pair[0] }))
            .collect();
        assert_eq!(max.read::<u16>(64), expected);
    }

    fn all_numbers_of_8_bits() {
        let (e4m3, e5m2) = (Buffer::zeros::<f32>(256), Buffer::zeros::<f32>(256));
        module().run("fp8_values", 1, 256, args![&e4m3, &e5m2]);
        for (format, found) in [(E4M3, e4m3.read::<f32>(256)), (E5M2, e5m2.read::<f32>(256))] {
            for (bits, found) in found.into_iter().enumerate() {
                let expected = format.value(bits as u16);
                assert!(f64::from(found) == expected || (found.is_nan() && expected.is_nan()), "{bits:#x}: {found}");
            }
        }
    }

    fn numbers_of_8_bits_round_to_the_nearest_even() {
        let mut values: Vec<f32> = vec![0.0, -0.0, 448.0, 463.9, 464.0, 465.0, -1e9, 57344.0, 61439.0, 61440.0, f32::INFINITY, 1e-9];
        // All numbers, and the ties between them.
        values.extend((1..0x7b).map(|bits| E4M3.value(bits) as f32));
        values.extend((1..0x7b).map(|bits| (E4M3.value(bits) + E4M3.value(bits + 1)) as f32 / 2.0));
        values.extend((1..0x7b).map(|bits| -(E5M2.value(bits) + E5M2.value(bits + 1)) as f32 / 2.0));
        let n = values.len();
        let (input, e4m3, e5m2) = (Buffer::of(&values), Buffer::zeros::<u8>(n), Buffer::zeros::<u8>(n));
        module().run("fp8_round", 1, n as u32, args![&input, &e4m3, &e5m2]);
        // The one saturates, the other has infinity.
        let saturated = |value: f32| E4M3.nearest(f64::from(value).clamp(-448.0, 448.0)) as u8;
        assert_eq!(e4m3.read::<u8>(n), values.iter().map(|value| saturated(*value)).collect::<Vec<_>>());
        let expected: Vec<u8> = values.iter().map(|value| E5M2.nearest(f64::from(*value)) as u8).collect();
        assert_eq!(e5m2.read::<u8>(n), expected);
    }
}
