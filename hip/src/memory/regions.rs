//! Common code of arrays and pitched memory.

/// Methods and conversions of memory in boxes (an owner, a slice, a mutable slice): whole copies, regions, `From`.
macro_rules! regions {
    ($owner:ident, $slice:ident, $slice_mut:ident, $element:path) => {
        impl<T: $element> $owner<T> {
            #[doc = concat!("See [`", stringify!($slice_mut), "::copy_from_slice`].")]
            pub fn copy_from_slice(&mut self, source: &[T]) -> $crate::core::error::Result<()> {
                self.as_slice_mut().copy_from_slice(source)
            }

            #[doc = concat!("See [`", stringify!($slice), "::copy_to_slice`].")]
            pub fn copy_to_slice(&self, destination: &mut [T]) -> $crate::core::error::Result<()> {
                self.as_slice().copy_to_slice(destination)
            }

            #[doc = concat!("See [`", stringify!($slice), "::to_vec`].")]
            pub fn to_vec(&self) -> $crate::core::error::Result<Vec<T>> {
                self.as_slice().to_vec()
            }
        }

        impl<T> $owner<T> {
            /// Returns the elements in a range of columns, of rows and of planes.
            ///
            /// # Errors
            /// [`Range`](crate::Error::Range) if a range is out of bounds.
            pub fn region(
                &self,
                x: impl std::ops::RangeBounds<usize>,
                y: impl std::ops::RangeBounds<usize>,
                z: impl std::ops::RangeBounds<usize>,
            ) -> $crate::core::error::Result<$slice<'_, T>> {
                self.as_slice().into_region(x, y, z)
            }

            /// Returns the elements in a range of columns, of rows and of planes, as a mutable slice.
            ///
            /// # Errors
            /// [`Range`](crate::Error::Range) if a range is out of bounds.
            pub fn region_mut(
                &mut self,
                x: impl std::ops::RangeBounds<usize>,
                y: impl std::ops::RangeBounds<usize>,
                z: impl std::ops::RangeBounds<usize>,
            ) -> $crate::core::error::Result<$slice_mut<'_, T>> {
                self.as_slice_mut().into_region(x, y, z)
            }
        }

        impl<T> Clone for $slice<'_, T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $slice<'_, T> {}

        impl<'a, T> From<&'a $owner<T>> for $slice<'a, T> {
            fn from(owner: &'a $owner<T>) -> Self {
                owner.as_slice()
            }
        }

        impl<'a, T> From<&'a mut $owner<T>> for $slice_mut<'a, T> {
            fn from(owner: &'a mut $owner<T>) -> Self {
                owner.as_slice_mut()
            }
        }

        impl<'a, T> From<$slice_mut<'a, T>> for $slice<'a, T> {
            fn from(slice: $slice_mut<'a, T>) -> Self {
                slice.into_slice()
            }
        }
    };
}
pub(super) use regions;
