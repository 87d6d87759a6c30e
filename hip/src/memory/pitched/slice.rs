//! Slices of pitched memory.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use bytemuck::Pod;

use super::extent::Extent;
use super::side::Side;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::memory::admission::Admission;
use crate::memory::allocation::Allocation;
use crate::memory::box_copy::End;
use crate::memory::device_ptr::DevicePtr;
use crate::memory::slice::{DeviceSlice, DeviceSliceMut};
use crate::stream::usage::{Access, AccessKind};

/// The layout of a slice within its allocation.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// Bytes to the first element.
    pub(super) offset: usize,
    /// Bytes from row to row.
    pub(super) pitch: usize,
    /// Bytes from plane to plane, a multiple of the pitch.
    pub(super) plane: usize,
    pub(super) extent: Extent,
}

impl Layout {
    fn region<T>(
        self,
        x: impl RangeBounds<usize>,
        y: impl RangeBounds<usize>,
        z: impl RangeBounds<usize>,
    ) -> Result<Self> {
        let ([x, y, z], extent) = self.extent.region(x, y, z)?;
        let offset = self.offset + z * self.plane + y * self.pitch + x * size_of::<T>();
        Ok(Self { offset, extent, ..self })
    }

    /// Creates the layout of contiguous rows of `width` elements each.
    fn rows<T>(offset: usize, len: usize, width: usize) -> Result<Self> {
        if width == 0 || len % width != 0 {
            return Err(Error::InvalidValue {
                what: "the length of a row",
                value: width.to_string(),
                allowed: format!("a divisor of the {len} elements"),
            });
        }
        let pitch = width * size_of::<T>();
        let extent = Extent::new_2d(width, len / width);
        Ok(Self { offset, pitch, plane: pitch * extent.height, extent })
    }
}

/// A box of elements of a [`PitchedBuffer`](super::PitchedBuffer), or the rows of a [`DeviceSlice`], borrowed. Copying
/// it copies no elements.
pub struct PitchedSlice<'a, T> {
    memory: &'a Allocation,
    layout: Layout,
    elements: PhantomData<&'a [T]>,
}

/// A mutable box of elements of a [`PitchedBuffer`](super::PitchedBuffer), or the rows of a [`DeviceSliceMut`]. Mutable
/// boxes never overlap.
pub struct PitchedSliceMut<'a, T> {
    memory: &'a Allocation,
    layout: Layout,
    elements: PhantomData<&'a mut [T]>,
}

macro_rules! common {
    ($type:ident, $linear:ident, $access:expr) => {
        impl<'a, T> $type<'a, T> {
            /// Creates a slice. The layout must be inside of `memory`.
            pub(super) fn new(memory: &'a Allocation, layout: Layout) -> Self {
                Self { memory, layout, elements: PhantomData }
            }

            /// Converts this slice to the elements in a range of columns, of rows and of planes.
            ///
            /// # Errors
            /// [`Range`](crate::Error::Range) if a range is out of bounds.
            pub fn into_region(
                self,
                x: impl RangeBounds<usize>,
                y: impl RangeBounds<usize>,
                z: impl RangeBounds<usize>,
            ) -> Result<Self> {
                Ok(Self::new(self.memory, self.layout.region::<T>(x, y, z)?))
            }

            /// Returns the number of elements along each dimension.
            #[must_use]
            pub fn extent(&self) -> Extent {
                self.layout.extent
            }

            /// Returns the bytes from one row to the next.
            #[must_use]
            pub fn pitch(&self) -> usize {
                self.layout.pitch
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
                self.memory.pointer.wrapping_byte_add(self.layout.offset)
            }

            pub(crate) fn access(&self) -> Access<'a> {
                Access::new(&self.memory.usage, $access)
            }

            /// Returns `Ok` if work on `device` may access the elements in this way.
            pub(crate) fn admit(&self, device: Device, what: &'static str) -> Result<Admission> {
                self.memory.admit(device, $access, what)
            }

            /// Returns it as one end of a copy.
            pub(crate) fn end(&self) -> End {
                End::Memory(self.side().pitched(self.layout.extent.width * size_of::<T>()))
            }

            pub(super) fn side(&self) -> Side {
                let Layout { pitch, plane, .. } = self.layout;
                Side { pointer: self.pointer(), pitch, rows: plane.checked_div(pitch).unwrap_or(0) }
            }

            /// Returns the number of elements, which cannot overflow for an extent within memory.
            pub(super) fn elements(&self) -> usize {
                self.layout.extent.elements().unwrap_or(usize::MAX)
            }
        }

        impl<T> fmt::Debug for $type<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($type))
                    .field("type", &std::any::type_name::<T>())
                    .field("extent", &format_args!("{}", self.layout.extent))
                    .field("pitch", &self.layout.pitch)
                    .field("address", &self.as_device_ptr())
                    .finish()
            }
        }

        impl<'a, T: Pod> $linear<'a, T> {
            /// Converts the elements to contiguous rows of `width` each: for copies from and to
            /// [`PitchedBuffer`](crate::memory::PitchedBuffer)s, and of sub-rectangles.
            ///
            /// # Errors
            /// [`InvalidValue`](crate::Error::InvalidValue) if the number of elements is not a multiple of `width`.
            pub fn into_rows(self, width: usize) -> Result<$type<'a, T>> {
                let layout = Layout::rows::<T>(self.byte_offset(), self.len(), width)?;
                Ok($type::new(self.memory(), layout))
            }
        }
    };
}

common!(PitchedSlice, DeviceSlice, AccessKind::Read);
common!(PitchedSliceMut, DeviceSliceMut, AccessKind::Write);

impl<'a, T> PitchedSliceMut<'a, T> {
    pub(super) fn usage(&self) -> &'a crate::stream::usage::Usage {
        &self.memory.usage
    }

    pub(super) fn into_slice(self) -> PitchedSlice<'a, T> {
        PitchedSlice::new(self.memory, self.layout)
    }

    /// Returns these elements as a shared slice.
    #[must_use]
    pub fn as_slice(&self) -> PitchedSlice<'_, T> {
        PitchedSlice::new(self.memory, self.layout)
    }
}

impl<'a, T> PitchedSlice<'a, T> {
    pub(super) fn usage(&self) -> &'a crate::stream::usage::Usage {
        &self.memory.usage
    }

    /// Returns the elements of a range of columns, of rows and of planes.
    ///
    /// # Errors
    /// [`Range`](crate::Error::Range) if a range is out of bounds.
    pub fn region(
        &self,
        x: impl RangeBounds<usize>,
        y: impl RangeBounds<usize>,
        z: impl RangeBounds<usize>,
    ) -> Result<PitchedSlice<'a, T>> {
        self.into_region(x, y, z)
    }
}
