//! Managed memory: one address for the host and all devices.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::ptr;

use bytemuck::Pod;
use hip_sys::{
    hipCpuDeviceId, hipInvalidDeviceId, hipMemAdviseSetAccessedBy, hipMemAdviseSetCoarseGrain,
    hipMemAdviseSetPreferredLocation, hipMemAdviseSetReadMostly, hipMemAdviseUnsetAccessedBy,
    hipMemAdviseUnsetCoarseGrain, hipMemAdviseUnsetPreferredLocation, hipMemAdviseUnsetReadMostly, hipMemAttachGlobal,
    hipMemAttachHost, hipMemAttachSingle, hipMemRangeAttribute, hipMemRangeAttributeAccessedBy,
    hipMemRangeAttributeLastPrefetchLocation, hipMemRangeAttributePreferredLocation, hipMemRangeAttributeReadMostly,
    hipMemoryAdvise,
};

use super::host::{host_memory, host_slices};
use super::{Allocation, DeviceSlice, DeviceSliceMut, Owner, byte_len};
use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::Result;
use crate::core::later::with_memory;
use crate::stream::Stream;
use crate::stream::usage::{Access, Usage};

/// `len` elements of `T` in managed memory (`hipMallocManaged`): the host and every device access it at the same
/// address, and the runtime migrates it on use.
///
/// The host's accesses wait for conflicting work, as with [`PinnedBuffer`](crate::PinnedBuffer). Kernels take `&` and
/// `&mut` references to it, on any device.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::{Device, ManagedBuffer, Stream};
///
/// let device = Device::get(0)?;
/// let stream = Stream::new(&device)?;
/// let mut shared = ManagedBuffer::<u32>::zeroed(&device, 4)?;
/// shared.as_mut_slice()?[0] = 1;
/// shared.as_device_slice_mut()?.slice_mut(1..)?.fill_async(&stream, 7)?;
/// assert_eq!(shared.as_slice()?, [1, 7, 7, 7]); // waits for the fill
/// # Ok(()) }
/// ```
#[doc(alias("hipMallocManaged", "cuMemAllocManaged", "cudaMallocManaged"))]
pub struct ManagedBuffer<T> {
    memory: Allocation,
    len: usize,
    elements: PhantomData<T>,
}

host_memory!(<T> ManagedBuffer<T>);
host_slices!(<T> ManagedBuffer<T>);

/// A location of managed memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryLocation {
    /// The host's memory.
    Host,
    /// A device's memory.
    Device(Device),
}

impl MemoryLocation {
    fn raw(self) -> c_int {
        match self {
            Self::Host => hipCpuDeviceId,
            Self::Device(device) => device.raw(),
        }
    }
}

/// Advice on the use of managed memory ([`ManagedBuffer::advise`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryAdvice {
    /// Whether it is read from many locations and rarely written (`hipMemAdvise{Set,Unset}ReadMostly`).
    ReadMostly(bool),
    /// The preferred location (`hipMemAdviseSetPreferredLocation`).
    PreferredLocation(MemoryLocation),
    /// Removes the preferred location (`hipMemAdviseUnsetPreferredLocation`).
    UnsetPreferredLocation,
    /// Whether this location accesses it, and should keep it mapped wherever it resides
    /// (`hipMemAdvise{Set,Unset}AccessedBy`).
    AccessedBy(MemoryLocation, bool),
    /// Whether devices may cache it while a kernel runs (`hipMemAdvise{Set,Unset}CoarseGrain`).
    CoarseGrained(bool),
}

impl MemoryAdvice {
    fn raw(self, own: Device) -> (hipMemoryAdvise, c_int) {
        match self {
            Self::ReadMostly(true) => (hipMemAdviseSetReadMostly, own.raw()),
            Self::ReadMostly(false) => (hipMemAdviseUnsetReadMostly, own.raw()),
            Self::PreferredLocation(location) => (hipMemAdviseSetPreferredLocation, location.raw()),
            Self::UnsetPreferredLocation => (hipMemAdviseUnsetPreferredLocation, own.raw()),
            Self::AccessedBy(location, true) => (hipMemAdviseSetAccessedBy, location.raw()),
            Self::AccessedBy(location, false) => (hipMemAdviseUnsetAccessedBy, location.raw()),
            Self::CoarseGrained(true) => (hipMemAdviseSetCoarseGrain, own.raw()),
            Self::CoarseGrained(false) => (hipMemAdviseUnsetCoarseGrain, own.raw()),
        }
    }
}

/// Exclusive users of managed memory ([`ManagedBuffer::attach_async`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryAttach {
    /// Every stream of every device.
    Global,
    /// The host, but no device.
    Host,
    /// The stream, and the host when the stream is idle.
    Single,
}

impl<'a, T: Pod> From<&'a ManagedBuffer<T>> for DeviceSlice<'a, T> {
    fn from(buffer: &'a ManagedBuffer<T>) -> Self {
        // Devices use the host's address.
        Self::new(&buffer.memory, 0, buffer.len)
    }
}

impl<'a, T: Pod> From<&'a mut ManagedBuffer<T>> for DeviceSliceMut<'a, T> {
    fn from(buffer: &'a mut ManagedBuffer<T>) -> Self {
        Self::new(&buffer.memory, 0, buffer.len)
    }
}

impl<T: Pod> ManagedBuffer<T> {
    /// Creates a buffer of zeros, for all devices. It is allocated in the context of `device`.
    ///
    /// # Errors
    /// `hipErrorOutOfMemory`; `hipErrorNotSupported` where `hipDeviceAttributeManagedMemory` is 0;
    /// [`TooLarge`](crate::Error::TooLarge) and [`ZeroSizedType`](crate::Error::ZeroSizedType) before the call.
    pub fn zeroed(device: &Device, len: usize) -> Result<Self> {
        let bytes = byte_len::<T>(len)?;
        let mut memory = Allocation::empty(device);
        memory.usage = Usage::host();
        if bytes != 0 {
            device.activate()?;
            let mut raw: *mut c_void = ptr::null_mut();
            // SAFETY: `raw` is valid for a write.
            let status =
                with_memory(device, || unsafe { hip_sys::hipMallocManaged(&mut raw, bytes, hipMemAttachGlobal) });
            check(status, "hipMallocManaged", || format!("{bytes} bytes of managed memory"))?;
            memory.adopt_host(raw, bytes, Owner::Managed);
            memory.pointer = raw;
            // SAFETY: `bytes` bytes from hipMallocManaged, not shared yet; the host accesses them at the same address.
            unsafe { raw.cast::<u8>().write_bytes(0, bytes) };
        }
        Ok(Self { memory, len, elements: PhantomData })
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

    /// Tells the runtime how the memory will be used (`hipMemAdvise`). It affects performance only.
    #[doc(alias("hipMemAdvise", "cuMemAdvise", "cudaMemAdvise"))]
    pub fn advise(&self, advice: MemoryAdvice) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        context::check_caller()?;
        let (raw, location) = advice.raw(self.memory.device);
        // SAFETY: the memory is alive; the advice is one that HIP defines, and the location a device or the host.
        let status = unsafe { hip_sys::hipMemAdvise(self.memory.pointer, self.memory.bytes, raw, location) };
        check(status, "hipMemAdvise", || format!("{advice:?} for {} bytes of managed memory", self.memory.bytes))
    }

    /// Queues a migration of the memory to its next location of use (`hipMemPrefetchAsync`). It affects performance
    /// only.
    ///
    /// # Errors
    /// [`Capture`](crate::Error::Capture) while the stream is captured; the runtime's status.
    #[doc(alias("hipMemPrefetchAsync", "cuMemPrefetchAsync", "cudaMemPrefetchAsync"))]
    pub fn prefetch_async(&self, stream: &Stream, location: MemoryLocation) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        stream.inner.refuse_captured("a prefetch of managed memory")?;
        let (pointer, bytes) = (self.memory.pointer, self.memory.bytes);
        stream.inner.submit(&[Access::read(&self.memory.usage)], None, |raw| {
            // SAFETY: the memory records the use, and is not freed before it is over.
            let status = unsafe { hip_sys::hipMemPrefetchAsync(pointer, bytes, location.raw(), raw) };
            check(status, "hipMemPrefetchAsync", || format!("{bytes} bytes of managed memory to {location:?}"))
        })
    }

    /// Queues a change of the exclusive users (`hipStreamAttachMemAsync`), for devices where the host and kernels
    /// cannot use managed memory concurrently (`hipDeviceAttributeConcurrentManagedAccess` is 0).
    ///
    /// # Errors
    /// [`Capture`](crate::Error::Capture) while the stream is captured; the runtime's status.
    #[doc(alias("hipStreamAttachMemAsync", "cuStreamAttachMemAsync", "cudaStreamAttachMemAsync"))]
    pub fn attach_async(&mut self, stream: &Stream, attachment: MemoryAttach) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        stream.inner.refuse_captured("an attachment of managed memory")?;
        let flags = match attachment {
            MemoryAttach::Global => hipMemAttachGlobal,
            MemoryAttach::Host => hipMemAttachHost,
            MemoryAttach::Single => hipMemAttachSingle,
        };
        let pointer = self.memory.pointer;
        stream.inner.submit(&[Access::write(&self.memory.usage)], None, |raw| {
            // SAFETY: the memory records the use, and is not freed before it is over; 0 means all of it.
            let status = unsafe { hip_sys::hipStreamAttachMemAsync(raw, pointer, 0, flags) };
            check(status, "hipStreamAttachMemAsync", || format!("{attachment:?} of managed memory"))
        })
    }

    /// Returns whether it was advised to be [`ReadMostly`](MemoryAdvice::ReadMostly) (`hipMemRangeGetAttribute`).
    #[doc(alias("hipMemRangeGetAttribute", "cuMemRangeGetAttribute", "cudaMemRangeGetAttribute"))]
    pub fn is_read_mostly(&self) -> Result<bool> {
        Ok(self.range_attribute(hipMemRangeAttributeReadMostly)?.is_some_and(|value| value != 0))
    }

    /// Returns the [`PreferredLocation`](MemoryAdvice::PreferredLocation), if all of the memory has the same
    /// (`hipMemRangeGetAttribute`).
    #[doc(alias("hipMemRangeGetAttribute", "cuMemRangeGetAttribute", "cudaMemRangeGetAttribute"))]
    pub fn preferred_location(&self) -> Result<Option<MemoryLocation>> {
        Ok(self.range_attribute(hipMemRangeAttributePreferredLocation)?.and_then(location_of))
    }

    /// Returns the location that it was last [prefetched](Self::prefetch_async) to, if all of it was
    /// (`hipMemRangeGetAttribute`).
    #[doc(alias("hipMemRangeGetAttribute", "cuMemRangeGetAttribute", "cudaMemRangeGetAttribute"))]
    pub fn last_prefetch_location(&self) -> Result<Option<MemoryLocation>> {
        Ok(self.range_attribute(hipMemRangeAttributeLastPrefetchLocation)?.and_then(location_of))
    }

    /// Returns the locations that were advised to use all of it ([`AccessedBy`](MemoryAdvice::AccessedBy),
    /// `hipMemRangeGetAttribute`), in no particular order.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, ManagedBuffer};
    /// use hip::memory::{MemoryAdvice, MemoryLocation};
    ///
    /// let device = Device::get(0)?;
    /// let shared = ManagedBuffer::<u32>::zeroed(&device, 1000)?;
    /// let here = MemoryLocation::Device(device);
    /// if shared.advise(MemoryAdvice::AccessedBy(here, true)).is_ok() {
    ///     println!("{:?}", shared.accessed_by()?); // this device, where the driver keeps such advice
    /// }
    /// # Ok(()) }
    /// ```
    #[doc(alias("hipMemRangeGetAttribute", "cuMemRangeGetAttribute", "cudaMemRangeGetAttribute"))]
    pub fn accessed_by(&self) -> Result<Vec<MemoryLocation>> {
        // The host, and every device.
        let mut values = vec![hipInvalidDeviceId; Device::count()? + 1];
        self.range_attributes(hipMemRangeAttributeAccessedBy, &mut values)?;
        Ok(values.into_iter().filter_map(location_of).collect())
    }

    /// Returns an attribute with one number; `None` for an empty buffer.
    fn range_attribute(&self, attribute: hipMemRangeAttribute) -> Result<Option<c_int>> {
        let mut value = [hipInvalidDeviceId];
        self.range_attributes(attribute, &mut value)?;
        Ok((!self.is_empty()).then_some(value[0]))
    }

    /// Reads an attribute into `values`, up to its length; reads nothing for an empty buffer.
    fn range_attributes(&self, attribute: hipMemRangeAttribute, values: &mut [c_int]) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        context::check_caller()?;
        // SAFETY: `values` is valid for a write of its size, and these attributes are arrays of such numbers; the memory is alive.
        let status = unsafe {
            hip_sys::hipMemRangeGetAttribute(
                values.as_mut_ptr().cast(),
                size_of_val(values),
                attribute,
                self.memory.pointer,
                self.memory.bytes,
            )
        };
        check(status, "hipMemRangeGetAttribute", || format!("{attribute:?} of managed memory"))
    }
}

/// Converts C's number of a location.
fn location_of(raw: c_int) -> Option<MemoryLocation> {
    if raw == hipCpuDeviceId {
        return Some(MemoryLocation::Host);
    }
    usize::try_from(raw).ok().and_then(|index| Device::get(index).ok()).map(MemoryLocation::Device)
}
