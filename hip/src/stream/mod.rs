//! Streams and what orders their work: streams, events, signals, host functions, and the record of which stream uses what.

#[cfg(feature = "rocm-7-1")]
mod attributes;
mod capture;
mod completion;
pub(crate) mod event;
#[cfg(feature = "rocm-10-0")]
mod execution;
mod foreign;
mod host;
mod launches;
pub(crate) mod of_device;
mod signal;
mod signal_op;
pub(crate) mod usage;

use std::cell::RefCell;
use std::ffi::c_int;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use hip_sys::{hipError_t, hipEvent_t, hipStream_t, ihipStream_t};

pub(crate) use capture::{Capture, keep};
pub use completion::Completion;
pub use event::{Event, EventOptions, IpcEventHandle};
#[cfg(feature = "rocm-10-0")]
pub(crate) use execution::{ContextInner, create_in_context};
pub(crate) use host::{Report, run_reporting};
pub(crate) use launches::Launching;
pub use signal::{Signal, WaitCondition};
pub use signal_op::SignalOp;

use crate::core::call::{check, failed};
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result, Status};
use crate::core::later::{self, Blocker, Verdict};
use crate::core::lock::{Mutex, MutexGuard, RwLock, RwLockReadGuard};
use crate::core::trace;
use event::PooledEvent;
use launches::Launches;
use usage::{Access, Accesses, Pending};

/// `hipErrorStreamCaptureIsolation`: what HIP says of an event, though it lies in front, whose stream is being captured.
const ISOLATED: Status = Status(905);

/// A queue of work on one device: copies, fills and kernels run in the order in which they were queued.
///
/// Work on different streams runs in any order, except that this crate makes a stream wait for another one when both
/// touch the same buffer and at least one writes to it. A clone is another handle of the same stream. The stream is
/// destroyed (`hipStreamDestroy`) after its last handle and the last buffer that it still works on are gone.
///
/// Make streams with [`Stream::new`] and pass them around: a program that only uses the device's one default stream
/// ([`Device::default_stream`]) never overlaps anything.
#[doc(alias("hipStreamDestroy", "cuStreamDestroy", "cudaStreamDestroy"))]
#[derive(Clone)]
pub struct Stream {
    pub(crate) inner: Arc<StreamInner>,
}

/// How a stream is made. The default: normal priority, not blocking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamOptions {
    pub(crate) priority: Option<i32>,
    pub(crate) blocking: bool,
}

impl StreamOptions {
    /// Normal priority, not blocking.
    #[doc(alias("hipStreamCreate", "cudaStreamCreate"))]
    #[doc(alias("hipStreamCreateWithFlags", "cuStreamCreate", "cudaStreamCreateWithFlags"))]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A priority within [`Device::stream_priority_range`]; lower numbers go first.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Whether the stream and the device's legacy default stream wait for each other (`hipStreamDefault` in place of
    /// `hipStreamNonBlocking`). Only code that mixes this crate with calls on the null stream wants it.
    #[must_use]
    pub fn blocking(mut self, blocking: bool) -> Self {
        self.blocking = blocking;
        self
    }
}

/// What the stream is and what is queued on it. Shared with every allocation that it works on.
pub(crate) struct StreamInner {
    /// Another stream takes its place if a capture has spoilt it: see [`renew`](Self::renew_if_spoilt).
    raw: AtomicPtr<ihipStream_t>,
    /// Whether it is destroyed with this.
    owned: bool,
    device: Device,
    id: u64,
    /// Locked while work is put on the stream, so that tickets are in the order of the work.
    queue: Mutex<Queue>,
    /// Shared by calls of the runtime that name the stream while `queue` is not locked. No capture begins meanwhile.
    direct: RwLock<()>,
    /// The highest ticket whose work is over, and whose errors somebody was told.
    completed: AtomicU64,
    /// The highest ticket whose work is over. It has an error that nobody was told yet, if it is higher than `completed`.
    over: AtomicU64,
    /// The highest ticket of which the runtime could not say whether it is over.
    unknown: AtomicU64,
    /// The highest ticket whose work may wait for something that the host does.
    held: AtomicU64,
    /// Locked while an error is on its way from the runtime to `report`.
    asking: Mutex<()>,
    /// Errors that host functions and destructors met: what they belong to is this stream's, so who waits for it next gets them.
    report: Arc<Report>,
    /// Whether `capture` holds something.
    captured: AtomicBool,
    /// The graph that work goes into in place of the stream.
    capture: Mutex<Option<Arc<Capture>>>,
    /// The compute units that it was made for, if not for all.
    cu_mask: Option<Box<[u32]>>,
    /// The execution context that it was made in, which goes after it.
    #[cfg(feature = "rocm-10-0")]
    pub(crate) context: Option<Arc<ContextInner>>,
}

#[derive(Default)]
struct Queue {
    /// Ticket of the last piece of work.
    issued: u64,
    /// Other streams (by id) that this one already waits for, up to which ticket.
    waited: Vec<(u64, u64)>,
    /// Reports of the graphs that were launched here, whose host functions do not know of the stream.
    graphs: Vec<Arc<Report>>,
    /// Launches since the last time that the host saw all work done: named when an error comes back late.
    launches: Launches,
}

// SAFETY: a hipStream_t is a handle that the HIP runtime lets any thread use, several at a time (the runtime locks
// its queues); it is destroyed only in Drop, when no other reference exists. All else in here is Send and Sync.
unsafe impl Send for StreamInner {}
// SAFETY: as above.
unsafe impl Sync for StreamInner {}

/// A C stream whose kernels only run on some compute units.
fn create_with_cu_mask(device: &Device, mask: &[u32]) -> Result<hipStream_t> {
    device.activate()?;
    let words = u32::try_from(mask.len()).unwrap_or(u32::MAX);
    let mut raw: hipStream_t = ptr::null_mut();
    // SAFETY: `raw` is valid for a write, and the mask has `words` words.
    let status = unsafe { hip_sys::hipExtStreamCreateWithCUMask(&mut raw, words, mask.as_ptr()) };
    check(status, "hipExtStreamCreateWithCUMask", || {
        format!("a stream on the compute units {mask:x?} of device {}", device.index())
    })?;
    Ok(raw)
}

impl Stream {
    /// A new stream of normal priority that does not wait for the legacy default stream (`hipStreamCreateWithFlags`).
    #[doc(alias("hipStreamCreateWithFlags", "cuStreamCreate", "cudaStreamCreateWithFlags"))]
    #[doc(alias("hipStreamCreate", "cudaStreamCreate"))]
    pub fn new(device: &Device) -> Result<Self> {
        Self::with_options(device, StreamOptions::new())
    }

    /// A new stream (`hipStreamCreateWithFlags`, `hipStreamCreateWithPriority`).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for a priority outside of [`Device::stream_priority_range`], which the runtime would silently bend.
    #[doc(alias("hipStreamCreateWithFlags", "cuStreamCreate", "cudaStreamCreateWithFlags"))]
    #[doc(alias("hipStreamCreateWithPriority", "cuStreamCreateWithPriority", "cudaStreamCreateWithPriority"))]
    pub fn with_options(device: &Device, options: StreamOptions) -> Result<Self> {
        let flags = if options.blocking { hip_sys::hipStreamDefault } else { hip_sys::hipStreamNonBlocking };
        let mut raw: hipStream_t = ptr::null_mut();
        match options.priority {
            None => {
                device.activate()?;
                // SAFETY: `raw` is valid for a write.
                let status = unsafe { hip_sys::hipStreamCreateWithFlags(&mut raw, flags) };
                check(status, "hipStreamCreateWithFlags", || format!("a stream on device {}", device.index()))?;
            }
            Some(priority) => {
                Self::check_priority(device, priority)?;
                device.activate()?;
                // SAFETY: `raw` is valid for a write.
                let status = unsafe { hip_sys::hipStreamCreateWithPriority(&mut raw, flags, priority) };
                check(status, "hipStreamCreateWithPriority", || {
                    format!("a stream of priority {priority} on device {}", device.index())
                })?;
            }
        }
        Ok(Self { inner: StreamInner::new(raw, *device) })
    }

    pub(crate) fn check_priority(device: &Device, priority: i32) -> Result<()> {
        let allowed = device.stream_priority_range()?;
        if allowed.contains(&priority) {
            return Ok(());
        }
        Err(Error::InvalidValue {
            what: "the stream's priority",
            value: priority.to_string(),
            allowed: format!("from {} (goes first) to {}", allowed.start(), allowed.end()),
        })
    }

    /// A new stream whose kernels only run on some compute units (`hipExtStreamCreateWithCUMask`): bit 0 of the first word is the
    /// first unit. Bits beyond the device's units count for nothing. The stream has normal priority and is
    /// [`blocking`](StreamOptions::blocking).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for a mask that leaves no unit.
    #[doc(alias("hipExtStreamCreateWithCUMask"))]
    pub fn with_cu_mask(device: &Device, mask: &[u32]) -> Result<Self> {
        if mask.iter().all(|&word| word == 0) {
            return Err(Error::InvalidValue {
                what: "the mask of compute units",
                value: format!("{mask:x?}"),
                allowed: "at least one unit".to_owned(),
            });
        }
        let mut inner = StreamInner::unshared(create_with_cu_mask(device, mask)?, *device);
        inner.cu_mask = Some(mask.into());
        Ok(Self { inner: inner.shared() })
    }

    /// This thread's own default stream of a device, made on first use: what `hipStreamPerThread` is in C. It is
    /// [`blocking`](StreamOptions::blocking), as that is, and can be given to other threads, which C's handle cannot.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// let device = hip::Device::get(0)?;
    /// let here = hip::Stream::per_thread(&device)?;
    /// assert_eq!(here, hip::Stream::per_thread(&device)?);
    /// let there = std::thread::spawn(move || hip::Stream::per_thread(&device)).join().unwrap()?;
    /// assert_ne!(here, there);
    /// # Ok(()) }
    /// ```
    pub fn per_thread(device: &Device) -> Result<Self> {
        thread_local! {
            static STREAMS: RefCell<Vec<Stream>> = const { RefCell::new(Vec::new()) };
        }
        let known = |streams: &RefCell<Vec<Self>>| streams.borrow().iter().find(|s| s.device() == *device).cloned();
        // A thread that is ending gets a new one each time.
        if let Ok(Some(stream)) = STREAMS.try_with(known) {
            return Ok(stream);
        }
        let stream = Self::with_options(device, StreamOptions::new().blocking(true))?;
        let _ = STREAMS.try_with(|streams| streams.borrow_mut().push(stream.clone()));
        Ok(stream)
    }

    /// The priority that the runtime has given it (`hipStreamGetPriority`): lower numbers go first.
    #[doc(alias("hipStreamGetPriority", "cuStreamGetPriority", "cudaStreamGetPriority"))]
    pub fn priority(&self) -> Result<i32> {
        self.inner.device.activate()?;
        let mut priority: c_int = 0;
        let _named = self.inner.named()?;
        // SAFETY: the stream is alive as long as `inner`; `priority` is valid for a write.
        let status = unsafe { hip_sys::hipStreamGetPriority(self.inner.raw(), &mut priority) };
        check(status, "hipStreamGetPriority", || self.inner.describe())?;
        Ok(priority)
    }

    /// Whether it and the device's legacy default stream wait for each other (`hipStreamGetFlags`).
    #[doc(alias("hipStreamGetFlags", "cuStreamGetFlags", "cudaStreamGetFlags"))]
    pub fn is_blocking(&self) -> Result<bool> {
        if self.inner.raw().is_null() {
            return Ok(true);
        }
        self.inner.device.activate()?;
        let mut flags = 0;
        let _named = self.inner.named()?;
        // SAFETY: the stream is alive as long as `inner`; `flags` is valid for a write.
        let status = unsafe { hip_sys::hipStreamGetFlags(self.inner.raw(), &mut flags) };
        check(status, "hipStreamGetFlags", || self.inner.describe())?;
        Ok(flags & hip_sys::hipStreamNonBlocking == 0)
    }

    /// The compute units that its kernels may run on, a bit each (`hipExtStreamGetCUMask`).
    #[doc(alias("hipExtStreamGetCUMask"))]
    pub fn cu_mask(&self) -> Result<Vec<u32>> {
        let units = self.inner.device.properties()?.compute_units;
        let words = units.div_ceil(32).max(1);
        self.inner.device.activate()?;
        let mut mask = vec![0u32; words as usize];
        let _named = self.inner.named()?;
        // SAFETY: the stream is alive as long as `inner`; `mask` has `words` words.
        let status = unsafe { hip_sys::hipExtStreamGetCUMask(self.inner.raw(), words, mask.as_mut_ptr()) };
        check(status, "hipExtStreamGetCUMask", || self.inner.describe())?;
        Ok(mask)
    }

    /// The device that the stream is on.
    #[must_use]
    #[inline]
    pub fn device(&self) -> Device {
        self.inner.device
    }

    /// Blocks until all work queued so far is done (`hipStreamSynchronize`). An error of that work comes back here.
    #[doc(alias("hipStreamSynchronize", "cuStreamSynchronize", "cudaStreamSynchronize"))]
    pub fn synchronize(&self) -> Result<()> {
        self.inner.wait_all()
    }

    /// Whether all work queued so far is done (`hipStreamQuery`).
    #[doc(alias("hipStreamQuery", "cuStreamQuery", "cudaStreamQuery"))]
    pub fn is_idle(&self) -> Result<bool> {
        let idle = self.inner.is_idle()?;
        later::catch_up();
        Ok(idle)
    }

    /// Makes all later work on this stream wait for the work that `event` was recorded after (`hipStreamWaitEvent`).
    /// The host does not wait. The event may be another device's.
    ///
    /// # Errors
    /// [`Error::EventNotRecorded`] if the event was never recorded: C would wait for nothing and say nothing.
    #[doc(alias("hipStreamWaitEvent", "cuStreamWaitEvent", "cudaStreamWaitEvent"))]
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        let Some(recorded) = event.recorded_here()? else {
            // Others record it.
            return self.inner.wait_held_event(event.raw());
        };
        if let Some(capture) = &recorded.capture {
            self.inner.join(capture)?;
            return self.inner.wait_raw_event(event.raw());
        }
        for event in event.told_by(Some(&recorded)) {
            match self.inner.wait_raw_event(event) {
                // Work of a stream that is captured since is over.
                Err(error) if error.status() == Some(ISOLATED) && recorded.is_over() => {}
                other => other?,
            }
        }
        if event.still(&recorded) {
            recorded.awaited_by(&self.inner);
        }
        Ok(())
    }

    /// Makes all later work on this stream wait for all work that `other` has now (`hipEventRecord`, `hipStreamWaitEvent`). The host does
    /// not wait. `other` may be on another device.
    ///
    /// # Errors
    /// [`Error::Capture`] if one of the two streams is captured by another thread, or into another graph.
    #[doc(alias("hipEventRecord", "cuEventRecord", "cudaEventRecord"))]
    #[doc(alias("hipStreamWaitEvent", "cuStreamWaitEvent", "cudaStreamWaitEvent"))]
    pub fn wait_for(&self, other: &Self) -> Result<()> {
        if self == other {
            return Ok(());
        }
        let event = Event::without_timing(&other.device())?;
        event.record(other)?;
        self.wait_event(&event)
    }

    /// A new event with timing, recorded here: [`Event::new`] and [`Event::record`].
    pub fn record(&self) -> Result<Event> {
        let event = Event::new(&self.inner.device)?;
        event.record(self)?;
        Ok(event)
    }

    /// The C handle, for calls of [`hip_sys`] beside this crate. It stays this stream's.
    ///
    /// Work that is queued through it on the memory of a buffer is unknown to the buffer.
    #[must_use]
    pub fn as_raw(&self) -> hipStream_t {
        self.inner.raw()
    }
}

impl PartialEq for Stream {
    /// Whether both are handles of one stream.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Stream {}

impl Hash for Stream {
    /// Handles of one stream have one hash.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.id.hash(state);
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("id", &self.inner.id)
            .field("device", &self.inner.device.index())
            .field("raw", &self.inner.raw())
            .finish()
    }
}

impl StreamInner {
    pub(crate) fn new(raw: hipStream_t, device: Device) -> Arc<Self> {
        Self::unshared(raw, device).shared()
    }

    /// A stream that keeps the execution context that it is of.
    #[cfg(feature = "rocm-10-0")]
    pub(crate) fn of_context(raw: hipStream_t, context: &Arc<ContextInner>) -> Arc<Self> {
        let mut stream = Self::unshared(raw, context.device());
        stream.context = Some(Arc::clone(context));
        stream.shared()
    }

    /// A stream that somebody else destroys, after all that uses it by way of this.
    fn borrowed(raw: hipStream_t, device: Device) -> Arc<Self> {
        let mut stream = Self::unshared(raw, device);
        stream.owned = false;
        stream.shared()
    }

    /// A stream that no device knows of, for a forked child, where every call on it is refused.
    fn of_nobody(raw: hipStream_t, device: Device) -> Arc<Self> {
        Arc::new(Self::unshared(raw, device))
    }

    /// For all who use it, and noted as one of its device.
    fn shared(self) -> Arc<Self> {
        let stream = Arc::new(self);
        stream.device.streams().add(&stream);
        later::at_end(of_device::tell_rest);
        stream
    }

    /// Whether nobody else destroys the C stream, or nobody at all.
    fn is_ours(&self) -> bool {
        self.owned || self.raw().is_null()
    }

    /// What is left of a stream that nobody has any more, for as long as its work runs: a stream of its own that destroys nothing.
    fn remains(&mut self) -> Self {
        let mut rest = Self::unshared(self.raw(), self.device);
        rest.owned = false;
        rest.id = self.id;
        rest.queue = Mutex::new(std::mem::take(&mut *self.lock()));
        rest.report = Arc::clone(&self.report);
        let numbers = [
            (&rest.completed, &self.completed),
            (&rest.over, &self.over),
            (&rest.unknown, &self.unknown),
            (&rest.held, &self.held),
        ];
        for (to, from) in numbers {
            to.store(from.load(Ordering::Acquire), Ordering::Release);
        }
        rest
    }

    fn unshared(raw: hipStream_t, device: Device) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            raw: AtomicPtr::new(raw),
            // Null is the device's own default stream.
            owned: !raw.is_null(),
            device,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            queue: Mutex::default(),
            direct: RwLock::default(),
            completed: AtomicU64::new(0),
            over: AtomicU64::new(0),
            unknown: AtomicU64::new(0),
            held: AtomicU64::new(0),
            asking: Mutex::default(),
            report: Arc::default(),
            captured: AtomicBool::new(false),
            capture: Mutex::default(),
            cu_mask: None,
            #[cfg(feature = "rocm-10-0")]
            context: None,
        }
    }

    /// The C stream. It stays the same while `queue` or `direct` is locked.
    #[inline]
    pub(crate) fn raw(&self) -> hipStream_t {
        self.raw.load(Ordering::Relaxed)
    }

    /// The highest ticket whose work is over and well, or whose error was told.
    pub(crate) fn completed(&self) -> u64 {
        self.completed.load(Ordering::Acquire)
    }

    /// Whether the work up to `ticket` is over, well or not.
    fn is_over(&self, ticket: u64) -> bool {
        self.over.load(Ordering::Acquire).max(self.completed()) >= ticket
    }

    /// Another C stream made as this one was.
    fn another_like_this(&self) -> Result<hipStream_t> {
        self.device.activate()?;
        let (raw, mut flags, mut priority) = (self.raw(), 0, 0);
        // SAFETY: the stream is alive; `priority` is valid for a write.
        let status = unsafe { hip_sys::hipStreamGetPriority(raw, &mut priority) };
        check(status, "hipStreamGetPriority", || self.describe())?;
        #[cfg(feature = "rocm-10-0")]
        if let Some(context) = &self.context {
            return create_in_context(context, priority);
        }
        if let Some(mask) = &self.cu_mask {
            return create_with_cu_mask(&self.device, mask);
        }
        // SAFETY: the stream is alive; `flags` is valid for a write.
        let status = unsafe { hip_sys::hipStreamGetFlags(raw, &mut flags) };
        check(status, "hipStreamGetFlags", || self.describe())?;
        let mut new = ptr::null_mut();
        // SAFETY: `new` is valid for a write.
        let status = unsafe { hip_sys::hipStreamCreateWithPriority(&mut new, flags, priority) };
        check(status, "hipStreamCreateWithPriority", || self.describe())?;
        Ok(new)
    }

    /// Blocks until all work queued so far is over, for somebody who waits for the whole device: what a host function has done comes back
    /// from the stream itself.
    fn wait_for_device(&self) -> Result<()> {
        let issued = self.issued();
        let issued = self.synchronize_unless_over(issued)?;
        drop(self.asking.lock());
        self.over.fetch_max(issued, Ordering::AcqRel);
        let failed = self.report.take_failed();
        if !self.report.is_pending() {
            self.completed.fetch_max(issued, Ordering::AcqRel);
        }
        failed.map_or(Ok(()), Err)
    }

    /// As [`credit`](Self::credit), of all that a locked queue has.
    fn credit_queue(&self, queue: &Queue) -> Result<()> {
        self.over.fetch_max(queue.issued, Ordering::AcqRel);
        let kept = self.report.take();
        self.completed.fetch_max(queue.issued, Ordering::AcqRel);
        kept.map_or(Ok(()), Err)
    }

    /// Notes that all work up to `ticket` is over. An error that was kept for whoever waits comes back here.
    pub(crate) fn credit(&self, ticket: u64) -> Result<()> {
        // Who has taken an error out of the runtime has put it into the report when this is free.
        drop(self.asking.lock());
        self.over.fetch_max(ticket, Ordering::AcqRel);
        let kept = self.reported();
        self.completed.fetch_max(ticket, Ordering::AcqRel);
        if !self.is_ours() {
            // Its owner may destroy it now. Who has not seen yet that the work is over still has one of these.
            drop(self.direct.write());
            drop(self.lock());
        }
        kept.map_or(Ok(()), Err)
    }

    pub(crate) fn note_waited(&self, stream: u64, ticket: u64) {
        let mut queue = self.lock();
        match queue.waited.iter_mut().find(|(id, _)| *id == stream) {
            Some((_, known)) => *known = (*known).max(ticket),
            None => {
                if queue.waited.len() == 64 {
                    // Forgetting only costs a wait that was not needed.
                    queue.waited.remove(0);
                }
                queue.waited.push((stream, ticket));
            }
        }
    }

    pub(crate) fn device(&self) -> Device {
        self.device
    }

    /// What tells streams apart, for the life of the program; never 0.
    #[inline]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock()
    }

    /// The ticket of the last work that is queued.
    pub(crate) fn issued(&self) -> u64 {
        self.lock().issued
    }

    /// As `lock`, if nobody has it locked.
    pub(crate) fn try_lock(&self) -> Option<impl Sized + '_> {
        self.queue.try_lock()
    }

    /// Queues one piece of work that touches `accesses`, after whatever must come before it.
    ///
    /// `queue` gets the C stream and makes the C call. The device is current when it runs.
    pub(crate) fn submit(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        launch: Option<Launching<'_>>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<()> {
        self.submit_numbered(accesses, launch, queue).map(drop)
    }

    /// As [`submit`](Self::submit), and returns the ticket; 0 for work that went into a graph.
    pub(crate) fn submit_numbered(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        launch: Option<Launching<'_>>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<u64> {
        self.submit_checked(accesses, launch, || Ok(()), queue)
    }

    /// As [`submit`](Self::submit), for a call of another library, which may queue nothing.
    pub(crate) fn submit_foreign(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<()> {
        if self.is_captured() {
            return self.capture_with(accesses, |_| queue(self.raw()));
        }
        self.submit(accesses, None, queue)
    }

    /// As [`submit_numbered`](Self::submit_numbered), for work that may wait for something that the host does. No subscriber is told.
    pub(crate) fn submit_held(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        launch: Option<Launching<'_>>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<u64> {
        let _held = of_device::queueing_what_may_be_held()?;
        let submitted = self.submit_untold(accesses, launch, || Ok(()), queue);
        // What a call that failed has queued counts too.
        self.held.fetch_max(self.issued(), Ordering::AcqRel);
        submitted
    }

    /// Up to which ticket work may wait for something that the host does.
    fn held_until(&self) -> u64 {
        self.held.load(Ordering::Acquire)
    }

    /// The work up to `ticket`, if it is not known to be over.
    fn blocker(self: &Arc<Self>, ticket: u64) -> Option<Blocker> {
        let open = later::Queue::verdict(&**self, ticket) == Verdict::Open;
        open.then(|| (Arc::clone(self) as Arc<dyn later::Queue>, ticket))
    }

    /// As [`submit_numbered`](Self::submit_numbered), with `check` asked first, unless the stream's last launch was the same.
    #[inline]
    pub(crate) fn submit_checked<'a>(
        self: &Arc<Self>,
        accesses: impl Accesses<'a>,
        launch: Option<Launching<'_>>,
        check: impl FnOnce() -> Result<()>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<u64> {
        let ticket = self.submit_untold(accesses, launch, check, queue)?;
        // No lock is held: a subscriber may do what it likes.
        if let Some(Launching { kernel, config }) = launch {
            trace::launch(self.device, self.id, kernel, config.copied());
        }
        Ok(ticket)
    }

    #[inline]
    fn submit_untold<'a>(
        self: &Arc<Self>,
        accesses: impl Accesses<'a>,
        launch: Option<Launching<'_>>,
        check: impl FnOnce() -> Result<()>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<u64> {
        self.device.activate()?;
        let mut state = self.lock();
        let known = launch.is_some_and(|launch| state.launches.is_last(&launch));
        if !known {
            check()?;
        }
        // No other stream uses any of it: the common case. A mark with a ticket that is not given out yet does no harm.
        let ticket = state.issued + 1;
        let alone = move |access: Access<'_>| access.usage.mark_alone(self, access.kind, ticket);
        if self.is_captured() || !accesses.all(alone) {
            drop(state);
            return self.submit_in_order(&accesses.list(), launch, queue);
        }
        state.issued = ticket;
        queue(self.raw())?;
        if let Some(launch) = launch.filter(|_| !known) {
            state.launches.remember(launch);
        }
        Ok(ticket)
    }

    /// Notes a launch that is queued already, for errors that come back late, and traces it.
    pub(crate) fn launched(&self, launch: Launching<'_>) {
        let Launching { kernel, config } = launch;
        self.lock().launches.remember(launch);
        trace::launch(self.device, self.id, kernel, config.copied());
    }

    /// As [`submit_numbered`](Self::submit_numbered), where the stream is captured, or others may use the same memory.
    fn submit_in_order(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        launch: Option<Launching<'_>>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<u64> {
        if self.is_captured() {
            return self.submit_captured(accesses, launch, queue).map(|()| 0);
        }
        // What a graph keeps may be used by others without a borrow: finding out what to wait for and marking are one.
        let _order = if accesses.iter().any(|access| access.usage.needs_order()) { Some(usage::order()) } else { None };
        self.submit_after_others(accesses, launch, queue)
    }

    /// As [`submit_numbered`](Self::submit_numbered), where other streams use the same memory.
    fn submit_after_others(
        self: &Arc<Self>,
        accesses: &[Access<'_>],
        launch: Option<Launching<'_>>,
        queue: impl FnOnce(hipStream_t) -> Result<()>,
    ) -> Result<u64> {
        let mut pending: Vec<Pending> = Vec::new();
        for access in accesses {
            access.usage.claim();
            access.usage.pending(access.kind, &mut pending);
        }
        for work in &pending {
            if !Arc::ptr_eq(&work.stream, self) && !context::is_unordered() {
                self.wait_for_stream(work)?;
            }
        }
        self.device.activate()?;
        let mut state = self.lock();
        if self.is_captured() {
            // Since we looked.
            drop(state);
            return self.submit_captured(accesses, launch, queue).map(|()| 0);
        }
        state.issued += 1;
        let ticket = state.issued;
        let mut retired = Vec::new();
        // Marked before the outcome is known: a call that fails may have queued something.
        for access in accesses {
            access.usage.mark(self, access.kind, ticket, &mut retired);
        }
        let queued = queue(self.raw());
        if let (Ok(()), Some(launch)) = (&queued, launch) {
            state.launches.remember(launch);
        }
        queued.map(|()| ticket)
    }

    /// Makes this stream wait, on the device, for what another one has queued.
    fn wait_for_stream(&self, work: &Pending) -> Result<()> {
        let known = self.lock().waited.iter().any(|&(id, ticket)| id == work.stream.id && ticket >= work.ticket);
        if known {
            return Ok(());
        }
        let event = PooledEvent::take(work.stream.device)?;
        // Who begins to capture the other stream meanwhile has waited for its work.
        let is_over = || work.stream.completed() >= work.ticket;
        let ticket = match work.stream.record_unless_over(event.raw(), work.ticket) {
            Ok(Some(ticket)) => ticket,
            Ok(None) => return Ok(()),
            Err(Error::Capture { .. }) if is_over() => return Ok(()),
            Err(error) => return Err(error),
        };
        match self.wait_raw_event(event.raw()) {
            Err(error) if error.status() == Some(ISOLATED) && is_over() => return Ok(()),
            other => other?,
        }
        // The event goes back to the pool: the runtime keeps what the wait needs of it.
        self.note_waited(work.stream.id, ticket);
        Ok(())
    }

    /// Records an event behind all that is queued. Returns the ticket of the last of it, and the capture that the event is recorded in.
    pub(crate) fn record_raw_event(&self, event: hipEvent_t) -> Result<(u64, Option<Arc<Capture>>)> {
        self.device.activate()?;
        self.record_locked(event, &self.lock())
    }

    /// As [`record_raw_event`](Self::record_raw_event), for who has no handle of the stream and waits for the work up to `ticket`. `None` if
    /// that is over: a stream of other code may be gone then.
    fn record_unless_over(&self, event: hipEvent_t, ticket: u64) -> Result<Option<u64>> {
        self.device.activate()?;
        let queue = self.lock();
        if !self.is_ours() && self.is_over(ticket) {
            return Ok(None);
        }
        self.record_locked(event, &queue).map(|(ticket, _)| Some(ticket))
    }

    fn record_locked(&self, event: hipEvent_t, queue: &Queue) -> Result<(u64, Option<Arc<Capture>>)> {
        let capture = self.own_capture()?;
        // SAFETY: the caller's event and this stream are alive and on one device.
        let status = unsafe { hip_sys::hipEventRecord(event, self.raw()) };
        check(status, "hipEventRecord", || self.describe())?;
        Ok((queue.issued, capture))
    }

    /// As [`wait_raw_event`](Self::wait_raw_event), of an event that comes nobody knows when. It counts as work, for it may hold the stream up.
    fn wait_held_event(&self, event: hipEvent_t) -> Result<()> {
        let _held = of_device::queueing_what_may_be_held()?;
        let waited = self.wait_raw_event(event);
        let mut queue = self.lock();
        if !self.is_captured() {
            queue.issued += 1;
            self.held.fetch_max(queue.issued, Ordering::AcqRel);
        }
        waited
    }

    fn wait_raw_event(&self, event: hipEvent_t) -> Result<()> {
        self.device.activate()?;
        let _state = self.lock();
        self.own_capture()?;
        // SAFETY: the caller's event and this stream are alive; 0 is the only flag that there is.
        let status = unsafe { hip_sys::hipStreamWaitEvent(self.raw(), event, 0) };
        check(status, "hipStreamWaitEvent", || self.describe())
    }

    /// Blocks until the work with `ticket` is done.
    pub(crate) fn wait_for(&self, ticket: u64) -> Result<()> {
        if self.completed() >= ticket {
            return Ok(());
        }
        let result = self.synchronize_unless_over(ticket).and_then(|issued| self.credit(issued));
        later::catch_up();
        result
    }

    /// For a call of the runtime that names the stream while its queue is not locked: no capture of it begins meanwhile.
    pub(crate) fn direct(&self, what: &str) -> Result<RwLockReadGuard<'_, ()>> {
        let direct = self.named()?;
        self.refuse_captured(what)?;
        Ok(direct)
    }

    /// As [`direct`](Self::direct), for who has no handle of the stream and wants to know of the work up to `ticket`. `None` if that is over:
    /// a stream of other code may be gone then.
    fn direct_unless_over(&self, what: &str, ticket: u64) -> Result<Option<RwLockReadGuard<'_, ()>>> {
        let direct = self.direct(what)?;
        Ok((self.is_ours() || !self.is_over(ticket)).then_some(direct))
    }

    /// For a call of the runtime that names the stream, which stays the same C stream meanwhile, captured or not.
    pub(crate) fn named(&self) -> Result<RwLockReadGuard<'_, ()>> {
        context::check_caller()?;
        Ok(self.direct.read())
    }

    /// Whether all work queued so far is over, well or not. An error of it, or one that was kept, comes back here.
    pub(crate) fn is_idle(&self) -> Result<bool> {
        let direct = self.direct("asking whether its work is done")?;
        self.device.activate()?;
        let issued = self.lock().issued;
        // SAFETY: the stream is alive as long as `self`.
        let status = unsafe { hip_sys::hipStreamQuery(self.raw()) };
        drop(direct);
        match Status(status.0) {
            Status::SUCCESS => self.credit(issued).map(|()| true),
            Status::NOT_READY => Ok(false),
            _ => Err(self.told(status, "hipStreamQuery")),
        }
    }

    /// Makes a call that copies from or to memory of the host's, and waits for the copy: memory of the host's is only borrowed.
    pub(crate) fn copy_now(&self, call: impl FnOnce(hipStream_t) -> Result<()>) -> Result<()> {
        let direct = self.direct("a copy from or to memory that is not pinned")?;
        self.device.activate()?;
        let copied = call(self.raw());
        drop(direct);
        // Most often nothing is left, and asking costs a fraction of waiting. What a call that failed has begun is waited for too.
        let finished = self.is_idle().and_then(|idle| if idle { Ok(()) } else { self.wait_all() });
        copied.and(finished)
    }

    /// Blocks until all work queued so far is over. An error of it, or one that was kept, comes back here.
    pub(crate) fn wait_all(&self) -> Result<()> {
        let result = self.synchronize().and_then(|issued| self.credit(issued));
        later::catch_up();
        result
    }

    /// What host functions and destructors have reported.
    pub(crate) fn reported(&self) -> Option<Error> {
        let graphs = std::mem::take(&mut self.lock().graphs);
        self.report.take().or_else(|| graphs.iter().find_map(|report| report.take()))
    }

    pub(crate) fn report(&self) -> &Arc<Report> {
        &self.report
    }

    /// Tells the report of a graph's host functions to who waits for this stream next.
    pub(crate) fn watch(&self, report: &Arc<Report>) {
        let graphs = &mut self.lock().graphs;
        if !graphs.iter().any(|known| Arc::ptr_eq(known, report)) {
            graphs.push(Arc::clone(report));
        }
    }

    /// Blocks until all work queued so far is done, and returns the last ticket of it.
    fn synchronize(&self) -> Result<u64> {
        let _span = trace::wait(self.device, self.id);
        let _direct = self.direct("waiting for its work")?;
        self.wait_raw()
    }

    /// As [`synchronize`](Self::synchronize), for who has no handle of the stream: no more is known to be done than the work up to `ticket`
    /// if that was over before.
    fn synchronize_unless_over(&self, ticket: u64) -> Result<u64> {
        let _span = trace::wait(self.device, self.id);
        match self.direct_unless_over("waiting for its work", ticket)? {
            Some(_direct) => self.wait_raw(),
            None => Ok(ticket),
        }
    }

    /// As [`synchronize`](Self::synchronize), for who has made sure that the stream is not captured meanwhile.
    fn wait_raw(&self) -> Result<u64> {
        self.device.activate()?;
        let issued = self.lock().issued;
        // SAFETY: the stream is alive as long as `self`.
        let status = unsafe { hip_sys::hipStreamSynchronize(self.raw()) };
        if status.0 != 0 {
            return Err(self.told(status, "hipStreamSynchronize"));
        }
        let mut state = self.lock();
        if state.issued == issued {
            state.launches.clear();
        }
        Ok(issued)
    }

    /// The error of the work that a wait was told, or the one that a destructor was told of the same work, which has its launches then.
    fn told(&self, status: hipError_t, function: &'static str) -> Error {
        let _asking = self.asking.lock();
        let own = || failed(status, function, self.describe_with_launches(""));
        self.report.take_failed().unwrap_or_else(own)
    }

    /// For an error of the work itself: the launches that may have caused it, which are told once.
    pub(crate) fn describe_with_launches(&self, what: &str) -> String {
        let launches = std::mem::take(&mut self.lock().launches);
        let mut text = format!("{what}{}", self.describe());
        if !launches.is_empty() {
            text += &format!("; launched since it was last known to be well: {launches}");
        }
        text
    }

    pub(crate) fn describe(&self) -> String {
        format!("stream {} of device {}", self.id, self.device.index())
    }
}

impl later::Queue for StreamInner {
    fn id(&self) -> u64 {
        self.id
    }

    fn verdict(&self, ticket: u64) -> Verdict {
        if self.is_over(ticket) {
            Verdict::Over
        } else if self.unknown.load(Ordering::Acquire) >= ticket {
            Verdict::Unknown
        } else {
            Verdict::Open
        }
    }

    fn ask(&self) {
        if context::is_forked() {
            return; // the work is the parent's
        }
        let _asking = self.asking.lock();
        // A first failure may be the work's own, after which the stream is well, or broken for good.
        for _ in 0..2 {
            let Ok(_direct) = self.direct("asking whether its work is done") else { return };
            let issued = self.lock().issued;
            if self.verdict(issued) == Verdict::Over {
                return; // who has waited for it may have destroyed the stream, if it is not ours
            }
            if let Err(error) = self.device.activate() {
                self.report.put(error);
                break;
            }
            // SAFETY: the stream is alive as long as `self`.
            let status = unsafe { hip_sys::hipStreamQuery(self.raw()) };
            match Status(status.0) {
                Status::NOT_READY => return,
                Status::SUCCESS => {
                    self.over.fetch_max(issued, Ordering::AcqRel);
                    if !self.report.is_pending() {
                        self.completed.fetch_max(issued, Ordering::AcqRel);
                    }
                    return;
                }
                _ => self.report.put(failed(status, "hipStreamQuery", self.describe_with_launches(""))),
            }
        }
        let issued = self.lock().issued;
        self.unknown.fetch_max(issued, Ordering::AcqRel);
    }
}

impl Drop for StreamInner {
    /// The stream is destroyed when its work is over. That is never waited for here, where locks may be held.
    fn drop(&mut self) {
        if !self.owned || context::is_forked() {
            return; // somebody else's; the parent's
        }
        let (raw, device) = (self.raw().expose_provenance(), self.device);
        let rest = Arc::new(self.remains());
        device.streams().add_leaving(&rest);
        #[cfg(feature = "rocm-10-0")]
        let context = self.context.take();
        let issued = rest.lock().issued;
        later::leave(vec![(rest, issued)], move || {
            if device.activate().is_ok() {
                // SAFETY: ours, made by hipStreamCreate*, its work is over, and nobody has it any more.
                let _ = unsafe { hip_sys::hipStreamDestroy(ptr::with_exposed_provenance_mut(raw)) };
            }
            #[cfg(feature = "rocm-10-0")]
            drop(context);
        });
    }
}

/// Queues work without making streams wait for each other: the opt-out of this crate's order between streams.
///
/// What `body` queues from this thread, on any stream, starts as soon as its stream comes to it, even if another stream still
/// writes to a buffer that it reads. The host still waits before it touches or frees memory that any of it uses.
///
/// It is for work that is known to be independent though it shares a buffer (two streams that write to two halves of
/// one), or that is ordered by the caller's own events or [`Signal`]s; the waits that it saves cost an event each.
///
/// # Safety
/// Where two pieces of work on two streams use the same bytes and at least one writes to them, the caller orders them, for as long
/// as either may run.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// let device = hip::Device::get(0)?;
/// let mut data = hip::DeviceBuffer::<u32>::uninit(&device, 2000)?;
/// let (first, second) = (hip::Stream::new(&device)?, hip::Stream::new(&device)?);
/// let mut whole = data.as_slice_mut();
/// let (mut low, mut high) = whole.split_at_mut(1000)?;
/// // SAFETY: the halves have no byte in common.
/// unsafe {
///     hip::stream::without_stream_order(|| {
///         low.fill_async(&first, 1)?;
///         high.fill_async(&second, 2) // does not wait for the first stream
///     })?;
/// }
/// assert_eq!(data.to_vec()?[999..1001], [1, 2]);
/// # Ok(()) }
/// ```
pub unsafe fn without_stream_order<R>(body: impl FnOnce() -> R) -> R {
    context::unordered(body)
}
