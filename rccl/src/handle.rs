//! The C communicator: alive, aborted once, or destroyed. Waits for it have a deadline.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::fmt;
#[cfg(feature = "windows")]
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::config::OwnedConfig;
use crate::error::{Context, Error, Result, check, library_error};
use crate::raw::{self, ncclComm_t};
use crate::raw_config::RawConfig;
use crate::summary::Summary;
use crate::wait::{Outcome, Pause, Wait};

/// Limit of the library's abort, after which the aborting thread is abandoned.
const ABORT_PATIENCE: Duration = Duration::from_secs(30);

/// Grace period after the deadline in which a library call may still use the communicator before it is aborted.
const CALL_PATIENCE: Duration = Duration::from_secs(1);

/// A C communicator and all memory of this crate that the library may use during its life.
pub(crate) struct Handle {
    /// The library writes to it when a communicator is made, possibly after the call has returned: it never moves.
    place: Box<Place>,
    state: Mutex<Inner>,
    /// Held by the thread that makes calls, until the library has queued them.
    calls: Mutex<()>,
    rank: AtomicUsize,
    size: AtomicUsize,
    pub(crate) timeout: Duration,
    pub(crate) blocking: bool,
    /// A call that waits for other ranks in the library.
    inside: Mutex<Inside>,
    /// Whether its state differs from `Live`.
    ended: AtomicBool,
    /// Whether the abort in the library has started, which happens once.
    abort_begun: AtomicBool,
    /// Whether the library has aborted it: it no longer uses memory of this crate.
    abort_done: AtomicBool,
    /// Addresses of the symmetric windows that the library uses.
    #[cfg(feature = "windows")]
    windows: Mutex<Vec<Range<usize>>>,
    /// Memory that is kept for the library.
    kept: Kept,
}

/// The last call. The text for a collective is formatted when an error needs it.
pub(crate) enum Last {
    Call(Summary),
    Other(Context),
}

impl Default for Last {
    fn default() -> Self {
        Self::Other(Context::default())
    }
}

impl From<Summary> for Last {
    fn from(summary: Summary) -> Self {
        Self::Call(summary)
    }
}

impl From<Context> for Last {
    fn from(context: Context) -> Self {
        Self::Other(context)
    }
}

/// Memory to which the library keeps pointers.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) config: Option<OwnedConfig>,
    pub(crate) excluded: Vec<c_int>,
    /// The parent, whose configuration this one uses.
    pub(crate) _parent: Option<Arc<Handle>>,
}

struct Place(UnsafeCell<ncclComm_t>);

// SAFETY: a communicator is not bound to a thread. The library writes to the place from its own threads; it is read as a whole word.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

/// Creating a communicator waits in the library for all ranks, regardless of the configuration (RCCL of ROCm 7.2): it
/// runs on its own thread, which cannot be ended. The communicator is not accessed meanwhile.
enum Inside {
    Nothing,
    Waiting,
    Failed(Error),
}

/// The state of the C communicator. Locked during calls of the library, which do not block unless the communicator is a
/// blocking one.
enum State {
    Live,
    Aborted(Arc<str>),
    Destroyed,
}

struct Inner {
    state: State,
    last: Last,
}

/// The C communicator while no abort is in progress.
pub(crate) struct Live<'a> {
    inner: MutexGuard<'a, Inner>,
    pub(crate) comm: ncclComm_t,
}

impl Live<'_> {
    /// Records the call for later errors.
    pub(crate) fn note(&mut self, last: Last) {
        self.inner.last = last;
    }
}

impl Handle {
    pub(crate) fn new(rank: usize, size: usize, timeout: Duration, blocking: bool, kept: Kept) -> Arc<Self> {
        Arc::new(Self {
            place: Box::new(Place(UnsafeCell::new(ptr::null_mut()))),
            state: Mutex::new(Inner { state: State::Live, last: Last::default() }),
            calls: Mutex::new(()),
            rank: AtomicUsize::new(rank),
            size: AtomicUsize::new(size),
            timeout,
            blocking,
            inside: Mutex::new(Inside::Nothing),
            ended: AtomicBool::new(false),
            abort_begun: AtomicBool::new(false),
            abort_done: AtomicBool::new(false),
            #[cfg(feature = "windows")]
            windows: Mutex::default(),
            kept,
        })
    }

    /// Returns where the library writes the communicator.
    pub(crate) fn place(&self) -> *mut ncclComm_t {
        self.place.0.get()
    }

    pub(crate) fn config(&self) -> *mut RawConfig {
        self.kept.config.as_ref().map_or(ptr::null_mut(), |config| ptr::from_ref(&*config.raw).cast_mut())
    }

    pub(crate) fn excluded(&self) -> &[c_int] {
        &self.kept.excluded
    }

    fn comm(&self) -> ncclComm_t {
        // SAFETY: a word that the library writes as a whole.
        unsafe { self.place().read_volatile() }
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank.load(Ordering::Relaxed)
    }

    pub(crate) fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prevents other threads from making calls with the communicator.
    pub(crate) fn calls(&self) -> MutexGuard<'_, ()> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the live communicator, for calls of the library.
    pub(crate) fn live(&self) -> Result<Live<'_>> {
        let inner = self.lock();
        match &inner.state {
            State::Live if self.abort_begun.load(Ordering::Acquire) => {
                Err(Error::Aborted { reason: "a deadline has passed".into() })
            }
            State::Live => Ok(Live { comm: self.comm(), inner }),
            State::Aborted(reason) => Err(Error::Aborted { reason: Arc::clone(reason) }),
            State::Destroyed => Err(Error::Aborted { reason: "it was destroyed".into() }),
        }
    }

    /// Returns the communicator for calls of the library while no other thread can end it.
    pub(crate) fn comm_of_one_thread(&self) -> Result<ncclComm_t> {
        if self.ended.load(Ordering::Acquire) {
            return self.live().map(|live| live.comm);
        }
        Ok(self.comm())
    }

    /// Records the call for later errors.
    pub(crate) fn note(&self, last: impl Into<Last>) {
        self.lock().last = last.into();
    }

    fn context(&self, last: &Last) -> Context {
        let last = match last {
            Last::Call(summary) => summary.context(None),
            Last::Other(context) => context.clone(),
        };
        Context { rank: self.rank(), size: self.size(), ..last }
    }

    /// Returns whether the library has finished its work, which runs on its own threads. Does not call HIP.
    pub(crate) fn poll(&self) -> Result<bool> {
        let inside = self.inside();
        match &*inside {
            Inside::Nothing => {}
            Inside::Waiting => {
                drop(inside);
                return self.live().map(|_| false);
            }
            Inside::Failed(error) => return Err(error.clone()),
        }
        let live = self.live()?;
        self.ask(live.comm, &live.inner.last)
    }

    /// As [`poll`](Self::poll), for a communicator that no other thread can end meanwhile.
    fn ask(&self, comm: ncclComm_t, last: &Last) -> Result<bool> {
        if comm.is_null() {
            return Ok(false);
        }
        let mut result = raw::ncclSuccess;
        // SAFETY: the communicator is alive as long as its state is locked.
        let status = unsafe { raw::ncclCommGetAsyncError(comm, &mut result) };
        let failed = [status, result].into_iter().find(|of| *of != raw::ncclSuccess && *of != raw::IN_PROGRESS);
        match failed {
            Some(failed) => {
                let asked = format!("rank {} of {}", self.rank(), self.size());
                let error = library_error(failed, "ncclCommGetAsyncError", asked, comm);
                Err(Error::Asynchronous { error: Box::new(error), context: Box::new(self.context(last)) })
            }
            None => Ok(status == raw::ncclSuccess && result == raw::ncclSuccess),
        }
    }

    /// Waits until `done` or an error. At the deadline, and after an error, the communicator is aborted.
    ///
    /// `done` must not call HIP. If it does, use [`wait_until_watched`](Self::wait_until_watched).
    pub(crate) fn wait_until(
        self: &Arc<Self>,
        timeout: Duration,
        mut done: impl FnMut() -> Result<bool>,
    ) -> Result<()> {
        let begin = Instant::now();
        let mut pause = Pause::default();
        loop {
            match done() {
                Ok(true) => return Ok(()),
                Ok(false) if begin.elapsed() < timeout => pause.wait(),
                Ok(false) => {
                    let error = self.late(begin, &self.lock().last);
                    self.abort(&error.to_string());
                    return Err(error);
                }
                Err(error) => {
                    if matches!(error, Error::Asynchronous { .. }) {
                        self.abort(&error.to_string());
                    }
                    return Err(error);
                }
            }
        }
    }

    fn late(&self, begin: Instant, last: &Last) -> Error {
        Error::Timeout { waited: begin.elapsed(), context: Box::new(self.context(last)) }
    }

    /// Checks whether the library has an error, and whether the deadline has passed, for a waiting thread that may be
    /// blocked in HIP. Does not block: if a lock is held, the next check does it.
    pub(crate) fn look_at(self: &Arc<Self>, wait: &Arc<Wait>, late: Option<Duration>) {
        let Some(inside) = try_lock(&self.inside) else { return };
        let Some(mut inner) = try_lock(&self.state) else {
            // Held during a call of the library, possibly of the waiting thread.
            if matches!(*inside, Inside::Nothing) && late.is_some_and(|late| late >= CALL_PATIENCE) {
                // With `inside` locked: a later call finds the abort started.
                self.abort_during_call(wait);
            }
            return;
        };
        if !matches!(inner.state, State::Live) {
            return;
        }
        let found = match *inside {
            Inside::Nothing => self.ask(self.comm(), &inner.last),
            Inside::Waiting | Inside::Failed(_) => Ok(false),
        };
        let error = match found {
            Err(error) => error,
            Ok(_) if late.is_some() => self.late(wait.begin, &inner.last),
            Ok(_) => return,
        };
        let mut outcome = wait.outcome();
        if !matches!(*outcome, Outcome::Waiting) {
            return;
        }
        self.mark_aborted(&mut inner, &error.to_string());
        *outcome = Outcome::Aborted(error);
        drop((outcome, inner, inside));
        self.begin_abort();
    }

    /// Waits until the library has finished. Blocking calls have finished when they return.
    pub(crate) fn wait_ready(self: &Arc<Self>) -> Result<()> {
        if self.blocking && matches!(*self.inside(), Inside::Nothing) {
            return Ok(());
        }
        self.wait_until(self.timeout, || self.poll())
    }

    /// Waits for the call that [`enter`](Self::enter) started. Its error is returned once; the communicator stays
    /// usable.
    pub(crate) fn wait_entered(self: &Arc<Self>) -> Result<()> {
        let waited = self.wait_ready();
        let mut inside = self.inside();
        if matches!(*inside, Inside::Failed(_)) {
            *inside = Inside::Nothing;
        }
        waited
    }

    /// Aborts it, once: later calls do nothing. Queued work ends soon.
    pub(crate) fn abort(self: &Arc<Self>, reason: &str) {
        let mut inner = self.lock();
        if !matches!(inner.state, State::Live) {
            return;
        }
        self.mark_aborted(&mut inner, reason);
        drop(inner);
        self.begin_abort();
        self.wait_for_abort();
    }

    /// Aborts it while a call of the library may use it: that call may be blocked in HIP until the queued work ends.
    ///
    /// In a group, `ncclCommAbort` ends the work immediately, but frees the communicator at the end of the group: after
    /// the call.
    fn abort_during_call(self: &Arc<Self>, wait: &Arc<Wait>) {
        let comm = self.comm();
        let mut outcome = wait.outcome();
        if !matches!(*outcome, Outcome::Waiting) || comm.is_null() || self.abort_begun.swap(true, Ordering::AcqRel) {
            return;
        }
        let (handle, comm, theirs) = (Arc::clone(self), comm.expose_provenance(), Arc::clone(wait));
        let started = std::thread::Builder::new().name("rccl abort".to_owned()).spawn(move || {
            let comm = ptr::with_exposed_provenance_mut(comm);
            // SAFETY: alive, because a communicator whose abort has started is not destroyed.
            let abort = || unsafe { raw::ncclCommAbort(comm) };
            // SAFETY: no pointers.
            let in_group = unsafe { raw::ncclGroupStart() } == raw::ncclSuccess;
            if in_group {
                abort();
            }
            // Waits for the call.
            let mut inner = handle.lock();
            let error = handle.late(theirs.begin, &inner.last);
            if matches!(inner.state, State::Live) {
                handle.mark_aborted(&mut inner, &error.to_string());
            }
            drop(inner);
            *theirs.outcome() = Outcome::Aborted(error);
            // Waits for work that the call has left to a thread of the library.
            let mut pause = Pause::default();
            while matches!(handle.ask(comm, &Last::default()), Ok(false)) {
                pause.wait();
            }
            if in_group {
                // SAFETY: no pointers.
                unsafe { raw::ncclGroupEnd() };
            } else {
                abort();
            }
            handle.abort_done.store(true, Ordering::Release);
        });
        if started.is_ok() {
            *outcome = Outcome::Aborting;
        } else {
            self.abort_begun.store(false, Ordering::Release);
        }
    }

    fn mark_aborted(&self, inner: &mut Inner, reason: &str) {
        inner.state = State::Aborted(reason.into());
        self.ended.store(true, Ordering::Release);
    }

    /// Starts the library's abort of a communicator that is marked as aborted.
    fn begin_abort(self: &Arc<Self>) {
        // A thread inside the library does it when it returns.
        if !matches!(*self.inside(), Inside::Waiting) {
            self.abort_in_library();
        }
    }

    /// Waits until the library has aborted it, if it is doing so, with a limit.
    pub(crate) fn wait_for_abort(&self) {
        let begin = Instant::now();
        let mut pause = Pause::default();
        let aborting = || self.abort_begun.load(Ordering::Acquire) && !self.abort_done.load(Ordering::Acquire);
        while aborting() && begin.elapsed() < ABORT_PATIENCE {
            pause.wait();
        }
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a call that may wait for other ranks on its own thread, which is abandoned if the call never returns.
    /// [`poll`](Self::poll) returns whether it has returned.
    pub(crate) fn enter(handles: &[Arc<Self>], call: impl FnOnce() -> Result<()> + Send + 'static) -> Result<()> {
        handles.iter().for_each(|handle| *handle.inside() = Inside::Waiting);
        let theirs = handles.to_vec();
        let thread = std::thread::Builder::new().name("rccl ranks".to_owned());
        let started = thread.spawn(move || {
            let result = call();
            for handle in theirs {
                *handle.inside() = match &result {
                    Ok(()) => Inside::Nothing,
                    Err(error) => Inside::Failed(error.clone()),
                };
                // The communicator was aborted meanwhile.
                if handle.is_aborted() {
                    handle.abort_in_library();
                }
            }
        });
        if started.is_err() {
            handles.iter().for_each(|handle| *handle.inside() = Inside::Nothing);
            return Err(Error::invalid("the number of threads", "too large", "so that one more can be started"));
        }
        Ok(())
    }

    /// The library's part of [`abort`](Self::abort). It runs on its own thread, because it may wait for threads of the
    /// library. The memory that it writes to is kept however long it takes.
    fn abort_in_library(self: &Arc<Self>) {
        let comm = self.comm();
        if comm.is_null() || self.abort_begun.swap(true, Ordering::AcqRel) {
            return;
        }
        let (handle, comm) = (Arc::clone(self), comm.expose_provenance());
        // If no thread can be started, it is never aborted, as if the abort took too long.
        let _ = std::thread::Builder::new().name("rccl abort".to_owned()).spawn(move || {
            // SAFETY: the communicator is alive; only the thread that changes the state from `Live` ends it.
            let _ = unsafe { raw::ncclCommAbort(ptr::with_exposed_provenance_mut(comm)) };
            handle.abort_done.store(true, Ordering::Release);
        });
    }

    /// Destroys it, unless it was aborted or destroyed before.
    ///
    /// # Safety
    /// No queued work may use it any more.
    pub(crate) unsafe fn destroy(&self) -> Result<()> {
        let _calls = self.calls();
        let mut inner = self.lock();
        if !matches!(inner.state, State::Live) || self.abort_begun.load(Ordering::Acquire) {
            return Ok(());
        }
        inner.state = State::Destroyed;
        self.ended.store(true, Ordering::Release);
        let comm = self.comm();
        if comm.is_null() {
            return Ok(());
        }
        // SAFETY: alive until now, and no longer accessible.
        check(unsafe { raw::ncclCommDestroy(comm) }, "ncclCommDestroy", || format!("rank {}", self.rank()))
    }

    /// Returns whether it was aborted.
    pub(crate) fn is_aborted(&self) -> bool {
        matches!(self.lock().state, State::Aborted(_))
    }

    #[cfg(feature = "windows")]
    pub(crate) fn windows(&self) -> MutexGuard<'_, Vec<Range<usize>>> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether it was aborted, and the library may still be aborting it.
    #[cfg(feature = "windows")]
    pub(crate) fn is_being_aborted(&self) -> bool {
        let aborted = self.abort_begun.load(Ordering::Acquire) || self.is_aborted();
        aborted && !self.comm().is_null() && !self.abort_done.load(Ordering::Acquire)
    }

    /// Queries rank and size from the library, for a communicator that was made from another one.
    pub(crate) fn ask_rank_and_size(&self) -> Result<()> {
        let live = self.live()?;
        let (mut rank, mut size): (c_int, c_int) = (0, 0);
        // SAFETY: the communicator is alive; both are valid for writes.
        unsafe {
            check(raw::ncclCommUserRank(live.comm, &mut rank), "ncclCommUserRank", String::new)?;
            check(raw::ncclCommCount(live.comm, &mut size), "ncclCommCount", String::new)?;
        }
        self.rank.store(rank.unsigned_abs() as usize, Ordering::Relaxed);
        self.size.store(size.unsigned_abs() as usize, Ordering::Relaxed);
        Ok(())
    }
}

fn try_lock<T>(lock: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match lock.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("rank", &self.rank()).field("size", &self.size()).finish_non_exhaustive()
    }
}
