//! Checks of operands, and their errors.

use hip_linalg::{Batch, Misfit, Op};

use crate::{CallError, Error, Result, raw};

/// The name of index arrays in errors about memory.
pub(crate) const INDICES: &str = "the indices of a sparse operand";

pub(crate) fn invalid(what: &'static str, value: impl Into<String>, allowed: impl Into<String>) -> Error {
    Error::Call(CallError::Invalid { what, value: value.into(), allowed: allowed.into() })
}

/// Returns an error unless the sizes are the same.
pub(crate) fn fits(what: &'static str, found: usize, needed: usize, of: &str) -> Result<()> {
    if found == needed { Ok(()) } else { Err(invalid(what, found.to_string(), format!("{needed}, {of}"))) }
}

impl From<Misfit> for Error {
    fn from(Misfit { what, value, allowed }: Misfit) -> Self {
        invalid(what, value, allowed)
    }
}

/// Converts a size for functions with 32-bit sizes.
pub(crate) fn int(what: &'static str, size: usize) -> Result<i32> {
    i32::try_from(size).map_err(|_| invalid(what, size.to_string(), "less than 2^31"))
}

/// Returns an error unless the matrix is used as stored.
pub(crate) fn as_stored(what: &'static str, op: Op) -> Result<()> {
    if op == Op::default() { Ok(()) } else { Err(invalid(what, format!("{op:?}"), "as it is in memory")) }
}

/// Returns an error for a batch, for functions that do not support one.
pub(crate) fn alone(what: &'static str, batch: Batch) -> Result<()> {
    if batch == Batch::One { Ok(()) } else { Err(invalid(what, format!("{batch:?}"), "one matrix")) }
}

/// Returns an error on ROCm 5, whose library has a bug here.
pub(crate) fn not_on_5(what: &'static str, why: &'static str) -> Result<()> {
    if raw::is_5() { Err(invalid(what, "on ROCm 5", format!("on ROCm 6 or newer: in 5.7, {why}"))) } else { Ok(()) }
}
