//! Communicators: their creation, splitting and destruction.

use std::ffi::c_int;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use hip::interop::Tracked;
use hip::{Backend, Device, Stream};

use crate::config::Config;
use crate::error::{Context, Error, Result, check};
use crate::handle::{Handle, Kept};
use crate::library;
use crate::raw::{self, ncclUniqueId};
use crate::records::Checks;
use crate::ticker;

/// The id by which ranks find each other: 128 bytes that one rank creates and passes to all others, by any means
/// ([`start`](crate::start) is one).
#[derive(Clone, Copy, PartialEq, Eq)]
#[doc(alias("ncclUniqueId", "ncclGetUniqueId"))]
pub struct UniqueId([u8; 128]);

impl UniqueId {
    /// Creates a new id. From then on, the library listens on the network for the other ranks, in this process.
    ///
    /// # Errors
    /// [`Error::NoLibrary`]; an error from the library, for example on a machine without a network interface
    /// (`NCCL_SOCKET_IFNAME` selects one).
    pub fn new() -> Result<Self> {
        library::settle()?;
        let mut raw = ncclUniqueId { internal: [0; 128] };
        // SAFETY: `raw` is valid for the write.
        check(unsafe { raw::ncclGetUniqueId(&mut raw) }, "ncclGetUniqueId", || "a new id".to_owned())?;
        Ok(Self(raw.internal.map(|byte| byte as u8)))
    }

    /// Creates an id from these bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 128]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the id.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 128] {
        self.0
    }

    pub(crate) fn to_raw(self) -> ncclUniqueId {
        ncclUniqueId { internal: self.0.map(|byte| byte as _) }
    }
}

impl fmt::Debug for UniqueId {
    /// Does not print the bytes: whoever knows them can join.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UniqueId")
    }
}

/// One rank of a group of GPUs that work together (`ncclComm_t`): a device, and a stream that its collectives are
/// queued on.
///
/// Its methods queue work and return. Buffers track the work, as everywhere in `hip`: reading one waits for the
/// collective. Such waits have no deadline; [`synchronize`](Self::synchronize) has one, and
/// [`completion`](Self::completion) is a future with one.
///
/// When the communicator is dropped, it is destroyed after its last work. After an error that [ends
/// it](Error::ends_communicator), it is aborted: queued work ends, and the content of buffers is undefined.
#[doc(alias = "ncclComm_t")]
pub struct Communicator {
    pub(crate) handle: Arc<Handle>,
    device: Device,
    stream: Stream,
    /// `Some` until dropped.
    tracked: Option<Tracked>,
    /// Number of groups under construction that use it.
    pub(crate) groups: AtomicUsize,
    pub(crate) checks: Option<Checks>,
}

/// A communicator of the library, and the values to make a [`Communicator`] from it.
struct Made {
    handle: Arc<Handle>,
    /// `None` if other code manages the device.
    device: Option<Device>,
    checks: bool,
}

impl Made {
    fn finish(self) -> Result<Communicator> {
        let Self { handle, device, checks } = self;
        let device = device.ok_or_else(|| Error::invalid("the device", "none", "one of hip's"))?;
        let stream = Stream::new(&device)?;
        let checks = if checks { Some(Checks::new(&device, handle.size())?) } else { None };
        Ok(Communicator { handle, device, stream, tracked: Some(Tracked::new()), groups: AtomicUsize::new(0), checks })
    }
}

/// Returns an error on backends without libraries.
fn expect_libraries() -> Result<()> {
    library::settle()?;
    if hip::backend()? == Backend::Cuda {
        // The same functions, on NVIDIA's GPUs.
        return if library::other_library().is_some() { Ok(()) } else { library::use_nccl(None) };
    }
    Ok(hip::interop::expect_rocm("RCCL on this backend")?)
}

fn to_int(what: &'static str, number: usize) -> Result<c_int> {
    c_int::try_from(number).map_err(|_| Error::invalid(what, number.to_string(), "less than 2^31"))
}

pub(crate) fn check_rank(rank: usize, size: usize) -> Result<()> {
    to_int("the number of ranks", size)?;
    if rank < size {
        Ok(())
    } else {
        Err(Error::invalid("the rank", rank.to_string(), format!("less than {size}, the number of ranks")))
    }
}

impl Communicator {
    /// Creates one rank for each of these devices, in this process (`ncclCommInitAll`, with a configuration). Matching
    /// calls of several ranks are made in a [`Group`](crate::Group), or from one thread per rank.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an empty list, and for a device that is named twice; [`Error::NoLibrary`]; an error from
    /// the library; [`Error::Timeout`].
    #[doc(alias("ncclCommInitAll", "ncclCommInitRankConfig"))]
    pub fn init_all(devices: &[Device], config: &Config) -> Result<Vec<Self>> {
        expect_libraries()?;
        if devices.is_empty() {
            return Err(Error::invalid("the list of devices", "empty", "one device or more"));
        }
        for (index, device) in devices.iter().enumerate() {
            if devices[..index].contains(device) {
                let allowed = "once in the list: a device can be one rank of a communicator";
                return Err(Error::invalid("a device", device.index().to_string(), allowed));
            }
        }
        let id = UniqueId::new()?;
        let ranks: Vec<(Option<Device>, usize)> = devices.iter().copied().map(Some).zip(0..).collect();
        init(&ranks, devices.len(), id, config)?.into_iter().map(Pending::wait).collect()
    }

    /// Creates one rank, on this device (`ncclCommInitRankConfig`). Waits until all other ranks have done the same with
    /// this id, in their own threads or processes.
    ///
    /// # Errors
    /// [`Error::Invalid`]; [`Error::NoLibrary`]; an error from the library; [`Error::Timeout`] if a rank is missing.
    #[doc(alias("ncclCommInitRankConfig", "ncclCommInitRank"))]
    pub fn init_rank(device: &Device, id: UniqueId, rank: usize, size: usize, config: &Config) -> Result<Self> {
        Self::begin_init_rank(device, id, rank, size, config)?.wait()
    }

    /// As [`init_rank`](Self::init_rank), but returns immediately; the result can be polled, waited for or awaited.
    ///
    /// # Errors
    /// The errors of [`init_rank`](Self::init_rank) that are known immediately.
    pub fn begin_init_rank(
        device: &Device,
        id: UniqueId,
        rank: usize,
        size: usize,
        config: &Config,
    ) -> Result<Pending> {
        expect_libraries()?;
        check_rank(rank, size)?;
        let mut pending = init(&[(Some(*device), rank)], size, id, config)?;
        pending.pop().ok_or_else(|| Error::invalid("the list of devices", "empty", "one device"))
    }

    /// Returns this rank.
    #[must_use]
    #[doc(alias = "ncclCommUserRank")]
    pub fn rank(&self) -> usize {
        self.handle.rank()
    }

    /// Returns the number of ranks.
    #[must_use]
    #[doc(alias = "ncclCommCount")]
    pub fn size(&self) -> usize {
        self.handle.size()
    }

    /// Returns its device.
    #[must_use]
    #[doc(alias = "ncclCommCuDevice")]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the stream that its collectives are queued on: a stream of its own, unless another was set.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Makes later collectives queue their work on another stream of the device.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a stream of another device.
    pub fn set_stream(&mut self, stream: &Stream) -> Result<()> {
        if stream.device() != self.device {
            let allowed = format!("{}, the communicator's", self.device.index());
            return Err(Error::invalid("the device of a stream", stream.device().index().to_string(), allowed));
        }
        self.stream = stream.clone();
        Ok(())
    }

    /// Returns the limit of its waits: [`Config::timeout`].
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.handle.timeout
    }

    pub(crate) fn tracked(&self) -> Option<&Tracked> {
        self.tracked.as_ref()
    }

    /// Returns whether it was aborted, by [`abort`](Self::abort) or because of an error.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.handle.is_aborted()
    }

    /// Returns an error of queued work, if the library has detected one (`ncclCommGetAsyncError`): a lost peer, a
    /// broken connection. Does not wait.
    ///
    /// # Errors
    /// [`Error::Asynchronous`], after which the communicator is aborted. [`Error::Aborted`] if it was aborted before.
    #[doc(alias = "ncclCommGetAsyncError")]
    pub fn poll_error(&self) -> Result<()> {
        self.handle.poll().map(drop).inspect_err(|error| self.handle.abort(&error.to_string()))
    }

    /// Waits for all work on its stream, at most for [`Config::timeout`], and checks for errors meanwhile. If HIP
    /// blocks this thread, another thread aborts the communicator, one or two seconds after the deadline.
    ///
    /// # Errors
    /// [`Error::Timeout`] and [`Error::Asynchronous`], with the collective and its peer: the communicator is aborted,
    /// and the work ends. [`Error::Hip`] for errors of the work itself.
    pub fn synchronize(&self) -> Result<()> {
        self.synchronize_for(self.handle.timeout)
    }

    /// As [`synchronize`](Self::synchronize), with another deadline.
    ///
    /// # Errors
    /// The errors of [`synchronize`](Self::synchronize).
    pub fn synchronize_for(&self, timeout: Duration) -> Result<()> {
        self.handle.live()?;
        self.handle.wait_until_watched(timeout, || self.is_done())?;
        Ok(self.stream.synchronize()?)
    }

    /// Returns whether all work on its stream is done; an error if the communicator has one.
    fn is_done(&self) -> Result<bool> {
        if self.stream.is_idle()? {
            return Ok(true);
        }
        self.handle.poll()?;
        Ok(false)
    }

    /// Returns a future of [`synchronize`](Self::synchronize), with its deadline and errors. It needs no runtime: a
    /// thread of this crate wakes the task.
    ///
    /// The deadline counts from this call. It is checked when the future is polled, even if HIP blocks the poll. If the
    /// future is not polled, the communicator is not aborted.
    pub fn completion(&self) -> Completion<'_> {
        Completion { communicator: self, begin: Instant::now() }
    }

    /// Creates a communicator of the ranks with the same color, ordered by their keys, then by their ranks here
    /// (`ncclCommSplit`). All ranks must call it. `None` for a rank without a color. Since ROCm 6.2.
    ///
    /// # Errors
    /// [`Error::InGroup`]; [`Error::NoSymbol`]; [`Error::Timeout`]; an error from the library.
    #[doc(alias = "ncclCommSplit")]
    pub fn split(&self, color: Option<usize>, key: usize) -> Result<Option<Self>> {
        let mut made = Self::split_all(&[(self, color, key)])?;
        Ok(made.pop().flatten())
    }

    /// As [`split`](Self::split), for several ranks of one process, each with its color and key.
    ///
    /// # Errors
    /// The errors of [`split`](Self::split).
    #[doc(alias = "ncclCommSplit")]
    pub fn split_all(ranks: &[(&Self, Option<usize>, usize)]) -> Result<Vec<Option<Self>>> {
        let mut numbers = Vec::new();
        for (_, color, key) in ranks {
            let color = color.map_or(Ok(-1), |color| to_int("a color", color))?;
            numbers.push((color, to_int("a key", *key)?));
        }
        let parents: Vec<&Self> = ranks.iter().map(|(parent, ..)| *parent).collect();
        let kept = |parent: &Self| Kept { _parent: Some(Arc::clone(&parent.handle)), ..Kept::default() };
        let given = numbers.clone();
        let made = derive("split", "ncclCommSplit", &parents, kept, move |index, parent, child| {
            let (color, key) = given[index];
            // SAFETY: the communicator is alive; the place lives as long as the new communicator, which uses the configuration of the old
            // one.
            unsafe { raw::ncclCommSplit(parent, color, key, child.place(), std::ptr::null_mut()) }
        })?;
        made.into_iter()
            .zip(&numbers)
            .map(|(made, (color, _))| if *color < 0 { Ok(None) } else { made.finish().map(Some) })
            .collect()
    }

    /// Creates a communicator without the ranks in `excluded` (`ncclCommShrink`). All remaining ranks must call it. No
    /// work may be queued on this communicator. To exclude lost ranks, use
    /// [`shrink_after_error`](Self::shrink_after_error). Since ROCm 7.1.
    ///
    /// # Errors
    /// [`Error::Invalid`] for ranks that do not exist, are named twice, or are this one; [`Error::InGroup`];
    /// [`Error::NoSymbol`]; an error from the library.
    #[doc(alias = "ncclCommShrink")]
    pub fn shrink(&self, excluded: &[usize]) -> Result<Self> {
        let mut made = Self::shrink_all(&[self], excluded, false)?;
        made.pop().ok_or_else(|| Error::invalid("the list of communicators", "empty", "one"))
    }

    /// As [`shrink`](Self::shrink), and ends work of this communicator that waits for lost ranks (`NCCL_SHRINK_ABORT`).
    ///
    /// # Errors
    /// The errors of [`shrink`](Self::shrink).
    #[doc(alias = "ncclCommShrink")]
    pub fn shrink_after_error(&self, excluded: &[usize]) -> Result<Self> {
        let mut made = Self::shrink_all(&[self], excluded, true)?;
        made.pop().ok_or_else(|| Error::invalid("the list of communicators", "empty", "one"))
    }

    /// As [`shrink`](Self::shrink), for several ranks of one process, none of them excluded. With `abort`, as
    /// [`shrink_after_error`](Self::shrink_after_error).
    ///
    /// # Errors
    /// The errors of [`shrink`](Self::shrink).
    #[doc(alias = "ncclCommShrink")]
    pub fn shrink_all(ranks: &[&Self], excluded: &[usize], abort: bool) -> Result<Vec<Self>> {
        if excluded.is_empty() {
            return Err(Error::invalid("the list of excluded ranks", "empty", "one rank or more"));
        }
        let mut sorted = excluded.to_vec();
        sorted.sort_unstable();
        for parent in ranks {
            for (index, rank) in sorted.iter().enumerate() {
                check_rank(*rank, parent.size())?;
                if *rank == parent.rank() || sorted[..index].contains(rank) {
                    let allowed = "that of another rank, once";
                    return Err(Error::invalid("an excluded rank", rank.to_string(), allowed));
                }
            }
        }
        let list = sorted.iter().map(|rank| to_int("a rank", *rank)).collect::<Result<Vec<_>>>()?;
        let kept = |parent: &Self| Kept {
            _parent: Some(Arc::clone(&parent.handle)),
            excluded: list.clone(),
            ..Kept::default()
        };
        let made = derive("shrink", "ncclCommShrink", ranks, kept, move |_, parent, child| {
            let (list, count) = (child.excluded().as_ptr().cast_mut(), child.excluded().len() as c_int);
            // SAFETY: the communicator is alive; the place and the list, which is only read, live as long as the new communicator.
            unsafe { raw::ncclCommShrink(parent, list, count, child.place(), std::ptr::null_mut(), abort.into()) }
        })?;
        made.into_iter().map(Made::finish).collect()
    }

    /// Waits for its work and until the other ranks do the same, then destroys it (`ncclCommFinalize`,
    /// `ncclCommDestroy`): all ranks must call it. Dropping a communicator does not wait for the other ranks.
    ///
    /// # Errors
    /// [`Error::Timeout`], [`Error::Asynchronous`]; an error from the library.
    #[doc(alias("ncclCommFinalize", "ncclCommDestroy"))]
    pub fn finalize(self) -> Result<()> {
        Self::finalize_all([self])
    }

    /// As [`finalize`](Self::finalize), for several ranks of one process.
    ///
    /// # Errors
    /// The errors of [`finalize`](Self::finalize).
    #[doc(alias("ncclCommFinalize", "ncclCommDestroy"))]
    pub fn finalize_all(ranks: impl IntoIterator<Item = Self>) -> Result<()> {
        let ranks: Vec<Self> = ranks.into_iter().collect();
        for rank in &ranks {
            rank.synchronize()?;
        }
        if library::has(c"ncclCommFinalize") {
            for rank in &ranks {
                rank.handle.note(Context { call: "finalize", ..Context::default() });
                let live = rank.handle.live()?;
                // SAFETY: the communicator is alive, and nothing is queued on it.
                let status = unsafe { raw::ncclCommFinalize(live.comm) };
                check(status, "ncclCommFinalize", || format!("rank {} of {}", rank.rank(), rank.size()))?;
            }
            for rank in &ranks {
                rank.handle.wait_ready()?;
            }
        }
        for mut rank in ranks {
            rank.tracked = None;
            // SAFETY: its stream has been synchronized.
            unsafe { rank.handle.destroy()? };
        }
        Ok(())
    }

    /// Aborts it (`ncclCommAbort`): queued work that uses it ends, regardless of the other ranks, with undefined
    /// results. If an error has already aborted it, this does nothing. A queued wait for signals (feature `one-sided`)
    /// does not end.
    #[doc(alias = "ncclCommAbort")]
    pub fn abort(self) {
        self.handle.abort("the program asked for it");
    }

    /// Makes the ranks wait for each other, and this thread for them: an all-reduce of one number, and
    /// [`synchronize`](Self::synchronize).
    ///
    /// # Errors
    /// The errors of both.
    pub fn barrier(&self) -> Result<()> {
        let mut one = hip::DeviceBuffer::<u8>::zeroed(&self.device, 1)?;
        self.all_reduce_in_place(&mut one, crate::Op::Max)?;
        self.synchronize()
    }

    pub(crate) fn refuse_in_group(&self, what: &'static str) -> Result<()> {
        if self.groups.load(Ordering::Acquire) == 0 { Ok(()) } else { Err(Error::InGroup { what }) }
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        let Some(tracked) = self.tracked.take() else { return };
        let handle = Arc::clone(&self.handle);
        // Work that waits for a lost rank would never end.
        if let Err(error @ Error::Asynchronous { .. }) = handle.poll() {
            handle.abort(&error.to_string());
        }
        tracked.release_when_idle(&self.device, move || {
            // SAFETY: no queued work uses it any more.
            let _ = unsafe { handle.destroy() };
        });
    }
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rank, size) = (self.rank(), self.size());
        f.debug_struct("Communicator").field("rank", &rank).field("size", &size).field("device", &self.device).finish()
    }
}

/// Starts to create communicators for ranks of this process.
pub(crate) fn init(
    ranks: &[(Option<Device>, usize)],
    size: usize,
    id: UniqueId,
    config: &Config,
) -> Result<Vec<Pending>> {
    let has_config = library::has(c"ncclCommInitRankConfig");
    let blocking = config.blocking || !has_config;
    let size_int = to_int("the number of ranks", size)?;
    let mut pending = Vec::new();
    for (device, rank) in ranks {
        let owned = if has_config { Some(config.clone().blocking(blocking).to_raw()?) } else { None };
        let kept = Kept { config: owned, ..Kept::default() };
        let handle = Handle::new(*rank, size, config.timeout, blocking, kept);
        let asked = device.map_or(String::new(), |device| format!("device {}", device.index()));
        handle.note(Context { call: "init_rank", asked, ..Context::default() });
        let made = Made { handle, device: *device, checks: config.check_calls };
        pending.push(Pending { made: Some(made), deadline: Instant::now() + config.timeout, timeout: config.timeout });
    }
    let handles: Vec<(Option<Device>, Arc<Handle>)> =
        pending.iter().filter_map(|p| p.made.as_ref().map(|made| (made.device, Arc::clone(&made.handle)))).collect();
    let call = move || {
        grouped(true, || {
            for (device, handle) in &handles {
                let (rank, place) = (handle.rank() as c_int, handle.place());
                // SAFETY: the place and the configuration live as long as the communicator.
                let init = || unsafe {
                    if has_config {
                        raw::ncclCommInitRankConfig(place, size_int, id.to_raw(), rank, handle.config())
                    } else {
                        raw::ncclCommInitRank(place, size_int, id.to_raw(), rank)
                    }
                };
                let status = match device {
                    Some(device) => device.with_current(init)?,
                    None => init(),
                };
                let name = if has_config { "ncclCommInitRankConfig" } else { "ncclCommInitRank" };
                check(status, name, || format!("rank {rank} of {size}"))?;
            }
            Ok(())
        })
    };
    // If other code has made a device current, it is current in this thread only.
    if ranks.iter().any(|(device, _)| device.is_none()) {
        call()?;
        return Ok(pending);
    }
    let handles: Vec<_> = pending.iter().filter_map(|p| p.made.as_ref().map(|made| Arc::clone(&made.handle))).collect();
    Handle::enter(&handles, call)?;
    Ok(pending)
}

/// Runs calls, in a group if there are several; the group is closed in any case.
pub(crate) fn grouped(several: bool, calls: impl FnOnce() -> Result<()>) -> Result<()> {
    if !several {
        return calls();
    }
    // SAFETY: no pointers.
    check(unsafe { raw::ncclGroupStart() }, "ncclGroupStart", String::new)?;
    let made = calls();
    // SAFETY: no pointers.
    let ended = unsafe { raw::ncclGroupEnd() };
    made.and_then(|()| check(ended, "ncclGroupEnd", String::new))
}

/// Makes communicators from existing ones.
fn derive(
    what: &'static str,
    function: &'static str,
    parents: &[&Communicator],
    kept: impl Fn(&Communicator) -> Kept,
    call: impl Fn(usize, raw::ncclComm_t, &Handle) -> raw::ncclResult_t + Send + 'static,
) -> Result<Vec<Made>> {
    for parent in parents {
        parent.refuse_in_group(what)?;
        parent.handle.note(Context { call: what, ..Context::default() });
    }
    let made: Vec<Made> = parents
        .iter()
        .map(|parent| {
            let handle = Handle::new(0, 0, parent.handle.timeout, parent.handle.blocking, kept(parent));
            Made { handle, device: Some(parent.device), checks: parent.checks.is_some() }
        })
        .collect();
    {
        let _calls: Vec<_> = parents.iter().map(|parent| parent.handle.calls()).collect();
        let parents: Vec<_> = parents.iter().map(|parent| (parent.device, Arc::clone(&parent.handle))).collect();
        let handles: Vec<_> = parents.iter().map(|(_, handle)| Arc::clone(handle)).collect();
        let children: Vec<_> = made.iter().map(|child| Arc::clone(&child.handle)).collect();
        Handle::enter(&handles, move || {
            grouped(parents.len() > 1, || {
                for (index, ((device, parent), child)) in parents.iter().zip(&children).enumerate() {
                    let comm = parent.live()?.comm;
                    let status = device.with_current(|| call(index, comm, child))?;
                    check(status, function, || format!("rank {} of {}", parent.rank(), parent.size()))?;
                }
                Ok(())
            })
        })?;
        // Waits for each of them, even if one has failed.
        handles.iter().map(|handle| handle.wait_entered()).fold(Ok(()), Result::and)?;
    }
    for child in &made {
        // A rank without a color gets no communicator.
        // SAFETY: a word that the library writes as a whole.
        if unsafe { child.handle.place().read_volatile() }.is_null() {
            continue;
        }
        child.handle.note(Context { call: what, ..Context::default() });
        child.handle.wait_ready()?;
        child.handle.ask_rank_and_size()?;
    }
    Ok(made)
}

/// A communicator under construction. [`Communicator::begin_init_rank`] creates it. Dropping it before it is ready
/// aborts it.
///
/// As a future, it resolves when the communicator is ready, or at the deadline.
#[must_use = "the communicator is aborted when this is dropped"]
pub struct Pending {
    made: Option<Made>,
    deadline: Instant,
    timeout: Duration,
}

impl Pending {
    /// Returns whether the communicator is ready. Does not wait.
    ///
    /// # Errors
    /// The reason that it will never be ready.
    pub fn is_ready(&self) -> Result<bool> {
        self.made.as_ref().map_or(Ok(false), |made| made.handle.poll())
    }

    /// Waits for it, at most for [`Config::timeout`].
    ///
    /// # Errors
    /// [`Error::Timeout`] if a rank is missing; [`Error::Asynchronous`].
    pub fn wait(self) -> Result<Communicator> {
        self.waited()?.finish()
    }

    /// As [`wait`](Self::wait), without a device and a stream.
    pub(crate) fn wait_for_handle(self) -> Result<Arc<Handle>> {
        Ok(self.waited()?.handle)
    }

    fn waited(mut self) -> Result<Made> {
        let made = self.made.take().ok_or_else(taken)?;
        let left = self.deadline.saturating_duration_since(Instant::now());
        made.handle.wait_until(left, || made.handle.poll()).map_err(|error| self.with_whole_time(error))?;
        Ok(made)
    }

    /// Replaces the remaining time in an error by the whole time.
    fn with_whole_time(&self, error: Error) -> Error {
        match error {
            Error::Timeout { context, .. } => Error::Timeout { waited: self.timeout, context },
            other => other,
        }
    }
}

fn taken() -> Error {
    Error::invalid("a communicator that is being made", "taken already", "awaited once")
}

impl Future for Pending {
    type Output = Result<Communicator>;

    fn poll(mut self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        let late = Instant::now() >= self.deadline;
        match self.is_ready() {
            Ok(false) if !late && self.made.is_some() => {
                ticker::wake_soon(context.waker());
                Poll::Pending
            }
            // Ready, past the deadline, or failed: the wait determines which.
            _ => {
                let made = Self { made: self.made.take(), deadline: self.deadline, timeout: self.timeout };
                Poll::Ready(made.wait())
            }
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(made) = self.made.take() {
            made.handle.abort("it was given up before it was there");
        }
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

/// The completion of queued work, with a deadline. [`Communicator::completion`] creates it.
#[must_use = "futures do nothing unless awaited"]
#[derive(Debug)]
pub struct Completion<'a> {
    communicator: &'a Communicator,
    begin: Instant,
}

impl Future for Completion<'_> {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> Poll<Result<()>> {
        let Self { communicator, begin } = *self;
        let timeout = communicator.timeout();
        let left = timeout.saturating_sub(begin.elapsed());
        let result = match communicator.handle.watched(left, || communicator.is_done()) {
            Ok(false) if !left.is_zero() => {
                ticker::wake_soon(context.waker());
                return Poll::Pending;
            }
            // HIP blocked the poll, and the communicator was aborted meanwhile.
            Err(error @ Error::Timeout { .. }) => Err(error),
            Err(error @ Error::Asynchronous { .. }) => {
                communicator.handle.abort(&error.to_string());
                Err(error)
            }
            _ => communicator.synchronize_for(Duration::ZERO),
        };
        // An error states the whole time, not that of the last poll.
        Poll::Ready(result.map_err(|error| match error {
            Error::Timeout { context, .. } => Error::Timeout { waited: begin.elapsed(), context },
            other => other,
        }))
    }
}
