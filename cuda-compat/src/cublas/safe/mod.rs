//! cuBLAS handles, and products of vectors and matrices with buffers of [`crate::driver`].

mod asum;
mod gemm;
mod gemv;
#[cfg(feature = "rocm-6-2")]
mod grouped_gemm;
mod sizes;
mod workspace;

use std::sync::Arc;

use super::{result, sys};
use crate::driver::CudaStream;

pub use super::result::CublasError;
pub use asum::*;
pub use gemm::*;
pub use gemv::*;
#[cfg(feature = "rocm-6-2")]
pub use grouped_gemm::*;

/// The device or an operand is not usable; [`CudaContext::check_err`](crate::driver::CudaContext::check_err) returns
/// the reason.
const NOT_READY: CublasError = CublasError(sys::cublasStatus_t::CUBLAS_STATUS_EXECUTION_FAILED);

/// A cuBLAS handle on a stream.
///
/// It keeps the stream alive. Dropping it waits for the stream's work, as the library does, and frees the handle once
/// no graphs exist. While graphs exist, and in a capture, a call that needs more workspace than the handle has is
/// `CUBLAS_STATUS_ALLOC_FAILED`: the library would free memory that graphs use. Make a call of that size before.
#[derive(Debug)]
pub struct CudaBlas {
    pub(crate) handle: sys::cublasHandle_t,
    pub(crate) stream: Arc<CudaStream>,
}

// SAFETY: hipBLAS allows a handle to be used by any thread.
unsafe impl Send for CudaBlas {}
// SAFETY: safe methods read or write one word of the handle. Calls that use more of it are unsafe, and their callers ensure that they are
// serialized.
unsafe impl Sync for CudaBlas {}

impl CudaBlas {
    /// Creates a handle on the device of a stream, which runs its work.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_NOT_INITIALIZED` if hipBLAS cannot be loaded: [`sys::load_error`] returns the reason.
    #[doc(alias("hipblasCreate", "hipblasSetStream"))]
    pub fn new(stream: Arc<CudaStream>) -> Result<Self, CublasError> {
        let handle = stream.context().create_apart(NOT_READY, result::create_handle)?;
        let blas = Self { handle, stream };
        // SAFETY: both are alive.
        unsafe { result::set_stream(blas.handle, blas.stream.cu_stream() as _) }?;
        Ok(blas)
    }

    /// Returns the handle.
    pub fn handle(&self) -> &sys::cublasHandle_t {
        &self.handle
    }

    /// Moves the handle to another stream of the same device.
    ///
    /// # Errors
    /// If the library returns an error.
    ///
    /// # Safety
    /// The caller must order work on both streams that uses the same memory.
    #[doc(alias("hipblasSetStream"))]
    pub unsafe fn set_stream(&mut self, stream: Arc<CudaStream>) -> Result<(), CublasError> {
        self.stream = stream;
        // SAFETY: both are alive.
        unsafe { result::set_stream(self.handle, self.stream.cu_stream() as _) }
    }

    /// Sets where scalars and results of reductions are: on the host, which is the default, or on the device.
    ///
    /// # Errors
    /// If the library returns an error.
    #[doc(alias("hipblasSetPointerMode"))]
    pub fn set_pointer_mode(&self, pointer_mode: sys::cublasPointerMode_t) -> Result<(), CublasError> {
        // SAFETY: the handle is alive.
        unsafe { sys::cublasSetPointerMode_v2(self.handle, pointer_mode) }.result()
    }

    /// Returns where scalars and results of reductions are.
    ///
    /// # Errors
    /// If the library returns an error.
    #[doc(alias("hipblasGetPointerMode"))]
    pub fn get_pointer_mode(&self) -> Result<sys::cublasPointerMode_t, CublasError> {
        let mut mode = sys::cublasPointerMode_t::default();
        // SAFETY: the handle is alive, and there is room for the result.
        unsafe { sys::cublasGetPointerMode_v2(self.handle, &mut mode) }.result()?;
        Ok(mode)
    }
}

impl Drop for CudaBlas {
    fn drop(&mut self) {
        let (stream, handle) = (Arc::clone(&self.stream), crate::driver::safe::Shared(self.handle));
        self.stream.context().destroy_apart_after_graphs(move || {
            // If it fails, its context keeps the reason.
            let _ = stream.context().make_current(());
            // A handle that the library does not destroy is leaked: a panic in `drop` could end the process.
            // SAFETY: it is alive, and not used again.
            let _ = unsafe { result::destroy_handle(handle.get()) };
        });
    }
}
