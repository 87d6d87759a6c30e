//! The number of elements that operands need: an operand with fewer is rejected before the call.

use core::ffi::{c_int, c_longlong};

use crate::cublas::{CublasError, sys::cublasOperation_t, sys::cublasStatus_t};

const INVALID: CublasError = CublasError(cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE);

/// Converts sizes; returns an error for negative ones.
pub(super) fn sizes<const N: usize>(sizes: [c_int; N]) -> Result<[usize; N], CublasError> {
    let mut converted = [0; N];
    for (to, from) in converted.iter_mut().zip(sizes) {
        *to = usize::try_from(from).map_err(|_| INVALID)?;
    }
    Ok(converted)
}

/// Returns whether the operation swaps rows and columns.
pub(super) fn is_transposed(operation: cublasOperation_t) -> Result<bool, CublasError> {
    match operation {
        cublasOperation_t::CUBLAS_OP_N => Ok(false),
        cublasOperation_t::CUBLAS_OP_T | cublasOperation_t::CUBLAS_OP_C => Ok(true),
        _ => Err(INVALID),
    }
}

/// Returns the number of elements of a column-major matrix.
pub(super) fn matrix(rows: usize, columns: usize, leading: c_int) -> Result<usize, CublasError> {
    let leading = usize::try_from(leading).map_err(|_| INVALID)?;
    if leading < rows.max(1) {
        return Err(INVALID);
    }
    if rows == 0 || columns == 0 {
        return Ok(0);
    }
    leading.checked_mul(columns - 1).and_then(|before| before.checked_add(rows)).ok_or(INVALID)
}

/// Returns the number of elements of a matrix that is `rows` × `columns` after the operation.
pub(super) fn operand(
    operation: cublasOperation_t,
    rows: usize,
    columns: usize,
    leading: c_int,
) -> Result<usize, CublasError> {
    match is_transposed(operation)? {
        false => matrix(rows, columns, leading),
        true => matrix(columns, rows, leading),
    }
}

/// Returns the number of elements of a batch of matrices.
pub(super) fn batch(each: usize, stride: c_longlong, count: usize) -> Result<usize, CublasError> {
    if count == 0 || each == 0 {
        return Ok(0);
    }
    let stride = usize::try_from(stride).map_err(|_| INVALID)?;
    stride.checked_mul(count - 1).and_then(|before| before.checked_add(each)).ok_or(INVALID)
}

/// Returns the number of elements of a vector; an increment of 0 is invalid.
pub(super) fn vector(count: usize, increment: c_int) -> Result<usize, CublasError> {
    let increment = increment.unsigned_abs() as usize;
    if increment == 0 {
        return Err(INVALID);
    }
    if count == 0 {
        return Ok(0);
    }
    increment.checked_mul(count - 1).and_then(|before| before.checked_add(1)).ok_or(INVALID)
}

/// Returns an error for operands that are shorter than needed.
pub(super) fn fit<const N: usize>(operands: [(usize, usize); N]) -> Result<(), CublasError> {
    match operands.iter().all(|(has, needs)| has >= needs) {
        true => Ok(()),
        false => Err(INVALID),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: cublasOperation_t = cublasOperation_t::CUBLAS_OP_N;
    const T: cublasOperation_t = cublasOperation_t::CUBLAS_OP_T;

    #[test]
    fn a_matrix_ends_with_its_last_column() {
        assert_eq!(matrix(3, 2, 5), Ok(8));
        assert_eq!(operand(T, 3, 2, 5), Ok(12));
        assert_eq!(matrix(0, 7, 1), Ok(0));
        assert_eq!(matrix(3, 2, 2), Err(INVALID));
        assert_eq!(matrix(usize::MAX / 2, 9, c_int::MAX), Err(INVALID));
        assert_eq!(operand(cublasOperation_t(7), 3, 2, 5), Err(INVALID));
        assert_eq!(operand(N, 3, 2, -1), Err(INVALID));
    }

    #[test]
    fn a_batch_ends_with_its_last_matrix() {
        assert_eq!(batch(8, 10, 3), Ok(28));
        assert_eq!(batch(8, 0, 3), Ok(8)); // one matrix for all
        assert_eq!(batch(8, -1, 3), Err(INVALID));
        assert_eq!(batch(8, -1, 0), Ok(0));
        assert_eq!(batch(8, c_longlong::MAX, 9), Err(INVALID));
    }

    #[test]
    fn a_vector_has_gaps() {
        assert_eq!(vector(4, 3), Ok(10));
        assert_eq!(vector(4, -3), Ok(10));
        assert_eq!(vector(4, 0), Err(INVALID));
        assert_eq!(vector(0, 3), Ok(0));
    }
}
