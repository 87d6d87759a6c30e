//! cuSOLVER functions that return results instead of statuses.

use core::ptr::null_mut;

use super::sys;

pub use hipsolver_sys::cuda::CusolverError;

/// Defines functions that create a handle.
macro_rules! handles {
    ($($(#[$attribute:meta])* $name:ident -> $handle:ident = $function:ident;)+) => {$(
        $(#[$attribute])*
        ///
        /// # Errors
        /// `CUSOLVER_STATUS_NOT_INITIALIZED` if hipSOLVER cannot be loaded: [`sys::load_error`] returns the reason.
        pub fn $name() -> Result<sys::$handle, CusolverError> {
            let mut handle = null_mut();
            // SAFETY: room for the result.
            unsafe { sys::$function(&mut handle) }.result()?;
            Ok(handle)
        }
    )+};
}

/// Defines functions of a handle.
macro_rules! calls {
    ($($(#[$attribute:meta])* $name:ident($first:ident: $handle:ident $(, $argument:ident: $ty:ty)*) = $function:ident;)+) => {$(
        $(#[$attribute])*
        ///
        /// # Errors
        /// If the library returns an error.
        pub unsafe fn $name($first: sys::$handle $(, $argument: $ty)*) -> Result<(), CusolverError> {
            // SAFETY: the caller's contract.
            unsafe { sys::$function($first $(, $argument)*) }.result()
        }
    )+};
}

handles! {
    /// Creates a handle for dense matrices on the current device.
    dn_create -> cusolverDnHandle_t = cusolverDnCreate;
    /// Creates parameters of the functions with 64-bit sizes.
    #[cfg(feature = "rocm-6-2")]
    dn_create_params -> cusolverDnParams_t = cusolverDnCreateParams;
    /// Creates a handle for sparse matrices on the current device.
    #[cfg(feature = "rocm-6-2")]
    sp_create -> cusolverSpHandle_t = cusolverSpCreate;
    /// Creates a handle for factorizations of sparse matrices with one pattern.
    #[cfg(feature = "rocm-6-2")]
    rf_create -> cusolverRfHandle_t = cusolverRfCreate;
}

calls! {
    /// Destroys a handle.
    ///
    /// # Safety
    /// The handle must be alive, and not used again.
    dn_destroy(handle: cusolverDnHandle_t) = cusolverDnDestroy;
    /// Sets the stream of a handle.
    ///
    /// # Safety
    /// The handle and the stream must be alive.
    dn_set_stream(handle: cusolverDnHandle_t, stream: sys::cudaStream_t) = cusolverDnSetStream;
    /// Sets whether results must be the same in each run.
    ///
    /// # Safety
    /// The handle must be alive.
    #[cfg(feature = "rocm-6-3")]
    dn_set_deterministic_mode(handle: cusolverDnHandle_t, mode: sys::cusolverDeterministicMode_t) =
        cusolverDnSetDeterministicMode;
    /// Selects an algorithm for a function.
    ///
    /// # Safety
    /// The parameters must be alive.
    #[cfg(feature = "rocm-6-2")]
    dn_set_adv_options(
        params: cusolverDnParams_t, function: sys::cusolverDnFunction_t, algo: sys::cusolverAlgMode_t
    ) = cusolverDnSetAdvOptions;
    /// Destroys parameters.
    ///
    /// # Safety
    /// They must be alive, and not used again.
    #[cfg(feature = "rocm-6-2")]
    dn_destroy_params(params: cusolverDnParams_t) = cusolverDnDestroyParams;
    /// Destroys a handle.
    ///
    /// # Safety
    /// The handle must be alive, and not used again.
    #[cfg(feature = "rocm-6-2")]
    sp_destroy(handle: cusolverSpHandle_t) = cusolverSpDestroy;
    /// Sets the stream of a handle.
    ///
    /// # Safety
    /// The handle and the stream must be alive.
    #[cfg(feature = "rocm-6-2")]
    sp_set_stream(handle: cusolverSpHandle_t, stream: sys::cudaStream_t) = cusolverSpSetStream;
    /// Destroys a handle.
    ///
    /// # Safety
    /// The handle must be alive, and not used again.
    #[cfg(feature = "rocm-6-2")]
    rf_destroy(handle: cusolverRfHandle_t) = cusolverRfDestroy;
    /// Sets how matrices are stored, and which factor has a diagonal of ones.
    ///
    /// # Safety
    /// The handle must be alive.
    #[cfg(feature = "rocm-6-2")]
    rf_set_matrix_format(
        handle: cusolverRfHandle_t, format: sys::cusolverRfMatrixFormat_t, diag: sys::cusolverRfUnitDiagonal_t
    ) = cusolverRfSetMatrixFormat;
    /// Sets which pivots count as zero, and their replacement.
    ///
    /// # Safety
    /// The handle must be alive.
    #[cfg(feature = "rocm-6-2")]
    rf_set_numeric_properties(handle: cusolverRfHandle_t, zero: f64, boost: f64) = cusolverRfSetNumericProperties;
    /// Sets whether new values are set in the fast mode, which needs more memory.
    ///
    /// # Safety
    /// The handle must be alive.
    #[cfg(feature = "rocm-6-2")]
    rf_set_reset_values_fast_mode(handle: cusolverRfHandle_t, fast_mode: sys::cusolverRfResetValuesFastMode_t) =
        cusolverRfSetResetValuesFastMode;
    /// Sets the algorithms of the factorization and of the solve.
    ///
    /// # Safety
    /// The handle must be alive.
    #[cfg(feature = "rocm-6-2")]
    rf_set_algs(
        handle: cusolverRfHandle_t, fact_alg: sys::cusolverRfFactorization_t, alg: sys::cusolverRfTriangularSolve_t
    ) = cusolverRfSetAlgs;
}

/// Returns whether results must be the same in each run.
///
/// # Errors
/// If the library returns an error.
///
/// # Safety
/// The handle must be alive.
#[cfg(feature = "rocm-6-3")]
pub unsafe fn dn_get_deterministic_mode(
    handle: sys::cusolverDnHandle_t,
) -> Result<sys::cusolverDeterministicMode_t, CusolverError> {
    let mut mode = sys::cusolverDeterministicMode_t::default();
    // SAFETY: the caller's contract, and a place for the result.
    unsafe { sys::cusolverDnGetDeterministicMode(handle, &mut mode) }.result()?;
    Ok(mode)
}
