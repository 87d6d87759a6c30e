//! The address ranges of device memory: so an address is recognisable as the GPU's even after the memory has been
//! freed.
//!
//! A further range is reserved when the existing ones are used up. A range is writable as a whole, and the system
//! allocates pages on first use. No range is released before the end. Freed blocks are reused as late as possible: a
//! small one when the quarantine of [`Memory`](super::Memory) releases it, a large one after several more of its size
//! have been freed. Host code that still reads a freed block sees zeros or old bytes, and does not crash.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::pages::{self, PAGE};
use super::physical::Physical;

/// Unused bytes on each side, so that neighbours are never adjacent.
pub(super) const GUARD: u64 = 1024;
/// The size in bytes from which a block's pages are released when it is freed.
const LARGE: u64 = 64 << 10;
/// The number of idle large blocks of a size before one of them is reused.
const IDLE: usize = 4;
/// The size of the first range, unless a block needs more. Each later range is as large as all earlier ones together,
/// up to [`RANGE_MOST`]. The small start is cheap if many GPUs are created, as in tests under valgrind, which records
/// each page.
const RANGE_FIRST: u64 = 64 << 20;
/// The maximum size of a range, unless a block needs more.
const RANGE_MOST: u64 = 1 << 30;
/// The maximum and the minimum of address space requested in total.
const MOST: u64 = 4 << 40;
const LEAST: u64 = RANGE_MOST;

/// Reserved ranges of addresses.
pub(super) struct Arena {
    /// The limit on reserved address space in bytes.
    limit: u64,
    blocks: Mutex<Blocks>,
}

#[derive(Default)]
struct Blocks {
    ranges: Vec<Range<u64>>,
    /// The total size of all ranges.
    reserved: u64,
    /// The bytes of the last range, from its start, that have been used at least once.
    used: u64,
    /// Freed blocks by size, the oldest first.
    free: BTreeMap<u64, VecDeque<u64>>,
}

/// A block of a range, freed on drop.
pub(crate) struct Piece {
    arena: Arc<Arena>,
    start: u64,
    bytes: u64,
    /// The memory mapped there, once it is shareable.
    shared: Mutex<Option<Arc<Physical>>>,
}

impl Piece {
    /// The address and size: whole pages.
    pub(super) fn pages(&self) -> (u64, u64) {
        (self.start, self.bytes)
    }

    /// The memory mapped there, if it is shareable.
    pub(super) fn shared(&self) -> MutexGuard<'_, Option<Arc<Physical>>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Blocks {
    /// The start of `bytes` bytes that were never used, from the last range or a new one; `None` if `limit` is reached
    /// or the system has no more addresses.
    fn fresh(&mut self, bytes: u64, limit: u64) -> Option<u64> {
        let left = self.ranges.last().map_or(0, |range| range.end - range.start - self.used);
        if left < bytes {
            let size =
                bytes.checked_next_multiple_of(self.reserved.clamp(RANGE_FIRST, RANGE_MOST).next_power_of_two())?;
            if size > limit - self.reserved {
                return None;
            }
            let base = pages::reserve(size, 0)?;
            // SAFETY: the range was reserved just above.
            if unsafe { pages::commit(base, size) }.is_none() {
                // SAFETY: as above; its address is not known to anyone yet.
                unsafe { pages::release(base, size) };
                return None;
            }
            self.ranges.push(base..base + size);
            self.reserved += size;
            self.used = 0;
        }
        let start = self.ranges.last()?.start + self.used;
        self.used += bytes;
        Some(start)
    }

    /// A freed block of `bytes` bytes, if enough of them are idle.
    fn rested(&mut self, bytes: u64) -> Option<(u64, u64)> {
        let enough = if bytes <= LARGE { 1 } else { IDLE };
        let queue = self.free.get_mut(&bytes).filter(|queue| queue.len() >= enough)?;
        queue.pop_front().map(|start| (start, bytes))
    }

    /// Any freed block that is large enough.
    fn any(&mut self, bytes: u64) -> Option<(u64, u64)> {
        self.free.range_mut(bytes..).find_map(|(&bytes, queue)| queue.pop_front().map(|start| (start, bytes)))
    }
}

impl Arena {
    /// An arena with address space for several times `memory` bytes.
    pub(super) fn new(memory: u64) -> Arc<Self> {
        let limit = memory.saturating_mul(4).clamp(LEAST, MOST).next_multiple_of(RANGE_MOST);
        Arc::new(Self { limit, blocks: Mutex::default() })
    }

    /// Returns whether an address is in one of the ranges.
    pub(super) fn contains(&self, address: u64) -> bool {
        self.blocks().ranges.iter().any(|range| range.contains(&address))
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates `size` zeroed bytes aligned to `align` (a power of two), with a gap to all other blocks. Returns the
    /// block and the address; `None` if the ranges are full.
    pub(super) fn allocate(self: &Arc<Self>, size: u64, align: u64) -> Option<(Piece, u64)> {
        let over = if align > PAGE { align } else { 0 };
        let wanted = size.checked_add(GUARD)?.checked_add(over)?;
        let wanted = if wanted <= LARGE {
            wanted.next_multiple_of(PAGE)
        } else {
            // Eight size classes per power of two.
            wanted.checked_next_multiple_of((wanted.checked_next_power_of_two()? / 16).max(PAGE))?
        };
        let mut blocks = self.blocks();
        let (start, bytes) = match blocks.rested(wanted) {
            Some(again) => again,
            None => match blocks.fresh(wanted, self.limit) {
                Some(start) => return Some(self.piece(start, wanted, align)),
                None => blocks.any(wanted)?,
            },
        };
        drop(blocks);
        if bytes <= LARGE {
            let place = std::ptr::with_exposed_provenance_mut::<u8>(start as usize);
            // SAFETY: a block in the queue of free ones is unused, and it has just been taken out.
            unsafe { place.write_bytes(0, bytes as usize) };
        }
        Some(self.piece(start, bytes, align))
    }

    fn piece(self: &Arc<Self>, start: u64, bytes: u64, align: u64) -> (Piece, u64) {
        let piece = Piece { arena: Arc::clone(self), start, bytes, shared: Mutex::default() };
        (piece, start.next_multiple_of(align))
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for range in &self.blocks().ranges {
            // SAFETY: every piece holds the arena, so none is left.
            unsafe { pages::release(range.start, range.end - range.start) }
        }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if self.shared().is_some() {
            // SAFETY: the piece's own pages, which nothing in this process uses any more.
            if unsafe { pages::renew(self.start, self.bytes) }.is_none() {
                // Other processes may still map the memory, so the addresses are never reused.
                return;
            }
        } else if self.bytes > LARGE {
            // SAFETY: the piece's own pages, which nothing uses any more.
            unsafe { pages::empty(self.start, self.bytes) };
        }
        self.arena.blocks().free.entry(self.bytes).or_default().push_back(self.start);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn bytes(base: u64, size: u64) -> &'static mut [u8] {
        // SAFETY: of a live piece, which only this test uses.
        unsafe { std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut(base as usize), size as usize) }
    }

    #[test]
    fn pieces_are_zeroed_aligned_and_apart() {
        let arena = Arena::new(1 << 30);
        let mut pieces = Vec::new();
        for round in 0..3 {
            for (size, align) in [(1, 256), (4096, 4096), (100, 1 << 20), (300 << 10, 256), (3 << 20, 4096)] {
                let (piece, base) = arena.allocate(size, align).unwrap();
                assert!(base % align == 0 && arena.contains(base) && arena.contains(base + size - 1));
                assert!(bytes(base, size).iter().all(|byte| *byte == 0), "{size} bytes, round {round}");
                bytes(base, size).fill(7);
                pieces.push((base, size, piece));
            }
            pieces.sort_by_key(|(base, ..)| *base);
            assert!(pieces.windows(2).all(|pair| pair[0].0 + pair[0].1 + GUARD <= pair[1].0));
            pieces.truncate(pieces.len() / 2);
        }
        let range = arena.blocks().ranges[0].clone();
        assert!(!arena.contains(range.start - 1) && !arena.contains(range.end));
    }

    #[test]
    fn a_full_range_gives_what_has_been_freed() {
        let arena = Arena::new(1);
        assert!(arena.allocate(u64::MAX - 10, 256).is_none() && arena.allocate(LEAST, 256).is_none());
        for _ in 0..100 {
            let (_piece, base) = arena.allocate(100 << 20, 256).unwrap();
            assert_eq!(bytes(base, 1)[0], 0);
            bytes(base, 1)[0] = 9;
        }
    }

    /// A small block is reused at once; a large one after enough of its size are idle.
    #[test]
    fn freed_blocks_rest() {
        let arena = Arena::new(1 << 30);
        let places = |size: u64| [(); 9].map(|()| arena.allocate(size, 256).unwrap().1);
        assert_eq!(places(100), [places(100)[0]; 9]);
        let large = places(1 << 20);
        assert!((1..IDLE).all(|n| !large[..n].contains(&large[n])), "{large:x?}");
        assert_eq!(large[IDLE..], large[..9 - IDLE]);
    }

    #[test]
    fn a_larger_block_does_where_there_are_no_other_addresses() {
        let arena = Arena::new(1);
        let first = arena.allocate(600 << 20, 256).unwrap().1;
        let (_second, base) = arena.allocate(500 << 20, 256).unwrap();
        assert_eq!(base, first);
        assert!(arena.allocate(500 << 20, 256).is_none(), "it is in use");
    }

    #[test]
    fn ranges_are_reserved_as_they_are_needed() {
        let arena = Arena::new(1);
        assert!(arena.allocate(1, 256).is_some());
        assert_eq!(arena.blocks().reserved, RANGE_FIRST);
        let arena = Arena::new(1 << 30);
        let ranges = || arena.blocks().ranges.len();
        assert_eq!(ranges(), 0);
        let small = arena.allocate(600 << 20, 256).unwrap();
        let large = arena.allocate(2 << 30, 4096).unwrap();
        assert_eq!(ranges(), 2);
        for (base, size) in [(small.1, 600 << 20), (large.1, 2 << 30)] {
            assert!(arena.contains(base) && arena.contains(base + size - 1));
            bytes(base, size)[size as usize - 1] = 1;
        }
        assert!(arena.allocate(1 << 30, 256).is_none(), "as much as there may be");
    }
}
