//! Buffers.

use std::fmt;

use bytemuck::Pod;

use super::Access;
use super::library::error;
use super::resource::Resource;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::memory::{Allocation, DeviceSlice, DeviceSliceMut, Keeper, byte_len};
use crate::stream::Stream;

/// A buffer of OpenGL's, registered with the HIP runtime (`hipGraphicsGLRegisterBuffer`). Dropping it unregisters it, [where that can be
/// done](super#what-the-runtimes-get-wrong); the buffer stays OpenGL's.
#[doc(alias("hipGraphicsGLRegisterBuffer", "cuGraphicsGLRegisterBuffer", "cudaGraphicsGLRegisterBuffer"))]
#[doc(alias("hipGraphicsUnregisterResource", "cuGraphicsUnregisterResource", "cudaGraphicsUnregisterResource"))]
pub struct Buffer {
    resource: Resource,
}

/// A [`Buffer`] while it is the device's, as elements of `T`. Dropping it ends that, after all work that uses it.
pub struct MappedBuffer<'a, T> {
    memory: Allocation,
    len: usize,
    // Dropped last: it unmaps what the rest refers to.
    mapping: Mapping<'a>,
    elements: std::marker::PhantomData<&'a mut [T]>,
}

/// What ends with a mapping.
struct Mapping<'a>(&'a mut Resource);

impl Drop for Mapping<'_> {
    fn drop(&mut self) {
        // If it cannot be unmapped now, it is when it is mapped again or unregistered.
        let _ = self.0.unmap();
    }
}

/// The memory is the registration's, which outlives the mapping.
struct Whole;

impl Keeper for Whole {}

impl Buffer {
    /// Registers the buffer of that name, of the context that is current on this thread. It must have a data store (`glBufferData`).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for the name 0, which is no buffer; [`Error::OpenGl`] if no context is current, or none that the runtime can
    /// share with; [`Error::WrongDevice`] if it is on another device; `hipErrorInvalidResourceHandle` for a name that is no buffer's, and for
    /// one without a data store.
    ///
    /// # Safety
    /// As long as it is registered, OpenGL gives the buffer no other data store and does not delete it; while it is mapped, OpenGL neither
    /// reads nor writes it.
    pub unsafe fn register(device: &Device, name: u32, access: Access) -> Result<Self> {
        if name == 0 {
            let (value, allowed) = ("0".to_owned(), "what glGenBuffers gave: 0 is no buffer".to_owned());
            return Err(Error::InvalidValue { what: "the name of an OpenGL buffer", value, allowed });
        }
        let about = format!("the OpenGL buffer {name} for {access:?}");
        let resource = Resource::register(device, about, "hipGraphicsGLRegisterBuffer", |place| {
            // SAFETY: `place` is valid for a write, and the runtime is connected to the thread's context.
            unsafe { hip_sys::hipGraphicsGLRegisterBuffer(place, name, access.flags()) }
        })?;
        Ok(Self { resource })
    }

    /// Maps it on a stream: what OpenGL was asked for before is done by then (the call waits for it, as `glFinish` does), and work on the mapping
    /// can be queued on any stream. The context that was current when it was registered must be current on this thread.
    ///
    /// # Errors
    /// [`Error::OpenGl`] for another context; [`Error::WrongDevice`] for a stream of another device; [`Error::InvalidValue`] if the buffer is
    /// no whole number of `T`, or not aligned for it; [`Error::ZeroSizedType`]; [`Error::TooLarge`] for buffers that the runtime cannot say
    /// the size of (2 GiB and more); [`Error::Capture`] for a stream that is captured.
    #[doc(alias("hipGraphicsMapResources", "cuGraphicsMapResources", "cudaGraphicsMapResources"))]
    #[doc(alias(
        "hipGraphicsResourceGetMappedPointer",
        "cuGraphicsResourceGetMappedPointer",
        "cudaGraphicsResourceGetMappedPointer"
    ))]
    pub fn map<T: Pod>(&mut self, stream: &Stream) -> Result<MappedBuffer<'_, T>> {
        byte_len::<T>(1)?;
        let device = self.resource.device;
        self.resource.map(stream)?;
        let mapping = Mapping(&mut self.resource);
        let (address, bytes) = mapping.0.pointer()?;
        // The runtime asks OpenGL by a number of 32 bits with a sign.
        if bytes == 0 || bytes > i32::MAX as usize {
            return Err(Error::TooLarge { elements: bytes, element_bytes: 1 });
        }
        let memory = Allocation::part(&device, address, bytes, mapping.0.usage.shared(), Box::new(Whole));
        // Checks what `T` asks for.
        let len = DeviceSlice::<u8>::of_allocation(&memory, bytes).cast::<T>()?.len();
        if len == 0 {
            return Err(error("mapping an object of OpenGL's", format!("{} is empty", mapping.0.name)));
        }
        Ok(MappedBuffer { memory, len, mapping, elements: std::marker::PhantomData })
    }

    /// The device that it is registered with.
    #[must_use]
    pub fn device(&self) -> Device {
        self.resource.device
    }

    /// The C handle. It stays this registration's.
    #[must_use]
    pub fn as_raw(&self) -> hip_sys::hipGraphicsResource_t {
        self.resource.raw()
    }
}

impl<T> MappedBuffer<'_, T> {
    /// The elements.
    #[must_use]
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::of_allocation(&self.memory, self.len)
    }

    /// The elements, to write to.
    #[must_use]
    pub fn as_slice_mut(&mut self) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut::of_allocation(&self.memory, self.len)
    }

    /// Elements; at least one.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The device that it is mapped for.
    #[must_use]
    pub fn device(&self) -> Device {
        self.mapping.0.device
    }

    /// Gives it back to OpenGL, after all work that uses it, for which this waits (`hipGraphicsUnmapResources`).
    ///
    /// # Errors
    /// An error of the queued work comes back here. [`Error::Capture`] if the stream that it was mapped on is being captured; it stays mapped then
    /// until it is mapped again or unregistered.
    #[doc(alias("hipGraphicsUnmapResources", "cuGraphicsUnmapResources", "cudaGraphicsUnmapResources"))]
    pub fn unmap(self) -> Result<()> {
        self.mapping.0.unmap()
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of device {}", self.resource.name, self.resource.device.index())
    }
}

impl<T> fmt::Debug for MappedBuffer<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MappedBuffer")
            .field("of", &self.mapping.0.name)
            .field("type", &std::any::type_name::<T>())
            .field("len", &self.len)
            .finish()
    }
}
