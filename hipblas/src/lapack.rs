//! The routines of LAPACK that hipBLAS has. The crate `hipsolver` has more, with typed errors.

use std::ffi::c_int;

use hip::{DeviceSliceMut, IntoSliceMut};
use hip_linalg::{Batch, IntoMatrix, IntoMatrixMut, IntoVectorMut, Lowered, MatrixMut, Pivots, Scalar};

use crate::call::{Call, invalid};
use crate::raw::{self, *};
use crate::{Blas, Result};

fn as_stored<T: Scalar>(what: &'static str, matrix: &MatrixMut<'_, T>) -> Result<()> {
    let op = matrix.op();
    if op.transposed || (op.conjugated && T::COMPLEX) {
        return Err(invalid(what, format!("{op:?} in memory"), "as it is in memory, column-major"));
    }
    Ok(())
}

fn count(batch: Batch) -> usize {
    match batch {
        Batch::One => 1,
        Batch::Strided(count) | Batch::Pointers(count) => count,
    }
}

/// Names the pivots of matrices of this order: the pivots of each matrix follow those of the previous one.
fn pivots_of<'a>(call: &mut Call<'a>, pivots: &'a Pivots, order: usize, members: usize) -> Result<Lowered> {
    check_pivots(call, pivots, order, members)?;
    let pointer = call.operands().slice("the pivots", pivots.as_slice())?.cast_mut();
    Ok(Lowered { pointer, step: 1, stride: order as i64 })
}

fn check_pivots(call: &Call<'_>, pivots: &Pivots, order: usize, members: usize) -> Result<()> {
    call.fits("the members of the pivots", pivots.members(), members, "as A")?;
    call.fits("the pivots", pivots.len(), order, "the order of A")?;
    call.fits("the rows of the pivots", pivots.rows(), order, "the order of A")
}

fn info<'a>(call: &mut Call<'a>, info: DeviceSliceMut<'a, c_int>, members: usize) -> Result<*const std::ffi::c_void> {
    if info.len() < members {
        return Err(call.misfit("the length of info", info.len().to_string(), format!("at least {members}")));
    }
    Ok(call.operands().slice_mut("info", info)?.cast_const())
}

/// LAPACK.
impl Blas {
    /// Factors a square matrix or a batch: P A = L U. A is overwritten with U and with L without its unit diagonal. For
    /// each matrix, `info` receives 0, or the index, from 1, of the first zero pivot.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the shapes do not fit, or A is row-major;
    /// `HIPBLAS_STATUS_NOT_SUPPORTED` if hipBLAS was built without rocSOLVER.
    #[doc(alias(
        "hipblasSgetrf",
        "hipblasDgetrf",
        "hipblasCgetrf",
        "hipblasZgetrf",
        "cublasSgetrfBatched",
        "cublasDgetrfBatched",
        "cublasCgetrfBatched",
        "cublasZgetrfBatched"
    ))]
    pub fn getrf<'a, T: Getrf>(
        &'a self,
        a: impl IntoMatrixMut<'a, T>,
        pivots: &'a mut Pivots,
        info: impl IntoSliceMut<'a, c_int>,
    ) -> Result<()> {
        let a = a.into();
        let mut call = self.start("getrf", [("A", (&a).into())]);
        as_stored("A", &a)?;
        call.fits("the columns of A", a.cols(), a.rows(), "its rows")?;
        let (order, members) = (a.rows(), count(a.batch_size()));
        check_pivots(&call, pivots, order, members)?;
        let n = call.size(order);
        let a = call.matrix_mut("A", a)?;
        // SAFETY: the library writes row indices of A there.
        let pointer = call.operands().slice_mut("the pivots", unsafe { pivots.as_slice_mut() })?;
        let pivots = Lowered { pointer, step: 1, stride: n };
        let info = self::info(&mut call, info.into(), members)?;
        call.run(T::forms(), [], |[]| raw::getrf(n, a, pivots, info))
    }

    /// Solves A X = B with the factors from [`getrf`](Self::getrf); with `a.t()` or `a.h()`, for the transpose of A. B
    /// is overwritten with X.
    ///
    /// # Errors
    /// As [`getrf`](Self::getrf).
    #[doc(alias(
        "hipblasSgetrs",
        "hipblasDgetrs",
        "hipblasCgetrs",
        "hipblasZgetrs",
        "cublasSgetrsBatched",
        "cublasDgetrsBatched",
        "cublasCgetrsBatched",
        "cublasZgetrsBatched"
    ))]
    pub fn getrs<'a, T: Getrs>(
        &'a self,
        a: impl IntoMatrix<'a, T>,
        pivots: &'a Pivots,
        b: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        let (a, b) = (a.into(), b.into());
        let mut call = self.start("getrs", [("A", (&a).into()), ("B", (&b).into())]);
        as_stored("B", &b)?;
        call.fits("the columns of A", a.cols(), a.rows(), "its rows")?;
        call.fits("the rows of B", b.rows(), a.rows(), "the order of A")?;
        let op = a.op().code::<T>("A")?;
        let (order, members) = (a.rows(), count(b.batch_size()));
        let (n, nrhs) = (call.size(order), call.size(b.cols()));
        let pivots = pivots_of(&mut call, pivots, order, members)?;
        let (a, b) = (call.matrix("A", &a)?, call.matrix_mut("B", b)?);
        // Status of the arguments, which were checked: written during the call.
        let mut info: c_int = 0;
        let info = (&raw mut info).cast_const().cast();
        call.run(T::forms(), [], |[]| raw::getrs(op, n, nrhs, a, pivots, b, info))
    }

    /// Writes the inverses of a batch of pointers, from the factors from [`getrf`](Self::getrf). For each matrix,
    /// `info` receives 0, or the index, from 1, of a zero pivot.
    ///
    /// # Errors
    /// As [`getrf`](Self::getrf); also if an operand is not a batch of pointers.
    #[doc(alias(
        "hipblasSgetri",
        "hipblasDgetri",
        "hipblasCgetri",
        "hipblasZgetri",
        "cublasSgetriBatched",
        "cublasDgetriBatched",
        "cublasCgetriBatched",
        "cublasZgetriBatched"
    ))]
    pub fn getri<'a, T: Getri>(
        &'a self,
        a: impl IntoMatrix<'a, T>,
        pivots: &'a Pivots,
        inverse: impl IntoMatrixMut<'a, T>,
        info: impl IntoSliceMut<'a, c_int>,
    ) -> Result<()> {
        let (a, inverse) = (a.into(), inverse.into());
        let mut call = self.start("getri", [("A", (&a).into()), ("the inverse", (&inverse).into())]);
        as_stored("the inverse", &inverse)?;
        if a.op().code::<T>("A")? != 111 {
            return Err(invalid("A", format!("{:?} in memory", a.op()), "as it is in memory, column-major"));
        }
        let Batch::Pointers(members) = a.batch_size() else {
            return Err(invalid("A", format!("{:?}", a.batch_size()), "a batch of pointers: the library has no other"));
        };
        let order = a.rows();
        call.fits("the columns of A", a.cols(), order, "its rows")?;
        call.fits("the rows of the inverse", inverse.rows(), order, "as A")?;
        call.fits("the columns of the inverse", inverse.cols(), order, "as A")?;
        let n = call.size(order);
        let pivots = pivots_of(&mut call, pivots, order, members)?;
        let (a, inverse) = (call.matrix("A", &a)?, call.matrix_mut("the inverse", inverse)?);
        let info = self::info(&mut call, info.into(), members)?;
        call.run(T::forms(), [], |[]| raw::getri(n, a, pivots, inverse, info))
    }

    /// Factors a matrix of any shape or a batch: A = Q R. A is overwritten with R; its part below the diagonal,
    /// together with `tau`, represents Q.
    ///
    /// The library adds squares of elements without scaling. The largest element of each column must be from about
    /// 1e-18 to 1e18 in single precision and from 1e-150 to 1e150 in double precision, or the column must be 0.
    /// Otherwise the factors may be wrong.
    ///
    /// # Errors
    /// As [`getrf`](Self::getrf); also unless `tau` has as many elements as the smaller dimension of A, contiguous.
    #[doc(alias(
        "hipblasSgeqrf",
        "hipblasDgeqrf",
        "hipblasCgeqrf",
        "hipblasZgeqrf",
        "cublasSgeqrfBatched",
        "cublasDgeqrfBatched",
        "cublasCgeqrfBatched",
        "cublasZgeqrfBatched"
    ))]
    pub fn geqrf<'a, T: Geqrf>(&'a self, a: impl IntoMatrixMut<'a, T>, tau: impl IntoVectorMut<'a, T>) -> Result<()> {
        let (a, tau) = (a.into(), tau.into());
        let mut call = self.start("geqrf", [("A", (&a).into()), ("tau", (&tau).into())]);
        as_stored("A", &a)?;
        call.fits("the length of tau", tau.len(), a.rows().min(a.cols()), "the smaller side of A")?;
        if tau.increment() != 1 {
            return Err(invalid("the increment of tau", tau.increment().to_string(), "1"));
        }
        let (m, n) = (call.size(a.rows()), call.size(a.cols()));
        let (a, tau) = (call.matrix_mut("A", a)?, call.vector_mut("tau", tau)?);
        let mut info: c_int = 0;
        let info = (&raw mut info).cast_const().cast();
        call.run(T::forms(), [], |[]| raw::geqrf(m, n, a, tau, info))
    }

    /// Computes the X that minimizes ‖B − A X‖, or the smallest X with A X = B if A has fewer rows than columns.
    /// B has as many rows as the larger dimension of A; its first rows are overwritten with X. With `transposed`, this
    /// solves for the (conjugate) transpose of A. A is overwritten. For each matrix, `info` receives 0, or the index,
    /// from 1, of a zero diagonal element of the triangular factor.
    ///
    /// The elements of A must be in the range that [`geqrf`](Self::geqrf) names.
    ///
    /// # Errors
    /// As [`getrf`](Self::getrf).
    #[doc(alias(
        "hipblasSgels",
        "hipblasDgels",
        "hipblasCgels",
        "hipblasZgels",
        "cublasSgelsBatched",
        "cublasDgelsBatched",
        "cublasCgelsBatched",
        "cublasZgelsBatched"
    ))]
    pub fn gels<'a, T: Gels>(
        &'a self,
        transposed: bool,
        a: impl IntoMatrixMut<'a, T>,
        b: impl IntoMatrixMut<'a, T>,
        info: impl IntoSliceMut<'a, c_int>,
    ) -> Result<()> {
        let (a, b) = (a.into(), b.into());
        let mut call = self.start("gels", [("A", (&a).into()), ("B", (&b).into())]);
        as_stored("A", &a)?;
        as_stored("B", &b)?;
        call.fits("the rows of B", b.rows(), a.rows().max(a.cols()), "the longer side of A")?;
        let members = count(a.batch_size());
        let op = match (transposed, T::COMPLEX) {
            (false, _) => 111,
            (true, false) => 112,
            (true, true) => 113,
        };
        let (m, n, nrhs) = (call.size(a.rows()), call.size(a.cols()), call.size(b.cols()));
        let (a, b) = (call.matrix_mut("A", a)?, call.matrix_mut("B", b)?);
        let on_device = self::info(&mut call, info.into(), members)?;
        let mut info: c_int = 0;
        let info = (&raw mut info).cast_const().cast();
        call.run(T::forms(), [], |[]| raw::gels(op, m, n, nrhs, a, b, info, on_device))
    }
}
