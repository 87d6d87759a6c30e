//! Host memory that copies read and write.

use std::slice;
use std::sync::Arc;

use super::usage::not_captured;
use super::waits::free;
use super::{CudaContext, CudaEvent, CudaStream, DeviceRepr, SyncOnDrop, ValidAsZeroBits};
use crate::driver::result::{self, DriverError};
use crate::driver::sys;

/// A slice of host memory.
pub trait HostSlice<T> {
    /// Returns the number of elements.
    fn len(&self) -> usize;

    /// Returns whether there are no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the elements for work that reads them on `stream`. Keep the second value until the work is queued.
    ///
    /// # Safety
    /// Only work of `stream` may use the elements until the second value is dropped. After that, the use by `stream` is
    /// done, or ordered before the next use.
    unsafe fn stream_synced_slice<'a>(&'a self, stream: &'a CudaStream) -> (&'a [T], SyncOnDrop<'a>);

    /// Returns the elements for work that writes them on `stream`. Keep the second value until the work is queued.
    ///
    /// # Safety
    /// The requirements of [`stream_synced_slice`](Self::stream_synced_slice).
    unsafe fn stream_synced_mut_slice<'a>(&'a mut self, stream: &'a CudaStream) -> (&'a mut [T], SyncOnDrop<'a>);
}

/// Returns the action after work that uses pageable memory. A graph would use the memory when it may be freed.
fn pageable(stream: &CudaStream) -> SyncOnDrop<'_> {
    if stream.is_captured() { SyncOnDrop::failed(not_captured(), stream) } else { SyncOnDrop::sync_stream(stream) }
}

/// Pageable memory: HIP may still use it when a copy returns, so this waits for the stream.
macro_rules! pageable {
    ($([$($generic:tt)*] $ty:ty,)*) => {$(
        impl<$($generic)*> HostSlice<T> for $ty {
            fn len(&self) -> usize {
                self[..].len()
            }

            unsafe fn stream_synced_slice<'a>(&'a self, stream: &'a CudaStream) -> (&'a [T], SyncOnDrop<'a>) {
                (&self[..], pageable(stream))
            }

            unsafe fn stream_synced_mut_slice<'a>(&'a mut self, stream: &'a CudaStream) -> (&'a mut [T], SyncOnDrop<'a>) {
                (&mut self[..], pageable(stream))
            }
        }
    )*};
}

pageable! {
    [T] [T],
    [T] Vec<T>,
    [T, const N: usize] [T; N],
}

/// Elements in pinned host memory, which devices access directly.
#[derive(Debug)]
pub struct PinnedHostSlice<T> {
    ptr: *mut T,
    len: usize,
    /// The last use by a device.
    event: CudaEvent,
}

// SAFETY: this value owns the memory; the element types contain no host addresses.
unsafe impl<T> Send for PinnedHostSlice<T> {}
// SAFETY: as above; only `&mut self` writes it.
unsafe impl<T> Sync for PinnedHostSlice<T> {}

impl<T> Drop for PinnedHostSlice<T> {
    fn drop(&mut self) {
        let context = self.event.context();
        context.record_err(self.event.synchronize());
        if self.len * size_of::<T>() > 0 {
            // SAFETY: this value owns the memory, and no device uses it any more.
            context.record_err(free(|| unsafe { result::free_host(self.ptr.cast()) }));
        }
    }
}

impl CudaContext {
    /// Allocates pinned memory that the host writes fast and reads slowly (`CU_MEMHOSTALLOC_WRITECOMBINED`).
    ///
    /// # Errors
    /// A status of HIP.
    ///
    /// # Safety
    /// The elements are not initialized.
    ///
    /// # Panics
    /// If the number of bytes overflows.
    #[doc(alias("cuMemHostAlloc", "hipHostAlloc"))]
    pub unsafe fn alloc_pinned<T: DeviceRepr>(self: &Arc<Self>, len: usize) -> Result<PinnedHostSlice<T>, DriverError> {
        // SAFETY: the caller's contract.
        unsafe { self.alloc_pinned_with_flags(len, sys::CU_MEMHOSTALLOC_WRITECOMBINED) }
    }

    /// Allocates pinned memory with flags (`CU_MEMHOSTALLOC_…`).
    ///
    /// # Errors
    /// A status of HIP.
    ///
    /// # Safety
    /// The elements are not initialized.
    ///
    /// # Panics
    /// If the number of bytes overflows.
    #[doc(alias("cuMemHostAlloc", "hipHostAlloc"))]
    pub unsafe fn alloc_pinned_with_flags<T: DeviceRepr>(
        self: &Arc<Self>,
        len: usize,
        flags: u32,
    ) -> Result<PinnedHostSlice<T>, DriverError> {
        self.bind_to_thread()?;
        let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| isize::try_from(*bytes).is_ok());
        let bytes = bytes.expect("Pinned host allocation size overflow");
        let event = self.new_event(Some(sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC))?;
        let ptr = match bytes {
            0 => std::ptr::NonNull::dangling().as_ptr(),
            // SAFETY: no memory is passed.
            _ => unsafe { result::malloc_host(bytes, flags) }?.cast(),
        };
        Ok(PinnedHostSlice { ptr, len, event })
    }
}

impl<T> PinnedHostSlice<T> {
    /// Returns the context.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.event.context()
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
}

impl<T: ValidAsZeroBits> PinnedHostSlice<T> {
    /// Waits until no device writes the elements any more, and returns the address.
    ///
    /// # Errors
    /// An error of the work that used them.
    pub fn as_ptr(&self) -> Result<*const T, DriverError> {
        self.event.synchronize()?;
        Ok(self.ptr)
    }

    /// Waits until no device uses the elements any more, and returns the address.
    ///
    /// # Errors
    /// An error of the work that used them.
    pub fn as_mut_ptr(&mut self) -> Result<*mut T, DriverError> {
        self.event.synchronize()?;
        Ok(self.ptr)
    }

    /// Waits until no device writes the elements any more, and returns them.
    ///
    /// # Errors
    /// An error of the work that used them.
    pub fn as_slice(&self) -> Result<&[T], DriverError> {
        // SAFETY: the memory has this many elements, and work that uses them is done.
        self.as_ptr().map(|ptr| unsafe { slice::from_raw_parts(ptr, self.len) })
    }

    /// Waits until no device uses the elements any more, and returns them.
    ///
    /// # Errors
    /// An error of the work that used them.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T], DriverError> {
        let len = self.len;
        // SAFETY: as above, and the elements are borrowed mutably.
        self.as_mut_ptr().map(|ptr| unsafe { slice::from_raw_parts_mut(ptr, len) })
    }
}

impl<T> PinnedHostSlice<T> {
    /// Makes a stream wait for the last use, and records the next.
    fn used_on<'a>(&'a self, stream: &'a CudaStream) -> SyncOnDrop<'a> {
        // The host can borrow it, and a graph that is launched later would not be ordered with that.
        let ready = if stream.is_captured() { Err(not_captured()) } else { stream.wait(&self.event) };
        match ready {
            Ok(()) => SyncOnDrop::always(&self.event, stream),
            Err(error) => SyncOnDrop::failed(error, stream),
        }
    }
}

impl<T> HostSlice<T> for PinnedHostSlice<T> {
    fn len(&self) -> usize {
        self.len
    }

    unsafe fn stream_synced_slice<'a>(&'a self, stream: &'a CudaStream) -> (&'a [T], SyncOnDrop<'a>) {
        // SAFETY: the memory has this many elements.
        let elements = unsafe { slice::from_raw_parts(self.ptr, self.len) };
        (elements, self.used_on(stream))
    }

    unsafe fn stream_synced_mut_slice<'a>(&'a mut self, stream: &'a CudaStream) -> (&'a mut [T], SyncOnDrop<'a>) {
        // SAFETY: the memory has this many elements, and is borrowed mutably.
        let elements = unsafe { slice::from_raw_parts_mut(self.ptr, self.len) };
        (elements, self.used_on(stream))
    }
}
