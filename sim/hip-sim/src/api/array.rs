//! Arrays, and copies to and from them.

use std::ffi::{c_uint, c_void};

use amdgpu_sim::image::Layout;
use hip_sys::rocm_7_2::*;

use super::copy::copy;
use super::{hip_functions, put, put_if_wanted};
use crate::allocation::{allocate, free, make_room, pointer};
use crate::array::{Array, Channels, shape};
use crate::copy::{Shape, Side};
use crate::runtime::runtime;
use crate::status::{Outcome, Refusal, ensure};

const NULL: hipStream_t = std::ptr::null_mut();

/// Creates an array.
///
/// # Safety
/// `to` must be null or valid for a write.
unsafe fn create(to: *mut hipArray_t, channels: Option<Channels>, extent: [usize; 3], flags: u32) -> Outcome {
    let runtime = runtime()?;
    runtime.captures.refuse_unsafe()?;
    ensure(!to.is_null(), hipErrorInvalidValue)?;
    let device = runtime.live_current()?;
    device.ensure_images()?;
    let (kind, size) = shape(extent, flags).ok_or_else(|| {
        Refusal::new(hipErrorInvalidValue, format!("there is no array of {extent:?} texels with flags {flags}"))
    })?;
    let channels = channels.ok_or_else(|| {
        Refusal::new(hipErrorInvalidValue, "texels are 1, 2 or 4 numbers of 8, 16 or 32 bits (floats: 16 or 32)")
    })?;
    let format = channels.format(false, false).ok_or(hipErrorInvalidValue)?;
    let layout = Layout::opaque(kind, format, size);
    let layout = layout.map_err(|error| Refusal::new(hipErrorInvalidValue, error.to_string()))?;
    make_room(runtime, device, layout.bytes() as u64);
    let base = allocate(runtime, device, layout.bytes() as u64, None)?;
    let array = Array { device: device.ordinal, base, layout, channels, extent, flags, is_level: false };
    // SAFETY: not null, hence valid, as the caller vouches.
    unsafe { put(to, runtime.arrays.insert(array).ok_or(hipErrorOutOfMemory)?.cast()) }
}

/// Frees an array, after all work on its device has completed.
fn destroy(handle: hipArray_t) -> Outcome {
    let runtime = runtime()?;
    runtime.captures.refuse_unsafe()?;
    ensure(!handle.is_null(), hipErrorInvalidValue)?;
    let array = runtime.array(handle)?;
    if array.is_level {
        return Err(Refusal::new(
            hipErrorInvalidValue,
            "a level goes with the array that it is of (hipFreeMipmappedArray)",
        ));
    }
    runtime.drain(Some(array.device));
    // Another thread may have freed it first.
    let array = runtime.arrays.remove(handle.cast()).ok_or(hipErrorInvalidHandle)?;
    free(pointer(array.base))
}

impl Array {
    /// The side of a copy that starts at the texel `first` and covers `extent` texels. Runtimes before 7.0 count the
    /// layers of 1D arrays as rows.
    pub(crate) fn side(&self, first: [usize; 3], extent: [usize; 3]) -> Result<Side, Refusal> {
        let layout = &self.layout;
        let [width, rows, planes] = layout.size();
        let (pitch, slice) = (layout.pitch(), layout.slice());
        let inside = [width, rows, planes].into_iter().zip(first).zip(extent);
        let inside = inside.map(|((most, first), size)| first.checked_add(size).is_some_and(|end| end <= most));
        if !inside.into_iter().all(|inside| inside) {
            let text = format!("{extent:?} texels from {first:?} on of an array of {:?}", [width, rows, planes]);
            return Err(Refusal::new(hipErrorInvalidValue, text));
        }
        let offset = first[2] * slice + first[1] * pitch + first[0] * layout.format().bytes();
        Ok(Side::new(pointer(self.base + offset as u64), pitch, slice))
    }

    /// The side of a copy of `width` bytes in `height` rows, starting at a byte of a row.
    fn rows(&self, first: [usize; 2], [width, height]: [usize; 2]) -> Result<Side, Refusal> {
        let texel = self.layout.format().bytes();
        ensure(first[0] % texel == 0 && width % texel == 0, hipErrorInvalidValue)?;
        self.side([first[0] / texel, first[1], 0], [width / texel, height, 1])
    }

    /// The box that `bytes` cover from a byte of a row on: part of one row, or whole rows. Refuses other spans.
    fn bytes_from(&self, first: [usize; 2], bytes: usize) -> Result<[usize; 2], Refusal> {
        let row = self.layout.size()[0] * self.layout.format().bytes();
        match first[0].checked_add(bytes) {
            Some(end) if end <= row => Ok([bytes, 1]),
            _ if first[0] == 0 && bytes % row == 0 => Ok([row, bytes / row]),
            _ => {
                let text =
                    format!("{bytes} bytes from byte {} on of rows of {row}: neither in one nor whole ones", first[0]);
                Err(Refusal::new(hipErrorInvalidValue, text))
            }
        }
    }
}

/// The memory side of a copy to or from an array, and how to copy.
struct Memory {
    ptr: *mut c_void,
    /// The row pitch in bytes.
    pitch: usize,
    kind: hipMemcpyKind,
    /// The stream, and whether to wait for it.
    stream: hipStream_t,
    wait: bool,
}

impl Memory {
    fn now(ptr: *const c_void, pitch: usize, kind: hipMemcpyKind) -> Self {
        Self { ptr: ptr.cast_mut(), pitch, kind, stream: NULL, wait: true }
    }

    fn side(&self, [width, height]: [usize; 2]) -> Result<Side, Refusal> {
        ensure(width <= self.pitch || height <= 1, hipErrorInvalidPitchValue)?;
        Ok(Side::new(self.ptr, self.pitch, 0))
    }
}

/// Copies `extent` (bytes per row, and rows) between memory and an array.
///
/// # Safety
/// As HIP asks of the pointers.
unsafe fn transfer(
    array: hipArray_const_t,
    first: [usize; 2],
    extent: [usize; 2],
    memory: &Memory,
    to_array: bool,
) -> Outcome {
    let runtime = runtime()?;
    let array = runtime.array(array)?;
    super::copy::ensure_kind(memory.kind)?;
    let [width, height] = extent;
    ensure(!memory.ptr.is_null(), hipErrorInvalidValue)?;
    // The pitch must have room for a row, even if there is only one.
    ensure(width <= memory.pitch, hipErrorInvalidPitchValue)?;
    let (there, here) = (array.rows(first, extent)?, memory.side(extent)?);
    let (to, from) = if to_array { (there, here) } else { (here, there) };
    let shape = Shape::cuboid([width, height, 1], to, from);
    // SAFETY: as the caller vouches.
    unsafe { copy(memory.stream, memory.wait, to.ptr, from.ptr, shape, memory.kind) }
}

/// Copies `bytes` between contiguous memory and an array, starting at a byte of a row.
///
/// # Safety
/// As HIP asks of the pointers.
unsafe fn transfer_bytes(
    array: hipArray_const_t,
    first: [usize; 2],
    bytes: usize,
    memory: Memory,
    to_array: bool,
) -> Outcome {
    let extent = runtime()?.array(array)?.bytes_from(first, bytes)?;
    // SAFETY: as the caller vouches.
    unsafe { transfer(array, first, extent, &Memory { pitch: extent[0], ..memory }, to_array) }
}

hip_functions! {
    fn hipMallocArray(
        to: *mut hipArray_t, texel: *const hipChannelFormatDesc, width: usize, height: usize, flags: c_uint,
    ) {
        ensure(!texel.is_null(), hipErrorInvalidValue)?;
        create(to, Channels::of(&*texel), [width, height, 0], flags)
    }

    fn hipMalloc3DArray(to: *mut hipArray_t, texel: *const hipChannelFormatDesc, extent: hipExtent, flags: c_uint) {
        ensure(!texel.is_null(), hipErrorInvalidValue)?;
        create(to, Channels::of(&*texel), [extent.width, extent.height, extent.depth], flags)
    }

    fn hipArrayCreate(to: *mut hipArray_t, description: *const HIP_ARRAY_DESCRIPTOR) {
        ensure(!description.is_null(), hipErrorInvalidValue)?;
        let HIP_ARRAY_DESCRIPTOR { Width, Height, Format, NumChannels } = *description;
        create(to, Channels::of_format(Format, NumChannels), [Width, Height, 0], 0)
    }

    fn hipArray3DCreate(to: *mut hipArray_t, description: *const HIP_ARRAY3D_DESCRIPTOR) {
        ensure(!description.is_null(), hipErrorInvalidValue)?;
        let HIP_ARRAY3D_DESCRIPTOR { Width, Height, Depth, Format, NumChannels, Flags } = *description;
        create(to, Channels::of_format(Format, NumChannels), [Width, Height, Depth], Flags)
    }

    fn hipFreeArray(array: hipArray_t) {
        destroy(array)
    }

    fn hipArrayDestroy(array: hipArray_t) {
        destroy(array)
    }

    fn hipArrayGetInfo(
        texel: *mut hipChannelFormatDesc, extent: *mut hipExtent, flags: *mut c_uint, array: hipArray_t,
    ) {
        let array = runtime()?.array(array)?;
        let [width, height, depth] = array.extent;
        put_if_wanted(texel, array.channels.description());
        put_if_wanted(extent, hipExtent { width, height, depth });
        put_if_wanted(flags, array.flags);
        Ok(())
    }

    fn hipGetChannelDesc(texel: *mut hipChannelFormatDesc, array: hipArray_const_t) {
        put(texel, runtime()?.array(array)?.channels.description())
    }

    fn hipArrayGetDescriptor(description: *mut HIP_ARRAY_DESCRIPTOR, array: hipArray_t) {
        let array = runtime()?.array(array)?;
        let [width, height, _] = array.extent;
        put(description, HIP_ARRAY_DESCRIPTOR {
            Width: width,
            Height: height,
            Format: array.channels.array_format(),
            NumChannels: array.channels.count,
        })
    }

    fn hipArray3DGetDescriptor(description: *mut HIP_ARRAY3D_DESCRIPTOR, array: hipArray_t) {
        let array = runtime()?.array(array)?;
        let [width, height, depth] = array.extent;
        put(description, HIP_ARRAY3D_DESCRIPTOR {
            Width: width,
            Height: height,
            Depth: depth,
            Format: array.channels.array_format(),
            NumChannels: array.channels.count,
            Flags: array.flags,
        })
    }

    fn hipMemcpy2DToArray(
        to: hipArray_t, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: hipMemcpyKind,
    ) {
        transfer(to, [x, y], [width, height], &Memory::now(from, pitch, kind), true)
    }

    fn hipMemcpy2DToArrayAsync(
        to: hipArray_t, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: hipMemcpyKind,
        stream: hipStream_t,
    ) {
        let memory = Memory { stream, wait: false, ..Memory::now(from, pitch, kind) };
        transfer(to, [x, y], [width, height], &memory, true)
    }

    fn hipMemcpy2DFromArray(
        to: *mut c_void, pitch: usize, from: hipArray_const_t, x: usize, y: usize, width: usize, height: usize, kind: hipMemcpyKind,
    ) {
        transfer(from, [x, y], [width, height], &Memory::now(to, pitch, kind), false)
    }

    fn hipMemcpy2DFromArrayAsync(
        to: *mut c_void, pitch: usize, from: hipArray_const_t, x: usize, y: usize, width: usize, height: usize, kind: hipMemcpyKind,
        stream: hipStream_t,
    ) {
        let memory = Memory { stream, wait: false, ..Memory::now(to, pitch, kind) };
        transfer(from, [x, y], [width, height], &memory, false)
    }

    fn hipMemcpyToArray(to: hipArray_t, x: usize, y: usize, from: *const c_void, bytes: usize, kind: hipMemcpyKind) {
        transfer_bytes(to, [x, y], bytes, Memory::now(from, bytes, kind), true)
    }

    fn hipMemcpyFromArray(to: *mut c_void, from: hipArray_const_t, x: usize, y: usize, bytes: usize, kind: hipMemcpyKind) {
        transfer_bytes(from, [x, y], bytes, Memory::now(to, bytes, kind), false)
    }

    fn hipMemcpyHtoA(to: hipArray_t, x: usize, from: *const c_void, bytes: usize) {
        transfer(to, [x, 0], [bytes, 1], &Memory::now(from, bytes, hipMemcpyHostToDevice), true)
    }

    fn hipMemcpyAtoH(to: *mut c_void, from: hipArray_t, x: usize, bytes: usize) {
        transfer(from, [x, 0], [bytes, 1], &Memory::now(to, bytes, hipMemcpyDeviceToHost), false)
    }
}
