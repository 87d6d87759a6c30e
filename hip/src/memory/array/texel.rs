//! Formats of texels.

use std::fmt;

use bytemuck::Pod;
use hip_sys::{
    hipArray_Format, hipChannelFormatDesc, hipChannelFormatKindFloat, hipChannelFormatKindSigned,
    hipChannelFormatKindUnsigned,
};

/// The kind of number in a component of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChannelKind {
    /// A signed integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// A floating-point number.
    Float,
}

/// The format of a texel: 1, 2 or 4 components of 8, 16 or 32 bits (`hipChannelFormatDesc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChannelFormat {
    /// The kind of the components.
    pub kind: ChannelKind,
    /// Bits per component.
    pub bits: u32,
    /// Number of components.
    pub channels: u32,
}

impl ChannelFormat {
    const fn new(kind: ChannelKind, bits: u32, channels: u32) -> Self {
        Self { kind, bits, channels }
    }

    /// Converts the runtime's description of an array; `None` for an unsupported format.
    pub(crate) fn of_array(format: hipArray_Format, channels: u32) -> Option<Self> {
        let (kind, bits) = match format {
            hip_sys::HIP_AD_FORMAT_UNSIGNED_INT8 => (ChannelKind::Unsigned, 8),
            hip_sys::HIP_AD_FORMAT_UNSIGNED_INT16 => (ChannelKind::Unsigned, 16),
            hip_sys::HIP_AD_FORMAT_UNSIGNED_INT32 => (ChannelKind::Unsigned, 32),
            hip_sys::HIP_AD_FORMAT_SIGNED_INT8 => (ChannelKind::Signed, 8),
            hip_sys::HIP_AD_FORMAT_SIGNED_INT16 => (ChannelKind::Signed, 16),
            hip_sys::HIP_AD_FORMAT_SIGNED_INT32 => (ChannelKind::Signed, 32),
            hip_sys::HIP_AD_FORMAT_HALF => (ChannelKind::Float, 16),
            hip_sys::HIP_AD_FORMAT_FLOAT => (ChannelKind::Float, 32),
            _ => return None,
        };
        Some(Self { kind, bits, channels })
    }

    pub(crate) fn raw(self) -> hipChannelFormatDesc {
        let bits = |channel: u32| if channel < self.channels { self.bits as i32 } else { 0 };
        let kind = match self.kind {
            ChannelKind::Signed => hipChannelFormatKindSigned,
            ChannelKind::Unsigned => hipChannelFormatKindUnsigned,
            ChannelKind::Float => hipChannelFormatKindFloat,
        };
        hipChannelFormatDesc { x: bits(0), y: bits(1), z: bits(2), w: bits(3), f: kind }
    }
}

impl fmt::Display for ChannelFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            ChannelKind::Signed => "signed",
            ChannelKind::Unsigned => "unsigned",
            ChannelKind::Float => "float",
        };
        write!(f, "{} x {kind} {}", self.channels, self.bits)
    }
}

/// An element of an [`Array`](crate::memory::array::Array), and of memory that is read as a
/// [`Texture`](crate::texture::Texture): a number, or `[number; 2]` or `[number; 4]`. Numbers are `u8`, `i8`, `u16`,
/// `i16`, `u32`, `i32`, `f32`, and with the feature `half` also `half::f16`.
///
/// Texels of three components are not supported.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a texel",
    label = "not a texel",
    note = "texels are `u8`, `i8`, `u16`, `i16`, `u32`, `i32` and `f32`, and arrays of 2 or 4 of these",
    note = "`half::f16` needs the feature `half` of `hip`"
)]
pub trait Texel: Pod + sealed::Sealed {
    /// Its format.
    const FORMAT: ChannelFormat;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! texels {
    ($($(#[$attribute:meta])* $type:ty: $kind:ident $bits:literal;)*) => {
        $(
            $(#[$attribute])*
            impl sealed::Sealed for $type {}
            $(#[$attribute])*
            impl sealed::Sealed for [$type; 2] {}
            $(#[$attribute])*
            impl sealed::Sealed for [$type; 4] {}
            $(#[$attribute])*
            impl Texel for $type {
                const FORMAT: ChannelFormat = ChannelFormat::new(ChannelKind::$kind, $bits, 1);
            }
            $(#[$attribute])*
            impl Texel for [$type; 2] {
                const FORMAT: ChannelFormat = ChannelFormat::new(ChannelKind::$kind, $bits, 2);
            }
            $(#[$attribute])*
            impl Texel for [$type; 4] {
                const FORMAT: ChannelFormat = ChannelFormat::new(ChannelKind::$kind, $bits, 4);
            }
        )*
    };
}

texels! {
    u8: Unsigned 8;
    i8: Signed 8;
    u16: Unsigned 16;
    i16: Signed 16;
    u32: Unsigned 32;
    i32: Signed 32;
    f32: Float 32;
    #[cfg(feature = "half")]
    half::f16: Float 16;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_whole<T: Texel>() {
        let ChannelFormat { bits, channels, .. } = T::FORMAT;
        assert_eq!((bits * channels) as usize, 8 * size_of::<T>(), "{}", T::FORMAT);
        let raw = T::FORMAT.raw();
        let set = [raw.x, raw.y, raw.z, raw.w].into_iter().filter(|set| *set == bits as i32).count();
        assert_eq!(set, channels as usize);
    }

    #[test]
    fn components_fill_a_texel() {
        is_whole::<u8>();
        is_whole::<[i16; 2]>();
        is_whole::<[f32; 4]>();
        is_whole::<[u32; 2]>();
        assert_eq!(<[i16; 2]>::FORMAT.to_string(), "2 x signed 16");
    }
}
