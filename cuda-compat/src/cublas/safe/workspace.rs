//! The memory that rocBLAS, which hipBLAS is over, works in. rocBLAS frees it for more when a call needs more, and a graph that was captured before
//! would use what is free.

use core::ffi::c_void;
use core::ptr::NonNull;

use super::NOT_READY;
use crate::cublas::{CublasError, CudaBlas, sys};
use crate::driver::SyncOnDrop;
use crate::driver::safe::between;

/// A function of rocBLAS, of a handle.
type OfHandle = unsafe extern "C" fn(sys::cublasHandle_t) -> sys::cublasStatus_t;
/// One that writes a size.
type Size = unsafe extern "C" fn(sys::cublasHandle_t, *mut usize) -> sys::cublasStatus_t;

/// How rocBLAS says how much memory calls need. Its handles are those of hipBLAS, and so is the status of success.
struct Query {
    has: Size,
    start: OfHandle,
    stop: Size,
}

impl Query {
    /// `None` if the library is over something else.
    fn find() -> Option<Self> {
        let find = |name| hipblas_sys::BINDING.symbol(name).map(NonNull::as_ptr);
        let has = find(c"rocblas_get_device_memory_size")?;
        let start = find(c"rocblas_start_device_memory_size_query")?;
        let stop = find(c"rocblas_stop_device_memory_size_query")?;
        // SAFETY: the C signature of `rocblas_get_device_memory_size` since ROCm 3.0.
        let has = unsafe { core::mem::transmute::<*mut c_void, Size>(has) };
        // SAFETY: that of `rocblas_start_device_memory_size_query`.
        let start = unsafe { core::mem::transmute::<*mut c_void, OfHandle>(start) };
        // SAFETY: that of `rocblas_stop_device_memory_size_query`.
        let stop = unsafe { core::mem::transmute::<*mut c_void, Size>(stop) };
        Some(Self { has, start, stop })
    }
}

impl CudaBlas {
    /// Makes a call between the guards of its operands. While there are graphs, it is refused if it needs more workspace than the handle has.
    ///
    /// # Safety
    /// No other thread makes a call with the handle.
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
    /// That of [`queue`](Self::queue).
    unsafe fn has_workspace_for(&self, call: impl FnOnce() -> Result<(), CublasError>) -> Result<(), CublasError> {
        let Some(query) = Query::find() else { return Ok(()) };
        let (mut has, mut needs) = (0, 0);
        // SAFETY: the handle is alive, and there is a place for the result.
        unsafe { (query.has)(self.handle, &mut has) }.result()?;
        // SAFETY: the handle is alive. Until the stop, products and sums count what they need, and do nothing else.
        unsafe { (query.start)(self.handle) }.result()?;
        let asked = call();
        // SAFETY: as above.
        unsafe { (query.stop)(self.handle, &mut needs) }.result()?;
        asked?;
        if needs > has { Err(CublasError(sys::cublasStatus_t::CUBLAS_STATUS_ALLOC_FAILED)) } else { Ok(()) }
    }
}
