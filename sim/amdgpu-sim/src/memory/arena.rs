//! The address range that device memory is given from: so an address tells that it is the GPU's, after the memory has been freed too.
//!
//! The range is reserved once and is writable as a whole; the system gives pages as they are used. A block that is freed is given out
//! again as late as may be: a small one when the quarantine of [`Memory`](super::Memory) lets it go, a large one when some more of its size have
//! been freed. Host code that still reads a freed block finds zeros or old bytes, and does not crash.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::pages::{self, PAGE};
use super::storage::GUARD;

/// Bytes from which on a block's pages are given back when it is freed.
const LARGE: u64 = 64 << 10;
/// Large blocks of a size that lie idle before one of them is used again.
const IDLE: usize = 4;
/// The largest and the smallest range that is asked for.
const MOST: u64 = 4 << 40;
const LEAST: u64 = 1 << 30;

/// A reserved range of addresses.
pub(super) struct Arena {
    base: u64,
    size: u64,
    blocks: Mutex<Blocks>,
}

#[derive(Default)]
struct Blocks {
    /// Bytes from the start on that have been given out at least once.
    used: u64,
    /// Freed blocks by their sizes, the oldest first.
    free: BTreeMap<u64, VecDeque<u64>>,
}

/// A piece of the range, given back on drop.
pub(crate) struct Piece {
    arena: Arc<Arena>,
    start: u64,
    bytes: u64,
}

impl Arena {
    /// Reserves several times `memory` bytes of addresses, or less where the system does not give as much; `None` where it gives
    /// next to nothing.
    pub(super) fn new(memory: u64) -> Option<Arc<Self>> {
        let mut size = memory.saturating_mul(4).clamp(LEAST, MOST).next_multiple_of(PAGE);
        loop {
            if let Some(base) = pages::reserve(size, 0) {
                // SAFETY: the range that was reserved just now.
                if unsafe { pages::commit(base, size) }.is_some() {
                    return Some(Arc::new(Self { base, size, blocks: Mutex::default() }));
                }
                // SAFETY: as above; nobody has seen it.
                unsafe { pages::release(base, size) };
            }
            size = (size / 8).next_multiple_of(PAGE);
            if size < LEAST {
                return None;
            }
        }
    }

    /// Whether an address is in the range.
    pub(super) fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.size
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `size` zeroed bytes aligned to `align` (a power of two), which no other piece touches, and the address of the first; `None` if
    /// the range is full.
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
        let is_full = self.size - blocks.used < wanted;
        let enough = if wanted <= LARGE || is_full { 1 } else { IDLE };
        let idle = |(bytes, queue): (&u64, &mut VecDeque<u64>)| {
            if queue.len() < enough { None } else { queue.pop_front().map(|start| (start, *bytes)) }
        };
        let again = match is_full {
            // Any that is not too small will do.
            true => blocks.free.range_mut(wanted..).find_map(idle),
            false => blocks.free.get_mut(&wanted).and_then(|queue| idle((&wanted, queue))),
        };
        let (start, bytes) = match again {
            Some((start, bytes)) => {
                drop(blocks);
                if bytes <= LARGE {
                    let place = std::ptr::with_exposed_provenance_mut::<u8>(start as usize);
                    // SAFETY: a block that is in the queue of free ones is nobody's, and it has just been taken out.
                    unsafe { place.write_bytes(0, bytes as usize) };
                }
                (start, bytes)
            }
            None if is_full => return None,
            None => {
                let start = self.base + blocks.used;
                blocks.used += wanted;
                (start, wanted)
            }
        };
        let base = start.next_multiple_of(align);
        Some((Piece { arena: Arc::clone(self), start, bytes }, base))
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: every piece holds the arena, so none is left.
        unsafe { pages::release(self.base, self.size) }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if self.bytes > LARGE {
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
        let arena = Arena::new(1 << 30).unwrap();
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
        assert!(!arena.contains(arena.base - 1) && !arena.contains(arena.base + arena.size));
    }

    #[test]
    fn a_full_range_gives_what_has_been_freed() {
        let arena = Arena::new(1).unwrap();
        assert_eq!(arena.size, LEAST);
        assert!(arena.allocate(u64::MAX - 10, 256).is_none() && arena.allocate(LEAST, 256).is_none());
        for _ in 0..100 {
            let (_piece, base) = arena.allocate(100 << 20, 256).unwrap();
            assert_eq!(bytes(base, 1)[0], 0);
            bytes(base, 1)[0] = 9;
        }
    }
}
