//! Copies. The driver finds out by itself what kind of memory an address is; a kind that HIP does not have is refused.

use std::ffi::c_void;

use hip_sys::rocm_7_2::{hipErrorInvalidValue, hipMemcpy3DParms, hipMemcpyKind, hipStream_t};

use crate::context;
use crate::driver::driver_functions;
use crate::ends;
use crate::status::{Outcome, ensure};
use crate::structures::{Copy2D, Copy3D, MemoryType};
use crate::table::{get, hip_functions};

driver_functions! {
    /// Copies bytes between addresses of any memory.
    fn cuMemcpyAsync(dst: *mut c_void, src: *const c_void, bytes: usize, stream: hipStream_t);
    /// As `cuMemcpyAsync`, and returns when the copy is complete.
    fn cuMemcpy(dst: *mut c_void, src: *const c_void, bytes: usize);
    /// Copies rows.
    fn cuMemcpy2DAsync_v2(copy: *const Copy2D, stream: hipStream_t);
    /// Copies in three dimensions.
    fn cuMemcpy3DAsync_v2(copy: *const Copy3D, stream: hipStream_t);
    /// Blocks until a stream has finished its work.
    fn cuStreamSynchronize(stream: hipStream_t);
}

/// # Safety
/// Both addresses must be valid for `bytes` until the copy is complete.
unsafe fn copy(
    dst: *mut c_void,
    src: *const c_void,
    bytes: usize,
    kind: hipMemcpyKind,
    stream: hipStream_t,
) -> Outcome {
    ends::of_kind(kind)?;
    context::enter()?;
    if bytes == 0 {
        return Ok(());
    }
    ensure(!dst.is_null() && !src.is_null(), hipErrorInvalidValue)?;
    // SAFETY: the caller's contract.
    unsafe { cuMemcpyAsync(dst, src, bytes, stream) }
}

hip_functions! {
    translated fn hipMemcpyAsync(dst: *mut c_void, src: *const c_void, bytes: usize, kind: hipMemcpyKind, stream: hipStream_t) {
        copy(dst, src, bytes, kind, stream)
    }

    translated fn hipMemcpyWithStream(dst: *mut c_void, src: *const c_void, bytes: usize, kind: hipMemcpyKind, stream: hipStream_t) {
        copy(dst, src, bytes, kind, stream)?;
        cuStreamSynchronize(stream)
    }

    translated fn hipMemcpy(dst: *mut c_void, src: *const c_void, bytes: usize, kind: hipMemcpyKind) {
        ends::of_kind(kind)?;
        context::enter()?;
        if bytes == 0 { Ok(()) } else { cuMemcpy(dst, src, bytes) }
    }

    translated fn hipMemcpy2DAsync(
        dst: *mut c_void, dst_pitch: usize, src: *const c_void, src_pitch: usize, width: usize, height: usize,
        kind: hipMemcpyKind, stream: hipStream_t,
    ) {
        context::enter()?;
        let (src_type, dst_type) = ends::of_copy(kind, src, dst)?;
        if width == 0 || height == 0 {
            return Ok(());
        }
        let mut copy = Copy2D { src_type, src_pitch, dst_type, dst_pitch, width, height, ..Copy2D::default() };
        *if src_type == MemoryType::HOST { &mut copy.src_host } else { &mut copy.src_device } = src;
        *if dst_type == MemoryType::HOST { &mut copy.dst_host } else { &mut copy.dst_device } = dst;
        cuMemcpy2DAsync_v2(&raw const copy, stream)
    }

    translated fn hipMemcpy3DAsync(copy: *const hipMemcpy3DParms, stream: hipStream_t) {
        context::enter()?;
        let copy = ends::copy_3d(get(copy)?)?;
        if copy.width == 0 || copy.height == 0 || copy.depth == 0 {
            return Ok(());
        }
        cuMemcpy3DAsync_v2(&raw const copy, stream)
    }
}
