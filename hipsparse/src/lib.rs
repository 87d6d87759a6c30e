//! Safe Rust for hipSPARSE on AMD GPUs: sparse matrices, their products, triangular solves, incomplete factorisations and conversions.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod banded;
mod call;
mod convert;
pub mod format;
mod incomplete;
mod matrix;
mod older;
mod product;
#[allow(missing_docs, reason = "not every parameter of C's has a sentence")]
mod raw;
mod solve;
mod sparse;
mod spgemm;
mod structure;
mod value;
mod vector;

use std::fmt;

pub use banded::{Pentadiagonals, Tridiagonal, TridiagonalMethod, Tridiagonals};
pub use convert::{FromDense, Prune, Sortable};
pub use format::BlockOrder;
pub use hip_linalg::{
    self as linalg, Batch, Matrix, MatrixBuffer, MatrixMut, MatrixRef, Op, Scalar, ScalarRef, Uplo, VectorMut,
    VectorRef,
};
pub use incomplete::{Analyzed, Factorization, Factors, kind};
pub use matrix::{
    BlockedEll, Bsr, BsrMut, BsrRef, Coo, CooRef, Csc, CscRef, Csr, CsrMut, CsrRef, Pattern, SpMat, SpMatMut, SpMatRef,
    SpTriangle,
};
pub use product::{SpMm, SpMv};
pub use solve::{Solvable, SpSm, SpSv, Triangular};
pub use sparse::Sparse;
pub use spgemm::SpGemm;
pub use structure::Defect;
pub use value::{Base, Index, RealValue, Value};
pub use vector::{SpVec, SpVecMut, SpVecRef};

/// The table of C functions, for the tests and tools of this workspace; not part of the public interface.
#[doc(hidden)]
pub mod table {
    pub use crate::raw::{FUNCTIONS, ROUTINES, Routine};
}

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

/// Why a method failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The call failed, or was not made.
    Call(CallError),
    /// The index arrays of a sparse matrix or vector are not what they must be.
    Structure(Defect),
    /// A row has a zero on the diagonal, or none: it cannot be divided by.
    ZeroPivot {
        /// What was computed.
        routine: &'static str,
        /// The row, or row of blocks, counted from zero.
        row: usize,
    },
}

/// The result of nearly every function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(error) => error.fmt(f),
            Self::Structure(defect) => write!(f, "the index arrays of a sparse operand: {defect}"),
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

/// Whether hipSPARSE can be loaded. [`Sparse::new`] returns the reason if not.
#[must_use]
pub fn is_available() -> bool {
    raw::load_error().is_none()
}
