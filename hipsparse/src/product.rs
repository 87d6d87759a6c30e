//! Products of sparse and dense operands.

use hip::interop::Tracked;
use hip::{Device, DeviceBuffer};
use hip_linalg::{
    Batch, IntoMatrix, IntoMatrixMut, IntoScalar, IntoVector, IntoVectorMut, MatrixMut, MatrixRef, Op, Operands,
    Shapes, VectorRef,
};

use crate::call::{
    self, Dense, Owned, any_scalar, data_type, dense, dense_mut, dense_vector, describe, factor, matrix, matrix_mut,
    operation, vector, vector_mut,
};
use crate::checks::{alone, int, invalid};
use crate::format::{Format, Generic};
use crate::into::{IntoSpMat, IntoSpMatMut, IntoSpVec, IntoSpVecMut};
use crate::matrix::{Pattern, SpMatRef};
use crate::raw::{self, Ptr};
use crate::structure::entries;
use crate::vector::{SpVecRef, unique};
use crate::{Index, Result, Sparse, Value};

/// HIPSPARSE_SPMV_ALG_DEFAULT, _SPMM_, _SDDMM_: in 5.7, the number has these names too.
const DEFAULT: u32 = 0;

/// Returns the algorithm for products with vectors. In 7.2, the default one does not support transposes of CSR.
/// HIPSPARSE_SPMV_CSR_ALG2 does; 5.7 has its number as HIPSPARSE_CSRMV_ALG2.
fn algorithm<F: Generic>(op: u32) -> u32 {
    const ROWS: u32 = 3;
    match (F::NAME, op) {
        ("CSR", 1 | 2) | ("CSC", 0) => ROWS,
        _ => DEFAULT,
    }
}

fn shape<F: Generic, T, I: Index>(a: &SpMatRef<'_, F, T, I>) -> String {
    format!("A of {} x {}, {:?}, {}", a.rows(), a.cols(), a.op, call::asked(&a.pattern))
}

/// Returns an error if an entry is there twice, which it finds on the host. Waits, unless the entries are sorted.
fn each_once<F: Format, I: Index>(what: &'static str, pattern: &Pattern<'_, F, I>) -> Result<()> {
    if pattern.sorted {
        return Ok(());
    }
    let layout = pattern.format.layout((pattern.rows, pattern.cols));
    let mut all = entries(layout, pattern.base.first(), &pattern.first.to_vec()?, &pattern.second.to_vec()?);
    all.sort_unstable();
    match all.windows(2).find(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1)) {
        None => Ok(()),
        Some(pair) => {
            let found = format!("with entries {} and {} at the same position", pair[0].2, pair[1].2);
            Err(invalid(what, found, "with each position once"))
        }
    }
}

/// Products of a sparse matrix and vectors, prepared once. [`Sparse::spmv_plan`] creates it.
///
/// The matrix stays borrowed. The results of the preparation depend on its pattern only.
#[derive(Debug)]
pub struct SpMv<'a, F: Generic, T: Value, I: Index> {
    sparse: &'a Sparse,
    matrix: SpMatRef<'a, F, T, I>,
    op: u32,
    /// `Some` until dropped.
    prepared: Option<Prepared>,
    /// The size that the library returned.
    bytes: usize,
}

/// The result of a preparation. The workspace is only used together with the descriptor, in the order of `tracked`:
/// calls need not name it separately.
#[derive(Debug)]
struct Prepared {
    descr: Owned,
    tracked: Tracked,
    work: DeviceBuffer<u8>,
}

impl Prepared {
    fn new(descr: Owned, work: DeviceBuffer<u8>) -> Self {
        Self { descr, tracked: Tracked::new(), work }
    }

    /// Returns the address of the workspace.
    fn work(&self) -> Ptr {
        self.work.as_device_ptr().address() as Ptr
    }

    fn destroy_when_idle(self, device: Device) {
        let Self { descr, tracked, work } = self;
        // Dropping it may free device memory.
        tracked.release_when_idle(&device.clone(), move || {
            drop(device.with_current(descr.into_destroy()));
            drop(work);
        });
    }
}

/// Returns the workspace, or null if the library needs none: rocSPARSE of 7.2 rejects another pointer for products with
/// vectors.
fn or_null(work: Ptr, bytes: usize) -> Ptr {
    if bytes == 0 { std::ptr::null_mut() } else { work }
}

impl std::fmt::Debug for Owned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Owned").field(&self.raw()).finish()
    }
}

impl<F: Generic, T: Value, I: Index> SpMv<'_, F, T, I> {
    /// y = α A x + β y
    ///
    /// # Errors
    /// As [`Sparse::spmv`].
    pub fn run<'b>(
        &'b mut self,
        alpha: impl IntoScalar<'b, T>,
        x: impl IntoVector<'b, T>,
        beta: impl IntoScalar<'b, T>,
        y: impl IntoVectorMut<'b, T>,
    ) -> Result<()> {
        let Some(prepared) = &self.prepared else { return Ok(()) };
        let (x, y) = (x.into(), y.into());
        let shapes = Shapes::of("spmv", [("A", (&self.matrix).into()), ("x", (&x).into()), ("y", (&y).into())]);
        shapes.fits("the length of x", x.len(), self.matrix.cols(), "the columns of A")?;
        shapes.fits("the length of y", y.len(), self.matrix.rows(), "the rows of A")?;
        let mut operands = Operands::on(self.sparse.stream());
        let factors = [factor(&mut operands, "α", alpha)?, factor(&mut operands, "β", beta)?];
        matrix(&mut operands, "A", &self.matrix)?;
        operands.uses().tracked(&prepared.tracked);
        let (x_len, y_len) = (x.len(), y.len());
        let x = dense_vector::<T>(x_len, vector(&mut operands, "x", &x)?)?;
        let y = dense_vector::<T>(y_len, vector_mut(&mut operands, "y", y)?)?;
        operands.form()?;
        let (op, kind, a) = (self.op, data_type::<T>(), prepared.descr.raw());
        let work = or_null(prepared.work(), self.bytes);
        let alg = algorithm::<F>(op);
        let asked = || shape(&self.matrix);
        // SAFETY: the matrix and its descriptor of the preparation; the vectors have the lengths that its shape requires.
        unsafe {
            self.sparse.handle.call(operands, &factors, |handle, [alpha, beta]| {
                let (alpha, beta) = (alpha.cast_mut(), beta.cast_mut());
                raw::hipsparseSpMV(handle, op, alpha, a, x.raw(), beta, y.raw(), kind, alg, work).ok(asked)
            })?;
        }
        Ok(())
    }
}

impl<F: Generic, T: Value, I: Index> Drop for SpMv<'_, F, T, I> {
    fn drop(&mut self) {
        if let Some(prepared) = self.prepared.take() {
            prepared.destroy_when_idle(self.sparse.stream().device());
        }
    }
}

/// Products of a sparse matrix and dense matrices of one shape, prepared once. [`Sparse::spmm_plan`] creates it.
#[derive(Debug)]
pub struct SpMm<'a, F: Generic, T: Value, I: Index> {
    sparse: &'a Sparse,
    matrix: SpMatRef<'a, F, T, I>,
    op: u32,
    /// The operation of B in memory, and whether B and C are row-major.
    layout: (Op, bool),
    cols: usize,
    prepared: Option<Prepared>,
}

impl<F: Generic, T: Value, I: Index> SpMm<'_, F, T, I> {
    /// C = α A B + β C, with B and C of the width and orders that the plan was made for.
    ///
    /// # Errors
    /// As [`Sparse::spmm`].
    pub fn run<'b>(
        &'b mut self,
        alpha: impl IntoScalar<'b, T>,
        b: impl IntoMatrix<'b, T>,
        beta: impl IntoScalar<'b, T>,
        c: impl IntoMatrixMut<'b, T>,
    ) -> Result<()> {
        let Some(prepared) = &self.prepared else { return Ok(()) };
        let (b, c) = (b.into(), c.into());
        if (b.op(), c.op().transposed) != self.layout || b.cols() != self.cols || b.batch_size() != Batch::One {
            let found = format!("{} columns, B {:?}, C {:?}", b.cols(), b.op(), c.op());
            let allowed = format!("{} columns, B {:?}, C transposed: {}", self.cols, self.layout.0, self.layout.1);
            return Err(invalid("the layout of B and C", found, allowed));
        }
        let row_major = fits_spmm(&self.matrix, &b, &c)?;
        let mut operands = Operands::on(self.sparse.stream());
        let factors = [factor(&mut operands, "α", alpha)?, factor(&mut operands, "β", beta)?];
        matrix(&mut operands, "A", &self.matrix)?;
        operands.uses().tracked(&prepared.tracked);
        let b = dense(&mut operands, "B", &b)?;
        let c = dense_mut(&mut operands, "C", c)?;
        operands.form()?;
        let ((b, op_b), (c, _)) = (b.describe::<T>("B", row_major)?, c.describe::<T>("C", row_major)?);
        let (op, kind, a, work) = (self.op, data_type::<T>(), prepared.descr.raw(), prepared.work());
        let asked = || shape(&self.matrix);
        // SAFETY: as in `SpMv::run`.
        unsafe {
            self.sparse.handle.call(operands, &factors, |handle, [alpha, beta]| {
                let (alpha, beta) = (alpha.cast_mut(), beta.cast_mut());
                raw::hipsparseSpMM(handle, op, op_b, alpha, a, b.raw(), beta, c.raw(), kind, DEFAULT, work).ok(asked)
            })?;
        }
        Ok(())
    }
}

impl<F: Generic, T: Value, I: Index> Drop for SpMm<'_, F, T, I> {
    fn drop(&mut self) {
        if let Some(prepared) = self.prepared.take() {
            prepared.destroy_when_idle(self.sparse.stream().device());
        }
    }
}

/// Returns whether B and C are described as row-major, as C is.
fn fits_spmm<F: Generic, T: Value, I: Index>(
    a: &SpMatRef<'_, F, T, I>,
    b: &MatrixRef<'_, T>,
    c: &MatrixMut<'_, T>,
) -> Result<bool> {
    let shapes = Shapes::of("spmm", [("A", a.into()), ("B", b.into()), ("C", c.into())]);
    shapes.fits("the rows of B", b.rows(), a.cols(), "the columns of A")?;
    shapes.fits("the rows of C", c.rows(), a.rows(), "the rows of A")?;
    shapes.fits("the columns of C", c.cols(), b.cols(), "the columns of B")?;
    if c.op().conjugated && T::COMPLEX {
        return Err(invalid("C", format!("{:?}", c.op()), "not conjugated in memory"));
    }
    Ok(c.op().transposed)
}

/// Products with sparse matrices.
impl Sparse {
    pub(crate) fn destroy_when_idle(&self, tracked: Tracked, descr: Owned) {
        let device = self.stream().device();
        let destroy = descr.into_destroy();
        // Dropping it may free device memory.
        tracked.release_when_idle(&device.clone(), move || drop(device.with_current(destroy)));
    }

    /// y = α A x + β y, with a sparse A. `a.t()` and `a.h()` are its transposes.
    ///
    /// Each call creates a matrix descriptor, and the library prepares the product. [`spmv_plan`](Self::spmv_plan) does
    /// both once, for several products.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for lengths that do not fit, and for vectors with increments;
    /// the library's own error for formats that it does not support, such as blocked ELL.
    #[doc(alias("hipsparseSpMV", "hipsparseSpMV_bufferSize", "cusparseSpMV", "csrmv"))]
    pub fn spmv<'a, F: Generic, T: Value, I: Index>(
        &'a self,
        alpha: impl IntoScalar<'a, T>,
        a: impl IntoSpMat<'a, F, T, I>,
        x: impl IntoVector<'a, T>,
        beta: impl IntoScalar<'a, T>,
        y: impl IntoVectorMut<'a, T>,
    ) -> Result<()> {
        let (a, x, y) = (a.into(), x.into(), y.into());
        let shapes = Shapes::of("spmv", [("A", (&a).into()), ("x", (&x).into()), ("y", (&y).into())]);
        shapes.fits("the length of x", x.len(), a.cols(), "the columns of A")?;
        shapes.fits("the length of y", y.len(), a.rows(), "the rows of A")?;
        let op = operation::<T>("A", a.op)?;
        let mut operands = Operands::on(self.stream());
        let factors = [factor(&mut operands, "α", alpha)?, factor(&mut operands, "β", beta)?];
        let arrays = matrix(&mut operands, "A", &a)?;
        let (x_len, y_len) = (x.len(), y.len());
        let x = dense_vector::<T>(x_len, vector(&mut operands, "x", &x)?)?;
        let y = dense_vector::<T>(y_len, vector_mut(&mut operands, "y", y)?)?;
        let descr = describe::<F, T, I>(&a.pattern, arrays)?;
        let (a_raw, x, y, kind) = (descr.raw(), x.raw(), y.raw(), data_type::<T>());
        let asked = || shape(&a);
        let bytes = self.size(|handle, bytes| {
            let any = any_scalar();
            // SAFETY: descriptors of operands that fit; the function writes the size.
            unsafe { raw::hipsparseSpMV_bufferSize(handle, op, any, a_raw, x, any, y, kind, algorithm::<F>(op), bytes) }
                .ok(asked)
        })?;
        // SAFETY: the pattern was checked, and the vectors have the lengths that it requires.
        unsafe {
            self.run(operands, &factors, bytes, |handle, [alpha, beta], work| {
                let work = or_null(work, bytes);
                raw::hipsparseSpMV(handle, op, alpha, a_raw, x, beta, y, kind, algorithm::<F>(op), work).ok(asked)
            })
        }
    }

    /// Prepares products of a sparse matrix and vectors: the library analyses the pattern once, for faster products.
    ///
    /// The call waits.
    ///
    /// # Errors
    /// As [`spmv`](Self::spmv).
    #[doc(alias("hipsparseSpMV_preprocess", "cusparseSpMV_preprocess"))]
    pub fn spmv_plan<'a, F: Generic, T: Value, I: Index>(
        &'a self,
        a: impl IntoSpMat<'a, F, T, I>,
    ) -> Result<SpMv<'a, F, T, I>> {
        let a = a.into();
        let op = operation::<T>("A", a.op)?;
        let mut operands = Operands::on(self.stream());
        let arrays = matrix(&mut operands, "A", &a)?;
        let descr = describe::<F, T, I>(&a.pattern, arrays)?;
        let kind = data_type::<T>();
        // The call does not read their elements.
        let (x, y) = (dense_vector::<T>(a.cols(), any_scalar())?, dense_vector::<T>(a.rows(), any_scalar())?);
        let (a_raw, x, y) = (descr.raw(), x.raw(), y.raw());
        let asked = || shape(&a);
        let any = any_scalar();
        let bytes = self.size(|handle, bytes| {
            // SAFETY: descriptors of operands that fit; the function writes the size.
            unsafe { raw::hipsparseSpMV_bufferSize(handle, op, any, a_raw, x, any, y, kind, algorithm::<F>(op), bytes) }
                .ok(asked)
        })?;
        let mut work = self.new_work(bytes)?;
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let place = unsafe { operands.lend("the workspace", work.as_slice_mut())? };
        // SAFETY: the pattern was checked; the vectors are not used, and α and β are zero.
        unsafe {
            self.handle.call_blocking(operands, |handle| {
                let place = or_null(place, bytes);
                raw::hipsparseSpMV_preprocess(handle, op, any, a_raw, x, any, y, kind, algorithm::<F>(op), place)
                    .ok(asked)
            })?;
        }
        Ok(SpMv { sparse: self, matrix: a, op, prepared: Some(Prepared::new(descr, work)), bytes })
    }

    /// C = α A B + β C, with a sparse A and dense B and C. `b.t()`, `b.h()` and `c.t()` are allowed.
    ///
    /// B and C may be strided batches of the same size: A is multiplied with each member. Blocked ELL is supported for
    /// A.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for shapes that do not fit; the library's own error for an
    /// unsupported operation.
    #[doc(alias("hipsparseSpMM", "hipsparseSpMM_bufferSize", "hipsparseDnMatSetStridedBatch", "cusparseSpMM"))]
    pub fn spmm<'a, F: Generic, T: Value, I: Index>(
        &'a self,
        alpha: impl IntoScalar<'a, T>,
        a: impl IntoSpMat<'a, F, T, I>,
        b: impl IntoMatrix<'a, T>,
        beta: impl IntoScalar<'a, T>,
        c: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        let (a, b, c) = (a.into(), b.into(), c.into());
        let row_major = fits_spmm(&a, &b, &c)?;
        let op = operation::<T>("A", a.op)?;
        a.pattern.format.supported(a.op)?;
        let mut operands = Operands::on(self.stream());
        let factors = [factor(&mut operands, "α", alpha)?, factor(&mut operands, "β", beta)?];
        let arrays = matrix(&mut operands, "A", &a)?;
        let b = dense(&mut operands, "B", &b)?;
        let c = dense_mut(&mut operands, "C", c)?;
        let form = operands.form()?;
        let descr = describe::<F, T, I>(&a.pattern, arrays)?;
        match form.batch {
            Batch::One => {}
            Batch::Strided(0) => return Ok(()),
            Batch::Strided(count) => set_batch(&a, &descr, count)?,
            Batch::Pointers(_) => {
                return Err(invalid("B and C", format!("{:?}", form.batch), "matrices, or strided batches"));
            }
        }
        let ((b, op_b), (c, _)) = (b.describe::<T>("B", row_major)?, c.describe::<T>("C", row_major)?);
        let (a_raw, b, c, kind) = (descr.raw(), b.raw(), c.raw(), data_type::<T>());
        let asked = || shape(&a);
        let bytes = self.size(|handle, bytes| {
            let any = any_scalar();
            // SAFETY: descriptors of operands that fit; the function writes the size.
            unsafe { raw::hipsparseSpMM_bufferSize(handle, op, op_b, any, a_raw, b, any, c, kind, DEFAULT, bytes) }
                .ok(asked)
        })?;
        // SAFETY: the pattern was checked, and the shapes fit it.
        unsafe {
            self.run(operands, &factors, bytes, |handle, [alpha, beta], work| {
                raw::hipsparseSpMM(handle, op, op_b, alpha, a_raw, b, beta, c, kind, DEFAULT, work).ok(asked)
            })
        }
    }

    /// Prepares products of a sparse matrix with dense ones of the shapes and orders of `b` and `c`, whose elements are
    /// not used.
    ///
    /// The call waits.
    ///
    /// # Errors
    /// As [`spmm`](Self::spmm); an error for batches.
    #[doc(alias("hipsparseSpMM_preprocess", "cusparseSpMM_preprocess"))]
    pub fn spmm_plan<'a, F: Generic, T: Value, I: Index>(
        &'a self,
        a: impl IntoSpMat<'a, F, T, I>,
        b: &MatrixRef<'_, T>,
        c: &MatrixMut<'_, T>,
    ) -> Result<SpMm<'a, F, T, I>> {
        let a = a.into();
        let row_major = fits_spmm(&a, b, c)?;
        alone("B", b.batch_size())?;
        alone("C", c.batch_size())?;
        let op = operation::<T>("A", a.op)?;
        a.pattern.format.supported(a.op)?;
        let mut operands = Operands::on(self.stream());
        let arrays = matrix(&mut operands, "A", &a)?;
        let descr = describe::<F, T, I>(&a.pattern, arrays)?;
        // The call does not read their elements.
        let stand_in = |rows, cols, ld: usize, op| Dense {
            pointer: any_scalar(),
            rows,
            cols,
            ld: ld as i64,
            op,
            batch: Batch::One,
            stride: 0,
        };
        let in_b = stand_in(b.rows(), b.cols(), b.leading_dimension(), b.op());
        let in_c = stand_in(c.rows(), c.cols(), c.leading_dimension(), c.op());
        let ((b_descr, op_b), (c_descr, _)) =
            (in_b.describe::<T>("B", row_major)?, in_c.describe::<T>("C", row_major)?);
        let (a_raw, b_raw, c_raw, kind) = (descr.raw(), b_descr.raw(), c_descr.raw(), data_type::<T>());
        let (asked, any) = (|| shape(&a), any_scalar());
        let bytes = self.size(|handle, bytes| {
            // SAFETY: descriptors of operands that fit; the function writes the size.
            unsafe {
                raw::hipsparseSpMM_bufferSize(handle, op, op_b, any, a_raw, b_raw, any, c_raw, kind, DEFAULT, bytes)
            }
            .ok(asked)
        })?;
        let mut work = self.new_work(bytes)?;
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let place = unsafe { operands.lend("the workspace", work.as_slice_mut())? };
        // SAFETY: the pattern was checked; the dense matrices are not used, and α and β are zero.
        unsafe {
            self.handle.call_blocking(operands, |handle| {
                raw::hipsparseSpMM_preprocess(handle, op, op_b, any, a_raw, b_raw, any, c_raw, kind, DEFAULT, place)
                    .ok(asked)
            })?;
        }
        let (layout, cols) = ((b.op(), row_major), b.cols());
        Ok(SpMm { sparse: self, matrix: a, op, layout, cols, prepared: Some(Prepared::new(descr, work)) })
    }

    /// C = α (A B) ∘ P + β C: the elements of a product of dense matrices at the positions of the entries of a
    /// sparse C. If the entries of C are not sorted, the call copies the indices to the host to look for duplicates, and
    /// waits.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for shapes that do not fit, and for duplicate entries of C:
    /// each of them would get the whole element; the library's own error for an unsupported operation.
    #[doc(alias("hipsparseSDDMM", "hipsparseSDDMM_bufferSize", "hipsparseSDDMM_preprocess", "cusparseSDDMM"))]
    pub fn sddmm<'a, F: Generic, T: Value, I: Index>(
        &'a self,
        alpha: impl IntoScalar<'a, T>,
        a: impl IntoMatrix<'a, T>,
        b: impl IntoMatrix<'a, T>,
        beta: impl IntoScalar<'a, T>,
        c: impl IntoSpMatMut<'a, F, T, I>,
    ) -> Result<()> {
        let (a, b, c) = (a.into(), b.into(), c.into());
        let shapes = Shapes::of("sddmm", [("A", (&a).into()), ("B", (&b).into()), ("C", (&c).into())]);
        shapes.fits("the rows of B", b.rows(), a.cols(), "the columns of A")?;
        shapes.fits("the rows of C", c.pattern.rows, a.rows(), "the rows of A")?;
        shapes.fits("the columns of C", c.pattern.cols, b.cols(), "the columns of B")?;
        alone("A", a.batch_size())?;
        alone("B", b.batch_size())?;
        each_once("C", &c.pattern)?;
        let mut operands = Operands::on(self.stream());
        let factors = [factor(&mut operands, "α", alpha)?, factor(&mut operands, "β", beta)?];
        let (a, b) = (dense(&mut operands, "A", &a)?, dense(&mut operands, "B", &b)?);
        let pattern = c.pattern;
        let arrays = matrix_mut(&mut operands, "C", c)?;
        operands.form()?;
        let descr = describe::<F, T, I>(&pattern, arrays)?;
        let ((a, op_a), (b, op_b)) = (a.describe::<T>("A", false)?, b.describe::<T>("B", false)?);
        let (a, b, c, kind) = (a.raw(), b.raw(), descr.raw(), data_type::<T>());
        let asked = || call::asked(&pattern);
        let bytes = self.size(|handle, bytes| {
            let any = any_scalar();
            // SAFETY: descriptors of operands that fit; the function writes the size.
            unsafe { raw::hipsparseSDDMM_bufferSize(handle, op_a, op_b, any, a, b, any, c, kind, DEFAULT, bytes) }
                .ok(asked)
        })?;
        // SAFETY: the pattern was checked, and the shapes fit it.
        unsafe {
            self.run(operands, &factors, bytes, |handle, [alpha, beta], work| {
                raw::hipsparseSDDMM_preprocess(handle, op_a, op_b, alpha, a, b, beta, c, kind, DEFAULT, work)
                    .ok(asked)?;
                raw::hipsparseSDDMM(handle, op_a, op_b, alpha, a, b, beta, c, kind, DEFAULT, work).ok(asked)
            })
        }
    }

    /// y = α x + β y, with a sparse x.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for lengths that do not fit, and for unsorted or duplicate
    /// indices.
    #[doc(alias("hipsparseAxpby", "cusparseAxpby", "axpyi"))]
    pub fn axpby<'a, T: Value, I: Index>(
        &'a self,
        alpha: impl IntoScalar<'a, T>,
        x: impl IntoSpVec<'a, T, I>,
        beta: impl IntoScalar<'a, T>,
        y: impl IntoVectorMut<'a, T>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let shapes = Shapes::of("axpby", [("x", (&x).into()), ("y", (&y).into())]);
        shapes.fits("the length of y", y.len(), x.len, "as x")?;
        unique("x", x.unique)?;
        let len = x.len;
        let mut operands = Operands::on(self.stream());
        let factors = [factor(&mut operands, "α", alpha)?, factor(&mut operands, "β", beta)?];
        let x = x.describe(&mut operands, "x")?;
        let y = dense_vector::<T>(len, vector_mut(&mut operands, "y", y)?)?;
        operands.form()?;
        // SAFETY: the indices were checked, and y has the length that they require.
        unsafe {
            self.handle.call(operands, &factors, |handle, [alpha, beta]| {
                let asked = || format!("{len} elements");
                raw::hipsparseAxpby(handle, alpha.cast_mut(), x.raw(), beta.cast_mut(), y.raw()).ok(asked)
            })?;
        }
        Ok(())
    }

    /// Copies the elements of y at the indices of a sparse x to the values of x.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for lengths that do not fit.
    #[doc(alias("hipsparseGather", "cusparseGather", "gthr"))]
    pub fn gather<'a, T: Value, I: Index>(
        &'a self,
        y: impl IntoVector<'a, T>,
        x: impl IntoSpVecMut<'a, T, I>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let shapes = Shapes::of("gather", [("x", (&x).into()), ("y", (&y).into())]);
        shapes.fits("the length of y", y.len(), x.len, "as x")?;
        let len = x.len;
        let mut operands = Operands::on(self.stream());
        let x = x.describe(&mut operands, "x")?;
        let y = dense_vector::<T>(len, vector(&mut operands, "y", &y)?)?;
        operands.form()?;
        // SAFETY: the indices were checked, and y has the length that they require.
        unsafe {
            self.handle.call(operands, &[], |handle, []| {
                raw::hipsparseGather(handle, y.raw(), x.raw()).ok(|| format!("{len} elements"))
            })?;
        }
        Ok(())
    }

    /// Copies the values of a sparse x to the elements of y at its indices.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    #[doc(alias("hipsparseScatter", "cusparseScatter", "sctr"))]
    pub fn scatter<'a, T: Value, I: Index>(
        &'a self,
        x: impl IntoSpVec<'a, T, I>,
        y: impl IntoVectorMut<'a, T>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let shapes = Shapes::of("scatter", [("x", (&x).into()), ("y", (&y).into())]);
        shapes.fits("the length of y", y.len(), x.len, "as x")?;
        unique("x", x.unique)?;
        let len = x.len;
        let mut operands = Operands::on(self.stream());
        let x = x.describe(&mut operands, "x")?;
        let y = dense_vector::<T>(len, vector_mut(&mut operands, "y", y)?)?;
        operands.form()?;
        // SAFETY: the indices were checked, and y has the length that they require.
        unsafe {
            self.handle.call(operands, &[], |handle, []| {
                raw::hipsparseScatter(handle, x.raw(), y.raw()).ok(|| format!("{len} elements"))
            })?;
        }
        Ok(())
    }

    /// Givens rotation: x, y = c x + s y, c y − s x, at the indices of a sparse x.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    #[doc(alias("hipsparseRot", "cusparseRot", "roti"))]
    pub fn rot<'a, T: Value, I: Index>(
        &'a self,
        c: impl IntoScalar<'a, T>,
        s: impl IntoScalar<'a, T>,
        x: impl IntoSpVecMut<'a, T, I>,
        y: impl IntoVectorMut<'a, T>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let shapes = Shapes::of("rot", [("x", (&x).into()), ("y", (&y).into())]);
        shapes.fits("the length of y", y.len(), x.len, "as x")?;
        unique("x", x.unique)?;
        let len = x.len;
        let mut operands = Operands::on(self.stream());
        let factors = [factor(&mut operands, "c", c)?, factor(&mut operands, "s", s)?];
        let x = x.describe(&mut operands, "x")?;
        let y = dense_vector::<T>(len, vector_mut(&mut operands, "y", y)?)?;
        operands.form()?;
        // SAFETY: the indices were checked, and y has the length that they require.
        unsafe {
            self.handle.call(operands, &factors, |handle, [c, s]| {
                let asked = || format!("{len} elements");
                raw::hipsparseRot(handle, c.cast_mut(), s.cast_mut(), x.raw(), y.raw()).ok(asked)
            })?;
        }
        Ok(())
    }

    /// Returns the dot product of a sparse x and a dense y. It waits for the number.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for lengths that do not fit; an error while the stream is
    /// captured.
    #[doc(alias("hipsparseSpVV", "hipsparseSpVV_bufferSize", "cusparseSpVV", "doti"))]
    pub fn spvv<'a, T: Value, I: Index>(&'a self, x: impl IntoSpVec<'a, T, I>, y: impl IntoVector<'a, T>) -> Result<T> {
        self.inner_product(0, x.into(), &y.into())
    }

    /// As [`spvv`](Self::spvv), with x conjugated.
    ///
    /// # Errors
    /// As [`spvv`](Self::spvv).
    #[doc(alias("hipsparseSpVV", "cusparseSpVV", "dotci"))]
    pub fn spvv_conj<'a, T: Value, I: Index>(
        &'a self,
        x: impl IntoSpVec<'a, T, I>,
        y: impl IntoVector<'a, T>,
    ) -> Result<T> {
        self.inner_product(if T::COMPLEX { 2 } else { 0 }, x.into(), &y.into())
    }

    fn inner_product<'a, T: Value, I: Index>(
        &'a self,
        op: u32,
        x: SpVecRef<'a, T, I>,
        y: &VectorRef<'a, T>,
    ) -> Result<T> {
        let shapes = Shapes::of("spvv", [("x", (&x).into()), ("y", y.into())]);
        shapes.fits("the length of y", y.len(), x.len, "as x")?;
        let len = x.len;
        let mut operands = Operands::on(self.stream());
        let x = x.describe(&mut operands, "x")?;
        let y = dense_vector::<T>(len, vector(&mut operands, "y", y)?)?;
        let (x, y, kind) = (x.raw(), y.raw(), data_type::<T>());
        let asked = || format!("{len} elements");
        let bytes = self.size(|handle, bytes| {
            // SAFETY: descriptors of operands that fit; the function writes the size.
            unsafe { raw::hipsparseSpVV_bufferSize(handle, op, x, y, any_scalar(), kind, bytes) }.ok(asked)
        })?;
        let mut memory = self.take_work(bytes)?;
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let work = unsafe { operands.lend("the workspace", memory.as_slice_mut())? };
        operands.form()?;
        // SAFETY: the indices were checked, and y has the length that they require.
        let number = unsafe {
            self.handle.call_for_number(operands, |handle, place| {
                raw::hipsparseSpVV(handle, op, x, y, place, kind, work).ok(asked)
            })
        };
        self.put_work(memory);
        Ok(number?)
    }
}

/// Makes the descriptor a batch, so that A is multiplied with each matrix.
fn set_batch<F: Generic, T: Value, I: Index>(a: &SpMatRef<'_, F, T, I>, descr: &Owned, count: usize) -> Result<()> {
    let count = int("the number of matrices", count)?;
    let asked = || format!("{count} matrices, {}", shape(a));
    match F::NAME {
        // SAFETY: a descriptor that was just made; every member of the batch uses its arrays.
        "CSR" => Ok(unsafe { raw::hipsparseCsrSetStridedBatch(descr.raw(), count, 0, 0) }.ok(asked)?),
        // SAFETY: as above.
        "COO" => Ok(unsafe { raw::hipsparseCooSetStridedBatch(descr.raw(), count, 0) }.ok(asked)?),
        other => Err(invalid("a matrix that is multiplied with batches", other, "CSR or COO")),
    }
}
