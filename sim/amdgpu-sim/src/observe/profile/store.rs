//! Profiles of kernels, accumulated over dispatches.

use std::collections::VecDeque;
use std::fmt;

use super::counters::{Tallies, Tally};
use super::{Counters, InstructionProfile, Limit, Occupancy, occupancy};
use crate::exec::LANES;
use crate::module::Kernel;
use crate::observe::Subject;
use crate::observe::plan::{Class, Step};

/// The number of a kernel's dispatches that are stored individually.
const RECENT: usize = 64;

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
struct Entry {
    /// The addresses of the kernel's descriptor. A kernel that was loaded several times has several.
    descriptors: Vec<u64>,
    name: String,
    /// The instructions and their counters.
    lines: Vec<Line>,
    counters: Counters,
    recent: VecDeque<DispatchProfile>,
}

#[derive(Debug)]
struct Line {
    micro: usize,
    profile: InstructionProfile,
}

/// The profiles of a GPU.
#[derive(Debug, Default)]
pub(in crate::observe) struct Store(Vec<Entry>);

impl Store {
    /// Adds the counters of a dispatch.
    pub(in crate::observe) fn add(&mut self, subject: &Subject<'_>, plan: &[Step], tallies: &Tallies) {
        let (kernel, info) = (subject.kernel, subject.kernel.info());
        let at = self.place(subject, plan);
        let entry = &mut self.0[at];
        let mut counters = tallies.all.clone();
        counters.dispatches = 1;
        entry.counters.add(&counters);
        for line in &mut entry.lines {
            let tally: &Tally = &tallies.each[line.micro];
            let profile = &mut line.profile;
            profile.count += tally.count;
            profile.active_lanes += tally.lanes;
            profile.bytes += tally.bytes;
            profile.lines += tally.lines;
            profile.bank_conflicts += tally.bank_conflicts;
        }
        if entry.recent.len() == RECENT {
            entry.recent.pop_front();
        }
        let dispatch = subject.dispatch;
        let work_items = dispatch.workgroup.iter().product();
        let occupancy = occupancy(info, subject.gpu.config().arch, work_items, subject.lds);
        let hints = hints(subject, kernel, work_items, &occupancy);
        let (grid, workgroup, lds) = (dispatch.grid, dispatch.workgroup, subject.lds);
        entry.recent.push_back(DispatchProfile { grid, workgroup, lds, counters, occupancy, hints });
    }

    /// The index of a kernel's entry, which is created if needed, and extended by code that was lowered since.
    fn place(&mut self, subject: &Subject<'_>, plan: &[Step]) -> usize {
        let (descriptor, name) = (subject.kernel.descriptor_address(), &subject.kernel.info().name);
        let count = plan.iter().filter(|step| step.class.is_some()).count();
        let known = |e: &Entry| e.name == *name && e.descriptors.contains(&descriptor);
        // Another code object may have been loaded at the address of an unloaded one.
        if let Some(at) = self.0.iter().position(|e| known(e) && e.lines.len() == count) {
            return at;
        }
        let mut lines = lines(subject, plan);
        let same = |(a, b): (&Line, &Line)| a.micro == b.micro && a.profile.text == b.profile.text;
        let begins = |e: &Entry| e.lines.len() <= count && e.lines.iter().zip(&lines).all(same);
        let grows = subject.program.may_grow();
        let alike = |e: &Entry| e.name == *name && (grows || e.lines.len() == count) && begins(e);
        let at = self.0.iter().position(alike);
        self.0.iter_mut().for_each(|e| e.descriptors.retain(|d| *d != descriptor));
        if let Some(at) = at {
            let entry = &mut self.0[at];
            entry.descriptors.push(descriptor);
            entry.lines.extend(lines.drain(entry.lines.len()..));
            return at;
        }
        let (counters, recent) = (Counters::default(), VecDeque::new());
        self.0.push(Entry { descriptors: vec![descriptor], name: name.clone(), lines, counters, recent });
        self.0.len() - 1
    }

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

/// The instructions of a program, with counters of zero.
fn lines(subject: &Subject<'_>, plan: &[Step]) -> Vec<Line> {
    let entry = subject.kernel.inner.entry_address();
    let at = |micro: usize| subject.source_at(micro as u32);
    let real: Vec<(usize, Class)> = plan.iter().enumerate().filter_map(|(i, s)| Some((i, s.class?))).collect();
    let addresses: Vec<u64> = real.iter().map(|(micro, _)| at(*micro).address).collect();
    let sources = subject.kernel.source_of(&addresses);
    let line = |((micro, class), source): ((usize, Class), _)| {
        let place = at(micro);
        Line {
            micro,
            profile: InstructionProfile {
                offset: place.address.wrapping_sub(entry) as i64,
                text: place.inst.as_ref().map(ToString::to_string).unwrap_or_default(),
                class,
                count: 0,
                active_lanes: 0,
                bytes: 0,
                lines: 0,
                bank_conflicts: 0,
                source,
            },
        }
    };
    real.into_iter().zip(sources).map(line).collect()
}

fn hints(subject: &Subject<'_>, kernel: &Kernel, work_items: u32, occupancy: &Occupancy) -> Vec<Hint> {
    let mut hints = Vec::new();
    let idle = work_items.next_multiple_of(LANES as u32) - work_items;
    if idle > 0 {
        hints.push(Hint::PartialWave { work_items, idle });
    }
    let workgroups = subject.groups.iter().map(|n| u64::from(*n)).product();
    let compute_units = u64::from(subject.gpu.compute_units());
    if workgroups < compute_units {
        hints.push(Hint::SmallGrid { workgroups, compute_units });
    }
    let waves = occupancy.waves;
    match occupancy.limit {
        Limit::Lds => hints.push(Hint::LdsLimitsOccupancy { lds: subject.lds, waves }),
        Limit::VectorRegisters if waves <= 8 => {
            hints.push(Hint::RegistersLimitOccupancy { registers: occupancy.vector_registers, waves });
        }
        _ => {}
    }
    let bytes = kernel.info().private_size;
    if bytes > 0 {
        hints.push(Hint::Scratch { bytes });
    }
    hints
}
