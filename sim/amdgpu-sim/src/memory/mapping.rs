//! Mappings of physical memory in reserved address ranges.

use std::sync::{Arc, PoisonError};

use super::pages::{self, PAGE};
use super::physical::Physical;
use super::reservation::{Mapping, Reservation};
use super::storage::Storage;
use super::table::Region;
use super::{Agent, AllocKind, Allocation, Memory, MemoryError, Request, Rights};

/// Checks that a range consists of whole pages.
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
    /// Reserves `size` bytes of addresses (whole pages of [`PAGE`] bytes) aligned to `align`, at `hint` if it is not 0
    /// and free. The range has no memory until it is [mapped](Self::map). Returns the address.
    ///
    /// # Errors
    /// [`MemoryError::Empty`], [`MemoryError::NotWholePages`], [`MemoryError::Alignment`], [`MemoryError::NoPages`] if
    /// the system has no such range (or is not Linux).
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

    /// Frees a range of [`reserve`](Self::reserve) that starts at `address`.
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

    /// Creates `size` bytes (whole pages) of memory of `owner`, or of the host, zeroed and without an address. It
    /// counts towards the owner's limit while it is mapped.
    ///
    /// # Errors
    /// [`MemoryError::Empty`], [`MemoryError::NotWholePages`], [`MemoryError::OutOfMemory`],
    /// [`MemoryError::OutOfHostMemory`], [`MemoryError::NoAgent`], [`MemoryError::NoPages`].
    pub fn create_physical(&self, size: u64, owner: Option<Agent>) -> Result<Arc<Physical>, MemoryError> {
        whole_pages(0, size)?;
        self.room(&self.snapshot(), owner, size)?;
        self.backed(size)?;
        let file = pages::file(size).ok_or(MemoryError::NoPages { what: "memory that can be shared" })?;
        Ok(Arc::new(Physical { file, size, owner }))
    }

    /// Imports memory that another process has [exported](Physical::export).
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

    /// Maps `size` bytes of `physical` from `offset` on at `address`, inside a reserved range. No GPU may access it
    /// until [`set_rights`](Self::set_rights) allows that. [`unmap`](Self::unmap) removes the mapping.
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

    /// Removes the mapping that starts at `address`. A running dispatch keeps the memory there until it ends.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`], [`MemoryError::NotTheStart`], [`MemoryError::NotOwned`] if it is not a mapping.
    pub fn unmap(&self, address: u64) -> Result<(), MemoryError> {
        let mapped = self.snapshot().find(address).is_some_and(|r| r.mapping().is_some());
        self.remove(address, |_| mapped)
    }

    /// Maps all of `physical` at an address chosen by the system; [`free`](Self::free) unmaps it.
    ///
    /// # Errors
    /// As for [`map`](Self::map).
    pub fn attach(&self, physical: &Arc<Physical>, kind: AllocKind, rights: Rights) -> Result<u64, MemoryError> {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        self.room(&table, physical.owner, physical.size)?;
        let range =
            Reservation::new(physical.size, PAGE, 0).ok_or(MemoryError::NoPages { what: "an address range" })?;
        let region = mapped_region(&range, (range.base, physical.size), (physical, 0), kind, rights)?;
        Arc::make_mut(&mut table).insert(region);
        Ok(range.base)
    }

    /// Allocates like [`allocate`](Self::allocate), but so that the memory can be [shared](Self::share) later.
    ///
    /// # Errors
    /// As for [`allocate`](Self::allocate), and [`MemoryError::NoPages`].
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
        // SAFETY: the range was reserved just above.
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

    /// The memory that starts at `address`, to be exported to another process or mapped again: an allocation of GPU
    /// memory, of [`attach`](Self::attach), or a mapping. It consists of whole pages that contain nothing else, with
    /// the allocation at the start.
    ///
    /// The first call for an allocation moves its bytes. Nothing may write them meanwhile, or the writes may be lost.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`], [`MemoryError::NotTheStart`], [`MemoryError::NotOwned`] if it is other memory or
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
            // A code object's image has several regions in one piece, so it cannot be shared.
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
        // The bytes are copied through another address, so that they are present when the mapping is replaced.
        let copy = Reservation::new(size, PAGE, 0).ok_or_else(no_pages)?;
        // SAFETY: the range was reserved just above.
        let at = copy.put(copy.base, size, || unsafe { pages::map(copy.base, size, &shared.file, 0) });
        let at = at.ok_or_else(no_pages)?;
        // SAFETY: both ranges are mapped, and kept so by `table` and `at`.
        unsafe { super::bulk::copy(at.base, base, size) };
        // SAFETY: the range is this mapping's, or this piece's; its users continue at the same address with the same bytes.
        unsafe { pages::map(base, size, &shared.file, 0) }.ok_or_else(no_pages)?;
        *physical = Some(Arc::clone(&shared));
        drop(physical);
        // Other processes may write it from now on.
        region.mark(allocation.base, allocation.size);
        drop(table);
        Ok(shared)
    }
}

/// Maps a part of `physical`, from an offset on, at a part of `range`.
fn mapped_region(
    range: &Arc<Reservation>,
    (base, size): (u64, u64),
    (physical, offset): (&Arc<Physical>, u64),
    kind: AllocKind,
    rights: Rights,
) -> Result<Region, MemoryError> {
    // SAFETY: the caller guarantees that the part is the range's and free. An older mapping whose bytes a kernel may still use loses the
    // place to this one, which is as readable and writable.
    let mapping = range.put(base, size, || unsafe { pages::map(base, size, &physical.file, offset) });
    let mapping = mapping.ok_or(MemoryError::NoPages { what: "a mapping" })?;
    if offset == 0 && size == physical.size {
        *mapping.physical() = Some(Arc::clone(physical));
    }
    let allocation = Allocation { base, size, kind, writable: true, owner: physical.owner, rights };
    // Other processes may write it too, so all of it counts as written.
    Ok(Region { allocation, storage: Some(Arc::new(Storage::Mapping(mapping))), written: None })
}

impl Region {
    /// The mapping, if the storage is one.
    pub(super) fn mapping(&self) -> Option<&Mapping> {
        match self.storage.as_deref() {
            Some(Storage::Mapping(mapping)) => Some(mapping),
            _ => None,
        }
    }
}
