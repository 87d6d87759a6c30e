//! Incomplete factorizations, ILU(0) and IC(0), of CSR and BSR.

use std::fmt;
use std::marker::PhantomData;

use hip::interop::Tracked;
use hip::{DeviceBuffer, DeviceSliceMut, IntoSlice};
use hip_linalg::Operands;

use crate::call::{self, Arrays, Owned, mat_descr, matrix_mut, sorted};
use crate::checks::{int, invalid};
use crate::format::{Bsr, Csr, Format};
use crate::into::IntoSpMatMut;
use crate::matrix::{SpMatMut, SpMatRef, SpTriangle};
use crate::numbers::{Blocks, Pivots};
use crate::raw::{self, Ptr, Returned};
use crate::solve::{Legacy, POLICY, pivot, square};
use crate::{Error, Result, Sparse, Value};

/// Kinds of factorizations.
pub mod kind {
    /// A ≈ L U with ones on the diagonal of L.
    #[derive(Clone, Copy, Debug)]
    pub struct Ilu;
    /// A ≈ L Lᴴ, of a Hermitian matrix that is positive definite.
    #[derive(Clone, Copy, Debug)]
    pub struct Ic;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::kind::Ilu {}
    impl Sealed for super::kind::Ic {}
}

/// A kind of factorization for matrices of a format: ILU(0) and IC(0) for CSR, and for BSR with square blocks.
pub trait Factorization<F: Format>: sealed::Sealed + Send + Sync + 'static {
    #[doc(hidden)]
    const NAME: &'static str;
    /// Whether the pivots must be positive.
    #[doc(hidden)]
    const POSITIVE: bool;
    #[doc(hidden)]
    fn block(format: &F) -> Result<(usize, u32)>;
    #[doc(hidden)]
    unsafe fn create(place: Ptr) -> Returned;
    #[doc(hidden)]
    unsafe fn destroy(info: Ptr) -> Returned;
    #[doc(hidden)]
    unsafe fn size<T: Value>(handle: Ptr, a: &Legacy, bytes: Ptr) -> Returned;
    #[doc(hidden)]
    unsafe fn analyse<T: Value>(handle: Ptr, a: &Legacy, work: Ptr) -> Returned;
    #[doc(hidden)]
    unsafe fn factorise<T: Value>(handle: Ptr, a: &Legacy, work: Ptr) -> Returned;
    #[doc(hidden)]
    unsafe fn zero_pivot(handle: Ptr, info: Ptr, place: Ptr) -> Returned;
}

macro_rules! factorizations {
    ($($kind:ident, $format:ident, $name:literal, $positive:literal, $create:ident, $destroy:ident, $pivot:ident,
        $size:ident, $analysis:ident, $factor:ident, [$($front:ident)*], [$($behind:ident)*];)*) => {$(
        impl Factorization<$format> for kind::$kind {
            const NAME: &'static str = $name;
            const POSITIVE: bool = $positive;

            fn block(format: &$format) -> Result<(usize, u32)> {
                factorizations!(@block $format format)
            }

            unsafe fn create(place: Ptr) -> Returned {
                // SAFETY: the caller's pointer.
                unsafe { raw::$create(place) }
            }

            unsafe fn destroy(info: Ptr) -> Returned {
                // SAFETY: the caller's information.
                unsafe { raw::$destroy(info) }
            }

            unsafe fn size<T: Value>(handle: Ptr, a: &Legacy, bytes: Ptr) -> Returned {
                // SAFETY: the caller's matrix.
                unsafe {
                    raw::$size::<T>(
                        handle, $(a.$front,)* a.rows, a.entries, a.descr, a.values, a.first, a.second, $(a.$behind,)* a.info,
                        bytes,
                    )
                }
            }

            unsafe fn analyse<T: Value>(handle: Ptr, a: &Legacy, work: Ptr) -> Returned {
                // SAFETY: the caller's matrix.
                unsafe {
                    raw::$analysis::<T>(
                        handle, $(a.$front,)* a.rows, a.entries, a.descr, a.values, a.first, a.second, $(a.$behind,)* a.info,
                        POLICY, work,
                    )
                }
            }

            unsafe fn factorise<T: Value>(handle: Ptr, a: &Legacy, work: Ptr) -> Returned {
                // SAFETY: the caller's matrix.
                unsafe {
                    raw::$factor::<T>(
                        handle, $(a.$front,)* a.rows, a.entries, a.descr, a.values, a.first, a.second, $(a.$behind,)* a.info,
                        POLICY, work,
                    )
                }
            }

            unsafe fn zero_pivot(handle: Ptr, info: Ptr, place: Ptr) -> Returned {
                // SAFETY: the caller's information object and pointer.
                unsafe { raw::$pivot(handle, info, place) }
            }
        }
    )*};
    (@block Csr $format:ident) => {{
        let _ = $format;
        Ok((1, 0))
    }};
    (@block Bsr $format:ident) => { square($format) };
}

factorizations! {
    Ilu, Csr, "ILU(0)", false, hipsparseCreateCsrilu02Info, hipsparseDestroyCsrilu02Info, hipsparseXcsrilu02_zeroPivot,
        csrilu02_bufferSizeExt, csrilu02_analysis, csrilu02, [], [];
    Ic, Csr, "IC(0)", true, hipsparseCreateCsric02Info, hipsparseDestroyCsric02Info, hipsparseXcsric02_zeroPivot,
        csric02_bufferSizeExt, csric02_analysis, csric02, [], [];
    Ilu, Bsr, "ILU(0) of blocks", false, hipsparseCreateBsrilu02Info, hipsparseDestroyBsrilu02Info, hipsparseXbsrilu02_zeroPivot,
        bsrilu02_bufferSize, bsrilu02_analysis, bsrilu02, [direction], [block];
    Ic, Bsr, "IC(0) of blocks", true, hipsparseCreateBsric02Info, hipsparseDestroyBsric02Info, hipsparseXbsric02_zeroPivot,
        bsric02_bufferSize, bsric02_analysis, bsric02, [direction], [block];
}

/// The common parts of both states.
struct State<'a, K: Factorization<F>, F: Format, T> {
    sparse: &'a Sparse,
    matrix: SpMatMut<'a, F, T>,
    raw: Legacy,
    owned: Option<(Owned, Owned, Tracked)>,
    work: DeviceBuffer<u8>,
    pivots: Pivots<T>,
    kind: PhantomData<fn() -> K>,
}

// SAFETY: the addresses in `raw` belong to memory that the other fields borrow or own, all of which may be sent.
unsafe impl<K: Factorization<F>, F: Format, T: Send> Send for State<'_, K, F, T> {}

impl<K: Factorization<F>, F: Format, T: Value> State<'_, K, F, T> {
    fn asked(&self) -> String {
        call::asked(&self.matrix.pattern)
    }

    /// Queues the factorization.
    fn factorise(&mut self) -> Result<()> {
        let Some((_, _, tracked)) = &self.owned else { return Ok(()) };
        let mut operands = Operands::on(self.sparse.stream());
        let pattern = self.matrix.pattern;
        // SAFETY: the operands are dropped by the time the call returns.
        let to = unsafe { self.pivots.named(&mut operands, self.sparse, self.matrix.values.as_slice())? };
        let (first, second) = call::pattern(&mut operands, &pattern)?;
        let values = operands.slice_mut("A", self.matrix.values.slice_mut(..)?)?;
        operands.uses().tracked(tracked);
        let work = operands.slice_mut("the workspace", self.work.as_slice_mut())?;
        operands.form()?;
        let (raw, pivots, stream) = (&self.raw, &self.pivots, self.sparse.stream().as_raw());
        let (arrays, of) = (Arrays { first, second, values }, (pattern.rows, pattern.base));
        // SAFETY: the matrix and the workspace of the analysis, and the memory of `pivots`.
        unsafe {
            self.sparse.handle.call(operands, &[], |handle, []| {
                let factorise = || K::factorise::<T>(handle, raw, work).ok(|| call::asked(&pattern));
                pivots.around(stream, arrays, of, to, factorise)
            })?;
        }
        Ok(())
    }

    /// Returns an error for the first row that the library or this crate has found.
    fn check(&self) -> Result<()> {
        let ours = self.pivots.find(&self.matrix.view())?;
        match (self.pivot(), ours) {
            (Err(Error::ZeroPivot { routine, row }), Some(other)) => {
                Err(Error::ZeroPivot { routine, row: row.min(other) })
            }
            (Ok(()), Some(row)) => Err(Error::ZeroPivot { routine: K::NAME, row }),
            (found, _) => found,
        }
    }

    fn pivot(&self) -> Result<()> {
        let Some((_, _, tracked)) = &self.owned else { return Ok(()) };
        let mut operands = Operands::on(self.sparse.stream());
        operands.uses().tracked(tracked);
        let base = self.matrix.pattern.base.code() as i32;
        pivot(self.sparse, operands, (K::NAME, base), |handle, place| {
            // SAFETY: information that is alive, and room for the position.
            unsafe { K::zero_pivot(handle, self.raw.info, place) }
        })
    }
}

impl<K: Factorization<F>, F: Format, T> Drop for State<'_, K, F, T> {
    fn drop(&mut self) {
        let Some((info, descr, tracked)) = self.owned.take() else { return };
        self.sparse.destroy_when_idle(tracked, info);
        drop(descr);
    }
}

/// A matrix that was analysed for an incomplete factorization. [`Sparse::ilu0`] and [`Sparse::ic0`] create it.
pub struct Analyzed<'a, K: Factorization<F>, F: Format, T> {
    state: State<'a, K, F, T>,
    boost: Option<Box<(f64, T)>>,
}

/// A matrix that was overwritten with its incomplete factors. [`Analyzed::factorize`] creates it.
pub struct Factors<'a, K: Factorization<F>, F: Format, T> {
    state: State<'a, K, F, T>,
    /// The library keeps the address of this memory.
    _boost: Option<Box<(f64, T)>>,
}

impl<K: Factorization<F>, F: Format, T: Value> fmt::Debug for Analyzed<'_, K, F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Analyzed").field("kind", &K::NAME).field("matrix", &self.state.matrix).finish_non_exhaustive()
    }
}

impl<K: Factorization<F>, F: Format, T: Value> fmt::Debug for Factors<'_, K, F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factors").field("kind", &K::NAME).field("matrix", &self.state.matrix).finish_non_exhaustive()
    }
}

impl<'a, K: Factorization<F>, F: Format, T: Value> Analyzed<'a, K, F, T> {
    /// Returns the values of the matrix, to write to.
    #[must_use]
    pub fn values_mut(&mut self) -> DeviceSliceMut<'_, T> {
        self.state.matrix.values_mut()
    }

    /// Queues the factorization: the values of the matrix are overwritten with those of the factors. [`Factors::wait`]
    /// returns whether it succeeded.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hipsparseDcsrilu02", "hipsparseDcsric02", "hipsparseDbsrilu02", "hipsparseDbsric02"))]
    #[doc(alias("cusparseDcsrilu02", "cusparseDcsric02", "cusparseDbsrilu02", "cusparseDbsric02"))]
    pub fn factorize(mut self) -> Result<Factors<'a, K, F, T>> {
        self.state.factorise()?;
        Ok(Factors { state: self.state, _boost: self.boost })
    }
}

impl<T: Value> Analyzed<'_, kind::Ilu, Csr, T> {
    /// Makes the library replace pivots whose absolute value is at most `tolerance` with `value`.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hipsparseDcsrilu02_numericBoost", "cusparseDcsrilu02_numericBoost"))]
    pub fn boost(mut self, tolerance: f64, value: T) -> Result<Self> {
        let boost = Box::new((tolerance, value));
        let (info, tolerance, value) = (self.state.raw.info, (&raw const boost.0), (&raw const boost.1));
        self.state.sparse.handle.configure(|handle| {
            // SAFETY: information that is alive, and numbers that live as long as it: the library keeps their addresses.
            unsafe {
                raw::csrilu02_numericBoost::<T>(handle, info, 1, tolerance.cast_mut().cast(), value.cast_mut().cast())
            }
            .ok(|| self.state.asked())
        })?;
        self.boost = Some(boost);
        Ok(self)
    }
}

impl<T: Value> Analyzed<'_, kind::Ilu, Bsr, T> {
    /// Makes the library replace pivots whose absolute value is at most `tolerance` with `value`.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hipsparseDbsrilu02_numericBoost", "cusparseDbsrilu02_numericBoost"))]
    pub fn boost(mut self, tolerance: f64, value: T) -> Result<Self> {
        let boost = Box::new((tolerance, value));
        let (info, tolerance, value) = (self.state.raw.info, (&raw const boost.0), (&raw const boost.1));
        self.state.sparse.handle.configure(|handle| {
            // SAFETY: information that is alive, and numbers that live as long as it: the library keeps their addresses.
            unsafe {
                raw::bsrilu02_numericBoost::<T>(handle, info, 1, tolerance.cast_mut().cast(), value.cast_mut().cast())
            }
            .ok(|| self.state.asked())
        })?;
        self.boost = Some(boost);
        Ok(self)
    }
}

impl<K: Factorization<F>, F: Format, T: Value> Factors<'_, K, F, T> {
    /// Waits for the factorization.
    ///
    /// # Errors
    /// [`Error::ZeroPivot`] for the first row whose pivot is zero, for the first row of the factors with a NaN or an
    /// infinity and, for IC(0), for the first row whose pivot is not positive: A is not positive definite, or its factor
    /// with this pattern does not exist.
    #[doc(alias("hipsparseXcsrilu02_zeroPivot", "hipsparseXcsric02_zeroPivot", "hipsparseXbsrilu02_zeroPivot"))]
    #[doc(alias("hipsparseXbsric02_zeroPivot", "cusparseXcsrilu02_zeroPivot", "cusparseXcsric02_zeroPivot"))]
    pub fn wait(&self) -> Result<()> {
        self.state.check()
    }

    /// Returns both factors, in the matrix's positions.
    #[must_use]
    pub fn view(&self) -> SpMatRef<'_, F, T> {
        self.state.matrix.view()
    }

    /// Copies new values for the same pattern, and queues their factorization. The analysis is reused.
    ///
    /// # Errors
    /// An error for a different number of values; an error from the library.
    pub fn refactorize<'s>(&mut self, values: impl IntoSlice<'s, T>) -> Result<()> {
        let (values, needed) = (values.into(), self.state.matrix.values.len());
        if values.len() != needed {
            let allowed = format!("{needed}, as the pattern has");
            return Err(invalid("the number of values", values.len().to_string(), allowed));
        }
        self.state.matrix.values.copy_from_device_async(self.state.sparse.stream(), values)?;
        self.state.factorise()
    }
}

impl<F: Format, T: Value> Factors<'_, kind::Ilu, F, T>
where
    kind::Ilu: Factorization<F>,
{
    /// Returns L, with ones on the diagonal.
    ///
    /// # Errors
    /// None at present.
    pub fn lower(&self) -> Result<SpTriangle<'_, F, T>> {
        Ok(self.view().lower()?.unit())
    }

    /// Returns U.
    ///
    /// # Errors
    /// None at present.
    pub fn upper(&self) -> Result<SpTriangle<'_, F, T>> {
        self.view().upper()
    }
}

impl<F: Format, T: Value> Factors<'_, kind::Ic, F, T>
where
    kind::Ic: Factorization<F>,
{
    /// Returns L. The other factor is `lower()?.h()`.
    ///
    /// # Errors
    /// None at present.
    pub fn lower(&self) -> Result<SpTriangle<'_, F, T>> {
        self.view().lower()
    }
}

/// Incomplete factorizations.
impl Sparse {
    /// Analyses a square CSR or BSR matrix for ILU(0): A ≈ L U, with A's pattern. The entries must be sorted. The
    /// call waits.
    ///
    /// # Errors
    /// [`Error::ZeroPivot`](crate::Error::ZeroPivot) if an entry of the diagonal is not stored;
    /// [`CallError::Invalid`](crate::CallError::Invalid) for a matrix that is not square, entries that are not sorted,
    /// and blocks that are not square.
    #[doc(alias("hipsparseDcsrilu02_analysis", "hipsparseDbsrilu02_analysis", "cusparseDcsrilu02_analysis"))]
    pub fn ilu0<'a, F: Format, T: Value>(
        &'a self,
        a: impl IntoSpMatMut<'a, F, T>,
    ) -> Result<Analyzed<'a, kind::Ilu, F, T>>
    where
        kind::Ilu: Factorization<F>,
    {
        self.incomplete(a.into())
    }

    /// Analyses a Hermitian CSR or BSR matrix for IC(0): A ≈ L Lᴴ, with A's pattern. Its lower triangle is used.
    /// The entries must be sorted. The call waits.
    ///
    /// # Errors
    /// As [`ilu0`](Self::ilu0). [`Factors::wait`] returns the error for a matrix that is not positive definite.
    #[doc(alias("hipsparseDcsric02_analysis", "hipsparseDbsric02_analysis", "cusparseDcsric02_analysis"))]
    pub fn ic0<'a, F: Format, T: Value>(
        &'a self,
        a: impl IntoSpMatMut<'a, F, T>,
    ) -> Result<Analyzed<'a, kind::Ic, F, T>>
    where
        kind::Ic: Factorization<F>,
    {
        self.incomplete(a.into())
    }

    fn incomplete<'a, K: Factorization<F>, F: Format, T: Value>(
        &'a self,
        mut a: SpMatMut<'a, F, T>,
    ) -> Result<Analyzed<'a, K, F, T>> {
        let pattern = a.pattern;
        if pattern.rows != pattern.cols {
            let found = format!("of {} x {}", pattern.rows, pattern.cols);
            return Err(invalid("a matrix that is factorised", found, "square"));
        }
        sorted("A", &pattern)?;
        let (block, direction) = K::block(&pattern.format)?;
        let descr = mat_descr(pattern.base, None)?;
        // SAFETY: the function writes information through a valid pointer.
        let info = unsafe { Owned::new(|place| K::create(place), K::destroy, String::new)? };
        let mut operands = Operands::on(self.stream());
        let arrays = matrix_mut(&mut operands, "A", a.reborrow())?;
        let raw = Legacy {
            direction,
            op: 0,
            rows: int("rows of A", pattern.rows / block)?,
            entries: int("entries of A", pattern.entries())?,
            descr: descr.raw(),
            values: arrays.values,
            first: arrays.first,
            second: arrays.second,
            block: int("the size of a block", block)?,
            info: info.raw(),
        };
        let asked = || call::asked(&pattern);
        let bytes = self.size(|handle, bytes| {
            // SAFETY: a matrix that was checked; the function writes the size, in 32 or 64 bits.
            unsafe { K::size::<T>(handle, &raw, bytes) }.ok(asked)
        })?;
        let mut work = self.new_work(bytes)?;
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let place = unsafe { operands.lend("the workspace", work.as_slice_mut())? };
        // SAFETY: the pattern was checked, and is sorted.
        unsafe {
            self.handle.call_blocking(operands, |handle| K::analyse::<T>(handle, &raw, place).ok(asked))?;
        }
        let owned = Some((info, descr, Tracked::new()));
        let (blocks, stored) = (Blocks::new(block, direction), a.values.len());
        let pivots = Pivots::new(&self.stream().device(), pattern.rows, blocks, K::POSITIVE, stored)?;
        let state = State { sparse: self, matrix: a, raw, owned, work, pivots, kind: PhantomData };
        state.pivot()?;
        Ok(Analyzed { state, boost: None })
    }
}
