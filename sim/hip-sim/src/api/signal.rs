//! Stream memory operations: waits for words in memory, and writes to them.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use hip_sys::rocm_7_2::*;

use super::hip_functions;
use crate::allocation::{address, ensure_room, find};
use crate::graph::{SignalNode, SignalParameters};
use crate::memory::Kind;
use crate::queue::Work;
use crate::runtime::{Runtime, runtime};
use crate::signal::{Action, Condition, Signal, Width};
use crate::status::{Outcome, Refusal, ensure};

/// The maximum number of operations of a call, as in AMD's runtime.
const MOST: c_uint = 256;

impl Signal {
    /// A write of `value` to the word at `address`.
    pub(crate) fn write(runtime: &Runtime, address: u64, width: Width, value: u64) -> Result<Self, Refusal> {
        Self::new(runtime, address, width, Action::Write(width.cut(value)))
    }

    /// A wait until the word at `address` satisfies the comparison in `flags`.
    pub(crate) fn wait(
        runtime: &Runtime,
        address: u64,
        width: Width,
        [value, mask]: [u64; 2],
        flags: u32,
    ) -> Result<Self, Refusal> {
        let condition = Condition::of(flags).ok_or_else(|| {
            Refusal::new(hipErrorInvalidValue, format!("flags {flags:#x} of a wait, which are from 0 (Gte) to 3 (Nor)"))
        })?;
        let (value, mask) = (width.cut(value), width.cut(mask));
        Self::new(runtime, address, width, Action::Wait { condition, value, mask })
    }

    fn new(runtime: &Runtime, address: u64, width: Width, action: Action) -> Result<Self, Refusal> {
        let bytes = width.bytes();
        let invalid =
            |why| Refusal::new(hipErrorInvalidValue, format!("a word of {bytes} bytes at {address:#x}, {why}"));
        let block = find(runtime, address).ok_or_else(|| invalid("which is not in live memory of HIP's"))?;
        if address % bytes != 0 {
            return Err(invalid("which is no multiple of that"));
        }
        ensure_room(runtime, &block, address, bytes, matches!(action, Action::Write(_)))?;
        let on_host = matches!(block.kind, Kind::Host | Kind::Managed | Kind::Registered);
        Ok(Self { address, width, on_host, action })
    }
}

/// Queues the operations that `make` returns. Refused during capture.
fn queue(stream: hipStream_t, make: impl FnOnce(&Runtime) -> Result<Vec<Signal>, Refusal>) -> Outcome {
    let runtime = runtime()?;
    let target = runtime.live_target(stream)?;
    let signals = make(runtime)?;
    runtime.captures.refuse_use(target.queue)?;
    let node = Arc::new(SignalNode { signals, parameters: Vec::new(), context: 0 });
    let work = Work::Wait(Box::new(move || node.perform(&runtime.devices[target.device])));
    runtime.scheduler.submit(target.queue, work, &[]).ok_or(hipErrorContextIsDestroyed)?;
    Ok(())
}

/// The validated operations of a call or of a node.
///
/// # Safety
/// `parameters` must be null or valid for reads of `count`.
pub(super) unsafe fn batch(
    runtime: &Runtime,
    parameters: *const SignalParameters,
    count: c_uint,
    flags: c_uint,
) -> Result<(Vec<Signal>, Vec<SignalParameters>), Refusal> {
    ensure(!parameters.is_null() && (1..=MOST).contains(&count) && flags == 0, hipErrorInvalidValue)?;
    // SAFETY: not null, hence valid, as the caller vouches.
    let parameters = unsafe { std::slice::from_raw_parts(parameters, count as usize) }.to_vec();
    let signal = |of: &SignalParameters| {
        let SignalParameters { operation, address, value, flags, .. } = *of;
        match operation {
            1 => Signal::wait(runtime, address, Width::Bits32, [value, u64::MAX], flags),
            2 => Signal::write(runtime, address, Width::Bits32, value),
            4 => Signal::wait(runtime, address, Width::Bits64, [value, u64::MAX], flags),
            5 => Signal::write(runtime, address, Width::Bits64, value),
            3 | 6 => {
                Err(Refusal::new(hipErrorNotSupported, "flushes and barriers in a batch, which HIP has declared alone"))
            }
            other => Err(Refusal::new(hipErrorInvalidValue, format!("operation {other} of a batch"))),
        }
    };
    let signals = parameters.iter().map(signal).collect::<Result<_, _>>()?;
    Ok((signals, parameters))
}

hip_functions! {
    fn hipStreamWaitValue32(stream: hipStream_t, ptr: *mut c_void, value: u32, flags: c_uint, mask: u32) {
        let numbers = [value, mask].map(u64::from);
        queue(stream, |runtime| Ok(vec![Signal::wait(runtime, address(ptr), Width::Bits32, numbers, flags)?]))
    }

    fn hipStreamWaitValue64(stream: hipStream_t, ptr: *mut c_void, value: u64, flags: c_uint, mask: u64) {
        queue(stream, |runtime| Ok(vec![Signal::wait(runtime, address(ptr), Width::Bits64, [value, mask], flags)?]))
    }

    fn hipStreamWriteValue32(stream: hipStream_t, ptr: *mut c_void, value: u32, flags: c_uint) {
        // No flags are defined, and any value is accepted.
        let _ = flags;
        queue(stream, |runtime| Ok(vec![Signal::write(runtime, address(ptr), Width::Bits32, value.into())?]))
    }

    fn hipStreamWriteValue64(stream: hipStream_t, ptr: *mut c_void, value: u64, flags: c_uint) {
        let _ = flags;
        queue(stream, |runtime| Ok(vec![Signal::write(runtime, address(ptr), Width::Bits64, value)?]))
    }

    since:

    fn hipStreamBatchMemOp(stream: hipStream_t, count: c_uint, parameters: *mut SignalParameters, flags: c_uint) {
        queue(stream, |runtime| Ok(batch(runtime, parameters, count, flags)?.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_cs() {
        // The size is that which a C compiler computes from the headers of HIP 7.2.
        assert_eq!(size_of::<SignalParameters>(), 48);
        assert_eq!(std::mem::offset_of!(SignalParameters, value), 16);
        assert_eq!(std::mem::offset_of!(SignalParameters, alias), 32);
    }
}
