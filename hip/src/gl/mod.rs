//! OpenGL's buffers and textures as memory of a device.
//!
//! A [`Buffer`] or an [`Image`] is an object of OpenGL's that is registered with the HIP runtime. As long as it is *mapped*, on a stream, it is
//! the device's: a buffer is a [`DeviceSliceMut`](crate::DeviceSliceMut), a texture of OpenGL's an array, which kernels reach through
//! [`Texture`](crate::texture::Texture)s and [`Surface`](crate::texture::Surface)s. When the mapping ends, by [`unmap`](MappedBuffer::unmap) or its drop, it is OpenGL's again.
//!
//! ```no_run
//! # fn with_context(vertices: u32) -> hip::Result<()> {
//! use hip::{Stream, gl};
//!
//! // A context of GLX is current on this thread, and `vertices` the name of a buffer of it, which has a data store.
//! let device = gl::devices(gl::DeviceList::All)?[0];
//! let stream = Stream::new(&device)?;
//! // SAFETY: OpenGL leaves the buffer alone while it is mapped, and keeps its data store.
//! let mut buffer = unsafe { gl::Buffer::register(&device, vertices, gl::Access::WriteDiscard)? };
//! let mut mapped = buffer.map::<[f32; 4]>(&stream)?;
//! mapped.as_slice_mut().fill_async(&stream, [0.0, 0.0, 0.0, 1.0])?;
//! // unsafe { kernel.launch(&stream, config, (&mut mapped.as_slice_mut(), time))? };
//! mapped.unmap()?; // OpenGL can draw it
//! # Ok(()) }
//! ```
//!
//! # What it takes
//! - **Linux, GLX and Mesa.** ROCm's runtimes find the context by GLX (through X or XWayland); they do not see contexts of EGL. They share by Mesa's interop, so
//!   that OpenGL must run on the AMD GPU itself, by Mesa's driver. Anything else is [`Error::OpenGl`](crate::Error::OpenGl), which says what was found.
//! - **The context is the thread's.** Registering and mapping need the context current on the calling thread, and the same one for an object's life.
//!   So nothing here is [`Send`]; slices of what is mapped are.
//! - **One device a process.** The runtime connects the device that OpenGL runs on at the first call, and no other later.
//! - **Errors of OpenGL's** that nobody has asked for (`glGetError`) are lost when an object is registered or mapped: the runtime resets them.
//! - Registering one object twice at a time is for the caller to avoid, as is what the `unsafe` functions say.
//!
//! # What the runtimes get wrong
//! Register an object once, and map it as often as there is need, rather than registering anew: what was mapped is never given up, until the
//! process ends. ROCm 5.7 and 6.4 keep its memory whatever is asked of them. 7.2 would give it up, but then takes whatever gets its address next for what is
//! gone, and refuses work on it, or crashes; so this crate leaves what was mapped registered. OpenGL may delete it all the same.
//!
//! The embedded software GPU has no OpenGL.

mod buffer;
mod devices;
mod image;
mod library;
mod resource;

pub use buffer::{Buffer, MappedBuffer};
pub use devices::{DeviceList, devices};
pub use image::{Image, ImageAccess, ImageTarget, MappedImage};

use hip_sys::{hipGraphicsRegisterFlagsNone, hipGraphicsRegisterFlagsReadOnly, hipGraphicsRegisterFlagsWriteDiscard};

/// What kernels and copies do with a registered object, which drivers may make use of. It is not checked: a mapping can be read and
/// written in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Access {
    /// Read and write (`hipGraphicsRegisterFlagsNone`).
    #[default]
    ReadWrite,
    /// Only read (`hipGraphicsRegisterFlagsReadOnly`).
    ReadOnly,
    /// Write all of it, and read nothing of what was there before (`hipGraphicsRegisterFlagsWriteDiscard`).
    WriteDiscard,
}

impl Access {
    fn flags(self) -> u32 {
        match self {
            Self::ReadWrite => hipGraphicsRegisterFlagsNone.0,
            Self::ReadOnly => hipGraphicsRegisterFlagsReadOnly.0,
            Self::WriteDiscard => hipGraphicsRegisterFlagsWriteDiscard.0,
        }
    }
}

/// Registrations stay on their thread.
///
/// ```compile_fail,E0277
/// fn is_send<T: Send>() {}
/// is_send::<hip::gl::Buffer>();
/// ```
///
/// A slice does not outlive its mapping, nor a mapping its registration, and nothing is mapped twice.
///
/// ```compile_fail,E0505
/// fn late(buffer: &mut hip::gl::Buffer, stream: &hip::Stream) -> hip::Result<()> {
///     let mapped = buffer.map::<u32>(stream)?;
///     let slice = mapped.as_slice();
///     mapped.unmap()?;
///     slice.to_vec().map(drop)
/// }
/// ```
///
/// ```compile_fail,E0505
/// fn late(mut buffer: hip::gl::Buffer, stream: &hip::Stream) -> hip::Result<()> {
///     let mapped = buffer.map::<u32>(stream)?;
///     drop(buffer);
///     mapped.unmap()
/// }
/// ```
///
/// ```compile_fail,E0499
/// fn twice(buffer: &mut hip::gl::Buffer, stream: &hip::Stream) -> hip::Result<()> {
///     let (first, second) = (buffer.map::<u32>(stream)?, buffer.map::<u32>(stream)?);
///     first.unmap()?;
///     second.unmap()
/// }
/// ```
///
/// The array of a texture of OpenGL's does not leave its mapping.
///
/// ```compile_fail,E0505
/// fn late(image: &mut hip::gl::Image, stream: &hip::Stream) -> hip::Result<()> {
///     let mapped = image.map::<f32>(stream)?;
///     let texture = mapped.texture(hip::texture::TextureOptions::new())?;
///     mapped.unmap()?;
///     drop(texture);
///     Ok(())
/// }
/// ```
///
/// The same in order compiles.
///
/// ```no_run
/// fn in_time(buffer: &mut hip::gl::Buffer, image: &mut hip::gl::Image, stream: &hip::Stream) -> hip::Result<()> {
///     let mapped = buffer.map::<u32>(stream)?;
///     let slice = mapped.as_slice();
///     slice.to_vec()?;
///     mapped.unmap()?;
///     buffer.map::<u32>(stream)?.unmap()?;
///     let mapped = image.map::<f32>(stream)?;
///     drop(mapped.texture(hip::texture::TextureOptions::new())?);
///     mapped.unmap()
/// }
/// ```
#[cfg(doctest)]
struct Misuse;
