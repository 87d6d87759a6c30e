//! Which streams still use a piece of memory (or a module), and until when.
//!
//! Every allocation has a [`Usage`]. Whatever is queued on a stream marks the allocations that it touches with the
//! stream and a *ticket*, the number of that piece of work on the stream. From that follows all that is needed later:
//! which streams another stream must wait for, and which the host must wait for before it touches or frees the
//! memory. Nothing is recorded on the device for it: an event is made only when one stream has to wait for another.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
        Self { usage, kind: AccessKind::Read }
    }

    pub(crate) fn write(usage: &'a Usage) -> Self {
        Self { usage, kind: AccessKind::Write }
    }
}

/// The last uses of one allocation, at most one entry a stream.
#[derive(Default)]
pub(crate) struct Usage(Mutex<Vec<Use>>);

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

impl Usage {
    fn lock(&self) -> MutexGuard<'_, Vec<Use>> {
        // The list is whole after every statement, so a panic elsewhere does not spoil it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Work not known to be over that must come before an access of `kind`: writes before a read, all before a write.
    pub(crate) fn pending(&self, kind: AccessKind, out: &mut Vec<Pending>) {
        for used in self.lock().iter() {
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
        let mut uses = self.lock();
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
        self.pending(kind, &mut pending);
        for work in &pending {
            work.stream.wait_for(work.ticket)?;
        }
        Ok(())
    }

    /// Blocks until nothing uses the allocation any more, for a destructor; `false` if that cannot be known.
    ///
    /// Errors of the work that is waited for are kept for the next caller who waits for its stream.
    pub(crate) fn finish(&mut self) -> bool {
        let mut pending = Vec::new();
        self.pending(AccessKind::Write, &mut pending);
        pending.iter().all(|work| work.stream.finish(work.ticket))
    }
}
