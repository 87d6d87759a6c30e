//! Memory of graphs: allocations that they keep, and the spans that they write to and rely on as long as they can be
//! launched.

use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use super::access::Access;
use super::kind::{AccessKind, MemoryKind};
use super::span::{Span, Trusted};
use super::{State, Usage, give_back};
use crate::core::context;
use crate::core::error::{Error, Result};

impl State {
    /// Returns `Ok` if no graph relies on a part of `span`, which `writer` would change.
    fn expect_untrusted(&self, span: Span, writer: &str) -> Result<()> {
        let in_the_way = self.trusts.iter().find(|trusted| trusted.span.overlaps(span));
        in_the_way.map_or(Ok(()), |Trusted { what, .. }| {
            let reason =
                format!("it relies on {what}, which were checked, and {writer} would change them: drop it first");
            Err(Error::Graph { reason })
        })
    }

    /// Returns `Ok` if no graph writes to a part of `span`. `what` names the content of `span`.
    fn expect_unwritten(&self, span: Span, what: &str) -> Result<()> {
        if self.writes.iter().any(|written| written.overlaps(span)) {
            let reason = format!("a launch of it would change {what} after they were checked: drop it first");
            return Err(Error::Graph { reason });
        }
        Ok(())
    }
}

fn remove<T: PartialEq>(all: &mut Vec<T>, some: &[T]) {
    for one in some {
        if let Some(index) = all.iter().position(|known| known == one) {
            all.swap_remove(index);
        }
    }
}

/// A graph's hold on an allocation.
pub(crate) struct Kept {
    usage: Usage,
    kind: AccessKind,
    /// Spans that the graph writes.
    writes: SmallVec<[Span; 1]>,
    /// Spans that the graph relies on.
    trusts: SmallVec<[Trusted; 1]>,
    /// Whether the graph can still be launched.
    live: bool,
}

impl Usage {
    /// Keeps the allocation for a graph that does `access`.
    ///
    /// # Errors
    /// [`Error::Graph`] for a write to memory that a graph relies on, or a reliance on memory that a graph writes.
    pub(super) fn keep(&self, access: &Access<'_>) -> Result<Kept> {
        let mut state = self.lock();
        self.0.live.fetch_add(1, Ordering::Relaxed);
        let mut kept = self.kept(&state, true);
        // Dropped after the lock.
        let added = kept.add_locked(&mut state, access);
        drop(state);
        added.map(|()| kept)
    }

    /// Keeps the allocation, without an access of a graph.
    pub(crate) fn hold(&self) -> Kept {
        self.kept(&self.lock(), false)
    }

    fn kept(&self, state: &State, live: bool) -> Kept {
        self.0.keepers.fetch_add(1, Ordering::Relaxed);
        self.note_others(state);
        let (writes, trusts) = (SmallVec::new(), SmallVec::new());
        Kept { usage: self.clone_handle(), kind: AccessKind::Read, writes, trusts, live }
    }

    /// Returns `Ok` if only the owner or borrower can change a part of the allocation, so that work can rely on content
    /// that was checked. `what` names the content.
    ///
    /// # Errors
    /// [`Error::Graph`] if a graph writes to it, or if code that this crate does not track can write to it.
    pub(crate) fn expect_unwritten(&self, span: Span, what: &'static str) -> Result<()> {
        if context::is_forked() {
            return Err(Error::ForkedChild);
        }
        let refused = |whose: &str| Err(Error::Graph { reason: format!("{whose} could change {what} at any time") });
        match self.0.kind {
            MemoryKind::Module => refused("a kernel of the module that this variable is in"),
            MemoryKind::Device if self.0.concurrent => refused("the library that this memory belongs to"),
            MemoryKind::Device | MemoryKind::Host | MemoryKind::Borrowed => self.lock().expect_unwritten(span, what),
        }
    }

    /// Returns whether a graph that can still be launched uses the allocation.
    pub(crate) fn is_in_graph(&self) -> bool {
        self.0.live.load(Ordering::Relaxed) != 0
    }

    /// Returns `Ok` if the owner or borrower of the memory may perform an access of `kind` to a part of it.
    ///
    /// # Errors
    /// [`Error::Graph`] for a write to memory that a graph relies on.
    pub(crate) fn expect_allowed(&self, kind: AccessKind, span: Span) -> Result<()> {
        if kind == AccessKind::Read || !self.is_in_graph() {
            return Ok(());
        }
        if context::is_forked() {
            return Err(Error::ForkedChild);
        }
        self.lock().expect_untrusted(span, "this")
    }
}

impl Access<'_> {
    /// Returns `Ok` if the owner or borrower of the memory may perform the access now.
    pub(crate) fn expect_allowed(&self) -> Result<()> {
        match self.trusted {
            Some(what) if self.usage.is_in_graph() => self.usage.expect_unwritten(self.span, what),
            _ => self.usage.expect_allowed(self.kind, self.span),
        }
    }
}

impl Kept {
    /// Returns the graph's accesses, for another graph or a launch: one for each span that it writes or relies on.
    pub(crate) fn accesses(&self) -> impl Iterator<Item = Access<'_>> {
        let access = Access::new(&self.usage, AccessKind::Read);
        let reads = (self.kind == AccessKind::Read && self.trusts.is_empty()).then_some(access);
        let writes = self.writes.iter().map(|&span| Access::write_span(&self.usage, span));
        let trusts = self.trusts.iter().map(|trusted| Access::read_trusted(&self.usage, trusted.span, trusted.what));
        reads.into_iter().chain(writes).chain(trusts)
    }

    /// Keeps memory for a graph that does `access`, in the graph's list.
    ///
    /// # Errors
    /// [`Error::Graph`] for a write to memory that a graph relies on, or a reliance on memory that a graph writes.
    pub(crate) fn add(all: &mut Vec<Self>, access: &Access<'_>) -> Result<()> {
        if let Some(known) = all.iter_mut().find(|known| known.is(access.usage)) {
            return known.add_locked(&mut access.usage.lock(), access);
        }
        all.push(access.usage.keep(access)?);
        Ok(())
    }

    fn add_locked(&mut self, state: &mut State, access: &Access<'_>) -> Result<()> {
        let span = access.span;
        if access.kind == AccessKind::Write && !self.writes.contains(&span) {
            state.expect_untrusted(span, "another")?;
            self.kind = AccessKind::Write;
            self.writes.push(span);
            state.writes.push(span);
        }
        if let Some(what) = access.trusted {
            let trusted = Trusted { span, what };
            if !self.trusts.contains(&trusted) {
                state.expect_unwritten(span, what)?;
                self.trusts.push(trusted);
                state.trusts.push(trusted);
            }
        }
        Ok(())
    }

    /// Marks that the graph is not launched again. Only its queued work is left, which others wait for.
    pub(crate) fn retire(&mut self) {
        if self.live && !context::is_forked() {
            self.retire_locked(&mut self.usage.lock());
            self.live = false;
        }
    }

    fn retire_locked(&self, state: &mut State) {
        self.usage.0.live.fetch_sub(1, Ordering::Relaxed);
        remove(&mut state.writes, &self.writes);
        remove(&mut state.trusts, &self.trusts);
    }

    pub(crate) fn memory_kind(&self) -> MemoryKind {
        self.usage.memory_kind()
    }

    /// Returns whether it keeps the allocation of `usage`.
    pub(crate) fn is(&self, usage: &Usage) -> bool {
        self.usage.is(usage)
    }

    /// Returns whether both keep the same exclusive resource, which branches of one graph must not use concurrently.
    pub(crate) fn takes_turns_with(&self, other: &Self) -> bool {
        let writes = self.kind == AccessKind::Write || other.kind == AccessKind::Write;
        writes && self.usage.is_concurrent() && self.is(&other.usage)
    }
}

impl Clone for Kept {
    fn clone(&self) -> Self {
        let mut state = self.usage.lock();
        if self.live {
            // If one graph may write to it or rely on its content, another may too.
            self.usage.0.live.fetch_add(1, Ordering::Relaxed);
            state.writes.extend_from_slice(&self.writes);
            state.trusts.extend_from_slice(&self.trusts);
        }
        let mut clone = self.usage.kept(&state, self.live);
        (clone.kind, clone.writes, clone.trusts) = (self.kind, self.writes.clone(), self.trusts.clone());
        clone
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if context::is_forked() {
            return;
        }
        let mut state = self.usage.lock();
        if self.live {
            self.retire_locked(&mut state);
        }
        let last = self.usage.0.keepers.fetch_sub(1, Ordering::Relaxed) == 1;
        let release = if last { state.release.take() } else { None };
        self.usage.note_others(&state);
        drop(state);
        if let Some(release) = release {
            give_back(&self.usage, release);
        }
    }
}
