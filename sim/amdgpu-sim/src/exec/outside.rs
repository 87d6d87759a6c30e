//! The parts of the GPU besides memory that a wave can access.

use std::sync::{Arc, PoisonError, RwLock};

use super::gws::Gws;

/// The function called when a kernel sends the host an interrupt.
pub(crate) type OnInterrupt = dyn Fn(u32) + Send + Sync;

/// The parts of the GPU besides memory that a wave can access.
#[derive(Default)]
pub(crate) struct Outside {
    /// The global wave sync counters.
    pub(crate) gws: Gws,
    interrupt: RwLock<Option<Arc<OnInterrupt>>>,
}

impl Outside {
    /// Sets the function called when a kernel sends the host an interrupt.
    pub(crate) fn on_interrupt(&self, call: Option<Arc<OnInterrupt>>) {
        *self.interrupt.write().unwrap_or_else(PoisonError::into_inner) = call;
    }

    /// Sends the host an interrupt.
    pub(super) fn interrupt(&self, data: u32) {
        // Called without the lock: the function may take long, or set another.
        let call = self.interrupt.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(call) = call {
            call(data);
        }
    }
}
