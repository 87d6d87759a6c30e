//! For the code that `#[kernel]` writes.

/// A slice by its pointer and length.
///
/// # Safety
/// As for [`core::slice::from_raw_parts`], except that the pointer may be null if there are no elements.
#[inline(always)]
#[must_use]
pub unsafe fn slice<'a, T>(pointer: *const T, len: usize) -> &'a [T] {
    // The host has no empty buffers with a null pointer that it passes with a length.
    // SAFETY: the caller ensures it.
    unsafe { core::slice::from_raw_parts(pointer, len) }
}
