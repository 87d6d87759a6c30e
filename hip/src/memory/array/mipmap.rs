//! Mipmapped arrays.

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use hip_sys::{hipArray_t, hipMipmappedArray_t};

use super::slice::Part;
use super::{ArrayShape, ArraySlice, ArraySliceMut, Texel, require_images};
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::later::with_memory;
use crate::stream::usage::Usage;

/// The memory requirements of an array (`hipArrayMemoryRequirements`).
#[cfg(feature = "rocm-10-0")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryRequirements {
    /// Size in bytes.
    pub bytes: usize,
    /// Alignment of its address, in bytes.
    pub alignment: usize,
}

/// An array with mipmap levels, each half as wide, high and deep as the one before (`hipMallocMipmappedArray`).
///
/// ROCm's runtimes for Linux do not support it: creating one returns `hipErrorNotSupported`. The embedded software GPU
/// supports it.
#[doc(alias("hipMallocMipmappedArray", "cudaMallocMipmappedArray"))]
#[doc(alias("hipFreeMipmappedArray", "cudaFreeMipmappedArray"))]
#[doc(alias("hipMipmappedArrayDestroy", "cuMipmappedArrayDestroy"))]
pub struct MipmappedArray<T> {
    raw: hipMipmappedArray_t,
    device: Device,
    shape: ArrayShape,
    levels: Vec<hipArray_t>,
    usage: Usage,
    texels: PhantomData<T>,
}

// SAFETY: as for Array.
unsafe impl<T: Send> Send for MipmappedArray<T> {}
// SAFETY: as for Array.
unsafe impl<T: Sync> Sync for MipmappedArray<T> {}

impl ArrayShape {
    /// Returns the shape of a level: each level halves all dimensions except layers.
    fn at_level(self, level: usize) -> Self {
        let half = |size: usize| size.checked_shr(level as u32).unwrap_or(0).max(1);
        match self {
            Self::D1(width) => Self::D1(half(width)),
            Self::D2(width, height) => Self::D2(half(width), half(height)),
            Self::D3(width, height, depth) => Self::D3(half(width), half(height), half(depth)),
            Self::D1Layered(width, layers) => Self::D1Layered(half(width), layers),
            Self::D2Layered(width, height, layers) => Self::D2Layered(half(width), half(height), layers),
            Self::Cubemap(width) => Self::Cubemap(half(width)),
            Self::CubemapLayered(width, cubes) => Self::CubemapLayered(half(width), cubes),
        }
    }

    /// Returns the maximum number of levels, down to a single texel.
    fn most_levels(self) -> usize {
        let crate::memory::Extent { width, height, depth } = self.extent();
        let largest = if matches!(self, Self::D3(..)) { width.max(height).max(depth) } else { width.max(height) };
        largest.max(1).ilog2() as usize + 1
    }
}

impl<T: Texel> MipmappedArray<T> {
    /// Creates an array of arbitrary texels with `levels` levels, the first of which has the shape `shape`.
    ///
    /// # Errors
    /// `hipErrorNotSupported` on ROCm for Linux; [`Error::InvalidValue`] for no levels, and for more than the shape
    /// allows; those of [`Array::new`](crate::memory::array::Array::new).
    #[doc(alias("hipMallocMipmappedArray", "cudaMallocMipmappedArray"))]
    #[doc(alias("hipMipmappedArrayCreate", "cuMipmappedArrayCreate"))]
    pub fn new(device: &Device, shape: ArrayShape, levels: usize) -> Result<Self> {
        require_images(device, "an array with levels")?;
        shape.check::<T>(device)?;
        let most = shape.most_levels();
        if levels == 0 || levels > most {
            return Err(Error::InvalidValue {
                what: "the levels of an array",
                value: levels.to_string(),
                allowed: format!("from 1 to {most} for {shape}"),
            });
        }
        device.activate()?;
        let mut raw: hipMipmappedArray_t = ptr::null_mut();
        let (extent, flags) = shape.raw();
        let asked = || format!("{levels} levels of {shape} texels of {} on device {}", T::FORMAT, device.index());
        // SAFETY: `raw` is valid for a write, the description for a read.
        let status = with_memory(device, || unsafe {
            hip_sys::hipMallocMipmappedArray(&mut raw, &T::FORMAT.raw(), extent, levels as u32, flags)
        });
        check(status, "hipMallocMipmappedArray", asked)?;
        let (usage, texels) = (Usage::default(), PhantomData);
        let mut array = Self { raw, device: *device, shape, levels: Vec::with_capacity(levels), usage, texels };
        for level in 0..levels {
            let mut handle: hipArray_t = ptr::null_mut();
            // SAFETY: `handle` is valid for a write, and the array is ours.
            let status = unsafe { hip_sys::hipGetMipmappedArrayLevel(&mut handle, raw, level as u32) };
            check(status, "hipGetMipmappedArrayLevel", asked)?;
            array.levels.push(handle);
        }
        Ok(array)
    }
}

impl<T> MipmappedArray<T> {
    fn part(&self, level: usize) -> Result<Part<'_>> {
        let Some(&raw) = self.levels.get(level) else {
            return Err(Error::Range { start: level, end: level.saturating_add(1), len: self.levels.len() });
        };
        let shape = self.shape.at_level(level);
        Ok(Part { raw, device: self.device, usage: &self.usage, shape, first: [0; 3], extent: shape.extent() })
    }

    /// Returns a level, counted from 0, the largest.
    ///
    /// # Errors
    /// [`Error::Range`] if the level does not exist.
    #[doc(alias("hipGetMipmappedArrayLevel", "cudaGetMipmappedArrayLevel"))]
    #[doc(alias("hipMipmappedArrayGetLevel", "cuMipmappedArrayGetLevel"))]
    pub fn level(&self, level: usize) -> Result<ArraySlice<'_, T>> {
        self.part(level).map(ArraySlice::new)
    }

    /// Returns a level as a mutable slice, counted from 0, the largest.
    ///
    /// # Errors
    /// [`Error::Range`] if the level does not exist.
    pub fn level_mut(&mut self, level: usize) -> Result<ArraySliceMut<'_, T>> {
        self.part(level).map(ArraySliceMut::new)
    }

    /// Returns the number of levels.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// Returns the shape of the largest level.
    #[must_use]
    pub fn shape(&self) -> ArrayShape {
        self.shape
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns its memory requirements (`hipMipmappedArrayGetMemoryRequirements`).
    ///
    /// # Errors
    /// [`Error::NoSymbol`] from a runtime before 10.0.
    #[doc(alias(
        "hipMipmappedArrayGetMemoryRequirements",
        "cuMipmappedArrayGetMemoryRequirements",
        "cudaMipmappedArrayGetMemoryRequirements"
    ))]
    #[cfg(feature = "rocm-10-0")]
    pub fn memory_requirements(&self) -> Result<MemoryRequirements> {
        self.device.activate()?;
        let mut raw = hip_sys::hipArrayMemoryRequirements::default();
        // SAFETY: `raw` is valid for a write; the array is alive, and on the device.
        let status = unsafe { hip_sys::hipMipmappedArrayGetMemoryRequirements(&mut raw, self.raw, self.device.raw()) };
        check(status, "hipMipmappedArrayGetMemoryRequirements", || {
            format!("{} levels of {} on device {}", self.levels.len(), self.shape, self.device.index())
        })?;
        Ok(MemoryRequirements { bytes: raw.size, alignment: raw.alignment })
    }

    /// Returns the C handle. The array keeps ownership.
    #[must_use]
    pub fn as_raw(&self) -> hipMipmappedArray_t {
        self.raw
    }

    pub(crate) fn usage(&self) -> &Usage {
        &self.usage
    }
}

impl<T> Drop for MipmappedArray<T> {
    fn drop(&mut self) {
        let (raw, device) = (self.raw.expose_provenance(), self.device);
        self.usage.release_when_idle(device, move || {
            if device.activate().is_ok() {
                // SAFETY: from hipMallocMipmappedArray, not freed yet, and no work uses it anymore.
                let _ = unsafe { hip_sys::hipFreeMipmappedArray(ptr::with_exposed_provenance_mut(raw)) };
            }
        });
    }
}

impl<T: Texel> fmt::Debug for MipmappedArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MipmappedArray")
            .field("format", &format_args!("{}", T::FORMAT))
            .field("shape", &self.shape)
            .field("levels", &self.levels.len())
            .field("device", &self.device.index())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_halves_down_to_one_texel() {
        let plane = ArrayShape::D2(10, 3);
        assert_eq!(plane.most_levels(), 4);
        let levels: Vec<_> = (0..4).map(|level| plane.at_level(level)).collect();
        let expected = [plane, ArrayShape::D2(5, 1), ArrayShape::D2(2, 1), ArrayShape::D2(1, 1)];
        assert_eq!(levels, expected);
        assert_eq!(ArrayShape::D2Layered(4, 4, 100).most_levels(), 3);
        assert_eq!(ArrayShape::D2Layered(4, 4, 100).at_level(200), ArrayShape::D2Layered(1, 1, 100));
        assert_eq!(ArrayShape::D3(4, 4, 100).most_levels(), 7);
    }
}
