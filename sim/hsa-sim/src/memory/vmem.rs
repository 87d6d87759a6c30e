//! Virtual memory: reserved addresses, memory without addresses, and mappings between them.
//!
//! The software GPU does the mapping. This module keeps HSA's view: handles, pools, and the access of each agent.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{BorrowedFd, IntoRawFd as _, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_sim::{Memory, MemoryError, Physical, Rights};

use super::{GRANULE, Pool, status_of};
use crate::abi::{
    HSA_ACCESS_PERMISSION_NONE, HSA_ACCESS_PERMISSION_RO, HSA_ACCESS_PERMISSION_RW, HSA_ACCESS_PERMISSION_WO,
    HSA_STATUS_ERROR_INVALID_ALLOCATION, HSA_STATUS_ERROR_INVALID_ARGUMENT, HSA_STATUS_ERROR_OUT_OF_RESOURCES,
    HSA_STATUS_ERROR_RESOURCE_FREE, hsa_amd_vmem_alloc_handle_t, hsa_status_t,
};
use crate::agent::{AgentId, Agents};
use crate::handles::Handles;
use crate::result::Result;

/// Memory without an address.
pub(crate) struct Backing {
    physical: Arc<Physical>,
    pub(crate) pool: Pool,
    /// The `hsa_amd_memory_type_t` that it was created with.
    pub(crate) kind: u32,
    /// The bytes of each agent's memory that such memory uses, decremented on drop.
    used: Arc<Vec<AtomicU64>>,
}

impl Drop for Backing {
    fn drop(&mut self) {
        self.used[self.pool.agent.index()].fetch_sub(self.physical.size(), Ordering::Relaxed);
    }
}

/// A mapping of memory to an address.
struct Mapping {
    size: u64,
    backing: Arc<Backing>,
    /// The `hsa_access_permission_t` of each agent. No entry means no access.
    access: BTreeMap<AgentId, u32>,
}

/// The state of virtual memory.
pub(crate) struct Virtual {
    handles: Handles<Arc<Backing>>,
    places: Mutex<Places>,
    used: Arc<Vec<AtomicU64>>,
}

#[derive(Default)]
struct Places {
    /// Reserved addresses: base and size.
    reserved: BTreeMap<u64, u64>,
    /// The bases of freed ranges that are not reused yet.
    kept: VecDeque<u64>,
    mapped: BTreeMap<u64, Mapping>,
}

impl Default for Virtual {
    fn default() -> Self {
        let used = (0..crate::agent::MAX_AGENTS).map(|_| AtomicU64::new(0)).collect();
        Self { handles: Handles::new(0x4d), places: Mutex::default(), used: Arc::new(used) }
    }
}

impl Places {
    /// Releases the oldest freed ranges for reuse until at most `left` remain.
    fn let_go(&mut self, space: &Memory, left: usize) {
        while self.kept.len() > left {
            // Cannot fail: nothing was mapped there when it was freed, and nothing can be since.
            self.kept.pop_front().into_iter().for_each(|base| drop(space.unreserve(base)));
        }
    }

    /// The mappings in a range. An error unless whole mappings cover it from start to end.
    fn whole(&self, address: u64, size: u64) -> Result<Vec<u64>> {
        let end = address.checked_add(size).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let mut at = address;
        let mut found = Vec::new();
        while at < end {
            let mapping = self.mapped.get(&at).ok_or(HSA_STATUS_ERROR_INVALID_ALLOCATION)?;
            found.push(at);
            at += mapping.size;
        }
        if at == end && size > 0 { Ok(found) } else { Err(HSA_STATUS_ERROR_INVALID_ALLOCATION) }
    }
}

/// The number of freed ranges that are not reused yet. HIP 6.4 frees a range before it removes it from its own table.
/// If another thread were given the same addresses in between, they would be removed from that table too, and the
/// process would crash when it frees them.
const KEPT: usize = 64;

/// The number of bits by which handle numbers are spaced. HIP 6.4 keeps memory by its handle in a table of addresses,
/// where it occupies eight bytes: handles that are closer together would be confused. (In AMD's runtime, handles are
/// addresses.)
const APART: u32 = 6;

/// Converts a table number to a handle.
fn handle_of(number: u64) -> hsa_amd_vmem_alloc_handle_t {
    hsa_amd_vmem_alloc_handle_t { handle: number.rotate_left(APART) }
}

/// Converts a handle to a table number.
fn number_of(handle: hsa_amd_vmem_alloc_handle_t) -> u64 {
    handle.handle.rotate_right(APART)
}

fn granules(size: u64) -> Result<()> {
    if size > 0 && size % GRANULE == 0 { Ok(()) } else { Err(HSA_STATUS_ERROR_INVALID_ARGUMENT) }
}

/// The status for memory that cannot be created, mapped or reserved.
fn refused(error: &MemoryError) -> hsa_status_t {
    match error {
        MemoryError::NoPages { .. } => HSA_STATUS_ERROR_OUT_OF_RESOURCES,
        MemoryError::NotWholePages { .. } => HSA_STATUS_ERROR_INVALID_ARGUMENT,
        other => status_of(other),
    }
}

impl Virtual {
    fn places(&self) -> std::sync::MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of an agent's memory that memory without addresses uses.
    pub(crate) fn used(&self, agent: AgentId) -> u64 {
        self.used[agent.index()].load(Ordering::Relaxed)
    }

    /// Reserves addresses and returns the first.
    pub(crate) fn reserve(&self, space: &Memory, size: u64, wanted: u64, align: u64) -> Result<u64> {
        granules(size)?;
        if wanted % GRANULE != 0 {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let mut places = self.places();
        let reserve = || space.reserve(size, align.max(GRANULE), wanted);
        let mut base = reserve();
        // Freed ranges that are not reused yet may be in the way.
        if (base.is_err() || wanted != 0 && !base.as_ref().is_ok_and(|base| *base == wanted)) && !places.kept.is_empty()
        {
            base.into_iter().for_each(|base| drop(space.unreserve(base)));
            places.let_go(space, 0);
            base = reserve();
        }
        let base = base.map_err(|error| refused(&error))?;
        places.reserved.insert(base, size);
        Ok(base)
    }

    /// Frees reserved addresses.
    pub(crate) fn unreserve(&self, space: &Memory, base: u64, size: u64) -> Result<()> {
        let mut places = self.places();
        if places.reserved.get(&base) != Some(&size) {
            return Err(HSA_STATUS_ERROR_INVALID_ALLOCATION);
        }
        if places.mapped.range(base..base + size).next().is_some() {
            return Err(HSA_STATUS_ERROR_RESOURCE_FREE);
        }
        places.reserved.remove(&base);
        places.kept.push_back(base);
        places.let_go(space, KEPT);
        Ok(())
    }

    /// The reserved range that contains an address.
    pub(crate) fn reservation(&self, address: u64) -> Option<(u64, u64)> {
        let places = self.places();
        let (base, size) = places.reserved.range(..=address).next_back()?;
        (address - base < *size).then_some((*base, *size))
    }

    /// The mapping that contains an address: base, size, pool, and the agents with access.
    pub(crate) fn mapping(&self, address: u64) -> Option<(u64, u64, Pool, Vec<AgentId>)> {
        let places = self.places();
        let (base, mapping) = places.mapped.range(..=address).next_back()?;
        let access = mapping.access.iter().filter(|(_, permission)| **permission != 0).map(|(agent, _)| *agent);
        (address - base < mapping.size).then(|| (*base, mapping.size, mapping.backing.pool, access.collect()))
    }

    /// Creates memory without an address.
    pub(crate) fn create(
        &self,
        agents: &Agents,
        pool: Pool,
        size: u64,
        kind: u32,
    ) -> Result<hsa_amd_vmem_alloc_handle_t> {
        granules(size)?;
        if !pool.allocates() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let left = pool.size(agents).saturating_sub(pool.agent.gpu().map_or(0, |gpu| agents.space().used_of(gpu)));
        let more = |used: u64| used.checked_add(size).filter(|used| *used <= left);
        let used = &self.used[pool.agent.index()];
        if used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_err() {
            return Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
        }
        // Counted here from now on, mapped or not. The software GPU would count each mapping.
        match agents.space().create_physical(size, None) {
            Ok(physical) => self.keep(physical, pool, kind),
            Err(error) => {
                used.fetch_sub(size, Ordering::Relaxed);
                Err(refused(&error))
            }
        }
    }

    /// Creates a handle for memory that has been counted. On failure, removes it from the count.
    fn keep(&self, physical: Arc<Physical>, pool: Pool, kind: u32) -> Result<hsa_amd_vmem_alloc_handle_t> {
        let backing = Arc::new(Backing { physical, pool, kind, used: Arc::clone(&self.used) });
        self.handles.insert(backing).map(handle_of).ok_or(HSA_STATUS_ERROR_OUT_OF_RESOURCES)
    }

    /// The memory behind a handle.
    pub(crate) fn get(&self, handle: hsa_amd_vmem_alloc_handle_t) -> Result<Arc<Backing>> {
        self.handles.get(number_of(handle)).ok_or(HSA_STATUS_ERROR_INVALID_ALLOCATION)
    }

    /// Releases a handle. The memory stays while it is mapped.
    pub(crate) fn release(&self, handle: hsa_amd_vmem_alloc_handle_t) -> Result<()> {
        self.handles.remove(number_of(handle)).map(drop).ok_or(HSA_STATUS_ERROR_INVALID_ALLOCATION)
    }

    /// Creates another handle for the memory that is mapped at an address.
    pub(crate) fn retain(&self, address: u64) -> Result<hsa_amd_vmem_alloc_handle_t> {
        let places = self.places();
        let found = places.mapped.range(..=address).next_back();
        let (_, mapping) = found
            .filter(|(base, mapping)| address - **base < mapping.size)
            .ok_or(HSA_STATUS_ERROR_INVALID_ALLOCATION)?;
        let number = self.handles.insert(Arc::clone(&mapping.backing));
        number.map(handle_of).ok_or(HSA_STATUS_ERROR_OUT_OF_RESOURCES)
    }

    /// Maps memory to reserved addresses. Kernels cannot access it until [`allow`](Self::allow) grants that.
    pub(crate) fn map(
        &self,
        space: &Memory,
        base: u64,
        size: u64,
        offset: u64,
        handle: hsa_amd_vmem_alloc_handle_t,
    ) -> Result<()> {
        granules(size)?;
        let backing = self.get(handle)?;
        let end = base.checked_add(size).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let inside =
            offset % GRANULE == 0 && offset.checked_add(size).is_some_and(|end| end <= backing.physical.size());
        if !inside || base % GRANULE != 0 {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let mut places = self.places();
        let reserved = places.reserved.range(..=base).next_back();
        if reserved.is_none_or(|(start, len)| end > start + len) {
            return Err(HSA_STATUS_ERROR_INVALID_ALLOCATION);
        }
        let before = places.mapped.range(..end).next_back();
        if before.is_some_and(|(start, mapping)| start + mapping.size > base) {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        space.map(base, size, &backing.physical, offset).map_err(|error| refused(&error))?;
        places.mapped.insert(base, Mapping { size, backing, access: BTreeMap::new() });
        Ok(())
    }

    /// Unmaps memory.
    pub(crate) fn unmap(&self, space: &Memory, base: u64, size: u64) -> Result<()> {
        let mut places = self.places();
        for start in places.whole(base, size)? {
            places.mapped.remove(&start);
            space.unmap(start).map_err(|error| refused(&error))?;
        }
        Ok(())
    }

    /// Sets some agents' access to mapped memory. That of other agents does not change.
    pub(crate) fn allow(&self, space: &Memory, base: u64, size: u64, allowed: &[(AgentId, u32)]) -> Result<()> {
        if allowed.iter().any(|(_, permission)| *permission > HSA_ACCESS_PERMISSION_RW) {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let mut places = self.places();
        for start in places.whole(base, size)? {
            let Some(mapping) = places.mapped.get_mut(&start) else { continue };
            mapping.access.extend(allowed.iter().copied());
            let of = |permissions: [u32; 2]| {
                let agents = mapping.access.iter().filter(move |(_, has)| permissions.contains(has));
                agents.filter_map(|(agent, _)| agent.gpu()).collect()
            };
            let rights = Rights {
                read: of([HSA_ACCESS_PERMISSION_RO, HSA_ACCESS_PERMISSION_RW]),
                write: of([HSA_ACCESS_PERMISSION_WO, HSA_ACCESS_PERMISSION_RW]),
            };
            space.set_rights(start, rights).map_err(|error| refused(&error))?;
        }
        Ok(())
    }

    /// An agent's access to the memory mapped at an address.
    pub(crate) fn access(&self, address: u64, agent: AgentId) -> Result<u32> {
        let places = self.places();
        let found = places.mapped.range(..=address).next_back();
        let (_, mapping) = found
            .filter(|(base, mapping)| address - **base < mapping.size)
            .ok_or(HSA_STATUS_ERROR_INVALID_ALLOCATION)?;
        Ok(mapping.access.get(&agent).copied().unwrap_or(HSA_ACCESS_PERMISSION_NONE))
    }

    /// A file descriptor for another process. The caller owns it.
    pub(crate) fn export(&self, handle: hsa_amd_vmem_alloc_handle_t) -> Result<RawFd> {
        let backing = self.get(handle)?;
        Ok(backing.physical.export().map_err(|error| refused(&error))?.into_raw_fd())
    }

    /// Imports the memory behind a descriptor of [`export`](Self::export), from this or another process.
    pub(crate) fn import(&self, space: &Memory, file: RawFd, pool: Pool) -> Result<hsa_amd_vmem_alloc_handle_t> {
        let invalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
        if file < 0 {
            return Err(invalid);
        }
        // SAFETY: borrowed for one call, which fails if the descriptor is not open.
        let copy = unsafe { BorrowedFd::borrow_raw(file) }.try_clone_to_owned().map_err(|_| invalid)?;
        let physical = space.import_physical(copy, None).map_err(|_| invalid)?;
        // The exporter counts it. Added here only to balance the decrement on drop.
        self.used[pool.agent.index()].fetch_add(physical.size(), Ordering::Relaxed);
        self.keep(physical, pool, 1)
    }

    /// Frees everything.
    pub(crate) fn clear(&self, space: &Memory) {
        let Places { reserved, kept, mapped } = std::mem::take(&mut *self.places());
        // Cannot fail: the entries exist only while the memory is mapped and reserved.
        mapped.keys().for_each(|base| drop(space.unmap(*base)));
        reserved.keys().chain(&kept).for_each(|base| drop(space.unreserve(*base)));
        self.handles.clear();
    }
}

#[cfg(test)]
mod tests {
    use amdgpu_sim::{Config, Settings};

    use super::*;
    use crate::memory::PoolKind;

    #[test]
    fn addresses_given_back_go_to_nobody_else_at_once() {
        let agents = Agents::new(&Settings { devices: 1, gpu: Config::default(), profile: None, delay: None });
        let (space, memory) = (agents.space(), Virtual::default());
        let first = memory.reserve(space, 4 * GRANULE, 0, 0).unwrap();
        assert_eq!(memory.unreserve(space, first, 4 * GRANULE), Ok(()));
        assert_eq!(memory.unreserve(space, first, 4 * GRANULE), Err(HSA_STATUS_ERROR_INVALID_ALLOCATION));
        assert!(memory.reservation(first).is_none());
        let others: Vec<u64> = (0..10).map(|_| memory.reserve(space, GRANULE, 0, 0).unwrap()).collect();
        assert!(others.iter().all(|other| !(first..first + 4 * GRANULE).contains(other)), "{first:x} {others:x?}");
        // Except if the program asks for them.
        assert_eq!(memory.reserve(space, GRANULE, first + GRANULE, 0), Ok(first + GRANULE));
        for base in others {
            assert_eq!(memory.unreserve(space, base, GRANULE), Ok(()));
        }
        // Eventually they are reused.
        for _ in 0..2 * KEPT {
            let base = memory.reserve(space, GRANULE, 0, 0).unwrap();
            assert_eq!(memory.unreserve(space, base, GRANULE), Ok(()));
        }
        assert!(memory.places().kept.len() <= KEPT);
        memory.clear(space);
    }

    #[test]
    fn handles_are_as_far_apart_as_addresses_are() {
        let agents = Agents::new(&Settings { devices: 1, gpu: Config::default(), profile: None, delay: None });
        let memory = Virtual::default();
        let pool = Pool { agent: AgentId(1), kind: PoolKind::DeviceCoarse };
        let mut handles: Vec<u64> = (0..20).map(|_| memory.create(&agents, pool, GRANULE, 0).unwrap().handle).collect();
        handles.sort_unstable();
        assert!(handles.windows(2).all(|pair| pair[1] - pair[0] >= 8), "{handles:x?}");
        for handle in handles {
            let beside = hsa_amd_vmem_alloc_handle_t { handle: handle + 8 };
            assert!(memory.get(beside).is_err());
            assert_eq!(memory.release(hsa_amd_vmem_alloc_handle_t { handle }), Ok(()));
        }
        assert_eq!(memory.used(pool.agent), 0);
    }
}
