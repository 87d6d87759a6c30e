//! Validated kernel launches.

use std::sync::PoisonError;

use amdgpu_sim::{Denied, Dispatch, Fault, FaultKind, Kernel, KernelInfo, LaunchError};
use hip_sys::rocm_7_2::*;

use crate::device::Device;
use crate::fault::Failure;
use crate::observe;
use crate::occupancy::Occupancy;
use crate::properties::{LDS_BYTES, MAX_GRID, MAX_THREADS, compute_units};
use crate::status::{Outcome, Refusal, ensure};

/// The size and options of a launch.
#[derive(Clone, Copy)]
pub(crate) struct Launch {
    /// Grid size in work-items.
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) lds: u32,
    /// Whether all workgroups must run at the same time, so that they can wait for each other.
    pub(crate) is_cooperative: bool,
}

/// A validated launch with its arguments.
pub(crate) struct Prepared {
    pub(crate) device: usize,
    pub(crate) kernel: Kernel,
    pub(crate) launch: Launch,
    pub(crate) arguments: Vec<u8>,
}

impl Prepared {
    /// Runs the launch immediately.
    pub(crate) fn run(&self, devices: &[Device]) -> Result<(), Failure> {
        let device = &devices[self.device];
        let Launch { grid, block, lds, is_cooperative } = self.launch;
        // A failed launch leaves nothing behind that matters here: each launch makes a new barrier.
        let _barrier = is_cooperative.then(|| device.cooperative.lock().unwrap_or_else(PoisonError::into_inner));
        if is_cooperative {
            device.gpu.init_grid_barrier(self.launch.blocks().try_into().unwrap_or(u32::MAX));
        }
        let dispatch = Dispatch { grid, workgroup: block, dynamic_lds: lds, kernarg: 0 };
        let result = device.gpu.launch(&self.kernel, &self.arguments, &dispatch);
        observe::launched(&device.gpu);
        result.map(drop).map_err(|fault| match fault.kind {
            FaultKind::Lost => device.lost(&fault),
            _ => Failure::new(status_of(&fault), fault.to_string()),
        })
    }
}

impl Launch {
    /// The launch for a grid size in blocks, as HIP launches specify it.
    pub(crate) fn from_blocks(blocks: [u32; 3], block: [u32; 3], lds: u32) -> Result<Self, Refusal> {
        for (blocks, most) in blocks.into_iter().zip(MAX_GRID) {
            ensure(blocks <= most, hipErrorInvalidValue)?;
        }
        let mut grid = [0; 3];
        for axis in 0..3 {
            let size = u64::from(blocks[axis]) * u64::from(block[axis]);
            grid[axis] = u32::try_from(size).map_err(|_| hipErrorInvalidConfiguration)?;
        }
        Ok(Self { grid, block, lds, is_cooperative: false })
    }

    /// Returns whether both have the same number of workgroups, workgroup size and LDS.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (self.grid, self.block, self.lds) == (other.grid, other.block, other.lds)
    }

    /// The number of workgroups.
    fn blocks(&self) -> u64 {
        let axes = self.grid.iter().zip(self.block);
        axes.map(|(grid, block)| u64::from(grid.div_ceil(block.max(1)))).fold(1, u64::saturating_mul)
    }

    /// Refuses a cooperative launch whose workgroups cannot all run at the same time.
    pub(crate) fn check_cooperative(&self, device: &Device, kernel: &Kernel) -> Outcome {
        if !self.is_cooperative {
            return Ok(());
        }
        let threads = self.block.iter().product();
        let info = kernel.info();
        let by_units = Occupancy::of(info, self.lds as usize).blocks(threads);
        let by_units = u64::from(by_units) * u64::from(compute_units(device));
        let most = by_units.min(device.gpu.max_resident_workgroups(kernel, threads, info.lds_size + self.lds));
        if self.blocks() > most {
            return Err(Refusal::new(
                hipErrorCooperativeLaunchTooLarge,
                format!("kernel {}: {} blocks, of which {most} run at a time", info.name, self.blocks()),
            ));
        }
        Ok(())
    }

    /// The launch as C's node parameters, without the arguments.
    pub(crate) fn parameters(&self, function: hipFunction_t) -> hipKernelNodeParams {
        let dim = |[x, y, z]: [u32; 3]| dim3 { x, y, z };
        let blocks = [0, 1, 2].map(|axis| self.grid[axis] / self.block[axis].max(1));
        hipKernelNodeParams {
            blockDim: dim(self.block),
            extra: std::ptr::null_mut(),
            func: function.cast(),
            gridDim: dim(blocks),
            kernelParams: std::ptr::null_mut(),
            sharedMemBytes: self.lds,
        }
    }

    /// Performs the checks of AMD's runtime, in its order.
    pub(crate) fn check(&self, info: &KernelInfo) -> Outcome {
        ensure(!self.block.contains(&0) && !self.grid.contains(&0), hipErrorInvalidValue)?;
        ensure(self.lds <= LDS_BYTES, hipErrorInvalidValue)?;
        let threads = self.block.iter().map(|n| u64::from(*n)).product::<u64>();
        ensure(threads <= u64::from(MAX_THREADS), hipErrorInvalidValue)?;
        if threads > u64::from(info.max_workgroup_size) {
            return Err(Refusal::new(
                hipErrorLaunchFailure,
                format!(
                    "kernel {} was compiled for at most {} threads a block, not {threads}",
                    info.name, info.max_workgroup_size
                ),
            ));
        }
        if info.lds_size.saturating_add(self.lds) > LDS_BYTES {
            return Err(Refusal::new(
                hipErrorLaunchOutOfResources,
                format!(
                    "kernel {}: {} bytes of static and {} of dynamic LDS are more than {LDS_BYTES}",
                    info.name, info.lds_size, self.lds
                ),
            ));
        }
        Ok(())
    }
}

/// The HIP status of a fault.
fn status_of(fault: &Fault) -> hipError_t {
    match &fault.kind {
        FaultKind::Memory { why: Denied::Misaligned(_), .. } => hipErrorLaunchFailure,
        FaultKind::Memory { .. } => hipErrorIllegalAddress,
        FaultKind::Budget(_) => hipErrorLaunchTimeOut,
        FaultKind::Launch(LaunchError::LdsTooLarge { .. }) => hipErrorLaunchOutOfResources,
        _ => hipErrorLaunchFailure,
    }
}
