//! Copies from and to `ndarray`'s arrays, and pinned memory seen as one (feature `ndarray`).

use bytemuck::Pod;
use ndarray::{Array, ArrayRef, ArrayView, ArrayViewMut, Dimension, ShapeError};

use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::memory::{DeviceBuffer, DeviceSlice, DeviceSliceMut, PinnedBuffer, same_len};

/// `len` elements that are to be seen under `shape`, of which ndarray says that it does not fit.
fn no_shape<D: Dimension>(shape: &D, len: usize) -> impl Fn(ShapeError) -> Error + use<D> {
    let shape = format!("{:?}", shape.slice());
    move |error| Error::InvalidValue {
        what: "the shape of an array",
        value: format!("{shape} ({error})"),
        allowed: format!("one of {len} elements"),
    }
}

impl<T: Pod> DeviceBuffer<T> {
    /// A buffer with the elements of an array in its logical order, the last axis fastest. An array that lies in another order, or has
    /// gaps, is packed on the host first.
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
    /// The elements, on the host, as an array of this shape: [`copy_to_slice`](Self::copy_to_slice).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the shape has another number of elements. An error of the queued work comes back here.
    pub fn to_array<D: Dimension>(&self, shape: D) -> Result<Array<T, D>> {
        // Before the copy, which may be long.
        expect_shape(&shape, self.len())?;
        let failed = no_shape(&shape, self.len());
        Array::from_shape_vec(shape, self.to_vec()?).map_err(failed)
    }

    /// Copies the elements to an array, in its logical order: [`copy_to_slice`](Self::copy_to_slice). What lies in another order or has gaps
    /// gets them by way of a vector.
    ///
    /// # Errors
    /// [`Error::Length`] if it has another number of elements. An error of the queued work comes back here.
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
    /// Copies the elements of an array, in its logical order: [`copy_from_slice`](Self::copy_from_slice). What lies in another order or has gaps
    /// is packed first.
    ///
    /// # Errors
    /// [`Error::Length`] if it has another number of elements. An error of the queued work comes back here.
    pub fn copy_from_array<D: Dimension>(&mut self, array: &ArrayRef<T, D>) -> Result<()> {
        same_len("copy from an array to the device", self.len(), array.len())?;
        match array.as_slice() {
            Some(elements) => self.copy_from_slice(elements),
            None => self.copy_from_slice(&array.iter().copied().collect::<Vec<T>>()),
        }
    }
}

impl<T: Pod> PinnedBuffer<T> {
    /// The elements as an array, in place, after all queued work that writes to them: [`as_slice`](Self::as_slice).
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
    /// [`Error::InvalidValue`] if the shape has another number of elements. An error of the queued work comes back here.
    pub fn as_array<D: Dimension>(&self, shape: D) -> Result<ArrayView<'_, T, D>> {
        expect_shape(&shape, self.len())?;
        let failed = no_shape(&shape, self.len());
        ArrayView::from_shape(shape, self.as_slice()?).map_err(failed)
    }

    /// As [`as_array`](Self::as_array), to write to, after all queued work that uses them: [`as_mut_slice`](Self::as_mut_slice).
    ///
    /// # Errors
    /// Those of [`as_array`](Self::as_array).
    pub fn as_array_mut<D: Dimension>(&mut self, shape: D) -> Result<ArrayViewMut<'_, T, D>> {
        expect_shape(&shape, self.len())?;
        let failed = no_shape(&shape, self.len());
        ArrayViewMut::from_shape(shape, self.as_mut_slice()?).map_err(failed)
    }
}

/// `Ok` for a shape of so many elements: ndarray takes fewer too.
fn expect_shape<D: Dimension>(shape: &D, len: usize) -> Result<()> {
    if shape.size_checked() == Some(len) {
        return Ok(());
    }
    Err(no_shape(shape, len)(ShapeError::from_kind(ndarray::ErrorKind::IncompatibleShape)))
}
