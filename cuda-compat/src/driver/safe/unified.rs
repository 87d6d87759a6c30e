//! Memory that host and devices share (managed memory).

use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::slice;
use std::sync::Arc;

use super::launch::LaunchArgs;
use super::usage::{address, not_captured, sealed::Sealed};
use super::view::{bounds, bounds_or_panic};
use super::waits::free;
use super::{
    CudaContext, CudaEvent, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, DeviceSlice, DriverError, HostSlice,
    PushKernelArg, SyncOnDrop, ValidAsZeroBits,
};
use crate::driver::sys::CUmemAttach_flags as Attach;
use crate::driver::{result, sys};

/// The allowed users of the memory, and its last use.
#[derive(Debug)]
struct Owner {
    stream: Arc<CudaStream>,
    /// The last use by a device.
    event: CudaEvent,
    attach_mode: Attach,
    /// Whether host and device may use managed memory at the same time.
    is_concurrent: bool,
}

impl Owner {
    fn check_host(&self) -> Result<(), DriverError> {
        match self.attach_mode {
            Attach::CU_MEM_ATTACH_SINGLE => self.stream.synchronize(),
            Attach::CU_MEM_ATTACH_GLOBAL | Attach::CU_MEM_ATTACH_HOST => Ok(()),
        }
    }

    fn check_device(&self, stream: &CudaStream) -> Result<(), DriverError> {
        let is_allowed = match self.attach_mode {
            Attach::CU_MEM_ATTACH_GLOBAL => true,
            Attach::CU_MEM_ATTACH_HOST if self.stream.context() == stream.context() => self.is_concurrent,
            Attach::CU_MEM_ATTACH_HOST => is_concurrent(stream.context())?,
            Attach::CU_MEM_ATTACH_SINGLE => *self.stream == *stream,
        };
        if is_allowed { Ok(()) } else { Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_PERMITTED)) }
    }

    /// Makes a stream wait for the last use, and records the next.
    fn used_on<'a>(&'a self, stream: &'a CudaStream) -> SyncOnDrop<'a> {
        let ready = match stream.is_captured() {
            // The host can borrow it, and a graph that is launched later would not be ordered with that.
            true => Err(not_captured()),
            false => self.check_device(stream).and_then(|()| stream.wait(&self.event)),
        };
        match ready {
            Ok(()) => SyncOnDrop::always(&self.event, stream),
            Err(error) => SyncOnDrop::failed(error, stream),
        }
    }
}

impl Owner {
    /// Returns the address, for work on a stream; null for a stream that must not use the memory.
    fn address_on<'a>(&'a self, ptr: sys::CUdeviceptr, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        address(ptr, self.used_on(stream))
    }
}

fn is_concurrent(context: &CudaContext) -> Result<bool, DriverError> {
    Ok(context.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)? != 0)
}

/// Elements in managed memory.
#[derive(Debug)]
pub struct UnifiedSlice<T> {
    ptr: sys::CUdeviceptr,
    len: usize,
    owner: Owner,
    marker: PhantomData<*const T>,
}

// SAFETY: this value owns the memory; the element types contain no host addresses.
unsafe impl<T> Send for UnifiedSlice<T> {}
// SAFETY: as above; only `&mut self` writes it.
unsafe impl<T> Sync for UnifiedSlice<T> {}

impl<T> Drop for UnifiedSlice<T> {
    fn drop(&mut self) {
        let context = self.owner.stream.context();
        context.record_err(self.owner.event.synchronize());
        // SAFETY: this value owns the memory, and no device uses it any more.
        context.record_err(free(|| unsafe { result::memory_free(self.ptr) }));
    }
}

/// Elements of a [`UnifiedSlice`].
#[derive(Debug)]
pub struct UnifiedView<'a, T> {
    ptr: sys::CUdeviceptr,
    len: usize,
    owner: &'a Owner,
    marker: PhantomData<&'a [T]>,
}

impl<T> Clone for UnifiedView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for UnifiedView<'_, T> {}

/// Elements of a [`UnifiedSlice`], which can be written.
#[derive(Debug)]
pub struct UnifiedViewMut<'a, T> {
    ptr: sys::CUdeviceptr,
    len: usize,
    owner: &'a Owner,
    marker: PhantomData<&'a mut [T]>,
}

impl CudaContext {
    /// Allocates managed memory. With `attach_global`, it is for all streams of all devices, otherwise for the host
    /// until [`attach`](UnifiedSlice::attach).
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_PERMITTED` if the device does not support managed memory; `CUDA_ERROR_INVALID_VALUE` for 0
    /// elements; `CUDA_ERROR_OUT_OF_MEMORY`, also for a number of bytes that overflows; a status of HIP.
    ///
    /// # Safety
    /// The elements are not initialized.
    #[doc(alias("cuMemAllocManaged", "hipMallocManaged"))]
    pub unsafe fn alloc_unified<T: DeviceRepr>(
        self: &Arc<Self>,
        len: usize,
        attach_global: bool,
    ) -> Result<UnifiedSlice<T>, DriverError> {
        self.bind_to_thread()?;
        if self.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)? == 0 {
            return Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_PERMITTED));
        }
        let bytes = match len.checked_mul(size_of::<T>()) {
            Some(0) => return Err(DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE)),
            Some(bytes) => bytes,
            None => return Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)),
        };
        let owner = Owner {
            stream: self.default_stream(),
            event: self.new_event(Some(sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC))?,
            attach_mode: if attach_global { Attach::CU_MEM_ATTACH_GLOBAL } else { Attach::CU_MEM_ATTACH_HOST },
            is_concurrent: is_concurrent(self)?,
        };
        // SAFETY: no memory is passed.
        let ptr = unsafe { result::malloc_managed(bytes, owner.attach_mode) }?;
        Ok(UnifiedSlice { ptr, len, owner, marker: PhantomData })
    }
}

impl<T> UnifiedSlice<T> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of bytes.
    pub fn num_bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Returns the allowed users of the memory.
    pub fn attach_mode(&self) -> sys::CUmemAttach_flags {
        self.owner.attach_mode
    }

    /// Sets the allowed users of the memory. Blocks until earlier uses are done.
    ///
    /// # Errors
    /// A status of HIP, or an error of the work that used the memory.
    #[doc(alias("cuStreamAttachMemAsync", "hipStreamAttachMemAsync"))]
    pub fn attach(&mut self, stream: &Arc<CudaStream>, flags: sys::CUmemAttach_flags) -> Result<(), DriverError> {
        self.owner.event.synchronize()?;
        stream.context().bind_to_thread()?;
        let bytes = self.num_bytes();
        // SAFETY: the memory is managed, and has this many bytes.
        unsafe { result::stream::attach_mem_async(stream.cu_stream(), self.ptr, bytes, flags) }?;
        self.owner.stream = Arc::clone(stream);
        self.owner.attach_mode = flags;
        Ok(())
    }

    /// Queues the move of the memory to its user: the device of the stream, or the host.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_PERMITTED` for a device that cannot share memory with the host concurrently; a status of HIP.
    #[doc(alias("cuMemPrefetchAsync", "hipMemPrefetchAsync"))]
    pub fn prefetch(&self) -> Result<(), DriverError> {
        let Owner { stream, attach_mode, is_concurrent, .. } = &self.owner;
        stream.context().bind_to_thread()?;
        let mut location = sys::CUmemLocation::default();
        match attach_mode {
            Attach::CU_MEM_ATTACH_GLOBAL | Attach::CU_MEM_ATTACH_SINGLE if !is_concurrent => {
                return Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_PERMITTED));
            }
            Attach::CU_MEM_ATTACH_GLOBAL | Attach::CU_MEM_ATTACH_SINGLE => {
                location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
                location.id = stream.context().cu_device();
            }
            Attach::CU_MEM_ATTACH_HOST => location.type_ = result::HOST,
        }
        // SAFETY: the memory is managed, and has this many bytes.
        unsafe { result::mem_prefetch_async(self.ptr, self.num_bytes(), location, stream.cu_stream()) }
    }

    /// Waits until the host may use the memory, if it is attached to one stream.
    ///
    /// # Errors
    /// An error of the work of that stream.
    pub fn check_host_access(&self) -> Result<(), DriverError> {
        self.owner.check_host()
    }

    /// Checks that work of a stream may use the memory.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_PERMITTED` if it must not.
    pub fn check_device_access(&self, stream: &CudaStream) -> Result<(), DriverError> {
        self.owner.check_device(stream)
    }

    /// Returns a view of all elements.
    pub fn as_view(&self) -> UnifiedView<'_, T> {
        UnifiedView { ptr: self.ptr, len: self.len, owner: &self.owner, marker: PhantomData }
    }

    /// Returns a view of all elements, which can be written.
    pub fn as_view_mut(&mut self) -> UnifiedViewMut<'_, T> {
        UnifiedViewMut { ptr: self.ptr, len: self.len, owner: &self.owner, marker: PhantomData }
    }

    /// Returns a view of a range.
    ///
    /// # Panics
    /// If the range is out of bounds.
    #[track_caller]
    pub fn slice(&self, bounds: impl RangeBounds<usize>) -> UnifiedView<'_, T> {
        self.as_view().slice(bounds)
    }

    /// Returns a view of a range; `None` if it is out of bounds.
    pub fn try_slice(&self, bounds: impl RangeBounds<usize>) -> Option<UnifiedView<'_, T>> {
        self.as_view().try_slice(bounds)
    }

    /// Returns a view of a range, which can be written.
    ///
    /// # Panics
    /// If the range is out of bounds.
    #[track_caller]
    pub fn slice_mut(&mut self, bounds: impl RangeBounds<usize>) -> UnifiedViewMut<'_, T> {
        let (start, end) = bounds_or_panic(bounds, self.len);
        self.as_view_mut().part(start, end)
    }

    /// Returns a view of a range, which can be written; `None` if it is out of bounds.
    pub fn try_slice_mut(&mut self, bounds: impl RangeBounds<usize>) -> Option<UnifiedViewMut<'_, T>> {
        let (start, end) = self::bounds(bounds, self.len)?;
        Some(self.as_view_mut().part(start, end))
    }

    /// Returns views of the elements before `mid`, and of the rest.
    ///
    /// # Panics
    /// If there are fewer elements.
    #[track_caller]
    pub fn split_at(&self, mid: usize) -> (UnifiedView<'_, T>, UnifiedView<'_, T>) {
        self.as_view().split_at(mid)
    }

    /// Returns views of the elements before `mid`, and of the rest; `None` if there are fewer.
    pub fn try_split_at(&self, mid: usize) -> Option<(UnifiedView<'_, T>, UnifiedView<'_, T>)> {
        self.as_view().try_split_at(mid)
    }

    /// Returns views of the elements before `mid`, and of the rest, which can be written.
    ///
    /// # Panics
    /// If there are fewer elements.
    #[track_caller]
    pub fn split_at_mut(&mut self, mid: usize) -> (UnifiedViewMut<'_, T>, UnifiedViewMut<'_, T>) {
        let (len, view) = (self.len, self.as_view_mut());
        let (_, mid) = bounds_or_panic(..mid, len);
        (view.part(0, mid), view.part(mid, len))
    }

    /// Returns views of the elements before `mid`, and of the rest, which can be written; `None` if there are fewer.
    pub fn try_split_at_mut(&mut self, mid: usize) -> Option<(UnifiedViewMut<'_, T>, UnifiedViewMut<'_, T>)> {
        let (len, view) = (self.len, self.as_view_mut());
        (mid <= len).then(|| (view.part(0, mid), view.part(mid, len)))
    }
}

impl<T: ValidAsZeroBits> UnifiedSlice<T> {
    /// Waits until no device uses the elements any more, and returns them.
    ///
    /// # Errors
    /// An error of the work that used them.
    pub fn as_slice(&self) -> Result<&[T], DriverError> {
        self.check_host_access()?;
        self.owner.event.synchronize()?;
        // SAFETY: the host can read managed memory; it has this many elements, and work that uses them is done.
        Ok(unsafe { slice::from_raw_parts(self.ptr as usize as *const T, self.len) })
    }

    /// Waits until no device uses the elements any more, and returns them.
    ///
    /// # Errors
    /// An error of the work that used them.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], DriverError> {
        self.check_host_access()?;
        self.owner.event.synchronize()?;
        // SAFETY: as above, and they are borrowed mutably.
        Ok(unsafe { slice::from_raw_parts_mut(self.ptr as usize as *mut T, self.len) })
    }
}

impl<'a, T> UnifiedView<'a, T> {
    fn part(&self, start: usize, end: usize) -> Self {
        Self { ptr: self.ptr + (start * size_of::<T>()) as u64, len: end - start, ..*self }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns a view of a range.
    ///
    /// # Panics
    /// If the range is out of bounds.
    #[track_caller]
    pub fn slice(&self, bounds: impl RangeBounds<usize>) -> Self {
        let (start, end) = bounds_or_panic(bounds, self.len);
        self.part(start, end)
    }

    /// Returns a view of a range; `None` if it is out of bounds.
    pub fn try_slice(&self, bounds: impl RangeBounds<usize>) -> Option<Self> {
        let (start, end) = self::bounds(bounds, self.len)?;
        Some(self.part(start, end))
    }

    /// Returns views of the elements before `mid`, and of the rest.
    ///
    /// # Panics
    /// If there are fewer elements.
    #[track_caller]
    pub fn split_at(&self, mid: usize) -> (Self, Self) {
        (self.slice(..mid), self.slice(mid..))
    }

    /// Returns views of the elements before `mid`, and of the rest; `None` if there are fewer.
    pub fn try_split_at(&self, mid: usize) -> Option<(Self, Self)> {
        Some((self.try_slice(..mid)?, self.try_slice(mid..)?))
    }
}

impl<'a, T> UnifiedViewMut<'a, T> {
    /// Returns the elements from `start` to `end`, which are in bounds. The caller's lifetime ends the other views of
    /// them.
    fn part<'b>(&self, start: usize, end: usize) -> UnifiedViewMut<'b, T>
    where
        'a: 'b,
    {
        let ptr = self.ptr + (start * size_of::<T>()) as u64;
        UnifiedViewMut { ptr, len: end - start, owner: self.owner, marker: PhantomData }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns a view that cannot be written.
    pub fn as_view<'b>(&'b self) -> UnifiedView<'b, T> {
        UnifiedView { ptr: self.ptr, len: self.len, owner: self.owner, marker: PhantomData }
    }

    /// Returns a view of a range, which cannot be written.
    ///
    /// # Panics
    /// If the range is out of bounds.
    #[track_caller]
    pub fn slice<'b>(&'b self, bounds: impl RangeBounds<usize>) -> UnifiedView<'b, T> {
        self.as_view().slice(bounds)
    }

    /// Returns a view of a range, which cannot be written; `None` if it is out of bounds.
    pub fn try_slice<'b>(&'b self, bounds: impl RangeBounds<usize>) -> Option<UnifiedView<'b, T>> {
        self.as_view().try_slice(bounds)
    }

    /// Returns a view of a range.
    ///
    /// # Panics
    /// If the range is out of bounds.
    #[track_caller]
    pub fn slice_mut<'b>(&'b mut self, bounds: impl RangeBounds<usize>) -> UnifiedViewMut<'b, T> {
        let (start, end) = bounds_or_panic(bounds, self.len);
        self.part(start, end)
    }

    /// Returns a view of a range; `None` if it is out of bounds.
    pub fn try_slice_mut<'b>(&'b mut self, bounds: impl RangeBounds<usize>) -> Option<UnifiedViewMut<'b, T>> {
        let (start, end) = self::bounds(bounds, self.len)?;
        Some(self.part(start, end))
    }

    /// Returns views of the elements before `mid`, and of the rest.
    ///
    /// # Panics
    /// If there are fewer elements.
    #[track_caller]
    pub fn split_at_mut<'b>(&'b mut self, mid: usize) -> (UnifiedViewMut<'b, T>, UnifiedViewMut<'b, T>) {
        let (_, mid) = bounds_or_panic(..mid, self.len);
        (self.part(0, mid), self.part(mid, self.len))
    }

    /// Returns views of the elements before `mid`, and of the rest; `None` if there are fewer.
    pub fn try_split_at_mut<'b>(&'b mut self, mid: usize) -> Option<(UnifiedViewMut<'b, T>, UnifiedViewMut<'b, T>)> {
        (mid <= self.len).then(|| (self.part(0, mid), self.part(mid, self.len)))
    }
}

/// Implements the common parts of slices and views.
macro_rules! memory {
    ($($ty:ty: $kind:ident,)*) => {$(
        impl<T> Sealed for $ty {}

        impl<T> DeviceSlice<T> for $ty {
            fn len(&self) -> usize {
                self.len
            }

            fn stream(&self) -> &Arc<CudaStream> {
                &self.owner.stream
            }
        }

        impl<T> DevicePtr<T> for $ty {
            fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
                self.owner.address_on(self.ptr, stream)
            }
        }

        impl<T> HostSlice<T> for $ty {
            fn len(&self) -> usize {
                self.len
            }

            unsafe fn stream_synced_slice<'a>(&'a self, stream: &'a CudaStream) -> (&'a [T], SyncOnDrop<'a>) {
                let used = self.owner.used_on(stream);
                // SAFETY: the host can read managed memory, and the memory has this many elements.
                (unsafe { slice::from_raw_parts(self.ptr as usize as *const T, self.len) }, used)
            }

            memory!(@ $kind);
        }
    )*};
    (@ write) => {
        unsafe fn stream_synced_mut_slice<'a>(&'a mut self, stream: &'a CudaStream) -> (&'a mut [T], SyncOnDrop<'a>) {
            let used = self.owner.used_on(stream);
            // SAFETY: the host can write managed memory; the memory has this many elements, and is borrowed mutably.
            (unsafe { slice::from_raw_parts_mut(self.ptr as usize as *mut T, self.len) }, used)
        }
    };
    (@ read) => {
        /// # Panics
        /// A view cannot be written.
        unsafe fn stream_synced_mut_slice<'a>(&'a mut self, _stream: &'a CudaStream) -> (&'a mut [T], SyncOnDrop<'a>) {
            panic!("a UnifiedView cannot be written: pass a UnifiedViewMut");
        }
    };
}

memory! {
    UnifiedSlice<T>: write,
    UnifiedViewMut<'_, T>: write,
    UnifiedView<'_, T>: read,
}

macro_rules! writes {
    ($($ty:ty),*) => {$(
        impl<T> DevicePtrMut<T> for $ty {
            fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
                self.owner.address_on(self.ptr, stream)
            }
        }
    )*};
}

writes! { UnifiedSlice<T>, UnifiedViewMut<'_, T> }

impl<'a> LaunchArgs<'a> {
    fn managed(&mut self, ptr: &'a sys::CUdeviceptr, owner: &'a Owner) -> &mut Self {
        if self.stream.is_captured() {
            self.error = Some(not_captured());
        }
        if let Err(error) = owner.check_device(self.stream) {
            self.error = Some(error);
        }
        self.waits.push(&owner.event);
        self.records.push(&owner.event);
        self.bytes(ptr)
    }
}

// SAFETY: the memory is borrowed for the lifetime of the launch, and its use is ordered.
unsafe impl<'a, 'b: 'a, T> PushKernelArg<&'b UnifiedSlice<T>> for LaunchArgs<'a> {
    fn arg(&mut self, arg: &'b UnifiedSlice<T>) -> &mut Self {
        self.managed(&arg.ptr, &arg.owner)
    }
}

// SAFETY: as above.
unsafe impl<'a, 'b: 'a, T> PushKernelArg<&'b mut UnifiedSlice<T>> for LaunchArgs<'a> {
    fn arg(&mut self, arg: &'b mut UnifiedSlice<T>) -> &mut Self {
        self.managed(&arg.ptr, &arg.owner)
    }
}

// SAFETY: as above.
unsafe impl<'a, 'b: 'a, 'c: 'b, T> PushKernelArg<&'b UnifiedView<'c, T>> for LaunchArgs<'a> {
    fn arg(&mut self, arg: &'b UnifiedView<'c, T>) -> &mut Self {
        self.managed(&arg.ptr, arg.owner)
    }
}

// SAFETY: as above.
unsafe impl<'a, 'b: 'a, 'c: 'b, T> PushKernelArg<&'b UnifiedViewMut<'c, T>> for LaunchArgs<'a> {
    fn arg(&mut self, arg: &'b UnifiedViewMut<'c, T>) -> &mut Self {
        self.managed(&arg.ptr, arg.owner)
    }
}

// SAFETY: as above.
unsafe impl<'a, 'b: 'a, 'c: 'b, T> PushKernelArg<&'b mut UnifiedViewMut<'c, T>> for LaunchArgs<'a> {
    fn arg(&mut self, arg: &'b mut UnifiedViewMut<'c, T>) -> &mut Self {
        self.managed(&arg.ptr, arg.owner)
    }
}
