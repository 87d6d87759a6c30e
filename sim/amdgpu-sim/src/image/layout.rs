//! The memory layout of images.

use std::fmt;

use super::Format;

/// Maximum number of texels of a buffer that is accessed as an image.
pub const MOST_TEXELS_OF_BUFFER: usize = u32::MAX as usize;
/// The alignment of rows and of the start of other images, in bytes.
pub const ALIGNMENT: usize = 256;
/// Maximum row pitch of a descriptor in texels.
const MOST_PITCH: usize = 1 << 16;
/// Maximum width and height.
pub const MOST_SIDE: usize = 16384;
/// Maximum depth of a volume.
pub const MOST_DEPTH: usize = 8192;
/// Maximum number of layers.
pub const MOST_LAYERS: usize = 8192;

/// The dimensionality of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// 1D.
    Line,
    /// 2D.
    Plane,
    /// 3D, filtered along the depth too.
    Volume,
    /// An array of 1D layers.
    Lines,
    /// An array of 2D layers.
    Planes,
    /// A 1D image in a buffer, which has another kind of descriptor.
    Buffer,
}

/// Why an image is not possible.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// A size of 0, or of more than 1 in a dimension that the kind lacks.
    #[error("an image of {size:?} texels (a {kind:?})")]
    Dimension {
        /// The kind.
        kind: Kind,
        /// Its size.
        size: [usize; 3],
    },
    /// More texels than a descriptor can encode.
    #[error("an image of {size:?} texels (a {kind:?}), of at most {most:?}")]
    Size {
        /// The kind.
        kind: Kind,
        /// Its size.
        size: [usize; 3],
        /// The maximum size.
        most: [usize; 3],
    },
    /// A row or plane pitch that a descriptor cannot encode.
    #[error(
        "rows of an image {pitch} bytes apart, and planes {slice}: rows need a multiple of {ALIGNMENT}, planes no gap"
    )]
    Pitch {
        /// Row pitch in bytes.
        pitch: usize,
        /// Plane pitch in bytes.
        slice: usize,
    },
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Size, format and memory layout of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    kind: Kind,
    format: Format,
    size: [usize; 3],
    pitch: usize,
    slice: usize,
}

impl Layout {
    /// The preferred layout for the device. `size` is width, height, and depth or layers; 1 for missing dimensions.
    ///
    /// # Errors
    /// [`ImageError::Dimension`], [`ImageError::Size`].
    pub fn opaque(kind: Kind, format: Format, size: [usize; 3]) -> Result<Self, ImageError> {
        check(kind, size)?;
        let row = size[0] * format.bytes;
        let pitch = if kind == Kind::Buffer { row } else { row.next_multiple_of(ALIGNMENT) };
        Ok(Self { kind, format, size, pitch, slice: pitch * size[1] })
    }

    /// The layout with rows `pitch` and planes `slice` bytes apart; 0 means no gaps.
    ///
    /// # Errors
    /// [`ImageError`] for an impossible image or pitch.
    pub fn linear(
        kind: Kind,
        format: Format,
        size: [usize; 3],
        pitch: usize,
        slice: usize,
    ) -> Result<Self, ImageError> {
        check(kind, size)?;
        let refused = Err(ImageError::Pitch { pitch, slice });
        let row = size[0] * format.bytes;
        let pitch = if pitch == 0 { row } else { pitch };
        let has_rows = size[1] > 1 || size[2] > 1;
        let whole = pitch % format.bytes == 0 && pitch / format.bytes <= MOST_PITCH;
        if pitch < row || (has_rows && (!whole || pitch % ALIGNMENT != 0)) {
            return refused;
        }
        // The descriptor of an image with one row ignores its pitch.
        let pitch = if has_rows { pitch } else { row };
        let planes = pitch * size[1];
        // A descriptor cannot encode gaps between planes.
        if size[2] > 1 && slice != 0 && slice != planes {
            return refused;
        }
        Ok(Self { kind, format, size, pitch, slice: planes })
    }

    /// The kind of the image.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The texel format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Width, height, and depth or layers.
    pub fn size(&self) -> [usize; 3] {
        self.size
    }

    /// Row pitch in bytes.
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// Plane pitch in bytes.
    pub fn slice(&self) -> usize {
        self.slice
    }

    /// Total size in bytes.
    pub fn bytes(&self) -> usize {
        self.slice * self.size[2]
    }

    /// The required alignment of the first texel's address, in bytes.
    pub fn alignment(&self) -> usize {
        if self.kind == Kind::Buffer { self.format.bytes.min(4) } else { ALIGNMENT }
    }
}

/// Checks that an image of this size is possible.
fn check(kind: Kind, size: [usize; 3]) -> Result<(), ImageError> {
    let most = match kind {
        Kind::Line => [MOST_SIDE, 1, 1],
        Kind::Buffer => [MOST_TEXELS_OF_BUFFER, 1, 1],
        Kind::Plane => [MOST_SIDE, MOST_SIDE, 1],
        Kind::Volume => [MOST_SIDE, MOST_SIDE, MOST_DEPTH],
        Kind::Lines => [MOST_SIDE, 1, MOST_LAYERS],
        Kind::Planes => [MOST_SIDE, MOST_SIDE, MOST_LAYERS],
    };
    let is_none = |(size, most): (&usize, &usize)| *size == 0 || *most == 1 && *size > 1;
    if size.iter().zip(&most).any(is_none) {
        return Err(ImageError::Dimension { kind, size });
    }
    if size.iter().zip(&most).any(|(size, most)| size > most) {
        return Err(ImageError::Size { kind, size, most });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{ChannelOrder, ChannelType};
    use super::*;

    fn floats() -> Format {
        Format::new(ChannelType::Float, ChannelOrder::R).unwrap()
    }

    #[test]
    fn rows_begin_where_the_device_can_say_so() {
        let (plane, size) = (Kind::Plane, [65, 3, 1]);
        let layout = Layout::opaque(plane, floats(), size).unwrap();
        assert_eq!((layout.pitch(), layout.slice(), layout.bytes()), (512, 1536, 1536));
        assert_eq!(Layout::linear(plane, floats(), size, 512, 0), Ok(layout));
        for pitch in [0, 256, 260, 511, 768 + 4] {
            let refused = Layout::linear(plane, floats(), size, pitch, 0);
            assert!(matches!(refused, Err(ImageError::Pitch { .. })), "{pitch}");
        }
        assert!(Layout::linear(plane, floats(), [64, 3, 1], 0, 0).is_ok(), "rows of 256 bytes");
        let volume = |slice| Layout::linear(Kind::Volume, floats(), [64, 3, 2], 256, slice);
        assert_eq!(volume(768).unwrap().bytes(), 1536);
        assert!(volume(1024).is_err());
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        let opaque = |kind, size| Layout::opaque(kind, floats(), size).err();
        assert_eq!(opaque(Kind::Plane, [16384, 16384, 1]), None);
        for (kind, size) in [
            (Kind::Plane, [16385, 1, 1]),
            (Kind::Plane, [1, usize::MAX, 1]),
            (Kind::Planes, [4, 2, 8193]),
            (Kind::Buffer, [usize::MAX, 1, 1]),
        ] {
            assert!(matches!(opaque(kind, size), Some(ImageError::Size { .. })), "{kind:?} {size:?}");
        }
        for (kind, size) in [(Kind::Plane, [0, 1, 1]), (Kind::Line, [4, 2, 1]), (Kind::Volume, [4, 2, 0])] {
            assert!(matches!(opaque(kind, size), Some(ImageError::Dimension { .. })), "{kind:?} {size:?}");
        }
    }
}
