//! The memory of the `amd_queue_t` of all queues: one array that is never freed.
//!
//! Any thread with a queue's address may read and write its indices at any time. So these functions take no lock: an
//! address is either a slot of the array or invalid, and a stale address does no harm. A freed slot is reused only
//! after all others have been used.

use std::collections::VecDeque;
use std::mem::offset_of;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::abi::{amd_queue_v2_t, hsa_queue_t};
use crate::memory::reserve_for_good;

/// The maximum number of queues.
const CAPACITY: usize = 8192;
/// The bytes of a slot: a page.
const SIZE: usize = 4096;

const _: () = assert!(size_of::<amd_queue_v2_t>() <= SIZE);

/// All slots.
pub(super) struct Places {
    base: NonNull<u8>,
    live: Box<[AtomicBool]>,
    free: Mutex<VecDeque<usize>>,
}

// SAFETY: the array lives as long as the process. Its contents are accessed by atomics, except for the first write, before the address is
// known to anyone.
unsafe impl Send for Places {}
// SAFETY: as above.
unsafe impl Sync for Places {}

impl Places {
    /// All slots are free. `None` if the host has no address space.
    pub(super) fn new() -> Option<Self> {
        let live = (0..CAPACITY).map(|_| AtomicBool::new(false)).collect();
        Some(Self { base: reserve_for_good(CAPACITY * SIZE)?, live, free: Mutex::new((0..CAPACITY).collect()) })
    }

    /// The array's address and size.
    pub(super) fn range(&self) -> (*mut u8, u64) {
        (self.base.as_ptr(), (CAPACITY * SIZE) as u64)
    }

    /// Takes a slot for a queue, which `fill` initialises, and returns its address. `None` if all are used.
    pub(super) fn take(&self, fill: impl FnOnce(&mut amd_queue_v2_t)) -> Option<u64> {
        let place = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop_front()?;
        // SAFETY: the place is inside the array.
        let at = unsafe { self.base.as_ptr().add(place * SIZE) };
        // SAFETY: nothing else uses the slot. Code with a stale address accesses words by atomics, and only while the slot is live.
        unsafe {
            at.write_bytes(0, size_of::<amd_queue_v2_t>());
            fill(&mut *at.cast());
        }
        self.live[place].store(true, Ordering::Release);
        Some(at.expose_provenance() as u64)
    }

    /// The indices of the queue at an address, if there is one.
    pub(super) fn find(&self, queue: *const hsa_queue_t) -> Option<Indices> {
        let offset = queue.addr().checked_sub(self.base.as_ptr().addr())?;
        let live = self.live.get(offset / SIZE)?.load(Ordering::Acquire);
        if offset % SIZE != 0 || !live {
            return None;
        }
        // SAFETY: an aligned word of a slot, which lives as long as the process and is accessed by atomics alone while its address is
        // known.
        let word = |field: usize| unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(offset + field).cast()) };
        let (write, read) =
            (offset_of!(amd_queue_v2_t, write_dispatch_id), offset_of!(amd_queue_v2_t, read_dispatch_id));
        Some(Indices { write: word(write), read: word(read) })
    }

    /// Frees a slot of [`take`](Self::take). False if it was freed before.
    pub(super) fn give_back(&self, address: u64) -> bool {
        let place = (address - self.base.as_ptr() as u64) as usize / SIZE;
        let was = self.live[place].swap(false, Ordering::AcqRel);
        if was {
            self.free.lock().unwrap_or_else(PoisonError::into_inner).push_back(place);
        }
        was
    }
}

/// The indices of a queue. The program accesses them by atomics too.
#[derive(Clone, Copy)]
pub(crate) struct Indices {
    write: &'static AtomicU64,
    read: &'static AtomicU64,
}

impl Indices {
    /// The number of packet slots that producers have reserved.
    pub(crate) fn write_index(self) -> &'static AtomicU64 {
        self.write
    }

    /// The number of packets that have been taken.
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
        // The same slot is reused last, and is empty.
        let others: Vec<_> = (1..CAPACITY).map(|_| places.take(|_| {}).unwrap()).collect();
        assert!(!others.contains(&first));
        assert_eq!(places.take(|_| {}), Some(first));
        assert_eq!(at(first).unwrap().read_index().load(Ordering::Relaxed), 0);
        assert!(places.take(|_| {}).is_none(), "that was the last");
    }
}
