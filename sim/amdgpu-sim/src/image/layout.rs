//! How an image lies in memory.

use super::Format;

/// Most texels of a buffer that is seen as an image.
pub const MOST_TEXELS_OF_BUFFER: usize = u32::MAX as usize;
/// Bytes that rows of other images are a multiple of, and where an image begins.
pub const ALIGNMENT: usize = 256;
/// Texels from row to row that a descriptor can say.
const MOST_PITCH: usize = 1 << 16;
/// Most texels of a row, and most rows.
pub const MOST_SIDE: usize = 16384;
/// Most planes of a volume.
pub const MOST_DEPTH: usize = 8192;
/// Most layers.
pub const MOST_LAYERS: usize = 8192;

/// What an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A row.
    Line,
    /// Rows.
    Plane,
    /// Planes, between which texels are blended too.
    Volume,
    /// Layers of a row each.
    Lines,
    /// Layers of a plane each.
    Planes,
    /// A line that is a buffer, which has a descriptor of another kind.
    Buffer,
}

/// Why there can be no such image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// A size of none, or of more than one where the kind has no such dimension.
    #[error("an image of {size:?} texels (a {kind:?})")]
    Dimension {
        /// What it is.
        kind: Kind,
        /// Its size.
        size: [usize; 3],
    },
    /// More texels than a descriptor can say.
    #[error("an image of {size:?} texels (a {kind:?}), of at most {most:?}")]
    Size {
        /// What it is.
        kind: Kind,
        /// Its size.
        size: [usize; 3],
        /// The most that it can have.
        most: [usize; 3],
    },
    /// Rows or planes at distances that a descriptor cannot say.
    #[error(
        "rows of an image {pitch} bytes apart, and planes {slice}: rows need a multiple of {ALIGNMENT}, planes no gap"
    )]
    Pitch {
        /// Bytes from row to row.
        pitch: usize,
        /// Bytes from plane to plane.
        slice: usize,
    },
}

/// Size, format and place of the texels of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    kind: Kind,
    format: Format,
    size: [usize; 3],
    pitch: usize,
    slice: usize,
}

impl Layout {
    /// The layout that suits the device best. `size` is texels of a row, rows, and planes: depth or layers; 1 where there are none.
    ///
    /// # Errors
    /// [`ImageError::Dimension`], [`ImageError::Size`].
    pub fn opaque(kind: Kind, format: Format, size: [usize; 3]) -> Result<Self, ImageError> {
        check(kind, size)?;
        let row = size[0] * format.bytes;
        let pitch = if kind == Kind::Buffer { row } else { row.next_multiple_of(ALIGNMENT) };
        Ok(Self { kind, format, size, pitch, slice: pitch * size[1] })
    }

    /// The layout of what has rows `pitch` and planes `slice` bytes apart; 0 is as far as without gaps.
    ///
    /// # Errors
    /// [`ImageError`].
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
        // The descriptor of an image with one row has no use for its pitch.
        let pitch = if has_rows { pitch } else { row };
        let planes = pitch * size[1];
        // Nothing in a descriptor could tell of a gap between planes.
        if size[2] > 1 && slice != 0 && slice != planes {
            return refused;
        }
        Ok(Self { kind, format, size, pitch, slice: planes })
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What its texels are.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Texels of a row, rows, and planes.
    pub fn size(&self) -> [usize; 3] {
        self.size
    }

    /// Bytes from row to row.
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// Bytes from plane to plane.
    pub fn slice(&self) -> usize {
        self.slice
    }

    /// Bytes of all.
    pub fn bytes(&self) -> usize {
        self.slice * self.size[2]
    }

    /// What the address of the first texel is a multiple of, in bytes.
    pub fn alignment(&self) -> usize {
        if self.kind == Kind::Buffer { self.format.bytes.min(4) } else { ALIGNMENT }
    }
}

/// Checks that there can be an image of a size.
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
