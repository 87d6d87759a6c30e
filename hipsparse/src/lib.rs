//! Safe Rust for hipSPARSE on AMD GPUs: sparse matrices, their products, triangular solves, incomplete factorizations
//! and conversions.
//!
//! A [`Sparse`] queues work on a stream of [`hip`]. Sparse matrices are checked when they are made: an index that is
//! out of range would make a kernel access memory outside the matrix. Nothing is linked: hipSPARSE of ROCm 5.7 to 10.0
//! is loaded on first use, and the same program runs with each.
//!
//! ```
//! use hip::{Device, DeviceBuffer, Stream};
//! use hipsparse::{Base, Csr, Sparse};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     if hip::sim_if_no_gpu().is_err() || !hipsparse::is_available() {
//!         return Ok(()); // no GPU or no hipSPARSE is available
//!     }
//!     # if hip::backend()? == hip::Backend::Sim { return Ok(()) }
//!     let device = Device::get(0)?;
//!     let sparse = Sparse::new(&Stream::new(&device)?)?;
//!     // 4 0 1
//!     // 0 3 0
//!     // 0 0 2
//!     let a = Csr::from_host(&device, (3, 3), Base::Zero, &[0, 2, 3, 4], &[0, 2, 1, 2], &[4.0f64, 1.0, 3.0, 2.0])?;
//!     let x = DeviceBuffer::from_slice(&device, &[1.0, 2.0, 3.0])?;
//!     let mut y = DeviceBuffer::<f64>::zeroed(&device, 3)?;
//!     sparse.spmv(1.0, &a, &x, 0.0, &mut y)?; // y ← A x
//!     assert_eq!(y.to_vec()?, [7.0, 6.0, 6.0]); // waits for it
//!
//!     let mut z = DeviceBuffer::<f64>::zeroed(&device, 3)?;
//!     sparse.spsv(a.view().upper()?)?.solve(1.0, &y, &mut z)?; // A z = y
//!     assert_eq!(z.to_vec()?, [1.0, 2.0, 3.0]);
//!     Ok(())
//! }
//! ```
//!
//! # From hipSPARSE to this crate
//!
//! | hipSPARSE | this crate |
//! |---|---|
//! | `S`, `D`, `C`, `Z` in a name; compute types | the element type: `sparse.spmv::<_, f64, _>(...)`, mostly inferred |
//! | `hipsparseCreateCsr`, ... | [`Csr`], [`Csc`], [`Coo`], [`Bsr`], [`BlockedEll`], which own memory; views of them borrow it |
//! | index types, index base | `i32` or `i64`, by the arrays; [`Base`] |
//! | `hipsparseOperation_t` | `a`, [`a.t()`](SpMat::t), [`a.h()`](SpMat::h) |
//! | fill mode, diagonal type | [`a.view().lower()`](SpMatRef::lower), [`upper()`](SpMatRef::upper), [`unit()`](SpTriangle::unit) |
//! | `bufferSize`, external buffers | the [`Sparse`] keeps one |
//! | `preprocess`, `analysis` | types: [`SpMv`], [`SpMm`], [`SpSv`], [`SpSm`], [`Triangular`], [`SpGemm`], [`Analyzed`] then [`Factors`] |
//! | `zeroPivot` | [`Error::ZeroPivot`] |
//! | pointer mode | [`ScalarRef`]: a number or device memory |
//!
//! # Rules
//!
//! - **Waiting.** Calls that return a new matrix or a number wait for it; the other calls queue work and return.
//!   Reading a buffer waits for its work.
//! - **Host functions.** A new handle, the older conversions and products, and [`Sparse::spgemm`] wait inside HIP for
//!   the device: such a call waits until no host function runs and no stream is captured. A host function that waits
//!   for its thread to do something after such a call deadlocks.
//! - **Structure.** Unsorted and duplicate entries are found when a matrix is made. Calls that need sorted entries
//!   reject such a matrix: [`Sparse::sort`] sorts.
//! - **Duplicates.** Entries at the same position add up: in products, in conversions to dense matrices and arrays, and
//!   in conversions between formats, which keep all of them. A call that cannot add them rejects them: the calls that
//!   need sorted entries, [`Sparse::sddmm`], and those that write a dense vector at a sparse vector's indices.
//!   [`Sparse::prune`] and [`Sparse::compress`] compare each entry alone.
//! - **Overlap.** An operand that a call writes must not overlap the others.
//! - **Graphs.** Calls of plans with scalars in device memory can be captured. A graph relies on the indices that were
//!   checked: an array that a graph writes to is not accepted as indices, and while a graph exists that was captured
//!   with a matrix, writing to its index arrays is an error, also after [`SpMat::into_buffers`]. Values can be written.
//!   Calls that return a new matrix cannot be captured. Graphs keep the library's handle, plans and analyses that they
//!   use alive. On ROCm 5.7, the first product of a plan waits: make it before the capture.
//! - **Releases.** A function that the library lacks, or that is wrong in one release, is an error that names the
//!   reason.
//!
//! # Generic code
//!
//! A function for any type of values has the bound [`Value`], one for any index type [`Index`], and one for any format that
//! `spmv` accepts [`Generic`](format::Generic). [`Scalar`] comes with `Value`: the constants `T::ZERO` and `T::ONE`.
//! Arithmetic on the host has the bounds of Rust, as here `Neg`.
//!
//! ```
//! use std::ops::Neg;
//!
//! use hip::{Device, DeviceBuffer, Stream};
//! use hipsparse::{Base, Csr, Error, Sparse, Value};
//!
//! /// b ← b − A x
//! fn residual<T>(sparse: &Sparse, a: &Csr<T>, x: &DeviceBuffer<T>, b: &mut DeviceBuffer<T>) -> Result<(), Error>
//! where
//!     T: Value + Neg<Output = T>,
//! {
//!     sparse.spmv(-T::ONE, a, x, T::ONE, b)
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     if hip::sim_if_no_gpu().is_err() || !hipsparse::is_available() {
//!         return Ok(()); // no GPU or no hipSPARSE is available
//!     }
//!     # if hip::backend()? == hip::Backend::Sim { return Ok(()) }
//!     let device = Device::get(0)?;
//!     let sparse = Sparse::new(&Stream::new(&device)?)?;
//!     let a = Csr::from_host(&device, (2, 2), Base::Zero, &[0, 1, 2], &[0, 1], &[2.0f32, 3.0])?;
//!     let x = DeviceBuffer::from_slice(&device, &[1.0f32, 1.0])?;
//!     let mut b = DeviceBuffer::from_slice(&device, &[5.0f32, 5.0])?;
//!     residual(&sparse, &a, &x, &mut b)?;
//!     assert_eq!(b.to_vec()?, [3.0, 2.0]);
//!     Ok(())
//! }
//! ```
//!
//! # Features
//!
//! | feature | what it does |
//! |---|---|
//! | `rocm-5-7` to `rocm-10-0` | API levels of the crates `hip` and `hipsparse-sys` below, each with those before it; `rocm-6-4` is the default. This crate's own API is the same at each: it calls the form of a function that the loaded library has |
//! | `ndarray` | `MatrixBuffer::from_array` and `to_array`, for dense matrices |
//! | `sprs` | sparse matrices from and to those of `sprs` |

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "ndarray")]
mod arrays;
mod banded;
mod call;
mod checks;
mod convert;
mod defect;
pub mod descr;
mod error;
pub mod format;
mod incomplete;
mod into;
mod matrix;
mod numbers;
mod older;
mod on_device;
mod product;
#[allow(missing_docs, reason = "not every parameter of C's has a sentence")]
mod raw;
mod solve;
mod sparse;
mod spgemm;
#[cfg(feature = "sprs")]
mod sprs;
mod structure;
mod value;
mod vector;

pub use banded::{Pentadiagonals, Tridiagonal, TridiagonalMethod, Tridiagonals};
pub use convert::{FromDense, Prune, Sortable};
pub use defect::Defect;
pub use error::{CallError, Error, Result};
pub use format::BlockOrder;
pub use hip_linalg::{
    self as linalg, Batch, IntoMatrix, IntoMatrixMut, IntoScalar, IntoVector, IntoVectorMut, Matrix, MatrixBuffer,
    MatrixMut, MatrixRef, Op, Scalar, ScalarRef, Uplo, VectorMut, VectorRef,
};
pub use incomplete::{Analyzed, Factorization, Factors, kind};
pub use into::{IntoSpMat, IntoSpMatMut, IntoSpVec, IntoSpVecMut};
pub use matrix::{
    BlockedEll, Bsr, BsrMut, BsrRef, Coo, CooRef, Csc, CscRef, Csr, CsrMut, CsrRef, Pattern, SpMat, SpMatMut, SpMatRef,
    SpTriangle,
};
pub use older::{Hyb, HybPartition, Sorted};
pub use product::{SpMm, SpMv};
pub use solve::{Solvable, SpSm, SpSv, Triangular};
pub use sparse::Sparse;
pub use spgemm::SpGemm;
pub use value::{Base, ComplexValue, Index, RealValue, Value};
pub use vector::{SpVec, SpVecMut, SpVecRef};

pub(crate) use error::check;

/// The table of C functions, for the tests and tools of this workspace; not part of the public interface.
#[doc(hidden)]
pub mod table {
    pub use crate::raw::{FUNCTIONS, ROUTINES, Routine};
}

/// Returns whether hipSPARSE can be loaded. [`Sparse::new`] returns the reason if not.
#[must_use]
pub fn is_available() -> bool {
    raw::load_error().is_none()
}

/// Returns the library's own text for a hipSPARSE status: the name of its own status, and a description. `None` if it
/// has no such function: before ROCm 6.2.
///
/// ```
/// # if hip::sim_if_no_gpu().is_err() || hip::backend().ok() == Some(hip::Backend::Sim)
/// #     || !hipsparse::is_available() { return }
/// if let Some((name, text)) = hipsparse::status_text(3) {
///     println!("{name}: {text}"); // what HIPSPARSE_STATUS_INVALID_VALUE is
/// }
/// ```
#[must_use]
#[doc(alias("hipsparseGetErrorName", "hipsparseGetErrorString", "cusparseGetErrorName", "cusparseGetErrorString"))]
pub fn status_text(status: u32) -> Option<(String, String)> {
    let status = raw::hipsparseStatus_t(status);
    Some((raw::hipsparseGetErrorName(status)?, raw::hipsparseGetErrorString(status)?))
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
