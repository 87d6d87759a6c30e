//! Profiles of kernels, accumulated over dispatches.

use std::collections::VecDeque;
use std::fmt;

use super::{Counters, InstructionProfile, Occupancy};

/// The profile of one dispatch.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "profile", derive(serde::Serialize))]
#[non_exhaustive]
pub struct DispatchProfile {
    /// Work-items of the grid.
    pub grid: [u32; 3],
    /// Work-items of a workgroup.
    pub workgroup: [u32; 3],
    /// LDS of a workgroup in bytes.
    pub lds: u32,
    /// What it did.
    pub counters: Counters,
    /// The occupancy of a compute unit of the real chip.
    pub occupancy: Occupancy,
    /// Hints about the launch configuration on a real chip.
    pub hints: Vec<Hint>,
}

/// A property of a launch that costs performance on a real chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "profile", derive(serde::Serialize))]
#[cfg_attr(feature = "profile", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Hint {
    /// The workgroup size is not a multiple of 64: lanes of its last wave idle.
    PartialWave {
        /// Work-items of a workgroup.
        work_items: u32,
        /// Lanes that idle in each workgroup.
        idle: u32,
    },
    /// There are fewer workgroups than compute units.
    SmallGrid {
        /// Workgroups.
        workgroups: u64,
        /// Compute units of the GPU.
        compute_units: u64,
    },
    /// LDS limits the number of waves on a compute unit more than registers do.
    LdsLimitsOccupancy {
        /// Bytes of LDS of a workgroup.
        lds: u32,
        /// Waves of a compute unit.
        waves: u32,
    },
    /// Registers limit a SIMD unit to two waves or fewer, too few to hide memory latency.
    RegistersLimitOccupancy {
        /// Vector registers a lane.
        registers: u32,
        /// Waves of a compute unit.
        waves: u32,
    },
    /// The kernel uses scratch: registers were spilled, or arrays did not fit them.
    Scratch {
        /// Scratch of a work-item in bytes.
        bytes: u32,
    },
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PartialWave { work_items, idle } => {
                write!(f, "a workgroup of {work_items} is no multiple of 64: {idle} lanes of each idle")
            }
            Self::SmallGrid { workgroups, compute_units } => {
                write!(f, "{workgroups} workgroups leave most of {compute_units} compute units idle")
            }
            Self::LdsLimitsOccupancy { lds, waves } => {
                write!(f, "{lds} bytes of LDS a workgroup limit a compute unit to {waves} of 32 waves")
            }
            Self::RegistersLimitOccupancy { registers, waves } => {
                write!(f, "{registers} vector registers limit a compute unit to {waves} of 32 waves")
            }
            Self::Scratch { bytes } => {
                write!(
                    f,
                    "{bytes} bytes of scratch a work-item: registers are spilled, or arrays are indexed at run time"
                )
            }
        }
    }
}

/// The profile of all dispatches of a kernel.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "profile", derive(serde::Serialize))]
#[non_exhaustive]
pub struct KernelProfile {
    /// The kernel's name.
    pub name: String,
    /// What all of them did.
    pub counters: Counters,
    /// The last dispatches, at most 64, oldest first.
    pub recent: Vec<DispatchProfile>,
    /// The executed instructions, by address.
    pub instructions: Vec<InstructionProfile>,
}

/// The profile of a GPU's kernels.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "profile", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Profile {
    /// The kernels in the order of their first dispatches.
    pub kernels: Vec<KernelProfile>,
}

impl Profile {
    /// The kernel with that name; the first, if several code objects have one.
    pub fn kernel(&self, name: &str) -> Option<&KernelProfile> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// Appends the kernels of `other`, for a process with several GPUs.
    pub fn extend(&mut self, other: Profile) {
        self.kernels.extend(other.kernels);
    }
}

#[derive(Debug)]
pub(super) struct Entry {
    /// The addresses of the kernel's descriptor. A kernel that was loaded several times has several.
    pub(super) descriptors: Vec<u64>,
    pub(super) name: String,
    /// The instructions and their counters.
    pub(super) lines: Vec<Line>,
    pub(super) counters: Counters,
    pub(super) recent: VecDeque<DispatchProfile>,
}

#[derive(Debug)]
pub(super) struct Line {
    pub(super) micro: usize,
    pub(super) profile: InstructionProfile,
}

/// The profiles of a GPU.
#[derive(Debug, Default)]
pub(in crate::observe) struct Store(pub(super) Vec<Entry>);

impl Store {
    /// The complete profile.
    pub(in crate::observe) fn profile(&self) -> Profile {
        let kernel = |entry: &Entry| KernelProfile {
            name: entry.name.clone(),
            counters: entry.counters.clone(),
            recent: entry.recent.iter().cloned().collect(),
            instructions: entry.lines.iter().map(|l| &l.profile).filter(|p| p.count > 0).cloned().collect(),
        };
        Profile { kernels: self.0.iter().map(kernel).collect() }
    }
}
