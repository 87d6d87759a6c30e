//! Events: points in a stream, for waits and time measurements.

use std::fmt;
use std::ptr;
use std::time::Duration;

use hip_sys::hipEvent_t;

use super::handle::Stream;
use super::recorded::{Recorded, without_captures};
use crate::core::call::{check, failed};
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result, Status};
use crate::core::later;
use crate::core::lock::{Mutex, MutexGuard};

/// A point in a stream, for waits (of the host or of another stream) and time measurements.
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
    /// Whether another process or other code created it, and may record it.
    foreign: bool,
    /// Whether dropping this destroys it.
    owned: bool,
    /// A second, private event that is recorded together with a shared one (of several processes, or of other code). It
    /// reports the end of this crate's work: others may record the shared event too, and ROCm before 7.0 reports an
    /// event of several processes as done as soon as it is recorded.
    own: Option<Box<Event>>,
    recorded: Mutex<Option<Recorded>>,
}

/// Options for creating an event. The default has timing, spins while waiting, and is for this process only.
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
    /// Creates the default options: with timing, spinning waits, for this process only.
    #[doc(alias("hipEventCreate", "cudaEventCreate"))]
    #[must_use]
    pub const fn new() -> Self {
        Self { timing: true, blocking_sync: false, interprocess: false }
    }

    /// Sets whether the event records the time (else `hipEventDisableTiming`). Events without timing are cheaper.
    #[must_use]
    pub const fn timing(mut self, timing: bool) -> Self {
        self.timing = timing;
        self
    }

    /// Sets whether a thread that waits for the event sleeps instead of spinning (`hipEventBlockingSync`).
    #[must_use]
    pub const fn blocking_sync(mut self, blocking_sync: bool) -> Self {
        self.blocking_sync = blocking_sync;
        self
    }

    /// Sets whether other processes can open the event (`hipEventInterprocess`); see [`Event::ipc_handle`]. Timing is
    /// not supported for such an event.
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

/// A handle of an event for another process: plain bytes (`hipIpcEventHandle_t`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct IpcEventHandle([u8; 64]);

impl IpcEventHandle {
    /// Returns the bytes, for a pipe or a file.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 64] {
        self.0
    }

    /// Creates the handle from the bytes of another process's handle.
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

// SAFETY: a hipEvent_t is a handle that the HIP runtime lets any thread use, several at a time (it locks each event);
// it is destroyed only in Drop, when no other reference exists.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Creates an event with timing (`hipEventCreateWithFlags`).
    #[doc(alias("hipEventCreateWithFlags", "cuEventCreate", "cudaEventCreateWithFlags"))]
    #[doc(alias("hipEventCreate", "cudaEventCreate"))]
    pub fn new(device: &Device) -> Result<Self> {
        Self::with_options(device, EventOptions::new())
    }

    /// Creates an event without timing (`hipEventDisableTiming`): cheaper, for ordering only.
    pub fn without_timing(device: &Device) -> Result<Self> {
        Self::with_options(device, EventOptions::new().timing(false))
    }

    /// Creates an event with options (`hipEventCreateWithFlags`).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for an interprocess event with timing, which HIP does not support.
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

    /// Returns a handle with which another process can open this event (`hipIpcGetEventHandle`).
    ///
    /// ROCm before 7.0 reports the event to the other process as done as soon as it is recorded, even if the work
    /// before it still runs.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if it was not created [`interprocess`](EventOptions::interprocess).
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

    /// Opens another process's event (`hipIpcOpenEventHandle`), to wait for it. Both processes can record it. A record
    /// by one process does not replace waits for the other's streams: buffers of this process are tracked as usual.
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
    /// [`Error::InvalidValue`] for bytes that are not a handle of an event; the runtime's status for an event that does
    /// not exist, and for one of this process, which cannot be opened here.
    ///
    /// # Safety
    /// The handle must be the result of [`ipc_handle`](Self::ipc_handle) in another process that runs the same version
    /// of HIP. It names shared memory, which the runtime maps and writes to without checking its content.
    #[doc(alias("hipIpcOpenEventHandle", "cuIpcOpenEventHandle", "cudaIpcOpenEventHandle"))]
    pub unsafe fn open_ipc(device: &Device, handle: IpcEventHandle) -> Result<Self> {
        // The runtime reads up to the terminator of the name.
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
        // SAFETY: `raw` is valid for a write; the handle holds a terminated name, and the caller promises that it is the name of an event.
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

    /// Takes ownership of an event that other code has created on `device` with `options`: it is destroyed
    /// (`hipEventDestroy`) when this is dropped. [`borrow_raw`](Self::borrow_raw) does not take ownership. Both sides
    /// may record it. A record by one side does not replace waits for the other's streams, as with an event [of another
    /// process](Self::open_ipc): buffers are tracked as usual.
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
    /// `raw` must be a live event of this device. No other code may destroy it, or use it after this is dropped.
    #[doc(alias("hipEventDestroy", "cuEventDestroy", "cudaEventDestroy"))]
    pub unsafe fn from_raw(device: &Device, raw: hipEvent_t, options: EventOptions) -> Result<Self> {
        Self::of_others(device, raw, options, true)
    }

    /// Like [`from_raw`](Self::from_raw), but does not take ownership: the event is not destroyed.
    ///
    /// # Errors
    /// That of [`from_raw`](Self::from_raw).
    ///
    /// # Safety
    /// `raw` must be a live event of this device, and stay alive until this is dropped.
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

    /// Returns the options that it was created with.
    #[must_use]
    pub fn options(&self) -> EventOptions {
        self.options
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Records the event after all work queued on `stream` so far (`hipEventRecord`). Recording it again moves the
    /// mark.
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
        let mut moved = Recorded::moved(recorded.as_ref(), &stream.inner, ticket);
        moved.capture = capture;
        *recorded = Some(moved);
        Ok(())
    }

    /// Blocks until the work before the event is done (`hipEventSynchronize`).
    ///
    /// # Errors
    /// [`Error::EventNotRecorded`] if it was never recorded; errors of the work.
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

    /// Returns whether the work before the event is done (`hipEventQuery`).
    ///
    /// # Errors
    /// [`Error::EventNotRecorded`] if it was never recorded; errors of the work.
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

    /// Returns the device time from `start` to this event (`hipEventElapsedTime`). Blocks until both are done.
    ///
    /// # Errors
    /// [`Error::EventNotRecorded`], [`Error::EventWithoutTiming`]; [`Error::InvalidValue`] if this event was recorded
    /// before `start`.
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

    /// Returns the C handle, for calls of [`hip_sys`] that this crate does not make. The `Event` keeps ownership.
    #[must_use]
    pub fn as_raw(&self) -> hipEvent_t {
        self.raw
    }

    pub(crate) fn raw(&self) -> hipEvent_t {
        self.raw
    }

    /// Returns the C events that must be done for this event to be done: itself, and for a shared event the private
    /// one, if this process recorded it.
    pub(crate) fn told_by(&self, recorded: Option<&Recorded>) -> impl Iterator<Item = hipEvent_t> {
        let own = recorded.and(self.own.as_ref()).map(|own| own.raw);
        std::iter::once(self.raw).chain(own)
    }

    /// Returns `Ok` unless other processes or other code share the event. A shared event can be recorded in streams
    /// only.
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

    /// Locks the mark, for a graph that records the event.
    pub(crate) fn lock_record(&self) -> Result<MutexGuard<'_, Option<Recorded>>> {
        context::check_caller()?;
        Ok(self.recorded.lock())
    }

    fn last_record(&self) -> Option<Recorded> {
        self.recorded.lock().clone()
    }

    /// Returns the mark that this crate recorded; `None` if others record the event.
    pub(crate) fn recorded_here(&self) -> Result<Option<Recorded>> {
        context::check_caller()?;
        match self.last_record() {
            Some(recorded) => Ok(Some(recorded)),
            None if self.foreign => Ok(None),
            None => Err(Error::EventNotRecorded),
        }
    }

    /// Like [`recorded_here`](Self::recorded_here), for a wait of the host.
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
            Some(recorded) => recorded.stream.describe_with_launches("an event of ", recorded.ticket.saturating_sub(1)),
            None => "an event that others record".to_owned(),
        }
    }

    /// Credits the streams with the work that a wait for the event has covered. Returns a stored error of that work.
    fn credit(&self, recorded: Option<&Recorded>) -> Result<()> {
        later::catch_up();
        let Some(recorded) = recorded.filter(|recorded| self.still(recorded)) else { return Ok(()) };
        recorded.behind().map(|(stream, ticket)| stream.credit(ticket)).fold(Ok(()), Result::and)
    }

    /// Returns whether the mark has not moved: only then results of a wait or query apply to it.
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
            // SAFETY: owned by this object, and nothing else refers to it; a queued wait continues without it.
            let _ = unsafe { hip_sys::hipEventDestroy(ptr::with_exposed_provenance_mut(raw)) };
        });
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
