//! Removal of small entries, and counts of the others.

use hip::DeviceBuffer;
use hip_linalg::{IntoMatrix, Operands};

use super::{address, ints};
use crate::call::{self, any_scalar, dense, lend_mut, mat_descr, matrix};
use crate::checks::{alone, as_stored, int};
use crate::format;
use crate::into::IntoSpMat;
use crate::matrix::{Csr, SpMat};
use crate::raw::{self, Ptr};
use crate::{RealValue, Result, Sparse, Value};

/// The entries that [`Sparse::prune`] and [`Sparse::prune_dense`] remove.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Prune<T> {
    /// Entries whose absolute value is at most this.
    Threshold(T),
    /// This percentage of the entries: those with the smallest absolute values.
    Percentage(T),
}

/// Removal of small entries.
impl Sparse {
    /// Returns a matrix without its small entries. Each entry is compared alone: duplicates are not added. The call waits.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for an invalid percentage.
    #[doc(alias("hipsparseDpruneCsr2csr", "hipsparseDpruneCsr2csrNnz", "hipsparseDpruneCsr2csrByPercentage"))]
    #[doc(alias("cusparseDpruneCsr2csr", "cusparseDpruneCsr2csrNnz", "cusparseDpruneCsr2csrByPercentage"))]
    pub fn prune<'a, T: RealValue>(&'a self, a: impl IntoSpMat<'a, format::Csr, T>, what: Prune<T>) -> Result<Csr<T>> {
        let a = a.into();
        as_stored("A", a.op)?;
        let (m, n, entries) = ints(&a)?;
        let base = a.pattern.base;
        let descrs = (mat_descr(base, None)?, mat_descr(base, None)?);
        let (of_a, of_c) = (descrs.0.raw(), descrs.1.raw());
        let (values, first, second) = (address(a.values), address(a.pattern.first), address(a.pattern.second));
        let any = any_scalar();
        let asked = || format!("{}, {what:?}", call::asked(&a.pattern));
        let inputs = |operands: &mut Operands<'a>| {
            matrix(operands, "A", &a)?;
            Ok(())
        };
        let lines = (a.rows(), base, 1);
        let arrays = match what {
            Prune::Threshold(threshold) => {
                let threshold: Ptr = (&raw const threshold).cast_mut().cast();
                let bytes = self.size(|handle, bytes| {
                    // SAFETY: a matrix that was checked; the function writes the size.
                    unsafe {
                        raw::pruneCsr2csr_bufferSizeExt::<T>(
                            handle, m, n, entries, of_a, values, first, second, threshold, of_c, any, any, any, bytes,
                        )
                    }
                    .ok(asked)
                })?;
                // SAFETY: both steps call one function, with a matrix that was checked.
                unsafe {
                    self.grow::<T>(
                        lines,
                        &inputs,
                        bytes,
                        &|handle, at, place, work| {
                            raw::pruneCsr2csrNnz::<T>(
                                handle, m, n, entries, of_a, values, first, second, threshold, of_c, at, place, work,
                            )
                            .ok(asked)
                        },
                        &|handle, at, to, to_values, work| {
                            raw::pruneCsr2csr::<T>(
                                handle, m, n, entries, of_a, values, first, second, threshold, of_c, to_values, at, to,
                                work,
                            )
                            .ok(asked)
                        },
                    )?
                }
            }
            Prune::Percentage(percentage) => {
                let kept = self.prune_info()?;
                let info = kept.raw();
                let bytes = self.size(|handle, bytes| {
                    // SAFETY: as above.
                    unsafe {
                        raw::pruneCsr2csrByPercentage_bufferSizeExt::<T>(
                            handle, m, n, entries, of_a, values, first, second, percentage, of_c, any, any, any, info,
                            bytes,
                        )
                    }
                    .ok(asked)
                })?;
                // SAFETY: as above.
                unsafe {
                    self.grow::<T>(
                        lines,
                        &inputs,
                        bytes,
                        &|handle, at, place, work| {
                            raw::pruneCsr2csrNnzByPercentage::<T>(
                                handle, m, n, entries, of_a, values, first, second, percentage, of_c, at, place, info,
                                work,
                            )
                            .ok(asked)
                        },
                        &|handle, at, to, to_values, work| {
                            raw::pruneCsr2csrByPercentage::<T>(
                                handle, m, n, entries, of_a, values, first, second, percentage, of_c, to_values, at,
                                to, info, work,
                            )
                            .ok(asked)
                        },
                    )?
                }
            }
        };
        let made = SpMat::made((format::Csr, base), (a.rows(), a.cols()), arrays);
        Ok(if a.pattern.sorted { made } else { made.unsorted() })
    }

    /// Converts a dense column-major matrix to CSR without its small elements, with indices from zero. The call waits.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for batches and transposes.
    #[doc(alias("hipsparseDpruneDense2csr", "hipsparseDpruneDense2csrNnz", "hipsparseDpruneDense2csrByPercentage"))]
    #[doc(alias("cusparseDpruneDense2csr", "cusparseDpruneDense2csrNnz", "cusparseDpruneDense2csrByPercentage"))]
    pub fn prune_dense<'a, T: RealValue>(&'a self, a: impl IntoMatrix<'a, T>, what: Prune<T>) -> Result<Csr<T>> {
        let a = a.into();
        as_stored("A", a.op())?;
        alone("A", a.batch_size())?;
        let (rows, cols, base) = (a.rows(), a.cols(), crate::Base::Zero);
        let (m, n, ld) =
            (int("rows", rows)?, int("columns", cols)?, int("the leading dimension", a.leading_dimension())?);
        let descr = mat_descr(base, None)?;
        let (descr_raw, any) = (descr.raw(), any_scalar());
        let asked = || format!("{rows} x {cols}, {what:?}");
        let elements = {
            let mut operands = Operands::on(self.stream());
            dense(&mut operands, "A", &a)?.pointer
        };
        let inputs = |operands: &mut Operands<'a>| {
            dense(operands, "A", &a)?;
            Ok(())
        };
        let lines = (rows, base, 1);
        let arrays = match what {
            Prune::Threshold(threshold) => {
                let threshold: Ptr = (&raw const threshold).cast_mut().cast();
                let bytes = self.size(|handle, bytes| {
                    // SAFETY: a matrix of this shape; the function writes the size.
                    unsafe {
                        raw::pruneDense2csr_bufferSizeExt::<T>(
                            handle, m, n, elements, ld, threshold, descr_raw, any, any, any, bytes,
                        )
                    }
                    .ok(asked)
                })?;
                // SAFETY: both steps call one function, with a matrix of this shape.
                unsafe {
                    self.grow::<T>(
                        lines,
                        &inputs,
                        bytes,
                        &|handle, at, place, work| {
                            raw::pruneDense2csrNnz::<T>(
                                handle, m, n, elements, ld, threshold, descr_raw, at, place, work,
                            )
                            .ok(asked)
                        },
                        &|handle, at, to, to_values, work| {
                            raw::pruneDense2csr::<T>(
                                handle, m, n, elements, ld, threshold, descr_raw, to_values, at, to, work,
                            )
                            .ok(asked)
                        },
                    )?
                }
            }
            Prune::Percentage(percentage) => {
                let kept = self.prune_info()?;
                let info = kept.raw();
                let bytes = self.size(|handle, bytes| {
                    // SAFETY: as above.
                    unsafe {
                        raw::pruneDense2csrByPercentage_bufferSizeExt::<T>(
                            handle, m, n, elements, ld, percentage, descr_raw, any, any, any, info, bytes,
                        )
                    }
                    .ok(asked)
                })?;
                // SAFETY: as above.
                unsafe {
                    self.grow::<T>(
                        lines,
                        &inputs,
                        bytes,
                        &|handle, at, place, work| {
                            raw::pruneDense2csrNnzByPercentage::<T>(
                                handle, m, n, elements, ld, percentage, descr_raw, at, place, info, work,
                            )
                            .ok(asked)
                        },
                        &|handle, at, to, to_values, work| {
                            raw::pruneDense2csrByPercentage::<T>(
                                handle, m, n, elements, ld, percentage, descr_raw, to_values, at, to, info, work,
                            )
                            .ok(asked)
                        },
                    )?
                }
            }
        };
        Ok(SpMat::made((format::Csr, base), (rows, cols), arrays))
    }

    fn prune_info(&self) -> Result<call::Owned> {
        // SAFETY: the function writes an information object of the host through a valid pointer.
        Ok(unsafe {
            call::Owned::new(|place| raw::hipsparseCreatePruneInfo(place), raw::hipsparseDestroyPruneInfo, String::new)?
        })
    }

    /// Returns the entries of a matrix whose absolute values are above that of `tolerance`. Duplicates are not added. The
    /// call waits.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hipsparseDcsr2csr_compress", "hipsparseDnnz_compress", "cusparseDcsr2csr_compress"))]
    pub fn compress<'a, T: Value>(&'a self, a: impl IntoSpMat<'a, format::Csr, T>, tolerance: T) -> Result<Csr<T>> {
        let a = a.into();
        as_stored("A", a.op)?;
        let (m, n, entries) = ints(&a)?;
        let base = a.pattern.base;
        let descr = mat_descr(base, None)?;
        let of_a = descr.raw();
        let (values, first, second) = (address(a.values), address(a.pattern.first), address(a.pattern.second));
        let mut each = DeviceBuffer::<i32>::zeroed(&self.stream().device(), a.rows())?;
        let counts = address(each.as_slice());
        let lent = std::cell::RefCell::new(&mut each);
        let inputs = |operands: &mut Operands<'a>| {
            matrix(operands, "A", &a)?;
            // SAFETY: the operands are dropped by the time the call returns, before the memory.
            unsafe { operands.slice_mut("the numbers of the rows", lend_mut(&mut lent.borrow_mut()))? };
            Ok(())
        };
        let asked = || format!("{}, tolerance {tolerance:?}", call::asked(&a.pattern));
        // SAFETY: both steps call one function, with a matrix that was checked.
        let arrays = unsafe {
            self.grow::<T>(
                (a.rows(), base, 1),
                &inputs,
                0,
                &|handle, _, place, _| {
                    raw::nnz_compress::<T>(handle, m, of_a, values, first, counts, place, tolerance).ok(asked)
                },
                &|handle, at, to, to_values, _| {
                    raw::csr2csr_compress::<T>(
                        handle, m, n, of_a, values, second, first, entries, counts, to_values, to, at, tolerance,
                    )
                    .ok(asked)
                },
            )?
        };
        let made = SpMat::made((format::Csr, base), (a.rows(), a.cols()), arrays);
        Ok(if a.pattern.sorted { made } else { made.unsorted() })
    }

    /// Returns the number of nonzero elements in each row of a dense column-major matrix. The call waits.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for batches and transposes.
    #[doc(alias("hipsparseDnnz", "cusparseDnnz"))]
    pub fn count_nonzeros<'a, T: Value>(&'a self, a: impl IntoMatrix<'a, T>) -> Result<Vec<usize>> {
        let a = a.into();
        as_stored("A", a.op())?;
        alone("A", a.batch_size())?;
        let (m, n) = (int("rows", a.rows())?, int("columns", a.cols())?);
        let ld = int("the leading dimension", a.leading_dimension())?;
        let descr = mat_descr(crate::Base::Zero, None)?;
        let mut each = DeviceBuffer::<i32>::zeroed(&self.stream().device(), a.rows())?;
        if a.rows() == 0 || a.cols() == 0 {
            return Ok(vec![0; a.rows()]);
        }
        let mut total = 0_i32;
        let place = (&raw mut total).cast();
        let mut operands = Operands::on(self.stream());
        let elements = dense(&mut operands, "A", &a)?.pointer;
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let to = unsafe { operands.lend("the numbers of the rows", each.as_slice_mut())? };
        // SAFETY: a matrix of this shape, and room for a number for each row.
        unsafe {
            self.handle.call_blocking(operands, |handle| {
                raw::nnz::<T>(handle, 0, m, n, descr.raw(), elements, ld, to, place).ok(|| format!("{m} x {n}"))
            })?;
        }
        Ok(each.to_vec()?.into_iter().map(|count| usize::try_from(count).unwrap_or(0)).collect())
    }
}
