use core::ffi::c_int;

use super::sizes;
use crate::cublas::{CublasError, CudaBlas, result, sys};
use crate::driver::DevicePtr;

/// The arguments of [`Asum::asum`].
#[derive(Debug, Copy, Clone)]
pub struct AsumConfig {
    /// The number of elements.
    pub n: c_int,
    /// The distance between elements. If it is not positive, the sum is 0.
    pub incx: c_int,
}

/// Sums of absolute values.
pub trait Asum<T> {
    /// Writes the sum of the absolute values of the elements of `x` to `result`, and waits for it.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE` if `x` has fewer elements than the configuration states;
    /// `CUBLAS_STATUS_NOT_SUPPORTED` for a result on the host while the stream is captured: the graph would write to it
    /// later.
    ///
    /// # Safety
    /// No other thread may make a call with this handle at the same time. In `CUBLAS_POINTER_MODE_DEVICE`, `result`
    /// must be device memory.
    #[doc(alias("hipblasSasum", "hipblasDasum"))]
    unsafe fn asum<X: DevicePtr<T>>(&self, cfg: AsumConfig, x: &X, result: &mut T) -> Result<(), CublasError>;
}

macro_rules! asum {
    ($($ty:ty: $function:ident;)+) => {$(
        impl Asum<$ty> for CudaBlas {
            unsafe fn asum<X: DevicePtr<$ty>>(
                &self,
                cfg: AsumConfig,
                x: &X,
                result: &mut $ty,
            ) -> Result<(), CublasError> {
                if cfg.n > 0 && cfg.incx > 0 {
                    let [n] = sizes::sizes([cfg.n])?;
                    sizes::fit([(x.len(), sizes::vector(n, cfg.incx)?)])?;
                }
                let on_host = self.get_pointer_mode()? == sys::cublasPointerMode_t::CUBLAS_POINTER_MODE_HOST;
                if on_host && self.stream.is_captured() {
                    return Err(CublasError(sys::cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED));
                }
                let (x, x_read) = x.device_ptr(&self.stream);
                let call = || {
                    // SAFETY: the operand is long enough, and the rest is the caller's contract.
                    unsafe { result::$function(self.handle, cfg.n, x as *const _, cfg.incx, &mut *result) }
                };
                // SAFETY: the caller's contract.
                unsafe { self.queue([x_read], call) }
            }
        }
    )+};
}

asum! {
    f32: sasum;
    f64: dasum;
}
