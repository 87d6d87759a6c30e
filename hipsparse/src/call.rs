//! Common parts of calls: errors, descriptors, workspaces.

use std::ffi::c_void;
use std::ptr;

use hip::interop::Tracked;
use hip::{Device, DeviceBuffer, DeviceSlice, DeviceSliceMut};
use hip_linalg::{
    Batch, Factor, IntoScalar, MatrixMut, MatrixRef, Op, Operands, Place, Scalar, Uplo, VectorMut, VectorRef,
};

use crate::checks::{INDICES, int, invalid};
use crate::format::{Format, Generic, RawMatrix};
use crate::matrix::{Pattern, SpMatMut, SpMatRef};
use crate::raw::{self, Ptr, Returned};
use crate::{Base, CallError, Index, Result, Sparse, Value};

/// Returns HIPSPARSE_OPERATION_NON_TRANSPOSE, _TRANSPOSE or _CONJUGATE_TRANSPOSE.
pub(crate) fn operation<T: Scalar>(what: &'static str, op: Op) -> Result<u32> {
    match (op.transposed, op.conjugated && T::COMPLEX) {
        (false, false) => Ok(0),
        (true, false) => Ok(1),
        (true, true) => Ok(2),
        (false, true) => Err(invalid(what, "conjugated, but not transposed", "as it is, transposed, or both")),
    }
}

/// Returns HIPSPARSE_FILL_MODE_LOWER or _UPPER.
pub(crate) fn fill_mode(uplo: Uplo) -> u32 {
    (uplo == Uplo::Upper).into()
}

/// Returns the code of a type.
pub(crate) fn data_type<T: Scalar>() -> u32 {
    T::HIP_DATA_TYPE.0
}

/// Returns an error unless the entries are sorted.
pub(crate) fn sorted<F: Format, I>(what: &'static str, pattern: &Pattern<'_, F, I>) -> Result<()> {
    if pattern.sorted {
        return Ok(());
    }
    Err(invalid(what, "not sorted, or has entries twice", "sorted, with each entry once: `Sparse::sort` sorts"))
}

/// A library object that is destroyed at the end of a call, or together with its owner.
pub(crate) struct Owned {
    raw: Ptr,
    destroy: unsafe fn(Ptr) -> Returned,
    /// Whether the library may have allocated device memory for it: destroying it then waits for the device.
    has_memory: bool,
}

// SAFETY: descriptors are not bound to a thread; only their owner uses them.
unsafe impl Send for Owned {}
// SAFETY: shared descriptors are only read.
unsafe impl Sync for Owned {}

impl Owned {
    /// Creates an object with `create`, which receives the place to write it to. The library may keep results of work
    /// in it, as in matrix descriptors.
    ///
    /// # Safety
    /// `create` must write an object there that `destroy` destroys, unless it fails.
    pub(crate) unsafe fn new(
        create: impl FnOnce(Ptr) -> Returned,
        destroy: unsafe fn(Ptr) -> Returned,
        asked: impl FnOnce() -> String,
    ) -> Result<Self, CallError> {
        let mut raw = ptr::null_mut::<c_void>();
        create((&raw mut raw).cast()).ok(asked)?;
        Ok(Self { raw, destroy, has_memory: true })
    }

    /// As [`new`](Self::new), for an object that only exists on the host.
    ///
    /// # Safety
    /// The requirements of [`new`](Self::new).
    pub(crate) unsafe fn on_host(
        create: impl FnOnce(Ptr) -> Returned,
        destroy: unsafe fn(Ptr) -> Returned,
        asked: impl FnOnce() -> String,
    ) -> Result<Self, CallError> {
        // SAFETY: as the caller ensures.
        let made = unsafe { Self::new(create, destroy, asked)? };
        Ok(made.released())
    }

    /// Gives up the object, which is destroyed when the result is dropped.
    fn released(mut self) -> Self {
        self.has_memory = false;
        self
    }

    pub(crate) fn raw(&self) -> Ptr {
        self.raw
    }

    /// Returns a closure that destroys the object, which may wait for the device.
    pub(crate) fn into_destroy(self) -> impl FnOnce() + Send {
        let this = self.released();
        move || drop(this)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let (true, Ok(device)) = (self.has_memory, Device::current()) {
            let this = Self { raw: self.raw, destroy: self.destroy, has_memory: false };
            return Tracked::new().release_when_idle(&device, this.into_destroy());
        }
        // SAFETY: `create` made it, and nothing else has it any more.
        let _ = unsafe { (self.destroy)(self.raw) };
    }
}

/// Creates a matrix descriptor for the older functions.
pub(crate) fn mat_descr(base: Base, triangle: Option<(Uplo, bool)>) -> Result<Owned, CallError> {
    // SAFETY: the function writes a descriptor through a valid pointer.
    let descr = unsafe {
        let create = |place| raw::hipsparseCreateMatDescr(place);
        Owned::on_host(create, raw::hipsparseDestroyMatDescr, String::new)?
    };
    let raw = descr.raw();
    let asked = || format!("{base:?}, {triangle:?}");
    // SAFETY: a descriptor that was just made.
    unsafe {
        raw::hipsparseSetMatIndexBase(raw, base.code()).ok(asked)?;
        if let Some((uplo, unit)) = triangle {
            raw::hipsparseSetMatFillMode(raw, fill_mode(uplo)).ok(asked)?;
            raw::hipsparseSetMatDiagType(raw, unit.into()).ok(asked)?;
        }
    }
    Ok(descr)
}

/// The addresses of a matrix of which only the memory is used: no number is read on the host.
#[derive(Clone, Copy)]
pub(crate) struct Arrays {
    pub(crate) first: Ptr,
    pub(crate) second: Ptr,
    pub(crate) values: Ptr,
}

/// Names the index arrays of a pattern, which the call reads and whose content it relies on.
pub(crate) fn pattern<'a, F: Format, I: Index>(
    operands: &mut Operands<'a>,
    pattern: &Pattern<'a, F, I>,
) -> Result<(Ptr, Ptr)> {
    let first = operands.trusted(INDICES, pattern.first)?.cast_mut();
    Ok((first, operands.trusted(INDICES, pattern.second)?.cast_mut()))
}

/// Names the arrays of a matrix that the call reads.
pub(crate) fn matrix<'a, F: Format, T: Value, I: Index>(
    operands: &mut Operands<'a>,
    what: &'static str,
    matrix: &SpMatRef<'a, F, T, I>,
) -> Result<Arrays> {
    let (first, second) = pattern(operands, &matrix.pattern)?;
    Ok(Arrays { first, second, values: operands.slice(what, matrix.values)?.cast_mut() })
}

/// Names the arrays of a matrix whose values the call writes.
pub(crate) fn matrix_mut<'a, F: Format, T: Value, I: Index>(
    operands: &mut Operands<'a>,
    what: &'static str,
    matrix: SpMatMut<'a, F, T, I>,
) -> Result<Arrays> {
    let (first, second) = pattern(operands, &matrix.pattern)?;
    Ok(Arrays { first, second, values: operands.slice_mut(what, matrix.values)? })
}

/// Creates the descriptor of a matrix for the generic functions.
pub(crate) fn describe<F: Generic, T: Value, I: Index>(
    pattern: &Pattern<'_, F, I>,
    arrays: Arrays,
) -> Result<Owned, CallError> {
    let Arrays { first, second, values } = arrays;
    let raw = RawMatrix {
        rows: pattern.rows as i64,
        cols: pattern.cols as i64,
        entries: pattern.entries() as i64,
        first,
        second,
        values,
        index: I::TYPE,
        base: pattern.base.code(),
        data: data_type::<T>(),
    };
    // SAFETY: the pattern was checked, and the arrays belong to it.
    let made = unsafe {
        let create = |place| pattern.format.describe(place, &raw);
        Owned::new(create, raw::hipsparseDestroySpMat, || asked(pattern))
    };
    let (entries, elements) = (pattern.entries(), pattern.rows.saturating_mul(pattern.cols));
    if made.is_err() && entries > elements {
        let allowed = format!("at most {elements} for hipSPARSE, the elements of the matrix: add the duplicates first");
        return Err(CallError::Invalid { what: "the number of entries", value: entries.to_string(), allowed });
    }
    made
}

/// Describes a matrix, for errors.
pub(crate) fn asked<F: Format, I: Index>(pattern: &Pattern<'_, F, I>) -> String {
    let (rows, cols, entries) = (pattern.rows, pattern.cols, pattern.entries());
    let bits = size_of::<I>() * 8;
    format!("{} of {rows} x {cols} with {entries} entries, {bits}-bit indices from {:?}", F::NAME, pattern.base)
}

/// Returns an error unless the vector is contiguous.
pub(crate) fn side_by_side<P: Place>(what: &'static str, vector: &hip_linalg::Vector<P>) -> Result<()> {
    if vector.batch_size() != Batch::One {
        return Err(invalid(what, format!("{:?}", vector.batch_size()), "one vector"));
    }
    if vector.increment() != 1 && vector.len() > 1 {
        return Err(invalid(what, format!("with increment {}", vector.increment()), "with increment 1"));
    }
    Ok(())
}

/// Creates the descriptor of a dense vector.
pub(crate) fn dense_vector<T: Value>(len: usize, values: Ptr) -> Result<Owned, CallError> {
    // SAFETY: the memory has this many elements.
    unsafe {
        let create = |place| raw::hipsparseCreateDnVec(place, len as i64, values, data_type::<T>());
        Owned::on_host(create, raw::hipsparseDestroyDnVec, || format!("{len} elements"))
    }
}

/// Names a dense vector that the call reads.
pub(crate) fn vector<'a, T: Value>(
    operands: &mut Operands<'a>,
    what: &'static str,
    vector: &VectorRef<'a, T>,
) -> Result<Ptr> {
    side_by_side(what, vector)?;
    Ok(operands.vector(what, vector)?.pointer)
}

/// Names a dense vector that the call writes.
pub(crate) fn vector_mut<'a, T: Value>(
    operands: &mut Operands<'a>,
    what: &'static str,
    vector: VectorMut<'a, T>,
) -> Result<Ptr> {
    side_by_side(what, &vector)?;
    Ok(operands.vector_mut(what, vector)?.pointer)
}

/// A dense matrix: its shape in memory, its memory layout, and its operation.
#[derive(Clone, Copy)]
pub(crate) struct Dense {
    pub(crate) pointer: Ptr,
    /// The number of rows of the view.
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) ld: i64,
    pub(crate) op: Op,
    pub(crate) batch: Batch,
    pub(crate) stride: i64,
}

impl Dense {
    /// Creates the descriptor of the matrix, row-major or column-major, and returns the operation that makes it the
    /// viewed matrix.
    pub(crate) fn describe<T: Value>(&self, what: &'static str, row_major: bool) -> Result<(Owned, u32)> {
        // In the descriptor, row-major memory is the transpose of column-major memory.
        let transposed = self.op.transposed != row_major;
        let op = operation::<T>(what, Op { transposed, conjugated: self.op.conjugated })?;
        let (rows, cols) = if transposed { (self.cols, self.rows) } else { (self.rows, self.cols) };
        let order = raw::order(row_major);
        let asked = || format!("{what} of {rows} x {cols}");
        // SAFETY: the view was checked when it was made.
        let descr = unsafe {
            let (rows, cols, ld) = (rows as i64, cols as i64, self.ld.max(1));
            let create =
                |place| raw::hipsparseCreateDnMat(place, rows, cols, ld, self.pointer, data_type::<T>(), order);
            Owned::on_host(create, raw::hipsparseDestroyDnMat, asked)?
        };
        if let Batch::Strided(count) = self.batch {
            let count = int("the number of matrices", count)?;
            // SAFETY: a descriptor that was just made.
            unsafe { raw::hipsparseDnMatSetStridedBatch(descr.raw(), count, self.stride) }.ok(asked)?;
        }
        Ok((descr, op))
    }
}

/// Names a dense matrix that the call reads.
pub(crate) fn dense<'a, T: Value>(
    operands: &mut Operands<'a>,
    what: &'static str,
    matrix: &MatrixRef<'a, T>,
) -> Result<Dense> {
    let lowered = operands.matrix(what, matrix)?;
    let (rows, cols, op, batch) = (matrix.rows(), matrix.cols(), matrix.op(), matrix.batch_size());
    Ok(Dense { pointer: lowered.pointer, rows, cols, ld: lowered.step, op, batch, stride: lowered.stride })
}

/// Names a dense matrix that the call writes.
pub(crate) fn dense_mut<'a, T: Value>(
    operands: &mut Operands<'a>,
    what: &'static str,
    matrix: MatrixMut<'a, T>,
) -> Result<Dense> {
    let (rows, cols, op, batch) = (matrix.rows(), matrix.cols(), matrix.op(), matrix.batch_size());
    let lowered = operands.matrix_mut(what, matrix)?;
    Ok(Dense { pointer: lowered.pointer, rows, cols, ld: lowered.step, op, batch, stride: lowered.stride })
}

/// A host number for calls that only need the address of a scalar.
pub(crate) static ANY_SCALAR: [u64; 2] = [0; 2];

pub(crate) fn any_scalar() -> Ptr {
    ANY_SCALAR.as_ptr().cast_mut().cast()
}

impl Sparse {
    /// Returns an error while the stream is captured, for calls that make a matrix: its indices would only exist after
    /// a launch.
    pub(crate) fn expect_running(&self) -> Result<()> {
        if self.stream().is_capturing()? {
            let reason =
                "a call that makes a sparse matrix: there are no indices before the graph is launched".to_owned();
            return Err(hip::Error::Capture { reason }.into());
        }
        Ok(())
    }

    /// Queries a size from the library. `ask` receives the handle and the address for the size.
    pub(crate) fn size(&self, ask: impl FnOnce(Ptr, Ptr) -> Result<(), CallError>) -> Result<usize> {
        let mut bytes = 0_usize;
        let place = (&raw mut bytes).cast();
        let device = self.stream().device();
        device.with_current(|| self.handle.configure(|handle| ask(handle, place)))??;
        Ok(bytes)
    }

    /// Runs a closure with a workspace of this many bytes.
    ///
    /// # Safety
    /// Only work that `run` queues with the operands may use the workspace.
    unsafe fn with_work<'a, R>(
        &'a self,
        mut operands: Operands<'a>,
        bytes: usize,
        run: impl FnOnce(Operands<'a>, Ptr) -> Result<R, CallError>,
    ) -> Result<R> {
        operands.form()?;
        let mut memory = self.take_work(bytes)?;
        // SAFETY: the operands are dropped by the time the call returns, before the memory.
        let work = unsafe { operands.lend("the workspace", memory.as_slice_mut())? };
        let done = run(operands, work);
        self.put_work(memory);
        Ok(done?)
    }

    /// Queues a call that has a workspace of this many bytes. `call` receives the handle, and the addresses of the
    /// scalars and of the workspace.
    ///
    /// # Safety
    /// The requirements of [`hip_linalg::Handle::call`].
    pub(crate) unsafe fn run<'a, const N: usize>(
        &'a self,
        operands: Operands<'a>,
        scalars: &[Factor; N],
        bytes: usize,
        call: impl FnOnce(Ptr, [Ptr; N], Ptr) -> Result<(), CallError>,
    ) -> Result<()> {
        // SAFETY: the caller's call.
        unsafe {
            self.with_work(operands, bytes, |operands, work| {
                let call =
                    |handle, scalars: [*const c_void; N]| call(handle, scalars.map(<*const c_void>::cast_mut), work);
                self.handle.call(operands, scalars, call)
            })
        }
    }

    /// As [`run`](Self::run), for a call that waits. Scalars and results are on the host.
    ///
    /// # Safety
    /// The requirements of [`hip_linalg::Handle::call_blocking`].
    pub(crate) unsafe fn run_blocking<'a, R>(
        &'a self,
        operands: Operands<'a>,
        bytes: usize,
        call: impl FnOnce(Ptr, Ptr) -> Result<R, CallError>,
    ) -> Result<R> {
        // SAFETY: the caller's call.
        unsafe {
            self.with_work(operands, bytes, |operands, work| {
                self.handle.call_blocking(operands, |handle| call(handle, work))
            })
        }
    }

    /// As [`run_blocking`](Self::run_blocking), for a call that waits for the whole device because it frees memory.
    ///
    /// # Safety
    /// The requirements of [`hip_linalg::Handle::call_waiting_for_device`].
    pub(crate) unsafe fn run_waiting_for_device<'a, R>(
        &'a self,
        operands: Operands<'a>,
        bytes: usize,
        call: impl FnOnce(Ptr, Ptr) -> Result<R, CallError>,
    ) -> Result<R> {
        // SAFETY: the caller's call.
        unsafe {
            self.with_work(operands, bytes, |operands, work| {
                self.handle.call_waiting_for_device(operands, |handle| call(handle, work))
            })
        }
    }
}

/// Returns a slice with the lifetime of the call.
///
/// # Safety
/// The operands that the result is added to must be dropped before the memory.
pub(crate) unsafe fn lend_mut<'a, T>(buffer: &mut DeviceBuffer<T>) -> DeviceSliceMut<'a, T>
where
    T: hip::Pod,
{
    // SAFETY: the types differ in the lifetime only; the caller ensures that it holds.
    unsafe { std::mem::transmute::<DeviceSliceMut<'_, T>, DeviceSliceMut<'a, T>>(buffer.as_slice_mut()) }
}

/// As [`lend_mut`], for reading.
///
/// # Safety
/// The requirements of [`lend_mut`].
pub(crate) unsafe fn lend<'a, T: hip::Pod>(buffer: &DeviceBuffer<T>) -> DeviceSlice<'a, T> {
    // SAFETY: the types differ in the lifetime only; the caller ensures that it holds.
    unsafe { std::mem::transmute::<DeviceSlice<'_, T>, DeviceSlice<'a, T>>(buffer.as_slice()) }
}

/// Names a factor: a scalar on the host or the device.
pub(crate) fn factor<'a, T: Value>(
    operands: &mut Operands<'a>,
    what: &'static str,
    scalar: impl IntoScalar<'a, T>,
) -> Result<Factor> {
    Ok(operands.factor(what, scalar)?)
}
