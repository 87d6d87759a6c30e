//! Copies of boxes of elements, from and to arrays and rows in memory (`hipMemcpy2DAsync`, `hipMemcpy3DAsync`).

use std::ffi::c_void;

use hip_sys::{hipArray_t, hipExtent, hipMemcpy3DParms, hipMemcpyKind, hipPitchedPtr, hipPos, hipStream_t};

use super::array::shape::ArrayShape;
#[cfg(feature = "rocm-7-1")]
use super::location::location;
use super::pitched::extent::Extent;
use crate::core::call::check;
use crate::core::device::Device;
#[cfg(any(doc, feature = "rocm-7-1"))]
use crate::core::error::Error;
use crate::core::error::{Result, Status};
use crate::core::releases::LAYERS_OF_LINES_ARE_ROWS;
use crate::core::trace;
use crate::stream::Stream;
use crate::stream::usage::Access;

/// One end of a copy.
#[derive(Clone, Copy)]
pub(crate) enum End {
    /// Rows in memory.
    Memory(hipPitchedPtr),
    /// Texels of an array, starting at `first`.
    Array { raw: hipArray_t, first: [usize; 3], shape: ArrayShape },
}

/// Returns the end of a copy for a box whose rows have no gaps.
pub(super) fn rows<T>(pointer: *mut c_void, extent: Extent) -> End {
    let row = extent.width * size_of::<T>();
    End::Memory(hipPitchedPtr { ptr: pointer, pitch: row, xsize: row, ysize: extent.height })
}

impl End {
    /// Converts to one side of a copy in a batch (`hipMemcpy3DBatchAsync`), which counts elements of `unit` bytes.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the row pitch is not a multiple of the element size.
    #[cfg(feature = "rocm-7-1")]
    pub(crate) fn operand(self, unit: usize, device: Device) -> Result<hip_sys::hipMemcpy3DOperand> {
        let mut operand = hip_sys::hipMemcpy3DOperand::default();
        match self {
            Self::Memory(memory) => {
                if memory.pitch % unit != 0 {
                    return Err(Error::InvalidValue {
                        what: "the pitch of a side of a copy from or to an array",
                        value: format!("{} bytes", memory.pitch),
                        allowed: format!("a multiple of the texel's {unit}"),
                    });
                }
                operand.type_ = hip_sys::hipMemcpyOperandTypePointer;
                operand.op.ptr = hip_sys::hipMemcpy3DOperand_op_ptr {
                    ptr: memory.ptr,
                    rowLength: memory.pitch / unit,
                    layerHeight: memory.ysize,
                    locHint: location(&device),
                };
            }
            Self::Array { raw, first: [x, y, z], .. } => {
                operand.type_ = hip_sys::hipMemcpyOperandTypeArray;
                let offset = hip_sys::hipOffset3D { x, y, z };
                operand.op.array = hip_sys::hipMemcpy3DOperand_op_array { array: raw, offset };
            }
        }
        Ok(operand)
    }

    pub(crate) fn is_array(&self) -> bool {
        matches!(self, Self::Array { .. })
    }

    /// Returns whether its copies count layers as rows, if the runtime expects that.
    fn is_layered_line(&self) -> bool {
        matches!(self, Self::Array { shape: ArrayShape::D1Layered(..), .. })
    }
}

/// Returns the C parameters. Sizes count texels if one end is an array, else bytes of a row. `lines`: layers of a
/// layered 1D array are rows.
fn parameters(
    to: End,
    from: End,
    extent: Extent,
    element_bytes: usize,
    kind: hipMemcpyKind,
    lines: bool,
) -> hipMemcpy3DParms {
    let mut out = hipMemcpy3DParms { kind, ..hipMemcpy3DParms::default() };
    let swap = |[x, y, z]: [usize; 3]| if lines { hipPos { x, y: z, z: y } } else { hipPos { x, y, z } };
    let swap_rows = |mut memory: hipPitchedPtr| {
        if lines {
            memory.ysize = extent.depth;
        }
        memory
    };
    let mut unit = element_bytes;
    match from {
        End::Memory(memory) => out.srcPtr = swap_rows(memory),
        End::Array { raw, first, .. } => (out.srcArray, out.srcPos, unit) = (raw, swap(first), 1),
    }
    match to {
        End::Memory(memory) => out.dstPtr = swap_rows(memory),
        End::Array { raw, first, .. } => (out.dstArray, out.dstPos, unit) = (raw, swap(first), 1),
    }
    let (height, depth) = if lines { (extent.depth, extent.height) } else { (extent.height, extent.depth) };
    out.extent = hipExtent { width: extent.width * unit, height, depth };
    out
}

/// Returns the C parameters of a copy, for a node of a graph.
pub(crate) fn copy_node(
    to: End,
    from: End,
    extent: Extent,
    element_bytes: usize,
    kind: hipMemcpyKind,
) -> hipMemcpy3DParms {
    let lines = (to.is_layered_line() || from.is_layered_line()) && LAYERS_OF_LINES_ARE_ROWS.in_use();
    parameters(to, from, extent, element_bytes, kind, lines)
}

/// Queues a copy of a box of elements on a stream.
///
/// # Safety
/// Both ends must hold the box, and not be freed or accessed in conflict with the copy until it is done.
pub(super) unsafe fn copy<T>(
    to: End,
    from: End,
    extent: Extent,
    kind: hipMemcpyKind,
    stream: hipStream_t,
) -> Result<()> {
    let asked = || format!("{extent} elements of {} bytes, {kind:?}", size_of::<T>());
    if let (End::Memory(to), End::Memory(from), 1) = (to, from, extent.depth) {
        let (width, height) = (extent.width * size_of::<T>(), extent.height);
        // SAFETY: the caller ensures it.
        let status = unsafe {
            hip_sys::hipMemcpy2DAsync(to.ptr, to.pitch, from.ptr.cast_const(), from.pitch, width, height, kind, stream)
        };
        return check(status, "hipMemcpy2DAsync", asked);
    }
    let layered = to.is_layered_line() || from.is_layered_line();
    let lines = layered && LAYERS_OF_LINES_ARE_ROWS.in_use();
    let attempt = |lines: bool| {
        let parameters = parameters(to, from, extent, size_of::<T>(), kind, lines);
        // SAFETY: the parameters are valid for a read, and the caller ensures that they describe valid memory.
        unsafe { hip_sys::hipMemcpy3DAsync(&parameters, stream) }
    };
    let mut status = attempt(lines);
    if layered && status.0 == Status::INVALID_VALUE.0 {
        // The release is between those whose convention is known: try the other one.
        status = attempt(!lines);
    }
    check(status, "hipMemcpy3DAsync", asked)
}

/// Copies a box of elements and waits for it, on a private stream.
///
/// # Safety
/// Both ends must hold the box and be borrowed, and no queued work may access them in conflict with the copy.
pub(super) unsafe fn copy_now<T>(
    device: Device,
    to: End,
    from: End,
    extent: Extent,
    kind: hipMemcpyKind,
) -> Result<()> {
    trace::copy(Some(device), None, traced(to, from), bytes::<T>(extent));
    // SAFETY: the caller ensures it; the call returns when the copy is done.
    device.blocking_stream()?.inner.copy_now(|raw| unsafe { copy::<T>(to, from, extent, kind, raw) })
}

/// One side of a queued copy: its place and its access.
pub(super) type Used<'a> = (End, Access<'a>);

/// Queues a copy of a box of elements, unless there are none.
///
/// # Safety
/// Both sides must hold the box and not overlap, and the accesses must be of their memory.
pub(super) unsafe fn queue<T>(
    stream: &Stream,
    to: Used<'_>,
    from: Used<'_>,
    extent: Extent,
    kind: hipMemcpyKind,
) -> Result<()> {
    if extent.is_empty() {
        return Ok(());
    }
    let ((to, write), (from, read)) = (to, from);
    trace::copy(Some(stream.device()), Some(stream.inner.id()), traced(to, from), bytes::<T>(extent));
    stream.inner.submit(&[write, read], None, |raw| {
        // SAFETY: the caller ensures that both sides hold the box; both record the use, and are not freed before it is over, nor accessed
        // by the host in conflict with it.
        unsafe { copy::<T>(to, from, extent, kind, raw) }
    })
}

/// Returns the kind of a copy for `tracing`.
fn traced(to: End, from: End) -> &'static str {
    if to.is_array() || from.is_array() { "array" } else { "pitched" }
}

/// Returns the bytes of a box, which cannot overflow within memory.
fn bytes<T>(extent: Extent) -> usize {
    extent.elements().unwrap_or(usize::MAX).saturating_mul(size_of::<T>())
}
