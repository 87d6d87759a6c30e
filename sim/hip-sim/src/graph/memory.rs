//! Memory that nodes of graphs allocate: its address is there with the node, the memory when a launch comes to it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use amdgpu_sim::{Agents, MemoryError, PAGE, Rights};

use crate::memory::{Block, Kind};
use crate::runtime::{Runtime, runtime};

/// What an allocation node allocates.
pub(crate) struct GraphMemory {
    pub(crate) base: u64,
    /// Bytes that were asked for.
    pub(crate) size: u64,
    /// Bytes that it takes: whole pages.
    bytes: u64,
    pub(crate) device: usize,
    /// Whether launches, as the program has made them, leave it allocated.
    held: AtomicBool,
}

/// What the nodes of all graphs have allocated on a device, in bytes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) now: u64,
    pub(crate) most: u64,
    /// As `most`, with a mark of its own: what is reserved is what is used.
    pub(crate) most_reserved: u64,
}

/// All memory that is allocated, and its counts by device.
#[derive(Default)]
pub(crate) struct MemoryUse(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// All that nodes allocate, now or in another launch.
    all: BTreeMap<u64, Weak<GraphMemory>>,
    live: BTreeMap<u64, Arc<GraphMemory>>,
    counts: BTreeMap<usize, Counts>,
}

impl MemoryUse {
    /// Has `change` see, or change, the counts of a device.
    pub(crate) fn counts<R>(&self, device: usize, change: impl FnOnce(&mut Counts) -> R) -> R {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(inner.counts.entry(device).or_default())
    }

    /// The memory that starts at `base`.
    pub(crate) fn at(&self, base: u64) -> Option<Arc<GraphMemory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all.get(&base)?.upgrade()
    }
}

/// The memory at `base`, if a launch has allocated it and nothing has freed it since. It counts as freed from here on.
pub(crate) fn allocated(runtime: &Runtime, base: u64) -> Option<Arc<GraphMemory>> {
    let memory = runtime.graph_memory.at(base)?;
    memory.release().then_some(memory)
}

impl GraphMemory {
    /// Addresses for `size` bytes of a device's memory, with nothing there.
    pub(crate) fn reserve(runtime: &Runtime, device: usize, size: u64) -> Result<Arc<Self>, MemoryError> {
        let bytes = size.checked_next_multiple_of(PAGE).unwrap_or(!(PAGE - 1));
        let base = runtime.memory().reserve(bytes, 0, 0)?;
        runtime.memory.insert(Block { base, size, kind: Kind::Graph, device, flags: 0, freeing: false, share: None });
        let memory = Arc::new(Self { base, size, bytes, device, held: AtomicBool::new(false) });
        let mut inner = runtime.graph_memory.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.all.insert(base, Arc::downgrade(&memory));
        Ok(memory)
    }

    /// A launch will allocate it. False if it is allocated already.
    pub(crate) fn hold(&self) -> bool {
        !self.held.swap(true, Ordering::AcqRel)
    }

    /// It will be freed. False if it is not allocated.
    pub(crate) fn release(&self) -> bool {
        self.held.swap(false, Ordering::AcqRel)
    }

    /// Whether launches leave it allocated.
    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire)
    }

    /// Allocates it: the node's turn has come.
    pub(crate) fn map(self: &Arc<Self>, runtime: &Runtime) -> Result<(), MemoryError> {
        let agent = runtime.devices[self.device].gpu.agent();
        let physical = runtime.memory().create_physical(self.bytes, Some(agent))?;
        runtime.memory().map(self.base, self.bytes, &physical, 0)?;
        runtime.memory().set_rights(self.base, Rights::full(Agents::of(agent)))?;
        let mut inner = runtime.graph_memory.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.live.insert(self.base, Arc::clone(self));
        let counts = inner.counts.entry(self.device).or_default();
        counts.now += self.bytes;
        counts.most = counts.most.max(counts.now);
        counts.most_reserved = counts.most_reserved.max(counts.now);
        Ok(())
    }

    /// Frees it, if it is there.
    pub(crate) fn unmap(&self, runtime: &Runtime) {
        let mut inner = runtime.graph_memory.0.lock().unwrap_or_else(PoisonError::into_inner);
        let live = inner.live.remove(&self.base);
        if live.is_some() {
            // It was mapped with its entry.
            drop(runtime.memory().unmap(self.base));
            let counts = inner.counts.entry(self.device).or_default();
            counts.now = counts.now.saturating_sub(self.bytes);
        }
        drop(inner);
        // Outside of the lock: it may be the last that knows of the memory.
        drop(live);
    }
}

impl Drop for GraphMemory {
    fn drop(&mut self) {
        // It is not mapped: what is mapped is known to the runtime.
        if let Ok(runtime) = runtime() {
            runtime.graph_memory.0.lock().unwrap_or_else(PoisonError::into_inner).all.remove(&self.base);
            runtime.memory.remove(self.base, |block| block.kind == Kind::Graph);
            drop(runtime.memory().unreserve(self.base));
        }
    }
}
