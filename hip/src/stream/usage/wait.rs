//! Waits of the host for the uses of an allocation, and the release of the allocation after them.

use super::kind::AccessKind;
use super::span::Span;
use super::{Usage, give_back};
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::queue::Verdict;
use crate::stream::idle::{when_idle, when_idle_apart};

impl Usage {
    /// Blocks until the host may perform an access of `kind`.
    ///
    /// # Errors
    /// [`Error::Graph`] for a write to memory whose content a graph relies on; errors of the work that is waited for.
    pub(crate) fn wait(&self, kind: AccessKind) -> Result<()> {
        self.wait_for_part(kind, Span::ALL)
    }

    /// Like [`wait`](Self::wait), for an access to a part of it.
    pub(crate) fn wait_for_part(&self, kind: AccessKind, span: Span) -> Result<()> {
        self.expect_allowed(kind, span)?;
        self.wait_for_others(kind)
    }

    /// Blocks until no queued work uses the memory. The content does not change.
    pub(crate) fn wait_for_all(&self) -> Result<()> {
        self.wait_for_others(AccessKind::Write)
    }

    fn wait_for_others(&self, kind: AccessKind) -> Result<()> {
        if context::is_forked() {
            return Err(Error::ForkedChild);
        }
        let mut pending = Vec::new();
        self.pending(self.kind_of(kind), &mut pending);
        for work in &pending {
            work.stream.wait_for(work.ticket)?;
        }
        Ok(())
    }

    /// Frees the allocation with `free`, for a destructor: once nothing uses it and no graph keeps it. Does not block.
    ///
    /// If the runtime cannot report that nothing uses it, it leaks. Errors of the work are stored for the next caller
    /// that waits for its stream.
    pub(crate) fn release(&mut self, free: impl FnOnce() + Send + 'static) {
        if context::is_forked() {
            return;
        }
        let mut state = self.lock();
        if self.is_kept() {
            state.release = Some(Box::new(free));
            return;
        }
        drop(state);
        give_back(self, free);
    }

    /// Like [`release`](Self::release), for a call that waits in the runtime for all work of the device; see
    /// [`when_idle`].
    pub(crate) fn release_when_idle(&mut self, device: Device, free: impl FnOnce() + Send + 'static) {
        self.release(move || when_idle(device, free));
    }

    /// Like [`release_when_idle`](Self::release_when_idle), for a call of other code that invalidates captures.
    pub(crate) fn release_when_idle_apart(&mut self, device: Device, free: impl FnOnce() + Send + 'static) {
        self.release(move || when_idle_apart(device, free));
    }

    /// Blocks until no queued work uses the allocation. Returns `false` if that cannot be known. For cleanup that
    /// cannot be deferred.
    pub(crate) fn finish(&self) -> bool {
        self.blockers().iter().all(|(queue, ticket)| queue.wait(*ticket) == Verdict::Over)
    }
}
