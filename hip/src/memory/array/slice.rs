//! Boxes of texels, borrowed.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use hip_sys::hipArray_t;

use super::shape::ArrayShape;
use super::texel::Texel;
use crate::core::device::Device;
use crate::core::error::Result;
use crate::memory::box_copy::End;
use crate::memory::pitched::extent::Extent;
use crate::stream::usage::{Access, AccessKind, Usage};

/// A box of texels of an array.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) raw: hipArray_t,
    pub(super) device: Device,
    pub(super) usage: &'a Usage,
    /// The shape of the whole array.
    pub(super) shape: ArrayShape,
    /// The first texel: column, row, plane.
    pub(super) first: [usize; 3],
    pub(super) extent: Extent,
}

impl Part<'_> {
    fn region(
        self,
        x: impl RangeBounds<usize>,
        y: impl RangeBounds<usize>,
        z: impl RangeBounds<usize>,
    ) -> Result<Self> {
        let ([x, y, z], extent) = self.extent.region(x, y, z)?;
        let [x0, y0, z0] = self.first;
        Ok(Self { first: [x0 + x, y0 + y, z0 + z], extent, ..self })
    }
}

/// A box of texels of an [`Array`](super::Array) or of a level of a [`MipmappedArray`](super::MipmappedArray),
/// borrowed. Copying it copies no texels.
pub struct ArraySlice<'a, T> {
    pub(super) part: Part<'a>,
    texels: PhantomData<&'a [T]>,
}

/// A mutable box of texels of an [`Array`](super::Array) or of a level of a
/// [`MipmappedArray`](super::MipmappedArray). Mutable boxes never overlap.
pub struct ArraySliceMut<'a, T> {
    pub(super) part: Part<'a>,
    texels: PhantomData<&'a mut [T]>,
}

// SAFETY: as for Array: a handle for the runtime, and its description.
unsafe impl<T: Sync> Send for ArraySlice<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for ArraySlice<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for ArraySliceMut<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for ArraySliceMut<'_, T> {}

macro_rules! common {
    ($type:ident, $access:expr) => {
        impl<'a, T> $type<'a, T> {
            pub(super) fn new(part: Part<'a>) -> Self {
                Self { part, texels: PhantomData }
            }

            /// Converts this slice to the texels in a range of columns, of rows and of planes.
            ///
            /// # Errors
            /// [`Range`](crate::Error::Range) if a range is out of bounds.
            pub fn into_region(
                self,
                x: impl RangeBounds<usize>,
                y: impl RangeBounds<usize>,
                z: impl RangeBounds<usize>,
            ) -> Result<Self> {
                Ok(Self::new(self.part.region(x, y, z)?))
            }

            /// Returns the number of texels along each dimension.
            #[must_use]
            pub fn extent(&self) -> Extent {
                self.part.extent
            }

            /// Returns the device.
            #[must_use]
            pub fn device(&self) -> Device {
                self.part.device
            }

            pub(crate) fn access(&self) -> Access<'a> {
                Access::new(self.part.usage, $access)
            }

            /// Returns it as one end of a copy.
            pub(crate) fn end(&self) -> End {
                self.part.end()
            }

            /// Returns the number of texels, which cannot overflow for an extent within memory.
            pub(super) fn texels(&self) -> usize {
                self.part.extent.elements().unwrap_or(usize::MAX)
            }
        }

        impl<T: Texel> fmt::Debug for $type<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($type))
                    .field("format", &format_args!("{}", T::FORMAT))
                    .field("of", &self.part.shape)
                    .field("first", &self.part.first)
                    .field("extent", &format_args!("{}", self.part.extent))
                    .finish()
            }
        }
    };
}

common!(ArraySlice, AccessKind::Read);
common!(ArraySliceMut, AccessKind::Write);

impl<'a, T> ArraySliceMut<'a, T> {
    pub(super) fn into_slice(self) -> ArraySlice<'a, T> {
        ArraySlice::new(self.part)
    }

    /// Returns these texels as a shared slice.
    #[must_use]
    pub fn as_slice(&self) -> ArraySlice<'_, T> {
        ArraySlice::new(self.part)
    }
}
