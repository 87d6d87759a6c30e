//! How many workgroups the GPU holds at once.

use crate::code_object::KernelInfo;
use crate::exec::LANES;
use crate::gpu::Gpu;
use crate::module::Kernel;

/// Vector units of a compute unit.
const SIMDS: u32 = 4;
/// Waves that a vector unit holds.
const WAVES_PER_SIMD: u32 = 8;
/// Vector registers of a lane: architected and accumulation ones together.
const VGPRS: u32 = 512;
/// Workgroups of more than one wave that a compute unit holds: each needs a barrier.
const BARRIERS: u32 = 16;
/// LDS is given out in pieces of this many bytes.
const LDS_GRANULE: u32 = 512;
/// Bytes of scratch that the workgroups which run at the same time have together. A kernel may ask for much, and all of it is the
/// host's memory.
const RESIDENT_SCRATCH: u64 = 4 << 30;

impl Gpu {
    /// How many workgroups of `work_items` work-items and `lds` bytes of LDS (static and dynamic) run at the same time: as many as the real
    /// GPU's compute units hold. So many may wait for each other, as in a barrier over the grid of a cooperative launch; a workgroup
    /// beyond them starts when another has ended. 0 where not even one fits.
    pub fn max_resident_workgroups(&self, kernel: &Kernel, work_items: u32, lds: u32) -> u64 {
        let by_units = u64::from(self.compute_units()) * u64::from(workgroups_per_unit(kernel.info(), work_items, lds));
        let waves = u64::from(work_items.div_ceil(LANES as u32));
        let scratch = u64::from(kernel.info().private_size) * LANES as u64 * waves;
        by_units.min(RESIDENT_SCRATCH / scratch.max(1))
    }

    /// Makes ready the barrier that the device library's grid synchronisation waits at (GWS resource 0), for a cooperative launch of
    /// `workgroups`. The barrier is the GPU's one: another launch that uses it may start when this one has ended.
    ///
    /// A runtime that puts packets into a queue has a kernel do it (`ds_gws_init`).
    pub fn init_grid_barrier(&self, workgroups: u32) {
        self.outside().gws.init(0, workgroups.saturating_sub(1));
    }
}

/// Workgroups that a compute unit holds.
fn workgroups_per_unit(info: &KernelInfo, work_items: u32, lds: u32) -> u32 {
    let waves = work_items.div_ceil(LANES as u32);
    if waves == 0 {
        return 0;
    }
    let by_registers = SIMDS * (VGPRS / info.descriptor.vgprs().max(1)).min(WAVES_PER_SIMD);
    let by_waves = by_registers / waves;
    let by_barriers = if waves > 1 { BARRIERS } else { u32::MAX };
    let by_lds = (super::MAX_LDS / LDS_GRANULE).checked_div(lds.div_ceil(LDS_GRANULE)).unwrap_or(u32::MAX);
    by_waves.min(by_barriers).min(by_lds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code_object::CodeObject;

    /// Figures that LLVM's and HIP's occupancy calculators give for gfx90a.
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
