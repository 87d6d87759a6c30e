//! The workspace of rocBLAS, which hipBLAS is built on. rocBLAS replaces it when a call needs more, and a graph that
//! was captured before would then use freed memory.

use core::ffi::c_void;
use core::ptr::NonNull;

use super::NOT_READY;
use crate::cublas::{CublasError, CudaBlas, sys};
use crate::driver::SyncOnDrop;
use crate::driver::safe::between;

/// A function of rocBLAS that takes a handle.
type OfHandle = unsafe extern "C" fn(sys::cublasHandle_t) -> sys::cublasStatus_t;
/// A function of rocBLAS that writes a size.
type Size = unsafe extern "C" fn(sys::cublasHandle_t, *mut usize) -> sys::cublasStatus_t;

/// The rocBLAS functions that return how much memory calls need. hipBLAS shares its handles and its success status.
struct Query {
    has: Size,
    start: OfHandle,
    stop: Size,
}

impl Query {
    /// Returns `None` if the library is built on something else.
    fn find() -> Option<Self> {
        let find = |name| hipblas_sys::BINDING.symbol(name).map(NonNull::as_ptr);
        let has = find(c"rocblas_get_device_memory_size")?;
        let start = find(c"rocblas_start_device_memory_size_query")?;
        let stop = find(c"rocblas_stop_device_memory_size_query")?;
        // SAFETY: the C signature of `rocblas_get_device_memory_size` since ROCm 3.0.
        let has = unsafe { core::mem::transmute::<*mut c_void, Size>(has) };
        // SAFETY: the C signature of `rocblas_start_device_memory_size_query`.
        let start = unsafe { core::mem::transmute::<*mut c_void, OfHandle>(start) };
        // SAFETY: the C signature of `rocblas_stop_device_memory_size_query`.
        let stop = unsafe { core::mem::transmute::<*mut c_void, Size>(stop) };
        Some(Self { has, start, stop })
    }
}

impl CudaBlas {
    /// Makes a call between the guards of its operands. While graphs exist, it returns an error if the call needs more
    /// workspace than the handle has.
    ///
    /// # Safety
    /// No other thread may make a call with the handle at the same time.
    pub(super) unsafe fn queue<const N: usize>(
        &self,
        used: [SyncOnDrop<'_>; N],
        mut call: impl FnMut() -> Result<(), CublasError>,
    ) -> Result<(), CublasError> {
        between(NOT_READY, self.stream.context(), used, || {
            if self.stream.context().has_graphs() {
                // SAFETY: the caller's contract.
                unsafe { self.has_workspace_for(&mut call) }?;
            }
            call()
        })
    }

    /// # Safety
    /// The requirements of [`queue`](Self::queue).
    unsafe fn has_workspace_for(&self, call: impl FnOnce() -> Result<(), CublasError>) -> Result<(), CublasError> {
        let Some(query) = Query::find() else { return Ok(()) };
        let (mut has, mut needs) = (0, 0);
        // SAFETY: the handle is alive, and there is room for the result.
        unsafe { (query.has)(self.handle, &mut has) }.result()?;
        // SAFETY: the handle is alive. Until the stop, products and sums only compute how much memory they need.
        unsafe { (query.start)(self.handle) }.result()?;
        let asked = call();
        // SAFETY: as above.
        unsafe { (query.stop)(self.handle, &mut needs) }.result()?;
        asked?;
        if needs > has { Err(CublasError(sys::cublasStatus_t::CUBLAS_STATUS_ALLOC_FAILED)) } else { Ok(()) }
    }
}
