//! Signals: `amd_signal_t` in memory that host and kernels share.
//!
//! All signals are in one array that is never freed, so that a stale handle does no harm. A handle is an address, which
//! kernels use directly; which slots are live is recorded separately, inaccessible to the program. The slot of a
//! destroyed signal stays empty for a while, and a reference to a destroyed signal is not confused with the next signal
//! in its slot.
//!
//! An interprocess signal has a page of its own after the others, where the same memory is mapped in each process. A
//! change in another process causes no notification, so waiters poll for it, as they do for stores by kernels.

mod condition;
mod shared;
mod wait;
mod wakers;
mod watch;

use std::collections::{HashMap, VecDeque};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_sim::Physical;

use crate::abi::{AMD_SIGNAL_KIND_USER, amd_signal_t, hsa_signal_t};
use crate::memory::reserve_for_good;

pub(crate) use condition::Condition;
use wakers::Wakers;
pub(crate) use watch::{Pending, Watch};

/// The maximum number of signals.
const CAPACITY: usize = 1 << 20;
/// The number of slots that stay empty after their signals were destroyed, before the oldest is reused.
const KEPT: usize = 4096;
const SIZE: usize = size_of::<amd_signal_t>();
/// The maximum number of interprocess signals.
const SHARED: usize = 4096;
/// The bytes of the slot of an interprocess signal.
const PAGE: usize = 4096;
/// The total bytes of the array.
const BYTES: usize = CAPACITY * SIZE + SHARED * PAGE;

/// All signals of the process.
pub(crate) struct Signals {
    base: NonNull<amd_signal_t>,
    /// How often a signal was created or destroyed in each slot. Odd while it holds a signal.
    turns: Box<[AtomicU32]>,
    places: Mutex<Places>,
    /// The slots of interprocess signals.
    shared_places: Mutex<Places>,
    /// Their memory.
    shared: Mutex<HashMap<usize, Arc<Physical>>>,
    wakers: Wakers,
}

#[derive(Default)]
struct Places {
    /// How many slots have ever been used.
    used: usize,
    /// Free slots, in the order in which they were freed.
    free: VecDeque<usize>,
}

impl Places {
    /// Takes a free slot: a new one, unless `most` are used or more than `kept` have been freed.
    fn take(&mut self, most: usize, kept: usize) -> Option<usize> {
        if self.used < most && self.free.len() <= kept {
            self.used += 1;
            return Some(self.used - 1);
        }
        self.free.pop_front()
    }
}

// SAFETY: the array lives as long as the process and is accessed by atomics alone.
unsafe impl Send for Signals {}
// SAFETY: as above.
unsafe impl Sync for Signals {}

/// A signal that was live when it was looked up.
#[derive(Clone, Copy)]
pub(crate) struct Signal {
    all: &'static Signals,
    index: usize,
    /// The turn of its slot while it lives.
    turn: u32,
}

impl Signals {
    /// No signals. `None` if the host has no address space.
    pub(crate) fn new() -> Option<Self> {
        Some(Self {
            base: reserve_for_good(BYTES)?.cast(),
            turns: (0..CAPACITY + SHARED).map(|_| AtomicU32::new(0)).collect(),
            places: Mutex::default(),
            shared_places: Mutex::default(),
            shared: Mutex::default(),
            wakers: Wakers::default(),
        })
    }

    /// The array's address and size, to be made accessible to kernels.
    pub(crate) fn range(&self) -> (*mut u8, u64) {
        (self.base.as_ptr().cast(), BYTES as u64)
    }

    /// Creates a signal; `None` if there are too many.
    pub(crate) fn create(&'static self, value: i64) -> Option<Signal> {
        let index = self.places.lock().unwrap_or_else(PoisonError::into_inner).take(CAPACITY, KEPT)?;
        let signal = self.begin(index);
        signal.word(1).store(value, Ordering::Relaxed);
        for word in 2..8 {
            signal.word(word).store(0, Ordering::Relaxed);
        }
        signal.word(0).store(AMD_SIGNAL_KIND_USER, Ordering::Release);
        signal.live();
        Some(signal)
    }

    /// The signal that is about to be created in a free slot.
    fn begin(&'static self, index: usize) -> Signal {
        Signal { all: self, index, turn: self.turns[index].load(Ordering::Relaxed).wrapping_add(1) }
    }

    /// The signal behind a handle, if it is valid.
    pub(crate) fn get(&'static self, handle: hsa_signal_t) -> Option<Signal> {
        let (index, turn) = self.place(handle)?;
        (turn % 2 == 1).then_some(Signal { all: self, index, turn })
    }

    /// Returns whether a handle is of a destroyed signal whose slot has not been reused.
    pub(crate) fn has_ended(&self, handle: hsa_signal_t) -> bool {
        self.place(handle).is_some_and(|(_, turn)| turn > 0 && turn % 2 == 0)
    }

    /// The slot at a handle's address, and its turn.
    fn place(&self, handle: hsa_signal_t) -> Option<(usize, u32)> {
        let offset = handle.handle.checked_sub(self.base.as_ptr() as u64)? as usize;
        let (index, rest) = match offset.checked_sub(CAPACITY * SIZE) {
            None => (offset / SIZE, offset % SIZE),
            Some(offset) => (CAPACITY + offset / PAGE, offset % PAGE),
        };
        let turn = self.turns.get(index)?.load(Ordering::Acquire);
        (rest == 0).then_some((index, turn))
    }

    /// Destroys all signals.
    pub(crate) fn clear(&'static self) {
        let used = |places: &Mutex<Places>| places.lock().unwrap_or_else(PoisonError::into_inner).used;
        let (used, shared) = (used(&self.places), used(&self.shared_places));
        for index in (0..used).chain(CAPACITY..CAPACITY + shared) {
            let turn = self.turns[index].load(Ordering::Acquire);
            if turn % 2 == 1 {
                Signal { all: self, index, turn }.destroy();
            }
        }
    }
}

impl Signal {
    /// Its byte offset in the array.
    fn offset(self) -> usize {
        match self.index.checked_sub(CAPACITY) {
            None => self.index * SIZE,
            Some(shared) => CAPACITY * SIZE + shared * PAGE,
        }
    }

    /// One of the eight words of the `amd_signal_t`.
    fn word(self, word: usize) -> &'static AtomicI64 {
        // SAFETY: the slot is inside the array, whose words are aligned, never freed, and accessed by atomics alone.
        unsafe { AtomicI64::from_ptr(self.all.base.as_ptr().byte_add(self.offset()).cast::<i64>().add(word)) }
    }

    /// The handle: the address of the `amd_signal_t`.
    pub(crate) fn handle(self) -> hsa_signal_t {
        hsa_signal_t { handle: self.all.base.as_ptr() as u64 + self.offset() as u64 }
    }

    /// Makes the signal's handle valid.
    fn live(self) {
        self.all.turns[self.index].store(self.turn, Ordering::Release);
    }

    /// Destroys the signal and releases its waiters. False if it was destroyed already.
    pub(crate) fn destroy(self) -> bool {
        let next = self.turn.wrapping_add(1);
        let turn = &self.all.turns[self.index];
        if turn.compare_exchange(self.turn, next, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return false;
        }
        let places = match self.is_shared() {
            true => {
                self.leave();
                &self.all.shared_places
            }
            false => {
                self.word(0).store(0, Ordering::Release);
                &self.all.places
            }
        };
        self.notify();
        places.lock().unwrap_or_else(PoisonError::into_inner).free.push_back(self.index % CAPACITY);
        true
    }

    /// Returns whether the signal has not been destroyed.
    pub(crate) fn is_live(self) -> bool {
        self.all.turns[self.index].load(Ordering::Acquire) == self.turn
    }

    /// The value, for atomic operations. Call [`notify`](Self::notify) after a change.
    pub(crate) fn value(self) -> &'static AtomicI64 {
        self.word(1)
    }

    /// Sets the value and wakes its waiters, unless the signal has been destroyed.
    pub(crate) fn store(self, value: i64) {
        if !self.is_live() {
            return crate::log::late(self.handle());
        }
        self.value().store(value, Ordering::SeqCst);
        self.notify();
    }

    /// Decrements the value and wakes its waiters, unless the signal has been destroyed.
    pub(crate) fn decrement(self) {
        if !self.is_live() {
            return crate::log::late(self.handle());
        }
        self.value().fetch_sub(1, Ordering::SeqCst);
        self.notify();
    }

    /// Wakes waiters after a change of the value.
    pub(crate) fn notify(self) {
        self.all.wakers.notify(self.index);
    }

    /// The start and end of the work that the signal completes, in ticks.
    pub(crate) fn times(self) -> (u64, u64) {
        (self.time(4).load(Ordering::Acquire), self.time(5).load(Ordering::Acquire))
    }

    /// Stores the start and end of the work.
    pub(crate) fn set_times(self, start: u64, end: u64) {
        self.time(4).store(start, Ordering::Release);
        self.time(5).store(end, Ordering::Release);
    }

    fn time(self, word: usize) -> &'static AtomicU64 {
        // SAFETY: as for `word`.
        unsafe { AtomicU64::from_ptr(self.word(word).as_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signals() -> &'static Signals {
        Box::leak(Box::new(Signals::new().unwrap()))
    }

    #[test]
    fn a_handle_is_good_from_creation_to_destruction() {
        let all = signals();
        let signal = all.create(7).unwrap();
        let handle = signal.handle();
        assert_eq!(all.get(handle).unwrap().value().load(Ordering::Relaxed), 7);
        assert!(signal.destroy() && !signal.destroy());
        assert!(all.get(handle).is_none());
    }

    #[test]
    fn who_knew_a_signal_does_not_take_the_next_in_its_place_for_it() {
        let all = signals();
        let first = all.create(5).unwrap();
        first.destroy();
        // The slot is reused, but not soon.
        let others: Vec<_> = (0..=KEPT).map(|_| all.create(5).unwrap()).collect();
        assert!(others.iter().all(|other| other.handle() != first.handle()));
        others.iter().for_each(|other| assert!(other.destroy()));
        let again = (0..=KEPT).map(|_| all.create(5).unwrap()).find(|next| next.handle() == first.handle());
        let again = again.expect("its place is the one that was free for longest");
        assert!(again.is_live() && !first.is_live() && !first.destroy());
        first.decrement();
        first.store(9);
        assert_eq!(again.value().load(Ordering::Relaxed), 5);
        again.decrement();
        assert_eq!(again.value().load(Ordering::Relaxed), 4);
    }

    #[test]
    fn invented_handles_are_refused() {
        let all = signals();
        let real = all.create(0).unwrap().handle().handle;
        for handle in [0, 1, real + 1, real + 8, real + 64, real - 64, u64::MAX, u64::MAX - 63] {
            assert!(all.get(hsa_signal_t { handle }).is_none(), "{handle:#x}");
        }
    }

    #[test]
    fn times_are_where_programs_read_them() {
        let all = signals();
        let signal = all.create(0).unwrap();
        signal.set_times(11, 22);
        // SAFETY: a live signal, which nothing else uses.
        let raw = unsafe { std::ptr::with_exposed_provenance::<amd_signal_t>(signal.handle().handle as usize).read() };
        assert_eq!((raw.kind, raw.value, raw.start_ts, raw.end_ts), (AMD_SIGNAL_KIND_USER, 0, 11, 22));
    }
}
