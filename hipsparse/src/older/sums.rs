//! The older products and sums of sparse matrices.

use hip::interop::Tracked;
use hip::{DeviceSlice, Pod};
use hip_linalg::{Operands, Shapes};

use crate::call::{Owned, mat_descr, matrix, operation, sorted};
use crate::checks::{as_stored, int};
use crate::format;
use crate::into::IntoSpMat;
use crate::matrix::{Csr, CsrRef};
use crate::raw::{self, Ptr};
use crate::{Base, Result, Sparse, Value};

/// A matrix for the older functions: its descriptor, entries, values, offsets and columns.
struct Older {
    descr: Owned,
    entries: i32,
    values: Ptr,
    first: Ptr,
    second: Ptr,
}

impl Older {
    /// The call that uses the memory names it.
    fn new<T: Value>(what: &'static str, matrix: &CsrRef<'_, T>) -> Result<Self> {
        sorted(what, &matrix.pattern)?;
        Ok(Self {
            descr: mat_descr(matrix.pattern.base, None)?,
            entries: int("entries", matrix.entries())?,
            values: address(matrix.values),
            first: address(matrix.pattern.first),
            second: address(matrix.pattern.second),
        })
    }
}

fn address<T: Pod>(slice: DeviceSlice<'_, T>) -> Ptr {
    slice.as_device_ptr().address() as Ptr
}

/// The older products and sums of sparse matrices, which AMD deprecates.
impl Sparse {
    /// Computes A B, a new matrix. `a.t()` and `b.t()` are allowed if the library supports them.
    /// [`spgemm`](Self::spgemm) does the same for all indices. The call waits.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for shapes that do not fit, and entries that are not sorted;
    /// the library's own error for a transpose that it does not support.
    #[doc(alias("hipsparseScsrgemm", "hipsparseDcsrgemm", "hipsparseCcsrgemm", "hipsparseZcsrgemm"))]
    #[doc(alias("hipsparseXcsrgemmNnz", "cusparseDcsrgemm"))]
    pub fn csrgemm<'a, T: Value>(
        &'a self,
        a: impl IntoSpMat<'a, format::Csr, T>,
        b: impl IntoSpMat<'a, format::Csr, T>,
    ) -> Result<Csr<T>> {
        let (a, b) = (a.into(), b.into());
        let shapes = Shapes::of("csrgemm", [("A", (&a).into()), ("B", (&b).into())]);
        shapes.fits("the rows of B", b.rows(), a.cols(), "the columns of A")?;
        let (op_a, op_b) = (operation::<T>("A", a.op)?, operation::<T>("B", b.op)?);
        let (rows, cols, base) = (a.rows(), b.cols(), a.pattern.base);
        let (m, n, k) = (int("rows of A", rows)?, int("columns of B", cols)?, int("columns of A", a.cols())?);
        if a.entries() == 0 || b.entries() == 0 {
            return self.no_entries((rows, cols), base);
        }
        let (of_a, of_b, of_c) = (Older::new("A", &a)?, Older::new("B", &b)?, mat_descr(base, None)?);
        let asked = || format!("{rows} x {k} x {cols}");
        let inputs = |operands: &mut Operands<'a>| {
            matrix(operands, "A", &a)?;
            matrix(operands, "B", &b)?;
            Ok(())
        };
        // SAFETY: both steps call one function, with matrices that were checked and are sorted.
        let arrays = unsafe {
            self.grow::<T>(
                (rows, base, 1),
                &inputs,
                0,
                &|handle, at, place, _| {
                    raw::hipsparseXcsrgemmNnz(
                        handle,
                        op_a,
                        op_b,
                        m,
                        n,
                        k,
                        of_a.descr.raw(),
                        of_a.entries,
                        of_a.first,
                        of_a.second,
                        of_b.descr.raw(),
                        of_b.entries,
                        of_b.first,
                        of_b.second,
                        of_c.raw(),
                        at,
                        place,
                    )
                    .ok(asked)
                },
                &|handle, at, to, to_values, _| {
                    raw::csrgemm::<T>(
                        handle,
                        op_a,
                        op_b,
                        m,
                        n,
                        k,
                        of_a.descr.raw(),
                        of_a.entries,
                        of_a.values,
                        of_a.first,
                        of_a.second,
                        of_b.descr.raw(),
                        of_b.entries,
                        of_b.values,
                        of_b.first,
                        of_b.second,
                        of_c.raw(),
                        to_values,
                        at,
                        to,
                    )
                    .ok(asked)
                },
            )?
        };
        Ok(Csr::made((format::Csr, base), (rows, cols), arrays))
    }

    /// Computes α A B + β D, a new matrix, in one call. The call waits.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for shapes that do not fit, transposes, and entries that are
    /// not sorted.
    #[doc(alias("hipsparseScsrgemm2", "hipsparseDcsrgemm2", "hipsparseCcsrgemm2", "hipsparseZcsrgemm2"))]
    #[doc(alias("hipsparseXcsrgemm2Nnz", "hipsparseDcsrgemm2_bufferSizeExt", "cusparseDcsrgemm2"))]
    pub fn csrgemm_add<'a, T: Value>(
        &'a self,
        alpha: T,
        a: impl IntoSpMat<'a, format::Csr, T>,
        b: impl IntoSpMat<'a, format::Csr, T>,
        beta: T,
        d: impl IntoSpMat<'a, format::Csr, T>,
    ) -> Result<Csr<T>> {
        let (a, b, d) = (a.into(), b.into(), d.into());
        for (what, matrix) in [("A", &a), ("B", &b), ("D", &d)] {
            as_stored(what, matrix.op)?;
        }
        let shapes = Shapes::of("csrgemm_add", [("A", (&a).into()), ("B", (&b).into()), ("D", (&d).into())]);
        shapes.fits("the rows of B", b.rows(), a.cols(), "the columns of A")?;
        shapes.fits("the rows of D", d.rows(), a.rows(), "the rows of A")?;
        shapes.fits("the columns of D", d.cols(), b.cols(), "the columns of B")?;
        let (rows, cols, base) = (a.rows(), b.cols(), a.pattern.base);
        let (m, n, k) = (int("rows of A", rows)?, int("columns of B", cols)?, int("columns of A", a.cols())?);
        if a.entries() == 0 || b.entries() == 0 || d.entries() == 0 {
            // The function does not accept null pointers.
            let product = self.spgemm(alpha, a, b)?;
            return self.geam(T::ONE, &product, beta, d);
        }
        let (of_a, of_b, of_d) = (Older::new("A", &a)?, Older::new("B", &b)?, Older::new("D", &d)?);
        let of_c = mat_descr(base, None)?;
        // SAFETY: the function writes information through a valid pointer.
        let info = unsafe {
            let create = |place| raw::hipsparseCreateCsrgemm2Info(place);
            Owned::new(create, raw::hipsparseDestroyCsrgemm2Info, String::new)?
        };
        let raw_info = info.raw();
        let (alpha, beta): (Ptr, Ptr) = ((&raw const alpha).cast_mut().cast(), (&raw const beta).cast_mut().cast());
        let asked = || format!("{rows} x {k} x {cols}");
        let sized = self.size(|handle, bytes| {
            // SAFETY: matrices that were checked; the function writes the size.
            unsafe {
                raw::csrgemm2_bufferSizeExt::<T>(
                    handle,
                    m,
                    n,
                    k,
                    alpha,
                    of_a.descr.raw(),
                    of_a.entries,
                    of_a.first,
                    of_a.second,
                    of_b.descr.raw(),
                    of_b.entries,
                    of_b.first,
                    of_b.second,
                    beta,
                    of_d.descr.raw(),
                    of_d.entries,
                    of_d.first,
                    of_d.second,
                    raw_info,
                    bytes,
                )
            }
            .ok(asked)
        });
        let inputs = |operands: &mut Operands<'a>| {
            matrix(operands, "A", &a)?;
            matrix(operands, "B", &b)?;
            matrix(operands, "D", &d)?;
            Ok(())
        };
        // SAFETY: both steps call one function, with matrices that were checked and are sorted.
        let arrays = sized.and_then(|bytes| unsafe {
            self.grow::<T>(
                (rows, base, 1),
                &inputs,
                bytes,
                &|handle, at, place, work| {
                    raw::hipsparseXcsrgemm2Nnz(
                        handle,
                        m,
                        n,
                        k,
                        of_a.descr.raw(),
                        of_a.entries,
                        of_a.first,
                        of_a.second,
                        of_b.descr.raw(),
                        of_b.entries,
                        of_b.first,
                        of_b.second,
                        of_d.descr.raw(),
                        of_d.entries,
                        of_d.first,
                        of_d.second,
                        of_c.raw(),
                        at,
                        place,
                        raw_info,
                        work,
                    )
                    .ok(asked)
                },
                &|handle, at, to, to_values, work| {
                    raw::csrgemm2::<T>(
                        handle,
                        m,
                        n,
                        k,
                        alpha,
                        of_a.descr.raw(),
                        of_a.entries,
                        of_a.values,
                        of_a.first,
                        of_a.second,
                        of_b.descr.raw(),
                        of_b.entries,
                        of_b.values,
                        of_b.first,
                        of_b.second,
                        beta,
                        of_d.descr.raw(),
                        of_d.entries,
                        of_d.values,
                        of_d.first,
                        of_d.second,
                        of_c.raw(),
                        to_values,
                        at,
                        to,
                        raw_info,
                        work,
                    )
                    .ok(asked)
                },
            )
        });
        // The calls have waited.
        self.stream().synchronize()?;
        self.destroy_when_idle(Tracked::new(), info);
        Ok(Csr::made((format::Csr, base), (rows, cols), arrays?))
    }

    /// Computes α A + β B, a new matrix. [`geam`](Self::geam) does the same, and keeps its workspace. The call waits.
    ///
    /// # Errors
    /// As [`geam`](Self::geam).
    #[doc(alias("hipsparseScsrgeam", "hipsparseDcsrgeam", "hipsparseCcsrgeam", "hipsparseZcsrgeam"))]
    #[doc(alias("hipsparseXcsrgeamNnz", "cusparseDcsrgeam"))]
    pub fn csrgeam<'a, T: Value>(
        &'a self,
        alpha: T,
        a: impl IntoSpMat<'a, format::Csr, T>,
        beta: T,
        b: impl IntoSpMat<'a, format::Csr, T>,
    ) -> Result<Csr<T>> {
        let (a, b) = (a.into(), b.into());
        as_stored("A", a.op)?;
        as_stored("B", b.op)?;
        let shapes = Shapes::of("csrgeam", [("A", (&a).into()), ("B", (&b).into())]);
        shapes.fits("the rows of B", b.rows(), a.rows(), "the rows of A")?;
        shapes.fits("the columns of B", b.cols(), a.cols(), "the columns of A")?;
        let (of_a, of_b) = (Older::new("A", &a)?, Older::new("B", &b)?);
        let (rows, cols, base) = (a.rows(), a.cols(), a.pattern.base);
        let of_c = mat_descr(base, None)?;
        let (m, n) = (int("rows", rows)?, int("columns", cols)?);
        let (alpha, beta): (Ptr, Ptr) = ((&raw const alpha).cast_mut().cast(), (&raw const beta).cast_mut().cast());
        let asked = || format!("{rows} x {cols}, {} and {} entries", of_a.entries, of_b.entries);
        let inputs = |operands: &mut Operands<'a>| {
            matrix(operands, "A", &a)?;
            matrix(operands, "B", &b)?;
            Ok(())
        };
        // SAFETY: both steps call one function, with matrices that were checked and are sorted.
        let arrays = unsafe {
            self.grow::<T>(
                (rows, base, 1),
                &inputs,
                0,
                &|handle, at, place, _| {
                    raw::hipsparseXcsrgeamNnz(
                        handle,
                        m,
                        n,
                        of_a.descr.raw(),
                        of_a.entries,
                        of_a.first,
                        of_a.second,
                        of_b.descr.raw(),
                        of_b.entries,
                        of_b.first,
                        of_b.second,
                        of_c.raw(),
                        at,
                        place,
                    )
                    .ok(asked)
                },
                &|handle, at, to, to_values, _| {
                    raw::csrgeam::<T>(
                        handle,
                        m,
                        n,
                        alpha,
                        of_a.descr.raw(),
                        of_a.entries,
                        of_a.values,
                        of_a.first,
                        of_a.second,
                        beta,
                        of_b.descr.raw(),
                        of_b.entries,
                        of_b.values,
                        of_b.first,
                        of_b.second,
                        of_c.raw(),
                        to_values,
                        at,
                        to,
                    )
                    .ok(asked)
                },
            )?
        };
        Ok(Csr::made((format::Csr, base), (rows, cols), arrays))
    }

    /// Creates a matrix without entries.
    fn no_entries<T: Value>(&self, size: (usize, usize), base: Base) -> Result<Csr<T>> {
        let device = self.stream().device();
        let (second, values) = (hip::DeviceBuffer::uninit(&device, 0)?, hip::DeviceBuffer::uninit(&device, 0)?);
        Ok(Csr::made((format::Csr, base), size, (self.first_offsets::<i32>(size.0, base)?, second, values)))
    }
}
