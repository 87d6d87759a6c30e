//! The traits of arguments that are sparse matrices and vectors, for the compiler's errors.

use crate::matrix::{SpMatMut, SpMatRef};
use crate::vector::{SpVecMut, SpVecRef};

/// A sparse matrix that a call reads: `&SpMat<F, T, I>`, or a [`SpMatRef<F, T, I>`](SpMatRef). `F` is its
/// [format](crate::format), `T` the type of its values, and `I` that of its indices.
///
/// All types that convert to a [`SpMatRef`] implement it, and no others can: implement [`From`] for the view.
#[diagnostic::on_unimplemented(
    message = "expected a sparse matrix in the format `{F}` of `{T}` with indices of `{I}`, found `{Self}`: pass `&` of a `SpMat`, or a `SpMatRef`, of these types",
    label = "not a sparse matrix in the format `{F}` of `{T}`",
    note = "another format is converted first, by `Sparse::csr_to_csc`, `coo_to_csr`, `bsr_to_csr` and other calls",
    note = "the operands of a call have elements of one type, that of the first operand, unless the call documents otherwise"
)]
pub trait IntoSpMat<'a, F: 'a, T: 'a, I: 'a = i32>: Into<SpMatRef<'a, F, T, I>> {}

// Otherwise the compiler would mention only `From`.
#[diagnostic::do_not_recommend]
impl<'a, F: 'a, T: 'a, I: 'a, M: Into<SpMatRef<'a, F, T, I>>> IntoSpMat<'a, F, T, I> for M {}

/// A sparse matrix whose values a call writes: `&mut SpMat<F, T, I>`, or a [`SpMatMut<F, T, I>`](SpMatMut). `F` is its
/// [format](crate::format), `T` the type of its values, and `I` that of its indices.
///
/// All types that convert to a [`SpMatMut`] implement it, and no others can: implement [`From`] for the view.
#[diagnostic::on_unimplemented(
    message = "expected a sparse matrix in the format `{F}` of `{T}` to write to, with indices of `{I}`, found `{Self}`: pass `&mut` of a `SpMat`, or a `SpMatMut`, of these types",
    label = "not a sparse matrix in the format `{F}` of `{T}` to write to",
    note = "the operands of a call have elements of one type, that of the first operand, unless the call documents otherwise"
)]
pub trait IntoSpMatMut<'a, F: 'a, T: 'a, I: 'a = i32>: Into<SpMatMut<'a, F, T, I>> {}

#[diagnostic::do_not_recommend]
impl<'a, F: 'a, T: 'a, I: 'a, M: Into<SpMatMut<'a, F, T, I>>> IntoSpMatMut<'a, F, T, I> for M {}

/// A sparse vector that a call reads: `&SpVec<T, I>`, or a [`SpVecRef<T, I>`](SpVecRef).
///
/// All types that convert to a [`SpVecRef`] implement it, and no others can: implement [`From`] for the view.
#[diagnostic::on_unimplemented(
    message = "expected a sparse vector of `{T}` with indices of `{I}`, found `{Self}`: pass `&` of a `SpVec`, or a `SpVecRef`, of these types",
    label = "not a sparse vector of `{T}`",
    note = "the operands of a call have elements of one type, that of the first operand, unless the call documents otherwise"
)]
pub trait IntoSpVec<'a, T: 'a, I: 'a = i32>: Into<SpVecRef<'a, T, I>> {}

#[diagnostic::do_not_recommend]
impl<'a, T: 'a, I: 'a, V: Into<SpVecRef<'a, T, I>>> IntoSpVec<'a, T, I> for V {}

/// A sparse vector whose values a call writes: `&mut SpVec<T, I>`, or a [`SpVecMut<T, I>`](SpVecMut).
///
/// All types that convert to a [`SpVecMut`] implement it, and no others can: implement [`From`] for the view.
#[diagnostic::on_unimplemented(
    message = "expected a sparse vector of `{T}` to write to, with indices of `{I}`, found `{Self}`: pass `&mut` of a `SpVec`, or a `SpVecMut`, of these types",
    label = "not a sparse vector of `{T}` to write to",
    note = "the operands of a call have elements of one type, that of the first operand, unless the call documents otherwise"
)]
pub trait IntoSpVecMut<'a, T: 'a, I: 'a = i32>: Into<SpVecMut<'a, T, I>> {}

#[diagnostic::do_not_recommend]
impl<'a, T: 'a, I: 'a, V: Into<SpVecMut<'a, T, I>>> IntoSpVecMut<'a, T, I> for V {}
