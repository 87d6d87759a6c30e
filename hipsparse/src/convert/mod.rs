//! Conversions between formats; [`sort`] and [`prune`] change a matrix within its format.

mod prune;
mod sort;

use std::ptr;

use hip::DeviceBuffer;
use hip_linalg::{IntoMatrix, IntoMatrixMut, MatrixMut, Op, Operands, Shapes};

use crate::call::{self, data_type, dense, dense_mut, describe, mat_descr, matrix, sorted};
use crate::checks::{INDICES, alone, as_stored, int, invalid};
use crate::format::{self, BlockOrder, Format, Generic};
use crate::into::IntoSpMat;
use crate::matrix::{Bsr, Coo, Csc, Csr, SpMat, SpMatRef};
use crate::raw::{self, Ptr, Returned};
use crate::{CallError, Index, Result, Sparse, Value};

pub use prune::Prune;
pub use sort::Sortable;

/// HIPSPARSE_ACTION_NUMERIC.
const NUMERIC: u32 = 1;
/// HIPSPARSE_CSR2CSC_ALG_DEFAULT, HIPSPARSE_SPARSETODENSE_ALG_DEFAULT, HIPSPARSE_DENSETOSPARSE_ALG_DEFAULT.
const DEFAULT: u32 = 0;

/// The arrays of a matrix: both index arrays, and the values.
type Arrays<T, I = i32> = (DeviceBuffer<I>, DeviceBuffer<I>, DeviceBuffer<T>);

/// A format that dense matrices can be converted to: CSR, CSC, COO.
pub trait FromDense: Generic + Default {
    #[doc(hidden)]
    unsafe fn set_pointers(descr: Ptr, first: Ptr, second: Ptr, values: Ptr) -> Returned;
}

macro_rules! from_dense {
    ($($format:ident: $set:ident;)*) => {$(
        impl FromDense for format::$format {
            unsafe fn set_pointers(descr: Ptr, first: Ptr, second: Ptr, values: Ptr) -> Returned {
                // SAFETY: the caller's descriptor and arrays.
                unsafe { raw::$set(descr, first, second, values) }
            }
        }
    )*};
}

from_dense! {
    Csr: hipsparseCsrSetPointers;
    Csc: hipsparseCscSetPointers;
    Coo: hipsparseCooSetPointers;
}

/// A step that counts the entries of a result: it receives the handle, the addresses for the offsets and the number,
/// and the workspace.
type Count<'c> = &'c dyn Fn(Ptr, Ptr, Ptr, Ptr) -> Result<(), CallError>;
/// A step that writes a result: it receives the handle, the addresses for the offsets, the entries and the values, and
/// the workspace.
type Fill<'c> = &'c dyn Fn(Ptr, Ptr, Ptr, Ptr, Ptr) -> Result<(), CallError>;

impl Sparse {
    /// Makes a matrix with this many lines, whose entries are counted first. Each entry has `unit` values. `inputs`
    /// names the memory that both steps read.
    ///
    /// # Safety
    /// The steps must queue work that only reads the inputs, and writes the offsets and as many entries as were
    /// counted.
    pub(crate) unsafe fn grow<'a, T: Value>(
        &'a self,
        (lines, base, unit): (usize, crate::Base, usize),
        inputs: &dyn Fn(&mut Operands<'a>) -> Result<()>,
        bytes: usize,
        count: Count<'_>,
        fill: Fill<'_>,
    ) -> Result<Arrays<T>> {
        let device = self.stream().device();
        let mut first = self.first_offsets::<i32>(lines, base)?;
        let mut entries = 0_i32;
        let place = (&raw mut entries).cast();
        let mut operands = Operands::on(self.stream());
        inputs(&mut operands)?;
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let at = unsafe { operands.lend("the offsets of the result", first.as_slice_mut())? };
        // SAFETY: the caller ensures it for the step.
        unsafe { self.run_waiting_for_device(operands, bytes, |handle, work| count(handle, at, place, work))? };
        let entries = usize::try_from(entries).unwrap_or(0);
        let mut second = DeviceBuffer::<i32>::uninit(&device, entries)?;
        let mut values = DeviceBuffer::<T>::zeroed(&device, entries.saturating_mul(unit))?;
        if entries != 0 {
            let mut operands = Operands::on(self.stream());
            inputs(&mut operands)?;
            // SAFETY: the operands are dropped by the time the call returns, before the memory.
            let (at, second, values) = unsafe {
                (
                    operands.lend("the offsets of the result", first.as_slice_mut())?,
                    operands.lend("the entries of the result", second.as_slice_mut())?,
                    operands.lend("the values of the result", values.as_slice_mut())?,
                )
            };
            // SAFETY: the caller ensures it for the step.
            unsafe {
                self.run_waiting_for_device(operands, bytes, |handle, work| fill(handle, at, second, values, work))?
            };
        }
        Ok((first, second, values))
    }
}

/// Returns the sizes of a matrix, in 32 bits: rows, columns, entries.
fn ints<F: Format, T, I: Index>(a: &SpMatRef<'_, F, T, I>) -> Result<(i32, i32, i32)> {
    let pattern = &a.pattern;
    Ok((int("rows of A", pattern.rows)?, int("columns of A", pattern.cols)?, int("entries of A", pattern.entries())?))
}

/// Returns the address of memory that is named elsewhere.
fn address<T>(slice: hip::DeviceSlice<'_, T>) -> Ptr {
    slice.as_device_ptr().address() as Ptr
}

/// Conversions between sparse and dense matrices.
impl Sparse {
    /// Writes all elements of a CSR, CSC or COO matrix, zeros included, to a dense matrix. Duplicate entries are added.
    ///
    /// # Errors
    /// [`CallError::Invalid`] for shapes that do not fit.
    #[doc(alias("hipsparseSparseToDense", "hipsparseSparseToDense_bufferSize", "cusparseSparseToDense", "csr2dense"))]
    pub fn sparse_to_dense<'a, F: FromDense, T: Value, I: Index>(
        &'a self,
        a: impl IntoSpMat<'a, F, T, I>,
        b: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        let (a, b) = (a.into(), b.into());
        as_stored("A", a.op)?;
        let shapes = Shapes::of("sparse_to_dense", [("A", (&a).into()), ("B", (&b).into())]);
        shapes.fits("the rows of B", b.rows(), a.rows(), "the rows of A")?;
        shapes.fits("the columns of B", b.cols(), a.cols(), "the columns of A")?;
        alone("B", b.batch_size())?;
        let row_major = b.op().transposed;
        if b.op() != (Op { transposed: row_major, conjugated: false }) && T::COMPLEX {
            return Err(invalid("B", format!("{:?}", b.op()), "not conjugated in memory"));
        }
        if a.entries() == 0 && F::NAME != "CSR" {
            // The library of 7.2 fails for a CSC matrix without entries.
            let (pattern, device) = (&a.pattern, self.stream().device());
            let first = self.first_offsets::<I>(pattern.rows, pattern.base)?;
            let (second, values) = (DeviceBuffer::uninit(&device, 0)?, DeviceBuffer::<T>::uninit(&device, 0)?);
            let empty = Csr::made((format::Csr, pattern.base), (pattern.rows, pattern.cols), (first, second, values));
            let mut b = b;
            return self.to_dense(empty.view(), (&mut b).into());
        }
        if !a.pattern.sorted {
            return self.add_to_dense(&a, b);
        }
        self.to_dense(a, b)
    }

    pub(crate) fn to_dense<'a, F: FromDense, T: Value, I: Index>(
        &'a self,
        a: SpMatRef<'a, F, T, I>,
        b: MatrixMut<'a, T>,
    ) -> Result<()> {
        let row_major = b.op().transposed;
        let mut operands = Operands::on(self.stream());
        let arrays = matrix(&mut operands, "A", &a)?;
        let b = dense_mut(&mut operands, "B", b)?;
        let descr = describe::<F, T, I>(&a.pattern, arrays)?;
        let (b, _) = b.describe::<T>("B", row_major)?;
        let (a_raw, b) = (descr.raw(), b.raw());
        let asked = || call::asked(&a.pattern);
        let bytes = self.size(|handle, bytes| {
            // SAFETY: descriptors of operands that fit; the function writes the size.
            unsafe { raw::hipsparseSparseToDense_bufferSize(handle, a_raw, b, DEFAULT, bytes) }.ok(asked)
        })?;
        // SAFETY: the pattern was checked, and the shapes fit.
        unsafe {
            self.run(operands, &[], bytes, |handle, [], work| {
                raw::hipsparseSparseToDense(handle, a_raw, b, DEFAULT, work).ok(asked)
            })
        }
    }

    /// Converts the nonzero elements of a dense matrix to CSR, CSC or COO with indices from zero. The call waits.
    ///
    /// # Errors
    /// [`CallError::Invalid`] for batches and conjugates.
    #[doc(alias("hipsparseDenseToSparse_analysis", "hipsparseDenseToSparse_convert", "dense2csr"))]
    #[doc(alias("hipsparseDenseToSparse_bufferSize", "cusparseDenseToSparse_analysis"))]
    pub fn dense_to_sparse<'a, F: FromDense, T: Value, I: Index>(
        &'a self,
        a: impl IntoMatrix<'a, T>,
    ) -> Result<SpMat<F, T, I>> {
        let a = a.into();
        alone("A", a.batch_size())?;
        let row_major = a.op().transposed;
        if a.op().conjugated && T::COMPLEX {
            return Err(invalid("A", format!("{:?}", a.op()), "not conjugated in memory"));
        }
        let device = self.stream().device();
        let (rows, cols, base) = (a.rows(), a.cols(), crate::Base::Zero);
        let format = F::default();
        let lines = format.first_len(rows, cols, 0).unwrap_or(0);
        let mut first = self.first_offsets::<I>(lines.max(1) - 1, base)?;
        let mut operands = Operands::on(self.stream());
        let in_a = dense(&mut operands, "A", &a)?;
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let at = unsafe { operands.lend("the offsets of the result", first.as_slice_mut())? };
        let (a_descr, _) = in_a.describe::<T>("A", row_major)?;
        let raw = format::RawMatrix {
            rows: rows as i64,
            cols: cols as i64,
            entries: 0,
            first: if lines == 0 { ptr::null_mut() } else { at },
            second: ptr::null_mut(),
            values: ptr::null_mut(),
            index: I::TYPE,
            base: base.code(),
            data: data_type::<T>(),
        };
        let asked = || format!("{} of {rows} x {cols}", F::NAME);
        // SAFETY: a matrix without entries yet.
        let descr =
            unsafe { call::Owned::new(|place| format.describe(place, &raw), raw::hipsparseDestroySpMat, asked)? };
        let (a_raw, b_raw) = (a_descr.raw(), descr.raw());
        let bytes = self.size(|handle, bytes| {
            // SAFETY: descriptors of operands that fit; the function writes the size.
            unsafe { raw::hipsparseDenseToSparse_bufferSize(handle, a_raw, b_raw, DEFAULT, bytes) }.ok(asked)
        })?;
        let mut sizes = [0_i64; 3];
        let places = sizes.as_mut_ptr();
        // SAFETY: the function counts entries, and writes the offsets, for which there is room.
        unsafe {
            self.run_blocking(operands, bytes, |handle, work| {
                raw::hipsparseDenseToSparse_analysis(handle, a_raw, b_raw, DEFAULT, work).ok(asked)?;
                let place = |index: usize| places.wrapping_add(index).cast();
                raw::hipsparseSpMatGetSize(b_raw, place(0), place(1), place(2)).ok(asked)
            })?;
        }
        let entries = usize::try_from(sizes[2]).unwrap_or(0);
        if lines == 0 {
            first = DeviceBuffer::uninit(&device, entries)?;
        }
        let mut second = DeviceBuffer::<I>::uninit(&device, entries)?;
        let mut values = DeviceBuffer::<T>::zeroed(&device, entries)?;
        if entries != 0 {
            let mut operands = Operands::on(self.stream());
            dense(&mut operands, "A", &a)?;
            // SAFETY: the operands are dropped by the time the call returns, before the memory.
            let (at, second, values) = unsafe {
                (
                    operands.lend("the first index array", first.as_slice_mut())?,
                    operands.lend("the second index array", second.as_slice_mut())?,
                    operands.lend("the values", values.as_slice_mut())?,
                )
            };
            // SAFETY: there is room for as many entries as the library counted.
            unsafe {
                self.run_blocking(operands, bytes, |handle, work| {
                    F::set_pointers(b_raw, at, second, values).ok(asked)?;
                    raw::hipsparseDenseToSparse_convert(handle, a_raw, b_raw, DEFAULT, work).ok(asked)
                })?;
            }
        }
        Ok(SpMat::made((format, base), (rows, cols), (first, second, values)))
    }
}

/// Conversions between sparse formats.
impl Sparse {
    /// Converts a matrix to compressed columns.
    ///
    /// # Errors
    /// An error from an allocation or from the library.
    #[doc(alias("hipsparseCsr2cscEx2", "hipsparseCsr2cscEx2_bufferSize", "cusparseCsr2cscEx2", "csr2csc"))]
    pub fn csr_to_csc<'a, T: Value>(&'a self, a: impl IntoSpMat<'a, format::Csr, T>) -> Result<Csc<T>> {
        self.expect_running()?;
        let a = a.into();
        as_stored("A", a.op)?;
        let size = (a.rows(), a.cols());
        let made = SpMat::made((format::Csc, a.pattern.base), size, self.turn(&a, size)?);
        Ok(if a.pattern.sorted { made } else { made.unsorted() })
    }

    /// Converts a matrix to compressed rows.
    ///
    /// # Errors
    /// An error from an allocation or from the library.
    #[doc(alias("hipsparseCsr2cscEx2", "cusparseCsr2cscEx2", "csc2csr"))]
    pub fn csc_to_csr<'a, T: Value>(&'a self, a: impl IntoSpMat<'a, format::Csc, T>) -> Result<Csr<T>> {
        self.expect_running()?;
        let a = a.into();
        as_stored("A", a.op)?;
        let size = (a.rows(), a.cols());
        let made = SpMat::made((format::Csr, a.pattern.base), size, self.turn(&a, (size.1, size.0))?);
        Ok(if a.pattern.sorted { made } else { made.unsorted() })
    }

    /// Computes offsets and indices of the other direction. `lines`: the number of compressed lines, and of the others.
    fn turn<'a, F: Format, T: Value>(
        &'a self,
        a: &SpMatRef<'a, F, T>,
        (lines, others): (usize, usize),
    ) -> Result<Arrays<T>> {
        let device = self.stream().device();
        let (m, n, entries) = (int("rows", lines)?, int("columns", others)?, int("entries of A", a.entries())?);
        let mut first = self.first_offsets::<i32>(others, a.pattern.base)?;
        let mut second = DeviceBuffer::<i32>::uninit(&device, a.entries())?;
        let mut values = DeviceBuffer::<T>::uninit(&device, a.entries())?;
        if entries == 0 {
            return Ok((first, second, values));
        }
        let mut operands = Operands::on(self.stream());
        let arrays = matrix(&mut operands, "A", a)?;
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let [to_first, to_second, to_values] = unsafe {
            [
                operands.lend("the offsets of the result", first.as_slice_mut())?,
                operands.lend("the entries of the result", second.as_slice_mut())?,
                operands.lend("the values of the result", values.as_slice_mut())?,
            ]
        };
        let call::Arrays { first: of_first, second: of_second, values: of_values } = arrays;
        let (kind, base) = (data_type::<T>(), a.pattern.base.code());
        let asked = || call::asked(&a.pattern);
        let bytes = self.size(|handle, bytes| {
            // SAFETY: a matrix that was checked, and room for its transpose; the function writes the size.
            unsafe {
                raw::hipsparseCsr2cscEx2_bufferSize(
                    handle, m, n, entries, of_values, of_first, of_second, to_values, to_first, to_second, kind,
                    NUMERIC, base, DEFAULT, bytes,
                )
            }
            .ok(asked)
        })?;
        // SAFETY: as above.
        unsafe {
            self.run(operands, &[], bytes, |handle, [], work| {
                raw::hipsparseCsr2cscEx2(
                    handle, m, n, entries, of_values, of_first, of_second, to_values, to_first, to_second, kind,
                    NUMERIC, base, DEFAULT, work,
                )
                .ok(asked)
            })?;
        }
        Ok((first, second, values))
    }

    /// Converts a matrix to coordinates.
    ///
    /// # Errors
    /// An error from an allocation or from the library.
    #[doc(alias("hipsparseXcsr2coo", "cusparseXcsr2coo"))]
    pub fn csr_to_coo<'a, T: Value>(&'a self, a: impl IntoSpMat<'a, format::Csr, T>) -> Result<Coo<T>> {
        self.expect_running()?;
        let a = a.into();
        as_stored("A", a.op)?;
        let (m, _, entries) = ints(&a)?;
        let device = self.stream().device();
        let mut first = DeviceBuffer::<i32>::uninit(&device, a.entries())?;
        let mut second = DeviceBuffer::<i32>::uninit(&device, a.entries())?;
        let mut values = DeviceBuffer::<T>::uninit(&device, a.entries())?;
        if entries != 0 {
            second.copy_from_device_async(self.stream(), a.pattern.second)?;
            values.copy_from_device_async(self.stream(), a.values)?;
            let mut operands = Operands::on(self.stream());
            let offsets = operands.trusted(INDICES, a.pattern.first)?.cast_mut();
            // SAFETY: the operands are dropped by the time the call returns, before the memory.
            let to = unsafe { operands.lend("the rows of the result", first.as_slice_mut())? };
            let base = a.pattern.base.code();
            // SAFETY: offsets that were checked, and room for as many rows as entries.
            unsafe {
                self.handle.call(operands, &[], |handle, []| {
                    raw::hipsparseXcsr2coo(handle, offsets, entries, m, to, base).ok(|| call::asked(&a.pattern))
                })?;
            }
        }
        let made = SpMat::made((format::Coo, a.pattern.base), (a.rows(), a.cols()), (first, second, values));
        Ok(if a.pattern.sorted { made } else { made.unsorted() })
    }

    /// Converts a matrix to compressed rows. The entries must be sorted.
    ///
    /// # Errors
    /// [`CallError::Invalid`] for entries that are not sorted.
    #[doc(alias("hipsparseXcoo2csr", "cusparseXcoo2csr"))]
    pub fn coo_to_csr<'a, T: Value>(&'a self, a: impl IntoSpMat<'a, format::Coo, T>) -> Result<Csr<T>> {
        self.expect_running()?;
        let a = a.into();
        as_stored("A", a.op)?;
        sorted("A", &a.pattern)?;
        let (m, _, entries) = ints(&a)?;
        let device = self.stream().device();
        let mut first = self.first_offsets::<i32>(a.rows(), a.pattern.base)?;
        let mut second = DeviceBuffer::<i32>::uninit(&device, a.entries())?;
        let mut values = DeviceBuffer::<T>::uninit(&device, a.entries())?;
        if entries != 0 {
            second.copy_from_device_async(self.stream(), a.pattern.second)?;
            values.copy_from_device_async(self.stream(), a.values)?;
            let mut operands = Operands::on(self.stream());
            let rows = operands.trusted(INDICES, a.pattern.first)?.cast_mut();
            // SAFETY: the operands are dropped by the time the call returns, before the memory.
            let to = unsafe { operands.lend("the offsets of the result", first.as_slice_mut())? };
            let base = a.pattern.base.code();
            // SAFETY: rows that were checked and are sorted, and room for the offsets.
            unsafe {
                self.handle.call(operands, &[], |handle, []| {
                    raw::hipsparseXcoo2csr(handle, rows, entries, m, to, base).ok(|| call::asked(&a.pattern))
                })?;
            }
        }
        Ok(SpMat::made((format::Csr, a.pattern.base), (a.rows(), a.cols()), (first, second, values)))
    }

    /// Converts a matrix to dense blocks; blocks without entries are omitted. The entries must be sorted. The call
    /// waits.
    ///
    /// # Errors
    /// [`CallError::Invalid`] for entries that are not sorted, and for rows or columns that are not multiples of the
    /// block size.
    #[doc(alias("hipsparseDcsr2bsr", "hipsparseXcsr2bsrNnz", "hipsparseDcsr2gebsr", "hipsparseXcsr2gebsrNnz"))]
    #[doc(alias("cusparseDcsr2bsr", "cusparseXcsr2bsrNnz", "cusparseDcsr2gebsr", "cusparseXcsr2gebsrNnz"))]
    pub fn csr_to_bsr<'a, T: Value>(
        &'a self,
        a: impl IntoSpMat<'a, format::Csr, T>,
        block: format::Bsr,
    ) -> Result<Bsr<T>> {
        let a = a.into();
        as_stored("A", a.op)?;
        sorted("A", &a.pattern)?;
        if let Err((found, allowed)) = block.shape(a.rows(), a.cols()) {
            return Err(invalid("A", found, allowed));
        }
        let (m, n, _) = ints(&a)?;
        let (rows, cols) = (int("rows of a block", block.rows)?, int("columns of a block", block.cols)?);
        let descrs = (mat_descr(a.pattern.base, None)?, mat_descr(a.pattern.base, None)?);
        let (of_a, of_c, direction) = (descrs.0.raw(), descrs.1.raw(), block.order.code());
        let (values, first, second) = (address(a.values), address(a.pattern.first), address(a.pattern.second));
        let asked = || format!("{}, blocks of {rows} x {cols}", call::asked(&a.pattern));
        let square = rows == cols;
        let bytes = match square {
            true => 0,
            false => self.size(|handle, bytes| {
                // SAFETY: a matrix that was checked; the function writes the size.
                unsafe {
                    raw::csr2gebsr_bufferSize::<T>(
                        handle, direction, m, n, of_a, values, first, second, rows, cols, bytes,
                    )
                }
                .ok(asked)
            })?,
        };
        let inputs = |operands: &mut Operands<'a>| {
            matrix(operands, "A", &a)?;
            Ok(())
        };
        // SAFETY: both steps call one function, with a matrix that was checked and is sorted.
        let arrays = unsafe {
            self.grow::<T>(
                (a.rows() / block.rows, a.pattern.base, block.rows * block.cols),
                &inputs,
                bytes,
                &|handle, at, place, work| {
                    if square {
                        raw::hipsparseXcsr2bsrNnz(handle, direction, m, n, of_a, first, second, rows, of_c, at, place)
                    } else {
                        raw::hipsparseXcsr2gebsrNnz(
                            handle, direction, m, n, of_a, first, second, of_c, at, rows, cols, place, work,
                        )
                    }
                    .ok(asked)
                },
                &|handle, at, to, to_values, work| {
                    if square {
                        raw::csr2bsr::<T>(
                            handle, direction, m, n, of_a, values, first, second, rows, of_c, to_values, at, to,
                        )
                    } else {
                        raw::csr2gebsr::<T>(
                            handle, direction, m, n, of_a, values, first, second, of_c, to_values, at, to, rows, cols,
                            work,
                        )
                    }
                    .ok(asked)
                },
            )?
        };
        Ok(SpMat::made((block, a.pattern.base), (a.rows(), a.cols()), arrays))
    }

    /// Converts a matrix to compressed rows, with all elements of the blocks, zeros included.
    ///
    /// # Errors
    /// An error from an allocation or from the library.
    #[doc(alias("hipsparseDbsr2csr", "hipsparseDgebsr2csr", "cusparseDbsr2csr", "cusparseDgebsr2csr"))]
    pub fn bsr_to_csr<'a, T: Value>(&'a self, a: impl IntoSpMat<'a, format::Bsr, T>) -> Result<Csr<T>> {
        self.expect_running()?;
        let a = a.into();
        as_stored("A", a.op)?;
        let (block, base, device) = (a.pattern.format, a.pattern.base, self.stream().device());
        let entries = a.values.len();
        int("entries of the result", entries)?;
        let mut first = self.first_offsets::<i32>(a.rows(), base)?;
        let mut second = DeviceBuffer::<i32>::uninit(&device, entries)?;
        let mut values = DeviceBuffer::<T>::uninit(&device, entries)?;
        if entries != 0 {
            let mut operands = Operands::on(self.stream());
            let of = matrix(&mut operands, "A", &a)?;
            // SAFETY: the operands are dropped by the time the call returns, before the memory.
            let [at, to, to_values] = unsafe {
                [
                    operands.lend("the offsets of the result", first.as_slice_mut())?,
                    operands.lend("the entries of the result", second.as_slice_mut())?,
                    operands.lend("the values of the result", values.as_slice_mut())?,
                ]
            };
            let (rows, cols) = (int("rows of a block", block.rows)?, int("columns of a block", block.cols)?);
            let (mb, nb) = (int("rows", a.rows() / block.rows)?, int("columns", a.cols() / block.cols)?);
            let descrs = (mat_descr(base, None)?, mat_descr(base, None)?);
            let (of_a, of_c, order) = (descrs.0.raw(), descrs.1.raw(), block.order.code());
            let asked = || call::asked(&a.pattern);
            // SAFETY: a matrix that was checked, and room for all elements of its blocks.
            unsafe {
                self.handle.call(operands, &[], |handle, []| {
                    if rows == cols {
                        raw::bsr2csr::<T>(
                            handle, order, mb, nb, of_a, of.values, of.first, of.second, rows, of_c, to_values, at, to,
                        )
                    } else {
                        raw::gebsr2csr::<T>(
                            handle, order, mb, nb, of_a, of.values, of.first, of.second, rows, cols, of_c, to_values,
                            at, to,
                        )
                    }
                    .ok(asked)
                })?;
            }
        }
        let made = SpMat::made((format::Csr, base), (a.rows(), a.cols()), (first, second, values));
        Ok(if a.pattern.sorted { made } else { made.unsorted() })
    }

    /// Converts a matrix to blocks of other sizes, with the same order of elements. The blocks must be sorted. The call
    /// waits.
    ///
    /// # Errors
    /// As [`csr_to_bsr`](Self::csr_to_bsr).
    #[doc(alias("hipsparseDgebsr2gebsr", "hipsparseXgebsr2gebsrNnz", "cusparseDgebsr2gebsr"))]
    pub fn change_blocks<'a, T: Value>(
        &'a self,
        a: impl IntoSpMat<'a, format::Bsr, T>,
        rows: usize,
        cols: usize,
    ) -> Result<Bsr<T>> {
        let a = a.into();
        as_stored("A", a.op)?;
        sorted("A", &a.pattern)?;
        let (from, to) = (a.pattern.format, format::Bsr { rows, cols, order: a.pattern.format.order });
        if let Err((found, allowed)) = to.shape(a.rows(), a.cols()) {
            return Err(invalid("A", found, allowed));
        }
        let base = a.pattern.base;
        let [ra, ca] = [int("rows of a block", from.rows)?, int("columns of a block", from.cols)?];
        let [rc, cc] = [int("rows of a block", to.rows)?, int("columns of a block", to.cols)?];
        let (mb, nb) = (int("rows", a.rows() / from.rows)?, int("columns", a.cols() / from.cols)?);
        let blocks = int("blocks of A", a.entries())?;
        let descrs = (mat_descr(base, None)?, mat_descr(base, None)?);
        let (of_a, of_c, order) = (descrs.0.raw(), descrs.1.raw(), from.order.code());
        let (values, first, second) = (address(a.values), address(a.pattern.first), address(a.pattern.second));
        let asked = || format!("{}, to blocks of {rc} x {cc}", call::asked(&a.pattern));
        let bytes = self.size(|handle, bytes| {
            // SAFETY: a matrix that was checked; the function writes the size, in 32 bits.
            unsafe {
                raw::gebsr2gebsr_bufferSize::<T>(
                    handle, order, mb, nb, blocks, of_a, values, first, second, ra, ca, rc, cc, bytes,
                )
            }
            .ok(asked)
        })?;
        let inputs = |operands: &mut Operands<'a>| {
            matrix(operands, "A", &a)?;
            Ok(())
        };
        // SAFETY: both steps call one function, with a matrix that was checked and is sorted.
        let arrays = unsafe {
            self.grow::<T>(
                (a.rows() / rows, base, rows * cols),
                &inputs,
                bytes,
                &|handle, at, place, work| {
                    raw::hipsparseXgebsr2gebsrNnz(
                        handle, order, mb, nb, blocks, of_a, first, second, ra, ca, of_c, at, rc, cc, place, work,
                    )
                    .ok(asked)
                },
                &|handle, at, to, to_values, work| {
                    raw::gebsr2gebsr::<T>(
                        handle, order, mb, nb, blocks, of_a, values, first, second, ra, ca, of_c, to_values, at, to,
                        rc, cc, work,
                    )
                    .ok(asked)
                },
            )?
        };
        Ok(SpMat::made((to, base), (a.rows(), a.cols()), arrays))
    }

    /// Transposes a matrix of row-major blocks. The blocks of the result are column-major.
    ///
    /// # Errors
    /// [`CallError::Invalid`] for column-major blocks.
    #[doc(alias("hipsparseDgebsr2gebsc", "hipsparseDgebsr2gebsc_bufferSize", "cusparseDgebsr2gebsc"))]
    pub fn transpose_blocks<'a, T: Value>(&'a self, a: impl IntoSpMat<'a, format::Bsr, T>) -> Result<Bsr<T>> {
        self.expect_running()?;
        let a = a.into();
        as_stored("A", a.op)?;
        let from = a.pattern.format;
        if from.order != BlockOrder::Rows {
            return Err(invalid("the order of blocks", format!("{:?}", from.order), "row after row"));
        }
        // The library does not change blocks: a row-major block is the column-major block of the transpose.
        let to = format::Bsr { rows: from.cols, cols: from.rows, order: BlockOrder::Columns };
        let (base, device) = (a.pattern.base, self.stream().device());
        let (rows, cols) = (int("rows of a block", from.rows)?, int("columns of a block", from.cols)?);
        let (mb, nb) = (int("rows", a.rows() / from.rows)?, int("columns", a.cols() / from.cols)?);
        let blocks = int("blocks of A", a.entries())?;
        let mut first = self.first_offsets::<i32>(a.cols() / from.cols, base)?;
        let mut second = DeviceBuffer::<i32>::uninit(&device, a.entries())?;
        let mut values = DeviceBuffer::<T>::uninit(&device, a.values.len())?;
        if blocks != 0 {
            let mut operands = Operands::on(self.stream());
            let of = matrix(&mut operands, "A", &a)?;
            // SAFETY: the operands are dropped by the time the call returns, before the memory.
            let [at, into, to_values] = unsafe {
                [
                    operands.lend("the offsets of the result", first.as_slice_mut())?,
                    operands.lend("the entries of the result", second.as_slice_mut())?,
                    operands.lend("the values of the result", values.as_slice_mut())?,
                ]
            };
            let asked = || call::asked(&a.pattern);
            let bytes = self.size(|handle, bytes| {
                // SAFETY: a matrix that was checked; the function writes the size.
                unsafe {
                    raw::gebsr2gebsc_bufferSize::<T>(
                        handle, mb, nb, blocks, of.values, of.first, of.second, rows, cols, bytes,
                    )
                }
                .ok(asked)
            })?;
            let code = base.code();
            // SAFETY: as above, and room for as many blocks.
            unsafe {
                self.run(operands, &[], bytes, |handle, [], work| {
                    raw::gebsr2gebsc::<T>(
                        handle, mb, nb, blocks, of.values, of.first, of.second, rows, cols, to_values, into, at,
                        NUMERIC, code, work,
                    )
                    .ok(asked)
                })?;
            }
        }
        let made = SpMat::made((to, base), (a.cols(), a.rows()), (first, second, values));
        Ok(if a.pattern.sorted { made } else { made.unsorted() })
    }
}
