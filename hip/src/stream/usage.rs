//! The streams that still use an allocation (or a module), and until when.
//!
//! Every allocation has a [`Usage`]. Queued work marks the allocations that it touches with its stream and a *ticket*,
//! the number of the work on that stream. From the marks, this crate later derives the streams that another stream must
//! wait for, and those that the host must wait for before it touches or frees the memory. Marking records nothing on
//! the device: an event is only created when one stream has to wait for another.

mod access;
mod kept;
mod kind;
mod span;
mod wait;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};

use crate::core::context;
use crate::core::later;
use crate::core::lock::{Mutex, MutexGuard};
use crate::core::queue::{Blocker, Queue, Verdict};
use crate::stream::inner::StreamInner;
use span::Trusted;

pub(crate) use access::{Access, Accesses};
pub(crate) use kept::Kept;
pub(crate) use kind::{AccessKind, MemoryKind};
pub(crate) use span::Span;

/// The last uses of one allocation, with at most one entry per stream.
///
/// The owner of the allocation has it, and frees the memory through [`Usage::release`]. Graphs that work on the
/// allocation [keep](Usage::keep) it, and delay the release until they are dropped.
#[derive(Default)]
pub(crate) struct Usage(Arc<Uses>);

#[derive(Default)]
struct Uses {
    kind: MemoryKind,
    /// Whether two threads may queue conflicting work without a borrow that orders them.
    concurrent: bool,
    /// Number of graphs that keep the allocation. Changed with `state` locked.
    keepers: AtomicUsize,
    /// Number of those that can still be launched. Changed with `state` locked.
    live: AtomicUsize,
    home: Home,
    state: Mutex<State>,
}

/// The tickets of one stream, most often the only one that uses the allocation.
///
/// A thread writes them with the queue of that stream locked, and no other lock. It changes the stream only with the
/// queue of the old stream locked too (and `state`), so that no ticket is lost. A reader without that lock is ordered
/// after earlier writes by its borrow of the memory, or by [`order`].
#[derive(Default)]
struct Home {
    /// The stream's id; 0 for none.
    stream: AtomicU64,
    /// Ticket of the last work on the stream that reads; 0 for none.
    read: AtomicU64,
    /// Ticket of the last work on the stream that writes; 0 for none.
    write: AtomicU64,
    /// Whether there are other uses to check: of other streams, of graphs, of threads without a borrow between them.
    /// Changed with `state` locked.
    shared: AtomicBool,
}

impl Home {
    /// Records a use. The caller must have the stream's queue locked.
    #[inline]
    fn note(&self, kind: AccessKind, ticket: u64) {
        // No `max` needed: tickets only grow while the queue is locked.
        match kind {
            AccessKind::Read => self.read.store(ticket, Ordering::Relaxed),
            AccessKind::Write => self.write.store(ticket, Ordering::Relaxed),
        }
    }

    /// Returns the last ticket whose work conflicts with an access of `kind`.
    fn conflicting(&self, kind: AccessKind) -> u64 {
        conflicting(kind, self.read.load(Ordering::Relaxed), self.write.load(Ordering::Relaxed))
    }
}

/// Returns the last of the reading and writing tickets that conflicts with an access of `kind`.
fn conflicting(kind: AccessKind, read: u64, write: u64) -> u64 {
    match kind {
        AccessKind::Read => write,
        AccessKind::Write => read.max(write),
    }
}

#[derive(Default)]
struct State {
    /// The stream of [`Home`].
    home: Option<Arc<StreamInner>>,
    /// The uses of other streams.
    uses: Vec<Use>,
    /// The owner's release, deferred until the last keeper is dropped.
    release: Option<Box<dyn FnOnce() + Send>>,
    /// Spans that graphs write which can still be launched.
    writes: Vec<Span>,
    /// Spans that such graphs rely on.
    trusts: Vec<Trusted>,
}

struct Use {
    stream: Arc<StreamInner>,
    /// Ticket of the last work on `stream` that reads; 0 for none.
    read: u64,
    /// Ticket of the last work on `stream` that writes; 0 for none.
    write: u64,
}

impl Use {
    fn note(&mut self, kind: AccessKind, ticket: u64) {
        match kind {
            AccessKind::Read => self.read = self.read.max(ticket),
            AccessKind::Write => self.write = self.write.max(ticket),
        }
    }
}

/// Work that must be over first: all of `stream` up to `ticket`.
pub(crate) struct Pending {
    pub(crate) stream: Arc<StreamInner>,
    pub(crate) ticket: u64,
}

/// Held while work on memory that a graph keeps collects its waits, until it has marked the memory.
static ORDER: Mutex<()> = Mutex::new(());

pub(crate) fn order() -> MutexGuard<'static, ()> {
    ORDER.lock()
}

/// Frees an allocation: now if nothing uses it, else later.
fn give_back(usage: &Usage, free: impl FnOnce() + Send + 'static) {
    let blockers = usage.blockers();
    if blockers.is_empty() && !context::is_no_place() { free() } else { later::leave(blockers, free) }
}

impl Usage {
    /// Creates the usage of memory that the host borrows as slices.
    pub(crate) fn host() -> Self {
        Self(Arc::new(Uses { kind: MemoryKind::Host, ..Uses::default() }))
    }

    /// Creates the usage of memory that ends with a borrow: the caller's own memory, registered with the runtime.
    pub(crate) fn borrowed() -> Self {
        Self(Arc::new(Uses { kind: MemoryKind::Borrowed, ..Uses::default() }))
    }

    /// Creates the usage of a module and its variables.
    pub(crate) fn module() -> Self {
        Self(Arc::new(Uses { kind: MemoryKind::Module, ..Uses::default() }))
    }

    /// Creates the usage of a resource that several threads may use in conflicting ways. Their work runs one after the
    /// other.
    pub(crate) fn concurrent() -> Self {
        Self(Arc::new(Uses { concurrent: true, ..Uses::default() }))
    }

    /// Like [`concurrent`](Self::concurrent), for a resource whose owner can end it at any time, so no graph can keep
    /// it.
    pub(crate) fn concurrent_without_graphs() -> Self {
        Self(Arc::new(Uses { kind: MemoryKind::Borrowed, concurrent: true, ..Uses::default() }))
    }

    /// Returns another handle of the same usage, for a part of the allocation that has its own owner.
    pub(crate) fn shared(&self) -> Self {
        self.clone_handle()
    }

    /// Returns whether several threads, and branches of a graph, may use it in conflicting ways.
    pub(crate) fn is_concurrent(&self) -> bool {
        self.0.concurrent
    }

    /// Returns whether both are of the same allocation.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn memory_kind(&self) -> MemoryKind {
        self.0.kind
    }

    /// Returns the kind that an access of `kind` counts as, unless it is a launch of this module.
    fn kind_of(&self, kind: AccessKind) -> AccessKind {
        if self.0.kind == MemoryKind::Module { AccessKind::Write } else { kind }
    }

    fn clone_handle(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// Returns whether a graph keeps the allocation, and may use it without a borrow.
    #[inline]
    pub(crate) fn is_kept(&self) -> bool {
        self.0.keepers.load(Ordering::Relaxed) != 0
    }

    /// Returns whether work on it must hold [`order`], so that collecting the waits and recording the use are one
    /// atomic step.
    #[inline]
    pub(crate) fn needs_order(&self) -> bool {
        self.0.concurrent || self.is_kept()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    /// Adds the work that must come before an access of `kind` and is not known to be over: writes before a read, all
    /// work before a write.
    pub(crate) fn pending(&self, kind: AccessKind, out: &mut Vec<Pending>) {
        let state = self.lock();
        let home = state.home.iter().map(|stream| (stream, self.0.home.conflicting(kind)));
        let others = state.uses.iter().map(|used| (&used.stream, conflicting(kind, used.read, used.write)));
        for (stream, ticket) in home.chain(others) {
            if ticket > stream.completed() {
                match out.iter_mut().find(|p| Arc::ptr_eq(&p.stream, stream)) {
                    Some(known) => known.ticket = known.ticket.max(ticket),
                    None => out.push(Pending { stream: Arc::clone(stream), ticket }),
                }
            }
        }
    }

    /// Records a use as [`mark`](Self::mark) does, if nothing else is needed: neither [`order`] nor a wait for another
    /// stream. The caller must have the queue of `stream` locked.
    #[inline]
    pub(crate) fn mark_alone(&self, stream: &Arc<StreamInner>, kind: AccessKind, ticket: u64) -> bool {
        let home = &self.0.home;
        if home.stream.load(Ordering::Relaxed) == stream.id() && !home.shared.load(Ordering::Relaxed) {
            home.note(kind, ticket);
            if !self.0.concurrent {
                return true;
            }
            // Another thread may be in `claim`: either it sees this ticket, or this thread sees its claim, and waits. `home` does not
            // change its stream, as its queue is locked.
            fence(Ordering::SeqCst);
            return !home.shared.load(Ordering::Relaxed);
        }
        !self.needs_order() && self.mark_beside(stream, kind, ticket)
    }

    /// Updates the flag that says whether there are uses beyond [`Home`]'s stream.
    fn note_others(&self, state: &State) {
        self.0.home.shared.store(self.is_kept() || !state.uses.is_empty(), Ordering::Relaxed);
    }

    /// Call this with [`order`] held, before collecting the work that a use must wait for: a thread that concurrently
    /// uses the allocation on the stream of [`Home`] either sees the claim, or its use is seen. [`mark`](Self::mark)
    /// ends the claim.
    pub(crate) fn claim(&self) {
        if self.0.concurrent {
            self.0.home.shared.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        }
    }

    /// Records a use if no other stream's work must be waited for, and no entry has to be removed.
    fn mark_beside(&self, stream: &Arc<StreamInner>, kind: AccessKind, ticket: u64) -> bool {
        let mut state = self.lock();
        let State { home, uses, .. } = &mut *state;
        let beside = |other: &Arc<StreamInner>, read: u64, write: u64| {
            let completed = other.completed();
            Arc::ptr_eq(other, stream) || read.max(write) > completed && conflicting(kind, read, write) <= completed
        };
        let (read, write) = (&self.0.home.read, &self.0.home.write);
        let Some(home) = home else {
            self.move_in(&mut state, stream, kind, ticket);
            return true;
        };
        if !beside(home, read.load(Ordering::Relaxed), write.load(Ordering::Relaxed))
            || !uses.iter().all(|used| beside(&used.stream, used.read, used.write))
        {
            return false;
        }
        if Arc::ptr_eq(home, stream) {
            self.0.home.note(kind, ticket);
            return true;
        }
        let own = uses.iter_mut().find(|used| Arc::ptr_eq(&used.stream, stream));
        match own {
            Some(own) => own.note(kind, ticket),
            None => {
                let mut own = Use { stream: Arc::clone(stream), read: 0, write: 0 };
                own.note(kind, ticket);
                uses.push(own);
                self.note_others(&state);
            }
        }
        true
    }

    /// Makes `stream`, whose queue is locked, the stream of [`Home`], which is empty.
    fn move_in(&self, state: &mut State, stream: &Arc<StreamInner>, kind: AccessKind, ticket: u64) {
        let home = &self.0.home;
        home.note(kind, ticket);
        home.stream.store(stream.id(), Ordering::Relaxed);
        state.home = Some(Arc::clone(stream));
    }

    /// Records that the work with `ticket` on `stream`, whose queue the caller has locked, touches this allocation.
    ///
    /// Entries whose work is over are moved to `retired`, for the caller to drop after it has released its locks: an
    /// entry may hold the last handle of its stream, whose destructor waits and makes its own device current.
    pub(crate) fn mark(
        &self,
        stream: &Arc<StreamInner>,
        kind: AccessKind,
        ticket: u64,
        retired: &mut Vec<Arc<StreamInner>>,
    ) {
        let home = &self.0.home;
        let mut state = self.lock();
        // An entry is only removed when its work is over. A later use does not replace it, because two threads may mark in either order.
        if let Some(other) = state.home.take_if(|other| !Arc::ptr_eq(other, stream)) {
            // Its tickets do not change while we hold its queue. If another thread has the queue locked, the entry stays.
            let queue = other.try_lock();
            if queue.is_some() && home.conflicting(AccessKind::Write) <= other.completed() {
                home.stream.store(0, Ordering::Relaxed);
                home.note(AccessKind::Read, 0);
                home.note(AccessKind::Write, 0);
                drop(queue);
                retired.push(other);
            } else {
                drop(queue);
                state.home = Some(other);
            }
        }
        let mut index = 0;
        while index < state.uses.len() {
            let used = &state.uses[index];
            if !Arc::ptr_eq(&used.stream, stream) && used.read.max(used.write) <= used.stream.completed() {
                retired.push(state.uses.swap_remove(index).stream);
            } else {
                index += 1;
            }
        }
        // Invariant after this: if `home` has no stream, `uses` is empty.
        let own = state.uses.iter().position(|used| Arc::ptr_eq(&used.stream, stream));
        match (own, state.home.is_some()) {
            _ if home.stream.load(Ordering::Relaxed) == stream.id() => home.note(kind, ticket),
            (Some(own), true) => state.uses[own].note(kind, ticket),
            (None, true) => {
                let mut used = Use { stream: Arc::clone(stream), read: 0, write: 0 };
                used.note(kind, ticket);
                state.uses.push(used);
            }
            (own, false) => {
                if let Some(used) = own.map(|own| state.uses.swap_remove(own)) {
                    home.note(AccessKind::Read, used.read);
                    home.note(AccessKind::Write, used.write);
                }
                self.move_in(&mut state, stream, kind, ticket);
            }
        }
        self.note_others(&state);
    }

    /// Returns the work that uses the allocation and is not known to be over.
    fn blockers(&self) -> Vec<Blocker> {
        let mut pending = Vec::new();
        self.pending(AccessKind::Write, &mut pending);
        pending
            .into_iter()
            .filter(|work| work.stream.verdict(work.ticket) != Verdict::Over)
            .map(|work| (work.stream as Arc<dyn Queue>, work.ticket))
            .collect()
    }
}

#[cfg(test)]
mod tests;
