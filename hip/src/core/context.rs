//! Rules about where HIP may be called: not in a forked child, not inside a host function, not in a thread that is
//! ending.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::core::error::{Error, Result};

/// Whether the runtime has been used.
static STARTED: AtomicBool = AtomicBool::new(false);

/// Whether this process is the child of a `fork` that came after the runtime had started.
static FORKED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The state of this thread.
    static THREAD: Cell<Thread> = const { Cell::new(Thread::New) };
    /// Is dropped before HIP drops its own data of this thread.
    static END: End = const { End };
    /// Whether this thread queues work without waits between streams.
    static UNORDERED: Cell<bool> = const { Cell::new(false) };
}

/// The state of a thread, in one value, so that a call has to check only one.
#[derive(Clone, Copy, PartialEq)]
enum Thread {
    /// The thread has not called HIP through this crate; or it is the only thread of a forked child.
    New,
    /// The thread has called HIP.
    Known,
    /// The thread belongs to the runtime and runs a host function of ours.
    InHostFunction,
    /// The thread is ending: HIP drops its data of the thread, and must not be called.
    Ending,
}

/// Marks the thread as ending when it is dropped.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        THREAD.set(Thread::Ending);
    }
}

/// Returns `Ok` if HIP may be called here.
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
            // HIP creates its thread-local data in its first call, and thread-locals are dropped in reverse order: after `END`.
            // SAFETY: takes nothing.
            let _ = unsafe { hip_sys::hipPeekAtLastError() };
            // In a thread that is ending, `END` is gone.
            END.try_with(|_| THREAD.set(Thread::Known)).map_err(|_| Error::ThreadEnding)
        }
        Thread::Known => Ok(()),
        Thread::InHostFunction => Err(Error::InHostFunction),
        Thread::Ending => Err(Error::ThreadEnding),
    }
}

/// Call this as soon as the runtime is in use.
pub(crate) fn runtime_has_started() {
    STARTED.store(true, Ordering::Release);
}

pub(crate) fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Returns whether HIP must not be called here, but may be called elsewhere or later: a destructor
/// [defers](crate::later::leave) its call then.
#[inline]
pub(crate) fn is_no_place() -> bool {
    matches!(THREAD.get(), Thread::InHostFunction | Thread::Ending)
}

/// Runs the body of a host function. Calls into the runtime are errors inside.
pub(crate) fn as_host_function<R>(body: impl FnOnce() -> R) -> R {
    struct Restore(Thread);
    impl Drop for Restore {
        fn drop(&mut self) {
            // In the child of a `fork` inside of `body`, the saved state is not valid.
            THREAD.set(if is_forked() { Thread::New } else { self.0 });
        }
    }
    let _restore = Restore(THREAD.replace(Thread::InHostFunction));
    body()
}

/// Queues work from this thread without making streams wait for each other; see
/// [`crate::stream::without_stream_order`].
pub(crate) fn unordered<R>(body: impl FnOnce() -> R) -> R {
    with_unordered(true, body)
}

/// Queues work from this thread in order, even inside of [`unordered`].
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

/// Registers a handler that notices every `fork`. A child gets neither the runtime's threads nor usable locks.
#[cfg(unix)]
pub(crate) fn watch_fork() {
    extern "C" fn in_child() {
        FORKED.store(true, Ordering::Relaxed);
        // The child has only this thread and those that it starts. All of them must look at `FORKED`.
        THREAD.set(Thread::New);
    }
    type Hook = Option<extern "C" fn()>;
    unsafe extern "C" {
        fn pthread_atfork(prepare: Hook, parent: Hook, child: Hook) -> std::ffi::c_int;
    }
    // SAFETY: `in_child` is never unloaded, and only stores to an atomic and a plain thread-local, which is allowed after a fork. If the
    // registration fails (out of memory), the process runs without the check.
    let _ = unsafe { pthread_atfork(None, None, Some(in_child)) };
}

/// This system has no `fork`.
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
