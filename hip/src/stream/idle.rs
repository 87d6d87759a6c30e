//! Calls that wait in the runtime for a whole device: made when the device is idle, or when no work waits for the host.

use std::time::{Duration, Instant};

use super::captures::{self, apart_from_captures};
use super::list;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::later;
use crate::core::lock::{InRoom, Room, Rooms};
use crate::core::lost;
use crate::core::queue::Blocker;

/// The first room is for calls that queue work which may wait for the host; the second, for calls that wait for a whole
/// device.
static HELD: Rooms = Rooms::new();
const QUEUEING: Room = Room::First;
const WAITING: Room = Room::Second;

/// The time for which a call that waits for the whole device is postponed while the device has work.
const PATIENCE: Duration = Duration::from_millis(200);

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
            let captures = captures::blocker().into_iter().collect();
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
    try_unheld(|| apart_from_captures(call)).flatten()
}

/// Like [`try_apart`], for a call that does not invalidate captures: it is made beside them.
pub(crate) fn try_unheld<R>(call: impl FnOnce() -> R) -> Option<R> {
    let _waiting = HELD.try_enter(WAITING)?;
    held().is_empty().then(call)
}

/// Blocks until [`try_apart`] may succeed.
///
/// # Errors
/// [`Error::Capture`] if this thread has a capture in progress.
pub(crate) fn wait_to_be_apart(what: &str) -> Result<()> {
    context::check_caller()?;
    if captures::is_capturing() {
        return Err(Error::Capture {
            reason: format!("{what} waits for the device, and this thread captures a stream"),
        });
    }
    wait_for(captures::blocker());
    Ok(())
}

/// Blocks until [`try_unheld`] may succeed.
///
/// # Errors
/// [`Error::InHostFunction`] and others for a thread in which HIP cannot be called.
pub(crate) fn wait_to_be_unheld() -> Result<()> {
    context::check_caller()?;
    wait_for(None);
    Ok(())
}

/// Blocks until no thread queues work that may wait for the host, and until such work, and the work of `other`, is over.
fn wait_for(other: Option<Blocker>) {
    drop(HELD.enter(WAITING));
    for (queue, ticket) in held().into_iter().chain(other) {
        queue.wait(ticket);
    }
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
    let all = list::of_all_devices().iter().flat_map(|streams| streams.leaving().into_iter().chain(streams.all()));
    all.filter_map(|stream| stream.blocker(stream.held_until())).collect()
}
