//! Matrices: general, triangular, packed triangular and band matrices.

use std::ops::Range;

use hip::{Error, IntoSlice, IntoSliceMut, Result};

use crate::place::{Batch, Mut, Place, Pointers, PointersMut, Ref, invalid};
use crate::scalar::Scalar;
use crate::vector::Vector;

/// The operation that is applied to a matrix in memory before it is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Op {
    /// Whether the matrix is transposed.
    pub transposed: bool,
    /// Whether its elements are conjugated. This makes no difference for real numbers.
    pub conjugated: bool,
}

impl Op {
    /// Returns `HIPBLAS_OP_N`, `HIPBLAS_OP_T` or `HIPBLAS_OP_C`, for elements of type `T`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a matrix that is conjugated but not transposed: BLAS has no such operation.
    pub fn code<T: Scalar>(self, what: &'static str) -> Result<u32> {
        match (self.transposed, self.conjugated && T::COMPLEX) {
            (false, false) => Ok(111),
            (true, false) => Ok(112),
            (true, true) => Ok(113),
            (false, true) => Err(conjugated(what)),
        }
    }
}

fn conjugated(what: &'static str) -> Error {
    invalid(what, "conjugated in memory, but not transposed", "as it is, transposed, or both: BLAS has nothing else")
}

/// Whether the lower or the upper triangle of a matrix is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uplo {
    /// The diagonal and the elements below.
    Lower,
    /// The diagonal and the elements above.
    Upper,
}

impl Uplo {
    /// Returns the other triangle if `yes`.
    #[must_use]
    pub fn flipped_if(self, yes: bool) -> Self {
        match (self, yes) {
            (Self::Lower, false) | (Self::Upper, true) => Self::Lower,
            _ => Self::Upper,
        }
    }

    /// Returns `HIPBLAS_FILL_MODE_UPPER` or `HIPBLAS_FILL_MODE_LOWER`.
    #[must_use]
    pub fn code(self) -> u32 {
        if self == Self::Upper { 121 } else { 122 }
    }
}

/// On which side of the other operand a matrix is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A · B
    Left,
    /// B · A
    Right,
}

impl Side {
    /// Returns the other side if `yes`.
    #[must_use]
    pub fn flipped_if(self, yes: bool) -> Self {
        if (self == Self::Left) == yes { Self::Right } else { Self::Left }
    }

    /// Returns `HIPBLAS_SIDE_LEFT` or `HIPBLAS_SIDE_RIGHT`.
    #[must_use]
    pub fn code(self) -> u32 {
        if self == Self::Left { 141 } else { 142 }
    }
}

/// A matrix in device memory, or a batch of matrices of one shape: [`MatrixRef`] or [`MatrixMut`].
///
/// In memory it is column-major: columns follow each other at the distance of the leading dimension. [`t`](Self::t)
/// returns its transpose at no cost, and so does the row-major form.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<P> {
    pub(crate) place: P,
    /// In memory.
    rows: usize,
    cols: usize,
    ld: usize,
    op: Op,
}

/// A matrix to read from.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::{Device, DeviceBuffer};
/// use hip_linalg::MatrixRef;
///
/// let memory = DeviceBuffer::from_slice(&Device::get(0)?, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let a = MatrixRef::new(&memory, 2, 3)?; // [1 3 5; 2 4 6]
/// let b = MatrixRef::row_major(&memory, 2, 3)?; // [1 2 3; 4 5 6]
/// assert_eq!((a.t().rows(), b.cols()), (3, 3));
/// assert_eq!(a.column(1)?.len(), 2); // 3, 4
/// assert!(MatrixRef::new(&memory, 3, 3).is_err());
/// # Ok(()) }
/// ```
pub type MatrixRef<'a, T> = Matrix<Ref<'a, T>>;

/// A matrix to write to. See [`MatrixRef`].
pub type MatrixMut<'a, T> = Matrix<Mut<'a, T>>;

impl<P: Place> Matrix<P> {
    pub(crate) fn of(place: P, rows: usize, cols: usize, ld: usize) -> Result<Self> {
        if ld < rows.max(1) {
            return Err(invalid(
                "the leading dimension of a matrix",
                ld.to_string(),
                format!("at least {}, its rows in memory", rows.max(1)),
            ));
        }
        let span = match (rows, cols) {
            (0, _) | (_, 0) => Some(0),
            _ => (cols - 1).checked_mul(ld).and_then(|last| last.checked_add(rows)),
        };
        let shortest = place.shortest();
        let Some(span) = span.filter(|&span| span <= shortest) else {
            let what = format!("{rows} x {cols} elements with leading dimension {ld}");
            return Err(invalid("a matrix", what, format!("within the {shortest} elements of its memory")));
        };
        if let (true, Batch::Strided(count @ 2..)) = (P::WRITES, place.batch()) {
            let stride = place.stride();
            let last = stride.checked_mul(count - 1).and_then(|last| last.checked_add(rows));
            let interleaved = stride >= rows && last.is_some_and(|last| last <= ld);
            if stride < span && !interleaved {
                let allowed = format!("at least {span}, so that matrices that are written to are apart");
                return Err(invalid("the stride of a batch of matrices", stride.to_string(), allowed));
            }
        }
        Ok(Self { place, rows, cols, ld, op: Op::default() })
    }

    /// A view of a whole block with `rows * cols` elements, column after column.
    pub(crate) fn dense(place: P, rows: usize, cols: usize) -> Self {
        Self { place, rows, cols, ld: rows.max(1), op: Op::default() }
    }

    /// Returns the number of rows of each matrix.
    #[must_use]
    pub fn rows(&self) -> usize {
        if self.op.transposed { self.cols } else { self.rows }
    }

    /// Returns the number of columns of each matrix.
    #[must_use]
    pub fn cols(&self) -> usize {
        if self.op.transposed { self.rows } else { self.cols }
    }

    /// Returns the distance between two columns, in elements; between two rows if the matrix is transposed.
    #[must_use]
    pub fn leading_dimension(&self) -> usize {
        self.ld
    }

    /// Returns the distance between the starts of two members of a strided batch, in elements; 0 for other matrices.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.place.stride()
    }

    /// Returns the operation that is applied to the matrix in memory.
    #[must_use]
    pub fn op(&self) -> Op {
        self.op
    }

    /// Returns the number of matrices.
    #[must_use]
    pub fn batch_size(&self) -> Batch {
        self.place.batch()
    }

    /// Returns the transpose. No data is moved: the call that uses it gets a flag.
    #[must_use]
    pub fn t(mut self) -> Self {
        self.op.transposed ^= true;
        self
    }

    /// Returns the conjugate transpose, as [`t`](Self::t).
    #[must_use]
    pub fn h(self) -> Self {
        self.t().conj()
    }

    /// Returns the complex conjugate. Most calls accept it only if the matrix is transposed too ([`Op::code`]).
    #[must_use]
    pub fn conj(mut self) -> Self {
        self.op.conjugated ^= true;
        self
    }

    /// Returns the submatrix with these rows and columns.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the ranges are not inside the matrix, and for batches of pointers.
    pub fn block(mut self, rows: Range<usize>, cols: Range<usize>) -> Result<Self> {
        let inside = |range: &Range<usize>, len| range.start <= range.end && range.end <= len;
        if !inside(&rows, self.rows()) || !inside(&cols, self.cols()) {
            let within = format!("inside of {} x {}", self.rows(), self.cols());
            return Err(invalid("a block of a matrix", format!("{rows:?} x {cols:?}"), within));
        }
        let (rows, cols) = if self.op.transposed { (cols, rows) } else { (rows, cols) };
        self.place = self.place.skip(cols.start.saturating_mul(self.ld).saturating_add(rows.start))?;
        (self.rows, self.cols) = (rows.len(), cols.len());
        Ok(self)
    }

    /// Returns one column.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the index is out of range, and for batches of pointers.
    pub fn column(self, index: usize) -> Result<Vector<P>> {
        let (rows, by) = (self.rows(), if self.op.transposed { self.ld } else { 1 });
        let block = self.block(0..rows, index..index.saturating_add(1))?;
        block.line(rows, by)
    }

    /// Returns one row.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the index is out of range, and for batches of pointers.
    pub fn row(self, index: usize) -> Result<Vector<P>> {
        self.t().column(index)
    }

    /// Returns the diagonal.
    ///
    /// # Errors
    /// None at present.
    pub fn diagonal(self) -> Result<Vector<P>> {
        let (len, by) = (self.rows.min(self.cols), self.ld + 1);
        self.line(len, by)
    }

    fn line(self, len: usize, by: usize) -> Result<Vector<P>> {
        if self.op.conjugated {
            return Err(conjugated("a line of a matrix"));
        }
        Vector::of(self.place, len, isize::try_from(by).unwrap_or(isize::MAX))
    }

    /// Returns the lower triangle: a triangular, symmetric or Hermitian matrix. The rest is not accessed.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the matrix is not square.
    pub fn lower(self) -> Result<Triangle<P>> {
        self.triangle(Uplo::Lower)
    }

    /// Returns the upper triangle. See [`lower`](Self::lower).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the matrix is not square.
    pub fn upper(self) -> Result<Triangle<P>> {
        self.triangle(Uplo::Upper)
    }

    /// Returns one of the triangles. See [`lower`](Self::lower).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the matrix is not square.
    pub fn triangle(self, uplo: Uplo) -> Result<Triangle<P>> {
        if self.rows != self.cols {
            let found = format!("of {} x {}", self.rows(), self.cols());
            return Err(invalid("a matrix whose triangle is used", found, "square"));
        }
        let stored = uplo.flipped_if(self.op.transposed);
        Ok(Triangle { matrix: self, stored, unit: false })
    }

    /// Returns the location of the elements, for crates that wrap libraries.
    #[must_use]
    pub fn into_place(self) -> P {
        self.place
    }
}

macro_rules! matrices {
    ($($place:ident, $into:ident, $pointers:ident, [$($borrow:tt)*];)*) => {$(
        impl<'a, T> Matrix<$place<'a, T>> {
            /// Creates a view of `rows` x `cols` elements, column after column.
            ///
            /// # Errors
            /// [`Error::InvalidValue`] if the memory is too short.
            pub fn new(memory: impl $into<'a, T>, rows: usize, cols: usize) -> Result<Self> {
                Self::of($place::one(memory.into()), rows, cols, rows.max(1))
            }

            /// Creates a view whose columns start `ld` elements apart.
            ///
            /// # Errors
            /// [`Error::InvalidValue`] if the memory is too short, or `ld` is less than `rows`.
            pub fn with_ld(memory: impl $into<'a, T>, rows: usize, cols: usize, ld: usize) -> Result<Self> {
                Self::of($place::one(memory.into()), rows, cols, ld)
            }

            /// Creates a view of `rows` x `cols` elements, row after row, the layout of C and `ndarray`. It costs
            /// nothing.
            ///
            /// # Errors
            /// [`Error::InvalidValue`] if the memory is too short.
            pub fn row_major(memory: impl $into<'a, T>, rows: usize, cols: usize) -> Result<Self> {
                Ok(Self::new(memory, cols, rows)?.t())
            }

            /// Creates a view of `count` matrices as of [`with_ld`](Self::with_ld), which start `stride` elements
            /// apart.
            ///
            /// # Errors
            /// The errors of [`with_ld`](Self::with_ld); matrices to write to must not overlap.
            pub fn strided_batch(
                memory: impl $into<'a, T>,
                (rows, cols, ld): (usize, usize, usize),
                stride: usize,
                count: usize,
            ) -> Result<Self> {
                Self::of($place::strided(memory.into(), stride, count), rows, cols, ld)
            }

            /// Creates a view of the matrices at these addresses, each as of [`with_ld`](Self::with_ld).
            ///
            /// # Errors
            /// The errors of [`with_ld`](Self::with_ld).
            pub fn batch(
                pointers: &'a $($borrow)* $pointers<'_, T>,
                (rows, cols, ld): (usize, usize, usize),
            ) -> Result<Self> {
                Self::of(pointers.place(), rows, cols, ld)
            }
        }
    )*};
}

matrices! {
    Ref, IntoSlice, Pointers, [];
    Mut, IntoSliceMut, PointersMut, [mut];
}

impl<'a, T> From<&'a mut Matrix<Mut<'_, T>>> for Matrix<Mut<'a, T>> {
    fn from(matrix: &'a mut Matrix<Mut<'_, T>>) -> Self {
        let Matrix { rows, cols, ld, op, .. } = *matrix;
        Self { place: matrix.place.reborrow(), rows, cols, ld, op }
    }
}

impl<'a, T> From<&'a mut Vector<Mut<'_, T>>> for Vector<Mut<'a, T>> {
    fn from(vector: &'a mut Vector<Mut<'_, T>>) -> Self {
        let (len, increment) = (vector.len, vector.increment);
        Self { place: vector.place.reborrow(), len, increment }
    }
}

impl<'a, T> From<&Matrix<Ref<'a, T>>> for Matrix<Ref<'a, T>> {
    fn from(matrix: &Matrix<Ref<'a, T>>) -> Self {
        *matrix
    }
}

impl<'a, T> From<&Vector<Ref<'a, T>>> for Vector<Ref<'a, T>> {
    fn from(vector: &Vector<Ref<'a, T>>) -> Self {
        *vector
    }
}

/// One triangle of a square matrix: a triangular matrix, or a symmetric or Hermitian one of which half is stored.
/// [`Matrix::lower`] and [`Matrix::upper`] return it.
#[derive(Clone, Copy, Debug)]
pub struct Triangle<P> {
    matrix: Matrix<P>,
    /// The triangle in memory.
    stored: Uplo,
    unit: bool,
}

/// A triangle to read from.
pub type TriangleRef<'a, T> = Triangle<Ref<'a, T>>;
/// A triangle to write to.
pub type TriangleMut<'a, T> = Triangle<Mut<'a, T>>;

impl<P: Place> Triangle<P> {
    /// Returns the number of rows and columns.
    #[must_use]
    pub fn order(&self) -> usize {
        self.matrix.rows
    }

    /// Treats the diagonal as ones; the stored diagonal is ignored.
    #[must_use]
    pub fn unit(mut self) -> Self {
        self.unit = true;
        self
    }

    /// Returns whether the diagonal is treated as ones.
    #[must_use]
    pub fn is_unit(&self) -> bool {
        self.unit
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

    /// Returns which triangle is stored in memory.
    #[must_use]
    pub fn stored(&self) -> Uplo {
        self.stored
    }

    /// Returns `HIPBLAS_DIAG_NON_UNIT` or `HIPBLAS_DIAG_UNIT`.
    #[must_use]
    pub fn diag_code(&self) -> u32 {
        131 + u32::from(self.unit)
    }

    /// Returns the matrix.
    #[must_use]
    pub fn into_matrix(self) -> Matrix<P> {
        self.matrix
    }

    /// Returns a reference to the matrix.
    #[must_use]
    pub fn matrix(&self) -> &Matrix<P> {
        &self.matrix
    }
}

/// A triangle of a square matrix stored without the rest: its columns follow each other, `n (n + 1) / 2` elements.
#[derive(Clone, Copy, Debug)]
pub struct Packed<P> {
    place: P,
    order: usize,
    stored: Uplo,
    unit: bool,
    op: Op,
}

/// A packed triangle to read from.
pub type PackedRef<'a, T> = Packed<Ref<'a, T>>;
/// A packed triangle to write to.
pub type PackedMut<'a, T> = Packed<Mut<'a, T>>;

impl<P: Place> Packed<P> {
    fn of(place: P, order: usize, stored: Uplo) -> Result<Self> {
        let span = order.checked_add(1).and_then(|next| order.checked_mul(next)).map(|twice| twice / 2);
        let shortest = place.shortest();
        let Some(span) = span.filter(|&span| span <= shortest) else {
            let what = format!("of order {order}");
            return Err(invalid("a packed triangle", what, format!("within the {shortest} elements of its memory")));
        };
        if let (true, Batch::Strided(2..)) = (P::WRITES, place.batch()) {
            if place.stride() < span {
                let allowed = format!("at least {span}, so that triangles that are written to are apart");
                return Err(invalid("the stride of a batch of triangles", place.stride().to_string(), allowed));
            }
        }
        Ok(Self { place, order, stored, unit: false, op: Op::default() })
    }

    /// Returns the number of rows and columns.
    #[must_use]
    pub fn order(&self) -> usize {
        self.order
    }

    /// Returns which triangle is stored in memory.
    #[must_use]
    pub fn stored(&self) -> Uplo {
        self.stored
    }

    /// Treats the diagonal as ones; the stored diagonal is ignored.
    #[must_use]
    pub fn unit(mut self) -> Self {
        self.unit = true;
        self
    }

    /// Returns the transpose.
    #[must_use]
    pub fn t(mut self) -> Self {
        self.op.transposed ^= true;
        self
    }

    /// Returns the conjugate transpose.
    #[must_use]
    pub fn h(mut self) -> Self {
        self.op.conjugated ^= true;
        self.t()
    }

    /// Returns the operation that is applied to the triangle in memory.
    #[must_use]
    pub fn op(&self) -> Op {
        self.op
    }

    /// Returns `HIPBLAS_DIAG_NON_UNIT` or `HIPBLAS_DIAG_UNIT`.
    #[must_use]
    pub fn diag_code(&self) -> u32 {
        131 + u32::from(self.unit)
    }

    /// Returns the location of the elements, for crates that wrap libraries.
    #[must_use]
    pub fn into_place(self) -> P {
        self.place
    }

    /// Returns the location of the elements.
    pub(crate) fn place(&self) -> &P {
        &self.place
    }
}

macro_rules! packed {
    ($($place:ident, $into:ident, $pointers:ident, [$($borrow:tt)*];)*) => {$(
        impl<'a, T> Packed<$place<'a, T>> {
            /// Creates a view of one triangle of a matrix of `order` x `order` elements.
            ///
            /// # Errors
            /// [`Error::InvalidValue`] if the memory is too short.
            pub fn new(memory: impl $into<'a, T>, order: usize, uplo: Uplo) -> Result<Self> {
                Self::of($place::one(memory.into()), order, uplo)
            }

            /// Creates a view of `count` triangles that start `stride` elements apart.
            ///
            /// # Errors
            /// As [`new`](Self::new); triangles to write to must not overlap.
            pub fn strided_batch(
                memory: impl $into<'a, T>,
                order: usize,
                uplo: Uplo,
                stride: usize,
                count: usize,
            ) -> Result<Self> {
                Self::of($place::strided(memory.into(), stride, count), order, uplo)
            }

            /// Creates a view of the triangles at these addresses.
            ///
            /// # Errors
            /// As [`new`](Self::new).
            pub fn batch(pointers: &'a $($borrow)* $pointers<'_, T>, order: usize, uplo: Uplo) -> Result<Self> {
                Self::of(pointers.place(), order, uplo)
            }
        }
    )*};
}

packed! {
    Ref, IntoSlice, Pointers, [];
    Mut, IntoSliceMut, PointersMut, [mut];
}

/// A matrix with only some diagonals stored: `lower` below the main one and `upper` above it.
///
/// Column j of the memory holds column j of the matrix, with the main diagonal in row `upper`, as in LAPACK.
#[derive(Clone, Copy, Debug)]
pub struct BandRef<'a, T> {
    matrix: Matrix<Ref<'a, T>>,
    rows: usize,
    lower: usize,
    upper: usize,
    unit: bool,
}

impl<'a, T> BandRef<'a, T> {
    /// Creates a view of a band of a matrix of `rows` x `columns`. Its `lower + upper + 1` diagonals are the rows of
    /// `diagonals`: a column-major matrix, or a batch of such matrices.
    ///
    /// For a triangular, symmetric or Hermitian matrix, one of `lower` and `upper` is 0.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if `diagonals` has a different number of rows, or is transposed.
    pub fn new(diagonals: MatrixRef<'a, T>, rows: usize, lower: usize, upper: usize) -> Result<Self> {
        let needed = lower.checked_add(upper).and_then(|sum| sum.checked_add(1));
        if diagonals.op != Op::default() || Some(diagonals.rows) != needed {
            let found = format!("of {} rows in memory, {:?}", diagonals.rows, diagonals.op);
            return Err(invalid(
                "the diagonals of a band",
                found,
                format!("of {lower} + {upper} + 1 rows, column-major"),
            ));
        }
        Ok(Self { matrix: diagonals, rows, lower, upper, unit: false })
    }

    /// Returns the rows and columns in memory.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.matrix.cols)
    }

    /// Returns the rows and columns after the transpose.
    #[must_use]
    pub fn rows_cols(&self) -> (usize, usize) {
        let (rows, cols) = self.shape();
        if self.matrix.op.transposed { (cols, rows) } else { (rows, cols) }
    }

    /// Returns the number of diagonals below and above the main one, in memory.
    #[must_use]
    pub fn diagonals(&self) -> (usize, usize) {
        (self.lower, self.upper)
    }

    /// Returns the triangle that is stored.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the matrix has diagonals on both sides, or is not square.
    pub fn stored(&self, what: &'static str) -> Result<Uplo> {
        if self.rows != self.matrix.cols || (self.lower != 0 && self.upper != 0) {
            let found =
                format!("of {} x {} with {} + {} diagonals", self.rows, self.matrix.cols, self.lower, self.upper);
            return Err(invalid(what, found, "square, with diagonals on one side of the main one"));
        }
        Ok(if self.upper == 0 { Uplo::Lower } else { Uplo::Upper })
    }

    /// Treats the diagonal as ones; the stored diagonal is ignored.
    #[must_use]
    pub fn unit(mut self) -> Self {
        self.unit = true;
        self
    }

    /// Returns the transpose.
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

    /// Returns `HIPBLAS_DIAG_NON_UNIT` or `HIPBLAS_DIAG_UNIT`.
    #[must_use]
    pub fn diag_code(&self) -> u32 {
        131 + u32::from(self.unit)
    }

    /// Returns the diagonals.
    #[must_use]
    pub fn matrix(&self) -> &MatrixRef<'a, T> {
        &self.matrix
    }
}
