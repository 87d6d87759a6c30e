//! The number of captures in progress, and calls that must not be made during one.

use std::cell::Cell;
use std::result;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

use crate::core::context;
use crate::core::error::Error;
use crate::core::later;
use crate::core::lock::{Mutex, RwLock};
use crate::core::queue::{Blocker, Queue, Verdict};

/// The number of captures, in all threads. Locked during the calls that begin or end a capture.
static CAPTURES: RwLock<usize> = RwLock::new(0);

/// The same number, readable without a lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The threads that have begun the captures in progress.
static THREADS: Mutex<Vec<ThreadId>> = Mutex::new(Vec::new());

thread_local! {
    /// Whether this thread is inside of [`apart_from_captures`].
    static APART: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread is in a capture.
pub(super) fn is_capturing() -> bool {
    COUNT.load(Ordering::Acquire) != 0 && THREADS.lock().contains(&thread::current().id())
}

/// A queue that stands for all captures: its work is over when there are none.
pub(super) struct Captures;

impl Queue for Captures {
    fn id(&self) -> u64 {
        u64::MAX // never the id of a stream
    }

    fn verdict(&self, _: u64) -> Verdict {
        // A thread that waits for the deferred jobs may itself be in a capture: it would wait for itself.
        if COUNT.load(Ordering::Acquire) == 0 || later::is_pressed() { Verdict::Over } else { Verdict::Open }
    }

    fn ask(&self) {}
}

/// Returns the blocker of a call that must not be made during a capture.
pub(super) fn blocker() -> Option<Blocker> {
    (COUNT.load(Ordering::Acquire) != 0).then(|| (Arc::new(Captures) as Arc<dyn Queue>, 0))
}

/// Runs `call`, which fails while a stream is captured, unless a capture is in progress. No capture begins meanwhile.
///
/// HIP keeps a set of the streams that are being captured. Calls that wait for the device or use its default stream
/// read that set without a lock: they invalidate all captures in it, or crash if another thread inserts one at the same
/// time. This crate makes such calls only through this function.
pub(crate) fn apart_from_captures<R>(call: impl FnOnce() -> R) -> Option<R> {
    // `call` may drop objects whose destructors call this again. Locking again would deadlock with a thread that waits for this one.
    if APART.get() {
        return Some(call());
    }
    let captures = CAPTURES.read();
    (*captures == 0).then(|| {
        let _inside = Inside::enter();
        call()
    })
}

/// Marks this thread as inside of [`apart_from_captures`] until it is dropped.
struct Inside;

impl Inside {
    fn enter() -> Self {
        APART.set(true);
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        APART.set(false);
    }
}

/// Makes `begin`, the call that begins a capture of this thread, and counts the capture if the call succeeds. Returns
/// `None` without making it while another thread is inside of [`apart_from_captures`].
pub(super) fn try_begin<E>(begin: impl FnOnce() -> result::Result<(), E>) -> Option<result::Result<(), E>> {
    let mut captures = CAPTURES.try_write()?;
    let begun = begin();
    if begun.is_ok() {
        *captures += 1;
        THREADS.lock().push(thread::current().id());
        COUNT.store(*captures, Ordering::Release);
    }
    Some(begun)
}

/// Blocks until [`try_begin`] may succeed.
pub(super) fn wait_to_begin() {
    drop(CAPTURES.write());
}

/// Makes `end`, the call that ends a capture of this thread, which then is no longer counted.
pub(super) fn end<R>(end: impl FnOnce() -> R) -> R {
    let mut captures = CAPTURES.write();
    uncount(&mut captures, thread::current().id());
    end()
}

fn uncount(captures: &mut usize, thread: ThreadId) {
    *captures -= 1;
    COUNT.store(*captures, Ordering::Release);
    let mut threads = THREADS.lock();
    if let Some(at) = threads.iter().position(|&other| other == thread) {
        threads.swap_remove(at);
    }
}

/// A capture that another crate makes, of a stream that this crate does not own. It is counted until it is dropped:
/// meanwhile, the calls of this crate that would invalidate it ([`wait_for_device`](crate::interop::wait_for_device))
/// wait.
#[must_use = "the capture is no longer counted when it is dropped"]
#[derive(Debug)]
pub struct ForeignCapture {
    /// The thread that began it.
    thread: ThreadId,
}

impl ForeignCapture {
    /// Makes `begin`, the call that begins the capture (`hipStreamBeginCapture`), when no thread waits for a device.
    ///
    /// # Errors
    /// The error of `begin`; [`Error::InHostFunction`] and others for a thread in which HIP cannot be called.
    #[doc(alias = "hipStreamBeginCapture")]
    pub fn begin<E: From<Error>>(begin: impl FnOnce() -> result::Result<(), E>) -> result::Result<Self, E> {
        context::check_caller()?;
        let mut begin = Some(begin);
        loop {
            if let Some(begun) = try_begin(|| begin.take().map_or(Ok(()), |begin| begin())) {
                return begun.map(|()| Self { thread: thread::current().id() });
            }
            wait_to_begin();
        }
    }

    /// Makes `end`, the call that ends the capture (`hipStreamEndCapture`), when no thread waits for a device. If `end`
    /// succeeds, drop this value.
    #[doc(alias = "hipStreamEndCapture")]
    pub fn end<R>(&mut self, end: impl FnOnce() -> R) -> R {
        let _captures = CAPTURES.write();
        end()
    }
}

impl Drop for ForeignCapture {
    fn drop(&mut self) {
        if !context::is_forked() {
            uncount(&mut CAPTURES.write(), self.thread);
        }
    }
}
