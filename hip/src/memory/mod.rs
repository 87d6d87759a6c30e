//! Memory: device, pinned, managed and pitched buffers, copies and fills, pools, arrays, peer access, DLPack, memory of
//! other APIs.

mod admission;
mod allocation;
pub mod array;
mod attributes;
#[cfg(feature = "rocm-7-1")]
mod batch;
mod box_copy;
mod buffer;
mod cast;
mod chunks;
mod copy;
#[cfg(feature = "rocm-7-1")]
mod copy_batch;
#[cfg(feature = "rocm-7-1")]
mod copy_batch_3d;
pub mod dlpack;
#[cfg(all(unix, feature = "rocm-7-0"))]
mod dma_buf;
#[cfg(unix)]
pub mod external;
mod fill;
mod float8;
mod foreign;
pub(crate) mod graph_copy;
mod host;
mod ipc;
mod managed;
#[cfg(feature = "rocm-10-0")]
mod managed_batch;
#[cfg(feature = "ndarray")]
mod ndarray;
mod peer;
mod pinned;
mod pinned_slice;
mod pitched;
pub mod pool;
mod regions;
mod registered;
mod slice;
pub mod virtual_memory;

use std::ffi::c_void;
use std::ops::{Bound, RangeBounds};
use std::ptr;

pub use attributes::{PointerAttributes, PointerKind};
pub use buffer::DeviceBuffer;
pub use bytemuck::Pod;
pub use chunks::{Chunks, ChunksMut};
pub(crate) use copy::{read_to_vec, same_len};
#[cfg(feature = "rocm-7-1")]
pub use copy_batch::CopyBatch;
#[cfg(feature = "rocm-7-1")]
pub use copy_batch_3d::CopyBatch3d;
pub(crate) use fill::Pattern;
pub use float8::{F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz};
pub use ipc::IpcMemoryHandle;
pub use managed::{ManagedBuffer, MemoryAdvice, MemoryAttach, MemoryLocation};
#[cfg(feature = "rocm-10-0")]
pub use managed_batch::{DiscardBatch, PrefetchBatch};
pub use pinned::{Coherence, PinnedBuffer, PinnedOptions};
pub use pinned_slice::{PinnedSlice, PinnedSliceMut};
pub use pitched::{Extent, PitchedBuffer, PitchedSlice, PitchedSliceMut};
#[cfg(feature = "rocm-7-1")]
pub(crate) use pool::location;
pub use registered::{RegisterOptions, Registered, RegisteredBuffer};
pub use slice::{DeviceSlice, DeviceSliceMut};

pub(crate) use admission::Admission;
pub(crate) use allocation::{Allocation, Keeper, Owner};

use crate::core::call::check;
use crate::core::error::{Error, Result};

/// An address in device memory of elements of type `T`, without a lifetime: a kernel's view of a buffer.
///
/// It borrows nothing and keeps nothing alive. As a launch argument it is accepted for any pointer. The launch does not
/// track its memory, so the caller must ensure that the memory is valid and that its uses are ordered.
#[repr(transparent)]
pub struct DevicePtr<T> {
    address: u64,
    element: std::marker::PhantomData<fn() -> T>,
}

impl<T> DevicePtr<T> {
    /// Returns the null pointer.
    #[must_use]
    pub const fn null() -> Self {
        Self::from_address(0)
    }

    /// Creates a pointer from an address.
    #[must_use]
    pub const fn from_address(address: u64) -> Self {
        Self { address, element: std::marker::PhantomData }
    }

    /// Returns the address, as device code uses it.
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

/// Returns the device address of pinned host memory (`hipHostGetDevicePointer`).
fn device_pointer(host: *mut c_void) -> Result<*mut c_void> {
    let mut pointer = ptr::null_mut();
    // SAFETY: `pointer` is valid for a write; for host memory that the runtime does not know, it returns an error.
    let status = unsafe { hip_sys::hipHostGetDevicePointer(&mut pointer, host, 0) };
    check(status, "hipHostGetDevicePointer", || format!("host memory at {host:p}"))?;
    Ok(pointer)
}

/// Returns `Ok` if devices can access the memory in place.
fn mapped(memory: &Allocation) -> Result<()> {
    if !memory.pointer.is_null() || memory.bytes == 0 {
        return Ok(());
    }
    Err(Error::InvalidValue {
        what: "host memory that a device is to use in place",
        value: "pinned, but not mapped".to_owned(),
        allowed: "made with PinnedOptions::mapped".to_owned(),
    })
}

/// Returns the size of `len` elements of `T` in bytes.
pub(crate) fn byte_len<T>(len: usize) -> Result<usize> {
    if size_of::<T>() == 0 {
        return Err(Error::ZeroSizedType { type_name: std::any::type_name::<T>() });
    }
    // Allocations and Rust slices are limited to isize::MAX bytes.
    match len.checked_mul(size_of::<T>()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(bytes),
        _ => Err(Error::TooLarge { elements: len, element_bytes: size_of::<T>() }),
    }
}

/// Converts a range within `0..len` to offset and length.
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
