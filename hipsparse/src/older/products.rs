//! The older products of compressed rows, and products with some of the block rows.

use hip::DeviceBuffer;
use hip_linalg::{IntoMatrix, IntoMatrixMut, IntoScalar, IntoVector, IntoVectorMut, Op, Operands, Shapes};

use crate::call::{self, dense, dense_mut, factor, mat_descr, matrix, operation, vector, vector_mut};
use crate::checks::{alone, as_stored, int, invalid};
use crate::format;
use crate::into::IntoSpMat;
use crate::raw;
use crate::solve::square;
use crate::{Result, Sparse, Value};

/// The older products of compressed rows, which AMD deprecates, and products with some of the block rows.
impl Sparse {
    /// y = α A x + β y. [`spmv`](Self::spmv) does the same, for more formats and indices. `a.t()` and `a.h()` are
    /// allowed.
    ///
    /// # Errors
    /// As [`spmv`](Self::spmv).
    #[doc(alias("hipsparseScsrmv", "hipsparseDcsrmv", "hipsparseCcsrmv", "hipsparseZcsrmv", "cusparseDcsrmv"))]
    pub fn csrmv<'a, T: Value>(
        &'a self,
        alpha: impl IntoScalar<'a, T>,
        a: impl IntoSpMat<'a, format::Csr, T>,
        x: impl IntoVector<'a, T>,
        beta: impl IntoScalar<'a, T>,
        y: impl IntoVectorMut<'a, T>,
    ) -> Result<()> {
        let (a, x, y) = (a.into(), x.into(), y.into());
        let shapes = Shapes::of("csrmv", [("A", (&a).into()), ("x", (&x).into()), ("y", (&y).into())]);
        shapes.fits("the length of x", x.len(), a.cols(), "the columns of A")?;
        shapes.fits("the length of y", y.len(), a.rows(), "the rows of A")?;
        let op = operation::<T>("A", a.op)?;
        let (m, n) = (int("rows of A", a.pattern.rows)?, int("columns of A", a.pattern.cols)?);
        let entries = int("entries of A", a.entries())?;
        let descr = mat_descr(a.pattern.base, None)?;
        let mut operands = Operands::on(self.stream());
        let factors = [factor(&mut operands, "α", alpha)?, factor(&mut operands, "β", beta)?];
        let of = matrix(&mut operands, "A", &a)?;
        let x = vector(&mut operands, "x", &x)?;
        let y = vector_mut(&mut operands, "y", y)?;
        operands.form()?;
        // SAFETY: the pattern was checked, and the vectors have the lengths that it requires.
        unsafe {
            self.handle.call(operands, &factors, |handle, [alpha, beta]| {
                let (alpha, beta) = (alpha.cast_mut(), beta.cast_mut());
                raw::csrmv::<T>(
                    handle,
                    op,
                    m,
                    n,
                    entries,
                    alpha,
                    descr.raw(),
                    of.values,
                    of.first,
                    of.second,
                    x,
                    beta,
                    y,
                )
                .ok(|| call::asked(&a.pattern))
            })?;
        }
        Ok(())
    }

    /// C = α A B + β C, with dense column-major B and C. [`spmm`](Self::spmm) does the same, for more formats and
    /// indices. `a.t()`, `a.h()`, `b.t()` and `b.h()` are allowed if the library supports them.
    ///
    /// # Errors
    /// As [`spmm`](Self::spmm); the library's own error for a transpose that it does not support.
    #[doc(alias("hipsparseScsrmm", "hipsparseDcsrmm", "hipsparseCcsrmm", "hipsparseZcsrmm", "cusparseDcsrmm"))]
    #[doc(alias("hipsparseScsrmm2", "hipsparseDcsrmm2", "hipsparseCcsrmm2", "hipsparseZcsrmm2", "cusparseDcsrmm2"))]
    pub fn csrmm<'a, T: Value>(
        &'a self,
        alpha: impl IntoScalar<'a, T>,
        a: impl IntoSpMat<'a, format::Csr, T>,
        b: impl IntoMatrix<'a, T>,
        beta: impl IntoScalar<'a, T>,
        c: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        let (a, b, c) = (a.into(), b.into(), c.into());
        as_stored("C", c.op())?;
        let shapes = Shapes::of("csrmm", [("A", (&a).into()), ("B", (&b).into()), ("C", (&c).into())]);
        shapes.fits("the rows of B", b.rows(), a.cols(), "the columns of A")?;
        shapes.fits("the rows of C", c.rows(), a.rows(), "the rows of A")?;
        shapes.fits("the columns of C", c.cols(), b.cols(), "the columns of B")?;
        alone("B", b.batch_size())?;
        alone("C", c.batch_size())?;
        let plain = b.op() == Op::default();
        let (op, op_b) = (operation::<T>("A", a.op)?, operation::<T>("B", b.op())?);
        let (m, k) = (int("rows of A", a.pattern.rows)?, int("columns of A", a.pattern.cols)?);
        let (n, entries) = (int("columns of B", b.cols())?, int("entries of A", a.entries())?);
        let (ldb, ldc) = (b.leading_dimension(), c.leading_dimension());
        let (ldb, ldc) = (int("the leading dimension of B", ldb)?, int("the leading dimension of C", ldc)?);
        let descr = mat_descr(a.pattern.base, None)?;
        let mut operands = Operands::on(self.stream());
        let factors = [factor(&mut operands, "α", alpha)?, factor(&mut operands, "β", beta)?];
        let of = matrix(&mut operands, "A", &a)?;
        let b = dense(&mut operands, "B", &b)?.pointer;
        let c = dense_mut(&mut operands, "C", c)?.pointer;
        operands.form()?;
        let (descr, values, first, second) = (descr.raw(), of.values, of.first, of.second);
        // SAFETY: the pattern was checked, and the shapes fit it.
        unsafe {
            self.handle.call(operands, &factors, |handle, [alpha, beta]| {
                let (alpha, beta) = (alpha.cast_mut(), beta.cast_mut());
                if plain {
                    raw::csrmm::<T>(
                        handle, op, m, n, k, entries, alpha, descr, values, first, second, b, ldb, beta, c, ldc,
                    )
                } else {
                    raw::csrmm2::<T>(
                        handle, op, op_b, m, n, k, entries, alpha, descr, values, first, second, b, ldb, beta, c, ldc,
                    )
                }
                .ok(|| call::asked(&a.pattern))
            })?;
        }
        Ok(())
    }

    /// y = α A x + β y for some block rows, counted from zero: the rest of y is not changed. A has square blocks.
    ///
    /// # Errors
    /// As [`bsrmv`](Self::bsrmv); an error for a block row that does not exist, or is named twice, and for blocks of 1
    /// x 1, which the library does not support.
    #[doc(alias("hipsparseSbsrxmv", "hipsparseDbsrxmv", "hipsparseCbsrxmv", "hipsparseZbsrxmv", "cusparseDbsrxmv"))]
    pub fn bsrxmv<'a, T: Value>(
        &'a self,
        rows: &[usize],
        alpha: impl IntoScalar<'a, T>,
        a: impl IntoSpMat<'a, format::Bsr, T>,
        x: impl IntoVector<'a, T>,
        beta: impl IntoScalar<'a, T>,
        y: impl IntoVectorMut<'a, T>,
    ) -> Result<()> {
        let (a, x, y) = (a.into(), x.into(), y.into());
        as_stored("A", a.op)?;
        let shapes = Shapes::of("bsrxmv", [("A", (&a).into()), ("x", (&x).into()), ("y", (&y).into())]);
        shapes.fits("the length of x", x.len(), a.cols(), "the columns of A")?;
        shapes.fits("the length of y", y.len(), a.rows(), "the rows of A")?;
        let (block, order) = square(&a.pattern.format)?;
        if block == 1 {
            return Err(invalid("a block", "of 1 x 1", "of 2 x 2 or more: the function has no other"));
        }
        let lines = a.rows() / block;
        let base = a.pattern.base;
        let mut named = rows.to_vec();
        named.sort_unstable();
        if let Some(row) = named.iter().find(|&&row| row >= lines) {
            return Err(invalid("a row of blocks", row.to_string(), format!("less than {lines}")));
        }
        if let Some(pair) = named.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(invalid("a row of blocks", format!("{} twice", pair[0]), "each once"));
        }
        if rows.is_empty() {
            return Ok(());
        }
        let (mb, nb) = (int("rows of A", lines)?, int("columns of A", a.cols() / block)?);
        let (blocks, block) = (int("blocks of A", a.entries())?, int("the size of a block", block)?);
        let count = int("rows of blocks", rows.len())?;
        let mask: Vec<i32> = rows.iter().map(|&row| base.of(row) as i32).collect();
        let mut mask = DeviceBuffer::from_slice(&self.stream().device(), &mask)?;
        let descr = mat_descr(base, None)?;
        let mut operands = Operands::on(self.stream());
        let factors = [factor(&mut operands, "α", alpha)?, factor(&mut operands, "β", beta)?];
        let of = matrix(&mut operands, "A", &a)?;
        let x = vector(&mut operands, "x", &x)?;
        let y = vector_mut(&mut operands, "y", y)?;
        // SAFETY: the operands are dropped by the time the call returns, before the memory, which waits for the work.
        let mask = unsafe { operands.lend("the rows of blocks", mask.as_slice_mut())? };
        operands.form()?;
        // The end of a row is the start of the next one.
        let ends = of.first.cast::<i32>().wrapping_add(1).cast();
        // SAFETY: the pattern and the rows were checked, and the vectors have the lengths that they require.
        unsafe {
            self.handle.call(operands, &factors, |handle, [alpha, beta]| {
                raw::bsrxmv::<T>(
                    handle,
                    order,
                    0,
                    count,
                    mb,
                    nb,
                    blocks,
                    alpha.cast_mut(),
                    descr.raw(),
                    of.values,
                    mask,
                    of.first,
                    ends,
                    of.second,
                    block,
                    x,
                    beta.cast_mut(),
                    y,
                )
                .ok(|| call::asked(&a.pattern))
            })?;
        }
        Ok(())
    }
}
