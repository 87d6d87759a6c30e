//! OpenGL buffers and textures as memory of AMD GPUs, over [`hip`].
//!
//! A [`Buffer`] or an [`Image`] is an OpenGL object that is registered with the HIP runtime. While it is *mapped* on a
//! stream, it belongs to the device: a buffer is a [`DeviceSliceMut`](hip::DeviceSliceMut), an OpenGL texture is an
//! [`Array`](hip::memory::array::Array), which kernels access through [`Texture`](hip::texture::Texture)s and
//! [`Surface`](hip::texture::Surface)s. When the mapping ends, with [`unmap`](MappedBuffer::unmap) or when it is
//! dropped, OpenGL can use the object again.
//!
//! ```
//! use hip::Stream;
//!
//! /// Fills a buffer of the OpenGL context that is current on this thread. The buffer has a data store.
//! fn fill(vertices: u32) -> hip_gl::Result<()> {
//!     let device = hip_gl::devices(hip_gl::DeviceList::All)?[0];
//!     let stream = Stream::new(&device)?;
//!     // SAFETY: OpenGL does not use the buffer while it is mapped, and keeps its data store.
//!     let mut buffer = unsafe { hip_gl::Buffer::register(&device, vertices, hip_gl::Access::WriteDiscard)? };
//!     let mut mapped = buffer.map::<[f32; 4]>(&stream)?;
//!     mapped.as_slice_mut().fill_async(&stream, [0.0, 0.0, 0.0, 1.0])?;
//!     // unsafe { kernel.launch(&stream, config, (&mut mapped.as_slice_mut(), time))? };
//!     mapped.unmap() // OpenGL can draw it
//! }
//!
//! // Here, no context is current.
//! if let Err(error) = fill(1) {
//!     eprintln!("{error}");
//! }
//! ```
//!
//! # HIP and CUDA names, and their counterparts here
//!
//! | C | This crate |
//! |---|---|
//! | `hipGLGetDevices`, `cudaGLGetDevices` | [`devices`] |
//! | `hipGraphicsGLRegisterBuffer`, `cudaGraphicsGLRegisterBuffer` | [`Buffer::register`] |
//! | `hipGraphicsGLRegisterImage`, `cudaGraphicsGLRegisterImage` | [`Image::register`] |
//! | `hipGraphicsUnregisterResource` | `Drop` of [`Buffer`] and [`Image`] |
//! | `hipGraphicsMapResources`, `hipGraphicsResourceGetMappedPointer` | [`Buffer::map`] |
//! | `hipGraphicsSubResourceGetMappedArray` | [`Image::map`] |
//! | `hipGraphicsUnmapResources` | [`MappedBuffer::unmap`], [`MappedImage::unmap`] |
//!
//! # Requirements
//! - **Linux, GLX and Mesa.** ROCm's runtimes find the context through GLX (on X or XWayland). They do not support EGL
//!   contexts. They share through Mesa's interop, so OpenGL must run on the AMD GPU itself, with Mesa's driver.
//!   Anything else is [`Error::OpenGl`], which reports what was found.
//! - **The context belongs to the thread.** Registering and mapping need the context current on the calling thread, and
//!   the same context for an object's whole life. So nothing here is [`Send`], except slices of mapped objects.
//! - **One device per process.** The runtime connects to the device that OpenGL runs on at the first call, and to no
//!   other device later.
//! - **OpenGL errors** that the program has not yet queried (`glGetError`) are lost when an object is registered or
//!   mapped: the runtime resets them.
//! - The caller must not register one object twice at a time, and must follow the safety requirements of the `unsafe`
//!   functions.
//! - The embedded software GPU (`hip`'s feature `sim`) does not support OpenGL: [`hip::Error::Unsupported`].
//!
//! # Limits of the runtimes
//! Register an object once, and map it repeatedly: ROCm's runtimes do not release an object that was mapped until the
//! process ends. ROCm 5.7 and 6.4 keep its memory in any case. 7.2 would release the memory, but then mistakes the next
//! allocation at its address for the released object, and refuses work on it, or crashes. So this crate leaves mapped
//! objects registered. OpenGL may delete them nevertheless.
//!
//! # Features
//!
//! | feature | what it does |
//! |---|---|
//! | `rocm-5-7` to `rocm-10-0` | API levels of `hip`, each with those before it; `rocm-6-4` is the default |
#![cfg(target_os = "linux")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod buffer;
mod devices;
mod error;
mod image;
mod library;
mod releases;
mod resource;

pub use buffer::{Buffer, MappedBuffer};
pub use devices::{DeviceList, devices};
pub use error::{Error, Result};
pub use hip;
pub use image::{Image, ImageAccess, ImageTarget, MappedImage};

use hip::sys::{hipGraphicsRegisterFlagsNone, hipGraphicsRegisterFlagsReadOnly, hipGraphicsRegisterFlagsWriteDiscard};

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// How kernels and copies access a registered object: a hint to drivers. It is not checked: a mapping can be read and
/// written in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[doc(alias = "hipGraphicsRegisterFlags")]
#[doc(alias = "cudaGraphicsRegisterFlags")]
pub enum Access {
    /// Read and write (`hipGraphicsRegisterFlagsNone`).
    #[default]
    ReadWrite,
    /// Only read (`hipGraphicsRegisterFlagsReadOnly`).
    ReadOnly,
    /// Write all of it, and do not read the old content (`hipGraphicsRegisterFlagsWriteDiscard`).
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
/// is_send::<hip_gl::Buffer>();
/// ```
///
/// A slice does not outlive its mapping, a mapping does not outlive its registration, and nothing is mapped twice.
///
/// ```compile_fail,E0505
/// fn late(buffer: &mut hip_gl::Buffer, stream: &hip::Stream) -> hip_gl::Result<()> {
///     let mapped = buffer.map::<u32>(stream)?;
///     let slice = mapped.as_slice();
///     mapped.unmap()?;
///     slice.to_vec()?;
///     Ok(())
/// }
/// ```
///
/// ```compile_fail,E0505
/// fn late(mut buffer: hip_gl::Buffer, stream: &hip::Stream) -> hip_gl::Result<()> {
///     let mapped = buffer.map::<u32>(stream)?;
///     drop(buffer);
///     mapped.unmap()
/// }
/// ```
///
/// ```compile_fail,E0499
/// fn twice(buffer: &mut hip_gl::Buffer, stream: &hip::Stream) -> hip_gl::Result<()> {
///     let (first, second) = (buffer.map::<u32>(stream)?, buffer.map::<u32>(stream)?);
///     first.unmap()?;
///     second.unmap()
/// }
/// ```
///
/// The array of an OpenGL texture does not outlive its mapping.
///
/// ```compile_fail,E0505
/// fn late(image: &mut hip_gl::Image, stream: &hip::Stream) -> hip_gl::Result<()> {
///     let mapped = image.map::<f32>(stream)?;
///     let texture = mapped.texture(hip::texture::TextureOptions::new())?;
///     mapped.unmap()?;
///     drop(texture);
///     Ok(())
/// }
/// ```
///
/// The same in the right order compiles.
///
/// ```no_run
/// fn in_time(buffer: &mut hip_gl::Buffer, image: &mut hip_gl::Image, stream: &hip::Stream) -> hip_gl::Result<()> {
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
