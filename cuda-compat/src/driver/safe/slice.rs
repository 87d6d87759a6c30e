//! Device memory that is freed when dropped.

use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

use super::usage::{Memory, Usage, Uses, address, sealed::Sealed};
use super::view::{self, bounds_or_panic, fits};
use super::waits::free;
use super::{
    CudaContext, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, DeviceRepr, DeviceSlice, SyncOnDrop,
};
use crate::driver::result::{self, DriverError};
use crate::driver::sys;

/// Elements in device memory. They are freed in the order of the stream that allocated them, after work on other
/// streams that uses them.
#[derive(Debug)]
pub struct CudaSlice<T> {
    pub(super) ptr: sys::CUdeviceptr,
    pub(super) len: usize,
    pub(super) usage: Usage,
    pub(super) stream: Arc<CudaStream>,
    marker: PhantomData<*const T>,
}

// SAFETY: the elements are on a device: threads only read them through copies, which need `T: DeviceRepr`, bytes without host addresses.
unsafe impl<T> Send for CudaSlice<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for CudaSlice<T> {}

/// Memory that was allocated on a stream.
struct Allocation {
    ptr: sys::CUdeviceptr,
    stream: Arc<CudaStream>,
}

impl Memory for Allocation {
    fn free(self: Box<Self>, uses: &Uses) {
        let (ptr, context) = (self.ptr, self.stream.context());
        let mut stream = Arc::clone(&self.stream);
        if stream.is_captured() {
            // A new stream has no other work, and the graph must not free the memory.
            stream = match context.new_stream() {
                Ok(stream) => stream,
                // The memory is leaked.
                Err(error) => return context.record_err(Err::<(), _>(error)),
            };
        }
        if context.is_managing_stream_synchronization() {
            for event in uses.before_write() {
                context.record_err(stream.wait(event));
            }
        }
        if context.has_async_alloc() {
            context.record_err(context.bind_to_thread());
            // SAFETY: this value owns the memory, and the stream waits for all uses.
            context.record_err(unsafe { result::free_async(ptr, stream.cu_stream()) });
        } else {
            context.record_err(stream.synchronize());
            // SAFETY: as above, and the work is done.
            context.record_err(free(|| unsafe { result::free_sync(ptr) }));
        }
    }
}

impl<T> CudaSlice<T> {
    /// Takes ownership of memory of the stream, which is freed after its uses.
    pub(super) fn new(ptr: sys::CUdeviceptr, len: usize, usage: Usage, stream: Arc<CudaStream>) -> Self {
        if ptr != 0 {
            usage.own(Allocation { ptr, stream: stream.for_memory() });
        }
        Self { ptr, len, usage, stream, marker: PhantomData }
    }

    /// Makes the stream of the memory wait for the uses of other streams.
    fn wait_for_uses(&self) {
        let context = self.stream.context();
        if context.is_managing_stream_synchronization() {
            for event in self.usage.before_write() {
                context.record_err(self.stream.wait(event));
            }
        }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of bytes.
    pub fn num_bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the index of the device.
    pub fn ordinal(&self) -> usize {
        self.stream.context().ordinal()
    }

    /// Returns the context.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.stream.context()
    }

    /// Returns the stream that frees the memory.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Returns a view of all elements.
    pub fn as_view(&self) -> CudaView<'_, T> {
        CudaView::new(self.ptr, self.len, &self.usage, &self.stream)
    }

    /// Returns a view of all elements, which can be written.
    pub fn as_view_mut(&mut self) -> CudaViewMut<'_, T> {
        self.view_mut()
    }

    fn view_mut(&self) -> CudaViewMut<'_, T> {
        CudaViewMut::new(self.ptr, self.len, &self.usage, &self.stream)
    }

    fn part_mut(&self, start: usize, end: usize) -> CudaViewMut<'_, T> {
        CudaViewMut::new(self.ptr + (start * size_of::<T>()) as u64, end - start, &self.usage, &self.stream)
    }

    /// Returns a view of a range.
    ///
    /// # Panics
    /// If the range is out of bounds.
    #[track_caller]
    pub fn slice(&self, bounds: impl RangeBounds<usize>) -> CudaView<'_, T> {
        self.as_view().slice(bounds)
    }

    /// Returns a view of a range; `None` if it is out of bounds.
    pub fn try_slice(&self, bounds: impl RangeBounds<usize>) -> Option<CudaView<'_, T>> {
        self.as_view().try_slice(bounds)
    }

    /// Returns a view of a range, which can be written.
    ///
    /// # Panics
    /// If the range is out of bounds.
    #[track_caller]
    pub fn slice_mut(&mut self, bounds: impl RangeBounds<usize>) -> CudaViewMut<'_, T> {
        let (start, end) = bounds_or_panic(bounds, self.len);
        self.part_mut(start, end)
    }

    /// Returns a view of a range, which can be written; `None` if it is out of bounds.
    pub fn try_slice_mut(&mut self, bounds: impl RangeBounds<usize>) -> Option<CudaViewMut<'_, T>> {
        let (start, end) = view::bounds(bounds, self.len)?;
        Some(self.part_mut(start, end))
    }

    /// Returns the memory as `len` elements of another type; `None` if they do not fit.
    ///
    /// # Safety
    /// The bytes must be values of that type, and aligned for it.
    pub unsafe fn transmute<S>(&self, len: usize) -> Option<CudaView<'_, S>> {
        fits::<S, T>(len, self.len).then(|| CudaView::new(self.ptr, len, &self.usage, &self.stream))
    }

    /// Returns the memory as `len` elements of another type, which can be written; `None` if they do not fit.
    ///
    /// # Safety
    /// The bytes must be values of that type, and aligned for it; everything that is written must be values of `T`.
    pub unsafe fn transmute_mut<S>(&mut self, len: usize) -> Option<CudaViewMut<'_, S>> {
        fits::<S, T>(len, self.len).then(|| CudaViewMut::new(self.ptr, len, &self.usage, &self.stream))
    }

    /// Returns views of the elements before `mid`, and of the rest.
    ///
    /// # Panics
    /// If there are fewer elements.
    #[track_caller]
    pub fn split_at(&self, mid: usize) -> (CudaView<'_, T>, CudaView<'_, T>) {
        self.as_view().split_at(mid)
    }

    /// Returns views of the elements before `mid`, and of the rest; `None` if there are fewer.
    pub fn try_split_at(&self, mid: usize) -> Option<(CudaView<'_, T>, CudaView<'_, T>)> {
        self.as_view().try_split_at(mid)
    }

    /// Returns views of the elements before `mid`, and of the rest, which can be written.
    ///
    /// # Panics
    /// If there are fewer elements.
    #[track_caller]
    pub fn split_at_mut(&mut self, mid: usize) -> (CudaViewMut<'_, T>, CudaViewMut<'_, T>) {
        let (_, mid) = bounds_or_panic(..mid, self.len);
        (self.part_mut(0, mid), self.part_mut(mid, self.len))
    }

    /// Returns views of the elements before `mid`, and of the rest, which can be written; `None` if there are fewer.
    pub fn try_split_at_mut(&mut self, mid: usize) -> Option<(CudaViewMut<'_, T>, CudaViewMut<'_, T>)> {
        (mid <= self.len).then(|| (self.part_mut(0, mid), self.part_mut(mid, self.len)))
    }

    /// Gives up the memory, and returns its address. The stream of the memory waits for the uses of other streams.
    /// [`CudaStream::upgrade_device_ptr`] takes it back.
    pub fn leak(self) -> sys::CUdeviceptr {
        self.wait_for_uses();
        self.usage.disown();
        self.ptr
    }
}

impl<T: DeviceRepr> CudaSlice<T> {
    /// Copies the elements to new memory, in stream order.
    ///
    /// # Errors
    /// A status of HIP.
    pub fn try_clone(&self) -> Result<Self, DriverError> {
        self.stream.clone_dtod(self)
    }
}

impl<T: DeviceRepr> Clone for CudaSlice<T> {
    /// # Panics
    /// If HIP returns an error: call [`try_clone`](Self::try_clone) instead.
    fn clone(&self) -> Self {
        match self.try_clone() {
            Ok(slice) => slice,
            Err(error) => panic!("cannot clone {} bytes of device memory: {error}", self.num_bytes()),
        }
    }
}

impl<T: Clone + Default + DeviceRepr> TryFrom<CudaSlice<T>> for Vec<T> {
    type Error = DriverError;

    fn try_from(slice: CudaSlice<T>) -> Result<Self, Self::Error> {
        slice.stream.clone_dtoh(&slice)
    }
}

impl CudaStream {
    /// Takes ownership of memory that [`CudaSlice::leak`] gave up, or of other code's memory.
    ///
    /// # Safety
    /// `cu_device_ptr` must be the address of an allocation of this device (`cuMemAllocAsync` if the device [supports
    /// stream-ordered allocation](CudaContext::has_async_alloc)) with at least `len` elements, which nothing else
    /// frees.
    ///
    /// # Panics
    /// If HIP cannot create events.
    pub unsafe fn upgrade_device_ptr<T>(self: &Arc<Self>, cu_device_ptr: sys::CUdeviceptr, len: usize) -> CudaSlice<T> {
        match Usage::new(self.context()) {
            Ok(usage) => CudaSlice::new(cu_device_ptr, len, usage, Arc::clone(self)),
            Err(error) => panic!("cannot create the events of device memory: {error}"),
        }
    }
}

impl<T> Sealed for CudaSlice<T> {
    fn usage(&self) -> Option<&Usage> {
        Some(&self.usage)
    }
}

impl<T> DeviceSlice<T> for CudaSlice<T> {
    fn len(&self) -> usize {
        self.len
    }

    fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }
}

impl<T> DevicePtr<T> for CudaSlice<T> {
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        address(self.ptr, self.usage.read_on(&self.stream, stream))
    }
}

impl<T> DevicePtrMut<T> for CudaSlice<T> {
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        address(self.ptr, self.usage.write_on(&self.stream, stream))
    }
}
