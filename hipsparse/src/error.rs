//! Errors.

use std::fmt;

use crate::defect::Defect;

mod call_error {
    hip::library_error! {
        library: "hipSPARSE",
        status: crate::raw::hipsparseStatus_t,
        success: crate::raw::HIPSPARSE_STATUS_SUCCESS,
        no_library: crate::raw::HIPSPARSE_STATUS_NOT_INITIALIZED,
        no_symbol: crate::raw::HIPSPARSE_STATUS_NOT_SUPPORTED,
        load_error: crate::raw::load_error,
        symbol_error: crate::raw::symbol_error,
    }
}

pub use call_error::Error as CallError;
pub(crate) use call_error::check;

/// The reason that a method failed.
#[derive(Clone)]
#[non_exhaustive]
pub enum Error {
    /// The call failed, or was not made.
    Call(CallError),
    /// The index arrays of a sparse matrix or vector are invalid.
    Structure(Defect),
    /// A diagonal entry is zero or missing, so its row cannot be divided by it. In an incomplete factorization, also: a
    /// pivot of IC(0) is not positive, or a row of the factors has a NaN or an infinity.
    ZeroPivot {
        /// The routine.
        routine: &'static str,
        /// The row, or row of blocks, counted from zero.
        row: usize,
    },
}

/// The result of nearly every function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(error) => error.fmt(f),
            Self::Structure(defect) => write!(f, "the index arrays of a sparse operand: {defect}"),
            Self::ZeroPivot { routine, row } if routine.starts_with("IC(0)") => {
                write!(
                    f,
                    "{routine}: the pivot of row {row} is not a positive number, or is not stored: the matrix is not positive definite, or its factor with this pattern does not exist"
                )
            }
            Self::ZeroPivot { routine, row } if routine.starts_with("ILU(0)") => {
                write!(
                    f,
                    "{routine}: the pivot of row {row} is zero or is not stored, or the row has a NaN or an infinity"
                )
            }
            Self::ZeroPivot { routine, row } => {
                write!(f, "{routine}: the diagonal of row {row} is zero, or is not stored")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Call(error) => Some(error),
            Self::Structure(defect) => Some(defect),
            Self::ZeroPivot { .. } => None,
        }
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl From<hip::Error> for Error {
    fn from(error: hip::Error) -> Self {
        Self::Call(error.into())
    }
}
