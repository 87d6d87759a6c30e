//! Pinned host memory.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;

use bytemuck::Pod;
use hip_sys::{
    hipHostMallocCoherent, hipHostMallocMapped, hipHostMallocNonCoherent, hipHostMallocNumaUser, hipHostMallocPortable,
    hipHostMallocWriteCombined,
};

use super::allocation::{Allocation, Owner};
use super::bounds::byte_len;
use super::host::{device_pointer, host_memory, host_slices};
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::later::with_memory;
use crate::stream::usage::Usage;

/// `len` elements of `T` in pinned host memory (`hipHostMalloc`): the source or destination of asynchronous copies.
///
/// The buffer records the queued copies that use it. [`as_slice`](Self::as_slice) waits for those that write to it;
/// [`as_mut_slice`](Self::as_mut_slice) and freeing it wait for all of them. There is no guard to keep alive. (It does
/// not dereference to a slice because waiting can fail: the copy may come after a kernel that faults.)
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::{Device, PinnedBuffer, Stream};
/// use hip::memory::PinnedOptions;
///
/// let device = Device::get(0)?;
/// let stream = Stream::new(&device)?;
/// let mut mapped = PinnedBuffer::<u32>::with_options(&device, 64, PinnedOptions::new().mapped(true))?;
/// mapped.as_device_slice_mut()?.fill_async(&stream, 7)?; // the device writes to the host's memory in place
/// assert_eq!(mapped.as_slice()?, [7; 64]); // waits for it
/// # Ok(()) }
/// ```
#[doc(alias("hipHostMalloc", "cuMemHostAlloc", "cudaHostAlloc", "cudaMallocHost"))]
#[doc(alias("hipHostFree", "cuMemFreeHost", "cudaFreeHost"))]
#[doc(alias("hipFreeHost"))]
pub struct PinnedBuffer<T> {
    memory: Allocation,
    len: usize,
    elements: PhantomData<T>,
}

/// When one side sees the other's writes to pinned memory ([`PinnedOptions::coherence`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coherence {
    /// Immediately, also while a kernel runs (`hipHostMallocCoherent`): fine-grained, not cached by the device.
    Coherent,
    /// After the kernel has ended (`hipHostMallocNonCoherent`): coarse-grained, may be cached by the device.
    NonCoherent,
}

/// Options for allocating pinned memory. The default: all devices can use it, and the runtime decides the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinnedOptions {
    portable: bool,
    mapped: bool,
    write_combined: bool,
    numa_user: bool,
    coherence: Option<Coherence>,
}

impl Default for PinnedOptions {
    fn default() -> Self {
        Self { portable: true, mapped: false, write_combined: false, numa_user: false, coherence: None }
    }
}

impl PinnedOptions {
    /// Creates the default options: all devices can use it, and the runtime decides the rest.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether all devices can use the memory in place (`hipHostMallocPortable`), or only the one that it is
    /// allocated for. Default: on.
    #[must_use]
    pub fn portable(mut self, portable: bool) -> Self {
        self.portable = portable;
        self
    }

    /// Sets whether kernels can use it in place (`hipHostMallocMapped`); see [`PinnedBuffer::as_device_slice`].
    /// Default: off.
    #[must_use]
    pub fn mapped(mut self, mapped: bool) -> Self {
        self.mapped = mapped;
        self
    }

    /// Sets whether the host's writes bypass its caches (`hipHostMallocWriteCombined`): faster to read for the device,
    /// very slow for the host. Default: off.
    #[must_use]
    pub fn write_combined(mut self, write_combined: bool) -> Self {
        self.write_combined = write_combined;
        self
    }

    /// Sets whether the memory is allocated by the calling thread's NUMA policy (`hipHostMallocNumaUser`), instead of
    /// on the node nearest to the device. Default: off.
    #[must_use]
    pub fn numa_user(mut self, numa_user: bool) -> Self {
        self.numa_user = numa_user;
        self
    }

    /// Sets the coherence, instead of the runtime's default (`HIP_HOST_COHERENT`).
    #[must_use]
    pub fn coherence(mut self, coherence: Coherence) -> Self {
        self.coherence = Some(coherence);
        self
    }

    fn flags(self) -> u32 {
        let flag = |on: bool, flag: u32| if on { flag } else { 0 };
        let coherence = match self.coherence {
            None => 0,
            Some(Coherence::Coherent) => hipHostMallocCoherent,
            Some(Coherence::NonCoherent) => hipHostMallocNonCoherent,
        };
        flag(self.portable, hipHostMallocPortable)
            | flag(self.mapped, hipHostMallocMapped)
            | flag(self.write_combined, hipHostMallocWriteCombined)
            | flag(self.numa_user, hipHostMallocNumaUser)
            | coherence
    }
}

host_memory!(<T> PinnedBuffer<T>);
host_slices!(<T> PinnedBuffer<T>);

impl<T: Pod> PinnedBuffer<T> {
    /// Creates a buffer of zeros. It is pinned in the context of `device`; all devices can use it.
    ///
    /// # Errors
    /// `hipErrorOutOfMemory`; [`TooLarge`](Error::TooLarge) and [`ZeroSizedType`](Error::ZeroSizedType) before the
    /// call.
    #[doc(alias("hipHostMalloc", "cuMemHostAlloc", "cudaHostAlloc", "cudaMallocHost"))]
    #[doc(alias("hipHostAlloc"))]
    #[doc(alias("hipMallocHost"))]
    #[doc(alias("hipMemAllocHost", "cuMemAllocHost"))]
    pub fn zeroed(device: &Device, len: usize) -> Result<Self> {
        Self::with_options(device, len, PinnedOptions::new())
    }

    /// Creates a buffer of zeros with options (the flags of `hipHostMalloc`).
    ///
    /// # Errors
    /// Those of [`zeroed`](Self::zeroed); the runtime's status for options that it does not support.
    #[doc(alias("hipHostMalloc", "cuMemHostAlloc", "cudaHostAlloc", "cudaMallocHost"))]
    #[doc(alias("hipHostAlloc"))]
    pub fn with_options(device: &Device, len: usize, options: PinnedOptions) -> Result<Self> {
        let bytes = byte_len::<T>(len)?;
        let mut memory = Allocation::empty(device);
        memory.usage = Usage::host();
        if bytes != 0 {
            device.activate()?;
            let mut raw: *mut c_void = ptr::null_mut();
            // SAFETY: `raw` is valid for a write. HIP defines all of the flags.
            let status = with_memory(device, || unsafe { hip_sys::hipHostMalloc(&mut raw, bytes, options.flags()) });
            check(status, "hipHostMalloc", || format!("{bytes} bytes of pinned host memory with {options:?}"))?;
            memory.adopt_host(raw, bytes, Owner::Host { portable: options.portable });
            // SAFETY: `bytes` bytes from hipHostMalloc, not shared yet.
            unsafe { raw.cast::<u8>().write_bytes(0, bytes) };
            if options.mapped {
                memory.pointer = device_pointer(raw)?;
            }
        }
        let buffer = Self { memory, len, elements: PhantomData };
        // It starts at a page, so it is aligned for any reasonable T.
        if !buffer.elements().is_aligned() {
            return Err(Error::InvalidValue {
                what: "the alignment of pinned memory",
                value: format!("{:p}", buffer.elements()),
                allowed: format!("a multiple of {}", align_of::<T>()),
            });
        }
        Ok(buffer)
    }

    /// Creates a buffer with the elements of `source`.
    ///
    /// # Errors
    /// Those of [`zeroed`](Self::zeroed).
    pub fn from_slice(device: &Device, source: &[T]) -> Result<Self> {
        let mut buffer = Self::zeroed(device, source.len())?;
        buffer.as_mut_slice()?.copy_from_slice(source);
        Ok(buffer)
    }
}

impl<T> PinnedBuffer<T> {
    /// Creates a buffer. `memory` must hold `len` elements of `T`, aligned.
    pub(crate) fn from_allocation(memory: Allocation, len: usize) -> Self {
        Self { memory, len, elements: PhantomData }
    }

    pub(crate) fn into_allocation(self) -> Allocation {
        self.memory
    }
}

#[cfg(feature = "bytes")]
impl PinnedBuffer<u8> {
    /// Converts to [`bytes::Bytes`] without a copy, after all queued work that uses the bytes is done. The memory is
    /// freed with the last handle of them.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// let pinned = hip::PinnedBuffer::from_slice(&hip::Device::get(0)?, b"head and body")?;
    /// let address = pinned.as_slice()?.as_ptr();
    /// let mut body = pinned.into_bytes()?;
    /// assert_eq!(body.as_ptr(), address);
    /// assert_eq!(body.split_to(5), "head ");
    /// assert_eq!(body, "and body");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Errors of the queued work.
    pub fn into_bytes(self) -> Result<bytes::Bytes> {
        /// A buffer without queued work, to which none can be added.
        struct Idle(PinnedBuffer<u8>);

        impl AsRef<[u8]> for Idle {
            fn as_ref(&self) -> &[u8] {
                // SAFETY: as many bytes from hipHostMalloc, initialised; they were waited for, and the buffer has no other user.
                unsafe { std::slice::from_raw_parts(self.0.elements(), self.0.len) }
            }
        }

        self.synchronize()?;
        Ok(bytes::Bytes::from_owner(Idle(self)))
    }
}
