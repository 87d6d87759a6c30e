//! The memory that rocBLAS works in.
//!
//! rocBLAS has some for each handle, and frees it for more when a call needs more: a graph that was captured before would write to memory that is
//! free. So the memory is a buffer of [`hip`], which calls name as what they write. A larger one takes its place, and graphs keep the one that they have.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip::interop::wait_for_device;
use hip::sys::{self, hipStream_t};
use hip::{DeviceBuffer, DevicePtr, Stream};
use hip_linalg::Handle;
use smallvec::SmallVec;

use crate::blas::HipBlas;
use crate::raw::{self, HIPBLAS_STATUS_ALLOC_FAILED, HIPBLAS_STATUS_SUCCESS, hipblasStatus_t};
use crate::{Result, check};

/// What rocBLAS has for a handle if it does not say how much.
const USUAL: usize = 32 << 20;

#[derive(Debug)]
pub(crate) struct Workspace(Mutex<DeviceBuffer<u8>>);

fn give(handle: *mut c_void, memory: &DeviceBuffer<u8>) -> Result<()> {
    let at: *mut c_void = std::ptr::with_exposed_provenance_mut(memory.as_device_ptr().address() as usize);
    // SAFETY: a handle that is alive, and memory of its device that stays until the handle has other memory, or its calls are over.
    let status = unsafe { raw::rocblas_set_workspace(handle, at, memory.len()) };
    check(status, "rocblas_set_workspace", || format!("{} bytes", memory.len()))
}

impl Workspace {
    /// Gives a new handle as much as the library has for it.
    pub(crate) fn new(stream: &Stream, handle: &Handle<HipBlas>) -> Result<Self> {
        let mut bytes = 0;
        handle.configure(|handle| {
            // SAFETY: a handle that is alive, and room for the size.
            let status = unsafe { raw::rocblas_get_device_memory_size(handle, &mut bytes) };
            check(status, "rocblas_get_device_memory_size", || "of a new handle".to_owned())
        })?;
        let device = stream.device();
        let memory = DeviceBuffer::uninit(&device, if bytes == 0 { USUAL } else { bytes })?;
        // The library frees what it has.
        wait_for_device(&device, || handle.configure(|handle| give(handle, &memory)))?;
        Ok(Self(Mutex::new(memory)))
    }

    /// The memory, for one call.
    pub(crate) fn lock(&self) -> MutexGuard<'_, DeviceBuffer<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The memory that one call got beside the workspace that there was.
#[derive(Default)]
pub(crate) struct Growth {
    memory: SmallVec<[(usize, usize); 1]>,
    /// The call needs more than there is, and its stream is captured.
    refused: bool,
}

impl Growth {
    /// Makes a call, and makes it again with twice the memory for as long as the library says that it has too little. It says so before it
    /// queues any work. While the stream is captured, the memory stays.
    ///
    /// # Safety
    /// The handle is alive, locked, and of the current device; its workspace has `bytes` bytes, and its work goes to the stream.
    pub(crate) unsafe fn call(
        &mut self,
        handle: *mut c_void,
        stream: hipStream_t,
        mut bytes: usize,
        call: impl Fn() -> hipblasStatus_t,
    ) -> hipblasStatus_t {
        loop {
            let status = call();
            if status != HIPBLAS_STATUS_ALLOC_FAILED {
                return status;
            }
            let (mut capture, mut memory) = (sys::hipStreamCaptureStatusNone, ptr::null_mut());
            // SAFETY: the caller's stream, and room for the state.
            let known = unsafe { sys::hipStreamIsCapturing(stream, &mut capture) };
            self.refused = known != sys::hipSuccess || capture != sys::hipStreamCaptureStatusNone;
            bytes = bytes.saturating_mul(2);
            // SAFETY: it writes an address there.
            if self.refused || unsafe { sys::hipMalloc(&mut memory, bytes) } != sys::hipSuccess {
                return status;
            }
            self.memory.push((memory.expose_provenance(), bytes));
            // SAFETY: the caller's handle, and memory of its device that is kept, by `settle`.
            let set = unsafe { raw::rocblas_set_workspace(handle, memory, bytes) };
            if set != HIPBLAS_STATUS_SUCCESS {
                return set;
            }
        }
    }

    /// After the call: has `workspace` be what the handle has now. Of a call that was refused, says why.
    pub(crate) fn settle(
        mut self,
        stream: &Stream,
        name: &'static str,
        workspace: &mut DeviceBuffer<u8>,
    ) -> Result<()> {
        if self.refused {
            let reason = format!(
                "{name} needs more workspace than the handle has, {} bytes, and a graph may have that: make a call of this size outside of the \
                 capture first",
                workspace.len()
            );
            return Err(hip::Error::Capture { reason }.into());
        }
        let Some((address, bytes)) = self.memory.pop() else { return Ok(()) };
        // Its first work was not known to use it.
        let waited = stream.synchronize();
        let own = |(address, bytes)| {
            let start = DevicePtr::from_address(address as u64);
            // SAFETY: memory of `hipMalloc` of this device, which is owned here alone, and which no queued work uses.
            unsafe { DeviceBuffer::<u8>::from_raw_parts(&stream.device(), start, bytes) }
        };
        // What is not waited for is leaked.
        waited?;
        *workspace = own((address, bytes))?;
        for unused in self.memory {
            drop(own(unused)?);
        }
        Ok(())
    }
}
