//! Arrays, with and without levels.

use std::ffi::c_uint;

use hip_sys::rocm_7_2::{
    HIP_ARRAY3D_DESCRIPTOR, hipArray_Format, hipArray_t, hipChannelFormatDesc, hipChannelFormatKindFloat,
    hipChannelFormatKindSigned, hipChannelFormatKindUnsigned, hipErrorInvalidValue, hipExtent, hipMipmappedArray_t,
};

use crate::context;
use crate::driver::driver_functions;
use crate::status::{Outcome, ensure};
use crate::table::{get, hip_functions};

driver_functions! {
    /// Allocates an array.
    fn cuArray3DCreate_v2(to: *mut hipArray_t, about: *const HIP_ARRAY3D_DESCRIPTOR);
    /// Frees an array.
    fn cuArrayDestroy(array: hipArray_t);
    /// Allocates an array with levels.
    fn cuMipmappedArrayCreate(to: *mut hipMipmappedArray_t, about: *const HIP_ARRAY3D_DESCRIPTOR, levels: c_uint);
}

/// Returns the driver's format and number of channels for HIP's widths of the channels.
#[allow(non_upper_case_globals, reason = "the constants of C are patterns")]
pub(super) fn format(channels: &hipChannelFormatDesc) -> Outcome<(hipArray_Format, c_uint)> {
    let widths = [channels.x, channels.y, channels.z, channels.w];
    let count = widths.iter().take_while(|&&width| width != 0).count();
    let rest_is_empty = widths[count..].iter().all(|&width| width == 0);
    let equal = widths[..count].iter().all(|&width| width == channels.x);
    ensure(matches!(count, 1 | 2 | 4) && rest_is_empty && equal, hipErrorInvalidValue)?;
    let format = match (channels.f, channels.x) {
        (hipChannelFormatKindUnsigned, 8) => 1,
        (hipChannelFormatKindUnsigned, 16) => 2,
        (hipChannelFormatKindUnsigned, 32) => 3,
        (hipChannelFormatKindSigned, 8) => 8,
        (hipChannelFormatKindSigned, 16) => 9,
        (hipChannelFormatKindSigned, 32) => 10,
        (hipChannelFormatKindFloat, 16) => 16,
        (hipChannelFormatKindFloat, 32) => 32,
        _ => return Err(hipErrorInvalidValue.into()),
    };
    Ok((hipArray_Format(format), count as c_uint))
}

/// # Safety
/// `channels` must be null or valid for reads.
unsafe fn about(
    channels: *const hipChannelFormatDesc,
    extent: hipExtent,
    flags: c_uint,
) -> Outcome<HIP_ARRAY3D_DESCRIPTOR> {
    // SAFETY: the caller's contract.
    let (format, count) = format(unsafe { get(channels)? })?;
    Ok(HIP_ARRAY3D_DESCRIPTOR {
        Width: extent.width,
        Height: extent.height,
        Depth: extent.depth,
        Format: format,
        NumChannels: count,
        Flags: flags,
    })
}

hip_functions! {
    translated fn hipMalloc3DArray(
        to: *mut hipArray_t, channels: *const hipChannelFormatDesc, extent: hipExtent, flags: c_uint,
    ) {
        context::enter()?;
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        let about = about(channels, extent, flags)?;
        cuArray3DCreate_v2(to, &raw const about)
    }

    translated fn hipFreeArray(array: hipArray_t) {
        context::enter()?;
        if array.is_null() { Ok(()) } else { cuArrayDestroy(array) }
    }

    translated fn hipMallocMipmappedArray(
        to: *mut hipMipmappedArray_t, channels: *const hipChannelFormatDesc, extent: hipExtent, levels: c_uint, flags: c_uint,
    ) {
        context::enter()?;
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        let about = about(channels, extent, flags)?;
        cuMipmappedArrayCreate(to, &raw const about, levels)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_int;

    use super::*;

    fn channels(widths: [c_int; 4], kind: hip_sys::rocm_7_2::hipChannelFormatKind) -> hipChannelFormatDesc {
        let [x, y, z, w] = widths;
        hipChannelFormatDesc { x, y, z, w, f: kind }
    }

    #[test]
    fn widths_become_a_format_and_a_count() {
        let of = |widths, kind| format(&channels(widths, kind)).ok().map(|(format, count)| (format.0, count));
        assert_eq!(of([8, 8, 8, 8], hipChannelFormatKindUnsigned), Some((1, 4)));
        assert_eq!(of([32, 0, 0, 0], hipChannelFormatKindFloat), Some((32, 1)));
        assert_eq!(of([16, 16, 0, 0], hipChannelFormatKindSigned), Some((9, 2)));
        assert_eq!(of([8, 8, 8, 0], hipChannelFormatKindUnsigned), None, "three channels");
        assert_eq!(of([8, 16, 0, 0], hipChannelFormatKindUnsigned), None, "different widths");
        assert_eq!(of([8, 0, 8, 0], hipChannelFormatKindUnsigned), None, "a gap");
        assert_eq!(of([8, 0, 0, 0], hipChannelFormatKindFloat), None, "no float of 8 bits");
    }
}
