//! Batched copies (since 7.1).

use std::ffi::{c_uint, c_ulonglong, c_void};

use hip_sys::rocm_7_2::*;

use super::copy::{cuboid, enqueue};
use super::{hip_functions, put_if_wanted};
use crate::copy::{Copy, Shape};
use crate::fault::Failure;
use crate::queue::Work;
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, Refusal, ensure};

/// `hipMemcpy3DOperand`: memory or an array, both stored in the same four words.
#[derive(Clone, Copy)]
#[repr(C)]
struct Operand {
    kind: c_uint,
    /// For memory: address, elements per row, rows per layer, and a hint. For an array: its handle, and the position in
    /// texels.
    words: [usize; 4],
}

/// `hipMemcpy3DBatchOp`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Operation {
    from: Operand,
    to: Operand,
    extent: hipExtent,
    order: c_uint,
    flags: c_uint,
}

/// `hipMemcpyOperandTypePointer` and `hipMemcpyOperandTypeArray`.
const POINTER: c_uint = 1;
const ARRAY: c_uint = 2;
/// `hipMemcpyFlagExtOpSwap`, `hipMemcpyFlagExtOpIndirectSrc` and `hipMemcpyFlagExtOpIndirectDst`. The other flags are
/// performance hints.
const OTHER_COPIES: c_uint = 512 | 1024 | 2048;
/// The index that is reported if the failure is not of a single copy.
const NO_ONE: usize = usize::MAX;

/// Checks all copies and queues them as one command; if any is refused, queues none. Copies for which `make` returns
/// `None` are skipped.
///
/// # Safety
/// As HIP asks of the pointers; `failed` must be valid for a write.
unsafe fn queue(
    stream: hipStream_t,
    count: usize,
    failed: *mut usize,
    make: impl Fn(&Runtime, usize) -> Result<Option<Copy>, Refusal>,
) -> Outcome {
    let runtime = runtime()?;
    let target = runtime.live_target(stream).map_err(|refusal| {
        if refusal.is(hipErrorContextIsDestroyed) { hipErrorInvalidHandle.into() } else { refusal }
    })?;
    let mut copies = Vec::with_capacity(count);
    for at in 0..count {
        let copy = make(runtime, at).inspect_err(|_| {
            // SAFETY: as the caller vouches.
            unsafe { put_if_wanted(failed, at) };
        })?;
        copies.extend(copy);
    }
    runtime.captures.refuse_use(target.queue)?;
    // SAFETY: as the caller vouches.
    unsafe { put_if_wanted(failed, NO_ONE) };
    let wait = copies.iter().any(Copy::is_pageable);
    let work = Work::Device(Box::new(move || {
        runtime.devices[target.device].carries_on()?;
        for (at, copy) in copies.iter().enumerate() {
            // SAFETY: HIP requires that the program does not access the memory until the copies are done; with pageable memory the call
            // waits for them.
            unsafe { copy.run(runtime.memory()) }.map_err(|error| {
                Failure::new(hipErrorIllegalAddress, format!("copy {at} of a batch lost its memory: {error}"))
            })?;
        }
        Ok(())
    }));
    enqueue(runtime, target, work, wait)
}

impl Operand {
    /// The operand in the form of a 3D copy: an array and a position, or pitched memory with elements of `unit` bytes.
    fn parameters(&self, extent: hipExtent, unit: usize) -> Result<(hipArray_t, hipPos, hipPitchedPtr), Refusal> {
        let [first, x, y, z] = self.words;
        if self.kind == ARRAY {
            return Ok((super::graph::handle(first), hipPos { x, y, z }, hipPitchedPtr::default()));
        }
        ensure(self.kind == POINTER && first != 0, hipErrorInvalidValue)?;
        // 0 means as large as the box.
        let row = if x == 0 { extent.width } else { x };
        let ysize = if y == 0 { extent.height } else { y };
        let pitch = row.checked_mul(unit).ok_or(hipErrorInvalidValue)?;
        let ptr = std::ptr::with_exposed_provenance_mut(first);
        Ok((std::ptr::null_mut(), hipPos::default(), hipPitchedPtr { ptr, pitch, xsize: pitch, ysize }))
    }

    /// The bytes of a texel, if the operand is an array.
    fn texel(&self, runtime: &Runtime) -> Result<Option<usize>, Refusal> {
        if self.kind != ARRAY {
            return Ok(None);
        }
        let array = runtime.array(super::graph::handle::<hipArray>(self.words[0]).cast_const())?;
        Ok(Some(array.layout.format().bytes()))
    }
}

impl Operation {
    /// Validates the copy.
    fn check(&self, runtime: &Runtime) -> Result<Option<Copy>, Refusal> {
        // Copies run in stream order, which every source access order permits.
        let Self { from, to, extent, flags, .. } = self;
        if flags & OTHER_COPIES != 0 {
            return Err(Refusal::new(hipErrorNotSupported, format!("flags {flags:#x} of a copy in a batch")));
        }
        let unit = to.texel(runtime)?.or(from.texel(runtime)?).unwrap_or(1);
        let (from_array, from_at, from_memory) = from.parameters(*extent, unit)?;
        let (to_array, to_at, to_memory) = to.parameters(*extent, unit)?;
        let kind = hipMemcpyDefault;
        let whole = hipMemcpy3DParms {
            srcArray: from_array,
            srcPos: from_at,
            srcPtr: from_memory,
            dstArray: to_array,
            dstPos: to_at,
            dstPtr: to_memory,
            extent: *extent,
            kind,
        };
        let (to, from, shape) = cuboid(runtime, &whole)?;
        if shape.is_empty() {
            return Ok(None);
        }
        ensure(!to.is_null() && !from.is_null(), hipErrorInvalidValue)?;
        Copy::check(runtime, to, from, shape, kind).map(Some)
    }
}

hip_functions! {
    since:

    fn hipMemcpyBatchAsync(
        to: *mut *mut c_void, from: *mut *mut c_void, sizes: *mut usize, count: usize,
        attributes: *mut c_void, starts: *mut usize, attribute_count: usize,
        failed: *mut usize, stream: hipStream_t,
    ) {
        let given = !to.is_null() && !from.is_null() && !sizes.is_null() && !failed.is_null();
        ensure(given && count > 0, hipErrorInvalidValue)?;
        // Ignored, as in AMD's runtime.
        let _ = (attributes, starts);
        ensure(attribute_count == 0, hipErrorNotSupported)?;
        queue(stream, count, failed, |runtime, at| {
            let (to, from, bytes) = (*to.add(at), *from.add(at), *sizes.add(at));
            ensure(bytes > 0 && !to.is_null() && !from.is_null(), hipErrorInvalidValue)?;
            Copy::check(runtime, to, from, Shape::flat(bytes), hipMemcpyDefault).map(Some)
        })
    }

    fn hipMemcpy3DBatchAsync(
        count: usize, operations: *mut Operation, failed: *mut usize, flags: c_ulonglong, stream: hipStream_t,
    ) {
        ensure(!operations.is_null() && !failed.is_null() && count > 0 && flags == 0, hipErrorInvalidValue)?;
        queue(stream, count, failed, |runtime, at| (*operations.add(at)).check(runtime))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layouts_are_cs() {
        // The sizes are those that a C compiler computes from the headers of HIP 7.2.
        assert_eq!((size_of::<Operand>(), size_of::<Operation>()), (40, 112));
        assert_eq!(std::mem::offset_of!(Operation, extent), 80);
    }
}
