//! Deferred jobs: cleanup that destructors postpone until the queued work in its way has ended, or until HIP may be
//! called.
//!
//! A destructor does not block. It defers cleanup that it cannot do at once. The *reaper*, a dedicated thread of this
//! crate, runs each job when the work has ended. An allocation that fails for lack of memory waits for the deferred
//! jobs and retries. An allocation also runs some jobs itself while many are deferred, because many threads may drop,
//! but there is only one reaper. No lock is held while a job runs.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Once, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hip_sys::hipError_t;

use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result, Status};
use crate::core::lock::{Mutex, MutexGuard};
use crate::core::lost;
use crate::core::queue::{Blocker, Pause, Queue, Verdict};

struct Job {
    /// Empty for a job that only waits for a place where HIP may be called.
    blockers: Vec<Blocker>,
    work: Box<dyn FnOnce() + Send>,
}

impl Job {
    /// Runs the job, or drops it if the state of its blockers is unknown. The caller has already counted it as running.
    fn run(self) {
        let before = IN_JOB.replace(true);
        // The panic hook has reported a panic of the job. It must not unwind into the thread that happens to run the job.
        let result = catch_unwind(AssertUnwindSafe(|| {
            if self.verdict() == Verdict::Over {
                lost::quietly(self.work);
            }
        }));
        if let Err(payload) = result {
            // The payload's destructor may panic.
            std::mem::forget(payload);
        }
        IN_JOB.set(before);
        DONE.fetch_add(1, Ordering::AcqRel);
        lock().running -= 1;
    }

    fn verdict(&self) -> Verdict {
        let mut all = Verdict::Over;
        for (queue, ticket) in &self.blockers {
            match queue.verdict(*ticket) {
                Verdict::Open => return Verdict::Open,
                Verdict::Unknown => all = Verdict::Unknown,
                Verdict::Over => {}
            }
        }
        all
    }
}

struct State {
    /// Jobs that do not block.
    jobs: VecDeque<Job>,
    /// Jobs that may block on a device.
    slow: VecDeque<Job>,
    /// Jobs that a thread has taken and not finished.
    running: usize,
    reaper: Reaper,
    /// Whether the process is ending: the reaper runs the deferred jobs, then stops.
    ending: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Reaper {
    NotStarted,
    Running,
    /// The thread could not be created: threads that wait run the jobs.
    Missing,
}

static STATE: Mutex<State> = Mutex::new(State {
    jobs: VecDeque::new(),
    slow: VecDeque::new(),
    running: 0,
    reaper: Reaper::NotStarted,
    ending: false,
});

impl State {
    fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.slow.is_empty()
    }

    fn all(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().chain(&self.slow)
    }

    /// Updates the counters. Call this after a change of the lists.
    fn count(&self) {
        JOBS.store(self.jobs.len() + self.slow.len(), Ordering::Release);
        QUICK.store(self.jobs.len(), Ordering::Relaxed);
        SLOW.store(self.slow.len(), Ordering::Relaxed);
    }
}

/// Notified of each change of [`STATE`].
static CHANGED: Condvar = Condvar::new();

/// Number of jobs, readable without a lock.
static JOBS: AtomicUsize = AtomicUsize::new(0);

/// Number of jobs that are not slow.
static QUICK: AtomicUsize = AtomicUsize::new(0);

/// Number of slow jobs.
static SLOW: AtomicUsize = AtomicUsize::new(0);

/// Number of finished jobs.
static DONE: AtomicUsize = AtomicUsize::new(0);

/// Number of threads that wait until all deferred jobs are done.
static PRESSED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread runs a job.
    static IN_JOB: Cell<bool> = const { Cell::new(false) };
}

/// With more jobs than this, an allocation runs some of them.
const MANY: usize = 64;

/// The same for slow jobs, which the allocation may block on.
const MANY_SLOW: usize = 64;

/// Number of jobs that such an allocation takes.
const SHARE: usize = 4;

/// Timeout of the deferred jobs at the end of the process.
const END: Duration = Duration::from_secs(10);

fn lock() -> MutexGuard<'static, State> {
    STATE.lock()
}

/// Defers `work` until all of `blockers` are over. If the state of a blocker is unknown, `work` is dropped without
/// being called.
pub(crate) fn leave(blockers: Vec<Blocker>, work: impl FnOnce() + Send + 'static) {
    leave_in(|state| &mut state.jobs, blockers, work);
}

/// Like [`leave`], for work that may block on a device.
pub(crate) fn leave_slow(blockers: Vec<Blocker>, work: impl FnOnce() + Send + 'static) {
    leave_in(|state| &mut state.slow, blockers, work);
}

fn leave_in(
    list: impl FnOnce(&mut State) -> &mut VecDeque<Job>,
    blockers: Vec<Blocker>,
    work: impl FnOnce() + Send + 'static,
) {
    if context::is_forked() {
        std::mem::forget((blockers, work)); // they belong to the parent
        return;
    }
    let mut state = lock();
    list(&mut state).push_back(Job { blockers, work: Box::new(work) });
    state.count();
    if state.reaper == Reaper::NotStarted {
        at_exit();
        let reaper = thread::Builder::new().name("hip-reaper".to_owned()).spawn(reap);
        state.reaper = if reaper.is_ok() { Reaper::Running } else { Reaper::Missing };
    }
    drop(state);
    CHANGED.notify_all();
}

/// Runs `work` now, or [later](leave) if HIP must not be called here; not at all in a forked child. For destructors.
pub(crate) fn in_time(work: impl FnOnce() + Send + 'static) {
    if context::is_no_place() || context::is_forked() { leave(Vec::new(), work) } else { lost::quietly(work) }
}

/// Call this after a thread has waited for work: the wait may have unblocked jobs of other threads.
#[inline]
pub(crate) fn catch_up() {
    if JOBS.load(Ordering::Acquire) != 0 {
        wake();
    }
}

#[cold]
fn wake() {
    if context::is_no_place() || context::is_forked() {
        return;
    }
    match lock().reaper {
        // The reaper may be asleep between two polls.
        Reaper::Running => CHANGED.notify_all(),
        _ => drop(sweep()),
    }
}

/// The result of an allocation call.
pub(crate) trait Outcome {
    /// Returns whether it failed for lack of memory.
    fn lacks_memory(&self) -> bool;

    /// Creates the result of a call that was not made.
    fn failed(error: Error) -> Self;
}

impl Outcome for hipError_t {
    fn lacks_memory(&self) -> bool {
        *self == hip_sys::hipErrorOutOfMemory
    }

    fn failed(error: Error) -> Self {
        error.status().map_or(hip_sys::hipErrorInvalidDevice, hipError_t::from)
    }
}

impl<T> Outcome for Result<T> {
    fn lacks_memory(&self) -> bool {
        self.as_ref().is_err_and(|error| error.status() == Some(Status::OUT_OF_MEMORY))
    }

    fn failed(error: Error) -> Self {
        Err(error)
    }
}

/// Calls `allocate` with the device current. If memory is insufficient, waits until the deferred jobs are done, and
/// calls it again. The caller must not hold a lock, and has made the device current, which also checked that HIP may be
/// called.
pub(crate) fn with_memory<R: Outcome>(device: &Device, mut allocate: impl FnMut() -> R) -> R {
    keep_up();
    // The deferred jobs may have made another device current.
    let mut allocate = || device.activate().map_or_else(R::failed, |()| allocate());
    let before = DONE.load(Ordering::Acquire);
    let first = allocate();
    if first.lacks_memory() && (settle() || DONE.load(Ordering::Acquire) != before) { allocate() } else { first }
}

/// Runs a few jobs if many are deferred, so that threads that create and drop objects do not outrun the reaper.
#[inline]
fn keep_up() {
    if QUICK.load(Ordering::Relaxed) > MANY {
        do_share(|state| &mut state.jobs);
    }
    if SLOW.load(Ordering::Relaxed) > MANY_SLOW {
        do_share(|state| &mut state.slow);
    }
}

#[cold]
fn do_share(list: impl Fn(&mut State) -> &mut VecDeque<Job>) {
    if context::is_no_place() || context::is_forked() || IN_JOB.get() {
        return;
    }
    for _ in 0..SHARE {
        let mut state = lock();
        let Some(job) = list(&mut state).pop_front() else { return };
        state.running += 1;
        state.count();
        drop(state);
        for (queue, ticket) in &job.blockers {
            if queue.verdict(*ticket) == Verdict::Open {
                queue.ask();
            }
        }
        if job.verdict() == Verdict::Open {
            let mut state = lock();
            list(&mut state).push_back(job);
            state.running -= 1;
            state.count();
        } else {
            job.run();
        }
        CHANGED.notify_all();
    }
}

/// Returns whether a thread waits until all deferred jobs are done: a job must not be deferred again then.
pub(crate) fn is_pressed() -> bool {
    PRESSED.load(Ordering::Acquire) != 0
}

/// Blocks until all jobs that are deferred now are done. Returns whether there were any.
pub(crate) fn settle() -> bool {
    if context::is_no_place() || context::is_forked() || IN_JOB.get() {
        return false;
    }
    struct Press;
    impl Drop for Press {
        fn drop(&mut self) {
            PRESSED.fetch_sub(1, Ordering::AcqRel);
        }
    }
    PRESSED.fetch_add(1, Ordering::AcqRel);
    let _press = Press;
    let mut any = false;
    loop {
        let state = lock();
        let next = state.all().next().map(|job| job.blockers.clone());
        if let Some(blockers) = next {
            drop(state);
            for (queue, ticket) in &blockers {
                queue.wait(*ticket);
            }
            sweep();
        } else if state.running != 0 {
            drop(CHANGED.wait(state).unwrap_or_else(PoisonError::into_inner));
        } else {
            return any;
        }
        any = true;
    }
}

fn take_due(jobs: &mut VecDeque<Job>) -> Vec<Job> {
    let due: VecDeque<Job>;
    (*jobs, due) = std::mem::take(jobs).into_iter().partition(|job| job.verdict() == Verdict::Open);
    due.into()
}

/// Runs all jobs that are due. Returns whether there were any.
fn sweep() -> bool {
    let due: Vec<Job> = {
        let mut state = lock();
        let mut due = take_due(&mut state.jobs);
        due.extend(take_due(&mut state.slow));
        state.running += due.len();
        state.count();
        due
    };
    let any = !due.is_empty();
    for job in due {
        job.run();
        CHANGED.notify_all();
    }
    any
}

/// The reaper's main loop.
fn reap() {
    let mut pause = Pause::new();
    loop {
        let mut state = lock();
        while state.is_empty() {
            if state.ending {
                return;
            }
            state = CHANGED.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let mut queues: Vec<Arc<dyn Queue>> = Vec::new();
        for (queue, ticket) in state.all().flat_map(|job| &job.blockers) {
            let asked = queues.iter().any(|known| known.id() == queue.id());
            if !asked && queue.verdict(*ticket) == Verdict::Open {
                queues.push(Arc::clone(queue));
            }
        }
        drop(state);
        queues.iter().for_each(|queue| queue.ask());
        // Dropping these may drop the last handle of a stream, and that defers more jobs.
        drop(queues);
        if sweep() {
            pause = Pause::new();
        } else {
            // A thread that has waited for work ends the pause early.
            drop(CHANGED.wait_timeout(lock(), pause.next()));
        }
    }
}

/// Hook that the end of the process calls first.
static AT_END: OnceLock<fn()> = OnceLock::new();

/// Sets the hook that is called at the end of the process while the runtime is still usable. It may defer jobs. There
/// is only one hook.
pub(crate) fn at_end(hook: fn()) {
    if AT_END.set(hook).is_ok() {
        at_exit();
    }
}

/// Runs at the end of the process: the reaper runs the deferred jobs before the runtime is unloaded, so errors of that
/// work are reported, and the reaper never calls an unloaded runtime.
fn at_exit() {
    static ONCE: Once = Once::new();
    extern "C" fn finish() {
        if context::is_forked() {
            return;
        }
        if let Some(hook) = AT_END.get() {
            hook();
        }
        let until = Instant::now() + END;
        let mut state = lock();
        state.ending = true;
        CHANGED.notify_all();
        while state.reaper == Reaper::Running && (state.running != 0 || !state.is_empty()) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = CHANGED.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
    }
    // SAFETY: `finish` is a function of this program that takes nothing, does not unwind, and is never unloaded. If the registration fails
    // (out of memory), the deferred jobs are not run.
    ONCE.call_once(|| _ = unsafe { atexit(finish) });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deferred jobs are process-wide: a test that counts or runs them must not run beside another one.
    static ALONE: Mutex<()> = Mutex::new(());

    /// A queue whose work ends when the test says so.
    struct Manual {
        over: std::sync::atomic::AtomicU64,
        unknown: bool,
        asked: AtomicUsize,
    }

    impl Manual {
        fn new(over: u64, unknown: bool) -> Arc<Self> {
            Arc::new(Self { over: over.into(), unknown, asked: AtomicUsize::new(0) })
        }
    }

    impl Queue for Manual {
        fn id(&self) -> u64 {
            std::ptr::from_ref(self).addr() as u64
        }

        fn verdict(&self, ticket: u64) -> Verdict {
            match self.over.load(Ordering::SeqCst) >= ticket {
                true => Verdict::Over,
                false if self.unknown => Verdict::Unknown,
                false => Verdict::Open,
            }
        }

        fn ask(&self) {
            self.asked.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn until(what: &str, test: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(30);
        while !test() {
            assert!(Instant::now() < end, "{what}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn work_is_done_when_what_is_in_its_way_is_over() {
        let _alone = ALONE.lock();
        let (first, second) = (Manual::new(0, false), Manual::new(0, false));
        let done = Arc::new(AtomicUsize::new(0));
        let count = |done: &Arc<AtomicUsize>| {
            let done = Arc::clone(done);
            move || _ = done.fetch_add(1, Ordering::SeqCst)
        };
        leave(vec![(first.clone(), 3), (second.clone(), 1)], count(&done));
        leave(vec![(first.clone(), 3)], || panic!("as asked"));
        until("the reaper asks", || first.asked.load(Ordering::SeqCst) > 1 && second.asked.load(Ordering::SeqCst) > 1);
        first.over.store(3, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(20));
        assert_eq!(done.load(Ordering::SeqCst), 0, "the second one is in the way");
        second.over.store(1, Ordering::SeqCst);
        until("both are over", || done.load(Ordering::SeqCst) == 1);
        // A job that another job defers runs too, also after a job that has panicked.
        let inner = count(&done);
        leave(Vec::new(), move || leave(Vec::new(), inner));
        until("a job of a job", || done.load(Ordering::SeqCst) == 2);
    }

    #[test]
    fn what_cannot_be_known_is_not_called_but_dropped() {
        let _alone = ALONE.lock();
        struct Dropped(Arc<AtomicUsize>);
        impl Drop for Dropped {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let dropped = Arc::new(AtomicUsize::new(0));
        let guard = Dropped(Arc::clone(&dropped));
        leave(vec![(Manual::new(0, true), 1), (Manual::new(5, false), 5)], move || {
            std::mem::forget(guard);
        });
        until("dropped", || dropped.load(Ordering::SeqCst) == 1);
    }

    /// Makes the reaper busy for a while.
    #[test]
    fn who_allocates_does_some_of_it_when_much_is_left() {
        let _alone = ALONE.lock();
        let (begun, has_begun) = std::sync::mpsc::channel();
        let (go_on, goes_on) = std::sync::mpsc::channel::<()>();
        leave(Vec::new(), move || {
            begun.send(()).unwrap();
            let _ = goes_on.recv();
        });
        has_begun.recv().unwrap();
        let done = Arc::new(AtomicUsize::new(0));
        let queue = Manual::new(1, false);
        for _ in 0..3 * MANY {
            let done = Arc::clone(&done);
            leave(vec![(queue.clone(), 1)], move || _ = done.fetch_add(1, Ordering::SeqCst));
        }
        for _ in 0..3 * MANY {
            with_memory(&Device::of_tests(), || hip_sys::hipSuccess);
        }
        let done = done.load(Ordering::SeqCst);
        assert!((MANY..3 * MANY).contains(&done), "{done}");
        drop(go_on);
    }

    #[test]
    fn an_allocation_that_fails_waits_for_what_is_left() {
        let _alone = ALONE.lock();
        let queue = Manual::new(0, false);
        let freed = Arc::new(AtomicUsize::new(0));
        let free = Arc::clone(&freed);
        leave(vec![(queue.clone(), 1)], move || _ = free.fetch_add(1, Ordering::SeqCst));
        let mut calls = 0;
        let got = with_memory(&Device::of_tests(), || {
            calls += 1;
            if calls == 1 {
                let other = queue.clone();
                thread::spawn(move || {
                    thread::sleep(Duration::from_millis(30));
                    other.over.store(1, Ordering::SeqCst);
                });
            }
            if freed.load(Ordering::SeqCst) == 0 { hip_sys::hipErrorOutOfMemory } else { hip_sys::hipSuccess }
        });
        assert_eq!((got, calls), (hip_sys::hipSuccess, 2));
    }
}
