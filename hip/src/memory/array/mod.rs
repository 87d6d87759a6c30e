//! Arrays: memory in a device-specific layout, for textures and surfaces.

mod copy;
mod mipmap;
pub(super) mod shape;
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
use crate::memory::pitched::extent::Extent;
use crate::memory::regions::regions;
use crate::stream::usage::Usage;
use slice::Part;

/// Texels of `T` on a device, in a device-specific layout (`hipMalloc3DArray`). Kernels read them as a
/// [`Texture`](crate::texture::Texture), or read and write them as a [`Surface`](crate::texture::Surface); all other
/// accesses are copies.
///
/// The content of a new array is arbitrary.
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
    /// Whether dropping this frees it.
    owned: bool,
    texels: PhantomData<T>,
}

// SAFETY: the HIP runtime accepts the handle from any thread; texels are Pod and only accessed by copies and kernels, which `usage` orders,
// under the borrows of slices, textures and surfaces. It is freed only in Drop.
unsafe impl<T: Send> Send for Array<T> {}
// SAFETY: as above: methods that take `&` only read the texels.
unsafe impl<T: Sync> Sync for Array<T> {}

/// Returns `Ok` if a device supports images.
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
    /// Returns whether the device supports textures, surfaces and arrays (`hipDeviceAttributeImageSupport`). Radeon
    /// GPUs and the Instincts up to MI200 do; MI300 (gfx942) and later do not, nor does the software GPU as gfx942.
    pub fn has_images(&self) -> Result<bool> {
        match self.attribute(DeviceAttribute::IMAGE_SUPPORT) {
            Ok(value) => Ok(value != 0),
            // A runtime that does not know the attribute does not support images.
            Err(error) if error.status().is_some() => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn refused(value: String, allowed: String) -> Error {
    Error::InvalidValue { what: "an array of other code", value, allowed }
}

impl<T: Texel> Array<T> {
    /// Creates an array of arbitrary texels.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a device without [images](Device::has_images); [`Error::InvalidValue`] and
    /// [`Error::TooLarge`] for sizes of zero and beyond the device's limits; `hipErrorOutOfMemory`;
    /// `hipErrorInvalidValue` for shapes that the runtime does not support.
    #[doc(alias("hipMallocArray", "cudaMallocArray"))]
    #[doc(alias("hipMalloc3DArray", "cudaMalloc3DArray"))]
    #[doc(alias("hipArrayCreate", "cuArrayCreate"))]
    #[doc(alias("hipArray3DCreate", "cuArray3DCreate"))]
    pub fn new(device: &Device, shape: ArrayShape) -> Result<Self> {
        Self::with_flags(device, shape, 0)
    }

    /// Like [`new`](Self::new), for [surfaces](crate::texture::Surface) too (`hipArraySurfaceLoadStore`). ROCm's
    /// runtimes allow surfaces on any array.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn for_surfaces(device: &Device, shape: ArrayShape) -> Result<Self> {
        // ROCm's runtimes accept the flag only alone, not together with the flags of other shapes.
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

    /// Wraps an array of other code, without ownership. Its uses are counted in `usage`.
    ///
    /// # Safety
    /// `raw` must be null or an array of this shape on `device`.
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
        // SAFETY: `found` is valid for a write, and the caller ensures that the array exists.
        let status = unsafe { hip_sys::hipArray3DGetDescriptor(&mut found, raw) };
        check(status, "hipArray3DGetDescriptor", || format!("the array {raw:p} of other code"))?;
        let format = ChannelFormat::of_array(found.Format, found.NumChannels);
        if format != Some(T::FORMAT) {
            let found = format.map_or_else(|| format!("{} x {:?}", found.NumChannels, found.Format), |f| f.to_string());
            return Err(refused(format!("of texels of {found}"), format!("of {}, as the type requires", T::FORMAT)));
        }
        Ok(Self { raw, device, shape, usage, owned: false, texels: PhantomData })
    }

    /// Creates an array with the texels of `source`, row by row and plane by plane.
    ///
    /// # Errors
    /// [`Error::Length`] if `source` does not have as many texels as the shape; those of [`new`](Self::new).
    pub fn from_slice(device: &Device, shape: ArrayShape, source: &[T]) -> Result<Self> {
        let mut array = Self::new(device, shape)?;
        array.copy_from_slice(source)?;
        Ok(array)
    }

    /// Creates an array of zeros.
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

    /// Returns the whole array as a slice.
    #[must_use]
    pub fn as_slice(&self) -> ArraySlice<'_, T> {
        ArraySlice::new(self.part())
    }

    /// Returns the whole array as a mutable slice.
    #[must_use]
    pub fn as_slice_mut(&mut self) -> ArraySliceMut<'_, T> {
        ArraySliceMut::new(self.part())
    }

    /// Returns the shape.
    #[must_use]
    pub fn shape(&self) -> ArrayShape {
        self.shape
    }

    /// Returns the number of texels along each dimension, as copies count them: layers are planes.
    #[must_use]
    pub fn extent(&self) -> Extent {
        self.shape.extent()
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the C handle. The array keeps ownership, and does not track work that is queued through the handle.
    #[must_use]
    pub fn as_raw(&self) -> hipArray_t {
        self.raw
    }

    pub(crate) fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Blocks until no tracked work uses the array.
    ///
    /// # Errors
    /// Errors of the queued work.
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
                // SAFETY: from hipMalloc3DArray, not freed yet, and no work uses it anymore.
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
regions!(Array, ArraySlice, ArraySliceMut, Texel);
