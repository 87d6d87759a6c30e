//! Copies between host, pinned host memory and devices.

use bytemuck::Pod;
use hip_sys::{hipMemcpyDeviceToDevice, hipMemcpyDeviceToHost, hipMemcpyHostToDevice};

use super::{DeviceSlice, DeviceSliceMut, IntoSlice, PinnedSlice, PinnedSliceMut};
use crate::core::call::check;
use crate::core::error::{Error, Result};
use crate::core::trace;
use crate::stream::Stream;
use crate::stream::usage::AccessKind;

/// Returns `Ok` if both sides of a copy have the same number of elements.
pub(crate) fn same_len(what: &'static str, destination: usize, source_len: usize) -> Result<()> {
    if destination == source_len { Ok(()) } else { Err(Error::Length { what, destination, source_len }) }
}

/// Returns a vector of `len` elements that `read` fills.
pub(crate) fn read_to_vec<T: Pod>(len: usize, read: impl FnOnce(&mut [T]) -> Result<()>) -> Result<Vec<T>> {
    let mut elements = Vec::new();
    let failed = |_| Error::TooLarge { elements: len, element_bytes: size_of::<T>() };
    elements.try_reserve_exact(len).map_err(failed)?;
    elements.resize(len, T::zeroed());
    read(&mut elements)?;
    Ok(elements)
}

impl<T: Pod> DeviceSlice<'_, T> {
    /// Copies the elements to the host (`hipMemcpyWithStream`, on a private stream), after all queued work that writes
    /// to the buffer.
    ///
    /// # Errors
    /// [`Error::Length`] if `destination` has another length. Errors of the queued work.
    #[doc(alias("hipMemcpyWithStream"))]
    #[doc(alias("hipMemcpy", "cudaMemcpy"))]
    #[doc(alias("hipMemcpyDtoH", "cuMemcpyDtoH"))]
    pub fn copy_to_slice(&self, destination: &mut [T]) -> Result<()> {
        same_len("copy from the device", destination.len(), self.len())?;
        if self.is_empty() {
            return Ok(());
        }
        self.usage().wait(AccessKind::Read)?;
        trace::copy(Some(self.device()), None, "device to host", self.byte_len());
        self.copy_now(&self.device().blocking_stream()?, destination)
    }

    /// Copies to host memory of the same length, after the stream's queued work, and waits. Work that writes to the
    /// buffer has been waited for, or precedes the copy.
    fn copy_now(&self, stream: &Stream, destination: &mut [T]) -> Result<()> {
        let bytes = self.byte_len();
        stream.inner.copy_now(|raw| {
            let (to, from) = (destination.as_mut_ptr().cast(), self.pointer());
            // SAFETY: both sides hold `bytes` bytes, borrowed for the call; no work that writes to the source can be queued meanwhile. The
            // call returns when the copy is done. Any bytes are a valid T.
            let status = unsafe { hip_sys::hipMemcpyWithStream(to, from, bytes, hipMemcpyDeviceToHost, raw) };
            check(status, "hipMemcpyWithStream", || format!("{bytes} bytes from device {}", self.device().index()))
        })
    }

    /// Returns a copy of the elements on the host: [`copy_to_slice`](Self::copy_to_slice) into a new vector.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        read_to_vec(self.len(), |elements| self.copy_to_slice(elements))
    }

    /// Copies the elements to the host in the order of `stream` (`hipMemcpyWithStream`): after the stream's queued
    /// work, and after work of other streams that writes to the buffer. The host waits for the copy, but not for other
    /// work of the device.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongDevice`]; [`Error::Capture`] while the stream is captured. Errors of the work
    /// before the copy.
    #[doc(alias("hipMemcpyWithStream"))]
    pub fn copy_to_slice_on(&self, stream: &Stream, destination: &mut [T]) -> Result<()> {
        same_len("copy from the device", destination.len(), self.len())?;
        let _admitted = self.admit(stream.device(), "the source")?;
        if self.is_empty() {
            return Ok(());
        }
        stream.inner.refuse_captured("a copy to memory that is not pinned")?;
        let bytes = self.byte_len();
        trace::copy(Some(self.device()), Some(stream.inner.id()), "device to host", bytes);
        // From here on, the stream waits for everything that the copy must come after. It is not locked while the host waits.
        stream.inner.submit(&[self.access()], None, |_| Ok(()))?;
        self.copy_now(stream, destination)
    }

    /// Queues a copy to pinned host memory (`hipMemcpyAsync`): a `&mut PinnedBuffer` or a slice of one. Accesses to the
    /// destination wait for the copy ([`PinnedBuffer::as_slice`](crate::PinnedBuffer::as_slice)); it may be dropped.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongDevice`].
    #[doc(alias("hipMemcpyAsync", "cudaMemcpyAsync"))]
    #[doc(alias("hipMemcpyDtoHAsync", "cuMemcpyDtoHAsync"))]
    pub fn copy_to_pinned_async<'p>(&self, stream: &Stream, destination: impl Into<PinnedSliceMut<'p, T>>) -> Result<()>
    where
        T: 'p,
    {
        let destination = destination.into();
        same_len("copy from the device", destination.len(), self.len())?;
        let _admitted = self.admit(stream.device(), "the source")?;
        let _admitted = destination.admit(stream.device(), "the destination")?;
        if self.is_empty() {
            return Ok(());
        }
        let accesses = [self.access(), destination.access()];
        trace::copy(Some(self.device()), Some(stream.inner.id()), "device to pinned", self.byte_len());
        stream.inner.submit(&accesses, None, |raw| {
            // SAFETY: both sides hold `byte_len` bytes; both record the use, and are not freed or accessed by the host before it is over.
            let status = unsafe {
                hip_sys::hipMemcpyAsync(
                    destination.pointer(),
                    self.pointer(),
                    self.byte_len(),
                    hipMemcpyDeviceToHost,
                    raw,
                )
            };
            check(status, "hipMemcpyAsync", || {
                format!("{} bytes from device {}", self.byte_len(), self.device().index())
            })
        })
    }
}

impl<T: Pod> DeviceSliceMut<'_, T> {
    /// Copies elements from the host (`hipMemcpyWithStream`, on a private stream), after all queued work that uses the
    /// buffer.
    ///
    /// # Errors
    /// [`Error::Length`] if `source` has another length. Errors of the queued work.
    #[doc(alias("hipMemcpyWithStream"))]
    #[doc(alias("hipMemcpy", "cudaMemcpy"))]
    #[doc(alias("hipMemcpyHtoD", "cuMemcpyHtoD"))]
    pub fn copy_from_slice(&mut self, source: &[T]) -> Result<()> {
        same_len("copy to the device", self.len(), source.len())?;
        if self.is_empty() {
            return Ok(());
        }
        self.usage().wait_for_part(AccessKind::Write, self.span())?;
        trace::copy(Some(self.device()), None, "host to device", self.byte_len());
        self.copy_now(&self.device().blocking_stream()?, source)
    }

    /// Copies from host memory of the same length, after the stream's queued work, and waits. Work that uses the buffer
    /// has been waited for, or precedes the copy.
    fn copy_now(&mut self, stream: &Stream, source: &[T]) -> Result<()> {
        let bytes = self.byte_len();
        stream.inner.copy_now(|raw| {
            let (to, from) = (self.pointer(), source.as_ptr().cast());
            // SAFETY: both sides hold `bytes` bytes, borrowed for the call; no work that uses the destination can be queued meanwhile.
            let status = unsafe { hip_sys::hipMemcpyWithStream(to, from, bytes, hipMemcpyHostToDevice, raw) };
            check(status, "hipMemcpyWithStream", || format!("{bytes} bytes to device {}", self.device().index()))
        })
    }

    /// Copies elements from the host in the order of `stream` (`hipMemcpyWithStream`): after the stream's queued work,
    /// and after work of other streams that uses the buffer. The host waits for the copy, because the source is only
    /// borrowed, but not for other work of the device.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, DeviceBuffer, Stream};
    ///
    /// let device = Device::get(0)?;
    /// let stream = Stream::new(&device)?;
    /// let mut numbers = DeviceBuffer::<u32>::zeroed_async(&stream, 4)?;
    /// numbers.slice_mut(1..3)?.copy_from_slice_on(&stream, &[5, 6])?;
    /// let mut back = [0; 4];
    /// numbers.copy_to_slice_on(&stream, &mut back)?;
    /// assert_eq!(back, [0, 5, 6, 0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongDevice`]; [`Error::Capture`] while the stream is captured. Errors of the work
    /// before the copy.
    #[doc(alias("hipMemcpyWithStream"))]
    pub fn copy_from_slice_on(&mut self, stream: &Stream, source: &[T]) -> Result<()> {
        same_len("copy to the device", self.len(), source.len())?;
        let _admitted = self.admit(stream.device(), "the destination")?;
        if self.is_empty() {
            return Ok(());
        }
        stream.inner.refuse_captured("a copy from memory that is not pinned")?;
        let bytes = self.byte_len();
        trace::copy(Some(self.device()), Some(stream.inner.id()), "host to device", bytes);
        // From here on, the stream waits for everything that the copy must come after. It is not locked while the host waits.
        stream.inner.submit(&[self.access()], None, |_| Ok(()))?;
        self.copy_now(stream, source)
    }

    /// Queues a copy from pinned host memory (`hipMemcpyAsync`): a `&PinnedBuffer` or a slice of one. Writes to the
    /// source and its release wait for the copy; it may be dropped.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongDevice`].
    #[doc(alias("hipMemcpyAsync", "cudaMemcpyAsync"))]
    #[doc(alias("hipMemcpyHtoDAsync", "cuMemcpyHtoDAsync"))]
    pub fn copy_from_pinned_async<'p>(&mut self, stream: &Stream, source: impl Into<PinnedSlice<'p, T>>) -> Result<()>
    where
        T: 'p,
    {
        let source = source.into();
        same_len("copy to the device", self.len(), source.len())?;
        let _admitted = self.admit(stream.device(), "the destination")?;
        let _admitted = source.admit(stream.device(), "the source")?;
        if self.is_empty() {
            return Ok(());
        }
        let accesses = [self.access(), source.access()];
        trace::copy(Some(self.device()), Some(stream.inner.id()), "pinned to device", self.byte_len());
        stream.inner.submit(&accesses, None, |raw| {
            // SAFETY: both sides hold `byte_len` bytes; both record the use, and are not freed or written to by the host before it is over.
            let status = unsafe {
                hip_sys::hipMemcpyAsync(self.pointer(), source.pointer(), self.byte_len(), hipMemcpyHostToDevice, raw)
            };
            check(status, "hipMemcpyAsync", || format!("{} bytes to device {}", self.byte_len(), self.device().index()))
        })
    }

    /// Queues a copy from device memory (`hipMemcpyAsync`; `hipMemcpyPeerAsync` from another device). The stream must
    /// be on the destination's device.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongDevice`]; [`Error::Capture`] for a copy from another device while the stream is
    /// captured.
    #[doc(alias("hipMemcpyAsync", "cudaMemcpyAsync"))]
    #[doc(alias("hipMemcpyPeerAsync", "cudaMemcpyPeerAsync"))]
    #[doc(alias("hipMemcpyDtoDAsync", "cuMemcpyDtoDAsync"))]
    pub fn copy_from_device_async<'s>(&mut self, stream: &Stream, source: impl IntoSlice<'s, T>) -> Result<()>
    where
        T: 's,
    {
        let source = source.into();
        same_len("copy between devices", self.len(), source.len())?;
        let _admitted = self.admit(stream.device(), "the destination")?;
        if self.is_empty() {
            return Ok(());
        }
        let (to, from, bytes) = (self.device(), source.device(), self.byte_len());
        if to != from {
            stream.inner.refuse_captured("a copy from another device")?;
        }
        let accesses = [self.access(), source.access()];
        trace::copy(Some(to), Some(stream.inner.id()), "device to device", bytes);
        stream.inner.submit(&accesses, None, |raw| {
            let (status, function) = if to == from {
                // SAFETY: both sides hold `bytes` bytes and do not overlap, because the destination is borrowed mutably; both record the
                // use and are not freed before it is over.
                let status = unsafe {
                    hip_sys::hipMemcpyAsync(self.pointer(), source.pointer(), bytes, hipMemcpyDeviceToDevice, raw)
                };
                (status, "hipMemcpyAsync")
            } else {
                // SAFETY: as above, each on the device that is passed with it.
                let status = unsafe {
                    hip_sys::hipMemcpyPeerAsync(self.pointer(), to.raw(), source.pointer(), from.raw(), bytes, raw)
                };
                (status, "hipMemcpyPeerAsync")
            };
            check(status, function, || format!("{bytes} bytes from device {} to device {}", from.index(), to.index()))
        })
    }

    /// Copies from device memory: [`copy_from_device_async`](Self::copy_from_device_async) on a private stream, and
    /// waits.
    ///
    /// # Errors
    /// [`Error::Length`]. Errors of the queued work.
    #[doc(alias("hipMemcpy", "cudaMemcpy"))]
    #[doc(alias("hipMemcpyDtoD", "cuMemcpyDtoD"))]
    #[doc(alias("hipMemcpyPeer", "cudaMemcpyPeer"))]
    pub fn copy_from_device<'s>(&mut self, source: impl IntoSlice<'s, T>) -> Result<()>
    where
        T: 's,
    {
        let stream = self.device().blocking_stream()?;
        self.copy_from_device_async(&stream, source)?;
        stream.synchronize()
    }
}
