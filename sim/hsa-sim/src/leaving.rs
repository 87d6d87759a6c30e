//! The end of the process, while other threads are still at work in the runtime above.
//!
//! HIP takes its devices and queues down in an exit handler, and does not care who still uses them: a thread that waits for a signal and
//! is let go then returns into what has been freed. So from the moment on at which the thread that ends the process takes the first
//! thing down in HSA, no other thread leaves HSA or enters it: there it stays until the process is gone. Not for ever, though: HIP may
//! wait for a lock that such a thread holds. Two things go on at once: what the ending thread itself stores in a signal reaches who waits
//! for it, as HIP so ends threads of its own, for which it waits; and the threads of this library call the program's functions.
//!
//! Before that HIP frees what HSA does not see, but waits for work, too. So other threads are held up for a moment only.
//!
//! What is to be called when work ends, and has ended, is called before HIP takes anything down: HIP's waits do not wait for these calls of its
//! own, which then meet what has been freed (a jump to 0 in HIP 7.2, where the thread that makes them was late).
//!
//! A thread that calls HIP anew while that takes itself down may still find nothing there. That is HIP's own.

use std::collections::HashSet;
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::events;
use crate::exempt::{exempt, is_exempt};
use crate::signal::Signal;

/// How far the process's end has come: one of the three below.
static STATE: AtomicU8 = AtomicU8::new(AT_WORK);
const AT_WORK: u8 = 0;
/// Exit handlers run.
const LEAVING: u8 = 1;
/// Something has been taken down.
const TAKEN_DOWN: u8 = 2;

/// The process that has its end watched.
static PROCESS: AtomicI32 = AtomicI32::new(0);
/// The thread that ends the process.
static LEAVER: AtomicI32 = AtomicI32::new(0);
/// Until when other threads are held up, in [ticks](events::now).
static HELD_UP: AtomicU64 = AtomicU64::new(0);
/// Threads that have called HSA.
static THREADS: Mutex<Option<HashSet<i32>>> = Mutex::new(None);
/// Handles of signals that the ending thread has stored to.
static RELEASED: Mutex<Option<HashSet<u64>>> = Mutex::new(None);

/// How long threads that run have to come to where they are held up.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long functions that are due are waited for: longer than any machine is busy, shorter than for ever.
const DUE: Duration = Duration::from_secs(2);
/// The same after each wait of the ending thread, which may have what they need.
const DUE_LATER: Duration = Duration::from_millis(100);
/// How long they are held up there, in ticks: before something is taken down, and after.
const HOLD: [u64; 2] = [events::FREQUENCY / 10, 3 * events::FREQUENCY];
const NAP: Duration = Duration::from_millis(1);

thread_local! {
    /// This thread's place among those that have called HSA.
    static THREAD: Thread = Thread::new();
}

struct Thread(i32);

impl Thread {
    fn new() -> Self {
        // SAFETY: asks for the number of the thread.
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

/// The number of this thread; 0 at its very end.
fn this_thread() -> i32 {
    THREAD.try_with(|thread| thread.0).unwrap_or(0)
}

/// Has the process's end told of. It is heard of before HIP's own exit handlers run if these were there before.
pub(crate) fn watch() {
    // SAFETY: asks for the number of the process.
    let process = unsafe { libc::getpid() };
    PROCESS.store(process, Ordering::SeqCst);
    extern "C" fn at_exit() {
        call_what_is_due(DUE);
        LEAVER.store(this_thread(), Ordering::SeqCst);
        HELD_UP.store(events::now() + HOLD[0], Ordering::SeqCst);
        STATE.store(LEAVING, Ordering::SeqCst);
        let_others_arrive();
    }
    // SAFETY: the function stays for ever, as the library is never unloaded. If the process takes no more, its end is as it was.
    let _ = unsafe { libc::atexit(at_exit) };
}

/// Lets the functions be called that wait for what has ended.
fn call_what_is_due(longest: Duration) {
    // SAFETY: asks for the number of the process.
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

/// At the start of each function: a thread other than the one that ends the process gets no further.
pub(crate) fn enter() {
    let _ = THREAD.try_with(|_| ());
    while STATE.load(Ordering::Relaxed) != AT_WORK && is_held_up() {
        std::thread::sleep(NAP);
    }
}

/// At the end of a wait for signals: likewise, unless the ending thread has stored to one of them.
pub(crate) fn after_wait(signals: impl Fn() -> Vec<Signal>) {
    if STATE.load(Ordering::SeqCst) == AT_WORK {
        return;
    }
    if this_thread() == LEAVER.load(Ordering::SeqCst) {
        // It goes on to free what belongs to the work that has ended.
        return call_what_is_due(DUE_LATER);
    }
    let signals = signals();
    while is_held_up() && !are_released(&signals) {
        std::thread::sleep(NAP);
    }
}

/// Whether the ending thread has stored to one of these signals; this thread is then let be.
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

/// After a signal was stored to.
pub(crate) fn stored(signal: Signal) {
    if STATE.load(Ordering::Relaxed) != AT_WORK && this_thread() == LEAVER.load(Ordering::SeqCst) {
        let mut released = RELEASED.lock().unwrap_or_else(PoisonError::into_inner);
        released.get_or_insert_default().insert(signal.handle().handle);
    }
}

/// Before something is taken down.
pub(crate) fn take_down() {
    if STATE.load(Ordering::Relaxed) == LEAVING && this_thread() == LEAVER.load(Ordering::SeqCst) {
        HELD_UP.store(events::now() + HOLD[1], Ordering::SeqCst);
        STATE.store(TAKEN_DOWN, Ordering::SeqCst);
        let_others_arrive();
    }
}

/// Threads that are between two calls have some time to come to the next one.
fn let_others_arrive() {
    let this = this_thread();
    let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default();
    let end = Instant::now() + PATIENCE;
    while threads.iter().any(|thread| *thread != this && runs(*thread)) && Instant::now() < end {
        std::thread::sleep(NAP);
    }
}

/// Whether a thread of this process runs, or would if there were a core for it.
fn runs(thread: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
    // The name, which may hold anything, ends with the last parenthesis; the state is what follows.
    stat.is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R')))
}
