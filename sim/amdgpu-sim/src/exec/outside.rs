//! What a wave can reach of its GPU besides memory.

use std::sync::{Arc, PoisonError, RwLock};

use super::gws::Gws;

/// What is called when a kernel sends the host an interrupt.
pub(crate) type OnInterrupt = dyn Fn(u32) + Send + Sync;

/// What a wave can reach of its GPU besides memory.
#[derive(Default)]
pub(crate) struct Outside {
    /// Counters that waves of all workgroups wait at.
    pub(crate) gws: Gws,
    interrupt: RwLock<Option<Arc<OnInterrupt>>>,
}

impl Outside {
    /// Sets what is called when a kernel sends the host an interrupt.
    pub(crate) fn on_interrupt(&self, call: Option<Arc<OnInterrupt>>) {
        *self.interrupt.write().unwrap_or_else(PoisonError::into_inner) = call;
    }

    /// Sends the host an interrupt.
    pub(super) fn interrupt(&self, data: u32) {
        // Not under the lock: the call may take its time, or set another.
        let call = self.interrupt.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(call) = call {
            call(data);
        }
    }
}
