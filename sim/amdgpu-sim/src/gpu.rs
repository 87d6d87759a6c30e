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

/// What a load or store at an address that is no multiple of its size does. (A misaligned atomic operation or scalar load is
/// always a fault.)
///
/// The hardware carries such accesses out, and compilers rely on it: a structure of three bytes is copied as two and one,
/// at odd addresses. But a `float *` that is not a multiple of 4 is a bug as a rule, so that is where the default draws the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misaligned {
    /// Works, as on the hardware. For kernels that read words from packed structures or byte streams.
    Allow,
    /// A fault for accesses of 4 bytes and more at addresses that are no multiple of 4; 2 bytes may be anywhere.
    #[default]
    FaultWords,
    /// A fault for accesses of 2 bytes at odd addresses too.
    Fault,
}

/// What a load or store of local memory (LDS) beyond what the workgroup has does. (An atomic operation there is always a fault, and so are
/// accesses by flat addresses and copies between global memory and LDS.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BeyondLds {
    /// A load gives zero, a store does nothing, as on the hardware. Some kernels rely on it: Tensile reads its zeros there, and rocFFT
    /// lets idle lanes load what nothing uses.
    Ignore,
    /// A fault, but for loads by kernels that are known to rely on zeros ([`Config::zeros_beyond_lds`]).
    FaultUnlessKnown,
    /// A fault.
    #[default]
    Fault,
}

/// Where a kernel's reads of an allocation end. (Writes and atomic operations end with its last byte.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Bounds {
    /// With its last byte.
    #[default]
    Exact,
    /// With the last of the 4 KiB that its last byte is in, as on the hardware, which has whole pages. Some kernels rely on it: RCCL reads
    /// whole words, and compilers read hidden arguments that they have no use for.
    Pages,
}

/// What kind of GPU to be.
#[derive(Clone, Debug)]
pub struct Config {
    /// The processor.
    pub arch: Arch,
    /// Whether SRAMECC is on: only code that was compiled for that, or for either, is loaded.
    pub sramecc: bool,
    /// Whether XNACK is on, likewise. Nothing else depends on it: no page is ever missing here.
    pub xnack: bool,
    /// Threads that run the workgroups of a dispatch: the one that calls for it and helpers. `None` for one a core, the helpers shared by all
    /// such GPUs.
    pub threads: Option<usize>,
    /// Compute units to have; `None` for as many as the real GPU has: 104 (gfx90a) or 304 (gfx942). They say how many workgroups
    /// [run at the same time](Gpu::max_resident_workgroups), not how fast.
    pub compute_units: Option<u32>,
    /// Instructions that all waves of a dispatch together may carry out before it is cut off with a fault; `None` for no limit.
    pub instruction_budget: Option<u64>,
    /// Dispatches after which the GPU is [lost](Gpu::lose): the next one does not succeed. `None` for never.
    pub lose_after: Option<u64>,
    /// Device memory in bytes. It is taken from the host only as it is used.
    pub memory_bytes: u64,
    /// What a misaligned load or store does.
    pub misaligned: Misaligned,
    /// What a load or store beyond the workgroup's local memory does.
    pub beyond_lds: BeyondLds,
    /// How the names of kernels begin whose loads beyond local memory give zero under [`BeyondLds::FaultUnlessKnown`].
    pub zeros_beyond_lds: &'static [&'static str],
    /// Where reads of an allocation end. Of GPUs that share an address space the first decides.
    pub bounds: Bounds,
    /// In which order workgroups and waves run, and whether that is the same every time.
    pub schedule: Schedule,
    /// Checks beyond those that are always made. They take time: a dispatch runs on one thread, many times slower.
    pub checks: Checks,
    /// How the names of kernels begin that only copy: what they read is not used yet, so [`Checks::init`] finds nothing in them.
    pub copy_kernels: &'static [&'static str],
    /// Bytes of the host's memory that the checks of all GPUs of the process may take. A check that would need more says so in a finding
    /// ([`FindingKind::Incomplete`](crate::FindingKind::Incomplete)) and looks no further at what it has no room for. `None` for a quarter of
    /// what the host has.
    pub check_memory: Option<u64>,
    /// Whether to count what kernels do, for [`Gpu::profile`].
    pub profile: bool,
}

impl Config {
    /// The default, but as the processor that `target` names, with its features set so; what it leaves open stays as it is by default.
    /// `None` for a processor that cannot be simulated.
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

    /// The target id of the GPU: what code has to be compiled for.
    #[must_use]
    pub fn target(&self) -> TargetId {
        let feature = |on| if on { Feature::On } else { Feature::Off };
        TargetId { processor: self.arch.name().to_owned(), sramecc: feature(self.sramecc), xnack: feature(self.xnack) }
    }
}

/// Bytes of memory of a GPU of which nobody says how much it is to have: what a chip has, but no more than the host can back beside all
/// else.
fn usual_memory() -> u64 {
    let of_host = crate::memory::host::total() / 4 * 3;
    (64 << 30).min(of_host & !((1 << 20) - 1))
}

impl Default for Config {
    /// gfx90a with SRAMECC on and XNACK off, as MI200 and MI300 cards come, all cores, no instruction budget, 64 GiB or three
    /// quarters of what the host has,
    /// [`Misaligned::FaultWords`], [`Schedule::Parallel`], no further checks, no profile.
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
/// It is `Send` and `Sync`: allocations, loads and dispatches may come from several threads at once. Dispatches that run at the same
/// time all get on, on the threads that called for them, and so may wait for each other.
pub struct Gpu {
    config: Config,
    memory: Arc<Memory>,
    agent: Agent,
    kernels: Arc<KernelTable>,
    records: Records,
    outside: Outside,
    loss: Loss,
    /// What the clocks of kernels count from.
    started: Instant,
    /// Threads of its own, if their number was asked for.
    pool: OnceLock<Pool>,
    spares: Spares,
    /// See [`set_dynamic_stack`](Self::set_dynamic_stack).
    dynamic_stack: AtomicU32,
    /// Words of code up to which all of it is lowered before a kernel runs that calls functions by address.
    whole: usize,
}

/// Threads where their number was not asked for. Asked of the system once: it reads files to answer, which would cost a launch
/// twenty times what it takes.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

impl Gpu {
    /// A GPU as `config` describes it, its memory empty.
    pub fn new(config: Config) -> Self {
        let memory = Arc::new(Memory::new(vec![config.memory_bytes]));
        Self::with(config, memory, Agent::default())
    }

    /// GPUs as `configs` describes them, in that order, that share one address space: a kernel of one can use the memory of another where
    /// the [rights](crate::Rights) allow it. Those after the first [`MAX_AGENTS`] are left out.
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

    /// Sets the scratch in bytes that each lane has at least, from the next launch on, in kernels for which the compiler does not know how deep
    /// calls go: [`DYNAMIC_STACK`](crate::DYNAMIC_STACK) at first, [`MAX_SCRATCH`](crate::MAX_SCRATCH) at most. What a kernel's packet says goes before it.
    pub fn set_dynamic_stack(&self, bytes: u32) {
        self.dynamic_stack.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn dynamic_stack(&self) -> u32 {
        self.dynamic_stack.load(Ordering::Relaxed)
    }

    pub(crate) fn whole(&self) -> usize {
        self.whole
    }

    /// The same GPU, with another limit of code that is lowered whole.
    #[cfg(test)]
    pub(crate) fn with_whole(self, whole: usize) -> Self {
        Self { whole, ..self }
    }

    /// What it was made from.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Which of the GPUs of its address space it is.
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

    /// What was observed on it.
    pub(crate) fn records(&self) -> &Records {
        &self.records
    }

    /// Compute units that it has.
    pub fn compute_units(&self) -> u32 {
        let real = match self.config.arch {
            Arch::Gfx90a => 104,
            Arch::Gfx942 => 304,
        };
        self.config.compute_units.unwrap_or(real).max(1)
    }

    /// How many threads run workgroups.
    pub(crate) fn threads(&self) -> usize {
        self.config.threads.unwrap_or_else(cores).max(1)
    }

    /// The threads that help the calling one.
    pub(crate) fn pool(&self) -> &Pool {
        static SHARED: OnceLock<Pool> = OnceLock::new();
        let pool = if self.config.threads.is_some() { &self.pool } else { &SHARED };
        pool.get_or_init(|| Pool::new(self.threads().saturating_sub(1)))
    }

    /// What code has to be compiled for: `gfx90a:sramecc+:xnack-` by default.
    pub fn target(&self) -> TargetId {
        self.config.target()
    }

    /// Puts `code` into the GPU's memory: segments, relocations, kernels, variables.
    ///
    /// # Errors
    /// [`LoadError::Target`] if the code is for another processor, [`LoadError::UndefinedSymbol`], [`LoadError::Relocation`],
    /// [`LoadError::Memory`].
    pub fn load(&self, code: &CodeObject) -> Result<Arc<Module>, LoadError> {
        self.load_with(code, &|_| None)
    }

    /// Like [`load`](Self::load), for code that refers to variables defined elsewhere: `defined` knows their addresses.
    ///
    /// # Errors
    /// As of [`load`](Self::load).
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

    /// The kernel whose descriptor is at `address`: what a dispatch packet names as its kernel object. `None` if there is none,
    /// or its code object has been unloaded.
    pub fn kernel_at(&self, address: u64) -> Option<Kernel> {
        self.kernels.get(address)
    }

    /// Has `call` called whenever a kernel sends the host an interrupt (`s_sendmsg sendmsg(MSG_INTERRUPT)`), as device libraries do
    /// after they have written an event's number to a signal's mailbox. It is given bits 23:0 of M0: the event's number. `None`
    /// ends that. The call comes from the thread that runs the wave, which goes on when it returns.
    pub fn on_interrupt(&self, call: Option<Arc<dyn Fn(u32) + Send + Sync>>) {
        self.outside.on_interrupt(call);
    }

    pub(crate) fn loss(&self) -> &Loss {
        &self.loss
    }

    pub(crate) fn outside(&self) -> &Outside {
        &self.outside
    }

    /// What dispatches have left for others.
    pub(crate) fn spares(&self) -> &Spares {
        &self.spares
    }

    /// What the clocks of kernels count from.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu").field("config", &self.config).field("memory", &self.memory).finish()
    }
}
