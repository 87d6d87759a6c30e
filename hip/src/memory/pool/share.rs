//! Sharing of pools and their memory with other processes.

use std::ffi::c_void;
use std::fmt;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::Arc;

use bytemuck::Pod;
use hip_sys::{hipMemHandleTypePosixFileDescriptor, hipMemPool_t, hipMemPoolPtrExportData};

use super::super::{Allocation, DeviceBuffer, Keeper, Owner, byte_len};
use super::MemoryPool;
use super::inner::{PoolInner, PoolKind};
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::stream::usage::AccessKind;

/// A handle with which another process, in addition to the pool itself, opens a buffer of an exported pool: 64 bytes to
/// send to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PoolPointer([u8; 64]);

impl PoolPointer {
    /// Creates the handle from the bytes of [`as_bytes`](Self::as_bytes) in the other process.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 64]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes to send.
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
    /// Exports the pool as a file descriptor, to send to another process (`hipMemPoolExportToShareableHandle`). The
    /// pool must have been created as [`shareable`](super::PoolOptions::shareable).
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
        // SAFETY: the runtime has just created the descriptor, it was checked to be one, and this is its only owner.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Imports a pool of another process from the descriptor that it [exported](Self::export), on `device`
    /// (`hipMemPoolImportFromShareableHandle`). Buffers are [opened](Self::open) in it, not allocated.
    ///
    /// # Errors
    /// The runtime's status if `fd` is not an exported pool.
    ///
    /// # Safety
    /// `fd` must be the result of [`export`](Self::export), in this process or another, for a pool of this device.
    /// (Runtimes trust its content.)
    #[doc(alias(
        "hipMemPoolImportFromShareableHandle",
        "cuMemPoolImportFromShareableHandle",
        "cudaMemPoolImportFromShareableHandle"
    ))]
    pub unsafe fn import(device: &Device, fd: BorrowedFd<'_>) -> Result<Self> {
        let mut raw: hipMemPool_t = ptr::null_mut();
        let handle = ptr::without_provenance_mut::<c_void>(fd.as_raw_fd() as usize);
        device.activate()?;
        // SAFETY: `raw` is valid for a write; a handle of this type is passed by value, in place of the pointer.
        let status = unsafe {
            hip_sys::hipMemPoolImportFromShareableHandle(&mut raw, handle, hipMemHandleTypePosixFileDescriptor, 0)
        };
        check(status, "hipMemPoolImportFromShareableHandle", || {
            format!("file descriptor {} on device {}", fd.as_raw_fd(), device.index())
        })?;
        Ok(Self { inner: PoolInner::new(raw, *device, PoolKind::Imported) })
    }

    /// Exports a buffer of this pool, for another process to [open](Self::open) (`hipMemPoolExportPointer`), after all
    /// queued work that uses it is done, so that the other process's work comes after it.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the buffer is of another pool or empty. Errors of the queued work.
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

    /// Opens `len` elements of another process's buffer (`hipMemPoolImportPointer`); this must be the imported pool.
    /// Dropping the buffer closes the memory in this process, after all work of this process that uses it.
    ///
    /// # Errors
    /// [`Error::TooLarge`] and [`Error::ZeroSizedType`]; the runtime's status for a handle that is not a buffer of that
    /// pool.
    ///
    /// # Safety
    /// `pointer` must be the result of [`export_buffer`](Self::export_buffer) in the exporting process, for a buffer of
    /// at least as many bytes. That buffer must outlive this one. No process may write to it while another uses it,
    /// because neither tracks the other's work.
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
        // SAFETY: `address` is valid for a write, the pool is alive; the caller ensures that the pointer is valid.
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
        // SAFETY: from hipMemPoolImportPointer, which hipFree closes; no work uses it anymore.
        let _ = unsafe { hip_sys::hipFree(ptr::with_exposed_provenance_mut(self.address)) };
    }
}
