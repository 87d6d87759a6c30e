//! For the code that `#[kernel]` writes.

use core::ptr::NonNull;

/// A slice by its pointer and length.
///
/// # Safety
/// As for [`core::slice::from_raw_parts`].
#[inline(always)]
#[must_use]
pub unsafe fn slice<'a, T>(pointer: NonNull<T>, len: usize) -> &'a [T] {
    // SAFETY: the caller ensures it.
    unsafe { core::slice::from_raw_parts(pointer.as_ptr(), len) }
}
