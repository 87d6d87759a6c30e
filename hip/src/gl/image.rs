//! Textures of OpenGL's.

use std::fmt;
use std::ptr;

use hip_sys::{
    HIP_ARRAY3D_DESCRIPTOR, hipArray_Format, hipArray_t, hipGraphicsRegisterFlagsSurfaceLoadStore,
    hipGraphicsRegisterFlagsTextureGather,
};

use super::Access;
use super::resource::Resource;
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result, Status};
use crate::memory::array::{
    Array, ArrayShape, ArraySlice, ArraySliceMut, ChannelFormat, ChannelKind, Texel, require_images,
};
use crate::stream::Stream;
use crate::texture::{Surface, Texture, TextureOptions};

/// What a texture of OpenGL's is: its target.
///
/// The runtimes register others too, but give no array for them that kernels could use: layers but the first, cube maps, lines and buffers'
/// textures. Renderbuffers and multisampled textures they refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageTarget {
    /// `GL_TEXTURE_2D`
    Texture2d,
    /// `GL_TEXTURE_RECTANGLE`
    TextureRectangle,
    /// `GL_TEXTURE_3D`
    Texture3d,
}

impl ImageTarget {
    const ALL: [Self; 3] = [Self::Texture2d, Self::TextureRectangle, Self::Texture3d];

    /// The target by OpenGL's number (`GLenum`).
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for one that cannot be shared.
    pub fn from_gl(target: u32) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|known| known.to_gl() == target);
        found.ok_or_else(|| Error::InvalidValue {
            what: "the target of an OpenGL texture",
            value: format!("{target:#x}"),
            allowed:
                "GL_TEXTURE_2D, GL_TEXTURE_RECTANGLE or GL_TEXTURE_3D (0xde1, 0x84f5, 0x806f), which HIP has arrays for"
                    .to_owned(),
        })
    }

    /// OpenGL's number of it (`GLenum`).
    #[must_use]
    pub fn to_gl(self) -> u32 {
        match self {
            Self::Texture2d => 0x0de1,
            Self::TextureRectangle => 0x84f5,
            Self::Texture3d => 0x806f,
        }
    }
}

/// What kernels and copies do with a texture of OpenGL's, which drivers may make use of. It is not checked: a mapping can be read and written in
/// any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ImageAccess {
    /// Read and write (`hipGraphicsRegisterFlagsNone`).
    #[default]
    ReadWrite,
    /// Only read (`hipGraphicsRegisterFlagsReadOnly`).
    ReadOnly,
    /// Write all of it, and read nothing of what was there before (`hipGraphicsRegisterFlagsWriteDiscard`).
    WriteDiscard,
    /// Read and write by surfaces (`hipGraphicsRegisterFlagsSurfaceLoadStore`).
    SurfaceLoadStore,
    /// Gather texels (`hipGraphicsRegisterFlagsTextureGather`).
    TextureGather,
}

impl ImageAccess {
    fn flags(self) -> u32 {
        match self {
            Self::ReadWrite => Access::ReadWrite.flags(),
            Self::ReadOnly => Access::ReadOnly.flags(),
            Self::WriteDiscard => Access::WriteDiscard.flags(),
            Self::SurfaceLoadStore => hipGraphicsRegisterFlagsSurfaceLoadStore.0,
            Self::TextureGather => hipGraphicsRegisterFlagsTextureGather.0,
        }
    }
}

/// A texture of OpenGL's, registered with the HIP runtime (`hipGraphicsGLRegisterImage`). Dropping it unregisters it, [where that can be
/// done](super#what-the-runtimes-get-wrong); the texture stays OpenGL's. Its first level is what is shared.
#[doc(alias("hipGraphicsGLRegisterImage", "cuGraphicsGLRegisterImage", "cudaGraphicsGLRegisterImage"))]
#[doc(alias("hipGraphicsUnregisterResource", "cuGraphicsUnregisterResource", "cudaGraphicsUnregisterResource"))]
pub struct Image {
    resource: Resource,
    target: ImageTarget,
}

/// An [`Image`] while it is the device's, as an array of texels of `T`. Dropping it ends that, after all work that uses it.
pub struct MappedImage<'a, T> {
    // Dropped first: an array of memory that the mapping has.
    array: Array<T>,
    mapping: Mapping<'a>,
}

/// What ends with a mapping.
struct Mapping<'a>(&'a mut Resource);

impl Drop for Mapping<'_> {
    fn drop(&mut self) {
        // If it cannot be unmapped now, it is when it is mapped again or unregistered.
        let _ = self.0.unmap();
    }
}

impl Image {
    /// Registers the texture of that name, of the context that is current on this thread. It must have a first level.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for the name 0, which is no texture; [`Error::Unsupported`] on a device without [images](Device::has_images);
    /// [`Error::OpenGl`] if no context is current, or none that the runtime can share with; [`Error::WrongDevice`] if it is on another
    /// device; the runtime's status for a name that is no texture's of this target, for one without texels, and for formats of texels
    /// that it does not have.
    ///
    /// # Safety
    /// As long as it is registered, OpenGL gives the texture no other texels' memory (`glTexImage2D`) and does not delete it; while it is
    /// mapped, OpenGL neither reads nor writes it.
    pub unsafe fn register(device: &Device, name: u32, target: ImageTarget, access: ImageAccess) -> Result<Self> {
        if name == 0 {
            let (value, allowed) = ("0".to_owned(), "what glGenTextures gave: 0 is none that can be shared".to_owned());
            return Err(Error::InvalidValue { what: "the name of an OpenGL texture", value, allowed });
        }
        require_images(device, "an OpenGL texture")?;
        let about = format!("the OpenGL texture {name} ({target:?}) for {access:?}");
        let resource = Resource::register(device, about, "hipGraphicsGLRegisterImage", |place| {
            // SAFETY: `place` is valid for a write, and the runtime is connected to the thread's context.
            unsafe { hip_sys::hipGraphicsGLRegisterImage(place, name, target.to_gl(), access.flags()) }
        })?;
        Ok(Self { resource, target })
    }

    /// Maps it on a stream, as [`Buffer::map`](super::Buffer::map) does.
    ///
    /// # Errors
    /// [`Error::OpenGl`] if another context is current than when it was registered; [`Error::WrongDevice`] for a stream of another device;
    /// [`Error::InvalidValue`] if its texels are not made as `T`; [`Error::Capture`] for a stream that is captured.
    #[doc(alias("hipGraphicsMapResources", "cuGraphicsMapResources", "cudaGraphicsMapResources"))]
    #[doc(alias(
        "hipGraphicsSubResourceGetMappedArray",
        "cuGraphicsSubResourceGetMappedArray",
        "cudaGraphicsSubResourceGetMappedArray"
    ))]
    pub fn map<T: Texel>(&mut self, stream: &Stream) -> Result<MappedImage<'_, T>> {
        let device = self.resource.device;
        self.resource.map(stream)?;
        let target = self.target;
        let mapping = Mapping(&mut self.resource);
        let mut raw: hipArray_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write, and the resource is mapped.
        let status = unsafe { hip_sys::hipGraphicsSubResourceGetMappedArray(&mut raw, mapping.0.raw(), 0, 0) };
        check(status, "hipGraphicsSubResourceGetMappedArray", || mapping.0.name.clone())?;
        let mut found = HIP_ARRAY3D_DESCRIPTOR::default();
        // SAFETY: `found` is valid for a write, and the array is there.
        let status = unsafe { hip_sys::hipArray3DGetDescriptor(&mut found, raw) };
        let described = check(status, "hipArray3DGetDescriptor", || mapping.0.name.clone());
        let (width, height, depth) = (found.Width.max(1), found.Height.max(1), found.Depth.max(1));
        let shape = match target {
            ImageTarget::Texture2d | ImageTarget::TextureRectangle => ArrayShape::D2(width, height),
            ImageTarget::Texture3d => ArrayShape::D3(width, height, depth),
        };
        // Owned from here on, whatever comes.
        let array = Array::of_mapped(raw, device, shape, mapping.0.usage.shared());
        described?;
        if format_of(found.Format, found.NumChannels) != Some(T::FORMAT) {
            let value = match format_of(found.Format, found.NumChannels) {
                Some(format) => format.to_string(),
                None => format!("{} of {:?}", found.NumChannels, found.Format),
            };
            let what = "the texel of a mapped OpenGL texture";
            return Err(Error::InvalidValue { what, value, allowed: format!("{}, as the type asks for", T::FORMAT) });
        }
        Ok(MappedImage { array, mapping })
    }

    /// The device that it is registered with.
    #[must_use]
    pub fn device(&self) -> Device {
        self.resource.device
    }

    /// What it is to OpenGL.
    #[must_use]
    pub fn target(&self) -> ImageTarget {
        self.target
    }

    /// The C handle. It stays this registration's.
    #[must_use]
    pub fn as_raw(&self) -> hip_sys::hipGraphicsResource_t {
        self.resource.raw()
    }
}

/// What a texel is made of, by the runtime's description of an array.
fn format_of(format: hipArray_Format, channels: u32) -> Option<ChannelFormat> {
    let (kind, bits) = match format {
        hip_sys::HIP_AD_FORMAT_UNSIGNED_INT8 => (ChannelKind::Unsigned, 8),
        hip_sys::HIP_AD_FORMAT_UNSIGNED_INT16 => (ChannelKind::Unsigned, 16),
        hip_sys::HIP_AD_FORMAT_UNSIGNED_INT32 => (ChannelKind::Unsigned, 32),
        hip_sys::HIP_AD_FORMAT_SIGNED_INT8 => (ChannelKind::Signed, 8),
        hip_sys::HIP_AD_FORMAT_SIGNED_INT16 => (ChannelKind::Signed, 16),
        hip_sys::HIP_AD_FORMAT_SIGNED_INT32 => (ChannelKind::Signed, 32),
        hip_sys::HIP_AD_FORMAT_HALF => (ChannelKind::Float, 16),
        hip_sys::HIP_AD_FORMAT_FLOAT => (ChannelKind::Float, 32),
        _ => return None,
    };
    Some(ChannelFormat { kind, bits, channels })
}

impl<T: Texel> MappedImage<'_, T> {
    /// The texels, as an array to read: for textures, and to copy from.
    #[must_use]
    pub fn array(&self) -> &Array<T> {
        &self.array
    }

    /// The texels, to copy from.
    #[must_use]
    pub fn as_slice(&self) -> ArraySlice<'_, T> {
        self.array.as_slice()
    }

    /// The texels, to copy to.
    #[must_use]
    pub fn as_slice_mut(&mut self) -> ArraySliceMut<'_, T> {
        self.array.as_slice_mut()
    }

    /// A texture that kernels read the texels through.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for texels that are blended (`FilterMode::Linear`) on MI200 (gfx90a), where ROCm's runtimes refuse it for any texture of
    /// OpenGL's; those of [`Texture::from_array`].
    pub fn texture(&self, options: TextureOptions) -> Result<Texture<'_>> {
        Texture::from_array(&self.array, options).map_err(|error| match error {
            Error::Hip(_) if error.status() == Some(Status::NOT_SUPPORTED) && options.is_linear() => {
                let reason = format!("on this GPU the runtime blends no texels of OpenGL's textures: {error}");
                Error::Unsupported { what: "a texture", reason }
            }
            error => error,
        })
    }

    /// A surface that kernels read and write the texels through.
    ///
    /// # Errors
    /// Those of [`Surface::new`].
    pub fn surface(&mut self) -> Result<Surface<'_>> {
        Surface::new(&mut self.array)
    }

    /// What it is, and how large.
    #[must_use]
    pub fn shape(&self) -> ArrayShape {
        self.array.shape()
    }

    /// The device that it is mapped for.
    #[must_use]
    pub fn device(&self) -> Device {
        self.mapping.0.device
    }

    /// Gives it back to OpenGL, after all work that uses it, for which this waits (`hipGraphicsUnmapResources`).
    ///
    /// # Errors
    /// Those of [`MappedBuffer::unmap`](super::MappedBuffer::unmap).
    #[doc(alias("hipGraphicsUnmapResources", "cuGraphicsUnmapResources", "cudaGraphicsUnmapResources"))]
    pub fn unmap(self) -> Result<()> {
        let Self { array, mapping } = self;
        let worked = array.synchronize();
        drop(array);
        mapping.0.unmap()?;
        worked
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of device {}", self.resource.name, self.resource.device.index())
    }
}

impl<T: Texel> fmt::Debug for MappedImage<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MappedImage").field("of", &self.mapping.0.name).field("array", &self.array).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_opengls_numbers_and_others_are_refused() {
        for target in ImageTarget::ALL {
            assert_eq!(ImageTarget::from_gl(target.to_gl()).unwrap(), target);
        }
        // Lines, renderbuffers, cube maps, layers, multisampled.
        for target in [0, 0x0de0, 0x8d41, 0x8513, 0x8c1a, 0x9100] {
            let refused = ImageTarget::from_gl(target).unwrap_err().to_string();
            assert!(refused.contains(&format!("{target:#x}")) && refused.contains("GL_TEXTURE_2D"), "{refused}");
        }
    }

    #[test]
    fn access_is_the_headers_flags() {
        use ImageAccess::*;
        let all = [ReadWrite, ReadOnly, WriteDiscard, SurfaceLoadStore, TextureGather];
        assert_eq!(all.map(ImageAccess::flags), [0, 1, 2, 4, 8]);
    }
}
