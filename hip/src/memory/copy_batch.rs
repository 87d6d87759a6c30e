//! Many copies in one call.

use std::ffi::c_void;
use std::fmt;
use std::ptr;

use bytemuck::Pod;

use super::graph_copy::GraphCopy;
use super::{DeviceSlice, DeviceSliceMut, PinnedSlice, PinnedSliceMut};
use crate::core::call::check;
use crate::core::error::Result;
use crate::core::trace;
use crate::stream::Stream;
use crate::stream::usage::Access;

/// Copies that are queued on a stream with one call of the runtime (`hipMemcpyBatchAsync`, of ROCm 7.1): for many small ones, whose
/// calls cost more than the bytes do.
///
/// They run in any order, which nobody can tell: all that they write is borrowed to be written to. Work queued before comes
/// before all of them, work queued later after all of them, as with any other copy.
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
    /// No copies yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a copy from device memory to device memory, of one device.
    ///
    /// # Errors
    /// [`Length`](crate::Error::Length), [`WrongDevice`](crate::Error::WrongDevice).
    pub fn on_device<T: Pod>(
        &mut self,
        destination: impl Into<DeviceSliceMut<'a, T>>,
        source: impl Into<DeviceSlice<'a, T>>,
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
        destination: impl Into<DeviceSliceMut<'a, T>>,
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
        source: impl Into<DeviceSlice<'a, T>>,
    ) -> Result<()> {
        self.push(GraphCopy::to_pinned(destination, source)?);
        Ok(())
    }

    /// The runtime refuses copies of no bytes.
    fn push(&mut self, copy: GraphCopy<'a>) {
        if copy.bytes != 0 {
            self.copies.push(copy);
        }
    }

    /// How many copies there are; those of no elements are left out.
    #[must_use]
    pub fn len(&self) -> usize {
        self.copies.len()
    }

    /// Whether there are no copies.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    /// Queues all of them, or none.
    ///
    /// # Errors
    /// [`WrongDevice`](crate::Error::WrongDevice) if one is on another device than the stream;
    /// [`NoSymbol`](crate::Error::NoSymbol) from a runtime before 7.1; [`Capture`](crate::Error::Capture) while the stream is captured:
    /// [`Graph::add_copy`](crate::Graph::add_copy) puts copies into a graph.
    pub fn queue(self, stream: &Stream) -> Result<()> {
        // The runtime would copy at once, and leave it out of the graph.
        stream.inner.refuse_captured("a batch of copies")?;
        let Some(last) = self.copies.len().checked_sub(1) else { return Ok(()) };
        for copy in &self.copies {
            stream.device().expect(copy.device, "a copy of the batch")?;
        }
        let accesses: Vec<Access<'_>> = self.copies.iter().flat_map(|copy| copy.accesses).collect();
        let mut destinations: Vec<*mut c_void> = self.copies.iter().map(|copy| copy.destination).collect();
        let mut sources: Vec<*mut c_void> = self.copies.iter().map(|copy| copy.source).collect();
        let mut sizes: Vec<usize> = self.copies.iter().map(|copy| copy.bytes).collect();
        trace::copy(Some(stream.device()), Some(stream.inner.id()), "batch", sizes.iter().sum());
        stream.inner.submit(&accesses, None, |raw| {
            let mut failed = usize::MAX;
            // SAFETY: the three lists have as many entries; both sides of each copy hold as many bytes, note the use, and are not freed
            // or touched by the host before it is over; no destination overlaps anything. There are no attributes.
            let status = unsafe {
                hip_sys::hipMemcpyBatchAsync(
                    destinations.as_mut_ptr(),
                    sources.as_mut_ptr(),
                    sizes.as_mut_ptr(),
                    sizes.len(),
                    ptr::null_mut(),
                    ptr::null_mut(),
                    0,
                    &mut failed,
                    raw,
                )
            };
            check(status, "hipMemcpyBatchAsync", || match self.copies.get(failed) {
                Some(copy) => format!("copy {failed} of 0 to {last}: {copy:?}"),
                None => format!("{} copies", last + 1),
            })
        })
    }
}

impl fmt::Debug for CopyBatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.copies).finish()
    }
}
