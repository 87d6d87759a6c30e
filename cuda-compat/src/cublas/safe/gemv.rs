use core::ffi::c_int;

use super::sizes;
use crate::cublas::{CublasError, CudaBlas, result, sys};
use crate::driver::{DevicePtr, DevicePtrMut};

/// The arguments of [`Gemv::gemv`]: `y = alpha · op(A) · x + beta · y`.
#[derive(Debug, Copy, Clone)]
pub struct GemvConfig<T> {
    /// The operation `op`.
    pub trans: sys::cublasOperation_t,
    /// The rows of `A`.
    pub m: c_int,
    /// The columns of `A`.
    pub n: c_int,
    /// The factor of the product.
    pub alpha: T,
    /// The distance between columns of `A`.
    pub lda: c_int,
    /// The distance between elements of `x`.
    pub incx: c_int,
    /// The factor of `y`.
    pub beta: T,
    /// The distance between elements of `y`.
    pub incy: c_int,
}

/// Products of a matrix and a vector.
pub trait Gemv<T> {
    /// Queues `y = alpha · op(A) · x + beta · y`. Matrices are column-major.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE` if a size is negative, an increment is 0, or an operand has fewer elements than
    /// the configuration states.
    ///
    /// # Safety
    /// No other thread may make a call with this handle at the same time. In `CUBLAS_POINTER_MODE_DEVICE`, the call
    /// reads `alpha` and `beta` on the device, but the configuration is on the host.
    #[doc(alias("hipblasSgemv", "hipblasDgemv"))]
    unsafe fn gemv<A: DevicePtr<T>, X: DevicePtr<T>, Y: DevicePtrMut<T>>(
        &self,
        cfg: GemvConfig<T>,
        a: &A,
        x: &X,
        y: &mut Y,
    ) -> Result<(), CublasError>;
}

impl<T> GemvConfig<T> {
    /// Returns an error if operands of these lengths are too short.
    fn check(&self, a: usize, x: usize, y: usize) -> Result<(), CublasError> {
        let [m, n] = sizes::sizes([self.m, self.n])?;
        let (input, output) = if sizes::is_transposed(self.trans)? { (m, n) } else { (n, m) };
        sizes::fit([
            (a, sizes::matrix(m, n, self.lda)?),
            (x, sizes::vector(input, self.incx)?),
            (y, sizes::vector(output, self.incy)?),
        ])
    }
}

macro_rules! gemv {
    ($($ty:ty: $function:ident;)+) => {$(
        impl Gemv<$ty> for CudaBlas {
            unsafe fn gemv<A: DevicePtr<$ty>, X: DevicePtr<$ty>, Y: DevicePtrMut<$ty>>(
                &self,
                cfg: GemvConfig<$ty>,
                a: &A,
                x: &X,
                y: &mut Y,
            ) -> Result<(), CublasError> {
                cfg.check(a.len(), x.len(), y.len())?;
                let (a, a_read) = a.device_ptr(&self.stream);
                let (x, x_read) = x.device_ptr(&self.stream);
                let (y, y_written) = y.device_ptr_mut(&self.stream);
                let (a, x, y) = (a as *const _, x as *const _, y as *mut _);
                let call = || {
                    // SAFETY: operands are long enough, and the rest is the caller's contract.
                    unsafe {
                        result::$function(
                            self.handle, cfg.trans, cfg.m, cfg.n, &cfg.alpha, a, cfg.lda, x, cfg.incx, &cfg.beta, y, cfg.incy,
                        )
                    }
                };
                // SAFETY: the caller's contract.
                unsafe { self.queue([a_read, x_read, y_written], call) }
            }
        }
    )+};
}

gemv! {
    f32: sgemv;
    f64: dgemv;
}
