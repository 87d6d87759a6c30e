//! Resources of a library that queued work uses.

use std::fmt;

use crate::core::device::Device;
use crate::core::error::Result;
use crate::stream::usage::Usage;

/// A resource of a library that queued work uses: a handle, a plan, a workspace, a communicator.
///
/// The owner keeps it together with the C handle. Calls name it with [`Uses::tracked`](super::Uses::tracked). The
/// owner's destructor passes the function that destroys the handle to [`release`](Self::release). A tracked resource
/// that is dropped without that is never destroyed.
///
/// Two uses of one tracked resource run one after the other, on any streams and threads;
/// [`Uses::tracked_shared`](super::Uses::tracked_shared) is for resources that several streams may use concurrently.
pub struct Tracked(pub(super) Usage);

impl Default for Tracked {
    fn default() -> Self {
        Self::new()
    }
}

impl Tracked {
    /// Creates a resource that has no uses yet.
    #[must_use]
    pub fn new() -> Self {
        Self(Usage::concurrent())
    }

    /// Like [`new`](Self::new), for a resource that its owner can take back at any time, such as a mapping, or memory
    /// that another API lends. No graph keeps it: capturing work that uses it is an
    /// [`Error::Graph`](crate::Error::Graph). After [`synchronize`](Self::synchronize), nothing uses it until a call
    /// names it again.
    #[must_use]
    pub fn without_graphs() -> Self {
        Self(Usage::concurrent_without_graphs())
    }

    /// Blocks until no queued work uses it. Call this before the host changes it, or reads results in it.
    ///
    /// # Errors
    /// Errors of that work.
    pub fn synchronize(&self) -> Result<()> {
        self.0.wait_for_all()
    }

    /// Returns whether a live graph uses the resource: one that was captured with it, one of that graph's clones or
    /// executable graphs, or a capture in progress. Such a graph can be launched at any later time, so a handle must
    /// then not be re-initialised in place: make a new one with a new `Tracked`, and [`release`](Self::release) this
    /// one.
    ///
    /// `false` stays valid until a call names the resource with [`Uses::tracked`](super::Uses::tracked), which needs a
    /// reference to it.
    #[must_use]
    pub fn is_in_graph(&self) -> bool {
        self.0.is_in_graph()
    }

    /// Runs `destroy` when no queued work and no graph uses it anymore. Returns at once.
    ///
    /// `destroy` runs here if nothing uses it, else on a thread of this crate. It never runs in the child of a `fork`,
    /// nor if the runtime cannot report whether the work is over: the resource leaks then.
    pub fn release(mut self, destroy: impl FnOnce() + Send + 'static) {
        self.0.release(destroy);
    }

    /// Like [`release`](Self::release), for a `destroy` that waits for all work of a device (`hipFree`, `hipFreeArray`,
    /// and library functions that call them). It runs when the device is idle, or after a while when no work of any
    /// stream waits for the host, and not during a capture. So a destructor does not wait for unrelated work, does not
    /// deadlock with a host function, and does not invalidate captures.
    pub fn release_when_idle(mut self, device: &Device, destroy: impl FnOnce() + Send + 'static) {
        self.0.release_when_idle_apart(*device, destroy);
    }

    /// Runs `abort` immediately, even while work is queued, and returns its result. For a function that ends the queued
    /// work that uses the resource, as `ncclCommAbort` does, or for a resource that must not be waited for after an
    /// error.
    ///
    /// # Safety
    /// After `abort` has returned, queued work must not use the resource anymore, or its use must be harmless. No graph
    /// that uses it may be launched again.
    pub unsafe fn abort<R>(self, abort: impl FnOnce() -> R) -> R {
        abort()
    }
}

impl fmt::Debug for Tracked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tracked")
    }
}
