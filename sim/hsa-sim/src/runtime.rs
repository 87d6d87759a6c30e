//! The process's state.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use amdgpu_sim::Delay;

use crate::abi::{HSA_STATUS_ERROR, HSA_STATUS_ERROR_INVALID_SIGNAL, HSA_STATUS_ERROR_NOT_INITIALIZED, hsa_signal_t};
use crate::agent::Agents;
use crate::events::Events;
use crate::image::Objects;
use crate::loader::Loader;
use crate::memory::Memories;
use crate::queue::{Masks, Queues};
use crate::result::Result;
use crate::signal::{Signal, Signals, Watch};

/// Everything.
pub(crate) struct Runtime {
    pub(crate) agents: Agents,
    /// The path of the profile.
    pub(crate) profile: Option<std::path::PathBuf>,
    /// Delays before and after the work of queues.
    pub(crate) delay: Option<Delay>,
    pub(crate) signals: Signals,
    pub(crate) memory: Memories,
    pub(crate) images: Objects,
    pub(crate) queues: Queues,
    /// The compute units that the queues of each GPU may use.
    pub(crate) masks: Mutex<Masks>,
    pub(crate) loader: Loader,
    pub(crate) events: Events,
    /// Signal handlers of the program.
    pub(crate) handlers: Watch,
    /// Copies that wait for signals.
    pub(crate) copies: Watch,
}

/// Made once and kept for good: threads and stale handles may still look at it.
pub(crate) static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
/// `hsa_init` less `hsa_shut_down`.
pub(crate) static USERS: AtomicU32 = AtomicU32::new(0);
impl Runtime {
    /// The signal of a handle.
    pub(crate) fn signal(&'static self, handle: hsa_signal_t) -> Result<Signal> {
        self.signals.get(handle).ok_or(HSA_STATUS_ERROR_INVALID_SIGNAL)
    }

    /// The signal behind a handle; `None` for handle 0.
    pub(crate) fn maybe_signal(&'static self, handle: hsa_signal_t) -> Result<Option<Signal>> {
        if handle.handle == 0 { Ok(None) } else { self.signal(handle).map(Some) }
    }
}

/// The state, if it was ever made, whether or not somebody still uses it.
pub(crate) fn ever() -> Option<&'static Runtime> {
    RUNTIME.get().and_then(Option::as_ref)
}

/// The state, while it has a user.
pub(crate) fn runtime() -> Result<&'static Runtime> {
    if USERS.load(Ordering::Acquire) == 0 {
        return Err(HSA_STATUS_ERROR_NOT_INITIALIZED);
    }
    RUNTIME.get().and_then(Option::as_ref).ok_or(HSA_STATUS_ERROR)
}
