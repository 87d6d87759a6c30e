//! Streams.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use hip_sys::rocm_7_2::*;

use super::{hip_functions, put};
use crate::execution::Context;
use crate::graph::{HostCall, Operation};
use crate::queue::{Order, Priority, Work};
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, Refusal, ensure};
use crate::stream::Stream;
use crate::units::UnitSet;

/// Clamps a priority to the supported range, and returns the queue's priority for it.
fn rank(priority: c_int) -> (c_int, Priority) {
    match priority {
        ..0 => (-1, Priority::High),
        0 => (0, Priority::Normal),
        1.. => (1, Priority::Low),
    }
}

/// Creates a stream of an execution context, which never waits for the legacy default stream.
pub(crate) fn open_in_context(
    runtime: &Runtime,
    context: &Arc<Context>,
    priority: c_int,
) -> Result<hipStream_t, Refusal> {
    let (priority, rank) = rank(priority);
    let queue = context.open_queue(&runtime.scheduler, &runtime.devices[context.device], rank)?;
    let (device, flags) = (context.device, hipStreamNonBlocking);
    let stream = Stream { queue, device, flags, priority, units: None, context: Some(Arc::clone(context)) };
    Ok(runtime.streams.insert(stream).ok_or(hipErrorOutOfMemory)?.cast())
}

/// Creates a stream on the current device.
///
/// # Safety
/// `to` must be null or valid for a write.
pub(super) unsafe fn create(to: *mut hipStream_t, flags: c_uint, priority: c_int, units: Option<UnitSet>) -> Outcome {
    let runtime = runtime()?;
    ensure(!to.is_null() && (flags == 0 || flags == hipStreamNonBlocking), hipErrorInvalidValue)?;
    let (priority, rank) = rank(priority);
    let order = if flags == hipStreamNonBlocking { Order::Free } else { Order::Blocking };
    let device = runtime.live_current()?.ordinal;
    let queue = runtime.scheduler.open(device, order, rank);
    let handle = runtime.streams.insert(Stream { queue, device, flags, priority, units, context: None });
    // SAFETY: not null, hence valid, as the caller vouches.
    unsafe { put(to, handle.ok_or(hipErrorOutOfMemory)?.cast()) }
}

/// A pointer of the program, to be sent to a callback.
struct UserData(*mut c_void);

// SAFETY: HIP passes the pointer to the callback on a runtime thread; a program that uses callbacks must expect that.
unsafe impl Send for UserData {}

impl UserData {
    fn get(&self) -> *mut c_void {
        self.0
    }
}

/// A stream's handle, to be sent to a callback.
struct StreamHandle(hipStream_t);

// SAFETY: a handle is a number; it is never dereferenced.
unsafe impl Send for StreamHandle {}

impl StreamHandle {
    fn get(&self) -> hipStream_t {
        self.0
    }
}

hip_functions! {
    fn hipStreamCreate(stream: *mut hipStream_t) {
        create(stream, 0, 0, None)
    }

    fn hipStreamCreateWithFlags(stream: *mut hipStream_t, flags: c_uint) {
        create(stream, flags, 0, None)
    }

    fn hipStreamCreateWithPriority(stream: *mut hipStream_t, flags: c_uint, priority: c_int) {
        create(stream, flags, priority, None)
    }

    fn hipStreamDestroy(stream: hipStream_t) {
        let runtime = runtime()?;
        ensure(stream.addr() > 2, hipErrorInvalidHandle)?;
        let stream = runtime.streams.remove(stream.cast()).ok_or(hipErrorContextIsDestroyed)?;
        if let Some(context) = &stream.context {
            context.close_queue(stream.queue);
        }
        runtime.wait_policies().remove(&stream.queue);
        runtime.captures.abandon(&runtime.graphs, stream.queue);
        runtime.scheduler.close(stream.queue);
        Ok(())
    }

    fn hipStreamSynchronize(stream: hipStream_t) {
        let runtime = runtime()?;
        let target = runtime.target(stream)?;
        runtime.captures.refuse_use(target.queue)?;
        if !target.is_null {
            runtime.captures.refuse_unsafe()?;
        }
        runtime.synchronize(target.scope(&runtime.scheduler))
    }

    fn hipStreamQuery(stream: hipStream_t) {
        let runtime = runtime()?;
        let target = runtime.target(stream)?;
        runtime.captures.refuse_use(target.queue)?;
        if !target.is_null {
            runtime.captures.refuse_unsafe()?;
        }
        let scope = target.scope(&runtime.scheduler);
        let done = runtime.scheduler.points(scope).into_iter().all(|point| runtime.scheduler.reached(point));
        ensure(done, hipErrorNotReady)?;
        runtime.failure(scope)
    }

    fn hipStreamWaitEvent(stream: hipStream_t, event: hipEvent_t, flags: c_uint) {
        let runtime = runtime()?;
        // 1 is `hipEventWaitExternal`, which concerns graphs.
        ensure(flags <= 1, hipErrorInvalidValue)?;
        let event = runtime.events.get(event.cast()).ok_or(hipErrorInvalidHandle)?;
        let target = runtime.target(stream).map_err(|_| hipErrorInvalidHandle)?;
        runtime.devices[target.device].alive()?;
        let mark = event.mark.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        if let Some(mark) = mark {
            if runtime.captures.follow(&target, &mark)? {
                return Ok(());
            }
        }
        if let Some(record) = event.latest() {
            let nothing = Work::Always(Box::new(|| {}));
            runtime.scheduler.submit(target.queue, nothing, &[record.point]).ok_or(hipErrorInvalidHandle)?;
        }
        Ok(())
    }

    fn hipStreamGetFlags(stream: hipStream_t, flags: *mut c_uint) {
        let runtime = runtime()?;
        ensure(!stream.is_null() && !flags.is_null(), hipErrorInvalidValue)?;
        match stream.addr() {
            1 | 2 => put(flags, 0),
            _ => put(flags, runtime.streams.get(stream.cast()).ok_or(hipErrorContextIsDestroyed)?.flags),
        }
    }

    fn hipStreamGetPriority(stream: hipStream_t, priority: *mut c_int) {
        let runtime = runtime()?;
        ensure(!priority.is_null(), hipErrorInvalidValue)?;
        match stream.addr() {
            0..=2 => put(priority, 0),
            _ => put(priority, runtime.streams.get(stream.cast()).ok_or(hipErrorContextIsDestroyed)?.priority),
        }
    }

    fn hipStreamGetDevice(stream: hipStream_t, device: *mut hipDevice_t) {
        ensure(!device.is_null(), hipErrorInvalidValue)?;
        put(device, runtime()?.target(stream)?.device as hipDevice_t)
    }

    fn hipLaunchHostFunc(stream: hipStream_t, function: hipHostFn_t, data: *mut c_void) {
        let runtime = runtime()?;
        let target = runtime.live_target(stream)?;
        let function = function.ok_or(hipErrorInvalidValue)?;
        let call = HostCall { function, data };
        if runtime.captures.is_captured(target.queue) {
            return runtime.captures.add(&runtime.graphs, target.queue, Operation::Host(call));
        }
        let work = Work::Host(Box::new(move |_| call.call()));
        runtime.scheduler.submit(target.queue, work, &[]).ok_or(hipErrorContextIsDestroyed)?;
        Ok(())
    }

    fn hipStreamAddCallback(stream: hipStream_t, function: hipStreamCallback_t, data: *mut c_void, flags: c_uint) {
        let runtime = runtime()?;
        let target = runtime.live_target(stream)?;
        ensure(flags == 0, hipErrorInvalidValue)?;
        let function = function.ok_or(hipErrorInvalidValue)?;
        runtime.captures.refuse_use(target.queue)?;
        let (data, handle) = (UserData(data), StreamHandle(stream));
        let work = Work::Host(Box::new(move |failure| {
            let status = failure.map_or(hipSuccess, |failure| failure.status);
            // SAFETY: HIP requires a function that may be called with this data, on a runtime thread, once.
            unsafe { function(handle.get(), status, data.get()) }
        }));
        runtime.scheduler.submit(target.queue, work, &[]).ok_or(hipErrorContextIsDestroyed)?;
        Ok(())
    }
}
