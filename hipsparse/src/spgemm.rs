//! Products and sums of sparse matrices.

use std::ptr;

use hip::{DeviceBuffer, DeviceSlice};
use hip_linalg::{Operands, Shapes};

use crate::call::{self, Owned, any_scalar, data_type, describe, mat_descr, matrix, matrix_mut, sorted};
use crate::checks::{as_stored, int, invalid, not_on_5};
use crate::format::{self, Csr as CsrFormat};
use crate::into::IntoSpMat;
use crate::matrix::{Csr, CsrRef, Pattern};
use crate::raw::{self, Ptr};
use crate::{Base, CallError, Index, Result, Sparse, Value};

/// HIPSPARSE_SPGEMM_DEFAULT.
const DEFAULT: u32 = 0;

type CsrPattern<'a, I> = Pattern<'a, format::Csr, I>;

/// Returns the rows, columns and entries of a described matrix.
fn size_of_matrix(descr: &Owned) -> Result<(usize, usize, usize), CallError> {
    let mut sizes = [0_i64; 3];
    let [rows, cols, entries] = &mut sizes;
    // SAFETY: a descriptor that is alive, and room for three numbers.
    let got = unsafe {
        let (rows, cols, entries) = (ptr::from_mut(rows), ptr::from_mut(cols), ptr::from_mut(entries));
        raw::hipsparseSpMatGetSize(descr.raw(), rows.cast(), cols.cast(), entries.cast())
    };
    got.ok(String::new)?;
    let [rows, cols, entries] = sizes.map(|size| usize::try_from(size).unwrap_or(0));
    Ok((rows, cols, entries))
}

/// Creates the descriptor of products.
fn product_descr() -> Result<Owned, CallError> {
    // SAFETY: the function writes a description through a valid pointer.
    unsafe {
        Owned::new(|place| raw::hipsparseSpGEMM_createDescr(place), raw::hipsparseSpGEMM_destroyDescr, String::new)
    }
}

/// Creates the descriptor of a matrix that only has its offsets.
fn begun<T: Value, I: Index>(size: (usize, usize), base: Base, offsets: Ptr) -> Result<Owned, CallError> {
    let none = ptr::null_mut();
    let (rows, cols) = (size.0 as i64, size.1 as i64);
    // SAFETY: offsets for this many rows; there are no entries yet.
    unsafe {
        let create = |place| {
            let (index, data) = (I::TYPE, data_type::<T>());
            raw::hipsparseCreateCsr(place, rows, cols, 0, offsets, none, none, index, index, base.code(), data)
        };
        Owned::new(create, raw::hipsparseDestroySpMat, || format!("{rows} x {cols}"))
    }
}

fn same<I: Index>(what: &'static str, found: &CsrPattern<'_, I>, planned: &CsrPattern<'_, I>) -> Result<()> {
    let places = |pattern: &CsrPattern<'_, I>| {
        let place = |slice: DeviceSlice<'_, I>| (slice.as_device_ptr().address(), slice.len());
        (place(pattern.first), place(pattern.second), pattern.rows, pattern.cols, pattern.base)
    };
    if places(found) == places(planned) {
        return Ok(());
    }
    Err(invalid(what, "a matrix of another pattern", "of the pattern that the plan was made for: see `with_values`"))
}

/// A product of sparse matrices whose pattern is known, for any values. [`Sparse::spgemm_plan`] creates it.
///
/// Both patterns stay borrowed. [`SpMatRef::with_values`](crate::SpMatRef::with_values) sets other values.
pub struct SpGemm<'a, T: Value, I: Index> {
    sparse: &'a Sparse,
    a: CsrRef<'a, T, I>,
    b: CsrRef<'a, T, I>,
    /// The product's pattern, with zeros.
    pattern: Csr<T, I>,
    product: Owned,
    /// The descriptor of the product, in which the library keeps its results.
    described: Owned,
    /// The third to fifth workspaces, in which the library keeps its own offsets, entries and values.
    kept: [DeviceBuffer<u8>; 3],
}

impl<T: Value, I: Index> std::fmt::Debug for SpGemm<'_, T, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpGemm")
            .field("a", &self.a)
            .field("b", &self.b)
            .field("c", &self.pattern)
            .finish_non_exhaustive()
    }
}

impl<T: Value, I: Index> SpGemm<'_, T, I> {
    /// Creates a matrix of the product's pattern, with zeros.
    ///
    /// # Errors
    /// An error from an allocation or a copy.
    pub fn output(&self) -> Result<Csr<T, I>> {
        self.pattern.try_clone()
    }

    /// C = α A B + β C, with matrices of the patterns that the plan was made for; C is made by
    /// [`output`](Self::output). The call waits.
    ///
    /// # Errors
    /// [`CallError::Invalid`] for matrices of other patterns, and on ROCm 5.7 for a nonzero β: its library ignores it.
    #[doc(alias("hipsparseSpGEMMreuse_compute", "cusparseSpGEMMreuse_compute"))]
    pub fn run<'b>(
        &'b mut self,
        alpha: T,
        a: impl IntoSpMat<'b, format::Csr, T, I>,
        b: impl IntoSpMat<'b, format::Csr, T, I>,
        beta: T,
        c: &'b mut Csr<T, I>,
    ) -> Result<()> {
        if beta != T::ZERO {
            not_on_5("a product that adds to C", "β is ignored")?;
        }
        let (a, b) = (a.into(), b.into());
        same("A", &a.pattern, &self.a.pattern)?;
        same("B", &b.pattern, &self.b.pattern)?;
        as_stored("A", a.op)?;
        as_stored("B", b.op)?;
        let found = (c.rows(), c.cols(), c.entries());
        if found != (self.pattern.rows(), self.pattern.cols(), self.pattern.entries()) {
            return Err(invalid("C", format!("{found:?}"), "a matrix of `output`"));
        }
        if c.entries() == 0 {
            return Ok(());
        }
        let mut operands = Operands::on(self.sparse.stream());
        let (in_a, in_b) = (matrix(&mut operands, "A", &a)?, matrix(&mut operands, "B", &b)?);
        let (a, b) = (describe::<_, T, I>(&a.pattern, in_a)?, describe::<_, T, I>(&b.pattern, in_b)?);
        let c = c.view_mut();
        let pattern = c.pattern;
        // The library uses its own copy of the pattern: the offsets of C are not trusted.
        let in_c = matrix_mut(&mut operands, "C", c)?;
        let own = self.pattern.pattern();
        let (first, second) = call::pattern(&mut operands, &own)?;
        for kept in &mut self.kept {
            operands.slice_mut("the workspace", kept.as_slice_mut())?;
        }
        operands.form()?;
        let (a, b, c, product, kind) = (a.raw(), b.raw(), self.described.raw(), self.product.raw(), data_type::<T>());
        let asked = || call::asked(&pattern);
        let (alpha, beta) = ((&raw const alpha).cast_mut().cast(), (&raw const beta).cast_mut().cast());
        // SAFETY: matrices of the patterns that the library has analysed, and workspaces of the required sizes.
        unsafe {
            self.sparse.handle.call_blocking(operands, |handle| {
                raw::hipsparseCsrSetPointers(c, first, second, in_c.values).ok(asked)?;
                raw::hipsparseSpGEMMreuse_compute(handle, 0, 0, alpha, a, b, beta, c, kind, DEFAULT, product).ok(asked)
            })?;
        }
        Ok(())
    }
}

/// Products and sums of sparse matrices.
impl Sparse {
    /// Computes α A B, a new matrix. The call waits for the number of entries.
    ///
    /// # Errors
    /// [`CallError::Invalid`] for shapes that do not fit, and for transposes, which the library does not support.
    #[doc(alias("hipsparseSpGEMM_workEstimation", "hipsparseSpGEMM_compute", "hipsparseSpGEMM_copy"))]
    #[doc(alias("cusparseSpGEMM_workEstimation", "cusparseSpGEMM_compute", "cusparseSpGEMM_copy", "csrgemm"))]
    pub fn spgemm<'a, T: Value, I: Index>(
        &'a self,
        alpha: T,
        a: impl IntoSpMat<'a, format::Csr, T, I>,
        b: impl IntoSpMat<'a, format::Csr, T, I>,
    ) -> Result<Csr<T, I>> {
        let (a, b) = (a.into(), b.into());
        let (rows, cols, base) = fits_product(&a, &b)?;
        let device = self.stream().device();
        let mut offsets = self.first_offsets::<I>(rows, base)?;
        if a.entries() == 0 || b.entries() == 0 {
            let empty = (offsets, DeviceBuffer::uninit(&device, 0)?, DeviceBuffer::uninit(&device, 0)?);
            return Ok(Csr::made((CsrFormat, base), (rows, cols), empty));
        }
        let product = product_descr()?;
        let mut operands = Operands::on(self.stream());
        let (in_a, in_b) = (matrix(&mut operands, "A", &a)?, matrix(&mut operands, "B", &b)?);
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let at = unsafe { operands.lend("the offsets of C", offsets.as_slice_mut())? };
        let (a_descr, b_descr) = (describe::<_, T, I>(&a.pattern, in_a)?, describe::<_, T, I>(&b.pattern, in_b)?);
        let c = begun::<T, I>((rows, cols), base, at)?;
        let (a_raw, b_raw, c_raw, p, kind) = (a_descr.raw(), b_descr.raw(), c.raw(), product.raw(), data_type::<T>());
        let asked = || format!("{rows} x {} x {cols}", a.cols());
        let zero = T::ZERO;
        let (alpha, beta): (Ptr, Ptr) = ((&raw const alpha).cast_mut().cast(), (&raw const zero).cast_mut().cast());
        let none = ptr::null_mut();
        let first = self.size(|handle, bytes| {
            // SAFETY: descriptors of operands that fit; without a workspace, the function writes the size.
            unsafe {
                raw::hipsparseSpGEMM_workEstimation(
                    handle, 0, 0, alpha, a_raw, b_raw, beta, c_raw, kind, DEFAULT, p, bytes, none,
                )
            }
            .ok(asked)
        })?;
        let mut work_1 = self.new_work(first)?;
        let mut bytes = first;
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let place_1 = unsafe { operands.lend("the workspace", work_1.as_slice_mut())? };
        // SAFETY: the patterns were checked, and the workspace has the required size.
        unsafe {
            self.handle.call_blocking(operands, |handle| {
                let bytes = (&raw mut bytes).cast();
                raw::hipsparseSpGEMM_workEstimation(
                    handle, 0, 0, alpha, a_raw, b_raw, beta, c_raw, kind, DEFAULT, p, bytes, place_1,
                )
                .ok(asked)
            })?;
        }
        let bytes_2 = self.size(|handle, bytes| {
            // SAFETY: as above.
            unsafe {
                raw::hipsparseSpGEMM_compute(
                    handle, 0, 0, alpha, a_raw, b_raw, beta, c_raw, kind, DEFAULT, p, bytes, none,
                )
            }
            .ok(asked)
        })?;
        let mut work_2 = self.new_work(bytes_2)?;
        let mut bytes = bytes_2;
        let mut operands = Operands::on(self.stream());
        matrix(&mut operands, "A", &a)?;
        matrix(&mut operands, "B", &b)?;
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let place_2 = unsafe {
            operands.lend("the offsets of C", offsets.as_slice_mut())?;
            operands.lend("the workspace", work_1.as_slice_mut())?;
            operands.lend("the second workspace", work_2.as_slice_mut())?
        };
        // SAFETY: as above.
        unsafe {
            self.handle.call_blocking(operands, |handle| {
                let bytes = (&raw mut bytes).cast();
                raw::hipsparseSpGEMM_compute(
                    handle, 0, 0, alpha, a_raw, b_raw, beta, c_raw, kind, DEFAULT, p, bytes, place_2,
                )
                .ok(asked)
            })?;
        }
        let (.., entries) = size_of_matrix(&c)?;
        if entries == 0 {
            let empty = (offsets, DeviceBuffer::uninit(&device, 0)?, DeviceBuffer::uninit(&device, 0)?);
            return Ok(Csr::made((CsrFormat, base), (rows, cols), empty));
        }
        let mut second = DeviceBuffer::<I>::uninit(&device, entries)?;
        let mut values = DeviceBuffer::<T>::zeroed(&device, entries)?;
        let mut operands = Operands::on(self.stream());
        matrix(&mut operands, "A", &a)?;
        matrix(&mut operands, "B", &b)?;
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let (second_at, values_at) = unsafe {
            operands.lend("the offsets of C", offsets.as_slice_mut())?;
            operands.lend("the workspace", work_1.as_slice_mut())?;
            operands.lend("the second workspace", work_2.as_slice_mut())?;
            (
                operands.lend("the entries of C", second.as_slice_mut())?,
                operands.lend("the values of C", values.as_slice_mut())?,
            )
        };
        // SAFETY: as above; C has room for as many entries as the library counted.
        unsafe {
            self.handle.call_waiting_for_device(operands, |handle| {
                raw::hipsparseCsrSetPointers(c_raw, at, second_at, values_at).ok(asked)?;
                raw::hipsparseSpGEMM_copy(handle, 0, 0, alpha, a_raw, b_raw, beta, c_raw, kind, DEFAULT, p).ok(asked)
            })?;
        }
        Ok(Csr::made((CsrFormat, base), (rows, cols), (offsets, second, values)))
    }

    /// Computes the pattern of A B, for products with many values. The call waits.
    ///
    /// # Errors
    /// As [`spgemm`](Self::spgemm); an error for matrices without entries.
    #[doc(alias("hipsparseSpGEMMreuse_workEstimation", "hipsparseSpGEMMreuse_nnz", "hipsparseSpGEMMreuse_copy"))]
    #[doc(alias("cusparseSpGEMMreuse_workEstimation", "cusparseSpGEMMreuse_nnz", "cusparseSpGEMMreuse_copy"))]
    pub fn spgemm_plan<'a, T: Value, I: Index>(
        &'a self,
        a: impl IntoSpMat<'a, format::Csr, T, I>,
        b: impl IntoSpMat<'a, format::Csr, T, I>,
    ) -> Result<SpGemm<'a, T, I>> {
        let (a, b) = (a.into(), b.into());
        let (rows, cols, base) = fits_product(&a, &b)?;
        if a.entries() == 0 || b.entries() == 0 {
            return Err(invalid("the matrices of a plan", "without entries", "with entries"));
        }
        let device = self.stream().device();
        let mut offsets = self.first_offsets::<I>(rows, base)?;
        let product = product_descr()?;
        let mut operands = Operands::on(self.stream());
        let (in_a, in_b) = (matrix(&mut operands, "A", &a)?, matrix(&mut operands, "B", &b)?);
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let at = unsafe { operands.lend("the offsets of C", offsets.as_slice_mut())? };
        let (a_descr, b_descr) = (describe::<_, T, I>(&a.pattern, in_a)?, describe::<_, T, I>(&b.pattern, in_b)?);
        let c = begun::<T, I>((rows, cols), base, at)?;
        let (a_raw, b_raw, c_raw, p) = (a_descr.raw(), b_descr.raw(), c.raw(), product.raw());
        let asked = || format!("{rows} x {} x {cols}", a.cols());
        let none = ptr::null_mut();
        let first = self.size(|handle, bytes| {
            // SAFETY: descriptors of operands that fit; without a workspace, the function writes the size.
            unsafe {
                raw::hipsparseSpGEMMreuse_workEstimation(handle, 0, 0, a_raw, b_raw, c_raw, DEFAULT, p, bytes, none)
            }
            .ok(asked)
        })?;
        let mut work_1 = self.new_work(first)?;
        let mut bytes = first;
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let place_1 = unsafe { operands.lend("the workspace", work_1.as_slice_mut())? };
        // SAFETY: the patterns were checked, and the workspace has the required size.
        unsafe {
            self.handle.call_blocking(operands, |handle| {
                let bytes = (&raw mut bytes).cast();
                raw::hipsparseSpGEMMreuse_workEstimation(handle, 0, 0, a_raw, b_raw, c_raw, DEFAULT, p, bytes, place_1)
                    .ok(asked)
            })?;
        }
        let mut sizes = [0_usize; 3];
        let [s2, s3, s4] = &mut sizes;
        let [s2, s3, s4]: [Ptr; 3] = [s2, s3, s4].map(|size| ptr::from_mut(size).cast());
        self.size(|handle, _| {
            // SAFETY: as above; the function writes three sizes.
            unsafe {
                raw::hipsparseSpGEMMreuse_nnz(
                    handle, 0, 0, a_raw, b_raw, c_raw, DEFAULT, p, s2, none, s3, none, s4, none,
                )
            }
            .ok(asked)
        })?;
        let mut work_2 = self.new_work(sizes[0])?;
        let mut work_3 = self.new_work(sizes[1])?;
        let mut work_4 = self.new_work(sizes[2])?;
        let mut operands = Operands::on(self.stream());
        matrix(&mut operands, "A", &a)?;
        matrix(&mut operands, "B", &b)?;
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let [p2, p3, p4] = unsafe {
            operands.lend("the offsets of C", offsets.as_slice_mut())?;
            operands.lend("the workspace", work_1.as_slice_mut())?;
            [
                operands.lend("the second workspace", work_2.as_slice_mut())?,
                operands.lend("the third workspace", work_3.as_slice_mut())?,
                operands.lend("the fourth workspace", work_4.as_slice_mut())?,
            ]
        };
        // SAFETY: as above.
        unsafe {
            self.handle.call_blocking(operands, |handle| {
                raw::hipsparseSpGEMMreuse_nnz(handle, 0, 0, a_raw, b_raw, c_raw, DEFAULT, p, s2, p2, s3, p3, s4, p4)
                    .ok(asked)
            })?;
        }
        let (.., entries) = size_of_matrix(&c)?;
        let mut second = DeviceBuffer::<I>::uninit(&device, entries)?;
        let mut values = DeviceBuffer::<T>::zeroed(&device, entries)?;
        let bytes_5 = self.size(|handle, bytes| {
            // SAFETY: as above.
            unsafe { raw::hipsparseSpGEMMreuse_copy(handle, 0, 0, a_raw, b_raw, c_raw, DEFAULT, p, bytes, none) }
                .ok(asked)
        })?;
        let mut work_5 = self.new_work(bytes_5)?;
        let mut bytes = bytes_5;
        let mut operands = Operands::on(self.stream());
        matrix(&mut operands, "A", &a)?;
        matrix(&mut operands, "B", &b)?;
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let (second_at, values_at, p5) = unsafe {
            operands.lend("the offsets of C", offsets.as_slice_mut())?;
            operands.lend("the third workspace", work_3.as_slice_mut())?;
            operands.lend("the fourth workspace", work_4.as_slice_mut())?;
            (
                operands.lend("the entries of C", second.as_slice_mut())?,
                operands.lend("the values of C", values.as_slice_mut())?,
                operands.lend("the fifth workspace", work_5.as_slice_mut())?,
            )
        };
        // The library of 5.7 rejects null pointers when there are no entries.
        let (second_at, values_at) = if entries == 0 { (p5, p5) } else { (second_at, values_at) };
        // SAFETY: as above; C has room for as many entries as the library counted.
        unsafe {
            self.handle.call_blocking(operands, |handle| {
                let bytes = (&raw mut bytes).cast();
                raw::hipsparseCsrSetPointers(c_raw, at, second_at, values_at).ok(asked)?;
                raw::hipsparseSpGEMMreuse_copy(handle, 0, 0, a_raw, b_raw, c_raw, DEFAULT, p, bytes, p5).ok(asked)
            })?;
        }
        let pattern = Csr::made((CsrFormat, base), (rows, cols), (offsets, second, values));
        Ok(SpGemm { sparse: self, a, b, pattern, product, described: c, kept: [work_3, work_4, work_5] })
    }

    /// Computes α A + β B, a new matrix. The entries of both must be sorted. The call waits.
    ///
    /// # Errors
    /// [`CallError::Invalid`] for shapes that differ, entries that are not sorted, and transposes.
    #[doc(alias("hipsparseDcsrgeam2", "hipsparseXcsrgeam2Nnz", "cusparseDcsrgeam2", "cusparseXcsrgeam2Nnz"))]
    pub fn geam<'a, T: Value>(
        &'a self,
        alpha: T,
        a: impl IntoSpMat<'a, format::Csr, T>,
        beta: T,
        b: impl IntoSpMat<'a, format::Csr, T>,
    ) -> Result<Csr<T>> {
        let (a, b) = (a.into(), b.into());
        let shapes = Shapes::of("geam", [("A", (&a).into()), ("B", (&b).into())]);
        shapes.fits("the rows of B", b.rows(), a.rows(), "the rows of A")?;
        shapes.fits("the columns of B", b.cols(), a.cols(), "the columns of A")?;
        for (what, matrix) in [("A", &a), ("B", &b)] {
            as_stored(what, matrix.op)?;
            sorted(what, &matrix.pattern)?;
        }
        let (alpha, beta): (Ptr, Ptr) = ((&raw const alpha).cast_mut().cast(), (&raw const beta).cast_mut().cast());
        let (rows, cols, base) = (a.rows(), a.cols(), a.pattern.base);
        let (m, n) = (int("rows", rows)?, int("columns", cols)?);
        let (a_entries, b_entries) = (int("entries of A", a.entries())?, int("entries of B", b.entries())?);
        let asked = || format!("{rows} x {cols}, {a_entries} and {b_entries} entries");
        let descrs = [mat_descr(a.pattern.base, None)?, mat_descr(b.pattern.base, None)?, mat_descr(base, None)?];
        let [of_a, of_b, of_c] = [descrs[0].raw(), descrs[1].raw(), descrs[2].raw()];
        let address = |slice: DeviceSlice<'_, i32>| slice.as_device_ptr().address() as Ptr;
        let values = |slice: DeviceSlice<'_, T>| slice.as_device_ptr().address() as Ptr;
        let (a_first, a_second, a_values) = (address(a.pattern.first), address(a.pattern.second), values(a.values));
        let (b_first, b_second, b_values) = (address(b.pattern.first), address(b.pattern.second), values(b.values));
        let any = any_scalar();
        let bytes = self.size(|handle, bytes| {
            // SAFETY: matrices that were checked; the function writes the size.
            unsafe {
                raw::csrgeam2_bufferSizeExt::<T>(
                    handle, m, n, alpha, of_a, a_entries, a_values, a_first, a_second, beta, of_b, b_entries, b_values,
                    b_first, b_second, of_c, any, any, any, bytes,
                )
            }
            .ok(asked)
        })?;
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
                bytes,
                &|handle, at, place, work| {
                    raw::hipsparseXcsrgeam2Nnz(
                        handle, m, n, of_a, a_entries, a_first, a_second, of_b, b_entries, b_first, b_second, of_c, at,
                        place, work,
                    )
                    .ok(asked)
                },
                &|handle, at, to, to_values, work| {
                    raw::csrgeam2::<T>(
                        handle, m, n, alpha, of_a, a_entries, a_values, a_first, a_second, beta, of_b, b_entries,
                        b_values, b_first, b_second, of_c, to_values, at, to, work,
                    )
                    .ok(asked)
                },
            )?
        };
        Ok(Csr::made((CsrFormat, base), (rows, cols), arrays))
    }

    /// Creates the offsets of a matrix without entries.
    pub(crate) fn first_offsets<I: Index>(&self, lines: usize, base: Base) -> Result<DeviceBuffer<I>> {
        let offsets = vec![I::narrow(base.first()); lines + 1];
        Ok(DeviceBuffer::from_slice(&self.stream().device(), &offsets)?)
    }
}

fn fits_product<T: Value, I: Index>(a: &CsrRef<'_, T, I>, b: &CsrRef<'_, T, I>) -> Result<(usize, usize, Base)> {
    as_stored("A", a.op)?;
    as_stored("B", b.op)?;
    let shapes = Shapes::of("spgemm", [("A", a.into()), ("B", b.into())]);
    shapes.fits("the rows of B", b.rows(), a.cols(), "the columns of A")?;
    Ok((a.rows(), b.cols(), a.pattern.base))
}
