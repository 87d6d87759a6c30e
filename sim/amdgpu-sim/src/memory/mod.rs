//! The GPU's memory: a table of live allocations over host memory.
//!
//! A device address *is* the host address of the same byte. So a copy between host and device is a plain copy, and
//! pinned host memory needs no mapping. The table makes it device memory: a kernel may only access bytes of a live
//! allocation, and an error describes an address outside by the nearest allocation, live or freed.

mod agent;
mod allocation;
mod arena;
pub(crate) mod atomic;
pub(crate) mod bulk;
mod error;
pub(crate) mod host;
mod mapping;
#[cfg(target_os = "linux")]
mod name;
mod pages;
mod physical;
mod reservation;
mod storage;
mod table;
mod written;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use crate::config::Bounds;
use crate::observe::Room;
use arena::Arena;
use host::Host;
use reservation::Reservation;

pub use agent::{Agent, Agents, MAX_AGENTS, Rights};
pub use allocation::{AllocKind, Allocation, MAX_ALIGN, MIN_ALIGN, Nearest, Request};
pub use error::MemoryError;
#[cfg(target_os = "linux")]
pub use name::SharedName;
pub use pages::PAGE;
pub use physical::Physical;
pub(crate) use storage::Block;
use storage::Storage;
pub(crate) use table::{Region, Table};
pub(crate) use written::Written;

/// The number of freed allocations that are remembered for error messages.
const REMEMBERED: usize = 1024;
/// The amount of freed memory that is not reused, so that a use after free does not hit a newer allocation.
const QUARANTINE_BYTES: u64 = 32 << 20;

#[derive(Default)]
struct Freed {
    remembered: VecDeque<Allocation>,
    kept: VecDeque<(Arc<Storage>, u64)>,
    kept_bytes: u64,
}

/// The memory of a [`Gpu`](crate::Gpu), or of [several](crate::Gpu::group) that share one address space.
///
/// # While a kernel runs
/// Every access of a kernel is atomic. An access that is aligned to its own size of 1, 2, 4, 8 or 16 bytes is not torn
/// (16 for vector instructions on x86-64). The order follows the kernel's code with its waits and fences. So a host may
/// * read and write at any time through this type, word by word in no particular order,
/// * use `AtomicU32`, `AtomicU64` and so on at an address of a live allocation (signals, flags, doorbells): writes
///   before a release store are visible after the acquire load that reads it, on either side.
///
/// Any other access to bytes that a kernel is using at the same time is a data race, and undefined behaviour.
///
/// ```
/// use amdgpu_sim::{AllocKind, Config, Gpu};
///
/// let gpu = Gpu::new(Config::default());
/// let a = gpu.memory().alloc(1024, 0, AllocKind::Device)?;
/// gpu.memory().write(a, &[1, 2, 3])?;
/// let mut back = [0; 3];
/// gpu.memory().read(a, &mut back)?;
/// assert_eq!(back, [1, 2, 3]);
/// gpu.memory().free(a)?;
/// assert!(gpu.memory().read(a, &mut back).unwrap_err().to_string().contains("freed"));
/// # Ok::<(), amdgpu_sim::MemoryError>(())
/// ```
pub struct Memory {
    table: RwLock<Arc<Table>>,
    freed: Mutex<Freed>,
    /// Ranges of [`reserve`](Self::reserve), by start. Locked after `table`.
    reservations: Mutex<BTreeMap<u64, Arc<Reservation>>>,
    /// The address ranges of device memory, created with the first allocation. On a system without such ranges, the
    /// host's heap is used.
    arena: OnceLock<Arc<Arena>>,
    /// The limit of every GPU.
    limits: Vec<u64>,
    /// The host's available memory.
    host: Host,
    /// The end of an allocation for reads.
    bounds: OnceLock<Bounds>,
    /// The budget for the written-bytes maps, if writes are tracked.
    tracks_writes: OnceLock<Room>,
}

impl Memory {
    /// The memory of GPUs with these limits, at most [`MAX_AGENTS`].
    pub(crate) fn new(limits: Vec<u64>) -> Self {
        Self {
            table: RwLock::default(),
            freed: Mutex::default(),
            reservations: Mutex::default(),
            arena: OnceLock::new(),
            limits,
            host: Host::default(),
            bounds: OnceLock::new(),
            tracks_writes: OnceLock::new(),
        }
    }

    /// Sets the end of an allocation for a kernel's reads.
    pub(crate) fn set_bounds(&self, bounds: Bounds) {
        // For GPUs that share the memory, the first decides.
        let _ = self.bounds.set(bounds);
    }

    /// Reads may extend to the next multiple of this.
    pub(crate) fn read_granule(&self) -> u64 {
        match self.bounds.get() {
            Some(Bounds::Pages) => PAGE,
            _ => 1,
        }
    }

    /// Starts to track which bytes of device memory have been written.
    pub(crate) fn track_writes(&self, room: Room) {
        // For GPUs that share the memory, the first decides.
        let _ = self.tracks_writes.set(room);
    }

    /// A map of written bytes for `size` bytes of a kind. `None` if they are not tracked, or the budget is exhausted:
    /// then everything counts as written, and the exhaustion is recorded.
    fn written(&self, kind: AllocKind, size: u64) -> Option<Arc<Written>> {
        let room = self.tracks_writes.get().filter(|_| kind == AllocKind::Device)?;
        Written::new(size, room).map(Arc::new)
    }

    /// Returns whether the budget for such maps has been exhausted since the last call.
    pub(crate) fn has_lacked_room(&self) -> bool {
        self.tracks_writes.get().is_some_and(Room::was_exhausted)
    }

    /// The number of GPUs that share it.
    pub fn agents(&self) -> usize {
        self.limits.len()
    }

    /// Allocates `size` zeroed bytes of the first GPU's memory, aligned to `align` bytes (0 means the minimum,
    /// [`MIN_ALIGN`]), for use by all GPUs. Returns the address.
    ///
    /// Neighbouring allocations are never adjacent: a kernel's write past the end of one is a fault, and so is a read
    /// that exceeds [`Config::bounds`](crate::Config::bounds).
    ///
    /// # Errors
    /// [`MemoryError::Empty`], [`MemoryError::Alignment`], [`MemoryError::OutOfMemory`],
    /// [`MemoryError::OutOfHostMemory`].
    pub fn alloc(&self, size: u64, align: u64, kind: AllocKind) -> Result<u64, MemoryError> {
        let rights = Rights::full(Agents::ALL);
        self.allocate(&Request { size, align, kind, owner: Some(Agent::default()), rights })
    }

    /// Allocates zeroed memory as `request` specifies. Returns the address.
    ///
    /// # Errors
    /// As for [`alloc`](Self::alloc), and [`MemoryError::NoAgent`].
    pub fn allocate(&self, request: &Request) -> Result<u64, MemoryError> {
        let Request { size, align, kind, owner, rights } = *request;
        if size == 0 {
            return Err(MemoryError::Empty);
        }
        let align = align.max(MIN_ALIGN);
        if !align.is_power_of_two() || align > MAX_ALIGN {
            return Err(MemoryError::Alignment { align });
        }
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let out_of_memory = self.room(&table, owner, size)?;
        self.backed(size)?;
        let Some((storage, base)) = self.storage(owner, size, align) else { return Err(out_of_memory) };
        let table = Arc::make_mut(&mut table);
        table.forget_stale(base, size);
        table.insert(Region {
            allocation: Allocation { base, size, kind, writable: true, owner, rights },
            storage: Some(Arc::new(storage)),
            written: self.written(kind, size),
        });
        Ok(base)
    }

    /// Zeroed memory: a GPU's from its address ranges, the host's from the heap.
    fn storage(&self, owner: Option<Agent>, size: u64, align: u64) -> Option<(Storage, u64)> {
        let arena = || self.arena.get_or_init(|| Arena::new(self.total()));
        let piece = owner.and_then(|_| arena().allocate(size, align));
        piece.map(|(piece, base)| (Storage::Piece(piece), base)).or_else(|| Storage::zeroed(size, align))
    }

    /// Whether an address is in the GPUs' address ranges. Memory there never belongs to the program, even if nothing is
    /// allocated. (On a system without such ranges the result is always false.)
    pub fn is_device_range(&self, address: u64) -> bool {
        self.arena.get().is_some_and(|arena| arena.contains(address)) || self.is_kept_mapping(address)
    }

    /// Returns whether an address is in a freed allocation with its own mapping that is still in quarantine.
    fn is_kept_mapping(&self, address: u64) -> bool {
        let freed = self.freed.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |storage: &Storage| matches!(storage, Storage::Mapping(mapping) if mapping.contains(address));
        freed.kept.iter().any(|(storage, _)| holds(storage))
    }

    /// Refuses `size` bytes if they exceed the owner's limit. Otherwise returns the error for the case that the host
    /// has no memory.
    fn room(&self, table: &Table, owner: Option<Agent>, size: u64) -> Result<MemoryError, MemoryError> {
        let (used, total) = match owner {
            None => (0, u64::MAX),
            Some(agent) => (table.owned_bytes(agent), self.total_of(agent)?),
        };
        let out_of_memory = MemoryError::OutOfMemory { requested: size, used, total };
        if size > total.saturating_sub(used) { Err(out_of_memory) } else { Ok(out_of_memory) }
    }

    /// Refuses sizes that the host cannot back.
    fn backed(&self, size: u64) -> Result<(), MemoryError> {
        if self.host.has(size) { Ok(()) } else { Err(MemoryError::OutOfHostMemory { requested: size }) }
    }

    /// Changes the GPUs' access rights to the allocation that starts at `address`. A running kernel may continue with
    /// the old rights.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`], [`MemoryError::NotTheStart`].
    pub fn set_rights(&self, address: u64, rights: Rights) -> Result<(), MemoryError> {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        match table.find(address).map(|r| r.allocation) {
            None => {
                drop(table);
                Err(MemoryError::NotAllocated { address, nearest: self.nearest(address) })
            }
            Some(allocation) if allocation.base != address => Err(MemoryError::NotTheStart { address, allocation }),
            Some(_) => {
                Arc::make_mut(&mut table).set_rights(address, rights);
                Ok(())
            }
        }
    }

    /// Records that the host may write to the allocation that contains `address` without notice: all of it counts as
    /// written.
    pub fn shared_with_host(&self, address: u64) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if table.find(address).is_some_and(|region| region.written.is_some()) {
            Arc::make_mut(&mut table).forget_written(address);
        }
    }

    /// Allocates the image of a code object: one block of host memory with a table entry for each segment. `segments`
    /// are (offset, size, writable), in order and without overlaps. Returns the address of offset 0. All GPUs have
    /// access, since other GPUs may use its device variables.
    pub(crate) fn alloc_image(
        &self,
        owner: Agent,
        size: u64,
        segments: &[(u64, u64, bool)],
    ) -> Result<u64, MemoryError> {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if size == 0 {
            return Err(MemoryError::Empty);
        }
        let out_of_memory = self.room(&table, Some(owner), size)?;
        self.backed(size)?;
        let Some((storage, base)) = self.storage(Some(owner), size, PAGE) else { return Err(out_of_memory) };
        let storage = Arc::new(storage);
        let table = Arc::make_mut(&mut table);
        table.forget_stale(base, size);
        for &(offset, size, writable) in segments {
            let kind = if writable { AllocKind::Globals } else { AllocKind::Code };
            let (owner, rights) = (Some(owner), Rights::full(Agents::ALL));
            let allocation = Allocation { base: base + offset, size, kind, writable, owner, rights };
            table.insert(Region { allocation, storage: Some(Arc::clone(&storage)), written: None });
        }
        Ok(base)
    }

    /// Frees memory of [`alloc`](Self::alloc). A running dispatch keeps the bytes alive until it ends.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`] (also for a second free), [`MemoryError::NotTheStart`], [`MemoryError::NotOwned`].
    pub fn free(&self, address: u64) -> Result<(), MemoryError> {
        self.remove(address, |a| !matches!(a.kind, AllocKind::Registered | AllocKind::Code | AllocKind::Globals))
    }

    /// Makes `len` bytes of the program's memory at `ptr` accessible to kernels, at the same address.
    ///
    /// # Errors
    /// [`MemoryError::Empty`], [`MemoryError::Overlap`].
    ///
    /// # Safety
    /// The bytes must stay valid for reads and writes until [`unregister_host`](Self::unregister_host) has returned and
    /// every dispatch that started before it has ended. While a dispatch runs, nothing else may access the bytes that
    /// the kernel writes, nor write those that it reads, except with atomics.
    pub unsafe fn register_host(&self, ptr: *mut u8, len: u64) -> Result<(), MemoryError> {
        // SAFETY: as the caller vouches.
        unsafe { self.register(ptr, len, |_| false) }
    }

    /// As [`register_host`](Self::register_host), but replaces existing registrations inside the range. At no time are
    /// these inaccessible to a kernel.
    ///
    /// # Errors
    /// [`MemoryError::Empty`], [`MemoryError::Overlap`]; in that case nothing has changed.
    ///
    /// # Safety
    /// As for [`register_host`](Self::register_host).
    pub unsafe fn register_host_around(&self, ptr: *mut u8, len: u64) -> Result<(), MemoryError> {
        let base = ptr.addr() as u64;
        let inside =
            |a: &Allocation| a.kind == AllocKind::Registered && base <= a.base && a.end() <= base.saturating_add(len);
        // SAFETY: as the caller vouches.
        unsafe { self.register(ptr, len, inside) }
    }

    /// # Safety
    /// As for [`register_host`](Self::register_host).
    unsafe fn register(
        &self,
        ptr: *mut u8,
        len: u64,
        may_replace: impl Fn(&Allocation) -> bool,
    ) -> Result<(), MemoryError> {
        if len == 0 {
            return Err(MemoryError::Empty);
        }
        let base = ptr.expose_provenance() as u64;
        let end = base.checked_add(len).filter(|_| base != 0);
        let end = end.ok_or(MemoryError::NotAllocated { address: base, nearest: None })?;
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = table.all_overlapping(base, len).find(|a| !may_replace(a)) {
            return Err(MemoryError::Overlap { address: base, len, allocation: other });
        }
        let (kind, rights) = (AllocKind::Registered, Rights::full(Agents::ALL));
        let allocation = Allocation { base, size: len, kind, writable: true, owner: None, rights };
        let table = Arc::make_mut(&mut table);
        table.remove_range(base, end);
        table.insert(Region { allocation, storage: None, written: None });
        Ok(())
    }

    /// Undoes [`register_host`](Self::register_host).
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`], [`MemoryError::NotTheStart`], [`MemoryError::NotOwned`] if `address` was not
    /// registered.
    pub fn unregister_host(&self, address: u64) -> Result<(), MemoryError> {
        self.remove(address, |a| a.kind == AllocKind::Registered)
    }

    /// Undoes all registrations that start in `len` bytes at `base`. A registration may have been split, if memory in
    /// it was returned to the host's allocator.
    pub fn unregister_host_in(&self, base: u64, len: u64) {
        let inside: Vec<Allocation> = {
            let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
            table
                .all_overlapping(base, len.max(1))
                .filter(|a| a.kind == AllocKind::Registered && a.base >= base)
                .collect()
        };
        for allocation in inside {
            // Another thread may have unregistered it first.
            let _ = self.unregister_host(allocation.base);
        }
    }

    /// Removes registrations that overlap `len` bytes at `base`: for memory that the host's allocator has just
    /// returned. The program must have freed the registered memory without unregistering it.
    pub fn forget_registrations(&self, base: u64, len: u64) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if len > 0 && table.overlapping(base, len).is_some() {
            Arc::make_mut(&mut table).forget_stale(base, len);
        }
    }

    /// Removes an image of [`alloc_image`](Self::alloc_image): all entries inside `base..base + size`.
    pub(crate) fn free_image(&self, base: u64, size: u64) {
        let removed = {
            let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
            Arc::make_mut(&mut table).remove_range(base, base.saturating_add(size))
        };
        removed.into_iter().for_each(|r| self.remember(r));
    }

    fn remove(&self, address: u64, may: impl Fn(&Allocation) -> bool) -> Result<(), MemoryError> {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let Some(region) = table.find(address) else {
            drop(table);
            return Err(MemoryError::NotAllocated { address, nearest: self.nearest(address) });
        };
        let allocation = region.allocation;
        if allocation.base != address {
            return Err(MemoryError::NotTheStart { address, allocation });
        }
        if !may(&allocation) {
            return Err(MemoryError::NotOwned { allocation });
        }
        let removed = Arc::make_mut(&mut table).remove_range(address, allocation.end());
        drop(table);
        removed.into_iter().for_each(|r| self.remember(r));
        Ok(())
    }

    /// Remembers a freed allocation for error messages, and delays the reuse of its bytes.
    fn remember(&self, region: Region) {
        let mut freed = self.freed.lock().unwrap_or_else(PoisonError::into_inner);
        if freed.remembered.len() == REMEMBERED {
            freed.remembered.pop_front();
        }
        freed.remembered.push_back(region.allocation);
        let size = region.allocation.size;
        if let Some(storage) = region.storage {
            // The program chooses the addresses of other mappings, so they are not reused by anyone else.
            let own = match &*storage {
                Storage::Heap(_) => true,
                // For processes that have its name, it is gone.
                Storage::Piece(piece) => piece.shared().is_none(),
                Storage::Mapping(mapping) => mapping.is_private(),
            };
            if own && size <= QUARANTINE_BYTES {
                freed.kept.push_back((storage, size));
                freed.kept_bytes += size;
            }
        }
        while freed.kept_bytes > QUARANTINE_BYTES || freed.kept.len() > REMEMBERED {
            let Some((_, size)) = freed.kept.pop_front() else { break };
            freed.kept_bytes -= size;
        }
    }

    /// The live allocation that contains `address`.
    pub fn find(&self, address: u64) -> Option<Allocation> {
        self.snapshot().find(address).map(|r| r.allocation)
    }

    /// The allocation nearest to `address`, live or freed. A live one is preferred at equal distance.
    pub fn nearest(&self, address: u64) -> Option<Nearest> {
        let live = self.snapshot().nearest(address).map(|a| (a.distance(address), false, a));
        let freed = self.freed.lock().unwrap_or_else(PoisonError::into_inner);
        // The most recently freed one of those at equal distance.
        let freed = freed.remembered.iter().rev().map(|a| (a.distance(address), true, *a)).min_by_key(|c| c.0);
        live.into_iter()
            .chain(freed)
            .min_by_key(|&(distance, freed, _)| (distance, freed))
            .map(|(_, freed, allocation)| Nearest { allocation, freed, address })
    }

    /// The allocated bytes of all GPUs' memory (without host memory).
    pub fn used(&self) -> u64 {
        let table = self.snapshot();
        (0..self.limits.len()).filter_map(Agent::new).map(|agent| table.owned_bytes(agent)).sum()
    }

    /// The allocated bytes of the memory of `agent`.
    pub fn used_of(&self, agent: Agent) -> u64 {
        self.snapshot().owned_bytes(agent)
    }

    /// The limits of all GPUs together, in bytes.
    pub fn total(&self) -> u64 {
        self.limits.iter().fold(0, |sum, limit| sum.saturating_add(*limit))
    }

    /// The limit of `agent` in bytes.
    ///
    /// # Errors
    /// [`MemoryError::NoAgent`].
    pub fn total_of(&self, agent: Agent) -> Result<u64, MemoryError> {
        let count = self.limits.len();
        self.limits.get(agent.index()).copied().ok_or(MemoryError::NoAgent { agent, count })
    }

    /// All live allocations, by address.
    pub fn allocations(&self) -> Vec<Allocation> {
        self.snapshot().iter().map(|r| r.allocation).collect()
    }

    /// Copies device memory at `address` to `out`.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`], [`MemoryError::PastTheEnd`].
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), MemoryError> {
        let table = self.check(address, out.len() as u64)?;
        // SAFETY: the range is inside a live region, which `table` keeps alive.
        unsafe { bulk::read_bytes(address, out) };
        drop(table);
        Ok(())
    }

    /// Copies `data` to device memory at `address`. The host may also write to read-only segments of a code object.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`], [`MemoryError::PastTheEnd`].
    pub fn write(&self, address: u64, data: &[u8]) -> Result<(), MemoryError> {
        let table = self.check(address, data.len() as u64)?;
        // SAFETY: the range is inside a live region, which `table` keeps alive.
        unsafe { bulk::write_bytes(address, data) };
        mark(&table, address, data.len() as u64);
        Ok(())
    }

    /// Copies `len` bytes inside device memory; the ranges may overlap.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`], [`MemoryError::PastTheEnd`].
    pub fn copy(&self, to: u64, from: u64, len: u64) -> Result<(), MemoryError> {
        let (source, target) = (self.check(from, len)?, self.check(to, len)?);
        // SAFETY: both ranges are inside live regions, which the two tables keep alive.
        unsafe { bulk::copy(to, from, len) };
        let regions = (target.find(to), source.find(from));
        match regions {
            (Some(Region { written: Some(written), allocation, .. }), Some(Region { written: Some(bits), .. }))
                if len > 0 =>
            {
                let from_base = regions.1.map_or(from, |r| r.allocation.base);
                written.copy(to - allocation.base, bits, from - from_base, len);
            }
            _ => mark(&target, to, len),
        }
        Ok(())
    }

    /// Fills `count` elements of `pattern.len()` bytes each from `address` on.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`], [`MemoryError::PastTheEnd`].
    pub fn fill(&self, address: u64, pattern: &[u8], count: u64) -> Result<(), MemoryError> {
        let width = pattern.len() as u64;
        let len = width.saturating_mul(count);
        let table = self.check(address, len)?;
        if len == 0 {
            return Ok(());
        }
        // In chunks of whole patterns, to avoid a call per byte.
        let chunk = pattern.repeat((4096 / pattern.len()).max(1));
        let mut done = 0;
        while done < len {
            let part = (len - done).min(chunk.len() as u64);
            // SAFETY: `done + part <= len`, and the range is inside a live region, which `table` keeps alive.
            unsafe { bulk::write_bytes(address + done, &chunk[..part as usize]) };
            done += part;
        }
        mark(&table, address, len);
        Ok(())
    }

    /// Checks that `len` bytes at `address` are inside one live allocation, or adjacent mappings. Returns the table
    /// that keeps them alive.
    fn check(&self, address: u64, len: u64) -> Result<Arc<Table>, MemoryError> {
        let table = self.snapshot();
        if len == 0 {
            return Ok(table);
        }
        let Some(first) = table.find(address) else {
            return Err(MemoryError::NotAllocated { address, nearest: self.nearest(address) });
        };
        let mut last = first;
        while len > last.allocation.end() - address {
            // For the host, adjacent mappings are one range.
            match table.find(last.allocation.end()) {
                Some(next) if last.mapping().is_some() && next.mapping().is_some() => last = next,
                _ => return Err(MemoryError::PastTheEnd { address, len, allocation: first.allocation }),
            }
        }
        Ok(table)
    }

    /// Returns whether `len` bytes at `address` are inside one live allocation.
    pub(crate) fn holds(&self, address: u64, len: u64) -> bool {
        self.check(address, len).is_ok()
    }

    /// The current table. Holding it keeps the memory of every allocation in it alive.
    pub(crate) fn snapshot(&self) -> Arc<Table> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Records `len` bytes at `address` as written.
fn mark(table: &Table, address: u64, len: u64) {
    if len > 0 {
        if let Some(region) = table.find(address) {
            region.mark(address, len);
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("used", &self.used()).field("total", &self.total()).finish_non_exhaustive()
    }
}
