//! Copies between host and device, in one and two dimensions.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use hip_sys::rocm_7_2::*;

use super::hip_functions;
use crate::allocation::{ensure_room, find};
use crate::array::Array;
use crate::copy::{Copy, End, Shape, Side, Strides};
use crate::fault::Failure;
use crate::graph::{CopyNode, Operation};
use crate::queue::{LeftOut, Work};
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, Refusal, ensure};
use crate::target::Target;

impl Copy {
    /// Validates a copy as HIP does before queueing it, and more strictly: if `kind` says that an end is device memory,
    /// it must be.
    pub(crate) fn check(
        runtime: &Runtime,
        to: *mut c_void,
        from: *const c_void,
        shape: Shape,
        kind: hipMemcpyKind,
    ) -> Result<Self, Refusal> {
        let end = |address: usize, strides: Strides, on_device: bool, write: bool| -> Result<End, Refusal> {
            let (address, span) = (address as u64, shape.span(strides)?);
            let block = find(runtime, address);
            if let Some(block) = &block {
                ensure_room(runtime, block, address, span, write)?;
            }
            match &block {
                None if on_device || is_gone(runtime, address) => Err(Refusal::new(
                    hipErrorInvalidValue,
                    format!("{address:#x} is not in live device memory (the copy is {kind:?})"),
                )),
                _ => Ok(End { address, block }),
            }
        };
        let both = kind == hipMemcpyDeviceToDevice || kind == NO_CU;
        let to_on_device = both || kind == hipMemcpyHostToDevice;
        let from_on_device = both || kind == hipMemcpyDeviceToHost;
        let to = end(to.expose_provenance(), shape.to, to_on_device, true)?;
        let from = end(from.expose_provenance(), shape.from, from_on_device, false)?;
        Ok(Self { to, from, shape })
    }
}

/// Whether the host waits for a copy, and on which stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    No,
    /// On the default stream.
    Yes,
    /// On the given stream (`hipMemcpyWithStream`).
    WithStream,
}

impl From<bool> for Wait {
    fn from(wait: bool) -> Self {
        if wait { Self::Yes } else { Self::No }
    }
}

/// Validates and queues a copy. Waits for it if `wait` says so, or if an end is pageable memory.
///
/// # Safety
/// As HIP asks of the pointers.
pub(crate) unsafe fn copy(
    stream: hipStream_t,
    wait: impl Into<Wait>,
    to: *mut c_void,
    from: *const c_void,
    shape: Shape,
    kind: hipMemcpyKind,
) -> Outcome {
    // SAFETY: as the caller vouches.
    unsafe { described_copy(stream, wait.into(), to, from, shape, kind, None) }
}

/// As [`copy`]; `parameters` is C's description of the copy, if the program passed one.
///
/// # Safety
/// As of [`copy`].
unsafe fn described_copy(
    stream: hipStream_t,
    wait: Wait,
    to: *mut c_void,
    from: *const c_void,
    shape: Shape,
    kind: hipMemcpyKind,
    described: Option<&hipMemcpy3DParms>,
) -> Outcome {
    let runtime = runtime()?;
    let target = runtime.live_target(stream);
    match (wait, &target) {
        (Wait::No, _) | (_, Err(_)) => {}
        (Wait::Yes, Ok(target)) => refuse_captured(runtime, target)?,
        // HIP does not refuse the default stream here.
        (Wait::WithStream, Ok(target)) if target.is_null => {}
        (Wait::WithStream, Ok(target)) => {
            runtime.captures.refuse_use(target.queue)?;
            runtime.captures.refuse_unsafe()?;
        }
    }
    let wait = wait != Wait::No;
    // A waiting copy validates sizes and addresses before it checks for captures.
    if !wait {
        ensure_kind(kind)?;
    }
    if shape.is_empty() {
        let target = target?;
        return ensure(!runtime.captures.is_captured(target.queue), hipErrorInvalidValue);
    }
    ensure(!to.is_null() && !from.is_null(), hipErrorInvalidValue)?;
    ensure_kind(kind)?;
    // If both the stream and the memory are invalid, the memory's status is returned.
    let copy = Copy::check(runtime, to, from, shape, kind)?;
    let target = target?;
    if runtime.captures.is_captured(target.queue) {
        let parameters = described.copied().unwrap_or_else(|| shape.parameters(to, from, kind));
        let node = CopyNode { copy, parameters };
        return runtime.captures.add(&runtime.graphs, target.queue, Operation::Copy(Arc::new(node)));
    }
    let wait = wait || copy.is_pageable();
    let work = Work::Device(Box::new(move || {
        runtime.devices[target.device].carries_on()?;
        // SAFETY: HIP requires that the program does not access the memory until the copy is done; with pageable memory the call waits for
        // it.
        unsafe { copy.run(runtime.memory()) }
            .map_err(|error| Failure::new(hipErrorIllegalAddress, format!("a queued copy lost its memory: {error}")))
    }));
    enqueue(runtime, target, work, wait)
}

/// Refuses to wait for a captured stream, or for a stream that waits for a captured one.
pub(crate) fn refuse_captured(runtime: &Runtime, target: &Target) -> Outcome {
    if target.is_null { runtime.captures.refuse_legacy() } else { runtime.captures.refuse_use(target.queue) }
}

/// Submits device work to a stream and, with `wait`, waits for it like a synchronisation of the stream.
pub(crate) fn enqueue(runtime: &Runtime, target: Target, work: Work, wait: bool) -> Outcome {
    let left_out = LeftOut::default();
    let work = match work {
        Work::Device(work) if wait => Work::Awaited(work, LeftOut::clone(&left_out)),
        work => work,
    };
    let point = runtime.scheduler.submit(target.queue, work, &[]).ok_or(hipErrorContextIsDestroyed)?;
    if wait {
        runtime.scheduler.wait(&[point]);
        runtime.failure(target.scope(&runtime.scheduler))?;
        // Another thread may have received the failure first, so that none is left to take here.
        if let Some(failure) = left_out.get() {
            return Err(Refusal::from(&**failure));
        }
    }
    Ok(())
}

/// Returns whether an address belonged to a device's memory, or may still.
fn is_gone(runtime: &Runtime, address: u64) -> bool {
    runtime.virtual_memory.is_reserved(address)
        || runtime.devices.iter().any(|device| device.gpu.memory().is_device_range(address))
}

/// Refuses an invalid copy kind.
pub(crate) fn ensure_kind(kind: hipMemcpyKind) -> Outcome {
    ensure(kind.0 <= hipMemcpyDefault.0 || kind == NO_CU, hipErrorInvalidMemcpyDirection)
}

/// The shape of a two-dimensional copy. Its rows must fit the pitches.
fn rectangle(
    to_pitch: usize,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: hipMemcpyKind,
) -> Result<Shape, Refusal> {
    ensure_kind(kind)?;
    ensure(width == 0 || height == 0 || (width <= to_pitch && width <= from_pitch), hipErrorInvalidPitchValue)?;
    let strides = |pitch: usize| Strides { pitch: pitch as u64, plane: 0 };
    let (to, from) = (strides(to_pitch), strides(from_pitch));
    Ok(Shape { width: width as u64, height: height as u64, depth: 1, to, from })
}

/// The ends and the shape of a three-dimensional copy between memory and arrays. If an array takes part, positions and
/// widths are in texels.
pub(crate) fn cuboid(
    runtime: &Runtime,
    parameters: &hipMemcpy3DParms,
) -> Result<(*mut c_void, *mut c_void, Shape), Refusal> {
    let hipMemcpy3DParms { srcArray, srcPos, srcPtr, dstArray, dstPos, dstPtr, extent, .. } = *parameters;
    let array = |handle: hipArray_t| if handle.is_null() { Ok(None) } else { runtime.array(handle).map(Some) };
    let (to_array, from_array) = (array(dstArray)?, array(srcArray)?);
    let texel = |array: &Option<Arc<Array>>| array.as_ref().map(|array| array.layout.format().bytes());
    let unit = match (texel(&to_array), texel(&from_array)) {
        (Some(to), Some(from)) if to != from => {
            let text = format!("a copy between arrays with texels of {from} and {to} bytes");
            return Err(Refusal::new(hipErrorInvalidValue, text));
        }
        (Some(unit), _) | (_, Some(unit)) => unit,
        (None, None) => 1,
    };
    let width = extent.width.checked_mul(unit).ok_or(hipErrorInvalidValue)?;
    let side = |array: &Option<Arc<Array>>, from: hipPitchedPtr, at: hipPos| -> Result<Side, Refusal> {
        if let Some(array) = array {
            ensure(from.ptr.is_null(), hipErrorInvalidValue)?;
            return array.side([at.x, at.y, at.z], [extent.width, extent.height, extent.depth]);
        }
        let plane = from.pitch.checked_mul(from.ysize).ok_or(hipErrorInvalidValue)?;
        let row_end = at.x.checked_add(width).ok_or(hipErrorInvalidValue)?;
        let rows_overlap = row_end > from.pitch && (extent.height > 1 || extent.depth > 1);
        ensure(!rows_overlap && (extent.height <= from.ysize || extent.depth <= 1), hipErrorInvalidValue)?;
        let before = at.z.checked_mul(plane).zip(at.y.checked_mul(from.pitch));
        let offset = before.and_then(|(planes, rows)| planes.checked_add(rows)?.checked_add(at.x));
        Ok(Side::new(from.ptr.wrapping_byte_add(offset.ok_or(hipErrorInvalidValue)?), from.pitch, plane))
    };
    let (to, from) = (side(&to_array, dstPtr, dstPos)?, side(&from_array, srcPtr, srcPos)?);
    Ok((to.ptr, from.ptr, Shape::cuboid([width, extent.height, extent.depth], to, from)))
}

/// `hipMemcpyDeviceToDeviceNoCU`, added in HIP 6.
const NO_CU: hipMemcpyKind = hipMemcpyKind(1024);
const NULL: hipStream_t = std::ptr::null_mut();

hip_functions! {
    fn hipMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: hipMemcpyKind) {
        copy(NULL, true, to, from, Shape::flat(bytes), kind)
    }

    fn hipMemcpyAsync(to: *mut c_void, from: *const c_void, bytes: usize, kind: hipMemcpyKind, stream: hipStream_t) {
        copy(stream, false, to, from, Shape::flat(bytes), kind)
    }

    fn hipMemcpyWithStream(to: *mut c_void, from: *const c_void, bytes: usize, kind: hipMemcpyKind, stream: hipStream_t) {
        copy(stream, Wait::WithStream, to, from, Shape::flat(bytes), kind)
    }

    fn hipMemcpyDtoH(to: *mut c_void, from: hipDeviceptr_t, bytes: usize) {
        copy(NULL, true, to, from, Shape::flat(bytes), hipMemcpyDeviceToHost)
    }

    fn hipMemcpyDtoHAsync(to: *mut c_void, from: hipDeviceptr_t, bytes: usize, stream: hipStream_t) {
        copy(stream, false, to, from, Shape::flat(bytes), hipMemcpyDeviceToHost)
    }

    fn hipMemcpyDtoD(to: hipDeviceptr_t, from: hipDeviceptr_t, bytes: usize) {
        copy(NULL, true, to, from, Shape::flat(bytes), hipMemcpyDeviceToDevice)
    }

    fn hipMemcpyDtoDAsync(to: hipDeviceptr_t, from: hipDeviceptr_t, bytes: usize, stream: hipStream_t) {
        copy(stream, false, to, from, Shape::flat(bytes), hipMemcpyDeviceToDevice)
    }

    fn hipMemcpyPeer(to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, bytes: usize) {
        runtime()?.device(to_device)?;
        runtime()?.device(from_device)?;
        copy(NULL, true, to, from, Shape::flat(bytes), hipMemcpyDeviceToDevice)
    }

    fn hipMemcpyPeerAsync(
        to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, bytes: usize, stream: hipStream_t,
    ) {
        runtime()?.device(to_device)?;
        runtime()?.device(from_device)?;
        copy(stream, false, to, from, Shape::flat(bytes), hipMemcpyDeviceToDevice)
    }

    fn hipMemcpy2D(
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize,
        width: usize, height: usize, kind: hipMemcpyKind,
    ) {
        copy(NULL, true, to, from, rectangle(to_pitch, from_pitch, width, height, kind)?, kind)
    }

    fn hipMemcpy2DAsync(
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize,
        width: usize, height: usize, kind: hipMemcpyKind, stream: hipStream_t,
    ) {
        copy(stream, false, to, from, rectangle(to_pitch, from_pitch, width, height, kind)?, kind)
    }

    fn hipMemcpy3D(parameters: *const hipMemcpy3DParms) {
        ensure(!parameters.is_null(), hipErrorInvalidValue)?;
        let (to, from, shape) = cuboid(runtime()?, &*parameters)?;
        described_copy(NULL, Wait::Yes, to, from, shape, (*parameters).kind, Some(&*parameters))
    }

    fn hipMemcpy3DAsync(parameters: *const hipMemcpy3DParms, stream: hipStream_t) {
        ensure(!parameters.is_null(), hipErrorInvalidValue)?;
        let (to, from, shape) = cuboid(runtime()?, &*parameters)?;
        described_copy(stream, Wait::No, to, from, shape, (*parameters).kind, Some(&*parameters))
    }

    since:

    // `src` became `const` in later releases.
    fn hipMemcpyHtoD(to: hipDeviceptr_t, from: *const c_void, bytes: usize) {
        copy(NULL, true, to, from, Shape::flat(bytes), hipMemcpyHostToDevice)
    }

    fn hipMemcpyHtoDAsync(to: hipDeviceptr_t, from: *const c_void, bytes: usize, stream: hipStream_t) {
        copy(stream, false, to, from, Shape::flat(bytes), hipMemcpyHostToDevice)
    }
}
