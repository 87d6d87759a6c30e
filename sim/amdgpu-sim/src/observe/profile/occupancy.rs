//! The number of a kernel's waves on a compute unit of the real chip.

use crate::code_object::KernelInfo;
use crate::isa::Arch;

/// SIMD units per compute unit (gfx90a and gfx942).
const SIMDS: u32 = 4;
/// The maximum number of waves of a SIMD unit.
const SIMD_WAVES: u32 = 8;
/// Vector registers of a lane of a SIMD unit, accumulation registers included.
const VGPRS: u32 = 512;
/// Vector registers are allocated in multiples of 8.
const VGPR_GRANULE: u32 = 8;
/// Scalar registers of a SIMD unit, allocated in multiples of 16.
const SGPRS: u32 = 800;
const SGPR_GRANULE: u32 = 16;
/// LDS of a compute unit in bytes, allocated in multiples of 512.
const LDS: u32 = 64 << 10;
const LDS_GRANULE: u32 = 512;
/// The maximum number of workgroups with more than one wave on a compute unit.
const WORKGROUPS: u32 = 16;

/// The resource that limits the number of waves on a compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "profile", derive(serde::Serialize))]
#[cfg_attr(feature = "profile", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Limit {
    /// No limit: all 8 waves per SIMD unit.
    Full,
    /// Vector and accumulation registers.
    VectorRegisters,
    /// Scalar registers.
    ScalarRegisters,
    /// LDS.
    Lds,
    /// The workgroup size: its waves do not fill the units evenly, or the unit cannot hold more workgroups.
    Workgroup,
}

/// The occupancy of a compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "profile", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Occupancy {
    /// Waves on a compute unit, out of [`most`](Self::most).
    pub waves: u32,
    /// The maximum number of waves of a compute unit: 32.
    pub most: u32,
    /// Workgroups on a compute unit.
    pub workgroups: u32,
    /// The limiting resource.
    pub limit: Limit,
    /// Allocated vector registers per lane, including accumulation registers.
    pub vector_registers: u32,
    /// Allocated scalar registers per wave.
    pub scalar_registers: u32,
    /// Allocated LDS per workgroup in bytes.
    pub lds: u32,
}

/// The occupancy of a kernel on a chip of `arch`, for workgroups of `work_items` work-items with `lds` bytes of LDS
/// (static and dynamic). gfx90a and gfx942 have the same limits.
pub fn occupancy(info: &KernelInfo, arch: Arch, work_items: u32, lds: u32) -> Occupancy {
    let (Arch::Gfx90a | Arch::Gfx942) = arch;
    let vector_registers = info.descriptor.vgprs().next_multiple_of(VGPR_GRANULE);
    // VCC, FLAT_SCRATCH and XNACK_MASK are allocated in addition to the registers that the kernel uses.
    let scalar_registers = (info.sgpr_count.clamp(1, 102) + 6).next_multiple_of(SGPR_GRANULE).min(112);
    let lds = lds.next_multiple_of(LDS_GRANULE);
    let waves = work_items.max(1).div_ceil(64);

    let by_vgprs = (VGPRS / vector_registers.max(1)).min(SIMD_WAVES);
    let by_sgprs = (SGPRS / scalar_registers).min(SIMD_WAVES);
    // A workgroup's waves are distributed over the units.
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
