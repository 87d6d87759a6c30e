//! Mipmapped arrays.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use hip_sys::rocm_7_2::*;

use super::graph::handle;
use super::{hip_functions, put};
use crate::allocation::{free, pointer};
use crate::array::{Channels, MipmappedArray};
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, Refusal, ensure};

/// `hipArrayMemoryRequirements`, added in HIP 10.0.
#[repr(C)]
struct Requirements {
    alignment: usize,
    size: usize,
}

/// The array behind a handle.
pub(crate) fn mipmap_of(runtime: &Runtime, handle: hipMipmappedArray_const_t) -> Result<Arc<MipmappedArray>, Refusal> {
    runtime.mipmaps.get(handle.cast()).ok_or_else(|| hipErrorInvalidHandle.into())
}

/// Creates a mipmapped array on the current device.
///
/// # Safety
/// `to` must be null or valid for a write.
unsafe fn create(
    to: *mut hipMipmappedArray_t,
    channels: Option<Channels>,
    extent: [usize; 3],
    levels: c_uint,
    flags: c_uint,
) -> Outcome {
    let runtime = runtime()?;
    runtime.captures.refuse_unsafe()?;
    ensure(!to.is_null(), hipErrorInvalidValue)?;
    let device = runtime.live_current()?;
    device.ensure_images()?;
    let channels = channels.ok_or_else(|| {
        Refusal::new(hipErrorInvalidValue, "texels are 1, 2 or 4 numbers of 8, 16 or 32 bits (floats: 16 or 32)")
    })?;
    let made = MipmappedArray::create(runtime, device, channels, extent, levels, flags)?;
    // SAFETY: not null, hence valid, as the caller vouches.
    unsafe { put(to, made.cast()) }
}

/// Frees an array with its levels, after all work on its device has completed.
fn destroy(handle: hipMipmappedArray_t) -> Outcome {
    let runtime = runtime()?;
    ensure(!handle.is_null(), hipErrorInvalidValue)?;
    let device = mipmap_of(runtime, handle)?.device;
    runtime.drain(Some(device));
    // Another thread may have freed it first.
    let array = runtime.mipmaps.remove(handle.cast()).ok_or(hipErrorInvalidHandle)?;
    for level in &array.levels {
        runtime.arrays.remove(std::ptr::without_provenance(*level));
    }
    free(pointer(array.base))
}

/// Returns a level of an array. The array owns it.
///
/// # Safety
/// `to` must be null or valid for a write.
unsafe fn level(to: *mut hipArray_t, array: hipMipmappedArray_const_t, level: c_uint) -> Outcome {
    let runtime = runtime()?;
    ensure(!to.is_null(), hipErrorInvalidValue)?;
    let array = mipmap_of(runtime, array)?;
    let found = array.levels.get(level as usize).ok_or_else(|| {
        Refusal::new(hipErrorInvalidValue, format!("level {level} of an array with {} levels", array.levels.len()))
    })?;
    // SAFETY: not null, hence valid, as the caller vouches.
    unsafe { put(to, handle(*found)) }
}

hip_functions! {
    fn hipMallocMipmappedArray(
        to: *mut hipMipmappedArray_t, texel: *const hipChannelFormatDesc, extent: hipExtent, levels: c_uint, flags: c_uint,
    ) {
        ensure(!texel.is_null(), hipErrorInvalidValue)?;
        let hipExtent { width, height, depth } = extent;
        create(to, Channels::of(&*texel), [width, height, depth], levels, flags)
    }

    fn hipMipmappedArrayCreate(
        to: *mut hipMipmappedArray_t, description: *mut HIP_ARRAY3D_DESCRIPTOR, levels: c_uint,
    ) {
        ensure(!description.is_null(), hipErrorInvalidValue)?;
        let HIP_ARRAY3D_DESCRIPTOR { Width, Height, Depth, Format, NumChannels, Flags } = *description;
        create(to, Channels::of_format(Format, NumChannels), [Width, Height, Depth], levels, Flags)
    }

    fn hipFreeMipmappedArray(array: hipMipmappedArray_t) {
        destroy(array)
    }

    fn hipMipmappedArrayDestroy(array: hipMipmappedArray_t) {
        destroy(array)
    }

    fn hipGetMipmappedArrayLevel(to: *mut hipArray_t, array: hipMipmappedArray_const_t, number: c_uint) {
        level(to, array, number)
    }

    fn hipMipmappedArrayGetLevel(to: *mut hipArray_t, array: hipMipmappedArray_t, number: c_uint) {
        level(to, array.cast_const(), number)
    }

    since:

    fn hipMipmappedArrayGetMemoryRequirements(to: *mut Requirements, array: hipMipmappedArray_t, device: c_int) {
        let runtime = runtime()?;
        ensure(!to.is_null() && !array.is_null(), hipErrorInvalidValue)?;
        let device = runtime.device(device)?;
        let array = mipmap_of(runtime, array.cast_const())?;
        ensure(array.device == device.ordinal, hipErrorInvalidValue)?;
        put(to, Requirements { alignment: array.alignment, size: array.bytes as usize })
    }
}
