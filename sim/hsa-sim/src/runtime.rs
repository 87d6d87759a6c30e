//! The process's state: made by the first `hsa_init`, emptied by the last `hsa_shut_down`.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use amdgpu_sim::Delay;

use crate::abi::{
    HSA_STATUS_ERROR, HSA_STATUS_ERROR_INVALID_SIGNAL, HSA_STATUS_ERROR_NOT_INITIALIZED,
    HSA_STATUS_ERROR_OUT_OF_RESOURCES, HSA_STATUS_ERROR_REFCOUNT_OVERFLOW, hsa_signal_t, hsa_status_t,
};
use crate::agent::Agents;
use crate::config;
use crate::events::Events;
use crate::image::Objects;
use crate::loader::Loader;
use crate::memory::Memories;
use crate::queue::Queues;
use crate::signal::{Signal, Signals, Watch};

/// What a function comes to: its status when it isn't success.
pub(crate) type Result<T> = std::result::Result<T, hsa_status_t>;

/// Everything.
pub(crate) struct Runtime {
    pub(crate) agents: Agents,
    /// Where the profile is to be written.
    pub(crate) profile: Option<std::path::PathBuf>,
    /// Waits before work of queues and after it.
    pub(crate) delay: Option<Delay>,
    pub(crate) signals: Signals,
    pub(crate) memory: Memories,
    pub(crate) images: Objects,
    pub(crate) queues: Queues,
    pub(crate) loader: Loader,
    pub(crate) events: Events,
    /// Functions of the program that wait for signals.
    pub(crate) handlers: Watch,
    /// Copies that wait for signals.
    pub(crate) copies: Watch,
}

/// Made once and kept for good: threads and stale handles may still look at it.
static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
/// `hsa_init` less `hsa_shut_down`.
static USERS: AtomicU32 = AtomicU32::new(0);
/// Held while the number of users goes from or to 0.
static CHANGE: Mutex<()> = Mutex::new(());

impl Runtime {
    fn new() -> Option<Self> {
        let settings = match config::from_environment() {
            Ok(settings) => settings,
            Err(error) => {
                eprintln!("hsa-sim: {error}");
                return None;
            }
        };
        let signals = Signals::new()?;
        let agents = Agents::new(&settings);
        crate::leaving::watch();
        if settings.profile.is_some() {
            crate::observe::write_profile_at_exit();
        }
        let (base, len) = signals.range();
        // SAFETY: the array is there for as long as the process, and only atomics touch it.
        unsafe { agents.space().register_host(base, len) }.ok()?;
        Some(Self {
            agents,
            profile: settings.profile,
            delay: settings.delay,
            signals,
            memory: Memories::default(),
            images: Objects::default(),
            queues: Queues::default(),
            loader: Loader::default(),
            events: Events::default(),
            handlers: Watch::new("hsa-sim-handler", settings.delay),
            copies: Watch::new("hsa-sim-copy", settings.delay),
        })
    }

    /// The signal of a handle.
    pub(crate) fn signal(&'static self, handle: hsa_signal_t) -> Result<Signal> {
        self.signals.get(handle).ok_or(HSA_STATUS_ERROR_INVALID_SIGNAL)
    }

    /// The signal of a handle that may be none (0).
    pub(crate) fn maybe_signal(&'static self, handle: hsa_signal_t) -> Result<Option<Signal>> {
        if handle.handle == 0 { Ok(None) } else { self.signal(handle).map(Some) }
    }
}

/// `hsa_init`.
pub(crate) fn init() -> Result<()> {
    let _change = CHANGE.lock().unwrap_or_else(PoisonError::into_inner);
    let users = USERS.load(Ordering::Acquire);
    if users == u32::MAX {
        return Err(HSA_STATUS_ERROR_REFCOUNT_OVERFLOW);
    }
    match RUNTIME.get_or_init(Runtime::new) {
        Some(_) => {
            USERS.store(users + 1, Ordering::Release);
            Ok(())
        }
        None => Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES),
    }
}

/// `hsa_shut_down`: the last one ends queues, executables, memory and signals.
pub(crate) fn shut_down() -> Result<()> {
    let runtime = runtime()?;
    let _change = CHANGE.lock().unwrap_or_else(PoisonError::into_inner);
    let users = USERS.load(Ordering::Acquire).checked_sub(1).ok_or(HSA_STATUS_ERROR_NOT_INITIALIZED)?;
    USERS.store(users, Ordering::Release);
    if users == 0 {
        crate::leaving::take_down();
        runtime.queues.clear();
        runtime.loader.clear();
        runtime.signals.clear();
        runtime.memory.clear(&runtime.agents);
        runtime.images.clear();
        runtime.events.clear();
    }
    Ok(())
}

/// The state, if it was ever made, whether or not somebody still uses it.
pub(crate) fn ever() -> Option<&'static Runtime> {
    RUNTIME.get().and_then(Option::as_ref)
}

/// The state, while somebody uses it.
pub(crate) fn runtime() -> Result<&'static Runtime> {
    if USERS.load(Ordering::Acquire) == 0 {
        return Err(HSA_STATUS_ERROR_NOT_INITIALIZED);
    }
    RUNTIME.get().and_then(Option::as_ref).ok_or(HSA_STATUS_ERROR)
}
