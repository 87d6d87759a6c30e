//! The number of workgroups that the GPU holds at once.

use super::limits::MAX_LDS;
use crate::code_object::KernelInfo;
use crate::exec::LANES;
use crate::gpu::Gpu;
use crate::module::Kernel;

/// SIMD units of a compute unit.
const SIMDS: u32 = 4;
/// Waves that a SIMD unit holds.
const WAVES_PER_SIMD: u32 = 8;
/// Vector registers of a lane, architected and accumulation ones together.
const VGPRS: u32 = 512;
/// The maximum number of workgroups with more than one wave on a compute unit: each needs a barrier.
const BARRIERS: u32 = 16;
/// LDS is allocated in multiples of this many bytes.
const LDS_GRANULE: u32 = 512;
/// The maximum scratch of all concurrently running workgroups in bytes. A kernel may request much, and all of it is
/// host memory.
const RESIDENT_SCRATCH: u64 = 4 << 30;

impl Gpu {
    /// The number of workgroups with `work_items` work-items and `lds` bytes of LDS (static and dynamic) that run at
    /// the same time: the capacity of the real GPU's compute units. These may wait for each other, as in the grid
    /// barrier of a cooperative launch; a further workgroup starts when another has ended. 0 if not even one fits.
    pub fn max_resident_workgroups(&self, kernel: &Kernel, work_items: u32, lds: u32) -> u64 {
        let by_units = u64::from(self.compute_units()) * u64::from(workgroups_per_unit(kernel.info(), work_items, lds));
        let waves = u64::from(work_items.div_ceil(LANES as u32));
        let scratch = u64::from(kernel.info().private_size) * LANES as u64 * waves;
        by_units.min(RESIDENT_SCRATCH / scratch.max(1))
    }

    /// Initialises the barrier that the device library's grid synchronisation uses (GWS resource 0), for a cooperative
    /// launch of `workgroups`. The GPU has only one such barrier: another launch that uses it may start when this one
    /// has ended.
    ///
    /// A runtime that submits packets to a queue uses a kernel for this (`ds_gws_init`).
    pub fn init_grid_barrier(&self, workgroups: u32) {
        self.outside().gws.init(0, workgroups.saturating_sub(1));
    }
}

/// The number of workgroups that a compute unit holds.
fn workgroups_per_unit(info: &KernelInfo, work_items: u32, lds: u32) -> u32 {
    let waves = work_items.div_ceil(LANES as u32);
    if waves == 0 {
        return 0;
    }
    let by_registers = SIMDS * (VGPRS / info.descriptor.vgprs().max(1)).min(WAVES_PER_SIMD);
    let by_waves = by_registers / waves;
    let by_barriers = if waves > 1 { BARRIERS } else { u32::MAX };
    let by_lds = (MAX_LDS / LDS_GRANULE).checked_div(lds.div_ceil(LDS_GRANULE)).unwrap_or(u32::MAX);
    by_waves.min(by_barriers).min(by_lds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code_object::CodeObject;

    /// Values of LLVM's and HIP's occupancy calculators for gfx90a.
    #[test]
    fn registers_waves_barriers_and_lds_limit_it() {
        let code = include_bytes!("../../tests/kernels/basic-O3.co");
        let code = CodeObject::parse(code).unwrap();
        let mut info = code.kernels()[0].clone();
        let mut of = |vgprs: u32, work_items, lds| {
            info.descriptor.compute_pgm_rsrc1 = vgprs / 8 - 1;
            workgroups_per_unit(&info, work_items, lds)
        };
        assert_eq!(of(32, 64, 0), 32);
        assert_eq!(of(32, 128, 0), 16);
        assert_eq!(of(64, 256, 0), 8);
        assert_eq!(of(72, 256, 0), 7);
        assert_eq!(of(128, 256, 0), 4);
        assert_eq!(of(512, 256, 0), 1);
        assert_eq!(of(32, 1024, 0), 2);
        assert_eq!(of(32, 1, 0), 32);
        assert_eq!(of(32, 64, 32 << 10), 2);
        assert_eq!(of(32, 64, 1), 32);
        assert_eq!(of(32, 64, 64 << 10), 1);
        assert_eq!(of(512, 1024, 0), 0);
        assert_eq!(of(32, 64, u32::MAX), 0);
    }
}
