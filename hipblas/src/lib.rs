//! Safe Rust for hipBLAS on AMD GPUs: dense linear algebra of levels 1 to 3, in mixed precision and in batches.
//!
//! A [`Blas`] queues work on a stream of [`hip`]. Its operands are vectors and matrices of `hip_linalg`, which checks
//! their size and overlap: all calls are safe. Nothing is linked: hipBLAS of ROCm 5.7 to 10.0 is loaded on first use,
//! and the same program runs with each.
//!
//! ```
//! use hip::{Device, DeviceBuffer, Stream};
//! use hipblas::{Blas, MatrixBuffer};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     if hip::sim_if_no_gpu().is_err() || !hipblas::is_available() {
//!         return Ok(()); // no GPU or no hipBLAS is available
//!     }
//!     # if hip::backend()? == hip::Backend::Sim { return Ok(()) }
//!     let device = Device::get(0)?;
//!     let blas = Blas::new(&Stream::new(&device)?)?;
//!     let a = MatrixBuffer::from_rows(&device, [[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]])?;
//!     let mut c = MatrixBuffer::<f32>::zeroed(&device, 2, 2)?;
//!     blas.gemm(1.0, a.t(), &a, 0.0, &mut c)?; // c ← Aᵀ A
//!     assert_eq!(c.to_vec()?, [35.0, 44.0, 44.0, 56.0]); // waits for it
//!
//!     let x = DeviceBuffer::from_slice(&device, &[3.0f32, 4.0])?;
//!     assert_eq!(blas.nrm2(&x)?, 5.0);
//!     Ok(())
//! }
//! ```
//!
//! # From BLAS to this crate
//!
//! | BLAS | this crate |
//! |---|---|
//! | `s`, `d`, `c`, `z` before a name | the element type: `blas.gemm::<f64>(...)`, mostly inferred |
//! | `trans`: N, T, C | `a`, [`a.t()`](Matrix::t), [`a.h()`](Matrix::h) |
//! | row-major (`cblas`) | [`MatrixRef::row_major`](Matrix::row_major) |
//! | `uplo`, `diag` | [`a.lower()`](Matrix::lower), [`a.upper()`](Matrix::upper), [`.unit()`](Triangle::unit) |
//! | `incx`, `lda` | [`VectorRef::new`](Vector::new), [`MatrixRef::with_ld`](Matrix::with_ld) |
//! | `Batched`, `StridedBatched` | [`MatrixRef::batch`](Matrix::batch), [`MatrixRef::strided_batch`](Matrix::strided_batch), to the same method |
//! | `_64` | chosen by size |
//! | pointer mode | [`ScalarRef`]: a number or device memory; results by `dot` or `dot_into` |
//! | `gemmEx`, compute types | [`Blas::gemm_ex`] |
//!
//! # Rules
//!
//! - **Waiting.** A method that returns a number waits for it; all others queue work and return. Reading a buffer waits
//!   for its work.
//! - **Overlap.** An operand that a call writes must not overlap the others. Rust's borrows ensure it for buffers;
//!   memory that is mapped twice is checked.
//! - **Zero sizes** do nothing, or scale the output, as BLAS specifies.
//! - **Strided batches and single inputs.** A single input matrix or vector is shared by all members of strided
//!   batches.
//! - **Capture.** Calls that wait cannot be captured in graphs. The first call of a kind loads code: make it before the
//!   capture. The same holds for a call that needs more workspace than the calls before it: in a capture, it is an
//!   error.
//! - **Graphs.** The workspace is `hip` memory, which a graph keeps alive together with the handle. A call that needs
//!   more gets a larger workspace, and graphs continue to use theirs. Host scalars are fixed when a call is captured;
//!   device scalars are read at each launch. A graph also keeps tables of addresses alive. See "Crates over hip" in
//!   `hip`'s SAFETY.md.
//! - **Releases.** A function that the library lacks is an [`Error::NoSymbol`], which names the first release that has
//!   it.
//!
//! # Generic code
//!
//! A function for any element type has one bound from [`ops`] for each method that it calls. [`Scalar`] comes with it: the
//! constants `T::ZERO` and `T::ONE`, and the type of absolute values, `T::Real`. Arithmetic on the host has the bounds of Rust
//! (`Neg`, `Mul`, or those of `num_traits`). Bounds of several crates are added: `T: hipblas::ops::Gemv + hipsolver::ops::Gels`.
//!
//! ```
//! use std::ops::Neg;
//!
//! use hip::{Device, DeviceBuffer, Stream};
//! use hipblas::{Blas, Error, MatrixBuffer, ops};
//!
//! /// Writes b − A x to b, and returns its norm.
//! fn residual<T>(blas: &Blas, a: &MatrixBuffer<T>, x: &DeviceBuffer<T>, b: &mut DeviceBuffer<T>) -> Result<T::Real, Error>
//! where
//!     T: ops::Gemv + ops::Nrm2 + Neg<Output = T>,
//! {
//!     blas.gemv(-T::ONE, a, x, T::ONE, &mut *b)?;
//!     blas.nrm2(&*b)
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     if hip::sim_if_no_gpu().is_err() || !hipblas::is_available() {
//!         return Ok(()); // no GPU or no hipBLAS is available
//!     }
//!     # if hip::backend()? == hip::Backend::Sim { return Ok(()) }
//!     let device = Device::get(0)?;
//!     let blas = Blas::new(&Stream::new(&device)?)?;
//!     let a = MatrixBuffer::from_rows(&device, [[1.0f64, 2.0], [3.0, 4.0]])?;
//!     let x = DeviceBuffer::from_slice(&device, &[1.0f64, 1.0])?;
//!     let mut b = DeviceBuffer::from_slice(&device, &[6.0f64, 11.0])?;
//!     assert_eq!(residual(&blas, &a, &x, &mut b)?, 5.0); // of (3, 4)
//!     Ok(())
//! }
//! ```
//!
//! # Features
//!
//! | feature | what it does |
//! |---|---|
//! | `rocm-5-7` to `rocm-10-0` | API levels of the crates `hip` and `hipblas-sys` below, each with those before it; `rocm-6-4` is the default. This crate's own API is the same at each: it calls the form of a function that the loaded library has |
//! | `ndarray` | `MatrixBuffer::from_array` and `to_array` |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod blas;
mod call;
mod ex;
mod lapack;
mod level1;
mod level2;
mod level3;
mod library;
mod range;
#[allow(missing_docs, reason = "not every parameter of C's has a sentence")]
mod raw;
mod workspace;

pub use blas::{Blas, MathMode};
pub use ex::{Compute, ExTypes, ScalEx, VectorEx};
pub use hip_linalg::{
    self as linalg, BandRef, Batch, IntoMatrix, IntoMatrixMut, IntoScalar, IntoVector, IntoVectorMut, Matrix,
    MatrixBuffer, MatrixMut, MatrixRef, PackedMut, PackedRef, Pivots, Pointers, PointersMut, Scalar, ScalarRef, Side,
    Triangle, TriangleMut, TriangleRef, Uplo, Vector, VectorMut, VectorRef,
};
pub use level1::Givens;

/// One trait for each operation, implemented by the element types that support it.
pub mod ops {
    pub use crate::raw::{
        Amax, Amin, Asum, Axpy, Copy, Dgmm, Dot, Dotc, Gbmv, Geam, Gels, Gemm, Gemv, Geqrf, Ger, Gerc, Getrf, Getri,
        Getrs, Hbmv, Hemm, Hemv, Her, Her2, Her2k, Herk, Herkx, Hpmv, Hpr, Hpr2, Nrm2, Rot, Rotg, Rotm, Rotmg, Sbmv,
        Scal, Spmv, Spr, Spr2, Swap, Symm, Symv, Syr, Syr2, Syr2k, Syrk, Syrkx, Tbmv, Tbsv, Tpmv, Tpsv, Trmm, Trmv,
        Trsm, Trsv, Trtri,
    };
}

/// The table of C functions, for the tests and tools of this workspace; not part of the public interface.
#[doc(hidden)]
pub mod table {
    pub use crate::raw::{EX_ROUTINES, ROUTINES, Routine};
}

hip::library_error! {
    library: "hipBLAS",
    status: raw::hipblasStatus_t,
    success: raw::HIPBLAS_STATUS_SUCCESS,
    no_library: raw::HIPBLAS_STATUS_NOT_INITIALIZED,
    no_symbol: raw::HIPBLAS_STATUS_NOT_SUPPORTED,
    load_error: raw::load_error,
    symbol_error: raw::symbol_error,
}

/// Returns whether hipBLAS can be loaded. If not, [`Blas::new`] returns the reason.
#[must_use]
pub fn is_available() -> bool {
    raw::load_error().is_none()
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
