//! Events.

use std::ffi::c_uint;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use hip_sys::rocm_7_2::*;

use super::{hip_functions, put};
use crate::event::Event;
use crate::queue::Point;
use crate::record::Record;
use crate::runtime::{Runtime, runtime};
use crate::shared_event::SharedEvent;
use crate::status::{Outcome, Refusal, ensure};
use crate::target::Target;

/// The flags for blocking synchronisation, no timing, interprocess, no system fence, release to device, release to
/// system.
const KNOWN_FLAGS: c_uint = 0x1 | 0x2 | 0x4 | 0x2000_0000 | 0x4000_0000 | 0x8000_0000;
const RELEASES: c_uint = 0x2000_0000 | 0x4000_0000 | 0x8000_0000;
pub(crate) const INTERPROCESS: c_uint = 0x4;

/// Creates an event for the current device.
///
/// # Safety
/// `to` must be null or valid for a write.
unsafe fn create(to: *mut hipEvent_t, flags: c_uint) -> Outcome {
    let runtime = runtime()?;
    ensure(!to.is_null(), hipErrorInvalidValue)?;
    ensure(flags & !KNOWN_FLAGS == 0 && (flags & RELEASES).count_ones() <= 1, hipErrorInvalidValue)?;
    ensure(flags & INTERPROCESS == 0 || flags & hipEventDisableTiming != 0, hipErrorInvalidValue)?;
    let device = runtime.live_current()?;
    // If no shared memory is available, the event is created anyway, without an interprocess handle.
    let shared = (flags & INTERPROCESS != 0).then(|| SharedEvent::new(&runtime.scheduler, device, None).ok()).flatten();
    let event = Event { device: device.ordinal, flags, record: Mutex::default(), shared, mark: Mutex::default() };
    // SAFETY: not null, hence valid, as the caller vouches.
    unsafe { put(to, runtime.events.insert(event).ok_or(hipErrorOutOfMemory)?.cast()) }
}

fn event(runtime: &Runtime, handle: hipEvent_t) -> Result<Arc<Event>, Refusal> {
    runtime.events.get(handle.cast()).ok_or_else(|| hipErrorInvalidHandle.into())
}

/// Records `handle` on `stream`. The time is taken when the stream reaches the command.
pub(crate) fn record(runtime: &Runtime, handle: hipEvent_t, stream: hipStream_t) -> Outcome {
    let event = event(runtime, handle)?;
    let target = runtime.live_target(stream)?;
    if let Some(mark) = runtime.captures.mark(target.queue)? {
        ensure(event.device == target.device, hipErrorInvalidHandle)?;
        *event.record.lock().unwrap_or_else(PoisonError::into_inner) = None;
        *event.mark.lock().unwrap_or_else(PoisonError::into_inner) = Some(mark);
        return Ok(());
    }
    record_event(runtime, &event, &target).map(drop)
}

/// Records the event with this handle, as a number, on a stream.
pub(crate) fn record_on(runtime: &Runtime, handle: usize, target: &Target) -> Result<Point, Refusal> {
    let event = event(runtime, std::ptr::without_provenance_mut(handle))?;
    record_event(runtime, &event, target)
}

/// The point that a wait for this event waits for. `handle` is a number.
pub(crate) fn point_of(runtime: &Runtime, handle: usize) -> Result<Option<Point>, Refusal> {
    let event = event(runtime, std::ptr::without_provenance_mut(handle))?;
    Ok(event.latest().map(|record| record.point))
}

/// Returns whether an event with this handle, as a number, exists.
pub(crate) fn exists(runtime: &Runtime, handle: usize) -> bool {
    event(runtime, std::ptr::without_provenance_mut(handle)).is_ok()
}

fn record_event(runtime: &Runtime, event: &Event, target: &Target) -> Result<Point, Refusal> {
    ensure(event.device == target.device, hipErrorInvalidHandle)?;
    *event.mark.lock().unwrap_or_else(PoisonError::into_inner) = None;
    let mut slot = event.record.lock().unwrap_or_else(PoisonError::into_inner);
    let (time, stamp) = event.stamp();
    let point = runtime.scheduler.submit(target.queue, stamp, &[]).ok_or(hipErrorContextIsDestroyed)?;
    *slot = Some(Record { point, time });
    Ok(point)
}

/// The recording of an event that the program queries or waits for.
fn asked(runtime: &Runtime, handle: hipEvent_t) -> Result<Option<Record>, Refusal> {
    let event = event(runtime, handle)?;
    let mark = event.mark.lock().unwrap_or_else(PoisonError::into_inner).clone();
    runtime.captures.refuse_mark(mark.as_ref())?;
    runtime.captures.refuse_unsafe()?;
    Ok(event.latest())
}

/// The time of an event's recording, if the event has timing.
fn time_of(runtime: &Runtime, event: &Event) -> Result<Instant, Refusal> {
    let record = event.latest().filter(|_| event.flags & hipEventDisableTiming == 0);
    let record = record.ok_or(hipErrorInvalidHandle)?;
    ensure(runtime.scheduler.reached(record.point), hipErrorNotReady)?;
    record.time.get().copied().ok_or_else(|| hipErrorNotReady.into())
}

hip_functions! {
    fn hipEventCreate(event: *mut hipEvent_t) {
        create(event, 0)
    }

    fn hipEventCreateWithFlags(event: *mut hipEvent_t, flags: c_uint) {
        create(event, flags)
    }

    fn hipEventDestroy(event: hipEvent_t) {
        let runtime = runtime()?;
        ensure(!event.is_null(), hipErrorInvalidHandle)?;
        runtime.events.remove(event.cast()).ok_or(hipErrorContextIsDestroyed)?;
        Ok(())
    }

    fn hipEventRecord(event: hipEvent_t, stream: hipStream_t) {
        record(runtime()?, event, stream)
    }

    fn hipEventSynchronize(handle: hipEvent_t) {
        let runtime = runtime()?;
        match asked(runtime, handle)? {
            Some(record) => runtime.synchronize(record.scope()),
            None => Ok(()),
        }
    }

    fn hipEventQuery(handle: hipEvent_t) {
        let runtime = runtime()?;
        let Some(record) = asked(runtime, handle)? else { return Ok(()) };
        ensure(runtime.scheduler.reached(record.point), hipErrorNotReady)?;
        runtime.failure(record.scope())
    }

    fn hipEventElapsedTime(milliseconds: *mut f32, start: hipEvent_t, stop: hipEvent_t) {
        let runtime = runtime()?;
        ensure(!milliseconds.is_null(), hipErrorInvalidValue)?;
        let (start, stop) = (event(runtime, start)?, event(runtime, stop)?);
        ensure(start.device == stop.device, hipErrorInvalidHandle)?;
        // Both are checked before either's completion matters: an event that was never recorded is an error in any case.
        let (start, stop) = match (time_of(runtime, &start), time_of(runtime, &stop)) {
            (Ok(start), Ok(stop)) => (start, stop),
            (Err(a), Err(b)) => return Err(if a.is(hipErrorNotReady) { b } else { a }),
            (Err(refusal), _) | (_, Err(refusal)) => return Err(refusal),
        };
        let elapsed = match stop.checked_duration_since(start) {
            Some(after) => after.as_secs_f64(),
            None => -start.duration_since(stop).as_secs_f64(),
        };
        put(milliseconds, (elapsed * 1e3) as f32)
    }

    since:

    fn hipEventRecordWithFlags(event: hipEvent_t, stream: hipStream_t, flags: c_uint) {
        ensure(flags == 0, hipErrorInvalidValue)?;
        record(runtime()?, event, stream)
    }
}
