//! Arrays: memory in a layout that is the device's own, for textures and surfaces.

mod copy;
mod mipmap;
mod shape;
mod slice;
mod texel;

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use hip_sys::{HIP_ARRAY3D_DESCRIPTOR, hipArray_t, hipArraySurfaceLoadStore};

#[cfg(feature = "rocm-10-0")]
pub use mipmap::MemoryRequirements;
pub use mipmap::MipmappedArray;
pub use shape::ArrayShape;
pub use slice::{ArraySlice, ArraySliceMut};
pub use texel::{ChannelFormat, ChannelKind, Texel};

use crate::core::attribute::DeviceAttribute;
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::later::with_memory;
use crate::memory::Extent;
use crate::stream::usage::Usage;
use slice::Part;

/// Texels of `T` on a device in a layout of its own (`hipMalloc3DArray`), which kernels read as a [`Texture`](crate::texture::Texture) and read and
/// write as a [`Surface`](crate::texture::Surface), and which everybody else copies to and from.
///
/// What is in a new one is arbitrary.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// use hip::Device;
/// use hip::memory::array::{Array, ArrayShape};
///
/// let device = Device::get(0)?;
/// if device.has_images()? {
///     let mut image = Array::<f32>::from_slice(&device, ArrayShape::D2(3, 2), &[0.0; 6])?;
///     image.region_mut(1.., ..1, ..)?.copy_from_slice(&[7.0, 8.0])?;
///     assert_eq!(image.to_vec()?, [0.0, 7.0, 8.0, 0.0, 0.0, 0.0]);
/// }
/// # Ok(()) }
/// ```
#[doc(alias("hipMalloc3DArray", "cudaMalloc3DArray"))]
#[doc(alias("hipFreeArray", "cudaFreeArray"))]
#[doc(alias("hipArrayDestroy", "cuArrayDestroy"))]
pub struct Array<T> {
    raw: hipArray_t,
    device: Device,
    shape: ArrayShape,
    usage: Usage,
    /// Whether it is freed here.
    owned: bool,
    texels: PhantomData<T>,
}

// SAFETY: the handle is one that the HIP runtime takes from any thread; texels are Pod and only reached by copies and kernels, whose order
// is that of `usage`, under the borrows of slices, textures and surfaces. It is freed in Drop alone.
unsafe impl<T: Send> Send for Array<T> {}
// SAFETY: as above: what takes `&` only reads the texels.
unsafe impl<T: Sync> Sync for Array<T> {}

/// `Ok` if a device has images.
pub(crate) fn require_images(device: &Device, what: &'static str) -> Result<()> {
    if device.has_images()? {
        return Ok(());
    }
    let arch = device.properties()?.arch.name().to_owned();
    Err(Error::Unsupported {
        what,
        reason: format!(
            "device {} ({arch}) has no images, or the runtime none for it (hipDeviceAttributeImageSupport is 0); \
             kernels can read buffers in place of textures",
            device.index()
        ),
    })
}

impl Device {
    /// Whether it has textures, surfaces and arrays (`hipDeviceAttributeImageSupport`). Radeon GPUs and the Instincts up to
    /// MI200 do, from MI300 (gfx942) on they do not; nor does the software GPU as one.
    pub fn has_images(&self) -> Result<bool> {
        match self.attribute(DeviceAttribute::IMAGE_SUPPORT) {
            Ok(value) => Ok(value != 0),
            // A runtime that knows nothing of images has none.
            Err(error) if error.status().is_some() => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn refused(value: String, allowed: String) -> Error {
    Error::InvalidValue { what: "an array of other code", value, allowed }
}

impl<T: Texel> Array<T> {
    /// An array of arbitrary texels.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a device without [images](Device::has_images); [`Error::InvalidValue`] and [`Error::TooLarge`]
    /// for sizes of zero and beyond the device's limits; `hipErrorOutOfMemory`; `hipErrorInvalidValue` for shapes that the runtime
    /// does not have.
    #[doc(alias("hipMallocArray", "cudaMallocArray"))]
    #[doc(alias("hipMalloc3DArray", "cudaMalloc3DArray"))]
    #[doc(alias("hipArrayCreate", "cuArrayCreate"))]
    #[doc(alias("hipArray3DCreate", "cuArray3DCreate"))]
    pub fn new(device: &Device, shape: ArrayShape) -> Result<Self> {
        Self::with_flags(device, shape, 0)
    }

    /// As [`new`](Self::new), for [surfaces](crate::texture::Surface) too (`hipArraySurfaceLoadStore`). ROCm's runtimes let any array be a
    /// surface.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn for_surfaces(device: &Device, shape: ArrayShape) -> Result<Self> {
        // ROCm's runtimes take the flag alone, and with no other shape.
        let plain = matches!(shape, ArrayShape::D1(_) | ArrayShape::D2(..) | ArrayShape::D3(..));
        Self::with_flags(device, shape, if plain { hipArraySurfaceLoadStore } else { 0 })
    }

    fn with_flags(device: &Device, shape: ArrayShape, more: u32) -> Result<Self> {
        require_images(device, "an array")?;
        shape.check::<T>(device)?;
        device.activate()?;
        let mut raw: hipArray_t = ptr::null_mut();
        let (extent, flags) = shape.raw();
        // SAFETY: `raw` is valid for a write, the description for a read.
        let status = with_memory(device, || unsafe {
            hip_sys::hipMalloc3DArray(&mut raw, &T::FORMAT.raw(), extent, flags | more)
        });
        check(status, "hipMalloc3DArray", || format!("{shape} texels of {} on device {}", T::FORMAT, device.index()))?;
        Ok(Self { raw, device: *device, shape, usage: Usage::default(), owned: true, texels: PhantomData })
    }

    /// An array of other code, which stays its owner's, and whose uses count in `usage`.
    ///
    /// # Safety
    /// `raw` is null or an array of this shape on `device`.
    pub(crate) unsafe fn of_other_code(
        raw: hipArray_t,
        device: Device,
        shape: ArrayShape,
        usage: Usage,
    ) -> Result<Self> {
        require_images(&device, "an array")?;
        if raw.is_null() {
            return Err(refused("null".to_owned(), "an array".to_owned()));
        }
        device.activate()?;
        let mut found = HIP_ARRAY3D_DESCRIPTOR::default();
        // SAFETY: `found` is valid for a write, and the array is there, as the caller vouches.
        let status = unsafe { hip_sys::hipArray3DGetDescriptor(&mut found, raw) };
        check(status, "hipArray3DGetDescriptor", || format!("the array {raw:p} of other code"))?;
        let format = ChannelFormat::of_array(found.Format, found.NumChannels);
        if format != Some(T::FORMAT) {
            let found = format.map_or_else(|| format!("{} x {:?}", found.NumChannels, found.Format), |f| f.to_string());
            return Err(refused(format!("of texels of {found}"), format!("of {}, as the type requires", T::FORMAT)));
        }
        Ok(Self { raw, device, shape, usage, owned: false, texels: PhantomData })
    }

    /// An array with the texels of `source`, row by row and plane by plane.
    ///
    /// # Errors
    /// [`Error::Length`] if they are not as many as the shape says; those of [`new`](Self::new).
    pub fn from_slice(device: &Device, shape: ArrayShape, source: &[T]) -> Result<Self> {
        let mut array = Self::new(device, shape)?;
        array.copy_from_slice(source)?;
        Ok(array)
    }

    /// An array of zeros.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn zeroed(device: &Device, shape: ArrayShape) -> Result<Self> {
        let mut array = Self::new(device, shape)?;
        let texels = shape.extent().elements().unwrap_or(0);
        let mut zeros = Vec::new();
        let too_large = |_| Error::TooLarge { elements: texels, element_bytes: size_of::<T>() };
        zeros.try_reserve_exact(texels).map_err(too_large)?;
        zeros.resize(texels, T::zeroed());
        array.copy_from_slice(&zeros)?;
        Ok(array)
    }
}

impl<T> Array<T> {
    fn part(&self) -> Part<'_> {
        Part {
            raw: self.raw,
            device: self.device,
            usage: &self.usage,
            shape: self.shape,
            first: [0; 3],
            extent: self.extent(),
        }
    }

    /// All of it.
    #[must_use]
    pub fn as_slice(&self) -> ArraySlice<'_, T> {
        ArraySlice::new(self.part())
    }

    /// All of it, to write to.
    #[must_use]
    pub fn as_slice_mut(&mut self) -> ArraySliceMut<'_, T> {
        ArraySliceMut::new(self.part())
    }

    /// What it is, and how large.
    #[must_use]
    pub fn shape(&self) -> ArrayShape {
        self.shape
    }

    /// Texels along each dimension, as copies count them: layers are planes.
    #[must_use]
    pub fn extent(&self) -> Extent {
        self.shape.extent()
    }

    /// The device that it is on.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// The C handle. It stays this array's; work that is queued through it is unknown to the array.
    #[must_use]
    pub fn as_raw(&self) -> hipArray_t {
        self.raw
    }

    pub(crate) fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Blocks until no queued work that this crate knows of uses the array.
    ///
    /// # Errors
    /// An error of the queued work comes back here.
    pub fn synchronize(&self) -> Result<()> {
        self.usage.wait_for_all()
    }
}

impl<T> Drop for Array<T> {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        let (raw, device) = (self.raw.expose_provenance(), self.device);
        self.usage.release_when_idle(device, move || {
            if device.activate().is_ok() {
                // SAFETY: from hipMalloc3DArray, not freed yet, and no work uses it any more.
                let _ = unsafe { hip_sys::hipFreeArray(ptr::with_exposed_provenance_mut(raw)) };
            }
        });
    }
}

impl<T: Texel> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array")
            .field("format", &format_args!("{}", T::FORMAT))
            .field("shape", &self.shape)
            .field("device", &self.device.index())
            .field("raw", &self.raw)
            .finish()
    }
}
