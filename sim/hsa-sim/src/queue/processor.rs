//! The thread of a queue: takes packets in order and executes each before the next.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use amdgpu_sim::{FaultKind, Packet};

use super::packet::{self, Request};
use super::{Queue, Wanted};
use crate::abi::{
    HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, HSA_STATUS_ERROR_INVALID_SIGNAL, HSA_STATUS_ERROR_OUT_OF_RESOURCES,
    hsa_signal_t, hsa_status_t,
};
use crate::events;
use crate::memory::pointer;
use crate::result::Result;
use crate::runtime::Runtime;
use crate::signal::Signal;

/// The longest sleep before the thread checks for packets whose doorbell was not rung.
const IDLE: Duration = Duration::from_millis(20);
/// The longest sleep before it checks signals that changed without a notification.
const WAITING: Duration = Duration::from_millis(1);

/// Why the thread takes no more packets.
enum End {
    /// The queue was destroyed or made inactive.
    Stopped,
    /// A packet failed.
    Failed(hsa_status_t),
    /// A packet failed, and a system event handler has handled that.
    Told(hsa_status_t),
}

/// A new queue, its thread started.
pub(crate) fn create(runtime: &'static Runtime, wanted: &Wanted) -> Result<Arc<Queue>> {
    let queue = runtime.queues.add(&runtime.agents, &runtime.signals, &runtime.masks, wanted)?;
    let worker = Arc::clone(&queue);
    let thread =
        std::thread::Builder::new().name(format!("hsa-sim-queue-{}", queue.id)).spawn(move || run(runtime, &worker));
    match thread {
        Ok(thread) => *queue.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread),
        Err(_) => {
            runtime.queues.forget(&queue);
            return Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
        }
    }
    Ok(queue)
}

/// Carries out packets until the queue ends.
fn run(runtime: &'static Runtime, queue: &Queue) {
    crate::exempt::exempt();
    let mut index = 0;
    loop {
        let ready = || {
            if queue.is_stopped() {
                return Some(false);
            }
            packet::is_packet(queue.header(index).load(Ordering::Acquire)).then_some(true)
        };
        if !queue.doorbell.wait_until(IDLE, ready) {
            return;
        }
        let done = pause(runtime, queue, 2 * index).and_then(|()| process(runtime, queue, index));
        match done {
            Ok(()) => index += 1,
            Err(end) => {
                let (status, told) = match end {
                    End::Stopped => return,
                    End::Failed(status) => (status, false),
                    End::Told(status) => (status, true),
                };
                match queue.callback {
                    // SAFETY: the program passed this function and argument when it created the queue.
                    Some((callback, data)) => unsafe { callback(status, queue.pointer(), pointer(data)) },
                    None if told => {}
                    None => end_process(),
                }
                return;
            }
        }
    }
}

/// Aborts, as ROCr does after an unhandled error: otherwise the program would wait for ever.
fn end_process() -> ! {
    eprintln!("hsa-sim: neither the queue nor the system has a handler for this: the process ends");
    std::process::abort();
}

fn process(runtime: &'static Runtime, queue: &Queue, index: u64) -> Result<(), End> {
    let bytes = copy(queue, index);
    let (request, completion) = packet::read(&bytes);
    let completion = find(runtime, completion)?;
    // The running packet's fields come from the copy; kernels that request the packet read the original.
    let start = events::now();
    match request {
        Request::Dispatch => dispatch(runtime, queue, index, &bytes)?,
        Request::And(signals) => {
            for signal in signals {
                if let Some(signal) = find(runtime, signal)? {
                    wait(queue, signal, |value| value == 0)?;
                }
            }
        }
        Request::Or(signals) => {
            let mut live = Vec::with_capacity(signals.len());
            for signal in signals {
                live.extend(find(runtime, signal)?);
            }
            let met = || live.iter().any(|signal| signal.value().load(Ordering::SeqCst) == 0);
            while !live.is_empty() && !met() {
                if queue.is_stopped() {
                    return Err(End::Stopped);
                }
                let deadline = Instant::now() + WAITING;
                runtime.signals.wait_any_until(Some(deadline), || met().then_some(()));
            }
        }
        Request::Value { signal, condition, value, mask } => {
            if let Some(signal) = find(runtime, signal)? {
                wait(queue, signal, |now| condition.holds(now & mask, value))?;
            }
        }
        Request::Unknown => return Err(End::Failed(HSA_STATUS_ERROR_INVALID_PACKET_FORMAT)),
    }
    // The slot is free once it is invalid and the index has advanced.
    queue.header(index).store(packet::INVALID, Ordering::Release);
    queue.read_index().store(index + 1, Ordering::SeqCst);
    if let Some(completion) = completion {
        pause(runtime, queue, 2 * index + 1)?;
        completion.set_times(start, events::now());
        completion.decrement();
    }
    Ok(())
}

/// Delays as the settings require, unless the queue is stopped.
fn pause(runtime: &Runtime, queue: &Queue, step: u64) -> Result<(), End> {
    let Some(delay) = runtime.delay else { return Ok(()) };
    let deadline = Instant::now() + delay.wait(queue.id, step);
    while !queue.is_stopped() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(WAITING));
    }
    Err(End::Stopped)
}

/// Copies a packet word by word: its producer may be hostile and still be writing.
fn copy(queue: &Queue, index: u64) -> [u8; 64] {
    let mut bytes = [0; 64];
    let place = queue.place(index);
    for (at, word) in bytes.chunks_exact_mut(8).enumerate() {
        // SAFETY: an aligned word inside the ring, which lives as long as the queue; all access to it is atomic.
        let value = unsafe { std::sync::atomic::AtomicU64::from_ptr(pointer(place + 8 * at as u64).cast()) };
        word.copy_from_slice(&value.load(Ordering::Acquire).to_le_bytes());
    }
    bytes
}

/// The signal behind a handle. `None` for 0, and for a signal that was destroyed after the packet was written. Hardware
/// would read the last value from its memory, and destroying a signal releases its waiters. HIP destroys signals that
/// barriers in other streams refer to.
fn find(runtime: &'static Runtime, handle: hsa_signal_t) -> Result<Option<Signal>, End> {
    if runtime.signals.has_ended(handle) {
        return Ok(None);
    }
    runtime.maybe_signal(handle).map_err(|_| {
        eprintln!("hsa-sim: a packet names {:#x}, which is no signal", handle.handle);
        End::Failed(HSA_STATUS_ERROR_INVALID_SIGNAL)
    })
}

/// Waits until a signal's value satisfies `right`, it is destroyed, or the queue is stopped.
fn wait(queue: &Queue, signal: Signal, right: impl Fn(i64) -> bool) -> Result<(), End> {
    let met = signal.wait_until(WAITING, || {
        if right(signal.value().load(Ordering::SeqCst)) || !signal.is_live() {
            return Some(true);
        }
        queue.is_stopped().then_some(false)
    });
    if met { Ok(()) } else { Err(End::Stopped) }
}

fn dispatch(runtime: &Runtime, queue: &Queue, index: u64, bytes: &[u8; 64]) -> Result<(), End> {
    let gpu = runtime.agents.gpu(queue.agent).map_err(End::Failed)?;
    let packet = Packet {
        address: queue.place(index),
        queue: queue.address,
        dispatch_id: index,
        units: queue.units.lock().unwrap_or_else(PoisonError::into_inner).for_dispatch(),
        ..Packet::parse(bytes)
    };
    runtime.memory.svm().forget_unmapped(runtime.agents.space());
    let start = events::now();
    let result = gpu.run_packet(&packet, &queue.cancel);
    crate::observe::tell_findings(gpu);
    match result {
        Ok(stats) => {
            let kernel = gpu.kernel_at(packet.kernel_object);
            let name = kernel.as_ref().map_or("", |kernel| &kernel.info().name);
            crate::log::kernel(
                name,
                (queue.agent.index().saturating_sub(1), gpu),
                &packet,
                &stats,
                events::now() - start,
            );
            Ok(())
        }
        Err(fault) if fault.kind == FaultKind::Cancelled => Err(End::Stopped),
        Err(fault) => {
            eprintln!("hsa-sim: {fault}");
            if fault.kind == FaultKind::Lost {
                runtime.events.lost(queue.agent);
            }
            if let Some((address, reason)) = events::bad_address(&fault) {
                let handled = runtime.events.memory_fault(queue.agent, address, reason);
                if handled {
                    return Err(End::Told(events::status_of(&fault)));
                }
            }
            Err(End::Failed(events::status_of(&fault)))
        }
    }
}
