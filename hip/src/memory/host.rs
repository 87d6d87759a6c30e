//! What pinned, registered and managed memory have in common: the host's view of it, and the devices'.

/// Defines, for a type with the fields `memory` (an `Allocation` or a reference to one that holds `len` elements, with
/// `host` set) and `len`, the methods with which host and devices get at the elements.
macro_rules! host_memory {
    (<$($lifetime:lifetime,)? $element:ident> $type:ty) => {
        impl<$($lifetime,)? $element: bytemuck::Pod> $type {
            /// The elements, after all queued work that writes to them.
            ///
            /// # Errors
            /// An error of the queued work comes back here.
            pub fn as_slice(&self) -> $crate::core::error::Result<&[$element]> {
                self.memory.usage.wait($crate::stream::usage::AccessKind::Read)?;
                // SAFETY: `len` elements, aligned and set since the memory was made. Nothing that is queued writes to them,
                // and nothing that would can be queued while they are borrowed, for that takes `&mut self`.
                Ok(unsafe { std::slice::from_raw_parts(self.elements(), self.len) })
            }

            /// The elements to write to, after all queued work that uses them.
            ///
            /// # Errors
            /// An error of the queued work comes back here.
            pub fn as_mut_slice(&mut self) -> $crate::core::error::Result<&mut [$element]> {
                self.memory.usage.wait($crate::stream::usage::AccessKind::Write)?;
                // SAFETY: as above, and nothing that reads them is queued or can be while they are borrowed.
                Ok(unsafe { std::slice::from_raw_parts_mut(self.elements(), self.len) })
            }

            /// The elements of a range, for a queued copy from them. The host looks at them with [`as_slice`](Self::as_slice).
            ///
            /// # Errors
            /// [`Range`](crate::Error::Range) if it is not inside of the buffer.
            pub fn slice(
                &self,
                range: impl std::ops::RangeBounds<usize>,
            ) -> $crate::core::error::Result<$crate::memory::PinnedSlice<'_, $element>> {
                $crate::memory::PinnedSlice::new(&self.memory, self.len).slice(range)
            }

            /// The elements of a range, for a queued copy to them. The host writes to them with
            /// [`as_mut_slice`](Self::as_mut_slice).
            ///
            /// # Errors
            /// [`Range`](crate::Error::Range) if it is not inside of the buffer.
            pub fn slice_mut(
                &mut self,
                range: impl std::ops::RangeBounds<usize>,
            ) -> $crate::core::error::Result<$crate::memory::PinnedSliceMut<'_, $element>> {
                $crate::memory::PinnedSliceMut::new(&self.memory, self.len).into_slice(range)
            }

            /// The same memory as devices see it (`hipHostGetDevicePointer`): for kernels that read it in place.
            ///
            /// # Errors
            /// [`InvalidValue`](crate::Error::InvalidValue) if it was not made to be mapped.
            #[doc(alias("hipHostGetDevicePointer", "cuMemHostGetDevicePointer", "cudaHostGetDevicePointer"))]
            pub fn as_device_slice(&self) -> $crate::core::error::Result<$crate::memory::DeviceSlice<'_, $element>> {
                $crate::memory::mapped(&self.memory)?;
                Ok($crate::memory::DeviceSlice::new(&self.memory, 0, self.len))
            }

            /// The same memory as devices see it (`hipHostGetDevicePointer`): for kernels that write to it in place. What the
            /// host does with it next waits for them.
            ///
            /// # Errors
            /// [`InvalidValue`](crate::Error::InvalidValue) if it was not made to be mapped.
            #[doc(alias("hipHostGetDevicePointer", "cuMemHostGetDevicePointer", "cudaHostGetDevicePointer"))]
            pub fn as_device_slice_mut(&mut self) -> $crate::core::error::Result<$crate::memory::DeviceSliceMut<'_, $element>> {
                $crate::memory::mapped(&self.memory)?;
                Ok($crate::memory::DeviceSliceMut::new(&self.memory, 0, self.len))
            }
        }

        impl<$($lifetime,)? $element> $type {
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

            /// The device in whose context the memory was made.
            #[must_use]
            pub fn device(&self) -> $crate::core::device::Device {
                self.memory.device
            }

            /// Blocks until no queued work that this crate knows of uses the memory.
            ///
            /// # Errors
            /// An error of the queued work comes back here.
            pub fn synchronize(&self) -> $crate::core::error::Result<()> {
                self.memory.usage.wait_for_all()
            }

            /// The first element; dangling, but aligned, if there is none.
            fn elements(&self) -> *mut $element {
                if self.len == 0 { std::ptr::dangling_mut() } else { self.memory.host.cast() }
            }
        }

        impl<$($lifetime,)? $element> std::fmt::Debug for $type {
            /// The elements are not shown: queued work may be writing to them.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                // The name without its path and parameters.
                let name = std::any::type_name::<Self>().split('<').next().unwrap_or_default();
                f.debug_struct(name.rsplit("::").next().unwrap_or_default())
                    .field("type", &std::any::type_name::<$element>())
                    .field("len", &self.len)
                    .field("pointer", &self.memory.host)
                    .finish()
            }
        }
    };
}
pub(super) use host_memory;

/// Defines how a reference to such a type passes for a slice.
macro_rules! host_slices {
    (<$($lifetime:lifetime,)? $element:ident> $type:ty) => {
        impl<'a, $($lifetime,)? $element: bytemuck::Pod> From<&'a $type> for $crate::memory::PinnedSlice<'a, $element> {
            fn from(memory: &'a $type) -> Self {
                Self::new(&memory.memory, memory.len)
            }
        }

        impl<'a, $($lifetime,)? $element: bytemuck::Pod> From<&'a mut $type> for $crate::memory::PinnedSlice<'a, $element> {
            fn from(memory: &'a mut $type) -> Self {
                Self::from(&*memory)
            }
        }

        impl<'a, $($lifetime,)? $element: bytemuck::Pod> From<&'a mut $type> for $crate::memory::PinnedSliceMut<'a, $element> {
            fn from(memory: &'a mut $type) -> Self {
                Self::new(&memory.memory, memory.len)
            }
        }
    };
}
pub(super) use host_slices;
