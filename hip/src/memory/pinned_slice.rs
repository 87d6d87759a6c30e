//! Slices of pinned host memory, for queued copies.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use super::admission::Admission;
use super::allocation::Allocation;
use super::bounds::range_of;
use crate::core::device::Device;
use crate::core::error::Result;
use crate::stream::usage::{Access, AccessKind};

/// A slice of pinned host memory, as the source of a queued copy: of a [`PinnedBuffer`](crate::PinnedBuffer), of
/// registered or of managed memory.
pub struct PinnedSlice<'a, T> {
    memory: &'a Allocation,
    /// In bytes.
    offset: usize,
    len: usize,
    elements: PhantomData<&'a [T]>,
}

/// A slice of pinned host memory, as the destination of a queued copy: of a [`PinnedBuffer`](crate::PinnedBuffer), of
/// registered or of managed memory.
pub struct PinnedSliceMut<'a, T> {
    memory: &'a Allocation,
    /// In bytes.
    offset: usize,
    len: usize,
    elements: PhantomData<&'a mut [T]>,
}

impl<T> Clone for PinnedSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for PinnedSlice<'_, T> {}

macro_rules! common {
    ($type:ident, $access:expr) => {
        impl<'a, T> $type<'a, T> {
            /// Creates a slice of the first `len` elements of `memory`, which must hold as many.
            pub(super) fn new(memory: &'a Allocation, len: usize) -> Self {
                Self { memory, offset: 0, len, elements: PhantomData }
            }

            /// Returns the number of elements.
            #[must_use]
            pub fn len(&self) -> usize {
                self.len
            }

            /// Returns whether there are no elements.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len == 0
            }

            /// Converts this slice to a range of its elements.
            ///
            /// # Errors
            /// [`Range`](crate::Error::Range) if it is out of bounds.
            pub fn into_slice(self, range: impl RangeBounds<usize>) -> Result<Self> {
                let (start, len) = range_of(range, self.len)?;
                let offset = self.offset + start * size_of::<T>();
                Ok(Self { memory: self.memory, offset, len, elements: PhantomData })
            }

            pub(crate) fn pointer(&self) -> *mut c_void {
                // Within the allocation, as the offset is within its length.
                self.memory.host.wrapping_byte_add(self.offset)
            }

            pub(crate) fn access(&self) -> Access<'a> {
                Access::new(&self.memory.usage, $access)
            }

            /// Returns whether the memory is managed.
            #[cfg(feature = "rocm-10-0")]
            pub(crate) fn is_managed(&self) -> bool {
                // An empty buffer has no allocation.
                self.len == 0 || matches!(self.memory.owner(), crate::memory::allocation::Owner::Managed)
            }

            pub(crate) fn memory(&self) -> &'a Allocation {
                self.memory
            }

            /// Returns `Ok` if copies on `device` may use the memory.
            pub(crate) fn admit(&self, device: Device, what: &'static str) -> Result<Admission> {
                self.memory.admit(device, $access, what)
            }
        }

        impl<T> fmt::Debug for $type<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($type)).field("len", &self.len).field("pointer", &self.pointer()).finish()
            }
        }
    };
}

common!(PinnedSlice, AccessKind::Read);
common!(PinnedSliceMut, AccessKind::Write);

impl<'a, T> PinnedSlice<'a, T> {
    /// Returns a range of the elements.
    ///
    /// # Errors
    /// [`Range`](crate::Error::Range) if it is out of bounds.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<PinnedSlice<'a, T>> {
        self.into_slice(range)
    }
}

impl<'a, T> From<PinnedSliceMut<'a, T>> for PinnedSlice<'a, T> {
    fn from(slice: PinnedSliceMut<'a, T>) -> Self {
        Self { memory: slice.memory, offset: slice.offset, len: slice.len, elements: PhantomData }
    }
}

impl<'a, T> From<&PinnedSlice<'a, T>> for PinnedSlice<'a, T> {
    fn from(slice: &PinnedSlice<'a, T>) -> Self {
        *slice
    }
}

impl<'a, T> From<&'a PinnedSliceMut<'_, T>> for PinnedSlice<'a, T> {
    fn from(slice: &'a PinnedSliceMut<'_, T>) -> Self {
        Self { memory: slice.memory, offset: slice.offset, len: slice.len, elements: PhantomData }
    }
}

impl<'a, T> From<&'a mut PinnedSliceMut<'_, T>> for PinnedSliceMut<'a, T> {
    fn from(slice: &'a mut PinnedSliceMut<'_, T>) -> Self {
        Self { memory: slice.memory, offset: slice.offset, len: slice.len, elements: PhantomData }
    }
}
