//! Batches of copies.

use std::ffi::c_void;
use std::fmt;
use std::ptr;

use bytemuck::Pod;

use super::batch;
use super::graph_copy::GraphCopy;
use super::{IntoSlice, IntoSliceMut, PinnedSlice, PinnedSliceMut};
use crate::core::error::Result;
use crate::stream::Stream;

/// Copies that are queued on a stream with one call of the runtime (`hipMemcpyBatchAsync`, of ROCm 7.1). Use it for
/// many small copies, for which the calls cost more than the transfers.
///
/// The copies run in any order. This is not observable, because all destinations are borrowed mutably. Earlier work
/// comes before all of them, and later work after all of them, as for any copy.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::{Device, DeviceBuffer, Stream};
/// use hip::memory::CopyBatch;
///
/// let device = Device::get(0)?;
/// let stream = Stream::new(&device)?;
/// let table = DeviceBuffer::from_slice(&device, &[10u32, 11, 12, 13, 14, 15])?;
/// let mut rows = DeviceBuffer::<u32>::zeroed(&device, 4)?;
/// let mut all = rows.as_slice_mut();
/// let (first, second) = all.split_at_mut(2)?;
///
/// let mut batch = CopyBatch::new();
/// batch.on_device(first, table.slice(4..6)?)?;
/// batch.on_device(second, table.slice(0..2)?)?;
/// match batch.queue(&stream) {
///     // A runtime older than 7.1.
///     Err(error) if error.status() == Some(hip::Status::SYMBOL_NOT_FOUND) => return Ok(()),
///     Err(error) if error.status() == Some(hip::Status::NOT_SUPPORTED) => return Ok(()),
///     queued => queued?,
/// }
/// assert_eq!(rows.to_vec()?, [14, 15, 10, 11]);
/// # Ok(()) }
/// ```
#[doc(alias("hipMemcpyBatchAsync", "cuMemcpyBatchAsync", "cudaMemcpyBatchAsync"))]
#[derive(Default)]
pub struct CopyBatch<'a> {
    copies: Vec<GraphCopy<'a>>,
}

impl<'a> CopyBatch<'a> {
    /// Adds a copy from device memory to device memory, of one device.
    ///
    /// # Errors
    /// [`Length`](crate::Error::Length), [`WrongDevice`](crate::Error::WrongDevice).
    pub fn on_device<T: Pod>(
        &mut self,
        destination: impl IntoSliceMut<'a, T>,
        source: impl IntoSlice<'a, T>,
    ) -> Result<()> {
        self.push(GraphCopy::on_device(destination, source)?);
        Ok(())
    }

    /// Adds a copy from pinned host memory to device memory.
    ///
    /// # Errors
    /// [`Length`](crate::Error::Length), [`WrongDevice`](crate::Error::WrongDevice).
    pub fn from_pinned<T: Pod>(
        &mut self,
        destination: impl IntoSliceMut<'a, T>,
        source: impl Into<PinnedSlice<'a, T>>,
    ) -> Result<()> {
        self.push(GraphCopy::from_pinned(destination, source)?);
        Ok(())
    }

    /// Adds a copy from device memory to pinned host memory.
    ///
    /// # Errors
    /// [`Length`](crate::Error::Length), [`WrongDevice`](crate::Error::WrongDevice).
    pub fn to_pinned<T: Pod>(
        &mut self,
        destination: impl Into<PinnedSliceMut<'a, T>>,
        source: impl IntoSlice<'a, T>,
    ) -> Result<()> {
        self.push(GraphCopy::to_pinned(destination, source)?);
        Ok(())
    }

    /// Adds a copy, unless it has no bytes, which the runtime rejects.
    fn push(&mut self, copy: GraphCopy<'a>) {
        if copy.bytes != 0 {
            self.copies.push(copy);
        }
    }

    /// Queues all copies, or none.
    ///
    /// # Errors
    /// [`WrongDevice`](crate::Error::WrongDevice) if one is on another device than the stream;
    /// [`NoSymbol`](crate::Error::NoSymbol) from a runtime before 7.1; [`Capture`](crate::Error::Capture) while the
    /// stream is captured: use [`Graph::add_copy`](crate::Graph::add_copy) in a graph.
    pub fn queue(self, stream: &Stream) -> Result<()> {
        batch::admit(stream, &self.copies)?;
        let mut destinations: Vec<*mut c_void> = self.copies.iter().map(|copy| copy.destination).collect();
        let mut sources: Vec<*mut c_void> = self.copies.iter().map(|copy| copy.source).collect();
        let mut sizes: Vec<usize> = self.copies.iter().map(|copy| copy.bytes).collect();
        batch::submit(stream, &self.copies, "hipMemcpyBatchAsync", |failed, raw| {
            // SAFETY: the three lists have the same length; both sides of each copy hold the same number of bytes, record the use, and are
            // not freed or accessed by the host before it is over; no destination overlaps anything. There are no attributes.
            unsafe {
                hip_sys::hipMemcpyBatchAsync(
                    destinations.as_mut_ptr(),
                    sources.as_mut_ptr(),
                    sizes.as_mut_ptr(),
                    sizes.len(),
                    ptr::null_mut(),
                    ptr::null_mut(),
                    0,
                    failed,
                    raw,
                )
            }
        })
    }
}

batch::batch!(CopyBatch, copies);

impl fmt::Debug for CopyBatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.copies).finish()
    }
}
