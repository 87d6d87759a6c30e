//! Batches of migrations and discards of managed memory.

use std::ffi::c_void;
use std::fmt;

use bytemuck::Pod;
use hip_sys::{hipMemLocation, hipMemLocationTypeDevice, hipMemLocationTypeHost};

use super::batch::batch;
use super::{MemoryLocation, PinnedSlice, PinnedSliceMut};
use crate::core::call::check;
use crate::core::error::{Error, Result};
use crate::stream::Stream;
use crate::stream::usage::Access;

/// Migrations of managed memory to its next location of use, queued on a stream with one call of the runtime
/// (`hipMemPrefetchBatchAsync`, of ROCm 10.0). They affect performance only.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::{Device, ManagedBuffer, Stream};
/// use hip::memory::{MemoryLocation, PrefetchBatch};
///
/// let device = Device::get(0)?;
/// let stream = Stream::new(&device)?;
/// let input = ManagedBuffer::<f32>::zeroed(&device, 10_000)?;
/// let mut output = ManagedBuffer::<f32>::zeroed(&device, 10_000)?;
///
/// let mut batch = PrefetchBatch::new();
/// batch.add(input.slice(..)?, MemoryLocation::Device(device))?;
/// batch.add(output.slice(..5_000)?, MemoryLocation::Host)?;
/// match batch.queue(&stream) {
///     // A runtime older than 10.0.
///     Err(error) if error.status() == Some(hip::Status::SYMBOL_NOT_FOUND) => {}
///     queued => queued?,
/// }
/// output.as_mut_slice()?[0] = 1.0;
/// # Ok(()) }
/// ```
#[doc(alias("hipMemPrefetchBatchAsync", "cuMemPrefetchBatchAsync", "cudaMemPrefetchBatchAsync"))]
#[derive(Default)]
pub struct PrefetchBatch<'a> {
    pieces: Vec<Piece<'a>>,
    locations: Vec<MemoryLocation>,
}

/// Discards of the content of managed memory, queued on a stream with one call of the runtime
/// (`hipMemDiscardBatchAsync`, of ROCm 10.0). Use it for memory that will be written before it is read, so that its
/// content need not be migrated.
///
/// After a discard, the elements are arbitrary until they are written.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::{Device, ManagedBuffer, Stream};
/// use hip::memory::{DiscardBatch, MemoryLocation};
///
/// let device = Device::get(0)?;
/// let stream = Stream::new(&device)?;
/// let mut scratch = ManagedBuffer::<u32>::zeroed(&device, 10_000)?;
///
/// let mut batch = DiscardBatch::new();
/// batch.add(scratch.slice_mut(1_000..)?)?;
/// match batch.queue_and_prefetch(&stream, MemoryLocation::Device(device)) {
///     // A runtime older than 10.0, or a device whose memory cannot be.
///     Err(error) if error.status() == Some(hip::Status::SYMBOL_NOT_FOUND) => {}
///     Err(error) if error.status() == Some(hip::Status::NOT_SUPPORTED) => {}
///     queued => queued?,
/// }
/// scratch.as_device_slice_mut()?.slice_mut(1_000..)?.fill_async(&stream, 7)?;
/// assert_eq!(scratch.as_slice()?[999..1001], [0, 7]);
/// # Ok(()) }
/// ```
#[doc(alias("hipMemDiscardBatchAsync", "cuMemDiscardBatchAsync", "cudaMemDiscardBatchAsync"))]
#[derive(Default)]
pub struct DiscardBatch<'a> {
    pieces: Vec<Piece<'a>>,
}

/// A piece of managed memory.
struct Piece<'a> {
    pointer: *mut c_void,
    bytes: usize,
    access: Access<'a>,
}

// SAFETY: the pointer is for the runtime, which accepts it from any thread; the memory is borrowed, and its uses are Sync.
unsafe impl Send for Piece<'_> {}
// SAFETY: as above.
unsafe impl Sync for Piece<'_> {}

impl fmt::Debug for Piece<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:p}", self.bytes, self.pointer)
    }
}

impl<'a> Piece<'a> {
    /// Creates a piece of memory, which must be managed; `None` for no bytes.
    fn new(is_managed: bool, pointer: *mut c_void, bytes: usize, access: Access<'a>) -> Result<Option<Self>> {
        if !is_managed {
            return Err(Error::InvalidValue {
                what: "the memory of a batch of managed memory",
                value: "pinned or registered".to_owned(),
                allowed: "managed (ManagedBuffer)".to_owned(),
            });
        }
        Ok((bytes != 0).then_some(Self { pointer, bytes, access }))
    }
}

/// Queues the operations with one call, which takes addresses and sizes. Makes no call if there are no pieces.
fn submit(
    stream: &Stream,
    pieces: &[Piece<'_>],
    function: &'static str,
    batch: &dyn fmt::Debug,
    call: impl FnOnce(&mut [*mut c_void], &mut [usize], hip_sys::hipStream_t) -> hip_sys::hipError_t,
) -> Result<()> {
    if pieces.is_empty() {
        return Ok(());
    }
    let (mut starts, mut sizes): (Vec<_>, Vec<_>) = pieces.iter().map(|piece| (piece.pointer, piece.bytes)).unzip();
    let accesses: Vec<Access<'_>> = pieces.iter().map(|piece| piece.access).collect();
    stream
        .inner
        .submit(&accesses, None, |raw| check(call(&mut starts, &mut sizes, raw), function, || format!("{batch:?}")))
}

/// Returns a location for each piece, with the index of the first piece that it applies to: its own.
fn locations(locations: impl Iterator<Item = MemoryLocation>) -> (Vec<hipMemLocation>, Vec<usize>) {
    let raw = |location| match location {
        MemoryLocation::Host => hipMemLocation { type_: hipMemLocationTypeHost, id: 0 },
        MemoryLocation::Device(device) => hipMemLocation { type_: hipMemLocationTypeDevice, id: device.raw() },
    };
    locations.enumerate().map(|(index, location)| (raw(location), index)).unzip()
}

impl<'a> PrefetchBatch<'a> {
    /// Adds a migration of some elements of managed memory. An empty slice is ignored.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for memory that is not managed.
    pub fn add<T: Pod>(&mut self, memory: impl Into<PinnedSlice<'a, T>>, location: MemoryLocation) -> Result<()> {
        let memory = memory.into();
        let bytes = memory.len() * size_of::<T>();
        if let Some(piece) = Piece::new(memory.is_managed(), memory.pointer(), bytes, memory.access())? {
            self.pieces.push(piece);
            self.locations.push(location);
        }
        Ok(())
    }

    /// Queues all operations, or none.
    ///
    /// # Errors
    /// [`Error::NoSymbol`] from a runtime before 10.0.
    pub fn queue(self, stream: &Stream) -> Result<()> {
        let (mut locations, mut indices) = locations(self.locations.iter().copied());
        submit(stream, &self.pieces, "hipMemPrefetchBatchAsync", &self, |starts, sizes, raw| {
            // SAFETY: the lists have the same length; the memory records the use, and is not freed before it is over.
            unsafe {
                hip_sys::hipMemPrefetchBatchAsync(
                    starts.as_mut_ptr(),
                    sizes.as_mut_ptr(),
                    sizes.len(),
                    locations.as_mut_ptr(),
                    indices.as_mut_ptr(),
                    indices.len(),
                    0,
                    raw,
                )
            }
        })
    }
}

batch!(PrefetchBatch, pieces);

impl<'a> DiscardBatch<'a> {
    /// Adds a discard of some elements of managed memory. An empty slice is ignored.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for memory that is not managed.
    pub fn add<T: Pod>(&mut self, memory: impl Into<PinnedSliceMut<'a, T>>) -> Result<()> {
        let memory = memory.into();
        let bytes = memory.len() * size_of::<T>();
        self.pieces.extend(Piece::new(memory.is_managed(), memory.pointer(), bytes, memory.access())?);
        Ok(())
    }

    /// Queues all operations, or none.
    ///
    /// # Errors
    /// [`Error::NoSymbol`] from a runtime before 10.0; `hipErrorNotSupported` if the device does not support it (ROCm
    /// requires XNACK).
    pub fn queue(self, stream: &Stream) -> Result<()> {
        submit(stream, &self.pieces, "hipMemDiscardBatchAsync", &self, |starts, sizes, raw| {
            // SAFETY: the lists have the same length; the memory is borrowed mutably, records the use, and is not freed before it is over.
            unsafe { hip_sys::hipMemDiscardBatchAsync(starts.as_mut_ptr(), sizes.as_mut_ptr(), sizes.len(), 0, raw) }
        })
    }

    /// Queues all operations, or none, and migrates the memory to where it will be written
    /// (`hipMemDiscardAndPrefetchBatchAsync`).
    ///
    /// # Errors
    /// Those of [`queue`](Self::queue).
    #[doc(alias(
        "hipMemDiscardAndPrefetchBatchAsync",
        "cuMemDiscardAndPrefetchBatchAsync",
        "cudaMemDiscardAndPrefetchBatchAsync"
    ))]
    pub fn queue_and_prefetch(self, stream: &Stream, location: MemoryLocation) -> Result<()> {
        let (mut locations, mut indices) = locations(self.pieces.iter().map(|_| location));
        submit(stream, &self.pieces, "hipMemDiscardAndPrefetchBatchAsync", &self, |starts, sizes, raw| {
            // SAFETY: as for `queue`; each piece has a location.
            unsafe {
                hip_sys::hipMemDiscardAndPrefetchBatchAsync(
                    starts.as_mut_ptr(),
                    sizes.as_mut_ptr(),
                    sizes.len(),
                    locations.as_mut_ptr(),
                    indices.as_mut_ptr(),
                    indices.len(),
                    0,
                    raw,
                )
            }
        })
    }
}

batch!(DiscardBatch, pieces);

impl fmt::Debug for PrefetchBatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.pieces.iter().zip(&self.locations)).finish()
    }
}

impl fmt::Debug for DiscardBatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.pieces).finish()
    }
}
