//! Buffers of device memory.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use bytemuck::Pod;

use super::allocation::Allocation;
use super::bounds::byte_len;
use super::device_ptr::DevicePtr;
use super::pinned_slice::{PinnedSlice, PinnedSliceMut};
use super::pool::allocate::allocate;
use super::slice::{DeviceSlice, DeviceSliceMut, IntoSlice};
use crate::core::device::Device;
use crate::core::error::Result;
use crate::stream::Stream;

/// `len` elements of `T` in a device's memory (`hipMalloc`).
///
/// The buffer records which streams use it. A copy to the host waits for work that still writes to it; work on another
/// stream waits for conflicting work. Dropping the buffer does not block: the memory is freed (`hipFree`) when all work
/// that uses it is over and the device is idle, or soon after. An allocation that would fail waits for such frees. So
/// queued work never accesses freed memory, whatever the order of drops, whatever is forgotten, and whichever thread
/// drops it.
///
/// Methods without `_async` are done when they return. Methods with it only queue the work on a stream.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::{Device, DeviceBuffer};
///
/// let device = Device::get(0)?;
/// let mut squares = DeviceBuffer::from_slice(&device, &[0u32, 1, 4, 9])?;
/// squares.slice_mut(..2)?.fill(7)?;
/// assert_eq!(squares.to_vec()?, [7, 7, 4, 9]);
/// # Ok(()) }
/// ```
#[doc(alias("hipMalloc", "cuMemAlloc", "cudaMalloc"))]
#[doc(alias("hipFree", "cuMemFree", "cudaFree"))]
pub struct DeviceBuffer<T> {
    memory: Allocation,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Pod> DeviceBuffer<T> {
    /// Creates a buffer whose elements are arbitrary: the memory keeps its previous content. Any bytes are a valid
    /// value of a [`Pod`] type, so reading them is defined, but useless. An empty buffer is allowed, and takes no
    /// memory.
    ///
    /// # Errors
    /// `hipErrorOutOfMemory`; [`TooLarge`](crate::Error::TooLarge) and [`ZeroSizedType`](crate::Error::ZeroSizedType)
    /// before the call.
    #[doc(alias("hipMalloc", "cuMemAlloc", "cudaMalloc"))]
    pub fn uninit(device: &Device, len: usize) -> Result<Self> {
        Ok(Self::from_allocation(Allocation::malloc(device, byte_len::<T>(len)?)?, len))
    }

    /// Creates a buffer whose elements are arbitrary, allocated in the order of `stream` (`hipMallocAsync`) from its
    /// device's current pool ([`Device::memory_pool`]): work that uses it comes after the allocation, on whatever
    /// stream it is.
    ///
    /// Dropping it frees it in the order of `stream` (`hipFreeAsync`) without blocking the host: after all work that
    /// uses it, also on other streams. So the next allocation may reuse the memory before that work has begun.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, DeviceBuffer, Stream};
    ///
    /// let stream = Stream::new(&Device::get(0)?)?;
    /// for round in 0..100u32 {
    ///     let mut scratch = DeviceBuffer::uninit_async(&stream, 1000)?;
    ///     scratch.fill_async(&stream, round)?;
    /// } // freed on the stream, and the same memory had again
    /// stream.synchronize()?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`uninit`](Self::uninit); `hipErrorNotSupported` where
    /// `hipDeviceAttributeMemoryPoolsSupported` is 0; [`Error::Capture`](crate::Error::Capture) while `stream` is
    /// captured: [`uninit`](Self::uninit) allocates at once, and the graph keeps the memory;
    /// [`Graph::add_alloc`](crate::Graph::add_alloc) allocates in each launch. On ROCm 7.2
    /// `hipErrorStreamCaptureUnsupported` (900) while any thread captures a [blocking](crate::StreamOptions::blocking)
    /// stream.
    #[doc(alias("hipMallocAsync", "cuMemAllocAsync", "cudaMallocAsync"))]
    #[doc(alias("hipFreeAsync", "cuMemFreeAsync", "cudaFreeAsync"))]
    pub fn uninit_async(stream: &Stream, len: usize) -> Result<Self> {
        Ok(Self::from_allocation(allocate(stream, None, byte_len::<T>(len)?)?, len))
    }

    /// Creates a buffer with the elements of pinned memory, allocated and copied in the order of `stream`:
    /// [`uninit_async`](Self::uninit_async) and [`copy_from_pinned_async`](Self::copy_from_pinned_async). The host does
    /// not wait.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, DeviceBuffer, PinnedBuffer, Stream};
    ///
    /// let device = Device::get(0)?;
    /// let stream = Stream::new(&device)?;
    /// let source = PinnedBuffer::from_slice(&device, &[1u32, 2, 3])?;
    /// let numbers = DeviceBuffer::from_pinned_async(&stream, &source)?;
    /// assert_eq!(numbers.to_vec()?, [1, 2, 3]); // waits for the copy
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`uninit_async`](Self::uninit_async); [`WrongDevice`](crate::Error::WrongDevice).
    pub fn from_pinned_async<'p>(stream: &Stream, source: impl Into<PinnedSlice<'p, T>>) -> Result<Self>
    where
        T: 'p,
    {
        let source = source.into();
        let mut buffer = Self::uninit_async(stream, source.len())?;
        buffer.copy_from_pinned_async(stream, source)?;
        Ok(buffer)
    }

    /// Creates a buffer with the elements of `source`, allocated and copied in the order of `stream`:
    /// [`uninit_async`](Self::uninit_async) and [`copy_from_slice_on`](Self::copy_from_slice_on). The host waits until
    /// they are copied, because they are only borrowed; [`from_pinned_async`](Self::from_pinned_async) does not wait.
    ///
    /// # Errors
    /// Those of [`uninit_async`](Self::uninit_async), and errors of the work before the copy.
    pub fn from_slice_on(stream: &Stream, source: &[T]) -> Result<Self> {
        let mut buffer = Self::uninit_async(stream, source.len())?;
        buffer.copy_from_slice_on(stream, source)?;
        Ok(buffer)
    }

    /// Creates a buffer of zeros: [`uninit_async`](Self::uninit_async) and
    /// [`fill_bytes_async`](Self::fill_bytes_async).
    ///
    /// # Errors
    /// Those of [`uninit_async`](Self::uninit_async).
    pub fn zeroed_async(stream: &Stream, len: usize) -> Result<Self> {
        let mut buffer = Self::uninit_async(stream, len)?;
        buffer.fill_bytes_async(stream, 0)?;
        Ok(buffer)
    }

    /// Creates a buffer of zeros (`hipMemset`).
    ///
    /// # Errors
    /// Those of [`uninit`](Self::uninit).
    #[doc(alias("hipMemset", "cudaMemset"))]
    pub fn zeroed(device: &Device, len: usize) -> Result<Self> {
        let mut buffer = Self::uninit(device, len)?;
        buffer.as_slice_mut().fill(T::zeroed())?;
        Ok(buffer)
    }

    /// Creates a buffer with the elements of `source` (`hipMemcpy`).
    ///
    /// # Errors
    /// Those of [`uninit`](Self::uninit).
    #[doc(alias("hipMemcpy", "cudaMemcpy"))]
    #[doc(alias("hipMemcpyHtoD", "cuMemcpyHtoD"))]
    pub fn from_slice(device: &Device, source: &[T]) -> Result<Self> {
        let mut buffer = Self::uninit(device, source.len())?;
        buffer.copy_from_slice(source)?;
        Ok(buffer)
    }

    /// Creates another buffer on the same device with the same elements, copied there: [`uninit`](Self::uninit) and
    /// [`copy_from_device`](Self::copy_from_device).
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, DeviceBuffer};
    ///
    /// let mut numbers = DeviceBuffer::from_slice(&Device::get(0)?, &[1, 2, 3])?;
    /// let before = numbers.try_clone()?;
    /// numbers.fill(0)?;
    /// assert_eq!(before.to_vec()?, [1, 2, 3]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`uninit`](Self::uninit), and errors of work that writes to the elements.
    pub fn try_clone(&self) -> Result<Self> {
        let mut copy = Self::uninit(&self.device(), self.len())?;
        copy.copy_from_device(self)?;
        Ok(copy)
    }

    /// Returns the whole buffer as a slice.
    #[must_use]
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::new(&self.memory, 0, self.len)
    }

    /// Returns the whole buffer as a mutable slice.
    #[must_use]
    pub fn as_slice_mut(&mut self) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut::new(&self.memory, 0, self.len)
    }

    /// Returns the elements of a range.
    ///
    /// # Errors
    /// [`Range`](crate::Error::Range) if it is out of bounds.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<DeviceSlice<'_, T>> {
        self.as_slice().slice(range)
    }

    /// Returns the elements of a range as a mutable slice.
    ///
    /// # Errors
    /// [`Range`](crate::Error::Range) if it is out of bounds.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<DeviceSliceMut<'_, T>> {
        self.as_slice_mut().into_slice(range)
    }

    /// See [`DeviceSliceMut::copy_from_slice`].
    #[doc(alias("hipMemcpy", "cudaMemcpy"))]
    #[doc(alias("hipMemcpyHtoD", "cuMemcpyHtoD"))]
    pub fn copy_from_slice(&mut self, source: &[T]) -> Result<()> {
        self.as_slice_mut().copy_from_slice(source)
    }

    /// See [`DeviceSlice::copy_to_slice`].
    #[doc(alias("hipMemcpy", "cudaMemcpy"))]
    #[doc(alias("hipMemcpyDtoH", "cuMemcpyDtoH"))]
    pub fn copy_to_slice(&self, destination: &mut [T]) -> Result<()> {
        self.as_slice().copy_to_slice(destination)
    }

    /// See [`DeviceSliceMut::copy_from_slice_on`].
    pub fn copy_from_slice_on(&mut self, stream: &Stream, source: &[T]) -> Result<()> {
        self.as_slice_mut().copy_from_slice_on(stream, source)
    }

    /// See [`DeviceSlice::copy_to_slice_on`].
    pub fn copy_to_slice_on(&self, stream: &Stream, destination: &mut [T]) -> Result<()> {
        self.as_slice().copy_to_slice_on(stream, destination)
    }

    /// See [`DeviceSlice::to_vec`].
    #[doc(alias("hipMemcpy", "cudaMemcpy"))]
    #[doc(alias("hipMemcpyDtoH", "cuMemcpyDtoH"))]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.as_slice().to_vec()
    }

    /// See [`DeviceSliceMut::copy_from_pinned_async`].
    #[doc(alias("hipMemcpyHtoDAsync", "cuMemcpyHtoDAsync"))]
    pub fn copy_from_pinned_async<'p>(&mut self, stream: &Stream, source: impl Into<PinnedSlice<'p, T>>) -> Result<()>
    where
        T: 'p,
    {
        self.as_slice_mut().copy_from_pinned_async(stream, source)
    }

    /// See [`DeviceSlice::copy_to_pinned_async`].
    #[doc(alias("hipMemcpyDtoHAsync", "cuMemcpyDtoHAsync"))]
    pub fn copy_to_pinned_async<'p>(&self, stream: &Stream, destination: impl Into<PinnedSliceMut<'p, T>>) -> Result<()>
    where
        T: 'p,
    {
        self.as_slice().copy_to_pinned_async(stream, destination)
    }

    /// See [`DeviceSliceMut::copy_from_device_async`].
    #[doc(alias("hipMemcpyDtoDAsync", "cuMemcpyDtoDAsync"))]
    #[doc(alias("hipMemcpyAsync", "cudaMemcpyAsync"))]
    pub fn copy_from_device_async<'s>(&mut self, stream: &Stream, source: impl IntoSlice<'s, T>) -> Result<()>
    where
        T: 's,
    {
        self.as_slice_mut().copy_from_device_async(stream, source)
    }

    /// See [`DeviceSliceMut::copy_from_device`].
    #[doc(alias("hipMemcpy", "cudaMemcpy"))]
    #[doc(alias("hipMemcpyDtoD", "cuMemcpyDtoD"))]
    #[doc(alias("hipMemcpyPeer", "cudaMemcpyPeer"))]
    pub fn copy_from_device<'s>(&mut self, source: impl IntoSlice<'s, T>) -> Result<()>
    where
        T: 's,
    {
        self.as_slice_mut().copy_from_device(source)
    }

    /// See [`DeviceSliceMut::fill`].
    #[doc(alias("hipMemset", "cudaMemset"))]
    #[doc(alias("hipMemsetD8", "cuMemsetD8"))]
    #[doc(alias("hipMemsetD16", "cuMemsetD16"))]
    #[doc(alias("hipMemsetD32", "cuMemsetD32"))]
    pub fn fill(&mut self, value: T) -> Result<()> {
        self.as_slice_mut().fill(value)
    }

    /// See [`DeviceSliceMut::fill_async`].
    #[doc(alias("hipMemsetAsync", "cudaMemsetAsync"))]
    pub fn fill_async(&mut self, stream: &Stream, value: T) -> Result<()> {
        self.as_slice_mut().fill_async(stream, value)
    }

    /// See [`DeviceSliceMut::fill_bytes_async`].
    pub fn fill_bytes_async(&mut self, stream: &Stream, value: u8) -> Result<()> {
        self.as_slice_mut().fill_bytes_async(stream, value)
    }
}

impl<T> DeviceBuffer<T> {
    /// Creates a buffer. `memory` must hold `len` elements of `T`.
    pub(crate) fn from_allocation(memory: Allocation, len: usize) -> Self {
        Self { memory, len, elements: PhantomData }
    }

    pub(crate) fn into_allocation(self) -> Allocation {
        self.memory
    }

    pub(crate) fn allocation(&self) -> &Allocation {
        &self.memory
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the size in bytes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.memory.bytes
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.memory.device
    }

    /// Returns the address of the first element, null if there is none. The buffer does not track accesses through it.
    #[must_use]
    pub fn as_device_ptr(&self) -> DevicePtr<T> {
        DevicePtr::from_address(self.memory.pointer as u64)
    }

    /// Blocks until no tracked work uses the buffer.
    pub fn synchronize(&self) -> Result<()> {
        self.memory.usage.wait_for_all()
    }
}

impl<'a, T: Pod> From<&'a DeviceBuffer<T>> for DeviceSlice<'a, T> {
    fn from(buffer: &'a DeviceBuffer<T>) -> Self {
        buffer.as_slice()
    }
}

impl<'a, T: Pod> From<&'a mut DeviceBuffer<T>> for DeviceSliceMut<'a, T> {
    fn from(buffer: &'a mut DeviceBuffer<T>) -> Self {
        buffer.as_slice_mut()
    }
}

impl<'a, T: Pod> From<&'a mut DeviceBuffer<T>> for DeviceSlice<'a, T> {
    fn from(buffer: &'a mut DeviceBuffer<T>) -> Self {
        buffer.as_slice()
    }
}

impl<T> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceBuffer")
            .field("type", &std::any::type_name::<T>())
            .field("len", &self.len)
            .field("device", &self.memory.device.index())
            .field("address", &self.as_device_ptr())
            .finish()
    }
}
