//! Checks of operands, and their errors.

use hip_linalg::{Batch, Misfit, Op, Shapes, VectorMut};

use crate::{CallError, Error, Result};

pub(crate) fn invalid(what: &'static str, value: impl Into<String>, allowed: impl Into<String>) -> Error {
    Error::Call(CallError::Invalid { what, value: value.into(), allowed: allowed.into() })
}

impl From<Misfit> for Error {
    fn from(Misfit { what, value, allowed }: Misfit) -> Self {
        invalid(what, value, allowed)
    }
}

/// Converts a size to C's `int`.
pub(crate) fn int(what: &'static str, size: usize) -> Result<i32> {
    i32::try_from(size).map_err(|_| invalid(what, size.to_string(), "less than 2^31"))
}

/// Converts a size to the 64-bit integer of the functions with 64-bit sizes.
pub(crate) fn long(what: &'static str, size: usize) -> Result<i64> {
    i64::try_from(size).map_err(|_| invalid(what, size.to_string(), "less than 2^63"))
}

/// Returns an error unless the matrix is stored as it is viewed.
pub(crate) fn as_stored(what: &'static str, op: Op, complex: bool) -> Result<()> {
    if op.transposed || (op.conjugated && complex) {
        return Err(invalid(what, format!("{op:?} in memory"), "as it is in memory, column-major"));
    }
    Ok(())
}

/// Returns an error for a batch, for functions that do not support one.
pub(crate) fn alone(what: &'static str, batch: Batch) -> Result<()> {
    if batch == Batch::One { Ok(()) } else { Err(invalid(what, format!("{batch:?}"), "one matrix")) }
}

/// Returns the number of members of a batch of pointers, or 0 for one matrix.
pub(crate) fn pointers(what: &'static str, batch: Batch) -> Result<usize> {
    match batch {
        Batch::One => Ok(0),
        Batch::Pointers(count) => Ok(count),
        Batch::Strided(_) => Err(invalid(what, format!("{batch:?}"), "one matrix, or a batch of pointers")),
    }
}

pub(crate) fn side_by_side(
    shapes: &Shapes,
    what: &'static str,
    len: usize,
    increment: isize,
    needed: usize,
) -> Result<()> {
    shapes.fits(what, len, needed, "as the matrix needs")?;
    if increment == 1 { Ok(()) } else { Err(invalid("the increment of a vector", increment.to_string(), "1")) }
}

/// Checks a device vector for the eigenvalues or singular values of a matrix.
pub(crate) fn values<T>(shapes: &Shapes, what: &'static str, values: &VectorMut<'_, T>, needed: usize) -> Result<()> {
    side_by_side(shapes, what, values.len(), values.increment(), needed)
}
