//! Copies to and from arrays.

use hip_sys::{hipMemcpyDeviceToDevice, hipMemcpyDeviceToHost, hipMemcpyHostToDevice, hipMemcpyKind};

use super::slice::Part;
use super::{ArraySlice, ArraySliceMut, Texel};
#[cfg(doc)]
use crate::core::error::Error;
use crate::core::error::Result;
use crate::memory::box_copy::{End, Used, copy_now, queue, rows};
use crate::memory::{
    IntoSlice, IntoSliceMut, PinnedSlice, PinnedSliceMut, PitchedSlice, PitchedSliceMut, read_to_vec, same_len,
};
use crate::stream::Stream;
use crate::stream::usage::AccessKind;

impl Part<'_> {
    pub(super) fn end(&self) -> End {
        End::Array { raw: self.raw, first: self.first, shape: self.shape }
    }
}

impl<T: Texel> ArraySlice<'_, T> {
    /// Copies the texels to the host, row by row and plane by plane (`hipMemcpy3DAsync`), after all queued work that
    /// writes to the array.
    ///
    /// # Errors
    /// [`Error::Length`] if `destination` has another number of texels. Errors of the queued work.
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
        let to = rows::<T>(destination.as_mut_ptr().cast(), self.extent());
        // SAFETY: both ends hold the box, borrowed until the copy is done, and no queued work writes to the source. Any bytes are a valid
        // T.
        unsafe { copy_now::<T>(self.device(), to, self.end(), self.extent(), hipMemcpyDeviceToHost) }
    }

    /// Returns a copy of the texels on the host, row by row and plane by plane.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        read_to_vec(self.texels(), |texels| self.copy_to_slice(texels))
    }

    /// Queues a copy to `to`.
    ///
    /// # Safety
    /// `to` must hold the box and not overlap it, and the access must be of its memory.
    unsafe fn queue_to(&self, stream: &Stream, to: Used<'_>, kind: hipMemcpyKind) -> Result<()> {
        stream.device().expect(self.device(), "the source")?;
        // SAFETY: the caller ensures it.
        unsafe { queue::<T>(stream, to, (self.end(), self.access()), self.extent(), kind) }
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
        let _admitted = destination.admit(stream.device(), "the destination")?;
        let to = rows::<T>(destination.pointer(), self.extent());
        // SAFETY: the destination holds the box, and is not the array.
        unsafe { self.queue_to(stream, (to, destination.access()), hipMemcpyDeviceToHost) }
    }

    /// Queues a copy to device memory of as many elements, row by row and plane by plane without gaps
    /// (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongDevice`].
    #[doc(alias("hipMemcpy3DAsync", "cudaMemcpy3DAsync"))]
    pub fn copy_to_device_async<'d>(&self, stream: &Stream, destination: impl IntoSliceMut<'d, T>) -> Result<()>
    where
        T: 'd,
    {
        let destination = destination.into();
        same_len("copy from an array", destination.len(), self.texels())?;
        let _admitted = destination.admit(stream.device(), "the destination")?;
        let to = rows::<T>(destination.pointer(), self.extent());
        // SAFETY: the destination holds the box, and is not the array.
        unsafe { self.queue_to(stream, (to, destination.access()), hipMemcpyDeviceToDevice) }
    }

    /// Queues a copy to pitched device memory of the same extent (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the extents differ, [`Error::WrongDevice`].
    #[doc(alias("hipMemcpy3DAsync", "cudaMemcpy3DAsync"))]
    pub fn copy_to_pitched_async(&self, stream: &Stream, destination: &mut PitchedSliceMut<'_, T>) -> Result<()> {
        destination.extent().expect_source(self.extent())?;
        let _admitted = destination.admit(stream.device(), "the destination")?;
        let to = destination.end();
        // SAFETY: the destination holds the box, and is not the array.
        unsafe { self.queue_to(stream, (to, destination.access()), hipMemcpyDeviceToDevice) }
    }
}

impl<T: Texel> ArraySliceMut<'_, T> {
    /// Copies texels from the host, row by row and plane by plane (`hipMemcpy3DAsync`), after all queued work that uses
    /// the array.
    ///
    /// # Errors
    /// [`Error::Length`] if `source` has another number of texels. Errors of the queued work.
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
        let from = rows::<T>(source.as_ptr().cast_mut().cast(), self.extent());
        // SAFETY: both ends hold the box, borrowed until the copy is done, and no queued work uses the destination.
        unsafe { copy_now::<T>(self.device(), self.end(), from, self.extent(), hipMemcpyHostToDevice) }
    }

    /// Queues a copy from `from`.
    ///
    /// # Safety
    /// `from` must hold the box and not overlap it, and the access must be of its memory.
    unsafe fn queue_from(&self, stream: &Stream, from: Used<'_>, kind: hipMemcpyKind) -> Result<()> {
        stream.device().expect(self.device(), "the destination")?;
        // SAFETY: the caller ensures it.
        unsafe { queue::<T>(stream, (self.end(), self.access()), from, self.extent(), kind) }
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
        let _admitted = source.admit(stream.device(), "the source")?;
        let from = rows::<T>(source.pointer(), self.extent());
        // SAFETY: the source holds the box, and does not overlap, because this slice is mutable.
        unsafe { self.queue_from(stream, (from, source.access()), hipMemcpyHostToDevice) }
    }

    /// Queues a copy from device memory of as many elements, row by row and plane by plane without gaps
    /// (`hipMemcpy3DAsync`).
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongDevice`].
    #[doc(alias("hipMemcpy3DAsync", "cudaMemcpy3DAsync"))]
    pub fn copy_from_device_async<'d>(&mut self, stream: &Stream, source: impl IntoSlice<'d, T>) -> Result<()>
    where
        T: 'd,
    {
        let source = source.into();
        same_len("copy to an array", self.texels(), source.len())?;
        let _admitted = source.admit(stream.device(), "the source")?;
        let from = rows::<T>(source.pointer(), self.extent());
        // SAFETY: the source holds the box, and does not overlap, because this slice is mutable.
        unsafe { self.queue_from(stream, (from, source.access()), hipMemcpyDeviceToDevice) }
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
        let _admitted = source.admit(stream.device(), "the source")?;
        let from = source.end();
        // SAFETY: the source holds the box, and does not overlap, because this slice is mutable.
        unsafe { self.queue_from(stream, (from, source.access()), hipMemcpyDeviceToDevice) }
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
        stream.device().expect(source.device(), "the source")?;
        // SAFETY: the source holds the box, and does not overlap, because this slice is mutable.
        unsafe { self.queue_from(stream, (source.end(), source.access()), hipMemcpyDeviceToDevice) }
    }
}
