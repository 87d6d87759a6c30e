//! The older conversions, and reversible sorts.

use hip::DeviceBuffer;
use hip::interop::Tracked;
use hip_linalg::{IntoMatrix, IntoMatrixMut, MatrixMut, MatrixRef, Operands, Shapes};

use crate::call::{self, Owned, dense, dense_mut, mat_descr, matrix};
use crate::checks::{alone, as_stored, int};
use crate::format::{self, Format};
use crate::into::IntoSpMat;
use crate::matrix::{Csc, Csr, SpMat};
use crate::raw::{self, Ptr, Returned};
use crate::{Base, Result, Sparse, Value};

/// HIPSPARSE_ACTION_NUMERIC.
const NUMERIC: u32 = 1;

/// The functions that convert from and to dense matrices in one direction.
struct Direction {
    /// HIPSPARSE_DIRECTION_ROW or _COLUMN: the lines that are counted.
    code: u32,
    /// Whether offsets come before indices, as for rows.
    offsets_first: bool,
}

const ROWS: Direction = Direction { code: 0, offsets_first: true };
const COLUMNS: Direction = Direction { code: 1, offsets_first: false };

type DenseFunction = unsafe fn(Ptr, i32, i32, Ptr, Ptr, i32, Ptr, Ptr, Ptr, Ptr) -> Returned;
type ToDense = unsafe fn(Ptr, i32, i32, Ptr, Ptr, Ptr, Ptr, Ptr, i32) -> Returned;

/// The older conversions, which AMD deprecates.
impl Sparse {
    /// Converts a matrix to compressed columns. [`csr_to_csc`](Self::csr_to_csc) does the same, and keeps its
    /// workspace.
    ///
    /// # Errors
    /// As [`csr_to_csc`](Self::csr_to_csc).
    #[doc(alias(
        "hipsparseScsr2csc",
        "hipsparseDcsr2csc",
        "hipsparseCcsr2csc",
        "hipsparseZcsr2csc",
        "cusparseDcsr2csc"
    ))]
    pub fn csr2csc<'a, T: Value>(&'a self, a: impl IntoSpMat<'a, format::Csr, T>) -> Result<Csc<T>> {
        let a = a.into();
        as_stored("A", a.op)?;
        let (rows, cols, base) = (a.rows(), a.cols(), a.pattern.base);
        let (m, n, entries) = (int("rows", rows)?, int("columns", cols)?, int("entries of A", a.entries())?);
        let device = self.stream().device();
        let mut first = self.first_offsets::<i32>(cols, base)?;
        let mut second = DeviceBuffer::<i32>::uninit(&device, a.entries())?;
        let mut values = DeviceBuffer::<T>::uninit(&device, a.entries())?;
        if entries != 0 {
            let mut operands = Operands::on(self.stream());
            let of = matrix(&mut operands, "A", &a)?;
            // SAFETY: the operands are dropped by the time the call returns; the memory waits for the work.
            let [to_first, to_second, to_values] = unsafe {
                [
                    operands.lend("the offsets of the result", first.as_slice_mut())?,
                    operands.lend("the entries of the result", second.as_slice_mut())?,
                    operands.lend("the values of the result", values.as_slice_mut())?,
                ]
            };
            let base = base.code();
            // SAFETY: a matrix that was checked, and room for its transpose.
            unsafe {
                self.run_waiting_for_device(operands, 0, |handle, _| {
                    raw::csr2csc::<T>(
                        handle, m, n, entries, of.values, of.first, of.second, to_values, to_second, to_first, NUMERIC,
                        base,
                    )
                    .ok(|| call::asked(&a.pattern))
                })?;
            }
        }
        let made = SpMat::made((format::Csc, base), (rows, cols), (first, second, values));
        Ok(if a.pattern.sorted { made } else { made.unsorted() })
    }

    /// Writes all elements of compressed rows to a dense matrix. Duplicate entries are added.
    /// [`sparse_to_dense`](Self::sparse_to_dense) does the same for more formats.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for shapes that do not fit, transposes and batches.
    #[doc(alias("hipsparseScsr2dense", "hipsparseDcsr2dense", "hipsparseCcsr2dense", "hipsparseZcsr2dense"))]
    pub fn csr2dense<'a, T: Value>(
        &'a self,
        a: impl IntoSpMat<'a, format::Csr, T>,
        b: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        self.older_to_dense("csr2dense", &ROWS, &a.into(), b.into(), raw::csr2dense::<T>)
    }

    /// Writes all elements of compressed columns, as [`csr2dense`](Self::csr2dense).
    ///
    /// # Errors
    /// As [`csr2dense`](Self::csr2dense).
    #[doc(alias("hipsparseScsc2dense", "hipsparseDcsc2dense", "hipsparseCcsc2dense", "hipsparseZcsc2dense"))]
    pub fn csc2dense<'a, T: Value>(
        &'a self,
        a: impl IntoSpMat<'a, format::Csc, T>,
        b: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        let a = a.into();
        if a.entries() == 0 {
            // The library of 7.2 fails for a CSC matrix without entries.
            return self.sparse_to_dense(a, b);
        }
        self.older_to_dense("csc2dense", &COLUMNS, &a, b.into(), raw::csc2dense::<T>)
    }

    fn older_to_dense<'a, F: Format, T: Value>(
        &'a self,
        call: &'static str,
        direction: &Direction,
        a: &crate::SpMatRef<'a, F, T>,
        b: MatrixMut<'a, T>,
        function: ToDense,
    ) -> Result<()> {
        as_stored("A", a.op)?;
        as_stored("B", b.op())?;
        alone("B", b.batch_size())?;
        let shapes = Shapes::of(call, [("A", a.into()), ("B", (&b).into())]);
        shapes.fits("the rows of B", b.rows(), a.rows(), "the rows of A")?;
        shapes.fits("the columns of B", b.cols(), a.cols(), "the columns of A")?;
        if !a.pattern.sorted {
            return self.add_to_dense(a, b);
        }
        let (m, n) = (int("rows of A", a.rows())?, int("columns of A", a.cols())?);
        let ld = int("the leading dimension of B", b.leading_dimension())?;
        let descr = mat_descr(a.pattern.base, None)?;
        let mut operands = Operands::on(self.stream());
        let of = matrix(&mut operands, "A", a)?;
        let b = dense_mut(&mut operands, "B", b)?.pointer;
        let (one, two) = if direction.offsets_first { (of.first, of.second) } else { (of.second, of.first) };
        self.queue(operands, |handle| {
            // SAFETY: a matrix that was checked, and a dense one of its shape.
            unsafe { function(handle, m, n, descr.raw(), of.values, one, two, b, ld) }.ok(|| call::asked(&a.pattern))
        })
    }

    /// Converts the nonzero elements of a dense column-major matrix to compressed rows.
    /// [`dense_to_sparse`](Self::dense_to_sparse) does the same for more formats. The call waits.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for transposes and batches.
    #[doc(alias("hipsparseSdense2csr", "hipsparseDdense2csr", "hipsparseCdense2csr", "hipsparseZdense2csr"))]
    pub fn dense2csr<'a, T: Value>(&'a self, a: impl IntoMatrix<'a, T>) -> Result<Csr<T>> {
        self.older_to_sparse(&ROWS, &a.into(), raw::dense2csr::<T>)
    }

    /// As [`dense2csr`](Self::dense2csr), to compressed columns.
    ///
    /// # Errors
    /// As [`dense2csr`](Self::dense2csr).
    #[doc(alias("hipsparseSdense2csc", "hipsparseDdense2csc", "hipsparseCdense2csc", "hipsparseZdense2csc"))]
    pub fn dense2csc<'a, T: Value>(&'a self, a: impl IntoMatrix<'a, T>) -> Result<Csc<T>> {
        self.older_to_sparse(&COLUMNS, &a.into(), raw::dense2csc::<T>)
    }

    fn older_to_sparse<'a, F: Format + Default, T: Value>(
        &'a self,
        direction: &Direction,
        a: &MatrixRef<'a, T>,
        function: DenseFunction,
    ) -> Result<SpMat<F, T>> {
        as_stored("A", a.op())?;
        alone("A", a.batch_size())?;
        let (rows, cols) = (a.rows(), a.cols());
        let (m, n) = (int("rows", rows)?, int("columns", cols)?);
        let ld = int("the leading dimension", a.leading_dimension())?;
        let lines = if direction.offsets_first { rows } else { cols };
        let device = self.stream().device();
        let descr = mat_descr(Base::Zero, None)?;
        let mut first = self.first_offsets::<i32>(lines, Base::Zero)?;
        let mut each = DeviceBuffer::<i32>::zeroed(&device, lines)?;
        let mut total = 0_i32;
        if m != 0 && n != 0 {
            let place = (&raw mut total).cast();
            let mut operands = Operands::on(self.stream());
            let elements = dense(&mut operands, "A", a)?.pointer;
            // SAFETY: the operands are dropped by the time the call returns, before the memory.
            let to = unsafe { operands.lend("the numbers of the lines", each.as_slice_mut())? };
            // SAFETY: a matrix of this shape, and room for a number for each line.
            unsafe {
                self.run_blocking(operands, 0, |handle, _| {
                    raw::nnz::<T>(handle, direction.code, m, n, descr.raw(), elements, ld, to, place)
                        .ok(|| format!("{m} x {n}"))
                })?;
            }
        }
        let entries = usize::try_from(total).unwrap_or(0);
        let mut second = DeviceBuffer::<i32>::uninit(&device, entries)?;
        let mut values = DeviceBuffer::<T>::zeroed(&device, entries)?;
        if entries != 0 {
            let mut operands = Operands::on(self.stream());
            let elements = dense(&mut operands, "A", a)?.pointer;
            // SAFETY: the operands are dropped by the time the call returns; the memory waits for the work.
            let [each, to_first, to_second, to_values] = unsafe {
                [
                    operands.lend("the numbers of the lines", each.as_slice_mut())?,
                    operands.lend("the offsets of the result", first.as_slice_mut())?,
                    operands.lend("the entries of the result", second.as_slice_mut())?,
                    operands.lend("the values of the result", values.as_slice_mut())?,
                ]
            };
            let (one, two) = if direction.offsets_first { (to_first, to_second) } else { (to_second, to_first) };
            // SAFETY: as above, and room for as many entries as the library counted.
            unsafe {
                self.run_blocking(operands, 0, |handle, _| {
                    function(handle, m, n, descr.raw(), elements, ld, each, to_values, one, two)
                        .ok(|| format!("{m} x {n}"))
                })?;
            }
        }
        Ok(SpMat::made((F::default(), Base::Zero), (rows, cols), (first, second, values)))
    }
}

/// A sorted matrix of compressed rows, with the permutation that restores the original order of its entries.
/// [`Sparse::sort_to_undo`] creates it.
#[derive(Debug)]
pub struct Sorted<'a, T: Value> {
    sparse: &'a Sparse,
    matrix: Csr<T>,
    was_sorted: bool,
    /// `Some` until dropped.
    info: Option<Owned>,
}

impl<T: Value> Drop for Sorted<'_, T> {
    fn drop(&mut self) {
        if let Some(info) = self.info.take() {
            // Both calls that use the object have waited.
            self.sparse.destroy_when_idle(Tracked::new(), info);
        }
    }
}

impl<T: Value> Sorted<'_, T> {
    /// Returns the sorted matrix.
    #[must_use]
    pub fn matrix(&self) -> &Csr<T> {
        &self.matrix
    }

    /// Returns the values, to write to: they move back with their entries.
    #[must_use]
    pub fn values_mut(&mut self) -> hip::DeviceSliceMut<'_, T> {
        self.matrix.values_mut()
    }

    /// Restores the original order of the entries. The call waits.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hipsparseScsr2csru", "hipsparseDcsr2csru", "hipsparseCcsr2csru", "hipsparseZcsr2csru"))]
    pub fn undo(self) -> Result<Csr<T>> {
        let made = self.matrix.try_clone()?;
        let made = match &self.info {
            Some(info) => self.sparse.turn_entries(made, info, raw::csr2csru::<T>)?,
            None => made,
        };
        Ok(if self.was_sorted { made } else { made.unsorted() })
    }
}

type SortFunction = unsafe fn(Ptr, i32, i32, i32, Ptr, Ptr, Ptr, Ptr, Ptr, Ptr) -> Returned;

/// Reversible sorts.
impl Sparse {
    /// Sorts the entries of each row by column, so that [`Sorted::undo`] can restore their order. The call waits.
    ///
    /// # Errors
    /// An error from an allocation or from the library.
    #[doc(alias("hipsparseScsru2csr", "hipsparseDcsru2csr", "hipsparseCcsru2csr", "hipsparseZcsru2csr"))]
    #[doc(alias("hipsparseCreateCsru2csrInfo", "hipsparseDcsru2csr_bufferSizeExt", "cusparseDcsru2csr"))]
    pub fn sort_to_undo<T: Value>(&self, a: Csr<T>) -> Result<Sorted<'_, T>> {
        let was_sorted = a.is_sorted();
        // SAFETY: the function writes information through a valid pointer.
        let info = unsafe {
            let create = |place| raw::hipsparseCreateCsru2csrInfo(place);
            Owned::new(create, raw::hipsparseDestroyCsru2csrInfo, String::new)?
        };
        let made = self.turn_entries(a, &info, raw::csru2csr::<T>)?;
        // The result is sorted, unless there are duplicate entries.
        let (size, base) = ((made.rows(), made.cols()), made.base());
        let (first, second, values) = made.into_buffers();
        let matrix = Csr::new(size, base, first, second, values)?;
        Ok(Sorted { sparse: self, matrix, was_sorted, info: Some(info) })
    }

    /// Reorders the entries of the rows.
    fn turn_entries<T: Value>(&self, mut a: Csr<T>, info: &Owned, function: SortFunction) -> Result<Csr<T>> {
        let (m, n, entries) = (int("rows", a.rows())?, int("columns", a.cols())?, int("entries of A", a.entries())?);
        if entries == 0 {
            return Ok(a);
        }
        let descr = mat_descr(a.base(), None)?;
        let (first, second, values) = a.parts_mut();
        let mut operands = Operands::on(self.stream());
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let [first, second, values] = unsafe {
            [
                operands.lend("the offsets of A", first.as_slice_mut())?,
                operands.lend("the entries of A", second.as_slice_mut())?,
                operands.lend("the values of A", values.as_slice_mut())?,
            ]
        };
        let asked = || format!("{m} x {n} with {entries} entries");
        let bytes = self.size(|handle, bytes| {
            // SAFETY: a matrix that was checked; the function writes the size.
            unsafe { raw::csru2csr_bufferSizeExt::<T>(handle, m, n, entries, values, first, second, info.raw(), bytes) }
                .ok(asked)
        })?;
        // SAFETY: as above; the entries of a row stay in it.
        unsafe {
            self.run_blocking(operands, bytes, |handle, work| {
                function(handle, m, n, entries, descr.raw(), values, first, second, info.raw(), work).ok(asked)
            })?;
        }
        Ok(a)
    }
}
