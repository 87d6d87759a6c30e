//! The limits of a kernel and its device on the size of a launch.

use super::{Dim3, KernelInfo, LaunchConfig};
use crate::core::error::{Error, Result};
use crate::core::properties::DeviceProperties;

impl LaunchConfig {
    /// Checks the launch against the limits of kernel and device.
    pub(crate) fn check(&self, kernel: &KernelInfo, device: &DeviceProperties) -> Result<()> {
        if self.fits(kernel, device) { Ok(()) } else { self.explain(kernel, device) }
    }

    /// Returns whether the launch is within all limits.
    fn fits(&self, kernel: &KernelInfo, device: &DeviceProperties) -> bool {
        let (grid, block) = (self.grid.array(), self.block.array());
        let axis = |i: usize| {
            grid[i] != 0
                && block[i] != 0
                && block[i] <= device.max_block[i]
                && grid[i] <= device.max_grid[i]
                && u64::from(grid[i]) * u64::from(block[i]) <= device.max_threads_per_axis
        };
        // 0: the code object does not contain the limit.
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
            && shared <= device.shared_memory_per_block_opt_in
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
        // 0: the code object does not contain the limit.
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
        for (axis, (blocks, threads)) in ["x", "y", "z"].iter().zip(grid.array().iter().zip(block.array())) {
            let limit = device.max_threads_per_axis;
            if u64::from(*blocks) * u64::from(threads) > limit {
                return refuse(format!("{blocks} blocks of {threads} threads in {axis} are more than {limit} threads"));
            }
        }
        let shared = u64::from(shared_bytes) + u64::from(kernel.static_shared_bytes);
        if shared > device.shared_memory_per_block_opt_in {
            return refuse(format!(
                "{shared_bytes} bytes of dynamic and {} of static shared memory: a block may have {}",
                kernel.static_shared_bytes, device.shared_memory_per_block_opt_in
            ));
        }
        Ok(())
    }
}
