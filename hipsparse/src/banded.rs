//! Solves with tridiagonal and pentadiagonal matrices.

use hip::{DeviceSlice, DeviceSliceMut, IntoSliceMut};
use hip_linalg::{IntoMatrixMut, Operands};

use crate::call::dense_mut;
use crate::checks::{alone, as_stored, fits, int, invalid, not_on_5};
use crate::raw::{self, Ptr};
use crate::{Result, Sparse, Value};

/// The diagonals of a tridiagonal matrix: below the main one, the main one, above it. All have the length of the main
/// one: the first element of the lower one and the last of the upper one are not used, and must be zero.
#[derive(Clone, Copy, Debug)]
pub struct Tridiagonal<'a, T> {
    /// Below the main diagonal.
    pub lower: DeviceSlice<'a, T>,
    /// The main diagonal.
    pub main: DeviceSlice<'a, T>,
    /// Above the main diagonal.
    pub upper: DeviceSlice<'a, T>,
}

/// The diagonals of many tridiagonal matrices, to write to: solves overwrite them. Element i of matrix k is at `i *
/// count + k`.
#[derive(Debug)]
pub struct Tridiagonals<'a, T> {
    /// Below the main diagonals.
    pub lower: DeviceSliceMut<'a, T>,
    /// The main diagonals.
    pub main: DeviceSliceMut<'a, T>,
    /// Above the main diagonals.
    pub upper: DeviceSliceMut<'a, T>,
}

/// The diagonals of many pentadiagonal matrices, to write to: solves overwrite them. Element i of matrix k is at `i *
/// count + k`.
#[derive(Debug)]
pub struct Pentadiagonals<'a, T> {
    /// Two below the main diagonals.
    pub lowest: DeviceSliceMut<'a, T>,
    /// Below the main diagonals.
    pub lower: DeviceSliceMut<'a, T>,
    /// The main diagonals.
    pub main: DeviceSliceMut<'a, T>,
    /// Above the main diagonals.
    pub upper: DeviceSliceMut<'a, T>,
    /// Two above the main diagonals.
    pub uppermost: DeviceSliceMut<'a, T>,
}

/// How batches of tridiagonal systems are solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TridiagonalMethod {
    /// Thomas' algorithm, without exchanges of rows.
    #[default]
    Thomas,
    /// LU with partial pivoting. As with [`gtsv`](Sparse::gtsv), some matrices that are not singular give NaN.
    Lu,
    /// QR.
    Qr,
}

impl<'a, T: Value> Tridiagonal<'a, T> {
    fn named(&self, operands: &mut Operands<'a>) -> Result<[Ptr; 3]> {
        let order = self.main.len();
        fits("the length of the lower diagonal", self.lower.len(), order, "as the main one")?;
        fits("the length of the upper diagonal", self.upper.len(), order, "as the main one")?;
        Ok([
            operands.slice("the lower diagonal", self.lower)?.cast_mut(),
            operands.slice("the main diagonal", self.main)?.cast_mut(),
            operands.slice("the upper diagonal", self.upper)?.cast_mut(),
        ])
    }
}

/// Returns the order of a batch, in 32 bits, and its number of members.
fn batch(len: usize, count: usize) -> Result<(i32, i32)> {
    if count == 0 || len % count != 0 {
        return Err(invalid("the number of matrices", count.to_string(), format!("a divisor of {len} elements")));
    }
    Ok((int("the order of A", len / count)?, int("the number of matrices", count)?))
}

/// Returns an error for an order that is smaller than the library supports.
fn long_enough(order: usize, least: usize) -> Result<()> {
    if order >= least {
        return Ok(());
    }
    Err(invalid("the order of A", order.to_string(), format!("at least {least}")))
}

/// Solves with tridiagonal and pentadiagonal matrices.
///
/// They do not report a singular matrix: its solutions have NaN or infinities.
impl Sparse {
    /// Solves A X = B with a tridiagonal A, with row exchanges if `pivoting`. B is overwritten with X. A must have at
    /// least three rows. With `pivoting`, AMD's library gives NaN for some matrices that are not singular, such as the
    /// main diagonal 1, 1, 2, 1 between diagonals of ones.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for lengths that do not fit.
    #[doc(alias("hipsparseDgtsv2", "hipsparseDgtsv2_nopivot", "hipsparseDgtsv2_bufferSizeExt"))]
    #[doc(alias("cusparseDgtsv2", "cusparseDgtsv2_nopivot", "cusparseDgtsv2_bufferSizeExt"))]
    pub fn gtsv<'a, T: Value>(
        &'a self,
        pivoting: bool,
        a: Tridiagonal<'a, T>,
        b: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        let b = b.into();
        as_stored("B", b.op())?;
        alone("B", b.batch_size())?;
        fits("rows of B", b.rows(), a.main.len(), "the order of A")?;
        long_enough(b.rows(), 3)?;
        let (m, n) = (int("the order of A", b.rows())?, int("columns of B", b.cols())?);
        if n == 0 {
            return Ok(());
        }
        let ld = int("the leading dimension of B", b.leading_dimension())?;
        let mut operands = Operands::on(self.stream());
        let [lower, main, upper] = a.named(&mut operands)?;
        let b = dense_mut(&mut operands, "B", b)?.pointer;
        let asked = || format!("A of order {m}, {n} right-hand sides");
        let bytes = self.size(|handle, bytes| {
            // SAFETY: diagonals of this order; the function writes the size.
            unsafe {
                if pivoting {
                    raw::gtsv2_bufferSizeExt::<T>(handle, m, n, lower, main, upper, b, ld, bytes)
                } else {
                    raw::gtsv2_nopivot_bufferSizeExt::<T>(handle, m, n, lower, main, upper, b, ld, bytes)
                }
            }
            .ok(asked)
        })?;
        // SAFETY: as above; the view of B was checked.
        unsafe {
            self.run(operands, &[], bytes, |handle, [], work| {
                if pivoting {
                    raw::gtsv2::<T>(handle, m, n, lower, main, upper, b, ld, work)
                } else {
                    raw::gtsv2_nopivot::<T>(handle, m, n, lower, main, upper, b, ld, work)
                }
                .ok(asked)
            })
        }
    }

    /// Solves `count` tridiagonal systems, without row exchanges. The elements of matrix k start at `k * order` in each
    /// diagonal and in `x`, which holds the right-hand sides and is overwritten with the solutions.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for lengths that do not fit.
    #[doc(alias("hipsparseDgtsv2StridedBatch", "hipsparseDgtsv2StridedBatch_bufferSizeExt"))]
    #[doc(alias("cusparseDgtsv2StridedBatch", "cusparseDgtsv2StridedBatch_bufferSizeExt"))]
    pub fn gtsv_batch<'a, T: Value>(
        &'a self,
        a: Tridiagonal<'a, T>,
        x: impl IntoSliceMut<'a, T>,
        count: usize,
    ) -> Result<()> {
        let x = x.into();
        fits("the length of x", x.len(), a.main.len(), "as the diagonals")?;
        let (m, count) = batch(x.len(), count)?;
        long_enough(m as usize, 3)?;
        let mut operands = Operands::on(self.stream());
        let [lower, main, upper] = a.named(&mut operands)?;
        let x = operands.slice_mut("x", x)?;
        let asked = || format!("{count} of order {m}");
        let bytes = self.size(|handle, bytes| {
            // SAFETY: diagonals of this order; the function writes the size.
            unsafe { raw::gtsv2StridedBatch_bufferSizeExt::<T>(handle, m, lower, main, upper, x, count, m, bytes) }
                .ok(asked)
        })?;
        // SAFETY: as above.
        unsafe {
            self.run(operands, &[], bytes, |handle, [], work| {
                raw::gtsv2StridedBatch::<T>(handle, m, lower, main, upper, x, count, m, work).ok(asked)
            })
        }
    }

    /// Solves `count` interleaved tridiagonal systems: element i of system k is at `i * count + k`. `x` holds the
    /// right-hand sides and is overwritten with the solutions. The diagonals are overwritten.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for lengths that do not fit.
    #[doc(alias("hipsparseDgtsvInterleavedBatch", "hipsparseDgtsvInterleavedBatch_bufferSizeExt"))]
    #[doc(alias("cusparseDgtsvInterleavedBatch", "cusparseDgtsvInterleavedBatch_bufferSizeExt"))]
    pub fn gtsv_interleaved<'a, T: Value>(
        &'a self,
        method: TridiagonalMethod,
        a: Tridiagonals<'a, T>,
        x: impl IntoSliceMut<'a, T>,
        count: usize,
    ) -> Result<()> {
        let x = x.into();
        let len = x.len();
        let (m, count) = batch(len, count)?;
        long_enough(m as usize, 1)?;
        let mut operands = Operands::on(self.stream());
        let mut named = |what: &'static str, slice: DeviceSliceMut<'a, T>| -> Result<Ptr> {
            fits("the length of a diagonal", slice.len(), len, "as x")?;
            Ok(operands.slice_mut(what, slice)?)
        };
        let lower = named("the lower diagonals", a.lower)?;
        let main = named("the main diagonals", a.main)?;
        let upper = named("the upper diagonals", a.upper)?;
        let x = named("x", x)?;
        let algorithm = method as i32;
        let asked = || format!("{count} of order {m}, {method:?}");
        let bytes = self.size(|handle, bytes| {
            // SAFETY: diagonals of this order; the function writes the size.
            unsafe {
                raw::gtsvInterleavedBatch_bufferSizeExt::<T>(handle, algorithm, m, lower, main, upper, x, count, bytes)
            }
            .ok(asked)
        })?;
        // SAFETY: as above.
        unsafe {
            self.run(operands, &[], bytes, |handle, [], work| {
                raw::gtsvInterleavedBatch::<T>(handle, algorithm, m, lower, main, upper, x, count, work).ok(asked)
            })
        }
    }

    /// Solves `count` interleaved pentadiagonal systems, as [`gtsv_interleaved`](Self::gtsv_interleaved), with QR. They
    /// must have at least four rows.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for lengths that do not fit, and on ROCm 5.7, whose library
    /// rejects every matrix.
    #[doc(alias("hipsparseDgpsvInterleavedBatch", "hipsparseDgpsvInterleavedBatch_bufferSizeExt"))]
    #[doc(alias("cusparseDgpsvInterleavedBatch", "cusparseDgpsvInterleavedBatch_bufferSizeExt"))]
    pub fn gpsv_interleaved<'a, T: Value>(
        &'a self,
        a: Pentadiagonals<'a, T>,
        x: impl IntoSliceMut<'a, T>,
        count: usize,
    ) -> Result<()> {
        not_on_5("a pentadiagonal solve", "the library refuses every matrix")?;
        let x = x.into();
        let len = x.len();
        let (m, count) = batch(len, count)?;
        // With three rows, rocSPARSE's kernel accesses the row before the first one.
        long_enough(m as usize, 4)?;
        let mut operands = Operands::on(self.stream());
        let mut named = |what: &'static str, slice: DeviceSliceMut<'a, T>| -> Result<Ptr> {
            fits("the length of a diagonal", slice.len(), len, "as x")?;
            Ok(operands.slice_mut(what, slice)?)
        };
        let lowest = named("the lowest diagonals", a.lowest)?;
        let lower = named("the lower diagonals", a.lower)?;
        let main = named("the main diagonals", a.main)?;
        let upper = named("the upper diagonals", a.upper)?;
        let uppermost = named("the uppermost diagonals", a.uppermost)?;
        let x = named("x", x)?;
        let asked = || format!("{count} of order {m}");
        let bytes = self.size(|handle, bytes| {
            // SAFETY: diagonals of this order; the function writes the size.
            unsafe {
                raw::gpsvInterleavedBatch_bufferSizeExt::<T>(
                    handle, 0, m, lowest, lower, main, upper, uppermost, x, count, bytes,
                )
            }
            .ok(asked)
        })?;
        // SAFETY: as above.
        unsafe {
            self.run(operands, &[], bytes, |handle, [], work| {
                raw::gpsvInterleavedBatch::<T>(handle, 0, m, lowest, lower, main, upper, uppermost, x, count, work)
                    .ok(asked)
            })
        }
    }
}
