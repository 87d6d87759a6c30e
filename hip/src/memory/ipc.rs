//! Sharing of device memory with other processes, through handles.

use std::ffi::{c_uint, c_void};
use std::fmt;
use std::ptr;

use bytemuck::Pod;
use hip_sys::hipIpcMemHandle_t;

use super::{Allocation, DeviceBuffer, Keeper, Owner, byte_len};
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::lock::Mutex;
use crate::core::releases::IPC_MEMORY_HAS_NO_FLAG;

/// `hipIpcMemLazyEnablePeerAccess`, the only flag that HIP defines.
const LAZY_PEER_ACCESS: c_uint = 1;

/// Held while memory is opened or closed. HIP 6.4 counts the uses of memory that is open already, and crashes if one thread opens it
/// while another closes it: destructors close it in a thread of this crate.
static OPENING: Mutex<()> = Mutex::new(());

/// A handle with which other processes [open](DeviceBuffer::open_ipc) a buffer: 64 bytes to send to them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct IpcMemoryHandle([u8; 64]);

impl IpcMemoryHandle {
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

impl fmt::Debug for IpcMemoryHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IpcMemoryHandle(..)")
    }
}

impl<T> DeviceBuffer<T> {
    /// Returns a handle for other processes (`hipIpcGetMemHandle`), after all queued work that uses the buffer is done,
    /// so that their work comes after it. Only for memory of `hipMalloc` ([`uninit`](Self::uninit) and the like);
    /// [`MemoryPool::export_buffer`](crate::memory::pool::MemoryPool::export_buffer) shares buffers of pools.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for another kind of buffer, or an empty one. Errors of the queued work.
    #[doc(alias("hipIpcGetMemHandle", "cuIpcGetMemHandle", "cudaIpcGetMemHandle"))]
    #[doc(alias("hipMemGetAddressRange", "cuMemGetAddressRange"))]
    pub fn ipc_handle(&self) -> Result<IpcMemoryHandle> {
        let memory = self.allocation();
        if !matches!(memory.owner(), Owner::Malloc) {
            return Err(Error::InvalidValue {
                what: "the buffer for another process",
                value: format!("a buffer of {} bytes from elsewhere", memory.bytes),
                allowed: "one with elements that uninit, zeroed or from_slice made".to_owned(),
            });
        }
        self.synchronize()?;
        memory.device.activate()?;
        let mut handle = hipIpcMemHandle_t::default();
        // SAFETY: `handle` is valid for a write; the memory is alive and from hipMalloc.
        let status = unsafe { hip_sys::hipIpcGetMemHandle(&mut handle, memory.pointer) };
        check(status, "hipIpcGetMemHandle", || format!("{} bytes on device {}", memory.bytes, memory.device.index()))?;
        Ok(IpcMemoryHandle(handle.reserved.map(|byte| byte as u8)))
    }
}

impl<T: Pod> DeviceBuffer<T> {
    /// Opens `len` elements of another process's memory as a buffer (`hipIpcOpenMemHandle`), for work on `device`.
    /// Dropping the buffer closes the memory in this process (`hipIpcCloseMemHandle`), after all work of this process
    /// that uses it.
    ///
    /// ```no_run
    /// # fn receive() -> [u8; 64] { [0; 64] }
    /// # fn main() -> hip::Result<()> {
    /// use hip::{Device, DeviceBuffer};
    /// use hip::memory::IpcMemoryHandle;
    ///
    /// let handle = IpcMemoryHandle::from_bytes(receive());
    /// // SAFETY: the other process has sent the handle of 1000 u32, and waits until this one has said that it is done.
    /// let shared = unsafe { DeviceBuffer::<u32>::open_ipc(&Device::get(0)?, &handle, 1000)? };
    /// println!("{:?}", shared.to_vec()?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`] and [`Error::ZeroSizedType`]; [`Error::InvalidValue`] if the other process's allocation is
    /// smaller, or `len` is 0. The runtime's status for a handle that is damaged or stale, and for one of this process,
    /// which cannot be opened here.
    ///
    /// # Safety
    /// The other process's buffer must outlive this one. This process must not open it twice at the same time. No
    /// process may write to it while another uses it, because neither tracks the other's work.
    #[doc(alias("hipIpcOpenMemHandle", "cuIpcOpenMemHandle", "cudaIpcOpenMemHandle"))]
    #[doc(alias("hipIpcCloseMemHandle", "cuIpcCloseMemHandle", "cudaIpcCloseMemHandle"))]
    pub unsafe fn open_ipc(device: &Device, handle: &IpcMemoryHandle, len: usize) -> Result<Self> {
        let bytes = byte_len::<T>(len)?;
        let refused = |value: String, allowed: String| {
            Err(Error::InvalidValue { what: "the size of a buffer of another process", value, allowed })
        };
        if bytes == 0 {
            return refused("0 bytes".to_owned(), "1 or more".to_owned());
        }
        let flags = if IPC_MEMORY_HAS_NO_FLAG.in_use() { 0 } else { LAZY_PEER_ACCESS };
        let raw = hipIpcMemHandle_t { reserved: handle.0.map(|byte| byte as _) };
        device.activate()?;
        let mut pointer = ptr::null_mut();
        let status = {
            let _one = OPENING.lock();
            // SAFETY: `pointer` is valid for a write; the handle is 64 bytes that the runtime checks.
            unsafe { hip_sys::hipIpcOpenMemHandle(&mut pointer, raw, flags) }
        };
        check(status, "hipIpcOpenMemHandle", || {
            format!("{bytes} bytes of another process on device {}", device.index())
        })?;
        let opened = Opened { device: *device, address: pointer.expose_provenance() };
        let (_, there) = bytes_from(pointer)?;
        if bytes > there {
            return refused(format!("{bytes} bytes"), format!("at most the {there} that the other process shares"));
        }
        let owner = Owner::Keeper(Box::new(opened));
        Ok(Self::from_allocation(Allocation::from_parts(device, pointer, ptr::null_mut(), bytes, owner), len))
    }
}

/// Returns the number of bytes of the allocation before `pointer`, and from `pointer` on (`hipMemGetAddressRange`).
pub(super) fn bytes_from(pointer: *mut c_void) -> Result<(usize, usize)> {
    let (mut base, mut size) = (ptr::null_mut(), 0usize);
    // SAFETY: both are valid for a write; the runtime looks the address up.
    let status = unsafe { hip_sys::hipMemGetAddressRange(&mut base, &mut size, pointer) };
    check(status, "hipMemGetAddressRange", || format!("{pointer:p}"))?;
    let before = (pointer as usize).saturating_sub(base as usize);
    Ok((before, size.saturating_sub(before)))
}

/// Memory of another process that is open in this one.
struct Opened {
    device: Device,
    address: usize,
}

impl Keeper for Opened {}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.device.activate().is_ok() {
            let _one = OPENING.lock();
            // SAFETY: from hipIpcOpenMemHandle, not closed yet, and no work uses it anymore.
            let _ = unsafe { hip_sys::hipIpcCloseMemHandle(ptr::with_exposed_provenance_mut(self.address)) };
        }
    }
}
