//! Buffers.

use std::fmt;

use hip::{Device, DeviceBuffer, DevicePtr, DeviceSlice, DeviceSliceMut, Pod, Stream, sys};

use crate::Access;
use crate::error::{Error, Result};
use crate::resource::{Mapping, Resource};

/// An OpenGL buffer that is registered with the HIP runtime (`hipGraphicsGLRegisterBuffer`). Dropping it unregisters
/// it, [unless the runtime prevents it](crate#limits-of-the-runtimes); OpenGL still owns the buffer.
#[doc(alias = "hipGraphicsResource_t")]
#[doc(alias = "cudaGraphicsResource_t")]
#[doc(alias = "CUgraphicsResource")]
#[doc(alias("hipGraphicsUnregisterResource", "cudaGraphicsUnregisterResource", "cuGraphicsUnregisterResource"))]
pub struct Buffer {
    resource: Resource,
}

/// A [`Buffer`] while it is mapped for the device, as elements of `T`. Dropping it unmaps it, after all work that uses
/// it.
pub struct MappedBuffer<'a, T> {
    memory: DeviceBuffer<T>,
    // Dropped last: it unmaps the memory that the other fields refer to.
    mapping: Mapping<'a>,
    elements: std::marker::PhantomData<&'a mut [T]>,
}

impl Buffer {
    /// Registers the buffer with this name in the context that is current on this thread. It must have a data store
    /// (`glBufferData`).
    ///
    /// # Errors
    /// [`Error::Invalid`] for the name 0, which is not a buffer; [`Error::OpenGl`] if no context is current, or the
    /// runtime cannot share with it; [`hip::Error::WrongDevice`] if it is on another device;
    /// `hipErrorInvalidResourceHandle` for a name that is not a buffer's, and for a buffer without a data store.
    ///
    /// # Safety
    /// While the buffer is registered, OpenGL must not give it another data store or delete it; while it is mapped,
    /// OpenGL must not read or write it.
    #[doc(alias("hipGraphicsGLRegisterBuffer", "cudaGraphicsGLRegisterBuffer", "cuGraphicsGLRegisterBuffer"))]
    pub unsafe fn register(device: &Device, name: u32, access: Access) -> Result<Self> {
        if name == 0 {
            let (value, allowed) = ("0".to_owned(), "a name from glGenBuffers: 0 is no buffer".to_owned());
            return Err(Error::Invalid { what: "the name of an OpenGL buffer", value, allowed });
        }
        let about = format!("the OpenGL buffer {name} for {access:?}");
        let resource = Resource::register(device, about, "hipGraphicsGLRegisterBuffer", |place| {
            // SAFETY: `place` is valid for a write, and the runtime is connected to the thread's context.
            unsafe { sys::hipGraphicsGLRegisterBuffer(place, name, access.flags()) }
        })?;
        Ok(Self { resource })
    }

    /// Maps the buffer on a stream (`hipGraphicsMapResources`, `hipGraphicsResourceGetMappedPointer`). The call waits
    /// for OpenGL's earlier work, as `glFinish` does. Work on the mapping can be queued on any stream. The context that
    /// was current when the buffer was registered must be current on this thread.
    ///
    /// # Errors
    /// [`Error::OpenGl`] for another context, and for an empty buffer; [`Error::Invalid`] for buffers of 2 GiB and
    /// more, whose size the runtime cannot report; [`hip::Error::WrongDevice`] for a stream of another device;
    /// [`hip::Error::InvalidValue`] if the buffer is not a whole number of `T`, or not aligned for it;
    /// [`hip::Error::ZeroSizedType`]; [`hip::Error::Capture`] while the stream is captured.
    #[doc(alias("hipGraphicsMapResources", "cudaGraphicsMapResources", "cuGraphicsMapResources"))]
    #[doc(alias(
        "hipGraphicsResourceGetMappedPointer",
        "cuGraphicsResourceGetMappedPointer",
        "cudaGraphicsResourceGetMappedPointer"
    ))]
    pub fn map<T: Pod>(&mut self, stream: &Stream) -> Result<MappedBuffer<'_, T>> {
        if size_of::<T>() == 0 {
            return Err(hip::Error::ZeroSizedType { type_name: std::any::type_name::<T>() }.into());
        }
        let mapping = self.resource.map(stream)?;
        let (address, bytes) = mapping.0.pointer()?;
        if bytes == 0 {
            return Err(Error::open_gl("mapping an OpenGL object", format!("{} is empty", mapping.0.name)));
        }
        // The runtime queries the size from OpenGL as a signed 32-bit number.
        if bytes > i32::MAX as usize {
            let allowed =
                "less than 2 GiB: the runtime gets the size from OpenGL as a signed number of 32 bits".to_owned();
            return Err(Error::Invalid { what: "the size of an OpenGL buffer", value: bytes.to_string(), allowed });
        }
        let (device, tracked) = (&mapping.0.device, &mapping.0.tracked);
        let pointer = DevicePtr::<u8>::from_address(address);
        // SAFETY: the mapping has this many bytes at the address, and ends only after the work that uses `tracked`. OpenGL does not access
        // it, as the caller of `register` has ensured.
        let whole = unsafe { DeviceBuffer::from_raw_parts_tracked(device, pointer, bytes, tracked)? };
        // Checks the requirements of `T`.
        let len = whole.as_slice().cast::<T>()?.len();
        let pointer = DevicePtr::from_address(address);
        // SAFETY: as above, for the same bytes; `whole` is dropped now.
        let memory = unsafe { DeviceBuffer::from_raw_parts_tracked(device, pointer, len, tracked)? };
        Ok(MappedBuffer { memory, mapping, elements: std::marker::PhantomData })
    }

    /// Returns the device that the buffer is registered with.
    #[must_use]
    pub fn device(&self) -> Device {
        self.resource.device
    }

    /// Returns the C handle. The registration still owns it.
    #[must_use]
    pub fn as_raw(&self) -> sys::hipGraphicsResource_t {
        self.resource.raw()
    }
}

impl<T: Pod> MappedBuffer<'_, T> {
    /// Returns the elements.
    #[must_use]
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        self.memory.as_slice()
    }

    /// Returns the elements, to write to.
    #[must_use]
    pub fn as_slice_mut(&mut self) -> DeviceSliceMut<'_, T> {
        self.memory.as_slice_mut()
    }

    /// Returns the number of elements, which is at least one.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Returns the device that the buffer is mapped for.
    #[must_use]
    pub fn device(&self) -> Device {
        self.mapping.0.device
    }

    /// Unmaps the buffer after all work that uses it; the call waits for that work (`hipGraphicsUnmapResources`).
    /// Afterwards, OpenGL can use the buffer again.
    ///
    /// # Errors
    /// An error of the queued work. [`hip::Error::Capture`] if the stream that it was mapped on, or one that uses it,
    /// is being captured; the buffer then stays mapped until it is mapped again or unregistered.
    #[doc(alias("hipGraphicsUnmapResources", "cudaGraphicsUnmapResources", "cuGraphicsUnmapResources"))]
    pub fn unmap(self) -> Result<()> {
        self.mapping.0.unmap()
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of device {}", self.resource.name, self.resource.device.index())
    }
}

impl<T: Pod> fmt::Debug for MappedBuffer<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MappedBuffer")
            .field("of", &self.mapping.0.name)
            .field("type", &std::any::type_name::<T>())
            .field("len", &self.len())
            .finish()
    }
}
