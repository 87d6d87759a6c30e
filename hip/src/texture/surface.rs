//! Surfaces: arrays that kernels write to.

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use hip_sys::hipSurfaceObject_t;

use super::of_array;
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::Result;
use crate::memory::array::{Array, Texel};
use crate::stream::usage::{Access, AccessKind, Usage};

/// A surface, through which kernels read and write the texels of an array by index (`hipSurfaceObject_t`): with
/// `surf2Dread`, `surf2Dwrite` and similar functions, whose first coordinate counts bytes.
///
/// `&Surface` is an argument for kernels that only read, `&mut Surface` for those that write; both are parameters of a
/// [`kernel!`](crate::kernel) too.
#[doc(alias("hipCreateSurfaceObject", "cudaCreateSurfaceObject"))]
#[doc(alias("hipDestroySurfaceObject", "cudaDestroySurfaceObject"))]
pub struct Surface<'a> {
    raw: hipSurfaceObject_t,
    device: Device,
    array: &'a Usage,
    /// The uses of the object itself.
    usage: Usage,
    borrowed: PhantomData<&'a mut ()>,
}

// SAFETY: as for Texture.
unsafe impl Send for Surface<'_> {}
// SAFETY: as for Texture; methods that take `&` only read.
unsafe impl Sync for Surface<'_> {}

impl<'a> Surface<'a> {
    /// Creates a surface of an array, which it borrows exclusively.
    ///
    /// # Errors
    /// The runtime's status.
    pub fn new<T: Texel>(array: &'a mut Array<T>) -> Result<Self> {
        let (device, array) = (array.device(), &*array);
        device.activate()?;
        let mut raw: hipSurfaceObject_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write; the array is alive as long as `'a`.
        let status = unsafe { hip_sys::hipCreateSurfaceObject(&mut raw, &of_array(array.as_raw())) };
        let asked = || format!("a surface of {} on device {}", array.shape(), device.index());
        check(status, "hipCreateSurfaceObject", asked)?;
        Ok(Self { raw, device, array: array.usage(), usage: Usage::default(), borrowed: PhantomData })
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the C handle. The surface keeps ownership.
    #[must_use]
    pub fn as_raw(&self) -> hipSurfaceObject_t {
        self.raw
    }

    /// Returns the accesses of a launch that uses it: the object first, so that a graph that keeps both drops it first.
    pub(crate) fn accesses(&self, kind: AccessKind) -> [Access<'_>; 2] {
        [Access::read(&self.usage), Access::new(self.array, kind)]
    }
}

impl Drop for Surface<'_> {
    fn drop(&mut self) {
        let (raw, device) = (self.raw.expose_provenance(), self.device);
        // As for Texture.
        let array = self.array.hold();
        self.usage.release(move || {
            if device.activate().is_ok() {
                // SAFETY: from hipCreateSurfaceObject, not destroyed yet, and no work uses it anymore.
                let _ = unsafe { hip_sys::hipDestroySurfaceObject(ptr::with_exposed_provenance_mut(raw)) };
            }
            drop(array);
        });
    }
}

impl fmt::Debug for Surface<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surface").field("raw", &self.raw).field("device", &self.device.index()).finish()
    }
}
