//! The state of a stream, shared by its handles and by all allocations that it works on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use hip_sys::{hipStream_t, ihipStream_t};

#[cfg(feature = "rocm-10-0")]
use super::execution::ContextInner;
use super::launches::Launches;
use super::report::Report;
use super::watched::Watched;
use crate::core::device::Device;
use crate::core::lock::{Mutex, MutexGuard, RwLock};

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
    /// Whether a capture receives the work instead of the stream.
    pub(super) captured: AtomicBool,
    /// The compute units that it was created for, if not for all.
    pub(super) cu_mask: Option<Box<[u32]>>,
    /// The execution context that it was created in, which is dropped after it.
    #[cfg(feature = "rocm-10-0")]
    pub(crate) context: Option<Arc<ContextInner>>,
}

// SAFETY: a hipStream_t is a handle that the HIP runtime allows any thread to use, several at a time (the runtime locks its queues); it is
// destroyed only in Drop, when no other reference exists. All other fields are Send and Sync.
unsafe impl Send for StreamInner {}
// SAFETY: as above.
unsafe impl Sync for StreamInner {}

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
    /// Creates the state of a stream that no device lists. For a forked child, where every call on it fails.
    pub(super) fn of_nobody(raw: hipStream_t, device: Device) -> Arc<Self> {
        Arc::new(Self::unshared(raw, device))
    }

    /// Returns whether no other code destroys the C stream.
    pub(super) fn is_ours(&self) -> bool {
        self.owned || self.raw().is_null()
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
        self.known_over() >= ticket
    }

    /// Returns the highest ticket whose work is known to be over.
    pub(crate) fn known_over(&self) -> u64 {
        self.over.load(Ordering::Acquire).max(self.completed())
    }

    #[inline]
    pub(crate) fn is_captured(&self) -> bool {
        self.captured.load(Ordering::Acquire)
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

    /// Describes a call with the launches that may have caused an error of the work, which are those that were not known
    /// to be done when the work up to `since` was. Each launch is named once.
    pub(crate) fn describe_with_launches(&self, what: &str, since: u64) -> String {
        let launches = self.lock().launches.take(since);
        let mut text = format!("{what}{}", self.describe());
        if !launches.is_empty() {
            text += &format!("; launched since it was last known to be well: {}", launches.join(", "));
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
