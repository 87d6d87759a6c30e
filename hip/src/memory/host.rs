//! Common code of pinned, registered and managed memory: access by the host and by devices.

use std::ffi::c_void;
use std::ptr;

use super::allocation::Allocation;
use crate::core::call::check;
use crate::core::error::{Error, Result};

/// Returns the device address of pinned host memory (`hipHostGetDevicePointer`).
pub(super) fn device_pointer(host: *mut c_void) -> Result<*mut c_void> {
    let mut pointer = ptr::null_mut();
    // SAFETY: `pointer` is valid for a write; for host memory that the runtime does not know, it returns an error.
    let status = unsafe { hip_sys::hipHostGetDevicePointer(&mut pointer, host, 0) };
    check(status, "hipHostGetDevicePointer", || format!("host memory at {host:p}"))?;
    Ok(pointer)
}

/// Returns `Ok` if devices can access the memory in place.
pub(super) fn mapped(memory: &Allocation) -> Result<()> {
    if !memory.pointer.is_null() || memory.bytes == 0 {
        return Ok(());
    }
    Err(Error::InvalidValue {
        what: "host memory that a device is to use in place",
        value: "pinned, but not mapped".to_owned(),
        allowed: "made with PinnedOptions::mapped".to_owned(),
    })
}

/// Defines, for a type with the fields `memory` (an `Allocation` or a reference to one that holds `len` elements, with
/// `host` set) and `len`, the methods with which host and devices access the elements.
macro_rules! host_memory {
    (<$($lifetime:lifetime,)? $element:ident> $type:ty) => {
        impl<$($lifetime,)? $element: bytemuck::Pod> $type {
            /// Returns the elements, after all queued work that writes to them is done.
            ///
            /// # Errors
            /// Errors of the queued work.
            pub fn as_slice(&self) -> $crate::core::error::Result<&[$element]> {
                self.memory.usage.wait($crate::stream::usage::AccessKind::Read)?;
                // SAFETY: `len` elements, aligned and initialised since the memory was allocated. No queued work writes to them, and none
                // can be queued while they are borrowed, because that takes `&mut self`.
                Ok(unsafe { std::slice::from_raw_parts(self.elements(), self.len) })
            }

            /// Returns the elements as a mutable slice, after all queued work that uses them is done.
            ///
            /// # Errors
            /// Errors of the queued work.
            pub fn as_mut_slice(&mut self) -> $crate::core::error::Result<&mut [$element]> {
                self.memory.usage.wait($crate::stream::usage::AccessKind::Write)?;
                // SAFETY: as above, and no work that reads them is queued or can be while they are borrowed.
                Ok(unsafe { std::slice::from_raw_parts_mut(self.elements(), self.len) })
            }

            /// Returns the elements of a range, as the source of a queued copy. The host reads them with
            /// [`as_slice`](Self::as_slice).
            ///
            /// # Errors
            /// [`Range`](crate::Error::Range) if it is out of bounds.
            pub fn slice(
                &self,
                range: impl std::ops::RangeBounds<usize>,
            ) -> $crate::core::error::Result<$crate::memory::pinned_slice::PinnedSlice<'_, $element>> {
                $crate::memory::pinned_slice::PinnedSlice::new(&self.memory, self.len).slice(range)
            }

            /// Returns the elements of a range, as the destination of a queued copy. The host writes to them with
            /// [`as_mut_slice`](Self::as_mut_slice).
            ///
            /// # Errors
            /// [`Range`](crate::Error::Range) if it is out of bounds.
            pub fn slice_mut(
                &mut self,
                range: impl std::ops::RangeBounds<usize>,
            ) -> $crate::core::error::Result<$crate::memory::pinned_slice::PinnedSliceMut<'_, $element>> {
                $crate::memory::pinned_slice::PinnedSliceMut::new(&self.memory, self.len).into_slice(range)
            }

            /// Returns the same memory for devices (`hipHostGetDevicePointer`): for kernels that read it in place.
            ///
            /// # Errors
            /// [`InvalidValue`](crate::Error::InvalidValue) if it was not allocated as mapped.
            #[doc(alias("hipHostGetDevicePointer", "cuMemHostGetDevicePointer", "cudaHostGetDevicePointer"))]
            pub fn as_device_slice(&self) -> $crate::core::error::Result<$crate::memory::slice::DeviceSlice<'_, $element>> {
                $crate::memory::host::mapped(&self.memory)?;
                Ok($crate::memory::slice::DeviceSlice::new(&self.memory, 0, self.len))
            }

            /// Returns the same memory for devices (`hipHostGetDevicePointer`): for kernels that write to it in place.
            /// Later accesses of the host wait for them.
            ///
            /// # Errors
            /// [`InvalidValue`](crate::Error::InvalidValue) if it was not allocated as mapped.
            #[doc(alias("hipHostGetDevicePointer", "cuMemHostGetDevicePointer", "cudaHostGetDevicePointer"))]
            pub fn as_device_slice_mut(&mut self) -> $crate::core::error::Result<$crate::memory::slice::DeviceSliceMut<'_, $element>> {
                $crate::memory::host::mapped(&self.memory)?;
                Ok($crate::memory::slice::DeviceSliceMut::new(&self.memory, 0, self.len))
            }
        }

        impl<$($lifetime,)? $element> $type {
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

            /// Returns the device in whose context the memory was allocated.
            #[must_use]
            pub fn device(&self) -> $crate::core::device::Device {
                self.memory.device
            }

            /// Blocks until no tracked work uses the memory.
            ///
            /// # Errors
            /// Errors of the queued work.
            pub fn synchronize(&self) -> $crate::core::error::Result<()> {
                self.memory.usage.wait_for_all()
            }

            /// Returns the address of the first element; dangling, but aligned, if there is none.
            fn elements(&self) -> *mut $element {
                if self.len == 0 { std::ptr::dangling_mut() } else { self.memory.host.cast() }
            }
        }

        impl<$($lifetime,)? $element> std::fmt::Debug for $type {
            /// Does not print the elements: queued work may be writing to them.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                // The type's name without its path and parameters.
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

/// Defines the conversions of references to such a type to slices.
macro_rules! host_slices {
    (<$($lifetime:lifetime,)? $element:ident> $type:ty) => {
        impl<'a, $($lifetime,)? $element: bytemuck::Pod> From<&'a $type> for $crate::memory::pinned_slice::PinnedSlice<'a, $element> {
            fn from(memory: &'a $type) -> Self {
                Self::new(&memory.memory, memory.len)
            }
        }

        impl<'a, $($lifetime,)? $element: bytemuck::Pod> From<&'a mut $type> for $crate::memory::pinned_slice::PinnedSlice<'a, $element> {
            fn from(memory: &'a mut $type) -> Self {
                Self::from(&*memory)
            }
        }

        impl<'a, $($lifetime,)? $element: bytemuck::Pod> From<&'a mut $type> for $crate::memory::pinned_slice::PinnedSliceMut<'a, $element> {
            fn from(memory: &'a mut $type) -> Self {
                Self::new(&memory.memory, memory.len)
            }
        }
    };
}
pub(super) use host_slices;
