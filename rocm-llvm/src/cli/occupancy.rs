//! The number of waves of a kernel that fit on a SIMD unit, by its registers and LDS.
//!
//! The limits are those of LLVM's AMDGPU back end, and the result is the one that
//! `-Rpass-analysis=kernel-resource-usage` of Clang 20 and newer prints.

use serde::Serialize;

/// The waves of a SIMD unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Occupancy {
    /// The number of waves of this kernel that fit on a SIMD unit.
    pub(crate) waves_per_simd: u64,
    /// The maximum number of waves of a SIMD unit.
    pub(crate) most: u64,
    /// The resource that limits it.
    pub(crate) limit: Limit,
}

/// The resource that limits the number of waves on a SIMD unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Limit {
    /// Nothing.
    None,
    /// Vector registers.
    Vgprs,
    /// Scalar registers.
    Sgprs,
    /// LDS.
    Lds,
}

/// What limits how many waves of a kernel fit.
pub(crate) struct Needs {
    pub(crate) vgprs: u64,
    pub(crate) sgprs: u64,
    pub(crate) lds_bytes: u64,
    pub(crate) wavefront_size: u64,
    pub(crate) max_workgroup_size: u64,
    pub(crate) workgroup_processor_mode: bool,
}

/// The limits of an architecture.
struct Chip {
    /// Maximum number of waves of a SIMD unit.
    waves: u64,
    /// Vector registers of a SIMD unit, and their allocation granule.
    vgprs: u64,
    vgpr_granule: u64,
    /// The maximum number of scalar registers for each number of waves, from many waves to few; empty if they never
    /// limit.
    sgprs: &'static [(u64, u64)],
    /// Bytes of LDS of a compute unit, or of a workgroup processor.
    lds: u64,
    simds: u64,
    /// Maximum number of workgroups with several waves.
    barriers: u64,
}

impl Chip {
    /// Returns the limits of a processor for a kernel; `None` for an unknown processor.
    fn of(target: &str, kernel: &Needs) -> Option<Self> {
        const SGPRS_OF_GFX6: &[(u64, u64)] = &[(48, 10), (56, 9), (64, 8), (72, 7), (80, 6), (u64::MAX, 5)];
        const SGPRS_OF_GFX8: &[(u64, u64)] = &[(80, 10), (88, 9), (100, 8), (u64::MAX, 7)];
        let processor = target.split(':').next()?;
        let number = processor.strip_prefix("gfx")?;
        // For a generic processor: the limits that all of its processors share.
        let (major, rest) = match number.strip_suffix("-generic") {
            Some("9") => (9, "00"),
            Some("9-4") => (9, "42"),
            Some("10-1") => (10, "10"),
            Some("10-3") => (10, "30"),
            Some("11") => (11, "02"),
            Some("12") => (12, "00"),
            Some(_) => return None,
            None => {
                let (major, rest) = number.split_at_checked(number.len().checked_sub(2)?)?;
                (major.parse().ok()?, rest)
            }
        };
        let wave32 = kernel.wavefront_size == 32;
        let by_wave = |of_32, of_64| if wave32 { of_32 } else { of_64 };
        let lds = 64 << 10;
        let old = Self { waves: 10, vgprs: 256, vgpr_granule: 4, sgprs: SGPRS_OF_GFX8, lds, simds: 4, barriers: 16 };
        Some(match (major, rest) {
            (6 | 7, _) => Self { sgprs: SGPRS_OF_GFX6, ..old },
            // gfx90a and its successors.
            (9, "0a" | "40" | "41" | "42") => Self { waves: 8, vgprs: 512, vgpr_granule: 8, ..old },
            (9, "50") => Self { waves: 8, vgprs: 512, vgpr_granule: 8, lds: 160 << 10, ..old },
            (8 | 9, _) => old,
            // A workgroup processor is two compute units with four SIMD units.
            (10..=12, _) => {
                let wgp = kernel.workgroup_processor_mode;
                let large = matches!((major, rest), (11, "00" | "01" | "51") | (12, "00" | "01"));
                let (vgprs, vgpr_granule) = match (major, rest) {
                    _ if large => (by_wave(1536, 768), by_wave(24, 12)),
                    (10, "10" | "11" | "12" | "13") => (by_wave(1024, 512), by_wave(8, 4)),
                    (12, "50" | "51") => return None,
                    _ => (by_wave(1024, 512), by_wave(16, 8)),
                };
                let waves = if major == 10 && rest.starts_with('1') { 20 } else { 16 };
                let (lds, simds, barriers) = if wgp { (128 << 10, 4, 32) } else { (64 << 10, 2, 16) };
                Self { waves, vgprs, vgpr_granule, sgprs: &[], lds, simds, barriers }
            }
            _ => return None,
        })
    }
}

impl Occupancy {
    /// Returns the occupancy of a kernel with its static LDS, in workgroups of the best size.
    pub(crate) fn of(kernel: &Needs, target: &str) -> Option<Self> {
        let chip = Chip::of(target, kernel)?;
        if kernel.wavefront_size == 0 {
            return None;
        }
        let by_vgprs = match kernel.vgprs {
            0 => chip.waves,
            // More registers than exist: the number is damaged, and no wave fits.
            vgprs => chip.vgprs / vgprs.checked_next_multiple_of(chip.vgpr_granule).unwrap_or(u64::MAX),
        };
        let by_vgprs = by_vgprs.min(chip.waves);
        let by_sgprs =
            chip.sgprs.iter().find(|(most, _)| kernel.sgprs <= *most).map_or(chip.waves, |(_, waves)| *waves);
        let by_sgprs = by_sgprs.min(chip.waves);
        // With workgroups of each size that a launch may use.
        let all = chip.waves * chip.simds;
        let by_size = chip.lds.checked_div(kernel.lds_bytes).unwrap_or(u64::MAX);
        let waves_with = |group: u64| {
            let groups = if group == 1 { all } else { (all / group).min(chip.barriers) };
            (groups.min(by_size) * group).div_ceil(chip.simds)
        };
        let largest = kernel.max_workgroup_size.max(1).div_ceil(kernel.wavefront_size);
        let by_lds = (1..=largest.min(all)).map(waves_with).max().unwrap_or(0).min(chip.waves);
        let waves_per_simd = by_vgprs.min(by_sgprs).min(by_lds).max(1);
        let limit = match waves_per_simd {
            waves if waves == chip.waves => Limit::None,
            waves if waves == by_vgprs => Limit::Vgprs,
            waves if waves == by_sgprs => Limit::Sgprs,
            _ => Limit::Lds,
        };
        Some(Self { waves_per_simd, most: chip.waves, limit })
    }
}
