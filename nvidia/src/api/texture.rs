//! Textures and surfaces.

use std::ffi::c_uint;

use hip_sys::rocm_7_2::{
    HIP_RESOURCE_DESC, HIP_RESOURCE_VIEW_DESC, HIP_TEXTURE_DESC, HIPaddress_mode, HIPfilter_mode,
    HIPresourceViewFormat, HIPresourcetype, hipErrorInvalidValue, hipReadModeElementType, hipResourceDesc,
    hipResourceTypeArray, hipResourceTypeLinear, hipResourceTypeMipmappedArray, hipResourceTypePitch2D,
    hipResourceViewDesc, hipSurfaceObject_t, hipTextureDesc, hipTextureObject_t,
};

use super::array::format;
use crate::context;
use crate::driver::driver_functions;
use crate::status::{Outcome, ensure};
use crate::table::{get, hip_functions};

driver_functions! {
    /// Creates a texture.
    fn cuTexObjectCreate(
        to: *mut hipTextureObject_t, resource: *const HIP_RESOURCE_DESC, texture: *const HIP_TEXTURE_DESC,
        view: *const HIP_RESOURCE_VIEW_DESC,
    );
    /// Creates a surface.
    fn cuSurfObjectCreate(to: *mut hipSurfaceObject_t, resource: *const HIP_RESOURCE_DESC);
}

/// `CU_TRSF_READ_AS_INTEGER`, `CU_TRSF_NORMALIZED_COORDINATES`, `CU_TRSF_SRGB`.
const READ_AS_INTEGER: c_uint = 1;
const NORMALIZED: c_uint = 2;
const SRGB: c_uint = 0x10;

/// Returns the memory of a texture as the driver's structure, which is HIP's own for the driver interface.
///
/// # Safety
/// The field of `from.res` that `from.resType` names must be set.
#[allow(non_upper_case_globals, reason = "the constants of C are patterns")]
unsafe fn resource(from: &hipResourceDesc) -> Outcome<HIP_RESOURCE_DESC> {
    let mut to = HIP_RESOURCE_DESC::default();
    // SAFETY: the caller's contract; every field of the target may be written.
    unsafe {
        match from.resType {
            hipResourceTypeArray => {
                to.resType = HIPresourcetype(0);
                to.res.array.hArray = from.res.array.array;
            }
            hipResourceTypeMipmappedArray => {
                to.resType = HIPresourcetype(1);
                to.res.mipmap.hMipmappedArray = from.res.mipmap.mipmap;
            }
            hipResourceTypeLinear => {
                let linear = from.res.linear;
                to.resType = HIPresourcetype(2);
                to.res.linear.devPtr = linear.devPtr;
                (to.res.linear.format, to.res.linear.numChannels) = format(&linear.desc)?;
                to.res.linear.sizeInBytes = linear.sizeInBytes;
            }
            hipResourceTypePitch2D => {
                let rows = from.res.pitch2D;
                to.resType = HIPresourcetype(3);
                to.res.pitch2D.devPtr = rows.devPtr;
                (to.res.pitch2D.format, to.res.pitch2D.numChannels) = format(&rows.desc)?;
                (to.res.pitch2D.width, to.res.pitch2D.height) = (rows.width, rows.height);
                to.res.pitch2D.pitchInBytes = rows.pitchInBytes;
            }
            _ => return Err(hipErrorInvalidValue.into()),
        }
    }
    Ok(to)
}

/// Returns how a texture is read as the driver's structure.
fn texture(from: &hipTextureDesc) -> HIP_TEXTURE_DESC {
    let mut flags = 0;
    for (set, flag) in [
        (from.readMode == hipReadModeElementType, READ_AS_INTEGER),
        (from.normalizedCoords != 0, NORMALIZED),
        (from.sRGB != 0, SRGB),
    ] {
        flags |= if set { flag } else { 0 };
    }
    HIP_TEXTURE_DESC {
        addressMode: from.addressMode.map(|mode| HIPaddress_mode(mode.0)),
        filterMode: HIPfilter_mode(from.filterMode.0),
        flags,
        maxAnisotropy: from.maxAnisotropy,
        mipmapFilterMode: HIPfilter_mode(from.mipmapFilterMode.0),
        mipmapLevelBias: from.mipmapLevelBias,
        minMipmapLevelClamp: from.minMipmapLevelClamp,
        maxMipmapLevelClamp: from.maxMipmapLevelClamp,
        borderColor: from.borderColor,
        ..HIP_TEXTURE_DESC::default()
    }
}

/// Returns a view as the driver's structure.
fn view(from: &hipResourceViewDesc) -> HIP_RESOURCE_VIEW_DESC {
    HIP_RESOURCE_VIEW_DESC {
        format: HIPresourceViewFormat(from.format.0),
        width: from.width,
        height: from.height,
        depth: from.depth,
        firstMipmapLevel: from.firstMipmapLevel,
        lastMipmapLevel: from.lastMipmapLevel,
        firstLayer: from.firstLayer,
        lastLayer: from.lastLayer,
        ..HIP_RESOURCE_VIEW_DESC::default()
    }
}

hip_functions! {
    translated fn hipCreateTextureObject(
        to: *mut hipTextureObject_t, from: *const hipResourceDesc, how: *const hipTextureDesc,
        part: *const hipResourceViewDesc,
    ) {
        context::enter()?;
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        let (resource, texture) = (resource(get(from)?)?, texture(get(how)?));
        let view = part.as_ref().map(view);
        let view = view.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        cuTexObjectCreate(to, &raw const resource, &raw const texture, view)
    }

    translated fn hipCreateSurfaceObject(to: *mut hipSurfaceObject_t, from: *const hipResourceDesc) {
        context::enter()?;
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        let resource = resource(get(from)?)?;
        cuSurfObjectCreate(to, &raw const resource)
    }
}
