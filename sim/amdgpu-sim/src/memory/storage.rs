//! Host memory that an allocation owns.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use super::arena::{GUARD, Piece};
use super::reservation::Mapping;

/// The memory of an allocation, freed on drop.
pub(crate) enum Storage {
    /// From the host's allocator.
    Heap(#[allow(dead_code, reason = "it is kept for its drop")] Heap),
    /// Part of the device memory ranges.
    Piece(Piece),
    /// Mapped pages.
    Mapping(Mapping),
}

impl Storage {
    /// Allocates `size` zeroed bytes aligned to `align` (a power of two), with a guard on both sides, from the host's
    /// allocator. Returns them and the address of the first, or `None` if the host has no more memory.
    pub(crate) fn zeroed(size: u64, align: u64) -> Option<(Self, u64)> {
        Heap::zeroed(size, align).map(|(heap, base)| (Self::Heap(heap), base))
    }
}

/// A block of zeroed host memory, freed on drop.
pub(crate) struct Heap {
    ptr: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a `Heap` is a plain block of memory; nothing in it is bound to a thread.
unsafe impl Send for Heap {}
// SAFETY: no method gives access to the bytes through `&Heap`; the users of the address synchronise with atomics.
unsafe impl Sync for Heap {}

impl Heap {
    /// Allocates `size` zeroed bytes aligned to `align` (a power of two), with a guard on both sides. Returns the block
    /// and the address of the first byte, or `None` if the host has no more memory.
    fn zeroed(size: u64, align: u64) -> Option<(Self, u64)> {
        // Aligned by hand: requesting the alignment from the allocator would touch (and so commit) every page. The rest of the last unit
        // stays unused: programs lock whole pages, which must not contain another allocation.
        let total = size.checked_next_multiple_of(align)?.checked_add(align)?.checked_add(2 * GUARD)?;
        let layout = Layout::from_size_align(usize::try_from(total).ok()?, 16).ok()?;
        // SAFETY: the size is not zero, as it includes the guards.
        let ptr = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let start = ptr.as_ptr().expose_provenance() as u64;
        let base = (start + GUARD).next_multiple_of(align);
        Some((Self { ptr, layout }, base))
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: `ptr` came from `alloc_zeroed` with this layout and is freed once.
        unsafe { dealloc(self.ptr.as_ptr(), self.layout) }
    }
}

/// A block of host memory with an address, which is not in the allocation table.
pub(crate) struct Block {
    _heap: Heap,
    base: u64,
    size: u64,
}

impl Block {
    /// Allocates `size` zeroed bytes aligned to `align`, or `None` if the host has no more memory.
    pub(crate) fn zeroed(size: u64, align: u64) -> Option<Self> {
        let (heap, base) = Heap::zeroed(size, align)?;
        Some(Self { _heap: heap, base, size })
    }

    /// Address of the first byte.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Its size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Copies `data` to `offset`. Bytes that do not fit are left out.
    pub(crate) fn write(&self, offset: u64, data: &[u8]) {
        let room = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let data = &data[..data.len().min(room)];
        // SAFETY: `offset + data.len()` is within the block, which lives as long as `self`.
        unsafe { super::bulk::write_bytes(self.base + offset, data) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_shares_its_last_page_with_nobody() {
        for size in [1, 272, 4095, 4096, 4097] {
            let (heap, base) = Heap::zeroed(size, 4096).unwrap();
            let end = heap.ptr.as_ptr() as u64 + heap.layout.size() as u64;
            assert!(base + size.next_multiple_of(4096) <= end, "{size}");
        }
        assert!(Heap::zeroed(u64::MAX, 4096).is_none() && Heap::zeroed(u64::MAX - 4096, 4096).is_none());
    }
}
