//! The shapes of one call's operands, for the errors of shapes that do not fit.

use std::fmt;

use hip::Error;
use smallvec::SmallVec;

use crate::matrix::{BandRef, Matrix, Packed, Triangle};
use crate::place::{Batch, Place, invalid};
use crate::vector::Vector;

/// The shape of an operand: its size, and the size of its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    rows: usize,
    cols: Option<usize>,
    batch: Batch,
}

impl Shape {
    /// Returns the shape of a vector.
    #[must_use]
    pub fn vector(len: usize) -> Self {
        Self { rows: len, cols: None, batch: Batch::One }
    }

    /// Returns the shape of a matrix.
    #[must_use]
    pub fn matrix(rows: usize, cols: usize) -> Self {
        Self { rows, cols: Some(cols), batch: Batch::One }
    }

    /// Returns the same shape for each member of a batch.
    #[must_use]
    pub fn batch(self, batch: Batch) -> Self {
        Self { batch, ..self }
    }
}

/// Writes `3` or `2 x 3`, and the size of the batch.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.rows)?;
        if let Some(cols) = self.cols {
            write!(f, " x {cols}")?;
        }
        match self.batch {
            Batch::One => Ok(()),
            Batch::Strided(count) => write!(f, " in a strided batch of {count}"),
            Batch::Pointers(count) => write!(f, " in a batch of {count} pointers"),
        }
    }
}

impl<P: Place> From<&Vector<P>> for Shape {
    fn from(vector: &Vector<P>) -> Self {
        Self::vector(vector.len()).batch(vector.batch_size())
    }
}

impl<P: Place> From<&Matrix<P>> for Shape {
    fn from(matrix: &Matrix<P>) -> Self {
        Self::matrix(matrix.rows(), matrix.cols()).batch(matrix.batch_size())
    }
}

impl<P: Place> From<&Triangle<P>> for Shape {
    fn from(triangle: &Triangle<P>) -> Self {
        triangle.matrix().into()
    }
}

impl<P: Place> From<&Packed<P>> for Shape {
    fn from(triangle: &Packed<P>) -> Self {
        Self::matrix(triangle.order(), triangle.order()).batch(triangle.place().batch())
    }
}

impl<T> From<&BandRef<'_, T>> for Shape {
    fn from(band: &BandRef<'_, T>) -> Self {
        let (rows, cols) = band.rows_cols();
        Self::matrix(rows, cols).batch(band.matrix().batch_size())
    }
}

/// The name of a call and the shapes of its operands. Its errors state all of them.
///
/// For crates that wrap libraries. It is displayed as `gemm(A 2 x 3, B 3 x 4, C 2 x 4)`.
///
/// ```
/// use hip_linalg::{Shape, Shapes};
///
/// let (a, b, c) = (Shape::matrix(2, 3), Shape::matrix(2, 3), Shape::matrix(2, 2));
/// let shapes = Shapes::of("gemm", [("A", a), ("B", b), ("C", c)]);
/// let misfit = shapes.fits("the rows of B", 2, 3, "the columns of A").unwrap_err();
/// assert_eq!(misfit.allowed, "3, the columns of A, in gemm(A 2 x 3, B 2 x 3, C 2 x 2)");
/// ```
#[derive(Clone, Debug)]
pub struct Shapes {
    call: &'static str,
    operands: SmallVec<[(&'static str, Shape); 6]>,
}

impl Shapes {
    /// Collects the operands of a call, in the order of its arguments.
    #[must_use]
    pub fn of<const N: usize>(call: &'static str, operands: [(&'static str, Shape); N]) -> Self {
        Self { call, operands: operands.into_iter().collect() }
    }

    /// Adds an operand that not every call has.
    #[must_use]
    pub fn and(mut self, what: &'static str, shape: Shape) -> Self {
        self.operands.push((what, shape));
        self
    }

    /// Returns an error unless two sizes are the same. `what` has the size `found`, and `of` describes the size that it
    /// must have. Compare inputs with each other first, then the output with the inputs.
    ///
    /// # Errors
    /// [`Misfit`], with all shapes.
    pub fn fits(&self, what: &'static str, found: usize, needed: usize, of: &str) -> Result<(), Misfit> {
        if found == needed { Ok(()) } else { Err(self.misfit(what, found.to_string(), format!("{needed}, {of}"))) }
    }

    /// As [`fits`](Self::fits), for two sizes at a time.
    ///
    /// # Errors
    /// [`Misfit`], with all shapes.
    pub fn fits_shape(
        &self,
        what: &'static str,
        found: (usize, usize),
        needed: (usize, usize),
        of: &str,
    ) -> Result<(), Misfit> {
        if found == needed {
            return Ok(());
        }
        let needed = format!("{} x {}, {of}", needed.0, needed.1);
        Err(self.misfit(what, format!("{} x {}", found.0, found.1), needed))
    }

    /// Returns the error for an operand whose shape or batch is not allowed in this call.
    #[must_use]
    pub fn misfit(&self, what: &'static str, value: impl Into<String>, allowed: impl fmt::Display) -> Misfit {
        Misfit { what, value: value.into(), allowed: format!("{allowed}, in {self}") }
    }

    /// Adds the call and its shapes to an error about operands: batches that do not fit, memory that overlaps. Other
    /// errors are returned as they are.
    #[must_use]
    pub fn explain(&self, error: Error) -> Error {
        match error {
            Error::InvalidValue { what, value, allowed } => self.misfit(what, value, allowed).into(),
            other => other,
        }
    }

    /// Returns the shapes without the name of the call.
    #[must_use]
    pub fn operands(&self) -> String {
        let text: Vec<String> = self.operands.iter().map(|(what, shape)| format!("{what} {shape}")).collect();
        text.join(", ")
    }
}

impl fmt::Display for Shapes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.call, self.operands())
    }
}

/// A size that does not fit those of the other operands: its name, its value, and the allowed value with the call and
/// all shapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The name of the size.
    pub what: &'static str,
    /// The size.
    pub value: String,
    /// The allowed size, the operand that it comes from, the call, and the shapes of all operands.
    pub allowed: String,
}

impl From<Misfit> for Error {
    fn from(Misfit { what, value, allowed }: Misfit) -> Self {
        invalid(what, value, allowed)
    }
}
