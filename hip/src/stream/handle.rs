//! Streams: their options, creation, and state.

use std::cell::RefCell;
use std::ffi::c_int;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ptr;
use std::sync::Arc;

use hip_sys::hipStream_t;

use super::create::create_with_cu_mask;
use super::inner::StreamInner;
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::later::{self, with_memory};

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
