//! Arrays and their texel formats, as the C API describes them.

use amdgpu_sim::Arch;
use amdgpu_sim::image::{ChannelOrder, ChannelType, Format, Kind, Layout};
use hip_sys::rocm_7_2::*;

use crate::device::Device;
use crate::status::{Outcome, Refusal};

/// The array behind a `hipArray_t`: texels on a device in rows and planes. The program never sees its address.
pub(crate) struct Array {
    pub(crate) device: usize,
    pub(crate) base: u64,
    pub(crate) layout: Layout,
    pub(crate) channels: Channels,
    /// The extent that the program passed. Dimensions that the array lacks are 0.
    pub(crate) extent: [usize; 3],
    pub(crate) flags: u32,
    /// A level of a mipmapped array, which is freed only with that array.
    pub(crate) is_level: bool,
}

/// The array behind a `hipMipmappedArray_t`: its levels share one allocation.
pub(crate) struct MipmappedArray {
    pub(crate) device: usize,
    pub(crate) base: u64,
    /// Bytes of all levels.
    pub(crate) bytes: u64,
    /// The alignment of its address.
    pub(crate) alignment: usize,
    /// The array handles of the levels, as numbers, the largest level first.
    pub(crate) levels: Vec<usize>,
}

/// The number type of a texel component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Component {
    Signed,
    Unsigned,
    Float,
}

/// The components of a texel. All of them have the same type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Channels {
    pub(crate) component: Component,
    pub(crate) bits: u32,
    pub(crate) count: u32,
}

impl Channels {
    /// Converts a `hipChannelFormatDesc`. `None` if no texel has such a format.
    pub(crate) fn of(description: &hipChannelFormatDesc) -> Option<Self> {
        let hipChannelFormatDesc { x, y, z, w, f } = *description;
        let component = match f.0 {
            0 => Component::Signed,
            1 => Component::Unsigned,
            2 => Component::Float,
            _ => return None,
        };
        let count = match [y, z, w] {
            [0, 0, 0] => 1,
            [y, 0, 0] if y == x => 2,
            [y, z, w] if y == x && z == x && w == x => 4,
            _ => return None,
        };
        Self { component, bits: u32::try_from(x).ok()?, count }.checked()
    }

    /// Converts a `hipArray_Format` and a number of components.
    pub(crate) fn of_format(format: hipArray_Format, count: u32) -> Option<Self> {
        let (component, bits) = match format.0 {
            0x01 => (Component::Unsigned, 8),
            0x02 => (Component::Unsigned, 16),
            0x03 => (Component::Unsigned, 32),
            0x08 => (Component::Signed, 8),
            0x09 => (Component::Signed, 16),
            0x0a => (Component::Signed, 32),
            0x10 => (Component::Float, 16),
            0x20 => (Component::Float, 32),
            _ => return None,
        };
        Self { component, bits, count }.checked()
    }

    /// Converts a `hipResourceViewFormat`, except for "none" and the block-compressed formats.
    pub(crate) fn of_view(format: hipResourceViewFormat) -> Option<Self> {
        let number = format.0.checked_sub(1).filter(|number| *number < 24)?;
        let (component, bits) = [
            (Component::Unsigned, 8),
            (Component::Signed, 8),
            (Component::Unsigned, 16),
            (Component::Signed, 16),
            (Component::Unsigned, 32),
            (Component::Signed, 32),
            (Component::Float, 16),
            (Component::Float, 32),
        ][number as usize / 3];
        Self { component, bits, count: 1 << (number % 3) }.checked()
    }

    fn checked(self) -> Option<Self> {
        let least = if self.component == Component::Float { 16 } else { 8 };
        let known = [8, 16, 32].contains(&self.bits) && self.bits >= least && [1, 2, 4].contains(&self.count);
        known.then_some(self)
    }

    /// As `hipChannelFormatDesc`.
    pub(crate) fn description(self) -> hipChannelFormatDesc {
        let bits = |channel: u32| if channel < self.count { self.bits as i32 } else { 0 };
        let f = hipChannelFormatKind(self.component as u32);
        hipChannelFormatDesc { x: bits(0), y: bits(1), z: bits(2), w: bits(3), f }
    }

    /// As `hipArray_Format`.
    pub(crate) fn array_format(self) -> hipArray_Format {
        let size = self.bits.ilog2() - 3;
        hipArray_Format(match self.component {
            Component::Unsigned => 1 + size,
            Component::Signed => 8 + size,
            Component::Float => 8 << size,
        })
    }

    /// The device's format for such texels. With `normalized`, integers are read as fractions; with `srgb`, those are
    /// sRGB-encoded.
    pub(crate) fn format(self, normalized: bool, srgb: bool) -> Option<Format> {
        let channel = match (self.component, self.bits, normalized) {
            (Component::Float, 16, _) => ChannelType::HalfFloat,
            (Component::Float, ..) => ChannelType::Float,
            (Component::Signed, 8, false) => ChannelType::SignedInt8,
            (Component::Signed, 16, false) => ChannelType::SignedInt16,
            (Component::Signed, _, false) => ChannelType::SignedInt32,
            (Component::Unsigned, 8, false) => ChannelType::UnsignedInt8,
            (Component::Unsigned, 16, false) => ChannelType::UnsignedInt16,
            (Component::Unsigned, _, false) => ChannelType::UnsignedInt32,
            (Component::Signed, 8, true) => ChannelType::SnormInt8,
            (Component::Signed, 16, true) => ChannelType::SnormInt16,
            (Component::Unsigned, 8, true) => ChannelType::UnormInt8,
            (Component::Unsigned, 16, true) => ChannelType::UnormInt16,
            (_, _, true) => return None,
        };
        let order = match self.count {
            1 => ChannelOrder::R,
            2 => ChannelOrder::Rg,
            _ if srgb && channel == ChannelType::UnormInt8 => ChannelOrder::Srgba,
            _ => ChannelOrder::Rgba,
        };
        Format::new(channel, order)
    }
}

/// Faces of a cube.
pub(crate) const FACES: usize = 6;

/// The kind of an array of this extent with these flags, and its size in texels, rows and planes. `None` if the
/// combination is invalid.
pub(crate) fn shape([width, height, depth]: [usize; 3], flags: u32) -> Option<(Kind, [usize; 3])> {
    let known = hipArrayLayered | hipArraySurfaceLoadStore | hipArrayCubemap | hipArrayTextureGather;
    if flags & !known != 0 {
        return None;
    }
    if flags & hipArrayCubemap != 0 {
        // Faces are layers of a plane each, six for a cube.
        let cubes = if flags & hipArrayLayered != 0 { depth / FACES } else { 1 };
        let fits = width == height && width > 0 && cubes > 0 && depth == cubes * FACES;
        return fits.then_some((Kind::Planes, [width, height, depth]));
    }
    let kind = match (flags & hipArrayLayered != 0, height, depth) {
        (false, 0, 0) => Kind::Line,
        (false, _, 0) => Kind::Plane,
        (false, 1.., _) => Kind::Volume,
        (true, 0, 1..) => Kind::Lines,
        (true, 1.., 1..) => Kind::Planes,
        _ => return None,
    };
    Some((kind, [width, height.max(1), depth.max(1)]))
}

impl Device {
    /// Returns whether the device has image instructions.
    pub(crate) fn has_images(&self) -> bool {
        self.gpu.config().arch != Arch::Gfx942
    }

    /// Refuses calls that need image instructions on a device without them.
    pub(crate) fn ensure_images(&self) -> Outcome {
        if self.has_images() {
            return Ok(());
        }
        let text = format!("device {} ({}) has no images", self.ordinal, self.gpu.target().processor);
        Err(Refusal::new(hipErrorNotSupported, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_cs() {
        for number in 1..=24 {
            let channels = Channels::of_view(hipResourceViewFormat(number)).unwrap();
            assert_eq!(Channels::of(&channels.description()), Some(channels));
            assert_eq!(Channels::of_format(channels.array_format(), channels.count), Some(channels));
            let format = channels.format(false, false).unwrap();
            assert_eq!(format.bytes() as u32 * 8, channels.bits * channels.count);
        }
        assert!([0, 25, 34].iter().all(|number| Channels::of_view(hipResourceViewFormat(*number)).is_none()));
        let of = |x, y, z, w, f| Channels::of(&hipChannelFormatDesc { x, y, z, w, f: hipChannelFormatKind(f) });
        for (x, y, z, w, f) in
            [(32, 32, 32, 0, 2), (24, 0, 0, 0, 0), (8, 16, 0, 0, 0), (0, 0, 0, 0, 2), (8, 0, 0, 0, 2), (32, 0, 0, 0, 3)]
        {
            assert_eq!(of(x, y, z, w, f), None);
        }
        assert_eq!(of(-8, 0, 0, 0, 0), None);
        assert_eq!(Channels::of_format(hipArray_Format(0x20), 3), None);
    }

    #[test]
    fn shapes_are_cs() {
        let layered = hipArrayLayered;
        for (extent, flags, expected) in [
            ([8, 0, 0], 0, Some(Kind::Line)),
            ([8, 4, 0], 0, Some(Kind::Plane)),
            ([8, 4, 1], 0, Some(Kind::Volume)),
            ([8, 0, 2], 0, None),
            ([8, 0, 2], layered, Some(Kind::Lines)),
            ([8, 4, 2], layered | hipArraySurfaceLoadStore, Some(Kind::Planes)),
            ([8, 4, 0], layered, None),
            ([8, 8, 6], hipArrayCubemap, Some(Kind::Planes)),
            ([8, 8, 12], hipArrayCubemap, None),
            ([8, 4, 6], hipArrayCubemap, None),
            ([0, 0, 6], hipArrayCubemap, None),
            ([8, 8, 12], hipArrayCubemap | layered, Some(Kind::Planes)),
            ([8, 8, 9], hipArrayCubemap | layered, None),
            ([8, 8, 0], hipArrayCubemap | layered, None),
            ([8, 8, 0], 99, None),
        ] {
            assert_eq!(shape(extent, flags).map(|(kind, _)| kind), expected, "{extent:?} {flags}");
        }
    }
}
