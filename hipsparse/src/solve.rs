//! Triangular solves: the generic ones, and the older ones, which report zero pivots and support BSR.

use hip::DeviceBuffer;
use hip::interop::Tracked;
use hip_linalg::{
    Batch, IntoMatrix, IntoMatrixMut, IntoScalar, IntoVector, IntoVectorMut, MatrixMut, MatrixRef, Op, Operands, Shape,
    Shapes,
};

use crate::call::{
    self, Dense, Owned, any_scalar, data_type, dense, dense_mut, dense_vector, describe, factor, fill_mode, mat_descr,
    matrix, operation, sorted, vector, vector_mut,
};
use crate::checks::{alone, int, invalid};
use crate::format::{Bsr, Csr, Format, Generic};
use crate::matrix::SpTriangle;
use crate::raw::{self, Ptr, Returned};
use crate::{Error, Index, Result, Sparse, Value};

/// HIPSPARSE_SPSV_ALG_DEFAULT, _SPSM_.
const DEFAULT: u32 = 0;

/// Sets which triangle is used, and whether its diagonal is ones.
fn set_triangle<F: Format, T, I: Index>(descr: &Owned, a: &SpTriangle<'_, F, T, I>) -> Result<()> {
    for (attribute, value) in [(0, fill_mode(a.stored)), (1, u32::from(a.unit))] {
        let place = (&raw const value).cast_mut().cast();
        // SAFETY: a descriptor that is alive, and a number of the stated size.
        let set = unsafe { raw::hipsparseSpMatSetAttribute(descr.raw(), attribute, place, size_of::<u32>()) };
        set.ok(|| format!("attribute {attribute} is {value}"))?;
    }
    Ok(())
}

fn shape<F: Format, T, I: Index>(a: &SpTriangle<'_, F, T, I>) -> String {
    let SpTriangle { matrix, stored, unit } = a;
    format!("{stored:?}, unit: {unit}, {:?}, {}", matrix.op, call::asked(&matrix.pattern))
}

/// The result of an analysis.
#[derive(Debug)]
struct Analysis {
    matrix: Owned,
    state: Owned,
    tracked: Tracked,
}

impl Sparse {
    fn forget(&self, analysis: Option<Analysis>) {
        let Some(Analysis { matrix, state, tracked }) = analysis else { return };
        let device = self.stream().device();
        let destroy = (state.into_destroy(), matrix.into_destroy());
        // The state is dropped first. That may free device memory.
        tracked.release_when_idle(&device.clone(), move || {
            drop(device.with_current(|| {
                destroy.0();
                destroy.1();
            }));
        });
    }
}

/// A triangular matrix that was analysed for solves. [`Sparse::spsv`] creates it.
///
/// The analysis depends on the pattern, and checks that no diagonal is zero or missing. The matrix stays borrowed.
#[derive(Debug)]
pub struct SpSv<'a, F: Generic, T: Value, I: Index> {
    sparse: &'a Sparse,
    triangle: SpTriangle<'a, F, T, I>,
    op: u32,
    /// `Some` until dropped.
    analysis: Option<Analysis>,
    work: DeviceBuffer<u8>,
}

impl<F: Generic, T: Value, I: Index> SpSv<'_, F, T, I> {
    /// Solves A y = α x.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for lengths that do not fit.
    #[doc(alias("hipsparseSpSV_solve", "cusparseSpSV_solve"))]
    pub fn solve<'b>(
        &'b mut self,
        alpha: impl IntoScalar<'b, T>,
        x: impl IntoVector<'b, T>,
        y: impl IntoVectorMut<'b, T>,
    ) -> Result<()> {
        let Some(Analysis { matrix: descr, state, tracked }) = &self.analysis else { return Ok(()) };
        let (x, y, order) = (x.into(), y.into(), self.triangle.order());
        let shapes = Shapes::of("spsv", [("A", Shape::matrix(order, order)), ("x", (&x).into()), ("y", (&y).into())]);
        shapes.fits("the length of x", x.len(), order, "the order of A")?;
        shapes.fits("the length of y", y.len(), order, "the order of A")?;
        let mut operands = Operands::on(self.sparse.stream());
        let factors = [factor(&mut operands, "α", alpha)?];
        matrix(&mut operands, "A", &self.triangle.matrix)?;
        operands.uses().tracked(tracked);
        let x = dense_vector::<T>(order, vector(&mut operands, "x", &x)?)?;
        let y = dense_vector::<T>(order, vector_mut(&mut operands, "y", y)?)?;
        let work = operands.slice_mut("the workspace", self.work.as_slice_mut())?;
        operands.form()?;
        let (op, kind, a, state) = (self.op, data_type::<T>(), descr.raw(), state.raw());
        let (x, y, triangle) = (x.raw(), y.raw(), &self.triangle);
        // SAFETY: the matrix, its descriptor and the workspace of the analysis; the vectors have the length of its order.
        unsafe {
            self.sparse.handle.call(operands, &factors, |handle, [alpha]| {
                let alpha = alpha.cast_mut();
                let done = if raw::is_5() {
                    raw::hipsparseSpSV_solve_5(handle, op, alpha, a, x, y, kind, DEFAULT, state, work)
                } else {
                    raw::hipsparseSpSV_solve(handle, op, alpha, a, x, y, kind, DEFAULT, state)
                };
                done.ok(|| shape(triangle))
            })?;
        }
        Ok(())
    }
}

impl<F: Generic, T: Value, I: Index> Drop for SpSv<'_, F, T, I> {
    fn drop(&mut self) {
        self.sparse.forget(self.analysis.take());
    }
}

/// A triangular matrix that was analysed for solves with several right-hand sides. [`Sparse::spsm`] creates it.
#[derive(Debug)]
pub struct SpSm<'a, F: Generic, T: Value, I: Index> {
    sparse: &'a Sparse,
    triangle: SpTriangle<'a, F, T, I>,
    op: u32,
    /// Columns of B, its operation in memory, whether X is row-major, and both leading dimensions.
    layout: (usize, Op, bool, usize, usize),
    analysis: Option<Analysis>,
    work: DeviceBuffer<u8>,
}

fn layout<T>(b: &MatrixRef<'_, T>, x: &MatrixMut<'_, T>) -> (usize, Op, bool, usize, usize) {
    (b.cols(), b.op(), x.op().transposed, b.leading_dimension(), x.leading_dimension())
}

fn fits_spsm<F: Format, T: Value, I: Index>(
    a: &SpTriangle<'_, F, T, I>,
    b: &MatrixRef<'_, T>,
    x: &MatrixMut<'_, T>,
) -> Result<()> {
    let shapes = Shapes::of("spsm", [("A", Shape::matrix(a.order(), a.order())), ("B", b.into()), ("X", x.into())]);
    shapes.fits("the rows of B", b.rows(), a.order(), "the order of A")?;
    shapes.fits("the rows of X", x.rows(), a.order(), "the order of A")?;
    shapes.fits("the columns of X", x.cols(), b.cols(), "the columns of B")?;
    alone("B", b.batch_size())?;
    alone("X", x.batch_size())?;
    if x.op().conjugated && T::COMPLEX {
        return Err(invalid("X", format!("{:?}", x.op()), "not conjugated in memory"));
    }
    Ok(())
}

impl<F: Generic, T: Value, I: Index> SpSm<'_, F, T, I> {
    /// Solves A X = α B. B and X must have the shapes and layouts that the analysis was made for.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for other shapes or layouts.
    #[doc(alias("hipsparseSpSM_solve", "cusparseSpSM_solve"))]
    pub fn solve<'b>(
        &'b mut self,
        alpha: impl IntoScalar<'b, T>,
        b: impl IntoMatrix<'b, T>,
        x: impl IntoMatrixMut<'b, T>,
    ) -> Result<()> {
        let Some(Analysis { matrix: descr, state, tracked }) = &self.analysis else { return Ok(()) };
        let (b, x) = (b.into(), x.into());
        fits_spsm(&self.triangle, &b, &x)?;
        if layout(&b, &x) != self.layout {
            let found = format!("{:?}", layout(&b, &x));
            return Err(invalid("the layout of B and X", found, format!("{:?}, as analysed", self.layout)));
        }
        let row_major = x.op().transposed;
        let mut operands = Operands::on(self.sparse.stream());
        let factors = [factor(&mut operands, "α", alpha)?];
        matrix(&mut operands, "A", &self.triangle.matrix)?;
        operands.uses().tracked(tracked);
        let b = dense(&mut operands, "B", &b)?;
        let x = dense_mut(&mut operands, "X", x)?;
        let work = operands.slice_mut("the workspace", self.work.as_slice_mut())?;
        operands.form()?;
        let ((b, op_b), (x, _)) = (b.describe::<T>("B", row_major)?, x.describe::<T>("X", row_major)?);
        let (op, kind, a, state) = (self.op, data_type::<T>(), descr.raw(), state.raw());
        let (b, x, triangle) = (b.raw(), x.raw(), &self.triangle);
        // SAFETY: as in `SpSv::solve`.
        unsafe {
            self.sparse.handle.call(operands, &factors, |handle, [alpha]| {
                let alpha = alpha.cast_mut();
                raw::hipsparseSpSM_solve(handle, op, op_b, alpha, a, b, x, kind, DEFAULT, state, work)
                    .ok(|| shape(triangle))
            })?;
        }
        Ok(())
    }
}

impl<F: Generic, T: Value, I: Index> Drop for SpSm<'_, F, T, I> {
    fn drop(&mut self) {
        self.sparse.forget(self.analysis.take());
    }
}

/// Triangular solves.
impl Sparse {
    /// Analyses a triangular CSR or COO matrix for solves with vectors. The entries must be sorted. The call waits.
    ///
    /// # Errors
    /// [`Error::ZeroPivot`] for the first row whose diagonal is zero or is not stored, unless it is
    /// [`unit`](SpTriangle::unit); [`CallError::Invalid`](crate::CallError::Invalid) for entries that are not sorted;
    /// the library's own error for an unsupported operation.
    #[doc(alias("hipsparseSpSV_analysis", "hipsparseSpSV_bufferSize", "hipsparseSpSV_createDescr"))]
    #[doc(alias("cusparseSpSV_analysis", "cusparseSpSV_bufferSize", "cusparseSpSV_createDescr"))]
    pub fn spsv<'a, F: Generic, T: Value, I: Index>(&'a self, a: SpTriangle<'a, F, T, I>) -> Result<SpSv<'a, F, T, I>> {
        sorted("A", &a.matrix.pattern)?;
        let op = operation::<T>("A", a.matrix.op)?;
        let mut operands = Operands::on(self.stream());
        let arrays = matrix(&mut operands, "A", &a.matrix)?;
        let descr = describe::<F, T, I>(&a.matrix.pattern, arrays)?;
        set_triangle(&descr, &a)?;
        // SAFETY: the function writes a description through a valid pointer.
        let state = unsafe {
            Owned::new(|place| raw::hipsparseSpSV_createDescr(place), raw::hipsparseSpSV_destroyDescr, String::new)?
        };
        // The call does not read their elements.
        let (x, y) = (dense_vector::<T>(a.order(), any_scalar())?, dense_vector::<T>(a.order(), any_scalar())?);
        let (matrix, x, y, of_state, any, kind) =
            (descr.raw(), x.raw(), y.raw(), state.raw(), any_scalar(), data_type::<T>());
        let asked = || shape(&a);
        let bytes = self.size(|handle, bytes| {
            // SAFETY: descriptors of operands that fit; the function writes the size.
            unsafe { raw::hipsparseSpSV_bufferSize(handle, op, any, matrix, x, y, kind, DEFAULT, of_state, bytes) }
                .ok(asked)
        })?;
        let mut work = self.new_work(bytes)?;
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let place = unsafe { operands.lend("the workspace", work.as_slice_mut())? };
        // SAFETY: the pattern was checked; the analysis reads no vectors.
        unsafe {
            self.handle.call_blocking(operands, |handle| {
                raw::hipsparseSpSV_analysis(handle, op, any, matrix, x, y, kind, DEFAULT, of_state, place).ok(asked)
            })?;
        }
        self.expect_pivots("spsv", &a)?;
        let analysis = Some(Analysis { matrix: descr, state, tracked: Tracked::new() });
        Ok(SpSv { sparse: self, triangle: a, op, analysis, work })
    }

    /// Analyses a triangular CSR or COO matrix for solves with matrices of the shapes and layouts of `b` and `x`, whose
    /// elements are not used. The entries must be sorted. The call waits.
    ///
    /// # Errors
    /// As [`spsv`](Self::spsv); an error for shapes that do not fit.
    #[doc(alias("hipsparseSpSM_analysis", "hipsparseSpSM_bufferSize", "hipsparseSpSM_createDescr"))]
    #[doc(alias("cusparseSpSM_analysis", "cusparseSpSM_bufferSize", "cusparseSpSM_createDescr"))]
    pub fn spsm<'a, F: Generic, T: Value, I: Index>(
        &'a self,
        a: SpTriangle<'a, F, T, I>,
        b: &MatrixRef<'_, T>,
        x: &MatrixMut<'_, T>,
    ) -> Result<SpSm<'a, F, T, I>> {
        sorted("A", &a.matrix.pattern)?;
        fits_spsm(&a, b, x)?;
        let op = operation::<T>("A", a.matrix.op)?;
        let mut operands = Operands::on(self.stream());
        let arrays = matrix(&mut operands, "A", &a.matrix)?;
        let descr = describe::<F, T, I>(&a.matrix.pattern, arrays)?;
        set_triangle(&descr, &a)?;
        // SAFETY: the function writes a description through a valid pointer.
        let state = unsafe {
            Owned::new(|place| raw::hipsparseSpSM_createDescr(place), raw::hipsparseSpSM_destroyDescr, String::new)?
        };
        let layout = layout(b, x);
        let stand_in = |ld: usize, op| Dense {
            pointer: any_scalar(),
            rows: a.order(),
            cols: b.cols(),
            ld: ld as i64,
            op,
            batch: Batch::One,
            stride: 0,
        };
        let (in_b, op_b) = stand_in(layout.3, layout.1).describe::<T>("B", layout.2)?;
        let (in_x, _) = stand_in(layout.4, x.op()).describe::<T>("X", layout.2)?;
        let (matrix, b, x, of_state, any, kind) =
            (descr.raw(), in_b.raw(), in_x.raw(), state.raw(), any_scalar(), data_type::<T>());
        let asked = || shape(&a);
        let bytes = self.size(|handle, bytes| {
            // SAFETY: descriptors of operands that fit; the function writes the size.
            unsafe {
                raw::hipsparseSpSM_bufferSize(handle, op, op_b, any, matrix, b, x, kind, DEFAULT, of_state, bytes)
            }
            .ok(asked)
        })?;
        let mut work = self.new_work(bytes)?;
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let place = unsafe { operands.lend("the workspace", work.as_slice_mut())? };
        // SAFETY: the pattern was checked; the analysis reads no elements of B.
        unsafe {
            self.handle.call_blocking(operands, |handle| {
                raw::hipsparseSpSM_analysis(handle, op, op_b, any, matrix, b, x, kind, DEFAULT, of_state, place)
                    .ok(asked)
            })?;
        }
        self.expect_pivots("spsm", &a)?;
        let analysis = Some(Analysis { matrix: descr, state, tracked: Tracked::new() });
        Ok(SpSm { sparse: self, triangle: a, op, layout, analysis, work })
    }
}

/// A matrix in the form that the older functions expect.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Legacy {
    pub(crate) direction: u32,
    pub(crate) op: u32,
    /// Rows, or block rows.
    pub(crate) rows: i32,
    pub(crate) entries: i32,
    pub(crate) descr: Ptr,
    pub(crate) values: Ptr,
    pub(crate) first: Ptr,
    pub(crate) second: Ptr,
    pub(crate) block: i32,
    pub(crate) info: Ptr,
}

/// A format that the older solves support: [`Csr`](crate::Csr), and [`Bsr`](crate::Bsr) with square blocks.
pub trait Solvable: Format {
    /// Returns the rows of a block, and the order of its elements; an error for blocks that are not square.
    #[doc(hidden)]
    fn block(&self) -> Result<(usize, u32)>;
    #[doc(hidden)]
    unsafe fn create(place: Ptr) -> Returned;
    #[doc(hidden)]
    unsafe fn destroy(info: Ptr) -> Returned;
    #[doc(hidden)]
    unsafe fn size<T: Value>(handle: Ptr, a: &Legacy, bytes: Ptr) -> Returned;
    #[doc(hidden)]
    unsafe fn analyse<T: Value>(handle: Ptr, a: &Legacy, work: Ptr) -> Returned;
    #[doc(hidden)]
    unsafe fn solve<T: Value>(handle: Ptr, a: &Legacy, alpha: Ptr, x: Ptr, y: Ptr, work: Ptr) -> Returned;
    #[doc(hidden)]
    unsafe fn zero_pivot(handle: Ptr, info: Ptr, place: Ptr) -> Returned;
}

/// HIPSPARSE_SOLVE_POLICY_USE_LEVEL.
pub(crate) const POLICY: u32 = 1;

impl Solvable for Csr {
    fn block(&self) -> Result<(usize, u32)> {
        Ok((1, 0))
    }

    unsafe fn create(place: Ptr) -> Returned {
        // SAFETY: the caller's pointer.
        unsafe { raw::hipsparseCreateCsrsv2Info(place) }
    }

    unsafe fn destroy(info: Ptr) -> Returned {
        // SAFETY: the caller's information.
        unsafe { raw::hipsparseDestroyCsrsv2Info(info) }
    }

    unsafe fn size<T: Value>(handle: Ptr, a: &Legacy, bytes: Ptr) -> Returned {
        let Legacy { op, rows, entries, descr, values, first, second, info, .. } = *a;
        // SAFETY: the caller's matrix.
        unsafe { raw::csrsv2_bufferSizeExt::<T>(handle, op, rows, entries, descr, values, first, second, info, bytes) }
    }

    unsafe fn analyse<T: Value>(handle: Ptr, a: &Legacy, work: Ptr) -> Returned {
        let Legacy { op, rows, entries, descr, values, first, second, info, .. } = *a;
        // SAFETY: the caller's matrix.
        unsafe {
            raw::csrsv2_analysis::<T>(handle, op, rows, entries, descr, values, first, second, info, POLICY, work)
        }
    }

    unsafe fn solve<T: Value>(handle: Ptr, a: &Legacy, alpha: Ptr, x: Ptr, y: Ptr, work: Ptr) -> Returned {
        let Legacy { op, rows, entries, descr, values, first, second, info, .. } = *a;
        // SAFETY: the caller's matrix and vectors.
        unsafe {
            raw::csrsv2_solve::<T>(
                handle, op, rows, entries, alpha, descr, values, first, second, info, x, y, POLICY, work,
            )
        }
    }

    unsafe fn zero_pivot(handle: Ptr, info: Ptr, place: Ptr) -> Returned {
        // SAFETY: the caller's information object and pointer.
        unsafe { raw::hipsparseXcsrsv2_zeroPivot(handle, info, place) }
    }
}

impl Solvable for Bsr {
    fn block(&self) -> Result<(usize, u32)> {
        square(self)
    }

    unsafe fn create(place: Ptr) -> Returned {
        // SAFETY: the caller's pointer.
        unsafe { raw::hipsparseCreateBsrsv2Info(place) }
    }

    unsafe fn destroy(info: Ptr) -> Returned {
        // SAFETY: the caller's information.
        unsafe { raw::hipsparseDestroyBsrsv2Info(info) }
    }

    unsafe fn size<T: Value>(handle: Ptr, a: &Legacy, bytes: Ptr) -> Returned {
        let Legacy { direction, op, rows, entries, descr, values, first, second, block, info } = *a;
        // SAFETY: the caller's matrix.
        unsafe {
            raw::bsrsv2_bufferSizeExt::<T>(
                handle, direction, op, rows, entries, descr, values, first, second, block, info, bytes,
            )
        }
    }

    unsafe fn analyse<T: Value>(handle: Ptr, a: &Legacy, work: Ptr) -> Returned {
        let Legacy { direction, op, rows, entries, descr, values, first, second, block, info } = *a;
        // SAFETY: the caller's matrix.
        unsafe {
            raw::bsrsv2_analysis::<T>(
                handle, direction, op, rows, entries, descr, values, first, second, block, info, POLICY, work,
            )
        }
    }

    unsafe fn solve<T: Value>(handle: Ptr, a: &Legacy, alpha: Ptr, x: Ptr, y: Ptr, work: Ptr) -> Returned {
        let Legacy { direction, op, rows, entries, descr, values, first, second, block, info } = *a;
        // SAFETY: the caller's matrix and vectors.
        unsafe {
            raw::bsrsv2_solve::<T>(
                handle, direction, op, rows, entries, alpha, descr, values, first, second, block, info, x, y, POLICY,
                work,
            )
        }
    }

    unsafe fn zero_pivot(handle: Ptr, info: Ptr, place: Ptr) -> Returned {
        // SAFETY: the caller's information object and pointer.
        unsafe { raw::hipsparseXbsrsv2_zeroPivot(handle, info, place) }
    }
}

/// Returns the rows of a block, and the order of its elements.
pub(crate) fn square(format: &Bsr) -> Result<(usize, u32)> {
    if format.rows == format.cols {
        return Ok((format.rows, format.order.code()));
    }
    Err(invalid("a block", format!("of {} x {}", format.rows, format.cols), "square"))
}

/// Returns the position that the library wrote, counted from zero.
pub(crate) fn pivot<'a>(
    sparse: &'a Sparse,
    operands: Operands<'a>,
    (routine, base): (&'static str, i32),
    ask: impl FnOnce(Ptr, Ptr) -> Returned,
) -> Result<()> {
    let mut position = -1_i32;
    let place = (&raw mut position).cast();
    // SAFETY: the information object is alive, and the number belongs to the caller: the call waits.
    unsafe {
        sparse.handle.call_blocking(operands, |handle| {
            let returned = ask(handle, place);
            if returned.status == raw::HIPSPARSE_STATUS_ZERO_PIVOT {
                return Ok(());
            }
            returned.ok(|| routine.to_owned())
        })?;
    }
    match usize::try_from(position - base) {
        Ok(row) if position >= 0 => Err(Error::ZeroPivot { routine, row }),
        _ => Ok(()),
    }
}

/// A triangular CSR or BSR matrix that was analysed for solves. [`Sparse::triangular`] creates it. It reports zero
/// pivots.
#[derive(Debug)]
pub struct Triangular<'a, F: Solvable, T: Value> {
    sparse: &'a Sparse,
    triangle: SpTriangle<'a, F, T>,
    raw: RawState,
    analysis: Option<(Owned, Owned, Tracked)>,
    work: DeviceBuffer<u8>,
}

/// Addresses of memory that the analysis owns or borrows.
#[derive(Debug)]
struct RawState(Legacy);

// SAFETY: the addresses belong to memory that the other fields borrow or own, all of which may be sent.
unsafe impl Send for RawState {}
// SAFETY: as above; the addresses are only read.
unsafe impl Sync for RawState {}

impl<F: Solvable, T: Value> Triangular<'_, F, T> {
    /// Solves A y = α x.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for lengths that do not fit.
    #[doc(alias("hipsparseDcsrsv2_solve", "hipsparseDbsrsv2_solve", "cusparseDcsrsv2_solve", "cusparseDbsrsv2_solve"))]
    pub fn solve<'b>(
        &'b mut self,
        alpha: impl IntoScalar<'b, T>,
        x: impl IntoVector<'b, T>,
        y: impl IntoVectorMut<'b, T>,
    ) -> Result<()> {
        let Some((_, _, tracked)) = &self.analysis else { return Ok(()) };
        let (x, y, order) = (x.into(), y.into(), self.triangle.order());
        let shapes = Shapes::of("csrsv", [("A", Shape::matrix(order, order)), ("x", (&x).into()), ("y", (&y).into())]);
        shapes.fits("the length of x", x.len(), order, "the order of A")?;
        shapes.fits("the length of y", y.len(), order, "the order of A")?;
        let mut operands = Operands::on(self.sparse.stream());
        let factors = [factor(&mut operands, "α", alpha)?];
        matrix(&mut operands, "A", &self.triangle.matrix)?;
        operands.uses().tracked(tracked);
        let x = vector(&mut operands, "x", &x)?;
        let y = vector_mut(&mut operands, "y", y)?;
        let work = operands.slice_mut("the workspace", self.work.as_slice_mut())?;
        operands.form()?;
        let (raw, triangle) = (&self.raw.0, &self.triangle);
        // SAFETY: the matrix and the workspace of the analysis; the vectors have the length of its order.
        unsafe {
            self.sparse.handle.call(operands, &factors, |handle, [alpha]| {
                F::solve::<T>(handle, raw, alpha.cast_mut(), x, y, work).ok(|| shape(triangle))
            })?;
        }
        Ok(())
    }

    /// Waits for the last solve.
    ///
    /// # Errors
    /// [`Error::ZeroPivot`] for the first row that has a zero on the diagonal.
    #[doc(alias("hipsparseXcsrsv2_zeroPivot", "hipsparseXbsrsv2_zeroPivot", "cusparseXcsrsv2_zeroPivot"))]
    pub fn wait(&self) -> Result<()> {
        let Some((_, _, tracked)) = &self.analysis else { return Ok(()) };
        let mut operands = Operands::on(self.sparse.stream());
        operands.uses().tracked(tracked);
        let base = self.triangle.matrix.pattern.base.code() as i32;
        pivot(self.sparse, operands, ("a triangular solve", base), |handle, place| {
            // SAFETY: information that is alive, and room for the position.
            unsafe { F::zero_pivot(handle, self.raw.0.info, place) }
        })
    }
}

impl<F: Solvable, T: Value> Drop for Triangular<'_, F, T> {
    fn drop(&mut self) {
        let Some((info, descr, tracked)) = self.analysis.take() else { return };
        self.sparse.destroy_when_idle(tracked, info);
        drop(descr);
    }
}

impl Sparse {
    /// Analyses a triangular CSR or BSR matrix for solves that report zero pivots. The entries must be sorted. The call
    /// waits.
    ///
    /// # Errors
    /// [`Error::ZeroPivot`] if an entry of the diagonal is not stored;
    /// [`CallError::Invalid`](crate::CallError::Invalid) for entries that are not sorted, and blocks that are not
    /// square.
    #[doc(alias("hipsparseDcsrsv2_analysis", "hipsparseDbsrsv2_analysis", "cusparseDcsrsv2_analysis"))]
    pub fn triangular<'a, F: Solvable, T: Value>(&'a self, a: SpTriangle<'a, F, T>) -> Result<Triangular<'a, F, T>> {
        sorted("A", &a.matrix.pattern)?;
        let op = operation::<T>("A", a.matrix.op)?;
        let (block, direction) = a.matrix.pattern.format.block()?;
        let mut operands = Operands::on(self.stream());
        let arrays = matrix(&mut operands, "A", &a.matrix)?;
        let descr = mat_descr(a.matrix.pattern.base, Some((a.stored, a.unit)))?;
        // SAFETY: the function writes information through a valid pointer.
        let info = unsafe { Owned::new(|place| F::create(place), F::destroy, String::new)? };
        let raw = Legacy {
            direction,
            op,
            rows: int("rows of A", a.order() / block)?,
            entries: int("entries of A", a.matrix.entries())?,
            descr: descr.raw(),
            values: arrays.values,
            first: arrays.first,
            second: arrays.second,
            block: int("the size of a block", block)?,
            info: info.raw(),
        };
        let asked = || shape(&a);
        let bytes = self.size(|handle, bytes| {
            // SAFETY: a matrix that was checked; the function writes the size.
            unsafe { F::size::<T>(handle, &raw, bytes) }.ok(asked)
        })?;
        let mut work = self.new_work(bytes)?;
        let tracked = Tracked::new();
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let place = unsafe { operands.lend("the workspace", work.as_slice_mut())? };
        // SAFETY: the pattern was checked, and is sorted.
        unsafe {
            self.handle.call_blocking(operands, |handle| F::analyse::<T>(handle, &raw, place).ok(asked))?;
        }
        let analysed =
            Triangular { sparse: self, triangle: a, raw: RawState(raw), analysis: Some((info, descr, tracked)), work };
        if !a.unit {
            analysed.wait()?;
        }
        Ok(analysed)
    }
}
