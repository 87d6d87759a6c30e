//! Which streams still use a piece of memory (or a module), and until when.
//!
//! Every allocation has a [`Usage`]. Whatever is queued on a stream marks the allocations that it touches with the
//! stream and a *ticket*, the number of that piece of work on the stream. From that follows all that is needed later:
//! which streams another stream must wait for, and which the host must wait for before it touches or frees the
//! memory. Nothing is recorded on the device for it: an event is made only when one stream has to wait for another.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::context;
use crate::error::Result;
use crate::stream::StreamInner;

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
}

impl<'a> Access<'a> {
    pub(crate) fn read(usage: &'a Usage) -> Self {
        Self { usage, kind: usage.kind_of(AccessKind::Read) }
    }

    /// A launch of a kernel, of the module that it is in.
    pub(crate) fn launch(module: &'a Usage) -> Self {
        Self { usage: module, kind: AccessKind::Read }
    }

    pub(crate) fn write(usage: &'a Usage) -> Self {
        Self { usage, kind: AccessKind::Write }
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
    /// Graphs that keep the allocation. Changed with `state` locked.
    keepers: AtomicUsize,
    state: Mutex<State>,
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
    uses: Vec<Use>,
    /// What the owner left to do for the last of them.
    release: Option<Box<dyn FnOnce() + Send>>,
}

/// A graph's hold on an allocation.
pub(crate) struct Kept {
    usage: Usage,
    pub(crate) kind: AccessKind,
}

struct Use {
    stream: Arc<StreamInner>,
    /// Ticket of the last work on `stream` that reads; 0 for none.
    read: u64,
    /// Ticket of the last work on `stream` that writes; 0 for none.
    write: u64,
}

/// Work that must be over first: all of `stream` up to `ticket`.
pub(crate) struct Pending {
    pub(crate) stream: Arc<StreamInner>,
    pub(crate) ticket: u64,
}

/// Held while work on memory that a graph keeps finds out what to wait for, until it has marked the memory.
static ORDER: Mutex<()> = Mutex::new(());

pub(crate) fn order() -> MutexGuard<'static, ()> {
    ORDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for what uses an allocation, then frees it; in a host function, which may not wait, later.
fn give_back(usage: Usage, free: impl FnOnce() + Send + 'static) {
    if context::in_host_function() {
        context::put_off(Box::new(move || give_back(usage, free)));
    } else if usage.finish() && !context::is_forked() {
        free();
    }
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
    pub(crate) fn keep(&self, kind: AccessKind) -> Kept {
        let _state = self.lock();
        self.0.keepers.fetch_add(1, Ordering::Relaxed);
        Kept { usage: self.clone_handle(), kind }
    }

    fn clone_handle(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// Whether a graph keeps the allocation, and may use it without a borrow.
    pub(crate) fn is_kept(&self) -> bool {
        self.0.keepers.load(Ordering::Relaxed) != 0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The lists are whole after every statement, so a panic elsewhere does not spoil them.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Work not known to be over that must come before an access of `kind`: writes before a read, all before a write.
    pub(crate) fn pending(&self, kind: AccessKind, out: &mut Vec<Pending>) {
        for used in &self.lock().uses {
            let ticket = match kind {
                AccessKind::Read => used.write,
                AccessKind::Write => used.read.max(used.write),
            };
            if ticket > used.stream.completed() {
                match out.iter_mut().find(|p| Arc::ptr_eq(&p.stream, &used.stream)) {
                    Some(known) => known.ticket = known.ticket.max(ticket),
                    None => out.push(Pending { stream: Arc::clone(&used.stream), ticket }),
                }
            }
        }
    }

    /// Notes a use as [`mark`](Self::mark) does, if `stream` is the only one that the allocation knows of.
    pub(crate) fn mark_alone(&self, stream: &Arc<StreamInner>, kind: AccessKind, ticket: u64) -> bool {
        let uses = &mut self.lock().uses;
        match uses.as_mut_slice() {
            [] => uses.push(Use { stream: Arc::clone(stream), read: 0, write: 0 }),
            [only] if Arc::ptr_eq(&only.stream, stream) => {}
            _ => return false,
        }
        match kind {
            AccessKind::Read => uses[0].read = uses[0].read.max(ticket),
            AccessKind::Write => uses[0].write = uses[0].write.max(ticket),
        }
        true
    }

    /// Notes that the work with `ticket` on `stream` touches this allocation.
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
        let uses = &mut self.lock().uses;
        // An entry is only ever left out when its work is over: one that a later use supersedes stays,
        // because two threads may mark in either order.
        let mut index = 0;
        while index < uses.len() {
            let used = &uses[index];
            if !Arc::ptr_eq(&used.stream, stream) && used.read.max(used.write) <= used.stream.completed() {
                retired.push(uses.swap_remove(index).stream);
            } else {
                index += 1;
            }
        }
        let at = match uses.iter().position(|u| Arc::ptr_eq(&u.stream, stream)) {
            Some(at) => at,
            None => {
                uses.push(Use { stream: Arc::clone(stream), read: 0, write: 0 });
                uses.len() - 1
            }
        };
        match kind {
            AccessKind::Read => uses[at].read = uses[at].read.max(ticket),
            AccessKind::Write => uses[at].write = uses[at].write.max(ticket),
        }
    }

    /// Blocks until the host may do an access of `kind`.
    pub(crate) fn wait(&self, kind: AccessKind) -> Result<()> {
        let mut pending = Vec::new();
        self.pending(self.kind_of(kind), &mut pending);
        for work in &pending {
            work.stream.wait_for(work.ticket)?;
        }
        Ok(())
    }

    /// Gives the allocation back with `free`, for a destructor: when nothing uses it any more, and no graph keeps it.
    ///
    /// If it cannot be known that nothing uses it, it is lost rather than given to others. Errors of the work that is
    /// waited for are kept for the next caller who waits for its stream.
    pub(crate) fn release(&mut self, free: impl FnOnce() + Send + 'static) {
        let mut state = self.lock();
        if self.is_kept() {
            state.release = Some(Box::new(free));
            return;
        }
        drop(state);
        give_back(self.clone_handle(), free);
    }

    /// Blocks until nothing that is queued uses the allocation; `false` if that cannot be known.
    pub(crate) fn finish(&self) -> bool {
        let mut pending = Vec::new();
        self.pending(AccessKind::Write, &mut pending);
        pending.iter().all(|work| work.stream.finish(work.ticket))
    }
}

impl Kept {
    pub(crate) fn access(&self) -> Access<'_> {
        Access { usage: &self.usage, kind: self.kind }
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
        self.usage.keep(self.kind)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let mut state = self.usage.lock();
        let last = self.usage.0.keepers.fetch_sub(1, Ordering::Relaxed) == 1;
        let release = if last { state.release.take() } else { None };
        drop(state);
        if let Some(release) = release {
            give_back(self.usage.clone_handle(), release);
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
        let first = usage.keep(AccessKind::Read);
        let second = first.clone();
        usage.release(free(&freed));
        drop(usage);
        drop(first);
        assert_eq!(freed.load(Ordering::Relaxed), 1, "a graph keeps it");
        drop(second);
        assert_eq!(freed.load(Ordering::Relaxed), 2);

        let mut usage = Usage::default();
        drop(usage.keep(AccessKind::Write));
        assert_eq!(freed.load(Ordering::Relaxed), 2, "its owner has it");
        usage.release(free(&freed));
        assert_eq!(freed.load(Ordering::Relaxed), 3);
    }
}
