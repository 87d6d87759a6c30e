//! Conversions between matrices and vectors of this crate and of the `sprs` crate.

use ::sprs::errors::StructureError;
use ::sprs::{CsMatI, CsMatViewI, CsVecI, CsVecViewI, SpIndex, TriMatI, TriMatViewI};
use hip::Device;

use crate::checks::invalid;
use crate::format::{self, Format};
use crate::matrix::{Coo, Csc, Csr, SpMat};
use crate::{Base, Error, Index, Result, SpVec, Value};

/// Converts indices from zero to this crate's indices.
fn here<J: SpIndex, I: Index>(what: &'static str, indices: &[J]) -> Result<Vec<I>> {
    let narrow = |index: &J| {
        let index = index.index();
        let wide = i64::try_from(index).ok().filter(|&wide| wide <= I::LARGEST);
        wide.map(I::narrow).ok_or_else(|| invalid(what, index.to_string(), format!("at most {}", I::LARGEST)))
    };
    indices.iter().map(narrow).collect()
}

/// Converts indices to `sprs` indices from zero.
fn there<J: SpIndex, I: Index>(what: &'static str, indices: &[I], base: Base) -> Result<Vec<J>> {
    let widen = |index: &I| {
        let index = index.wide() - base.first();
        let narrow = usize::try_from(index).ok().and_then(J::try_from_usize);
        narrow.ok_or_else(|| invalid(what, index.to_string(), "an index of the type that is asked for"))
    };
    indices.iter().map(widen).collect()
}

fn refused(error: &StructureError) -> Error {
    invalid(
        "a matrix or vector for sprs",
        error.to_string(),
        "sorted, with each entry once, and of a size that `J` counts",
    )
}

/// Returns the arrays of a compressed matrix with the requested direction.
fn compressed<F: Format + Default, T: Value, I: Index, J: SpIndex, P: SpIndex>(
    device: &Device,
    matrix: &CsMatViewI<'_, T, J, P>,
    columns: bool,
) -> Result<SpMat<F, T, I>> {
    if matrix.is_csc() != columns {
        let (found, allowed) = if columns { ("rows", "columns: `to_csc`") } else { ("columns", "rows: `to_csr`") };
        return Err(invalid("a matrix of sprs", format!("of compressed {found}"), format!("of compressed {allowed}")));
    }
    let first = here::<P, I>("an offset", &matrix.proper_indptr())?;
    let second = here::<J, I>("an index", matrix.indices())?;
    SpMat::from_host(device, matrix.shape(), Base::Zero, &first, &second, matrix.data())
}

/// Copies the arrays of a compressed matrix to the host, with indices from zero.
#[allow(clippy::type_complexity, reason = "three arrays")]
fn arrays<F: Format, T: Value, I: Index, J: SpIndex>(a: &SpMat<F, T, I>) -> Result<(Vec<J>, Vec<J>, Vec<T>)> {
    let (first, second, values) = a.to_vecs()?;
    let base = a.base();
    Ok((there("an offset", &first, base)?, there("an index", &second, base)?, values))
}

impl<T: Value, I: Index> Csr<T, I> {
    /// Copies a matrix of compressed rows from `sprs` to the device. Pass `matrix.view()`.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for a matrix of compressed columns, and for indices that do
    /// not fit the type `I`; errors of the copies.
    pub fn from_sprs<J: SpIndex, P: SpIndex>(device: &Device, matrix: CsMatViewI<'_, T, J, P>) -> Result<Self> {
        compressed(device, &matrix, false)
    }

    /// Copies the matrix to an `sprs` matrix on the host.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for unsorted or duplicate entries, and for indices that do not
    /// fit the type `J`; errors of the copies.
    pub fn to_sprs<J: SpIndex>(&self) -> Result<CsMatI<T, J>> {
        let (first, second, values) = arrays(self)?;
        CsMatI::try_new((self.rows(), self.cols()), first, second, values).map_err(|error| refused(&error.3))
    }
}

impl<T: Value, I: Index> Csc<T, I> {
    /// Copies a matrix of compressed columns from `sprs` to the device. Pass `matrix.view()`.
    ///
    /// # Errors
    /// As [`Csr::from_sprs`], for a matrix of compressed rows.
    pub fn from_sprs<J: SpIndex, P: SpIndex>(device: &Device, matrix: CsMatViewI<'_, T, J, P>) -> Result<Self> {
        compressed(device, &matrix, true)
    }

    /// Copies the matrix to an `sprs` matrix on the host.
    ///
    /// # Errors
    /// As [`Csr::to_sprs`].
    pub fn to_sprs<J: SpIndex>(&self) -> Result<CsMatI<T, J>> {
        let (first, second, values) = arrays(self)?;
        CsMatI::try_new_csc((self.rows(), self.cols()), first, second, values).map_err(|error| refused(&error.3))
    }
}

impl<T: Value, I: Index> Coo<T, I> {
    /// Copies triplets of `sprs` to the device in their order. Pass `matrix.view()`.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for indices that do not fit the type `I`; errors of the
    /// copies.
    pub fn from_sprs<J: SpIndex>(device: &Device, matrix: TriMatViewI<'_, T, J>) -> Result<Self> {
        let rows = here::<J, I>("a row", matrix.row_inds())?;
        let cols = here::<J, I>("a column", matrix.col_inds())?;
        let size = (matrix.rows(), matrix.cols());
        Self::from_host_with_format(device, format::Coo, size, Base::Zero, &rows, &cols, matrix.data())
    }

    /// Copies the entries to `sprs` triplets on the host, in their order.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for indices that do not fit the type `J`; errors of the
    /// copies.
    pub fn to_sprs<J: SpIndex>(&self) -> Result<TriMatI<T, J>> {
        let (rows, cols, values) = arrays(self)?;
        Ok(TriMatI::from_triplets((self.rows(), self.cols()), rows, cols, values))
    }
}

impl<T: Value, I: Index> SpVec<T, I> {
    /// Copies a vector of `sprs` to the device. Pass `vector.view()`.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for indices that do not fit the type `I`; errors of the
    /// copies.
    pub fn from_sprs<J: SpIndex>(device: &Device, vector: CsVecViewI<'_, T, J>) -> Result<Self> {
        let indices = here::<J, I>("an index", vector.indices())?;
        Self::from_host(device, vector.dim(), Base::Zero, &indices, vector.data())
    }

    /// Copies the vector to an `sprs` vector on the host.
    ///
    /// # Errors
    /// As [`Csr::to_sprs`].
    pub fn to_sprs<J: SpIndex>(&self) -> Result<CsVecI<T, J>> {
        let (indices, values) = self.to_vecs()?;
        let indices = there("an index", &indices, self.base())?;
        CsVecI::try_new(self.len(), indices, values).map_err(|error| refused(&error.2))
    }
}
