//! Safe Rust for hipBLASLt on AMD GPUs: matrix products with fused epilogues (bias, ReLU, GELU, their gradients),
//! scales for 8-bit floats, and a choice of algorithms.
//!
//! A [`BlasLt`] queues products on a stream of [`hip`]. Shapes, strides and overlaps are checked before the call. The
//! first algorithm of the library's heuristic is remembered for each problem; [`BlasLt::algorithms`] returns several,
//! to measure and to keep. Nothing is linked: hipBLASLt of ROCm 6.2 to 10.0 is loaded on first use.
//!
//! ```
//! use hip::{Device, DeviceBuffer, Stream};
//! use hipblaslt::{BlasLt, Epilogue, Matmul, MatrixBuffer};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     if hip::sim_if_no_gpu().is_err() || !hipblaslt::is_available() {
//!         return Ok(()); // no GPU or no hipBLASLt is available
//!     }
//!     # if hip::backend()? == hip::Backend::Sim { return Ok(()) }
//!     let device = Device::get(0)?;
//!     let lt = BlasLt::new(&Stream::new(&device)?)?;
//!     let weights = MatrixBuffer::from_rows(&device, [[1.0f32, -1.0], [2.0, 1.0]])?;
//!     let input = MatrixBuffer::from_rows(&device, [[1.0f32, 0.0], [3.0, 1.0]])?;
//!     let bias = DeviceBuffer::from_slice(&device, &[0.5f32, -0.5])?;
//!     let mut output = MatrixBuffer::<f32>::zeroed(&device, 2, 2)?;
//!     let layer = Matmul { epilogue: Epilogue::ReluBias(bias.as_slice()), ..Matmul::default() };
//!     lt.matmul(layer, 1.0, &weights, &input, 0.0, &mut output)?; // max(0, W X + b)
//!     assert_eq!(output.to_vec()?, [0.0, 4.5, 0.0, 0.5]);
//!     Ok(())
//! }
//! ```
//!
//! # Graphs
//! Products can be captured. A captured call has its own workspace, which the graph keeps alive with the handle and
//! with the memory of biases and scales. The library reads its descriptors and the algorithm on the host, during the
//! capture, and they are destroyed afterwards. Later choices of the heuristic, and [`BlasLt::algorithms`], do not
//! change a graph. See "Crates over hip" in `hip`'s SAFETY.md.
//!
//! # Features
//!
//! | feature | what it does |
//! |---|---|
//! | `rocm-5-7` to `rocm-10-0` | API levels of the crates `hip` and `hipblaslt-sys` below, each with those before it; `rocm-6-4` is the default. This crate's own API is the same at each: it calls the form of a function that the loaded library has |
//! | `ndarray` | `MatrixBuffer::from_array` and `to_array` |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod checks;
mod descriptors;
mod library;
mod matmul;
mod problem;
mod raw;
mod transform;
mod types;

pub use hip_linalg::{
    self as linalg, Batch, IntoMatrix, IntoMatrixMut, IntoScalar, IntoVector, IntoVectorMut, Matrix, MatrixBuffer,
    MatrixMut, MatrixRef, Scalar, ScalarRef, Vector, VectorMut, VectorRef,
};
pub use matmul::{Algorithm, BlasLt, Compute, Epilogue, Matmul};
pub use types::LtTypes;

/// The table of C functions, for the tests of this workspace; not part of the public interface.
#[doc(hidden)]
pub mod table {
    pub use crate::raw::FUNCTIONS;
}

hip::library_error! {
    library: "hipBLASLt",
    status: raw::hipblasStatus_t,
    success: raw::HIPBLAS_STATUS_SUCCESS,
    no_library: raw::HIPBLAS_STATUS_NOT_INITIALIZED,
    no_symbol: raw::HIPBLAS_STATUS_NOT_SUPPORTED,
    load_error: raw::load_error,
    symbol_error: raw::symbol_error,
}

/// Returns whether hipBLASLt can be loaded. If not, [`BlasLt::new`] returns the reason.
#[must_use]
pub fn is_available() -> bool {
    raw::load_error().is_none()
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
