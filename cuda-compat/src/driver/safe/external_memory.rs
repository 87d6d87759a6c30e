//! Memory from other interfaces, such as Vulkan.

#[cfg(unix)]
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use super::usage::{not_captured, sealed::Sealed};
use super::waits::free;
use super::{CudaContext, CudaEvent, CudaStream, DevicePtr, DeviceSlice, DriverError, SyncOnDrop};
use crate::driver::{result, sys};

/// Imported memory.
#[derive(Debug)]
pub struct ExternalMemory {
    raw: sys::CUexternalMemory,
    size: u64,
    context: Arc<CudaContext>,
}

impl Drop for ExternalMemory {
    fn drop(&mut self) {
        self.context.record_err(self.context.bind_to_thread());
        // SAFETY: this value owns the memory, and no buffer of it is left.
        self.context.record_err(unsafe { result::external_memory::destroy_external_memory(self.raw) });
    }
}

impl CudaContext {
    /// Imports memory by an opaque file descriptor, which HIP then owns.
    ///
    /// # Errors
    /// A status of HIP; the file is then closed.
    ///
    /// # Safety
    /// `file` must be such a descriptor, of memory of this size in bytes.
    #[cfg(unix)]
    #[doc(alias("cuImportExternalMemory", "hipImportExternalMemory"))]
    pub unsafe fn import_external_memory(
        self: &Arc<Self>,
        file: File,
        size: u64,
    ) -> Result<ExternalMemory, DriverError> {
        use std::os::fd::{AsRawFd, IntoRawFd};
        self.bind_to_thread()?;
        // SAFETY: the caller's contract.
        let raw = unsafe { result::external_memory::import_external_memory_opaque_fd(file.as_raw_fd(), size) }?;
        let _of_hip = file.into_raw_fd();
        Ok(ExternalMemory { raw, size, context: Arc::clone(self) })
    }
}

impl ExternalMemory {
    /// Maps all of the memory.
    ///
    /// # Errors
    /// The errors of [`map_range`](Self::map_range).
    pub fn map_all(self) -> Result<MappedBuffer, DriverError> {
        let size = usize::try_from(self.size).map_err(|_| DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE))?;
        self.map_range(0..size)
    }

    /// Maps a range of the memory, in bytes.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for a range outside the memory; a status of HIP.
    #[doc(alias("cuExternalMemoryGetMappedBuffer", "hipExternalMemoryGetMappedBuffer"))]
    pub fn map_range(self, range: Range<usize>) -> Result<MappedBuffer, DriverError> {
        if range.start > range.end || range.end as u64 > self.size {
            return Err(DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE));
        }
        self.context.bind_to_thread()?;
        let (stream, event) = (self.context.default_stream(), self.context.new_event(None)?);
        let (start, len) = (range.start as u64, range.len());
        // SAFETY: the memory is imported, and the range within it.
        let ptr = unsafe { result::external_memory::get_mapped_buffer(self.raw, start, len as u64) }?;
        Ok(MappedBuffer { ptr, len, event, stream, memory: self })
    }
}

/// A range of imported memory that devices can read.
#[derive(Debug)]
pub struct MappedBuffer {
    ptr: sys::CUdeviceptr,
    len: usize,
    /// The last use by a device.
    event: CudaEvent,
    stream: Arc<CudaStream>,
    /// Dropped after the buffer.
    memory: ExternalMemory,
}

impl Drop for MappedBuffer {
    fn drop(&mut self) {
        let context = &self.memory.context;
        context.record_err(self.event.synchronize());
        // SAFETY: this value owns the buffer, and no device uses it any more.
        context.record_err(free(|| unsafe { result::memory_free(self.ptr) }));
    }
}

impl Sealed for MappedBuffer {}

impl DeviceSlice<u8> for MappedBuffer {
    fn len(&self) -> usize {
        self.len
    }

    fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }
}

impl DevicePtr<u8> for MappedBuffer {
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        if stream.is_captured() {
            // Graphs do not keep it.
            return (0, SyncOnDrop::failed(not_captured(), stream));
        }
        (self.ptr, SyncOnDrop::always(&self.event, stream))
    }
}
