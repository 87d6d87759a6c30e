//! Mixed precision: separate types for the elements, the scalars and the computation.

use std::ffi::c_void;

use half::{bf16, f16};
use hip::interop::Element;
use hip::{DeviceSliceMut, IntoSliceMut};
use hip_linalg::{Batch, IntoMatrix, IntoMatrixMut, IntoScalar, IntoVector, IntoVectorMut, Lowered, Scalar, VectorRef};
use num_complex::{Complex32, Complex64};

use crate::call::{Call, invalid};
use crate::level2::output;
use crate::level3::product_fits;
use crate::raw::{self, Api};
use crate::{Blas, Result};

/// How a mixed-precision product is computed. α and β have the same type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compute {
    /// In the type of the scalars: 32-bit floats for `f32`.
    Default,
    /// As [`Default`](Self::Default), but without faster methods that round differently. Since ROCm 6.2.
    Pedantic,
    /// With inputs of `f32` rounded to `f16`, if the library supports it. Since ROCm 6.2.
    FastF16,
    /// With inputs of `f32` rounded to `bf16`, if the library supports it. Since ROCm 6.2.
    FastBf16,
    /// With inputs of `f32` rounded to TF32, if the library supports it. Since ROCm 6.2.
    FastTf32,
}

/// Type combinations that [`Blas::gemm_ex`] supports: inputs of `Self`, an output of `C`, scalars and computation of
/// `S`.
pub trait ExTypes<C, S>: Element {}

macro_rules! ex_types {
    ($($a:ty, $c:ty, $s:ty;)*) => {$(impl ExTypes<$c, $s> for $a {})*};
}

ex_types! {
    f16, f16, f16;
    f16, f16, f32;
    f16, f32, f32;
    bf16, bf16, f32;
    bf16, f32, f32;
    f32, f32, f32;
    f64, f64, f64;
    Complex32, Complex32, Complex32;
    Complex64, Complex64, Complex64;
    i8, i32, i32;
}

/// Type combinations that the mixed-precision vector operations support: elements of `Self`, computation in `E`.
pub trait VectorEx<E>: Scalar {}

macro_rules! vector_ex {
    ($($t:ty, $e:ty;)*) => {$(impl VectorEx<$e> for $t {})*};
}

vector_ex! {
    f16, f32;
    bf16, f32;
    f16, f16;
    f32, f32;
    f64, f64;
    Complex32, Complex32;
    Complex64, Complex64;
}

/// Scalar and element types that [`Blas::scal_ex`] supports together.
pub trait ScalEx<A>: Scalar {
    /// The type of the computation.
    type Execution: Element;
}

macro_rules! scal_ex {
    ($($t:ty, $a:ty, $e:ty;)*) => {$(impl ScalEx<$a> for $t { type Execution = $e; })*};
}

scal_ex! {
    f16, f16, f32;
    f16, f32, f32;
    bf16, bf16, f32;
    bf16, f32, f32;
    f32, f32, f32;
    f64, f64, f64;
    Complex32, Complex32, Complex32;
    Complex64, Complex64, Complex64;
    Complex32, f32, Complex32;
    Complex64, f64, Complex64;
}

/// Returns the library's code for a type: `hipDataType`, or `hipblasDatatype_t` in releases that know only that.
fn type_code<T: Element>() -> u32 {
    let code = T::HIP_DATA_TYPE.0;
    if raw::api() != Api::V5 {
        return code;
    }
    match code {
        2 => 150,  // HIP_R_16F
        0 => 151,  // HIP_R_32F
        1 => 152,  // HIP_R_64F
        4 => 154,  // HIP_C_32F
        5 => 155,  // HIP_C_64F
        3 => 160,  // HIP_R_8I
        10 => 162, // HIP_R_32I
        14 => 168, // HIP_R_16BF
        _ => 255,  // HIPBLAS_DATATYPE_INVALID
    }
}

/// Returns the library's code for a computation in `S`.
fn compute_code<S: Element>(compute: Compute) -> Result<u32> {
    if raw::api() == Api::V5 {
        if compute != Compute::Default && raw::load_error().is_none() {
            let allowed = "the default: other ways are in ROCm 6.2 and newer";
            return Err(invalid("the way to compute", format!("{compute:?}"), allowed));
        }
        return Ok(type_code::<S>());
    }
    let base = match S::HIP_DATA_TYPE.0 {
        2 => 0,     // HIPBLAS_COMPUTE_16F
        0 | 4 => 2, // HIPBLAS_COMPUTE_32F
        1 | 5 => 7, // HIPBLAS_COMPUTE_64F
        _ => 9,     // HIPBLAS_COMPUTE_32I
    };
    match compute {
        Compute::Default => Ok(base),
        Compute::Pedantic => Ok(base + 1),
        _ if base != 2 => Err(invalid("the way to compute", format!("{compute:?}"), "one for 32-bit floats")),
        Compute::FastF16 => Ok(4),
        Compute::FastBf16 => Ok(5),
        Compute::FastTf32 => Ok(6),
    }
}

/// Mixed precision.
impl Blas {
    /// C ← α A B + β C, with inputs of type `A`, an output of type `C`, and scalars and computation of type `S`.
    ///
    /// Machine learning programs use `f16` and `bf16` with an `S` of `f32`, and `i8` with `i32`. [`ExTypes`] lists the
    /// combinations.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) as [`gemm`](Self::gemm), and for a `compute` that the types or the
    /// release do not support.
    #[doc(alias("hipblasGemmEx", "hipblasGemmBatchedEx", "hipblasGemmStridedBatchedEx", "hipblasGemmEx_v2"))]
    #[doc(alias("cublasGemmEx", "cublasGemmBatchedEx", "cublasGemmStridedBatchedEx", "rocblas_gemm_ex"))]
    pub fn gemm_ex<'a, A: ExTypes<C, S>, C: Scalar, S: Scalar>(
        &'a self,
        compute: Compute,
        alpha: impl IntoScalar<'a, S>,
        a: impl IntoMatrix<'a, A>,
        b: impl IntoMatrix<'a, A>,
        beta: impl IntoScalar<'a, S>,
        c: impl IntoMatrixMut<'a, C>,
    ) -> Result<()> {
        let (a, b, c) = (a.into(), b.into(), c.into());
        let mut call = self.start("gemm_ex", [("A", (&a).into()), ("B", (&b).into()), ("C", (&c).into())]);
        product_fits(&call, &a, &b, &c)?;
        let (a, b, c) = if output(&c)? { (b.t(), a.t(), c.t()) } else { (a, b, c) };
        let (ta, tb) = (a.op().code::<C>("A")?, b.op().code::<C>("B")?);
        let compute = compute_code::<S>(compute)?;
        let (input, out) = (type_code::<A>(), type_code::<C>());
        let (m, n, k) = (call.size(c.rows()), call.size(c.cols()), call.size(a.cols()));
        let factors = [call.factor("alpha", alpha)?, call.factor("beta", beta)?];
        let (a, b, c) = (call.matrix("A", &a)?, call.matrix("B", &b)?, call.matrix_mut("C", c)?);
        // HIPBLAS_GEMM_DEFAULT: hipBLAS has no other algorithm.
        const DEFAULT: u32 = 160;
        call.run(raw::GEMM_EX().forms(), factors, |[alpha, beta]| {
            raw::gemm_ex(ta, tb, m, n, k, alpha, (a, input), (b, input), beta, (c, out), compute, DEFAULT)
        })
    }

    /// y ← α x + y, computed in `E`, which is also the type of α.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for vectors of different lengths.
    #[doc(alias("hipblasAxpyEx", "hipblasAxpyBatchedEx", "hipblasAxpyStridedBatchedEx", "cublasAxpyEx"))]
    pub fn axpy_ex<'a, T: VectorEx<E>, E: Scalar>(
        &'a self,
        alpha: impl IntoScalar<'a, E>,
        x: impl IntoVector<'a, T>,
        y: impl IntoVectorMut<'a, T>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let mut call = self.start("axpy_ex", [("x", (&x).into()), ("y", (&y).into())]);
        call.fits("the length of y", y.len(), x.len(), "as x")?;
        let (element, execution) = (type_code::<T>(), type_code::<E>());
        let n = call.size(x.len());
        let alpha = call.factor("alpha", alpha)?;
        let (x, y) = (call.vector("x", &x)?, call.vector_mut("y", y)?);
        call.run(raw::AXPY_EX().forms(), [alpha], |[alpha]| {
            raw::axpy_ex(n, alpha, execution, (x, element), (y, element), execution)
        })
    }

    /// x ← α x, with a factor of another type.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hipblasScalEx", "hipblasScalBatchedEx", "hipblasScalStridedBatchedEx", "cublasScalEx"))]
    pub fn scal_ex<'a, T: ScalEx<A>, A: Scalar>(
        &'a self,
        alpha: impl IntoScalar<'a, A>,
        x: impl IntoVectorMut<'a, T>,
    ) -> Result<()> {
        let x = x.into().forward();
        let (element, factor, execution) = (type_code::<T>(), type_code::<A>(), type_code::<T::Execution>());
        let mut call = self.start("scal_ex", [("x", (&x).into())]);
        let n = call.size(x.len());
        let alpha = call.factor("alpha", alpha)?;
        let x = call.vector_mut("x", x)?;
        call.run(raw::SCAL_EX().forms(), [alpha], |[alpha]| raw::scal_ex(n, alpha, factor, (x, element), execution))
    }

    /// Writes xᵀ y to device memory, computed in `E`: one number for each member of a batch.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for vectors of different lengths, and if `out` is too short.
    #[doc(alias("hipblasDotEx", "hipblasDotBatchedEx", "hipblasDotStridedBatchedEx", "cublasDotEx"))]
    pub fn dot_ex<'a, T: VectorEx<E>, E: Scalar>(
        &'a self,
        x: impl IntoVector<'a, T>,
        y: impl IntoVector<'a, T>,
        out: impl IntoSliceMut<'a, T>,
    ) -> Result<()> {
        self.dot_of::<T, E>(x.into(), y.into(), out.into(), false)
    }

    /// Writes xᴴ y to device memory, computed in `E`: one number for each member of a batch.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for vectors of different lengths, and if `out` is too short.
    #[doc(alias("hipblasDotcEx", "hipblasDotcBatchedEx", "hipblasDotcStridedBatchedEx", "cublasDotcEx"))]
    pub fn dotc_ex<'a, T: VectorEx<E>, E: Scalar>(
        &'a self,
        x: impl IntoVector<'a, T>,
        y: impl IntoVector<'a, T>,
        out: impl IntoSliceMut<'a, T>,
    ) -> Result<()> {
        self.dot_of::<T, E>(x.into(), y.into(), out.into(), true)
    }

    fn dot_of<'a, T: VectorEx<E>, E: Scalar>(
        &'a self,
        x: VectorRef<'a, T>,
        y: VectorRef<'a, T>,
        out: DeviceSliceMut<'a, T>,
        conjugated: bool,
    ) -> Result<()> {
        let mut call =
            self.start(if conjugated { "dotc_ex" } else { "dot_ex" }, [("x", (&x).into()), ("y", (&y).into())]);
        call.fits("the length of y", y.len(), x.len(), "as x")?;
        let batch = if x.batch_size() == Batch::One { y.batch_size() } else { x.batch_size() };
        long_enough(&call, out.len(), batch)?;
        let (element, execution) = (type_code::<T>(), type_code::<E>());
        let n = call.size(x.len());
        let (x, y) = (call.vector("x", &x)?, call.vector("y", &y)?);
        let out = call.operands().slice_mut("the results", out)?.cast_const();
        let (x, y): (Typed, Typed) = ((x, element), (y, element));
        if conjugated {
            return call.run_into(raw::DOTC_EX().forms(), raw::dotc_ex(n, x, y, out, element, execution));
        }
        call.run_into(raw::DOT_EX().forms(), raw::dot_ex(n, x, y, out, element, execution))
    }

    /// Writes the Euclidean norm to device memory, computed in `E`: one number for each member of a batch.
    ///
    /// The library adds squares in `E` without scaling: nonzero elements must be from about 1e-19 to 1e19 in single
    /// precision, and from 1e-154 to 1e154 in double precision.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if `out` is too short.
    #[doc(alias("hipblasNrm2Ex", "hipblasNrm2BatchedEx", "hipblasNrm2StridedBatchedEx", "cublasNrm2Ex"))]
    pub fn nrm2_ex<'a, T: VectorEx<E>, E: Scalar>(
        &'a self,
        x: impl IntoVector<'a, T>,
        out: impl IntoSliceMut<'a, T::Real>,
    ) -> Result<()> {
        let (x, out) = (x.into().forward(), out.into());
        let mut call = self.start("nrm2_ex", [("x", (&x).into())]);
        long_enough(&call, out.len(), x.batch_size())?;
        let (element, real, execution) = (type_code::<T>(), type_code::<T::Real>(), type_code::<E::Real>());
        let n = call.size(x.len());
        let x = call.vector("x", &x)?;
        let out = call.operands().slice_mut("the results", out)?.cast_const();
        call.run_into(raw::NRM2_EX().forms(), raw::nrm2_ex(n, (x, element), out, real, execution))
    }

    /// x ← c x + s y, y ← c y − conj(s) x, computed in `E`, with c and s of the vectors' type.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for vectors of different lengths.
    #[doc(alias("hipblasRotEx", "hipblasRotBatchedEx", "hipblasRotStridedBatchedEx", "cublasRotEx"))]
    pub fn rot_ex<'a, T: VectorEx<E>, E: Scalar>(
        &'a self,
        x: impl IntoVectorMut<'a, T>,
        y: impl IntoVectorMut<'a, T>,
        c: impl IntoScalar<'a, T>,
        s: impl IntoScalar<'a, T>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let mut call = self.start("rot_ex", [("x", (&x).into()), ("y", (&y).into())]);
        call.fits("the length of y", y.len(), x.len(), "as x")?;
        let (element, execution) = (type_code::<T>(), type_code::<E>());
        let n = call.size(x.len());
        let factors = [call.factor("c", c)?, call.factor("s", s)?];
        let (x, y) = (call.vector_mut("x", x)?, call.vector_mut("y", y)?);
        let (x, y): (Typed, Typed) = ((x, element), (y, element));
        call.run(raw::ROT_EX().forms(), factors, |[c, s]| rot(n, x, y, c, s, element, execution))
    }
}

type Typed = (Lowered, u32);

fn rot(
    n: i64,
    x: Typed,
    y: Typed,
    c: *const c_void,
    s: *const c_void,
    element: u32,
    execution: u32,
) -> impl FnOnce(std::ptr::NonNull<c_void>, hip_linalg::Form, *mut c_void) -> raw::hipblasStatus_t + Clone {
    raw::rot_ex(n, x, y, c, s, element, execution)
}

fn long_enough(call: &Call<'_>, len: usize, batch: Batch) -> Result<()> {
    let needed = match batch {
        Batch::One => 1,
        Batch::Strided(count) | Batch::Pointers(count) => count,
    };
    if len < needed {
        return Err(call.misfit("the memory of the results", len.to_string(), format!("at least {needed} elements")));
    }
    Ok(())
}
