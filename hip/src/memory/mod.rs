//! Memory of devices and pinned memory of the host.

mod buffer;
mod copy;
mod fill;
mod pinned;
mod pinned_slice;
mod slice;

use std::ffi::c_void;
use std::ops::{Bound, RangeBounds};
use std::ptr;

pub use buffer::DeviceBuffer;
pub use bytemuck::Pod;
pub use pinned::PinnedBuffer;
pub use pinned_slice::{PinnedSlice, PinnedSliceMut};
pub use slice::{DeviceSlice, DeviceSliceMut};

use crate::call::check;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::usage::Usage;

/// An address in device memory of elements of type `T`, of unknown life: what a kernel sees of a buffer.
///
/// It borrows nothing and keeps nothing alive. As a launch argument it passes for any pointer; the launch then knows
/// nothing of the memory, which is one more thing that its caller answers for.
#[repr(transparent)]
pub struct DevicePtr<T> {
    address: u64,
    element: std::marker::PhantomData<fn() -> T>,
}

impl<T> DevicePtr<T> {
    /// The pointer to nothing.
    #[must_use]
    pub const fn null() -> Self {
        Self::from_address(0)
    }

    /// A pointer by its address.
    #[must_use]
    pub const fn from_address(address: u64) -> Self {
        Self { address, element: std::marker::PhantomData }
    }

    /// The address, as device code sees it.
    #[must_use]
    pub const fn address(self) -> u64 {
        self.address
    }
}

impl<T> Clone for DevicePtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DevicePtr<T> {}

impl<T> PartialEq for DevicePtr<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<T> Eq for DevicePtr<T> {}

impl<T> std::fmt::Debug for DevicePtr<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.address)
    }
}

/// One allocation on a device. Freed when dropped, after all work that uses it.
pub(crate) struct DeviceMemory {
    /// Null if and only if there are no bytes.
    pointer: *mut c_void,
    bytes: usize,
    device: Device,
    usage: Usage,
}

// SAFETY: the pointer is an address that only the HIP runtime and devices dereference, which take it from any thread;
// what is in flight is counted in `usage`, which is Sync; memory is freed only in Drop, with no other reference.
unsafe impl Send for DeviceMemory {}
// SAFETY: as above.
unsafe impl Sync for DeviceMemory {}

impl DeviceMemory {
    fn new(device: &Device, bytes: usize) -> Result<Self> {
        let mut pointer = ptr::null_mut();
        if bytes != 0 {
            device.activate()?;
            // SAFETY: `pointer` is valid for a write.
            let status = unsafe { hip_sys::hipMalloc(&mut pointer, bytes) };
            check(status, "hipMalloc", || format!("{bytes} bytes on device {}", device.index()))?;
        }
        Ok(Self { pointer, bytes, device: *device, usage: Usage::default() })
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.pointer.is_null() {
            return;
        }
        let (address, device) = (self.pointer.expose_provenance(), self.device);
        self.usage.release(move || {
            if device.activate().is_ok() {
                // SAFETY: from hipMalloc, not freed yet, and no work uses it any more.
                let _ = unsafe { hip_sys::hipFree(ptr::with_exposed_provenance_mut(address)) };
            }
        });
    }
}

/// `len` elements of `T` in bytes.
pub(crate) fn byte_len<T>(len: usize) -> Result<usize> {
    if size_of::<T>() == 0 {
        return Err(Error::ZeroSizedType { type_name: std::any::type_name::<T>() });
    }
    // No allocation is larger than isize::MAX, and Rust slices may not be.
    match len.checked_mul(size_of::<T>()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(bytes),
        _ => Err(Error::TooLarge { elements: len, element_bytes: size_of::<T>() }),
    }
}

/// A range of `0..len` as offset and length.
pub(crate) fn range_of(range: impl RangeBounds<usize>, len: usize) -> Result<(usize, usize)> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.checked_add(1).ok_or(Error::Range { start: before, end: len, len })?,
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.checked_add(1).ok_or(Error::Range { start, end: last, len })?,
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    if start <= end && end <= len { Ok((start, end - start)) } else { Err(Error::Range { start, end, len }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_do_not_fit_are_errors() {
        assert_eq!(byte_len::<f32>(3).unwrap(), 12);
        assert_eq!(byte_len::<f32>(0).unwrap(), 0);
        assert!(matches!(byte_len::<f32>(usize::MAX), Err(Error::TooLarge { element_bytes: 4, .. })));
        assert!(matches!(byte_len::<u8>(usize::MAX), Err(Error::TooLarge { .. })), "larger than isize::MAX");
        assert!(matches!(byte_len::<[u8; 0]>(1), Err(Error::ZeroSizedType { .. })));
    }

    #[test]
    fn ranges_of_all_shapes() {
        assert_eq!(range_of(.., 4).unwrap(), (0, 4));
        assert_eq!(range_of(1..3, 4).unwrap(), (1, 2));
        assert_eq!(range_of(1..=3, 4).unwrap(), (1, 3));
        assert_eq!(range_of(4.., 4).unwrap(), (4, 0));
        assert_eq!(range_of((Bound::Excluded(0), Bound::Unbounded), 4).unwrap(), (1, 3));
        #[allow(clippy::reversed_empty_ranges)]
        let bad = 3..2;
        assert!(range_of(bad, 4).is_err());
        assert!(range_of(..5, 4).is_err());
        assert!(range_of(5.., 4).is_err());
        assert!(range_of(..=usize::MAX, 4).is_err());
        assert!(range_of((Bound::Excluded(usize::MAX), Bound::Unbounded), 4).is_err());
    }
}
