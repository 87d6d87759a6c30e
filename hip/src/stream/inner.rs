//! The state of a stream, shared by its handles and by all allocations that it works on.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use hip_sys::{hipStream_t, ihipStream_t};

use super::capture::Capture;
#[cfg(feature = "rocm-10-0")]
use super::execution::{ContextInner, create_in_context};
use super::host::Report;
use super::launches::Launches;
use super::watched::Watched;
use super::{create_with_cu_mask, of_device};
use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::Result;
use crate::core::later;
use crate::core::lock::{Mutex, MutexGuard, RwLock};
use crate::core::lost;

/// A C stream and the record of its work. Shared by every allocation that it works on.
pub(crate) struct StreamInner {
    /// Replaced by another stream if a capture has made it unusable; see [`renew_if_spoilt`](Self::renew_if_spoilt).
    pub(super) raw: AtomicPtr<ihipStream_t>,
    /// Whether dropping this destroys it.
    pub(super) owned: bool,
    /// Whether other code has the C handle, and may queue work without a ticket.
    pub(super) handed_out: AtomicBool,
    pub(super) device: Device,
    pub(super) id: u64,
    /// Locked while work is queued on the stream, so that tickets have the order of the work.
    pub(super) queue: Mutex<Queue>,
    /// Shared by calls of the runtime that use the stream while `queue` is not locked. No capture begins meanwhile.
    pub(super) direct: RwLock<()>,
    /// The highest ticket whose work is over, and whose errors were reported.
    pub(super) completed: AtomicU64,
    /// The highest ticket whose work is over. If it is higher than `completed`, an error was not reported yet.
    pub(super) over: AtomicU64,
    /// The highest ticket whose state the runtime could not report.
    pub(super) unknown: AtomicU64,
    /// The highest ticket whose work may wait for an action of the host.
    pub(super) held: AtomicU64,
    /// Locked while an error moves from the runtime to `report`.
    pub(super) asking: Mutex<()>,
    /// Errors of host functions and destructors: they belong to this stream's work, so the next wait for the stream
    /// returns them.
    pub(super) report: Arc<Report>,
    /// Whether `capture` is set.
    pub(super) captured: AtomicBool,
    /// The capture that receives the work instead of the stream.
    pub(super) capture: Mutex<Option<Arc<Capture>>>,
    /// The compute units that it was created for, if not for all.
    pub(super) cu_mask: Option<Box<[u32]>>,
    /// The execution context that it was created in, which is dropped after it.
    #[cfg(feature = "rocm-10-0")]
    pub(crate) context: Option<Arc<ContextInner>>,
}

/// Returns whether it is null, `hipStreamLegacy` or `hipStreamPerThread`: these refer to a stream of the current device
/// or thread.
pub(super) fn is_default(raw: hipStream_t) -> bool {
    raw.addr() <= 2
}

#[derive(Default)]
pub(super) struct Queue {
    /// Ticket of the last piece of work.
    pub(super) issued: u64,
    /// Other streams (by id) that this one already waits for, up to which ticket.
    pub(super) waited: Vec<(u64, u64)>,
    /// Reports of other streams and graphs whose work a wait for this stream covers.
    pub(super) watched: Watched,
    /// Launches since the host last knew all work to be done. Named by errors that are returned late.
    pub(super) launches: Launches,
}

impl StreamInner {
    pub(crate) fn new(raw: hipStream_t, device: Device) -> Arc<Self> {
        Self::unshared(raw, device).shared()
    }

    /// Creates the state of a stream that keeps its execution context.
    #[cfg(feature = "rocm-10-0")]
    pub(crate) fn of_context(raw: hipStream_t, context: &Arc<ContextInner>) -> Arc<Self> {
        let mut stream = Self::unshared(raw, context.device());
        stream.context = Some(Arc::clone(context));
        stream.shared()
    }

    /// Creates the state of a stream that other code destroys, after the last use of this.
    pub(super) fn borrowed(raw: hipStream_t, device: Device) -> Arc<Self> {
        let mut stream = Self::unshared(raw, device);
        stream.owned = false;
        stream.hand_out();
        stream.shared()
    }

    /// Creates the state of a stream that no device lists. For a forked child, where every call on it fails.
    pub(super) fn of_nobody(raw: hipStream_t, device: Device) -> Arc<Self> {
        Arc::new(Self::unshared(raw, device))
    }

    /// Shares the state, and adds it to its device's list.
    pub(super) fn shared(self) -> Arc<Self> {
        let stream = Arc::new(self);
        stream.device.streams().add(&stream);
        later::at_end(of_device::tell_rest);
        lost::read_launches_by(of_device::read_launches);
        stream
    }

    /// Returns whether no other code destroys the C stream.
    pub(super) fn is_ours(&self) -> bool {
        self.owned || self.raw().is_null()
    }

    /// Moves the C stream to a remnant that lives as long as the stream's work runs, after all handles were dropped. It
    /// does not destroy the stream.
    pub(super) fn remains(&mut self) -> Self {
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

    pub(super) fn unshared(raw: hipStream_t, device: Device) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            raw: AtomicPtr::new(raw),
            // Null is the device's own default stream.
            owned: !raw.is_null(),
            // Any code can use the default streams.
            handed_out: AtomicBool::new(is_default(raw)),
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

    /// Returns the C stream. It does not change while `queue` or `direct` is locked.
    #[inline]
    pub(crate) fn raw(&self) -> hipStream_t {
        self.raw.load(Ordering::Relaxed)
    }

    /// Records that other code has the C handle.
    pub(super) fn hand_out(&self) {
        self.handed_out.store(true, Ordering::Relaxed);
    }

    /// Returns the highest ticket whose work is over without an error, or whose error was reported.
    pub(crate) fn completed(&self) -> u64 {
        self.completed.load(Ordering::Acquire)
    }

    /// Returns whether the work up to `ticket` is over, with or without an error.
    pub(super) fn is_over(&self, ticket: u64) -> bool {
        self.over.load(Ordering::Acquire).max(self.completed()) >= ticket
    }

    /// Creates another C stream with the same options.
    pub(super) fn another_like_this(&self) -> Result<hipStream_t> {
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

    pub(crate) fn device(&self) -> Device {
        self.device
    }

    /// Returns a number that identifies the stream for the life of the program; never 0.
    #[inline]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    #[inline]
    pub(super) fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock()
    }

    /// Returns the ticket of the last queued work.
    pub(crate) fn issued(&self) -> u64 {
        self.lock().issued
    }

    /// Locks the queue, unless it is already locked.
    pub(crate) fn try_lock(&self) -> Option<impl Sized + '_> {
        self.queue.try_lock()
    }

    /// Describes a call with the launches that may have caused an error of the work. Each launch is named once.
    pub(crate) fn describe_with_launches(&self, what: &str) -> String {
        let launches = std::mem::take(&mut self.lock().launches);
        let mut text = format!("{what}{}", self.describe());
        if !launches.is_empty() {
            text += &format!("; launched since it was last known to be well: {launches}");
        }
        text
    }

    /// Returns the launches that are not known to be over, unless a thread has the queue locked.
    pub(super) fn try_read_launches(&self) -> Option<Vec<String>> {
        self.queue.try_lock().map(|queue| self.launches_of(&queue))
    }

    /// Returns the launches of this stream's queue that are not known to be over.
    pub(super) fn launches_of(&self, queue: &Queue) -> Vec<String> {
        queue.launches.iter().map(|launch| format!("{launch} on {}", self.describe())).collect()
    }

    pub(crate) fn describe(&self) -> String {
        format!("stream {} of device {}", self.id, self.device.index())
    }
}

impl Drop for StreamInner {
    /// Destroys the stream when its work is over. It never blocks here, where locks may be held.
    fn drop(&mut self) {
        if !self.owned || context::is_forked() {
            return; // owned by other code, or by the parent process
        }
        let (raw, device) = (self.raw().expose_provenance(), self.device);
        let rest = Arc::new(self.remains());
        device.streams().add_leaving(&rest);
        #[cfg(feature = "rocm-10-0")]
        let context = self.context.take();
        let issued = rest.lock().issued;
        later::leave(vec![(rest, issued)], move || {
            if device.activate().is_ok() {
                // SAFETY: owned by this object, made by hipStreamCreate*, its work is over, and nothing else refers to it.
                let _ = unsafe { hip_sys::hipStreamDestroy(ptr::with_exposed_provenance_mut(raw)) };
            }
            #[cfg(feature = "rocm-10-0")]
            drop(context);
        });
    }
}
