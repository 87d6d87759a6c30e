//! The resources that graphs keep: memory and code that captured work uses live as long as the graph.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::CudaContext;

/// A resource that a graph uses: the uses of memory, or a module. A capture only keeps it alive.
pub(super) type Kept = Arc<dyn Any + Send + Sync>;

/// The captures in progress, and all resources that any of them used. A capture can spread to other streams, of other
/// devices too, so a graph keeps the resources that were used on all of them.
pub(super) struct Captures {
    /// Read without a lock.
    active: AtomicUsize,
    kept: Mutex<Vec<Kept>>,
    later: Mutex<Later>,
}

pub(super) static CAPTURES: Captures = Captures {
    active: AtomicUsize::new(0),
    kept: Mutex::new(Vec::new()),
    later: Mutex::new(Later { graphs: 0, jobs: Vec::new() }),
};

/// The actions to run once no graphs exist.
struct Later {
    /// Number of existing graphs, and of captures in progress.
    graphs: usize,
    jobs: Vec<Box<dyn FnOnce() + Send>>,
}

impl Captures {
    /// Also counts the resulting graph.
    pub(super) fn begin(&self) {
        self.later().graphs += 1;
        self.active.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the resources that the captured graph keeps.
    pub(super) fn end(&self) -> Vec<Kept> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let own = kept.clone();
        if self.active.fetch_sub(1, Ordering::AcqRel) == 1 {
            kept.clear();
        }
        own
    }

    fn later(&self) -> MutexGuard<'_, Later> {
        self.later.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called when a graph is dropped, or a capture ends without one.
    pub(super) fn end_of_graph(&self) {
        let mut later = self.later();
        later.graphs -= 1;
        let jobs = if later.graphs == 0 { std::mem::take(&mut later.jobs) } else { Vec::new() };
        drop(later);
        jobs.into_iter().for_each(|job| job());
    }

    /// Whether a capture is under way.
    pub(super) fn any(&self) -> bool {
        self.active.load(Ordering::Acquire) != 0
    }

    pub(super) fn add(&self, new: Kept) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.iter().any(|known| Arc::ptr_eq(known, &new)) {
            kept.push(new);
        }
    }
}

/// A library handle that any thread may destroy.
#[allow(dead_code, reason = "of the features for libraries")]
pub(crate) struct Shared<T>(pub(crate) T);

// SAFETY: handles of these libraries are not bound to a thread, and only the owner of this value uses the handle.
unsafe impl<T> Send for Shared<T> {}

#[allow(dead_code, reason = "of the features for libraries")]
impl<T: Copy> Shared<T> {
    pub(crate) fn get(&self) -> T {
        self.0
    }
}

#[allow(dead_code, reason = "of the features for libraries")]
impl CudaContext {
    /// Destroys a library object that graphs may use once no graphs exist, because graphs can be launched again.
    pub(crate) fn destroy_after_graphs(&self, destroy: impl FnOnce() + Send + 'static) {
        let mut later = CAPTURES.later();
        if later.graphs != 0 {
            later.jobs.push(Box::new(destroy));
            return;
        }
        drop(later);
        destroy();
    }

    /// Returns whether graphs exist, which may use library objects.
    pub(crate) fn has_graphs(&self) -> bool {
        CAPTURES.later().graphs != 0
    }
}
