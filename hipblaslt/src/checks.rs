//! Checks of operands.

use hip_linalg::{Batch, Misfit};

use crate::{Error, Result};

pub(crate) fn invalid(what: &'static str, value: impl Into<String>, allowed: impl Into<String>) -> Error {
    Error::Invalid { what, value: value.into(), allowed: allowed.into() }
}

impl From<Misfit> for Error {
    fn from(Misfit { what, value, allowed }: Misfit) -> Self {
        invalid(what, value, allowed)
    }
}

/// The number of matrices in a batch.
pub(crate) fn members(batch: Batch) -> Result<usize> {
    match batch {
        Batch::One => Ok(1),
        Batch::Strided(count) => Ok(count),
        Batch::Pointers(_) => Err(invalid("a matrix", format!("{batch:?}"), "one, or a strided batch")),
    }
}
