//! Slices of device memory.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use super::admission::Admission;
use super::allocation::Allocation;
use super::bounds::range_of;
use super::device_ptr::DevicePtr;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::stream::usage::{Access, AccessKind, Span, Usage};

/// A slice of a [`DeviceBuffer`](crate::DeviceBuffer). Copying it copies no elements.
pub struct DeviceSlice<'a, T> {
    memory: &'a Allocation,
    /// In bytes.
    offset: usize,
    len: usize,
    elements: PhantomData<&'a [T]>,
}

/// A mutable slice of a [`DeviceBuffer`](crate::DeviceBuffer). Mutable slices never overlap.
pub struct DeviceSliceMut<'a, T> {
    memory: &'a Allocation,
    /// In bytes.
    offset: usize,
    len: usize,
    elements: PhantomData<&'a mut [T]>,
}

impl<T> Clone for DeviceSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DeviceSlice<'_, T> {}

macro_rules! common {
    ($type:ident) => {
        impl<'a, T> $type<'a, T> {
            /// Creates a slice. `len` elements from `offset` bytes on must be inside of `memory`, and no conflicting
            /// borrow may exist.
            pub(super) fn new(memory: &'a Allocation, offset: usize, len: usize) -> Self {
                Self { memory, offset, len, elements: PhantomData }
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

            /// Returns the size in bytes.
            #[must_use]
            pub fn byte_len(&self) -> usize {
                self.len * size_of::<T>()
            }

            /// Returns the device.
            #[must_use]
            pub fn device(&self) -> Device {
                self.memory.device
            }

            /// Returns the address of the first element. The buffer does not track accesses through it.
            #[must_use]
            pub fn as_device_ptr(&self) -> DevicePtr<T> {
                DevicePtr::from_address(self.pointer() as u64)
            }

            pub(crate) fn pointer(&self) -> *mut c_void {
                // Inside of the allocation or one past it; an address for the device, not dereferenced here.
                self.memory.pointer.wrapping_byte_add(self.offset)
            }

            pub(crate) fn usage(&self) -> &'a Usage {
                &self.memory.usage
            }

            /// Returns the addresses of the elements.
            pub(crate) fn span(&self) -> Span {
                Span::new(self.pointer(), self.byte_len())
            }

            pub(crate) fn memory(&self) -> &'a Allocation {
                self.memory
            }

            /// Returns the offset from the start of the allocation, in bytes.
            pub(super) fn byte_offset(&self) -> usize {
                self.offset
            }

            /// Returns whether the two share memory. Slices of one buffer cannot overlap if one of them is mutable, but
            /// memory that is mapped or opened twice can.
            #[must_use]
            pub fn overlaps<'b, U: 'b>(&self, other: impl IntoSlice<'b, U>) -> bool {
                let other = other.into();
                let (a, b) = (self.pointer() as usize, other.pointer() as usize);
                !self.is_empty() && !other.is_empty() && a < b + other.byte_len() && b < a + self.byte_len()
            }
        }

        impl<T> fmt::Debug for $type<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($type))
                    .field("type", &std::any::type_name::<T>())
                    .field("len", &self.len)
                    .field("device", &self.memory.device.index())
                    .field("address", &self.as_device_ptr())
                    .finish()
            }
        }
    };
}

common!(DeviceSlice);
common!(DeviceSliceMut);

impl<'a, T> DeviceSlice<'a, T> {
    pub(crate) fn access(&self) -> Access<'a> {
        Access::read(self.usage())
    }

    /// Returns `Ok` if work on `device` may read these elements.
    pub(crate) fn admit(&self, device: Device, what: &'static str) -> Result<Admission> {
        self.memory.admit(device, AccessKind::Read, what)
    }

    /// Returns a range of the elements.
    ///
    /// # Errors
    /// [`Error::Range`] if it is out of bounds.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<DeviceSlice<'a, T>> {
        let (offset, len) = range_of(range, self.len)?;
        Ok(Self::new(self.memory, self.offset + offset * size_of::<T>(), len))
    }

    /// Returns the elements before `middle`, and the rest.
    ///
    /// # Errors
    /// [`Error::Range`] if `middle` is out of bounds.
    pub fn split_at(&self, middle: usize) -> Result<(DeviceSlice<'a, T>, DeviceSlice<'a, T>)> {
        Ok((self.slice(..middle)?, self.slice(middle..)?))
    }
}

impl<'a, T> DeviceSliceMut<'a, T> {
    pub(crate) fn access(&self) -> Access<'a> {
        Access::write_span(self.usage(), self.span())
    }

    /// Returns `Ok` if work on `device` may write to these elements.
    pub(crate) fn admit(&self, device: Device, what: &'static str) -> Result<Admission> {
        self.memory.admit(device, AccessKind::Write, what)
    }

    /// Returns these elements as a shared slice.
    #[must_use]
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::new(self.memory, self.offset, self.len)
    }

    /// Returns a range of the elements as a shared slice.
    ///
    /// # Errors
    /// [`Error::Range`] if it is out of bounds.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<DeviceSlice<'_, T>> {
        self.as_slice().slice(range)
    }

    /// Returns a range of the elements as a mutable slice, borrowed from this one.
    ///
    /// # Errors
    /// [`Error::Range`] if it is out of bounds.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<DeviceSliceMut<'_, T>> {
        let (offset, len) = range_of(range, self.len)?;
        Ok(DeviceSliceMut::new(self.memory, self.offset + offset * size_of::<T>(), len))
    }

    /// Converts this slice to a range of its elements.
    ///
    /// # Errors
    /// [`Error::Range`] if it is out of bounds.
    pub fn into_slice(self, range: impl RangeBounds<usize>) -> Result<DeviceSliceMut<'a, T>> {
        let (offset, len) = range_of(range, self.len)?;
        Ok(DeviceSliceMut::new(self.memory, self.offset + offset * size_of::<T>(), len))
    }

    /// Returns the elements before `middle`, and the rest, as two mutable slices.
    ///
    /// The buffer records its uses as a whole: work that writes to one half on a stream comes after earlier work on the
    /// other half on another stream.
    ///
    /// # Errors
    /// [`Error::Range`] if `middle` is out of bounds.
    pub fn split_at_mut(&mut self, middle: usize) -> Result<(DeviceSliceMut<'_, T>, DeviceSliceMut<'_, T>)> {
        if middle > self.len {
            return Err(Error::Range { start: 0, end: middle, len: self.len });
        }
        Ok((
            DeviceSliceMut::new(self.memory, self.offset, middle),
            DeviceSliceMut::new(self.memory, self.offset + middle * size_of::<T>(), self.len - middle),
        ))
    }
}

impl<'a, T> From<DeviceSliceMut<'a, T>> for DeviceSlice<'a, T> {
    fn from(slice: DeviceSliceMut<'a, T>) -> Self {
        Self::new(slice.memory, slice.offset, slice.len)
    }
}

impl<'a, T> From<&DeviceSlice<'a, T>> for DeviceSlice<'a, T> {
    fn from(slice: &DeviceSlice<'a, T>) -> Self {
        *slice
    }
}

impl<'a, T> From<&'a DeviceSliceMut<'_, T>> for DeviceSlice<'a, T> {
    fn from(slice: &'a DeviceSliceMut<'_, T>) -> Self {
        Self::new(slice.memory, slice.offset, slice.len)
    }
}

impl<'a, T> From<&'a mut DeviceSliceMut<'_, T>> for DeviceSliceMut<'a, T> {
    fn from(slice: &'a mut DeviceSliceMut<'_, T>) -> Self {
        Self::new(slice.memory, slice.offset, slice.len)
    }
}

/// Device memory of `T` that a call reads: `&DeviceBuffer<T>`, `&ManagedBuffer<T>`, [`DeviceSlice<T>`](DeviceSlice), or
/// a slice to write to.
///
/// All types that convert to a [`DeviceSlice`] implement it, and no others can: implement
/// [`From`] for the slice.
///
/// ```
/// use hip::{DeviceBuffer, IntoSlice, Result};
///
/// fn bytes<'a>(memory: impl IntoSlice<'a, f32>) -> usize {
///     memory.into().byte_len()
/// }
/// # fn main() -> Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// let buffer = DeviceBuffer::from_slice(&hip::Device::get(0)?, &[1.0f32, 2.0])?;
/// assert_eq!((bytes(&buffer), bytes(buffer.slice(1..)?)), (8, 4));
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "expected device memory of `{T}` to read from, found `{Self}`: pass `&` of a `DeviceBuffer<{T}>`, or a `DeviceSlice<{T}>`",
    label = "not device memory of `{T}`",
    note = "memory of the host is copied to the device first: `DeviceBuffer::from_slice(&device, &values)`",
    note = "elements are not converted: a buffer of another type does not fit"
)]
pub trait IntoSlice<'a, T: 'a>: Into<DeviceSlice<'a, T>> {}

// Otherwise the compiler would mention only `From`.
#[diagnostic::do_not_recommend]
impl<'a, T: 'a, M: Into<DeviceSlice<'a, T>>> IntoSlice<'a, T> for M {}

/// Device memory of `T` that a call writes: `&mut DeviceBuffer<T>`, `&mut ManagedBuffer<T>`, or a
/// [`DeviceSliceMut<T>`](DeviceSliceMut).
///
/// All types that convert to a [`DeviceSliceMut`] implement it, and no others can: implement [`From`] for the slice.
#[diagnostic::on_unimplemented(
    message = "expected device memory of `{T}` to write to, found `{Self}`: pass `&mut` of a `DeviceBuffer<{T}>`, or a `DeviceSliceMut<{T}>`",
    label = "not device memory of `{T}` to write to",
    note = "memory of the host cannot be written: allocate with `DeviceBuffer::zeroed(&device, len)`, and copy the result with `to_vec`",
    note = "elements are not converted: a buffer of another type does not fit"
)]
pub trait IntoSliceMut<'a, T: 'a>: Into<DeviceSliceMut<'a, T>> {}

// Otherwise the compiler would mention only `From`.
#[diagnostic::do_not_recommend]
impl<'a, T: 'a, M: Into<DeviceSliceMut<'a, T>>> IntoSliceMut<'a, T> for M {}
