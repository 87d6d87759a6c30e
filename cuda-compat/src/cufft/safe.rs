//! Fourier transforms with buffers of [`crate::driver`].

use core::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError};

use super::{result, sys};
use crate::driver::safe::between;
use crate::driver::{CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, ValidAsZeroBits};

pub use super::result::CufftError;

// SAFETY: two floats in C's layout.
unsafe impl DeviceRepr for sys::float2 {}
// SAFETY: zeros are floats.
unsafe impl ValidAsZeroBits for sys::float2 {}
// SAFETY: two floats in C's layout.
unsafe impl DeviceRepr for sys::double2 {}
// SAFETY: zeros are floats.
unsafe impl ValidAsZeroBits for sys::double2 {}

const INVALID_SIZE: CufftError = CufftError(sys::cufftResult::CUFFT_INVALID_SIZE);
/// A buffer is not usable; [`CudaContext::check_err`](crate::driver::CudaContext::check_err) returns the reason.
const NOT_READY: CufftError = CufftError(sys::cufftResult::CUFFT_EXEC_FAILED);
const INVALID_TYPE: CufftError = CufftError(sys::cufftResult::CUFFT_INVALID_TYPE);

/// The direction of a complex transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FftDirection {
    /// Sums with `exp(−2πi jk/n)`.
    Forward = -1,
    /// Sums with `exp(2πi jk/n)`, not divided by `n`.
    Inverse = 1,
}

/// A cuFFT plan on a stream.
#[derive(Debug)]
pub struct CudaFft {
    pub(crate) handle: sys::cufftHandle,
    pub(crate) stream: Arc<CudaStream>,
    sizes: Sizes,
    /// Held during a call: hipFFT does not document that several threads may use a plan at once.
    turn: Mutex<()>,
}

// SAFETY: hipFFT allows a plan to be used by any thread.
unsafe impl Send for CudaFft {}
// SAFETY: the lock serializes calls; the stream orders their use of the workspace.
unsafe impl Sync for CudaFft {}

/// The number of elements that a plan's transforms read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sizes {
    ty: sys::cufftType,
    input: u128,
    output: u128,
}

/// The positions of the points of one side of a transform.
struct Side<'a> {
    embed: Option<&'a [c_int]>,
    stride: c_int,
    distance: c_int,
}

impl Side<'_> {
    const CONTIGUOUS: Self = Side { embed: None, stride: 1, distance: 0 };

    /// Returns the number of elements from the first to the last, for `batch` arrays with `points` in each dimension.
    fn span(&self, points: &[u128], batch: u128) -> Result<u128, CufftError> {
        let Some(embed) = self.embed else { return Ok(points.iter().product::<u128>() * batch) };
        if embed.len() != points.len() {
            return Err(INVALID_SIZE);
        }
        let positive = |number: c_int| u128::try_from(number).ok().filter(|&number| number > 0).ok_or(INVALID_SIZE);
        let (mut step, mut last) = (positive(self.stride)?, 0);
        for (dimension, &points) in points.iter().enumerate().rev() {
            last += (points - 1) * step;
            if dimension > 0 {
                step *= positive(embed[dimension])?;
            }
        }
        if batch > 1 {
            last += (batch - 1) * positive(self.distance)?;
        }
        Ok(last + 1)
    }
}

impl Sizes {
    /// Sizes of `batch` transforms with `n` points in each dimension.
    fn new(
        n: &[c_int],
        ty: sys::cufftType,
        batch: c_int,
        input: &Side<'_>,
        output: &Side<'_>,
    ) -> Result<Self, CufftError> {
        if n.is_empty() || n.len() > 3 || n.iter().any(|&n| n < 1) || batch < 1 {
            return Err(INVALID_SIZE);
        }
        let points: Vec<u128> = n.iter().map(|&n| n.unsigned_abs().into()).collect();
        let mut halved = points.clone();
        if let Some(last) = halved.last_mut() {
            *last = *last / 2 + 1;
        }
        let (from, to) = match ty {
            sys::cufftType::CUFFT_R2C | sys::cufftType::CUFFT_D2Z => (&points, &halved),
            sys::cufftType::CUFFT_C2R | sys::cufftType::CUFFT_Z2D => (&halved, &points),
            sys::cufftType::CUFFT_C2C | sys::cufftType::CUFFT_Z2Z => (&points, &points),
            _ => return Err(INVALID_TYPE),
        };
        let batch = batch.unsigned_abs().into();
        Ok(Self { ty, input: input.span(from, batch)?, output: output.span(to, batch)? })
    }

    /// Returns an error for a transform of another type, and for buffers that are too short.
    fn check(&self, ty: sys::cufftType, input: usize, output: usize) -> Result<(), CufftError> {
        if ty != self.ty {
            return Err(INVALID_TYPE);
        }
        match (input as u128) < self.input || (output as u128) < self.output {
            true => Err(INVALID_SIZE),
            false => Ok(()),
        }
    }
}

impl CudaFft {
    /// Creates a plan on a stream. `make` returns the handle.
    fn new(
        sizes: Result<Sizes, CufftError>,
        stream: Arc<CudaStream>,
        make: impl FnOnce() -> Result<sys::cufftHandle, CufftError>,
    ) -> Result<Self, CufftError> {
        let sizes = sizes?;
        let handle = stream.context().create_apart(NOT_READY, make)?;
        let plan = Self { handle, stream, sizes, turn: Mutex::new(()) };
        // SAFETY: both are alive.
        unsafe { result::set_stream(plan.handle, plan.stream.cu_stream() as _) }?;
        Ok(plan)
    }

    /// Makes a plan of `batch` contiguous transforms of `nx` points.
    ///
    /// # Errors
    /// `CUFFT_INVALID_SIZE` if a size is not positive; an error if hipFFT cannot be loaded, which [`sys::load_error`]
    /// explains.
    #[doc(alias("hipfftPlan1d"))]
    pub fn plan_1d(nx: i32, type_: sys::cufftType, batch: i32, stream: Arc<CudaStream>) -> Result<Self, CufftError> {
        let sizes = Sizes::new(&[nx], type_, batch, &Side::CONTIGUOUS, &Side::CONTIGUOUS);
        Self::new(sizes, stream, || result::plan_1d(nx, type_, batch))
    }

    /// Makes a plan of a transform of `nx` × `ny` points; those along `ny` are contiguous.
    ///
    /// # Errors
    /// As for [`plan_1d`](Self::plan_1d).
    #[doc(alias("hipfftPlan2d"))]
    pub fn plan_2d(nx: i32, ny: i32, type_: sys::cufftType, stream: Arc<CudaStream>) -> Result<Self, CufftError> {
        let sizes = Sizes::new(&[nx, ny], type_, 1, &Side::CONTIGUOUS, &Side::CONTIGUOUS);
        Self::new(sizes, stream, || result::plan_2d(nx, ny, type_))
    }

    /// Makes a plan of a transform of `nx` × `ny` × `nz` points; those along `nz` are contiguous.
    ///
    /// # Errors
    /// As for [`plan_1d`](Self::plan_1d).
    #[doc(alias("hipfftPlan3d"))]
    pub fn plan_3d(
        nx: i32,
        ny: i32,
        nz: i32,
        type_: sys::cufftType,
        stream: Arc<CudaStream>,
    ) -> Result<Self, CufftError> {
        let sizes = Sizes::new(&[nx, ny, nz], type_, 1, &Side::CONTIGUOUS, &Side::CONTIGUOUS);
        Self::new(sizes, stream, || result::plan_3d(nx, ny, nz, type_))
    }

    /// Makes a plan of `batch` transforms with `n` points in each of one to three dimensions.
    ///
    /// With `inembed` and `onembed`, points are part of arrays with these dimensions: neighbours in the last dimension
    /// are a stride apart, and arrays a distance. Without them, points are contiguous, and strides and distances are
    /// ignored.
    ///
    /// # Errors
    /// `CUFFT_INVALID_SIZE` if there are no dimensions or more than three, if a size, stride or distance is not
    /// positive, if only one of `inembed` and `onembed` is given, or if one does not have an entry for each dimension.
    #[allow(clippy::too_many_arguments, reason = "cudarc's")]
    #[doc(alias("hipfftPlanMany"))]
    pub fn plan_many(
        n: &[c_int],
        inembed: Option<&[c_int]>,
        istride: i32,
        idist: i32,
        onembed: Option<&[c_int]>,
        ostride: i32,
        odist: i32,
        type_: sys::cufftType,
        batch: i32,
        stream: Arc<CudaStream>,
    ) -> Result<Self, CufftError> {
        if inembed.is_some() != onembed.is_some() {
            return Err(INVALID_SIZE);
        }
        let input = Side { embed: inembed, stride: istride, distance: idist };
        let output = Side { embed: onembed, stride: ostride, distance: odist };
        let sizes = Sizes::new(n, type_, batch, &input, &output);
        // The library does not write to the arrays.
        let pointer = |embed: Option<&[c_int]>| embed.map_or(std::ptr::null_mut(), |embed| embed.as_ptr().cast_mut());
        let (n_pointer, rank) = (n.as_ptr().cast_mut(), n.len() as c_int);
        let (from, to) = (pointer(inembed), pointer(onembed));
        Self::new(sizes, stream, || {
            // SAFETY: arrays with an entry for each dimension, which was checked.
            unsafe { result::plan_many(rank, n_pointer, from, istride, idist, to, ostride, odist, type_, batch) }
        })
    }

    /// Returns the handle.
    pub fn handle(&self) -> sys::cufftHandle {
        self.handle
    }

    /// Moves the plan to another stream of the same device.
    ///
    /// # Errors
    /// If the library returns an error.
    ///
    /// # Safety
    /// The caller must order work on both streams: the plan's workspace is memory that both use.
    #[doc(alias("hipfftSetStream"))]
    pub unsafe fn set_stream(&mut self, stream: Arc<CudaStream>) -> Result<(), CufftError> {
        self.stream = stream;
        // SAFETY: both are alive.
        unsafe { result::set_stream(self.handle, self.stream.cu_stream() as _) }
    }
}

/// Defines transforms. A forward transform of real numbers does not change its input.
macro_rules! transforms {
    ($($(#[$attribute:meta])* $name:ident: $ty:ident, $source:ident, $input:ty [$($in_mut:tt)?], $output:ty $(, $direction:ident)?;)+) => {
        impl CudaFft {$(
            $(#[$attribute])*
            ///
            /// # Errors
            /// `CUFFT_INVALID_TYPE` if the plan is of another type, `CUFFT_INVALID_SIZE` if a buffer is shorter than
            /// the plan needs.
            pub fn $name<Src: $source<$input>, Dst: DevicePtrMut<$output>>(
                &self,
                input: &$($in_mut)? Src,
                output: &mut Dst
                $(, $direction: FftDirection)?
            ) -> Result<(), CufftError> {
                self.sizes.check(sys::cufftType::$ty, input.len(), output.len())?;
                let (from, read) = transforms!(@pointer input, self, $($in_mut)?);
                let (to, written) = output.device_ptr_mut(&self.stream);
                between(NOT_READY, self.stream.context(), [read, written], || {
                    let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
                    // SAFETY: the plan is alive, and the buffers have the elements that it reads and writes.
                    unsafe { result::$name(self.handle, from as *mut _, to as *mut _ $(, $direction as c_int)?) }
                })
            }
        )+}
    };
    (@pointer $input:ident, $self:ident, mut) => { $input.device_ptr_mut(&$self.stream) };
    (@pointer $input:ident, $self:ident,) => { $input.device_ptr(&$self.stream) };
}

transforms! {
    /// Queues a forward transform of real numbers in single precision.
    exec_r2c: CUFFT_R2C, DevicePtr, f32 [], sys::float2;
    /// Queues an inverse transform to real numbers in single precision. The library may overwrite the input.
    exec_c2r: CUFFT_C2R, DevicePtrMut, sys::float2 [mut], f32;
    /// Queues a complex transform in single precision.
    exec_c2c: CUFFT_C2C, DevicePtrMut, sys::float2 [mut], sys::float2, direction;
    /// Queues a forward transform of real numbers in double precision.
    exec_d2z: CUFFT_D2Z, DevicePtr, f64 [], sys::double2;
    /// Queues an inverse transform to real numbers in double precision. The library may overwrite the input.
    exec_z2d: CUFFT_Z2D, DevicePtrMut, sys::double2 [mut], f64;
    /// Queues a complex transform in double precision.
    exec_z2z: CUFFT_Z2Z, DevicePtrMut, sys::double2 [mut], sys::double2, direction;
}

impl Drop for CudaFft {
    fn drop(&mut self) {
        let (stream, handle) = (Arc::clone(&self.stream), crate::driver::safe::Shared(self.handle));
        self.stream.context().destroy_apart_after_graphs(move || {
            // If it fails, its context keeps the reason.
            let _ = stream.context().make_current(());
            // A plan that the library does not destroy is leaked: a panic in `drop` could end the process.
            // SAFETY: it is alive, and not used again.
            let _ = unsafe { result::destroy(handle.get()) };
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(n: &[c_int], ty: sys::cufftType, batch: c_int) -> Result<(u128, u128), CufftError> {
        let sizes = Sizes::new(n, ty, batch, &Side::CONTIGUOUS, &Side::CONTIGUOUS)?;
        Ok((sizes.input, sizes.output))
    }

    #[test]
    fn the_complex_side_of_a_real_transform_is_halved() {
        assert_eq!(sizes(&[8], sys::cufftType::CUFFT_R2C, 3), Ok((24, 15)));
        assert_eq!(sizes(&[4, 7], sys::cufftType::CUFFT_Z2D, 1), Ok((16, 28)));
        assert_eq!(sizes(&[2, 3, 4], sys::cufftType::CUFFT_Z2Z, 1), Ok((24, 24)));
    }

    #[test]
    fn spans_of_spaced_points_end_with_the_last_one() {
        let side = Side { embed: Some(&[9, 10]), stride: 2, distance: 300 };
        // The last point of the last array: 2 · 20 + 4 · 2 after its first one.
        assert_eq!(side.span(&[3, 5], 2), Ok(300 + 40 + 8 + 1));
        assert_eq!(side.span(&[3], 2), Err(INVALID_SIZE));
        let none = Side { embed: Some(&[9, 10]), stride: 0, distance: 300 };
        assert_eq!(none.span(&[3, 5], 2), Err(INVALID_SIZE));
    }

    #[test]
    fn what_cannot_be_a_size_is_refused() {
        for n in [&[][..], &[0], &[4, -1], &[2, 2, 2, 2]] {
            assert_eq!(sizes(n, sys::cufftType::CUFFT_C2C, 1), Err(INVALID_SIZE), "{n:?}");
        }
        assert_eq!(sizes(&[4], sys::cufftType::CUFFT_C2C, 0), Err(INVALID_SIZE));
        assert_eq!(sizes(&[4], sys::cufftType(3), 1), Err(INVALID_TYPE));
        assert!(sizes(&[c_int::MAX; 3], sys::cufftType::CUFFT_C2C, c_int::MAX).is_ok());
    }
}
