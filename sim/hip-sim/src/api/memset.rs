//! Fills.

use std::ffi::{c_int, c_uchar, c_uint, c_ushort, c_void};

use hip_sys::rocm_7_2::*;

use super::copy::{enqueue, refuse_captured};
use super::hip_functions;
use crate::allocation::{ensure_room, find};
use crate::fill::Fill;
use crate::graph::{FillNode, Operation};
use crate::queue::Work;
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, Refusal, ensure};

impl Fill {
    /// Validates a fill of `rows` rows of `count` elements each, `pitch` bytes apart. The first `element` bytes of
    /// `pattern` are used. `rows` is at least 1.
    pub(crate) fn check(
        runtime: &Runtime,
        to: *mut c_void,
        (pattern, element): ([u8; 4], usize),
        count: usize,
        (pitch, rows): (usize, usize),
    ) -> Result<Self, Refusal> {
        let width = count.checked_mul(element).ok_or(hipErrorInvalidValue)?;
        ensure(rows == 1 || width <= pitch, hipErrorInvalidValue)?;
        let span = pitch.checked_mul(rows - 1).and_then(|before| before.checked_add(width));
        let span = span.ok_or(hipErrorInvalidValue)? as u64;
        let address = to.expose_provenance() as u64;
        let Some(block) = find(runtime, address) else {
            return Err(Refusal::new(hipErrorInvalidValue, format!("{address:#x} is not in live device memory")));
        };
        ensure_room(runtime, &block, address, span, true)?;
        Ok(Self { address, pattern, element, count, pitch, rows, is_shared: block.is_shared() })
    }
}

/// Fills `rows` rows of `count` elements each, `pitch` bytes apart, with `pattern`. For host memory the call waits, as
/// in HIP.
fn fill<const N: usize>(
    stream: hipStream_t,
    synchronous: bool,
    to: *mut c_void,
    pattern: [u8; N],
    count: usize,
    (pitch, rows): (usize, usize),
) -> Outcome {
    let runtime = runtime()?;
    let target = runtime.live_target(stream);
    if synchronous {
        if let Ok(target) = &target {
            refuse_captured(runtime, target)?;
        }
    }
    if count == 0 || rows == 0 {
        let target = target?;
        return ensure(!runtime.captures.is_captured(target.queue), hipErrorInvalidValue);
    }
    let mut padded = [0; 4];
    padded[..N].copy_from_slice(&pattern);
    let fill = Fill::check(runtime, to, (padded, N), count, (pitch, rows))?;
    // If both the stream and the memory are invalid, the memory's status is returned.
    let target = target?;
    if runtime.captures.is_captured(target.queue) {
        let parameters = hipMemsetParams {
            dst: to,
            elementSize: N as c_uint,
            height: rows,
            pitch,
            value: c_uint::from_le_bytes(padded),
            width: count,
        };
        return runtime.captures.add(&runtime.graphs, target.queue, Operation::Fill(FillNode { fill, parameters }));
    }
    let work = Work::Device(Box::new(move || {
        runtime.devices[target.device].carries_on()?;
        fill.run(runtime.memory())
    }));
    enqueue(runtime, target, work, synchronous && fill.is_shared)
}

/// Fills a box plane by plane, in stream order. Queues nothing unless the whole box is in live memory.
fn fill_box(stream: hipStream_t, synchronous: bool, to: hipPitchedPtr, value: c_int, extent: hipExtent) -> Outcome {
    let hipExtent { width, height, depth } = extent;
    if width == 0 || height == 0 || depth == 0 {
        return Ok(());
    }
    let plane = to.pitch.checked_mul(to.ysize).ok_or(hipErrorInvalidValue)?;
    ensure(width <= to.pitch && (depth == 1 || height <= to.ysize), hipErrorInvalidValue)?;
    let last = plane.checked_mul(depth - 1).ok_or(hipErrorInvalidValue)?;
    let span = to.pitch.checked_mul(height - 1).and_then(|rows| rows.checked_add(width)?.checked_add(last));
    let address = to.ptr.expose_provenance() as u64;
    let runtime = runtime()?;
    let block = find(runtime, address).ok_or(hipErrorInvalidValue)?;
    ensure_room(runtime, &block, address, span.ok_or(hipErrorInvalidValue)? as u64, true)?;
    (0..depth).try_for_each(|index| {
        let start = to.ptr.wrapping_byte_add(index * plane);
        fill(stream, synchronous, start, [value as u8], width, (to.pitch, height))
    })
}

const NULL: hipStream_t = std::ptr::null_mut();
const FLAT: (usize, usize) = (0, 1);

hip_functions! {
    fn hipMemset(to: *mut c_void, value: c_int, bytes: usize) {
        fill(NULL, true, to, [value as u8], bytes, FLAT)
    }

    fn hipMemsetAsync(to: *mut c_void, value: c_int, bytes: usize, stream: hipStream_t) {
        fill(stream, false, to, [value as u8], bytes, FLAT)
    }

    fn hipMemsetD8(to: hipDeviceptr_t, value: c_uchar, count: usize) {
        fill(NULL, true, to, [value], count, FLAT)
    }

    fn hipMemsetD8Async(to: hipDeviceptr_t, value: c_uchar, count: usize, stream: hipStream_t) {
        fill(stream, false, to, [value], count, FLAT)
    }

    fn hipMemsetD16(to: hipDeviceptr_t, value: c_ushort, count: usize) {
        fill(NULL, true, to, value.to_le_bytes(), count, FLAT)
    }

    fn hipMemsetD16Async(to: hipDeviceptr_t, value: c_ushort, count: usize, stream: hipStream_t) {
        fill(stream, false, to, value.to_le_bytes(), count, FLAT)
    }

    fn hipMemsetD32(to: hipDeviceptr_t, value: c_int, count: usize) {
        fill(NULL, true, to, value.to_le_bytes(), count, FLAT)
    }

    fn hipMemsetD32Async(to: hipDeviceptr_t, value: c_int, count: usize, stream: hipStream_t) {
        fill(stream, false, to, value.to_le_bytes(), count, FLAT)
    }

    fn hipMemset2D(to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize) {
        fill(NULL, true, to, [value as u8], width, (pitch, height))
    }

    fn hipMemset2DAsync(to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize, stream: hipStream_t) {
        fill(stream, false, to, [value as u8], width, (pitch, height))
    }

    fn hipMemset3D(to: hipPitchedPtr, value: c_int, extent: hipExtent) {
        fill_box(NULL, true, to, value, extent)
    }

    fn hipMemset3DAsync(to: hipPitchedPtr, value: c_int, extent: hipExtent, stream: hipStream_t) {
        fill_box(stream, false, to, value, extent)
    }
}
