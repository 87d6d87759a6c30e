//! Occupancy: the number of a kernel's workgroups that fit on a compute unit.

use amdgpu_sim::KernelInfo;

use crate::properties::{LDS_BYTES, VGPRS, WAVE};

const SIMDS: u32 = 4;
const WAVES_PER_SIMD: u32 = 8;
/// Vector registers are allocated in multiples of 8.
const VGPR_GRANULE: u32 = 8;

/// The limits of a kernel on a compute unit.
pub(crate) struct Occupancy {
    /// The work-items that registers allow.
    pub(crate) threads: u32,
    /// The workgroups that LDS allows.
    lds_blocks: u32,
}

impl Occupancy {
    pub(crate) fn of(info: &KernelInfo, dynamic_lds: usize) -> Self {
        let waves = match info.vgpr_count {
            0 => WAVES_PER_SIMD,
            used => (VGPRS / used.next_multiple_of(VGPR_GRANULE)).clamp(1, WAVES_PER_SIMD),
        };
        let lds = (info.lds_size as usize).saturating_add(dynamic_lds);
        let lds_blocks = (LDS_BYTES as usize).checked_div(lds).unwrap_or(usize::MAX);
        Self { threads: SIMDS * waves * WAVE, lds_blocks: u32::try_from(lds_blocks).unwrap_or(u32::MAX) }
    }

    pub(crate) fn blocks(&self, block_size: u32) -> u32 {
        (self.threads / block_size.next_multiple_of(WAVE)).min(self.lds_blocks)
    }
}
