//! Virtual memory: reserved addresses, memory without addresses, and mappings between them.
//!
//! The software GPU does the mapping. This module keeps HIP's view: handles and their reference counts, mappings, and
//! the bytes of each device's memory that they take.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_sim::{Agent, Agents, Memory, MemoryError, PAGE, Physical, Rights};
use hip_sys::rocm_7_2::{hipErrorInvalidValue, hipErrorNotSupported, hipErrorOutOfMemory, hipErrorUnknown};

use crate::device::Device;
use crate::handles::{Handles, Kind as HandleKind};
use crate::memory::{AddressMap, Block, Kind};
use crate::status::{Outcome, Refusal};

/// Memory without an address (`hipMemGenericAllocationHandle_t`).
pub(crate) struct Backing {
    physical: Arc<Physical>,
    /// The device whose memory it is; `None` for the host's.
    pub(crate) device: Option<usize>,
    /// The handle types that it can be exported as.
    pub(crate) handle_types: u32,
    /// The bytes that count as the device's memory: 0 if another process has made the memory.
    counted: u64,
}

/// The reference count of a handle and the number of mappings of its memory.
#[derive(Clone, Copy, Default)]
struct Uses {
    held: u64,
    mapped: u64,
}

/// A mapping of memory to an address.
struct Mapping {
    size: u64,
    handle: usize,
}

#[derive(Default)]
struct Places {
    /// Reserved addresses: base and size.
    reserved: BTreeMap<u64, u64>,
    mapped: BTreeMap<u64, Mapping>,
    /// Uses by handle. A released handle stays while its memory is mapped, since it can be retained again.
    uses: BTreeMap<usize, Uses>,
}

impl Places {
    /// The bases of the mappings in a range. Refused unless whole mappings cover it from start to end.
    fn whole(&self, address: u64, size: u64) -> Result<Vec<u64>, Refusal> {
        let end = address.checked_add(size).filter(|end| *end > address).ok_or(hipErrorInvalidValue)?;
        let mut found = Vec::new();
        let mut at = address;
        while at < end {
            let Some(mapping) = self.mapped.get(&at) else { break };
            found.push(at);
            at += mapping.size;
        }
        if at == end {
            return Ok(found);
        }
        let text =
            format!("{size} bytes at {address:#x} are not whole mappings of memory from the first to the last byte");
        Err(Refusal::new(hipErrorInvalidValue, text))
    }

    /// The mapping that contains an address.
    fn around(&self, address: u64) -> Option<(u64, &Mapping)> {
        let (base, mapping) = self.mapped.range(..=address).next_back()?;
        (address - base < mapping.size).then_some((*base, mapping))
    }
}

/// The state of virtual memory management.
pub(crate) struct VirtualMemory {
    handles: Handles<Backing>,
    places: Mutex<Places>,
    /// The bytes of each device that memory without addresses takes, mapped or not, and the mapped part of them.
    made: Vec<AtomicU64>,
    mapped: Vec<AtomicU64>,
}

/// The status for memory that cannot be created, mapped or reserved.
fn refused(error: &MemoryError) -> Refusal {
    let status = match error {
        MemoryError::OutOfMemory { .. } | MemoryError::OutOfHostMemory { .. } => hipErrorOutOfMemory,
        MemoryError::NoPages { .. } if cfg!(target_os = "linux") => hipErrorOutOfMemory,
        MemoryError::NoPages { .. } => hipErrorNotSupported,
        _ => hipErrorInvalidValue,
    };
    Refusal::new(status, error.to_string())
}

/// Refuses sizes that are not whole pages.
pub(crate) fn ensure_pages(size: u64, what: &str) -> Outcome {
    if size > 0 && size % PAGE == 0 {
        return Ok(());
    }
    Err(Refusal::new(hipErrorInvalidValue, format!("{size} bytes of {what} are no multiple of {PAGE}")))
}

impl VirtualMemory {
    pub(crate) fn new(devices: usize) -> Self {
        let counts = || (0..devices).map(|_| AtomicU64::new(0)).collect();
        let handles = Handles::new(HandleKind::PhysicalMemory);
        Self { handles, places: Mutex::default(), made: counts(), mapped: counts() }
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        // The tables are consistent whenever the lock is released.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of a device that unmapped memory takes. The software GPU does not count them.
    pub(crate) fn unmapped(&self, device: usize) -> u64 {
        let made = self.made[device].load(Ordering::Relaxed);
        made.saturating_sub(self.mapped[device].load(Ordering::Relaxed))
    }

    /// Whether an address is in a reserved range.
    pub(crate) fn is_reserved(&self, address: u64) -> bool {
        let places = self.places();
        let range = places.reserved.range(..=address).next_back();
        range.is_some_and(|(base, size)| address - base < *size)
    }

    /// Reserves addresses and returns the first.
    pub(crate) fn reserve(&self, memory: &Memory, size: u64, align: u64, wanted: u64) -> Result<u64, Refusal> {
        ensure_pages(size, "addresses")?;
        let base = memory.reserve(size, align, wanted).map_err(|error| refused(&error))?;
        self.places().reserved.insert(base, size);
        Ok(base)
    }

    /// Frees reserved addresses.
    pub(crate) fn unreserve(&self, memory: &Memory, base: u64, size: u64) -> Outcome {
        let mut places = self.places();
        if places.reserved.get(&base) != Some(&size) {
            let text = format!("{size} bytes at {base:#x} are not a reserved range of addresses as it was given");
            return Err(Refusal::new(hipErrorUnknown, text));
        }
        if let Some((at, _)) = places.mapped.range(base..base + size).next() {
            let text = format!("memory is still mapped at {at:#x} of the addresses at {base:#x}");
            return Err(Refusal::new(hipErrorInvalidValue, text));
        }
        memory.unreserve(base).map_err(|error| refused(&error))?;
        places.reserved.remove(&base);
        Ok(())
    }

    /// Creates memory of a device, or of the host: whole pages.
    pub(crate) fn create(
        &self,
        memory: &Memory,
        device: Option<&Device>,
        size: u64,
        handle_types: u32,
    ) -> Result<*mut c_void, Refusal> {
        let owner = device.map(|device| device.gpu.agent());
        let physical = memory.create_physical(size, owner).map_err(|error| refused(&error))?;
        self.keep(Backing { physical, device: device.map(|device| device.ordinal), handle_types, counted: size })
    }

    /// Creates the handle of new memory.
    fn keep(&self, backing: Backing) -> Result<*mut c_void, Refusal> {
        let (device, counted) = (backing.device, backing.counted);
        let mut places = self.places();
        let handle = self.handles.insert(backing).ok_or(hipErrorOutOfMemory)?;
        if let Some(device) = device {
            self.made[device].fetch_add(counted, Ordering::Relaxed);
        }
        places.uses.insert(handle.addr(), Uses { held: 1, mapped: 0 });
        Ok(handle)
    }

    /// The memory behind a handle.
    pub(crate) fn get(&self, handle: *const c_void) -> Result<Arc<Backing>, Refusal> {
        self.held(&self.places(), handle)
    }

    fn held(&self, places: &Places, handle: *const c_void) -> Result<Arc<Backing>, Refusal> {
        let held = places.uses.get(&handle.addr()).is_some_and(|uses| uses.held > 0);
        let backing = self.handles.get(handle).filter(|_| held);
        backing.ok_or_else(|| {
            Refusal::new(hipErrorInvalidValue, format!("{handle:p} is no handle of memory, or released"))
        })
    }

    /// Releases one reference to a handle. The memory stays while it is mapped.
    pub(crate) fn release(&self, handle: *const c_void) -> Outcome {
        let mut places = self.places();
        self.held(&places, handle)?;
        self.change(&mut places, handle.addr(), |uses| uses.held -= 1);
        Ok(())
    }

    /// Changes the uses of a handle, and frees memory without any use left.
    fn change(&self, places: &mut Places, handle: usize, change: impl FnOnce(&mut Uses)) {
        let Some(uses) = places.uses.get_mut(&handle) else { return };
        change(uses);
        if uses.held == 0 && uses.mapped == 0 {
            places.uses.remove(&handle);
            let backing = self.handles.remove(std::ptr::without_provenance(handle));
            if let Some((device, counted)) = backing.and_then(|backing| Some((backing.device?, backing.counted))) {
                self.made[device].fetch_sub(counted, Ordering::Relaxed);
            }
        }
    }

    /// The handle of the memory that is mapped at an address, with one more reference.
    pub(crate) fn retain(&self, address: u64) -> Result<*mut c_void, Refusal> {
        let mut places = self.places();
        let handle = places.around(address).ok_or(hipErrorInvalidValue)?.1.handle;
        self.change(&mut places, handle, |uses| uses.held += 1);
        Ok(std::ptr::without_provenance_mut(handle))
    }

    /// Maps memory to reserved addresses. No device can access it until [`allow`](Self::allow) grants that. A mapping of
    /// the host's memory belongs to the current device.
    pub(crate) fn map(
        &self,
        memory: &Memory,
        blocks: &AddressMap,
        current: &Device,
        (base, size): (u64, u64),
        handle: *const c_void,
    ) -> Outcome {
        ensure_pages(size, "memory to be mapped")?;
        let mut places = self.places();
        let backing = self.held(&places, handle)?;
        if size > backing.physical.size() {
            let text = format!("{size} bytes of memory to be mapped, of {}", backing.physical.size());
            return Err(Refusal::new(hipErrorInvalidValue, text));
        }
        memory.map(base, size, &backing.physical, 0).map_err(|error| refused(&error))?;
        places.mapped.insert(base, Mapping { size, handle: handle.addr() });
        self.change(&mut places, handle.addr(), |uses| uses.mapped += 1);
        self.count(&backing, size, true);
        let device = backing.device.unwrap_or(current.ordinal);
        let kind = Kind::Mapped { on_host: backing.device.is_none() };
        blocks.insert(Block { base, size, kind, device, flags: 0, freeing: false, share: None });
        Ok(())
    }

    /// Counts memory as mapped or unmapped. The software GPU counts mapped memory itself.
    fn count(&self, backing: &Backing, size: u64, more: bool) {
        let Some(device) = backing.device.filter(|_| backing.counted > 0) else { return };
        match more {
            true => self.mapped[device].fetch_add(size, Ordering::Relaxed),
            false => self.mapped[device].fetch_sub(size, Ordering::Relaxed),
        };
    }

    /// Unmaps a range, which must consist of whole mappings.
    pub(crate) fn unmap(&self, memory: &Memory, blocks: &AddressMap, base: u64, size: u64) -> Outcome {
        let mut places = self.places();
        for start in places.whole(base, size)? {
            self.unmap_one(memory, blocks, &mut places, start);
        }
        Ok(())
    }

    fn unmap_one(&self, memory: &Memory, blocks: &AddressMap, places: &mut Places, start: u64) {
        let Some(mapping) = places.mapped.remove(&start) else { return };
        blocks.remove(start, |block| matches!(block.kind, Kind::Mapped { .. }));
        // Cannot fail: the entry exists only while the memory is mapped.
        drop(memory.unmap(start));
        if let Some(backing) = self.handles.get(std::ptr::without_provenance(mapping.handle)) {
            self.count(&backing, mapping.size, false);
        }
        self.change(places, mapping.handle, |uses| uses.mapped -= 1);
    }

    /// Sets the access rights (read, write) of some devices to mapped memory. Those of other devices do not change.
    pub(crate) fn allow(&self, memory: &Memory, base: u64, size: u64, allowed: &[(Agent, [bool; 2])]) -> Outcome {
        let places = self.places();
        for start in places.whole(base, size)? {
            let rights = memory.find(start).map_or(Rights::full(Agents::NONE), |found| found.rights);
            let change = |rights: Rights, &(agent, [read, write]): &(Agent, [bool; 2])| rights.set(agent, read, write);
            let rights = allowed.iter().fold(rights, change);
            memory.set_rights(start, rights).map_err(|error| refused(&error))?;
        }
        Ok(())
    }

    /// A device's rights (read, write) to the memory mapped at an address.
    pub(crate) fn access(&self, memory: &Memory, address: u64, agent: Agent) -> Result<[bool; 2], Refusal> {
        let places = self.places();
        let (base, _) = places.around(address).ok_or(hipErrorInvalidValue)?;
        let rights = memory.find(base).ok_or(hipErrorInvalidValue)?.rights;
        Ok([rights.read.contains(agent), rights.write.contains(agent)])
    }

    /// A file descriptor for another process. The caller owns it.
    #[cfg(target_os = "linux")]
    pub(crate) fn export(&self, handle: *const c_void) -> Result<std::os::fd::OwnedFd, Refusal> {
        self.get(handle)?.physical.export().map_err(|error| refused(&error))
    }

    /// The memory behind a file descriptor of [`export`](Self::export), from this or another process, as memory of a
    /// device.
    #[cfg(target_os = "linux")]
    pub(crate) fn import(
        &self,
        memory: &Memory,
        file: std::os::fd::RawFd,
        device: &Device,
        handle_types: u32,
    ) -> Result<*mut c_void, Refusal> {
        let invalid = || Refusal::new(hipErrorInvalidValue, format!("{file} is no file descriptor of exported memory"));
        if file < 0 {
            return Err(invalid());
        }
        // SAFETY: borrowed for one call, which fails if the descriptor is not open.
        let copy = unsafe { std::os::fd::BorrowedFd::borrow_raw(file) }.try_clone_to_owned().map_err(|_| invalid())?;
        let physical = memory.import_physical(copy, Some(device.gpu.agent())).map_err(|_| invalid())?;
        self.keep(Backing { physical, device: Some(device.ordinal), handle_types, counted: 0 })
    }

    /// Frees all memory of a device, mapped or not. Addresses stay reserved.
    pub(crate) fn reset(&self, memory: &Memory, blocks: &AddressMap, device: usize) {
        let of_device = |backing: &Backing| backing.device == Some(device);
        let mut places = self.places();
        let is_of_device = |handle: usize| {
            self.handles.get(std::ptr::without_provenance(handle)).is_some_and(|backing| of_device(&backing))
        };
        let mappings: Vec<u64> =
            places.mapped.iter().filter(|(_, m)| is_of_device(m.handle)).map(|(base, _)| *base).collect();
        mappings.into_iter().for_each(|base| self.unmap_one(memory, blocks, &mut places, base));
        let handles: Vec<usize> = places.uses.keys().copied().filter(|handle| is_of_device(*handle)).collect();
        handles.into_iter().for_each(|handle| self.change(&mut places, handle, |uses| uses.held = 0));
    }
}
