//! The location of a view's elements: one block of device memory, blocks at equal distances, or blocks with an address
//! each.

use hip::{Device, DeviceBuffer, DeviceSlice, DeviceSliceMut, Error, IntoSlice, IntoSliceMut, Result};

pub(crate) fn invalid(what: &'static str, value: impl Into<String>, allowed: impl Into<String>) -> Error {
    Error::InvalidValue { what, value: value.into(), allowed: allowed.into() }
}

/// The number of matrices or vectors in a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    /// A single one, not a batch.
    One,
    /// This many, at equal distances.
    Strided(usize),
    /// This many, with an address each.
    Pointers(usize),
}

/// The location of the elements of a view to read from.
#[derive(Debug)]
pub struct Ref<'a, T>(pub(crate) Blocks<DeviceSlice<'a, T>, &'a [DeviceSlice<'a, T>], DeviceSlice<'a, u64>>);

/// The location of the elements of a view to write to.
#[derive(Debug)]
pub struct Mut<'a, T>(pub(crate) Blocks<DeviceSliceMut<'a, T>, Vec<DeviceSliceMut<'a, T>>, DeviceSlice<'a, u64>>);

impl<T> Clone for Ref<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ref<'_, T> {}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Blocks<S, P, A> {
    One(S),
    Strided { slice: S, stride: usize, count: usize },
    Pointers { table: A, parts: P },
}

/// The common interface of [`Ref`] and [`Mut`].
pub trait Place: Sized {
    /// The element type.
    type Element;
    /// Whether its views are written to.
    const WRITES: bool;
    /// Returns the batch.
    #[must_use]
    fn batch(&self) -> Batch;
    /// Returns the number of elements of the shortest block.
    #[doc(hidden)]
    fn shortest(&self) -> usize;
    /// Returns the distance between the starts of two blocks, in elements; 0 for a single block.
    #[doc(hidden)]
    fn stride(&self) -> usize;
    /// Returns the same location without each block's first `offset` elements.
    #[doc(hidden)]
    fn skip(self, offset: usize) -> Result<Self>;
}

macro_rules! places {
    ($($name:ident, $writes:literal, $slice:ident, $cut:ident;)*) => {$(
        impl<'a, T> $name<'a, T> {
            pub(crate) fn one(slice: $slice<'a, T>) -> Self {
                Self(Blocks::One(slice))
            }

            pub(crate) fn strided(slice: $slice<'a, T>, stride: usize, count: usize) -> Self {
                Self(Blocks::Strided { slice, stride, count })
            }
        }

        impl<T> Place for $name<'_, T> {
            type Element = T;
            const WRITES: bool = $writes;

            fn batch(&self) -> Batch {
                match &self.0 {
                    Blocks::One(_) => Batch::One,
                    Blocks::Strided { count, .. } => Batch::Strided(*count),
                    Blocks::Pointers { parts, .. } => Batch::Pointers(parts.len()),
                }
            }

            fn shortest(&self) -> usize {
                match &self.0 {
                    Blocks::One(slice) => slice.len(),
                    Blocks::Strided { count: 0, .. } => usize::MAX,
                    Blocks::Strided { slice, stride, count } => {
                        stride.checked_mul(count - 1).and_then(|last| slice.len().checked_sub(last)).unwrap_or(0)
                    }
                    Blocks::Pointers { parts, .. } => parts.iter().map(|part| part.len()).min().unwrap_or(usize::MAX),
                }
            }

            fn stride(&self) -> usize {
                match &self.0 {
                    Blocks::Strided { stride, .. } => *stride,
                    _ => 0,
                }
            }

            fn skip(self, offset: usize) -> Result<Self> {
                Ok(Self(match self.0 {
                    Blocks::One(slice) => {
                        let offset = offset.min(slice.len());
                        Blocks::One(slice.$cut(offset..)?)
                    }
                    Blocks::Strided { slice, stride, count } => {
                        let offset = offset.min(slice.len());
                        Blocks::Strided { slice: slice.$cut(offset..)?, stride, count }
                    }
                    Blocks::Pointers { .. } if offset != 0 => {
                        return Err(invalid(
                            "a part of a batch with an address each",
                            format!("{offset} elements in"),
                            "at the addresses: make the pointers from parts instead",
                        ));
                    }
                    pointers => pointers,
                }))
            }
        }
    )*};
}

places! {
    Ref, false, DeviceSlice, slice;
    Mut, true, DeviceSliceMut, into_slice;
}

impl<'a, T> Mut<'a, T> {
    /// Reborrows the location.
    pub(crate) fn reborrow(&mut self) -> Mut<'_, T> {
        Mut(match &mut self.0 {
            Blocks::One(slice) => Blocks::One(slice.into()),
            Blocks::Strided { slice, stride, count } => {
                Blocks::Strided { slice: slice.into(), stride: *stride, count: *count }
            }
            Blocks::Pointers { table, parts } => {
                Blocks::Pointers { table: *table, parts: parts.iter_mut().map(Into::into).collect() }
            }
        })
    }
}

/// The addresses of matrices or vectors to read from, in device memory: a batch whose members can be anywhere.
///
/// Create it once and use it often. Its members share one shape, which a view states
/// ([`MatrixRef::batch`](crate::MatrixRef::batch)).
#[derive(Debug)]
pub struct Pointers<'a, T> {
    table: DeviceBuffer<u64>,
    parts: Vec<DeviceSlice<'a, T>>,
}

/// The addresses of matrices or vectors to write to, in device memory.
#[derive(Debug)]
pub struct PointersMut<'a, T> {
    table: DeviceBuffer<u64>,
    parts: Vec<DeviceSliceMut<'a, T>>,
}

impl<'a, T: 'a> Pointers<'a, T> {
    /// Copies the addresses of the first elements of `parts` to `device`.
    ///
    /// # Errors
    /// An error from an allocation or from a copy to the device.
    pub fn new(device: &Device, parts: impl IntoIterator<Item: IntoSlice<'a, T>>) -> Result<Self> {
        let parts: Vec<DeviceSlice<'a, T>> = parts.into_iter().map(Into::into).collect();
        let addresses: Vec<u64> = parts.iter().map(|part| part.as_device_ptr().address()).collect();
        Ok(Self { table: DeviceBuffer::from_slice(device, &addresses)?, parts })
    }

    pub(crate) fn place(&'a self) -> Ref<'a, T> {
        Ref(Blocks::Pointers { table: self.table.as_slice(), parts: &self.parts })
    }
}

impl<'a, T: 'a> PointersMut<'a, T> {
    /// Copies the addresses of the first elements of `parts` to `device`.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if two of the parts overlap; an error from an allocation or from a copy to the device.
    pub fn new(device: &Device, parts: impl IntoIterator<Item: IntoSliceMut<'a, T>>) -> Result<Self> {
        let parts: Vec<DeviceSliceMut<'a, T>> = parts.into_iter().map(Into::into).collect();
        let mut order: Vec<&DeviceSliceMut<'a, T>> = parts.iter().collect();
        order.sort_by_key(|part| part.as_device_ptr().address());
        if order.windows(2).any(|two| two[0].overlaps(two[1])) {
            return Err(invalid("the members of a batch to write to", "memory that overlaps", "apart from each other"));
        }
        let addresses: Vec<u64> = parts.iter().map(|part| part.as_device_ptr().address()).collect();
        Ok(Self { table: DeviceBuffer::from_slice(device, &addresses)?, parts })
    }

    pub(crate) fn place(&mut self) -> Mut<'_, T> {
        let parts = self.parts.iter_mut().map(Into::into).collect();
        Mut(Blocks::Pointers { table: self.table.as_slice(), parts })
    }
}
