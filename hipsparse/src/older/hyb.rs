//! HYB: a regular part in ELL and the remaining entries in COO, in memory that the library owns.

use hip::DeviceBuffer;
use hip::interop::Tracked;
use hip_linalg::{IntoScalar, IntoVector, IntoVectorMut, Operands, Shape, Shapes};

use crate::call::{Owned, factor, mat_descr, matrix, vector, vector_mut};
use crate::checks::{as_stored, int};
use crate::format;
use crate::into::IntoSpMat;
use crate::matrix::Csr;
use crate::raw;
use crate::{Base, Result, Sparse, Value};

/// The number of entries of each row in the ELL part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(alias("hipsparseHybPartition_t", "cusparseHybPartition_t"))]
pub enum HybPartition {
    /// The library chooses.
    #[default]
    Auto,
    /// This many.
    Width(usize),
    /// As many as the longest row has: the whole matrix is ELL. The library rejects it if that is more than about twice
    /// the average.
    Max,
}

/// A HYB matrix, which the library owns. [`Sparse::csr_to_hyb`] creates it.
///
/// AMD deprecates the format.
#[derive(Debug)]
#[doc(alias("hipsparseHybMat_t", "cusparseHybMat_t"))]
pub struct Hyb<'a, T: Value> {
    sparse: &'a Sparse,
    size: (usize, usize),
    entries: usize,
    base: Base,
    descr: Owned,
    /// `Some` until dropped.
    kept: Option<(Owned, Tracked)>,
    values: std::marker::PhantomData<T>,
}

impl<T: Value> Drop for Hyb<'_, T> {
    fn drop(&mut self) {
        if let Some((hyb, tracked)) = self.kept.take() {
            self.sparse.destroy_when_idle(tracked, hyb);
        }
    }
}

impl<T: Value> Hyb<'_, T> {
    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.size.0
    }

    /// Returns the number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.size.1
    }

    /// y = α A x + β y
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for lengths that do not fit.
    #[doc(alias("hipsparseShybmv", "hipsparseDhybmv", "hipsparseChybmv", "hipsparseZhybmv", "cusparseDhybmv"))]
    pub fn multiply<'b>(
        &'b self,
        alpha: impl IntoScalar<'b, T>,
        x: impl IntoVector<'b, T>,
        beta: impl IntoScalar<'b, T>,
        y: impl IntoVectorMut<'b, T>,
    ) -> Result<()> {
        let Some((hyb, tracked)) = &self.kept else { return Ok(()) };
        let (x, y) = (x.into(), y.into());
        let shapes = Shapes::of(
            "hybmv",
            [("A", Shape::matrix(self.size.0, self.size.1)), ("x", (&x).into()), ("y", (&y).into())],
        );
        shapes.fits("the length of x", x.len(), self.size.1, "the columns of A")?;
        shapes.fits("the length of y", y.len(), self.size.0, "the rows of A")?;
        let mut operands = Operands::on(self.sparse.stream());
        let factors = [factor(&mut operands, "α", alpha)?, factor(&mut operands, "β", beta)?];
        operands.uses().tracked(tracked);
        let x = vector(&mut operands, "x", &x)?;
        let y = vector_mut(&mut operands, "y", y)?;
        operands.form()?;
        // SAFETY: a matrix that the library converted from a checked one; the vectors have the lengths that it requires.
        unsafe {
            self.sparse.handle.call(operands, &factors, |handle, [alpha, beta]| {
                let (alpha, beta) = (alpha.cast_mut(), beta.cast_mut());
                raw::hybmv::<T>(handle, 0, alpha, self.descr.raw(), hyb.raw(), x, beta, y)
                    .ok(|| format!("HYB of {:?}", self.size))
            })?;
        }
        Ok(())
    }

    /// Converts the matrix to compressed rows. The call waits.
    ///
    /// # Errors
    /// An error from an allocation or from the library.
    #[doc(alias(
        "hipsparseShyb2csr",
        "hipsparseDhyb2csr",
        "hipsparseChyb2csr",
        "hipsparseZhyb2csr",
        "cusparseDhyb2csr"
    ))]
    pub fn to_csr(&self) -> Result<Csr<T>> {
        let device = self.sparse.stream().device();
        let mut first = self.sparse.first_offsets::<i32>(self.size.0, self.base)?;
        let mut second = DeviceBuffer::<i32>::uninit(&device, self.entries)?;
        let mut values = DeviceBuffer::<T>::uninit(&device, self.entries)?;
        if let Some((hyb, tracked)) = self.kept.as_ref().filter(|_| self.entries != 0) {
            let mut operands = Operands::on(self.sparse.stream());
            operands.uses().tracked(tracked);
            // SAFETY: the operands are dropped by the time the call returns, before the memory.
            let [to_first, to_second, to_values] = unsafe {
                [
                    operands.lend("the offsets of the result", first.as_slice_mut())?,
                    operands.lend("the entries of the result", second.as_slice_mut())?,
                    operands.lend("the values of the result", values.as_slice_mut())?,
                ]
            };
            // SAFETY: a matrix that the library made, and room for its entries.
            unsafe {
                self.sparse.run_waiting_for_device(operands, 0, |handle, _| {
                    raw::hyb2csr::<T>(handle, self.descr.raw(), hyb.raw(), to_values, to_first, to_second)
                        .ok(|| format!("HYB of {:?}", self.size))
                })?;
            }
        }
        Ok(Csr::made((format::Csr, self.base), self.size, (first, second, values)))
    }
}

/// HYB, which AMD deprecates.
impl Sparse {
    /// Converts a matrix to HYB. The call waits.
    ///
    /// # Errors
    /// An error from the library; [`CallError::Invalid`](crate::CallError::Invalid) for transposes.
    #[doc(alias(
        "hipsparseScsr2hyb",
        "hipsparseDcsr2hyb",
        "hipsparseCcsr2hyb",
        "hipsparseZcsr2hyb",
        "cusparseDcsr2hyb"
    ))]
    #[doc(alias("hipsparseCreateHybMat", "cusparseCreateHybMat"))]
    pub fn csr_to_hyb<'a, T: Value>(
        &'a self,
        a: impl IntoSpMat<'a, format::Csr, T>,
        partition: HybPartition,
    ) -> Result<Hyb<'a, T>> {
        let a = a.into();
        as_stored("A", a.op)?;
        crate::call::sorted("A", &a.pattern)?;
        let size = (a.rows(), a.cols());
        let (m, n) = (int("rows of A", size.0)?, int("columns of A", size.1)?);
        let (kind, width) = match partition {
            HybPartition::Auto => (0, 0),
            HybPartition::Width(width) => (1, int("the width of the regular part", width)?),
            HybPartition::Max => (2, 0),
        };
        let descr = mat_descr(a.pattern.base, None)?;
        // SAFETY: the function writes a matrix through a valid pointer.
        let hyb =
            unsafe { Owned::new(|place| raw::hipsparseCreateHybMat(place), raw::hipsparseDestroyHybMat, String::new)? };
        let mut operands = Operands::on(self.stream());
        let of = matrix(&mut operands, "A", &a)?;
        // SAFETY: a matrix that was checked.
        unsafe {
            self.run_blocking(operands, 0, |handle, _| {
                raw::csr2hyb::<T>(handle, m, n, descr.raw(), of.values, of.first, of.second, hyb.raw(), width, kind)
                    .ok(|| format!("{partition:?}, {}", crate::call::asked(&a.pattern)))
            })?;
        }
        let kept = Some((hyb, Tracked::new()));
        let (entries, base) = (a.entries(), a.pattern.base);
        Ok(Hyb { sparse: self, size, entries, base, descr, kept, values: std::marker::PhantomData })
    }
}
