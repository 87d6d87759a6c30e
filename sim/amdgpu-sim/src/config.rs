//! The configuration of a GPU.

use crate::code_object::{Feature, TargetId};
use crate::dispatch::Schedule;
use crate::isa::Arch;
use crate::observe::Checks;

/// The effect of a load or store at an address that is not a multiple of its size. (A misaligned atomic operation or
/// scalar load is always a fault.)
///
/// The hardware supports such accesses, and compilers rely on it: a structure of three bytes is copied as two and one,
/// at odd addresses. But a `float *` that is not a multiple of 4 is usually a bug, so the default reports that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misaligned {
    /// Permitted, as on the hardware. For kernels that read words from packed structures or byte streams.
    Allow,
    /// A fault for accesses of 4 bytes and more at addresses that are not a multiple of 4. Accesses of 2 bytes may be
    /// anywhere.
    #[default]
    FaultWords,
    /// A fault for accesses of 2 bytes at odd addresses too.
    Fault,
}

/// The effect of a load or store beyond the workgroup's LDS. (Atomic operations, accesses by flat addresses, and copies
/// between global memory and LDS always fault there.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BeyondLds {
    /// A load returns zero and a store has no effect, as on the hardware. Some kernels rely on it: Tensile reads zeros
    /// there, and idle lanes of rocFFT load values that they discard.
    Ignore,
    /// A fault, except for loads by kernels that are known to rely on zeros ([`Config::zeros_beyond_lds`]).
    FaultUnlessKnown,
    /// A fault.
    #[default]
    Fault,
}

/// The end of an allocation for a kernel's reads. (Writes and atomic operations must end with its last byte.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Bounds {
    /// Its last byte.
    #[default]
    Exact,
    /// The end of the 4 KiB page of its last byte, as on the hardware, which maps whole pages. Some kernels rely on it:
    /// RCCL reads whole words, and compilers read hidden arguments that they do not use.
    Pages,
}

/// The configuration of a GPU.
#[derive(Clone, Debug)]
pub struct Config {
    /// The processor.
    pub arch: Arch,
    /// Whether SRAMECC is on: only code that was compiled for that, or for either setting, can be loaded.
    pub sramecc: bool,
    /// Whether XNACK is on, likewise. It has no other effect: no page is ever missing here.
    pub xnack: bool,
    /// Threads that run the workgroups of a dispatch: the calling one and helpers. `None` for one per core, with
    /// helpers shared by all such GPUs.
    pub threads: Option<usize>,
    /// The number of compute units; `None` for that of the real GPU: 104 (gfx90a) or 304 (gfx942). It determines how
    /// many workgroups [run at the same time](crate::Gpu::max_resident_workgroups), not how fast.
    pub compute_units: Option<u32>,
    /// Maximum number of instructions of all waves of a dispatch together, after which it ends with a fault; `None` for
    /// no limit.
    pub instruction_budget: Option<u64>,
    /// Number of dispatches after which the GPU is [lost](crate::Gpu::lose): the next one fails. `None` for never.
    pub lose_after: Option<u64>,
    /// Device memory in bytes. It is allocated from the host only on use.
    pub memory_bytes: u64,
    /// The effect of a misaligned load or store.
    pub misaligned: Misaligned,
    /// The effect of a load or store beyond the workgroup's LDS.
    pub beyond_lds: BeyondLds,
    /// Name prefixes of kernels whose loads beyond LDS return zero under [`BeyondLds::FaultUnlessKnown`].
    pub zeros_beyond_lds: &'static [&'static str],
    /// The end of an allocation for reads. For GPUs that share an address space, the first one decides.
    pub bounds: Bounds,
    /// The order in which workgroups and waves run, and whether it is repeatable.
    pub schedule: Schedule,
    /// Additional checks. They are slow: a dispatch runs on one thread and takes many times longer.
    pub checks: Checks,
    /// Name prefixes of kernels that only copy: their reads do not count as uses, so [`Checks::init`] ignores them.
    pub copy_kernels: &'static [&'static str],
    /// The host memory in bytes that the checks of all GPUs of the process may use. A check that needs more reports
    /// that in a finding ([`FindingKind::Incomplete`](crate::FindingKind::Incomplete)) and skips the memory for which
    /// it has no room. `None` for a quarter of the host's memory.
    pub check_memory: Option<u64>,
    /// Whether to count what kernels do, for [`Gpu::profile`](crate::Gpu::profile).
    pub profile: bool,
}

impl Config {
    /// The default configuration with the processor and features of `target`. Features that it leaves open keep their
    /// defaults. `None` if the processor is not supported.
    ///
    /// ```
    /// use amdgpu_sim::{Config, TargetId};
    ///
    /// let target = TargetId::parse("gfx942:xnack+").unwrap();
    /// assert_eq!(Config::for_target(&target).unwrap().target().to_string(), "gfx942:sramecc+:xnack+");
    /// ```
    #[must_use]
    pub fn for_target(target: &TargetId) -> Option<Self> {
        let arch = Arch::ALL.into_iter().find(|arch| arch.name() == target.processor)?;
        let default = Self::default();
        let set = |feature, default| match feature {
            Feature::On => true,
            Feature::Off => false,
            Feature::Any | Feature::Unsupported => default,
        };
        let (sramecc, xnack) = (set(target.sramecc, default.sramecc), set(target.xnack, default.xnack));
        Some(Self { arch, sramecc, xnack, ..default })
    }

    /// The GPU's target ID, for which code must be compiled.
    #[must_use]
    pub fn target(&self) -> TargetId {
        let feature = |on| if on { Feature::On } else { Feature::Off };
        TargetId { processor: self.arch.name().to_owned(), sramecc: feature(self.sramecc), xnack: feature(self.xnack) }
    }
}

/// The default memory size of a GPU: that of a chip, but at most what the host can provide besides everything else.
fn usual_memory() -> u64 {
    let of_host = crate::memory::host::total() / 4 * 3;
    (64 << 30).min(of_host & !((1 << 20) - 1))
}

impl Default for Config {
    /// gfx90a with SRAMECC on and XNACK off, as MI200 and MI300 cards are delivered; all cores, no instruction budget,
    /// 64 GiB or three quarters of the host's memory, [`Misaligned::FaultWords`], [`Schedule::Parallel`], no additional
    /// checks, no profile.
    fn default() -> Self {
        Self {
            arch: Arch::Gfx90a,
            sramecc: true,
            xnack: false,
            threads: None,
            compute_units: None,
            instruction_budget: None,
            lose_after: None,
            memory_bytes: usual_memory(),
            misaligned: Misaligned::default(),
            beyond_lds: BeyondLds::default(),
            zeros_beyond_lds: &[],
            bounds: Bounds::default(),
            schedule: Schedule::default(),
            checks: Checks::default(),
            copy_kernels: &[],
            check_memory: None,
            profile: false,
        }
    }
}
