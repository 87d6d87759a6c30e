//! The GPU's memory: a table of live allocations over host memory.
//!
//! A device address *is* the host address of the same byte, so a copy between host and device is a plain copy and pinned host
//! memory needs no mapping. What makes it a device memory is the table: a kernel may touch only bytes of a live
//! allocation, and an address outside one is explained by the nearest allocation, live or freed.

mod agent;
mod arena;
pub(crate) mod atomic;
pub(crate) mod bulk;
pub(crate) mod host;
mod mapping;
#[cfg(target_os = "linux")]
mod name;
mod pages;
mod storage;
mod table;
mod written;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use crate::gpu::Bounds;
use crate::observe::Room;
use arena::Arena;
use host::Host;

pub use agent::{Agent, Agents, MAX_AGENTS, Rights};
pub use mapping::Physical;
#[cfg(target_os = "linux")]
pub use name::SharedName;
pub use pages::PAGE;
pub(crate) use storage::Block;
use storage::Storage;
pub(crate) use table::{Region, Table};
pub(crate) use written::Written;

/// Alignment in bytes that [`Memory::alloc`] gives at least, as `hipMalloc` does.
pub const MIN_ALIGN: u64 = 256;
/// The largest alignment that [`Memory::alloc`] accepts.
pub const MAX_ALIGN: u64 = 1 << 30;
/// Freed allocations that are remembered for error messages.
const REMEMBERED: usize = 1024;
/// Bytes of freed memory kept back, so that a use after free meets no newer allocation.
const QUARANTINE_BYTES: u64 = 32 << 20;

/// What an allocation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AllocKind {
    /// Device memory.
    Device,
    /// Host memory that the device can reach (pinned).
    Host,
    /// Memory that both sides use (managed, unified).
    Managed,
    /// A segment of a loaded code object: instructions, constants and read-only data.
    Code,
    /// A segment of a loaded code object: device variables.
    Globals,
    /// The arguments of a kernel.
    Kernarg,
    /// Host memory of the program's own, made reachable by [`Memory::register_host`].
    Registered,
}

impl fmt::Display for AllocKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "device memory",
            Self::Host => "pinned host memory",
            Self::Managed => "managed memory",
            Self::Code => "code and constants",
            Self::Globals => "device variables",
            Self::Kernarg => "kernel arguments",
            Self::Registered => "registered host memory",
        })
    }
}

/// An allocation, live or freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Address of the first byte.
    pub base: u64,
    /// Bytes.
    pub size: u64,
    /// What it is for.
    pub kind: AllocKind,
    /// Whether kernels may write it.
    pub writable: bool,
    /// The GPU whose memory it takes; `None` for host memory.
    pub owner: Option<Agent>,
    /// Which GPUs may do what with it.
    pub rights: Rights,
}

impl Allocation {
    /// Address just past the last byte.
    pub fn end(&self) -> u64 {
        self.base.saturating_add(self.size)
    }

    /// Where reads of it end, if they go on to the next multiple of `granule`.
    pub(crate) fn read_end(&self, granule: u64) -> u64 {
        self.end().checked_next_multiple_of(granule).unwrap_or(self.end())
    }

    /// Whether `address` is inside.
    pub fn contains(&self, address: u64) -> bool {
        address >= self.base && address < self.end()
    }

    /// Bytes between `address` and this allocation; 0 inside it.
    fn distance(&self, address: u64) -> u64 {
        if address < self.base {
            self.base - address
        } else if address < self.end() {
            0
        } else {
            (address - self.end()).saturating_add(1)
        }
    }
}

impl fmt::Display for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of {} at {:#x}..{:#x}", self.size, self.kind, self.base, self.end())
    }
}

/// The allocation nearest to an address: what an error message shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// The allocation.
    pub allocation: Allocation,
    /// Whether it has been freed.
    pub freed: bool,
    /// The address asked about.
    pub address: u64,
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Allocation { base, .. } = self.allocation;
        let end = self.allocation.end();
        if self.address < base {
            write!(f, "{} bytes before ", base - self.address)?;
        } else if self.address >= end {
            write!(f, "{} bytes past the end of ", self.address - end)?;
        } else {
            write!(f, "at byte {} of ", self.address - base)?;
        }
        write!(f, "{}{}", if self.freed { "freed " } else { "" }, self.allocation)
    }
}

/// Why a memory request was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// More was asked for than is left, of the limit or of the host.
    #[error("out of device memory: {requested} bytes asked for, {used} of {total} in use")]
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes in use.
        used: u64,
        /// The limit in bytes ([`Config::memory_bytes`](crate::Config::memory_bytes)).
        total: u64,
    },
    /// More was asked for than the host has left. GPUs take their memory from it.
    #[error(
        "out of host memory: {requested} bytes asked for, which is more than this machine has left for the process"
    )]
    OutOfHostMemory {
        /// Bytes asked for.
        requested: u64,
    },
    /// A range that is not made of whole pages, or reaches past the end of what it is a part of.
    #[error("{size} bytes at {address:#x} are not whole pages of {PAGE} bytes, or not inside")]
    NotWholePages {
        /// Its start.
        address: u64,
        /// Its bytes.
        size: u64,
    },
    /// A range that is not, or not wholly, in one that was reserved.
    #[error("{size} bytes at {address:#x} are not in a reserved address range")]
    NotReserved {
        /// Its start.
        address: u64,
        /// Its bytes.
        size: u64,
    },
    /// The operating system does not give what is needed to map memory; only Linux does.
    #[error("the system gives no {what}")]
    NoPages {
        /// What.
        what: &'static str,
    },
    /// A GPU that the address space does not have.
    #[error("there is no {agent} in this address space of {count} GPUs")]
    NoAgent {
        /// The GPU.
        agent: Agent,
        /// How many there are.
        count: usize,
    },
    /// An allocation of no bytes.
    #[error("an allocation of 0 bytes")]
    Empty,
    /// An alignment that is no power of two, or too large.
    #[error("alignment {align} is not a power of two up to {MAX_ALIGN}")]
    Alignment {
        /// The alignment asked for.
        align: u64,
    },
    /// The address is in no live allocation.
    #[error("{address:#x} is not in a live allocation{}", nearest_text(nearest))]
    NotAllocated {
        /// The address.
        address: u64,
        /// The allocation nearest to it.
        nearest: Option<Nearest>,
    },
    /// An address inside an allocation, where its first byte is needed.
    #[error("{address:#x} is inside an allocation, not its start ({allocation})")]
    NotTheStart {
        /// The address.
        address: u64,
        /// The allocation around it.
        allocation: Allocation,
    },
    /// An access that starts inside an allocation and ends outside it.
    #[error("{len} bytes at {address:#x} reach past the end of {allocation}")]
    PastTheEnd {
        /// The address.
        address: u64,
        /// Bytes of the access.
        len: u64,
        /// The allocation that the access starts in.
        allocation: Allocation,
    },
    /// Host memory that is registered, or allocated here, already.
    #[error("{len} bytes at {address:#x} overlap {allocation}")]
    Overlap {
        /// Start of what was to be registered.
        address: u64,
        /// Its bytes.
        len: u64,
        /// What it overlaps.
        allocation: Allocation,
    },
    /// `free` of something that `alloc` did not give.
    #[error("{allocation} was not allocated with Memory::alloc")]
    NotOwned {
        /// The allocation.
        allocation: Allocation,
    },
}

fn nearest_text(nearest: &Option<Nearest>) -> String {
    nearest.map_or_else(String::new, |n| format!("; it is {n}"))
}

#[derive(Default)]
struct Freed {
    remembered: VecDeque<Allocation>,
    kept: VecDeque<(Arc<Storage>, u64)>,
    kept_bytes: u64,
}

/// What an allocation is to be. [`Request::new`] gives one to change.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Bytes.
    pub size: u64,
    /// Alignment in bytes: a power of two up to [`MAX_ALIGN`]; less than [`MIN_ALIGN`] stands for that.
    pub align: u64,
    /// What it is for.
    pub kind: AllocKind,
    /// The GPU whose memory it takes; `None` for host memory, which no limit counts.
    pub owner: Option<Agent>,
    /// Which GPUs may do what with it.
    pub rights: Rights,
}

impl Request {
    /// `size` bytes of memory of `owner` (or the host), which it alone may use (or all GPUs).
    pub fn new(size: u64, kind: AllocKind, owner: Option<Agent>) -> Self {
        Self { size, align: MIN_ALIGN, kind, owner, rights: Rights::full(owner.map_or(Agents::ALL, Agents::of)) }
    }
}

/// The memory of a [`Gpu`](crate::Gpu), or of [several](crate::Gpu::group) that share one address space.
///
/// # While a kernel runs
/// Every access of a kernel is an atomic one: what is aligned to its own 1, 2, 4, 8 or 16 bytes is read or written whole (16 by vector
/// instructions, on x86-64), in the order of the kernel's code as the waits and fences in it ask. So a host may
/// * read and write at any time through this type, word by word in no particular order,
/// * use `AtomicU32`, `AtomicU64` and so on at an address of an allocation that lives (signals, flags, doorbells): what was written
///   before a release store is seen after the acquire load that sees it, on either side.
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
    /// Address ranges of [`reserve`](Self::reserve), by their starts. Locked after `table`.
    reservations: Mutex<BTreeMap<u64, Arc<mapping::Reservation>>>,
    /// Where device memory is given from; made with the first. Where the system gives no such ranges it is the host's heap.
    arena: OnceLock<Arc<Arena>>,
    /// The limit of every GPU.
    limits: Vec<u64>,
    /// What the host has left.
    host: Host,
    /// Where reads of an allocation end.
    bounds: OnceLock<Bounds>,
    /// Where the bits for bytes that were written go, if they are kept.
    tracks_writes: OnceLock<Room>,
}

impl Memory {
    /// Memory of GPUs with these limits, [`MAX_AGENTS`] at most.
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

    /// Sets where a kernel's reads of an allocation end.
    pub(crate) fn set_bounds(&self, bounds: Bounds) {
        // Of GPUs that share the memory the first decides.
        let _ = self.bounds.set(bounds);
    }

    /// Allocations can be read to the next multiple of this.
    pub(crate) fn read_granule(&self) -> u64 {
        match self.bounds.get() {
            Some(Bounds::Pages) => PAGE,
            _ => 1,
        }
    }

    /// From now on it is kept which bytes of device memory have been written.
    pub(crate) fn track_writes(&self, room: Room) {
        // Of GPUs that share the memory the first decides.
        let _ = self.tracks_writes.set(room);
    }

    /// Room for the bits of `size` bytes of a kind; none if they are not kept, or there is no more room: then everything counts as
    /// written, which the room remembers.
    fn written(&self, kind: AllocKind, size: u64) -> Option<Arc<Written>> {
        let room = self.tracks_writes.get().filter(|_| kind == AllocKind::Device)?;
        Written::new(size, room).map(Arc::new)
    }

    /// Whether there was too little room for such bits since this was asked last.
    pub(crate) fn has_lacked_room(&self) -> bool {
        self.tracks_writes.get().is_some_and(Room::was_exhausted)
    }

    /// How many GPUs share it.
    pub fn agents(&self) -> usize {
        self.limits.len()
    }

    /// Allocates `size` bytes of the first GPU's memory, all zero, aligned to `align` bytes (0: [`MIN_ALIGN`], the least), for all
    /// GPUs to use. Returns the address.
    ///
    /// Neighbouring allocations never touch: a kernel that writes past the end of one is caught, and one that reads there as
    /// [`Config::bounds`](crate::Config::bounds) says.
    ///
    /// # Errors
    /// [`MemoryError::Empty`], [`MemoryError::Alignment`], [`MemoryError::OutOfMemory`], [`MemoryError::OutOfHostMemory`].
    pub fn alloc(&self, size: u64, align: u64, kind: AllocKind) -> Result<u64, MemoryError> {
        let rights = Rights::full(Agents::ALL);
        self.allocate(&Request { size, align, kind, owner: Some(Agent::default()), rights })
    }

    /// Allocates what `request` says, all zero. Returns the address.
    ///
    /// # Errors
    /// As of [`alloc`](Self::alloc), and [`MemoryError::NoAgent`].
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

    /// Zeroed memory: a GPU's from a range of its own, the host's from the heap.
    fn storage(&self, owner: Option<Agent>, size: u64, align: u64) -> Option<(Storage, u64)> {
        let arena = || self.arena.get_or_init(|| Arena::new(self.total()));
        let piece = owner.and_then(|_| arena().allocate(size, align));
        piece.map(|(piece, base)| (Storage::Piece(piece), base)).or_else(|| Storage::zeroed(size, align))
    }

    /// Whether an address is of those that GPUs' memory is given from: what is there is no memory of the program's own, even where
    /// nothing is allocated any more. (A system that gives no such range makes it always false.)
    pub fn is_device_range(&self, address: u64) -> bool {
        self.arena.get().is_some_and(|arena| arena.contains(address)) || self.is_kept_mapping(address)
    }

    /// Whether an address is in memory of its own place that has been freed and is kept back.
    fn is_kept_mapping(&self, address: u64) -> bool {
        let freed = self.freed.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |storage: &Storage| matches!(storage, Storage::Mapping(mapping) if mapping.contains(address));
        freed.kept.iter().any(|(storage, _)| holds(storage))
    }

    /// Refuses `size` bytes where the owner's limit does; returns what to say if the host has none.
    fn room(&self, table: &Table, owner: Option<Agent>, size: u64) -> Result<MemoryError, MemoryError> {
        let (used, total) = match owner {
            None => (0, u64::MAX),
            Some(agent) => (table.owned_bytes(agent), self.total_of(agent)?),
        };
        let out_of_memory = MemoryError::OutOfMemory { requested: size, used, total };
        if size > total.saturating_sub(used) { Err(out_of_memory) } else { Ok(out_of_memory) }
    }

    /// Refuses what the host cannot back.
    fn backed(&self, size: u64) -> Result<(), MemoryError> {
        if self.host.has(size) { Ok(()) } else { Err(MemoryError::OutOfHostMemory { requested: size }) }
    }

    /// Changes which GPUs may do what with the allocation that starts at `address`. A kernel that is running may go on with the
    /// rights that it has found before.
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

    /// Notes that the host may write to the allocation that `address` is in without our knowing it: all of it counts as written.
    pub fn shared_with_host(&self, address: u64) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if table.find(address).is_some_and(|region| region.written.is_some()) {
            Arc::make_mut(&mut table).forget_written(address);
        }
    }

    /// Allocates the image of a code object: one block of host memory with an entry in the table for each segment.
    /// `segments` are (offset, size, writable), in order and apart. Returns the address of offset 0.
    /// All GPUs may use it: those whose own it is not reach device variables.
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

    /// Frees what [`alloc`](Self::alloc) gave. A dispatch that is running keeps the bytes alive until it ends.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`] (also for a second free), [`MemoryError::NotTheStart`], [`MemoryError::NotOwned`].
    pub fn free(&self, address: u64) -> Result<(), MemoryError> {
        self.remove(address, |a| !matches!(a.kind, AllocKind::Registered | AllocKind::Code | AllocKind::Globals))
    }

    /// Makes `len` bytes of the program's own memory at `ptr` reachable by kernels, at the same address.
    ///
    /// # Errors
    /// [`MemoryError::Empty`], [`MemoryError::Overlap`].
    ///
    /// # Safety
    /// The bytes must stay valid for reads and writes until [`unregister_host`](Self::unregister_host) has returned and
    /// no dispatch that was started before it runs any more. While a dispatch runs, nothing else may
    /// touch the bytes that the kernel writes, nor write those that it reads, except with atomics.
    pub unsafe fn register_host(&self, ptr: *mut u8, len: u64) -> Result<(), MemoryError> {
        // SAFETY: as the caller vouches.
        unsafe { self.register(ptr, len, |_| false) }
    }

    /// As [`register_host`](Self::register_host), and what was registered before and lies inside becomes part of it, with no moment in
    /// between at which a kernel would not find it.
    ///
    /// # Errors
    /// [`MemoryError::Empty`], [`MemoryError::Overlap`], and then nothing has changed.
    ///
    /// # Safety
    /// As of [`register_host`](Self::register_host).
    pub unsafe fn register_host_around(&self, ptr: *mut u8, len: u64) -> Result<(), MemoryError> {
        let base = ptr.addr() as u64;
        let inside =
            |a: &Allocation| a.kind == AllocKind::Registered && base <= a.base && a.end() <= base.saturating_add(len);
        // SAFETY: as the caller vouches.
        unsafe { self.register(ptr, len, inside) }
    }

    /// # Safety
    /// As of [`register_host`](Self::register_host).
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
    /// [`MemoryError::NotAllocated`], [`MemoryError::NotTheStart`], [`MemoryError::NotOwned`] if `address` was not registered.
    pub fn unregister_host(&self, address: u64) -> Result<(), MemoryError> {
        self.remove(address, |a| a.kind == AllocKind::Registered)
    }

    /// Undoes all registrations that begin in `len` bytes at `base`: one of them may be in parts, where memory in it was given back to the
    /// host's allocator.
    pub fn unregister_host_in(&self, base: u64, len: u64) {
        let inside: Vec<Allocation> = {
            let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
            table
                .all_overlapping(base, len.max(1))
                .filter(|a| a.kind == AllocKind::Registered && a.base >= base)
                .collect()
        };
        for allocation in inside {
            // Another thread may have been quicker.
            let _ = self.unregister_host(allocation.base);
        }
    }

    /// Forgets registrations that reach into `len` bytes at `base`: for memory that the host's allocator has just given, which shows
    /// that the program has freed it without unregistering it.
    pub fn forget_registrations(&self, base: u64, len: u64) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if len > 0 && table.overlapping(base, len).is_some() {
            Arc::make_mut(&mut table).forget_stale(base, len);
        }
    }

    /// Removes the image that [`alloc_image`](Self::alloc_image) gave: all entries inside `base..base + size`.
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

    /// Remembers a freed allocation for error messages and keeps its bytes from being handed out again for a while.
    fn remember(&self, region: Region) {
        let mut freed = self.freed.lock().unwrap_or_else(PoisonError::into_inner);
        if freed.remembered.len() == REMEMBERED {
            freed.remembered.pop_front();
        }
        freed.remembered.push_back(region.allocation);
        let size = region.allocation.size;
        if let Some(storage) = region.storage {
            // Another mapping's addresses are the program's to choose; nobody else gets them.
            let own = match &*storage {
                Storage::Heap(_) => true,
                // Who has its name finds it gone.
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

    /// The live allocation that holds `address`.
    pub fn find(&self, address: u64) -> Option<Allocation> {
        self.snapshot().find(address).map(|r| r.allocation)
    }

    /// The allocation nearest to `address`, live or freed; a live one wins where both are as near.
    pub fn nearest(&self, address: u64) -> Option<Nearest> {
        let live = self.snapshot().nearest(address).map(|a| (a.distance(address), false, a));
        let freed = self.freed.lock().unwrap_or_else(PoisonError::into_inner);
        // The newest of the equally near freed ones.
        let freed = freed.remembered.iter().rev().map(|a| (a.distance(address), true, *a)).min_by_key(|c| c.0);
        live.into_iter()
            .chain(freed)
            .min_by_key(|&(distance, freed, _)| (distance, freed))
            .map(|(_, freed, allocation)| Nearest { allocation, freed, address })
    }

    /// Bytes allocated of all GPUs' memory (host memory is not counted).
    pub fn used(&self) -> u64 {
        let table = self.snapshot();
        (0..self.limits.len()).filter_map(Agent::new).map(|agent| table.owned_bytes(agent)).sum()
    }

    /// Bytes allocated of the memory of `agent`.
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

    /// Copies `data` to device memory at `address` (read-only segments of a code object too: that is a host's right).
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
        // A chunk of whole patterns, so that a byte fill is not a call a byte.
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

    /// Proves that `len` bytes at `address` are inside one live allocation, or mappings side by side, and returns the table that keeps it alive.
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
            // Mappings that follow each other are one range for the host.
            match table.find(last.allocation.end()) {
                Some(next) if last.mapping().is_some() && next.mapping().is_some() => last = next,
                _ => return Err(MemoryError::PastTheEnd { address, len, allocation: first.allocation }),
            }
        }
        Ok(table)
    }

    /// Whether `len` bytes at `address` are inside one live allocation.
    pub(crate) fn holds(&self, address: u64, len: u64) -> bool {
        self.check(address, len).is_ok()
    }

    /// The table as it is now. Holding it keeps every allocation in it from being given back to the host.
    pub(crate) fn snapshot(&self) -> Arc<Table> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Notes that `len` bytes at `address` are written.
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
