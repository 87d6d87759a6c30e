//! cuSPARSE functions that return results instead of statuses.

use core::ptr::null_mut;

use super::sys;

pub use hipsparse_sys::cuda::CusparseError;

/// Creates a handle on the current device.
///
/// # Errors
/// `CUSPARSE_STATUS_NOT_INITIALIZED` if hipSPARSE cannot be loaded: [`sys::load_error`] returns the reason.
#[doc(alias("hipsparseCreate"))]
pub fn create() -> Result<sys::cusparseHandle_t, CusparseError> {
    let mut handle = null_mut();
    // SAFETY: room for the result.
    unsafe { sys::cusparseCreate(&mut handle) }.result()?;
    Ok(handle)
}

/// Destroys a handle.
///
/// # Errors
/// If the library returns an error.
///
/// # Safety
/// The handle must be alive, and not used again.
#[doc(alias("hipsparseDestroy"))]
pub unsafe fn destroy(handle: sys::cusparseHandle_t) -> Result<(), CusparseError> {
    // SAFETY: the caller's contract.
    unsafe { sys::cusparseDestroy(handle) }.result()
}
