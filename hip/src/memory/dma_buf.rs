//! Sharing of device memory with other drivers of the system, through file descriptors.

use std::ffi::{c_int, c_void};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::ptr;

use super::DeviceBuffer;
use crate::core::call::check;
use crate::core::error::{Error, Result};

impl<T> DeviceBuffer<T> {
    /// Exports the buffer's memory as a dma-buf, for another driver: of a network card, a camera or another GPU
    /// (`hipMemGetHandleForAddressRange`, of ROCm 7.0).
    ///
    /// The descriptor refers to the kernel's memory object that contains the buffer, and keeps it alive. HIP does not
    /// report the buffer's offset in it: it is 0 for a buffer that is an allocation of its own. Accesses of other
    /// drivers are not tracked: the caller must order them with the work on the buffer.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, DeviceBuffer};
    ///
    /// let buffer = DeviceBuffer::<u8>::zeroed(&Device::get(0)?, 2 << 20)?;
    /// match buffer.export_dma_buf() {
    ///     Ok(fd) => println!("{fd:?} is for ibv_reg_dmabuf_mr"),
    ///     Err(error) => eprintln!("not on this device: {error}"),
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for an empty buffer; [`Error::NoSymbol`] from a runtime before 7.0;
    /// `hipErrorInvalidValue` if the kernel driver cannot export such memory, as with the software GPU.
    #[doc(alias("hipMemGetHandleForAddressRange", "cuMemGetHandleForAddressRange"))]
    pub fn export_dma_buf(&self) -> Result<OwnedFd> {
        let memory = self.allocation();
        if memory.bytes == 0 {
            return Err(Error::InvalidValue {
                what: "the memory for a dma-buf",
                value: "0 bytes".to_owned(),
                allowed: "at least one".to_owned(),
            });
        }
        memory.device.activate()?;
        let mut fd: c_int = -1;
        // SAFETY: the memory is alive; a handle of this type is an int, which `fd` has room for.
        let status = unsafe {
            hip_sys::hipMemGetHandleForAddressRange(
                ptr::from_mut(&mut fd).cast::<c_void>(),
                memory.pointer,
                memory.bytes,
                hip_sys::hipMemRangeHandleTypeDmaBufFd,
                0,
            )
        };
        let asked = || format!("a dma-buf of {} bytes of device {}", memory.bytes, memory.device.index());
        check(status, "hipMemGetHandleForAddressRange", asked)?;
        if fd < 0 {
            return Err(Error::InvalidValue {
                what: "the file descriptor that the runtime gave for memory",
                value: fd.to_string(),
                allowed: "0 or more".to_owned(),
            });
        }
        // SAFETY: the runtime has just created the descriptor, and this is its only owner.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}
