//! Chunks of slices.

use std::fmt;
use std::iter::FusedIterator;

use super::{DeviceSlice, DeviceSliceMut};
use crate::core::error::{Error, Result};

/// Iterator over the chunks of a [`DeviceSlice`]; see [`DeviceSlice::chunks`].
pub struct Chunks<'a, T> {
    rest: DeviceSlice<'a, T>,
    size: usize,
}

/// Iterator over the disjoint chunks of a [`DeviceSliceMut`]; see [`DeviceSliceMut::chunks_mut`].
pub struct ChunksMut<'a, T> {
    rest: DeviceSliceMut<'a, T>,
    size: usize,
}

fn whole(size: usize) -> Result<usize> {
    match size {
        0 => {
            Err(Error::InvalidValue { what: "the length of a chunk", value: "0".into(), allowed: "at least 1".into() })
        }
        _ => Ok(size),
    }
}

/// Like [`whole`], for `len` elements that must divide into chunks without a remainder.
fn exact(size: usize, len: usize) -> Result<usize> {
    if whole(size)? <= len && len % size == 0 || len == 0 {
        return Ok(size);
    }
    Err(Error::InvalidValue {
        what: "the length of an exact chunk",
        value: size.to_string(),
        allowed: format!("a divisor of the {len} elements"),
    })
}

impl<'a, T> DeviceSlice<'a, T> {
    /// Returns chunks of `size` elements; the last may be shorter.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if `size` is 0.
    pub fn chunks(&self, size: usize) -> Result<Chunks<'a, T>> {
        Ok(Chunks { rest: *self, size: whole(size)? })
    }

    /// Returns chunks of `size` elements, without a remainder.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if `size` is 0 or the number of elements is not a multiple of it.
    pub fn chunks_exact(&self, size: usize) -> Result<Chunks<'a, T>> {
        Ok(Chunks { rest: *self, size: exact(size, self.len())? })
    }
}

impl<'a, T> DeviceSliceMut<'a, T> {
    /// Returns mutable chunks of `size` elements; the last may be shorter. All of them can be alive at the same time.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, DeviceBuffer};
    ///
    /// let mut rows = DeviceBuffer::<u32>::zeroed(&Device::get(0)?, 5)?;
    /// for (n, mut row) in rows.as_slice_mut().chunks_mut(2)?.enumerate() {
    ///     row.fill(n as u32)?;
    /// }
    /// assert_eq!(rows.to_vec()?, [0, 0, 1, 1, 2]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if `size` is 0.
    pub fn chunks_mut(self, size: usize) -> Result<ChunksMut<'a, T>> {
        Ok(ChunksMut { rest: self, size: whole(size)? })
    }

    /// Returns mutable chunks of `size` elements, without a remainder.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if `size` is 0 or the number of elements is not a multiple of it.
    pub fn chunks_exact_mut(self, size: usize) -> Result<ChunksMut<'a, T>> {
        let size = exact(size, self.len())?;
        Ok(ChunksMut { rest: self, size })
    }
}

macro_rules! iterator {
    ($iterator:ident, $item:ident) => {
        impl<'a, T> $iterator<'a, T> {
            /// Returns the elements before `middle` and from `middle` on, which must be in bounds.
            fn split(&self, middle: usize) -> ($item<'a, T>, $item<'a, T>) {
                let (memory, offset) = (self.rest.memory(), self.rest.byte_offset());
                let after = $item::new(memory, offset + middle * size_of::<T>(), self.rest.len() - middle);
                ($item::new(memory, offset, middle), after)
            }
        }

        impl<'a, T> Iterator for $iterator<'a, T> {
            type Item = $item<'a, T>;

            fn next(&mut self) -> Option<Self::Item> {
                if self.rest.is_empty() {
                    return None;
                }
                let (chunk, rest) = self.split(self.size.min(self.rest.len()));
                self.rest = rest;
                Some(chunk)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                let left = self.rest.len().div_ceil(self.size);
                (left, Some(left))
            }
        }

        impl<T> DoubleEndedIterator for $iterator<'_, T> {
            fn next_back(&mut self) -> Option<Self::Item> {
                if self.rest.is_empty() {
                    return None;
                }
                let (rest, chunk) = self.split((self.rest.len() - 1) / self.size * self.size);
                self.rest = rest;
                Some(chunk)
            }
        }

        impl<T> ExactSizeIterator for $iterator<'_, T> {}
        impl<T> FusedIterator for $iterator<'_, T> {}

        impl<T> fmt::Debug for $iterator<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($iterator)).field("rest", &self.rest).field("size", &self.size).finish()
            }
        }
    };
}

iterator!(Chunks, DeviceSlice);
iterator!(ChunksMut, DeviceSliceMut);
