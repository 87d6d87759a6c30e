//! Interprocess signals: each has a page that is mapped at a slot of the array.

use std::os::fd::{AsFd as _, AsRawFd as _};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use amdgpu_sim::{Memory, Physical, SharedName};

use super::{CAPACITY, PAGE, SHARED, Signal, Signals};
use crate::abi::AMD_SIGNAL_KIND_USER;

impl Signals {
    /// Creates a signal that other processes can open. `None` if there are too many, or no pages for it.
    pub(crate) fn create_shared(&'static self, space: &Memory, value: i64) -> Option<Signal> {
        let page = space.create_physical(PAGE as u64, None).ok()?;
        let signal = self.map(page)?;
        signal.word(1).store(value, Ordering::Relaxed);
        signal.word(0).store(AMD_SIGNAL_KIND_USER, Ordering::Release);
        signal.live();
        Some(signal)
    }

    /// Opens the signal with this name, of another process or of this one. `None` if it does not exist.
    pub(crate) fn attach(&'static self, space: &Memory, name: SharedName) -> Option<Signal> {
        let page = space.import_physical(name.open()?, None).ok().filter(|page| page.size() == PAGE as u64)?;
        let signal = self.map(page)?;
        // Live from here on, so that it can be destroyed again.
        signal.live();
        if signal.word(0).load(Ordering::Acquire) != AMD_SIGNAL_KIND_USER {
            signal.destroy();
            return None;
        }
        Some(signal)
    }

    /// Maps a page at a free slot.
    fn map(&'static self, page: Arc<Physical>) -> Option<Signal> {
        let place = self.shared_places.lock().unwrap_or_else(PoisonError::into_inner).take(SHARED, SHARED / 2)?;
        let signal = self.begin(CAPACITY + place);
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
        let at = signal.word(0).as_ptr().cast();
        // SAFETY: the page of the array belongs to this slot alone, and the file, whose size is sealed, has as many bytes.
        if unsafe { libc::mmap(at, PAGE, access, flags, page.as_fd().as_raw_fd(), 0) } == libc::MAP_FAILED {
            self.shared_places.lock().unwrap_or_else(PoisonError::into_inner).free.push_back(place);
            return None;
        }
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).insert(signal.index, page);
        Some(signal)
    }
}

impl Signal {
    /// Returns whether other processes may open the signal.
    pub(super) fn is_shared(self) -> bool {
        self.index >= CAPACITY
    }

    /// The name by which other processes open the signal, if it was created for that.
    pub(crate) fn name(self) -> Option<SharedName> {
        let shared = self.all.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.get(&self.index)?.name().ok()
    }

    /// Detaches from the signal, which the other processes keep: maps an empty page in its slot.
    pub(super) fn leave(self) {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        let at = self.word(0).as_ptr().cast();
        // SAFETY: the page of the array belongs to this slot alone. If the call fails, the old page stays, which does no harm.
        unsafe { libc::mmap(at, PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        self.all.shared.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.index);
    }
}

#[cfg(test)]
mod tests {
    use amdgpu_sim::{Config, Gpu};

    use super::*;
    use crate::abi::hsa_signal_t;

    fn signals() -> &'static Signals {
        Box::leak(Box::new(Signals::new().unwrap()))
    }

    /// Two sets of signals represent two processes.
    #[test]
    fn what_one_process_stores_the_other_finds() {
        let gpu = Gpu::new(Config::default());
        let (ours, theirs) = (signals(), signals());
        let signal = ours.create_shared(gpu.memory(), 5).unwrap();
        let name = signal.name().unwrap();
        let other = theirs.attach(gpu.memory(), name).unwrap();
        assert_ne!(signal.handle(), other.handle());
        assert_eq!(theirs.get(other.handle()).unwrap().value().load(Ordering::SeqCst), 5);
        other.store(7);
        assert_eq!(signal.value().load(Ordering::SeqCst), 7);
        // Destroying it in one process does not affect the other.
        assert!(signal.destroy() && !signal.destroy());
        assert!(ours.get(signal.handle()).is_none());
        other.decrement();
        assert_eq!((other.value().load(Ordering::SeqCst), signal.value().load(Ordering::SeqCst)), (6, 0));
        assert!(theirs.attach(gpu.memory(), name).is_none(), "the name is that of the first");
        assert!(other.destroy());
    }

    #[test]
    fn what_is_no_signal_is_not_attached() {
        let gpu = Gpu::new(Config::default());
        let all = signals();
        for size in [4096, 8192] {
            let memory = gpu.memory().create_physical(size, None).unwrap();
            assert!(all.attach(gpu.memory(), memory.name().unwrap()).is_none(), "{size} zero bytes");
        }
        assert!(all.create(1).unwrap().name().is_none(), "one that is not shared");
        let real = all.create_shared(gpu.memory(), 0).unwrap().handle().handle;
        for handle in [real + 8, real + 64, real + PAGE as u64, real - PAGE as u64, u64::MAX] {
            assert!(all.get(hsa_signal_t { handle }).is_none(), "{handle:#x}");
        }
    }

    #[test]
    fn places_are_used_again() {
        let gpu = Gpu::new(Config::default());
        let all = signals();
        for n in 0..2 * SHARED as i64 {
            let signal = all.create_shared(gpu.memory(), n).unwrap();
            assert_eq!(signal.value().load(Ordering::SeqCst), n);
            assert!(signal.destroy());
        }
        let many: Vec<_> = (0..64).map(|n| all.create_shared(gpu.memory(), n).unwrap()).collect();
        all.clear();
        assert!(many.iter().all(|signal| !signal.is_live() && all.get(signal.handle()).is_none()));
    }
}
