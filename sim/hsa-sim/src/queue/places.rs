//! Where the `amd_queue_t` of all queues lie: one array that is never given back.
//!
//! A queue's indices are read and written by whoever has its address, at any time and as often as it likes. So what these functions take
//! is no lock: an address is a place of the array or none, and a stale one does no harm. A place that has become free is used again only
//! when all others have been.

use std::collections::VecDeque;
use std::mem::offset_of;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::abi::{amd_queue_v2_t, hsa_queue_t};
use crate::memory::reserve_for_good;

/// Queues that there can be.
const CAPACITY: usize = 8192;
/// Bytes of a place: a page.
const SIZE: usize = 4096;

const _: () = assert!(size_of::<amd_queue_v2_t>() <= SIZE);

/// All places.
pub(super) struct Places {
    base: NonNull<u8>,
    live: Box<[AtomicBool]>,
    free: Mutex<VecDeque<usize>>,
}

// SAFETY: the array lives as long as the process; what is in it is accessed by atomics but for its first writing, before anybody has
// the address.
unsafe impl Send for Places {}
// SAFETY: as above.
unsafe impl Sync for Places {}

impl Places {
    /// All are free. `None` if the host gives no address space.
    pub(super) fn new() -> Option<Self> {
        let live = (0..CAPACITY).map(|_| AtomicBool::new(false)).collect();
        Some(Self { base: reserve_for_good(CAPACITY * SIZE)?, live, free: Mutex::new((0..CAPACITY).collect()) })
    }

    /// The array: address and bytes.
    pub(super) fn range(&self) -> (*mut u8, u64) {
        (self.base.as_ptr(), (CAPACITY * SIZE) as u64)
    }

    /// Takes a place for a queue, which `fill` writes; its address. `None` if there is none.
    pub(super) fn take(&self, fill: impl FnOnce(&mut amd_queue_v2_t)) -> Option<u64> {
        let place = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop_front()?;
        // SAFETY: the place is inside the array.
        let at = unsafe { self.base.as_ptr().add(place * SIZE) };
        // SAFETY: nobody else has the place. Whoever has a stale address reads and writes words by atomics, and only while the place is
        // live.
        unsafe {
            at.write_bytes(0, size_of::<amd_queue_v2_t>());
            fill(&mut *at.cast());
        }
        self.live[place].store(true, Ordering::Release);
        Some(at.expose_provenance() as u64)
    }

    /// The place at an address, if there is a queue.
    pub(super) fn find(&self, queue: *const hsa_queue_t) -> Option<Indices> {
        let offset = queue.addr().checked_sub(self.base.as_ptr().addr())?;
        let live = self.live.get(offset / SIZE)?.load(Ordering::Acquire);
        if offset % SIZE != 0 || !live {
            return None;
        }
        // SAFETY: an aligned word of a place, which is there for good and accessed by atomics alone while somebody has its address.
        let word = |field: usize| unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(offset + field).cast()) };
        let (write, read) =
            (offset_of!(amd_queue_v2_t, write_dispatch_id), offset_of!(amd_queue_v2_t, read_dispatch_id));
        Some(Indices { write: word(write), read: word(read) })
    }

    /// Gives back a place that [`take`](Self::take) gave; false if it was given back before.
    pub(super) fn give_back(&self, address: u64) -> bool {
        let place = (address - self.base.as_ptr() as u64) as usize / SIZE;
        let was = self.live[place].swap(false, Ordering::AcqRel);
        if was {
            self.free.lock().unwrap_or_else(PoisonError::into_inner).push_back(place);
        }
        was
    }
}

/// The indices of a queue. The program writes them by atomics too.
#[derive(Clone, Copy)]
pub(crate) struct Indices {
    write: &'static AtomicU64,
    read: &'static AtomicU64,
}

impl Indices {
    /// How many packets have been handed out to be filled.
    pub(crate) fn write_index(self) -> &'static AtomicU64 {
        self.write
    }

    /// How many packets have been taken.
    pub(crate) fn read_index(self) -> &'static AtomicU64 {
        self.read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_good_while_its_queue_is_there() {
        let places = Places::new().unwrap();
        let first = places.take(|raw| raw.read_dispatch_id = 7).unwrap();
        let at = |address: u64| places.find(std::ptr::with_exposed_provenance(address as usize));
        assert_eq!(at(first).unwrap().read_index().load(Ordering::Relaxed), 7);
        for wrong in [0, first + 1, first + 8, first + SIZE as u64, first - SIZE as u64, u64::MAX] {
            assert!(at(wrong).is_none(), "{wrong:#x}");
        }
        assert!(places.give_back(first) && !places.give_back(first));
        assert!(at(first).is_none());
        // The same place comes last, and empty.
        let others: Vec<_> = (1..CAPACITY).map(|_| places.take(|_| {}).unwrap()).collect();
        assert!(!others.contains(&first));
        assert_eq!(places.take(|_| {}), Some(first));
        assert_eq!(at(first).unwrap().read_index().load(Ordering::Relaxed), 0);
        assert!(places.take(|_| {}).is_none(), "that was the last");
    }
}
