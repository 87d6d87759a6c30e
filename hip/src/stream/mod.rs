//! Streams and the order of their work: events, signals, host functions, and the record of memory uses by stream.

#[cfg(feature = "rocm-7-1")]
mod attributes;
mod capture;
mod completion;
pub(crate) mod event;
#[cfg(feature = "rocm-10-0")]
mod execution;
mod foreign;
mod host;
mod inner;
mod launches;
pub(crate) mod of_device;
mod panics;
mod signal;
mod signal_op;
mod submit;
mod turns;
pub(crate) mod usage;
mod wait;
mod watched;

use std::cell::RefCell;
use std::ffi::c_int;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ptr;
use std::sync::Arc;

use hip_sys::hipStream_t;

pub(crate) use capture::{Capture, keep};
pub use completion::Completion;
pub use event::{Event, EventOptions, IpcEventHandle};
#[cfg(feature = "rocm-10-0")]
pub(crate) use execution::{ContextInner, create_in_context};
pub(crate) use host::{Report, run_reporting};
pub(crate) use inner::StreamInner;
pub(crate) use launches::Launching;
pub(crate) use panics::PanicCell;
pub use signal::{Signal, WaitCondition};
pub use signal_op::SignalOp;

use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::later::{self, with_memory};
use submit::ISOLATED;

/// A queue of work on one device: copies, fills and kernels run in the order in which they were queued.
///
/// Work on different streams runs in any order, except that this crate makes a stream wait for another one when both
/// touch the same buffer and at least one writes to it. A clone is another handle of the same stream. The stream is
/// destroyed (`hipStreamDestroy`) after its last handle and the last buffer that it still works on are dropped.
///
/// Create streams with [`Stream::new`] and pass them around: a program that only uses the device's default stream
/// ([`Device::default_stream`]) never overlaps any work.
#[doc(alias("hipStreamDestroy", "cuStreamDestroy", "cudaStreamDestroy"))]
#[derive(Clone)]
pub struct Stream {
    pub(crate) inner: Arc<StreamInner>,
}

/// Options for creating a stream. The default: normal priority, not blocking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamOptions {
    pub(crate) priority: Option<i32>,
    pub(crate) blocking: bool,
}

impl StreamOptions {
    /// Creates the default options: normal priority, not blocking.
    #[doc(alias("hipStreamCreate", "cudaStreamCreate"))]
    #[doc(alias("hipStreamCreateWithFlags", "cuStreamCreate", "cudaStreamCreateWithFlags"))]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the priority, within [`Device::stream_priority_range`]; lower numbers have precedence.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Sets whether the stream and the device's legacy default stream wait for each other (`hipStreamDefault` instead
    /// of `hipStreamNonBlocking`). Only code that mixes this crate with calls on the null stream needs this.
    #[must_use]
    pub fn blocking(mut self, blocking: bool) -> Self {
        self.blocking = blocking;
        self
    }
}

// SAFETY: a hipStream_t is a handle that the HIP runtime allows any thread to use, several at a time (the runtime locks its queues); it is
// destroyed only in Drop, when no other reference exists. All other fields are Send and Sync.
unsafe impl Send for StreamInner {}
// SAFETY: as above.
unsafe impl Sync for StreamInner {}

/// Creates a C stream whose kernels only run on some compute units.
fn create_with_cu_mask(device: &Device, mask: &[u32]) -> Result<hipStream_t> {
    device.activate()?;
    let words = u32::try_from(mask.len()).unwrap_or(u32::MAX);
    let mut raw: hipStream_t = ptr::null_mut();
    // SAFETY: `raw` is valid for a write, and the mask has `words` words.
    let status =
        with_memory(device, || unsafe { hip_sys::hipExtStreamCreateWithCUMask(&mut raw, words, mask.as_ptr()) });
    check(status, "hipExtStreamCreateWithCUMask", || {
        format!("a stream on the compute units {mask:x?} of device {}", device.index())
    })?;
    Ok(raw)
}

impl Stream {
    /// Creates a stream of normal priority that does not wait for the legacy default stream
    /// (`hipStreamCreateWithFlags`).
    #[doc(alias("hipStreamCreateWithFlags", "cuStreamCreate", "cudaStreamCreateWithFlags"))]
    #[doc(alias("hipStreamCreate", "cudaStreamCreate"))]
    pub fn new(device: &Device) -> Result<Self> {
        Self::with_options(device, StreamOptions::new())
    }

    /// Creates a stream (`hipStreamCreateWithFlags`, `hipStreamCreateWithPriority`).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for a priority outside of [`Device::stream_priority_range`], which the runtime would
    /// silently clamp.
    #[doc(alias("hipStreamCreateWithFlags", "cuStreamCreate", "cudaStreamCreateWithFlags"))]
    #[doc(alias("hipStreamCreateWithPriority", "cuStreamCreateWithPriority", "cudaStreamCreateWithPriority"))]
    pub fn with_options(device: &Device, options: StreamOptions) -> Result<Self> {
        let flags = if options.blocking { hip_sys::hipStreamDefault } else { hip_sys::hipStreamNonBlocking };
        let mut raw: hipStream_t = ptr::null_mut();
        match options.priority {
            None => {
                device.activate()?;
                // SAFETY: `raw` is valid for a write.
                let status = with_memory(device, || unsafe { hip_sys::hipStreamCreateWithFlags(&mut raw, flags) });
                check(status, "hipStreamCreateWithFlags", || format!("a stream on device {}", device.index()))?;
            }
            Some(priority) => {
                Self::check_priority(device, priority)?;
                device.activate()?;
                // SAFETY: `raw` is valid for a write.
                let status =
                    with_memory(device, || unsafe { hip_sys::hipStreamCreateWithPriority(&mut raw, flags, priority) });
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

    /// Creates a stream whose kernels only run on some compute units (`hipExtStreamCreateWithCUMask`). Bit 0 of the
    /// first word is the first unit; bits beyond the device's units are ignored. The stream has normal priority and is
    /// [`blocking`](StreamOptions::blocking).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for a mask without units of the device.
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

    /// Returns this thread's own default stream of a device, created on first use: the counterpart of C's
    /// `hipStreamPerThread`. Like that, it is [`blocking`](StreamOptions::blocking); unlike C's handle, it can be
    /// passed to other threads.
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
        // A thread that is ending gets a new stream each time.
        if let Ok(Some(stream)) = STREAMS.try_with(known) {
            return Ok(stream);
        }
        let stream = Self::with_options(device, StreamOptions::new().blocking(true))?;
        let _ = STREAMS.try_with(|streams| streams.borrow_mut().push(stream.clone()));
        Ok(stream)
    }

    /// Returns the priority that the runtime has assigned (`hipStreamGetPriority`); lower numbers have precedence.
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

    /// Returns whether it and the device's legacy default stream wait for each other (`hipStreamGetFlags`).
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

    /// Returns the compute units that its kernels may run on, one bit each (`hipExtStreamGetCUMask`).
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

    /// Returns the device.
    #[must_use]
    #[inline]
    pub fn device(&self) -> Device {
        self.inner.device
    }

    /// Blocks until all work queued so far is done (`hipStreamSynchronize`). Returns an error of that work.
    #[doc(alias("hipStreamSynchronize", "cuStreamSynchronize", "cudaStreamSynchronize"))]
    pub fn synchronize(&self) -> Result<()> {
        self.inner.wait_all()
    }

    /// Returns whether all work queued so far is done (`hipStreamQuery`).
    #[doc(alias("hipStreamQuery", "cuStreamQuery", "cudaStreamQuery"))]
    pub fn is_idle(&self) -> Result<bool> {
        // HIP may queue a marker to find out, and then reports the stream as busy.
        let idle = self.inner.is_idle()? || self.inner.has_nothing_left();
        later::catch_up();
        Ok(idle)
    }

    /// Makes all later work on this stream wait for the work that `event` was recorded after (`hipStreamWaitEvent`).
    /// The host does not wait. The event may be of another device.
    ///
    /// # Errors
    /// [`Error::EventNotRecorded`] if the event was never recorded, where HIP would not wait and return success.
    #[doc(alias("hipStreamWaitEvent", "cuStreamWaitEvent", "cudaStreamWaitEvent"))]
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        let Some(recorded) = event.recorded_here()? else {
            // Other code records it.
            return self.inner.wait_held_event(event.raw());
        };
        if let Some(capture) = &recorded.capture {
            self.inner.join(capture)?;
            return self.inner.wait_raw_event(event.raw());
        }
        recorded.watched_by(&self.inner);
        for event in event.told_by(Some(&recorded)) {
            match self.inner.wait_raw_event(event) {
                // If the event's stream is being captured now, its earlier work is over.
                Err(error) if error.status() == Some(ISOLATED) && recorded.is_over() => {}
                other => other?,
            }
        }
        if event.still(&recorded) {
            recorded.awaited_by(&self.inner);
        }
        Ok(())
    }

    /// Makes all later work on this stream wait for all work that `other` has now (`hipEventRecord`,
    /// `hipStreamWaitEvent`). The host does not wait. `other` may be on another device.
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

    /// Creates an event with timing and records it here; see [`Event::new`] and [`Event::record`].
    pub fn record(&self) -> Result<Event> {
        let event = Event::new(&self.inner.device)?;
        event.record(self)?;
        Ok(event)
    }

    /// Returns the C handle, for calls of [`hip_sys`] that this crate does not make. The `Stream` keeps ownership.
    ///
    /// Buffers do not track work that is queued through the handle.
    #[must_use]
    pub fn as_raw(&self) -> hipStream_t {
        self.inner.hand_out();
        self.inner.raw()
    }
}

impl PartialEq for Stream {
    /// Returns whether both are handles of one stream.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Stream {}

impl Hash for Stream {
    /// Handles of one stream have equal hashes.
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

/// Queues work without making streams wait for each other: the opt-out of this crate's order between streams.
///
/// Work that `body` queues from this thread, on any stream, starts as soon as its stream reaches it, even if another
/// stream still writes to a buffer that it reads. The host still waits before it touches or frees memory that this work
/// uses.
///
/// Use it for work that is independent though it shares a buffer (two streams that write to two halves of one), or that
/// your own events or [`Signal`]s order. Each wait that this saves would cost an event.
///
/// # Safety
/// If two pieces of work on two streams use the same bytes and at least one writes to them, the caller must order them,
/// for as long as either may run.
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
