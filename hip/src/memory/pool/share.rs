//! Pools and their memory in other processes.

use std::ffi::c_void;
use std::fmt;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::Arc;

use bytemuck::Pod;
use hip_sys::{hipMemHandleTypePosixFileDescriptor, hipMemPool_t, hipMemPoolPtrExportData};

use super::super::{Allocation, DeviceBuffer, Keeper, Owner, byte_len};
use super::{MemoryPool, PoolInner, PoolKind};
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::stream::usage::AccessKind;

/// What another process needs, beside the pool itself, to open a buffer of an exported pool: 64 bytes to be sent to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PoolPointer([u8; 64]);

impl PoolPointer {
    /// From what [`as_bytes`](Self::as_bytes) gave in the other process.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 64]) -> Self {
        Self(bytes)
    }

    /// The bytes to send.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

impl fmt::Debug for PoolPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PoolPointer(..)")
    }
}

impl MemoryPool {
    /// The pool as a file descriptor, to be sent to another process (`hipMemPoolExportToShareableHandle`). The pool must be
    /// made [`shareable`](super::PoolOptions::shareable).
    #[doc(alias(
        "hipMemPoolExportToShareableHandle",
        "cuMemPoolExportToShareableHandle",
        "cudaMemPoolExportToShareableHandle"
    ))]
    pub fn export(&self) -> Result<OwnedFd> {
        self.inner.device.activate()?;
        let mut fd: RawFd = -1;
        // SAFETY: the pool is alive as long as `self`; a handle of this type is an int.
        let status = unsafe {
            hip_sys::hipMemPoolExportToShareableHandle(
                ptr::from_mut(&mut fd).cast::<c_void>(),
                self.inner.raw,
                hipMemHandleTypePosixFileDescriptor,
                0,
            )
        };
        check(status, "hipMemPoolExportToShareableHandle", || self.inner.describe())?;
        if fd < 0 {
            return Err(Error::InvalidValue {
                what: "the file descriptor that the runtime gave for a pool",
                value: fd.to_string(),
                allowed: "0 or more".to_owned(),
            });
        }
        // SAFETY: the runtime has just made the descriptor for us, and checked that it is one.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// A pool of another process by the descriptor that it [exported](Self::export), on `device`
    /// (`hipMemPoolImportFromShareableHandle`). Buffers are [opened](Self::open) in it, not allocated.
    ///
    /// # Errors
    /// The runtime's status if `fd` is something else.
    ///
    /// # Safety
    /// `fd` is what [`export`](Self::export) gave, in this process or another, for a pool of this device. (Runtimes follow
    /// what they find there.)
    #[doc(alias(
        "hipMemPoolImportFromShareableHandle",
        "cuMemPoolImportFromShareableHandle",
        "cudaMemPoolImportFromShareableHandle"
    ))]
    pub unsafe fn import(device: &Device, fd: BorrowedFd<'_>) -> Result<Self> {
        let mut raw: hipMemPool_t = ptr::null_mut();
        let handle = ptr::without_provenance_mut::<c_void>(fd.as_raw_fd() as usize);
        device.activate()?;
        // SAFETY: `raw` is valid for a write; a handle of this type is passed by value, as the pointer.
        let status = unsafe {
            hip_sys::hipMemPoolImportFromShareableHandle(&mut raw, handle, hipMemHandleTypePosixFileDescriptor, 0)
        };
        check(status, "hipMemPoolImportFromShareableHandle", || {
            format!("file descriptor {} on device {}", fd.as_raw_fd(), device.index())
        })?;
        Ok(Self { inner: PoolInner::new(raw, *device, PoolKind::Imported) })
    }

    /// A buffer of this pool for another process to [open](Self::open) (`hipMemPoolExportPointer`), after all queued work
    /// that uses it: what the other process does next comes after it.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the buffer is of another pool or empty. An error of the queued work comes back here.
    #[doc(alias("hipMemPoolExportPointer", "cuMemPoolExportPointer", "cudaMemPoolExportPointer"))]
    pub fn export_buffer<T>(&self, buffer: &DeviceBuffer<T>) -> Result<PoolPointer> {
        let ours = match buffer.allocation().owner() {
            Owner::Queue(_, Some(pool)) => Arc::ptr_eq(pool, &self.inner),
            _ => false,
        };
        if !ours || buffer.is_empty() {
            return Err(Error::InvalidValue {
                what: "the buffer to export",
                value: format!("{buffer:?}"),
                allowed: "one of this pool, with elements".to_owned(),
            });
        }
        buffer.synchronize()?;
        self.inner.device.activate()?;
        let mut data = hipMemPoolPtrExportData { reserved: [0; 64] };
        // SAFETY: `data` is valid for a write; the buffer is an allocation of a pool that is alive.
        let status = unsafe { hip_sys::hipMemPoolExportPointer(&mut data, buffer.allocation().pointer) };
        check(status, "hipMemPoolExportPointer", || format!("{buffer:?}"))?;
        Ok(PoolPointer(data.reserved))
    }

    /// A buffer of `len` elements of another process's pool (`hipMemPoolImportPointer`), this being the imported pool.
    /// Dropping it closes it here, after all work of this process that uses it.
    ///
    /// # Errors
    /// [`Error::TooLarge`] and [`Error::ZeroSizedType`]; the runtime's status for what is no buffer of that pool.
    ///
    /// # Safety
    /// `pointer` is what [`export_buffer`](Self::export_buffer) gave in the process that the pool is from, for a buffer of at least as many
    /// bytes. That buffer lives until this one is gone, and no process writes to it while another uses it: neither
    /// knows of the other's work.
    #[doc(alias("hipMemPoolImportPointer", "cuMemPoolImportPointer", "cudaMemPoolImportPointer"))]
    pub unsafe fn open<T: Pod>(&self, pointer: &PoolPointer, len: usize) -> Result<DeviceBuffer<T>> {
        let bytes = byte_len::<T>(len)?;
        let device = self.inner.device;
        if bytes == 0 {
            return Ok(DeviceBuffer::from_allocation(Allocation::empty(&device), 0));
        }
        let mut data = hipMemPoolPtrExportData { reserved: pointer.0 };
        let mut address = ptr::null_mut();
        device.activate()?;
        // SAFETY: `address` is valid for a write, the pool is alive; the caller answers for the pointer.
        let status = unsafe { hip_sys::hipMemPoolImportPointer(&mut address, self.inner.raw, &mut data) };
        check(status, "hipMemPoolImportPointer", || {
            format!("{bytes} bytes of an imported pool on device {}", device.index())
        })?;
        let keeper = Owner::Keeper(Box::new(Opened { pool: Arc::clone(&self.inner), address: address as usize }));
        Ok(DeviceBuffer::from_allocation(Allocation::from_parts(&device, address, ptr::null_mut(), bytes, keeper), len))
    }
}

/// A buffer of an imported pool.
struct Opened {
    pool: Arc<PoolInner>,
    address: usize,
}

impl Keeper for Opened {
    fn admits(&self, device: Device, kind: AccessKind) -> bool {
        self.pool.admits(device, kind)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: from hipMemPoolImportPointer, which hipFree closes; no work uses it any more.
        let _ = unsafe { hip_sys::hipFree(ptr::with_exposed_provenance_mut(self.address)) };
    }
}
