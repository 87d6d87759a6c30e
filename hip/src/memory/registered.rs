//! Memory that was the host's own before devices were let at it.

use std::alloc::Layout;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use bytemuck::Pod;
use hip_sys::{
    hipExtHostRegisterCoarseGrained, hipHostRegisterMapped, hipHostRegisterPortable, hipHostRegisterReadOnly,
};

use super::host::{host_memory, host_slices};
use super::{Allocation, DevicePtr, Owner, byte_len, device_pointer};
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::stream::usage::Usage;

/// How host memory is registered. The default: all devices can use it, in copies and in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegisterOptions {
    coarse_grained: bool,
}

impl RegisterOptions {
    /// All devices can use it, in copies and in place.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether devices may cache it while a kernel runs (`hipExtHostRegisterCoarseGrained`). Off.
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

// Both are 8: the runtime takes the bit for coarse grain.
const _: () = assert!(hipExtHostRegisterCoarseGrained == hipHostRegisterReadOnly);

/// A vector's elements, registered with the runtime (`hipHostRegister`): pinned where they are, without a copy, and given
/// back with [`into_vec`](Self::into_vec). It is used as a [`PinnedBuffer`](crate::PinnedBuffer) is.
///
/// For memory that is only borrowed there is [`Registered::scope`].
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

/// Borrowed host memory while it is registered with the runtime: see [`Registered::scope`].
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
    /// Registers the elements of a vector. Dropping the buffer waits for all work that uses them, then frees them.
    ///
    /// # Errors
    /// [`ZeroSizedType`](crate::Error::ZeroSizedType). The runtime's status if the memory cannot be pinned; the vector is freed then.
    pub fn new(device: &Device, elements: Vec<T>, options: RegisterOptions) -> Result<Self> {
        let bytes = byte_len::<T>(elements.len())?;
        let mut elements = ManuallyDrop::new(elements);
        let (pointer, len, capacity) = (elements.as_mut_ptr(), elements.len(), elements.capacity());
        let block = HeapBlock::of_vec(pointer, capacity);
        let memory = register(device, pointer, bytes, options, Owner::Registered(block), Usage::host())?;
        Ok(Self { memory, len, capacity, elements: PhantomData })
    }

    /// The vector again (`hipHostUnregister`), after all queued work that uses it.
    ///
    /// # Errors
    /// An error of the queued work comes back here, and one of unregistering; the elements are lost then.
    #[doc(alias("hipHostUnregister", "cuMemHostUnregister", "cudaHostUnregister"))]
    pub fn into_vec(self) -> Result<Vec<T>> {
        crate::core::context::check_caller()?;
        self.memory.usage.wait_for_all()?;
        let Self { mut memory, len, capacity, .. } = self;
        if memory.usage.is_kept() {
            // A graph will use the memory again.
            // SAFETY: `len` elements, and no queued work uses them.
            return Ok(unsafe { std::slice::from_raw_parts(memory.host.cast::<T>(), len) }.to_vec());
        }
        let (host, owner) = (memory.host, memory.disown());
        if !host.is_null() {
            // SAFETY: registered by us, and no work uses it any more.
            let status = unsafe { hip_sys::hipHostUnregister(host) };
            if let Err(error) = check(status, "hipHostUnregister", || format!("{host:p}")) {
                std::mem::forget(owner); // devices can still reach it
                return Err(error);
            }
        }
        match owner {
            Owner::Registered(Some(block)) => {
                let pointer = ManuallyDrop::new(block).pointer.cast::<T>();
                // SAFETY: the parts of the vector that we were made from; nobody else has its memory.
                Ok(unsafe { Vec::from_raw_parts(pointer.as_ptr(), len, capacity) })
            }
            // No elements.
            _ => Ok(Vec::new()),
        }
    }
}

impl<'scope, T: Pod> Registered<'scope, T> {
    /// Registers borrowed memory (`hipHostRegister`) while `work` runs, which may queue copies from and to it and pass it to
    /// kernels. Then waits for all of them and unregisters it (`hipHostUnregister`).
    ///
    /// The memory is the caller's again when this returns, so nothing may be left that uses it, whatever `work` does: it gets a handle
    /// that it cannot take out, and forgetting that handle changes nothing.
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
    /// [`ZeroSizedType`](crate::Error::ZeroSizedType); [`InvalidValue`](crate::Error::InvalidValue) for memory that is registered already, and for
    /// pinned and managed memory; the runtime's status if the memory cannot be pinned. `work` has not run then.
    /// An error of the queued work is kept for the next caller who waits for its stream.
    ///
    /// # Aborts
    /// If the device cannot say that it is done with the memory, for another reason than that it has stopped after a fault: returning would
    /// let it write to memory that is somebody else's by then.
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
        // Dropped here, whether `work` returns or unwinds; that waits.
        let registered = register(device, memory.as_mut_ptr(), bytes, options, Owner::Borrowed, Usage::borrowed())?;
        Ok(work(Registered { memory: &registered, len, elements: PhantomData }))
    }
}

/// Registers `bytes` bytes, of elements that stay until the allocation is gone.
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
    // SAFETY: the caller's memory of `bytes` bytes, which stays where it is until it is unregistered.
    let status = unsafe { hip_sys::hipHostRegister(host, bytes, options.flags()) };
    check(status, "hipHostRegister", || format!("{bytes} bytes of host memory at {host:p} with {options:?}"))?;
    memory.adopt_host(host, bytes, owner);
    memory.pointer = device_pointer(host)?;
    Ok(memory)
}

/// `Ok` if the runtime knows nothing of the memory. What is registered while it is, or comes from the runtime itself, would not be given
/// back by unregistering it, but be taken from whoever has it.
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

/// The memory of a vector whose elements need no drop.
pub(crate) struct HeapBlock {
    pointer: NonNull<u8>,
    layout: Layout,
}

// SAFETY: owns its memory, which is only freed.
unsafe impl Send for HeapBlock {}
// SAFETY: as above.
unsafe impl Sync for HeapBlock {}

impl HeapBlock {
    /// `None` if the vector has no memory.
    fn of_vec<T: Pod>(pointer: *mut T, capacity: usize) -> Option<Self> {
        let layout = Layout::array::<T>(capacity).ok().filter(|layout| layout.size() != 0)?;
        Some(Self { pointer: NonNull::new(pointer.cast())?, layout })
    }
}

impl Drop for HeapBlock {
    fn drop(&mut self) {
        // SAFETY: a vector's memory with the layout of its capacity; its elements are Pod, which need no drop.
        unsafe { std::alloc::dealloc(self.pointer.as_ptr(), self.layout) };
    }
}
