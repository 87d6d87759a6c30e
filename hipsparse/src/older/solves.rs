//! Triangular solves with several right-hand sides that report zero pivots.

use hip::interop::Tracked;
use hip_linalg::{IntoMatrix, IntoMatrixMut, Operands, Shape, Shapes};

use crate::call::{self, Owned, dense, dense_mut, mat_descr, matrix, operation, sorted};
use crate::checks::{alone, as_stored, int, invalid};
use crate::format::{Bsr, Csr};
use crate::matrix::SpTriangle;
use crate::raw;
use crate::solve::{POLICY, pivot, square};
use crate::{Result, Sparse, Value};

/// Triangular solves with several right-hand sides that report zero pivots.
impl Sparse {
    /// Solves A X = α B for a triangle of compressed rows; B is overwritten with X. Each call analyses A:
    /// [`spsm`](Self::spsm) analyses it once. The call waits.
    ///
    /// # Errors
    /// [`Error::ZeroPivot`](crate::Error::ZeroPivot) for the first row whose diagonal is missing or zero;
    /// [`CallError::Invalid`](crate::CallError::Invalid) for shapes that do not fit, and entries that are not sorted.
    #[doc(alias(
        "hipsparseScsrsm2_solve",
        "hipsparseDcsrsm2_solve",
        "hipsparseDcsrsm2_analysis",
        "cusparseDcsrsm2_solve"
    ))]
    #[doc(alias("hipsparseDcsrsm2_bufferSizeExt", "hipsparseXcsrsm2_zeroPivot", "hipsparseCreateCsrsm2Info"))]
    pub fn csrsm<'a, T: Value>(
        &'a self,
        alpha: T,
        a: SpTriangle<'a, Csr, T>,
        b: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        let b = b.into();
        sorted("A", &a.matrix.pattern)?;
        as_stored("B", b.op())?;
        alone("B", b.batch_size())?;
        let shapes = Shapes::of("csrsm", [("A", Shape::matrix(a.order(), a.order())), ("B", (&b).into())]);
        shapes.fits("the rows of B", b.rows(), a.order(), "the order of A")?;
        let op = operation::<T>("A", a.matrix.op)?;
        let (m, entries) = (int("the order of A", a.order())?, int("entries of A", a.matrix.entries())?);
        let (columns, ld) = (int("columns of B", b.cols())?, int("the leading dimension of B", b.leading_dimension())?);
        if m == 0 || columns == 0 {
            return Ok(());
        }
        let base = a.matrix.pattern.base;
        let descr = mat_descr(base, Some((a.stored, a.unit)))?;
        // SAFETY: the function writes information through a valid pointer.
        let info = unsafe {
            let create = |place| raw::hipsparseCreateCsrsm2Info(place);
            Owned::new(create, raw::hipsparseDestroyCsrsm2Info, String::new)?
        };
        let mut operands = Operands::on(self.stream());
        let of = matrix(&mut operands, "A", &a.matrix)?;
        let b = dense_mut(&mut operands, "B", b)?.pointer;
        let (values, first, second) = (of.values, of.first, of.second);
        let (descr_a, raw_info) = (descr.raw(), info.raw());
        let factor = (&raw const alpha).cast_mut().cast();
        let asked = || format!("{columns} right-hand sides, {}", call::asked(&a.matrix.pattern));
        let bytes = self.size(|handle, bytes| {
            // SAFETY: operands that fit; the function writes the size.
            unsafe {
                raw::csrsm2_bufferSizeExt::<T>(
                    handle, 0, op, 0, m, columns, entries, factor, descr_a, values, first, second, b, ld, raw_info,
                    POLICY, bytes,
                )
            }
            .ok(asked)
        })?;
        // SAFETY: a matrix that was checked and is sorted, and right-hand sides of its order.
        let done = unsafe {
            self.run_blocking(operands, bytes, |handle, work| {
                raw::csrsm2_analysis::<T>(
                    handle, 0, op, 0, m, columns, entries, factor, descr_a, values, first, second, b, ld, raw_info,
                    POLICY, work,
                )
                .ok(asked)?;
                raw::csrsm2_solve::<T>(
                    handle, 0, op, 0, m, columns, entries, factor, descr_a, values, first, second, b, ld, raw_info,
                    POLICY, work,
                )
                .ok(asked)
            })
        };
        let found = done.and_then(|()| {
            pivot(self, Operands::on(self.stream()), ("csrsm", base.code() as i32), |handle, place| {
                // SAFETY: information that is alive, and room for the position.
                unsafe { raw::hipsparseXcsrsm2_zeroPivot(handle, raw_info, place) }
            })
        });
        // The last call has waited for the solve.
        self.destroy_when_idle(Tracked::new(), info);
        if a.unit { found.or_else(ignored) } else { found }
    }

    /// Solves A X = α B for a triangle of square blocks. Each call analyses A. The call waits. `b.t()` is not
    /// supported.
    ///
    /// # Errors
    /// As [`csrsm`](Self::csrsm); an error for transposes of A, and for blocks that are not square.
    #[doc(alias(
        "hipsparseSbsrsm2_solve",
        "hipsparseDbsrsm2_solve",
        "hipsparseDbsrsm2_analysis",
        "cusparseDbsrsm2_solve"
    ))]
    #[doc(alias("hipsparseDbsrsm2_bufferSize", "hipsparseXbsrsm2_zeroPivot", "hipsparseCreateBsrsm2Info"))]
    pub fn bsrsm<'a, T: Value>(
        &'a self,
        alpha: T,
        a: SpTriangle<'a, Bsr, T>,
        b: impl IntoMatrix<'a, T>,
        x: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        let (b, x) = (b.into(), x.into());
        sorted("A", &a.matrix.pattern)?;
        as_stored("B", b.op())?;
        as_stored("X", x.op())?;
        alone("B", b.batch_size())?;
        alone("X", x.batch_size())?;
        let shapes =
            Shapes::of("bsrsm", [("A", Shape::matrix(a.order(), a.order())), ("B", (&b).into()), ("X", (&x).into())]);
        shapes.fits("the rows of B", b.rows(), a.order(), "the order of A")?;
        shapes.fits("the rows of X", x.rows(), a.order(), "the order of A")?;
        shapes.fits("the columns of X", x.cols(), b.cols(), "the columns of B")?;
        let op = operation::<T>("A", a.matrix.op)?;
        if op == 2 {
            return Err(invalid("A", "a conjugate transpose", "as it is, or transposed"));
        }
        let (block, order) = square(&a.matrix.pattern.format)?;
        let (mb, blocks) = (int("the order of A", a.order() / block)?, int("blocks of A", a.matrix.entries())?);
        let (columns, block) = (int("columns of B", b.cols())?, int("the size of a block", block)?);
        let ldb = int("the leading dimension of B", b.leading_dimension())?;
        let ldx = int("the leading dimension of X", x.leading_dimension())?;
        if mb == 0 || columns == 0 {
            return Ok(());
        }
        let base = a.matrix.pattern.base;
        let descr = mat_descr(base, Some((a.stored, a.unit)))?;
        // SAFETY: the function writes information through a valid pointer.
        let info = unsafe {
            let create = |place| raw::hipsparseCreateBsrsm2Info(place);
            Owned::new(create, raw::hipsparseDestroyBsrsm2Info, String::new)?
        };
        let mut operands = Operands::on(self.stream());
        let of = matrix(&mut operands, "A", &a.matrix)?;
        let b = dense(&mut operands, "B", &b)?.pointer;
        let x = dense_mut(&mut operands, "X", x)?.pointer;
        let (values, first, second) = (of.values, of.first, of.second);
        let (descr_a, raw_info) = (descr.raw(), info.raw());
        let factor = (&raw const alpha).cast_mut().cast();
        let asked = || format!("{columns} right-hand sides, {}", call::asked(&a.matrix.pattern));
        let bytes = self.size(|handle, bytes| {
            // SAFETY: operands that fit; the function writes the size, in 32 bits.
            unsafe {
                raw::bsrsm2_bufferSize::<T>(
                    handle, order, op, 0, mb, columns, blocks, descr_a, values, first, second, block, raw_info, bytes,
                )
            }
            .ok(asked)
        })?;
        // SAFETY: a matrix that was checked and is sorted, and right-hand sides of its order.
        let done = unsafe {
            self.run_blocking(operands, bytes, |handle, work| {
                raw::bsrsm2_analysis::<T>(
                    handle, order, op, 0, mb, columns, blocks, descr_a, values, first, second, block, raw_info, POLICY,
                    work,
                )
                .ok(asked)?;
                raw::bsrsm2_solve::<T>(
                    handle, order, op, 0, mb, columns, blocks, factor, descr_a, values, first, second, block, raw_info,
                    b, ldb, x, ldx, POLICY, work,
                )
                .ok(asked)
            })
        };
        let found = done.and_then(|()| {
            pivot(self, Operands::on(self.stream()), ("bsrsm", base.code() as i32), |handle, place| {
                // SAFETY: information that is alive, and room for the position.
                unsafe { raw::hipsparseXbsrsm2_zeroPivot(handle, raw_info, place) }
            })
        });
        // The last call has waited for the solve.
        self.destroy_when_idle(Tracked::new(), info);
        if a.unit { found.or_else(ignored) } else { found }
    }
}

/// Ignores the error for a unit diagonal: the stored diagonal is not used.
fn ignored(error: crate::Error) -> Result<()> {
    if matches!(error, crate::Error::ZeroPivot { .. }) { Ok(()) } else { Err(error) }
}
