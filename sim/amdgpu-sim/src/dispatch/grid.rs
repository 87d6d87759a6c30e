//! The grid of a dispatch.

use crate::fault::LaunchError;

/// The grid of a dispatch, and its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// Work-items in each dimension. They need not be a multiple of the workgroup size: the last workgroups are then
    /// smaller.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in each dimension.
    pub workgroup: [u32; 3],
    /// Dynamic LDS in bytes, in addition to the kernel's static LDS.
    pub dynamic_lds: u32,
    /// Address of the kernarg segment, hidden arguments included
    /// ([`Kernel::build_kernarg`](crate::Kernel::build_kernarg)); [`Gpu::launch`](crate::Gpu::launch) makes its own.
    pub kernarg: u64,
}

impl Dispatch {
    /// `blocks` workgroups of `threads` work-items, as HIP specifies a grid.
    ///
    /// # Errors
    /// [`LaunchError::GridTooLarge`] if the product does not fit 32 bits.
    pub fn of_blocks(blocks: [u32; 3], threads: [u32; 3]) -> Result<Self, LaunchError> {
        let mut grid = [0; 3];
        for d in 0..3 {
            grid[d] = blocks[d]
                .checked_mul(threads[d])
                .ok_or(LaunchError::GridTooLarge { grid: blocks, workgroup: threads })?;
        }
        Ok(Self { grid, workgroup: threads, dynamic_lds: 0, kernarg: 0 })
    }

    /// Workgroups in each dimension, including partial ones. The workgroup size must not be 0.
    pub(super) fn groups(&self) -> [u32; 3] {
        std::array::from_fn(|d| self.grid[d].div_ceil(self.workgroup[d].max(1)))
    }
}
