//! Memory of allocation nodes: the address is reserved with the node, the memory is allocated when a launch reaches the
//! node.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use amdgpu_sim::{Agent, Agents, Gpu, Memory, MemoryError, PAGE, Rights};

use crate::device::Device;
use crate::memory::{AddressMap, Block, Kind};

/// The memory of an allocation node.
pub(crate) struct GraphMemory {
    pub(crate) base: u64,
    /// The requested bytes.
    pub(crate) size: u64,
    /// The reserved bytes: whole pages.
    bytes: u64,
    pub(crate) device: usize,
    agent: Agent,
    /// Whether the memory stays allocated after the launches that the program has made so far.
    held: AtomicBool,
    all: Arc<MemoryUse>,
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
pub(crate) struct MemoryUse {
    /// A GPU of the memory, which all of them share.
    gpu: Arc<Gpu>,
    blocks: Arc<AddressMap>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// The memory of all allocation nodes, mapped or not.
    all: BTreeMap<u64, Weak<GraphMemory>>,
    live: BTreeMap<u64, Arc<GraphMemory>>,
    counts: BTreeMap<usize, Counts>,
}

impl MemoryUse {
    pub(crate) fn new(gpu: Arc<Gpu>, blocks: Arc<AddressMap>) -> Self {
        Self { gpu, blocks, inner: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory(&self) -> &Memory {
        self.gpu.memory()
    }

    /// Calls `change` with the counts of a device.
    pub(crate) fn counts<R>(&self, device: usize, change: impl FnOnce(&mut Counts) -> R) -> R {
        change(self.lock().counts.entry(device).or_default())
    }

    /// The memory that starts at `base`.
    pub(crate) fn at(&self, base: u64) -> Option<Arc<GraphMemory>> {
        self.lock().all.get(&base)?.upgrade()
    }

    /// The memory at `base`, if a launch has allocated it and nothing has freed it since. Marks it as freed.
    pub(crate) fn allocated(&self, base: u64) -> Option<Arc<GraphMemory>> {
        let memory = self.at(base)?;
        memory.release().then_some(memory)
    }

    /// Reserves addresses for `size` bytes of a device's memory, without mapping memory.
    pub(crate) fn reserve(self: &Arc<Self>, device: &Device, size: u64) -> Result<Arc<GraphMemory>, MemoryError> {
        let bytes = size.checked_next_multiple_of(PAGE).unwrap_or(!(PAGE - 1));
        let base = self.memory().reserve(bytes, 0, 0)?;
        let (device, agent) = (device.ordinal, device.gpu.agent());
        self.blocks.insert(Block { base, size, kind: Kind::Graph, device, flags: 0, freeing: false, share: None });
        let (held, all) = (AtomicBool::new(false), Arc::clone(self));
        let memory = Arc::new(GraphMemory { base, size, bytes, device, agent, held, all });
        self.lock().all.insert(base, Arc::downgrade(&memory));
        Ok(memory)
    }
}

impl GraphMemory {
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
    pub(crate) fn map(self: &Arc<Self>) -> Result<(), MemoryError> {
        let memory = self.all.memory();
        let physical = memory.create_physical(self.bytes, Some(self.agent))?;
        memory.map(self.base, self.bytes, &physical, 0)?;
        memory.set_rights(self.base, Rights::full(Agents::of(self.agent)))?;
        let mut inner = self.all.lock();
        inner.live.insert(self.base, Arc::clone(self));
        let counts = inner.counts.entry(self.device).or_default();
        counts.now += self.bytes;
        counts.most = counts.most.max(counts.now);
        counts.most_reserved = counts.most_reserved.max(counts.now);
        Ok(())
    }

    /// Frees it, if it is allocated.
    pub(crate) fn unmap(&self) {
        let mut inner = self.all.lock();
        let live = inner.live.remove(&self.base);
        if live.is_some() {
            // Cannot fail: the entry exists only while the memory is mapped.
            drop(self.all.memory().unmap(self.base));
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
        // The memory is not mapped here: `live` holds a reference to mapped memory.
        self.all.lock().all.remove(&self.base);
        self.all.blocks.remove(self.base, |block| block.kind == Kind::Graph);
        drop(self.all.memory().unreserve(self.base));
    }
}
