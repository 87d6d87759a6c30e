//! hipSPARSE descriptors, for calls of the raw functions with matrices and vectors of this crate.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # if hip::sim_if_no_gpu().is_err() || hip::backend()? == hip::Backend::Sim
//! #     || !hipsparse::is_available() { return Ok(()) }
//! use hipsparse::{Base, Csr, descr::SpMatDescr};
//!
//! let device = hip::Device::get(0)?;
//! let a = Csr::from_host(&device, (2, 3), Base::Zero, &[0, 2, 3], &[0, 2, 2], &[1.0f32, 2.0, 3.0])?;
//! let descr = SpMatDescr::new(a.view())?;
//! let found = descr.read()?;
//! assert_eq!((found.rows, found.cols, found.entries), (2, 3, 3));
//! let raw = descr.as_raw(); // a hipsparseConstSpMatDescr_t, for functions of hipsparse-sys
//! # assert!(!raw.is_null());
//! # Ok(()) }
//! ```
//!
//! Work that is queued with a raw function is not tracked. Before other uses of the memory, order it yourself, with an
//! event or a wait.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;

use hip::{DeviceSlice, IntoSliceMut, Pod};
use hip_linalg::{Batch, IntoMatrix, IntoMatrixMut, IntoVector, IntoVectorMut, Operands, Uplo};

use crate::call::{Owned, data_type, dense, dense_mut, fill_mode, vector, vector_mut};
use crate::checks::{alone, as_stored, fits, int, invalid};
use crate::format::{self, Generic, RawMatrix};
use crate::matrix::{SpMatMut, SpMatRef};
use crate::raw::{self, Ptr, Returned};
use crate::vector::{SpVecMut, SpVecRef};
use crate::{Base, CallError, Index, Result, Sparse, Value};

/// HIPSPARSE_SPMAT_FILL_MODE and _DIAG_TYPE.
const FILL_MODE: u32 = 0;
const DIAG_TYPE: u32 = 1;

fn place<T>(to: &mut T) -> Ptr {
    ptr::from_mut(to).cast()
}

fn address<T: Pod>(slice: DeviceSlice<'_, T>) -> Ptr {
    slice.as_device_ptr().address() as Ptr
}

/// Returns whether the library has descriptors of read-only operands.
fn has_const() -> bool {
    !raw::is_5()
}

/// A format whose descriptions can be read: CSR, CSC, COO, blocked ELL.
pub trait Described: Generic {
    /// # Safety
    /// As [`Generic::describe`].
    #[doc(hidden)]
    unsafe fn describe_const(&self, to: Ptr, raw: &RawMatrix) -> Returned;
    /// # Safety
    /// `descr` must be a descriptor of this format, made with or without `const`.
    #[doc(hidden)]
    unsafe fn read(descr: Ptr, constant: bool, to: &mut RawMatrix) -> Returned;
}

macro_rules! described {
    ($($format:ident: $create:ident $get:ident $get_const:ident;)*) => {$(
        impl Described for format::$format {
            unsafe fn describe_const(&self, to: Ptr, raw: &RawMatrix) -> Returned {
                let RawMatrix { rows, cols, entries, first, second, values, index, base, data } = *raw;
                // SAFETY: the caller's matrix and pointer.
                unsafe { raw::$create(to, rows, cols, entries, first, second, values, index, index, base, data) }
            }

            unsafe fn read(descr: Ptr, constant: bool, to: &mut RawMatrix) -> Returned {
                let mut other = 0_u32;
                let get = if constant { raw::$get_const } else { raw::$get };
                // SAFETY: the caller's descriptor, and room for its fields.
                unsafe {
                    get(
                        descr,
                        place(&mut to.rows),
                        place(&mut to.cols),
                        place(&mut to.entries),
                        place(&mut to.first),
                        place(&mut to.second),
                        place(&mut to.values),
                        place(&mut to.index),
                        place(&mut other),
                        place(&mut to.base),
                        place(&mut to.data),
                    )
                }
            }
        }
    )*};
}

described! {
    Csr: hipsparseCreateConstCsr hipsparseCsrGet hipsparseConstCsrGet;
    Csc: hipsparseCreateConstCsc hipsparseCscGet hipsparseConstCscGet;
}

impl Described for format::Coo {
    unsafe fn describe_const(&self, to: Ptr, raw: &RawMatrix) -> Returned {
        let RawMatrix { rows, cols, entries, first, second, values, index, base, data } = *raw;
        // SAFETY: the caller's matrix and pointer.
        unsafe { raw::hipsparseCreateConstCoo(to, rows, cols, entries, first, second, values, index, base, data) }
    }

    unsafe fn read(descr: Ptr, constant: bool, to: &mut RawMatrix) -> Returned {
        let get = if constant { raw::hipsparseConstCooGet } else { raw::hipsparseCooGet };
        // SAFETY: the caller's descriptor, and room for its fields.
        unsafe {
            get(
                descr,
                place(&mut to.rows),
                place(&mut to.cols),
                place(&mut to.entries),
                place(&mut to.first),
                place(&mut to.second),
                place(&mut to.values),
                place(&mut to.index),
                place(&mut to.base),
                place(&mut to.data),
            )
        }
    }
}

impl Described for format::BlockedEll {
    unsafe fn describe_const(&self, to: Ptr, raw: &RawMatrix) -> Returned {
        let RawMatrix { rows, cols, second, values, index, base, data, .. } = *raw;
        let (block, width) = (self.block as i64, self.width as i64);
        // SAFETY: the caller's matrix and pointer.
        unsafe { raw::hipsparseCreateConstBlockedEll(to, rows, cols, block, width, second, values, index, base, data) }
    }

    unsafe fn read(descr: Ptr, constant: bool, to: &mut RawMatrix) -> Returned {
        let (mut block, mut width) = (0_i64, 0_i64);
        let get = if constant { raw::hipsparseConstBlockedEllGet } else { raw::hipsparseBlockedEllGet };
        // SAFETY: the caller's descriptor, and room for its fields.
        let returned = unsafe {
            get(
                descr,
                place(&mut to.rows),
                place(&mut to.cols),
                place(&mut block),
                place(&mut width),
                place(&mut to.second),
                place(&mut to.values),
                place(&mut to.index),
                place(&mut to.base),
                place(&mut to.data),
            )
        };
        // Number of blocks.
        to.entries = if block == 0 { 0 } else { (to.rows / block) * (width / block) };
        returned
    }
}

/// The fields of a sparse matrix descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpMatInfo {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// Number of entries; of blocks for blocked ELL.
    pub entries: usize,
    /// The address of the first index array; null if the format has none.
    pub first: *mut c_void,
    /// The address of the second index array.
    pub second: *mut c_void,
    /// The address of the values.
    pub values: *mut c_void,
    /// Bits of an index.
    pub index_bits: u32,
    /// The index base.
    pub base: Base,
    /// The `hipDataType` of the values.
    pub data_type: u32,
    /// The `hipsparseFormat_t`.
    pub format: u32,
    /// Number of matrices in the batch.
    pub batch: usize,
}

fn base_of(code: u32) -> Base {
    if code == 0 { Base::Zero } else { Base::One }
}

fn bits(index: u32) -> u32 {
    match index {
        2 => 32,
        3 => 64,
        _ => 16,
    }
}

fn count(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

/// The descriptor of a sparse matrix, whose memory stays borrowed: `hipsparseSpMatDescr_t` for a writable one,
/// otherwise `hipsparseConstSpMatDescr_t` if the library has it.
#[derive(Debug)]
#[doc(alias("hipsparseSpMatDescr_t", "hipsparseConstSpMatDescr_t", "cusparseSpMatDescr_t"))]
pub struct SpMatDescr<'a, F, T, I = i32> {
    descr: Owned,
    constant: bool,
    values: usize,
    matrix: PhantomData<(&'a (), F, T, I)>,
}

fn raw_of<F: Generic, T: Value, I: Index>(pattern: &crate::Pattern<'_, F, I>, values: Ptr) -> RawMatrix {
    RawMatrix {
        rows: pattern.rows as i64,
        cols: pattern.cols as i64,
        entries: pattern.entries() as i64,
        first: address(pattern.first),
        second: address(pattern.second),
        values,
        index: I::TYPE,
        base: pattern.base.code(),
        data: data_type::<T>(),
    }
}

impl<'a, F: Described, T: Value, I: Index> SpMatDescr<'a, F, T, I> {
    /// Creates the descriptor of a read-only matrix, as it is in memory.
    ///
    /// # Errors
    /// [`CallError::Invalid`] for a transpose; errors of the library.
    #[doc(alias("hipsparseCreateConstCsr", "hipsparseCreateConstCsc", "hipsparseCreateConstCoo"))]
    #[doc(alias("hipsparseCreateConstBlockedEll", "cusparseCreateConstCsr", "cusparseCreateConstBlockedEll"))]
    pub fn new(matrix: SpMatRef<'a, F, T, I>) -> Result<Self> {
        as_stored("A", matrix.op)?;
        let raw = raw_of::<F, T, I>(&matrix.pattern, address(matrix.values));
        let format = matrix.pattern.format;
        let constant = has_const();
        // SAFETY: the pattern was checked, and the arrays belong to it.
        let descr = unsafe {
            let create = |to| if constant { format.describe_const(to, &raw) } else { format.describe(to, &raw) };
            Owned::new(create, raw::hipsparseDestroySpMat, || crate::call::asked(&matrix.pattern))?
        };
        Ok(Self { descr, constant, values: matrix.values.len(), matrix: PhantomData })
    }

    /// Creates the descriptor of a matrix whose values may be written.
    ///
    /// # Errors
    /// An error from the library.
    pub fn new_mut(matrix: SpMatMut<'a, F, T, I>) -> Result<Self> {
        let pattern = matrix.pattern;
        let raw = raw_of::<F, T, I>(&pattern, address(matrix.values.as_slice()));
        // SAFETY: the pattern was checked, and the arrays belong to it.
        let descr = unsafe {
            let create = |to| pattern.format.describe(to, &raw);
            Owned::new(create, raw::hipsparseDestroySpMat, || crate::call::asked(&pattern))?
        };
        Ok(Self { descr, constant: false, values: matrix.values.len(), matrix: PhantomData })
    }

    /// Returns the C descriptor. It lives as long as `self`.
    #[must_use]
    pub fn as_raw(&self) -> *mut c_void {
        self.descr.raw()
    }

    /// Reads the descriptor's fields.
    ///
    /// # Errors
    /// An error from the library; ROCm 5.7 cannot read descriptors of CSC.
    #[doc(alias("hipsparseCsrGet", "hipsparseCscGet", "hipsparseCooGet", "hipsparseBlockedEllGet", "cusparseCsrGet"))]
    #[doc(alias("hipsparseSpMatGetFormat", "hipsparseSpMatGetIndexBase", "hipsparseSpMatGetStridedBatch"))]
    #[doc(alias("hipsparseSpMatGetValues", "hipsparseConstSpMatGetValues", "hipsparseConstCsrGet"))]
    pub fn read(&self) -> Result<SpMatInfo> {
        let none = ptr::null_mut();
        let mut found = RawMatrix {
            rows: 0,
            cols: 0,
            entries: 0,
            first: none,
            second: none,
            values: none,
            index: 0,
            base: 0,
            data: 0,
        };
        let (mut format, mut base, mut batch, mut values) = (0_u32, 0_u32, 0_i32, none);
        let descr = self.descr.raw();
        // SAFETY: a descriptor that is alive, and room for its fields.
        unsafe {
            F::read(descr, self.constant, &mut found).ok(String::new)?;
            raw::hipsparseSpMatGetFormat(descr, place(&mut format)).ok(String::new)?;
            raw::hipsparseSpMatGetIndexBase(descr, place(&mut base)).ok(String::new)?;
            raw::hipsparseSpMatGetStridedBatch(descr, place(&mut batch)).ok(String::new)?;
            let get = if self.constant { raw::hipsparseConstSpMatGetValues } else { raw::hipsparseSpMatGetValues };
            get(descr, place(&mut values)).ok(String::new)?;
        }
        Ok(SpMatInfo {
            rows: count(found.rows),
            cols: count(found.cols),
            entries: count(found.entries),
            first: found.first,
            second: found.second,
            values,
            index_bits: bits(found.index),
            base: base_of(base),
            data_type: found.data,
            format,
            batch: count(batch.into()),
        })
    }

    /// Sets which triangle is used, and whether its diagonal is ones.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hipsparseSpMatSetAttribute", "cusparseSpMatSetAttribute"))]
    pub fn set_triangle(&mut self, uplo: Uplo, unit: bool) -> Result<()> {
        for (attribute, value) in [(FILL_MODE, fill_mode(uplo)), (DIAG_TYPE, u32::from(unit))] {
            let from = (&raw const value).cast_mut().cast();
            // SAFETY: a descriptor that is alive, and a number of the stated size.
            let set = unsafe { raw::hipsparseSpMatSetAttribute(self.descr.raw(), attribute, from, size_of::<u32>()) };
            set.ok(|| format!("attribute {attribute} is {value}"))?;
        }
        Ok(())
    }

    /// Returns which triangle is used, and whether its diagonal is ones.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hipsparseSpMatGetAttribute", "cusparseSpMatGetAttribute"))]
    pub fn triangle(&self) -> Result<(Uplo, bool)> {
        let mut found = [0_u32; 2];
        for (attribute, value) in [FILL_MODE, DIAG_TYPE].into_iter().zip(&mut found) {
            // SAFETY: a descriptor that is alive, and room of the stated size.
            let got =
                unsafe { raw::hipsparseSpMatGetAttribute(self.descr.raw(), attribute, place(value), size_of::<u32>()) };
            got.ok(|| format!("attribute {attribute}"))?;
        }
        Ok((if found[0] == 0 { Uplo::Lower } else { Uplo::Upper }, found[1] != 0))
    }

    /// Sets the number of matrices that the descriptor represents.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hipsparseSpMatSetStridedBatch"))]
    pub fn set_batch(&mut self, matrices: usize) -> Result<()> {
        let matrices = int("the number of matrices", matrices)?;
        // SAFETY: a descriptor that is alive.
        let set = unsafe { raw::hipsparseSpMatSetStridedBatch(self.descr.raw(), matrices) };
        Ok(set.ok(|| format!("{matrices} matrices"))?)
    }

    /// Replaces the values of a matrix that may be written.
    ///
    /// # Errors
    /// [`CallError::Invalid`] for a different number of values, and for a read-only matrix.
    #[doc(alias("hipsparseSpMatSetValues", "cusparseSpMatSetValues"))]
    pub fn set_values(&mut self, values: impl IntoSliceMut<'a, T>) -> Result<()> {
        let values = values.into();
        fits("the number of values", values.len(), self.values, "as the pattern has")?;
        if self.constant {
            return Err(invalid("the values of a matrix", "that is only read", "of `new_mut`"));
        }
        // SAFETY: a descriptor that is alive; the values stay borrowed as long as it is.
        let set = unsafe { raw::hipsparseSpMatSetValues(self.descr.raw(), address(values.as_slice())) };
        Ok(set.ok(String::new)?)
    }
}

/// The fields of a vector descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VecInfo {
    /// Elements.
    pub len: usize,
    /// Number of entries; of elements for a dense vector.
    pub entries: usize,
    /// The address of the indices; null for a dense vector.
    pub indices: *mut c_void,
    /// The address of the values.
    pub values: *mut c_void,
    /// Bits of an index; 0 for a dense vector.
    pub index_bits: u32,
    /// The index base.
    pub base: Base,
    /// The `hipDataType` of the values.
    pub data_type: u32,
}

/// The descriptor of a sparse vector, whose memory stays borrowed.
#[derive(Debug)]
#[doc(alias("hipsparseSpVecDescr_t", "hipsparseConstSpVecDescr_t", "cusparseSpVecDescr_t"))]
pub struct SpVecDescr<'a, T, I = i32> {
    descr: Owned,
    constant: bool,
    entries: usize,
    vector: PhantomData<(&'a (), T, I)>,
}

impl<'a, T: Value, I: Index> SpVecDescr<'a, T, I> {
    /// Creates the descriptor of a read-only vector.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hipsparseCreateConstSpVec", "cusparseCreateConstSpVec"))]
    pub fn new(vector: SpVecRef<'a, T, I>) -> Result<Self> {
        let (len, entries, base) = (vector.len as i64, vector.indices.len(), vector.base.code());
        let (indices, values) = (address(vector.indices), address(vector.values));
        if !has_const() {
            let descr = crate::vector::describe::<T, I>((vector.len, entries, vector.base), indices, values)?;
            return Ok(Self { descr, constant: false, entries, vector: PhantomData });
        }
        // SAFETY: the indices were checked, and there is a value for each.
        let descr = unsafe {
            let create = |to| {
                let kind = data_type::<T>();
                raw::hipsparseCreateConstSpVec(to, len, entries as i64, indices, values, I::TYPE, base, kind)
            };
            Owned::on_host(create, raw::hipsparseDestroySpVec, || format!("{entries} of {len} elements"))?
        };
        Ok(Self { descr, constant: true, entries, vector: PhantomData })
    }

    /// Creates the descriptor of a vector whose values may be written.
    ///
    /// # Errors
    /// An error from the library.
    pub fn new_mut(vector: SpVecMut<'a, T, I>) -> Result<Self> {
        let shape = (vector.len, vector.indices.len(), vector.base);
        let (indices, values) = (address(vector.indices), address(vector.values.as_slice()));
        let descr = crate::vector::describe::<T, I>(shape, indices, values)?;
        Ok(Self { descr, constant: false, entries: shape.1, vector: PhantomData })
    }

    /// Returns the C descriptor. It lives as long as `self`.
    #[must_use]
    pub fn as_raw(&self) -> *mut c_void {
        self.descr.raw()
    }

    /// Reads the descriptor's fields.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hipsparseSpVecGet", "hipsparseConstSpVecGet", "hipsparseSpVecGetIndexBase", "cusparseSpVecGet"))]
    #[doc(alias("hipsparseSpVecGetValues", "hipsparseConstSpVecGetValues"))]
    pub fn read(&self) -> Result<VecInfo> {
        let (mut len, mut entries, mut indices, mut values) = (0_i64, 0_i64, ptr::null_mut(), ptr::null_mut());
        let (mut index, mut base, mut data) = (0_u32, 0_u32, 0_u32);
        let descr = self.descr.raw();
        // SAFETY: a descriptor that is alive, and room for its fields.
        unsafe {
            let (index, base, data) = (place(&mut index), place(&mut base), place(&mut data));
            let (len, entries, indices) = (place(&mut len), place(&mut entries), place(&mut indices));
            let values = place(&mut values);
            if self.constant {
                raw::hipsparseConstSpVecGet(descr, len, entries, indices, values, index, base, data).ok(String::new)?;
                raw::hipsparseConstSpVecGetValues(descr, values).ok(String::new)?;
            } else {
                raw::hipsparseSpVecGet(descr, len, entries, indices, values, index, base, data).ok(String::new)?;
                raw::hipsparseSpVecGetValues(descr, values).ok(String::new)?;
            }
            raw::hipsparseSpVecGetIndexBase(descr, base).ok(String::new)?;
        }
        let (len, entries, index_bits, base) = (count(len), count(entries), bits(index), base_of(base));
        Ok(VecInfo { len, entries, indices, values, index_bits, base, data_type: data })
    }

    /// Replaces the values of a vector that may be written.
    ///
    /// # Errors
    /// [`CallError::Invalid`] for a different number of values, and for a read-only vector.
    #[doc(alias("hipsparseSpVecSetValues", "cusparseSpVecSetValues"))]
    pub fn set_values(&mut self, values: impl IntoSliceMut<'a, T>) -> Result<()> {
        let values = values.into();
        fits("the number of values", values.len(), self.entries, "as there are indices")?;
        if self.constant {
            return Err(invalid("the values of a vector", "that is only read", "of `new_mut`"));
        }
        // SAFETY: a descriptor that is alive; the values stay borrowed as long as it is.
        let set = unsafe { raw::hipsparseSpVecSetValues(self.descr.raw(), address(values.as_slice())) };
        Ok(set.ok(String::new)?)
    }
}

/// The descriptor of a contiguous dense vector, whose memory stays borrowed. [`Sparse::vector_descr`] creates it.
#[derive(Debug)]
#[doc(alias("hipsparseDnVecDescr_t", "hipsparseConstDnVecDescr_t", "cusparseDnVecDescr_t"))]
pub struct DnVecDescr<'a, T> {
    descr: Owned,
    constant: bool,
    len: usize,
    vector: PhantomData<(&'a (), T)>,
}

impl<'a, T: Value> DnVecDescr<'a, T> {
    /// Returns the C descriptor. It lives as long as `self`.
    #[must_use]
    pub fn as_raw(&self) -> *mut c_void {
        self.descr.raw()
    }

    /// Reads the descriptor's fields.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hipsparseDnVecGet", "hipsparseConstDnVecGet", "cusparseDnVecGet"))]
    #[doc(alias("hipsparseDnVecGetValues", "hipsparseConstDnVecGetValues"))]
    pub fn read(&self) -> Result<VecInfo> {
        let (mut len, mut values, mut data) = (0_i64, ptr::null_mut(), 0_u32);
        let descr = self.descr.raw();
        // SAFETY: a descriptor that is alive, and room for its fields.
        unsafe {
            let (to_len, to_values, to_data) = (place(&mut len), place(&mut values), place(&mut data));
            if self.constant {
                raw::hipsparseConstDnVecGet(descr, to_len, to_values, to_data).ok(String::new)?;
                raw::hipsparseConstDnVecGetValues(descr, to_values).ok(String::new)?;
            } else {
                raw::hipsparseDnVecGet(descr, to_len, to_values, to_data).ok(String::new)?;
                raw::hipsparseDnVecGetValues(descr, to_values).ok(String::new)?;
            }
        }
        let (len, indices) = (count(len), ptr::null_mut());
        Ok(VecInfo { len, entries: len, indices, values, index_bits: 0, base: Base::Zero, data_type: data })
    }

    /// Replaces the elements of a vector that may be written.
    ///
    /// # Errors
    /// [`CallError::Invalid`] for a different number of elements, and for a read-only vector.
    #[doc(alias("hipsparseDnVecSetValues", "cusparseDnVecSetValues"))]
    pub fn set_values(&mut self, values: impl IntoSliceMut<'a, T>) -> Result<()> {
        let values = values.into();
        fits("the number of elements", values.len(), self.len, "as before")?;
        if self.constant {
            return Err(invalid("the elements of a vector", "that is only read", "of `vector_descr_mut`"));
        }
        // SAFETY: a descriptor that is alive; the elements stay borrowed as long as it is.
        let set = unsafe { raw::hipsparseDnVecSetValues(self.descr.raw(), address(values.as_slice())) };
        Ok(set.ok(String::new)?)
    }
}

/// The fields of a dense matrix descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DnMatInfo {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// Distance between two columns, in elements; between two rows for row-major matrices.
    pub leading_dimension: usize,
    /// The address of the elements.
    pub values: *mut c_void,
    /// The `hipDataType` of the elements.
    pub data_type: u32,
    /// Whether the matrix is row-major.
    pub row_major: bool,
    /// Number of matrices in the batch, and the distance between two of them.
    pub batch: (usize, usize),
}

/// The descriptor of a dense matrix, whose memory stays borrowed. [`Sparse::matrix_descr`] creates it.
#[derive(Debug)]
#[doc(alias("hipsparseDnMatDescr_t", "hipsparseConstDnMatDescr_t", "cusparseDnMatDescr_t"))]
pub struct DnMatDescr<'a, T> {
    descr: Owned,
    constant: bool,
    /// Number of elements that its memory must have.
    span: usize,
    matrix: PhantomData<(&'a (), T)>,
}

impl<'a, T: Value> DnMatDescr<'a, T> {
    /// Returns the C descriptor. It lives as long as `self`.
    #[must_use]
    pub fn as_raw(&self) -> *mut c_void {
        self.descr.raw()
    }

    /// Reads the descriptor's fields.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hipsparseDnMatGet", "hipsparseConstDnMatGet", "hipsparseDnMatGetStridedBatch", "cusparseDnMatGet"))]
    #[doc(alias("hipsparseDnMatGetValues", "hipsparseConstDnMatGetValues"))]
    pub fn read(&self) -> Result<DnMatInfo> {
        let (mut rows, mut cols, mut ld, mut values) = (0_i64, 0_i64, 0_i64, ptr::null_mut());
        let (mut data, mut order, mut members, mut stride) = (0_u32, 0_u32, 0_i32, 0_i64);
        let descr = self.descr.raw();
        // SAFETY: a descriptor that is alive, and room for its fields.
        unsafe {
            let shape = (place(&mut rows), place(&mut cols), place(&mut ld), place(&mut values));
            let (data, order) = (place(&mut data), place(&mut order));
            if self.constant {
                raw::hipsparseConstDnMatGet(descr, shape.0, shape.1, shape.2, shape.3, data, order).ok(String::new)?;
                raw::hipsparseConstDnMatGetValues(descr, shape.3).ok(String::new)?;
            } else {
                raw::hipsparseDnMatGet(descr, shape.0, shape.1, shape.2, shape.3, data, order).ok(String::new)?;
                raw::hipsparseDnMatGetValues(descr, shape.3).ok(String::new)?;
            }
            raw::hipsparseDnMatGetStridedBatch(descr, place(&mut members), place(&mut stride)).ok(String::new)?;
        }
        Ok(DnMatInfo {
            rows: count(rows),
            cols: count(cols),
            leading_dimension: count(ld),
            values,
            data_type: data,
            row_major: order == raw::order(true),
            batch: (count(members.into()), count(stride)),
        })
    }

    /// Replaces the elements. There must be at least as many as the matrix spans, gaps included.
    ///
    /// # Errors
    /// [`CallError::Invalid`] for too few elements, and for a read-only matrix.
    #[doc(alias("hipsparseDnMatSetValues", "cusparseDnMatSetValues"))]
    pub fn set_values(&mut self, values: impl IntoSliceMut<'a, T>) -> Result<()> {
        let values = values.into();
        if values.len() < self.span {
            return Err(invalid("the number of elements", values.len().to_string(), format!("at least {}", self.span)));
        }
        if self.constant {
            return Err(invalid("the elements of a matrix", "that is only read", "of `matrix_descr_mut`"));
        }
        // SAFETY: a descriptor that is alive; the elements stay borrowed as long as it is.
        let set = unsafe { raw::hipsparseDnMatSetValues(self.descr.raw(), address(values.as_slice())) };
        Ok(set.ok(String::new)?)
    }
}

/// Descriptors of dense operands.
impl Sparse {
    /// Creates the descriptor of a read-only dense vector.
    ///
    /// # Errors
    /// [`CallError::Invalid`] for vectors with increments, and of other devices.
    #[doc(alias("hipsparseCreateConstDnVec", "cusparseCreateConstDnVec"))]
    pub fn vector_descr<'a, T: Value>(&self, x: impl IntoVector<'a, T>) -> Result<DnVecDescr<'a, T>> {
        let x = x.into();
        let len = x.len();
        let values = vector(&mut Operands::on(&self.stream().clone()), "x", &x)?;
        if !has_const() {
            let descr = crate::call::dense_vector::<T>(len, values)?;
            return Ok(DnVecDescr { descr, constant: false, len, vector: PhantomData });
        }
        // SAFETY: the memory has this many elements.
        let descr = unsafe {
            let create = |to| raw::hipsparseCreateConstDnVec(to, len as i64, values, data_type::<T>());
            Owned::on_host(create, raw::hipsparseDestroyDnVec, || format!("{len} elements"))?
        };
        Ok(DnVecDescr { descr, constant: true, len, vector: PhantomData })
    }

    /// Creates the descriptor of a dense vector that may be written.
    ///
    /// # Errors
    /// As [`vector_descr`](Self::vector_descr).
    #[doc(alias("hipsparseCreateDnVec", "cusparseCreateDnVec"))]
    pub fn vector_descr_mut<'a, T: Value>(&self, x: impl IntoVectorMut<'a, T>) -> Result<DnVecDescr<'a, T>> {
        let x = x.into();
        let len = x.len();
        let values = vector_mut(&mut Operands::on(&self.stream().clone()), "x", x)?;
        let descr = crate::call::dense_vector::<T>(len, values)?;
        Ok(DnVecDescr { descr, constant: false, len, vector: PhantomData })
    }

    /// Creates the descriptor of a read-only dense column-major matrix.
    ///
    /// # Errors
    /// [`CallError::Invalid`] for transposes, batches, and matrices of other devices.
    #[doc(alias("hipsparseCreateConstDnMat", "cusparseCreateConstDnMat"))]
    pub fn matrix_descr<'a, T: Value>(&self, b: impl IntoMatrix<'a, T>) -> Result<DnMatDescr<'a, T>> {
        let b = b.into();
        as_stored("B", b.op())?;
        alone("B", b.batch_size())?;
        let found = dense(&mut Operands::on(&self.stream().clone()), "B", &b)?;
        let span = span(found.rows, found.cols, found.ld);
        if !has_const() {
            let (descr, _) = found.describe::<T>("B", false)?;
            return Ok(DnMatDescr { descr, constant: false, span, matrix: PhantomData });
        }
        // SAFETY: the view was checked when it was made.
        let descr = unsafe {
            let (rows, cols, ld) = (found.rows as i64, found.cols as i64, found.ld.max(1));
            let (kind, order) = (data_type::<T>(), raw::order(false));
            let create = |to| raw::hipsparseCreateConstDnMat(to, rows, cols, ld, found.pointer, kind, order);
            Owned::on_host(create, raw::hipsparseDestroyDnMat, || format!("{rows} x {cols}"))?
        };
        Ok(DnMatDescr { descr, constant: true, span, matrix: PhantomData })
    }

    /// Creates the descriptor of a dense column-major matrix, or of a strided batch of such matrices, that may be
    /// written.
    ///
    /// # Errors
    /// [`CallError::Invalid`] for transposes, batches of pointers, and matrices of other devices.
    #[doc(alias("hipsparseCreateDnMat", "hipsparseDnMatSetStridedBatch", "cusparseCreateDnMat"))]
    pub fn matrix_descr_mut<'a, T: Value>(&self, b: impl IntoMatrixMut<'a, T>) -> Result<DnMatDescr<'a, T>> {
        let b = b.into();
        as_stored("B", b.op())?;
        if let Batch::Pointers(_) = b.batch_size() {
            return Err(invalid("B", "a batch of pointers", "one matrix, or a strided batch"));
        }
        let found = dense_mut(&mut Operands::on(&self.stream().clone()), "B", b)?;
        let one = span(found.rows, found.cols, found.ld);
        let span = match found.batch {
            Batch::Strided(members) => members.saturating_sub(1) * count(found.stride) + one,
            _ => one,
        };
        let (descr, _) = found.describe::<T>("B", false)?;
        Ok(DnMatDescr { descr, constant: false, span, matrix: PhantomData })
    }
}

/// Returns the number of elements from the first to the last one.
fn span(rows: usize, cols: usize, ld: i64) -> usize {
    if rows == 0 { 0 } else { cols.saturating_sub(1) * count(ld) + rows * cols.min(1) }
}

/// The kind of a matrix in the older functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(alias("hipsparseMatrixType_t", "cusparseMatrixType_t"))]
pub enum MatrixType {
    /// All entries are stored.
    #[default]
    General,
    /// One triangle of a symmetric matrix.
    Symmetric,
    /// One triangle of a Hermitian matrix.
    Hermitian,
    /// A triangle.
    Triangular,
}

/// The matrix descriptor of the older functions.
#[derive(Debug)]
#[doc(alias("hipsparseMatDescr_t", "cusparseMatDescr_t"))]
pub struct MatDescr(Owned);

/// The fields of a [`MatDescr`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatInfo {
    /// The kind of matrix.
    pub kind: MatrixType,
    /// The index base.
    pub base: Base,
    /// Which triangle is stored or used.
    pub uplo: Uplo,
    /// Whether the diagonal is ones, regardless of the stored values.
    pub unit: bool,
}

impl MatDescr {
    /// Creates a descriptor.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias(
        "hipsparseCreateMatDescr",
        "hipsparseSetMatType",
        "hipsparseSetMatIndexBase",
        "cusparseCreateMatDescr"
    ))]
    pub fn new(info: MatInfo) -> Result<Self> {
        let descr = crate::call::mat_descr(info.base, Some((info.uplo, info.unit)))?;
        // SAFETY: a descriptor that was just made.
        unsafe { raw::hipsparseSetMatType(descr.raw(), info.kind as u32) }.ok(|| format!("{info:?}"))?;
        Ok(Self(descr))
    }

    /// Copies the descriptor.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hipsparseCopyMatDescr"))]
    pub fn try_clone(&self) -> Result<Self> {
        let descr = crate::call::mat_descr(Base::Zero, None)?;
        // SAFETY: two descriptors that are alive.
        unsafe { raw::hipsparseCopyMatDescr(descr.raw(), self.0.raw()) }.ok(String::new)?;
        Ok(Self(descr))
    }

    /// Returns the C descriptor. It lives as long as `self`.
    #[must_use]
    pub fn as_raw(&self) -> *mut c_void {
        self.0.raw()
    }

    /// Reads the descriptor's fields.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias(
        "hipsparseGetMatType",
        "hipsparseGetMatIndexBase",
        "hipsparseGetMatFillMode",
        "hipsparseGetMatDiagType"
    ))]
    pub fn read(&self) -> Result<MatInfo, CallError> {
        let descr = self.0.raw();
        // SAFETY: a descriptor that is alive.
        let (kind, base, uplo, unit) = unsafe {
            (
                raw::hipsparseGetMatType(descr)?,
                raw::hipsparseGetMatIndexBase(descr)?,
                raw::hipsparseGetMatFillMode(descr)?,
                raw::hipsparseGetMatDiagType(descr)?,
            )
        };
        let kind = match kind {
            1 => MatrixType::Symmetric,
            2 => MatrixType::Hermitian,
            3 => MatrixType::Triangular,
            _ => MatrixType::General,
        };
        let uplo = if uplo == 0 { Uplo::Lower } else { Uplo::Upper };
        Ok(MatInfo { kind, base: base_of(base), uplo, unit: unit != 0 })
    }
}
