//! The memory that rocBLAS works in.
//!
//! rocBLAS has some for each handle, and frees it for more when a call needs more: a graph that was captured before would write to memory that is
//! free. So the memory is a buffer of [`hip`], which calls name as what they write. A larger one takes its place, and graphs keep the one that they have.
//!
//! Where a call needs more, rocBLAS refuses it, and queues nothing. There are two exceptions, whose calls are asked first how much they need
//! ([`asks`]), and get it beforehand:
//! - hipBLAS before 7.0 makes some calls again by itself, with memory that rocBLAS owns and frees later. Since then it has no function for that.
//! - Solves and inverses of triangles do with less than they need, more slowly, and return a status of which hipBLAS makes an error.
//!
//! No other calls are asked: `scal` and `tpsv` of rocBLAS before 7.0 do their work when they are.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip::interop::wait_for_device;
use hip::sys::{self, hipStream_t};
use hip::{DeviceBuffer, DevicePtr, Stream};
use hip_linalg::Handle;
use smallvec::SmallVec;

use crate::blas::HipBlas;
use crate::raw::{self, Api, HIPBLAS_STATUS_ALLOC_FAILED, HIPBLAS_STATUS_SUCCESS, hipblasStatus_t};
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

/// Whether calls of this function are asked how much they need: those that hipBLAS before 7.0 asks, and of these the solves and inverses since.
fn asks(function: &str) -> bool {
    const TRIANGLES: [&str; 3] = ["trsm", "trsv", "trtri"];
    const LAPACK: [&str; 5] = ["getrf", "getrs", "getri", "geqrf", "gels"];
    let is = |routine: &&str| function.contains(*routine);
    TRIANGLES.iter().any(is) || (raw::api() < Api::V7 && LAPACK.iter().any(is))
}

/// How many bytes of workspace a call needs. It queues nothing.
///
/// # Safety
/// The handle is alive, locked, and of the current device.
unsafe fn needed(handle: *mut c_void, call: impl Fn() -> hipblasStatus_t) -> Result<usize, hipblasStatus_t> {
    let ok = |status| if status == HIPBLAS_STATUS_SUCCESS { Ok(()) } else { Err(status) };
    // SAFETY: the caller's handle.
    ok(unsafe { raw::rocblas_start_device_memory_size_query(handle) })?;
    let asked = call();
    let mut bytes = 0;
    // SAFETY: the same, and room for the size. In any case: until then, calls do nothing.
    let stopped = unsafe { raw::rocblas_stop_device_memory_size_query(handle, &mut bytes) };
    ok(asked).and(ok(stopped)).map(|()| bytes)
}

/// The memory that one call got beside the workspace that there was.
pub(crate) struct Growth {
    /// Whether the call is asked first.
    asks: bool,
    memory: SmallVec<[(usize, usize); 1]>,
    /// The call needs more than there is, and its stream is captured.
    refused: bool,
}

impl Growth {
    /// Of a call of this function.
    pub(crate) fn of(function: &str) -> Self {
        Self { asks: asks(function), memory: SmallVec::new(), refused: false }
    }

    /// Makes a call with as much memory as it needs: what it says if it is asked, else twice as much for as long as the library says that it has too
    /// little. It says so before it queues any work. While the stream is captured, the memory stays.
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

    /// Gives the handle so much memory, unless the stream is captured.
    ///
    /// # Safety
    /// That of [`call`](Self::call).
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
        // SAFETY: it writes an address there.
        if self.refused || unsafe { sys::hipMalloc(&mut memory, bytes) } != sys::hipSuccess {
            return Err(HIPBLAS_STATUS_ALLOC_FAILED);
        }
        // SAFETY: the caller's handle, and memory of its device that is kept, by `settle`.
        let set = unsafe { raw::rocblas_set_workspace(handle, memory, bytes) };
        if set != HIPBLAS_STATUS_SUCCESS {
            // It is leaked: to free it would wait for the device.
            return Err(set);
        }
        self.memory.push((memory.expose_provenance(), bytes));
        Ok(())
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
