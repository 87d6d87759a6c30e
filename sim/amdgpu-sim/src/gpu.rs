//! The GPU itself: memory, threads.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::code_object::{CodeObject, LoadError, TargetId};
use crate::config::Config;
use crate::dispatch::{DYNAMIC_STACK, Spares};
use crate::exec::{Outside, WHOLE};
use crate::isa::Arch;
use crate::loss::Loss;
use crate::memory::{Agent, MAX_AGENTS, Memory};
use crate::module::{Kernel, KernelTable, Module};
use crate::observe::{Records, Room};
use crate::pool::Pool;

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

    /// Loses the GPU permanently: running dispatches are stopped, and they and all later ones fail
    /// ([`FaultKind::Lost`](crate::FaultKind::Lost)). Its memory stays readable; the runtime decides what it reports.
    ///
    /// ```
    /// use amdgpu_sim::{Config, Gpu};
    ///
    /// let gpu = Gpu::new(Config::default());
    /// assert!(!gpu.is_lost());
    /// gpu.lose();
    /// assert!(gpu.is_lost());
    /// ```
    pub fn lose(&self) {
        self.loss.lose();
    }

    /// Whether the GPU is lost: by [`lose`](Self::lose), or after the [configured](crate::Config::lose_after) number of
    /// dispatches.
    pub fn is_lost(&self) -> bool {
        self.loss.is_lost()
    }

    /// Counts a dispatch that is about to start. Returns whether the GPU is lost.
    pub(crate) fn is_lost_now(&self) -> bool {
        self.loss.count(self.config.lose_after)
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
