//! The GPU itself: configuration, memory, threads.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::code_object::{CodeObject, Feature, LoadError, TargetId};
use crate::dispatch::{DYNAMIC_STACK, Schedule, Spares};
use crate::exec::{Outside, WHOLE};
use crate::isa::Arch;
use crate::loss::Loss;
use crate::memory::{Agent, MAX_AGENTS, Memory};
use crate::module::{Kernel, KernelTable, Module};
use crate::observe::{Checks, Records, Room};
use crate::pool::Pool;

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
    /// many workgroups [run at the same time](Gpu::max_resident_workgroups), not how fast.
    pub compute_units: Option<u32>,
    /// Maximum number of instructions of all waves of a dispatch together, after which it ends with a fault; `None` for
    /// no limit.
    pub instruction_budget: Option<u64>,
    /// Number of dispatches after which the GPU is [lost](Gpu::lose): the next one fails. `None` for never.
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
    /// Whether to count what kernels do, for [`Gpu::profile`].
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

/// A software GPU.
///
/// It is `Send` and `Sync`: allocations, loads and dispatches may come from several threads at once. Concurrent
/// dispatches all make progress, each on the thread that called it, so they may wait for each other.
pub struct Gpu {
    config: Config,
    memory: Arc<Memory>,
    agent: Agent,
    kernels: Arc<KernelTable>,
    records: Records,
    outside: Outside,
    loss: Loss,
    /// The start time of the kernels' clocks.
    started: Instant,
    /// Its own threads, if their number was configured.
    pool: OnceLock<Pool>,
    spares: Spares,
    /// See [`set_dynamic_stack`](Self::set_dynamic_stack).
    dynamic_stack: AtomicU32,
    /// The size of code in words up to which it is lowered completely before a kernel that calls functions by address
    /// runs.
    whole: usize,
}

/// The number of threads if it is not configured. Cached: the system reads files to answer, which takes twenty times as
/// long as a launch.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

impl Gpu {
    /// Creates a GPU from `config`. Its memory is empty.
    pub fn new(config: Config) -> Self {
        let memory = Arc::new(Memory::new(vec![config.memory_bytes]));
        Self::with(config, memory, Agent::default())
    }

    /// Creates a GPU for each of `configs`, in that order, sharing one address space: a kernel of one can use the
    /// memory of another if the [rights](crate::Rights) allow it. GPUs after the first [`MAX_AGENTS`] are left out.
    ///
    /// ```
    /// use amdgpu_sim::{AllocKind, Config, Gpu, Request, Rights};
    ///
    /// let gpus = Gpu::group(&[Config::default(), Config::default()]);
    /// let memory = gpus[0].memory();
    /// let mine = memory.allocate(&Request::new(4096, AllocKind::Device, Some(gpus[0].agent())))?;
    /// assert_eq!((memory.used_of(gpus[0].agent()), memory.used_of(gpus[1].agent())), (4096, 0));
    /// // Peer access.
    /// let both = gpus.iter().map(Gpu::agent).collect();
    /// gpus[1].memory().set_rights(mine, Rights::full(both))?;
    /// # Ok::<(), amdgpu_sim::MemoryError>(())
    /// ```
    pub fn group(configs: &[Config]) -> Vec<Self> {
        let configs = &configs[..configs.len().min(MAX_AGENTS)];
        let memory = Arc::new(Memory::new(configs.iter().map(|config| config.memory_bytes).collect()));
        let agents = (0..configs.len()).filter_map(Agent::new);
        agents.zip(configs).map(|(agent, config)| Self::with(config.clone(), Arc::clone(&memory), agent)).collect()
    }

    fn with(config: Config, memory: Arc<Memory>, agent: Agent) -> Self {
        memory.set_bounds(config.bounds);
        if config.checks.init {
            memory.track_writes(Room::of(&config));
        }
        Self {
            config,
            memory,
            agent,
            kernels: Arc::default(),
            records: Records::default(),
            outside: Outside::default(),
            loss: Loss::default(),
            started: Instant::now(),
            pool: OnceLock::new(),
            spares: Spares::default(),
            dynamic_stack: AtomicU32::new(DYNAMIC_STACK),
            whole: WHOLE,
        }
    }

    /// Sets the minimum scratch size of a lane in bytes, from the next launch on, for kernels whose call depth the
    /// compiler does not know. Initially [`DYNAMIC_STACK`](crate::DYNAMIC_STACK), at most
    /// [`MAX_SCRATCH`](crate::MAX_SCRATCH). The size in a dispatch packet takes precedence.
    pub fn set_dynamic_stack(&self, bytes: u32) {
        self.dynamic_stack.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn dynamic_stack(&self) -> u32 {
        self.dynamic_stack.load(Ordering::Relaxed)
    }

    pub(crate) fn whole(&self) -> usize {
        self.whole
    }

    /// The same GPU with another limit for code that is lowered completely.
    #[cfg(test)]
    pub(crate) fn with_whole(self, whole: usize) -> Self {
        Self { whole, ..self }
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its agent in its address space.
    pub fn agent(&self) -> Agent {
        self.agent
    }

    /// Its memory, which the GPUs of a [group](Self::group) share.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(crate) fn memory_arc(&self) -> Arc<Memory> {
        Arc::clone(&self.memory)
    }

    /// The GPU's findings and profile.
    pub(crate) fn records(&self) -> &Records {
        &self.records
    }

    /// The number of compute units.
    pub fn compute_units(&self) -> u32 {
        let real = match self.config.arch {
            Arch::Gfx90a => 104,
            Arch::Gfx942 => 304,
        };
        self.config.compute_units.unwrap_or(real).max(1)
    }

    /// The number of threads that run workgroups.
    pub(crate) fn threads(&self) -> usize {
        self.config.threads.unwrap_or_else(cores).max(1)
    }

    /// The threads that help the calling one.
    pub(crate) fn pool(&self) -> &Pool {
        static SHARED: OnceLock<Pool> = OnceLock::new();
        let pool = if self.config.threads.is_some() { &self.pool } else { &SHARED };
        pool.get_or_init(|| Pool::new(self.threads().saturating_sub(1)))
    }

    /// The target that code must be compiled for: `gfx90a:sramecc+:xnack-` by default.
    pub fn target(&self) -> TargetId {
        self.config.target()
    }

    /// Loads `code` into the GPU's memory: segments, relocations, kernels, variables.
    ///
    /// # Errors
    /// [`LoadError::Target`] if the code is for another processor, [`LoadError::UndefinedSymbol`],
    /// [`LoadError::Relocation`], [`LoadError::Memory`].
    pub fn load(&self, code: &CodeObject) -> Result<Arc<Module>, LoadError> {
        self.load_with(code, &|_| None)
    }

    /// Like [`load`](Self::load), for code that refers to variables defined elsewhere: `defined` returns their
    /// addresses.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn load_with(
        &self,
        code: &CodeObject,
        defined: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Arc<Module>, LoadError> {
        let device = self.target();
        if !code.target().runs_on(&device) {
            return Err(LoadError::Target { found: code.target().to_string(), device: device.to_string() });
        }
        Module::load(&self.memory, self.agent, &self.kernels, code, defined)
    }

    /// The kernel whose descriptor is at `address`: the kernel object of a dispatch packet. `None` if there is none, or
    /// its code object has been unloaded.
    pub fn kernel_at(&self, address: u64) -> Option<Kernel> {
        self.kernels.get(address)
    }

    /// Sets the function to call when a kernel sends the host an interrupt (`s_sendmsg sendmsg(MSG_INTERRUPT)`). Device
    /// libraries do that after they have written an event's number to a signal's mailbox. The argument is bits 23:0 of
    /// M0: the event's number. `None` removes the function. It runs on the wave's thread, which continues when it
    /// returns.
    pub fn on_interrupt(&self, call: Option<Arc<dyn Fn(u32) + Send + Sync>>) {
        self.outside.on_interrupt(call);
    }

    pub(crate) fn loss(&self) -> &Loss {
        &self.loss
    }

    pub(crate) fn outside(&self) -> &Outside {
        &self.outside
    }

    /// Resources of completed dispatches, for reuse.
    pub(crate) fn spares(&self) -> &Spares {
        &self.spares
    }

    /// The start time of the kernels' clocks.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu").field("config", &self.config).field("memory", &self.memory).finish()
    }
}
