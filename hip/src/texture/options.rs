//! Options for reading textures.

use hip_sys::{
    hipAddressModeBorder, hipAddressModeClamp, hipAddressModeMirror, hipAddressModeWrap, hipFilterModeLinear,
    hipFilterModePoint, hipReadModeElementType, hipReadModeNormalizedFloat, hipTextureDesc,
};

use crate::core::error::{Error, Result};
use crate::memory::array::{ChannelFormat, ChannelKind};

/// Handling of coordinates outside of the texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AddressMode {
    /// Clamp to the texel at the edge.
    #[default]
    Clamp,
    /// Zeros. (ROCm's runtimes for Linux do not pass any other colour to the device.)
    Border,
    /// Repeat the texture. Only for [normalised](TextureOptions::normalized) coordinates.
    Wrap,
    /// Repeat the texture, mirrored every other time. Only for [normalised](TextureOptions::normalized) coordinates.
    Mirror,
}

/// Sampling of texels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FilterMode {
    /// The nearest texel.
    #[default]
    Point,
    /// Linear interpolation of the two nearest texels along each dimension. The device computes weights with 8
    /// fractional bits.
    Linear,
}

/// The type of the values that a kernel gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReadMode {
    /// The components unchanged.
    #[default]
    Element,
    /// Integers of 8 and 16 bits as floating-point numbers from 0 to 1, signed ones from -1 to 1.
    NormalizedFloat,
}

/// Selection and blending of the levels of a [`MipmappedArray`](crate::memory::array::MipmappedArray).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MipmapOptions {
    /// Whether two levels are blended.
    pub filter: FilterMode,
    /// Added to the level that a kernel requests.
    pub bias: f32,
    /// The lowest level that is read, which is the largest.
    pub min_level: f32,
    /// The highest level that is read.
    pub max_level: f32,
}

impl Default for MipmapOptions {
    /// Any level, no blending.
    fn default() -> Self {
        Self { filter: FilterMode::Point, bias: 0.0, min_level: 0.0, max_level: 1000.0 }
    }
}

/// Options for reading a texture. The default: nearest texel, unchanged components, coordinates that count texels,
/// clamped to the edge.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TextureOptions {
    address: [AddressMode; 3],
    filter: FilterMode,
    read: ReadMode,
    normalized: bool,
    srgb: bool,
    mipmap: Option<MipmapOptions>,
}

impl TextureOptions {
    /// Creates the default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the handling of coordinates outside, for all dimensions.
    #[must_use]
    pub fn address(self, mode: AddressMode) -> Self {
        self.addresses([mode; 3])
    }

    /// Sets the handling of coordinates outside, per dimension.
    #[must_use]
    pub fn addresses(mut self, modes: [AddressMode; 3]) -> Self {
        self.address = modes;
        self
    }

    /// Sets the sampling of texels.
    #[must_use]
    pub fn filter(mut self, filter: FilterMode) -> Self {
        self.filter = filter;
        self
    }

    /// Sets the type of the values that a kernel gets.
    #[must_use]
    pub fn read(mut self, read: ReadMode) -> Self {
        self.read = read;
        self
    }

    /// Sets whether coordinates are normalised, from 0 to 1, instead of counting texels.
    #[must_use]
    pub fn normalized(mut self, normalized: bool) -> Self {
        self.normalized = normalized;
        self
    }

    /// Sets whether texels of `[u8; 4]` are sRGB-encoded and converted to linear values when read, except for the
    /// fourth component. Implies [`ReadMode::NormalizedFloat`].
    #[must_use]
    pub fn srgb(mut self, srgb: bool) -> Self {
        self.srgb = srgb;
        self
    }

    /// Sets the selection of levels, for a [`MipmappedArray`](crate::memory::array::MipmappedArray).
    #[must_use]
    pub fn mipmap(mut self, options: MipmapOptions) -> Self {
        self.mipmap = Some(options);
        self
    }

    /// Returns whether texels are interpolated ([`FilterMode::Linear`]).
    #[must_use]
    pub fn is_linear(&self) -> bool {
        self.filter == FilterMode::Linear
    }

    fn read_mode(&self) -> ReadMode {
        if self.srgb { ReadMode::NormalizedFloat } else { self.read }
    }

    /// Returns `Ok` if texels of a format can be read with these options.
    pub(super) fn check(&self, format: ChannelFormat) -> Result<()> {
        let invalid =
            |what, value: String, allowed: &str| Err(Error::InvalidValue { what, value, allowed: allowed.to_owned() });
        let integer = format.kind != ChannelKind::Float;
        if self.srgb && format != (ChannelFormat { kind: ChannelKind::Unsigned, bits: 8, channels: 4 }) {
            return invalid("texels along the curve of sRGB", format.to_string(), "4 x unsigned 8");
        }
        if self.read_mode() == ReadMode::NormalizedFloat && integer && format.bits > 16 {
            return invalid(
                "texels that are read as numbers from 0 to 1",
                format.to_string(),
                "integers of 8 or 16 bits",
            );
        }
        if self.is_linear() && integer && self.read_mode() == ReadMode::Element {
            let allowed = "floats, or integers that are read as ReadMode::NormalizedFloat";
            return invalid("texels that are blended (FilterMode::Linear)", format.to_string(), allowed);
        }
        let repeats = |mode: &AddressMode| matches!(mode, AddressMode::Wrap | AddressMode::Mirror);
        if !self.normalized {
            if let Some(mode) = self.address.iter().find(|mode| repeats(mode)) {
                let allowed = "Clamp and Border, unless coordinates are normalised";
                return invalid("the address mode of a texture", format!("{mode:?}"), allowed);
            }
        }
        let levels = self.mipmap.unwrap_or_default();
        if !(levels.bias.is_finite() && levels.min_level >= 0.0 && levels.min_level <= levels.max_level) {
            return invalid(
                "the levels of a texture",
                format!("{levels:?}"),
                "0 <= min_level <= max_level, a finite bias",
            );
        }
        Ok(())
    }

    pub(super) fn raw(&self) -> hipTextureDesc {
        let filter = |mode| match mode {
            FilterMode::Point => hipFilterModePoint,
            FilterMode::Linear => hipFilterModeLinear,
        };
        let levels = self.mipmap.unwrap_or_default();
        let given = self.mipmap.is_some();
        hipTextureDesc {
            addressMode: self.address.map(|mode| match mode {
                AddressMode::Clamp => hipAddressModeClamp,
                AddressMode::Border => hipAddressModeBorder,
                AddressMode::Wrap => hipAddressModeWrap,
                AddressMode::Mirror => hipAddressModeMirror,
            }),
            filterMode: filter(self.filter),
            readMode: match self.read_mode() {
                ReadMode::Element => hipReadModeElementType,
                ReadMode::NormalizedFloat => hipReadModeNormalizedFloat,
            },
            sRGB: self.srgb.into(),
            normalizedCoords: self.normalized.into(),
            mipmapFilterMode: filter(levels.filter),
            mipmapLevelBias: levels.bias,
            minMipmapLevelClamp: if given { levels.min_level } else { 0.0 },
            maxMipmapLevelClamp: if given { levels.max_level } else { 0.0 },
            ..hipTextureDesc::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::array::Texel;

    #[test]
    fn what_cannot_be_read_so_is_refused() {
        let plain = TextureOptions::new();
        assert!(plain.check(f32::FORMAT).is_ok() && plain.check(u8::FORMAT).is_ok());
        let linear = plain.filter(FilterMode::Linear);
        assert!(linear.check(f32::FORMAT).is_ok() && linear.check(u8::FORMAT).is_err());
        let normalized = linear.read(ReadMode::NormalizedFloat);
        assert!(normalized.check(i16::FORMAT).is_ok() && normalized.check(u32::FORMAT).is_err());
        assert!(normalized.check(<[f32; 4]>::FORMAT).is_ok());
        assert!(plain.srgb(true).check(<[u8; 4]>::FORMAT).is_ok());
        assert!(
            plain.srgb(true).check(<[u8; 2]>::FORMAT).is_err() && plain.srgb(true).check(<[i8; 4]>::FORMAT).is_err()
        );
        for mode in [AddressMode::Wrap, AddressMode::Mirror] {
            assert!(plain.address(mode).check(f32::FORMAT).is_err());
            assert!(plain.address(mode).normalized(true).check(f32::FORMAT).is_ok());
        }
        let levels = |min_level, bias| {
            plain.mipmap(MipmapOptions { min_level, bias, max_level: 2.0, ..MipmapOptions::default() })
        };
        assert!(levels(1.0, -1.0).check(f32::FORMAT).is_ok());
        assert!(levels(3.0, 0.0).check(f32::FORMAT).is_err() && levels(-1.0, 0.0).check(f32::FORMAT).is_err());
        assert!(levels(0.0, f32::NAN).check(f32::FORMAT).is_err());
    }
}
