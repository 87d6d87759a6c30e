//! Formats of texels: what HSA calls them, and what the descriptor has for them.

use crate::abi::*;

/// A format that the software GPU has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// As HSA names it.
    pub(crate) hsa: hsa_ext_image_format_t,
    /// How the bits are parted, as descriptors number it.
    pub(crate) data: u32,
    /// What they mean, as descriptors number it.
    pub(crate) number: u32,
    /// What each component of a loaded texel is: 0, 1, or 4 to 7 for the components in memory.
    pub(crate) select: [u32; 4],
    /// Bytes of a texel.
    pub(crate) bytes: usize,
}

/// Number formats.
const UNORM: u32 = 0;
const SNORM: u32 = 1;
const UINT: u32 = 4;
const SINT: u32 = 5;
const FLOAT: u32 = 7;
const SRGB: u32 = 9;

/// Data formats of 1, 2 and 4 components of 8, 16 and 32 bits.
const DATA: [[u32; 3]; 3] = [[1, 3, 10], [2, 5, 12], [4, 11, 14]];

/// Bytes of a texel of a data format.
pub(super) fn texel_bytes(data: u32) -> Option<usize> {
    // Rows are of 1, 2 and 4 components, columns of 1, 2 and 4 bytes each.
    let place = DATA.iter().flatten().position(|known| *known == data)?;
    Some(1 << (place / 3 + place % 3))
}

/// Where a loaded component comes from.
const R: u32 = 4;
const G: u32 = 5;
const B: u32 = 6;
const A: u32 = 7;

/// Components in memory, and what loaded ones are made of.
fn order(order: u32) -> Option<(usize, [u32; 4])> {
    Some(match order {
        HSA_EXT_IMAGE_CHANNEL_ORDER_A => (1, [0, 0, 0, R]),
        HSA_EXT_IMAGE_CHANNEL_ORDER_R | HSA_EXT_IMAGE_CHANNEL_ORDER_DEPTH => (1, [R, 0, 0, 1]),
        HSA_EXT_IMAGE_CHANNEL_ORDER_INTENSITY => (1, [R; 4]),
        HSA_EXT_IMAGE_CHANNEL_ORDER_LUMINANCE => (1, [R, R, R, 1]),
        HSA_EXT_IMAGE_CHANNEL_ORDER_RG => (2, [R, G, 0, 1]),
        HSA_EXT_IMAGE_CHANNEL_ORDER_RA => (2, [R, 0, 0, G]),
        HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA | HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBA => (4, [R, G, B, A]),
        HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBX => (4, [R, G, B, 1]),
        HSA_EXT_IMAGE_CHANNEL_ORDER_BGRA | HSA_EXT_IMAGE_CHANNEL_ORDER_SBGRA => (4, [B, G, R, A]),
        HSA_EXT_IMAGE_CHANNEL_ORDER_ARGB => (4, [G, B, A, R]),
        HSA_EXT_IMAGE_CHANNEL_ORDER_ABGR => (4, [A, B, G, R]),
        _ => return None,
    })
}

/// Bits of a component and what they mean.
fn channel(channel: u32) -> Option<(usize, u32)> {
    Some(match channel {
        HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8 => (8, SNORM),
        HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT16 => (16, SNORM),
        HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8 => (8, UNORM),
        HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16 => (16, UNORM),
        HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT8 => (8, SINT),
        HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT16 => (16, SINT),
        HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT32 => (32, SINT),
        HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8 => (8, UINT),
        HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16 => (16, UINT),
        HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32 => (32, UINT),
        HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT => (16, FLOAT),
        HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT => (32, FLOAT),
        _ => return None,
    })
}

impl Format {
    /// The format, if the software GPU has it.
    pub(crate) fn of(hsa: hsa_ext_image_format_t) -> Option<Self> {
        let (components, select) = order(hsa.channel_order)?;
        let (bits, number) = channel(hsa.channel_type)?;
        let data = DATA[bits.ilog2() as usize - 3][components.ilog2() as usize];
        let srgb = matches!(
            hsa.channel_order,
            HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBA | HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBX | HSA_EXT_IMAGE_CHANNEL_ORDER_SBGRA
        );
        if srgb && (bits, number) != (8, UNORM) {
            return None;
        }
        let number = if srgb { SRGB } else { number };
        Some(Self { hsa, data, number, select, bytes: components * bits / 8 })
    }

    /// What kernels may do with it.
    pub(crate) fn capability(self) -> u32 {
        let load = HSA_EXT_IMAGE_CAPABILITY_READ_ONLY;
        let store = HSA_EXT_IMAGE_CAPABILITY_WRITE_ONLY | HSA_EXT_IMAGE_CAPABILITY_READ_WRITE;
        let invariant = HSA_EXT_IMAGE_CAPABILITY_ACCESS_INVARIANT_DATA_LAYOUT;
        // Stores convert nothing into sRGB.
        if self.number == SRGB { load | invariant } else { load | store | invariant }
    }

    /// A texel of these components, given as floats or integers of 32 bits as the format has them.
    pub(crate) fn pack(self, components: [u32; 4]) -> Vec<u8> {
        let (bits, _) = channel(self.hsa.channel_type).unwrap_or((8, UNORM));
        let count = self.bytes * 8 / bits;
        let mut out = Vec::with_capacity(self.bytes);
        for place in 0..count as u32 {
            let from = self.select.iter().position(|select| *select == R + place);
            let value = self.narrow(from.map_or(0, |from| components[from]), bits);
            out.extend_from_slice(&value.to_le_bytes()[..bits / 8]);
        }
        out
    }

    fn narrow(self, value: u32, bits: usize) -> u32 {
        let float = f64::from(f32::from_bits(value));
        let most = f64::from(u32::MAX >> (32 - bits));
        let most_signed = f64::from(u32::MAX >> (33 - bits));
        match self.number {
            UNORM => (float.clamp(0.0, 1.0) * most).round_ties_even() as u32,
            SRGB => {
                let linear = float.clamp(0.0, 1.0);
                let curved =
                    if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
                (curved * most).round_ties_even() as u32
            }
            SNORM => (float.clamp(-1.0, 1.0) * most_signed).round_ties_even() as i32 as u32,
            UINT => (f64::from(value).min(most)) as u32,
            SINT => (f64::from(value as i32).clamp(-most_signed - 1.0, most_signed)) as i32 as u32,
            _ if bits == 16 => u32::from(half(f32::from_bits(value))),
            _ => value,
        }
    }
}

/// The nearest number of 16 bits, the even one of two.
fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = f64::from(value.abs());
    if value.is_nan() {
        return sign | 0x7e00;
    }
    // Below the least normal number, steps are as large as there.
    let exponent = if magnitude == 0.0 { -14 } else { ((bits >> 23 & 0xff) as i32 - 127).max(-14) };
    let steps = (magnitude / f64::from(exponent - 10).exp2()).round_ties_even() as u32;
    let (steps, exponent) = if steps == 2048 { (1024, exponent + 1) } else { (steps, exponent) };
    match (exponent, steps) {
        (16.., _) => sign | 0x7c00,
        (_, 0..1024) => sign | steps as u16,
        _ => sign | ((exponent + 15) as u16) << 10 | (steps - 1024) as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(channel_type: u32, channel_order: u32) -> Option<Format> {
        Format::of(hsa_ext_image_format_t { channel_type, channel_order })
    }

    #[test]
    fn texels_are_as_large_as_their_components() {
        for (channel_type, order, data, bytes) in [
            (HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, HSA_EXT_IMAGE_CHANNEL_ORDER_R, 1, 1),
            (HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT16, HSA_EXT_IMAGE_CHANNEL_ORDER_RG, 5, 4),
            (HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT, HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA, 12, 8),
            (HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA, 14, 16),
        ] {
            let format = format(channel_type, order).unwrap();
            assert_eq!((format.data, format.bytes), (data, bytes), "{format:?}");
        }
        let three = format(HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, HSA_EXT_IMAGE_CHANNEL_ORDER_RGB);
        let wide = format(HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBA);
        assert_eq!((three, wide, format(99, 1), format(1, 99)), (None, None, None, None));
    }

    #[test]
    fn components_are_packed_as_memory_has_them() {
        let floats = [1.0_f32, 0.5, 0.0, 2.0].map(f32::to_bits);
        let pack = |channel_type, order, of| format(channel_type, order).unwrap().pack(of);
        let (rgba, bgra) = (HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA, HSA_EXT_IMAGE_CHANNEL_ORDER_BGRA);
        assert_eq!(pack(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, rgba, floats), [255, 128, 0, 255]);
        assert_eq!(pack(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, bgra, floats), [0, 128, 255, 255]);
        let sbgra = HSA_EXT_IMAGE_CHANNEL_ORDER_SBGRA;
        assert_eq!(pack(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, sbgra, floats), [0, 188, 255, 255]);
        assert_eq!(pack(HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8, rgba, [-1.0_f32; 4].map(f32::to_bits)), [129; 4]);
        let integers = [300, -300_i32 as u32, 5, -1_i32 as u32];
        assert_eq!(pack(HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT8, rgba, integers), [127, 128, 5, 255]);
        assert_eq!(pack(HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8, rgba, [300, 1, 2, 3]), [255, 1, 2, 3]);
        let halves = pack(HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT, rgba, floats);
        assert_eq!(halves, [0x00, 0x3c, 0x00, 0x38, 0, 0, 0x00, 0x40]);
    }

    #[test]
    fn halves_are_rounded_to_the_nearest() {
        for (value, bits) in [
            (0.0, 0),
            (-0.0, 0x8000),
            (65504.0, 0x7bff),
            (65520.0, 0x7c00),
            (1e9, 0x7c00),
            (f32::INFINITY, 0x7c00),
            (6.0e-8, 1),
            (6.103_515_6e-5, 0x400),
            (1.0 + 1.0 / 2048.0, 0x3c00),
            (1.0 + 3.0 / 2048.0, 0x3c02),
            (-2047.75, 0xe800),
        ] {
            assert_eq!(half(value), bits, "{value}");
        }
    }
}
