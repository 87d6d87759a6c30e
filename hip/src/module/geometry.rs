//! Grids and blocks, and the limits on them.

use std::fmt;

use super::KernelInfo;
use crate::error::{Error, Result};
use crate::properties::DeviceProperties;

/// Extents in x, y, z. Made from one number, a tuple or an array of up to three; those not given are 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim3 {
    /// First, fastest extent.
    pub x: u32,
    /// Second extent.
    pub y: u32,
    /// Third extent.
    pub z: u32,
}

impl Dim3 {
    /// Extents in x, y, z.
    #[must_use]
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Self { x, y, z }
    }

    /// All of them multiplied.
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

/// How many threads a launch runs: a grid of blocks (not of threads), a block of threads, and the shared memory that each
/// block gets beside what the kernel declares.
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
    /// `grid` blocks of `block` threads.
    #[must_use]
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        Self { grid: grid.into(), block: block.into(), shared_bytes: 0 }
    }

    /// As many blocks of `block` threads as `elements` elements need, one thread each. The last block may have threads
    /// too many: the kernel must check. For no elements the grid is empty, which [`Kernel::launch`](super::Kernel::launch) refuses.
    ///
    /// ```
    /// let config = hip::LaunchConfig::for_elements(1000, 256);
    /// assert_eq!((config.grid.x, config.block.x), (4, 256));
    /// ```
    #[must_use]
    pub fn for_elements(elements: usize, block: u32) -> Self {
        let blocks = elements.div_ceil((block as usize).max(1));
        // A grid that does not fit is one that no device runs, and the launch says so.
        Self::new(u32::try_from(blocks).unwrap_or(u32::MAX), block)
    }

    /// With dynamic shared memory of `bytes` for each block.
    #[must_use]
    pub fn with_shared_bytes(mut self, bytes: u32) -> Self {
        self.shared_bytes = bytes;
        self
    }

    /// Checks the launch against the limits of kernel and device.
    pub(crate) fn check(&self, kernel: &KernelInfo, device: &DeviceProperties) -> Result<()> {
        if self.fits(kernel, device) { Ok(()) } else { self.explain(kernel, device) }
    }

    /// Whether all limits are kept, with no word about which is not.
    fn fits(&self, kernel: &KernelInfo, device: &DeviceProperties) -> bool {
        let (grid, block) = (self.grid.array(), self.block.array());
        let axis = |i: usize| {
            grid[i] != 0
                && block[i] != 0
                && block[i] <= device.max_block[i]
                && grid[i] <= device.max_grid[i]
                // The packet that starts a kernel counts threads, in 32 bits an axis.
                && grid[i].checked_mul(block[i]).is_some()
        };
        // 0: the code object does not say.
        let most = match kernel.max_threads_per_block {
            0 => device.max_threads_per_block,
            most => most.min(device.max_threads_per_block),
        };
        let threads = block[0].checked_mul(block[1]).and_then(|threads| threads.checked_mul(block[2]));
        let shared = u64::from(self.shared_bytes) + u64::from(kernel.static_shared_bytes);
        axis(0)
            && axis(1)
            && axis(2)
            && threads.is_some_and(|threads| threads <= most)
            && kernel.required_block.is_none_or(|required| required == block)
            && shared <= device.shared_memory_per_block
    }

    #[cold]
    fn explain(&self, kernel: &KernelInfo, device: &DeviceProperties) -> Result<()> {
        let refuse = |reason: String| Err(Error::Geometry { kernel: kernel.name.clone(), reason });
        let Self { grid, block, shared_bytes } = *self;
        if grid.array().contains(&0) || block.array().contains(&0) {
            return refuse(format!("a grid of {grid} blocks of {block} threads has no threads"));
        }
        for (axis, (extent, limit)) in ["x", "y", "z"].iter().zip(block.array().iter().zip(device.max_block)) {
            if *extent > limit {
                return refuse(format!("a block of {block} threads: {axis} may be {limit} on this device"));
            }
        }
        for (axis, (extent, limit)) in ["x", "y", "z"].iter().zip(grid.array().iter().zip(device.max_grid)) {
            if *extent > limit {
                return refuse(format!("a grid of {grid} blocks: {axis} may be {limit} on this device"));
            }
        }
        let threads = block.count();
        if threads > u128::from(device.max_threads_per_block) {
            let limit = device.max_threads_per_block;
            return refuse(format!("a block of {block} = {threads} threads: the device allows {limit}"));
        }
        // 0: the code object does not say.
        if kernel.max_threads_per_block != 0 && threads > u128::from(kernel.max_threads_per_block) {
            let limit = kernel.max_threads_per_block;
            return refuse(format!(
                "a block of {block} = {threads} threads: the kernel was compiled for {limit} (__launch_bounds__)"
            ));
        }
        if let Some(required) = kernel.required_block {
            if required != block.array() {
                return refuse(format!(
                    "a block of {block} threads: the kernel was compiled for {} only",
                    Dim3::from(required)
                ));
            }
        }
        // The packet that starts a kernel counts threads, in 32 bits an axis.
        for (axis, (blocks, threads)) in ["x", "y", "z"].iter().zip(grid.array().iter().zip(block.array())) {
            if u64::from(*blocks) * u64::from(threads) > u64::from(u32::MAX) {
                return refuse(format!(
                    "{blocks} blocks of {threads} threads in {axis} are more than {} threads",
                    u32::MAX
                ));
            }
        }
        let shared = u64::from(shared_bytes) + u64::from(kernel.static_shared_bytes);
        if shared > device.shared_memory_per_block {
            return refuse(format!(
                "{shared_bytes} bytes of dynamic and {} of static shared memory: a block may have {}",
                kernel.static_shared_bytes, device.shared_memory_per_block
            ));
        }
        Ok(())
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
