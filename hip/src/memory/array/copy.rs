//! Copies to and from arrays, all of them `hipMemcpy3D` and `hipMemcpy3DAsync`.

use std::ffi::c_void;

use hip_sys::{
    hipArray_t, hipExtent, hipMemcpy3DParms, hipMemcpyDeviceToDevice, hipMemcpyDeviceToHost, hipMemcpyHostToDevice,
    hipMemcpyKind, hipPitchedPtr, hipPos, hipStream_t,
};

use super::slice::Part;
use super::{ArrayShape, ArraySlice, ArraySliceMut, Texel};
use crate::core::call::check;
#[cfg(feature = "rocm-7-1")]
use crate::core::device::Device;
#[cfg(any(doc, feature = "rocm-7-1"))]
use crate::core::error::Error;
use crate::core::error::{Result, Status};
use crate::core::releases::LAYERS_OF_LINES_ARE_ROWS;
use crate::core::trace;
#[cfg(feature = "rocm-7-1")]
use crate::memory::location;
use crate::memory::{
    DeviceSlice, DeviceSliceMut, Extent, PinnedSlice, PinnedSliceMut, PitchedSlice, PitchedSliceMut, read_to_vec,
    same_len,
};
use crate::stream::Stream;
use crate::stream::usage::{Access, AccessKind};

/// One end of a copy.
#[derive(Clone, Copy)]
pub(crate) enum End {
    /// Rows in memory.
    Memory(hipPitchedPtr),
    /// Texels of an array, from one on.
    Array { raw: hipArray_t, first: [usize; 3], shape: ArrayShape },
}

impl Part<'_> {
    pub(super) fn end(&self) -> End {
        End::Array { raw: self.raw, first: self.first, shape: self.shape }
    }
}

/// Rows of a box without gaps.
fn rows<T>(pointer: *mut c_void, extent: Extent) -> End {
    let row = extent.width * size_of::<T>();
    End::Memory(hipPitchedPtr { ptr: pointer, pitch: row, xsize: row, ysize: extent.height })
}

impl End {
    /// As one side of a copy in a batch (`hipMemcpy3DBatchAsync`), which counts elements of `unit` bytes.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for rows that are no whole number of elements apart.
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

    #[cfg(feature = "rocm-7-1")]
    pub(crate) fn is_array(&self) -> bool {
        matches!(self, Self::Array { .. })
    }

    /// Whether its copies count layers as rows, should the runtime want that.
    fn is_layered_line(&self) -> bool {
        matches!(self, Self::Array { shape: ArrayShape::D1Layered(..), .. })
    }
}

/// What C is told. Sizes count texels if there is an array, else bytes of a row. `lines`: the layers of a layered line are rows.
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

/// For a node of a graph: what C is told of a copy.
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

/// Puts a copy of a box of texels on a stream.
///
/// # Safety
/// Both ends hold the box, and are not freed, and not accessed against the copy's reading and writing, until it is done.
unsafe fn copy<T>(to: End, from: End, extent: Extent, kind: hipMemcpyKind, stream: hipStream_t) -> Result<()> {
    let layered = to.is_layered_line() || from.is_layered_line();
    let lines = layered && LAYERS_OF_LINES_ARE_ROWS.in_use();
    let attempt = |lines: bool| {
        let parameters = parameters(to, from, extent, size_of::<T>(), kind, lines);
        // SAFETY: the parameters are valid for a read, and say what the caller promises.
        unsafe { hip_sys::hipMemcpy3DAsync(&parameters, stream) }
    };
    let mut status = attempt(lines);
    if layered && status.0 == Status::INVALID_VALUE.0 {
        // A release between those that are known.
        status = attempt(!lines);
    }
    check(status, "hipMemcpy3DAsync", || format!("{extent} texels of {} bytes, {kind:?}", size_of::<T>()))
}

/// One side of a queued copy: where it is, and the use of it.
type Side<'a> = (End, Access<'a>);

/// Queues a copy of a box of texels, unless there are none.
///
/// # Safety
/// Both sides hold the box and do not overlap, and the accesses are of their memory.
unsafe fn queue<T>(stream: &Stream, to: Side<'_>, from: Side<'_>, extent: Extent, kind: hipMemcpyKind) -> Result<()> {
    if extent.is_empty() {
        return Ok(());
    }
    let ((to, write), (from, read)) = (to, from);
    trace::copy(Some(stream.device()), Some(stream.inner.id()), "array", bytes::<T>(extent));
    stream.inner.submit(&[write, read], None, |raw| {
        // SAFETY: both sides hold the box, as the caller says; both note the use, and are not freed before it is over, nor touched by
        // the host against it.
        unsafe { copy::<T>(to, from, extent, kind, raw) }
    })
}

/// Of a box that is inside of memory.
fn bytes<T>(extent: Extent) -> usize {
    extent.elements().unwrap_or(usize::MAX).saturating_mul(size_of::<T>())
}

impl<T: Texel> ArraySlice<'_, T> {
    /// Copies the texels to the host, row by row and plane by plane (`hipMemcpy3DAsync`), after all queued work that writes to the array.
    ///
    /// # Errors
    /// [`Error::Length`] if `destination` has another number of texels. An error of the queued work comes back here.
    #[doc(alias("hipMemcpy3DAsync", "cudaMemcpy3DAsync"))]
    #[doc(alias("hipMemcpy2DFromArray", "cudaMemcpy2DFromArray"))]
    #[doc(alias("hipMemcpyFromArray", "cudaMemcpyFromArray"))]
    #[doc(alias("hipMemcpyAtoH", "cuMemcpyAtoH"))]
    pub fn copy_to_slice(&self, destination: &mut [T]) -> Result<()> {
        same_len("copy from an array", destination.len(), self.texels())?;
        if destination.is_empty() {
            return Ok(());
        }
        self.part.usage.wait(AccessKind::Read)?;
        trace::copy(Some(self.device()), None, "array to host", bytes::<T>(self.extent()));
        let to = rows::<T>(destination.as_mut_ptr().cast(), self.extent());
        self.device().blocking_stream()?.inner.copy_now(|raw| {
            // SAFETY: both ends hold the box, borrowed until the copy is done, and nothing that is queued writes to the source. Any bytes are
            // a value of T.
            unsafe { copy::<T>(to, self.end(), self.extent(), hipMemcpyDeviceToHost, raw) }
        })
    }

    /// The texels, on the host, row by row and plane by plane.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        read_to_vec(self.texels(), |texels| self.copy_to_slice(texels))
    }

    /// Queues a copy to pinned host memory, row by row and plane by plane (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongDevice`].
    #[doc(alias("hipMemcpy3DAsync", "cudaMemcpy3DAsync"))]
    #[doc(alias("hipMemcpy2DFromArrayAsync", "cudaMemcpy2DFromArrayAsync"))]
    pub fn copy_to_pinned_async<'p>(&self, stream: &Stream, destination: impl Into<PinnedSliceMut<'p, T>>) -> Result<()>
    where
        T: 'p,
    {
        let destination = destination.into();
        same_len("copy from an array", destination.len(), self.texels())?;
        stream.device().expect(self.device(), "the source")?;
        let _admitted = destination.admit(stream.device(), "the destination")?;
        let to = rows::<T>(destination.pointer(), self.extent());
        // SAFETY: both sides hold the box, one in an array and one elsewhere.
        unsafe {
            queue::<T>(
                stream,
                (to, destination.access()),
                (self.end(), self.access()),
                self.extent(),
                hipMemcpyDeviceToHost,
            )
        }
    }

    /// Queues a copy to device memory of as many elements, row by row and plane by plane without gaps (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongDevice`].
    #[doc(alias("hipMemcpy3DAsync", "cudaMemcpy3DAsync"))]
    pub fn copy_to_device_async<'d>(&self, stream: &Stream, destination: impl Into<DeviceSliceMut<'d, T>>) -> Result<()>
    where
        T: 'd,
    {
        let destination = destination.into();
        same_len("copy from an array", destination.len(), self.texels())?;
        stream.device().expect(self.device(), "the source")?;
        let _admitted = destination.admit(stream.device(), "the destination")?;
        let to = rows::<T>(destination.pointer(), self.extent());
        // SAFETY: both sides hold the box, one in an array and one elsewhere.
        unsafe {
            queue::<T>(
                stream,
                (to, destination.access()),
                (self.end(), self.access()),
                self.extent(),
                hipMemcpyDeviceToDevice,
            )
        }
    }

    /// Queues a copy to pitched device memory of the same extent (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the extents differ, [`Error::WrongDevice`].
    #[doc(alias("hipMemcpy3DAsync", "cudaMemcpy3DAsync"))]
    pub fn copy_to_pitched_async(&self, stream: &Stream, destination: &mut PitchedSliceMut<'_, T>) -> Result<()> {
        destination.extent().expect_source(self.extent())?;
        stream.device().expect(self.device(), "the source")?;
        let _admitted = destination.admit(stream.device(), "the destination")?;
        let to = destination.end();
        // SAFETY: both sides hold the box, one in an array and one elsewhere.
        unsafe {
            queue::<T>(
                stream,
                (to, destination.access()),
                (self.end(), self.access()),
                self.extent(),
                hipMemcpyDeviceToDevice,
            )
        }
    }
}

impl<T: Texel> ArraySliceMut<'_, T> {
    /// Copies texels from the host, row by row and plane by plane (`hipMemcpy3DAsync`), after all queued work that uses the array.
    ///
    /// # Errors
    /// [`Error::Length`] if `source` has another number of texels. An error of the queued work comes back here.
    #[doc(alias("hipMemcpy3DAsync", "cudaMemcpy3DAsync"))]
    #[doc(alias("hipMemcpy2DToArray", "cudaMemcpy2DToArray"))]
    #[doc(alias("hipMemcpyToArray", "cudaMemcpyToArray"))]
    #[doc(alias("hipMemcpyHtoA", "cuMemcpyHtoA"))]
    pub fn copy_from_slice(&mut self, source: &[T]) -> Result<()> {
        same_len("copy to an array", self.texels(), source.len())?;
        if source.is_empty() {
            return Ok(());
        }
        self.part.usage.wait(AccessKind::Write)?;
        trace::copy(Some(self.device()), None, "host to array", bytes::<T>(self.extent()));
        let from = rows::<T>(source.as_ptr().cast_mut().cast(), self.extent());
        self.device().blocking_stream()?.inner.copy_now(|raw| {
            // SAFETY: both ends hold the box, borrowed until the copy is done, and nothing that is queued uses the destination.
            unsafe { copy::<T>(self.end(), from, self.extent(), hipMemcpyHostToDevice, raw) }
        })
    }

    /// Queues a copy from pinned host memory, row by row and plane by plane (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongDevice`].
    #[doc(alias("hipMemcpy3DAsync", "cudaMemcpy3DAsync"))]
    #[doc(alias("hipMemcpy2DToArrayAsync", "cudaMemcpy2DToArrayAsync"))]
    pub fn copy_from_pinned_async<'p>(&mut self, stream: &Stream, source: impl Into<PinnedSlice<'p, T>>) -> Result<()>
    where
        T: 'p,
    {
        let source = source.into();
        same_len("copy to an array", self.texels(), source.len())?;
        stream.device().expect(self.device(), "the destination")?;
        let _admitted = source.admit(stream.device(), "the source")?;
        let from = rows::<T>(source.pointer(), self.extent());
        // SAFETY: both sides hold the box, one in an array and one elsewhere.
        unsafe {
            queue::<T>(
                stream,
                (self.end(), self.access()),
                (from, source.access()),
                self.extent(),
                hipMemcpyHostToDevice,
            )
        }
    }

    /// Queues a copy from device memory of as many elements, row by row and plane by plane without gaps (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongDevice`].
    #[doc(alias("hipMemcpy3DAsync", "cudaMemcpy3DAsync"))]
    pub fn copy_from_device_async<'d>(&mut self, stream: &Stream, source: impl Into<DeviceSlice<'d, T>>) -> Result<()>
    where
        T: 'd,
    {
        let source = source.into();
        same_len("copy to an array", self.texels(), source.len())?;
        stream.device().expect(self.device(), "the destination")?;
        let _admitted = source.admit(stream.device(), "the source")?;
        let from = rows::<T>(source.pointer(), self.extent());
        // SAFETY: both sides hold the box, one in an array and one elsewhere.
        unsafe {
            queue::<T>(
                stream,
                (self.end(), self.access()),
                (from, source.access()),
                self.extent(),
                hipMemcpyDeviceToDevice,
            )
        }
    }

    /// Queues a copy from pitched device memory of the same extent (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the extents differ, [`Error::WrongDevice`].
    #[doc(alias("hipMemcpy3DAsync", "cudaMemcpy3DAsync"))]
    pub fn copy_from_pitched_async<'p>(&mut self, stream: &Stream, source: impl Into<PitchedSlice<'p, T>>) -> Result<()>
    where
        T: 'p,
    {
        let source = source.into();
        self.extent().expect_source(source.extent())?;
        stream.device().expect(self.device(), "the destination")?;
        let _admitted = source.admit(stream.device(), "the source")?;
        let from = source.end();
        // SAFETY: both sides hold the box, one in an array and one elsewhere.
        unsafe {
            queue::<T>(
                stream,
                (self.end(), self.access()),
                (from, source.access()),
                self.extent(),
                hipMemcpyDeviceToDevice,
            )
        }
    }

    /// Queues a copy from a box of the same extent of an array on the same device (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the extents differ, [`Error::WrongDevice`].
    #[doc(alias("hipMemcpy3DAsync", "cudaMemcpy3DAsync"))]
    #[doc(alias("hipMemcpy2DArrayToArray", "cudaMemcpy2DArrayToArray"))]
    pub fn copy_from_array_async<'s>(&mut self, stream: &Stream, source: impl Into<ArraySlice<'s, T>>) -> Result<()>
    where
        T: 's,
    {
        let source = source.into();
        self.extent().expect_source(source.extent())?;
        stream.device().expect(self.device(), "the destination")?;
        stream.device().expect(source.device(), "the source")?;
        // SAFETY: both sides hold the box, and do not overlap, for one is borrowed to write to.
        unsafe {
            queue::<T>(
                stream,
                (self.end(), self.access()),
                (source.end(), source.access()),
                self.extent(),
                hipMemcpyDeviceToDevice,
            )
        }
    }
}
