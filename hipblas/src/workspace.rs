//! The workspace of rocBLAS.
//!
//! rocBLAS owns a workspace for each handle, and replaces it when a call needs more: a graph that was captured before
//! would then write to freed memory. So the workspace is a buffer of [`hip`], which calls name as memory that they
//! write. When a larger one replaces it, graphs keep the old one.
//!
//! If a call needs more, rocBLAS refuses it, and queues nothing. There are two exceptions. Those calls are asked first
//! how much they need ([`asks`]), and get it beforehand:
//! - hipBLAS before 7.0 repeats some calls on its own, with memory that rocBLAS owns and frees later. Since 7.0 it
//!   no longer does.
//! - Triangular solves and inverses work with less than they need, more slowly, and return a status that hipBLAS turns
//!   into an error.
//!
//! Other calls are not asked: `scal` and `tpsv` of rocBLAS before 7.0 do their work when they are.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip::interop::wait_for_device;
use hip::sys::{self, hipStream_t};
use hip::{DeviceBuffer, DevicePtr, Stream};
use hip_linalg::Handle;
use smallvec::SmallVec;

use crate::library::HipBlas;
use crate::raw::{self, Api, HIPBLAS_STATUS_ALLOC_FAILED, HIPBLAS_STATUS_SUCCESS, hipblasStatus_t};
use crate::{Result, check};

/// The size of rocBLAS's own workspace if it does not report one.
const USUAL: usize = 32 << 20;

#[derive(Debug)]
pub(crate) struct Workspace(Mutex<DeviceBuffer<u8>>);

fn give(handle: *mut c_void, memory: &DeviceBuffer<u8>) -> Result<()> {
    let at: *mut c_void = std::ptr::with_exposed_provenance_mut(memory.as_device_ptr().address() as usize);
    // SAFETY: the handle is alive; the memory is on its device, and stays until the handle has other memory or its calls are over.
    let status = unsafe { raw::rocblas_set_workspace(handle, at, memory.len()) };
    check(status, "rocblas_set_workspace", || format!("{} bytes", memory.len()))
}

impl Workspace {
    /// Gives a new handle as much memory as the library would have allocated for it.
    pub(crate) fn new(stream: &Stream, handle: &Handle<HipBlas>) -> Result<Self> {
        let mut bytes = 0;
        handle.configure(|handle| {
            // SAFETY: a handle that is alive, and room for the size.
            let status = unsafe { raw::rocblas_get_device_memory_size(handle, &mut bytes) };
            check(status, "rocblas_get_device_memory_size", || "of a new handle".to_owned())
        })?;
        let device = stream.device();
        let memory = DeviceBuffer::uninit(&device, if bytes == 0 { USUAL } else { bytes })?;
        // The library frees its own memory.
        wait_for_device(&device, || handle.configure(|handle| give(handle, &memory)))?;
        Ok(Self(Mutex::new(memory)))
    }

    /// Locks the memory for one call.
    pub(crate) fn lock(&self) -> MutexGuard<'_, DeviceBuffer<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether calls of this function are asked how much memory they need: the calls that hipBLAS before 7.0 asks
/// about; since 7.0, only the solves and inverses among them.
fn asks(function: &str) -> bool {
    const TRIANGLES: [&str; 3] = ["trsm", "trsv", "trtri"];
    const LAPACK: [&str; 5] = ["getrf", "getrs", "getri", "geqrf", "gels"];
    let is = |routine: &&str| function.contains(*routine);
    TRIANGLES.iter().any(is) || (raw::api() < Api::V7 && LAPACK.iter().any(is))
}

/// Returns how many bytes of workspace a call needs. It queues nothing.
///
/// # Safety
/// The handle must be alive, locked, and of the current device.
unsafe fn needed(handle: *mut c_void, call: impl Fn() -> hipblasStatus_t) -> Result<usize, hipblasStatus_t> {
    let ok = |status| if status == HIPBLAS_STATUS_SUCCESS { Ok(()) } else { Err(status) };
    // SAFETY: the caller's handle.
    ok(unsafe { raw::rocblas_start_device_memory_size_query(handle) })?;
    let asked = call();
    let mut bytes = 0;
    // SAFETY: the same, and room for the size. This is called in any case: until the stop, calls do nothing.
    let stopped = unsafe { raw::rocblas_stop_device_memory_size_query(handle, &mut bytes) };
    ok(asked).and(ok(stopped)).map(|()| bytes)
}

/// Larger memory that one call got in place of the handle's workspace.
pub(crate) struct Growth {
    /// Whether the call is asked first.
    asks: bool,
    memory: SmallVec<[(usize, usize); 1]>,
    /// The call needs more than the workspace has, and its stream is being captured.
    refused: bool,
}

impl Growth {
    /// For a call of this function.
    pub(crate) fn of(function: &str) -> Self {
        Self { asks: asks(function), memory: SmallVec::new(), refused: false }
    }

    /// Makes a call with as much memory as it needs: the size that it reports if it is asked, otherwise twice the size
    /// until the library no longer reports that it is too small. The library reports that before it queues any work.
    /// While the stream is captured, the memory is not replaced.
    ///
    /// # Safety
    /// The handle must be alive, locked, and of the current device; its workspace has `bytes` bytes, and its work goes
    /// to the stream.
    pub(crate) unsafe fn call(
        &mut self,
        handle: *mut c_void,
        stream: hipStream_t,
        mut bytes: usize,
        call: impl Fn() -> hipblasStatus_t,
    ) -> hipblasStatus_t {
        if self.asks {
            // SAFETY: the caller's handle.
            match unsafe { needed(handle, &call) } {
                Err(status) => return status,
                Ok(needed) if needed > bytes => {
                    // SAFETY: the caller's handle and stream.
                    if let Err(status) = unsafe { self.enlarge(handle, stream, needed) } {
                        return status;
                    }
                }
                Ok(_) => {}
            }
            return call();
        }
        loop {
            let status = call();
            if status != HIPBLAS_STATUS_ALLOC_FAILED {
                return status;
            }
            bytes = bytes.saturating_mul(2);
            // SAFETY: the caller's handle and stream.
            if let Err(status) = unsafe { self.enlarge(handle, stream, bytes) } {
                return status;
            }
        }
    }

    /// Gives the handle this much memory, unless the stream is being captured.
    ///
    /// # Safety
    /// The requirements of [`call`](Self::call).
    unsafe fn enlarge(
        &mut self,
        handle: *mut c_void,
        stream: hipStream_t,
        bytes: usize,
    ) -> Result<(), hipblasStatus_t> {
        let (mut capture, mut memory) = (sys::hipStreamCaptureStatusNone, ptr::null_mut());
        // SAFETY: the caller's stream, and room for the state.
        let known = unsafe { sys::hipStreamIsCapturing(stream, &mut capture) };
        self.refused = known != sys::hipSuccess || capture != sys::hipStreamCaptureStatusNone;
        // SAFETY: the function writes an address through a valid pointer.
        if self.refused || unsafe { sys::hipMalloc(&mut memory, bytes) } != sys::hipSuccess {
            return Err(HIPBLAS_STATUS_ALLOC_FAILED);
        }
        // SAFETY: the caller's handle, and memory of its device, which `settle` keeps.
        let set = unsafe { raw::rocblas_set_workspace(handle, memory, bytes) };
        if set != HIPBLAS_STATUS_SUCCESS {
            // The memory is leaked: freeing it would wait for the device.
            return Err(set);
        }
        self.memory.push((memory.expose_provenance(), bytes));
        Ok(())
    }

    /// Called after the call: makes `workspace` the memory that the handle uses now. Returns the reason if the call was
    /// refused.
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
        // The first work that used it was queued without naming it.
        let waited = stream.synchronize();
        let own = |(address, bytes)| {
            let start = DevicePtr::from_address(address as u64);
            // SAFETY: `hipMalloc` allocated this memory on this device; only this code owns it, and no queued work uses it.
            unsafe { DeviceBuffer::<u8>::from_raw_parts(&stream.device(), start, bytes) }
        };
        // If the wait fails, the memory is leaked.
        waited?;
        *workspace = own((address, bytes))?;
        for unused in self.memory {
            drop(own(unused)?);
        }
        Ok(())
    }
}
