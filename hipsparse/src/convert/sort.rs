//! Sorting of a matrix's entries.

use hip::DeviceBuffer;
use hip_linalg::Operands;

use crate::call::{dense_vector, lend, lend_mut, mat_descr};
use crate::checks::int;
use crate::format::{self, Format};
use crate::matrix::{Coo, SpMat};
use crate::raw::{self, Ptr, Returned};
use crate::{Result, Sparse, Value};

/// A format whose entries can be sorted: CSR, CSC, COO.
pub trait Sortable: Format {
    #[doc(hidden)]
    unsafe fn size(handle: Ptr, sizes: [i32; 3], first: Ptr, second: Ptr, bytes: Ptr) -> Returned;
    /// Sorts the indices, and permutes numbers with them.
    #[doc(hidden)]
    unsafe fn sort(handle: Ptr, sizes: [i32; 3], descr: Ptr, arrays: [Ptr; 4]) -> Returned;
}

impl Sortable for format::Csr {
    unsafe fn size(handle: Ptr, [m, n, entries]: [i32; 3], first: Ptr, second: Ptr, bytes: Ptr) -> Returned {
        // SAFETY: the caller's arrays.
        unsafe { raw::hipsparseXcsrsort_bufferSizeExt(handle, m, n, entries, first, second, bytes) }
    }

    unsafe fn sort(handle: Ptr, [m, n, entries]: [i32; 3], descr: Ptr, arrays: [Ptr; 4]) -> Returned {
        let [first, second, numbers, work] = arrays;
        // SAFETY: the caller's arrays.
        unsafe { raw::hipsparseXcsrsort(handle, m, n, entries, descr, first, second, numbers, work) }
    }
}

impl Sortable for format::Csc {
    unsafe fn size(handle: Ptr, [m, n, entries]: [i32; 3], first: Ptr, second: Ptr, bytes: Ptr) -> Returned {
        // SAFETY: the caller's arrays.
        unsafe { raw::hipsparseXcscsort_bufferSizeExt(handle, m, n, entries, first, second, bytes) }
    }

    unsafe fn sort(handle: Ptr, [m, n, entries]: [i32; 3], descr: Ptr, arrays: [Ptr; 4]) -> Returned {
        let [first, second, numbers, work] = arrays;
        // SAFETY: the caller's arrays.
        unsafe { raw::hipsparseXcscsort(handle, m, n, entries, descr, first, second, numbers, work) }
    }
}

impl Sortable for format::Coo {
    unsafe fn size(handle: Ptr, [m, n, entries]: [i32; 3], first: Ptr, second: Ptr, bytes: Ptr) -> Returned {
        // SAFETY: the caller's arrays.
        unsafe { raw::hipsparseXcoosort_bufferSizeExt(handle, m, n, entries, first, second, bytes) }
    }

    unsafe fn sort(handle: Ptr, [m, n, entries]: [i32; 3], _: Ptr, arrays: [Ptr; 4]) -> Returned {
        let [first, second, numbers, work] = arrays;
        // SAFETY: the caller's arrays.
        unsafe { raw::hipsparseXcoosortByRow(handle, m, n, entries, first, second, numbers, work) }
    }
}

/// Sorting of entries.
impl Sparse {
    /// Sorts the entries: by column within each row, by row within each column of CSC, by row and column of COO. The
    /// call waits.
    ///
    /// Duplicate entries are kept: [`SpMat::is_sorted`] is then still false.
    ///
    /// # Errors
    /// An error from an allocation or from the library.
    #[doc(alias(
        "hipsparseXcsrsort",
        "hipsparseXcscsort",
        "hipsparseXcoosortByRow",
        "hipsparseCreateIdentityPermutation"
    ))]
    #[doc(alias("cusparseXcsrsort", "cusparseXcscsort", "cusparseXcoosortByRow"))]
    pub fn sort<F: Sortable, T: Value>(&self, a: SpMat<F, T>) -> Result<SpMat<F, T>> {
        self.sort_with(a, F::sort)
    }

    /// Sorts the entries by column, and by row within each column. The result counts as unsorted, because sorted means
    /// row after row. The call waits.
    ///
    /// # Errors
    /// An error from an allocation or from the library.
    #[doc(alias("hipsparseXcoosortByColumn", "cusparseXcoosortByColumn"))]
    pub fn sort_by_column<T: Value>(&self, a: Coo<T>) -> Result<Coo<T>> {
        self.sort_with(a, |handle, [m, n, entries], _, [first, second, numbers, work]| {
            // SAFETY: arrays with this many entries, and a workspace of the required size.
            unsafe { raw::hipsparseXcoosortByColumn(handle, m, n, entries, first, second, numbers, work) }
        })
    }

    fn sort_with<F: Sortable, T: Value>(
        &self,
        mut a: SpMat<F, T>,
        sort: unsafe fn(Ptr, [i32; 3], Ptr, [Ptr; 4]) -> Returned,
    ) -> Result<SpMat<F, T>> {
        let (rows, cols, base, format) = (a.rows(), a.cols(), a.base(), a.format());
        let entries = a.entries();
        if entries == 0 {
            return Ok(a);
        }
        let sizes = [int("rows", rows)?, int("columns", cols)?, int("entries", entries)?];
        let device = self.stream().device();
        let mut numbers = DeviceBuffer::<i32>::uninit(&device, entries)?;
        let mut sorted_values = DeviceBuffer::<T>::uninit(&device, entries)?;
        let descr = mat_descr(base, None)?;
        let asked = || format!("{} of {rows} x {cols} with {entries} entries", F::NAME);
        let (first, second, values) = a.parts_mut();
        let mut operands = Operands::on(self.stream());
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let [at, to, at_numbers] = unsafe {
            [
                operands.slice_mut("A", lend_mut(first))?,
                operands.slice_mut("A", lend_mut(second))?,
                operands.slice_mut("the numbers of the entries", lend_mut(&mut numbers))?,
            ]
        };
        let bytes = self.size(|handle, bytes| {
            // SAFETY: arrays with this many entries; the function writes the size.
            unsafe { F::size(handle, sizes, at, to, bytes) }.ok(asked)
        })?;
        let raw_descr = descr.raw();
        // SAFETY: as above; the function only reorders the entries within the arrays.
        unsafe {
            self.run_blocking(operands, bytes, |handle, work| {
                raw::hipsparseCreateIdentityPermutation(handle, sizes[2], at_numbers).ok(asked)?;
                sort(handle, sizes, raw_descr, [at, to, at_numbers, work]).ok(asked)
            })?;
        }
        let mut operands = Operands::on(self.stream());
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let [at_numbers, from, into] = unsafe {
            [
                operands.slice("the numbers of the entries", lend(&numbers))?.cast_mut(),
                operands.slice("the values", lend(values))?.cast_mut(),
                operands.slice_mut("the sorted values", lend_mut(&mut sorted_values))?,
            ]
        };
        let y = dense_vector::<T>(entries, from)?;
        let x = crate::vector::describe::<T, i32>((entries, entries, crate::Base::Zero), at_numbers, into)?;
        // SAFETY: the numbers are a permutation of the entries' numbers.
        unsafe {
            self.handle.call(operands, &[], |handle, []| raw::hipsparseGather(handle, y.raw(), x.raw()).ok(asked))?;
        }
        let (first, second, _) = a.into_buffers();
        SpMat::with_format(format, (rows, cols), base, first, second, sorted_values)
    }
}
