//! The address ranges that device memory is given from: so an address tells that it is the GPU's, after the memory has been freed too.
//!
//! A range is reserved when those before it are used up, and is writable as a whole; the system gives pages as they are used. No range is
//! given back before the end. A block that is freed is given out
//! again as late as may be: a small one when the quarantine of [`Memory`](super::Memory) lets it go, a large one when some more of its size have
//! been freed. Host code that still reads a freed block finds zeros or old bytes, and does not crash.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::mapping::Physical;
use super::pages::{self, PAGE};
use super::storage::GUARD;

/// Bytes from which on a block's pages are given back when it is freed.
const LARGE: u64 = 64 << 10;
/// Large blocks of a size that lie idle before one of them is used again.
const IDLE: usize = 4;
/// Bytes of the first range, unless a block needs more; each later range is as large as all before it, up to [`RANGE_MOST`]. A small start
/// costs little where many GPUs are made, as in tests under valgrind, which notes each page.
const RANGE_FIRST: u64 = 64 << 20;
/// Bytes of the largest range, unless a block needs more.
const RANGE_MOST: u64 = 1 << 30;
/// The most and the fewest bytes of addresses that are asked for in all.
const MOST: u64 = 4 << 40;
const LEAST: u64 = RANGE_MOST;

/// Reserved ranges of addresses.
pub(super) struct Arena {
    /// Bytes of addresses that may be reserved in all.
    limit: u64,
    blocks: Mutex<Blocks>,
}

#[derive(Default)]
struct Blocks {
    ranges: Vec<Range<u64>>,
    /// Bytes of all ranges.
    reserved: u64,
    /// Bytes from the start of the last range on that have been given out at least once.
    used: u64,
    /// Freed blocks by their sizes, the oldest first.
    free: BTreeMap<u64, VecDeque<u64>>,
}

/// A piece of the range, given back on drop.
pub(crate) struct Piece {
    arena: Arc<Arena>,
    start: u64,
    bytes: u64,
    /// What is mapped there, once others can have it.
    shared: Mutex<Option<Arc<Physical>>>,
}

impl Piece {
    /// The first byte and how many there are: whole pages.
    pub(super) fn pages(&self) -> (u64, u64) {
        (self.start, self.bytes)
    }

    /// What is mapped there, if others can have it.
    pub(super) fn shared(&self) -> MutexGuard<'_, Option<Arc<Physical>>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Blocks {
    /// The start of `bytes` bytes that were never given out, from the last range or a new one; `None` if `limit` is reached, or
    /// the system gives no more addresses.
    fn fresh(&mut self, bytes: u64, limit: u64) -> Option<u64> {
        let left = self.ranges.last().map_or(0, |range| range.end - range.start - self.used);
        if left < bytes {
            let size =
                bytes.checked_next_multiple_of(self.reserved.clamp(RANGE_FIRST, RANGE_MOST).next_power_of_two())?;
            if size > limit - self.reserved {
                return None;
            }
            let base = pages::reserve(size, 0)?;
            // SAFETY: the range that was reserved just now.
            if unsafe { pages::commit(base, size) }.is_none() {
                // SAFETY: as above; nobody has seen it.
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

    /// A freed block of `bytes` bytes, if so many of them lie idle that it has rested long enough.
    fn rested(&mut self, bytes: u64) -> Option<(u64, u64)> {
        let enough = if bytes <= LARGE { 1 } else { IDLE };
        let queue = self.free.get_mut(&bytes).filter(|queue| queue.len() >= enough)?;
        queue.pop_front().map(|start| (start, bytes))
    }

    /// Any freed block that is not too small.
    fn any(&mut self, bytes: u64) -> Option<(u64, u64)> {
        self.free.range_mut(bytes..).find_map(|(&bytes, queue)| queue.pop_front().map(|start| (start, bytes)))
    }
}

impl Arena {
    /// Addresses for several times `memory` bytes.
    pub(super) fn new(memory: u64) -> Arc<Self> {
        let limit = memory.saturating_mul(4).clamp(LEAST, MOST).next_multiple_of(RANGE_MOST);
        Arc::new(Self { limit, blocks: Mutex::default() })
    }

    /// Whether an address is in one of the ranges.
    pub(super) fn contains(&self, address: u64) -> bool {
        self.blocks().ranges.iter().any(|range| range.contains(&address))
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `size` zeroed bytes aligned to `align` (a power of two), which no other piece touches, and the address of the first; `None` if
    /// the ranges are full.
    pub(super) fn allocate(self: &Arc<Self>, size: u64, align: u64) -> Option<(Piece, u64)> {
        let over = if align > PAGE { align } else { 0 };
        let wanted = size.checked_add(GUARD)?.checked_add(over)?;
        let wanted = if wanted <= LARGE {
            wanted.next_multiple_of(PAGE)
        } else {
            // Eight sizes up to the next power of two.
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
            // SAFETY: a block that is in the queue of free ones is nobody's, and it has just been taken out.
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
            // SAFETY: the piece's own pages, which nobody uses any more here.
            if unsafe { pages::renew(self.start, self.bytes) }.is_none() {
                // Others may still have what is there: the addresses are for nobody.
                return;
            }
        } else if self.bytes > LARGE {
            // SAFETY: the piece's own pages, which nobody uses any more.
            unsafe { pages::empty(self.start, self.bytes) };
        }
        self.arena.blocks().free.entry(self.bytes).or_default().push_back(self.start);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn bytes(base: u64, size: u64) -> &'static mut [u8] {
        // SAFETY: of a piece that lives, and of one test alone.
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

    /// A small block is used again at once; a large one when as many of its size lie idle as are to.
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
