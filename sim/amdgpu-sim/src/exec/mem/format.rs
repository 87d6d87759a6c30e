//! Formats of typed buffers and images: conversion between the bits of an element and its components.

use crate::exec::valu::half_bits;

/// A data format: the width of each component from the lowest bits on, zero for missing ones.
type Widths = [u32; 4];

/// The meaning of a component's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Unorm,
    Snorm,
    Uscaled,
    Sscaled,
    Uint,
    Sint,
    Float,
    /// Unorm with sRGB encoding, except for the fourth component. Only in images.
    Srgb,
}

/// A format of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    widths: Widths,
    number: Number,
}

impl Format {
    /// The format for these data and number format numbers of descriptors and instructions; `None` if it does not
    /// exist.
    pub(super) fn of(data: u32, number: u32) -> Option<Format> {
        let widths = match data & 15 {
            1 => [8, 0, 0, 0],
            2 => [16, 0, 0, 0],
            3 => [8, 8, 0, 0],
            4 => [32, 0, 0, 0],
            5 => [16, 16, 0, 0],
            // These names start with the highest component.
            6 => [11, 11, 10, 0],
            7 => [10, 11, 11, 0],
            8 => [2, 10, 10, 10],
            9 => [10, 10, 10, 2],
            10 => [8; 4],
            11 => [32, 32, 0, 0],
            12 => [16; 4],
            13 => [32, 32, 32, 0],
            14 => [32; 4],
            _ => return None,
        };
        let number = match number & 7 {
            0 => Number::Unorm,
            1 => Number::Snorm,
            2 => Number::Uscaled,
            3 => Number::Sscaled,
            4 => Number::Uint,
            5 => Number::Sint,
            7 => Number::Float,
            _ => return None,
        };
        let float = |width: &u32| {
            matches!(width, 0 | 10 | 11 | 16 | 32) && widths != [2, 10, 10, 10] && widths != [10, 10, 10, 2]
        };
        // 8-bit floats, and normalised or scaled words, do not exist.
        let wide = widths[0] == 32 && !matches!(number, Number::Uint | Number::Sint | Number::Float);
        (number != Number::Float || widths.iter().all(float)).then_some(()).filter(|()| !wide)?;
        Some(Format { widths, number })
    }

    /// The format of an image's texel, by the descriptor's numbers. `None` if it does not exist, or is not a simple
    /// one: blocks of several texels, and depth with stencil.
    pub(super) fn of_image(data: u32, number: u32) -> Option<Format> {
        let srgb = number == 9;
        // From 16 on, the names start with the highest component.
        let widths = match data {
            1..=14 => {
                let buffer = Self::of(data, if srgb { 0 } else { number }).filter(|_| srgb || number < 8)?;
                return if !srgb {
                    Some(buffer)
                } else if buffer.widths.iter().all(|w| matches!(w, 0 | 8)) {
                    Some(Format { number: Number::Srgb, ..buffer })
                } else {
                    None
                };
            }
            16 => [5, 6, 5, 0],
            17 => [5, 5, 5, 1],
            18 => [1, 5, 5, 5],
            19 => [4; 4],
            _ => return None,
        };
        (number == 0).then_some(Format { widths, number: Number::Unorm })
    }

    /// Returns whether components can be stored, not only loaded.
    pub(super) fn storable(self) -> bool {
        self.number != Number::Srgb
    }

    /// Bytes of an element.
    pub(super) fn bytes(self) -> u32 {
        self.widths.iter().sum::<u32>() / 8
    }

    /// Whether components are integers (else floats).
    pub(super) fn integer(self) -> bool {
        matches!(self.number, Number::Uint | Number::Sint)
    }

    /// One, as a component.
    pub(super) fn one(self) -> u32 {
        if self.integer() { 1 } else { 1.0_f32.to_bits() }
    }

    /// The four components of an element, as 32-bit floats or integers; missing ones are 0, 0, 0 and 1.
    pub(super) fn unpack(self, element: [u32; 4]) -> [u32; 4] {
        let all = u128::from(element[0])
            | u128::from(element[1]) << 32
            | u128::from(element[2]) << 64
            | u128::from(element[3]) << 96;
        let mut components = [0, 0, 0, self.one()];
        let mut at = 0;
        for (i, (component, width)) in components.iter_mut().zip(self.widths).enumerate() {
            if width != 0 {
                let bits = (all >> at) as u32 & (u32::MAX >> (32 - width));
                // Alpha is not sRGB-encoded.
                let linear = i == 3 && self.number == Number::Srgb;
                *component = if linear { Format { number: Number::Unorm, ..self } } else { self }.widen(bits, width);
            }
            at += width;
        }
        components
    }

    fn widen(self, bits: u32, width: u32) -> u32 {
        let signed = ((bits << (32 - width)) as i32) >> (32 - width);
        let float = match self.number {
            Number::Uint => return bits,
            Number::Sint => return signed as u32,
            Number::Float => return widen_float(bits, width),
            Number::Unorm => f64::from(bits) / f64::from(u32::MAX >> (32 - width)),
            Number::Snorm => (f64::from(signed) / f64::from(i32::MAX >> (32 - width))).max(-1.0),
            Number::Uscaled => f64::from(bits),
            Number::Sscaled => f64::from(signed),
            Number::Srgb => linear(f64::from(bits) / f64::from(u32::MAX >> (32 - width))),
        };
        (float as f32).to_bits()
    }

    /// Encodes four components.
    pub(super) fn pack(self, components: [u32; 4]) -> [u32; 4] {
        let (mut all, mut at) = (0_u128, 0);
        for (component, width) in components.into_iter().zip(self.widths) {
            if width != 0 {
                all |= u128::from(self.narrow(component, width)) << at;
            }
            at += width;
        }
        std::array::from_fn(|i| (all >> (32 * i)) as u32)
    }

    /// Converts a component to `width` bits, clamped to the representable range.
    fn narrow(self, component: u32, width: u32) -> u32 {
        let (unsigned, mask) = (u32::MAX >> (32 - width), u32::MAX >> (32 - width));
        let most = i32::MAX >> (32 - width);
        let x = f64::from(f32::from_bits(component));
        let x = if x.is_nan() { 0.0 } else { x };
        let signed = match self.number {
            Number::Uint => return component.min(unsigned),
            Number::Sint => (component as i32).clamp(-most - 1, most),
            Number::Float => return narrow_float(component, width),
            Number::Unorm | Number::Srgb => return (x.clamp(0.0, 1.0) * f64::from(unsigned)).round_ties_even() as u32,
            Number::Snorm => (x.clamp(-1.0, 1.0) * f64::from(most)).round_ties_even() as i32,
            Number::Uscaled => return x.clamp(0.0, f64::from(unsigned)) as u32,
            Number::Sscaled => x.clamp(-f64::from(most) - 1.0, f64::from(most)) as i32,
        };
        signed as u32 & mask
    }

    /// Converts a component to 16 bits.
    pub(super) fn halve(self, component: u32) -> u32 {
        match self.number {
            Number::Uint => component.min(0xffff),
            Number::Sint => (component as i32).clamp(-0x8000, 0x7fff) as u32 & 0xffff,
            _ => u32::from(half_bits::narrow(f32::from_bits(component))),
        }
    }

    /// Converts a 16-bit component to 32 bits.
    pub(super) fn double(self, half: u32) -> u32 {
        match self.number {
            Number::Uint => half & 0xffff,
            Number::Sint => i32::from(half as u16 as i16) as u32,
            _ => half_bits::widen(half as u16).to_bits(),
        }
    }
}

/// Decodes an sRGB value (IEC 61966-2-1).
fn linear(x: f64) -> f64 {
    if x <= 0.04045 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
}

/// Converts floats of 10 and 11 bits, which are halves without sign and lowest bits.
fn widen_float(bits: u32, width: u32) -> u32 {
    match width {
        32 => bits,
        16 => half_bits::widen(bits as u16).to_bits(),
        _ => half_bits::widen((bits << (15 - width)) as u16).to_bits(),
    }
}

fn narrow_float(component: u32, width: u32) -> u32 {
    let x = f32::from_bits(component);
    match width {
        32 => component,
        16 => u32::from(half_bits::narrow(x)),
        _ if x.is_nan() => (1 << width) - 1,
        // Unsigned: negative values become zero. Rounded toward zero: excess bits are dropped.
        _ if x <= 0.0 => 0,
        _ => u32::from(half_bits::truncate(x)) >> (15 - width),
    }
}
