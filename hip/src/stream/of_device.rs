//! The streams of a device: those that it has by itself, and all of them together.

use std::ptr;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use super::capture::{self, apart_from_captures};
use super::{Report, Stream, StreamInner, StreamOptions};
use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::later::{self, Blocker};
use crate::core::lock::{InRoom, Mutex, MutexGuard, Room, Rooms};
use crate::core::lost::{self, Launches};
use crate::core::per_device::PerDevice;
use crate::stream::event::SpareEvents;

/// What is kept of the streams of a device.
#[derive(Default)]
pub(crate) struct DeviceStreams {
    /// The legacy default stream.
    default: OnceLock<Arc<StreamInner>>,
    /// What calls go over that are done when they return.
    blocking: OnceLock<Arc<StreamInner>>,
    /// All that there are.
    all: Mutex<Vec<Weak<StreamInner>>>,
    /// What is left of streams that nobody has any more, until their work is over and they are destroyed.
    leaving: Mutex<Vec<Weak<StreamInner>>>,
    /// For waits between streams.
    spare_events: SpareEvents,
}

impl DeviceStreams {
    /// Notes a new stream.
    pub(super) fn add(&self, stream: &Arc<StreamInner>) {
        add(&self.all, stream);
    }

    /// Notes what is left of a stream.
    pub(super) fn add_leaving(&self, stream: &Arc<StreamInner>) {
        add(&self.leaving, stream);
    }

    fn all(&self) -> Vec<Arc<StreamInner>> {
        upgraded(&lock(&self.all))
    }

    fn leaving(&self) -> Vec<Arc<StreamInner>> {
        upgraded(&lock(&self.leaving))
    }

    /// See [`crate::event::PooledEvent`].
    pub(crate) fn spare_events(&self) -> &SpareEvents {
        &self.spare_events
    }
}

/// Those of each device.
static STREAMS: PerDevice<DeviceStreams> = PerDevice::new();

/// Calls that queue what may wait for the host are in one room, those that wait for a whole device in the other.
static HELD: Rooms = Rooms::new();
const QUEUEING: Room = Room::First;
const WAITING: Room = Room::Second;

/// How long a call that waits for the whole device is put off while the device has work.
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

/// Held while work is queued that may wait for something that the host does.
pub(crate) fn queueing_what_may_be_held() -> Result<InRoom<'static>> {
    context::check_caller()?;
    Ok(HELD.enter(QUEUEING))
}

/// Makes `call`, which waits in the runtime for all work of the device (`hipFree` and its kin), for a destructor: at once if the streams
/// of the device have none, else later. If they always have some, it comes after a while all the same, but not while work of any
/// stream may wait for the host.
///
/// The runtime waits for one stream after the other, and no other thread's call on that stream returns meanwhile, not even one that asks
/// whether it is idle. If the host is to let the stream go on after such a call, it never does.
pub(crate) fn when_idle(device: Device, call: impl FnOnce() + Send + 'static) {
    try_when_idle(device, None, call);
}

/// As [`when_idle`], for a call of other code that no capture survives ([`apart_from_captures`]): not while there are any.
pub(crate) fn when_idle_apart(device: Device, call: impl FnOnce() + Send + 'static) {
    when_idle(device, move || {
        // Who waits for what is left may be in a capture.
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

/// Makes `call` of other code, which waits in the runtime for all work of a device, or uses its default stream for the host: not during a
/// capture, and not while work of any stream may wait for the host. `None` if it was not made, because there is such a thing.
///
/// Calls on a stream that the runtime waits for do not return meanwhile: if the host is to let its work go on after one, it never does.
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
/// [`Error::Capture`] if it is this thread that captures.
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
    // Not waited for in a thread of the user's.
    let none_may_be_held = match since {
        None => HELD.try_enter(WAITING),
        Some(_) => Some(HELD.enter(WAITING)),
    };
    // Some may have been queued since.
    if none_may_be_held.is_none() || !later::is_pressed() && !held().is_empty() {
        drop(none_may_be_held);
        return later::leave_slow(held(), move || try_when_idle(device, since.or(Some(now)), call));
    }
    lost::quietly(call);
}

/// What is in the way of a call that waits for the device: work of its streams, if one is `patient`, else what may wait for the host.
fn blockers(device: Device, patient: bool) -> Vec<Blocker> {
    let streams = device.streams();
    let mut blockers = held();
    if patient {
        let all = streams.leaving().into_iter().chain(streams.all());
        blockers.extend(all.filter_map(|stream| stream.blocker(stream.issued())));
    }
    blockers
}

/// Work of any device that may wait for the host: streams of other devices may wait for it.
fn held() -> Vec<Blocker> {
    let all = STREAMS.all().iter().flat_map(|streams| streams.leaving().into_iter().chain(streams.all()));
    all.filter_map(|stream| stream.blocker(stream.held_until())).collect()
}

/// At the end of the process: what streams that nobody drops have to tell is told when their work is over.
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

/// How often to try for a lock that another thread has for a moment.
const TRIES: u32 = 100;

/// Adds what was launched on a device and is not known to be over. A stream that the calling thread has locked cannot be read.
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

/// Tells when it goes, whether the work was over or nobody knows.
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

    /// Blocks until all work on all streams of the device is done (`hipDeviceSynchronize`). An error of it comes back here.
    ///
    /// While a stream of any device is [captured](Stream::capture), HIP waits for no device. Then this waits for each stream of this crate that is
    /// not captured; streams that only other code knows are not waited for.
    #[doc(alias("hipDeviceSynchronize", "cudaDeviceSynchronize", "cudaThreadSynchronize"))]
    pub fn synchronize(&self) -> Result<()> {
        self.activate()?;
        // One by one first: each is credited, and little is left for the call below, during which no capture can begin.
        let streams = self.streams().all();
        let mut waited = Ok(());
        for stream in &streams {
            match stream.wait_for_device() {
                // A stream that is captured has no work.
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

    /// The device's legacy default stream, the null stream of C. It waits for, and is waited for by, every stream
    /// that was made [`blocking`](StreamOptions::blocking). Better make streams with [`Stream::new`].
    #[must_use]
    pub fn default_stream(&self) -> Stream {
        if context::is_forked() {
            return Stream { inner: StreamInner::of_nobody(ptr::null_mut(), *self) };
        }
        let new = || StreamInner::new(ptr::null_mut(), *self);
        Stream { inner: Arc::clone(self.streams().default.get_or_init(new)) }
    }

    /// A stream of this crate's own, which waits for no other and is never captured, for calls that are done when they return.
    ///
    /// HIP does such calls on the device's default stream, and refuses them while any stream of any thread is captured.
    pub(crate) fn blocking_stream(&self) -> Result<Stream> {
        let streams = self.streams();
        if let Some(inner) = streams.blocking.get() {
            return Ok(Stream { inner: Arc::clone(inner) });
        }
        // Streams of one priority share a few hardware queues, where one that is held up holds up the others. Most streams have normal
        // priority.
        let first = *self.stream_priority_range()?.start();
        let Stream { inner } = Stream::with_options(self, StreamOptions::new().priority(first))?;
        Ok(Stream { inner: Arc::clone(streams.blocking.get_or_init(|| inner)) })
    }
}
