//! The row exchanges of LU factorisations.

use hip::{Device, DeviceBuffer, DeviceSlice, DeviceSliceMut, Result};

use crate::place::invalid;

/// The row exchanges of an LU factorisation, in device memory: row i was exchanged with row `pivot[i]`, counted from 1.
///
/// Only factorisations write it, so that each is the number of a row: solvers index memory with it. `Pivots<i64>` is for libraries that have
/// functions with 64-bit sizes; it chooses them.
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

/// What the numbers of rows are: `i32`, or `i64`.
pub trait PivotIndex: hip::Pod + sealed::Sealed + 'static {
    /// Whether it has 64 bits.
    const WIDE: bool;
}

impl PivotIndex for i32 {
    const WIDE: bool = false;
}

impl PivotIndex for i64 {
    const WIDE: bool = true;
}

impl Pivots<i64> {
    /// For a matrix of `rows` x `cols`, in 64 bits: no row is exchanged yet.
    ///
    /// # Errors
    /// Those of an allocation.
    pub fn new_64(device: &Device, rows: usize, cols: usize) -> Result<Self> {
        let identity: Vec<i64> = (1..).take(rows.min(cols)).collect();
        Ok(Self { memory: DeviceBuffer::from_slice(device, &identity)?, rows, members: 1 })
    }
}

impl Pivots {
    /// For a matrix of `rows` x `cols`: no row is exchanged yet.
    ///
    /// # Errors
    /// Those of an allocation.
    pub fn new(device: &Device, rows: usize, cols: usize) -> Result<Self> {
        Self::batch(device, rows, cols, 1)
    }

    /// For each of `members` matrices of `rows` x `cols`.
    ///
    /// # Errors
    /// Those of an allocation; [`Error::InvalidValue`](hip::Error::InvalidValue) for more than 2³¹ rows.
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
    /// How many each matrix has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.memory.len() / self.members.max(1)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.memory.is_empty()
    }

    /// Rows of the matrices: no pivot is larger.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many matrices they are for.
    #[must_use]
    pub fn members(&self) -> usize {
        self.members
    }

    /// The numbers, those of each matrix after those of the one before.
    #[must_use]
    pub fn as_slice(&self) -> DeviceSlice<'_, I> {
        self.memory.as_slice()
    }

    /// The numbers, for a factorisation.
    ///
    /// # Safety
    /// What is written are numbers of rows, from 1 to [`rows`](Self::rows).
    pub unsafe fn as_slice_mut(&mut self) -> DeviceSliceMut<'_, I> {
        self.memory.as_slice_mut()
    }
}
