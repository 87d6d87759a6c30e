//! Extents of two and three dimensions.

use std::fmt;
use std::ops::RangeBounds;

use crate::core::error::{Error, Result};
use crate::memory::bounds::{byte_len, range_of};

/// Elements along each dimension: rows of `width`, planes of `height` rows, `depth` planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Elements of a row.
    pub width: usize,
    /// Rows of a plane.
    pub height: usize,
    /// Planes; 1 for two dimensions.
    pub depth: usize,
}

impl Extent {
    /// Creates an extent of two dimensions.
    #[must_use]
    pub const fn new_2d(width: usize, height: usize) -> Self {
        Self { width, height, depth: 1 }
    }

    /// Creates an extent of three dimensions.
    #[must_use]
    pub const fn new_3d(width: usize, height: usize, depth: usize) -> Self {
        Self { width, height, depth }
    }

    /// Returns the number of elements; `None` on overflow.
    #[must_use]
    pub fn elements(self) -> Option<usize> {
        self.width.checked_mul(self.height)?.checked_mul(self.depth)
    }

    /// Returns whether there are no elements.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    /// Returns a box inside of this one: the column, row and plane of its first element, and its extent.
    pub(crate) fn region(
        self,
        x: impl RangeBounds<usize>,
        y: impl RangeBounds<usize>,
        z: impl RangeBounds<usize>,
    ) -> Result<([usize; 3], Self)> {
        let (x, width) = range_of(x, self.width)?;
        let (y, height) = range_of(y, self.height)?;
        let (z, depth) = range_of(z, self.depth)?;
        Ok(([x, y, z], Self { width, height, depth }))
    }

    /// Returns `Ok` if this, the destination of a copy, has the same extent as its source.
    pub(crate) fn expect_source(self, source: Self) -> Result<()> {
        if self == source {
            return Ok(());
        }
        Err(Error::InvalidValue {
            what: "the extent of the source of a copy",
            value: source.to_string(),
            allowed: format!("that of the destination, {self}"),
        })
    }

    /// Returns the number of elements, and the bytes of a row, if the whole fits an address space.
    pub(crate) fn checked<T>(self) -> Result<(usize, usize)> {
        let element_bytes = size_of::<T>();
        let elements = self.elements().ok_or(Error::TooLarge { elements: usize::MAX, element_bytes })?;
        byte_len::<T>(elements)?;
        // A row is not longer than the whole, unless that is empty.
        Ok((elements, byte_len::<T>(self.width)?))
    }
}

impl From<(usize, usize)> for Extent {
    /// Converts width and height.
    fn from((width, height): (usize, usize)) -> Self {
        Self::new_2d(width, height)
    }
}

impl From<(usize, usize, usize)> for Extent {
    /// Converts width, height and depth.
    fn from((width, height, depth): (usize, usize, usize)) -> Self {
        Self::new_3d(width, height, depth)
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {} x {}", self.width, self.height, self.depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_overflow_are_refused() {
        assert_eq!(Extent::new_3d(3, 4, 5).checked::<u32>().unwrap(), (60, 12));
        assert_eq!(Extent::new_2d(3, 0).checked::<u32>().unwrap(), (0, 12));
        for extent in [
            Extent::new_2d(usize::MAX, 2),
            Extent::new_3d(1 << 30, 1 << 30, 1 << 30),
            Extent::new_2d(1 << 31, 1 << 31),
            Extent::new_2d(usize::MAX, 0),
        ] {
            assert!(matches!(extent.checked::<u32>(), Err(Error::TooLarge { .. })), "{extent}");
        }
        assert!(matches!(Extent::new_2d(1, 1).checked::<()>(), Err(Error::ZeroSizedType { .. })));
    }
}
