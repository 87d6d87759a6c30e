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

/// What kernels read and write the texels of an array through (`hipSurfaceObject_t`), by their place: `surf2Dread`, `surf2Dwrite` and
/// their kin, whose first coordinate counts bytes.
///
/// `&Surface` is an argument for kernels that only read, `&mut Surface` for those that write; both are parameters of a
/// [`kernel!`](crate::kernel) too.
#[doc(alias("hipCreateSurfaceObject", "cudaCreateSurfaceObject"))]
#[doc(alias("hipDestroySurfaceObject", "cudaDestroySurfaceObject"))]
pub struct Surface<'a> {
    raw: hipSurfaceObject_t,
    device: Device,
    array: &'a Usage,
    /// Of the object itself.
    usage: Usage,
    borrowed: PhantomData<&'a mut ()>,
}

// SAFETY: as of Texture.
unsafe impl Send for Surface<'_> {}
// SAFETY: as of Texture; what takes `&` only reads.
unsafe impl Sync for Surface<'_> {}

impl<'a> Surface<'a> {
    /// Reads and writes an array, which nobody else can use as long as the surface is there.
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

    /// The device that it is on.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// The C handle. It stays this surface's.
    #[must_use]
    pub fn as_raw(&self) -> hipSurfaceObject_t {
        self.raw
    }

    /// What a launch touches that uses it: the object first, so that a graph which keeps both lets go of it first.
    pub(crate) fn accesses(&self, kind: AccessKind) -> [Access<'_>; 2] {
        [Access::read(&self.usage), Access::new(self.array, kind)]
    }
}

impl Drop for Surface<'_> {
    fn drop(&mut self) {
        let (raw, device) = (self.raw.expose_provenance(), self.device);
        // As of Texture.
        let array = self.array.hold();
        self.usage.release(move || {
            if device.activate().is_ok() {
                // SAFETY: from hipCreateSurfaceObject, not destroyed yet, and no work uses it any more.
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
