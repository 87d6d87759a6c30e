//! Matrices that own their memory.

use hip::module::{Arguments, KernelArg};
use hip::{Device, DeviceBuffer, DeviceSlice, DeviceSliceMut, Pod, Result};

use crate::matrix::{Matrix, MatrixMut, MatrixRef};
use crate::place::{Mut, Ref, invalid};
use crate::vector::{VectorMut, VectorRef};

/// A matrix that owns its device memory: column after column, without gaps.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::Device;
/// use hip_linalg::MatrixBuffer;
///
/// let a = MatrixBuffer::from_rows(&Device::get(0)?, [[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
/// assert_eq!((a.rows(), a.cols()), (2, 3));
/// assert_eq!(a.buffer().to_vec()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct MatrixBuffer<T> {
    memory: DeviceBuffer<T>,
    rows: usize,
    cols: usize,
}

impl<T: Pod> MatrixBuffer<T> {
    /// Makes a matrix of a buffer's elements, column after column.
    ///
    /// # Errors
    /// [`Error::InvalidValue`](hip::Error::InvalidValue) if the buffer does not have `rows * cols` elements.
    pub fn from_buffer(memory: DeviceBuffer<T>, rows: usize, cols: usize) -> Result<Self> {
        if rows.checked_mul(cols) != Some(memory.len()) {
            let found = format!("{} elements", memory.len());
            return Err(invalid("the memory of a matrix", found, format!("{rows} x {cols} elements")));
        }
        Ok(Self { memory, rows, cols })
    }

    /// Allocates a matrix of zeros.
    ///
    /// # Errors
    /// The errors of [`DeviceBuffer::zeroed`].
    pub fn zeroed(device: &Device, rows: usize, cols: usize) -> Result<Self> {
        Ok(Self { memory: DeviceBuffer::zeroed(device, rows.saturating_mul(cols))?, rows, cols })
    }

    /// Copies these rows to a new matrix.
    ///
    /// # Errors
    /// The errors of [`DeviceBuffer::from_slice`].
    pub fn from_rows<const C: usize>(device: &Device, rows: impl AsRef<[[T; C]]>) -> Result<Self> {
        let rows = rows.as_ref();
        let elements: Vec<T> = (0..C).flat_map(|col| rows.iter().map(move |row| row[col])).collect();
        Ok(Self { memory: DeviceBuffer::from_slice(device, &elements)?, rows: rows.len(), cols: C })
    }

    /// Copies these elements to a new matrix, column after column.
    ///
    /// # Errors
    /// As [`from_buffer`](Self::from_buffer), and those of [`DeviceBuffer::from_slice`].
    pub fn from_columns(device: &Device, elements: &[T], rows: usize, cols: usize) -> Result<Self> {
        Self::from_buffer(DeviceBuffer::from_slice(device, elements)?, rows, cols)
    }

    /// Copies the elements to the host, column after column.
    ///
    /// # Errors
    /// The errors of [`DeviceBuffer::to_vec`].
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.memory.to_vec()
    }
}

impl<T> MatrixBuffer<T> {
    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Returns the memory.
    #[must_use]
    pub fn buffer(&self) -> &DeviceBuffer<T> {
        &self.memory
    }

    /// Returns the memory, to write to.
    #[must_use]
    pub fn buffer_mut(&mut self) -> &mut DeviceBuffer<T> {
        &mut self.memory
    }

    /// Returns the memory without the shape.
    #[must_use]
    pub fn into_buffer(self) -> DeviceBuffer<T> {
        self.memory
    }
}

impl<T: Pod> MatrixBuffer<T> {
    /// Returns all elements, column after column, as a slice to read from.
    #[must_use]
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        self.memory.as_slice()
    }

    /// Returns all elements, column after column, as a slice to write to.
    #[must_use]
    pub fn as_slice_mut(&mut self) -> DeviceSliceMut<'_, T> {
        self.memory.as_slice_mut()
    }

    /// Returns a view to read from.
    #[must_use]
    pub fn view(&self) -> MatrixRef<'_, T> {
        Matrix::dense(Ref::one(self.memory.as_slice()), self.rows, self.cols)
    }

    /// Returns a view to write to.
    #[must_use]
    pub fn view_mut(&mut self) -> MatrixMut<'_, T> {
        Matrix::dense(Mut::one(self.memory.as_slice_mut()), self.rows, self.cols)
    }

    /// Returns a view of the transpose, to read from.
    #[must_use]
    pub fn t(&self) -> MatrixRef<'_, T> {
        self.view().t()
    }

    /// Returns a view of the conjugate transpose, to read from.
    #[must_use]
    pub fn h(&self) -> MatrixRef<'_, T> {
        self.view().h()
    }
}

/// All elements, column after column.
impl<'a, T: Pod> From<&'a MatrixBuffer<T>> for DeviceSlice<'a, T> {
    fn from(matrix: &'a MatrixBuffer<T>) -> Self {
        matrix.as_slice()
    }
}

/// All elements, column after column.
impl<'a, T: Pod> From<&'a mut MatrixBuffer<T>> for DeviceSliceMut<'a, T> {
    fn from(matrix: &'a mut MatrixBuffer<T>) -> Self {
        matrix.as_slice_mut()
    }
}

/// A `const T*` to the elements, column after column. Pass the number of rows as the leading dimension.
impl<T: Pod> KernelArg for &MatrixBuffer<T> {
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        arguments.read(&self.memory)
    }
}

/// A `T*` to the elements, column after column. Pass the number of rows as the leading dimension.
impl<T: Pod> KernelArg for &mut MatrixBuffer<T> {
    fn bind<'a>(&'a self, arguments: &mut Arguments<'a>) -> Result<()> {
        // SAFETY: the argument is the mutable borrow of the matrix.
        unsafe { arguments.write(&self.memory) }
    }
}

impl<'a, T: Pod> From<&'a MatrixBuffer<T>> for MatrixRef<'a, T> {
    fn from(matrix: &'a MatrixBuffer<T>) -> Self {
        matrix.view()
    }
}

impl<'a, T: Pod> From<&'a mut MatrixBuffer<T>> for MatrixMut<'a, T> {
    fn from(matrix: &'a mut MatrixBuffer<T>) -> Self {
        matrix.view_mut()
    }
}

impl<'a, T: Pod> From<&'a DeviceBuffer<T>> for VectorRef<'a, T> {
    fn from(buffer: &'a DeviceBuffer<T>) -> Self {
        buffer.as_slice().into()
    }
}

impl<'a, T: Pod> From<&'a mut DeviceBuffer<T>> for VectorMut<'a, T> {
    fn from(buffer: &'a mut DeviceBuffer<T>) -> Self {
        buffer.as_slice_mut().into()
    }
}

#[cfg(feature = "ndarray")]
impl<T: Pod> MatrixBuffer<T> {
    /// Copies an array to a new matrix, in any memory order of the array.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip_linalg::MatrixBuffer;
    /// use ndarray::array;
    ///
    /// let host = array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
    /// let matrix = MatrixBuffer::from_array(&hip::Device::get(0)?, &host)?;
    /// assert_eq!(matrix.to_array()?, host);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The errors of [`DeviceBuffer::from_array`].
    pub fn from_array(device: &Device, array: &ndarray::ArrayRef2<T>) -> Result<Self> {
        let (rows, cols) = array.dim();
        Ok(Self { memory: DeviceBuffer::from_array(device, &array.t())?, rows, cols })
    }

    /// Copies the elements to an array on the host.
    ///
    /// # Errors
    /// The errors of [`DeviceBuffer::to_vec`].
    pub fn to_array(&self) -> Result<ndarray::Array2<T>> {
        let columns = self.memory.as_slice().to_array(ndarray::Ix2(self.cols, self.rows))?;
        Ok(columns.reversed_axes())
    }
}

#[cfg(test)]
mod tests {
    use hip::{Device, LaunchConfig, Module, Stream};

    use super::*;

    hip::kernel! {
        struct VectorAdd: fn vector_add(a: *const f32, b: *const f32, c: *mut f32, n: u32);
    }

    #[test]
    fn a_matrix_is_an_argument_of_kernels_and_a_slice() {
        let Some(device) = hip::sim_if_no_gpu().ok().and_then(|_| Device::get(0).ok()) else { return };
        let arch = device.properties().unwrap().arch.clone();
        let path = format!("{}/../hip/tests/kernels/kernels.{}.co", env!("CARGO_MANIFEST_DIR"), arch.name());
        let Ok(code) = std::fs::read(path) else { return eprintln!("SKIPPED: no code for {arch}") };
        let module = Module::load(&device, &code).unwrap();
        let (add, kernel) = (VectorAdd::load(&module).unwrap(), module.kernel("vector_add").unwrap());
        let stream = Stream::new(&device).unwrap();
        let a = MatrixBuffer::from_rows(&device, [[1.0_f32, 2.0], [3.0, 4.0]]).unwrap();
        let (mut c, mut d) =
            (MatrixBuffer::zeroed(&device, 2, 2).unwrap(), MatrixBuffer::<f32>::zeroed(&device, 2, 2).unwrap());
        let config = LaunchConfig::for_elements(4, 64);
        // SAFETY: the kernel reads two inputs and writes one output of 4 elements.
        unsafe {
            kernel.launch(&stream, config, (&a, &a.as_slice(), &mut c, 4_u32)).unwrap();
            add.launch(&stream, config, &a, &c, d.as_slice_mut(), 4).unwrap();
        }
        assert_eq!(c.to_vec().unwrap(), [2.0, 6.0, 4.0, 8.0]);
        assert_eq!(d.as_slice().to_vec().unwrap(), [3.0, 9.0, 6.0, 12.0]);
    }
}
