//! Registered memory: host memory that was pinned after its allocation.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

use bytemuck::Pod;
use hip_sys::{
    hipExtHostRegisterCoarseGrained, hipHostRegisterMapped, hipHostRegisterPortable, hipHostRegisterReadOnly,
};

use super::allocation::{Allocation, Owner};
use super::bounds::byte_len;
use super::device_ptr::DevicePtr;
use super::heap_block::HeapBlock;
use super::host::{device_pointer, host_memory, host_slices};
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::stream::usage::Usage;

/// Options for registering host memory. The default: all devices can use it, in copies and in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegisterOptions {
    coarse_grained: bool,
}

impl RegisterOptions {
    /// Creates the default options: all devices can use it, in copies and in place.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether devices may cache it while a kernel runs (`hipExtHostRegisterCoarseGrained`). Default: off.
    #[must_use]
    pub fn coarse_grained(mut self, coarse_grained: bool) -> Self {
        self.coarse_grained = coarse_grained;
        self
    }

    fn flags(self) -> u32 {
        let flags = hipHostRegisterPortable | hipHostRegisterMapped;
        if self.coarse_grained { flags | hipExtHostRegisterCoarseGrained } else { flags }
    }
}

// Both are 8: the runtime interprets the bit as coarse grain.
const _: () = assert!(hipExtHostRegisterCoarseGrained == hipHostRegisterReadOnly);

/// A vector's elements, registered with the runtime (`hipHostRegister`): pinned in place, without a copy.
/// [`into_vec`](Self::into_vec) returns the vector. Use it like a [`PinnedBuffer`](crate::PinnedBuffer).
///
/// For borrowed memory, use [`Registered::scope`].
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::{Device, DeviceBuffer, Stream};
/// use hip::memory::{RegisterOptions, RegisteredBuffer};
///
/// let device = Device::get(0)?;
/// let stream = Stream::new(&device)?;
/// let mut on_device = DeviceBuffer::<u32>::uninit(&device, 1000)?;
/// let registered = RegisteredBuffer::new(&device, vec![7; 1000], RegisterOptions::new())?;
/// on_device.copy_from_pinned_async(&stream, &registered)?;
/// assert_eq!(registered.into_vec()?, [7; 1000]); // waits for the copy
/// # Ok(()) }
/// ```
#[doc(alias("hipHostRegister", "cuMemHostRegister", "cudaHostRegister"))]
#[doc(alias("hipHostUnregister", "cuMemHostUnregister", "cudaHostUnregister"))]
pub struct RegisteredBuffer<T> {
    memory: Allocation,
    len: usize,
    capacity: usize,
    elements: PhantomData<T>,
}

/// Borrowed host memory that is registered with the runtime; see [`Registered::scope`].
pub struct Registered<'scope, T> {
    memory: &'scope Allocation,
    len: usize,
    elements: PhantomData<&'scope mut [T]>,
}

host_memory!(<T> RegisteredBuffer<T>);
host_slices!(<T> RegisteredBuffer<T>);
host_memory!(<'scope, T> Registered<'scope, T>);
host_slices!(<'scope, T> Registered<'scope, T>);

impl<T: Pod> RegisteredBuffer<T> {
    /// Registers the elements of a vector. When the buffer is dropped, they are freed after all work that uses them.
    ///
    /// # Errors
    /// [`ZeroSizedType`](crate::Error::ZeroSizedType). The runtime's status if the memory cannot be pinned; the vector
    /// is freed then.
    pub fn new(device: &Device, elements: Vec<T>, options: RegisterOptions) -> Result<Self> {
        let bytes = byte_len::<T>(elements.len())?;
        let mut elements = ManuallyDrop::new(elements);
        let (pointer, len, capacity) = (elements.as_mut_ptr(), elements.len(), elements.capacity());
        let block = HeapBlock::of_vec(pointer, capacity);
        let memory = register(device, pointer, bytes, options, Owner::Registered(block), Usage::host())?;
        Ok(Self { memory, len, capacity, elements: PhantomData })
    }

    /// Returns the vector (`hipHostUnregister`), after all queued work that uses it is done.
    ///
    /// # Errors
    /// Errors of the queued work and of unregistering; the elements leak then.
    #[doc(alias("hipHostUnregister", "cuMemHostUnregister", "cudaHostUnregister"))]
    pub fn into_vec(self) -> Result<Vec<T>> {
        crate::core::context::check_caller()?;
        self.memory.usage.wait_for_all()?;
        let Self { mut memory, len, capacity, .. } = self;
        if memory.usage.is_kept() {
            // A graph will use the memory again, so the elements are copied.
            // SAFETY: `len` elements, and no queued work uses them.
            return Ok(unsafe { std::slice::from_raw_parts(memory.host.cast::<T>(), len) }.to_vec());
        }
        let (host, owner) = (memory.host, memory.disown());
        if !host.is_null() {
            // SAFETY: registered by this crate, and no work uses it anymore.
            let status = unsafe { hip_sys::hipHostUnregister(host) };
            if let Err(error) = check(status, "hipHostUnregister", || format!("{host:p}")) {
                std::mem::forget(owner); // devices can still access it
                return Err(error);
            }
        }
        match owner {
            Owner::Registered(Some(block)) => {
                let pointer = block.into_pointer().cast::<T>();
                // SAFETY: the parts of the vector that this was made from; nothing else has its memory.
                Ok(unsafe { Vec::from_raw_parts(pointer.as_ptr(), len, capacity) })
            }
            // No elements.
            _ => Ok(Vec::new()),
        }
    }
}

impl<'scope, T: Pod> Registered<'scope, T> {
    /// Registers borrowed memory (`hipHostRegister`) while `work` runs. `work` may queue copies from and to it and pass
    /// it to kernels. Afterwards, waits for all of that work and unregisters the memory (`hipHostUnregister`).
    ///
    /// The caller gets the memory back when this returns, so no work may still use it, whatever `work` does: `work`
    /// gets a handle that cannot escape, and forgetting that handle has no effect.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, DeviceBuffer, Stream};
    /// use hip::memory::{RegisterOptions, Registered};
    ///
    /// let device = Device::get(0)?;
    /// let stream = Stream::new(&device)?;
    /// let on_device = DeviceBuffer::from_slice(&device, &[1u32, 2, 3])?;
    /// let mut mine = [0; 3];
    /// Registered::scope(&device, &mut mine, RegisterOptions::new(), |mut registered| {
    ///     on_device.copy_to_pinned_async(&stream, &mut registered)
    /// })??;
    /// assert_eq!(mine, [1, 2, 3]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`ZeroSizedType`](crate::Error::ZeroSizedType); [`InvalidValue`](crate::Error::InvalidValue) for memory that is
    /// already registered, and for pinned and managed memory; the runtime's status if the memory cannot be pinned. In
    /// these cases `work` was not run. An error of the queued work is stored for the next caller that waits for its
    /// stream.
    ///
    /// # Aborts
    /// If the runtime cannot report that the device is done with the memory, unless the device has stopped after a
    /// fault: after a return, the device could write to memory that has another owner.
    #[doc(alias("hipHostRegister", "cuMemHostRegister", "cudaHostRegister"))]
    #[doc(alias("hipHostUnregister", "cuMemHostUnregister", "cudaHostUnregister"))]
    pub fn scope<R>(
        device: &Device,
        memory: &'scope mut [T],
        options: RegisterOptions,
        work: impl for<'inner> FnOnce(Registered<'inner, T>) -> R,
    ) -> Result<R> {
        let len = memory.len();
        let bytes = byte_len::<T>(len)?;
        // Dropped here, whether `work` returns or unwinds; the drop waits.
        let registered = register(device, memory.as_mut_ptr(), bytes, options, Owner::Borrowed, Usage::borrowed())?;
        Ok(work(Registered { memory: &registered, len, elements: PhantomData }))
    }
}

/// Registers `bytes` bytes of elements, which must stay valid until the allocation is gone.
fn register<T>(
    device: &Device,
    pointer: *mut T,
    bytes: usize,
    options: RegisterOptions,
    owner: Owner,
    usage: Usage,
) -> Result<Allocation> {
    let mut memory = Allocation::empty(device);
    memory.usage = usage;
    if bytes == 0 {
        return Ok(memory);
    }
    let host = pointer.cast::<c_void>();
    expect_unknown(host.addr(), bytes)?;
    device.activate()?;
    // SAFETY: the caller's memory of `bytes` bytes, which is not moved until it is unregistered.
    let status = unsafe { hip_sys::hipHostRegister(host, bytes, options.flags()) };
    check(status, "hipHostRegister", || format!("{bytes} bytes of host memory at {host:p} with {options:?}"))?;
    memory.adopt_host(host, bytes, owner);
    memory.pointer = device_pointer(host)?;
    Ok(memory)
}

/// Returns `Ok` if the runtime does not know the memory. If it is already registered, or allocated by the runtime,
/// unregistering it would take it away from its other owner.
fn expect_unknown(address: usize, bytes: usize) -> Result<()> {
    for address in [address, address + bytes - 1] {
        if let Some(known) = DevicePtr::<u8>::from_address(address as u64).attributes()? {
            return Err(Error::InvalidValue {
                what: "host memory to register",
                value: format!("{:?} memory at {address:#x}, which the runtime knows", known.kind),
                allowed: "memory that is not registered, and is not the runtime's own: that is pinned already"
                    .to_owned(),
            });
        }
    }
    Ok(())
}
