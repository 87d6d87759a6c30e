//! The older functions of sparse vectors.

use hip_linalg::{IntoScalar, IntoVector, IntoVectorMut, Operands, Shapes, VectorRef};

use crate::call::{factor, vector, vector_mut};
use crate::checks::{INDICES, int};
use crate::into::{IntoSpVec, IntoSpVecMut};
use crate::raw::{self, Ptr, Returned};
use crate::vector::{SpVecMut, SpVecRef, unique};
use crate::{CallError, ComplexValue, RealValue, Result, Sparse, Value};

/// Names a sparse vector that the call reads: its entries, indices, values and base.
fn read<'a, T: Value>(operands: &mut Operands<'a>, x: &SpVecRef<'a, T>) -> Result<(i32, Ptr, Ptr, u32)> {
    let indices = operands.trusted(INDICES, x.indices)?.cast_mut();
    let values = operands.slice("x", x.values)?.cast_mut();
    Ok((int("entries of x", x.indices.len())?, indices, values, x.base.code()))
}

/// Names a sparse vector whose values the call writes.
fn write<'a, T: Value>(operands: &mut Operands<'a>, x: SpVecMut<'a, T>) -> Result<(i32, Ptr, Ptr, u32)> {
    let entries = int("entries of x", x.indices.len())?;
    let indices = operands.trusted(INDICES, x.indices)?.cast_mut();
    let values = operands.slice_mut("x", x.values)?;
    Ok((entries, indices, values, x.base.code()))
}

/// The older functions of sparse vectors, which AMD deprecates. The newer functions for the same operations also
/// support 64-bit indices.
impl Sparse {
    /// y = α x + y, with a sparse x. [`axpby`](Self::axpby) is more general.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    #[doc(alias("hipsparseSaxpyi", "hipsparseDaxpyi", "hipsparseCaxpyi", "hipsparseZaxpyi", "cusparseDaxpyi"))]
    pub fn axpyi<'a, T: Value>(
        &'a self,
        alpha: impl IntoScalar<'a, T>,
        x: impl IntoSpVec<'a, T>,
        y: impl IntoVectorMut<'a, T>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let shapes = Shapes::of("axpyi", [("x", (&x).into()), ("y", (&y).into())]);
        shapes.fits("the length of y", y.len(), x.len, "as x")?;
        unique("x", x.unique)?;
        let mut operands = Operands::on(self.stream());
        let factors = [factor(&mut operands, "α", alpha)?];
        let (entries, indices, values, base) = read(&mut operands, &x)?;
        let y = vector_mut(&mut operands, "y", y)?;
        operands.form()?;
        // SAFETY: the indices were checked, and y has the length that they require.
        unsafe {
            self.handle.call(operands, &factors, |handle, [alpha]| {
                raw::axpyi::<T>(handle, entries, alpha.cast_mut(), values, indices, y, base)
                    .ok(|| format!("{entries} entries"))
            })?;
        }
        Ok(())
    }

    /// Returns the dot product of a sparse x and a dense y. [`spvv`](Self::spvv) does the same.
    ///
    /// # Errors
    /// As [`spvv`](Self::spvv).
    #[doc(alias("hipsparseSdoti", "hipsparseDdoti", "hipsparseCdoti", "hipsparseZdoti", "cusparseDdoti"))]
    pub fn doti<'a, T: Value>(&'a self, x: impl IntoSpVec<'a, T>, y: impl IntoVector<'a, T>) -> Result<T> {
        self.older_dot(&x.into(), &y.into(), raw::doti::<T>)
    }

    /// As [`doti`](Self::doti), with x conjugated. [`spvv_conj`](Self::spvv_conj) does the same.
    ///
    /// # Errors
    /// As [`spvv`](Self::spvv).
    #[doc(alias("hipsparseCdotci", "hipsparseZdotci", "cusparseZdotci"))]
    pub fn dotci<'a, T: ComplexValue>(&'a self, x: impl IntoSpVec<'a, T>, y: impl IntoVector<'a, T>) -> Result<T> {
        self.older_dot(&x.into(), &y.into(), raw::dotci::<T>)
    }

    fn older_dot<'a, T: Value>(
        &'a self,
        x: &SpVecRef<'a, T>,
        y: &VectorRef<'a, T>,
        function: unsafe fn(Ptr, i32, Ptr, Ptr, Ptr, Ptr, u32) -> Returned,
    ) -> Result<T> {
        let shapes = Shapes::of("doti", [("x", x.into()), ("y", y.into())]);
        shapes.fits("the length of y", y.len(), x.len, "as x")?;
        let mut operands = Operands::on(self.stream());
        let (entries, indices, values, base) = read(&mut operands, x)?;
        let y = vector(&mut operands, "y", y)?;
        operands.form()?;
        if entries == 0 {
            return Ok(T::ZERO);
        }
        // SAFETY: the indices were checked, and y has the length that they require.
        let number = unsafe {
            self.handle.call_for_number::<T>(operands, |handle, place| {
                function(handle, entries, values, indices, y, place, base).ok(|| format!("{entries} entries"))
            })
        };
        Ok(number?)
    }

    /// Copies the elements of y at the indices of a sparse x to the values of x. [`gather`](Self::gather) does the
    /// same.
    ///
    /// # Errors
    /// As [`gather`](Self::gather).
    #[doc(alias("hipsparseSgthr", "hipsparseDgthr", "hipsparseCgthr", "hipsparseZgthr", "cusparseDgthr"))]
    pub fn gthr<'a, T: Value>(&'a self, y: impl IntoVector<'a, T>, x: impl IntoSpVecMut<'a, T>) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let shapes = Shapes::of("gthr", [("x", (&x).into()), ("y", (&y).into())]);
        shapes.fits("the length of y", y.len(), x.len, "as x")?;
        let mut operands = Operands::on(self.stream());
        let (entries, indices, values, base) = write(&mut operands, x)?;
        let y = vector(&mut operands, "y", &y)?;
        self.queue(operands, |handle| {
            // SAFETY: the indices were checked, and y has the length that they require.
            unsafe { raw::gthr::<T>(handle, entries, y, values, indices, base) }.ok(|| format!("{entries} entries"))
        })
    }

    /// As [`gthr`](Self::gthr), and sets the elements of y at the indices to zero.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    #[doc(alias("hipsparseSgthrz", "hipsparseDgthrz", "hipsparseCgthrz", "hipsparseZgthrz", "cusparseDgthrz"))]
    pub fn gthrz<'a, T: Value>(&'a self, y: impl IntoVectorMut<'a, T>, x: impl IntoSpVecMut<'a, T>) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let shapes = Shapes::of("gthrz", [("x", (&x).into()), ("y", (&y).into())]);
        shapes.fits("the length of y", y.len(), x.len, "as x")?;
        unique("x", x.unique)?;
        let mut operands = Operands::on(self.stream());
        let (entries, indices, values, base) = write(&mut operands, x)?;
        let y = vector_mut(&mut operands, "y", y)?;
        self.queue(operands, |handle| {
            // SAFETY: the indices were checked, and y has the length that they require.
            unsafe { raw::gthrz::<T>(handle, entries, y, values, indices, base) }.ok(|| format!("{entries} entries"))
        })
    }

    /// Copies the values of a sparse x to the elements of y at its indices. [`scatter`](Self::scatter) does the same.
    ///
    /// # Errors
    /// As [`scatter`](Self::scatter).
    #[doc(alias("hipsparseSsctr", "hipsparseDsctr", "hipsparseCsctr", "hipsparseZsctr", "cusparseDsctr"))]
    pub fn sctr<'a, T: Value>(&'a self, x: impl IntoSpVec<'a, T>, y: impl IntoVectorMut<'a, T>) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let shapes = Shapes::of("sctr", [("x", (&x).into()), ("y", (&y).into())]);
        shapes.fits("the length of y", y.len(), x.len, "as x")?;
        unique("x", x.unique)?;
        let mut operands = Operands::on(self.stream());
        let (entries, indices, values, base) = read(&mut operands, &x)?;
        let y = vector_mut(&mut operands, "y", y)?;
        self.queue(operands, |handle| {
            // SAFETY: the indices were checked, and y has the length that they require.
            unsafe { raw::sctr::<T>(handle, entries, values, indices, y, base) }.ok(|| format!("{entries} entries"))
        })
    }

    /// Givens rotation: x, y = c x + s y, c y − s x, at the indices of a sparse x. [`rot`](Self::rot) does the same.
    ///
    /// # Errors
    /// As [`rot`](Self::rot).
    #[doc(alias("hipsparseSroti", "hipsparseDroti", "cusparseDroti"))]
    pub fn roti<'a, T: RealValue>(
        &'a self,
        c: impl IntoScalar<'a, T>,
        s: impl IntoScalar<'a, T>,
        x: impl IntoSpVecMut<'a, T>,
        y: impl IntoVectorMut<'a, T>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let shapes = Shapes::of("roti", [("x", (&x).into()), ("y", (&y).into())]);
        shapes.fits("the length of y", y.len(), x.len, "as x")?;
        unique("x", x.unique)?;
        let mut operands = Operands::on(self.stream());
        let factors = [factor(&mut operands, "c", c)?, factor(&mut operands, "s", s)?];
        let (entries, indices, values, base) = write(&mut operands, x)?;
        let y = vector_mut(&mut operands, "y", y)?;
        operands.form()?;
        // SAFETY: the indices were checked, and y has the length that they require.
        unsafe {
            self.handle.call(operands, &factors, |handle, [c, s]| {
                raw::roti::<T>(handle, entries, values, indices, y, c.cast_mut(), s.cast_mut(), base)
                    .ok(|| format!("{entries} entries"))
            })?;
        }
        Ok(())
    }

    /// Queues a call without scalars whose operands were checked.
    pub(crate) fn queue<'a>(
        &'a self,
        operands: Operands<'a>,
        call: impl FnOnce(Ptr) -> Result<(), CallError>,
    ) -> Result<()> {
        operands.form()?;
        // SAFETY: the caller's call uses only the named operands.
        unsafe { self.handle.call(operands, &[], |handle, []| call(handle))? };
        Ok(())
    }
}
