//! Safe Rust for hipBLAS on AMD GPUs: dense linear algebra of levels 1 to 3, in mixed precision and in batches.
//!
//! A [`Blas`] queues work on a stream of [`hip`]. Its operands are vectors and matrices of `hip_linalg`, which are checked for size and overlap: all calls
//! are safe. Nothing is linked: hipBLAS of ROCm 5.7 to 10.0 is loaded on first use, and the same program runs with each.
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
//! | BLAS | here |
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
//! - **Waiting.** A method that returns a number waits for it; all others queue work and return. Reading a buffer waits for its work.
//! - **Overlap.** What a call writes must not overlap its other operands. Rust's borrows ensure it for buffers; memory that is mapped twice
//!   is checked.
//! - **Zero sizes** do nothing, or scale the output, as BLAS says.
//! - **Strided batches and single inputs.** One matrix or vector to read from among strided batches is used by each member.
//! - **Capture.** Calls that wait cannot be captured in graphs. The first call of a kind loads code: make it before the capture. So does one
//!   that needs more workspace than the calls before: in a capture, it is an error.
//! - **Graphs.** The workspace is memory of `hip`, which a graph keeps with the handle. A call that needs more gets a larger
//!   one, and graphs go on with theirs.
//!   Scalars of the host are fixed when a call is captured; those of the device are read at each launch. Tables of
//!   addresses are memory that the graph keeps. See "Crates over hip" in `hip`'s SAFETY.md.
//! - **Releases.** What the library lacks is an [`Error::NoSymbol`] that names the release which has it.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod blas;
mod call;
mod ex;
mod lapack;
mod level1;
mod level2;
mod level3;
mod range;
#[allow(missing_docs, reason = "not every parameter of C's has a sentence")]
mod raw;
mod workspace;

pub use blas::{Blas, MathMode};
pub use ex::{Compute, ExTypes, ScalEx, VectorEx};
pub use hip_linalg::{
    self as linalg, BandRef, Batch, Matrix, MatrixBuffer, MatrixMut, MatrixRef, PackedMut, PackedRef, Pivots, Pointers,
    PointersMut, Scalar, ScalarRef, Side, Triangle, TriangleMut, TriangleRef, Uplo, Vector, VectorMut, VectorRef,
};
pub use level1::Givens;

/// One trait for each operation: the element types that have it.
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

/// Whether hipBLAS can be loaded. [`Blas::new`] returns the reason if not.
#[must_use]
pub fn is_available() -> bool {
    raw::load_error().is_none()
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
