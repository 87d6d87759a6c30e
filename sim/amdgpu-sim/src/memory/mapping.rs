//! Reserved address ranges, physical memory, and mappings of one in the other.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::pages::{self, Fd, PAGE};
use super::storage::Storage;
use super::table::Region;
use super::{Agent, AllocKind, Allocation, Memory, MemoryError, Request, Rights};

/// Memory without an address: it can be mapped at several, and in several processes.
pub struct Physical {
    file: Fd,
    size: u64,
    owner: Option<Agent>,
}

impl Physical {
    /// Bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The GPU whose memory it takes while it is mapped; `None` for host memory.
    pub fn owner(&self) -> Option<Agent> {
        self.owner
    }

    /// A file descriptor for the memory, to be given to another process, which [imports](Memory::import_physical) it.
    ///
    /// # Errors
    /// [`MemoryError::NoPages`] if the process can have no more descriptors.
    #[cfg(target_os = "linux")]
    pub fn export(&self) -> Result<std::os::fd::OwnedFd, MemoryError> {
        pages::duplicate(&self.file).ok_or(MemoryError::NoPages { what: "another file descriptor" })
    }
}

#[cfg(target_os = "linux")]
impl std::os::fd::AsFd for Physical {
    /// The file of the memory. As long as the descriptor is open another process can have the memory by `/proc`, too.
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl fmt::Debug for Physical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Physical").field("size", &self.size).field("owner", &self.owner).finish_non_exhaustive()
    }
}

/// A reserved address range.
pub(super) struct Reservation {
    /// The whole range, as the system gave it.
    whole: (u64, u64),
    base: u64,
    size: u64,
    mapped: Mutex<Mapped>,
}

/// Parts of a range that have memory.
#[derive(Default)]
struct Mapped {
    next: u64,
    /// From, to, and the mapping that it is of. What an older mapping loses to a newer one is the newer one's.
    parts: Vec<(u64, u64, u64)>,
}

impl Reservation {
    fn new(size: u64, align: u64, hint: u64) -> Option<Arc<Self>> {
        let new = |whole, base| Some(Arc::new(Self { whole, base, size, mapped: Mutex::default() }));
        if hint != 0 && hint % align == 0 {
            // Just there, perhaps right behind another range of the program's.
            match pages::reserve(size, hint) {
                Some(start) if start == hint => return new((start, size), start),
                // SAFETY: reserved just now.
                Some(start) => unsafe { pages::release(start, size) },
                None => {}
            }
        }
        // A page on each side that belongs to nobody.
        let length = size.checked_add(align.max(PAGE))?.checked_add(2 * PAGE)?;
        let start = pages::reserve(length, 0)?;
        new((start, length), (start + PAGE).next_multiple_of(align))
    }

    fn mapped(&self) -> MutexGuard<'_, Mapped> {
        self.mapped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts memory at a part of the range: what `fill` puts there.
    fn put(self: &Arc<Self>, base: u64, size: u64, fill: impl FnOnce() -> Option<()>) -> Option<Mapping> {
        let mut mapped = self.mapped();
        fill()?;
        mapped.next += 1;
        let serial = mapped.next;
        let (from, to) = (base, base + size);
        let old = std::mem::take(&mut mapped.parts);
        mapped.parts = old
            .into_iter()
            .flat_map(|(a, b, of)| [(a, b.min(from), of), (a.max(to), b, of)])
            .filter(|(a, b, _)| a < b)
            .chain([(from, to, serial)])
            .collect();
        Some(Mapping { range: Arc::clone(self), base, size, serial, physical: Mutex::default() })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: the range is this reservation's. Every mapping in it holds the reservation, and every table of allocations that a
        // kernel or the host uses holds its mappings; so nobody uses the range any more.
        unsafe { pages::release(self.whole.0, self.whole.1) }
    }
}

/// Memory at a part of a reserved range. It goes when the last table of allocations that has it goes.
pub(crate) struct Mapping {
    range: Arc<Reservation>,
    base: u64,
    size: u64,
    serial: u64,
    /// What is mapped, if others can have it.
    physical: Mutex<Option<Arc<Physical>>>,
}

impl Mapping {
    /// Whether an address is in it.
    pub(super) fn contains(&self, address: u64) -> bool {
        address.checked_sub(self.base).is_some_and(|offset| offset < self.size)
    }

    /// Whether it is an allocation's own memory, which nobody else has.
    pub(super) fn is_private(&self) -> bool {
        self.physical().is_none() && self.range.base == self.base
    }

    fn physical(&self) -> MutexGuard<'_, Option<Arc<Physical>>> {
        self.physical.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let mut mapped = self.range.mapped();
        mapped.parts.retain(|(from, to, of)| {
            if *of == self.serial {
                // SAFETY: the part is the reservation's and of this mapping alone, which nobody uses any more.
                unsafe { pages::decommit(*from, to - from) };
            }
            *of != self.serial
        });
    }
}

/// Checks that a range is made of whole pages.
fn whole_pages(address: u64, size: u64) -> Result<(), MemoryError> {
    if size == 0 {
        return Err(MemoryError::Empty);
    }
    if address % PAGE != 0 || size % PAGE != 0 || address.checked_add(size).is_none() {
        return Err(MemoryError::NotWholePages { address, size });
    }
    Ok(())
}

impl Memory {
    /// Reserves `size` bytes of addresses (whole pages of [`PAGE`] bytes) aligned to `align`, at `hint` if it is not 0 and free. There is
    /// no memory in it before it is [mapped](Self::map). Returns the address.
    ///
    /// # Errors
    /// [`MemoryError::Empty`], [`MemoryError::NotWholePages`], [`MemoryError::Alignment`], [`MemoryError::NoPages`] if the system has
    /// no such range (or is not Linux).
    pub fn reserve(&self, size: u64, align: u64, hint: u64) -> Result<u64, MemoryError> {
        whole_pages(0, size)?;
        let align = align.max(PAGE);
        if !align.is_power_of_two() || align > super::MAX_ALIGN {
            return Err(MemoryError::Alignment { align });
        }
        let range = Reservation::new(size, align, hint).ok_or(MemoryError::NoPages { what: "an address range" })?;
        let base = range.base;
        self.reservations.lock().unwrap_or_else(PoisonError::into_inner).insert(base, range);
        Ok(base)
    }

    /// Gives a range of [`reserve`](Self::reserve) back, whose start `address` is.
    ///
    /// # Errors
    /// [`MemoryError::NotReserved`], [`MemoryError::Overlap`] if something is still mapped in it.
    pub fn unreserve(&self, address: u64) -> Result<(), MemoryError> {
        let table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let mut reservations = self.reservations.lock().unwrap_or_else(PoisonError::into_inner);
        let range = reservations.get(&address).ok_or(MemoryError::NotReserved { address, size: 0 })?;
        let (base, len) = (range.base, range.size);
        if let Some(allocation) = table.overlapping(base, len) {
            return Err(MemoryError::Overlap { address: base, len, allocation });
        }
        reservations.remove(&address);
        Ok(())
    }

    /// Makes `size` bytes (whole pages) of memory of `owner`, or of the host, all zero and without an address. The owner's limit counts it
    /// while it is mapped.
    ///
    /// # Errors
    /// [`MemoryError::Empty`], [`MemoryError::NotWholePages`], [`MemoryError::OutOfMemory`], [`MemoryError::OutOfHostMemory`],
    /// [`MemoryError::NoAgent`], [`MemoryError::NoPages`].
    pub fn create_physical(&self, size: u64, owner: Option<Agent>) -> Result<Arc<Physical>, MemoryError> {
        whole_pages(0, size)?;
        self.room(&self.snapshot(), owner, size)?;
        self.backed(size)?;
        let file = pages::file(size).ok_or(MemoryError::NoPages { what: "memory that can be shared" })?;
        Ok(Arc::new(Physical { file, size, owner }))
    }

    /// Takes memory that another process has [exported](Physical::export).
    ///
    /// # Errors
    /// [`MemoryError::NoPages`] if `file` is not such memory, [`MemoryError::NotWholePages`], [`MemoryError::NoAgent`].
    #[cfg(target_os = "linux")]
    pub fn import_physical(
        &self,
        file: std::os::fd::OwnedFd,
        owner: Option<Agent>,
    ) -> Result<Arc<Physical>, MemoryError> {
        let what = "memory behind a file descriptor that Physical::export did not make";
        let size = pages::sealed_size(&file).ok_or(MemoryError::NoPages { what })?;
        whole_pages(0, size)?;
        owner.map_or(Ok(0), |agent| self.total_of(agent))?;
        Ok(Arc::new(Physical { file, size, owner }))
    }

    /// Maps `size` bytes of `physical` from `offset` on at `address`, inside a reserved range. No GPU may use it before
    /// [`set_rights`](Self::set_rights) says so. [`unmap`](Self::unmap) ends it.
    ///
    /// # Errors
    /// [`MemoryError::Empty`], [`MemoryError::NotWholePages`], [`MemoryError::NotReserved`], [`MemoryError::Overlap`],
    /// [`MemoryError::OutOfMemory`], [`MemoryError::NoPages`].
    pub fn map(&self, address: u64, size: u64, physical: &Arc<Physical>, offset: u64) -> Result<(), MemoryError> {
        whole_pages(address, size)?;
        whole_pages(offset, size)?;
        if offset + size > physical.size {
            return Err(MemoryError::NotWholePages { address: offset, size });
        }
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let reservations = self.reservations.lock().unwrap_or_else(PoisonError::into_inner);
        let range = reservations.range(..=address).next_back().map(|(_, range)| range);
        let range =
            range.filter(|range| address - range.base < range.size && size <= range.base + range.size - address);
        let range = range.ok_or(MemoryError::NotReserved { address, size })?;
        if let Some(allocation) = table.overlapping(address, size) {
            return Err(MemoryError::Overlap { address, len: size, allocation });
        }
        self.room(&table, physical.owner, size)?;
        let rights = Rights::full(super::Agents::NONE);
        let kind = if physical.owner.is_some() { AllocKind::Device } else { AllocKind::Host };
        let region = mapped_region(range, (address, size), (physical, offset), kind, rights)?;
        Arc::make_mut(&mut table).insert(region);
        Ok(())
    }

    /// Ends the mapping that starts at `address`. A dispatch that is running keeps the memory there until it ends.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`], [`MemoryError::NotTheStart`], [`MemoryError::NotOwned`] if it is no mapping.
    pub fn unmap(&self, address: u64) -> Result<(), MemoryError> {
        let mapped = self.snapshot().find(address).is_some_and(|r| r.mapping().is_some());
        self.remove(address, |_| mapped)
    }

    /// Maps all of `physical` at an address of the system's choice; [`free`](Self::free) ends it.
    ///
    /// # Errors
    /// As of [`map`](Self::map).
    pub fn attach(&self, physical: &Arc<Physical>, kind: AllocKind, rights: Rights) -> Result<u64, MemoryError> {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        self.room(&table, physical.owner, physical.size)?;
        let range =
            Reservation::new(physical.size, PAGE, 0).ok_or(MemoryError::NoPages { what: "an address range" })?;
        let region = mapped_region(&range, (range.base, physical.size), (physical, 0), kind, rights)?;
        Arc::make_mut(&mut table).insert(region);
        Ok(range.base)
    }

    /// Allocates as [`allocate`](Self::allocate) does, but so that the memory can be [shared](Self::share) later.
    ///
    /// # Errors
    /// As of [`allocate`](Self::allocate), and [`MemoryError::NoPages`].
    pub fn allocate_shareable(&self, request: &Request) -> Result<u64, MemoryError> {
        let Request { size, align, kind, owner, rights } = *request;
        if size == 0 {
            return Err(MemoryError::Empty);
        }
        let align = align.max(PAGE);
        if !align.is_power_of_two() || align > super::MAX_ALIGN {
            return Err(MemoryError::Alignment { align });
        }
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let out_of_memory = self.room(&table, owner, size)?;
        self.backed(size)?;
        let Some(whole) = size.checked_next_multiple_of(PAGE) else { return Err(out_of_memory) };
        let Some(range) = Reservation::new(whole, align, 0) else { return Err(out_of_memory) };
        let base = range.base;
        // SAFETY: the range was reserved just now.
        let Some(mapping) = range.put(base, whole, || unsafe { pages::commit(base, whole) }) else {
            return Err(out_of_memory);
        };
        let table = Arc::make_mut(&mut table);
        table.forget_stale(base, size);
        table.insert(Region {
            allocation: Allocation { base, size, kind, writable: true, owner, rights },
            storage: Some(Arc::new(Storage::Mapping(mapping))),
            written: self.written(kind, size),
        });
        Ok(base)
    }

    /// The memory of an allocation of a GPU's memory, of [`attach`](Self::attach), or of a mapping, which starts at `address`: to be
    /// exported to another process, or mapped once more. It has whole pages, which nothing else is in, and the allocation at its start.
    ///
    /// The first call for an allocation moves its bytes. Nothing may write them meanwhile: what is written then may be lost.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`], [`MemoryError::NotTheStart`], [`MemoryError::NotOwned`] if it is other memory, or
    /// was allocated with an alignment of more than a page, [`MemoryError::NoPages`].
    pub fn share(&self, address: u64) -> Result<Arc<Physical>, MemoryError> {
        let table = self.snapshot();
        let Some(region) = table.find(address) else {
            return Err(MemoryError::NotAllocated { address, nearest: self.nearest(address) });
        };
        let allocation = region.allocation;
        if allocation.base != address {
            return Err(MemoryError::NotTheStart { address, allocation });
        }
        let not_owned = MemoryError::NotOwned { allocation };
        let (mut physical, base, size) = match region.storage.as_deref() {
            Some(Storage::Mapping(mapping)) => (mapping.physical(), mapping.base, mapping.size),
            // The image of a code object has several regions, whose piece it is.
            Some(Storage::Piece(piece)) if allocation.kind == AllocKind::Device && piece.pages().0 == address => {
                let (base, size) = piece.pages();
                (piece.shared(), base, size)
            }
            _ => return Err(not_owned),
        };
        if let Some(physical) = &*physical {
            return Ok(Arc::clone(physical));
        }
        let no_pages = || MemoryError::NoPages { what: "memory that can be shared" };
        let file = pages::file(size).ok_or_else(no_pages)?;
        let shared = Arc::new(Physical { file, size, owner: allocation.owner });
        // The bytes go by way of another address, so that they are there when the place changes hands.
        let copy = Reservation::new(size, PAGE, 0).ok_or_else(no_pages)?;
        // SAFETY: the range was reserved just now.
        let at = copy.put(copy.base, size, || unsafe { pages::map(copy.base, size, &shared.file, 0) });
        let at = at.ok_or_else(no_pages)?;
        // SAFETY: both ranges are mapped, and kept so by `table` and `at`.
        unsafe { super::bulk::copy(at.base, base, size) };
        // SAFETY: the range is this mapping's, or this piece's; whoever uses it goes on at the same address with the same bytes.
        unsafe { pages::map(base, size, &shared.file, 0) }.ok_or_else(no_pages)?;
        *physical = Some(Arc::clone(&shared));
        drop(physical);
        // Others may write it from now on.
        region.mark(allocation.base, allocation.size);
        drop(table);
        Ok(shared)
    }
}

/// Maps a part of `physical` (from an offset on) at a part of `range`.
fn mapped_region(
    range: &Arc<Reservation>,
    (base, size): (u64, u64),
    (physical, offset): (&Arc<Physical>, u64),
    kind: AllocKind,
    rights: Rights,
) -> Result<Region, MemoryError> {
    // SAFETY: the caller says that the part is the range's and free; an older mapping whose bytes a kernel may still use loses the
    // place to this one, which is as readable and writable.
    let mapping = range.put(base, size, || unsafe { pages::map(base, size, &physical.file, offset) });
    let mapping = mapping.ok_or(MemoryError::NoPages { what: "a mapping" })?;
    if offset == 0 && size == physical.size {
        *mapping.physical() = Some(Arc::clone(physical));
    }
    let allocation = Allocation { base, size, kind, writable: true, owner: physical.owner, rights };
    // Others may write it too: it all counts as written.
    Ok(Region { allocation, storage: Some(Arc::new(Storage::Mapping(mapping))), written: None })
}

impl Region {
    /// The mapping that it is.
    pub(super) fn mapping(&self) -> Option<&Mapping> {
        match self.storage.as_deref() {
            Some(Storage::Mapping(mapping)) => Some(mapping),
            _ => None,
        }
    }
}
