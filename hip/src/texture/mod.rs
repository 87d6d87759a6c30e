//! Textures and surfaces, through which kernels read and write images.

mod options;
mod surface;

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use hip_sys::{
    hipResourceDesc, hipResourceDesc_res, hipResourceDesc_res_array, hipResourceDesc_res_linear,
    hipResourceDesc_res_mipmap, hipResourceDesc_res_pitch2D, hipResourceTypeArray, hipResourceTypeLinear,
    hipResourceTypeMipmappedArray, hipResourceTypePitch2D, hipTextureObject_t,
};

pub use options::{AddressMode, FilterMode, MipmapOptions, ReadMode, TextureOptions};
pub use surface::Surface;

use crate::core::attribute::DeviceAttribute;
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result, Status};
use crate::memory::array::{Array, ArrayShape, MipmappedArray, Texel, require_images};
use crate::memory::{IntoSlice, PitchedSlice};
use crate::stream::usage::{Access, Usage};

/// A texture (`hipTextureObject_t`), through which kernels read texels of a borrowed array or memory, with options for
/// reading.
///
/// `&Texture` is an argument for a kernel's `hipTextureObject_t`, and a parameter of a [`kernel!`](crate::kernel). A
/// kernel's reads are ordered with copies to the array or the memory, and the texture is destroyed after the kernels
/// that use it.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::Device;
/// use hip::memory::array::{Array, ArrayShape};
/// use hip::texture::{FilterMode, Texture, TextureOptions};
///
/// let device = Device::get(0)?;
/// if device.has_images()? {
///     let image = Array::from_slice(&device, ArrayShape::D2(2, 2), &[0.0f32, 1.0, 2.0, 3.0])?;
///     let texture = Texture::from_array(&image, TextureOptions::new().filter(FilterMode::Linear))?;
///     // unsafe { kernel.launch(&stream, config, (&texture, &mut out, n))? };
/// #   drop(texture);
/// }
/// # Ok(()) }
/// ```
#[doc(alias("hipCreateTextureObject", "cudaCreateTextureObject"))]
#[doc(alias("hipDestroyTextureObject", "cudaDestroyTextureObject"))]
#[doc(alias("hipTexObjectCreate", "cuTexObjectCreate"))]
#[doc(alias("hipTexObjectDestroy", "cuTexObjectDestroy"))]
pub struct Texture<'a> {
    raw: hipTextureObject_t,
    device: Device,
    /// The access to the array or memory.
    resource: Access<'a>,
    /// The uses of the object itself.
    usage: Usage,
    borrowed: PhantomData<&'a ()>,
}

// SAFETY: the HIP runtime accepts the handle from any thread; it is destroyed only in Drop. All other fields are Send and Sync.
unsafe impl Send for Texture<'_> {}
// SAFETY: as above.
unsafe impl Sync for Texture<'_> {}

/// Returns the C description of an array.
fn of_array(raw: hip_sys::hipArray_t) -> hipResourceDesc {
    hipResourceDesc {
        resType: hipResourceTypeArray,
        res: hipResourceDesc_res { array: hipResourceDesc_res_array { array: raw } },
    }
}

/// Returns `Ok` if an address is aligned for an image.
fn check_alignment(device: &Device, pointer: *mut c_void) -> Result<()> {
    let alignment = device.attribute(DeviceAttribute::TEXTURE_ALIGNMENT)?;
    let unit = usize::try_from(alignment).unwrap_or(1).max(1);
    if pointer as usize % unit == 0 {
        return Ok(());
    }
    Err(Error::InvalidValue {
        what: "the address of the memory of a texture",
        value: format!("{pointer:p}"),
        allowed: format!("a multiple of {unit} bytes (TEXTURE_ALIGNMENT of device {})", device.index()),
    })
}

fn check_size(what: &'static str, size: usize, device: &Device, attribute: DeviceAttribute) -> Result<()> {
    let invalid = |allowed: String| Error::InvalidValue { what, value: size.to_string(), allowed };
    if size == 0 {
        return Err(invalid("at least 1".to_owned()));
    }
    match device.attribute(attribute) {
        Ok(most) if usize::try_from(most).is_ok_and(|most| size > most) => {
            Err(invalid(format!("at most {most} ({attribute:?} of device {})", device.index())))
        }
        // Runtimes that do not know this limit return an error.
        Ok(_) | Err(Error::Hip(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

impl<'a> Texture<'a> {
    /// Creates a texture of an array: for `tex1D`, `tex2D`, `tex3D` and their layered variants in a kernel.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for options that the texels do not support; [`Error::Unsupported`] for
    /// [`FilterMode::Linear`] of a [`D3`](ArrayShape::D3) or layers on MI200 (gfx90a), which ROCm's runtimes reject.
    pub fn from_array<T: Texel>(array: &'a Array<T>, options: TextureOptions) -> Result<Self> {
        options.check(T::FORMAT)?;
        let resource = Access::read(array.usage());
        let plain = matches!(array.shape(), ArrayShape::D1(_) | ArrayShape::D2(..));
        Self::create(array.device(), &of_array(array.as_raw()), &options, resource, || {
            let refused = !plain && options.is_linear();
            let reason = "on this GPU the runtime blends no texels of volumes and of layered arrays";
            (array.shape().to_string(), refused.then_some(reason))
        })
    }

    /// Creates a texture of a mipmapped array: for `tex2DLod` and similar functions in a kernel. MI200 (gfx90a) has no
    /// instruction for these; there, the embedded software GPU reads the single level that the bias of the
    /// [options](MipmapOptions) selects.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for options that the texels do not support; `hipErrorNotSupported` for blending of
    /// levels that the device does not support.
    pub fn from_mipmap<T: Texel>(array: &'a MipmappedArray<T>, options: TextureOptions) -> Result<Self> {
        options.check(T::FORMAT)?;
        let description = hipResourceDesc {
            resType: hipResourceTypeMipmappedArray,
            res: hipResourceDesc_res { mipmap: hipResourceDesc_res_mipmap { mipmap: array.as_raw() } },
        };
        let resource = Access::read(array.usage());
        Self::create(array.device(), &description, &options, resource, || (array.shape().to_string(), None))
    }

    /// Creates a one-dimensional texture of memory, indexed by texel: for `tex1Dfetch` in a kernel. Texels beyond the
    /// slice are zero.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for a slice that is empty, too long or not aligned for a texture (whole buffers are
    /// aligned).
    pub fn from_buffer<T: Texel + 'a>(buffer: impl IntoSlice<'a, T>, read: ReadMode) -> Result<Self> {
        let buffer = buffer.into();
        let options = TextureOptions::new().read(read);
        options.check(T::FORMAT)?;
        let device = buffer.device();
        require_images(&device, "a texture")?;
        check_size("the texels of a texture", buffer.len(), &device, DeviceAttribute::MAX_TEXTURE_1D_LINEAR)?;
        check_alignment(&device, buffer.pointer())?;
        let linear = hipResourceDesc_res_linear {
            devPtr: buffer.pointer(),
            desc: T::FORMAT.raw(),
            sizeInBytes: buffer.byte_len(),
        };
        let description = hipResourceDesc { resType: hipResourceTypeLinear, res: hipResourceDesc_res { linear } };
        Self::create(device, &description, &options, buffer.access(), || (format!("{} texels", buffer.len()), None))
    }

    /// Creates a two-dimensional texture of pitched memory: for `tex2D` in a kernel.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for a slice that is empty, too large, of several planes, or whose address or pitch is
    /// not aligned for a texture (a whole [`PitchedBuffer`](crate::memory::PitchedBuffer) is aligned), or for options
    /// that the texels do not support.
    pub fn from_pitched<T: Texel + 'a>(
        memory: impl Into<PitchedSlice<'a, T>>,
        options: TextureOptions,
    ) -> Result<Self> {
        let memory = memory.into();
        options.check(T::FORMAT)?;
        let (device, extent, pitch) = (memory.device(), memory.extent(), memory.pitch());
        require_images(&device, "a texture")?;
        check_size("the width of a texture", extent.width, &device, DeviceAttribute::MAX_TEXTURE_2D_WIDTH)?;
        check_size("the height of a texture", extent.height, &device, DeviceAttribute::MAX_TEXTURE_2D_HEIGHT)?;
        check_alignment(&device, memory.pointer())?;
        let unit = device.attribute(DeviceAttribute::TEXTURE_PITCH_ALIGNMENT)?;
        let unit = usize::try_from(unit).unwrap_or(1).max(1);
        if extent.depth != 1 || pitch % unit != 0 {
            return Err(Error::InvalidValue {
                what: "the memory of a texture",
                value: format!("{extent} texels in rows of {pitch} bytes"),
                allowed: format!("one plane, rows a multiple of {unit} bytes (TEXTURE_PITCH_ALIGNMENT)"),
            });
        }
        let pitch_2d = hipResourceDesc_res_pitch2D {
            devPtr: memory.pointer(),
            desc: T::FORMAT.raw(),
            width: extent.width,
            height: extent.height,
            pitchInBytes: pitch,
        };
        let description =
            hipResourceDesc { resType: hipResourceTypePitch2D, res: hipResourceDesc_res { pitch2D: pitch_2d } };
        Self::create(device, &description, &options, memory.access(), || (format!("{extent} texels"), None))
    }

    /// Creates the object. `about` describes the resource, and why the runtime may not support it.
    fn create(
        device: Device,
        description: &hipResourceDesc,
        options: &TextureOptions,
        resource: Access<'a>,
        about: impl Fn() -> (String, Option<&'static str>),
    ) -> Result<Self> {
        require_images(&device, "a texture")?;
        device.activate()?;
        let mut raw: hipTextureObject_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write; the resource is alive as long as `'a`, and matches the description.
        let status = unsafe { hip_sys::hipCreateTextureObject(&mut raw, description, &options.raw(), ptr::null()) };
        let asked = || format!("a texture of {} on device {}, {options:?}", about().0, device.index());
        if let Err(error) = check(status, "hipCreateTextureObject", asked) {
            return Err(match about().1 {
                Some(reason) if error.status() == Some(Status::NOT_SUPPORTED) => {
                    Error::Unsupported { what: "a texture", reason: format!("{reason}: {error}") }
                }
                _ => error,
            });
        }
        Ok(Self { raw, device, resource, usage: Usage::default(), borrowed: PhantomData })
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the C handle. The texture keeps ownership.
    #[must_use]
    pub fn as_raw(&self) -> hipTextureObject_t {
        self.raw
    }

    /// Returns the accesses of a launch that uses it: the object first, so that a graph that keeps both drops it first.
    pub(crate) fn accesses(&self) -> [Access<'_>; 2] {
        [Access::read(&self.usage), self.resource]
    }
}

impl Drop for Texture<'_> {
    fn drop(&mut self) {
        let (raw, device) = (self.raw.expose_provenance(), self.device);
        // HIP's object refers to the memory, whose owner may be dropped before this deferred job runs.
        let resource = self.resource.usage.hold();
        self.usage.release(move || {
            if device.activate().is_ok() {
                // SAFETY: from hipCreateTextureObject, not destroyed yet, and no work uses it anymore.
                let _ = unsafe { hip_sys::hipDestroyTextureObject(ptr::with_exposed_provenance_mut(raw)) };
            }
            drop(resource);
        });
    }
}

impl fmt::Debug for Texture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Texture").field("raw", &self.raw).field("device", &self.device.index()).finish()
    }
}
