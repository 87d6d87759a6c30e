//! Events: marks in a stream, to wait for and to measure with.

use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use hip_sys::hipEvent_t;
use smallvec::SmallVec;

use crate::core::call::{check, failed};
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result, Status};
use crate::core::later;
use crate::core::lock::{Mutex, MutexGuard};
use crate::stream::{Capture, Stream, StreamInner};

/// A mark in a stream, to wait for (from the host or from another stream) and to measure time with.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::{Device, DeviceBuffer, Stream};
///
/// let device = Device::get(0)?;
/// let stream = Stream::new(&device)?;
/// let mut data = DeviceBuffer::<u32>::uninit(&device, 1 << 16)?;
/// let start = stream.record()?;
/// data.fill_async(&stream, 1)?;
/// let end = stream.record()?;
/// println!("filling took {:?}", end.elapsed_since(&start)?); // waits for both
/// # Ok(()) }
/// ```
pub struct Event {
    raw: hipEvent_t,
    device: Device,
    options: EventOptions,
    /// Made by another process or other code, which records it.
    foreign: bool,
    /// Whether it is destroyed with this.
    owned: bool,
    /// Of an event that other processes or other code share, which they may record too, and which ROCm before 7.0 calls done as soon as it is
    /// recorded if it is of several processes: another one, recorded with it, that tells what this crate's streams have done.
    own: Option<Box<Event>>,
    recorded: Mutex<Option<Recorded>>,
}

/// How an event is made. The default: with timing, waiting spins, for this process alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventOptions {
    timing: bool,
    blocking_sync: bool,
    interprocess: bool,
}

impl Default for EventOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl EventOptions {
    /// With timing, waiting spins, for this process alone.
    #[doc(alias("hipEventCreate", "cudaEventCreate"))]
    #[must_use]
    pub const fn new() -> Self {
        Self { timing: true, blocking_sync: false, interprocess: false }
    }

    /// Whether the event keeps the time (else `hipEventDisableTiming`); without is cheaper.
    #[must_use]
    pub const fn timing(mut self, timing: bool) -> Self {
        self.timing = timing;
        self
    }

    /// Whether a thread that waits for the event sleeps in place of spinning (`hipEventBlockingSync`).
    #[must_use]
    pub const fn blocking_sync(mut self, blocking_sync: bool) -> Self {
        self.blocking_sync = blocking_sync;
        self
    }

    /// Whether other processes can open it (`hipEventInterprocess`): [`Event::ipc_handle`]. Such an event has no timing.
    #[must_use]
    pub const fn interprocess(mut self, interprocess: bool) -> Self {
        self.interprocess = interprocess;
        if interprocess {
            self.timing = false;
        }
        self
    }

    fn raw(self) -> u32 {
        let flag = |on: bool, flag: u32| if on { flag } else { 0 };
        flag(!self.timing, hip_sys::hipEventDisableTiming)
            | flag(self.blocking_sync, hip_sys::hipEventBlockingSync)
            | flag(self.interprocess, hip_sys::hipEventInterprocess)
    }
}

/// An event on its way to another process: plain bytes (`hipIpcEventHandle_t`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct IpcEventHandle([u8; 64]);

impl IpcEventHandle {
    /// As bytes, for a pipe or a file.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 64] {
        self.0
    }

    /// From the bytes of another process's handle.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 64]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for IpcEventHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IpcEventHandle")
    }
}

/// Where an event was last recorded.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) stream: Arc<StreamInner>,
    /// The last work in front of the event.
    pub(crate) ticket: u64,
    /// Other streams that it stands behind as well, with their last work: where it was recorded on all streams of an execution context.
    others: Vec<(Arc<StreamInner>, u64)>,
    /// Counts the records of the event: tells whether a second thread has moved the mark.
    generation: u64,
    /// The capture that it was recorded in: it marks a place in a graph then.
    pub(crate) capture: Option<Arc<Capture>>,
}

impl Recorded {
    /// Moves the mark behind the work of `stream` up to `ticket`.
    pub(crate) fn moved(before: Option<&Self>, stream: &Arc<StreamInner>, ticket: u64) -> Self {
        let generation = before.map_or(1, |before| before.generation + 1);
        Self { stream: Arc::clone(stream), ticket, others: Vec::new(), generation, capture: stream.capture() }
    }

    /// Moves the mark behind the work of several streams, each up to its ticket; `None` if there are no streams.
    #[cfg(feature = "rocm-10-0")]
    pub(crate) fn moved_behind(before: Option<&Self>, mut streams: Vec<(Arc<StreamInner>, u64)>) -> Option<Self> {
        let (stream, ticket) = streams.pop()?;
        Some(Self { others: streams, ..Self::moved(before, &stream, ticket) })
    }

    /// Notes that a wait for later work of `stream` covers the work in front of the mark. Called before the wait is queued.
    pub(crate) fn watched_by(&self, stream: &Arc<StreamInner>) {
        self.behind().for_each(|(other, _)| stream.watch_stream(other));
    }

    /// Notes that later work of `stream` waits for the mark.
    pub(crate) fn awaited_by(&self, stream: &Arc<StreamInner>) {
        self.behind().filter(|(other, _)| !Arc::ptr_eq(other, stream)).for_each(|(other, ticket)| {
            stream.note_waited(other.id(), ticket);
        });
    }

    /// Whether the work in front of the mark is known to be over.
    pub(crate) fn is_over(&self) -> bool {
        self.behind().all(|(stream, ticket)| stream.completed() >= ticket)
    }

    /// The streams that the mark stands behind, with the last work of each.
    fn behind(&self) -> impl Iterator<Item = (&Arc<StreamInner>, u64)> {
        let others = self.others.iter().map(|(stream, ticket)| (stream, *ticket));
        std::iter::once((&self.stream, self.ticket)).chain(others)
    }
}

/// Runs `call`, which names an event, unless a stream that it was recorded on is being captured, and none begins to be meanwhile: HIP
/// spoils the capture when it is asked for an event of the stream, though that lies in front. All such work is over then.
fn without_captures<R>(recorded: Option<&Recorded>, call: impl FnOnce() -> R) -> Option<R> {
    let mut streams: SmallVec<[&StreamInner; 1]> =
        recorded.iter().flat_map(|recorded| recorded.behind()).map(|(stream, _)| &**stream).collect();
    // In the order that all threads have in common.
    streams.sort_by_key(|stream| stream.id());
    streams.dedup_by_key(|stream| stream.id());
    let mut direct: SmallVec<[_; 1]> = SmallVec::new();
    for stream in streams {
        direct.push(stream.direct("waiting for an event of it").ok()?);
    }
    Some(call())
}

// SAFETY: a hipEvent_t is a handle that the HIP runtime lets any thread use, several at a time (it locks each event);
// it is destroyed only in Drop, when no other reference exists.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// An event that keeps the time (`hipEventCreateWithFlags`).
    #[doc(alias("hipEventCreateWithFlags", "cuEventCreate", "cudaEventCreateWithFlags"))]
    #[doc(alias("hipEventCreate", "cudaEventCreate"))]
    pub fn new(device: &Device) -> Result<Self> {
        Self::with_options(device, EventOptions::new())
    }

    /// An event without timing (`hipEventDisableTiming`): cheaper, for order alone.
    pub fn without_timing(device: &Device) -> Result<Self> {
        Self::with_options(device, EventOptions::new().timing(false))
    }

    /// An event with options (`hipEventCreateWithFlags`).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for an interprocess event with timing, which there is not.
    #[doc(alias("hipEventCreateWithFlags", "cuEventCreate", "cudaEventCreateWithFlags"))]
    pub fn with_options(device: &Device, options: EventOptions) -> Result<Self> {
        if options.interprocess && options.timing {
            return Err(Error::InvalidValue {
                what: "an interprocess event",
                value: "with timing".to_owned(),
                allowed: "without timing".to_owned(),
            });
        }
        let own = if options.interprocess { Some(Self::own(device)?) } else { None };
        device.activate()?;
        let mut raw: hipEvent_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write.
        let status = unsafe { hip_sys::hipEventCreateWithFlags(&mut raw, options.raw()) };
        check(status, "hipEventCreateWithFlags", || format!("an event on device {}", device.index()))?;
        Ok(Self { raw, device: *device, options, foreign: false, owned: true, own, recorded: Mutex::new(None) })
    }

    fn own(device: &Device) -> Result<Box<Self>> {
        Self::without_timing(device).map(Box::new)
    }

    /// A handle by which another process opens this event (`hipIpcGetEventHandle`).
    ///
    /// ROCm before 7.0 tells the other process that the event is done as soon as it is recorded, whatever the work in front of it does.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if it was not made [`interprocess`](EventOptions::interprocess).
    #[doc(alias("hipIpcGetEventHandle", "cuIpcGetEventHandle", "cudaIpcGetEventHandle"))]
    pub fn ipc_handle(&self) -> Result<IpcEventHandle> {
        if !self.options.interprocess {
            return Err(Error::InvalidValue {
                what: "an event for another process",
                value: "an event of this process alone".to_owned(),
                allowed: "made with EventOptions::interprocess".to_owned(),
            });
        }
        self.device.activate()?;
        let mut handle = hip_sys::hipIpcEventHandle_t::default();
        // SAFETY: `handle` is valid for a write; the event is alive.
        let status = unsafe { hip_sys::hipIpcGetEventHandle(&mut handle, self.raw) };
        check(status, "hipIpcGetEventHandle", || format!("an event on device {}", self.device.index()))?;
        Ok(IpcEventHandle(handle.reserved.map(|byte| byte as u8)))
    }

    /// Opens another process's event (`hipIpcOpenEventHandle`), to wait for it. Both sides can record it. What one of them records says
    /// nothing of the other's streams: buffers of this process are waited for as ever.
    ///
    /// ```no_run
    /// # fn receive() -> [u8; 64] { [0; 64] }
    /// # fn main() -> hip::Result<()> {
    /// use hip::{Device, Event, Stream};
    /// use hip::stream::IpcEventHandle;
    ///
    /// let device = Device::get(0)?;
    /// let handle = IpcEventHandle::from_bytes(receive());
    /// // SAFETY: the other process has sent what Event::ipc_handle gave it, and keeps the event.
    /// let theirs = unsafe { Event::open_ipc(&device, handle)? };
    /// Stream::new(&device)?.wait_event(&theirs)?; // what is queued from here on comes after their work
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for bytes that are no handle of an event, the runtime's status for one that is not there, and for one of this
    /// process, which has the event itself.
    ///
    /// # Safety
    /// The handle is what [`ipc_handle`](Self::ipc_handle) gave in another process that runs the same version of HIP. It is the name of
    /// shared memory, which the runtime maps and writes to, whatever it holds.
    #[doc(alias("hipIpcOpenEventHandle", "cuIpcOpenEventHandle", "cudaIpcOpenEventHandle"))]
    pub unsafe fn open_ipc(device: &Device, handle: IpcEventHandle) -> Result<Self> {
        // The runtime looks for the end of the name.
        if handle.0[0] == 0 || !handle.0.contains(&0) {
            return Err(Error::InvalidValue {
                what: "an event of another process",
                value: format!("the bytes {:02x?}...", &handle.0[..8]),
                allowed: "those that Event::ipc_handle gave there".to_owned(),
            });
        }
        let own = Self::own(device)?;
        device.activate()?;
        let mut raw: hipEvent_t = ptr::null_mut();
        let handle = hip_sys::hipIpcEventHandle_t { reserved: handle.0.map(|byte| byte as _) };
        // SAFETY: `raw` is valid for a write; the handle holds a terminated name, by the caller's promise that of an event.
        let status = unsafe { hip_sys::hipIpcOpenEventHandle(&mut raw, handle) };
        check(status, "hipIpcOpenEventHandle", || format!("an event for device {}", device.index()))?;
        let options = EventOptions::new().interprocess(true);
        Ok(Self {
            raw,
            device: *device,
            options,
            foreign: true,
            owned: true,
            own: Some(own),
            recorded: Mutex::new(None),
        })
    }

    /// Takes over an event that other code has made on `device` with `options`: it is destroyed (`hipEventDestroy`) with this.
    /// [`borrow_raw`](Self::borrow_raw) leaves it to its owner. Either side may record it, and what one of them records says nothing of the other's
    /// streams, as with an event [of another process](Self::open_ipc): buffers are waited for as ever.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, Event, EventOptions, Stream, sys};
    ///
    /// let device = Device::get(0)?;
    /// let (ours, theirs) = (Stream::new(&device)?, Stream::new(&device)?);
    /// let mut raw = std::ptr::null_mut();
    /// // SAFETY: `raw` is valid for a write; the stream is alive. It stands for the other code's.
    /// let status = unsafe { (sys::hipEventCreate(&mut raw), sys::hipEventRecord(raw, theirs.as_raw())) };
    /// assert_eq!(status, (sys::hipSuccess, sys::hipSuccess));
    ///
    /// // SAFETY: an event of this device, which nobody destroys but this.
    /// let event = unsafe { Event::from_raw(&device, raw, EventOptions::new())? };
    /// ours.wait_event(&event)?; // what is queued from here on comes after their work
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for null.
    ///
    /// # Safety
    /// `raw` is an event of this device that is alive, and that nobody else destroys, or uses when this may be gone.
    #[doc(alias("hipEventDestroy", "cuEventDestroy", "cudaEventDestroy"))]
    pub unsafe fn from_raw(device: &Device, raw: hipEvent_t, options: EventOptions) -> Result<Self> {
        Self::of_others(device, raw, options, true)
    }

    /// As [`from_raw`](Self::from_raw), for an event that stays its owner's: it is not destroyed.
    ///
    /// # Errors
    /// That of [`from_raw`](Self::from_raw).
    ///
    /// # Safety
    /// `raw` is an event of this device that is alive, and stays so until this is gone.
    pub unsafe fn borrow_raw(device: &Device, raw: hipEvent_t, options: EventOptions) -> Result<Self> {
        Self::of_others(device, raw, options, false)
    }

    fn of_others(device: &Device, raw: hipEvent_t, options: EventOptions, owned: bool) -> Result<Self> {
        if raw.is_null() {
            return Err(Error::InvalidValue {
                what: "an event of other code",
                value: "null".to_owned(),
                allowed: "one that was made".to_owned(),
            });
        }
        let own = Some(Self::own(device)?);
        Ok(Self { raw, device: *device, options, foreign: true, owned, own, recorded: Mutex::new(None) })
    }

    /// How it was made.
    #[must_use]
    pub fn options(&self) -> EventOptions {
        self.options
    }

    /// The device that the event belongs to.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Marks the place behind all work queued on `stream` so far (`hipEventRecord`). A second time moves the mark.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] if the stream is on another device.
    #[doc(alias("hipEventRecord", "cuEventRecord", "cudaEventRecord"))]
    pub fn record(&self, stream: &Stream) -> Result<()> {
        if stream.device() != self.device {
            return Err(Error::WrongDevice {
                what: "the event".into(),
                expected: stream.device().index(),
                found: self.device.index(),
            });
        }
        let mut recorded = self.lock_record()?;
        let (ticket, capture) = stream.inner.record_raw_event(self.raw)?;
        if let Some(own) = &self.own {
            stream.inner.record_raw_event(own.raw)?;
        }
        let moved = Recorded::moved(recorded.as_ref(), &stream.inner, ticket);
        *recorded = Some(Recorded { capture, ..moved });
        Ok(())
    }

    /// Blocks until the work in front of the event is done (`hipEventSynchronize`).
    ///
    /// # Errors
    /// [`Error::EventNotRecorded`] if it was never recorded. An error of the work comes back here.
    #[doc(alias("hipEventSynchronize", "cuEventSynchronize", "cudaEventSynchronize"))]
    pub fn synchronize(&self) -> Result<()> {
        let recorded = self.recorded_for_host()?;
        self.device.activate()?;
        let known = without_captures(recorded.as_ref(), || {
            for event in self.told_by(recorded.as_ref()) {
                // SAFETY: the event is alive as long as `self`.
                let status = unsafe { hip_sys::hipEventSynchronize(event) };
                check(status, "hipEventSynchronize", || Self::describe(recorded.as_ref()))?;
            }
            Ok(())
        });
        match (known, &recorded) {
            (Some(done), _) => done?,
            (None, Some(recorded)) => recorded.behind().try_for_each(|(stream, ticket)| stream.wait_for(ticket))?,
            (None, None) => {}
        }
        self.credit(recorded.as_ref())
    }

    /// Whether the work in front of the event is done (`hipEventQuery`).
    ///
    /// # Errors
    /// [`Error::EventNotRecorded`] if it was never recorded. An error of the work comes back here.
    #[doc(alias("hipEventQuery", "cuEventQuery", "cudaEventQuery"))]
    pub fn is_complete(&self) -> Result<bool> {
        let recorded = self.recorded_for_host()?;
        self.device.activate()?;
        let known = without_captures(recorded.as_ref(), || {
            for event in self.told_by(recorded.as_ref()) {
                // SAFETY: the event is alive as long as `self`.
                let status = unsafe { hip_sys::hipEventQuery(event) };
                match Status(status.0) {
                    Status::SUCCESS => {}
                    Status::NOT_READY => return Ok(false),
                    _ => return Err(failed(status, "hipEventQuery", || Self::describe(recorded.as_ref()))),
                }
            }
            Ok(true)
        });
        let done = match (known, &recorded) {
            (Some(done), _) => done?,
            (None, Some(recorded)) => recorded.is_over(),
            (None, None) => true,
        };
        if done { self.credit(recorded.as_ref()).map(|()| true) } else { Ok(false) }
    }

    /// The time from `start` to this event on the device (`hipEventElapsedTime`), once both are done: it waits for them.
    ///
    /// # Errors
    /// [`Error::EventNotRecorded`], [`Error::EventWithoutTiming`]; [`Error::InvalidValue`] if this event comes before `start`.
    #[doc(alias("hipEventElapsedTime", "cuEventElapsedTime", "cudaEventElapsedTime"))]
    pub fn elapsed_since(&self, start: &Self) -> Result<Duration> {
        if !(self.options.timing && start.options.timing) {
            return Err(Error::EventWithoutTiming);
        }
        start.synchronize()?;
        self.synchronize()?;
        let mut milliseconds = 0.0f32;
        // SAFETY: both events are alive, recorded and done; `milliseconds` is valid for a write.
        let status = unsafe { hip_sys::hipEventElapsedTime(&mut milliseconds, start.raw, self.raw) };
        check(status, "hipEventElapsedTime", || format!("two events on device {}", self.device.index()))?;
        Duration::try_from_secs_f64(f64::from(milliseconds) / 1e3).map_err(|_| Error::InvalidValue {
            what: "the elapsed time",
            value: format!("{milliseconds} ms"),
            allowed: "from an earlier event to a later one".to_owned(),
        })
    }

    /// The C handle, for calls of [`hip_sys`] beside this crate. It stays this event's.
    #[must_use]
    pub fn as_raw(&self) -> hipEvent_t {
        self.raw
    }

    pub(crate) fn raw(&self) -> hipEvent_t {
        self.raw
    }

    /// What has to be done for the event to be: itself, and of one that is shared what stands where this process recorded it.
    pub(crate) fn told_by(&self, recorded: Option<&Recorded>) -> impl Iterator<Item = hipEvent_t> {
        let own = recorded.and(self.own.as_ref()).map(|own| own.raw);
        std::iter::once(self.raw).chain(own)
    }

    /// `Ok` unless other processes or other code share the event, which is recorded in streams alone.
    pub(crate) fn refuse_shared(&self, what: &'static str) -> Result<()> {
        if self.own.is_none() {
            return Ok(());
        }
        let value = if self.options.interprocess { "an interprocess event" } else { "an event of other code" };
        Err(Error::InvalidValue {
            what,
            value: value.to_owned(),
            allowed: "one of this crate and process alone: Event::record takes the others".to_owned(),
        })
    }

    /// Locks where the event was recorded, for a graph that records it.
    pub(crate) fn lock_record(&self) -> Result<MutexGuard<'_, Option<Recorded>>> {
        context::check_caller()?;
        Ok(self.recorded.lock())
    }

    fn last_record(&self) -> Option<Recorded> {
        self.recorded.lock().clone()
    }

    /// Where this crate recorded it; `None` if others do.
    pub(crate) fn recorded_here(&self) -> Result<Option<Recorded>> {
        context::check_caller()?;
        match self.last_record() {
            Some(recorded) => Ok(Some(recorded)),
            None if self.foreign => Ok(None),
            None => Err(Error::EventNotRecorded),
        }
    }

    /// As [`recorded_here`](Self::recorded_here), for the host to wait for.
    pub(crate) fn recorded_for_host(&self) -> Result<Option<Recorded>> {
        let recorded = self.recorded_here()?;
        if recorded.as_ref().is_some_and(|recorded| recorded.capture.is_some()) {
            return Err(Error::Capture {
                reason: "the event marks a place in a graph: record it in a stream for the host to wait for".to_owned(),
            });
        }
        Ok(recorded)
    }

    fn describe(recorded: Option<&Recorded>) -> String {
        match recorded {
            Some(recorded) => recorded.stream.describe_with_launches("an event of "),
            None => "an event that others record".to_owned(),
        }
    }

    /// Credits the streams with what waiting for the event has shown. An error that was kept for whoever waits comes back here.
    fn credit(&self, recorded: Option<&Recorded>) -> Result<()> {
        later::catch_up();
        let Some(recorded) = recorded.filter(|recorded| self.still(recorded)) else { return Ok(()) };
        recorded.behind().map(|(stream, ticket)| stream.credit(ticket)).fold(Ok(()), Result::and)
    }

    /// Whether the mark is where it was: what was learnt about the event in between holds for that place.
    pub(crate) fn still(&self, before: &Recorded) -> bool {
        self.last_record().is_some_and(|now| now.generation == before.generation)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        let raw = self.raw.expose_provenance();
        later::in_time(move || {
            // SAFETY: ours, and nobody has it any more; a wait that was queued on it goes on without it.
            let _ = unsafe { hip_sys::hipEventDestroy(ptr::with_exposed_provenance_mut(raw)) };
        });
    }
}

/// Events of a device that no wait uses at present.
pub(crate) type SpareEvents = Mutex<Vec<Event>>;

/// An event for one wait of a stream for another, from those that its device keeps for it.
pub(crate) struct PooledEvent(Option<Event>);

impl PooledEvent {
    /// How many a device keeps.
    const MOST: usize = 64;

    pub(crate) fn take(device: Device) -> Result<Self> {
        let spare = Self::spare(device).pop();
        spare.map_or_else(|| Event::without_timing(&device), Ok).map(|event| Self(Some(event)))
    }

    pub(crate) fn raw(&self) -> hipEvent_t {
        self.0.as_ref().map_or(ptr::null_mut(), Event::raw)
    }

    fn spare(device: Device) -> MutexGuard<'static, Vec<Event>> {
        device.streams().spare_events().lock()
    }
}

impl Drop for PooledEvent {
    fn drop(&mut self) {
        if let Some(event) = self.0.take() {
            let mut spare = Self::spare(event.device);
            if spare.len() < Self::MOST {
                spare.push(event);
            }
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("device", &self.device.index())
            .field("options", &self.options)
            .field("raw", &self.raw)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who has waited for a mark knows by it whether another thread has moved it meanwhile.
    #[test]
    fn each_record_is_another_generation() {
        let stream = StreamInner::new(ptr::null_mut(), Device::of_tests());
        let first = Recorded::moved(None, &stream, 5);
        let second = Recorded::moved(Some(&first), &stream, 5);
        assert_ne!(first.generation, second.generation);
    }
}
