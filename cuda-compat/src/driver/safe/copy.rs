//! Stream-ordered allocation, copies and fills.

use std::sync::Arc;

use super::usage::Usage;
use super::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, HostSlice, SyncOnDrop, ValidAsZeroBits};
use crate::driver::result::{self, DriverError};
use crate::driver::sys;

/// Checks the sizes of a copy, as cudarc does.
#[track_caller]
fn check_sizes(from: usize, to: usize) {
    assert!(to >= from, "a copy of {from} elements to {to}");
}

impl CudaStream {
    /// Returns a slice without elements.
    ///
    /// # Errors
    /// A status of HIP.
    pub fn null<T>(self: &Arc<Self>) -> Result<CudaSlice<T>, DriverError> {
        self.context().bind_to_thread()?;
        Ok(CudaSlice::new(0, 0, Usage::untracked(), Arc::clone(self)))
    }

    /// Allocates memory for this many elements. While the stream is captured, the memory is allocated immediately: it
    /// is not a node of the graph.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY`, also for a number of bytes that overflows; a status of HIP.
    ///
    /// # Safety
    /// The elements are not initialized.
    #[doc(alias("cuMemAllocAsync", "hipMallocAsync"))]
    pub unsafe fn alloc<T: DeviceRepr>(self: &Arc<Self>, len: usize) -> Result<CudaSlice<T>, DriverError> {
        let context = self.context();
        context.bind_to_thread()?;
        let bytes = len.checked_mul(size_of::<T>()).ok_or(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY))?;
        let usage = Usage::new(context)?;
        let ptr = match bytes {
            0 => 0,
            _ if self.is_captured() => self.allocate_aside(bytes)?,
            _ if context.has_async_alloc() => {
                context.prepare_pools();
                // SAFETY: the stream is alive.
                unsafe { result::malloc_async(self.cu_stream(), bytes) }?
            }
            // SAFETY: no memory is passed.
            _ => unsafe { result::malloc_sync(bytes) }?,
        };
        Ok(CudaSlice::new(ptr, len, usage, Arc::clone(self)))
    }

    /// Allocates memory immediately, outside of the capture: the graph uses it, and does not allocate it. Its bytes are
    /// 0.
    fn allocate_aside(&self, bytes: usize) -> Result<sys::CUdeviceptr, DriverError> {
        let aside = self.context().new_stream()?;
        let stream = aside.cu_stream();
        // SAFETY: the stream is alive.
        let ptr = unsafe {
            if self.context().has_async_alloc() {
                result::malloc_async(stream, bytes)
            } else {
                result::malloc_sync(bytes)
            }
        }?;
        // SAFETY: the memory has this many bytes.
        unsafe { result::memset_d8_async(ptr, 0, bytes, stream) }?;
        aside.synchronize()?;
        Ok(ptr)
    }

    /// Allocates memory for this many elements, whose bytes are 0.
    ///
    /// # Errors
    /// The errors of [`alloc`](Self::alloc).
    pub fn alloc_zeros<T: DeviceRepr + ValidAsZeroBits>(
        self: &Arc<Self>,
        len: usize,
    ) -> Result<CudaSlice<T>, DriverError> {
        // SAFETY: the elements are set below.
        let mut slice = unsafe { self.alloc(len) }?;
        self.memset_zeros(&mut slice)?;
        Ok(slice)
    }

    /// Sets all bytes to 0.
    ///
    /// # Errors
    /// A status of HIP.
    #[doc(alias("cuMemsetD8Async", "hipMemsetD8Async"))]
    pub fn memset_zeros<T: DeviceRepr + ValidAsZeroBits, Dst: DevicePtrMut<T>>(
        self: &Arc<Self>,
        dst: &mut Dst,
    ) -> Result<(), DriverError> {
        self.context().bind_to_thread()?;
        let bytes = dst.num_bytes();
        if bytes == 0 {
            return Ok(());
        }
        let (ptr, mut used) = dst.device_ptr_mut(self);
        used.ready()?;
        // SAFETY: the memory has this many bytes, and 0 is a value of `T`; it is freed in the order of its uses.
        unsafe { result::memset_d8_async(ptr, 0, bytes, self.cu_stream()) }?;
        used.finish()
    }

    /// The same as [`clone_htod`](Self::clone_htod).
    ///
    /// # Errors
    /// The errors of [`clone_htod`](Self::clone_htod).
    #[deprecated = "Use clone_htod"]
    pub fn memcpy_stod<T: DeviceRepr, Src: HostSlice<T> + ?Sized>(
        self: &Arc<Self>,
        src: &Src,
    ) -> Result<CudaSlice<T>, DriverError> {
        self.clone_htod(src)
    }

    /// Copies host elements to new device memory.
    ///
    /// # Errors
    /// The errors of [`alloc`](Self::alloc) and [`memcpy_htod`](Self::memcpy_htod).
    pub fn clone_htod<T: DeviceRepr, Src: HostSlice<T> + ?Sized>(
        self: &Arc<Self>,
        src: &Src,
    ) -> Result<CudaSlice<T>, DriverError> {
        // SAFETY: the elements are set below.
        let mut dst = unsafe { self.alloc(src.len()) }?;
        self.memcpy_htod(src, &mut dst)?;
        Ok(dst)
    }

    /// Copies host elements to device memory. Pageable memory may change when this returns; a [`PinnedHostSlice`] waits
    /// when it is used.
    ///
    /// # Errors
    /// A status of HIP.
    ///
    /// # Panics
    /// If `dst` has fewer elements than `src`.
    ///
    /// [`PinnedHostSlice`]: super::PinnedHostSlice
    #[doc(alias("cuMemcpyHtoDAsync", "hipMemcpyHtoDAsync"))]
    #[track_caller]
    pub fn memcpy_htod<T: DeviceRepr, Src: HostSlice<T> + ?Sized, Dst: DevicePtrMut<T>>(
        self: &Arc<Self>,
        src: &Src,
        dst: &mut Dst,
    ) -> Result<(), DriverError> {
        check_sizes(src.len(), dst.len());
        self.context().bind_to_thread()?;
        if src.len() * size_of::<T>() == 0 {
            return Ok(());
        }
        // SAFETY: only the copy below uses the elements until `used` is finished.
        let (src, mut used) = unsafe { src.stream_synced_slice(self) };
        let (dst, mut written) = dst.device_ptr_mut(self);
        used.ready().and(written.ready())?;
        // SAFETY: the sizes fit; the device memory is freed in the order of its uses, and the host memory waits.
        unsafe { result::memcpy_htod_async(dst, src, self.cu_stream()) }?;
        finish(self, written, used)
    }

    /// The same as [`clone_dtoh`](Self::clone_dtoh).
    ///
    /// # Errors
    /// The errors of [`clone_dtoh`](Self::clone_dtoh).
    #[deprecated = "Use clone_dtoh"]
    pub fn memcpy_dtov<T: DeviceRepr, Src: DevicePtr<T>>(self: &Arc<Self>, src: &Src) -> Result<Vec<T>, DriverError> {
        self.clone_dtoh(src)
    }

    /// Copies device memory to a new vector.
    ///
    /// # Errors
    /// A status of HIP, or an error of the work that wrote the elements. `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` while
    /// the stream is captured: the elements would not be available.
    pub fn clone_dtoh<T: DeviceRepr, Src: DevicePtr<T>>(self: &Arc<Self>, src: &Src) -> Result<Vec<T>, DriverError> {
        let len = src.len();
        self.context().bind_to_thread()?;
        let mut elements: Vec<T> = Vec::with_capacity(len);
        if len * size_of::<T>() > 0 {
            if self.is_captured() {
                return Err(DriverError(sys::CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
            }
            let (ptr, mut read) = src.device_ptr(self);
            read.ready()?;
            // SAFETY: the vector has room for this many elements, and lives until the stream is done, which is waited for.
            unsafe {
                sys::cuMemcpyDtoHAsync_v2(elements.as_mut_ptr().cast(), ptr, len * size_of::<T>(), self.cu_stream())
            }
            .result()?;
            // Waits in any case: the copy may be in progress.
            let done = self.synchronize();
            kept(self, read.finish().and(done))?;
        }
        // SAFETY: all elements were written; `T: DeviceRepr` holds no addresses.
        unsafe { elements.set_len(len) };
        Ok(elements)
    }

    /// Copies device memory to host memory. Pageable memory contains the elements when this returns; a
    /// [`PinnedHostSlice`](super::PinnedHostSlice) waits when it is used.
    ///
    /// # Errors
    /// A status of HIP, or an error of the work that wrote the elements.
    ///
    /// # Panics
    /// If `dst` has fewer elements than `src`.
    #[doc(alias("cuMemcpyDtoHAsync", "hipMemcpyDtoHAsync"))]
    #[track_caller]
    pub fn memcpy_dtoh<T: DeviceRepr, Src: DevicePtr<T>, Dst: HostSlice<T> + ?Sized>(
        self: &Arc<Self>,
        src: &Src,
        dst: &mut Dst,
    ) -> Result<(), DriverError> {
        let len = src.len();
        check_sizes(len, dst.len());
        self.context().bind_to_thread()?;
        if len * size_of::<T>() == 0 {
            return Ok(());
        }
        let (src, mut read) = src.device_ptr(self);
        // SAFETY: only the copy below uses the elements until `used` is finished.
        let (dst, mut used) = unsafe { dst.stream_synced_mut_slice(self) };
        read.ready().and(used.ready())?;
        // SAFETY: the sizes fit; the device memory is freed in the order of its uses, and the host memory waits.
        unsafe { result::memcpy_dtoh_async(&mut dst[..len], src, self.cu_stream()) }?;
        finish(self, read, used)
    }

    /// Copies device memory, also between devices.
    ///
    /// # Errors
    /// A status of HIP.
    ///
    /// # Panics
    /// If `dst` has fewer elements than `src`.
    #[doc(alias("cuMemcpyDtoDAsync", "cuMemcpyPeerAsync", "hipMemcpyDtoDAsync"))]
    #[track_caller]
    pub fn memcpy_dtod<T, Src: DevicePtr<T>, Dst: DevicePtrMut<T>>(
        self: &Arc<Self>,
        src: &Src,
        dst: &mut Dst,
    ) -> Result<(), DriverError> {
        check_sizes(src.len(), dst.len());
        self.context().bind_to_thread()?;
        let bytes = src.num_bytes();
        if bytes == 0 {
            return Ok(());
        }
        let of_src = src.stream();
        if of_src.context() == self.context() {
            let (from, mut read) = src.device_ptr(self);
            let (to, mut written) = dst.device_ptr_mut(self);
            read.ready().and(written.ready())?;
            // SAFETY: the sizes fit; both are freed in the order of their uses.
            unsafe { result::memcpy_dtod_async(to, from, bytes, self.cu_stream()) }?;
            return finish(self, read, written);
        }
        // An event can only be recorded on streams of its own device: the read counts for the source's stream, which waits for the copy.
        let (from, mut read) = src.device_ptr(of_src);
        let (to, mut written) = dst.device_ptr_mut(self);
        read.ready().and(written.ready())?;
        self.wait(&of_src.record_event(None)?)?;
        self.context().bind_to_thread()?;
        // SAFETY: as above.
        unsafe {
            result::memcpy_peer_async(
                self.context().cu_ctx(),
                to,
                of_src.context().cu_ctx(),
                from,
                bytes,
                self.cu_stream(),
            )
        }?;
        of_src.wait(&self.record_event(None)?)?;
        finish(self, written, read)
    }

    /// Copies device memory to new memory of this stream's device.
    ///
    /// # Errors
    /// The errors of [`alloc`](Self::alloc) and [`memcpy_dtod`](Self::memcpy_dtod).
    pub fn clone_dtod<T: DeviceRepr, Src: DevicePtr<T>>(
        self: &Arc<Self>,
        src: &Src,
    ) -> Result<CudaSlice<T>, DriverError> {
        // SAFETY: the elements are set below.
        let mut dst = unsafe { self.alloc(src.len()) }?;
        self.memcpy_dtod(src, &mut dst)?;
        Ok(dst)
    }
}

/// Finishes both, and returns the first error.
fn finish(stream: &CudaStream, first: SyncOnDrop<'_>, second: SyncOnDrop<'_>) -> Result<(), DriverError> {
    let (first, second) = (first.finish(), second.finish());
    kept(stream, first.and(second))
}

/// Also keeps the error of memory that the stream may not use for `check_err`, where programs for cudarc look for it.
fn kept(stream: &CudaStream, result: Result<(), DriverError>) -> Result<(), DriverError> {
    if result == Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_PERMITTED)) {
        stream.context().record_err(result);
    }
    result
}
