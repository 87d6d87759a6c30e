//! Grids and blocks: the number of threads of a launch.

use std::fmt;

/// Extents in x, y and z. Can be made from a number, or from a tuple or an array of up to three. Missing extents are 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Self::new(x, 1, 1)
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Self {
        Self::new(x, y, 1)
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self::new(x, y, z)
    }
}

impl From<[u32; 3]> for Dim3 {
    fn from([x, y, z]: [u32; 3]) -> Self {
        Self::new(x, y, z)
    }
}

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
        let blocks = elements.div_ceil((block as usize).max(1));
        // If the grid does not fit, use one that no device can run: the launch then returns the error.
        Self::new(u32::try_from(blocks).unwrap_or(u32::MAX), block)
    }

    /// Sets the dynamic shared memory of each block, in bytes.
    #[must_use]
    pub fn with_shared_bytes(mut self, bytes: u32) -> Self {
        self.shared_bytes = bytes;
        self
    }
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
    }

    #[test]
    fn counts_do_not_overflow() {
        assert_eq!(Dim3::new(u32::MAX, u32::MAX, u32::MAX).count(), u128::from(u32::MAX).pow(3));
    }
}
