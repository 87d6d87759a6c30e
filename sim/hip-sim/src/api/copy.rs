//! Copies between host and device, in one and two dimensions.

use std::ffi::{c_int, c_void};
use std::slice;
use std::sync::Arc;

use amdgpu_sim::MemoryError;
use hip_sys::rocm_7_2::*;

use super::array::array_of;
use super::hip_functions;
use super::memory::find;
use crate::array::Array;
use crate::fault::Failure;
use crate::graph::{CopyNode, Operation};
use crate::memory::Block;
use crate::queue::{LeftOut, Work};
use crate::runtime::{Runtime, Target, runtime};
use crate::status::{Outcome, Refusal, ensure};
use crate::virtual_memory::ensure_room;

/// The shape of a copied box: rows of `width` bytes, `pitch` bytes apart on each side, in planes of `height` rows. A
/// flat copy is one row.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    width: u64,
    height: u64,
    depth: u64,
    to: Strides,
    from: Strides,
}

/// One side of a copy.
#[derive(Clone, Copy)]
pub(crate) struct Side {
    /// The start address.
    pub(crate) ptr: *mut c_void,
    strides: Strides,
}

impl Side {
    /// The side that starts at `ptr`, with rows `pitch` and planes `plane` bytes apart.
    pub(crate) fn new(ptr: *mut c_void, pitch: usize, plane: usize) -> Self {
        Self { ptr, strides: Strides { pitch: pitch as u64, plane: plane as u64 } }
    }
}

/// The row and plane pitch in bytes.
#[derive(Clone, Copy)]
struct Strides {
    pitch: u64,
    plane: u64,
}

impl Shape {
    /// Returns whether the box is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    pub(crate) fn flat(bytes: usize) -> Self {
        let strides = Strides { pitch: bytes as u64, plane: bytes as u64 };
        Self { width: bytes as u64, height: 1, depth: 1, to: strides, from: strides }
    }

    /// The shape of a box between two sides. The extent's width is in bytes.
    pub(crate) fn cuboid(extent: [usize; 3], to: Side, from: Side) -> Self {
        let [width, height, depth] = extent.map(|size| size as u64);
        Self { width, height, depth, to: to.strides, from: from.strides }
    }

    /// The copy as C's description of a 3D copy.
    fn parameters(&self, to: *mut c_void, from: *const c_void, kind: hipMemcpyKind) -> hipMemcpy3DParms {
        let side = |ptr: *mut c_void, strides: Strides| {
            let pitch = strides.pitch as usize;
            let ysize = strides.plane.checked_div(strides.pitch).unwrap_or(0) as usize;
            hipPitchedPtr { ptr, pitch, xsize: self.width as usize, ysize }
        };
        let (width, height, depth) = (self.width as usize, self.height as usize, self.depth as usize);
        hipMemcpy3DParms {
            dstPtr: side(to, self.to),
            srcPtr: side(from.cast_mut(), self.from),
            extent: hipExtent { width, height, depth },
            kind,
            ..Default::default()
        }
    }

    /// The bytes from the first to the end of the last row.
    fn span(&self, strides: Strides) -> Result<u64, Refusal> {
        let planes = strides.plane.checked_mul(self.depth - 1);
        let rows = strides.pitch.checked_mul(self.height - 1);
        let before = planes.zip(rows).and_then(|(planes, rows)| planes.checked_add(rows));
        Ok(before.and_then(|before| before.checked_add(self.width)).ok_or(hipErrorInvalidValue)?)
    }
}

/// One end of a copy.
#[derive(Clone, Copy)]
struct End {
    address: u64,
    /// `None` for memory of the program that HIP does not know.
    block: Option<Block>,
}

/// A validated copy.
pub(crate) struct Copy {
    to: End,
    from: End,
    shape: Shape,
}

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

    /// Returns whether the call must wait for the copy, because an end is unpinned memory of the program.
    pub(crate) fn is_pageable(&self) -> bool {
        self.to.block.is_none() || self.from.block.is_none()
    }

    /// Performs the copy.
    ///
    /// # Safety
    /// Ends that are not in HIP's memory must be valid for the access, and not accessed otherwise meanwhile.
    pub(crate) unsafe fn run(&self, runtime: &Runtime) -> Result<(), MemoryError> {
        let Shape { height, depth, to, from, .. } = self.shape;
        for (plane, row) in (0..depth).flat_map(|plane| (0..height).map(move |row| (plane, row))) {
            let to = self.to.address + plane * to.plane + row * to.pitch;
            let from = self.from.address + plane * from.plane + row * from.pitch;
            // SAFETY: `check` ensured that the whole box is inside the blocks; the rest is guaranteed by the caller.
            unsafe { self.run_row(runtime, to, from) }?;
        }
        Ok(())
    }

    /// # Safety
    /// As for [`run`](Self::run), for one row.
    unsafe fn run_row(&self, runtime: &Runtime, to: u64, from: u64) -> Result<(), MemoryError> {
        let width = self.shape.width;
        let memory = runtime.memory();
        let to_ptr = std::ptr::with_exposed_provenance_mut::<u8>(to as usize);
        let from_ptr = std::ptr::with_exposed_provenance::<u8>(from as usize);
        match (self.to.block.is_some(), self.from.block.is_some()) {
            (true, true) => memory.copy(to, from, width),
            // SAFETY: the program's memory, valid for reads as the caller vouches.
            (true, false) => memory.write(to, unsafe { slice::from_raw_parts(from_ptr, width as usize) }),
            (false, true) => {
                // SAFETY: the program's memory, valid for writes as the caller vouches.
                memory.read(from, unsafe { slice::from_raw_parts_mut(to_ptr, width as usize) })
            }
            (false, false) => {
                // SAFETY: both are the program's memory, valid as the caller vouches; they may overlap.
                unsafe { std::ptr::copy(from_ptr, to_ptr, width as usize) };
                Ok(())
            }
        }
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
        return runtime.captures.add(runtime, target.queue, Operation::Copy(Arc::new(node)));
    }
    let wait = wait || copy.is_pageable();
    let work = Work::Device(Box::new(move || {
        runtime.devices[target.device].carries_on()?;
        // SAFETY: HIP requires that the program does not access the memory until the copy is done; with pageable memory the call waits for
        // it.
        unsafe { copy.run(runtime) }
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
        runtime.failure(target.scope(runtime))?;
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
    let array = |handle: hipArray_t| if handle.is_null() { Ok(None) } else { array_of(runtime, handle).map(Some) };
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
