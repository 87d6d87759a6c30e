//! The row exchanges of LU factorisations.

use hip::{Device, DeviceBuffer, DeviceSlice, DeviceSliceMut, Result};

use crate::place::invalid;

/// The row exchanges of an LU factorization, in device memory: row i was exchanged with row `pivot[i]`, counted from 1.
///
/// Only factorizations write it, so each element is a valid row number: solvers index memory with it. `Pivots<i64>` is
/// for libraries that have functions with 64-bit sizes, and selects them.
#[derive(Debug)]
pub struct Pivots<I = i32> {
    memory: DeviceBuffer<I>,
    rows: usize,
    members: usize,
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for i32 {}
    impl Sealed for i64 {}
}

/// The type of the row numbers: `i32` or `i64`.
pub trait PivotIndex: hip::Pod + sealed::Sealed + 'static {
    /// Whether the type has 64 bits.
    const WIDE: bool;
}

impl PivotIndex for i32 {
    const WIDE: bool = false;
}

impl PivotIndex for i64 {
    const WIDE: bool = true;
}

impl Pivots<i64> {
    /// Allocates 64-bit pivots for a matrix of `rows` x `cols`: no row is exchanged yet.
    ///
    /// # Errors
    /// An error from an allocation.
    pub fn new_64(device: &Device, rows: usize, cols: usize) -> Result<Self> {
        let identity: Vec<i64> = (1..).take(rows.min(cols)).collect();
        Ok(Self { memory: DeviceBuffer::from_slice(device, &identity)?, rows, members: 1 })
    }
}

impl Pivots {
    /// Allocates pivots for a matrix of `rows` x `cols`: no row is exchanged yet.
    ///
    /// # Errors
    /// An error from an allocation.
    pub fn new(device: &Device, rows: usize, cols: usize) -> Result<Self> {
        Self::batch(device, rows, cols, 1)
    }

    /// Allocates pivots for `members` matrices of `rows` x `cols`.
    ///
    /// # Errors
    /// An error from an allocation; [`Error::InvalidValue`](hip::Error::InvalidValue) for more than 2³¹ rows.
    pub fn batch(device: &Device, rows: usize, cols: usize, members: usize) -> Result<Self> {
        let len = rows.min(cols);
        let Ok(last) = i32::try_from(len) else {
            return Err(invalid("the number of pivots", len.to_string(), "less than 2^31"));
        };
        let identity: Vec<i32> = (0..members).flat_map(|_| 1..=last).collect();
        Ok(Self { memory: DeviceBuffer::from_slice(device, &identity)?, rows, members })
    }
}

impl<I: PivotIndex> Pivots<I> {
    /// Returns the number of pivots per matrix.
    #[must_use]
    pub fn len(&self) -> usize {
        self.memory.len() / self.members.max(1)
    }

    /// Returns whether there are no pivots.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.memory.is_empty()
    }

    /// Returns the number of rows of the matrices: no pivot is larger.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of matrices.
    #[must_use]
    pub fn members(&self) -> usize {
        self.members
    }

    /// Returns the row numbers; the numbers of each matrix follow those of the previous one.
    #[must_use]
    pub fn as_slice(&self) -> DeviceSlice<'_, I> {
        self.memory.as_slice()
    }

    /// Returns the row numbers, for a factorization.
    ///
    /// # Safety
    /// The caller must write only row numbers, from 1 to [`rows`](Self::rows).
    pub unsafe fn as_slice_mut(&mut self) -> DeviceSliceMut<'_, I> {
        self.memory.as_slice_mut()
    }
}
