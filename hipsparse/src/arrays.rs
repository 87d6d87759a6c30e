//! Conversions between sparse matrices and dense `ndarray` arrays.

use std::ops::AddAssign;

use hip::Device;
use ndarray::{Array2, ArrayRef2, ArrayView2};

use crate::checks::invalid;
use crate::format::Format;
use crate::matrix::{Coo, Csc, Csr, SpMat};
use crate::{Base, Index, Result, Value};

/// Returns the nonzero elements, row after row: their rows, columns and values.
fn nonzeros<T: Value, I: Index>(array: ArrayView2<'_, T>) -> Result<(Vec<usize>, Vec<I>, Vec<T>)> {
    if i64::try_from(array.len()).map_or(true, |len| len >= I::LARGEST) {
        let allowed = format!("less than {}, which the indices can count", I::LARGEST);
        return Err(invalid("elements of an array", array.len().to_string(), allowed));
    }
    let (mut rows, mut cols, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for ((row, col), &value) in array.indexed_iter().filter(|(_, value)| **value != T::ZERO) {
        rows.push(row);
        cols.push(I::narrow(col as i64));
        values.push(value);
    }
    Ok((rows, cols, values))
}

/// Makes the matrix of compressed rows of an array; for compressed columns, of its transpose.
fn compress<F: Format + Default, T: Value, I: Index>(
    device: &Device,
    size: (usize, usize),
    array: ArrayView2<'_, T>,
) -> Result<SpMat<F, T, I>> {
    let lines = array.nrows();
    let (rows, second, values) = nonzeros::<T, I>(array)?;
    let mut first = vec![0_usize; lines + 1];
    rows.into_iter().for_each(|row| first[row + 1] += 1);
    let sum = |sum: &mut usize, count: usize| {
        *sum += count;
        Some(I::narrow(*sum as i64))
    };
    let first: Vec<I> = first.into_iter().scan(0, sum).collect();
    SpMat::from_host(device, size, Base::Zero, &first, &second, &values)
}

/// Converts the checked indices of a matrix to indices from zero.
fn zero_based<I: Index>(indices: &[I], base: Base) -> Vec<usize> {
    indices.iter().map(|index| usize::try_from(index.wide() - base.first()).unwrap_or(0)).collect()
}

/// Returns the line of each entry.
fn lines(offsets: &[usize]) -> Vec<usize> {
    offsets.windows(2).enumerate().flat_map(|(line, ends)| std::iter::repeat_n(line, ends[1] - ends[0])).collect()
}

/// Makes an array with these entries; entries at the same position are added.
fn fill<T: Value + AddAssign>(size: (usize, usize), rows: &[usize], cols: &[usize], values: &[T]) -> Array2<T> {
    let mut array = Array2::from_elem(size, T::ZERO);
    for ((&row, &col), &value) in rows.iter().zip(cols).zip(values) {
        array[(row, col)] += value;
    }
    array
}

impl<T: Value, I: Index> Csr<T, I> {
    /// Copies the nonzero elements of an array to the device. They are found on the host.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hipsparse::Csr;
    /// use ndarray::array;
    ///
    /// let dense = array![[1.0_f32, 0.0, 2.0], [0.0, 0.0, 3.0]];
    /// let a: Csr<f32> = Csr::from_array(&hip::Device::get(0)?, &dense)?;
    /// assert_eq!(a.entries(), 3);
    /// assert_eq!(a.to_array()?, dense);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for an array with more elements than `I` can count; errors of
    /// the copies.
    pub fn from_array(device: &Device, array: &ArrayRef2<T>) -> Result<Self> {
        compress(device, array.dim(), array.view())
    }

    /// Copies all elements to an array on the host. Duplicate entries are added.
    ///
    /// # Errors
    /// An error from the copies.
    pub fn to_array(&self) -> Result<Array2<T>>
    where
        T: AddAssign,
    {
        let (first, second, values) = self.to_vecs()?;
        let (first, second) = (zero_based(&first, self.base()), zero_based(&second, self.base()));
        Ok(fill((self.rows(), self.cols()), &lines(&first), &second, &values))
    }
}

impl<T: Value, I: Index> Csc<T, I> {
    /// Copies the nonzero elements of an array to the device. They are found on the host.
    ///
    /// # Errors
    /// As [`Csr::from_array`].
    pub fn from_array(device: &Device, array: &ArrayRef2<T>) -> Result<Self> {
        compress(device, array.dim(), array.view().reversed_axes())
    }

    /// Copies all elements to an array on the host. Duplicate entries are added.
    ///
    /// # Errors
    /// An error from the copies.
    pub fn to_array(&self) -> Result<Array2<T>>
    where
        T: AddAssign,
    {
        let (first, second, values) = self.to_vecs()?;
        let (first, second) = (zero_based(&first, self.base()), zero_based(&second, self.base()));
        Ok(fill((self.rows(), self.cols()), &second, &lines(&first), &values))
    }
}

impl<T: Value, I: Index> Coo<T, I> {
    /// Copies the nonzero elements of an array to the device, row after row. They are found on the host.
    ///
    /// # Errors
    /// As [`Csr::from_array`].
    pub fn from_array(device: &Device, array: &ArrayRef2<T>) -> Result<Self> {
        let (rows, cols, values) = nonzeros::<T, I>(array.view())?;
        let rows: Vec<I> = rows.into_iter().map(|row| I::narrow(row as i64)).collect();
        Self::from_host(device, array.dim(), Base::Zero, &rows, &cols, &values)
    }

    /// Copies all elements to an array on the host. Duplicate entries are added.
    ///
    /// # Errors
    /// An error from the copies.
    pub fn to_array(&self) -> Result<Array2<T>>
    where
        T: AddAssign,
    {
        let (rows, cols, values) = self.to_vecs()?;
        let (rows, cols) = (zero_based(&rows, self.base()), zero_based(&cols, self.base()));
        Ok(fill((self.rows(), self.cols()), &rows, &cols, &values))
    }
}
