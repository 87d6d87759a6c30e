//! Sparse matrices.

use std::fmt;

use hip::{Device, DeviceBuffer, DeviceSlice, DeviceSliceMut, Pod};
use hip_linalg::{Op, Uplo};

use crate::call::{INDICES, invalid};
use crate::format::{self, Format};
use crate::on_device;
use crate::structure::{Defect, sorted};
use crate::{Base, Error, Index, Result, Value};

/// Where the entries of a sparse matrix are: its format, shape and index arrays, without the values. Of [`SpMat::pattern`].
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

/// The lengths, sizes and shape of a matrix fit each other and the type of its indices.
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
    /// The index arrays have no defect.
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

    /// Finds the first defect of the index arrays: first those that are unsafe, then entries that are not sorted or are there twice.
    ///
    /// The device looks for them, and the call waits for it. A device that the crate has no code for (it has for gfx90a, gfx942, gfx1100 and
    /// gfx1201) copies the index arrays to the host, which looks.
    ///
    /// # Errors
    /// [`Error::Structure`], with the defect; those of the launch and of copies.
    pub fn validate(&self) -> Result<()> {
        self.find()?.map_err(Error::Structure)
    }

    /// The format.
    #[must_use]
    pub fn format(&self) -> F {
        self.format
    }

    /// Rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Entries that are stored; of BSR and blocked ELL, blocks.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.second.len()
    }

    /// Where indices begin.
    #[must_use]
    pub fn base(&self) -> Base {
        self.base
    }

    /// Whether the entries are sorted, and none is there twice: row after row, or column after column.
    #[must_use]
    pub fn is_sorted(&self) -> bool {
        self.sorted
    }

    /// The first index array: offsets, or the rows of COO.
    #[must_use]
    pub fn first(&self) -> DeviceSlice<'a, I> {
        self.first
    }

    /// The second index array: columns, or the rows of CSC.
    #[must_use]
    pub fn second(&self) -> DeviceSlice<'a, I> {
        self.second
    }
}

/// A sparse matrix in device memory that owns its arrays. [`Csr`], [`Csc`], [`Coo`], [`Bsr`] and [`BlockedEll`] are the formats.
///
/// The index arrays are checked when it is made and do not change afterwards. The values do.
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
/// A matrix of entries with a row and a column each.
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
    /// A matrix of `size` rows and columns with these index arrays and values, which are in device memory.
    ///
    /// The index arrays are checked: see [`Pattern::validate`] for what that costs.
    ///
    /// # Errors
    /// [`Error::Structure`] for index arrays that are unsafe; [`CallError::Invalid`](crate::CallError::Invalid) for lengths that do not fit;
    /// [`hip::Error::Graph`] if a graph can write to an index array.
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

    /// As [`new`](Self::new), of arrays on the host, which are checked there.
    ///
    /// # Errors
    /// As [`new`](Self::new); those of the copies.
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
    /// As [`new`](Self::new), for formats with properties: [`format::Bsr`], [`format::BlockedEll`], whose first index array is empty.
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

    /// As [`from_host`](Self::from_host), for formats with properties.
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

    /// As [`with_format`](Self::with_format), without looking at the index arrays. Only lengths are checked.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for lengths that do not fit.
    ///
    /// # Safety
    /// The index arrays have none of the defects of [`Defect`], when queued work that writes to them is over.
    pub unsafe fn new_unchecked(
        format: F,
        size: (usize, usize),
        base: Base,
        first: DeviceBuffer<I>,
        second: DeviceBuffer<I>,
        values: DeviceBuffer<T>,
    ) -> Result<Self> {
        // SAFETY: the caller's promise.
        unsafe { Pattern::unchecked(format, size, base, (first.as_slice(), second.as_slice()), values.len())? };
        Ok(Self { format, rows: size.0, cols: size.1, base, sorted: true, first, second, values })
    }

    /// The matrix, to read from.
    #[must_use]
    pub fn view(&self) -> SpMatRef<'_, F, T, I> {
        SpMatRef { pattern: self.pattern(), values: self.values.as_slice(), op: Op::default() }
    }

    /// The matrix, to write values to.
    #[must_use]
    pub fn view_mut(&mut self) -> SpMatMut<'_, F, T, I> {
        let Self { format, rows, cols, base, sorted, ref first, ref second, ref mut values } = *self;
        let (first, second) = (first.as_slice(), second.as_slice());
        SpMatMut { pattern: Pattern { format, rows, cols, base, sorted, first, second }, values: values.as_slice_mut() }
    }

    /// Where the entries are.
    #[must_use]
    pub fn pattern(&self) -> Pattern<'_, F, I> {
        let Self { format, rows, cols, base, sorted, ref first, ref second, .. } = *self;
        Pattern { format, rows, cols, base, sorted, first: first.as_slice(), second: second.as_slice() }
    }

    /// Finds the first defect of the index arrays, unsorted and duplicate entries included. See [`Pattern::validate`].
    ///
    /// # Errors
    /// [`Error::Structure`], with the defect; those of the launch and of copies.
    pub fn validate(&self) -> Result<()> {
        self.pattern().validate()
    }

    /// Its transpose, to read from. Nothing is moved.
    #[must_use]
    pub fn t(&self) -> SpMatRef<'_, F, T, I> {
        self.view().t()
    }

    /// Its conjugate transpose, to read from. Nothing is moved.
    #[must_use]
    pub fn h(&self) -> SpMatRef<'_, F, T, I> {
        self.view().h()
    }

    /// The same pattern with these values.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for another number of values; those of a copy on the device.
    pub fn with_values<U: Pod>(&self, values: DeviceBuffer<U>) -> Result<SpMat<F, U, I>> {
        if values.len() != self.values.len() {
            let needed = format!("{}, as the pattern has", self.values.len());
            return Err(invalid("the number of values", values.len().to_string(), needed));
        }
        let Self { format, rows, cols, base, sorted, .. } = *self;
        let (first, second) = (self.first.try_clone()?, self.second.try_clone()?);
        Ok(SpMat { format, rows, cols, base, sorted, first, second, values })
    }

    /// A copy on the device.
    ///
    /// # Errors
    /// Those of allocations and copies.
    pub fn try_clone(&self) -> Result<Self> {
        self.with_values(self.values.try_clone()?)
    }

    /// The first index array, the second one, and the values, on the host.
    ///
    /// # Errors
    /// Those of [`DeviceBuffer::to_vec`].
    pub fn to_vecs(&self) -> Result<(Vec<I>, Vec<I>, Vec<T>)> {
        Ok((self.first.to_vec()?, self.second.to_vec()?, self.values.to_vec()?))
    }
}

impl<F: Format, T: Pod, I> SpMat<F, T, I> {
    /// The format.
    #[must_use]
    pub fn format(&self) -> F {
        self.format
    }

    /// Rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Entries that are stored; of BSR and blocked ELL, blocks.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.second.len()
    }

    /// Where indices begin.
    #[must_use]
    pub fn base(&self) -> Base {
        self.base
    }

    /// Whether the entries are sorted, and none is there twice: row after row, or column after column.
    #[must_use]
    pub fn is_sorted(&self) -> bool {
        self.sorted
    }

    /// The values.
    #[must_use]
    pub fn values(&self) -> &DeviceBuffer<T> {
        &self.values
    }

    /// The values, to write to. The buffer cannot be exchanged, only its elements.
    #[must_use]
    pub fn values_mut(&mut self) -> DeviceSliceMut<'_, T> {
        (&mut self.values).into()
    }

    /// The arrays: the first index array, the second one, the values. While a graph exists that was captured with the matrix, writing to
    /// the index arrays is an [`hip::Error::Graph`].
    #[must_use]
    pub fn into_buffers(self) -> (DeviceBuffer<I>, DeviceBuffer<I>, DeviceBuffer<T>) {
        (self.first, self.second, self.values)
    }

    /// What a call of the library has made.
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

    /// The index arrays, for calls that write numbers of this shape.
    pub(crate) fn parts_mut(&mut self) -> (&mut DeviceBuffer<I>, &mut DeviceBuffer<I>, &mut DeviceBuffer<T>) {
        (&mut self.first, &mut self.second, &mut self.values)
    }
}

/// A sparse matrix to read from, whose arrays are borrowed. A [`SpMat`] becomes one with `into`.
pub struct SpMatRef<'a, F, T, I = i32> {
    pub(crate) pattern: Pattern<'a, F, I>,
    pub(crate) values: DeviceSlice<'a, T>,
    pub(crate) op: Op,
}

/// A view of a matrix of compressed rows.
pub type CsrRef<'a, T, I = i32> = SpMatRef<'a, format::Csr, T, I>;
/// A view of a matrix of compressed columns.
pub type CscRef<'a, T, I = i32> = SpMatRef<'a, format::Csc, T, I>;
/// A view of a matrix of entries with a row and a column each.
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
    /// A matrix of `size` rows and columns in arrays that others own. They are checked, as in [`SpMat::new`].
    ///
    /// # Errors
    /// Those of [`SpMat::with_format`].
    #[doc(alias("hipsparseCreateConstCsr", "hipsparseCreateConstCsc", "hipsparseCreateConstCoo"))]
    pub fn new(
        format: F,
        size: (usize, usize),
        base: Base,
        first: impl Into<DeviceSlice<'a, I>>,
        second: impl Into<DeviceSlice<'a, I>>,
        values: impl Into<DeviceSlice<'a, T>>,
    ) -> Result<Self> {
        let values = values.into();
        let pattern = Pattern::checked(format, size, base, (first.into(), second.into()), values.len())?;
        Ok(Self { pattern, values, op: Op::default() })
    }

    /// As [`new`](Self::new), without looking at the index arrays.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for lengths that do not fit.
    ///
    /// # Safety
    /// That of [`SpMat::new_unchecked`].
    pub unsafe fn new_unchecked(
        format: F,
        size: (usize, usize),
        base: Base,
        first: impl Into<DeviceSlice<'a, I>>,
        second: impl Into<DeviceSlice<'a, I>>,
        values: impl Into<DeviceSlice<'a, T>>,
    ) -> Result<Self> {
        let values = values.into();
        // SAFETY: the caller's promise.
        let pattern = unsafe { Pattern::unchecked(format, size, base, (first.into(), second.into()), values.len())? };
        Ok(Self { pattern, values, op: Op::default() })
    }

    /// Where the entries are, as they are in memory.
    #[must_use]
    pub fn pattern(&self) -> Pattern<'a, F, I> {
        self.pattern
    }

    /// The values.
    #[must_use]
    pub fn values(&self) -> DeviceSlice<'a, T> {
        self.values
    }

    /// The same pattern with other values.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for another number of values.
    pub fn with_values<U>(self, values: impl Into<DeviceSlice<'a, U>>) -> Result<SpMatRef<'a, F, U, I>> {
        let values = values.into();
        if values.len() != self.values.len() {
            let needed = format!("{}, as the pattern has", self.values.len());
            return Err(invalid("the number of values", values.len().to_string(), needed));
        }
        Ok(SpMatRef { pattern: self.pattern, values, op: self.op })
    }

    /// Rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        if self.op.transposed { self.pattern.cols } else { self.pattern.rows }
    }

    /// Columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        if self.op.transposed { self.pattern.rows } else { self.pattern.cols }
    }

    /// Entries that are stored; of BSR and blocked ELL, blocks.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.pattern.entries()
    }

    /// The transpose. Nothing is moved: the call that uses it is told.
    #[must_use]
    pub fn t(mut self) -> Self {
        self.op.transposed ^= true;
        self
    }

    /// The conjugate transpose, as [`t`](Self::t).
    #[must_use]
    pub fn h(mut self) -> Self {
        self.op.conjugated ^= true;
        self.t()
    }

    /// What is done to the matrix in memory.
    #[must_use]
    pub fn op(&self) -> Op {
        self.op
    }

    /// Its lower triangle: the rest is not used.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) if the matrix is not square.
    pub fn lower(self) -> Result<SpTriangle<'a, F, T, I>> {
        self.triangle(Uplo::Lower)
    }

    /// Its upper triangle: the rest is not used.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) if the matrix is not square.
    pub fn upper(self) -> Result<SpTriangle<'a, F, T, I>> {
        self.triangle(Uplo::Upper)
    }

    /// One of its triangles.
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
    /// A matrix of `size` rows and columns in arrays that others own. They are checked, as in [`SpMat::new`].
    ///
    /// # Errors
    /// Those of [`SpMat::with_format`].
    pub fn new(
        format: F,
        size: (usize, usize),
        base: Base,
        first: impl Into<DeviceSlice<'a, I>>,
        second: impl Into<DeviceSlice<'a, I>>,
        values: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<Self> {
        let values = values.into();
        let pattern = Pattern::checked(format, size, base, (first.into(), second.into()), values.len())?;
        Ok(Self { pattern, values })
    }

    /// Where the entries are.
    #[must_use]
    pub fn pattern(&self) -> Pattern<'a, F, I> {
        self.pattern
    }

    /// The same, borrowed for a while.
    pub fn reborrow(&mut self) -> SpMatMut<'_, F, T, I> {
        SpMatMut { pattern: self.pattern, values: (&mut self.values).into() }
    }

    /// The same, to read from.
    #[must_use]
    pub fn view(&self) -> SpMatRef<'_, F, T, I> {
        SpMatRef { pattern: self.pattern, values: self.values.as_slice(), op: Op::default() }
    }

    /// The values, to write to.
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

/// One triangle of a square sparse matrix. Of [`SpMatRef::lower`] and [`SpMatRef::upper`].
pub struct SpTriangle<'a, F, T, I = i32> {
    pub(crate) matrix: SpMatRef<'a, F, T, I>,
    /// In memory.
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
    /// Rows and columns.
    #[must_use]
    pub fn order(&self) -> usize {
        self.matrix.pattern.rows
    }

    /// With ones on the diagonal, whatever is stored there.
    #[must_use]
    pub fn unit(mut self) -> Self {
        self.unit = true;
        self
    }

    /// The transpose: of a lower triangle, an upper one.
    #[must_use]
    pub fn t(mut self) -> Self {
        self.matrix = self.matrix.t();
        self
    }

    /// The conjugate transpose.
    #[must_use]
    pub fn h(mut self) -> Self {
        self.matrix = self.matrix.h();
        self
    }
}
