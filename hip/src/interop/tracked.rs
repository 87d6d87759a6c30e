//! Things of a library's own that queued work uses.

use std::fmt;

use crate::core::device::Device;
use crate::core::error::Result;
use crate::stream::usage::Usage;

/// Something of a library's own that queued work uses: a handle, a plan, a workspace, a communicator.
///
/// The owner keeps it beside the C handle. Calls name it with [`Uses::tracked`](super::Uses::tracked), and the owner's destructor
/// passes what destroys the handle to [`release`](Self::release). A tracked thing that is dropped without that is never destroyed.
///
/// Two uses of one tracked thing come one after the other, on whatever streams and threads they are;
/// [`Uses::tracked_shared`](super::Uses::tracked_shared) is for things that several streams may use at a time.
pub struct Tracked(pub(super) Usage);

impl Default for Tracked {
    fn default() -> Self {
        Self::new()
    }
}

impl Tracked {
    /// Something that nothing uses yet.
    #[must_use]
    pub fn new() -> Self {
        Self(Usage::concurrent())
    }

    /// As [`new`](Self::new), for something that its owner takes back while the program goes on: memory that another API lends for a
    /// while, a mapping. No graph keeps it: capturing work that uses it is an [`Error::Graph`](crate::Error::Graph). After
    /// [`synchronize`](Self::synchronize), nothing uses it until a call names it again.
    #[must_use]
    pub fn without_graphs() -> Self {
        Self(Usage::concurrent_without_graphs())
    }

    /// Blocks until no queued work uses it: before the host changes it, or reads what work has left in it.
    ///
    /// # Errors
    /// An error of that work comes back here.
    pub fn synchronize(&self) -> Result<()> {
        self.0.wait_for_all()
    }

    /// Returns whether a live graph uses the thing: one that was captured with it, one of that graph's clones or executable graphs, or a
    /// capture under way. Such a graph can be launched at any later time, so a handle must then not be re-initialised in place: make a new
    /// one with a new `Tracked`, and [`release`](Self::release) this one.
    ///
    /// `false` stays true until a call names the thing with [`Uses::tracked`](super::Uses::tracked), which needs a reference to it.
    #[must_use]
    pub fn is_in_graph(&self) -> bool {
        self.0.is_in_graph()
    }

    /// Runs `destroy` when no queued work and no graph uses it any more. Returns at once.
    ///
    /// `destroy` runs here if nothing uses it, else on a thread of this crate's. It never runs in the child of a `fork`, and not if the
    /// runtime cannot say whether the work is over: the thing is leaked then.
    pub fn release(mut self, destroy: impl FnOnce() + Send + 'static) {
        self.0.release(destroy);
    }

    /// As [`release`](Self::release), for a `destroy` that waits for all work of a device (`hipFree`, `hipFreeArray`, and library functions
    /// that call them): it runs when the device is idle, or after a while when no work of any stream waits for the host, and not during a
    /// capture. So a destructor does not wait for work that is not its own, no host function deadlocks with it, and it spoils no capture.
    pub fn release_when_idle(mut self, device: &Device, destroy: impl FnOnce() + Send + 'static) {
        self.0.release_when_idle_apart(*device, destroy);
    }

    /// Runs `abort` now, whatever is queued, and returns what it returns: for a function that ends the queued work that uses the thing,
    /// as `ncclCommAbort` does, or for a thing that must not be waited for after an error.
    ///
    /// # Safety
    /// When `abort` returns, no queued work uses the thing any more, or it does no harm that it does. No graph that uses it is launched
    /// again.
    pub unsafe fn abort<R>(self, abort: impl FnOnce() -> R) -> R {
        abort()
    }
}

impl fmt::Debug for Tracked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tracked")
    }
}
