//! Handles for C code: numbers that are looked up, so that stale, invented and foreign handles are detected.

use std::sync::{PoisonError, RwLock};

/// A table of objects by handle. A handle consists of an index (plus one, so that none is 0), a generation of 24 bits,
/// and the table's mark, which differs between tables.
pub(crate) struct Handles<T> {
    mark: u8,
    inner: RwLock<Inner<T>>,
}

struct Inner<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

/// The number of bits of a generation.
const GENERATIONS: u32 = 24;

impl<T> Handles<T> {
    /// An empty table with this mark.
    pub(crate) fn new(mark: u8) -> Self {
        Self { mark, inner: RwLock::new(Inner { slots: Vec::new(), free: Vec::new() }) }
    }

    fn join(&self, index: usize, generation: u32) -> u64 {
        u64::from(self.mark) << 56 | u64::from(generation) << 32 | (index as u64 + 1)
    }

    fn split(&self, handle: u64) -> Option<(usize, u32)> {
        let index = (handle as u32).checked_sub(1)?;
        let generation = (handle >> 32) as u32 & ((1 << GENERATIONS) - 1);
        (handle >> 56 == u64::from(self.mark)).then_some((index as usize, generation))
    }
}

impl<T: Clone> Handles<T> {
    /// Inserts a value and returns its handle; `None` if the table is full.
    pub(crate) fn insert(&self, value: T) -> Option<u64> {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        let index = match inner.free.pop() {
            Some(index) => index,
            None => {
                let index = u32::try_from(inner.slots.len()).ok().filter(|index| *index < u32::MAX)?;
                inner.slots.push(Slot { generation: 1, value: None });
                index
            }
        };
        let slot = &mut inner.slots[index as usize];
        slot.value = Some(value);
        let generation = slot.generation;
        Some(self.join(index as usize, generation))
    }

    /// The object behind a handle.
    pub(crate) fn get(&self, handle: u64) -> Option<T> {
        self.with(handle, T::clone)
    }

    /// Calls `look` with the object behind a handle. The table is locked meanwhile.
    pub(crate) fn with<R>(&self, handle: u64, look: impl FnOnce(&T) -> R) -> Option<R> {
        let (index, generation) = self.split(handle)?;
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let slot = inner.slots.get(index).filter(|slot| slot.generation == generation)?;
        slot.value.as_ref().map(look)
    }

    /// Removes a value. Its handle becomes stale.
    pub(crate) fn remove(&self, handle: u64) -> Option<T> {
        let (index, generation) = self.split(handle)?;
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        let slot = inner.slots.get_mut(index).filter(|slot| slot.generation == generation)?;
        let value = slot.value.take()?;
        slot.generation = (slot.generation + 1) % (1 << GENERATIONS);
        inner.free.push(index as u32);
        Some(value)
    }

    /// All handles with their values.
    pub(crate) fn all(&self) -> Vec<(u64, T)> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let live = inner
            .slots
            .iter()
            .enumerate()
            .filter_map(|(index, slot)| Some((self.join(index, slot.generation), slot.value.clone()?)));
        live.collect()
    }

    /// Removes and returns all values.
    pub(crate) fn clear(&self) -> Vec<T> {
        self.all().into_iter().filter_map(|(handle, _)| self.remove(handle)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_and_invented_handles_are_nothing() {
        let (table, other) = (Handles::new(0x51), Handles::new(0x52));
        let a = table.insert('a').unwrap();
        assert_eq!(table.get(a), Some('a'));
        assert_eq!(table.remove(a), Some('a'));
        let b = table.insert('b').unwrap();
        assert_eq!(a as u32, b as u32, "the place is used again");
        assert_eq!(table.get(a), None);
        assert_eq!(table.remove(a), None);
        for invented in [0, 1, 7, u64::MAX, b + 1, b | 1 << 63] {
            assert_eq!(table.get(invented), None, "{invented:#x}");
        }
        assert_eq!(table.get(other.insert('c').unwrap()), None, "of another table");
        assert_eq!(table.all(), [(b, 'b')]);
        assert_eq!(table.clear(), ['b']);
        assert_eq!(table.get(b), None);
    }
}
