//! Sparse vectors.

use std::fmt;

use hip::{Device, DeviceBuffer, DeviceSlice, DeviceSliceMut, Pod};
use hip_linalg::{Operands, Shape};

use crate::call::{Owned, data_type};
use crate::checks::{INDICES, fits, invalid};
use crate::defect::Defect;
use crate::on_device;
use crate::raw::{self, Ptr};
use crate::structure::{Layout, sorted};
use crate::{Base, CallError, Error, Index, Result, Value};

/// A sparse vector that owns its arrays in device memory: indices, and a value for each.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::Device;
/// use hipsparse::{Base, SpVec};
///
/// let device = Device::get(0)?;
/// let x = SpVec::from_host(&device, 10, Base::Zero, &[2, 7], &[1.0f32, 3.0])?; // 0 0 1 0 0 0 0 3 0 0
/// assert_eq!((x.len(), x.entries()), (10, 2));
/// # Ok(()) }
/// ```
pub struct SpVec<T, I = i32> {
    len: usize,
    base: Base,
    sorted: bool,
    indices: DeviceBuffer<I>,
    values: DeviceBuffer<T>,
}

/// A sparse vector to read from. A [`SpVec`] converts with `into`.
pub struct SpVecRef<'a, T, I = i32> {
    pub(crate) len: usize,
    pub(crate) base: Base,
    pub(crate) unique: bool,
    pub(crate) indices: DeviceSlice<'a, I>,
    pub(crate) values: DeviceSlice<'a, T>,
}

impl<T, I> Clone for SpVecRef<'_, T, I> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, I> Copy for SpVecRef<'_, T, I> {}

/// A sparse vector to write values to. The indices are only read.
pub struct SpVecMut<'a, T, I = i32> {
    pub(crate) len: usize,
    pub(crate) base: Base,
    pub(crate) unique: bool,
    pub(crate) indices: DeviceSlice<'a, I>,
    pub(crate) values: DeviceSliceMut<'a, T>,
}

macro_rules! debug {
    ($($name:ident [$($lifetime:lifetime)?])*) => {$(
        impl<T, I> fmt::Debug for $name<$($lifetime,)? T, I> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("len", &self.len).field("base", &self.base).finish_non_exhaustive()
            }
        }
    )*};
}

debug! {
    SpVec []
    SpVecRef ['_]
    SpVecMut ['_]
}

fn sized<I: Index>(len: usize, base: Base, indices: usize, values: usize) -> Result<()> {
    fits("the number of values", values, indices, "as there are indices")?;
    if base.of(len) > I::LARGEST {
        let allowed = format!("at most {}, which its indices can count", I::LARGEST - base.first());
        return Err(invalid("the length of a vector", len.to_string(), allowed));
    }
    Ok(())
}

fn find<I: Index>(len: usize, base: Base, indices: DeviceSlice<'_, I>) -> Result<Result<(), Defect>> {
    indices.expect_unwritten(INDICES)?;
    on_device::find(Layout::Vector { size: len }, base.first(), indices, indices)
}

impl<T: Pod, I: Index> SpVec<T, I> {
    /// Creates a vector of `len` elements with these values at these indices.
    ///
    /// The indices are checked, as in [`validate`](Self::validate).
    ///
    /// # Errors
    /// [`Error::Structure`] for an index that is out of range; an error if the number of values differs from the number
    /// of indices.
    #[doc(alias("hipsparseCreateSpVec", "cusparseCreateSpVec"))]
    pub fn new(len: usize, base: Base, indices: DeviceBuffer<I>, values: DeviceBuffer<T>) -> Result<Self> {
        sized::<I>(len, base, indices.len(), values.len())?;
        let sorted = sorted(find(len, base, indices.as_slice())?)?;
        Ok(Self { len, base, sorted, indices, values })
    }

    /// As [`new`](Self::new), from arrays on the host.
    ///
    /// # Errors
    /// As [`new`](Self::new); errors of the copies.
    pub fn from_host(device: &Device, len: usize, base: Base, indices: &[I], values: &[T]) -> Result<Self> {
        sized::<I>(len, base, indices.len(), values.len())?;
        let sorted = sorted(Layout::Vector { size: len }.check(base.first(), &[], indices))?;
        let (indices, values) = (DeviceBuffer::from_slice(device, indices)?, DeviceBuffer::from_slice(device, values)?);
        Ok(Self { len, base, sorted, indices, values })
    }

    /// Finds the first defect of the indices, including unsorted and duplicate indices. The check runs on the device,
    /// as in [`Pattern::validate`](crate::Pattern::validate).
    ///
    /// # Errors
    /// [`Error::Structure`], with the defect; errors of the launch and of copies.
    pub fn validate(&self) -> Result<()> {
        find(self.len, self.base, self.indices.as_slice())?.map_err(Error::Structure)
    }

    /// Returns a view to read from.
    #[must_use]
    pub fn view(&self) -> SpVecRef<'_, T, I> {
        let (indices, values) = (self.indices.as_slice(), self.values.as_slice());
        SpVecRef { len: self.len, base: self.base, unique: self.sorted, indices, values }
    }

    /// Returns a view to write values to.
    #[must_use]
    pub fn view_mut(&mut self) -> SpVecMut<'_, T, I> {
        let (indices, values) = (self.indices.as_slice(), self.values.as_slice_mut());
        SpVecMut { len: self.len, base: self.base, unique: self.sorted, indices, values }
    }

    /// Copies the indices and the values to the host.
    ///
    /// # Errors
    /// The errors of [`DeviceBuffer::to_vec`].
    pub fn to_vecs(&self) -> Result<(Vec<I>, Vec<T>)> {
        Ok((self.indices.to_vec()?, self.values.to_vec()?))
    }
}

impl<T: Pod, I> SpVec<T, I> {
    /// Returns the number of elements, including the zeros between the entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of stored entries.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.indices.len()
    }

    /// Returns the index base.
    #[must_use]
    pub fn base(&self) -> Base {
        self.base
    }

    /// Returns the values.
    #[must_use]
    pub fn values(&self) -> &DeviceBuffer<T> {
        &self.values
    }

    /// Returns the values, to write to.
    #[must_use]
    pub fn values_mut(&mut self) -> DeviceSliceMut<'_, T> {
        (&mut self.values).into()
    }
}

impl<'a, T: Pod, I: Index> From<&'a SpVec<T, I>> for SpVecRef<'a, T, I> {
    fn from(vector: &'a SpVec<T, I>) -> Self {
        vector.view()
    }
}

impl<'a, T: Pod, I: Index> From<&'a mut SpVec<T, I>> for SpVecMut<'a, T, I> {
    fn from(vector: &'a mut SpVec<T, I>) -> Self {
        vector.view_mut()
    }
}

impl<T, I> From<&SpVecRef<'_, T, I>> for Shape {
    fn from(vector: &SpVecRef<'_, T, I>) -> Self {
        Self::vector(vector.len)
    }
}

impl<T, I> From<&SpVecMut<'_, T, I>> for Shape {
    fn from(vector: &SpVecMut<'_, T, I>) -> Self {
        Self::vector(vector.len)
    }
}

/// Creates the descriptor of a sparse vector.
pub(crate) fn describe<T: Value, I: Index>(
    (len, entries, base): (usize, usize, Base),
    indices: Ptr,
    values: Ptr,
) -> Result<Owned, CallError> {
    let asked = || format!("{entries} of {len} elements");
    // SAFETY: the indices were checked, and there is a value for each.
    unsafe {
        let create = |place| {
            let (len, entries, base) = (len as i64, entries as i64, base.code());
            raw::hipsparseCreateSpVec(place, len, entries, indices, values, I::TYPE, base, data_type::<T>())
        };
        Owned::on_host(create, raw::hipsparseDestroySpVec, asked)
    }
}

impl<'a, T: Value, I: Index> SpVecRef<'a, T, I> {
    /// Names the arrays, which the call reads, and creates a descriptor.
    pub(crate) fn describe(&self, operands: &mut Operands<'a>, what: &'static str) -> Result<Owned> {
        let indices = operands.trusted(INDICES, self.indices)?.cast_mut();
        let values = operands.slice(what, self.values)?.cast_mut();
        Ok(describe::<T, I>((self.len, self.indices.len(), self.base), indices, values)?)
    }
}

impl<'a, T: Value, I: Index> SpVecMut<'a, T, I> {
    /// Names the arrays, whose values the call writes, and creates a descriptor.
    pub(crate) fn describe(self, operands: &mut Operands<'a>, what: &'static str) -> Result<Owned> {
        let shape = (self.len, self.indices.len(), self.base);
        let indices = operands.trusted(INDICES, self.indices)?.cast_mut();
        let values = operands.slice_mut(what, self.values)?;
        Ok(describe::<T, I>(shape, indices, values)?)
    }
}

/// Returns an error unless the indices are unique and sorted: calls that write to the positions of the indices would
/// race.
pub(crate) fn unique(what: &'static str, unique: bool) -> Result<()> {
    if unique {
        return Ok(());
    }
    Err(invalid(what, "with indices that are not sorted, or are there twice", "sorted, with each index once"))
}
