//! What the calling thread and process may do: no HIP in a forked child, none inside of a host function, none in a thread that is
//! ending.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::core::error::{Error, Result};

/// Whether the runtime has been used.
static STARTED: AtomicBool = AtomicBool::new(false);

/// Whether this process is the child of a `fork` that came after the runtime had started.
static FORKED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// What this thread is to HIP.
    static THREAD: Cell<Thread> = const { Cell::new(Thread::New) };
    /// Ends before what HIP keeps for the thread does.
    static END: End = const { End };
    /// Whether this thread queues work without waits between streams.
    static UNORDERED: Cell<bool> = const { Cell::new(false) };
}

/// What a thread is to HIP: one value, so that a call looks at one.
#[derive(Clone, Copy, PartialEq)]
enum Thread {
    /// It has not called HIP by way of this crate; or it is the one that is left in a forked child.
    New,
    /// It has, and goes on.
    Known,
    /// It is one of the runtime's, in a host function of ours.
    InHostFunction,
    /// It ends: HIP gives up what it keeps for it, and may not be called.
    Ending,
}

/// Says at the end of a thread that it ends.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        THREAD.set(Thread::Ending);
    }
}

/// `Ok` where calls into the runtime can be made.
#[inline]
pub(crate) fn check_caller() -> Result<()> {
    if THREAD.get() == Thread::Known { Ok(()) } else { check_slowly() }
}

#[cold]
fn check_slowly() -> Result<()> {
    if FORKED.load(Ordering::Relaxed) {
        return Err(Error::ForkedChild);
    }
    match THREAD.get() {
        Thread::New if !STARTED.load(Ordering::Acquire) => Ok(()),
        Thread::New => {
            // What HIP keeps for a thread begins with its first call, and ends in the reverse order: after `END`.
            // SAFETY: takes nothing.
            let _ = unsafe { hip_sys::hipPeekAtLastError() };
            // A thread that is ending already has no `END` any more.
            END.try_with(|_| THREAD.set(Thread::Known)).map_err(|_| Error::ThreadEnding)
        }
        Thread::Known => Ok(()),
        Thread::InHostFunction => Err(Error::InHostFunction),
        Thread::Ending => Err(Error::ThreadEnding),
    }
}

/// To be called once the runtime is in use.
pub(crate) fn runtime_has_started() {
    STARTED.store(true, Ordering::Release);
}

pub(crate) fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Whether HIP may not be called here and now, but elsewhere or later: a destructor [leaves](crate::later::leave) it.
#[inline]
pub(crate) fn is_no_place() -> bool {
    matches!(THREAD.get(), Thread::InHostFunction | Thread::Ending)
}

/// Runs what a host function does, so that no call into the runtime is made in it.
pub(crate) fn as_host_function<R>(body: impl FnOnce() -> R) -> R {
    struct Restore(Thread);
    impl Drop for Restore {
        fn drop(&mut self) {
            // What the thread was does not hold for the child of a `fork` inside.
            THREAD.set(if is_forked() { Thread::New } else { self.0 });
        }
    }
    let _restore = Restore(THREAD.replace(Thread::InHostFunction));
    body()
}

/// Queues work from this thread without making streams wait for each other: see [`crate::stream::without_stream_order`].
pub(crate) fn unordered<R>(body: impl FnOnce() -> R) -> R {
    with_unordered(true, body)
}

/// Queues work from this thread that has to come after what it must, even inside of [`unordered`].
pub(crate) fn ordered<R>(body: impl FnOnce() -> R) -> R {
    if is_unordered() { with_unordered(false, body) } else { body() }
}

pub(crate) fn is_unordered() -> bool {
    UNORDERED.get()
}

fn with_unordered<R>(value: bool, body: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            UNORDERED.set(self.0);
        }
    }
    let _restore = Restore(UNORDERED.replace(value));
    body()
}

/// Notices every `fork` from now on. Neither the runtime's threads nor its locks come along into the child.
#[cfg(unix)]
pub(crate) fn watch_fork() {
    extern "C" fn in_child() {
        FORKED.store(true, Ordering::Relaxed);
        // The child has this thread only, and threads that it starts: all have to look at `FORKED`.
        THREAD.set(Thread::New);
    }
    type Hook = Option<extern "C" fn()>;
    unsafe extern "C" {
        fn pthread_atfork(prepare: Hook, parent: Hook, child: Hook) -> std::ffi::c_int;
    }
    // SAFETY: `in_child` stays for ever and only stores to an atomic and a plain thread-local, which is allowed after a fork. Failure (no memory)
    // leaves the process without the check.
    let _ = unsafe { pthread_atfork(None, None, Some(in_child)) };
}

/// There is no `fork` to watch for.
#[cfg(not(unix))]
pub(crate) fn watch_fork() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_holds_for_a_scope_and_ends_with_a_panic() {
        assert!(check_caller().is_ok());
        as_host_function(|| {
            assert!(matches!(check_caller(), Err(Error::InHostFunction)));
            as_host_function(|| assert!(is_no_place()));
            assert!(is_no_place(), "nested");
            std::thread::spawn(|| assert!(!is_no_place())).join().unwrap();
        });
        unordered(|| {
            ordered(|| assert!(!is_unordered()));
            assert!(is_unordered());
        });
        let _ = std::panic::catch_unwind(|| unordered(|| panic!("as asked")));
        assert!(!is_no_place() && !is_unordered());
    }
}
