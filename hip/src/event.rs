//! Events: marks in a stream, to wait for and to measure with.

use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hip_sys::hipEvent_t;

use crate::call::{check, failed};
use crate::device::Device;
use crate::error::{Error, Result, Status};
use crate::stream::{Stream, StreamInner};

/// A mark in a stream, to wait for (from the host or from another stream) and to measure time with.
pub struct Event {
    raw: hipEvent_t,
    device: Device,
    timing: bool,
    recorded: Mutex<Option<Recorded>>,
}

/// Where an event was last recorded.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) stream: Arc<StreamInner>,
    /// The last work in front of the event.
    pub(crate) ticket: u64,
    /// Counts the records of the event: tells whether a second thread has moved the mark.
    generation: u64,
}

// SAFETY: a hipEvent_t is a handle that the HIP runtime lets any thread use, several at a time (it locks each event);
// it is destroyed only in Drop, when no other reference exists.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// An event that keeps the time (`hipEventCreateWithFlags`).
    pub fn new(device: &Device) -> Result<Self> {
        Self::with_flags(device, hip_sys::hipEventDefault, true)
    }

    /// An event without timing (`hipEventDisableTiming`): cheaper, for order alone.
    pub fn without_timing(device: &Device) -> Result<Self> {
        Self::with_flags(device, hip_sys::hipEventDisableTiming, false)
    }

    fn with_flags(device: &Device, flags: u32, timing: bool) -> Result<Self> {
        device.activate()?;
        let mut raw: hipEvent_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write.
        let status = unsafe { hip_sys::hipEventCreateWithFlags(&mut raw, flags) };
        check(status, "hipEventCreateWithFlags", || format!("an event on device {}", device.index()))?;
        Ok(Self { raw, device: *device, timing, recorded: Mutex::new(None) })
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
    pub fn record(&self, stream: &Stream) -> Result<()> {
        if stream.device() != self.device {
            return Err(Error::WrongDevice {
                what: "the event",
                expected: stream.device().index(),
                found: self.device.index(),
            });
        }
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        let ticket = stream.inner.record_raw_event(self.raw)?;
        let generation = recorded.as_ref().map_or(1, |r| r.generation + 1);
        *recorded = Some(Recorded { stream: Arc::clone(&stream.inner), ticket, generation });
        Ok(())
    }

    /// Blocks until the work in front of the event is done (`hipEventSynchronize`).
    ///
    /// # Errors
    /// [`Error::EventNotRecorded`] if it was never recorded.
    pub fn synchronize(&self) -> Result<()> {
        let recorded = self.recorded()?;
        self.device.activate()?;
        // SAFETY: the event is alive as long as `self`.
        let status = unsafe { hip_sys::hipEventSynchronize(self.raw) };
        check(status, "hipEventSynchronize", || recorded.stream.describe_with_launches("an event of "))?;
        if self.still(&recorded) {
            recorded.stream.note_completed(recorded.ticket);
        }
        Ok(())
    }

    /// Whether the work in front of the event is done (`hipEventQuery`).
    ///
    /// # Errors
    /// [`Error::EventNotRecorded`] if it was never recorded.
    pub fn is_done(&self) -> Result<bool> {
        let recorded = self.recorded()?;
        self.device.activate()?;
        // SAFETY: the event is alive as long as `self`.
        let status = unsafe { hip_sys::hipEventQuery(self.raw) };
        match Status(status.0) {
            Status::SUCCESS => {
                if self.still(&recorded) {
                    recorded.stream.note_completed(recorded.ticket);
                }
                Ok(true)
            }
            Status::NOT_READY => Ok(false),
            _ => Err(failed(status, "hipEventQuery", recorded.stream.describe_with_launches("an event of "))),
        }
    }

    /// The time from `start` to this event on the device (`hipEventElapsedTime`), once both are done: it waits for them.
    ///
    /// # Errors
    /// [`Error::EventNotRecorded`], [`Error::EventWithoutTiming`]; [`Error::InvalidValue`] if this event comes before `start`.
    pub fn elapsed_since(&self, start: &Self) -> Result<Duration> {
        if !(self.timing && start.timing) {
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

    pub(crate) fn recorded(&self) -> Result<Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner).clone().ok_or(Error::EventNotRecorded)
    }

    /// Whether the mark is where it was: what was learnt about the event in between holds for that place.
    pub(crate) fn still(&self, before: &Recorded) -> bool {
        self.recorded().is_ok_and(|now| now.generation == before.generation)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: ours, and nobody has it any more; a wait that was queued on it goes on without it.
        let _ = unsafe { hip_sys::hipEventDestroy(self.raw) };
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("device", &self.device.index())
            .field("timing", &self.timing)
            .field("raw", &self.raw)
            .finish()
    }
}
