//! The handle and its workspace.

use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use hip::sys::hipStream_t;
use hip::{DeviceBuffer, Stream};
use hip_linalg::{Handle, Library};

use crate::raw;
use crate::{CallError, Result};

pub(crate) struct HipSparse;

impl Library for HipSparse {
    type Error = CallError;

    fn create() -> Result<*mut c_void, CallError> {
        let mut handle = ptr::null_mut::<c_void>();
        // SAFETY: the function writes a handle through a valid pointer.
        let created = unsafe { raw::hipsparseCreate((&raw mut handle).cast()) };
        created.ok(|| "a handle of the current device".to_owned())?;
        Ok(handle)
    }

    unsafe fn destroy(handle: *mut c_void) {
        // SAFETY: a handle that nothing uses any more.
        let _ = unsafe { raw::hipsparseDestroy(handle) };
    }

    unsafe fn set_stream(handle: *mut c_void, stream: hipStream_t) -> Result<(), CallError> {
        // SAFETY: a handle that is alive, and a stream of its device.
        unsafe { raw::hipsparseSetStream(handle, stream.cast()) }.ok(|| "a stream".to_owned())
    }

    unsafe fn set_pointer_mode(handle: *mut c_void, device: bool) -> Result<(), CallError> {
        // SAFETY: a handle that is alive.
        unsafe { raw::hipsparseSetPointerMode(handle, device.into()) }.ok(|| format!("on the device: {device}"))
    }
}

/// hipSPARSE on a device: its methods queue sparse linear algebra on a stream.
///
/// Methods can be called from several threads; their calls are serialized. Workspaces are kept and reused.
#[doc(alias("hipsparseHandle_t", "cusparseHandle_t", "rocsparse_handle"))]
pub struct Sparse {
    pub(crate) handle: Handle<HipSparse>,
    work: Mutex<Option<DeviceBuffer<u8>>>,
}

impl fmt::Debug for Sparse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sparse").field("stream", self.stream()).finish_non_exhaustive()
    }
}

impl Sparse {
    /// Creates a hipSPARSE handle on the stream's device. It queues its work on the stream.
    ///
    /// # Errors
    /// [`CallError::NoLibrary`], with every path that was tried.
    #[doc(alias("hipsparseCreate", "cusparseCreate"))]
    pub fn new(stream: &Stream) -> Result<Self> {
        Ok(Self { handle: Handle::new(stream)?, work: Mutex::default() })
    }

    /// Returns the stream that later calls queue their work on.
    #[must_use]
    #[doc(alias("hipsparseGetStream", "cusparseGetStream"))]
    pub fn stream(&self) -> &Stream {
        self.handle.stream()
    }

    /// Makes later calls queue their work on another stream of the device.
    ///
    /// # Errors
    /// An error from `hip` for a stream of another device.
    #[doc(alias("hipsparseSetStream", "cusparseSetStream"))]
    pub fn set_stream(&mut self, stream: &Stream) -> Result<()> {
        Ok(self.handle.set_stream(stream)?)
    }

    /// Returns the library's version: major, minor, patch; and its revision, if the library reports one.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hipsparseGetVersion", "hipsparseGetGitRevision", "cusparseGetVersion"))]
    pub fn version(&self) -> Result<((u32, u32, u32), String)> {
        let mut version = 0_i32;
        // More room than any revision needs.
        let mut revision = [0_u8; 1024];
        self.handle.configure(|handle| {
            // SAFETY: a handle that is alive; the functions write a number, and a string that is shorter than the buffer.
            unsafe {
                raw::hipsparseGetVersion(handle, (&raw mut version).cast()).ok(String::new)?;
                raw::hipsparseGetGitRevision(handle, revision.as_mut_ptr().cast()).ok(String::new)
            }
        })?;
        let version = version.unsigned_abs();
        let end = revision.iter().position(|&byte| byte == 0).unwrap_or(revision.len());
        let revision = String::from_utf8_lossy(&revision[..end]).into_owned();
        Ok(((version / 100_000, version / 100 % 1000, version % 100), revision))
    }

    /// Takes a workspace of at least this many bytes. Return it with [`put_work`](Self::put_work).
    pub(crate) fn take_work(&self, bytes: usize) -> Result<DeviceBuffer<u8>> {
        match self.work.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(work) if work.len() >= bytes => Ok(work),
            _ => self.new_work(bytes),
        }
    }

    /// Allocates a workspace of at least this many bytes for a caller that keeps it. It is never empty: with null, the
    /// library returns the size instead.
    pub(crate) fn new_work(&self, bytes: usize) -> Result<DeviceBuffer<u8>> {
        if self.stream().is_capturing()? {
            let reason = "the call allocates a workspace: make it once before the capture, or with a plan".to_owned();
            return Err(hip::Error::Capture { reason }.into());
        }
        Ok(DeviceBuffer::uninit(&self.stream().device(), bytes.max(256))?)
    }

    pub(crate) fn put_work(&self, work: DeviceBuffer<u8>) {
        let mut kept = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_none_or(|other| other.len() < work.len()) {
            *kept = Some(work);
        }
    }
}
