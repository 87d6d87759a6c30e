//! Copies of two and three dimensions.

use bytemuck::Pod;
use hip_sys::{hipMemcpyDeviceToDevice, hipMemcpyDeviceToHost, hipMemcpyHostToDevice, hipStream_t};

use super::super::{PinnedSlice, PinnedSliceMut, read_to_vec, same_len};
use super::extent::Extent;
use super::side::Side;
use super::slice::{PitchedSlice, PitchedSliceMut};
use crate::core::error::{Error, Result};
use crate::memory::box_copy::{End, copy, copy_now, queue, rows};
use crate::stream::Stream;
use crate::stream::usage::AccessKind;

/// Returns the end of a copy in host memory of `len` elements, with rows `row_len` elements apart. It must hold
/// `extent`.
fn host_side<T>(pointer: *mut T, len: usize, row_len: usize, extent: Extent, what: &'static str) -> Result<End> {
    let rows = extent.height * extent.depth;
    // All rows but the last take `row_len` elements. The extent fits memory.
    let needed = row_len.checked_mul(rows - 1).and_then(|before| before.checked_add(extent.width));
    match needed {
        Some(needed) if row_len >= extent.width && needed <= len => {
            let side = Side { pointer: pointer.cast(), pitch: row_len * size_of::<T>(), rows: extent.height };
            Ok(End::Memory(side.pitched(extent.width * size_of::<T>())))
        }
        _ => Err(Error::InvalidValue {
            what,
            value: format!("{len} elements in rows of {row_len}"),
            allowed: format!("large enough for {extent} elements, in rows of {} or more", extent.width),
        }),
    }
}

impl<T: Pod> PitchedSlice<'_, T> {
    /// Copies the elements to the host, row by row and plane by plane (`hipMemcpy2DAsync`, `hipMemcpy3DAsync`), after
    /// all queued work that writes to the buffer.
    ///
    /// # Errors
    /// [`Error::Length`] if `destination` has another number of elements. Errors of the queued work.
    #[doc(alias("hipMemcpy2DAsync", "cudaMemcpy2DAsync"))]
    #[doc(alias("hipMemcpy3DAsync", "cudaMemcpy3DAsync"))]
    #[doc(alias("hipMemcpy2D", "cudaMemcpy2D"))]
    #[doc(alias("hipMemcpy3D", "cudaMemcpy3D"))]
    pub fn copy_to_slice(&self, destination: &mut [T]) -> Result<()> {
        same_len("copy from the device", destination.len(), self.elements())?;
        self.copy_to_rows(destination, self.extent().width)
    }

    /// Like [`copy_to_slice`](Self::copy_to_slice), to a part of a larger host image, from its first element on. Its
    /// rows are `row_len` elements apart, and its planes have as many rows as this slice. Elements between the rows do
    /// not change.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if `destination` is too small or its rows are too short.
    pub fn copy_to_rows(&self, destination: &mut [T], row_len: usize) -> Result<()> {
        let extent = self.extent();
        if extent.is_empty() {
            return Ok(());
        }
        let what = "the destination of a copy";
        let to = host_side(destination.as_mut_ptr(), destination.len(), row_len, extent, what)?;
        self.usage().wait(AccessKind::Read)?;
        // SAFETY: both sides hold the box, borrowed until the copy is done, and no queued work writes to the source. Any bytes are a valid
        // T.
        unsafe { copy_now::<T>(self.device(), to, self.end(), extent, hipMemcpyDeviceToHost) }
    }

    /// Returns a copy of the elements on the host, row by row and plane by plane.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        read_to_vec(self.elements(), |elements| self.copy_to_slice(elements))
    }

    /// Queues a copy to pinned host memory, row by row and plane by plane (`hipMemcpy2DAsync`, `hipMemcpy3DAsync`); see
    /// [`DeviceSlice::copy_to_pinned_async`](crate::DeviceSlice::copy_to_pinned_async).
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongDevice`].
    #[doc(alias("hipMemcpy2DAsync", "cudaMemcpy2DAsync"))]
    #[doc(alias("hipMemcpy3DAsync", "cudaMemcpy3DAsync"))]
    pub fn copy_to_pinned_async<'p>(&self, stream: &Stream, destination: impl Into<PinnedSliceMut<'p, T>>) -> Result<()>
    where
        T: 'p,
    {
        let (destination, extent) = (destination.into(), self.extent());
        same_len("copy from the device", destination.len(), self.elements())?;
        let _admitted = self.admit(stream.device(), "the source")?;
        let _admitted = destination.admit(stream.device(), "the destination")?;
        let to = rows::<T>(destination.pointer(), extent);
        // SAFETY: both sides hold the box, one on the host and one on the device.
        unsafe {
            queue::<T>(stream, (to, destination.access()), (self.end(), self.access()), extent, hipMemcpyDeviceToHost)
        }
    }
}

impl<T: Pod> PitchedSliceMut<'_, T> {
    /// Copies elements from the host, row by row and plane by plane (`hipMemcpy2DAsync`, `hipMemcpy3DAsync`), after all
    /// queued work that uses the buffer.
    ///
    /// # Errors
    /// [`Error::Length`] if `source` has another number of elements. Errors of the queued work.
    #[doc(alias("hipMemcpy2DAsync", "cudaMemcpy2DAsync"))]
    #[doc(alias("hipMemcpy3DAsync", "cudaMemcpy3DAsync"))]
    #[doc(alias("hipMemcpy2D", "cudaMemcpy2D"))]
    #[doc(alias("hipMemcpy3D", "cudaMemcpy3D"))]
    pub fn copy_from_slice(&mut self, source: &[T]) -> Result<()> {
        same_len("copy to the device", self.elements(), source.len())?;
        self.copy_from_rows(source, self.extent().width)
    }

    /// Like [`copy_from_slice`](Self::copy_from_slice), from a part of a larger host image, from its first element on.
    /// Its rows are `row_len` elements apart, and its planes have as many rows as this slice.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if `source` is too small or its rows are too short.
    pub fn copy_from_rows(&mut self, source: &[T], row_len: usize) -> Result<()> {
        let extent = self.extent();
        if extent.is_empty() {
            return Ok(());
        }
        let from = host_side(source.as_ptr().cast_mut(), source.len(), row_len, extent, "the source of a copy")?;
        self.usage().wait(AccessKind::Write)?;
        // SAFETY: both sides hold the box, borrowed until the copy is done, and no queued work uses the destination.
        unsafe { copy_now::<T>(self.device(), self.end(), from, extent, hipMemcpyHostToDevice) }
    }

    /// Queues a copy from pinned host memory, row by row and plane by plane (`hipMemcpy2DAsync`, `hipMemcpy3DAsync`);
    /// see [`DeviceSliceMut::copy_from_pinned_async`](crate::DeviceSliceMut::copy_from_pinned_async).
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongDevice`].
    #[doc(alias("hipMemcpy2DAsync", "cudaMemcpy2DAsync"))]
    #[doc(alias("hipMemcpy3DAsync", "cudaMemcpy3DAsync"))]
    pub fn copy_from_pinned_async<'p>(&mut self, stream: &Stream, source: impl Into<PinnedSlice<'p, T>>) -> Result<()>
    where
        T: 'p,
    {
        let (source, extent) = (source.into(), self.extent());
        same_len("copy to the device", self.elements(), source.len())?;
        let _admitted = self.admit(stream.device(), "the destination")?;
        let _admitted = source.admit(stream.device(), "the source")?;
        let from = rows::<T>(source.pointer(), extent);
        // SAFETY: both sides hold the box, one on the host and one on the device.
        unsafe {
            queue::<T>(stream, (self.end(), self.access()), (from, source.access()), extent, hipMemcpyHostToDevice)
        }
    }

    /// Queues a copy from device memory of the same extent (`hipMemcpy2DAsync`, `hipMemcpy3DAsync`). The stream's
    /// device must have access to both; see [`Device::enable_peer_access`](crate::Device::enable_peer_access).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the extents differ, [`Error::WrongDevice`].
    #[doc(alias("hipMemcpy2DAsync", "cudaMemcpy2DAsync"))]
    #[doc(alias("hipMemcpy3DAsync", "cudaMemcpy3DAsync"))]
    pub fn copy_from_device_async<'s>(&mut self, stream: &Stream, source: impl Into<PitchedSlice<'s, T>>) -> Result<()>
    where
        T: 's,
    {
        let (source, extent) = (source.into(), self.extent());
        extent.expect_source(source.extent())?;
        let _admitted = self.admit(stream.device(), "the destination")?;
        let _admitted = source.admit(stream.device(), "the source")?;
        // SAFETY: both sides hold the box and do not overlap, because the destination is borrowed mutably.
        unsafe {
            queue::<T>(
                stream,
                (self.end(), self.access()),
                (source.end(), source.access()),
                extent,
                hipMemcpyDeviceToDevice,
            )
        }
    }

    /// Copies from device memory of the same extent: [`copy_from_device_async`](Self::copy_from_device_async) on a
    /// stream of its own, and waits.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the extents differ. Errors of the queued work.
    #[doc(alias("hipMemcpy2D", "cudaMemcpy2D"))]
    #[doc(alias("hipMemcpy3D", "cudaMemcpy3D"))]
    pub fn copy_from_device<'s>(&mut self, source: impl Into<PitchedSlice<'s, T>>) -> Result<()>
    where
        T: 's,
    {
        let stream = self.device().blocking_stream()?;
        self.copy_from_device_async(&stream, source)?;
        stream.synchronize()
    }

    /// For a fill: queues copies of the first `rows` rows, which are already filled, to the rest of the plane, and of
    /// that plane to the others.
    pub(super) fn repeat_rows(&self, stream: hipStream_t) -> Result<()> {
        let (first, extent) = (self.side(), self.extent());
        let row = extent.width * size_of::<T>();
        let plane = first.pitch * first.rows;
        // Copies a box from the start of the slice to `bytes` bytes after the start.
        let repeat = |bytes: usize, extent: Extent| {
            let to = Side { pointer: first.pointer.wrapping_byte_add(bytes), ..first };
            let (to, from) = (End::Memory(to.pitched(row)), End::Memory(first.pitched(row)));
            // SAFETY: both are rows or planes of the slice, which do not overlap; the caller has recorded the use.
            unsafe { copy::<T>(to, from, extent, hipMemcpyDeviceToDevice, stream) }
        };
        let mut done = 1;
        while done < extent.height {
            let step = done.min(extent.height - done);
            repeat(done * first.pitch, Extent::new_2d(extent.width, step))?;
            done += step;
        }
        (1..extent.depth).try_for_each(|index| repeat(index * plane, Extent::new_2d(extent.width, extent.height)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_memory_must_hold_the_box() {
        let side = |len, row_len, extent| host_side(std::ptr::null_mut::<u16>(), len, row_len, extent, "x");
        let extent = Extent::new_3d(3, 2, 2);
        assert!(side(12, 3, extent).is_ok() && side(11, 3, extent).is_err());
        assert!(side(18, 5, extent).is_ok(), "the last row ends with its last element");
        assert!(side(17, 5, extent).is_err());
        assert!(side(100, 2, extent).is_err(), "rows that overlap");
        assert!(side(100, usize::MAX, extent).is_err());
        let End::Memory(memory) = side(18, 5, extent).unwrap() else { panic!("not memory") };
        assert_eq!(memory.pitch, 10);
    }
}
