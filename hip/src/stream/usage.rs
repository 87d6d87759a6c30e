//! Which streams still use a piece of memory (or a module), and until when.
//!
//! Every allocation has a [`Usage`]. Whatever is queued on a stream marks the allocations that it touches with the
//! stream and a *ticket*, the number of that piece of work on the stream. From that follows all that is needed later:
//! which streams another stream must wait for, and which the host must wait for before it touches or frees the
//! memory. Nothing is recorded on the device for it: an event is made only when one stream has to wait for another.

mod access;
mod kept;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};

use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::later::{self, Blocker, Queue, Verdict};
use crate::core::lock::{Mutex, MutexGuard};
use crate::stream::StreamInner;
use crate::stream::of_device::{when_idle, when_idle_apart};

pub(crate) use access::{Access, AccessKind, Accesses, Span};
pub(crate) use kept::Kept;
use kept::Trusted;

/// The last uses of one allocation, at most one entry a stream.
///
/// The owner of the allocation has it, and gives the memory back through [`Usage::release`]; graphs that work on the
/// allocation [keep](Usage::keep) it, and put off what the owner wanted until they are gone.
#[derive(Default)]
pub(crate) struct Usage(Arc<Uses>);

#[derive(Default)]
struct Uses {
    kind: MemoryKind,
    /// Whether two threads may queue work that conflicts with no borrow between them.
    concurrent: bool,
    /// Graphs that keep the allocation. Changed with `state` locked.
    keepers: AtomicUsize,
    /// Those of them that can still be launched. Changed with `state` locked.
    live: AtomicUsize,
    home: Home,
    state: Mutex<State>,
}

/// The tickets of one stream, most often the only one that uses the allocation.
///
/// They are written by whoever has the queue of that stream locked, with no other lock, and the stream is changed only by who has
/// the queue of the one before locked too (and `state`): so no ticket is lost to a change of the stream. Who reads them without
/// that lock sees what came before by the borrows of the memory, or by [`order`].
#[derive(Default)]
struct Home {
    /// The stream's id; 0 for none.
    stream: AtomicU64,
    /// Ticket of the last work on the stream that reads; 0 for none.
    read: AtomicU64,
    /// Ticket of the last work on the stream that writes; 0 for none.
    write: AtomicU64,
    /// Whether there are other uses to look at: of other streams, of graphs, of threads with no borrow between them. Changed with
    /// `state` locked.
    shared: AtomicBool,
}

impl Home {
    /// Notes a use. The caller has the stream's queue locked.
    #[inline]
    fn note(&self, kind: AccessKind, ticket: u64) {
        // Not `max`: tickets only grow on a queue that is locked.
        match kind {
            AccessKind::Read => self.read.store(ticket, Ordering::Relaxed),
            AccessKind::Write => self.write.store(ticket, Ordering::Relaxed),
        }
    }

    /// The last ticket whose work an access of `kind` conflicts with.
    fn conflicting(&self, kind: AccessKind) -> u64 {
        conflicting(kind, self.read.load(Ordering::Relaxed), self.write.load(Ordering::Relaxed))
    }
}

/// Of the last tickets that read and that write, the last that an access of `kind` conflicts with.
fn conflicting(kind: AccessKind, read: u64, write: u64) -> u64 {
    match kind {
        AccessKind::Read => write,
        AccessKind::Write => read.max(write),
    }
}

/// Who else can get at an allocation, which decides what a graph may do with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MemoryKind {
    /// Only devices read and write it: whatever the order, no Rust reference sees it change.
    #[default]
    Device,
    /// The host borrows it as slices, which a graph that is launched later cannot know of.
    Host,
    /// It ends with a borrow, so that no graph can keep it.
    Borrowed,
    /// A module, with its variables: any launch of its kernels may use them. Launches count as reads, and go beside each
    /// other; all that others do with the variables counts as a write.
    Module,
}

#[derive(Default)]
struct State {
    /// The stream of [`Home`].
    home: Option<Arc<StreamInner>>,
    /// Those of other streams.
    uses: Vec<Use>,
    /// What the owner left to do for the last of them.
    release: Option<Box<dyn FnOnce() + Send>>,
    /// What graphs that can still be launched write.
    writes: Vec<Span>,
    /// What they rely on.
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

/// Held while work on memory that a graph keeps finds out what to wait for, until it has marked the memory.
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
    /// Of memory that the host borrows as slices.
    pub(crate) fn host() -> Self {
        Self(Arc::new(Uses { kind: MemoryKind::Host, ..Uses::default() }))
    }

    /// Of memory that ends with a borrow: the caller's own, registered with the runtime.
    pub(crate) fn borrowed() -> Self {
        Self(Arc::new(Uses { kind: MemoryKind::Borrowed, ..Uses::default() }))
    }

    /// Of a module and its variables.
    pub(crate) fn module() -> Self {
        Self(Arc::new(Uses { kind: MemoryKind::Module, ..Uses::default() }))
    }

    /// Of something that several threads may use at a time in ways that conflict, which then come one after the other.
    pub(crate) fn concurrent() -> Self {
        Self(Arc::new(Uses { concurrent: true, ..Uses::default() }))
    }

    /// As [`concurrent`](Self::concurrent), of something that ends when its owner says so, so that no graph can keep it.
    pub(crate) fn concurrent_without_graphs() -> Self {
        Self(Arc::new(Uses { kind: MemoryKind::Borrowed, concurrent: true, ..Uses::default() }))
    }

    /// The same uses once more, for a part of the allocation that has an owner of its own.
    pub(crate) fn shared(&self) -> Self {
        self.clone_handle()
    }

    /// Whether several threads, and branches of a graph, may use it at a time in ways that conflict.
    pub(crate) fn is_concurrent(&self) -> bool {
        self.0.concurrent
    }

    /// Whether both are of the same allocation.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn memory_kind(&self) -> MemoryKind {
        self.0.kind
    }

    /// What an access of `kind` counts as, unless it is a launch of the module that this is.
    fn kind_of(&self, kind: AccessKind) -> AccessKind {
        if self.0.kind == MemoryKind::Module { AccessKind::Write } else { kind }
    }

    fn clone_handle(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// Whether a graph keeps the allocation, and may use it without a borrow.
    #[inline]
    pub(crate) fn is_kept(&self) -> bool {
        self.0.keepers.load(Ordering::Relaxed) != 0
    }

    /// Whether work on it takes [`order`]: finding out what to wait for and noting the use are one.
    #[inline]
    pub(crate) fn needs_order(&self) -> bool {
        self.0.concurrent || self.is_kept()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    /// Work not known to be over that must come before an access of `kind`: writes before a read, all before a write.
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

    /// Notes a use as [`mark`](Self::mark) does, if that is all there is to do: no [`order`], no wait for another stream. The caller
    /// has the queue of `stream` locked.
    #[inline]
    pub(crate) fn mark_alone(&self, stream: &Arc<StreamInner>, kind: AccessKind, ticket: u64) -> bool {
        let home = &self.0.home;
        if home.stream.load(Ordering::Relaxed) == stream.id() && !home.shared.load(Ordering::Relaxed) {
            home.note(kind, ticket);
            if !self.0.concurrent {
                return true;
            }
            // Another thread may be in `claim`: either it sees the ticket, or this sees that it is there, and waits its turn. The stream of
            // `home` stays, as its queue is locked.
            fence(Ordering::SeqCst);
            return !home.shared.load(Ordering::Relaxed);
        }
        !self.needs_order() && self.mark_beside(stream, kind, ticket)
    }

    /// Notes whether there is more to look at than [`Home`]'s stream.
    fn note_others(&self, state: &State) {
        self.0.home.shared.store(self.is_kept() || !state.uses.is_empty(), Ordering::Relaxed);
    }

    /// Before it is found out, with [`order`] held, what a use must wait for: threads that use it on the stream of [`Home`] meanwhile see
    /// that, or are seen. [`mark`](Self::mark) ends it.
    pub(crate) fn claim(&self) {
        if self.0.concurrent {
            self.0.home.shared.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        }
    }

    /// Notes a use if there is nothing to wait for in other streams, and no entry to leave out.
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

    /// Makes `stream`, whose queue is locked, the one of [`Home`], which is empty.
    fn move_in(&self, state: &mut State, stream: &Arc<StreamInner>, kind: AccessKind, ticket: u64) {
        let home = &self.0.home;
        home.note(kind, ticket);
        home.stream.store(stream.id(), Ordering::Relaxed);
        state.home = Some(Arc::clone(stream));
    }

    /// Notes that the work with `ticket` on `stream`, whose queue the caller has locked, touches this allocation.
    ///
    /// Entries that are over go to `retired`, to be dropped when the caller is done: one may hold the last handle of its
    /// stream, which then waits and makes its own device current.
    pub(crate) fn mark(
        &self,
        stream: &Arc<StreamInner>,
        kind: AccessKind,
        ticket: u64,
        retired: &mut Vec<Arc<StreamInner>>,
    ) {
        let home = &self.0.home;
        let mut state = self.lock();
        // An entry is only ever left out when its work is over: one that a later use supersedes stays,
        // because two threads may mark in either order.
        if let Some(other) = state.home.take_if(|other| !Arc::ptr_eq(other, stream)) {
            // Its tickets stand still as long as we have its queue; if another thread has, it stays.
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
        // Without a stream of its own, there are no others either when this ends.
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

    /// Blocks until the host may do an access of `kind`.
    ///
    /// # Errors
    /// [`Error::Graph`] for a write to memory whose content a graph relies on; errors of the work that is waited for.
    pub(crate) fn wait(&self, kind: AccessKind) -> Result<()> {
        self.wait_for_part(kind, Span::ALL)
    }

    /// As [`wait`](Self::wait), for an access to a part of it.
    pub(crate) fn wait_for_part(&self, kind: AccessKind, span: Span) -> Result<()> {
        self.expect_allowed(kind, span)?;
        self.wait_for_others(kind)
    }

    /// Blocks until no queued work uses the memory, which stays as it is.
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

    /// Gives the allocation back with `free`, for a destructor: when nothing uses it any more, and no graph keeps it. Nothing is
    /// waited for here.
    ///
    /// If it cannot be known that nothing uses it, it is lost rather than given to others. Errors of the work are kept for the next
    /// caller who waits for its stream.
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

    /// As [`release`](Self::release), for a call that waits in the runtime for all work of the device: when that has none, or may be
    /// waited for.
    pub(crate) fn release_when_idle(&mut self, device: Device, free: impl FnOnce() + Send + 'static) {
        self.release(move || when_idle(device, free));
    }

    /// As [`release_when_idle`](Self::release_when_idle), for a call of other code that no capture survives.
    pub(crate) fn release_when_idle_apart(&mut self, device: Device, free: impl FnOnce() + Send + 'static) {
        self.release(move || when_idle_apart(device, free));
    }

    /// Blocks until nothing that is queued uses the allocation; `false` if that cannot be known. For what cannot be left for later.
    pub(crate) fn finish(&self) -> bool {
        self.blockers().iter().all(|(queue, ticket)| queue.wait(*ticket) == Verdict::Over)
    }

    /// Work not known to have ended that uses the allocation.
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
