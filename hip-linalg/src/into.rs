//! The traits of arguments that are vectors, matrices and scalars, for the compiler's errors.

use crate::matrix::{MatrixMut, MatrixRef};
use crate::scalar::ScalarRef;
use crate::vector::{VectorMut, VectorRef};

/// A vector of `T` that a call reads: `&DeviceBuffer<T>`, or a [`VectorRef<T>`](VectorRef).
///
/// All types that convert to a [`VectorRef`] implement it, and no others can: implement [`From`] for the view.
#[diagnostic::on_unimplemented(
    message = "expected a vector of `{T}` to read from, found `{Self}`: pass `&` of a `DeviceBuffer<{T}>`, or a `VectorRef<{T}>`",
    label = "not a vector of `{T}` in device memory",
    note = "memory of the host is copied to the device first: `DeviceBuffer::from_slice(&device, &values)`",
    note = "a vector inside a matrix is `matrix.column(index)?`, `matrix.row(index)?` or `matrix.diagonal()?` of its view",
    note = "the operands of a call have elements of one type, that of the first operand, unless the call documents otherwise"
)]
pub trait IntoVector<'a, T: 'a>: Into<VectorRef<'a, T>> {}

// Otherwise the compiler would mention only `From`.
#[diagnostic::do_not_recommend]
impl<'a, T: 'a, V: Into<VectorRef<'a, T>>> IntoVector<'a, T> for V {}

/// A vector of `T` that a call writes: `&mut DeviceBuffer<T>`, or a [`VectorMut<T>`](VectorMut).
///
/// All types that convert to a [`VectorMut`] implement it, and no others can: implement [`From`] for the view.
#[diagnostic::on_unimplemented(
    message = "expected a vector of `{T}` to write to, found `{Self}`: pass `&mut` of a `DeviceBuffer<{T}>`, or a `VectorMut<{T}>`",
    label = "not a vector of `{T}` to write to",
    note = "memory of the host cannot be written: allocate with `DeviceBuffer::zeroed(&device, len)`, and copy the result with `to_vec`",
    note = "a vector inside a matrix is `matrix.column(index)?`, `matrix.row(index)?` or `matrix.diagonal()?` of its view",
    note = "the operands of a call have elements of one type, that of the first operand, unless the call documents otherwise"
)]
pub trait IntoVectorMut<'a, T: 'a>: Into<VectorMut<'a, T>> {}

#[diagnostic::do_not_recommend]
impl<'a, T: 'a, V: Into<VectorMut<'a, T>>> IntoVectorMut<'a, T> for V {}

/// A matrix of `T` that a call reads: `&MatrixBuffer<T>`, or a [`MatrixRef<T>`](MatrixRef).
///
/// All types that convert to a [`MatrixRef`] implement it, and no others can: implement [`From`] for the view.
///
/// ```
/// use hip_linalg::{IntoMatrix, MatrixBuffer};
///
/// fn columns<'a>(matrix: impl IntoMatrix<'a, f32>) -> usize {
///     matrix.into().cols()
/// }
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// let matrix = MatrixBuffer::<f32>::zeroed(&hip::Device::get(0)?, 3, 2)?;
/// assert_eq!((columns(&matrix), columns(matrix.t())), (2, 3));
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "expected a matrix of `{T}` to read from, found `{Self}`: pass `&` of a `MatrixBuffer<{T}>`, or a `MatrixRef<{T}>`",
    label = "not a matrix of `{T}` in device memory",
    note = "a `DeviceBuffer` has no rows and columns: pass `MatrixRef::new(&buffer, rows, cols)?`",
    note = "memory of the host is copied to the device first: `MatrixBuffer::from_rows(&device, [[..], ..])` or `MatrixBuffer::from_columns(&device, &values, rows, cols)`",
    note = "the operands of a call have elements of one type, that of the first operand, unless the call documents otherwise"
)]
pub trait IntoMatrix<'a, T: 'a>: Into<MatrixRef<'a, T>> {}

#[diagnostic::do_not_recommend]
impl<'a, T: 'a, M: Into<MatrixRef<'a, T>>> IntoMatrix<'a, T> for M {}

/// A matrix of `T` that a call writes: `&mut MatrixBuffer<T>`, or a [`MatrixMut<T>`](MatrixMut).
///
/// All types that convert to a [`MatrixMut`] implement it, and no others can: implement [`From`] for the view.
#[diagnostic::on_unimplemented(
    message = "expected a matrix of `{T}` to write to, found `{Self}`: pass `&mut` of a `MatrixBuffer<{T}>`, or a `MatrixMut<{T}>`",
    label = "not a matrix of `{T}` to write to",
    note = "a `DeviceBuffer` has no rows and columns: pass `MatrixMut::new(&mut buffer, rows, cols)?`",
    note = "memory of the host cannot be written: allocate with `MatrixBuffer::zeroed(&device, rows, cols)`, and copy the result with `to_vec`",
    note = "the operands of a call have elements of one type, that of the first operand, unless the call documents otherwise"
)]
pub trait IntoMatrixMut<'a, T: 'a>: Into<MatrixMut<'a, T>> {}

#[diagnostic::do_not_recommend]
impl<'a, T: 'a, M: Into<MatrixMut<'a, T>>> IntoMatrixMut<'a, T> for M {}

/// A factor such as α: a `T`, or the first element of device memory: `&DeviceBuffer<T>`, a
/// [`DeviceSlice<T>`](hip::DeviceSlice), or a [`ScalarRef<T>`](ScalarRef).
///
/// All types that convert to a [`ScalarRef`] implement it, and no others can: implement [`From`] for the reference.
#[diagnostic::on_unimplemented(
    message = "expected a factor of type `{T}`, found `{Self}`: pass a `{T}`, or `&` of a `DeviceBuffer<{T}>`",
    label = "not a `{T}`",
    note = "a literal of a floating-point type has a point: `1.0`; a complex number is `Complex32::new(1.0, 0.0)`",
    note = "a factor has the type of the elements, unless the call documents otherwise"
)]
pub trait IntoScalar<'a, T: 'a>: Into<ScalarRef<'a, T>> {}

#[diagnostic::do_not_recommend]
impl<'a, T: 'a, S: Into<ScalarRef<'a, T>>> IntoScalar<'a, T> for S {}
