//! Grids and blocks: the number of threads of a launch.

use std::fmt;

/// Extents in x, y and z. Can be made from a number (`u32`, `usize` or `i32`), or from a tuple or an array of up to
/// three. Missing extents are 1. A number that does not fit in a `u32` becomes [`u32::MAX`], which no device supports:
/// a launch with it is [`Error::Geometry`](crate::Error::Geometry).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "dim3")]
pub struct Dim3 {
    /// Extent in x, the fastest.
    pub x: u32,
    /// Extent in y.
    pub y: u32,
    /// Extent in z.
    pub z: u32,
}

impl Dim3 {
    /// Creates extents from x, y and z.
    #[must_use]
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Self { x, y, z }
    }

    /// Returns the product of all extents.
    #[must_use]
    pub const fn count(self) -> u128 {
        self.x as u128 * self.y as u128 * self.z as u128
    }

    pub(crate) const fn array(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

impl fmt::Display for Dim3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {}, {})", self.x, self.y, self.z)
    }
}

/// Returns the number, or one that every launch rejects if it does not fit.
fn extent(number: impl TryInto<u32>) -> u32 {
    number.try_into().unwrap_or(u32::MAX)
}

// `i32` is the type of a literal that may be several types.
macro_rules! extents {
    ($($number:ty)*) => {$(
        impl From<$number> for Dim3 {
            fn from(x: $number) -> Self {
                Self::new(extent(x), 1, 1)
            }
        }

        impl From<($number, $number)> for Dim3 {
            fn from((x, y): ($number, $number)) -> Self {
                Self::new(extent(x), extent(y), 1)
            }
        }

        impl From<($number, $number, $number)> for Dim3 {
            fn from((x, y, z): ($number, $number, $number)) -> Self {
                Self::new(extent(x), extent(y), extent(z))
            }
        }

        impl From<[$number; 3]> for Dim3 {
            fn from([x, y, z]: [$number; 3]) -> Self {
                Self::new(extent(x), extent(y), extent(z))
            }
        }
    )*};
}

extents!(u32 usize i32);

/// Size of a launch: a grid of blocks (not of threads), a block of threads, and the dynamic shared memory of each
/// block, in addition to what the kernel declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchConfig {
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Dynamic shared memory (LDS) of a block, in bytes: `extern __shared__`.
    pub shared_bytes: u32,
}

impl LaunchConfig {
    /// Configures `grid` blocks of `block` threads.
    #[must_use]
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        Self { grid: grid.into(), block: block.into(), shared_bytes: 0 }
    }

    /// Configures as many blocks of `block` threads as `elements` elements need, with one thread each. The last block
    /// may have surplus threads: the kernel must check its index. For no elements the grid is empty, which
    /// [`Kernel::launch`](crate::Kernel::launch) rejects.
    ///
    /// ```
    /// let config = hip::LaunchConfig::for_elements(1000, 256);
    /// assert_eq!((config.grid.x, config.block.x), (4, 256));
    /// ```
    #[must_use]
    pub fn for_elements(elements: usize, block: u32) -> Self {
        // If the grid does not fit, it is one that no device can run: the launch then returns the error.
        Self::new(blocks_for(elements, block), block)
    }

    /// Configures as many blocks as a matrix or an image of `(width, height)` elements needs, with one thread for each
    /// element: `x` is the column, `y` the row. The blocks at the edges may have surplus threads: the kernel must check
    /// both indices.
    ///
    /// ```
    /// let config = hip::LaunchConfig::for_elements_2d((1920, 1080), (32, 8));
    /// assert_eq!((config.grid.x, config.grid.y, config.grid.z), (60, 135, 1));
    /// ```
    #[must_use]
    pub fn for_elements_2d((width, height): (usize, usize), block: (u32, u32)) -> Self {
        Self::new((blocks_for(width, block.0), blocks_for(height, block.1)), block)
    }

    /// Sets the dynamic shared memory of each block, in bytes, as a `u32`, a `usize` or another integer. A number that
    /// does not fit in a `u32` becomes [`u32::MAX`], which a launch rejects.
    #[must_use]
    pub fn with_shared_bytes(mut self, bytes: impl TryInto<u32>) -> Self {
        self.shared_bytes = extent(bytes);
        self
    }
}

/// Returns the number of blocks of `block` threads that `elements` elements need.
fn blocks_for(elements: usize, block: u32) -> usize {
    elements.div_ceil((block as usize).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_covers_all_elements() {
        let blocks = |n, block| LaunchConfig::for_elements(n, block).grid.x;
        assert_eq!([blocks(0, 64), blocks(1, 64), blocks(64, 64), blocks(65, 64)], [0, 1, 1, 2]);
        assert_eq!(blocks(5, 0), 5, "a block of nothing is refused by the launch, not by a division");
        assert_eq!(blocks(usize::MAX, 1), u32::MAX);
        let config = LaunchConfig::for_elements_2d((33, 0), (16, 8));
        assert_eq!((config.grid, config.block), (Dim3::new(3, 0, 1), Dim3::new(16, 8, 1)));
        assert_eq!(LaunchConfig::for_elements_2d((5, usize::MAX), (0, 1)).grid, Dim3::new(5, u32::MAX, 1));
    }

    #[test]
    fn sizes_are_of_any_integer_and_those_that_do_not_fit_are_the_largest() {
        let (two, three): (usize, u32) = (2, 3);
        assert_eq!(LaunchConfig::new(two, 64).grid, Dim3::new(2, 1, 1));
        assert_eq!(LaunchConfig::new((three, 1), (two, two)).block, Dim3::new(2, 2, 1));
        assert_eq!(Dim3::from([1, 2, 3]), Dim3::from((1_usize, 2, 3)));
        assert_eq!(Dim3::from(1_usize << 40), Dim3::new(u32::MAX, 1, 1));
        assert_eq!(Dim3::from((-1, 2)), Dim3::new(u32::MAX, 2, 1));
        let shared = |config: LaunchConfig| config.shared_bytes;
        let config = LaunchConfig::new(1, 64);
        assert_eq!(shared(config.with_shared_bytes(64 * size_of::<f32>())), 256);
        assert_eq!(shared(config.with_shared_bytes(three)), 3);
        assert_eq!(shared(config.with_shared_bytes(usize::MAX)), u32::MAX);
    }

    #[test]
    fn counts_do_not_overflow() {
        assert_eq!(Dim3::new(u32::MAX, u32::MAX, u32::MAX).count(), u128::from(u32::MAX).pow(3));
    }
}
