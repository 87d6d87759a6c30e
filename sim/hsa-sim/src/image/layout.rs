//! How an image lies in memory.

use super::Format;
use crate::abi::*;
use crate::runtime::Result;

/// Most texels of a row of a buffer that is seen as an image.
const MOST_OF_BUFFER: usize = u32::MAX as usize;
/// Bytes that rows of other images are a multiple of, and where an image begins.
const ALIGNMENT: usize = 256;
/// Texels from row to row that a descriptor can say.
const MOST_PITCH: usize = 1 << 16;

/// What an image's limits are: of width and height, of the depth of a volume, of layers.
pub(crate) struct Limits {
    pub(crate) side: u32,
    pub(crate) depth: u32,
    pub(crate) layers: u32,
}

/// The limits that the fields of a descriptor set.
pub(crate) const LIMITS: Limits = Limits { side: 16384, depth: 8192, layers: 8192 };

/// What an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Line,
    Plane,
    Volume,
    Lines,
    Planes,
    /// A line that is a buffer, which has a descriptor of another kind.
    Buffer,
}

impl Kind {
    /// The kind of a geometry.
    pub(crate) fn of(geometry: u32) -> Result<Self> {
        Ok(match geometry {
            HSA_EXT_IMAGE_GEOMETRY_1D => Self::Line,
            HSA_EXT_IMAGE_GEOMETRY_2D | HSA_EXT_IMAGE_GEOMETRY_2DDEPTH => Self::Plane,
            HSA_EXT_IMAGE_GEOMETRY_3D => Self::Volume,
            HSA_EXT_IMAGE_GEOMETRY_1DA => Self::Lines,
            HSA_EXT_IMAGE_GEOMETRY_2DA | HSA_EXT_IMAGE_GEOMETRY_2DADEPTH => Self::Planes,
            HSA_EXT_IMAGE_GEOMETRY_1DB => Self::Buffer,
            _ => return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
        })
    }
}

/// Size, format and place of the texels of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) kind: Kind,
    pub(crate) format: Format,
    /// Texels of a row, rows, and planes: depth or layers.
    pub(crate) size: [usize; 3],
    /// Bytes from row to row.
    pub(crate) pitch: usize,
    /// Bytes from plane to plane.
    pub(crate) slice: usize,
}

impl Layout {
    /// The layout that the runtime chooses.
    pub(crate) fn opaque(of: &hsa_ext_image_descriptor_t) -> Result<Self> {
        let (kind, format, size) = parts(of)?;
        let row = size[0] * format.bytes;
        let pitch = if kind == Kind::Buffer { row } else { row.next_multiple_of(ALIGNMENT) };
        Ok(Self { kind, format, size, pitch, slice: pitch * size[1] })
    }

    /// The layout that the program has chosen; pitches of 0 are those of rows and planes without gaps.
    pub(crate) fn linear(of: &hsa_ext_image_descriptor_t, pitch: usize, slice: usize) -> Result<Self> {
        let (kind, format, size) = parts(of)?;
        let row = size[0] * format.bytes;
        let pitch = if pitch == 0 { row } else { pitch };
        let has_rows = size[1] > 1 || size[2] > 1;
        let whole = pitch % format.bytes == 0 && pitch / format.bytes <= MOST_PITCH;
        if pitch < row || (has_rows && (!whole || pitch % ALIGNMENT != 0)) {
            return Err(HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED);
        }
        // The descriptor of an image with one row has no use for its pitch.
        let pitch = if has_rows { pitch } else { row };
        let planes = pitch * size[1];
        // Nothing in a descriptor could tell of a gap between planes.
        if size[2] > 1 && slice != 0 && slice != planes {
            return Err(HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED);
        }
        Ok(Self { kind, format, size, pitch, slice: planes })
    }

    /// Bytes, and where they may begin.
    pub(crate) fn info(&self) -> hsa_ext_image_data_info_t {
        let alignment = if self.kind == Kind::Buffer { self.format.bytes.min(4) } else { ALIGNMENT };
        hsa_ext_image_data_info_t { size: self.slice * self.size[2], alignment }
    }
}

/// Kind, format and size of an image that can be.
fn parts(of: &hsa_ext_image_descriptor_t) -> Result<(Kind, Format, [usize; 3])> {
    let kind = Kind::of(of.geometry)?;
    let format = Format::of(of.format).ok_or(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED)?;
    // HSA has sizes that do not count be zero; programs say 1 too.
    let unused = |size: usize| if size <= 1 { Ok(1) } else { Err(HSA_STATUS_ERROR_INVALID_ARGUMENT) };
    let (side, depth, layers) = (LIMITS.side as usize, LIMITS.depth as usize, LIMITS.layers as usize);
    let ((height, rows), (planes, most)) = match kind {
        Kind::Line | Kind::Buffer => ((unused(of.height)?, 1), (unused(of.depth.max(of.array_size))?, 1)),
        Kind::Plane => ((of.height, side), (unused(of.depth.max(of.array_size))?, 1)),
        Kind::Volume => ((of.height, side), (of.depth, depth)),
        Kind::Lines => ((unused(of.height)?, 1), (of.array_size, layers)),
        Kind::Planes => ((of.height, side), (of.array_size, layers)),
    };
    let widest = if kind == Kind::Buffer { MOST_OF_BUFFER } else { side };
    if of.width == 0 || height == 0 || planes == 0 {
        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    if of.width > widest || height > rows || planes > most {
        return Err(HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED);
    }
    Ok((kind, format, [of.width, height, planes]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plane(width: usize, height: usize) -> hsa_ext_image_descriptor_t {
        let format = hsa_ext_image_format_t {
            channel_type: HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT,
            channel_order: HSA_EXT_IMAGE_CHANNEL_ORDER_R,
        };
        hsa_ext_image_descriptor_t {
            geometry: HSA_EXT_IMAGE_GEOMETRY_2D,
            width,
            height,
            format,
            ..hsa_ext_image_descriptor_t::default()
        }
    }

    #[test]
    fn rows_begin_where_the_device_can_say_so() {
        let layout = Layout::opaque(&plane(65, 3)).unwrap();
        assert_eq!((layout.pitch, layout.slice, layout.info().size), (512, 1536, 1536));
        assert_eq!(Layout::linear(&plane(65, 3), 512, 0), Ok(layout));
        for pitch in [0, 256, 260, 511, 768 + 4] {
            let refused = Layout::linear(&plane(65, 3), pitch, 0);
            assert_eq!(refused, Err(HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED), "{pitch}");
        }
        assert!(Layout::linear(&plane(64, 3), 0, 0).is_ok(), "rows of 256 bytes");
        let volume = hsa_ext_image_descriptor_t { geometry: HSA_EXT_IMAGE_GEOMETRY_3D, depth: 2, ..plane(64, 3) };
        assert_eq!(Layout::linear(&volume, 256, 768).unwrap().info().size, 1536);
        assert!(Layout::linear(&volume, 256, 1024).is_err());
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        let opaque = |of: hsa_ext_image_descriptor_t| Layout::opaque(&of).err();
        assert_eq!(opaque(plane(16384, 16384)), None);
        assert_eq!(opaque(plane(16385, 1)), Some(HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED));
        assert_eq!(opaque(plane(1, usize::MAX)), Some(HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED));
        assert_eq!(opaque(plane(0, 1)), Some(HSA_STATUS_ERROR_INVALID_ARGUMENT));
        let line = hsa_ext_image_descriptor_t { geometry: HSA_EXT_IMAGE_GEOMETRY_1D, ..plane(4, 2) };
        assert_eq!(opaque(line), Some(HSA_STATUS_ERROR_INVALID_ARGUMENT));
        let unknown = hsa_ext_image_descriptor_t { geometry: 99, ..plane(4, 2) };
        assert_eq!(opaque(unknown), Some(HSA_STATUS_ERROR_INVALID_ARGUMENT));
        let planes =
            hsa_ext_image_descriptor_t { geometry: HSA_EXT_IMAGE_GEOMETRY_2DA, array_size: 8193, ..plane(4, 2) };
        assert_eq!(opaque(planes), Some(HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED));
    }
}
