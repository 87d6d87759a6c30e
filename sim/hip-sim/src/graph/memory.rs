//! Memory of allocation nodes: the address is reserved with the node, the memory is allocated when a launch reaches the
//! node.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use amdgpu_sim::{Agents, MemoryError, PAGE, Rights};

use crate::memory::{Block, Kind};
use crate::runtime::{Runtime, runtime};

/// The memory of an allocation node.
pub(crate) struct GraphMemory {
    pub(crate) base: u64,
    /// The requested bytes.
    pub(crate) size: u64,
    /// The reserved bytes: whole pages.
    bytes: u64,
    pub(crate) device: usize,
    /// Whether the memory stays allocated after the launches that the program has made so far.
    held: AtomicBool,
}

/// The bytes that the nodes of all graphs have allocated on a device.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) now: u64,
    pub(crate) most: u64,
    /// As `most`, reset separately. Reserved and used memory are the same here.
    pub(crate) most_reserved: u64,
}

/// All allocated memory, and the counts of each device.
#[derive(Default)]
pub(crate) struct MemoryUse(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// The memory of all allocation nodes, mapped or not.
    all: BTreeMap<u64, Weak<GraphMemory>>,
    live: BTreeMap<u64, Arc<GraphMemory>>,
    counts: BTreeMap<usize, Counts>,
}

impl MemoryUse {
    /// Calls `change` with the counts of a device.
    pub(crate) fn counts<R>(&self, device: usize, change: impl FnOnce(&mut Counts) -> R) -> R {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(inner.counts.entry(device).or_default())
    }

    /// The memory that starts at `base`.
    pub(crate) fn at(&self, base: u64) -> Option<Arc<GraphMemory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all.get(&base)?.upgrade()
    }
}

/// The memory at `base`, if a launch has allocated it and nothing has freed it since. Marks it as freed.
pub(crate) fn allocated(runtime: &Runtime, base: u64) -> Option<Arc<GraphMemory>> {
    let memory = runtime.graph_memory.at(base)?;
    memory.release().then_some(memory)
}

impl GraphMemory {
    /// Reserves addresses for `size` bytes of a device's memory, without mapping memory.
    pub(crate) fn reserve(runtime: &Runtime, device: usize, size: u64) -> Result<Arc<Self>, MemoryError> {
        let bytes = size.checked_next_multiple_of(PAGE).unwrap_or(!(PAGE - 1));
        let base = runtime.memory().reserve(bytes, 0, 0)?;
        runtime.memory.insert(Block { base, size, kind: Kind::Graph, device, flags: 0, freeing: false, share: None });
        let memory = Arc::new(Self { base, size, bytes, device, held: AtomicBool::new(false) });
        let mut inner = runtime.graph_memory.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.all.insert(base, Arc::downgrade(&memory));
        Ok(memory)
    }

    /// Marks it as allocated by a launch. False if it is allocated already.
    pub(crate) fn hold(&self) -> bool {
        !self.held.swap(true, Ordering::AcqRel)
    }

    /// Marks it as freed. False if it is not allocated.
    pub(crate) fn release(&self) -> bool {
        self.held.swap(false, Ordering::AcqRel)
    }

    /// Returns whether launches leave it allocated.
    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire)
    }

    /// Allocates it, when a launch reaches the node.
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

    /// Frees it, if it is allocated.
    pub(crate) fn unmap(&self, runtime: &Runtime) {
        let mut inner = runtime.graph_memory.0.lock().unwrap_or_else(PoisonError::into_inner);
        let live = inner.live.remove(&self.base);
        if live.is_some() {
            // Cannot fail: the entry exists only while the memory is mapped.
            drop(runtime.memory().unmap(self.base));
            let counts = inner.counts.entry(self.device).or_default();
            counts.now = counts.now.saturating_sub(self.bytes);
        }
        drop(inner);
        // Dropped outside the lock: this may be the last reference to the memory.
        drop(live);
    }
}

impl Drop for GraphMemory {
    fn drop(&mut self) {
        // The memory is not mapped here: the runtime holds a reference to mapped memory.
        if let Ok(runtime) = runtime() {
            runtime.graph_memory.0.lock().unwrap_or_else(PoisonError::into_inner).all.remove(&self.base);
            runtime.memory.remove(self.base, |block| block.kind == Kind::Graph);
            drop(runtime.memory().unreserve(self.base));
        }
    }
}
