//! The two ends of a copy: what kind of memory an address is, and HIP's copy structures as the driver's.

use std::ffi::{c_uint, c_void};

use hip_sys::rocm_7_2::{
    HIP_ARRAY3D_DESCRIPTOR, hipArray_t, hipErrorInvalidMemcpyDirection, hipErrorInvalidValue, hipMemcpy3DParms,
    hipMemcpyDefault, hipMemcpyDeviceToDevice, hipMemcpyDeviceToDeviceNoCU, hipMemcpyDeviceToHost,
    hipMemcpyHostToDevice, hipMemcpyHostToHost, hipMemcpyKind,
};

use crate::driver::driver_functions;
use crate::status::{Outcome, ensure};
use crate::structures::{Copy3D, MemoryType};

driver_functions! {
    /// Writes attributes of the memory at an address; zeros if the driver does not know it.
    fn cuPointerGetAttributes(count: c_uint, attributes: *const c_uint, values: *mut *mut c_void, address: *const c_void);
    /// Writes the description of an array.
    fn cuArray3DGetDescriptor_v2(to: *mut HIP_ARRAY3D_DESCRIPTOR, array: hipArray_t);
}

/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`.
const MEMORY_TYPE: c_uint = 2;

/// Returns the memory types of source and destination, for a kind of copy that names both.
#[allow(non_upper_case_globals, reason = "the constants of C are patterns")]
pub(crate) fn of_kind(kind: hipMemcpyKind) -> Outcome<Option<(MemoryType, MemoryType)>> {
    Ok(Some(match kind {
        hipMemcpyHostToHost => (MemoryType::HOST, MemoryType::HOST),
        hipMemcpyHostToDevice => (MemoryType::HOST, MemoryType::DEVICE),
        hipMemcpyDeviceToHost => (MemoryType::DEVICE, MemoryType::HOST),
        hipMemcpyDeviceToDevice | hipMemcpyDeviceToDeviceNoCU => (MemoryType::DEVICE, MemoryType::DEVICE),
        hipMemcpyDefault => return Ok(None),
        _ => return Err(hipErrorInvalidMemcpyDirection.into()),
    }))
}

/// Returns the memory type of an address: host memory if the driver does not know it.
fn of_address(address: *const c_void) -> Outcome<MemoryType> {
    let mut found: c_uint = 0;
    let mut values = [(&raw mut found).cast()];
    // SAFETY: one attribute and one place for it, of the type that the driver documents.
    unsafe { cuPointerGetAttributes(1, &MEMORY_TYPE, values.as_mut_ptr(), address)? };
    Ok(if MemoryType(found) == MemoryType::DEVICE { MemoryType::DEVICE } else { MemoryType::HOST })
}

/// Returns the memory types of source and destination of a copy between addresses.
pub(crate) fn of_copy(
    kind: hipMemcpyKind,
    src: *const c_void,
    dst: *const c_void,
) -> Outcome<(MemoryType, MemoryType)> {
    match of_kind(kind)? {
        Some(types) => Ok(types),
        None => Ok((of_address(src)?, of_address(dst)?)),
    }
}

/// Returns the bytes of an element of an array.
fn element(array: hipArray_t) -> Outcome<usize> {
    let mut about = HIP_ARRAY3D_DESCRIPTOR::default();
    // SAFETY: valid for a write; the array is alive, as the caller of HIP vouches.
    unsafe { cuArray3DGetDescriptor_v2(&raw mut about, array)? };
    let channel = match about.Format.0 {
        1 | 8 => 1,
        2 | 9 | 16 => 2,
        3 | 10 | 32 => 4,
        _ => return Err(hipErrorInvalidValue.into()),
    };
    Ok(channel * about.NumChannels as usize)
}

/// Returns HIP's copy of up to three dimensions as the driver's. HIP counts `x` and the width in elements if an end is
/// an array, and in bytes otherwise. The driver counts bytes.
pub(crate) fn copy_3d(copy: &hipMemcpy3DParms) -> Outcome<Copy3D> {
    let mut to = Copy3D { height: copy.extent.height, depth: copy.extent.depth, ..Copy3D::default() };
    let (src_is_array, dst_is_array) = (!copy.srcArray.is_null(), !copy.dstArray.is_null());
    ensure(
        src_is_array == copy.srcPtr.ptr.is_null() && dst_is_array == copy.dstPtr.ptr.is_null(),
        hipErrorInvalidValue,
    )?;
    let unit = match (src_is_array, dst_is_array) {
        (false, false) => 1,
        (true, _) => element(copy.srcArray)?,
        (false, true) => element(copy.dstArray)?,
    };
    to.width = copy.extent.width.checked_mul(unit).ok_or(hipErrorInvalidValue)?;
    // Positions in a pitched end are in bytes.
    let x = |position: usize, is_array: bool| {
        position.checked_mul(if is_array { unit } else { 1 }).ok_or(hipErrorInvalidValue)
    };
    (to.src_x, to.src_y, to.src_z) = (x(copy.srcPos.x, src_is_array)?, copy.srcPos.y, copy.srcPos.z);
    (to.dst_x, to.dst_y, to.dst_z) = (x(copy.dstPos.x, dst_is_array)?, copy.dstPos.y, copy.dstPos.z);
    let kinds = of_kind(copy.kind)?;
    if src_is_array {
        (to.src_type, to.src_array) = (MemoryType::ARRAY, copy.srcArray);
    } else {
        to.src_type = kinds.map_or_else(|| of_address(copy.srcPtr.ptr), |(src, _)| Ok(src))?;
        set_source(&mut to, copy.srcPtr.ptr, copy.srcPtr.pitch, copy.srcPtr.ysize);
    }
    if dst_is_array {
        (to.dst_type, to.dst_array) = (MemoryType::ARRAY, copy.dstArray);
    } else {
        to.dst_type = kinds.map_or_else(|| of_address(copy.dstPtr.ptr), |(_, dst)| Ok(dst))?;
        set_destination(&mut to, copy.dstPtr.ptr, copy.dstPtr.pitch, copy.dstPtr.ysize);
    }
    Ok(to)
}

/// Returns a copy of bytes in a row.
pub(crate) fn copy_1d(dst: *mut c_void, src: *const c_void, bytes: usize, kind: hipMemcpyKind) -> Outcome<Copy3D> {
    let mut to = Copy3D { width: bytes, height: 1, depth: 1, ..Copy3D::default() };
    (to.src_type, to.dst_type) = of_copy(kind, src, dst)?;
    set_source(&mut to, src, bytes, 1);
    set_destination(&mut to, dst, bytes, 1);
    Ok(to)
}

fn set_source(to: &mut Copy3D, address: *const c_void, pitch: usize, height: usize) {
    let host = to.src_type == MemoryType::HOST;
    *if host { &mut to.src_host } else { &mut to.src_device } = address;
    (to.src_pitch, to.src_height) = (pitch, height);
}

fn set_destination(to: &mut Copy3D, address: *mut c_void, pitch: usize, height: usize) {
    let host = to.dst_type == MemoryType::HOST;
    *if host { &mut to.dst_host } else { &mut to.dst_device } = address;
    (to.dst_pitch, to.dst_height) = (pitch, height);
}
