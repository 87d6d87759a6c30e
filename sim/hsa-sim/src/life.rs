//! The life of the process's state: made by the first `hsa_init`, emptied by the last `hsa_shut_down`.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use crate::abi::{
    HSA_STATUS_ERROR_NOT_INITIALIZED, HSA_STATUS_ERROR_OUT_OF_RESOURCES, HSA_STATUS_ERROR_REFCOUNT_OVERFLOW,
};
use crate::agent::Agents;
use crate::events::Events;
use crate::image::Objects;
use crate::loader::Loader;
use crate::memory::Memories;
use crate::queue::{Masks, Queues};
use crate::result::Result;
use crate::runtime::{RUNTIME, Runtime, USERS, runtime};
use crate::signal::{Signals, Watch};
use crate::{config, leaving, observe};

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
        leaving::watch();
        if settings.profile.is_some() {
            observe::write_profile_at_exit();
        }
        let queues = Queues::new()?;
        for (base, len) in [signals.range(), queues.range()] {
            // SAFETY: the arrays are there for as long as the process, and only atomics touch what kernels may.
            unsafe { agents.space().register_host(base, len) }.ok()?;
        }
        Some(Self {
            agents,
            profile: settings.profile,
            delay: settings.delay,
            signals,
            memory: Memories::default(),
            images: Objects::default(),
            queues,
            masks: Mutex::default(),
            loader: Loader::default(),
            events: Events::default(),
            handlers: Watch::new("hsa-sim-handler", settings.delay),
            copies: Watch::new("hsa-sim-copy", settings.delay),
        })
    }
}

/// What [`USERS`] can be at most, as in ROCr.
const MOST_USERS: u32 = i32::MAX as u32;

/// Counts one user more or less, if that is neither the first nor the last; nobody else is to know of it then.
fn count(one: impl Fn(u32) -> Option<u32>) -> bool {
    let others = |users: u32| if users > 1 { one(users) } else { None };
    USERS.fetch_update(Ordering::AcqRel, Ordering::Acquire, others).is_ok()
}

/// `hsa_init`.
pub(crate) fn init() -> Result<()> {
    let more = |users: u32| (users < MOST_USERS).then_some(users + 1);
    if count(more) {
        return Ok(());
    }
    let _change = CHANGE.lock().unwrap_or_else(PoisonError::into_inner);
    let users = loop {
        if count(more) {
            return Ok(());
        }
        match USERS.load(Ordering::Acquire) {
            // From there it changes only here and below.
            users @ 0..=1 => break users,
            MOST_USERS.. => return Err(HSA_STATUS_ERROR_REFCOUNT_OVERFLOW),
            _ => {}
        }
    };
    let runtime = RUNTIME.get_or_init(Runtime::new).as_ref().ok_or(HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
    if users == 0 {
        let masks = Masks::from_environment(runtime.agents.gpu_ids().count(), runtime.agents.chip.compute_units);
        *runtime.masks.lock().unwrap_or_else(PoisonError::into_inner) = masks;
    }
    USERS.store(users + 1, Ordering::Release);
    Ok(())
}

/// `hsa_shut_down`: the last one ends queues, executables, memory and signals.
pub(crate) fn shut_down() -> Result<()> {
    let less = |users: u32| users.checked_sub(1);
    if count(less) {
        return Ok(());
    }
    let runtime = runtime()?;
    let _change = CHANGE.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if count(less) {
            return Ok(());
        }
        match USERS.load(Ordering::Acquire) {
            0 => return Err(HSA_STATUS_ERROR_NOT_INITIALIZED),
            1 => break,
            _ => {}
        }
    }
    USERS.store(0, Ordering::Release);
    leaving::take_down();
    runtime.queues.clear();
    runtime.loader.clear();
    runtime.signals.clear();
    runtime.memory.clear(&runtime.agents);
    runtime.images.clear();
    runtime.events.clear();
    Ok(())
}
