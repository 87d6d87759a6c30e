//! Device memory that other code has allocated, or frees.

use std::ffi::c_void;
use std::ptr;
use std::sync::Mutex;

use bytemuck::Pod;

use super::ipc::bytes_from;
use super::{Allocation, DeviceBuffer, DevicePtr, Keeper, Owner, PointerKind, byte_len};
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::stream::usage::{AccessKind, Usage};

impl<T: Pod> DeviceBuffer<T> {
    /// Takes ownership of `len` elements that other code has allocated on `device` (`hipMalloc`, `hipMallocAsync`, or
    /// [`into_raw_parts`](Self::into_raw_parts)). Dropping the buffer frees the memory (`hipFree`) after its work.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, DeviceBuffer};
    ///
    /// let device = Device::get(0)?;
    /// let (pointer, len) = DeviceBuffer::from_slice(&device, &[1u32, 2, 3])?.into_raw_parts()?;
    /// // SAFETY: 3 elements that nobody else has.
    /// let again = unsafe { DeviceBuffer::from_raw_parts(&device, pointer, len)? };
    /// assert_eq!(again.to_vec()?, [1, 2, 3]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the address is not the start of an allocation of this device that holds `len`
    /// elements, or is not aligned for `T`; [`Error::TooLarge`], [`Error::ZeroSizedType`]. On error, the caller keeps
    /// ownership.
    ///
    /// # Safety
    /// No other code may free the memory, or use it once the buffer may be gone: memory of another buffer that lives goes to
    /// [`from_raw_parts_with`](Self::from_raw_parts_with). Work that other code queues on it,
    /// earlier or later, must be over, or the caller must order it with the work on the buffer.
    #[doc(alias("hipFree", "cuMemFree", "cudaFree"))]
    pub unsafe fn from_raw_parts(device: &Device, pointer: DevicePtr<T>, len: usize) -> Result<Self> {
        let (address, bytes) = expect_parts(pointer, len)?;
        if bytes == 0 {
            return Ok(Self::from_allocation(Allocation::empty(device), 0));
        }
        match pointer.attributes()? {
            Some(found) if found.kind == PointerKind::Device && found.device == *device => {}
            Some(found) => return Err(refused(format!("{found:?}"), format!("memory of device {}", device.index()))),
            None => return Err(refused(format!("{pointer:?}"), "an address that the runtime knows".to_owned())),
        }
        let (before, there) = bytes_from(address)?;
        if before != 0 || there < bytes {
            let value =
                format!("{bytes} bytes at {pointer:?}, of which {there} are there, {before} behind its first byte");
            return Err(refused(value, "the first bytes of an allocation".to_owned()));
        }
        Ok(Self::from_allocation(Allocation::from_parts(device, address, ptr::null_mut(), bytes, Owner::Malloc), len))
    }

    /// Creates a buffer of `len` elements at an address of `device`'s memory, which `owner` keeps. `owner` is dropped
    /// after all work of this crate on the buffer, and its destructor releases the memory. Use it for memory of other
    /// allocators, parts of allocations, and memory that another object owns.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use std::sync::Arc;
    /// use hip::{Device, DeviceBuffer};
    ///
    /// let device = Device::get(0)?;
    /// // Stands for memory of another crate.
    /// let theirs = Arc::new(DeviceBuffer::from_slice(&device, &[1u32, 2, 3, 4])?);
    /// let pointer = theirs.as_device_ptr();
    /// // SAFETY: 4 elements, which `theirs` keeps and nobody else uses.
    /// let mut ours = unsafe { DeviceBuffer::from_raw_parts_with(&device, pointer, 4, Arc::clone(&theirs))? };
    /// ours.fill(7)?;
    /// drop(ours);
    /// assert_eq!(Arc::strong_count(&theirs), 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for null, for an address of another device, and for an address that is not aligned for
    /// `T`; [`Error::TooLarge`], [`Error::ZeroSizedType`].
    ///
    /// # Safety
    /// `device` must be able to use `len` elements at the address until `owner` is dropped. Work that other code queues
    /// on them, earlier or later, must be over, or the caller must order it with the work on the buffer.
    pub unsafe fn from_raw_parts_with(
        device: &Device,
        pointer: DevicePtr<T>,
        len: usize,
        owner: impl Send + 'static,
    ) -> Result<Self> {
        let (address, bytes) = expect_parts(pointer, len)?;
        if bytes == 0 {
            return Ok(Self::from_allocation(Allocation::empty(device), 0));
        }
        if let Some(found) = pointer.attributes()?.filter(|found| found.device != *device) {
            return Err(refused(format!("{found:?}"), format!("memory of device {}", device.index())));
        }
        let owner = Owner::Keeper(Box::new(Foreign(Mutex::new(owner))));
        Ok(Self::from_allocation(Allocation::from_parts(device, address, ptr::null_mut(), bytes, owner), len))
    }

    /// Creates a buffer of `len` elements of other code's memory, without ownership. Its uses are counted in `usage`.
    pub(crate) fn of_other_code(device: &Device, pointer: DevicePtr<T>, len: usize, usage: Usage) -> Result<Self> {
        let (address, bytes) = expect_parts(pointer, len)?;
        if bytes == 0 {
            return Ok(Self::from_allocation(Allocation::empty(device), 0));
        }
        Ok(Self::from_allocation(
            Allocation::part(device, address, bytes, usage, Box::new(Foreign(Mutex::new(())))),
            len,
        ))
    }

    /// Returns the memory, which the caller must free (`hipFree`), and the number of elements. Blocks until no tracked
    /// work uses it.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for memory that `hipFree` does not free: of a module, of another process, mapped,
    /// imported, or kept by an owner. [`Error::Graph`] if a graph uses the buffer. Errors of the queued work. On error,
    /// the buffer is dropped.
    #[doc(alias("hipFree", "cuMemFree", "cudaFree"))]
    pub fn into_raw_parts(self) -> Result<(DevicePtr<T>, usize)> {
        crate::core::context::check_caller()?;
        let memory = self.allocation();
        if !matches!(memory.owner(), Owner::Nobody | Owner::Malloc | Owner::Queue(..)) {
            return Err(refused("memory of another kind".to_owned(), "from hipMalloc or hipMallocAsync".to_owned()));
        }
        if memory.usage.is_kept() {
            return Err(Error::Graph { reason: "it uses the buffer, whose memory cannot be given away".to_owned() });
        }
        memory.usage.wait(AccessKind::Write)?;
        let (pointer, len) = (self.as_device_ptr(), self.len());
        drop(self.into_allocation().disown());
        Ok((pointer, len))
    }
}

/// Keeps the owner of other code's memory, without accessing it.
struct Foreign<O>(Mutex<O>);

impl<O: Send> Keeper for Foreign<O> {}

fn refused(value: String, allowed: String) -> Error {
    Error::InvalidValue { what: "memory of other code", value, allowed }
}

/// Returns address and bytes, if elements can be located there.
fn expect_parts<T>(pointer: DevicePtr<T>, len: usize) -> Result<(*mut c_void, usize)> {
    let bytes = byte_len::<T>(len)?;
    let address = usize::try_from(pointer.address()).unwrap_or(0);
    if (address == 0) != (bytes == 0) {
        return Err(refused(format!("{bytes} bytes at {pointer:?}"), "null if and only if there are none".to_owned()));
    }
    if address % align_of::<T>() != 0 {
        return Err(refused(format!("{pointer:?}"), format!("at a multiple of {}", align_of::<T>())));
    }
    Ok((ptr::with_exposed_provenance_mut(address), bytes))
}
