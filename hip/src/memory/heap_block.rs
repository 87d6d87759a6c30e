//! Memory of vectors that were given away.

use std::alloc::Layout;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use bytemuck::Pod;

/// The memory of a vector whose elements need no drop.
pub(crate) struct HeapBlock {
    pointer: NonNull<u8>,
    layout: Layout,
}

// SAFETY: owns its memory, and only frees it.
unsafe impl Send for HeapBlock {}
// SAFETY: as above.
unsafe impl Sync for HeapBlock {}

impl HeapBlock {
    /// Returns `None` if the vector has no memory.
    pub(super) fn of_vec<T: Pod>(pointer: *mut T, capacity: usize) -> Option<Self> {
        let layout = Layout::array::<T>(capacity).ok().filter(|layout| layout.size() != 0)?;
        Some(Self { pointer: NonNull::new(pointer.cast())?, layout })
    }

    /// Returns the memory, which the caller frees.
    pub(super) fn into_pointer(self) -> NonNull<u8> {
        ManuallyDrop::new(self).pointer
    }
}

impl Drop for HeapBlock {
    fn drop(&mut self) {
        // SAFETY: a vector's memory with the layout of its capacity; its elements are Pod, which need no drop.
        unsafe { std::alloc::dealloc(self.pointer.as_ptr(), self.layout) };
    }
}
