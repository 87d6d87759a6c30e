//! What graphs keep: memory and code that captured work uses lives as long as the graph.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::usage::Usage;
use super::{CudaModule, CudaStream};

/// Something that a graph uses.
#[derive(Clone, Debug)]
pub(super) enum Kept {
    Memory(Usage),
    Code(Arc<CudaModule>),
}

impl Kept {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Memory(one), Self::Memory(other)) => one.is(other),
            (Self::Code(one), Self::Code(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// The captures of a context that are under way, and all that was used in any of them. A capture can spread to other streams, so a graph keeps what
/// was used on all of them.
#[derive(Debug, Default)]
pub(super) struct Captures {
    /// Asked without a lock.
    active: AtomicUsize,
    kept: Mutex<Vec<Kept>>,
}

impl Captures {
    pub(super) fn begin(&self) {
        self.active.fetch_add(1, Ordering::AcqRel);
    }

    /// What the graph of the capture keeps.
    pub(super) fn end(&self) -> Vec<Kept> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let own = kept.clone();
        if self.active.fetch_sub(1, Ordering::AcqRel) == 1 {
            kept.clear();
        }
        own
    }

    fn add(&self, new: Kept) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.iter().any(|known| known.is(&new)) {
            kept.push(new);
        }
    }
}

impl CudaStream {
    /// Whether work on the stream is recorded to a graph. The graph then keeps what it uses.
    pub(super) fn is_kept_by_capture(&self, kept: impl FnOnce() -> Kept) -> bool {
        let captures = self.context().captures();
        if captures.active.load(Ordering::Acquire) == 0 || !self.is_captured() {
            return false;
        }
        captures.add(kept());
        true
    }
}
