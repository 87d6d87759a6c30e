//! The address map: which addresses belong to HIP, and the device and kind of each block.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{PoisonError, RwLock};

use crate::pool::Share;

/// Alignment of pinned and managed memory: a page.
const HOST_ALIGN: u64 = 4096;
/// Unused bytes after a block of pinned memory, so that a kernel's access beyond its end is a fault.
const HOST_GUARD: u64 = 1024;

/// The origin of a block of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `hipMalloc` and its like.
    Device,
    /// `hipHostMalloc`: pinned.
    Host,
    /// `hipMallocManaged`.
    Managed,
    /// `hipHostRegister`: memory of the program.
    Registered,
    /// Memory of a graph's allocation node.
    Graph,
    /// A variable of a module.
    Global,
    /// `hipMemMap`: a device's memory, or the host's.
    Mapped { on_host: bool },
    /// `hipIpcOpenMemHandle`: memory of another process.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has it"))]
    Opened,
    /// `hipExternalMemoryGetMappedBuffer`: starts `offset` bytes into imported memory.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has it"))]
    Imported { offset: u64 },
}

/// A live block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) base: u64,
    pub(crate) size: u64,
    pub(crate) kind: Kind,
    /// The device it belongs to. For host memory, the device that was current.
    pub(crate) device: usize,
    /// The flags it was made with.
    pub(crate) flags: u32,
    /// `hipFreeAsync` has been called, but the stream has not reached it.
    pub(crate) freeing: bool,
    /// The room that it takes of a memory pool.
    pub(crate) share: Option<Share>,
}

impl Block {
    /// Whether every device can reach it.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.kind, Kind::Host | Kind::Managed | Kind::Registered | Kind::Mapped { on_host: true })
    }

    /// The start of the underlying allocation.
    pub(crate) fn allocation(&self) -> u64 {
        match self.kind {
            Kind::Imported { offset } => self.base - offset,
            _ => self.base,
        }
    }

    /// The bytes from `address`, which must be inside, to the end of the block.
    pub(crate) fn left(&self, address: u64) -> u64 {
        self.base + self.size - address
    }
}

/// All live blocks by address.
#[derive(Default)]
pub(crate) struct AddressMap {
    blocks: RwLock<BTreeMap<u64, Block>>,
}

impl AddressMap {
    /// Adds a block that has just been allocated or registered. An overlapping registration is removed: the program has
    /// freed that memory without unregistering it.
    pub(crate) fn insert(&self, block: Block) {
        let mut blocks = self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        let end = block.base.saturating_add(block.size);
        while let Some((&base, other)) = blocks.range(..end).next_back() {
            if other.kind != Kind::Registered || other.base.saturating_add(other.size) <= block.base {
                break;
            }
            blocks.remove(&base);
        }
        blocks.insert(block.base, block);
    }

    /// The live block around `address`.
    pub(crate) fn find(&self, address: u64) -> Option<Block> {
        let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
        let (_, block) = blocks.range(..=address).next_back()?;
        (address - block.base < block.size && !block.freeing).then_some(*block)
    }

    /// Removes the block that starts at `base`, if `may` accepts it.
    pub(crate) fn remove(&self, base: u64, may: impl Fn(&Block) -> bool) -> Option<Block> {
        let mut blocks = self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        may(blocks.get(&base)?).then(|| blocks.remove(&base))?
    }

    /// Marks the block that starts at `base` as being freed; `None` if there is none or it is already.
    pub(crate) fn begin_free(&self, base: u64) -> Option<Block> {
        let mut blocks = self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        let block = blocks.get_mut(&base).filter(|b| b.kind == Kind::Device && !b.freeing)?;
        block.freeing = true;
        Some(*block)
    }

    /// The live blocks that `wanted` selects.
    pub(crate) fn all(&self, wanted: impl Fn(&Block) -> bool) -> Vec<Block> {
        let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
        blocks.values().copied().filter(|block| wanted(block)).collect()
    }

    /// Removes all blocks of a device, and returns them.
    pub(crate) fn remove_device(&self, device: usize) -> Vec<Block> {
        let mut blocks = self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        let of_device = |block: &Block| block.device == device && block.kind != Kind::Registered;
        let removed = blocks.values().copied().filter(of_device).collect();
        blocks.retain(|_, block| !of_device(block));
        removed
    }
}

/// Allocates zeroed host memory for pinned and managed blocks. [`release_host`] frees it; there is no owner to drop,
/// since the program holds only the address.
pub(crate) fn allocate_host(size: u64) -> Option<u64> {
    let layout = host_layout(size)?;
    // SAFETY: the layout's size is not zero, as room for the header is in it.
    let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
    let start = start.as_ptr().expose_provenance() as u64;
    let base = (start + 8).next_multiple_of(HOST_ALIGN);
    // The word before the block stores the start of the allocation.
    let header = std::ptr::with_exposed_provenance_mut::<u64>((base - 8) as usize);
    // SAFETY: `start <= base - 8`, and `base` is aligned to 4096, so the word is inside and aligned.
    unsafe { header.write(start) };
    Some(base)
}

/// Frees memory of [`allocate_host`].
///
/// # Safety
/// `base` and `size` must be of a call of [`allocate_host`], and nothing may use the memory any more.
pub(crate) unsafe fn release_host(base: u64, size: u64) {
    let Some(layout) = host_layout(size) else { return };
    let header = std::ptr::with_exposed_provenance::<u64>((base - 8) as usize);
    // SAFETY: `allocate_host` wrote the word, and kernels cannot reach it: it is outside the block.
    let start = unsafe { header.read() };
    // SAFETY: `start` is where the allocation with this very layout starts.
    unsafe { dealloc(std::ptr::with_exposed_provenance_mut(start as usize), layout) };
}

fn host_layout(size: u64) -> Option<Layout> {
    // Aligned by hand: requesting the alignment from the allocator would commit every page at once.
    let total = size.checked_add(HOST_ALIGN + 8 + HOST_GUARD)?;
    Layout::from_size_align(usize::try_from(total).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(base: u64, size: u64) -> Block {
        Block { base, size, kind: Kind::Device, device: 0, flags: 0, freeing: false, share: None }
    }

    #[test]
    fn find_knows_first_and_last_byte() {
        let map = AddressMap::default();
        map.insert(block(1000, 24));
        assert!(map.find(999).is_none());
        assert_eq!(map.find(1000).unwrap().left(1000), 24);
        assert_eq!(map.find(1023).unwrap().left(1023), 1);
        assert!(map.find(1024).is_none());
    }

    #[test]
    fn a_stale_registration_gives_way() {
        let map = AddressMap::default();
        map.insert(Block { kind: Kind::Registered, ..block(1000, 24) });
        map.insert(Block { kind: Kind::Registered, ..block(1024, 8) });
        map.insert(Block { kind: Kind::Registered, ..block(2000, 8) });
        map.insert(block(1016, 16));
        assert!(map.find(1000).is_none() && map.find(1031).is_some_and(|b| b.base == 1016) && map.find(2000).is_some());
    }

    #[test]
    fn a_block_is_freed_once() {
        let map = AddressMap::default();
        map.insert(block(1000, 24));
        assert!(map.begin_free(1008).is_none());
        assert!(map.begin_free(1000).is_some());
        assert!(map.begin_free(1000).is_none());
        assert!(map.find(1000).is_none());
        assert!(map.remove(1000, |block| block.freeing).is_some());
        assert!(map.remove(1000, |_| true).is_none());
    }

    #[test]
    fn host_memory_is_zeroed_and_on_a_page() {
        for size in [1, 4095, 4096, 100_000] {
            let base = allocate_host(size).unwrap();
            assert_eq!(base % HOST_ALIGN, 0);
            let bytes = std::ptr::with_exposed_provenance_mut::<u8>(base as usize);
            // SAFETY: just allocated with this size.
            let bytes = unsafe { std::slice::from_raw_parts_mut(bytes, size as usize) };
            assert!(bytes.iter().all(|byte| *byte == 0));
            bytes.fill(7);
            // SAFETY: from `allocate_host` with this size, and used no more.
            unsafe { release_host(base, size) };
        }
        assert!(allocate_host(u64::MAX - 100).is_none());
    }
}
