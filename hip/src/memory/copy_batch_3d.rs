//! Batches of copies of two and three dimensions.

use std::fmt;

use bytemuck::Pod;
use hip_sys::{hipExtent, hipMemcpy3DBatchOp, hipMemcpySrcAccessOrderStream};

use super::batch;
use super::graph_copy::GraphCopy3d;
use super::{PitchedSlice, PitchedSliceMut};
use crate::core::error::Result;
use crate::memory::array::{ArraySlice, ArraySliceMut, Texel};
use crate::stream::Stream;

/// Copies of two and three dimensions, between pitched memory and arrays of one device, that are queued on a stream
/// with one call of the runtime (`hipMemcpy3DBatchAsync`, of ROCm 7.1). Their order is as for
/// [`CopyBatch`](crate::memory::CopyBatch).
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::{Device, Stream};
/// use hip::memory::{CopyBatch3d, PitchedBuffer};
///
/// let device = Device::get(0)?;
/// let stream = Stream::new(&device)?;
/// let image = PitchedBuffer::from_slice(&device, (3, 2), &[1u8, 2, 3, 4, 5, 6])?;
/// let mut corner = PitchedBuffer::<u8>::zeroed(&device, (2, 2))?;
///
/// let mut batch = CopyBatch3d::new();
/// batch.pitched(corner.as_slice_mut(), image.region(1.., .., ..)?)?;
/// match batch.queue(&stream) {
///     // A runtime older than 7.1.
///     Err(error) if error.status() == Some(hip::Status::SYMBOL_NOT_FOUND) => return Ok(()),
///     Err(error) if error.status() == Some(hip::Status::NOT_SUPPORTED) => return Ok(()),
///     queued => queued?,
/// }
/// assert_eq!(corner.to_vec()?, [2, 3, 5, 6]);
/// # Ok(()) }
/// ```
#[doc(alias("hipMemcpy3DBatchAsync", "cuMemcpy3DBatchAsync", "cudaMemcpy3DBatchAsync"))]
#[derive(Default)]
pub struct CopyBatch3d<'a> {
    copies: Vec<GraphCopy3d<'a>>,
}

impl<'a> CopyBatch3d<'a> {
    /// Adds a copy between pitched memory of the same extent.
    ///
    /// # Errors
    /// [`InvalidValue`](crate::Error::InvalidValue) if the extents differ, [`WrongDevice`](crate::Error::WrongDevice).
    pub fn pitched<T: Pod>(
        &mut self,
        destination: PitchedSliceMut<'a, T>,
        source: impl Into<PitchedSlice<'a, T>>,
    ) -> Result<()> {
        self.push(GraphCopy3d::pitched(destination, source)?);
        Ok(())
    }

    /// Adds a copy from pitched memory to an array.
    ///
    /// # Errors
    /// [`InvalidValue`](crate::Error::InvalidValue) if the extents differ, [`WrongDevice`](crate::Error::WrongDevice).
    pub fn to_array<T: Texel>(
        &mut self,
        destination: impl Into<ArraySliceMut<'a, T>>,
        source: impl Into<PitchedSlice<'a, T>>,
    ) -> Result<()> {
        self.push(GraphCopy3d::to_array(destination, source)?);
        Ok(())
    }

    /// Adds a copy from an array to pitched memory.
    ///
    /// # Errors
    /// [`InvalidValue`](crate::Error::InvalidValue) if the extents differ, [`WrongDevice`](crate::Error::WrongDevice).
    pub fn from_array<T: Texel>(
        &mut self,
        destination: PitchedSliceMut<'a, T>,
        source: impl Into<ArraySlice<'a, T>>,
    ) -> Result<()> {
        self.push(GraphCopy3d::from_array(destination, source)?);
        Ok(())
    }

    fn push(&mut self, copy: GraphCopy3d<'a>) {
        if !copy.extent.is_empty() {
            self.copies.push(copy);
        }
    }

    /// Queues all copies.
    ///
    /// # Errors
    /// [`WrongDevice`](crate::Error::WrongDevice) if one is on another device than the stream, before any is queued;
    /// [`NoSymbol`](crate::Error::NoSymbol) from a runtime before 7.1; [`Capture`](crate::Error::Capture) while the
    /// stream is captured: use [`Graph::add_copy_3d`](crate::Graph::add_copy_3d) in a graph.
    pub fn queue(self, stream: &Stream) -> Result<()> {
        batch::admit(stream, &self.copies)?;
        let mut operations: Vec<_> = self.copies.iter().map(operation).collect::<Result<_>>()?;
        batch::submit(stream, &self.copies, "hipMemcpy3DBatchAsync", |failed, raw| {
            // SAFETY: `operations` has as many entries as passed; both sides of each hold the box, record the use, and are not freed before
            // it is over; no destination overlaps anything. 0 is the only flag that HIP defines.
            unsafe { hip_sys::hipMemcpy3DBatchAsync(operations.len(), operations.as_mut_ptr(), failed, 0, raw) }
        })
    }
}

batch::batch!(CopyBatch3d, copies);

/// Returns the C parameters of a copy. Sizes count texels if one end is an array, else bytes of a row.
fn operation(copy: &GraphCopy3d<'_>) -> Result<hipMemcpy3DBatchOp> {
    let unit = if copy.to.is_array() || copy.from.is_array() { copy.element_bytes } else { 1 };
    let width = copy.extent.width * (copy.element_bytes / unit);
    Ok(hipMemcpy3DBatchOp {
        src: copy.from.operand(unit, copy.device)?,
        dst: copy.to.operand(unit, copy.device)?,
        extent: hipExtent { width, height: copy.extent.height, depth: copy.extent.depth },
        srcAccessOrder: hipMemcpySrcAccessOrderStream,
        flags: 0,
    })
}

impl fmt::Debug for CopyBatch3d<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.copies).finish()
    }
}
