//! Groups: calls of a thread that the library queues when its outermost group ends. Until then, the library has the
//! addresses of buffers and communicators even if these are dropped, so they are kept here.

use std::cell::RefCell;

use rccl_sys::cuda::{NcclError, NcclStatus};

use super::sys;
use crate::driver::safe::LaterUse;

thread_local! {
    static OPEN: RefCell<Open> = const { RefCell::new(Open { depth: 0, uses: Vec::new(), later: Vec::new() }) };
}

/// The open groups of a thread.
struct Open {
    depth: usize,
    uses: Vec<LaterUse>,
    later: Vec<Box<dyn FnOnce()>>,
}

/// A buffer could not be ordered; the context of its stream keeps the reason.
const NOT_READY: NcclError = NcclError(sys::ncclResult_t::ncclUnhandledCudaError);

/// Records that a group has begun.
pub(super) fn begun() {
    OPEN.with_borrow_mut(|open| open.depth += 1);
}

/// Returns whether calls of this thread are queued later.
pub(super) fn is_open() -> bool {
    OPEN.with_borrow(|open| open.depth > 0)
}

/// Keeps the memory of a call until the group is queued.
pub(super) fn keep(used: LaterUse) {
    OPEN.with_borrow_mut(|open| open.uses.push(used));
}

/// Runs a job on a communicator once no group of this thread uses it any more: immediately if no group is open.
pub(super) fn later(job: impl FnOnce() + 'static) {
    // A thread in its destructors has no groups any more.
    if OPEN.try_with(|open| open.borrow().depth).unwrap_or(0) == 0 {
        return job();
    }
    OPEN.with_borrow_mut(|open| open.later.push(Box::new(job)));
}

/// Ends a group. The work of the outermost one is ordered after earlier uses of its buffers, and before later ones.
pub(super) fn end(end: impl FnOnce() -> Result<NcclStatus, NcclError>) -> Result<NcclStatus, NcclError> {
    let ending = OPEN.with_borrow_mut(|open| match open.depth {
        1 => Some((std::mem::take(&mut open.uses), std::mem::take(&mut open.later))),
        _ => None,
    });
    let Some((uses, later)) = ending else {
        let ended = end();
        OPEN.with_borrow_mut(|open| open.depth = open.depth.saturating_sub(1));
        return ended;
    };
    let guards: Vec<_> = uses.iter().map(LaterUse::before).collect();
    let ended = end();
    OPEN.with_borrow_mut(|open| open.depth = 0);
    let mut recorded = Ok(());
    for (used, guard) in uses.iter().zip(guards) {
        if let Err(reason) = guard.finish() {
            used.stream().context().record_err(Err::<(), _>(reason));
            recorded = Err(NOT_READY);
        }
    }
    drop(uses);
    later.into_iter().for_each(|job| job());
    recorded.and(ended)
}
