//! Virtual memory: addresses without memory, memory without addresses, and the one mapped to the other.
//!
//! Memory without an address is an anonymous file, so that it can be mapped in several places and handed to other processes.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_sim::{Memory, Rights};

use super::{GRANULE, Pool, pointer};
use crate::abi::{
    HSA_ACCESS_PERMISSION_NONE, HSA_ACCESS_PERMISSION_RO, HSA_ACCESS_PERMISSION_RW, HSA_ACCESS_PERMISSION_WO,
    HSA_STATUS_ERROR_INVALID_ALLOCATION, HSA_STATUS_ERROR_INVALID_ARGUMENT, HSA_STATUS_ERROR_OUT_OF_RESOURCES,
    HSA_STATUS_ERROR_RESOURCE_FREE, hsa_amd_vmem_alloc_handle_t,
};
use crate::agent::{AgentId, Agents};
use crate::handles::Handles;
use crate::runtime::Result;

/// Memory without an address.
pub(crate) struct Backing {
    file: OwnedFd,
    size: u64,
    pub(crate) pool: Pool,
    /// `hsa_amd_memory_type_t` that it was made with.
    pub(crate) kind: u32,
    /// Bytes of each agent's memory that such memory takes; less when it goes.
    used: Arc<Vec<AtomicU64>>,
}

impl Drop for Backing {
    fn drop(&mut self) {
        self.used[self.pool.agent.index()].fetch_sub(self.size, Ordering::Relaxed);
    }
}

/// Memory at an address.
struct Mapping {
    size: u64,
    backing: Arc<Backing>,
    /// What each agent may do, as `hsa_access_permission_t`; none is none.
    access: BTreeMap<AgentId, u32>,
}

/// All of it.
pub(crate) struct Virtual {
    handles: Handles<Arc<Backing>>,
    places: Mutex<Places>,
    used: Arc<Vec<AtomicU64>>,
}

#[derive(Default)]
struct Places {
    /// Reserved addresses: base and size.
    reserved: BTreeMap<u64, u64>,
    mapped: BTreeMap<u64, Mapping>,
}

impl Default for Virtual {
    fn default() -> Self {
        let used = (0..crate::agent::MAX_AGENTS).map(|_| AtomicU64::new(0)).collect();
        Self { handles: Handles::default(), places: Mutex::default(), used: Arc::new(used) }
    }
}

impl Places {
    /// The mappings in a range; an error if the range does not hold whole ones from its start to its end.
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

fn granules(size: u64) -> Result<()> {
    if size > 0 && size % GRANULE == 0 { Ok(()) } else { Err(HSA_STATUS_ERROR_INVALID_ARGUMENT) }
}

/// Takes addresses: those wanted, if they are free, else any.
fn reserve(size: u64, wanted: u64) -> Option<u64> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let len = usize::try_from(size).ok()?;
    let fixed = if wanted == 0 { 0 } else { libc::MAP_FIXED_NOREPLACE };
    // SAFETY: a new mapping without access, which replaces none.
    let place = unsafe { libc::mmap(pointer(wanted), len, libc::PROT_NONE, flags | fixed, -1, 0) };
    match place == libc::MAP_FAILED {
        false => Some(place as u64),
        true if wanted != 0 => reserve(size, 0),
        true => None,
    }
}

fn unreserve(base: u64, size: u64) {
    if size > 0 {
        // SAFETY: addresses that were reserved here, and in which nothing is mapped.
        unsafe { libc::munmap(pointer(base), size as usize) };
    }
}

/// Makes a mapped range addresses without memory again.
fn blank(base: u64, size: u64) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: replaces a mapping that was made here; nobody is to use it any more.
    unsafe { libc::mmap(pointer(base), size as usize, libc::PROT_NONE, flags, -1, 0) };
}

impl Virtual {
    fn places(&self) -> std::sync::MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of an agent's memory that memory without addresses takes.
    pub(crate) fn used(&self, agent: AgentId) -> u64 {
        self.used[agent.index()].load(Ordering::Relaxed)
    }

    /// Reserves addresses; the first.
    pub(crate) fn reserve(&self, size: u64, wanted: u64, align: u64) -> Result<u64> {
        granules(size)?;
        let align = align.max(GRANULE);
        if !align.is_power_of_two() || wanted % GRANULE != 0 {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let none = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
        let more = if align > GRANULE { align } else { 0 };
        let whole = size.checked_add(more).ok_or(none)?;
        let base = match wanted % align {
            0 if wanted != 0 => reserve(size, wanted).filter(|base| base % align == 0 || more == 0),
            _ => None,
        };
        let base = match base {
            Some(base) => base,
            None => {
                let start = reserve(whole, 0).ok_or(none)?;
                let base = start.next_multiple_of(align);
                unreserve(start, base - start);
                unreserve(base + size, start + whole - base - size);
                base
            }
        };
        self.places().reserved.insert(base, size);
        Ok(base)
    }

    /// Gives reserved addresses back.
    pub(crate) fn unreserve(&self, base: u64, size: u64) -> Result<()> {
        let mut places = self.places();
        if places.reserved.get(&base) != Some(&size) {
            return Err(HSA_STATUS_ERROR_INVALID_ALLOCATION);
        }
        if places.mapped.range(base..base + size).next().is_some() {
            return Err(HSA_STATUS_ERROR_RESOURCE_FREE);
        }
        places.reserved.remove(&base);
        unreserve(base, size);
        Ok(())
    }

    /// Whether an address is reserved, and the range.
    pub(crate) fn reservation(&self, address: u64) -> Option<(u64, u64)> {
        let places = self.places();
        let (base, size) = places.reserved.range(..=address).next_back()?;
        (address - base < *size).then_some((*base, *size))
    }

    /// The mapping around an address: base, size, pool.
    pub(crate) fn mapping(&self, address: u64) -> Option<(u64, u64, Pool, Vec<AgentId>)> {
        let places = self.places();
        let (base, mapping) = places.mapped.range(..=address).next_back()?;
        let access = mapping.access.iter().filter(|(_, permission)| **permission != 0).map(|(agent, _)| *agent);
        (address - base < mapping.size).then(|| (*base, mapping.size, mapping.backing.pool, access.collect()))
    }

    /// Makes memory without an address.
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
        let file = file(size);
        match file.and_then(|file| self.keep(file, size, pool, kind)) {
            Some(handle) => Ok(handle),
            None => {
                used.fetch_sub(size, Ordering::Relaxed);
                Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES)
            }
        }
    }

    fn keep(&self, file: OwnedFd, size: u64, pool: Pool, kind: u32) -> Option<hsa_amd_vmem_alloc_handle_t> {
        let backing = Arc::new(Backing { file, size, pool, kind, used: Arc::clone(&self.used) });
        let kept = self.handles.insert(Arc::clone(&backing));
        if kept.is_none() {
            // What dropping it takes off again.
            self.used[pool.agent.index()].fetch_add(size, Ordering::Relaxed);
        }
        kept.map(|handle| hsa_amd_vmem_alloc_handle_t { handle })
    }

    /// The memory of a handle.
    pub(crate) fn get(&self, handle: hsa_amd_vmem_alloc_handle_t) -> Result<Arc<Backing>> {
        self.handles.get(handle.handle).ok_or(HSA_STATUS_ERROR_INVALID_ALLOCATION)
    }

    /// Gives a handle up. The memory stays while it is mapped.
    pub(crate) fn release(&self, handle: hsa_amd_vmem_alloc_handle_t) -> Result<()> {
        self.handles.remove(handle.handle).map(drop).ok_or(HSA_STATUS_ERROR_INVALID_ALLOCATION)
    }

    /// One more handle of the memory that is mapped at an address.
    pub(crate) fn retain(&self, address: u64) -> Result<hsa_amd_vmem_alloc_handle_t> {
        let places = self.places();
        let found = places.mapped.range(..=address).next_back();
        let (_, mapping) = found
            .filter(|(base, mapping)| address - **base < mapping.size)
            .ok_or(HSA_STATUS_ERROR_INVALID_ALLOCATION)?;
        let handle = self.handles.insert(Arc::clone(&mapping.backing)).ok_or(HSA_STATUS_ERROR_OUT_OF_RESOURCES)?;
        Ok(hsa_amd_vmem_alloc_handle_t { handle })
    }

    /// Maps memory to reserved addresses. Kernels can't use it until they are [allowed](Self::allow).
    pub(crate) fn map(&self, base: u64, size: u64, offset: u64, handle: hsa_amd_vmem_alloc_handle_t) -> Result<()> {
        granules(size)?;
        let backing = self.get(handle)?;
        let end = base.checked_add(size).ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let inside = offset % GRANULE == 0 && offset.checked_add(size).is_some_and(|end| end <= backing.size);
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
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        // SAFETY: replaces addresses without memory, which were reserved here for this.
        let place = unsafe {
            libc::mmap(pointer(base), size as usize, access, flags, backing.file.as_raw_fd(), offset as libc::off_t)
        };
        if place == libc::MAP_FAILED {
            return Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
        }
        places.mapped.insert(base, Mapping { size, backing, access: BTreeMap::new() });
        Ok(())
    }

    /// Takes memory from its addresses.
    pub(crate) fn unmap(&self, space: &Memory, base: u64, size: u64) -> Result<()> {
        let mut places = self.places();
        for start in places.whole(base, size)? {
            if let Some(mapping) = places.mapped.remove(&start) {
                // Only registered if it was allowed.
                let _ = space.unregister_host(start);
                blank(start, mapping.size);
            }
        }
        Ok(())
    }

    /// Says what agents may do with mapped memory; the others stay as they are.
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
            if space.find(start).is_none_or(|allocation| allocation.base != start) {
                // SAFETY: mapped memory, which is unregistered before it is unmapped. What the program does with it while kernels
                // run is for the program to order, as HSA asks.
                unsafe { space.register_host(pointer(start).cast(), mapping.size) }
                    .map_err(|error| super::status_of(&error))?;
            }
            space.set_rights(start, rights).map_err(|error| super::status_of(&error))?;
        }
        Ok(())
    }

    /// What an agent may do with the memory mapped at an address.
    pub(crate) fn access(&self, address: u64, agent: AgentId) -> Result<u32> {
        let places = self.places();
        let found = places.mapped.range(..=address).next_back();
        let (_, mapping) = found
            .filter(|(base, mapping)| address - **base < mapping.size)
            .ok_or(HSA_STATUS_ERROR_INVALID_ALLOCATION)?;
        Ok(mapping.access.get(&agent).copied().unwrap_or(HSA_ACCESS_PERMISSION_NONE))
    }

    /// A file descriptor for another process. It is the caller's.
    pub(crate) fn export(&self, handle: hsa_amd_vmem_alloc_handle_t) -> Result<RawFd> {
        let backing = self.get(handle)?;
        // SAFETY: the file is open.
        let copy = unsafe { libc::fcntl(backing.file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 0) };
        if copy < 0 { Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES) } else { Ok(copy) }
    }

    /// The memory behind a file descriptor that [`export`](Self::export) gave, of this process or another.
    pub(crate) fn import(&self, file: RawFd, pool: Pool) -> Result<hsa_amd_vmem_alloc_handle_t> {
        let invalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
        // SAFETY: asks about a descriptor, open or not.
        let seals = unsafe { libc::fcntl(file, libc::F_GET_SEALS) };
        // What could shrink could pull memory away under a kernel.
        if seals < 0 || seals & SEALS != SEALS {
            return Err(invalid);
        }
        // SAFETY: all zero is a value of the struct.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: `stat` is valid for the write.
        if unsafe { libc::fstat(file, &mut stat) } != 0 {
            return Err(invalid);
        }
        let size = u64::try_from(stat.st_size).map_err(|_| invalid)?;
        granules(size)?;
        // SAFETY: the descriptor is open.
        let copy = unsafe { libc::fcntl(file, libc::F_DUPFD_CLOEXEC, 0) };
        if copy < 0 {
            return Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
        }
        // SAFETY: a new descriptor, which nobody else closes.
        let copy = unsafe { OwnedFd::from_raw_fd(copy) };
        // It is counted where it was made; here it only must not be counted off.
        self.used[pool.agent.index()].fetch_add(size, Ordering::Relaxed);
        self.keep(copy, size, pool, 1).ok_or(HSA_STATUS_ERROR_OUT_OF_RESOURCES)
    }

    /// Gives everything back.
    pub(crate) fn clear(&self, space: &Memory) {
        let Places { reserved, mapped } = std::mem::take(&mut *self.places());
        for base in mapped.keys() {
            // Only registered if it was allowed.
            let _ = space.unregister_host(*base);
        }
        reserved.into_iter().for_each(|(base, size)| unreserve(base, size));
        self.handles.clear();
    }
}

/// The size stays.
const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;

/// An anonymous file of zeros, whose size stays.
fn file(size: u64) -> Option<OwnedFd> {
    // SAFETY: the name is a string that ends with a zero.
    let file = unsafe { libc::memfd_create(c"amdgpu-sim".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if file < 0 {
        return None;
    }
    // SAFETY: a new descriptor, which nobody else closes.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    let len = libc::off_t::try_from(size).ok()?;
    // SAFETY: the file is open.
    let done = unsafe {
        libc::ftruncate(file.as_raw_fd(), len) == 0 && libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SEALS) == 0
    };
    done.then_some(file)
}
