//! Signals: `amd_signal_t` in memory that host and kernels share.
//!
//! All of them lie in one array that is never given back, so that a stale handle can do no harm: it is an address, which kernels use as
//! such, and what lives there is kept apart, out of the program's reach. The place of a signal that has ended stays empty for a while,
//! and who has looked a signal up does not take the next one in its place for it.

mod wait;
mod watch;

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::abi::{AMD_SIGNAL_KIND_USER, amd_signal_t, hsa_signal_t};

pub(crate) use wait::Condition;
use wait::Wakers;
pub(crate) use watch::{Pending, Watch};

/// Signals that there can be.
const CAPACITY: usize = 1 << 20;
/// Places that stay empty after their signals have ended, before the oldest of them is used again.
const KEPT: usize = 4096;
const SIZE: usize = size_of::<amd_signal_t>();

/// All signals of the process.
pub(crate) struct Signals {
    base: NonNull<amd_signal_t>,
    /// How often a signal was made or ended at each place: odd where there is one.
    turns: Box<[AtomicU32]>,
    places: Mutex<Places>,
    wakers: Wakers,
}

#[derive(Default)]
struct Places {
    /// How many have ever been used.
    used: usize,
    /// In the order in which they became free.
    free: VecDeque<usize>,
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
    /// Of its place, as long as it lives.
    turn: u32,
}

impl Signals {
    /// No signals yet; `None` if the host gives no address space.
    pub(crate) fn new() -> Option<Self> {
        // SAFETY: a new private mapping, of which only what is used takes memory.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                CAPACITY * SIZE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return None;
        }
        let turns = (0..CAPACITY).map(|_| AtomicU32::new(0)).collect();
        Some(Self { base: NonNull::new(base.cast())?, turns, places: Mutex::default(), wakers: Wakers::default() })
    }

    /// The array, so that kernels can be given access: address and bytes.
    pub(crate) fn range(&self) -> (*mut u8, u64) {
        (self.base.as_ptr().cast(), (CAPACITY * SIZE) as u64)
    }

    /// A new signal; `None` if there are too many.
    pub(crate) fn create(&'static self, value: i64) -> Option<Signal> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let index = if places.used < CAPACITY && places.free.len() <= KEPT {
            places.used += 1;
            places.used - 1
        } else {
            places.free.pop_front()?
        };
        drop(places);
        let turn = self.turns[index].load(Ordering::Relaxed).wrapping_add(1);
        let signal = Signal { all: self, index, turn };
        signal.word(1).store(value, Ordering::Relaxed);
        for word in 2..8 {
            signal.word(word).store(0, Ordering::Relaxed);
        }
        signal.word(0).store(AMD_SIGNAL_KIND_USER, Ordering::Release);
        self.turns[index].store(turn, Ordering::Release);
        Some(signal)
    }

    /// The signal of a handle, if it is one.
    pub(crate) fn get(&'static self, handle: hsa_signal_t) -> Option<Signal> {
        let offset = handle.handle.checked_sub(self.base.as_ptr() as u64)? as usize;
        let index = offset / SIZE;
        let turn = self.turns.get(index)?.load(Ordering::Acquire);
        (offset % SIZE == 0 && turn % 2 == 1).then_some(Signal { all: self, index, turn })
    }

    /// Ends all signals.
    pub(crate) fn clear(&'static self) {
        let used = self.places.lock().unwrap_or_else(PoisonError::into_inner).used;
        for index in 0..used {
            let turn = self.turns[index].load(Ordering::Acquire);
            if turn % 2 == 1 {
                Signal { all: self, index, turn }.destroy();
            }
        }
    }
}

impl Signal {
    /// One of the eight words of the `amd_signal_t`.
    fn word(self, word: usize) -> &'static AtomicI64 {
        // SAFETY: the place is inside the array, whose words are aligned, never given back, and accessed by atomics alone.
        unsafe { AtomicI64::from_ptr(self.all.base.as_ptr().add(self.index).cast::<i64>().add(word)) }
    }

    /// The handle: the address of the `amd_signal_t`.
    pub(crate) fn handle(self) -> hsa_signal_t {
        hsa_signal_t { handle: self.all.base.as_ptr() as u64 + (self.index * SIZE) as u64 }
    }

    /// Ends the signal; waiters are let go. False if it has ended already.
    pub(crate) fn destroy(self) -> bool {
        let next = self.turn.wrapping_add(1);
        let turn = &self.all.turns[self.index];
        if turn.compare_exchange(self.turn, next, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return false;
        }
        self.word(0).store(0, Ordering::Release);
        self.notify();
        self.all.places.lock().unwrap_or_else(PoisonError::into_inner).free.push_back(self.index);
        true
    }

    /// Whether it has not been destroyed.
    pub(crate) fn is_live(self) -> bool {
        self.all.turns[self.index].load(Ordering::Acquire) == self.turn
    }

    /// The value, for atomic operations; [`notify`](Self::notify) after a change.
    pub(crate) fn value(self) -> &'static AtomicI64 {
        self.word(1)
    }

    /// Sets the value and wakes those who wait for it, unless the signal has ended.
    pub(crate) fn store(self, value: i64) {
        if !self.is_live() {
            return crate::log::late(self.handle());
        }
        self.value().store(value, Ordering::SeqCst);
        self.notify();
    }

    /// Lowers the value by one and wakes those who wait for it, unless the signal has ended.
    pub(crate) fn decrement(self) {
        if !self.is_live() {
            return crate::log::late(self.handle());
        }
        self.value().fetch_sub(1, Ordering::SeqCst);
        self.notify();
    }

    /// Says that the value has changed.
    pub(crate) fn notify(self) {
        self.all.wakers.notify(self.index);
    }

    /// When the work that the signal completes began and ended, in ticks.
    pub(crate) fn times(self) -> (u64, u64) {
        (self.time(4).load(Ordering::Acquire), self.time(5).load(Ordering::Acquire))
    }

    /// Writes down when the work began and ended.
    pub(crate) fn set_times(self, start: u64, end: u64) {
        self.time(4).store(start, Ordering::Release);
        self.time(5).store(end, Ordering::Release);
    }

    fn time(self, word: usize) -> &'static AtomicU64 {
        // SAFETY: as of `word`.
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
        // The place is used again, but not soon.
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
        // SAFETY: a live signal, which nobody else uses.
        let raw = unsafe { std::ptr::with_exposed_provenance::<amd_signal_t>(signal.handle().handle as usize).read() };
        assert_eq!((raw.kind, raw.value, raw.start_ts, raw.end_ts), (AMD_SIGNAL_KIND_USER, 0, 11, 22));
    }
}
