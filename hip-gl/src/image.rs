//! OpenGL textures.

use std::fmt;

use hip::memory::array::{Array, ArrayShape, ArraySlice, ArraySliceMut, Texel};
use hip::sys::{
    HIP_ARRAY3D_DESCRIPTOR, hipGraphicsRegisterFlagsSurfaceLoadStore, hipGraphicsRegisterFlagsTextureGather,
};
use hip::texture::{Surface, Texture, TextureOptions};
use hip::{Device, Status, Stream, sys};

use crate::Access;
use crate::error::{Error, Result};
use crate::resource::{Mapping, Resource};

/// The target of an OpenGL texture.
///
/// The runtimes also register layered textures, cube maps, lines and buffer textures, but do not provide an array for
/// them that kernels could use. They reject renderbuffers and multisampled textures.
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

    /// Returns the target of an OpenGL number (`GLenum`).
    ///
    /// # Errors
    /// [`Error::Invalid`] for a target that cannot be shared.
    pub fn from_gl(target: u32) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|known| known.to_gl() == target);
        found.ok_or_else(|| Error::Invalid {
            what: "the target of an OpenGL texture",
            value: format!("{target:#x}"),
            allowed:
                "GL_TEXTURE_2D, GL_TEXTURE_RECTANGLE or GL_TEXTURE_3D (0xde1, 0x84f5, 0x806f), which HIP has arrays for"
                    .to_owned(),
        })
    }

    /// Returns OpenGL's number of the target (`GLenum`).
    #[must_use]
    pub fn to_gl(self) -> u32 {
        match self {
            Self::Texture2d => 0x0de1,
            Self::TextureRectangle => 0x84f5,
            Self::Texture3d => 0x806f,
        }
    }
}

/// How kernels and copies access an OpenGL texture: a hint to drivers. It is not checked: a mapping can be read and
/// written in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ImageAccess {
    /// Read and write (`hipGraphicsRegisterFlagsNone`).
    #[default]
    ReadWrite,
    /// Only read (`hipGraphicsRegisterFlagsReadOnly`).
    ReadOnly,
    /// Write all of it, and do not read the old content (`hipGraphicsRegisterFlagsWriteDiscard`).
    WriteDiscard,
    /// Read and write through surfaces (`hipGraphicsRegisterFlagsSurfaceLoadStore`).
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

/// An OpenGL texture that is registered with the HIP runtime (`hipGraphicsGLRegisterImage`). Dropping it unregisters
/// it, [unless the runtime prevents it](crate#limits-of-the-runtimes); OpenGL still owns the texture. Its first mipmap
/// level is shared.
#[doc(alias("hipGraphicsUnregisterResource", "cudaGraphicsUnregisterResource", "cuGraphicsUnregisterResource"))]
pub struct Image {
    resource: Resource,
    target: ImageTarget,
}

/// An [`Image`] while it is mapped for the device, as an array of texels of `T`. Dropping it unmaps it, after all work
/// that uses it.
pub struct MappedImage<'a, T> {
    // Dropped first: the mapping owns the memory.
    array: Array<T>,
    mapping: Mapping<'a>,
}

impl Image {
    /// Registers the texture with this name in the context that is current on this thread. It must have a first level.
    ///
    /// # Errors
    /// [`Error::Invalid`] for the name 0, which is not a texture; [`hip::Error::Unsupported`] on a device without
    /// [images](Device::has_images); [`Error::OpenGl`] if no context is current, or the runtime cannot share with it;
    /// [`hip::Error::WrongDevice`] if it is on another device; the runtime's status for a name that is not a texture of
    /// this target, for a texture without texels, and for texel formats that the runtime does not support.
    ///
    /// # Safety
    /// While the texture is registered, OpenGL must not replace its memory (`glTexImage2D`) or delete it; while it is
    /// mapped, OpenGL must not read or write it.
    #[doc(alias("hipGraphicsGLRegisterImage", "cudaGraphicsGLRegisterImage", "cuGraphicsGLRegisterImage"))]
    pub unsafe fn register(device: &Device, name: u32, target: ImageTarget, access: ImageAccess) -> Result<Self> {
        if name == 0 {
            let (value, allowed) =
                ("0".to_owned(), "a name from glGenTextures: 0 is none that can be shared".to_owned());
            return Err(Error::Invalid { what: "the name of an OpenGL texture", value, allowed });
        }
        if !device.has_images()? {
            let arch = device.properties()?.arch.name().to_owned();
            let reason =
                format!("device {} ({arch}) has no image support; OpenGL buffers can be shared", device.index());
            return Err(hip::Error::Unsupported { what: "an OpenGL texture", reason }.into());
        }
        let about = format!("the OpenGL texture {name} ({target:?}) for {access:?}");
        let resource = Resource::register(device, about, "hipGraphicsGLRegisterImage", |place| {
            // SAFETY: `place` is valid for a write, and the runtime is connected to the thread's context.
            unsafe { sys::hipGraphicsGLRegisterImage(place, name, target.to_gl(), access.flags()) }
        })?;
        Ok(Self { resource, target })
    }

    /// Maps the texture on a stream (`hipGraphicsSubResourceGetMappedArray`), as [`Buffer::map`](crate::Buffer::map)
    /// does.
    ///
    /// # Errors
    /// [`Error::OpenGl`] if the current context is not the one in which it was registered; [`hip::Error::WrongDevice`]
    /// for a stream of another device; [`hip::Error::InvalidValue`] if `T` does not match the texel format;
    /// [`hip::Error::Capture`] while the stream is captured.
    #[doc(alias("hipGraphicsMapResources", "cudaGraphicsMapResources", "cuGraphicsMapResources"))]
    #[doc(alias(
        "hipGraphicsSubResourceGetMappedArray",
        "cuGraphicsSubResourceGetMappedArray",
        "cudaGraphicsSubResourceGetMappedArray"
    ))]
    pub fn map<T: Texel>(&mut self, stream: &Stream) -> Result<MappedImage<'_, T>> {
        let target = self.target;
        let mapping = self.resource.map(stream)?;
        let raw = mapping.0.array()?;
        let mut found = HIP_ARRAY3D_DESCRIPTOR::default();
        // SAFETY: `found` is valid for a write, and the array exists.
        let status = unsafe { sys::hipArray3DGetDescriptor(&mut found, raw) };
        Status::from(status).check("hipArray3DGetDescriptor", || mapping.0.name.clone())?;
        let (width, height, depth) = (found.Width.max(1), found.Height.max(1), found.Depth.max(1));
        let shape = match target {
            ImageTarget::Texture2d | ImageTarget::TextureRectangle => ArrayShape::D2(width, height),
            ImageTarget::Texture3d => ArrayShape::D3(width, height, depth),
        };
        // SAFETY: the mapping's array has this shape, and is freed only after the work that uses `tracked`. OpenGL does not access it, as
        // the caller of `register` has ensured.
        let array = unsafe { Array::from_raw_tracked(&mapping.0.device, raw, shape, &mapping.0.tracked)? };
        Ok(MappedImage { array, mapping })
    }

    /// Returns the device that the texture is registered with.
    #[must_use]
    pub fn device(&self) -> Device {
        self.resource.device
    }

    /// Returns the OpenGL target.
    #[must_use]
    pub fn target(&self) -> ImageTarget {
        self.target
    }

    /// Returns the C handle. The registration still owns it.
    #[must_use]
    pub fn as_raw(&self) -> sys::hipGraphicsResource_t {
        self.resource.raw()
    }
}

impl<T: Texel> MappedImage<'_, T> {
    /// Returns the texels as an array to read: for textures, and to copy from.
    #[must_use]
    pub fn array(&self) -> &Array<T> {
        &self.array
    }

    /// Returns the texels, to copy from.
    #[must_use]
    pub fn as_slice(&self) -> ArraySlice<'_, T> {
        self.array.as_slice()
    }

    /// Returns the texels, to copy to.
    #[must_use]
    pub fn as_slice_mut(&mut self) -> ArraySliceMut<'_, T> {
        self.array.as_slice_mut()
    }

    /// Creates a texture object that kernels read the texels through.
    ///
    /// # Errors
    /// [`hip::Error::Unsupported`] for linear filtering (`FilterMode::Linear`) on MI200 (gfx90a), where ROCm's runtimes
    /// reject it for all OpenGL textures; the errors of [`Texture::from_array`].
    pub fn texture(&self, options: TextureOptions) -> Result<Texture<'_>> {
        Texture::from_array(&self.array, options).map_err(|error| match error {
            hip::Error::Hip(_) if error.status() == Some(Status::NOT_SUPPORTED) && options.is_linear() => {
                let reason = format!("on this GPU the runtime blends no texels of OpenGL's textures: {error}");
                hip::Error::Unsupported { what: "a texture", reason }.into()
            }
            error => error.into(),
        })
    }

    /// Creates a surface object that kernels read and write the texels through.
    ///
    /// # Errors
    /// The errors of [`Surface::new`].
    pub fn surface(&mut self) -> Result<Surface<'_>> {
        Ok(Surface::new(&mut self.array)?)
    }

    /// Returns the array's dimensions and kind.
    #[must_use]
    pub fn shape(&self) -> ArrayShape {
        self.array.shape()
    }

    /// Returns the device that the texture is mapped for.
    #[must_use]
    pub fn device(&self) -> Device {
        self.mapping.0.device
    }

    /// Unmaps the texture after all work that uses it; the call waits for that work (`hipGraphicsUnmapResources`).
    /// Afterwards, OpenGL can use the texture again.
    ///
    /// # Errors
    /// The errors of [`MappedBuffer::unmap`](crate::MappedBuffer::unmap).
    #[doc(alias("hipGraphicsUnmapResources", "cudaGraphicsUnmapResources", "cuGraphicsUnmapResources"))]
    pub fn unmap(self) -> Result<()> {
        self.mapping.0.unmap()
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
