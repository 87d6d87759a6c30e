//! cuSOLVER handles.

use std::sync::Arc;

use super::{result, sys};
use crate::driver::CudaStream;

pub use super::result::CusolverError;

/// The device cannot be made current; [`CudaContext::check_err`](crate::driver::CudaContext::check_err) returns the
/// reason.
const NOT_READY: CusolverError = CusolverError(sys::cusolverStatus_t::CUSOLVER_STATUS_EXECUTION_FAILED);

/// Defines a handle on a stream.
macro_rules! handles {
    ($($(#[$attribute:meta])* $name:ident, $handle:ident, $create:ident, $set_stream:ident, $destroy:ident, $hip:literal;)+) => {$(
        $(#[$attribute])*
        #[derive(Debug)]
        pub struct $name {
            handle: sys::$handle,
            stream: Arc<CudaStream>,
        }

        // SAFETY: hipSOLVER allows a handle to be used by any thread.
        unsafe impl Send for $name {}
        // SAFETY: calls on it are raw, and their callers ensure their contract.
        unsafe impl Sync for $name {}

        impl $name {
            /// Creates a handle on the device of a stream, which runs its work.
            ///
            /// # Errors
            /// `CUSOLVER_STATUS_NOT_INITIALIZED` if hipSOLVER cannot be loaded: [`sys::load_error`] returns the reason.
            #[doc(alias($hip))]
            pub fn new(stream: Arc<CudaStream>) -> Result<Self, CusolverError> {
                let handle = stream.context().create_apart(NOT_READY, result::$create)?;
                let made = Self { handle, stream };
                // SAFETY: both are alive.
                unsafe { result::$set_stream(made.handle, made.stream.cu_stream() as _) }?;
                Ok(made)
            }

            /// Returns the handle.
            pub fn cu(&self) -> sys::$handle {
                self.handle
            }

            /// Returns the stream.
            pub fn stream(&self) -> &Arc<CudaStream> {
                &self.stream
            }

            /// Moves the handle to another stream of the same device.
            ///
            /// # Errors
            /// If the library returns an error.
            ///
            /// # Safety
            /// The caller must order work on both streams that uses the same memory.
            pub unsafe fn set_stream(&mut self, stream: Arc<CudaStream>) -> Result<(), CusolverError> {
                self.stream = stream;
                // SAFETY: both are alive.
                unsafe { result::$set_stream(self.handle, self.stream.cu_stream() as _) }
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                let (stream, handle) = (Arc::clone(&self.stream), crate::driver::safe::Shared(self.handle));
                self.stream.context().destroy_apart_after_graphs(move || {
                    // If it fails, its context keeps the reason.
                    let _ = stream.context().make_current(());
                    // A handle that the library does not destroy is leaked: a panic in `drop` could end the process.
                    // SAFETY: it is alive, and not used again.
                    let _ = unsafe { result::$destroy(handle.get()) };
                });
            }
        }
    )+};
}

handles! {
    #[doc = "A handle for dense matrices."]
    DnHandle, cusolverDnHandle_t, dn_create, dn_set_stream, dn_destroy, "hipsolverDnCreate";
}

#[cfg(feature = "rocm-6-2")]
handles! {
    #[doc = "A handle for sparse matrices. hipSOLVER makes one only where it finds CHOLMOD: else it is `CUSOLVER_STATUS_NOT_SUPPORTED`."]
    SpHandle, cusolverSpHandle_t, sp_create, sp_set_stream, sp_destroy, "hipsolverSpCreate";
}

#[cfg(feature = "rocm-6-3")]
impl DnHandle {
    /// Sets whether results must be the same in each run.
    ///
    /// # Errors
    /// If the library returns an error.
    #[doc(alias("hipsolverDnSetDeterministicMode"))]
    pub fn set_deterministic_mode(&self, mode: sys::cusolverDeterministicMode_t) -> Result<(), CusolverError> {
        // SAFETY: the handle is alive.
        unsafe { result::dn_set_deterministic_mode(self.handle, mode) }
    }

    /// Returns whether results must be the same in each run.
    ///
    /// # Panics
    /// If the library lacks the function: it was added after ROCm 6.2.
    #[doc(alias("hipsolverDnGetDeterministicMode"))]
    pub fn get_deterministic_mode(&self) -> sys::cusolverDeterministicMode_t {
        // SAFETY: the handle is alive.
        unsafe { result::dn_get_deterministic_mode(self.handle) }
            .unwrap_or_else(|error| panic!("hipsolverDnGetDeterministicMode: {error}"))
    }
}

/// Parameters of the functions with 64-bit sizes.
#[cfg(feature = "rocm-6-2")]
#[derive(Debug)]
pub struct DnParams {
    params: sys::cusolverDnParams_t,
}

#[cfg(feature = "rocm-6-2")]
impl DnParams {
    /// Creates parameters with an algorithm for a function. `CUSOLVER_ALG_0` is the library's choice.
    ///
    /// # Errors
    /// If the library does not support the algorithm: hipSOLVER of ROCm 7.2 only supports `CUSOLVER_ALG_0`.
    #[doc(alias("hipsolverDnCreateParams", "hipsolverDnSetAdvOptions"))]
    pub fn new(function: sys::cusolverDnFunction_t, algo: sys::cusolverAlgMode_t) -> Result<Self, CusolverError> {
        let made = Self { params: result::dn_create_params()? };
        // SAFETY: they are alive.
        match unsafe { result::dn_set_adv_options(made.params, function, algo) } {
            // This is the parameters' default.
            Err(CusolverError(sys::cusolverStatus_t::CUSOLVER_STATUS_NOT_SUPPORTED))
                if algo == sys::cusolverAlgMode_t::CUSOLVER_ALG_0 => {}
            other => other?,
        }
        Ok(made)
    }

    /// Returns the parameters.
    pub fn cu(&self) -> sys::cusolverDnParams_t {
        self.params
    }
}

#[cfg(feature = "rocm-6-2")]
impl Drop for DnParams {
    fn drop(&mut self) {
        // Parameters that the library does not destroy are leaked: a panic in `drop` could end the process.
        // SAFETY: they are alive, and not used again.
        let _ = unsafe { result::dn_destroy_params(self.params) };
    }
}

/// A handle for factorizations of sparse matrices with one pattern.
#[cfg(feature = "rocm-6-2")]
#[derive(Debug)]
pub struct RfHandle {
    handle: sys::cusolverRfHandle_t,
}

// SAFETY: hipSOLVER allows a handle to be used by any thread.
#[cfg(feature = "rocm-6-2")]
unsafe impl Send for RfHandle {}
// SAFETY: each method sets one word; other calls are raw, and their callers ensure their contract.
#[cfg(feature = "rocm-6-2")]
unsafe impl Sync for RfHandle {}

#[cfg(feature = "rocm-6-2")]
impl RfHandle {
    /// Creates a handle on the current device.
    ///
    /// # Errors
    /// `CUSOLVER_STATUS_NOT_INITIALIZED` if hipSOLVER cannot be loaded: [`sys::load_error`] returns the reason.
    #[doc(alias("hipsolverRfCreate"))]
    pub fn new() -> Result<Self, CusolverError> {
        Ok(Self { handle: result::rf_create()? })
    }

    /// Returns the handle.
    pub fn cu(&self) -> sys::cusolverRfHandle_t {
        self.handle
    }
}

/// Defines settings, which return no error in cudarc.
macro_rules! settings {
    ($($(#[$attribute:meta])* $name:ident($($argument:ident: $ty:ty),*) = $function:ident;)+) => {
        #[cfg(feature = "rocm-6-2")]
        impl RfHandle {$(
            $(#[$attribute])*
            ///
            /// # Panics
            /// If the library returns an error: hipSOLVER of ROCm 7.2 has one format and one algorithm, and no
            /// settings.
            pub fn $name(&self, $($argument: $ty),*) {
                // SAFETY: the handle is alive.
                if let Err(error) = unsafe { result::$function(self.handle, $($argument),*) } {
                    panic!(concat!("cuSOLVER refuses ", stringify!($name), ": {}"), error);
                }
            }
        )+}
    };
}

settings! {
    /// Sets how matrices are stored, and which factor has a diagonal of ones.
    #[doc(alias("hipsolverRfSetMatrixFormat"))]
    set_matrix_format(format: sys::cusolverRfMatrixFormat_t, diag: sys::cusolverRfUnitDiagonal_t) = rf_set_matrix_format;
    /// Sets which pivots count as zero, and their replacement.
    #[doc(alias("hipsolverRfSetNumericProperties"))]
    set_numeric_properties(zero: f64, boost: f64) = rf_set_numeric_properties;
    /// Sets whether new values are set in the fast mode, which needs more memory.
    #[doc(alias("hipsolverRfSetResetValuesFastMode"))]
    set_reset_values_fast_mode(fast_mode: sys::cusolverRfResetValuesFastMode_t) = rf_set_reset_values_fast_mode;
    /// Sets the algorithms of the factorization and of the solve.
    #[doc(alias("hipsolverRfSetAlgs"))]
    set_algs(fact_alg: sys::cusolverRfFactorization_t, alg: sys::cusolverRfTriangularSolve_t) = rf_set_algs;
}

#[cfg(feature = "rocm-6-2")]
impl Drop for RfHandle {
    fn drop(&mut self) {
        // A handle that the library does not destroy is leaked: a panic in `drop` could end the process.
        // SAFETY: it is alive, and not used again.
        let _ = unsafe { result::rf_destroy(self.handle) };
    }
}
