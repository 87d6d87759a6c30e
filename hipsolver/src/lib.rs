//! Safe Rust for hipSOLVER on AMD GPUs: Cholesky, LU and QR factorizations, solves, least squares, eigenvalues and
//! singular values.
//!
//! A [`Solver`] queues work on a stream of [`hip`]. Its operands are matrices of [`hip_linalg`], which checks their
//! size and overlap: all calls are safe. Workspaces are allocated, kept and reused. Each method returns an [`Outcome`];
//! its `wait` returns which minor is not positive, or which pivot is zero. Nothing is linked: hipSOLVER of ROCm 5.7 to
//! 10.0 is loaded on first use.
//!
//! ```
//! use hip::{Device, Stream};
//! use hipsolver::{MatrixBuffer, Pivots, Solver};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     if hip::sim_if_no_gpu().is_err() || !hipsolver::is_available() {
//!         return Ok(()); // no GPU or no hipSOLVER is available
//!     }
//!     # if hip::backend()? == hip::Backend::Sim { return Ok(()) }
//!     let device = Device::get(0)?;
//!     let solver = Solver::new(&Stream::new(&device)?)?;
//!     // 2 x + y = 5, x + 3 y = 10
//!     let mut a = MatrixBuffer::from_rows(&device, [[2.0f64, 1.0], [1.0, 3.0]])?;
//!     let mut b = MatrixBuffer::from_rows(&device, [[5.0], [10.0]])?;
//!     let mut pivots = Pivots::new(&device, 2, 2)?;
//!     solver.getrf(&mut a, &mut pivots)?.wait()?; // an error if A is singular
//!     solver.getrs(&a, &pivots, &mut b)?.wait()?;
//!     let x = b.to_vec()?;
//!     assert!((x[0] - 1.0).abs() < 1e-12 && (x[1] - 3.0).abs() < 1e-12);
//!     Ok(())
//! }
//! ```
//!
//! | LAPACK | this crate |
//! |---|---|
//! | `s`, `d`, `c`, `z` before a name, `sy` and `he`, `or` and `un` | the element type: [`Solver::syevd`], [`Solver::ormqr`] |
//! | `uplo`, `trans` | `a.lower()?`, `a.upper()?`, `a.t()`, `a.h()` |
//! | `ipiv` | [`Pivots`] |
//! | `work`, `lwork` | kept by the `Solver` |
//! | `info` | [`Outcome::wait`], [`Cause`] |
//! | batches | views of batches, for the same method or the one with `_batched` |
//!
//! # Graphs
//! Factorizations and solves can be captured; calls that wait for the device (eigenvalues, singular values) fail in a
//! capture. A captured call has its own workspace, which the graph keeps, and its own failure number:
//! [`Outcome::check`] reads it after each launch. While the graph exists, other calls do not reuse either. Only calls
//! that wait use the parameters of Jacobi's method. See "Crates over hip" in `hip`'s SAFETY.md.
//!
//! # Generic code
//!
//! A function for any element type has the bounds that its calls have, from [`ops`]: one for each method, and for `potrf` and
//! `potrs` also that of the form for batches. The constants `T::ZERO` and `T::ONE`, and the type `T::Real` of eigenvalues and
//! singular values, are those of [`Scalar`], which each of these bounds implies. Bounds of several crates are added:
//! `T: hipblas::ops::Gemv + hipsolver::ops::Gels`.
//!
//! ```
//! use hip::{Device, DeviceBuffer, Stream};
//! use hipsolver::{Error, MatrixBuffer, Solver, ops};
//!
//! /// Solves A X = B for a positive definite A. A becomes its factor, B the solution.
//! fn solve<T>(solver: &Solver, a: &mut MatrixBuffer<T>, b: &mut MatrixBuffer<T>) -> Result<(), Error>
//! where
//!     T: ops::Potrf + ops::PotrfBatched + ops::Potrs + ops::PotrsBatched,
//! {
//!     solver.potrf(a.view_mut().lower()?)?.wait()?;
//!     solver.potrs(a.view().lower()?, &mut *b)?.wait()
//! }
//!
//! /// Returns the eigenvalues of a symmetric or Hermitian A, which is overwritten.
//! fn eigenvalues<T: ops::Syevd>(solver: &Solver, a: &mut MatrixBuffer<T>) -> Result<Vec<T::Real>, Error> {
//!     let mut values = DeviceBuffer::zeroed(&solver.stream().device(), a.rows())?;
//!     solver.syevd(false, a.view_mut().lower()?, &mut values)?.wait()?;
//!     Ok(values.to_vec()?)
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     if hip::sim_if_no_gpu().is_err() || !hipsolver::is_available() {
//!         return Ok(()); // no GPU or no hipSOLVER is available
//!     }
//!     # if hip::backend()? == hip::Backend::Sim { return Ok(()) }
//!     let device = Device::get(0)?;
//!     let solver = Solver::new(&Stream::new(&device)?)?;
//!     let mut a = MatrixBuffer::from_rows(&device, [[2.0f32, 1.0], [1.0, 2.0]])?;
//!     let mut b = MatrixBuffer::from_rows(&device, [[3.0f32], [3.0]])?;
//!     solve(&solver, &mut a, &mut b)?; // for f32
//!     assert!(b.to_vec()?.iter().all(|x| (x - 1.0).abs() < 1e-5));
//!     let mut a = MatrixBuffer::from_rows(&device, [[2.0f64, 1.0], [1.0, 2.0]])?;
//!     assert!((eigenvalues(&solver, &mut a)?[1] - 3.0).abs() < 1e-12); // for f64
//!     Ok(())
//! }
//! ```
//!
//! # Features
//!
//! | feature | what it does |
//! |---|---|
//! | `rocm-5-7` to `rocm-10-0` | API levels of the crates `hip` and `hipsolver-sys` below, each with those before it; `rocm-6-4` is the default. This crate's own API is the same at each: it calls the form of a function that the loaded library has |
//! | `ndarray` | `MatrixBuffer::from_array` and `to_array` |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod checks;
mod dense;
mod eigen;
mod problem;
#[allow(missing_docs, reason = "not every parameter of C's has a sentence")]
mod raw;
mod reductions;
mod scaling;
mod solver;

use std::fmt;

pub use eigen::EigenRange;
pub use hip_linalg::{
    self as linalg, Batch, IntoMatrix, IntoMatrixMut, IntoVector, IntoVectorMut, Matrix, MatrixBuffer, MatrixMut,
    MatrixRef, PivotIndex, Pivots, Pointers, PointersMut, Scalar, Side, Triangle, TriangleMut, TriangleRef, Uplo,
};
pub use problem::EigenProblem;
pub use reductions::Factor;
pub use solver::{Convergence, Jacobi, Outcome, Solver};

/// One trait for each operation, implemented by the element types that support it.
pub mod ops {
    pub use crate::raw::{
        Gebrd, Gels, Geqrf, Gesv, Gesvd, GesvdaBatched, Gesvdj, GesvdjBatched, Getrf, Getrs, Orgbr, Orgqr, Orgtr,
        Ormqr, Ormtr, Potrf, PotrfBatched, Potri, Potrs, PotrsBatched, Syevd, Syevdx, Syevj, SyevjBatched, Sygvd,
        Sygvdx, Sygvj, Sytrd, Sytrf,
    };
}

/// The table of C functions, for the tests and tools of this workspace; not part of the public interface.
#[doc(hidden)]
pub mod table {
    pub use crate::raw::{FUNCTIONS, ROUTINES, Routine};
}

mod call_error {
    hip::library_error! {
        library: "hipSOLVER",
        status: crate::raw::hipsolverStatus_t,
        success: crate::raw::HIPSOLVER_STATUS_SUCCESS,
        no_library: crate::raw::HIPSOLVER_STATUS_NOT_INITIALIZED,
        no_symbol: crate::raw::HIPSOLVER_STATUS_NOT_SUPPORTED,
        load_error: crate::raw::load_error,
        symbol_error: crate::raw::symbol_error,
    }
}

pub use call_error::Error as CallError;
pub(crate) use call_error::check;

/// The numerical cause of a failure: LAPACK's `info`. Indices count from 0.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// The matrix is not positive definite: the leading minor that ends with this row is not positive.
    NotPositiveDefinite {
        /// Index of the row.
        minor: usize,
    },
    /// The matrix is singular: this element of the triangular factor's diagonal is zero.
    Singular {
        /// Index of the element.
        pivot: usize,
    },
    /// The method did not converge.
    NotConverged {
        /// Elements that did not become zero, as LAPACK counts them for the routine.
        remaining: usize,
    },
    /// An element of the matrix is NaN or infinite.
    NotFinite,
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPositiveDefinite { minor } => {
                write!(
                    f,
                    "the matrix is not positive definite: its leading minor of order {} is not positive",
                    minor + 1
                )
            }
            Self::Singular { pivot } => {
                write!(f, "the matrix is singular: element {pivot} of the diagonal of its factor is 0")
            }
            Self::NotFinite => f.write_str("an element of the matrix is NaN or infinite"),
            Self::NotConverged { remaining } => {
                write!(f, "it did not converge: the number of elements that are not 0 is {remaining}")
            }
        }
    }
}

/// The reason that a method failed.
#[derive(Clone)]
#[non_exhaustive]
pub enum Error {
    /// The call failed, or was not made.
    Call(CallError),
    /// The operation is not possible for the matrix.
    Numerical {
        /// The routine.
        routine: &'static str,
        /// Index of the matrix in its batch, 0 if it is the only one.
        member: usize,
        /// The cause.
        cause: Cause,
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
            Self::Numerical { routine, member: 0, cause } => write!(f, "{routine}: {cause}"),
            Self::Numerical { routine, member, cause } => write!(f, "{routine}, matrix {member} of the batch: {cause}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Call(error) => Some(error),
            Self::Numerical { .. } => None,
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

/// Returns whether hipSOLVER can be loaded. If not, [`Solver::new`] returns the reason.
#[must_use]
pub fn is_available() -> bool {
    raw::load_error().is_none()
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
