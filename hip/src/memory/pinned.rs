use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use bytemuck::Pod;

use super::byte_len;
use crate::call::check;
use crate::device::Device;
use crate::error::Result;
use crate::usage::{AccessKind, Usage};

/// `len` elements of `T` in pinned host memory (`hipHostMalloc`): what asynchronous copies go to and come from.
///
/// The buffer knows which queued copies use it. [`as_slice`](Self::as_slice) waits for those that write to it,
/// [`as_mut_slice`](Self::as_mut_slice) and dropping it for all of them. There is no guard to keep, so none to lose.
/// (It does not dereference to a slice because waiting can fail: the copy may come after a kernel that faults.)
pub struct PinnedBuffer<T> {
    /// Dangling, but aligned, if there are no elements.
    pointer: *mut T,
    len: usize,
    usage: Usage,
    elements: PhantomData<T>,
}

// SAFETY: the buffer owns its elements as a Box<[T]> does; `usage` is Send and Sync.
unsafe impl<T: Send> Send for PinnedBuffer<T> {}
// SAFETY: a shared reference gives shared access to the elements alone, and queues copies that only read them.
unsafe impl<T: Sync> Sync for PinnedBuffer<T> {}

impl<T: Pod> PinnedBuffer<T> {
    /// A buffer of zeros. The device says which runtime context the memory is pinned in; all devices can use it.
    ///
    /// # Errors
    /// `hipErrorOutOfMemory`; [`TooLarge`](crate::Error::TooLarge) and [`ZeroSizedType`](crate::Error::ZeroSizedType) before the call.
    pub fn zeroed(device: &Device, len: usize) -> Result<Self> {
        let bytes = byte_len::<T>(len)?;
        let mut pointer: *mut T = ptr::dangling_mut();
        if bytes != 0 {
            device.activate()?;
            let mut raw: *mut c_void = ptr::null_mut();
            // SAFETY: `raw` is valid for a write. The flags ask for memory that all devices can use.
            let status = unsafe { hip_sys::hipHostMalloc(&mut raw, bytes, hip_sys::hipHostMallocPortable) };
            check(status, "hipHostMalloc", || format!("{bytes} bytes of pinned host memory"))?;
            // Page-aligned, so aligned for any T that is sensible; see the check below.
            pointer = raw.cast();
            // SAFETY: `bytes` bytes from hipHostMalloc, which nobody else has.
            unsafe { pointer.cast::<u8>().write_bytes(0, bytes) };
        }
        let buffer = Self { pointer, len, usage: Usage::host(), elements: PhantomData };
        if !buffer.pointer.is_aligned() {
            return Err(crate::Error::InvalidValue {
                what: "the alignment of pinned memory",
                value: format!("{:p}", buffer.pointer),
                allowed: format!("a multiple of {}", align_of::<T>()),
            });
        }
        Ok(buffer)
    }

    /// A buffer with the elements of `source`.
    ///
    /// # Errors
    /// Those of [`zeroed`](Self::zeroed).
    pub fn from_slice(device: &Device, source: &[T]) -> Result<Self> {
        let mut buffer = Self::zeroed(device, source.len())?;
        buffer.as_mut_slice()?.copy_from_slice(source);
        Ok(buffer)
    }

    /// The elements, after all queued copies to them.
    ///
    /// # Errors
    /// An error of the queued work comes back here.
    pub fn as_slice(&self) -> Result<&[T]> {
        self.usage.wait(AccessKind::Read)?;
        // SAFETY: `len` elements, set since `zeroed`. Nothing that is queued writes to them, and nothing that would can
        // be queued while they are borrowed, for that takes `&mut self`.
        Ok(unsafe { std::slice::from_raw_parts(self.pointer, self.len) })
    }

    /// The elements to write to, after all queued copies from and to them.
    ///
    /// # Errors
    /// An error of the queued work comes back here.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T]> {
        self.usage.wait(AccessKind::Write)?;
        // SAFETY: as above, and nothing that reads them is queued or can be while they are borrowed.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.pointer, self.len) })
    }
}

impl<T> PinnedBuffer<T> {
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
        self.pointer.cast()
    }

    pub(crate) fn usage(&self) -> &Usage {
        &self.usage
    }
}

impl<T> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        if self.len == 0 {
            return;
        }
        let address = self.pointer.expose_provenance();
        self.usage.release(move || {
            // SAFETY: from hipHostMalloc, not freed yet, and no work uses it any more.
            let _ = unsafe { hip_sys::hipHostFree(ptr::with_exposed_provenance_mut(address)) };
        });
    }
}

impl<T> fmt::Debug for PinnedBuffer<T> {
    /// The elements are not shown: a queued copy may be writing to them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedBuffer")
            .field("type", &std::any::type_name::<T>())
            .field("len", &self.len)
            .field("pointer", &self.pointer)
            .finish()
    }
}
