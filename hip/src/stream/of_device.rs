//! The streams of a device: its default stream, this crate's own stream, and the list of all streams.

use std::ptr;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use super::capture::{self, apart_from_captures};
use super::{Report, Stream, StreamInner, StreamOptions};
use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::later;
use crate::core::queue::Blocker;
use crate::core::lock::{InRoom, Mutex, MutexGuard, Room, Rooms};
use crate::core::loss::Launches;
use crate::core::lost;
use crate::core::per_device::PerDevice;
use crate::stream::event::SpareEvents;

/// The streams of a device.
#[derive(Default)]
pub(crate) struct DeviceStreams {
    /// The legacy default stream.
    default: OnceLock<Arc<StreamInner>>,
    /// The stream for calls that are done when they return.
    blocking: OnceLock<Arc<StreamInner>>,
    /// All streams.
    all: Mutex<Vec<Weak<StreamInner>>>,
    /// Remnants of dropped streams, until their work is over and they are destroyed.
    leaving: Mutex<Vec<Weak<StreamInner>>>,
    /// Events for waits between streams.
    spare_events: SpareEvents,
}

impl DeviceStreams {
    /// Adds a new stream.
    pub(super) fn add(&self, stream: &Arc<StreamInner>) {
        add(&self.all, stream);
    }

    /// Adds the remnant of a dropped stream.
    pub(super) fn add_leaving(&self, stream: &Arc<StreamInner>) {
        add(&self.leaving, stream);
    }

    fn all(&self) -> Vec<Arc<StreamInner>> {
        upgraded(&lock(&self.all))
    }

    fn leaving(&self) -> Vec<Arc<StreamInner>> {
        upgraded(&lock(&self.leaving))
    }

    /// Returns the spare events; see [`crate::event::PooledEvent`].
    pub(crate) fn spare_events(&self) -> &SpareEvents {
        &self.spare_events
    }
}

/// The streams of each device.
static STREAMS: PerDevice<DeviceStreams> = PerDevice::new();

/// The first room is for calls that queue work which may wait for the host; the second, for calls that wait for a whole
/// device.
static HELD: Rooms = Rooms::new();
const QUEUEING: Room = Room::First;
const WAITING: Room = Room::Second;

/// The time for which a call that waits for the whole device is postponed while the device has work.
const PATIENCE: Duration = Duration::from_millis(200);

fn lock(streams: &Mutex<Vec<Weak<StreamInner>>>) -> MutexGuard<'_, Vec<Weak<StreamInner>>> {
    streams.lock()
}

fn upgraded(streams: &[Weak<StreamInner>]) -> Vec<Arc<StreamInner>> {
    streams.iter().filter_map(Weak::upgrade).collect()
}

fn add(streams: &Mutex<Vec<Weak<StreamInner>>>, stream: &Arc<StreamInner>) {
    let mut streams = lock(streams);
    if streams.len() == streams.capacity() {
        streams.retain(|stream| stream.strong_count() > 0);
    }
    streams.push(Arc::downgrade(stream));
}

/// Held while work is queued that may wait for an action of the host.
pub(crate) fn queueing_what_may_be_held() -> Result<InRoom<'static>> {
    context::check_caller()?;
    Ok(HELD.enter(QUEUEING))
}

/// Makes `call`, which waits in the runtime for all work of the device (`hipFree` and similar functions), for a
/// destructor: at once if the streams of the device have no work, else later. If they always have work, it is made
/// after a while all the same, but never while work of any stream may wait for the host.
///
/// The runtime waits for one stream after the other, and meanwhile no other thread's call on that stream returns, not
/// even a query. If the host is to release the stream's work after such a call, that never happens.
pub(crate) fn when_idle(device: Device, call: impl FnOnce() + Send + 'static) {
    try_when_idle(device, None, call);
}

/// Like [`when_idle`], for a call of other code that invalidates captures ([`apart_from_captures`]): not while a
/// capture is in progress.
pub(crate) fn when_idle_apart(device: Device, call: impl FnOnce() + Send + 'static) {
    when_idle(device, move || {
        // A thread that waits for the deferred jobs may be in a capture.
        if later::is_pressed() {
            return call();
        }
        let mut call = Some(call);
        let _ = apart_from_captures(|| call.take().map(|call| call()));
        if let Some(call) = call {
            let captures = capture::blocker().into_iter().collect();
            later::leave_slow(captures, move || when_idle_apart(device, call));
        }
    });
}

/// Makes `call` of other code, which waits in the runtime for all work of a device, or uses its default stream. It is
/// not made during a capture, or while work of any stream may wait for the host. Returns `None` if it was not made for
/// these reasons.
///
/// Meanwhile, calls on a stream that the runtime waits for do not return: if the host is to release its work after such
/// a call, that never happens.
pub(crate) fn try_apart<R>(call: impl FnOnce() -> R) -> Option<R> {
    let _apart = HELD.try_enter(WAITING)?;
    if !held().is_empty() {
        return None;
    }
    apart_from_captures(call)
}

/// Blocks until [`try_apart`] may succeed.
///
/// # Errors
/// [`Error::Capture`] if this thread has a capture in progress.
pub(crate) fn wait_to_be_apart(what: &str) -> Result<()> {
    context::check_caller()?;
    if capture::is_capturing() {
        return Err(Error::Capture {
            reason: format!("{what} waits for the device, and this thread captures a stream"),
        });
    }
    drop(HELD.enter(WAITING));
    for (queue, ticket) in held().into_iter().chain(capture::blocker()) {
        queue.wait(ticket);
    }
    Ok(())
}

fn try_when_idle(device: Device, since: Option<Instant>, call: impl FnOnce() + Send + 'static) {
    let now = Instant::now();
    let patient = since.is_none_or(|since| now.saturating_duration_since(since) < PATIENCE);
    let blockers = match later::is_pressed() {
        true => Vec::new(),
        false => blockers(device, patient),
    };
    if !blockers.is_empty() {
        return later::leave_slow(blockers, move || try_when_idle(device, since.or(Some(now)), call));
    }
    // Do not block in a thread of the user.
    let none_may_be_held = match since {
        None => HELD.try_enter(WAITING),
        Some(_) => Some(HELD.enter(WAITING)),
    };
    // Such work may have been queued since.
    if none_may_be_held.is_none() || !later::is_pressed() && !held().is_empty() {
        drop(none_may_be_held);
        return later::leave_slow(held(), move || try_when_idle(device, since.or(Some(now)), call));
    }
    lost::quietly(call);
}

/// Returns the work that blocks a call that waits for the device: all work of its streams if `patient`, else the work
/// that may wait for the host.
fn blockers(device: Device, patient: bool) -> Vec<Blocker> {
    let streams = device.streams();
    let mut blockers = held();
    if patient {
        let all = streams.leaving().into_iter().chain(streams.all());
        blockers.extend(all.filter_map(|stream| stream.blocker(stream.issued())));
    }
    blockers
}

/// Returns the work of all devices that may wait for the host, as streams of other devices may wait for it.
fn held() -> Vec<Blocker> {
    let all = STREAMS.all().iter().flat_map(|streams| streams.leaving().into_iter().chain(streams.all()));
    all.filter_map(|stream| stream.blocker(stream.held_until())).collect()
}

/// Reports errors of streams that were never dropped, at the end of the process, when their work is over.
pub(super) fn tell_rest() {
    for stream in STREAMS.all().iter().flat_map(DeviceStreams::all).filter(|stream| stream.is_ours()) {
        let blockers: Vec<Blocker> = stream.blocker(stream.issued()).into_iter().collect();
        if blockers.is_empty() {
            stream.report().tell();
            stream.watched_reports().iter().for_each(|report| report.tell());
        } else {
            let mut rest = Rest(stream.watched_reports());
            rest.0.push(Arc::clone(stream.report()));
            later::leave(blockers, move || drop(rest));
        }
    }
}

/// Number of attempts to take a lock that another thread holds briefly.
const TRIES: u32 = 100;

/// Adds the launches on a device that are not known to be over. A stream that the calling thread has locked cannot be
/// read.
pub(super) fn read_launches(device: Device, launches: &mut Launches) {
    let streams = device.streams();
    for stream in streams.leaving().into_iter().chain(streams.all()) {
        let read = (0..TRIES).find_map(|_| {
            let names = stream.try_read_launches();
            if names.is_none() {
                std::thread::yield_now();
            }
            names
        });
        match read {
            Some(names) => launches.names.extend(names),
            None => launches.unread.push(stream.id()),
        }
    }
}

/// Writes the errors of the reports to stderr when it is dropped, whether the work is over or its state is unknown.
struct Rest(Vec<Arc<Report>>);

impl Drop for Rest {
    fn drop(&mut self) {
        self.0.iter().for_each(|report| report.tell());
    }
}

impl Device {
    pub(super) fn streams(&self) -> &'static DeviceStreams {
        STREAMS.of(*self)
    }

    /// Blocks until all work on all streams of the device is done (`hipDeviceSynchronize`). Returns an error of that
    /// work.
    ///
    /// While a stream of any device is [captured](Stream::capture), HIP cannot wait for a device. Then this waits for
    /// each stream of this crate that is not captured, but not for streams of other code.
    #[doc(alias("hipDeviceSynchronize", "cudaDeviceSynchronize", "cudaThreadSynchronize"))]
    pub fn synchronize(&self) -> Result<()> {
        self.activate()?;
        // Wait for each stream first: this credits each one, and leaves little for the call below, during which no capture can begin.
        let streams = self.streams().all();
        let mut waited = Ok(());
        for stream in &streams {
            match stream.wait_for_device() {
                // A captured stream has no work.
                Err(Error::Capture { .. }) => {}
                one => waited = waited.and(one),
            }
        }
        let whole = apart_from_captures(|| {
            // SAFETY: takes nothing.
            let status = unsafe { hip_sys::hipDeviceSynchronize() };
            check(status, "hipDeviceSynchronize", || format!("device {}", self.index()))
        });
        later::catch_up();
        waited.and(whole.unwrap_or(Ok(())))
    }

    /// Returns the device's legacy default stream, C's null stream. It and every [`blocking`](StreamOptions::blocking)
    /// stream wait for each other. Prefer streams created with [`Stream::new`].
    #[must_use]
    pub fn default_stream(&self) -> Stream {
        if context::is_forked() {
            return Stream { inner: StreamInner::of_nobody(ptr::null_mut(), *self) };
        }
        let new = || StreamInner::new(ptr::null_mut(), *self);
        Stream { inner: Arc::clone(self.streams().default.get_or_init(new)) }
    }

    /// Returns a stream of this crate, which waits for no other and is never captured, for calls that are done when
    /// they return.
    ///
    /// HIP runs such calls on the device's default stream, and rejects them while any stream of any thread is captured.
    pub(crate) fn blocking_stream(&self) -> Result<Stream> {
        let streams = self.streams();
        if let Some(inner) = streams.blocking.get() {
            return Ok(Stream { inner: Arc::clone(inner) });
        }
        // Streams of one priority share a few hardware queues, and a stalled stream stalls the others on its queue. Most streams have
        // normal priority, so use another one.
        let first = *self.stream_priority_range()?.start();
        let Stream { inner } = Stream::with_options(self, StreamOptions::new().priority(first))?;
        Ok(Stream { inner: Arc::clone(streams.blocking.get_or_init(|| inner)) })
    }
}
