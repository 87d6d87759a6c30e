//! Memory of two and three dimensions, with rows padded for efficient access by the device.

mod copy;
pub(super) mod extent;
mod fill;
mod side;
mod slice;

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use bytemuck::Pod;
use hip_sys::{hipExtent, hipPitchedPtr};

pub use extent::Extent;
pub use slice::{PitchedSlice, PitchedSliceMut};

use super::admission::Admission;
use super::allocation::{Allocation, Owner};
use super::device_ptr::DevicePtr;
use super::regions::regions;
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::Result;
use crate::core::later::with_memory;
use crate::stream::Stream;
use crate::stream::usage::AccessKind;
use slice::Layout;

/// Elements of `T` in two or three dimensions in a device's memory (`hipMallocPitch`, `hipMalloc3D`): each row starts
/// [`pitch`](Self::pitch) bytes after the one before.
///
/// Pass a kernel the first element (`&` and `&mut` of the buffer are arguments) and, as another argument, the pitch.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::Device;
/// use hip::memory::PitchedBuffer;
///
/// let mut image = PitchedBuffer::<u8>::zeroed(&Device::get(0)?, (3, 2))?;
/// image.region_mut(1.., ..1, ..)?.fill(7)?;
/// assert_eq!(image.to_vec()?, [0, 7, 7, 0, 0, 0]);
/// # Ok(()) }
/// ```
#[doc(alias("hipMallocPitch", "cudaMallocPitch"))]
#[doc(alias("hipMalloc3D", "cudaMalloc3D"))]
pub struct PitchedBuffer<T> {
    memory: Allocation,
    pitch: usize,
    extent: Extent,
    elements: PhantomData<T>,
}

impl<T: Pod> PitchedBuffer<T> {
    /// Creates a buffer whose elements are arbitrary; see [`DeviceBuffer::uninit`](crate::DeviceBuffer::uninit). An
    /// extent is `(width, height)` or `(width, height, depth)`, in elements.
    ///
    /// # Errors
    /// `hipErrorOutOfMemory`; [`TooLarge`](crate::Error::TooLarge) and [`ZeroSizedType`](crate::Error::ZeroSizedType)
    /// before the call.
    #[doc(alias("hipMallocPitch", "cudaMallocPitch"))]
    #[doc(alias("hipMalloc3D", "cudaMalloc3D"))]
    #[doc(alias("hipMemAllocPitch", "cuMemAllocPitch"))]
    pub fn uninit(device: &Device, extent: impl Into<Extent>) -> Result<Self> {
        let extent = extent.into();
        let (elements, row) = extent.checked::<T>()?;
        let mut memory = Allocation::empty(device);
        if elements == 0 {
            return Ok(Self { memory, pitch: row, extent, elements: PhantomData });
        }
        device.activate()?;
        let mut pitched = hipPitchedPtr { ptr: ptr::null_mut(), pitch: 0, xsize: 0, ysize: 0 };
        let asked = || format!("{extent} elements of {} bytes on device {}", size_of::<T>(), device.index());
        if extent.depth == 1 {
            // SAFETY: both are valid for a write.
            let status = with_memory(device, || unsafe {
                hip_sys::hipMallocPitch(&mut pitched.ptr, &mut pitched.pitch, row, extent.height)
            });
            check(status, "hipMallocPitch", asked)?;
        } else {
            let bytes = hipExtent { width: row, height: extent.height, depth: extent.depth };
            // SAFETY: `pitched` is valid for a write.
            let status = with_memory(device, || unsafe { hip_sys::hipMalloc3D(&mut pitched, bytes) });
            check(status, "hipMalloc3D", asked)?;
        }
        // At least the size of the elements, and within the allocation.
        let bytes = pitched.pitch.saturating_mul(extent.height).saturating_mul(extent.depth);
        memory.adopt(pitched.ptr, bytes, Owner::Malloc);
        Ok(Self { memory, pitch: pitched.pitch, extent, elements: PhantomData })
    }

    /// Creates a buffer of zeros.
    ///
    /// # Errors
    /// Those of [`uninit`](Self::uninit).
    pub fn zeroed(device: &Device, extent: impl Into<Extent>) -> Result<Self> {
        let mut buffer = Self::uninit(device, extent)?;
        buffer.as_slice_mut().fill(T::zeroed())?;
        Ok(buffer)
    }

    /// Creates a buffer with the elements of `source`, row by row and plane by plane.
    ///
    /// # Errors
    /// [`Length`](crate::Error::Length) if `source` does not have as many elements as the extent; those of
    /// [`uninit`](Self::uninit).
    pub fn from_slice(device: &Device, extent: impl Into<Extent>, source: &[T]) -> Result<Self> {
        let mut buffer = Self::uninit(device, extent)?;
        buffer.as_slice_mut().copy_from_slice(source)?;
        Ok(buffer)
    }

    /// See [`PitchedSliceMut::fill`].
    pub fn fill(&mut self, value: T) -> Result<()> {
        self.as_slice_mut().fill(value)
    }

    /// See [`PitchedSliceMut::fill_async`].
    pub fn fill_async(&mut self, stream: &Stream, value: T) -> Result<()> {
        self.as_slice_mut().fill_async(stream, value)
    }
}

impl<T> PitchedBuffer<T> {
    /// Returns the whole buffer as a slice.
    #[must_use]
    pub fn as_slice(&self) -> PitchedSlice<'_, T> {
        PitchedSlice::new(&self.memory, self.layout())
    }

    /// Returns the whole buffer as a mutable slice.
    #[must_use]
    pub fn as_slice_mut(&mut self) -> PitchedSliceMut<'_, T> {
        PitchedSliceMut::new(&self.memory, self.layout())
    }

    fn layout(&self) -> Layout {
        Layout { offset: 0, pitch: self.pitch, plane: self.pitch * self.extent.height, extent: self.extent }
    }

    /// Returns `Ok` if work on `device` may write to it.
    pub(crate) fn admit_write(&self, device: Device, what: &'static str) -> Result<Admission> {
        self.memory.admit(device, AccessKind::Write, what)
    }

    /// Returns the number of elements along each dimension.
    #[must_use]
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Returns the bytes from one row to the next.
    #[must_use]
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.memory.device
    }

    /// Returns the address of the first element, null if there is none. The buffer does not track accesses through it.
    #[must_use]
    pub fn as_device_ptr(&self) -> DevicePtr<T> {
        DevicePtr::from_address(self.memory.pointer as u64)
    }

    /// Blocks until no tracked work uses the buffer.
    ///
    /// # Errors
    /// Errors of the queued work.
    pub fn synchronize(&self) -> Result<()> {
        self.memory.usage.wait_for_all()
    }
}

impl<T> fmt::Debug for PitchedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PitchedBuffer")
            .field("type", &std::any::type_name::<T>())
            .field("extent", &format_args!("{}", self.extent))
            .field("pitch", &self.pitch)
            .field("device", &self.memory.device.index())
            .field("address", &self.as_device_ptr())
            .finish()
    }
}
regions!(PitchedBuffer, PitchedSlice, PitchedSliceMut, Pod);
