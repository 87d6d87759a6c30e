//! Sparse matrices.

use std::fmt;

use hip::{Device, DeviceBuffer, DeviceSlice, DeviceSliceMut, IntoSlice, IntoSliceMut, Pod};
use hip_linalg::{Op, Shape, Uplo};

use crate::checks::{INDICES, invalid};
use crate::defect::Defect;
use crate::format::{self, Format};
use crate::on_device;
use crate::structure::sorted;
use crate::{Base, Error, Index, Result, Value};

/// The positions of a sparse matrix's entries: its format, shape and index arrays, without the values.
/// [`SpMat::pattern`] returns it.
///
/// It was checked when it was made, and does not change as long as it is borrowed.
pub struct Pattern<'a, F, I> {
    pub(crate) format: F,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) base: Base,
    pub(crate) sorted: bool,
    pub(crate) first: DeviceSlice<'a, I>,
    pub(crate) second: DeviceSlice<'a, I>,
}

impl<F: Copy, I> Clone for Pattern<'_, F, I> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: Copy, I> Copy for Pattern<'_, F, I> {}

impl<F: Format, I> fmt::Debug for Pattern<'_, F, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pattern")
            .field("format", &self.format)
            .field("rows", &self.rows)
            .field("cols", &self.cols)
            .field("entries", &self.second.len())
            .field("base", &self.base)
            .field("sorted", &self.sorted)
            .finish()
    }
}

/// Checks that the lengths, sizes and shape of a matrix fit each other and the index type.
fn fits<F: Format, I: Index>(
    format: &F,
    (rows, cols): (usize, usize),
    base: Base,
    (first, second, values): (usize, usize, usize),
) -> Result<()> {
    if let Err((found, allowed)) = format.shape(rows, cols) {
        return Err(invalid("the shape of a matrix", found, allowed));
    }
    let largest = usize::try_from(I::LARGEST - 1).unwrap_or(usize::MAX);
    for (what, size) in [("rows of a matrix", rows), ("columns of a matrix", cols), ("entries of a matrix", second)] {
        if size > largest || (base == Base::One && size == largest) {
            let allowed = format!("at most {}, which its indices can count", I::LARGEST - 1 - base.first());
            return Err(invalid(what, size.to_string(), allowed));
        }
    }
    let lengths = [
        ("the length of the first index array", first, format.first_len(rows, cols, second)),
        ("the length of the second index array", second, Some(format.second_len(rows).unwrap_or(second))),
        ("the number of values", values, format.values_len(second)),
    ];
    for (what, found, needed) in lengths {
        if needed != Some(found) {
            let of = format!("for {} of {rows} x {cols} with {second} indices", F::NAME);
            let allowed = needed.map_or_else(|| "a number".to_owned(), |needed| needed.to_string());
            return Err(invalid(what, found.to_string(), format!("{allowed}, {of}")));
        }
    }
    Ok(())
}

impl<'a, F: Format, I: Index> Pattern<'a, F, I> {
    fn checked(
        format: F,
        size: (usize, usize),
        base: Base,
        (first, second): (DeviceSlice<'a, I>, DeviceSlice<'a, I>),
        values: usize,
    ) -> Result<Self> {
        // SAFETY: it is checked next.
        let mut pattern = unsafe { Self::unchecked(format, size, base, (first, second), values)? };
        pattern.sorted = sorted(pattern.find()?)?;
        Ok(pattern)
    }

    /// # Safety
    /// The index arrays must not have a defect.
    unsafe fn unchecked(
        format: F,
        (rows, cols): (usize, usize),
        base: Base,
        (first, second): (DeviceSlice<'a, I>, DeviceSlice<'a, I>),
        values: usize,
    ) -> Result<Self> {
        fits::<F, I>(&format, (rows, cols), base, (first.len(), second.len(), values))?;
        first.expect_unwritten(INDICES)?;
        second.expect_unwritten(INDICES)?;
        Ok(Self { format, rows, cols, base, sorted: true, first, second })
    }

    fn find(&self) -> Result<Result<(), Defect>> {
        on_device::find(self.format.layout((self.rows, self.cols)), self.base.first(), self.first, self.second)
    }

    /// Finds the first defect of the index arrays: unsafe defects come first, then unsorted and duplicate entries.
    ///
    /// The check runs on the device, and the call waits for it. If the crate has no code for the device (it has for
    /// gfx90a, gfx942, gfx1100 and gfx1201), the index arrays are copied to the host and checked there.
    ///
    /// # Errors
    /// [`Error::Structure`], with the defect; errors of the launch and of copies.
    pub fn validate(&self) -> Result<()> {
        self.find()?.map_err(Error::Structure)
    }

    /// Returns the format.
    #[must_use]
    pub fn format(&self) -> F {
        self.format
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Returns the number of stored entries; of blocks for BSR and blocked ELL.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.second.len()
    }

    /// Returns the index base.
    #[must_use]
    pub fn base(&self) -> Base {
        self.base
    }

    /// Returns whether the entries are sorted and unique: row after row, or column after column.
    #[must_use]
    pub fn is_sorted(&self) -> bool {
        self.sorted
    }

    /// Returns the first index array: offsets, or the rows of COO.
    #[must_use]
    pub fn first(&self) -> DeviceSlice<'a, I> {
        self.first
    }

    /// Returns the second index array: columns, or the rows of CSC.
    #[must_use]
    pub fn second(&self) -> DeviceSlice<'a, I> {
        self.second
    }
}

/// A sparse matrix that owns its arrays in device memory. [`Csr`], [`Csc`], [`Coo`], [`Bsr`] and [`BlockedEll`] are the
/// formats.
///
/// The index arrays are checked when the matrix is made, and do not change afterwards. The values can change.
pub struct SpMat<F, T, I = i32> {
    format: F,
    rows: usize,
    cols: usize,
    base: Base,
    sorted: bool,
    first: DeviceBuffer<I>,
    second: DeviceBuffer<I>,
    values: DeviceBuffer<T>,
}

/// A matrix of compressed rows.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::Device;
/// use hipsparse::{Base, Csr};
///
/// // 1 0 2
/// // 0 0 3
/// let device = Device::get(0)?;
/// let a = Csr::from_host(&device, (2, 3), Base::Zero, &[0, 2, 3], &[0, 2, 2], &[1.0f32, 2.0, 3.0])?;
/// assert_eq!((a.rows(), a.cols(), a.entries()), (2, 3, 3));
/// let bad = Csr::from_host(&device, (2, 3), Base::Zero, &[0, 2, 3], &[0, 3, 2], &[1.0f32, 2.0, 3.0]);
/// assert!(bad.is_err(), "there is no column 3");
/// # Ok(()) }
/// ```
pub type Csr<T, I = i32> = SpMat<format::Csr, T, I>;
/// A matrix of compressed columns.
pub type Csc<T, I = i32> = SpMat<format::Csc, T, I>;
/// A matrix of entries with their rows and columns.
pub type Coo<T, I = i32> = SpMat<format::Coo, T, I>;
/// A matrix of compressed rows of dense blocks.
pub type Bsr<T, I = i32> = SpMat<format::Bsr, T, I>;
/// A matrix of rows of dense blocks, the same number in each row.
pub type BlockedEll<T, I = i32> = SpMat<format::BlockedEll, T, I>;

impl<F: Format, T, I> fmt::Debug for SpMat<F, T, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpMat")
            .field("format", &self.format)
            .field("rows", &self.rows)
            .field("cols", &self.cols)
            .field("base", &self.base)
            .field("sorted", &self.sorted)
            .field("values", &self.values)
            .finish_non_exhaustive()
    }
}

impl<F: Format + Default, T: Pod, I: Index> SpMat<F, T, I> {
    /// Creates a matrix of `size` rows and columns from index arrays and values in device memory.
    ///
    /// The index arrays are checked: [`Pattern::validate`] documents the cost.
    ///
    /// # Errors
    /// [`Error::Structure`] for index arrays that are unsafe; [`CallError::Invalid`](crate::CallError::Invalid) for
    /// lengths that do not fit; [`hip::Error::Graph`] if a graph can write to an index array.
    #[doc(alias("hipsparseCreateCsr", "hipsparseCreateCsc", "hipsparseCreateCoo"))]
    #[doc(alias("cusparseCreateCsr", "cusparseCreateCsc", "cusparseCreateCoo"))]
    pub fn new(
        size: (usize, usize),
        base: Base,
        first: DeviceBuffer<I>,
        second: DeviceBuffer<I>,
        values: DeviceBuffer<T>,
    ) -> Result<Self> {
        Self::with_format(F::default(), size, base, first, second, values)
    }

    /// As [`new`](Self::new), from arrays on the host, which are checked there.
    ///
    /// # Errors
    /// As [`new`](Self::new); errors of the copies.
    pub fn from_host(
        device: &Device,
        size: (usize, usize),
        base: Base,
        first: &[I],
        second: &[I],
        values: &[T],
    ) -> Result<Self> {
        Self::from_host_with_format(device, F::default(), size, base, first, second, values)
    }
}

impl<F: Format, T: Pod, I: Index> SpMat<F, T, I> {
    /// As [`new`](Self::new), for formats with parameters: [`format::Bsr`], [`format::BlockedEll`], whose first index
    /// array is empty.
    ///
    /// # Errors
    /// As [`new`](Self::new); an error if the shape does not fit the format.
    #[doc(alias("hipsparseCreateBlockedEll", "cusparseCreateBlockedEll"))]
    pub fn with_format(
        format: F,
        size: (usize, usize),
        base: Base,
        first: DeviceBuffer<I>,
        second: DeviceBuffer<I>,
        values: DeviceBuffer<T>,
    ) -> Result<Self> {
        let pattern = Pattern::checked(format, size, base, (first.as_slice(), second.as_slice()), values.len())?;
        let sorted = pattern.sorted;
        Ok(Self { format, rows: size.0, cols: size.1, base, sorted, first, second, values })
    }

    /// As [`from_host`](Self::from_host), for formats with parameters.
    ///
    /// # Errors
    /// As [`with_format`](Self::with_format).
    pub fn from_host_with_format(
        device: &Device,
        format: F,
        size: (usize, usize),
        base: Base,
        first: &[I],
        second: &[I],
        values: &[T],
    ) -> Result<Self> {
        fits::<F, I>(&format, size, base, (first.len(), second.len(), values.len()))?;
        let sorted = sorted(format.layout(size).check(base.first(), first, second))?;
        let (first, second) = (DeviceBuffer::from_slice(device, first)?, DeviceBuffer::from_slice(device, second)?);
        let values = DeviceBuffer::from_slice(device, values)?;
        Ok(Self { format, rows: size.0, cols: size.1, base, sorted, first, second, values })
    }

    /// As [`with_format`](Self::with_format), without checking the index arrays. Only lengths are checked.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for lengths that do not fit.
    ///
    /// # Safety
    /// The index arrays must not have any defect of [`Defect`] once queued work that writes to them is done.
    pub unsafe fn new_unchecked(
        format: F,
        size: (usize, usize),
        base: Base,
        first: DeviceBuffer<I>,
        second: DeviceBuffer<I>,
        values: DeviceBuffer<T>,
    ) -> Result<Self> {
        // SAFETY: as the caller ensures.
        unsafe { Pattern::unchecked(format, size, base, (first.as_slice(), second.as_slice()), values.len())? };
        Ok(Self { format, rows: size.0, cols: size.1, base, sorted: true, first, second, values })
    }

    /// Returns a view to read from.
    #[must_use]
    pub fn view(&self) -> SpMatRef<'_, F, T, I> {
        SpMatRef { pattern: self.pattern(), values: self.values.as_slice(), op: Op::default() }
    }

    /// Returns a view to write values to.
    #[must_use]
    pub fn view_mut(&mut self) -> SpMatMut<'_, F, T, I> {
        let Self { format, rows, cols, base, sorted, ref first, ref second, ref mut values } = *self;
        let (first, second) = (first.as_slice(), second.as_slice());
        SpMatMut { pattern: Pattern { format, rows, cols, base, sorted, first, second }, values: values.as_slice_mut() }
    }

    /// Returns the pattern.
    #[must_use]
    pub fn pattern(&self) -> Pattern<'_, F, I> {
        let Self { format, rows, cols, base, sorted, ref first, ref second, .. } = *self;
        Pattern { format, rows, cols, base, sorted, first: first.as_slice(), second: second.as_slice() }
    }

    /// Finds the first defect of the index arrays, unsorted and duplicate entries included. See [`Pattern::validate`].
    ///
    /// # Errors
    /// [`Error::Structure`], with the defect; errors of the launch and of copies.
    pub fn validate(&self) -> Result<()> {
        self.pattern().validate()
    }

    /// Returns a view of the transpose. No data is moved.
    #[must_use]
    pub fn t(&self) -> SpMatRef<'_, F, T, I> {
        self.view().t()
    }

    /// Returns a view of the conjugate transpose. No data is moved.
    #[must_use]
    pub fn h(&self) -> SpMatRef<'_, F, T, I> {
        self.view().h()
    }

    /// Copies the pattern to a new matrix with these values.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for a different number of values; errors of the device copy.
    pub fn with_values<U: Pod>(&self, values: DeviceBuffer<U>) -> Result<SpMat<F, U, I>> {
        if values.len() != self.values.len() {
            let needed = format!("{}, as the pattern has", self.values.len());
            return Err(invalid("the number of values", values.len().to_string(), needed));
        }
        let Self { format, rows, cols, base, sorted, .. } = *self;
        let (first, second) = (self.first.try_clone()?, self.second.try_clone()?);
        Ok(SpMat { format, rows, cols, base, sorted, first, second, values })
    }

    /// Copies the matrix on the device.
    ///
    /// # Errors
    /// An error from an allocation or a copy.
    pub fn try_clone(&self) -> Result<Self> {
        self.with_values(self.values.try_clone()?)
    }

    /// Copies the arrays to the host: the first index array, the second one, and the values.
    ///
    /// # Errors
    /// The errors of [`DeviceBuffer::to_vec`].
    pub fn to_vecs(&self) -> Result<(Vec<I>, Vec<I>, Vec<T>)> {
        Ok((self.first.to_vec()?, self.second.to_vec()?, self.values.to_vec()?))
    }
}

impl<F: Format, T: Pod, I> SpMat<F, T, I> {
    /// Returns the format.
    #[must_use]
    pub fn format(&self) -> F {
        self.format
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Returns the number of stored entries; of blocks for BSR and blocked ELL.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.second.len()
    }

    /// Returns the index base.
    #[must_use]
    pub fn base(&self) -> Base {
        self.base
    }

    /// Returns whether the entries are sorted and unique: row after row, or column after column.
    #[must_use]
    pub fn is_sorted(&self) -> bool {
        self.sorted
    }

    /// Returns the values.
    #[must_use]
    pub fn values(&self) -> &DeviceBuffer<T> {
        &self.values
    }

    /// Returns the values, to write to. Only the elements can be changed, not the buffer.
    #[must_use]
    pub fn values_mut(&mut self) -> DeviceSliceMut<'_, T> {
        (&mut self.values).into()
    }

    /// Returns the arrays: the first index array, the second one, the values. While a graph exists that was captured
    /// with the matrix, writing to the index arrays is a [`hip::Error::Graph`].
    #[must_use]
    pub fn into_buffers(self) -> (DeviceBuffer<I>, DeviceBuffer<I>, DeviceBuffer<T>) {
        (self.first, self.second, self.values)
    }

    /// Wraps a matrix that a library call has made.
    pub(crate) fn made(
        (format, base): (F, Base),
        (rows, cols): (usize, usize),
        (first, second, values): (DeviceBuffer<I>, DeviceBuffer<I>, DeviceBuffer<T>),
    ) -> Self {
        Self { format, rows, cols, base, sorted: true, first, second, values }
    }

    pub(crate) fn unsorted(mut self) -> Self {
        self.sorted = false;
        self
    }

    /// Returns the index arrays and values, for calls that write a matrix of this shape.
    pub(crate) fn parts_mut(&mut self) -> (&mut DeviceBuffer<I>, &mut DeviceBuffer<I>, &mut DeviceBuffer<T>) {
        (&mut self.first, &mut self.second, &mut self.values)
    }
}

/// A sparse matrix to read from, whose arrays are borrowed. A [`SpMat`] converts with `into`.
pub struct SpMatRef<'a, F, T, I = i32> {
    pub(crate) pattern: Pattern<'a, F, I>,
    pub(crate) values: DeviceSlice<'a, T>,
    pub(crate) op: Op,
}

/// A view of a matrix of compressed rows.
pub type CsrRef<'a, T, I = i32> = SpMatRef<'a, format::Csr, T, I>;
/// A view of a matrix of compressed columns.
pub type CscRef<'a, T, I = i32> = SpMatRef<'a, format::Csc, T, I>;
/// A view of a matrix of entries with their rows and columns.
pub type CooRef<'a, T, I = i32> = SpMatRef<'a, format::Coo, T, I>;
/// A view of a matrix of compressed rows of dense blocks.
pub type BsrRef<'a, T, I = i32> = SpMatRef<'a, format::Bsr, T, I>;

impl<F: Copy, T, I> Clone for SpMatRef<'_, F, T, I> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: Copy, T, I> Copy for SpMatRef<'_, F, T, I> {}

impl<F: Format, T, I> fmt::Debug for SpMatRef<'_, F, T, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpMatRef").field("pattern", &self.pattern).field("op", &self.op).finish_non_exhaustive()
    }
}

/// A sparse matrix to write values to, whose arrays are borrowed. The index arrays are only read.
pub struct SpMatMut<'a, F, T, I = i32> {
    pub(crate) pattern: Pattern<'a, F, I>,
    pub(crate) values: DeviceSliceMut<'a, T>,
}

/// A view of a matrix of compressed rows, to write values to.
pub type CsrMut<'a, T, I = i32> = SpMatMut<'a, format::Csr, T, I>;
/// A view of a matrix of compressed rows of dense blocks, to write values to.
pub type BsrMut<'a, T, I = i32> = SpMatMut<'a, format::Bsr, T, I>;

impl<F: Format, T, I> fmt::Debug for SpMatMut<'_, F, T, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpMatMut").field("pattern", &self.pattern).finish_non_exhaustive()
    }
}

impl<'a, F: Format, T, I: Index> SpMatRef<'a, F, T, I> {
    /// Creates a view of a matrix of `size` rows and columns in borrowed arrays. They are checked, as in
    /// [`SpMat::new`].
    ///
    /// # Errors
    /// The errors of [`SpMat::with_format`].
    #[doc(alias("hipsparseCreateConstCsr", "hipsparseCreateConstCsc", "hipsparseCreateConstCoo"))]
    pub fn new(
        format: F,
        size: (usize, usize),
        base: Base,
        first: impl IntoSlice<'a, I>,
        second: impl IntoSlice<'a, I>,
        values: impl IntoSlice<'a, T>,
    ) -> Result<Self> {
        let values = values.into();
        let pattern = Pattern::checked(format, size, base, (first.into(), second.into()), values.len())?;
        Ok(Self { pattern, values, op: Op::default() })
    }

    /// As [`new`](Self::new), without checking the index arrays.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for lengths that do not fit.
    ///
    /// # Safety
    /// The requirements of [`SpMat::new_unchecked`].
    pub unsafe fn new_unchecked(
        format: F,
        size: (usize, usize),
        base: Base,
        first: impl IntoSlice<'a, I>,
        second: impl IntoSlice<'a, I>,
        values: impl IntoSlice<'a, T>,
    ) -> Result<Self> {
        let values = values.into();
        // SAFETY: as the caller ensures.
        let pattern = unsafe { Pattern::unchecked(format, size, base, (first.into(), second.into()), values.len())? };
        Ok(Self { pattern, values, op: Op::default() })
    }

    /// Returns the pattern, as it is in memory.
    #[must_use]
    pub fn pattern(&self) -> Pattern<'a, F, I> {
        self.pattern
    }

    /// Returns the values.
    #[must_use]
    pub fn values(&self) -> DeviceSlice<'a, T> {
        self.values
    }

    /// Returns a view with the same pattern and other values.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for a different number of values.
    pub fn with_values<U>(self, values: impl IntoSlice<'a, U>) -> Result<SpMatRef<'a, F, U, I>> {
        let values = values.into();
        if values.len() != self.values.len() {
            let needed = format!("{}, as the pattern has", self.values.len());
            return Err(invalid("the number of values", values.len().to_string(), needed));
        }
        Ok(SpMatRef { pattern: self.pattern, values, op: self.op })
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        if self.op.transposed { self.pattern.cols } else { self.pattern.rows }
    }

    /// Returns the number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        if self.op.transposed { self.pattern.rows } else { self.pattern.cols }
    }

    /// Returns the number of stored entries; of blocks for BSR and blocked ELL.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.pattern.entries()
    }

    /// Returns the transpose. No data is moved: the call that uses it gets a flag.
    #[must_use]
    pub fn t(mut self) -> Self {
        self.op.transposed ^= true;
        self
    }

    /// Returns the conjugate transpose, as [`t`](Self::t).
    #[must_use]
    pub fn h(mut self) -> Self {
        self.op.conjugated ^= true;
        self.t()
    }

    /// Returns the operation that is applied to the matrix in memory.
    #[must_use]
    pub fn op(&self) -> Op {
        self.op
    }

    /// Returns the lower triangle: the rest is not used.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) if the matrix is not square.
    pub fn lower(self) -> Result<SpTriangle<'a, F, T, I>> {
        self.triangle(Uplo::Lower)
    }

    /// Returns the upper triangle: the rest is not used.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) if the matrix is not square.
    pub fn upper(self) -> Result<SpTriangle<'a, F, T, I>> {
        self.triangle(Uplo::Upper)
    }

    /// Returns one of the triangles.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) if the matrix is not square.
    pub fn triangle(self, uplo: Uplo) -> Result<SpTriangle<'a, F, T, I>> {
        if self.rows() != self.cols() {
            let found = format!("of {} x {}", self.rows(), self.cols());
            return Err(invalid("a matrix whose triangle is used", found, "square"));
        }
        let stored = uplo.flipped_if(self.op.transposed);
        Ok(SpTriangle { matrix: self, stored, unit: false })
    }
}

impl<'a, F: Format, T, I: Index> SpMatMut<'a, F, T, I> {
    /// Creates a view of a matrix of `size` rows and columns in borrowed arrays. They are checked, as in
    /// [`SpMat::new`].
    ///
    /// # Errors
    /// The errors of [`SpMat::with_format`].
    pub fn new(
        format: F,
        size: (usize, usize),
        base: Base,
        first: impl IntoSlice<'a, I>,
        second: impl IntoSlice<'a, I>,
        values: impl IntoSliceMut<'a, T>,
    ) -> Result<Self> {
        let values = values.into();
        let pattern = Pattern::checked(format, size, base, (first.into(), second.into()), values.len())?;
        Ok(Self { pattern, values })
    }

    /// Returns the pattern.
    #[must_use]
    pub fn pattern(&self) -> Pattern<'a, F, I> {
        self.pattern
    }

    /// Reborrows the view.
    pub fn reborrow(&mut self) -> SpMatMut<'_, F, T, I> {
        SpMatMut { pattern: self.pattern, values: (&mut self.values).into() }
    }

    /// Returns a view to read from.
    #[must_use]
    pub fn view(&self) -> SpMatRef<'_, F, T, I> {
        SpMatRef { pattern: self.pattern, values: self.values.as_slice(), op: Op::default() }
    }

    /// Returns the values, to write to.
    #[must_use]
    pub fn values_mut(&mut self) -> DeviceSliceMut<'_, T> {
        (&mut self.values).into()
    }
}

impl<'a, F: Format, T: Pod, I: Index> From<&'a SpMat<F, T, I>> for SpMatRef<'a, F, T, I> {
    fn from(matrix: &'a SpMat<F, T, I>) -> Self {
        matrix.view()
    }
}

impl<'a, F: Format, T: Pod, I: Index> From<&'a mut SpMat<F, T, I>> for SpMatMut<'a, F, T, I> {
    fn from(matrix: &'a mut SpMat<F, T, I>) -> Self {
        matrix.view_mut()
    }
}

impl<'a, F: Format, T, I: Index> From<&'a mut SpMatMut<'_, F, T, I>> for SpMatMut<'a, F, T, I> {
    fn from(matrix: &'a mut SpMatMut<'_, F, T, I>) -> Self {
        matrix.reborrow()
    }
}

impl<F: Format, T, I: Index> From<&SpMatRef<'_, F, T, I>> for Shape {
    fn from(matrix: &SpMatRef<'_, F, T, I>) -> Self {
        Self::matrix(matrix.rows(), matrix.cols())
    }
}

impl<F, T, I> From<&SpMatMut<'_, F, T, I>> for Shape {
    fn from(matrix: &SpMatMut<'_, F, T, I>) -> Self {
        Self::matrix(matrix.pattern.rows, matrix.pattern.cols)
    }
}

/// One triangle of a square sparse matrix. [`SpMatRef::lower`] and [`SpMatRef::upper`] return it.
pub struct SpTriangle<'a, F, T, I = i32> {
    pub(crate) matrix: SpMatRef<'a, F, T, I>,
    /// The triangle in memory.
    pub(crate) stored: Uplo,
    pub(crate) unit: bool,
}

impl<F: Copy, T, I> Clone for SpTriangle<'_, F, T, I> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: Copy, T, I> Copy for SpTriangle<'_, F, T, I> {}

impl<F: Format, T, I> fmt::Debug for SpTriangle<'_, F, T, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { matrix, stored, unit } = self;
        f.debug_struct("SpTriangle").field("matrix", matrix).field("stored", stored).field("unit", unit).finish()
    }
}

impl<F: Format, T: Value, I: Index> SpTriangle<'_, F, T, I> {
    /// Returns the number of rows and columns.
    #[must_use]
    pub fn order(&self) -> usize {
        self.matrix.pattern.rows
    }

    /// Treats the diagonal as ones; the stored diagonal is ignored.
    #[must_use]
    pub fn unit(mut self) -> Self {
        self.unit = true;
        self
    }

    /// Returns the transpose: an upper triangle for a lower one.
    #[must_use]
    pub fn t(mut self) -> Self {
        self.matrix = self.matrix.t();
        self
    }

    /// Returns the conjugate transpose.
    #[must_use]
    pub fn h(mut self) -> Self {
        self.matrix = self.matrix.h();
        self
    }
}
