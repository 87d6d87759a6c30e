//! Which streams still use a piece of memory (or a module), and until when.
//!
//! Every allocation has a [`Usage`]. Whatever is queued on a stream marks the allocations that it touches with the
//! stream and a *ticket*, the number of that piece of work on the stream. From that follows all that is needed later:
//! which streams another stream must wait for, and which the host must wait for before it touches or frees the
//! memory. Nothing is recorded on the device for it: an event is made only when one stream has to wait for another.

use std::ffi::c_void;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};

use smallvec::SmallVec;

use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::later::{self, Blocker, Queue, Verdict};
use crate::core::lock::{Mutex, MutexGuard};
use crate::stream::StreamInner;
use crate::stream::of_device::{when_idle, when_idle_apart};

/// What a piece of work does with an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    Read,
    /// Writes, and perhaps reads too.
    Write,
}

/// One allocation that a piece of work touches.
#[derive(Clone, Copy)]
pub(crate) struct Access<'a> {
    pub(crate) usage: &'a Usage,
    pub(crate) kind: AccessKind,
    /// The addresses that a write changes, as far as known.
    span: Span,
    /// The freeze whose content the work relies on.
    pub(crate) freeze: Option<FreezeId>,
}

/// Addresses of a device from `start` to before `end`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    start: usize,
    end: usize,
}

impl Span {
    /// All of an allocation.
    pub(crate) const ALL: Self = Self { start: 0, end: usize::MAX };

    pub(crate) fn new(start: *mut c_void, bytes: usize) -> Self {
        let start = start.addr();
        Self { start, end: start.saturating_add(bytes) }
    }

    fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }
}

impl<'a> Access<'a> {
    pub(crate) fn new(usage: &'a Usage, kind: AccessKind) -> Self {
        Self { usage, kind, span: Span::ALL, freeze: None }
    }

    pub(crate) fn read(usage: &'a Usage) -> Self {
        Self::new(usage, usage.kind_of(AccessKind::Read))
    }

    /// Reads memory whose content was checked.
    pub(crate) fn read_frozen(freeze: &'a Freeze) -> Self {
        Self { freeze: freeze.id, ..Self::new(&freeze.usage, AccessKind::Read) }
    }

    /// A launch of a kernel, of the module that it is in.
    pub(crate) fn launch(module: &'a Usage) -> Self {
        Self::new(module, AccessKind::Read)
    }

    pub(crate) fn write(usage: &'a Usage) -> Self {
        Self::new(usage, AccessKind::Write)
    }

    /// Writes to a part of the allocation.
    pub(crate) fn write_span(usage: &'a Usage, span: Span) -> Self {
        Self { span, ..Self::write(usage) }
    }

    /// `Ok` if the owner of the memory, or who has it borrowed, may do the access now.
    pub(crate) fn expect_allowed(&self) -> Result<()> {
        self.usage.expect_allowed(self.kind, self.span)
    }
}

/// What a piece of work touches, in whatever form it is at hand.
pub(crate) trait Accesses<'a>: Copy {
    /// Whether `test` holds for all of them. It is asked of each until it does not.
    fn all(self, test: impl FnMut(Access<'a>) -> bool) -> bool;

    /// All of them.
    fn list(self) -> SmallVec<[Access<'a>; 8]> {
        let mut list = SmallVec::new();
        self.all(|access| {
            list.push(access);
            true
        });
        list
    }
}

impl<'a> Accesses<'a> for &[Access<'a>] {
    #[inline]
    fn all(self, mut test: impl FnMut(Access<'a>) -> bool) -> bool {
        self.iter().all(|access| test(*access))
    }
}

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
    /// How many graphs write to the allocation that can still be launched.
    writers: usize,
    /// Freezes that somebody holds: their owners, or graphs that can still be launched.
    freezes: Vec<Held>,
}

/// Names a freeze of some allocation.
pub(crate) type FreezeId = NonZeroU64;

/// A freeze of an allocation.
struct Held {
    id: FreezeId,
    /// What relies on the content.
    what: &'static str,
    span: Span,
    /// Whether its [`Freeze`] exists.
    owned: bool,
    /// Graphs that rely on the content.
    graphs: usize,
}

/// The content of a part of an allocation was checked, and stays as it is: no graph that writes to the allocation exists, or can be made.
/// Graphs that were captured with it hold it too, and may outlive it: until they are gone, nobody may write to the part.
pub(crate) struct Freeze {
    usage: Usage,
    /// None where no graph can ever use the memory.
    id: Option<FreezeId>,
}

impl Drop for Freeze {
    fn drop(&mut self) {
        if let (Some(id), false) = (self.id, context::is_forked()) {
            self.usage.lock().change_freeze(id, |held| held.owned = false);
        }
    }
}

impl State {
    /// Changes a freeze, which ends when nobody holds it any more.
    fn change_freeze(&mut self, id: FreezeId, change: impl FnOnce(&mut Held)) {
        if let Some(index) = self.freezes.iter().position(|held| held.id == id) {
            let held = &mut self.freezes[index];
            change(held);
            if !held.owned && held.graphs == 0 {
                self.freezes.swap_remove(index);
            }
        }
    }

    /// `Ok` if a graph may write to the allocation.
    fn expect_thawed(&self) -> Result<()> {
        let refuse = |held: &Held| {
            let what = held.what;
            let reason = format!("its work would write to memory that has {what}, whose content was checked");
            Err(Error::Graph { reason })
        };
        self.freezes.first().map_or(Ok(()), refuse)
    }
}

/// A graph's hold on an allocation.
pub(crate) struct Kept {
    usage: Usage,
    kind: AccessKind,
    /// Freezes that the graph relies on.
    freezes: SmallVec<[FreezeId; 1]>,
    /// Whether the graph can still be launched.
    live: bool,
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

    pub(crate) fn memory_kind(&self) -> MemoryKind {
        self.0.kind
    }

    /// What an access of `kind` counts as, unless it is a launch of the module that this is.
    fn kind_of(&self, kind: AccessKind) -> AccessKind {
        if self.0.kind == MemoryKind::Module { AccessKind::Write } else { kind }
    }

    /// Keeps the allocation for a graph that does an access of `kind`.
    ///
    /// # Errors
    /// [`Error::Graph`] for a write to memory that is frozen.
    pub(crate) fn keep(&self, kind: AccessKind) -> Result<Kept> {
        let mut state = self.lock();
        if kind == AccessKind::Write {
            state.expect_thawed()?;
            state.writers += 1;
        }
        self.0.live.fetch_add(1, Ordering::Relaxed);
        Ok(self.kept(&state, kind, true))
    }

    /// Keeps the allocation for something that no graph does.
    pub(crate) fn hold(&self) -> Kept {
        self.kept(&self.lock(), AccessKind::Read, false)
    }

    fn kept(&self, state: &State, kind: AccessKind, live: bool) -> Kept {
        self.0.keepers.fetch_add(1, Ordering::Relaxed);
        self.note_others(state);
        Kept { usage: self.clone_handle(), kind, freezes: SmallVec::new(), live }
    }

    /// Whether a graph that can still be launched uses the allocation.
    pub(crate) fn is_in_graph(&self) -> bool {
        self.0.live.load(Ordering::Relaxed) != 0
    }

    /// Freezes a part of the allocation, for somebody who checks its content now. `what` names what it is.
    ///
    /// # Errors
    /// [`Error::Graph`] if a graph writes to it, or could do so without this crate's knowing.
    pub(crate) fn freeze(&self, span: Span, what: &'static str) -> Result<Freeze> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let refused = |whose: &str| Err(Error::Graph { reason: format!("{whose} could change {what} later") });
        match self.0.kind {
            // No graph can keep it, so all that changes it has it borrowed.
            MemoryKind::Borrowed => return Ok(Freeze { usage: self.clone_handle(), id: None }),
            MemoryKind::Module => return refused("a kernel of the module that this variable is in"),
            MemoryKind::Device if self.0.concurrent => return refused("the library that this memory belongs to"),
            MemoryKind::Device | MemoryKind::Host => {}
        }
        let mut state = self.lock();
        if state.writers != 0 {
            return refused("a graph that writes to the same memory");
        }
        let id = FreezeId::new(NEXT.fetch_add(1, Ordering::Relaxed)).expect("a number of 64 bits does not overflow");
        state.freezes.push(Held { id, what, span, owned: true, graphs: 0 });
        Ok(Freeze { usage: self.clone_handle(), id: Some(id) })
    }

    /// `Ok` if who owns the memory, or has it borrowed, may do an access of `kind` to a part of it: no graph relies on what is overwritten.
    ///
    /// As long as nobody but the owner of a [`Freeze`] relies on the content, borrows protect it.
    pub(crate) fn expect_allowed(&self, kind: AccessKind, span: Span) -> Result<()> {
        if kind == AccessKind::Read || !self.is_in_graph() {
            return Ok(());
        }
        let state = self.lock();
        let in_the_way = state.freezes.iter().find(|held| held.graphs != 0 && held.span.overlaps(span));
        in_the_way.map_or(Ok(()), |held| {
            let what = held.what;
            let reason = format!("it relies on {what} in the memory that would be written to: drop the graph first");
            Err(Error::Graph { reason })
        })
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

impl Kept {
    /// What the graph does, for another graph or a launch: the access, and again for each freeze that it relies on.
    pub(crate) fn accesses(&self) -> impl Iterator<Item = Access<'_>> {
        let access = Access::new(&self.usage, self.kind);
        let relying = self.freezes.iter().map(move |&freeze| Access { freeze: Some(freeze), ..access });
        std::iter::once(access).chain(relying)
    }

    /// The graph does another access, of `kind`.
    ///
    /// # Errors
    /// [`Error::Graph`] for a write to memory that is frozen.
    pub(crate) fn add(&mut self, kind: AccessKind) -> Result<()> {
        if (self.kind, kind) == (AccessKind::Read, AccessKind::Write) {
            let mut state = self.usage.lock();
            state.expect_thawed()?;
            state.writers += 1;
            drop(state);
            self.kind = kind;
        }
        Ok(())
    }

    /// The graph relies on a freeze, which lasts as long as the graph.
    pub(crate) fn hold(&mut self, id: FreezeId) {
        if !self.freezes.contains(&id) {
            self.usage.lock().change_freeze(id, |held| held.graphs += 1);
            self.freezes.push(id);
        }
    }

    /// The graph is not launched again. What is left of it is queued work, which others wait for.
    pub(crate) fn retire(&mut self) {
        if self.live {
            self.retire_locked(&mut self.usage.lock());
            self.live = false;
        }
    }

    fn retire_locked(&self, state: &mut State) {
        self.usage.0.live.fetch_sub(1, Ordering::Relaxed);
        if self.kind == AccessKind::Write {
            state.writers -= 1;
        }
        self.freezes.iter().for_each(|&id| state.change_freeze(id, |held| held.graphs -= 1));
    }

    pub(crate) fn memory_kind(&self) -> MemoryKind {
        self.usage.memory_kind()
    }

    /// Whether both keep the same allocation.
    pub(crate) fn is(&self, usage: &Usage) -> bool {
        Arc::ptr_eq(&self.usage.0, &usage.0)
    }
}

impl Clone for Kept {
    fn clone(&self) -> Self {
        let mut state = self.usage.lock();
        if self.live {
            // Where one graph writes, or relies on a freeze, another may.
            self.usage.0.live.fetch_add(1, Ordering::Relaxed);
            if self.kind == AccessKind::Write {
                state.writers += 1;
            }
            self.freezes.iter().for_each(|&id| state.change_freeze(id, |held| held.graphs += 1));
        }
        let mut kept = self.usage.kept(&state, self.kind, self.live);
        kept.freezes.clone_from(&self.freezes);
        kept
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn memory_goes_when_its_owner_and_the_last_graph_are_gone() {
        let freed = Arc::new(AtomicU32::new(0));
        let free = |freed: &Arc<AtomicU32>| {
            let freed = Arc::clone(freed);
            move || {
                freed.fetch_add(1, Ordering::Relaxed);
            }
        };
        Usage::default().release(free(&freed));
        assert_eq!(freed.load(Ordering::Relaxed), 1, "no graph keeps it");

        let mut usage = Usage::default();
        let first = usage.keep(AccessKind::Read).unwrap();
        let second = first.clone();
        usage.release(free(&freed));
        drop(usage);
        drop(first);
        assert_eq!(freed.load(Ordering::Relaxed), 1, "a graph keeps it");
        drop(second);
        assert_eq!(freed.load(Ordering::Relaxed), 2);

        let mut usage = Usage::default();
        drop(usage.keep(AccessKind::Write).unwrap());
        assert_eq!(freed.load(Ordering::Relaxed), 2, "its owner has it");
        usage.release(free(&freed));
        assert_eq!(freed.load(Ordering::Relaxed), 3);
    }

    fn stream() -> Arc<StreamInner> {
        StreamInner::new(std::ptr::null_mut(), crate::core::device::Device::of_tests())
    }

    /// Streams and tickets of what an access has to wait for, by id.
    fn waits(usage: &Usage, kind: AccessKind) -> Vec<(u64, u64)> {
        let mut pending = Vec::new();
        usage.pending(kind, &mut pending);
        let mut waits: Vec<_> = pending.iter().map(|work| (work.stream.id(), work.ticket)).collect();
        waits.sort_unstable();
        waits
    }

    #[test]
    fn streams_use_memory_beside_each_other_until_one_writes() {
        use AccessKind::{Read, Write};
        let (usage, first, second) = (Usage::default(), stream(), stream());
        assert!(usage.mark_alone(&first, Read, 1) && usage.mark_alone(&first, Read, 2));
        assert!(usage.mark_alone(&second, Read, 7), "both read");
        assert!(usage.mark_alone(&first, Read, 3));
        assert!(!usage.mark_alone(&second, Write, 8), "the first still reads");
        assert_eq!(waits(&usage, Read), []);
        assert_eq!(waits(&usage, Write), [(first.id(), 3), (second.id(), 7)]);
        first.credit(3).unwrap();
        assert!(!usage.mark_alone(&second, Write, 8), "an entry is to be left out");
        let mut retired = Vec::new();
        usage.mark(&second, Write, 8, &mut retired);
        assert_eq!(retired.len(), 1);
        assert!(Arc::ptr_eq(&retired[0], &first));
        assert_eq!(waits(&usage, Read), [(second.id(), 8)]);
        assert!(usage.mark_alone(&second, Write, 9), "it is alone now");
        assert!(!usage.mark_alone(&first, Read, 4));
    }

    #[test]
    fn the_first_stream_stays_while_somebody_has_its_queue() {
        let (usage, first, second) = (Usage::default(), stream(), stream());
        assert!(usage.mark_alone(&first, AccessKind::Write, 1));
        first.credit(1).unwrap();
        let mut retired = Vec::new();
        let queue = first.try_lock();
        // On a thread of its own, as it would be: the queue's owner is here.
        std::thread::scope(|scope| {
            scope.spawn(|| usage.mark(&second, AccessKind::Write, 5, &mut retired));
        });
        assert!(retired.is_empty());
        assert!(!usage.mark_alone(&first, AccessKind::Write, 2), "no longer alone");
        drop(queue);
        usage.mark(&second, AccessKind::Write, 6, &mut retired);
        assert_eq!(retired.len(), 1);
        assert_eq!(waits(&usage, AccessKind::Read), [(second.id(), 6)]);
    }

    /// Of two threads that use it on two streams, one sees the other: else their work would not be in order.
    #[test]
    fn of_two_conflicting_uses_one_sees_the_other() {
        let rounds = if cfg!(miri) { 20 } else { 3_000 };
        for _ in 0..rounds {
            let usage = Usage::concurrent();
            let (first, second) = (stream(), stream());
            usage.mark(&first, AccessKind::Write, 1, &mut Vec::new());
            first.credit(1).unwrap();
            let seen = |waits: &[(u64, u64)], of: &Arc<StreamInner>| waits.iter().any(|&(id, _)| id == of.id());
            let (mine, theirs) = std::thread::scope(|scope| {
                let mine = scope.spawn(|| {
                    let queue = first.try_lock();
                    let alone = usage.mark_alone(&first, AccessKind::Write, 2);
                    drop(queue);
                    // Else it looks at the others, and sees the second.
                    !alone
                });
                let theirs = scope.spawn(|| {
                    let _order = order();
                    usage.claim();
                    let waits = waits(&usage, AccessKind::Write);
                    let queue = second.try_lock();
                    usage.mark(&second, AccessKind::Write, 1, &mut Vec::new());
                    drop(queue);
                    seen(&waits, &first)
                });
                (mine.join().unwrap(), theirs.join().unwrap())
            });
            assert!(mine || theirs);
        }
    }

    #[test]
    fn no_ticket_is_lost_however_threads_interleave() {
        let (threads, steps) = if cfg!(miri) { (3, 30) } else { (4, 5_000) };
        let usage = Usage::default();
        let streams: Vec<_> = (0..threads).map(|_| stream()).collect();
        std::thread::scope(|scope| {
            for (index, stream) in streams.iter().enumerate() {
                let usage = &usage;
                scope.spawn(move || {
                    let mut retired = Vec::new();
                    for ticket in 1..=steps {
                        let kind = if (ticket + index as u64) % 3 == 0 { AccessKind::Write } else { AccessKind::Read };
                        let queue = loop {
                            if let Some(queue) = stream.try_lock() {
                                break queue;
                            }
                            std::thread::yield_now();
                        };
                        if !usage.mark_alone(stream, kind, ticket) {
                            usage.mark(stream, kind, ticket, &mut retired);
                        }
                        drop(queue);
                        let seen = waits(usage, AccessKind::Write);
                        assert!(seen.contains(&(stream.id(), ticket)), "{ticket} is not in {seen:?}");
                        if ticket % 4 == 0 && ticket != steps {
                            stream.credit(ticket).unwrap();
                        }
                    }
                });
            }
        });
        assert_eq!(waits(&usage, AccessKind::Write), streams.iter().map(|s| (s.id(), steps)).collect::<Vec<_>>());
    }
}
