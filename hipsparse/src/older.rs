//! Operations that only the older functions have: products with BSR, products of a dense matrix with a sparse one or a
//! sparse vector, colours.

mod convert;
mod hyb;
mod products;
mod solves;
mod sums;
mod vectors;

pub use convert::Sorted;
pub use hyb::{Hyb, HybPartition};

use hip::DeviceBuffer;
use hip_linalg::{IntoMatrix, IntoMatrixMut, IntoScalar, IntoVector, IntoVectorMut, Operands, Shapes};

use crate::call::{self, Owned, dense, dense_mut, factor, mat_descr, matrix, operation, vector, vector_mut};
use crate::checks::{INDICES, alone, as_stored, int, invalid, not_on_5};
use crate::format;
use crate::into::{IntoSpMat, IntoSpVec};
use crate::raw;
use crate::solve::square;
use crate::{Result, Sparse, Value};

/// Operations that only the older functions have.
impl Sparse {
    /// y = α A x + β y, with A in square blocks. Transposes are not supported by the library.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for lengths that do not fit, transposes, and blocks that are
    /// not square.
    #[doc(alias("hipsparseDbsrmv", "cusparseDbsrmv"))]
    pub fn bsrmv<'a, T: Value>(
        &'a self,
        alpha: impl IntoScalar<'a, T>,
        a: impl IntoSpMat<'a, format::Bsr, T>,
        x: impl IntoVector<'a, T>,
        beta: impl IntoScalar<'a, T>,
        y: impl IntoVectorMut<'a, T>,
    ) -> Result<()> {
        let (a, x, y) = (a.into(), x.into(), y.into());
        as_stored("A", a.op)?;
        let shapes = Shapes::of("bsrmv", [("A", (&a).into()), ("x", (&x).into()), ("y", (&y).into())]);
        shapes.fits("the length of x", x.len(), a.cols(), "the columns of A")?;
        shapes.fits("the length of y", y.len(), a.rows(), "the rows of A")?;
        let (block, order) = square(&a.pattern.format)?;
        let (mb, nb) = (int("rows of A", a.rows() / block)?, int("columns of A", a.cols() / block)?);
        let (blocks, block) = (int("blocks of A", a.entries())?, int("the size of a block", block)?);
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
                raw::bsrmv::<T>(
                    handle,
                    order,
                    0,
                    mb,
                    nb,
                    blocks,
                    alpha.cast_mut(),
                    descr.raw(),
                    of.values,
                    of.first,
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

    /// C = α A B + β C, with A in square blocks and column-major B and C. `b.t()` is allowed.
    ///
    /// # Errors
    /// As [`bsrmv`](Self::bsrmv).
    #[doc(alias("hipsparseDbsrmm", "cusparseDbsrmm"))]
    pub fn bsrmm<'a, T: Value>(
        &'a self,
        alpha: impl IntoScalar<'a, T>,
        a: impl IntoSpMat<'a, format::Bsr, T>,
        b: impl IntoMatrix<'a, T>,
        beta: impl IntoScalar<'a, T>,
        c: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        let (a, b, c) = (a.into(), b.into(), c.into());
        as_stored("A", a.op)?;
        as_stored("C", c.op())?;
        let shapes = Shapes::of("bsrmm", [("A", (&a).into()), ("B", (&b).into()), ("C", (&c).into())]);
        shapes.fits("the rows of B", b.rows(), a.cols(), "the columns of A")?;
        shapes.fits("the rows of C", c.rows(), a.rows(), "the rows of A")?;
        shapes.fits("the columns of C", c.cols(), b.cols(), "the columns of B")?;
        alone("B", b.batch_size())?;
        alone("C", c.batch_size())?;
        let op = operation::<T>("B", b.op())?;
        if op == 2 {
            return Err(invalid("B", "conjugated", "as it is, or transposed"));
        }
        let (block, order) = square(&a.pattern.format)?;
        let (mb, kb) = (int("rows of A", a.rows() / block)?, int("columns of A", a.cols() / block)?);
        let (blocks, block) = (int("blocks of A", a.entries())?, int("the size of a block", block)?);
        let n = int("columns of B", b.cols())?;
        let (ldb, ldc) = (b.leading_dimension(), c.leading_dimension());
        let (ldb, ldc) = (int("the leading dimension of B", ldb)?, int("the leading dimension of C", ldc)?);
        let descr = mat_descr(a.pattern.base, None)?;
        let mut operands = Operands::on(self.stream());
        let factors = [factor(&mut operands, "α", alpha)?, factor(&mut operands, "β", beta)?];
        let of = matrix(&mut operands, "A", &a)?;
        let b = dense(&mut operands, "B", &b)?.pointer;
        let c = dense_mut(&mut operands, "C", c)?.pointer;
        operands.form()?;
        // SAFETY: the pattern was checked, and the shapes fit it.
        unsafe {
            self.handle.call(operands, &factors, |handle, [alpha, beta]| {
                raw::bsrmm::<T>(
                    handle,
                    order,
                    0,
                    op,
                    mb,
                    n,
                    kb,
                    blocks,
                    alpha.cast_mut(),
                    descr.raw(),
                    of.values,
                    of.first,
                    of.second,
                    block,
                    b,
                    ldb,
                    beta.cast_mut(),
                    c,
                    ldc,
                )
                .ok(|| call::asked(&a.pattern))
            })?;
        }
        Ok(())
    }

    /// C = α A B + β C, with dense column-major A and C, and a sparse B in compressed columns with indices from zero.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for shapes that do not fit, transposes, and indices from one.
    #[doc(alias("hipsparseDgemmi", "cusparseDgemmi"))]
    pub fn gemmi<'a, T: Value>(
        &'a self,
        alpha: impl IntoScalar<'a, T>,
        a: impl IntoMatrix<'a, T>,
        b: impl IntoSpMat<'a, format::Csc, T>,
        beta: impl IntoScalar<'a, T>,
        c: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        let (a, b, c) = (a.into(), b.into(), c.into());
        as_stored("A", a.op())?;
        as_stored("B", b.op)?;
        as_stored("C", c.op())?;
        alone("A", a.batch_size())?;
        alone("C", c.batch_size())?;
        let shapes = Shapes::of("gemmi", [("A", (&a).into()), ("B", (&b).into()), ("C", (&c).into())]);
        shapes.fits("the rows of B", b.rows(), a.cols(), "the columns of A")?;
        shapes.fits("the rows of C", c.rows(), a.rows(), "the rows of A")?;
        shapes.fits("the columns of C", c.cols(), b.cols(), "the columns of B")?;
        if b.pattern.base != crate::Base::Zero {
            return Err(invalid("the base of B", "one", "zero: the function has no other"));
        }
        let (m, n, k) = (int("rows of A", a.rows())?, int("columns of B", b.cols())?, int("columns of A", a.cols())?);
        let entries = int("entries of B", b.entries())?;
        let (lda, ldc) = (a.leading_dimension(), c.leading_dimension());
        let (lda, ldc) = (int("the leading dimension of A", lda)?, int("the leading dimension of C", ldc)?);
        let mut operands = Operands::on(self.stream());
        let factors = [factor(&mut operands, "α", alpha)?, factor(&mut operands, "β", beta)?];
        let of = matrix(&mut operands, "B", &b)?;
        let a = dense(&mut operands, "A", &a)?.pointer;
        let c = dense_mut(&mut operands, "C", c)?.pointer;
        operands.form()?;
        // SAFETY: the pattern was checked, and the shapes fit it.
        unsafe {
            self.handle.call(operands, &factors, |handle, [alpha, beta]| {
                let (alpha, beta) = (alpha.cast_mut(), beta.cast_mut());
                raw::gemmi::<T>(handle, m, n, k, entries, alpha, a, lda, of.values, of.first, of.second, beta, c, ldc)
                    .ok(|| call::asked(&b.pattern))
            })?;
        }
        Ok(())
    }

    /// y = α A x + β y, with a dense column-major A and a sparse x.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for lengths that do not fit, for transposes, which the library
    /// does not support, and on ROCm 5.7, whose results are wrong for 64-bit numbers.
    #[doc(alias("hipsparseDgemvi", "hipsparseDgemvi_bufferSize", "cusparseDgemvi"))]
    pub fn gemvi<'a, T: Value>(
        &'a self,
        alpha: impl IntoScalar<'a, T>,
        a: impl IntoMatrix<'a, T>,
        x: impl IntoSpVec<'a, T>,
        beta: impl IntoScalar<'a, T>,
        y: impl IntoVectorMut<'a, T>,
    ) -> Result<()> {
        not_on_5("a product of a dense matrix and a sparse vector", "results of 64-bit numbers are wrong")?;
        let (a, x, y) = (a.into(), x.into(), y.into());
        as_stored("A", a.op())?;
        alone("A", a.batch_size())?;
        let shapes = Shapes::of("gemvi", [("A", (&a).into()), ("x", (&x).into()), ("y", (&y).into())]);
        shapes.fits("the length of x", x.len, a.cols(), "the columns of A")?;
        shapes.fits("the length of y", y.len(), a.rows(), "the rows of A")?;
        let (m, n) = (int("rows of A", a.rows())?, int("columns of A", a.cols())?);
        let entries = int("entries of x", x.indices.len())?;
        let lda = int("the leading dimension of A", a.leading_dimension())?;
        let base = x.base.code();
        let mut operands = Operands::on(self.stream());
        let factors = [factor(&mut operands, "α", alpha)?, factor(&mut operands, "β", beta)?];
        let indices = operands.trusted(INDICES, x.indices)?.cast_mut();
        let values = operands.slice("x", x.values)?.cast_mut();
        let a = dense(&mut operands, "A", &a)?.pointer;
        let y = vector_mut(&mut operands, "y", y)?;
        let asked = || format!("A of {m} x {n}, x with {entries} entries");
        let bytes = self.size(|handle, bytes| {
            // SAFETY: the function writes the size, in 32 bits.
            unsafe { raw::gemvi_bufferSize::<T>(handle, 0, m, n, entries, bytes) }.ok(asked)
        })?;
        // SAFETY: the indices were checked, and the lengths fit.
        unsafe {
            self.run(operands, &factors, bytes, |handle, [alpha, beta], work| {
                raw::gemvi::<T>(handle, 0, m, n, alpha, a, lda, entries, values, indices, beta, y, base, work).ok(asked)
            })
        }
    }

    /// Colours the rows of a matrix with a symmetric pattern, so that two rows with an entry between them have
    /// different colours. Returns the number of colours, and the colour of each row. The call waits.
    ///
    /// The library colours rows until `fraction` of them have a colour; each of the others gets a colour of its own.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for a matrix that is not square, and for a fraction outside 0
    /// to 1.
    #[doc(alias("hipsparseDcsrcolor", "cusparseDcsrcolor"))]
    pub fn colors<'a, T: Value>(
        &'a self,
        a: impl IntoSpMat<'a, format::Csr, T>,
        fraction: f64,
    ) -> Result<(usize, DeviceBuffer<i32>)> {
        let a = a.into();
        as_stored("A", a.op)?;
        if a.rows() != a.cols() {
            return Err(invalid("a matrix that is coloured", format!("of {} x {}", a.rows(), a.cols()), "square"));
        }
        if !(0.0..=1.0).contains(&fraction) {
            return Err(invalid("the fraction of rows", fraction.to_string(), "from 0 to 1"));
        }
        let (m, entries) = (int("rows of A", a.rows())?, int("entries of A", a.entries())?);
        let mut colors = DeviceBuffer::<i32>::zeroed(&self.stream().device(), a.rows())?;
        if m == 0 || entries == 0 {
            return Ok((a.rows().min(1), colors));
        }
        let mut order = DeviceBuffer::<i32>::zeroed(&self.stream().device(), a.rows())?;
        let descr = mat_descr(a.pattern.base, None)?;
        // SAFETY: the function writes information through a valid pointer.
        let info = unsafe {
            Owned::new(|place| raw::hipsparseCreateColorInfo(place), raw::hipsparseDestroyColorInfo, String::new)?
        };
        let mut operands = Operands::on(self.stream());
        let of = matrix(&mut operands, "A", &a)?;
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let (to, to_order) = unsafe {
            (
                operands.lend("the colours", colors.as_slice_mut())?,
                operands.lend("the order by colours", order.as_slice_mut())?,
            )
        };
        // The real type of the values.
        let (single, double) = (fraction as f32, fraction);
        let fraction: *const std::ffi::c_void = match size_of::<T::Real>() {
            4 => (&raw const single).cast(),
            _ => (&raw const double).cast(),
        };
        let mut count = 0_i32;
        let place = (&raw mut count).cast();
        // SAFETY: the pattern was checked, and there is room for a number for each row.
        unsafe {
            self.handle.call_blocking(operands, |handle| {
                raw::csrcolor::<T>(
                    handle,
                    m,
                    entries,
                    descr.raw(),
                    of.values,
                    of.first,
                    of.second,
                    fraction.cast_mut(),
                    place,
                    to,
                    to_order,
                    info.raw(),
                )
                .ok(|| call::asked(&a.pattern))
            })?;
        }
        Ok((usize::try_from(count).unwrap_or(0), colors))
    }
}
