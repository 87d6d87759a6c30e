//! How many waves of a kernel a compute unit of the real chip holds.

use crate::code_object::KernelInfo;
use crate::isa::Arch;

/// SIMD units of a compute unit (gfx90a and gfx942).
const SIMDS: u32 = 4;
/// Waves that a SIMD unit holds at most.
const SIMD_WAVES: u32 = 8;
/// Vector registers of a lane of a SIMD unit, accumulation registers included.
const VGPRS: u32 = 512;
/// Vector registers are given out in eights.
const VGPR_GRANULE: u32 = 8;
/// Scalar registers of a SIMD unit, given out in sixteens.
const SGPRS: u32 = 800;
const SGPR_GRANULE: u32 = 16;
/// LDS of a compute unit in bytes, given out in steps of 512.
const LDS: u32 = 64 << 10;
const LDS_GRANULE: u32 = 512;
/// Workgroups of more than one wave that a compute unit holds at most.
const WORKGROUPS: u32 = 16;

/// What keeps a compute unit from holding more waves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "profile", derive(serde::Serialize))]
#[cfg_attr(feature = "profile", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Limit {
    /// Nothing: all 8 waves a SIMD unit are there.
    Full,
    /// Vector and accumulation registers.
    VectorRegisters,
    /// Scalar registers.
    ScalarRegisters,
    /// LDS.
    Lds,
    /// The size of the workgroup: its waves do not fill the units evenly, or the unit has no place for more workgroups.
    Workgroup,
}

/// How full a compute unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "profile", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Occupancy {
    /// Waves of a compute unit, of [`most`](Self::most).
    pub waves: u32,
    /// Waves that a compute unit holds at most: 32.
    pub most: u32,
    /// Workgroups of a compute unit.
    pub workgroups: u32,
    /// What keeps it from more.
    pub limit: Limit,
    /// Vector registers a lane, as they are given out, accumulation registers included.
    pub vector_registers: u32,
    /// Scalar registers a wave, as they are given out.
    pub scalar_registers: u32,
    /// Bytes of LDS a workgroup, as they are given out.
    pub lds: u32,
}

/// The occupancy of a kernel in workgroups of so many work-items with `lds` bytes of LDS (static and dynamic) on a chip of
/// `arch` (gfx90a and gfx942 have the same limits).
pub fn occupancy(info: &KernelInfo, arch: Arch, work_items: u32, lds: u32) -> Occupancy {
    let (Arch::Gfx90a | Arch::Gfx942) = arch;
    let vector_registers = info.descriptor.vgprs().next_multiple_of(VGPR_GRANULE);
    // VCC, FLAT_SCRATCH and XNACK_MASK are given out beside those that the kernel names.
    let scalar_registers = (info.sgpr_count.clamp(1, 102) + 6).next_multiple_of(SGPR_GRANULE).min(112);
    let lds = lds.next_multiple_of(LDS_GRANULE);
    let waves = work_items.max(1).div_ceil(64);

    let by_vgprs = (VGPRS / vector_registers.max(1)).min(SIMD_WAVES);
    let by_sgprs = (SGPRS / scalar_registers).min(SIMD_WAVES);
    // A workgroup's waves are spread over the units.
    let groups_of = |simd_waves: u32| SIMDS * simd_waves / waves;
    let most_groups = if waves > 1 { WORKGROUPS } else { SIMDS * SIMD_WAVES };
    let by_lds = LDS.checked_div(lds).unwrap_or(u32::MAX);
    let workgroups = groups_of(by_vgprs.min(by_sgprs)).min(by_lds).min(most_groups);
    let resident = workgroups * waves;
    let most = SIMDS * SIMD_WAVES;
    let limit = if resident == most {
        Limit::Full
    } else if workgroups == by_lds && workgroups < groups_of(by_vgprs.min(by_sgprs)) {
        Limit::Lds
    } else if groups_of(by_vgprs) == workgroups && by_vgprs < SIMD_WAVES && by_vgprs <= by_sgprs {
        Limit::VectorRegisters
    } else if groups_of(by_sgprs) == workgroups && by_sgprs < SIMD_WAVES {
        Limit::ScalarRegisters
    } else {
        Limit::Workgroup
    };
    Occupancy { waves: resident, most, workgroups, limit, vector_registers, scalar_registers, lds }
}
