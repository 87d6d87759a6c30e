//! Memory and semaphores of other APIs (Vulkan, OpenGL), by file descriptor.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd as _, IntoRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::ptr;
use std::sync::Arc;

use bytemuck::Pod;
use hip_sys::rocm_6_2::{
    hipExternalMemory_t, hipExternalMemoryBufferDesc, hipExternalMemoryDedicated, hipExternalMemoryHandleDesc,
    hipExternalMemoryHandleDesc_handle, hipExternalMemoryHandleTypeOpaqueFd, hipExternalSemaphore_t,
    hipExternalSemaphoreHandleDesc, hipExternalSemaphoreHandleDesc_handle, hipExternalSemaphoreHandleTypeOpaqueFd,
    hipExternalSemaphoreSignalParams, hipExternalSemaphoreWaitParams,
};

use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::forms;
use crate::core::later;
use crate::memory::{Allocation, DeviceBuffer, Keeper, Owner, byte_len};
use crate::stream::Stream;
use crate::stream::usage::{Access, Usage};

/// Memory that another API has allocated and exported as a file descriptor (`hipExternalMemory_t`): of Vulkan with
/// `VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT`.
#[doc(alias("hipDestroyExternalMemory", "cuDestroyExternalMemory", "cudaDestroyExternalMemory"))]
pub struct ExternalMemory {
    raw: hipExternalMemory_t,
    device: Device,
    bytes: usize,
    /// ROCm's runtimes leave it open; it is closed when they are done with the memory. `None` in `drop`.
    descriptor: Option<Descriptor>,
}

// SAFETY: the HIP runtime accepts the handle from any thread; it is destroyed only in Drop.
unsafe impl Send for ExternalMemory {}
// SAFETY: as above; a shared reference gives no access.
unsafe impl Sync for ExternalMemory {}

/// A descriptor that was passed to the runtime, which may close it. If it has not, this closes it.
struct Descriptor {
    file: ManuallyDrop<File>,
    /// The identity of its file.
    was: Option<(u64, u64)>,
}

impl Descriptor {
    fn new(fd: OwnedFd) -> Self {
        let file = ManuallyDrop::new(File::from(fd));
        let was = identity(&file);
        Self { file, was }
    }

    fn raw(&self) -> c_int {
        self.file.as_raw_fd()
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // If the runtime has closed it, the number may refer to another file, or to none.
        if self.was.is_some() && identity(&self.file) == self.was {
            // SAFETY: it is not used again.
            unsafe { ManuallyDrop::drop(&mut self.file) };
        }
    }
}

/// Returns the identity of a file: device and inode.
fn identity(file: &File) -> Option<(u64, u64)> {
    file.metadata().ok().map(|of| (of.dev(), of.ino()))
}

/// Returns the size in bytes, which must be at least one.
fn not_empty(what: &'static str, bytes: usize) -> Result<()> {
    if bytes > 0 {
        return Ok(());
    }
    Err(Error::InvalidValue { what, value: "0 bytes".to_owned(), allowed: "at least one".to_owned() })
}

impl ExternalMemory {
    /// Imports `bytes` bytes of memory (`hipImportExternalMemory`). `dedicated` means that it was allocated for a
    /// single buffer or image, as Vulkan's dedicated allocations are. The descriptor is closed when the memory is
    /// released, or if this fails.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for no bytes; the runtime's status for a descriptor that is not memory of the device.
    ///
    /// # Safety
    /// The descriptor must be of memory of `bytes` bytes that the other API has exported for sharing. Accesses of the
    /// other API are not tracked: the caller must order them with the work on the buffer that is made of it.
    #[doc(alias("hipImportExternalMemory", "cuImportExternalMemory", "cudaImportExternalMemory"))]
    pub unsafe fn import_fd(device: &Device, fd: OwnedFd, bytes: usize, dedicated: bool) -> Result<Self> {
        not_empty("the size of imported memory", bytes)?;
        device.activate()?;
        let descriptor = Descriptor::new(fd);
        let description = hipExternalMemoryHandleDesc {
            type_: hipExternalMemoryHandleTypeOpaqueFd,
            handle: hipExternalMemoryHandleDesc_handle { fd: descriptor.raw() },
            size: bytes as u64,
            flags: if dedicated { hipExternalMemoryDedicated } else { 0 },
            ..hipExternalMemoryHandleDesc::default()
        };
        let mut raw: hipExternalMemory_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write, the description for a read; the caller ensures that the descriptor is valid.
        let status = unsafe { forms::hipImportExternalMemory(&mut raw, &description) };
        let asked = || format!("{bytes} bytes by descriptor {} on device {}", descriptor.raw(), device.index());
        check(status, "hipImportExternalMemory", asked)?;
        Ok(Self { raw, device: *device, bytes, descriptor: Some(descriptor) })
    }

    /// Maps `len` elements from `offset` bytes on as a buffer (`hipExternalMemoryGetMappedBuffer`), which keeps the
    /// memory.
    ///
    /// HIP 7.2 keeps the memory until the process ends.
    ///
    /// # Errors
    /// [`Error::Range`] if they are out of bounds, [`Error::InvalidValue`] for no elements, and for an offset that is
    /// not aligned for `T`; the runtime's status.
    #[doc(alias(
        "hipExternalMemoryGetMappedBuffer",
        "cuExternalMemoryGetMappedBuffer",
        "cudaExternalMemoryGetMappedBuffer"
    ))]
    pub fn into_buffer<T: Pod>(self, offset: usize, len: usize) -> Result<DeviceBuffer<T>> {
        let bytes = byte_len::<T>(len)?;
        not_empty("a part of imported memory", bytes)?;
        let end = offset.saturating_add(bytes);
        if end > self.bytes {
            return Err(Error::Range { start: offset, end, len: self.bytes });
        }
        if offset % align_of::<T>() != 0 {
            return Err(Error::InvalidValue {
                what: "where a part of imported memory begins",
                value: format!("byte {offset}"),
                allowed: format!("a multiple of {}, the alignment of {}", align_of::<T>(), std::any::type_name::<T>()),
            });
        }
        let device = self.device;
        device.activate()?;
        // Maps all of the memory: with HIP 6, copies start at the beginning of the mapping in memory, whatever its offset.
        let description = hipExternalMemoryBufferDesc {
            offset: 0,
            size: self.bytes as u64,
            ..hipExternalMemoryBufferDesc::default()
        };
        let mut pointer: *mut c_void = ptr::null_mut();
        // SAFETY: `pointer` is valid for a write, the description for a read, and the memory is ours.
        let status = unsafe { forms::hipExternalMemoryGetMappedBuffer(&mut pointer, self.raw, &description) };
        check(status, "hipExternalMemoryGetMappedBuffer", || format!("{} bytes", self.bytes))?;
        let mapped = Mapped { address: pointer.expose_provenance(), memory: self };
        let owner = Owner::Keeper(Box::new(mapped));
        let part = pointer.wrapping_byte_add(offset);
        let memory = Allocation::from_parts(&device, part, ptr::null_mut(), bytes, owner);
        Ok(DeviceBuffer::from_allocation(memory, len))
    }

    /// Returns the size in bytes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.bytes
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }
}

impl Drop for ExternalMemory {
    fn drop(&mut self) {
        let (raw, device, descriptor) = (self.raw.expose_provenance(), self.device, self.descriptor.take());
        later::in_time(move || {
            if device.activate().is_ok() {
                // SAFETY: from hipImportExternalMemory, not destroyed yet; a buffer of it was waited for before it came here.
                let _ = unsafe { hip_sys::hipDestroyExternalMemory(ptr::with_exposed_provenance_mut(raw)) };
            }
            drop(descriptor);
        });
    }
}

impl fmt::Debug for ExternalMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalMemory").field("bytes", &self.bytes).field("device", &self.device.index()).finish()
    }
}

/// Keeps imported memory for a buffer: first it is unmapped, then destroyed.
struct Mapped {
    address: usize,
    memory: ExternalMemory,
}

impl Keeper for Mapped {}

impl Drop for Mapped {
    fn drop(&mut self) {
        if !context::is_forked() && self.memory.device.activate().is_ok() {
            // SAFETY: from hipExternalMemoryGetMappedBuffer, for which HIP specifies hipFree, not freed yet, and no work uses it anymore.
            let _ = unsafe { hip_sys::hipFree(ptr::with_exposed_provenance_mut(self.address)) };
        }
    }
}

/// The kind of an external semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExternalSemaphoreKind {
    /// Signalled or not (`VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT`).
    Binary,
    /// A timeline: a number that grows.
    #[cfg(feature = "rocm-6-2")]
    Timeline,
}

/// A semaphore that another API has exported as a file descriptor (`hipExternalSemaphore_t`), to order its work with
/// that of streams. A clone is another handle of the same semaphore.
///
/// ROCm's runtimes for Linux do not support it: importing one returns `hipErrorNotSupported` or `hipErrorInvalidValue`.
/// The embedded software GPU accepts an `eventfd` and files of its own format, which `hip-sim`'s page describes.
///
/// As with a [`Signal`](crate::stream::Signal), this crate does not order work by it: a stream that waits for a signal
/// that never comes never ends, and neither does a wait for that stream.
#[doc(alias("hipDestroyExternalSemaphore", "cuDestroyExternalSemaphore", "cudaDestroyExternalSemaphore"))]
#[derive(Clone)]
pub struct ExternalSemaphore {
    inner: Arc<SemaphoreInner>,
}

struct SemaphoreInner {
    raw: hipExternalSemaphore_t,
    device: Device,
    kind: ExternalSemaphoreKind,
    usage: Usage,
}

// SAFETY: the HIP runtime accepts the handle from any thread; it is destroyed only in Drop; `usage` is Send and Sync.
unsafe impl Send for SemaphoreInner {}
// SAFETY: as above.
unsafe impl Sync for SemaphoreInner {}

impl ExternalSemaphore {
    /// Imports a semaphore (`hipImportExternalSemaphore`). On success the runtime owns the descriptor, else it is
    /// closed.
    ///
    /// # Errors
    /// The runtime's status: `hipErrorNotSupported` on ROCm for Linux.
    ///
    /// # Safety
    /// The descriptor must be of a semaphore of this kind that the other API has exported for sharing.
    #[doc(alias("hipImportExternalSemaphore", "cuImportExternalSemaphore", "cudaImportExternalSemaphore"))]
    pub unsafe fn import_fd(device: &Device, fd: OwnedFd, kind: ExternalSemaphoreKind) -> Result<Self> {
        device.activate()?;
        let description = hipExternalSemaphoreHandleDesc {
            type_: match kind {
                ExternalSemaphoreKind::Binary => hipExternalSemaphoreHandleTypeOpaqueFd,
                #[cfg(feature = "rocm-6-2")]
                ExternalSemaphoreKind::Timeline => hip_sys::hipExternalSemaphoreHandleTypeTimelineSemaphoreFd,
            },
            handle: hipExternalSemaphoreHandleDesc_handle { fd: fd.as_raw_fd() },
            ..hipExternalSemaphoreHandleDesc::default()
        };
        let mut raw: hipExternalSemaphore_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write, the description for a read; the caller ensures that the descriptor is valid.
        let status = unsafe { forms::hipImportExternalSemaphore(&mut raw, &description) };
        let asked = || format!("{kind:?} by descriptor {} on device {}", fd.as_raw_fd(), device.index());
        check(status, "hipImportExternalSemaphore", asked)?;
        let _ = fd.into_raw_fd();
        Ok(Self { inner: Arc::new(SemaphoreInner { raw, device: *device, kind, usage: Usage::default() }) })
    }

    /// Returns the C handle.
    pub(crate) fn raw(&self) -> hipExternalSemaphore_t {
        self.inner.raw
    }

    /// Tickets count every use as a read, as for a `Signal`: they keep it, and order nothing. Another stream's wait may
    /// be for this very signal.
    pub(crate) fn access(&self) -> Access<'_> {
        Access::read(&self.inner.usage)
    }

    /// Returns the kind.
    #[must_use]
    pub fn kind(&self) -> ExternalSemaphoreKind {
        self.inner.kind
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.inner.device
    }
}

impl Stream {
    /// Signals a semaphore when the work queued so far is done (`hipSignalExternalSemaphoresAsync`). `value` is the new
    /// value of a timeline; a binary semaphore ignores it.
    ///
    /// # Errors
    /// [`Error::WrongDevice`]; the runtime's status.
    #[doc(alias(
        "hipSignalExternalSemaphoresAsync",
        "cuSignalExternalSemaphoresAsync",
        "cudaSignalExternalSemaphoresAsync"
    ))]
    pub fn signal_external(&self, semaphore: &ExternalSemaphore, value: u64) -> Result<()> {
        self.device().expect(semaphore.device(), "the semaphore")?;
        let mut parameters = hipExternalSemaphoreSignalParams::default();
        parameters.params.fence.value = value;
        self.inner.submit(&[semaphore.access()], None, |stream| {
            // SAFETY: one semaphore, alive as long as work uses it, and its parameters, valid for a read.
            let status = unsafe { forms::hipSignalExternalSemaphoresAsync(&semaphore.raw(), &parameters, 1, stream) };
            check(status, "hipSignalExternalSemaphoresAsync", || format!("{semaphore:?} with {value}"))
        })
    }

    /// Makes all later work wait for a semaphore (`hipWaitExternalSemaphoresAsync`). A timeline must reach `value`.
    ///
    /// # Errors
    /// [`Error::WrongDevice`]; the runtime's status.
    #[doc(alias("hipWaitExternalSemaphoresAsync", "cuWaitExternalSemaphoresAsync", "cudaWaitExternalSemaphoresAsync"))]
    pub fn wait_external(&self, semaphore: &ExternalSemaphore, value: u64) -> Result<()> {
        self.device().expect(semaphore.device(), "the semaphore")?;
        let mut parameters = hipExternalSemaphoreWaitParams::default();
        parameters.params.fence.value = value;
        let queued = self.inner.submit_held(&[semaphore.access()], None, |stream| {
            // SAFETY: one semaphore, alive as long as work uses it, and its parameters, valid for a read.
            let status = unsafe { forms::hipWaitExternalSemaphoresAsync(&semaphore.raw(), &parameters, 1, stream) };
            check(status, "hipWaitExternalSemaphoresAsync", || format!("{semaphore:?} for {value}"))
        });
        queued.map(drop)
    }
}

impl Drop for SemaphoreInner {
    fn drop(&mut self) {
        let (raw, device) = (self.raw.expose_provenance(), self.device);
        self.usage.release(move || {
            if device.activate().is_ok() {
                // SAFETY: from hipImportExternalSemaphore, not destroyed yet, and no work uses it anymore.
                let _ = unsafe { hip_sys::hipDestroyExternalSemaphore(ptr::with_exposed_provenance_mut(raw)) };
            }
        });
    }
}

impl fmt::Debug for ExternalSemaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} semaphore {:?} of device {}", self.inner.kind, self.inner.raw, self.inner.device.index())
    }
}
