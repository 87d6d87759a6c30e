//! Vectors and matrices in the memory of AMD GPUs, for the linear algebra crates over [`hip`].
//!
//! A view describes where the elements of a [vector](VectorRef) or a [matrix](MatrixRef) are: in buffers and slices of
//! `hip`, with increments, leading dimensions, as transposes, as [batches](Batch). A view is checked when it is made:
//! no view reaches beyond its memory, and no view to write to overlaps itself. So the calls that take views are safe.
//!
//! ```
//! use hip::{Device, DeviceBuffer};
//! use hip_linalg::{MatrixBuffer, MatrixRef, VectorRef};
//!
//! # fn main() -> hip::Result<()> {
//! # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
//! let device = Device::get(0)?;
//! let a = MatrixBuffer::from_rows(&device, [[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]])?;
//! let transpose = a.t(); // 2 x 3, nothing is moved
//! let lower_rows = a.view().block(1..3, 0..2)?; // [3 4; 5 6]
//! let memory = DeviceBuffer::<f32>::zeroed(&device, 60)?;
//! let ten_matrices = MatrixRef::strided_batch(&memory, (2, 3, 2), 6, 10)?; // 2 x 3, one after the other
//! let diagonal = lower_rows.diagonal()?; // 3, 6
//! assert_eq!((transpose.rows(), VectorRef::from(&memory).len(), diagonal.len()), (2, 60, 2));
//! # let _ = ten_matrices;
//! # Ok(()) }
//! ```
//!
//! | to | use |
//! |---|---|
//! | own a matrix | [`MatrixBuffer`] |
//! | name elements for a call | [`VectorRef`], [`VectorMut`], [`MatrixRef`], [`MatrixMut`] |
//! | use half of a symmetric or triangular matrix | [`Matrix::lower`], [`Matrix::upper`]; [`PackedRef`]; [`BandRef`] |
//! | transpose, or use row-major memory | [`Matrix::t`], [`Matrix::h`], [`MatrixRef::row_major`](Matrix::row_major) |
//! | work on many at a time | `strided_batch` of each view; [`Pointers`] for members at any addresses |
//! | leave a factor in device memory | [`ScalarRef`] |
//! | wrap another library | [`Handle`], [`Operands`], [`Forms`]; [`Shipped`] kernels |
//!
//! # Graphs
//! Calls of a [`Handle`] can be captured, as far as the library supports it. The graph keeps the handle with its
//! scratch memory, the operands and the tables of [`Pointers`] alive, even after the program drops them. Calls with one
//! handle are serialized, also on several streams of a capture. The crate relies only on memory that nothing else can
//! write to: the addresses in [`Pointers`], which are written when these are made, and the row numbers in [`Pivots`]. A
//! host scalar is part of a captured call, and the same at each launch.
//! If a library crate has checked other content, name it with [`Operands::trusted`]; [`Handle::is_in_graph`] returns
//! whether a handle must be replaced instead of changed.
//!
//! # Features
//!
//! | feature | what it does |
//! |---|---|
//! | `ndarray` | `MatrixBuffer::from_array` and `to_array` |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod buffer;
mod forms;
mod handle;
mod into;
mod matrix;
mod operands;
mod pivots;
mod place;
mod scalar;
mod shapes;
mod shipped;
mod vector;

pub use buffer::MatrixBuffer;
pub use forms::Forms;
pub use half;
pub use handle::{Factor, Handle, Library};
pub use into::{IntoMatrix, IntoMatrixMut, IntoScalar, IntoVector, IntoVectorMut};
pub use matrix::{
    BandRef, Matrix, MatrixMut, MatrixRef, Op, Packed, PackedMut, PackedRef, Side, Triangle, TriangleMut, TriangleRef,
    Uplo,
};
pub use num_complex;
pub use operands::{Form, Lowered, Operands, misfit};
pub use pivots::{PivotIndex, Pivots};
pub use place::{Batch, Mut, Place, Pointers, PointersMut, Ref};
pub use scalar::{Scalar, ScalarRef};
pub use shapes::{Misfit, Shape, Shapes};
pub use shipped::Shipped;
pub use vector::{Vector, VectorMut, VectorRef};

/// Implementation details of [`forms!`]; not part of the public interface.
#[doc(hidden)]
pub mod __private {
    pub use rocm_loader::Slot;
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
