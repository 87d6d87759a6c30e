//! Loaded code: the second layer, in memory.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::key::Key;

/// Number of modules kept if no limit is set.
pub(super) const USUAL_LIMIT: usize = 1024;

/// Loaded modules, by the key of their code and the index of their device. `T` is cheap to clone.
#[derive(Debug)]
pub(crate) struct Modules<T> {
    state: Mutex<State<T>>,
    pub(super) limit: usize,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug)]
struct State<T> {
    slots: HashMap<([u8; 32], usize), Slot<T>>,
    /// Counts uses.
    clock: u64,
}

#[derive(Debug)]
struct Slot<T> {
    /// Locked while one thread loads; `None` until it has finished.
    place: Arc<Mutex<Option<T>>>,
    used: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Default for Modules<T> {
    fn default() -> Self {
        let state = State { slots: HashMap::new(), clock: 0 };
        Self { state: Mutex::new(state), limit: USUAL_LIMIT, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }
}

impl<T: Clone> Modules<T> {
    /// Returns the loaded value, or loads it. If several threads want the same one, one loads and the others wait for
    /// it. A failure is not kept, nor a value that was loaded when the key was no longer `is_current`.
    pub(crate) fn get_or_load<E>(
        &self,
        key: &Key,
        device: usize,
        load: impl FnOnce() -> Result<T, E>,
        is_current: impl FnOnce() -> bool,
    ) -> Result<T, E> {
        let key = (*key.bytes(), device);
        let place = self.place(key);
        let mut loaded = lock(&place);
        if let Some(found) = &*loaded {
            self.hits.fetch_add(1, Relaxed);
            return Ok(found.clone());
        }
        self.misses.fetch_add(1, Relaxed);
        let result = load();
        match &result {
            Ok(made) if is_current() => *loaded = Some(made.clone()),
            _ => {
                let slots = &mut lock(&self.state).slots;
                if slots.get(&key).is_some_and(|slot| Arc::ptr_eq(&slot.place, &place)) {
                    slots.remove(&key);
                }
            }
        }
        result
    }

    /// Returns the place of a key and marks it as used. A new place replaces the least recently used one.
    fn place(&self, key: ([u8; 32], usize)) -> Arc<Mutex<Option<T>>> {
        let mut state = lock(&self.state);
        state.clock += 1;
        let used = state.clock;
        if let Some(slot) = state.slots.get_mut(&key) {
            slot.used = used;
            return Arc::clone(&slot.place);
        }
        let oldest = if state.slots.len() < self.limit {
            None
        } else {
            state.slots.iter().min_by_key(|(_, slot)| slot.used).map(|(key, _)| *key)
        };
        let removed = oldest.and_then(|key| state.slots.remove(&key));
        let place = Arc::default();
        if self.limit > 0 {
            state.slots.insert(key, Slot { place: Arc::clone(&place), used });
        }
        drop(state);
        // May unload the module, with no lock held.
        drop(removed);
        place
    }

    /// Removes all modules.
    pub(super) fn clear(&self) {
        let slots = std::mem::take(&mut lock(&self.state).slots);
        drop(slots);
    }

    /// Returns the hits, the misses, and the number of modules held.
    pub(super) fn counts(&self) -> (u64, u64, usize) {
        (self.hits.load(Relaxed), self.misses.load(Relaxed), lock(&self.state).slots.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u8) -> Key {
        Key::of_bytes(&[n])
    }

    fn get(modules: &Modules<Arc<u8>>, n: u8, device: usize) -> Arc<u8> {
        modules.get_or_load(&key(n), device, || Ok::<_, ()>(Arc::new(n)), || true).unwrap()
    }

    #[test]
    fn the_same_is_returned_twice_by_device() {
        let modules = Modules::default();
        let first = get(&modules, 1, 0);
        assert!(Arc::ptr_eq(&first, &get(&modules, 1, 0)));
        assert!(!Arc::ptr_eq(&first, &get(&modules, 1, 1)), "another device");
        assert!(!Arc::ptr_eq(&first, &get(&modules, 2, 0)), "another key");
        assert_eq!(modules.counts(), (1, 3, 3));
        assert_eq!(Arc::strong_count(&first), 2);
        modules.clear();
        assert_eq!(Arc::strong_count(&first), 1, "freed");
        assert_eq!(modules.counts(), (1, 3, 0));
        assert!(!Arc::ptr_eq(&first, &get(&modules, 1, 0)));
    }

    #[test]
    fn what_fails_is_not_kept() {
        let modules = Modules::default();
        assert_eq!(modules.get_or_load(&key(1), 0, || Err::<Arc<u8>, _>("no"), || true), Err("no"));
        assert_eq!(modules.counts(), (0, 1, 0));
        // A header changed during the compilation.
        let other = modules.get_or_load(&key(1), 0, || Ok::<_, ()>(Arc::new(9)), || false).unwrap();
        assert_eq!((*other, Arc::strong_count(&other), modules.counts()), (9, 1, (0, 2, 0)));
        assert_eq!(*get(&modules, 1, 0), 1);
        assert_eq!(modules.counts(), (0, 3, 1));
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let modules = Modules { limit: 2, ..Modules::default() };
        let (one, two) = (get(&modules, 1, 0), get(&modules, 2, 0));
        get(&modules, 1, 0);
        get(&modules, 3, 0);
        assert_eq!((Arc::strong_count(&one), Arc::strong_count(&two)), (2, 1));
        let none = Modules { limit: 0, ..Modules::default() };
        assert_eq!(Arc::strong_count(&get(&none, 1, 0)), 1);
    }

    #[test]
    fn one_of_many_threads_loads() {
        let modules = Modules::default();
        let loads = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    let made = modules.get_or_load(
                        &key(1),
                        0,
                        || {
                            loads.fetch_add(1, Relaxed);
                            std::thread::sleep(std::time::Duration::from_millis(30));
                            Ok::<_, ()>(Arc::new(7))
                        },
                        || true,
                    );
                    assert_eq!(*made.unwrap(), 7);
                });
            }
        });
        assert_eq!((loads.load(Relaxed), modules.counts()), (1, (15, 1, 1)));
    }

    /// A thread that loads during a clear gets a module of its own.
    #[test]
    fn clearing_disturbs_nobody() {
        let modules = Modules::default();
        std::thread::scope(|scope| {
            for thread in 0..8_u8 {
                let modules = &modules;
                scope.spawn(move || {
                    for n in 0..200 {
                        assert_eq!(*get(modules, n % 5, 0), n % 5);
                        if thread == 0 {
                            modules.clear();
                        }
                    }
                });
            }
        });
    }
}
