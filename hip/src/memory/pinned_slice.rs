use std::ffi::c_void;
use std::fmt;
use std::ops::RangeBounds;

use bytemuck::Pod;

use super::{PinnedBuffer, range_of};
use crate::error::Result;
use crate::usage::{Access, AccessKind};

/// Some elements of a [`PinnedBuffer`], borrowed for a queued copy from them.
pub struct PinnedSlice<'a, T> {
    buffer: &'a PinnedBuffer<T>,
    offset: usize,
    len: usize,
}

/// Some elements of a [`PinnedBuffer`], borrowed for a queued copy to them.
pub struct PinnedSliceMut<'a, T> {
    buffer: &'a mut PinnedBuffer<T>,
    offset: usize,
    len: usize,
}

impl<T> Clone for PinnedSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for PinnedSlice<'_, T> {}

impl<T> PinnedBuffer<T> {
    /// The elements of a range, for a queued copy from them. The host looks at them with [`as_slice`](Self::as_slice).
    ///
    /// # Errors
    /// [`Range`](crate::Error::Range) if it is not inside of the buffer.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<PinnedSlice<'_, T>> {
        let (offset, len) = range_of(range, self.len())?;
        Ok(PinnedSlice { buffer: self, offset, len })
    }

    /// The elements of a range, for a queued copy to them. The host writes to them with
    /// [`as_mut_slice`](Self::as_mut_slice).
    ///
    /// # Errors
    /// [`Range`](crate::Error::Range) if it is not inside of the buffer.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<PinnedSliceMut<'_, T>> {
        let (offset, len) = range_of(range, self.len())?;
        Ok(PinnedSliceMut { buffer: self, offset, len })
    }
}

macro_rules! common {
    ($type:ident, $access:expr) => {
        impl<T> $type<'_, T> {
            /// Elements.
            #[must_use]
            pub fn len(&self) -> usize {
                self.len
            }

            /// Whether there are no elements.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len == 0
            }

            pub(crate) fn pointer(&self) -> *mut c_void {
                // Inside of the allocation, as the offset is inside of its length.
                self.buffer.pointer().wrapping_byte_add(self.offset * size_of::<T>())
            }

            pub(crate) fn access(&self) -> Access<'_> {
                Access { usage: self.buffer.usage(), kind: $access }
            }
        }

        impl<'a, T> $type<'a, T> {
            /// As [`access`](Self::access), for as long as the buffer is borrowed.
            pub(crate) fn into_access(self) -> Access<'a> {
                Access { usage: self.buffer.usage(), kind: $access }
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

impl<'a, T: Pod> From<&'a PinnedBuffer<T>> for PinnedSlice<'a, T> {
    fn from(buffer: &'a PinnedBuffer<T>) -> Self {
        Self { buffer, offset: 0, len: buffer.len() }
    }
}

impl<'a, T: Pod> From<&'a mut PinnedBuffer<T>> for PinnedSliceMut<'a, T> {
    fn from(buffer: &'a mut PinnedBuffer<T>) -> Self {
        let len = buffer.len();
        Self { buffer, offset: 0, len }
    }
}

impl<'a, T: Pod> From<&'a mut PinnedBuffer<T>> for PinnedSlice<'a, T> {
    fn from(buffer: &'a mut PinnedBuffer<T>) -> Self {
        Self::from(&*buffer)
    }
}
