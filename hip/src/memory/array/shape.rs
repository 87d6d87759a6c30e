//! Shapes of arrays: dimensions, layers and cube maps.

use std::fmt;

use hip_sys::{hipArrayCubemap, hipArrayDefault, hipArrayLayered, hipExtent};

use crate::core::attribute::DeviceAttribute;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::memory::{Extent, byte_len};

/// The shape of an [`Array`](crate::memory::array::Array), in texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrayShape {
    /// One dimension: width.
    D1(usize),
    /// Width and height.
    D2(usize, usize),
    /// Width, height and depth.
    D3(usize, usize, usize),
    /// Layers of one dimension: width and number of layers. Filters do not blend layers.
    D1Layered(usize, usize),
    /// Layers of two dimensions: width, height and number of layers. Filters do not blend layers.
    D2Layered(usize, usize, usize),
    /// A cube map: six squares of this width. ROCm's runtimes for Linux reject it; the embedded software GPU supports
    /// it.
    ///
    /// Code that ROCm 7.2 compiles (`texCubemap`) divides by the signed main axis, so it samples the faces of negative
    /// directions rotated by 180 degrees.
    Cubemap(usize),
    /// Cube maps: width and number of cubes. ROCm's runtimes for Linux reject it; the embedded software GPU supports
    /// it, but not textures of more than one cube.
    CubemapLayered(usize, usize),
}

impl ArrayShape {
    /// Returns the number of texels along each dimension, as copies count them: layers and faces are planes.
    #[must_use]
    pub fn extent(self) -> Extent {
        match self {
            Self::D1(width) => Extent::new_2d(width, 1),
            Self::D2(width, height) => Extent::new_2d(width, height),
            Self::D3(width, height, depth) | Self::D2Layered(width, height, depth) => {
                Extent::new_3d(width, height, depth)
            }
            Self::D1Layered(width, layers) => Extent::new_3d(width, 1, layers),
            Self::Cubemap(width) => Extent::new_3d(width, width, 6),
            Self::CubemapLayered(width, cubes) => Extent::new_3d(width, width, cubes.saturating_mul(6)),
        }
    }

    /// Returns the C parameters: sizes, with zero for unused dimensions, and flags.
    pub(super) fn raw(self) -> (hipExtent, u32) {
        let Extent { width, height, depth } = self.extent();
        let (height, depth, flags) = match self {
            Self::D1(_) => (0, 0, hipArrayDefault),
            Self::D2(..) => (height, 0, hipArrayDefault),
            Self::D3(..) => (height, depth, hipArrayDefault),
            Self::D1Layered(..) => (0, depth, hipArrayLayered),
            Self::D2Layered(..) => (height, depth, hipArrayLayered),
            Self::Cubemap(_) => (height, depth, hipArrayCubemap),
            Self::CubemapLayered(..) => (height, depth, hipArrayCubemap | hipArrayLayered),
        };
        (hipExtent { width, height, depth }, flags)
    }

    /// Returns `Ok` if a device supports such an array of texels of `T`.
    pub(super) fn check<T>(self, device: &Device) -> Result<()> {
        let extent = self.extent();
        if extent.is_empty() {
            return Err(Error::InvalidValue {
                what: "the size of an array",
                value: self.to_string(),
                allowed: "at least one texel along each dimension".to_owned(),
            });
        }
        let element_bytes = size_of::<T>();
        byte_len::<T>(extent.elements().ok_or(Error::TooLarge { elements: usize::MAX, element_bytes })?)?;
        let limits: &[(usize, DeviceAttribute)] = match self {
            Self::D1(_) | Self::D1Layered(..) => &[(extent.width, DeviceAttribute::MAX_TEXTURE_1D_WIDTH)],
            Self::D3(..) => &[
                (extent.width, DeviceAttribute::MAX_TEXTURE_3D_WIDTH),
                (extent.height, DeviceAttribute::MAX_TEXTURE_3D_HEIGHT),
                (extent.depth, DeviceAttribute::MAX_TEXTURE_3D_DEPTH),
            ],
            _ => &[
                (extent.width, DeviceAttribute::MAX_TEXTURE_2D_WIDTH),
                (extent.height, DeviceAttribute::MAX_TEXTURE_2D_HEIGHT),
            ],
        };
        for (size, attribute) in limits {
            let most = device.attribute(*attribute)?;
            if usize::try_from(most).is_ok_and(|most| *size > most) {
                return Err(Error::InvalidValue {
                    what: "the size of an array",
                    value: self.to_string(),
                    allowed: format!("at most {most} texels ({attribute:?} of device {})", device.index()),
                });
            }
        }
        Ok(())
    }
}

impl fmt::Display for ArrayShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::D1(width) => write!(f, "a line of {width}"),
            Self::D2(width, height) => write!(f, "{width} x {height}"),
            Self::D3(width, height, depth) => write!(f, "{width} x {height} x {depth}"),
            Self::D1Layered(width, layers) => write!(f, "{layers} lines of {width}"),
            Self::D2Layered(width, height, layers) => write!(f, "{layers} planes of {width} x {height}"),
            Self::Cubemap(width) => write!(f, "a cube of {width}"),
            Self::CubemapLayered(width, cubes) => write!(f, "{cubes} cubes of {width}"),
        }
    }
}
