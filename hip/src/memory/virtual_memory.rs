//! Virtual memory management: reserved addresses, physical memory, and mappings between them.

use std::ffi::c_void;
use std::fmt;
use std::mem::offset_of;
use std::ops::Range;
#[cfg(unix)]
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Pod;
use hip_sys::{
    hipMemAccessDesc, hipMemAccessFlagsProtReadWrite, hipMemAllocationGranularityRecommended,
    hipMemAllocationHandleType, hipMemAllocationProp, hipMemAllocationTypePinned, hipMemGenericAllocationHandle_t,
    hipMemHandleTypePosixFileDescriptor,
};

use super::location::location;
use super::{Allocation, DeviceBuffer, Keeper, Owner};
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::later::{self, in_time, with_memory};
use crate::core::lock::{Mutex, MutexGuard};
#[cfg(unix)]
use crate::core::releases::DESCRIPTORS_ARE_POINTED_TO;
use crate::stream::usage::AccessKind;

/// A range of reserved addresses without memory (`hipMemAddressReserve`), to [map](Self::map) [`PhysicalMemory`] to.
///
/// A buffer can grow this way and keep its address and its elements: drop it, and map the same memory and more to the
/// same place.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::Device;
/// use hip::memory::virtual_memory::{AddressRange, PhysicalMemory};
///
/// let device = Device::get(0)?;
/// let first = match PhysicalMemory::new(&device, 1) {
///     Ok(memory) => memory, // at least a byte: as much as the device maps at a time
///     Err(_) => return Ok(()), // a device or a runtime that has no virtual memory management
/// };
/// let range = AddressRange::reserve(&device, 8 * first.byte_len())?;
///
/// let mut numbers = range.map::<u32>(0, &[&first])?;
/// numbers.fill(7)?;
/// drop(numbers); // unmapped; `first` has its elements still
///
/// let second = PhysicalMemory::new(&device, 1)?;
/// let mut numbers = range.map::<u32>(0, &[&first, &second])?; // twice as long
/// let half = numbers.len() / 2;
/// numbers.slice_mut(half..)?.fill(8)?;
/// assert_eq!(numbers.slice(half - 1..half + 1)?.to_vec()?, [7, 8]);
/// # Ok(()) }
/// ```
#[doc(alias("hipMemAddressReserve", "cuMemAddressReserve"))]
#[doc(alias("hipMemAddressFree", "cuMemAddressFree"))]
pub struct AddressRange {
    inner: Arc<RangeInner>,
}

/// A piece of a device's memory without an address (`hipMemCreate`). It keeps its content while it is not mapped.
#[doc(alias("hipMemCreate", "cuMemCreate"))]
#[doc(alias("hipMemRelease", "cuMemRelease"))]
pub struct PhysicalMemory {
    inner: Arc<PhysicalInner>,
}

struct RangeInner {
    address: usize,
    bytes: usize,
    /// The device that it was reserved for.
    device: Device,
    /// Ranges of offsets to which memory is mapped.
    mapped: Mutex<Vec<Range<usize>>>,
}

struct PhysicalInner {
    raw: hipMemGenericAllocationHandle_t,
    bytes: usize,
    device: Device,
    mapped: AtomicBool,
}

// SAFETY: the HIP runtime allows any thread to use the handle; it is released only in Drop, when no other reference exists. All other
// fields are Send and Sync.
unsafe impl Send for PhysicalInner {}
// SAFETY: as above.
unsafe impl Sync for PhysicalInner {}

/// Returns the properties of memory of `device`. Shareable memory has a type of handle for other processes.
fn properties(device: &Device, shareable: bool) -> hipMemAllocationProp {
    let mut properties = hipMemAllocationProp {
        type_: hipMemAllocationTypePinned,
        location: location(device),
        ..hipMemAllocationProp::default()
    };
    if shareable {
        // The field's name depends on the level of hip-sys, which may be higher than this crate's; its offset does not.
        const { assert!(offset_of!(hipMemAllocationProp, location) == 2 * size_of::<hipMemAllocationHandleType>()) };
        let numbers = (&raw mut properties).cast::<hipMemAllocationHandleType>();
        // SAFETY: the second of two numbers of this size that precede the location.
        unsafe { numbers.add(1).write(hipMemHandleTypePosixFileDescriptor) };
    }
    properties
}

/// Returns `bytes` rounded up to `device`'s mapping granularity (`hipMemGetAllocationGranularity`), at least one unit.
fn whole(device: &Device, properties: &hipMemAllocationProp, bytes: usize) -> Result<usize> {
    device.activate()?;
    let mut unit = 0usize;
    // SAFETY: `unit` is valid for a write, `properties` for a read.
    let status = unsafe {
        hip_sys::hipMemGetAllocationGranularity(&mut unit, properties, hipMemAllocationGranularityRecommended)
    };
    check(status, "hipMemGetAllocationGranularity", || format!("device {}", device.index()))?;
    let too_large = Error::TooLarge { elements: bytes, element_bytes: 1 };
    match bytes.max(1).checked_next_multiple_of(unit.max(1)) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(bytes),
        _ => Err(too_large),
    }
}

impl PhysicalMemory {
    /// Allocates at least `bytes` bytes of `device`'s memory, rounded up to its mapping granularity (2 MiB or 4 KiB;
    /// [`byte_len`](Self::byte_len) returns the size). The content is arbitrary.
    ///
    /// # Errors
    /// `hipErrorOutOfMemory`; `hipErrorNotSupported` if `hipDeviceAttributeVirtualMemoryManagementSupported` is 0;
    /// [`Error::TooLarge`].
    #[doc(alias("hipMemGetAllocationGranularity", "cuMemGetAllocationGranularity"))]
    pub fn new(device: &Device, bytes: usize) -> Result<Self> {
        Self::create(device, bytes, false)
    }

    /// Like [`new`](Self::new), but the memory can be [exported](Self::export) to other processes.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    #[cfg(unix)]
    pub fn new_shareable(device: &Device, bytes: usize) -> Result<Self> {
        Self::create(device, bytes, true)
    }

    fn create(device: &Device, bytes: usize, shareable: bool) -> Result<Self> {
        let properties = properties(device, shareable);
        let bytes = whole(device, &properties, bytes)?;
        let mut raw: hipMemGenericAllocationHandle_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write, `properties` for a read; 0 is the only flag that HIP defines.
        let status = with_memory(device, || unsafe { hip_sys::hipMemCreate(&mut raw, bytes, &properties, 0) });
        check(status, "hipMemCreate", || format!("{bytes} bytes on device {}", device.index()))?;
        Ok(Self { inner: Arc::new(PhysicalInner { raw, bytes, device: *device, mapped: AtomicBool::new(false) }) })
    }

    /// Exports the memory as a file descriptor, to send to another process (`hipMemExportToShareableHandle`).
    ///
    /// # Errors
    /// The runtime's status, unless it was allocated with [`new_shareable`](Self::new_shareable).
    #[doc(alias("hipMemExportToShareableHandle", "cuMemExportToShareableHandle"))]
    #[cfg(unix)]
    pub fn export(&self) -> Result<OwnedFd> {
        self.inner.device.activate()?;
        let mut fd: RawFd = -1;
        // SAFETY: the memory is alive; a handle of this type is an int, which `fd` has room for.
        let status = unsafe {
            hip_sys::hipMemExportToShareableHandle(
                ptr::from_mut(&mut fd).cast::<c_void>(),
                self.inner.raw,
                hipMemHandleTypePosixFileDescriptor,
                0,
            )
        };
        check(status, "hipMemExportToShareableHandle", || format!("{self:?}"))?;
        if fd < 0 {
            return Err(Error::InvalidValue {
                what: "the file descriptor that the runtime gave for memory",
                value: fd.to_string(),
                allowed: "0 or more".to_owned(),
            });
        }
        // SAFETY: the runtime has just created the descriptor, it was checked to be one, and this is its only owner.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Imports memory of another process from the descriptor that it [exported](Self::export), on `device`
    /// (`hipMemImportFromShareableHandle`). `bytes` is the size of the other process's memory.
    ///
    /// # Errors
    /// The runtime's status if `fd` is not exported memory.
    ///
    /// # Safety
    /// `fd` must be the result of [`export`](Self::export), in this process or another, for memory of this device and
    /// this size. No process may write to it while another uses it, because neither tracks the other's work.
    #[doc(alias("hipMemImportFromShareableHandle", "cuMemImportFromShareableHandle"))]
    #[cfg(unix)]
    pub unsafe fn import(device: &Device, fd: BorrowedFd<'_>, bytes: usize) -> Result<Self> {
        let mut raw: hipMemGenericAllocationHandle_t = ptr::null_mut();
        let mut number = fd.as_raw_fd();
        // By value, in place of the pointer.
        let handle: *mut c_void = match DESCRIPTORS_ARE_POINTED_TO.in_use() {
            false => ptr::without_provenance_mut(number as usize),
            true => ptr::from_mut(&mut number).cast(),
        };
        device.activate()?;
        // SAFETY: `raw` is valid for a write, and the handle has this runtime's form. The caller ensures that the descriptor is valid.
        let status =
            unsafe { hip_sys::hipMemImportFromShareableHandle(&mut raw, handle, hipMemHandleTypePosixFileDescriptor) };
        check(status, "hipMemImportFromShareableHandle", || {
            format!("file descriptor {} on device {}", fd.as_raw_fd(), device.index())
        })?;
        Ok(Self { inner: Arc::new(PhysicalInner { raw, bytes, device: *device, mapped: AtomicBool::new(false) }) })
    }

    /// Returns the size in bytes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.inner.bytes
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.inner.device
    }

    /// Returns whether it is mapped to a buffer.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.inner.mapped.load(Ordering::Acquire)
    }
}

impl AddressRange {
    /// Reserves at least `bytes` bytes of addresses, rounded up to `device`'s mapping granularity.
    ///
    /// # Errors
    /// `hipErrorOutOfMemory`; `hipErrorNotSupported` if `hipDeviceAttributeVirtualMemoryManagementSupported` is 0;
    /// [`Error::TooLarge`].
    #[doc(alias("hipMemGetAllocationGranularity", "cuMemGetAllocationGranularity"))]
    pub fn reserve(device: &Device, bytes: usize) -> Result<Self> {
        let bytes = whole(device, &properties(device, false), bytes)?;
        let mut pointer = ptr::null_mut();
        // SAFETY: `pointer` is valid for a write; any alignment and any address are acceptable.
        let status = unsafe { hip_sys::hipMemAddressReserve(&mut pointer, bytes, 0, ptr::null_mut(), 0) };
        check(status, "hipMemAddressReserve", || format!("{bytes} bytes of addresses"))?;
        let inner = RangeInner { address: pointer as usize, bytes, device: *device, mapped: Mutex::default() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Maps pieces of memory, one after the other, to the addresses from `offset` bytes on (`hipMemMap`,
    /// `hipMemSetAccess`), as one buffer. The memory's device can access it.
    ///
    /// The buffer keeps the memory and the addresses. They are unmapped (`hipMemUnmap`) after the buffer is dropped and
    /// all work that uses it is done. A piece can be in only one buffer at a time. Mapping a piece or addresses of a
    /// dropped buffer blocks until that buffer's queued work is done.
    ///
    /// # Errors
    /// [`Error::Range`] if the pieces do not fit in the range; [`Error::InvalidValue`] if the addresses or a piece are
    /// already mapped, if there are no pieces, if their size is not a multiple of `T`'s, or if the offset is not
    /// aligned for `T`; the runtime's status for an offset that the device cannot map to; [`Error::WrongDevice`] for
    /// pieces of several devices.
    #[doc(alias("hipMemMap", "cuMemMap"))]
    #[doc(alias("hipMemSetAccess", "cuMemSetAccess"))]
    #[doc(alias("hipMemUnmap", "cuMemUnmap"))]
    pub fn map<T: Pod>(&self, offset: usize, pieces: &[&PhysicalMemory]) -> Result<DeviceBuffer<T>> {
        self.map_with_access(offset, pieces, &[])
    }

    /// Like [`map`](Self::map), but `peers` can access the memory too.
    ///
    /// # Errors
    /// Those of [`map`](Self::map), and the runtime's status for a device that cannot access the memory.
    pub fn map_with_access<T: Pod>(
        &self,
        offset: usize,
        pieces: &[&PhysicalMemory],
        peers: &[Device],
    ) -> Result<DeviceBuffer<T>> {
        let size = size_of::<T>();
        if size == 0 {
            return Err(Error::ZeroSizedType { type_name: std::any::type_name::<T>() });
        }
        let refused =
            |value: String, allowed: String| Error::InvalidValue { what: "memory to be mapped", value, allowed };
        let Some(device) = pieces.first().map(|piece| piece.device()) else {
            return Err(refused("nothing".to_owned(), "one piece or more".to_owned()));
        };
        for piece in pieces {
            device.expect(piece.device(), "the memory")?;
        }
        let RangeInner { address, bytes: len, .. } = *self.inner;
        let end = pieces.iter().try_fold(offset, |end, piece| end.checked_add(piece.byte_len()));
        let end = end.filter(|end| *end <= len).ok_or(Error::Range { start: offset, end: end.unwrap_or(len), len })?;
        let bytes = end - offset;
        if bytes % size != 0 || (address + offset) % align_of::<T>() != 0 {
            let found = format!("{bytes} bytes at {:#x}", address + offset);
            let (type_name, align) = (std::any::type_name::<T>(), align_of::<T>());
            return Err(refused(
                found,
                format!("a multiple of {size} bytes at a multiple of {align}, for {type_name}"),
            ));
        }
        if self.inner.is_taken(&(offset..end)) || pieces.iter().any(|piece| piece.is_mapped()) {
            // A dropped buffer with queued work may still be mapped there.
            later::settle();
        }
        let mut mapped = Mapped::claim(&self.inner, offset..end).ok_or_else(|| {
            refused(format!("to {offset}..{end} of a range"), "to addresses that nothing is mapped to".to_owned())
        })?;
        mapped.peers = peers.to_vec();
        device.activate()?;
        for piece in pieces {
            mapped.add(piece)?;
        }
        mapped.allow(device)?;
        let pointer = mapped.pointer(0);
        let owner = Owner::Keeper(Box::new(mapped));
        let memory = Allocation::from_parts(&device, pointer, ptr::null_mut(), bytes, owner);
        Ok(DeviceBuffer::from_allocation(memory, bytes / size))
    }

    /// Returns the first address, for devices.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.inner.address as u64
    }

    /// Returns the size in bytes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.inner.bytes
    }
}

impl RangeInner {
    fn lock(&self) -> MutexGuard<'_, Vec<Range<usize>>> {
        self.mapped.lock()
    }

    fn is_taken(&self, place: &Range<usize>) -> bool {
        overlaps(&self.lock(), place)
    }
}

/// Returns whether a place overlaps one of several places.
fn overlaps(places: &[Range<usize>], place: &Range<usize>) -> bool {
    places.iter().any(|other| other.start < place.end && place.start < other.end)
}

/// Mapped memory, which is unmapped when it is dropped. If unmapping fails, the memory and its addresses leak.
struct Mapped {
    range: Arc<RangeInner>,
    /// The offsets in the range.
    place: Range<usize>,
    pieces: Vec<Arc<PhysicalInner>>,
    /// The mapped bytes.
    bytes: usize,
    peers: Vec<Device>,
}

impl Mapped {
    /// Claims a place, with nothing mapped yet. `None` if the place is in use.
    fn claim(range: &Arc<RangeInner>, place: Range<usize>) -> Option<Self> {
        let mut mapped = range.lock();
        if overlaps(&mapped, &place) {
            return None;
        }
        mapped.push(place.clone());
        Some(Self { range: Arc::clone(range), place, pieces: Vec::new(), bytes: 0, peers: Vec::new() })
    }

    fn pointer(&self, offset: usize) -> *mut c_void {
        ptr::with_exposed_provenance_mut(self.range.address + self.place.start + offset)
    }

    /// Maps one more piece after the others.
    fn add(&mut self, piece: &PhysicalMemory) -> Result<()> {
        if piece.inner.mapped.swap(true, Ordering::AcqRel) {
            return Err(Error::InvalidValue {
                what: "memory to be mapped",
                value: "mapped already".to_owned(),
                allowed: "in one buffer at a time".to_owned(),
            });
        }
        let bytes = piece.byte_len();
        // SAFETY: the claim ensures that nothing is mapped to these reserved addresses, and the memory is alive.
        let status = unsafe { hip_sys::hipMemMap(self.pointer(self.bytes), bytes, 0, piece.inner.raw, 0) };
        if let Err(error) = check(status, "hipMemMap", || format!("{piece:?} at {:p}", self.pointer(self.bytes))) {
            piece.inner.mapped.store(false, Ordering::Release);
            return Err(error);
        }
        self.pieces.push(Arc::clone(&piece.inner));
        self.bytes += bytes;
        Ok(())
    }

    /// Allows `device`, which has the memory, and the peers to access it.
    fn allow(&self, device: Device) -> Result<()> {
        let devices = [device].into_iter().chain(self.peers.iter().copied());
        let access: Vec<hipMemAccessDesc> = devices
            .map(|device| hipMemAccessDesc { location: location(&device), flags: hipMemAccessFlagsProtReadWrite })
            .collect();
        // SAFETY: memory is mapped to all of the addresses; `access` has as many entries as passed.
        let status = unsafe { hip_sys::hipMemSetAccess(self.pointer(0), self.bytes, access.as_ptr(), access.len()) };
        check(status, "hipMemSetAccess", || format!("{} bytes for {} devices", self.bytes, access.len()))
    }
}

impl Keeper for Mapped {
    fn admits(&self, device: Device, _kind: AccessKind) -> bool {
        self.peers.contains(&device)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let (mut offset, mut lost) = (0, false);
        for piece in std::mem::take(&mut self.pieces) {
            // SAFETY: mapped by `add` with this size, not unmapped yet, and no work uses it anymore.
            let status = unsafe { hip_sys::hipMemUnmap(self.pointer(offset), piece.bytes) };
            offset += piece.bytes;
            if status.0 == 0 {
                piece.mapped.store(false, Ordering::Release);
            } else {
                // Devices may still access it there: leak both the memory and the addresses.
                std::mem::forget((piece, Arc::clone(&self.range)));
                lost = true;
            }
        }
        if !lost {
            self.range.lock().retain(|other| *other != self.place);
        }
    }
}

impl Drop for RangeInner {
    fn drop(&mut self) {
        let (address, bytes, device) = (self.address, self.bytes, self.device);
        in_time(move || {
            if device.activate().is_ok() {
                // SAFETY: from hipMemAddressReserve with this size, not freed yet, and nothing is mapped there anymore.
                let _ = unsafe { hip_sys::hipMemAddressFree(ptr::with_exposed_provenance_mut(address), bytes) };
            }
        });
    }
}

impl Drop for PhysicalInner {
    fn drop(&mut self) {
        let (raw, device) = (self.raw.expose_provenance(), self.device);
        in_time(move || {
            if device.activate().is_ok() {
                // SAFETY: from hipMemCreate, not released yet, and not mapped anymore.
                let _ = unsafe { hip_sys::hipMemRelease(ptr::with_exposed_provenance_mut(raw)) };
            }
        });
    }
}

impl fmt::Debug for PhysicalMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PhysicalMemory")
            .field("bytes", &self.inner.bytes)
            .field("device", &self.inner.device.index())
            .field("mapped", &self.is_mapped())
            .finish()
    }
}

impl fmt::Debug for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddressRange")
            .field("address", &format_args!("{:#x}", self.inner.address))
            .field("bytes", &self.inner.bytes)
            .finish()
    }
}
