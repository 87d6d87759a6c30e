//! Handles that cannot dangle: numbers that look like pointers to C, checked on every use.
//!
//! A handle encodes a slot number, the slot's generation and the kind of object. A destroyed, foreign or invented
//! handle is recognised and never dereferenced.

use std::ffi::c_void;
use std::sync::{Arc, PoisonError, RwLock};

/// The kind of object that a handle names. Odd, so that no handle equals an aligned pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Stream = 0x3,
    Event = 0x5,
    Module = 0x7,
    Function = 0x9,
    Pool = 0xb,
    Graph = 0xd,
    Node = 0xf,
    Exec = 0x11,
    UserObject = 0x13,
    ExecutionContext = 0x21,
    ResourceDescriptor = 0x23,
    Library = 0x25,
    LibraryKernel = 0x27,
    PhysicalMemory = 0x29,
    Array = 0x2b,
    MipmappedArray = 0x2d,
    ExternalMemory = 0x2f,
    ExternalSemaphore = 0x31,
    Linker = 0x33,
}

const KIND_BITS: u32 = 6;
const INDEX_BITS: u32 = 24;
const MAX_GENERATION: u32 = u32::MAX;

struct Slot<T> {
    generation: u32,
    value: Option<Arc<T>>,
}

struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

/// The live objects of one kind.
pub(crate) struct Handles<T> {
    kind: Kind,
    slots: RwLock<Slots<T>>,
}

impl<T> Handles<T> {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind, slots: RwLock::new(Slots { slots: Vec::new(), free: Vec::new() }) }
    }

    /// Creates a handle; `None` when 2^24 objects of the kind are alive.
    pub(crate) fn insert(&self, value: T) -> Option<*mut c_void> {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let value = Some(Arc::new(value));
        let index = match slots.free.pop() {
            Some(index) => {
                slots.slots[index as usize].value = value;
                index
            }
            None => {
                let index = u32::try_from(slots.slots.len()).ok()?;
                if index >= 1 << INDEX_BITS {
                    return None;
                }
                slots.slots.push(Slot { generation: 1, value });
                index
            }
        };
        let generation = u64::from(slots.slots[index as usize].generation);
        let bits = generation << (KIND_BITS + INDEX_BITS) | u64::from(index) << KIND_BITS | self.kind as u64;
        Some(std::ptr::without_provenance_mut(bits as usize))
    }

    fn decode(&self, handle: *const c_void) -> Option<(usize, u32)> {
        let bits = handle.addr() as u64;
        let index = (bits >> KIND_BITS) & ((1 << INDEX_BITS) - 1);
        let generation = u32::try_from(bits >> (KIND_BITS + INDEX_BITS)).ok()?;
        (bits & ((1 << KIND_BITS) - 1) == self.kind as u64).then_some((index as usize, generation))
    }

    /// The object behind the handle, if it is alive.
    pub(crate) fn get(&self, handle: *const c_void) -> Option<Arc<T>> {
        let (index, generation) = self.decode(handle)?;
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.slots.get(index).filter(|slot| slot.generation == generation)?;
        slot.value.clone()
    }

    /// Calls `visit` with every live object.
    pub(crate) fn each(&self, mut visit: impl FnMut(&T)) {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.slots.iter().filter_map(|slot| slot.value.as_deref()).for_each(&mut visit);
    }

    /// Invalidates the handle. The object lives on while something holds it.
    pub(crate) fn remove(&self, handle: *const c_void) -> Option<Arc<T>> {
        let (index, generation) = self.decode(handle)?;
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let Slots { slots, free } = &mut *slots;
        let slot = slots.get_mut(index).filter(|slot| slot.generation == generation)?;
        let value = slot.value.take()?;
        slot.retire(index, |index| free.push(index));
        Some(value)
    }

    /// All living things.
    pub(crate) fn values(&self) -> Vec<Arc<T>> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.slots.iter().filter_map(|slot| slot.value.clone()).collect()
    }

    /// Invalidates the handles of all objects that `dead` selects.
    pub(crate) fn remove_where(&self, dead: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let Slots { slots, free } = &mut *slots;
        let mut removed = Vec::new();
        for (index, slot) in slots.iter_mut().enumerate() {
            if let Some(value) = slot.value.take_if(|value| dead(value)) {
                removed.push(value);
                slot.retire(index, |index| free.push(index));
            }
        }
        removed
    }
}

impl<T> Slot<T> {
    /// Starts the slot's next generation and frees the slot, unless its generations are used up.
    fn retire(&mut self, index: usize, free: impl FnOnce(u32)) {
        if self.generation < MAX_GENERATION {
            self.generation += 1;
            free(index as u32);
        } else {
            self.generation = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_handle_is_known_to_be_dead_even_when_its_slot_lives_again() {
        let table = Handles::new(Kind::Stream);
        let first = table.insert("first").unwrap();
        assert_eq!(*table.get(first).unwrap(), "first");
        assert_eq!(*table.remove(first).unwrap(), "first");
        assert!(table.get(first).is_none());
        assert!(table.remove(first).is_none());
        let second = table.insert("second").unwrap();
        assert_ne!(first, second);
        assert!(table.get(first).is_none());
        assert_eq!(*table.get(second).unwrap(), "second");
    }

    #[test]
    fn handles_of_another_kind_and_made_up_ones_name_nothing() {
        let (streams, events) = (Handles::new(Kind::Stream), Handles::new(Kind::Event));
        let stream = streams.insert(()).unwrap();
        events.insert(()).unwrap();
        assert!(events.get(stream).is_none());
        for bits in [0, 1, 2, 3, 5, usize::MAX, 0x7fff_dead_beef] {
            assert!(streams.get(std::ptr::without_provenance(bits)).is_none(), "{bits:#x}");
        }
    }

    #[test]
    fn remove_where_takes_what_matches_and_leaves_the_rest() {
        let table = Handles::new(Kind::Event);
        let handles: Vec<_> = (0..6).map(|i| table.insert(i).unwrap()).collect();
        assert_eq!(table.remove_where(|i| i % 2 == 0).len(), 3);
        for (i, handle) in handles.iter().enumerate() {
            assert_eq!(table.get(*handle).is_some(), i % 2 == 1);
        }
    }
}
