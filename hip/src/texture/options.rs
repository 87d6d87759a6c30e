//! How a texture is read.

use hip_sys::{
    hipAddressModeBorder, hipAddressModeClamp, hipAddressModeMirror, hipAddressModeWrap, hipFilterModeLinear,
    hipFilterModePoint, hipReadModeElementType, hipReadModeNormalizedFloat, hipTextureDesc,
};

use crate::core::error::{Error, Result};
use crate::memory::array::{ChannelFormat, ChannelKind};

/// What becomes of coordinates outside of the texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AddressMode {
    /// The texel at the edge.
    #[default]
    Clamp,
    /// Zeros. (ROCm's runtimes for Linux hand no other colour on to the device.)
    Border,
    /// The texture again. Of [normalised](TextureOptions::normalized) coordinates alone.
    Wrap,
    /// The texture again, every other time the other way round. Of [normalised](TextureOptions::normalized) coordinates alone.
    Mirror,
}

/// How texels become a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FilterMode {
    /// The nearest.
    #[default]
    Point,
    /// The two nearest along each dimension, by their distance, of which the device keeps 8 bits behind the point.
    Linear,
}

/// What a kernel gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReadMode {
    /// The components as they are.
    #[default]
    Element,
    /// Integers of 8 and 16 bits as numbers from 0 to 1, signed ones from -1 to 1.
    NormalizedFloat,
}

/// How levels of a [`MipmappedArray`](crate::memory::array::MipmappedArray) are chosen and blended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MipmapOptions {
    /// Whether two levels are blended.
    pub filter: FilterMode,
    /// Added to the level that a kernel asks for.
    pub bias: f32,
    /// The first level that is read, which is the largest.
    pub min_level: f32,
    /// The last level that is read.
    pub max_level: f32,
}

impl Default for MipmapOptions {
    /// Any level, no blending.
    fn default() -> Self {
        Self { filter: FilterMode::Point, bias: 0.0, min_level: 0.0, max_level: 1000.0 }
    }
}

/// How a texture is read. The default: the nearest texel as it is, by coordinates that count texels, the edge's outside.
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
    /// The default.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What becomes of coordinates outside, in every dimension.
    #[must_use]
    pub fn address(self, mode: AddressMode) -> Self {
        self.addresses([mode; 3])
    }

    /// What becomes of coordinates outside, by dimension.
    #[must_use]
    pub fn addresses(mut self, modes: [AddressMode; 3]) -> Self {
        self.address = modes;
        self
    }

    /// How texels become a sample.
    #[must_use]
    pub fn filter(mut self, filter: FilterMode) -> Self {
        self.filter = filter;
        self
    }

    /// What a kernel gets.
    #[must_use]
    pub fn read(mut self, read: ReadMode) -> Self {
        self.read = read;
        self
    }

    /// Whether coordinates are from 0 to 1 rather than counting texels.
    #[must_use]
    pub fn normalized(mut self, normalized: bool) -> Self {
        self.normalized = normalized;
        self
    }

    /// Whether texels of `[u8; 4]` are along the curve of sRGB and become linear when read, the fourth component excepted. Implies
    /// [`ReadMode::NormalizedFloat`].
    #[must_use]
    pub fn srgb(mut self, srgb: bool) -> Self {
        self.srgb = srgb;
        self
    }

    /// How levels are chosen, of a [`MipmappedArray`](crate::memory::array::MipmappedArray).
    #[must_use]
    pub fn mipmap(mut self, options: MipmapOptions) -> Self {
        self.mipmap = Some(options);
        self
    }

    /// Whether texels are blended ([`FilterMode::Linear`]).
    #[must_use]
    pub fn is_linear(&self) -> bool {
        self.filter == FilterMode::Linear
    }

    fn read_mode(&self) -> ReadMode {
        if self.srgb { ReadMode::NormalizedFloat } else { self.read }
    }

    /// `Ok` if texels of a format can be read so.
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
