//! Texel formats and their encoding in descriptors.

/// The type of a texel component, with the numbers of HSA and the device libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum ChannelType {
    /// 8 bits, from -1 to 1.
    SnormInt8 = 0,
    /// 16 bits, from -1 to 1.
    SnormInt16 = 1,
    /// 8 bits, from 0 to 1.
    UnormInt8 = 2,
    /// 16 bits, from 0 to 1.
    UnormInt16 = 3,
    /// A signed integer of 8 bits.
    SignedInt8 = 8,
    /// A signed integer of 16 bits.
    SignedInt16 = 9,
    /// A signed integer of 32 bits.
    SignedInt32 = 10,
    /// An unsigned integer of 8 bits.
    UnsignedInt8 = 11,
    /// An unsigned integer of 16 bits.
    UnsignedInt16 = 12,
    /// An unsigned integer of 32 bits.
    UnsignedInt32 = 13,
    /// A floating-point number of 16 bits.
    HalfFloat = 14,
    /// A floating-point number of 32 bits.
    Float = 15,
}

impl ChannelType {
    /// The type with this number, if images support it.
    pub fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::SnormInt8,
            1 => Self::SnormInt16,
            2 => Self::UnormInt8,
            3 => Self::UnormInt16,
            8 => Self::SignedInt8,
            9 => Self::SignedInt16,
            10 => Self::SignedInt32,
            11 => Self::UnsignedInt8,
            12 => Self::UnsignedInt16,
            13 => Self::UnsignedInt32,
            14 => Self::HalfFloat,
            15 => Self::Float,
            _ => return None,
        })
    }
}

/// The components of a texel in memory and their mapping on loads, with the numbers of HSA and the device libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum ChannelOrder {
    /// Alpha only.
    A = 0,
    /// One component.
    R = 1,
    /// Two components.
    Rg = 3,
    /// Red and alpha.
    Ra = 5,
    /// Four components.
    Rgba = 8,
    /// Four components, blue first.
    Bgra = 9,
    /// Four components, alpha first.
    Argb = 10,
    /// Four components in reverse order.
    Abgr = 11,
    /// Four sRGB-encoded components; the last reads as 1.
    Srgbx = 13,
    /// Four components, the first three sRGB-encoded.
    Srgba = 14,
    /// The same, blue first.
    Sbgra = 15,
    /// One component for all four.
    Intensity = 16,
    /// One component for the first three.
    Luminance = 17,
    /// One component: a depth.
    Depth = 18,
}

impl ChannelOrder {
    /// The order with this number, if images support it.
    pub fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::A,
            1 => Self::R,
            3 => Self::Rg,
            5 => Self::Ra,
            8 => Self::Rgba,
            9 => Self::Bgra,
            10 => Self::Argb,
            11 => Self::Abgr,
            13 => Self::Srgbx,
            14 => Self::Srgba,
            15 => Self::Sbgra,
            16 => Self::Intensity,
            17 => Self::Luminance,
            18 => Self::Depth,
            _ => return None,
        })
    }
}

/// A supported texel format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    pub(super) channel_type: ChannelType,
    pub(super) channel_order: ChannelOrder,
    /// The data format number in descriptors.
    pub(super) data: u32,
    /// The number format in descriptors.
    pub(super) number: u32,
    /// The source of each component of a loaded texel: 0, 1, or 4 to 7 for the components in memory.
    pub(super) select: [u32; 4],
    /// Size of a texel in bytes.
    pub(super) bytes: usize,
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

/// Sources of a loaded component.
const R: u32 = 4;
const G: u32 = 5;
const B: u32 = 6;
const A: u32 = 7;

/// The number of components in memory, and the sources of loaded ones.
fn order(order: ChannelOrder) -> (usize, [u32; 4]) {
    match order {
        ChannelOrder::A => (1, [0, 0, 0, R]),
        ChannelOrder::R | ChannelOrder::Depth => (1, [R, 0, 0, 1]),
        ChannelOrder::Intensity => (1, [R; 4]),
        ChannelOrder::Luminance => (1, [R, R, R, 1]),
        ChannelOrder::Rg => (2, [R, G, 0, 1]),
        ChannelOrder::Ra => (2, [R, 0, 0, G]),
        ChannelOrder::Rgba | ChannelOrder::Srgba => (4, [R, G, B, A]),
        ChannelOrder::Srgbx => (4, [R, G, B, 1]),
        ChannelOrder::Bgra | ChannelOrder::Sbgra => (4, [B, G, R, A]),
        ChannelOrder::Argb => (4, [G, B, A, R]),
        ChannelOrder::Abgr => (4, [A, B, G, R]),
    }
}

/// The width and number format of a component.
fn channel(channel: ChannelType) -> (usize, u32) {
    match channel {
        ChannelType::SnormInt8 => (8, SNORM),
        ChannelType::SnormInt16 => (16, SNORM),
        ChannelType::UnormInt8 => (8, UNORM),
        ChannelType::UnormInt16 => (16, UNORM),
        ChannelType::SignedInt8 => (8, SINT),
        ChannelType::SignedInt16 => (16, SINT),
        ChannelType::SignedInt32 => (32, SINT),
        ChannelType::UnsignedInt8 => (8, UINT),
        ChannelType::UnsignedInt16 => (16, UINT),
        ChannelType::UnsignedInt32 => (32, UINT),
        ChannelType::HalfFloat => (16, FLOAT),
        ChannelType::Float => (32, FLOAT),
    }
}

impl Format {
    /// The format with this type and order; `None` for sRGB orders with other types than
    /// [`UnormInt8`](ChannelType::UnormInt8).
    pub fn new(channel_type: ChannelType, channel_order: ChannelOrder) -> Option<Self> {
        let (components, select) = order(channel_order);
        let (bits, number) = channel(channel_type);
        let data = DATA[bits.ilog2() as usize - 3][components.ilog2() as usize];
        let srgb = matches!(channel_order, ChannelOrder::Srgba | ChannelOrder::Srgbx | ChannelOrder::Sbgra);
        if srgb && channel_type != ChannelType::UnormInt8 {
            return None;
        }
        let number = if srgb { SRGB } else { number };
        Some(Self { channel_type, channel_order, data, number, select, bytes: components * bits / 8 })
    }

    /// Size of a texel in bytes.
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// Whether kernels can store texels of this format: stores do not convert to sRGB.
    pub fn can_be_stored(self) -> bool {
        self.number != SRGB
    }

    /// Encodes a texel. Components are given as floats or 32-bit integers, depending on the format.
    pub fn pack(self, components: [u32; 4]) -> Vec<u8> {
        let (bits, _) = channel(self.channel_type);
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

/// Rounds to f16, ties to even.
fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = f64::from(value.abs());
    if value.is_nan() {
        return sign | 0x7e00;
    }
    // Subnormals have the spacing of the smallest normal number.
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

    fn format(channel_type: ChannelType, channel_order: ChannelOrder) -> Option<Format> {
        Format::new(channel_type, channel_order)
    }

    #[test]
    fn texels_are_as_large_as_their_components() {
        for (channel_type, order, data, bytes) in [
            (ChannelType::UnormInt8, ChannelOrder::R, 1, 1),
            (ChannelType::SignedInt16, ChannelOrder::Rg, 5, 4),
            (ChannelType::HalfFloat, ChannelOrder::Rgba, 12, 8),
            (ChannelType::Float, ChannelOrder::Rgba, 14, 16),
        ] {
            let format = format(channel_type, order).unwrap();
            assert_eq!((format.data, format.bytes), (data, bytes), "{format:?}");
        }
        assert_eq!(format(ChannelType::Float, ChannelOrder::Srgba), None);
    }

    #[test]
    fn numbers_are_those_of_the_device_libraries() {
        for number in 0..32 {
            assert!(ChannelType::from_number(number).is_none_or(|channel| channel as u32 == number));
            assert!(ChannelOrder::from_number(number).is_none_or(|order| order as u32 == number));
        }
        let known = |numbers: &dyn Fn(u32) -> bool| (0..99).filter(|n| numbers(*n)).count();
        assert_eq!(known(&|n| ChannelType::from_number(n).is_some()), 12);
        assert_eq!(known(&|n| ChannelOrder::from_number(n).is_some()), 14);
    }

    #[test]
    fn components_are_packed_as_memory_has_them() {
        let floats = [1.0_f32, 0.5, 0.0, 2.0].map(f32::to_bits);
        let pack = |channel_type, order, of| format(channel_type, order).unwrap().pack(of);
        let (rgba, bgra) = (ChannelOrder::Rgba, ChannelOrder::Bgra);
        assert_eq!(pack(ChannelType::UnormInt8, rgba, floats), [255, 128, 0, 255]);
        assert_eq!(pack(ChannelType::UnormInt8, bgra, floats), [0, 128, 255, 255]);
        let sbgra = ChannelOrder::Sbgra;
        assert_eq!(pack(ChannelType::UnormInt8, sbgra, floats), [0, 188, 255, 255]);
        assert_eq!(pack(ChannelType::SnormInt8, rgba, [-1.0_f32; 4].map(f32::to_bits)), [129; 4]);
        let integers = [300, -300_i32 as u32, 5, -1_i32 as u32];
        assert_eq!(pack(ChannelType::SignedInt8, rgba, integers), [127, 128, 5, 255]);
        assert_eq!(pack(ChannelType::UnsignedInt8, rgba, [300, 1, 2, 3]), [255, 1, 2, 3]);
        let halves = pack(ChannelType::HalfFloat, rgba, floats);
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
