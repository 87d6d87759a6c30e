//! Process exit while other threads are still using the HIP runtime.
//!
//! HIP destroys its devices and queues in an exit handler, even if other threads still use them: a thread whose wait
//! for a signal ends then returns into freed memory. So when the exiting thread destroys the first HSA object, every
//! other thread that enters or leaves HSA is blocked there until the process ends. The block has a time limit, since
//! HIP may wait for a lock that a blocked thread holds. Two things continue. A store by the exiting thread to a signal
//! releases its waiters, because HIP ends its own threads that way and waits for them. And the threads of this library
//! keep calling the program's functions.
//!
//! Before that point, HIP frees memory that HSA does not see, but also waits for work. So other threads are then
//! blocked only briefly.
//!
//! Handlers of work that has completed are called before HIP destroys anything. HIP's waits do not cover these calls,
//! which would then access freed memory (a jump to 0 in HIP 7.2, when the thread that makes the calls was late).
//!
//! A thread that enters HIP while HIP is shutting down may still access freed memory. That is a bug in HIP itself.

use std::collections::HashSet;
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::events;
use crate::exempt::{exempt, is_exempt};
use crate::signal::Signal;

/// The progress of the process exit: one of the three states below.
static STATE: AtomicU8 = AtomicU8::new(AT_WORK);
const AT_WORK: u8 = 0;
/// Exit handlers are running.
const LEAVING: u8 = 1;
/// An HSA object has been destroyed.
const TAKEN_DOWN: u8 = 2;

/// The process that registered the exit handler.
static PROCESS: AtomicI32 = AtomicI32::new(0);
/// The thread that is ending the process.
static LEAVER: AtomicI32 = AtomicI32::new(0);
/// The time until which other threads are blocked, in [ticks](events::now).
static HELD_UP: AtomicU64 = AtomicU64::new(0);
/// Threads that have called HSA.
static THREADS: Mutex<Option<HashSet<i32>>> = Mutex::new(None);
/// Handles of signals that the exiting thread has stored to.
static RELEASED: Mutex<Option<HashSet<u64>>> = Mutex::new(None);

/// How long running threads are given to reach a point where they are blocked.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long due handlers are waited for: longer than a machine is ever busy, but limited.
const DUE: Duration = Duration::from_secs(2);
/// The same after each wait of the exiting thread, which may hold what the handlers need.
const DUE_LATER: Duration = Duration::from_millis(100);
/// How long threads are blocked, in ticks: before an object is destroyed, and after.
const HOLD: [u64; 2] = [events::FREQUENCY / 10, 3 * events::FREQUENCY];
const NAP: Duration = Duration::from_millis(1);

thread_local! {
    /// This thread's entry in `THREADS`.
    static THREAD: Thread = Thread::new();
}

struct Thread(i32);

impl Thread {
    fn new() -> Self {
        // SAFETY: `gettid` has no preconditions.
        let id = unsafe { libc::gettid() };
        THREADS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(id);
        Self(id)
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(threads) = &mut *THREADS.lock().unwrap_or_else(PoisonError::into_inner) {
            threads.remove(&self.0);
        }
    }
}

/// The ID of this thread; 0 during thread exit.
fn this_thread() -> i32 {
    THREAD.try_with(|thread| thread.0).unwrap_or(0)
}

/// Registers the exit handler. It runs before HIP's exit handlers if those were registered earlier.
pub(crate) fn watch() {
    // SAFETY: `getpid` has no preconditions.
    let process = unsafe { libc::getpid() };
    PROCESS.store(process, Ordering::SeqCst);
    extern "C" fn at_exit() {
        call_what_is_due(DUE);
        LEAVER.store(this_thread(), Ordering::SeqCst);
        HELD_UP.store(events::now() + HOLD[0], Ordering::SeqCst);
        STATE.store(LEAVING, Ordering::SeqCst);
        let_others_arrive();
    }
    // SAFETY: the function remains valid, as the library is never unloaded. If the registration fails, process exit is not watched.
    let _ = unsafe { libc::atexit(at_exit) };
}

/// Waits for the calls of handlers whose work has completed.
fn call_what_is_due(longest: Duration) {
    // SAFETY: `getpid` has no preconditions.
    let forked = unsafe { libc::getpid() } != PROCESS.load(Ordering::SeqCst);
    // A thread of the library's own may be the one that calls them; a forked child has none of these threads.
    if forked || is_exempt() {
        return;
    }
    if let Some(runtime) = crate::runtime::ever() {
        runtime.handlers.settle(&runtime.signals, longest);
    }
}

/// Whether this thread is to stay where it is, for now.
fn is_held_up() -> bool {
    let goes_on = this_thread() == LEAVER.load(Ordering::SeqCst) || is_exempt();
    !goes_on && events::now() < HELD_UP.load(Ordering::SeqCst)
}

/// Called at the start of each function: blocks every thread except the exiting one.
pub(crate) fn enter() {
    let _ = THREAD.try_with(|_| ());
    while STATE.load(Ordering::Relaxed) != AT_WORK && is_held_up() {
        std::thread::sleep(NAP);
    }
}

/// Called at the end of a wait for signals: blocks likewise, unless the exiting thread has stored to one of them.
pub(crate) fn after_wait(signals: impl Fn() -> Vec<Signal>) {
    if STATE.load(Ordering::SeqCst) == AT_WORK {
        return;
    }
    if this_thread() == LEAVER.load(Ordering::SeqCst) {
        // The exiting thread will free what belongs to the completed work.
        return call_what_is_due(DUE_LATER);
    }
    let signals = signals();
    while is_held_up() && !are_released(&signals) {
        std::thread::sleep(NAP);
    }
}

/// Returns whether the exiting thread has stored to one of these signals. This thread is then exempt.
fn are_released(signals: &[Signal]) -> bool {
    let released = RELEASED.lock().unwrap_or_else(PoisonError::into_inner);
    let handle = |signal: &Signal| signal.handle().handle;
    let found =
        released.as_ref().is_some_and(|released| signals.iter().any(|signal| released.contains(&handle(signal))));
    if found {
        exempt();
    }
    found
}

/// Called after a store to a signal.
pub(crate) fn stored(signal: Signal) {
    if STATE.load(Ordering::Relaxed) != AT_WORK && this_thread() == LEAVER.load(Ordering::SeqCst) {
        let mut released = RELEASED.lock().unwrap_or_else(PoisonError::into_inner);
        released.get_or_insert_default().insert(signal.handle().handle);
    }
}

/// Called before an HSA object is destroyed.
pub(crate) fn take_down() {
    if STATE.load(Ordering::Relaxed) == LEAVING && this_thread() == LEAVER.load(Ordering::SeqCst) {
        HELD_UP.store(events::now() + HOLD[1], Ordering::SeqCst);
        STATE.store(TAKEN_DOWN, Ordering::SeqCst);
        let_others_arrive();
    }
}

/// Gives threads that are between two calls some time to reach the next one.
fn let_others_arrive() {
    let this = this_thread();
    let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default();
    let end = Instant::now() + PATIENCE;
    while threads.iter().any(|thread| *thread != this && runs(*thread)) && Instant::now() < end {
        std::thread::sleep(NAP);
    }
}

/// Returns whether a thread of this process is running or runnable.
fn runs(thread: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
    // The name may contain anything and ends at the last parenthesis; the state follows it.
    stat.is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R')))
}
