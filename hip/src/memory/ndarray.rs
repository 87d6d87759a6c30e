//! Copies from and to `ndarray`'s arrays, and pinned memory viewed as an array (feature `ndarray`).

use bytemuck::Pod;
use ndarray::{Array, ArrayRef, ArrayView, ArrayViewMut, Dimension, ShapeError};

use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::memory::{DeviceBuffer, DeviceSlice, DeviceSliceMut, PinnedBuffer, same_len};

/// Returns the error for a `shape` that ndarray rejects for `len` elements.
fn no_shape<D: Dimension>(shape: &D, len: usize) -> impl Fn(ShapeError) -> Error + use<D> {
    let shape = format!("{:?}", shape.slice());
    move |error| Error::InvalidValue {
        what: "the shape of an array",
        value: format!("{shape} ({error})"),
        allowed: format!("one of {len} elements"),
    }
}

impl<T: Pod> DeviceBuffer<T> {
    /// Creates a buffer with the elements of an array in its logical order, the last axis fastest. An array in another
    /// order, or with gaps, is packed on the host first.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, DeviceBuffer};
    /// use ndarray::{Ix2, array};
    ///
    /// let device = Device::get(0)?;
    /// let matrix = array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
    /// let transposed = DeviceBuffer::from_array(&device, &matrix.t())?;
    /// assert_eq!(transposed.to_vec()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    /// assert_eq!(transposed.as_slice().to_array(Ix2(3, 2))?, matrix.t());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`uninit`](Self::uninit).
    pub fn from_array<D: Dimension>(device: &Device, array: &ArrayRef<T, D>) -> Result<Self> {
        let mut buffer = Self::uninit(device, array.len())?;
        buffer.as_slice_mut().copy_from_array(array)?;
        Ok(buffer)
    }
}

impl<T: Pod> DeviceSlice<'_, T> {
    /// Returns a copy of the elements on the host, as an array of this shape: [`copy_to_slice`](Self::copy_to_slice).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the shape has another number of elements. Errors of the queued work.
    pub fn to_array<D: Dimension>(&self, shape: D) -> Result<Array<T, D>> {
        // Checked before the copy, which may take long.
        expect_shape(&shape, self.len())?;
        let failed = no_shape(&shape, self.len());
        Array::from_shape_vec(shape, self.to_vec()?).map_err(failed)
    }

    /// Copies the elements to an array, in its logical order: [`copy_to_slice`](Self::copy_to_slice). An array in
    /// another order, or with gaps, is filled from a temporary vector.
    ///
    /// # Errors
    /// [`Error::Length`] if it has another number of elements. Errors of the queued work.
    pub fn copy_to_array<D: Dimension>(&self, array: &mut ArrayRef<T, D>) -> Result<()> {
        same_len("copy from the device to an array", array.len(), self.len())?;
        if let Some(elements) = array.as_slice_mut() {
            return self.copy_to_slice(elements);
        }
        let elements = self.to_vec()?;
        array.iter_mut().zip(elements).for_each(|(place, element)| *place = element);
        Ok(())
    }
}

impl<T: Pod> DeviceSliceMut<'_, T> {
    /// Copies the elements of an array, in its logical order: [`copy_from_slice`](Self::copy_from_slice). An array in
    /// another order, or with gaps, is packed first.
    ///
    /// # Errors
    /// [`Error::Length`] if it has another number of elements. Errors of the queued work.
    pub fn copy_from_array<D: Dimension>(&mut self, array: &ArrayRef<T, D>) -> Result<()> {
        same_len("copy from an array to the device", self.len(), array.len())?;
        match array.as_slice() {
            Some(elements) => self.copy_from_slice(elements),
            None => self.copy_from_slice(&array.iter().copied().collect::<Vec<T>>()),
        }
    }
}

impl<T: Pod> PinnedBuffer<T> {
    /// Returns a view of the elements as an array, after all queued work that writes to them is done:
    /// [`as_slice`](Self::as_slice).
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, PinnedBuffer};
    /// use ndarray::Ix2;
    ///
    /// let mut pinned = PinnedBuffer::<i32>::zeroed(&Device::get(0)?, 6)?;
    /// pinned.as_array_mut(Ix2(2, 3))?[[1, 0]] = 7;
    /// assert_eq!(pinned.as_slice()?, [0, 0, 0, 7, 0, 0]);
    /// assert_eq!(pinned.as_array(Ix2(3, 2))?.row(1).to_vec(), [0, 7]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the shape has another number of elements. Errors of the queued work.
    pub fn as_array<D: Dimension>(&self, shape: D) -> Result<ArrayView<'_, T, D>> {
        expect_shape(&shape, self.len())?;
        let failed = no_shape(&shape, self.len());
        ArrayView::from_shape(shape, self.as_slice()?).map_err(failed)
    }

    /// Like [`as_array`](Self::as_array), but mutable, after all queued work that uses them is done:
    /// [`as_mut_slice`](Self::as_mut_slice).
    ///
    /// # Errors
    /// Those of [`as_array`](Self::as_array).
    pub fn as_array_mut<D: Dimension>(&mut self, shape: D) -> Result<ArrayViewMut<'_, T, D>> {
        expect_shape(&shape, self.len())?;
        let failed = no_shape(&shape, self.len());
        ArrayViewMut::from_shape(shape, self.as_mut_slice()?).map_err(failed)
    }
}

/// Returns `Ok` if a shape has exactly `len` elements: ndarray would accept fewer too.
fn expect_shape<D: Dimension>(shape: &D, len: usize) -> Result<()> {
    if shape.size_checked() == Some(len) {
        return Ok(());
    }
    Err(no_shape(shape, len)(ShapeError::from_kind(ndarray::ErrorKind::IncompatibleShape)))
}
