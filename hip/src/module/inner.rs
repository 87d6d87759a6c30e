//! The state of a module, shared by its handles, its kernels and buffers of its variables.

use std::ptr;
use std::sync::Arc;

use hip_sys::hipModule_t;

#[cfg(feature = "rocm-10-0")]
use super::library::inner::LibraryInner;
use super::loaded::{Image, Variables};
use super::metadata::KernelInfo;
use crate::core::device::Device;
use crate::core::lock::Mutex;
use crate::stream::usage::Usage;

pub(crate) struct ModuleInner {
    pub(super) raw: hipModule_t,
    pub(super) device: Device,
    pub(super) kernels: Vec<Arc<KernelInfo>>,
    /// Launches of its kernels, and uses of its variables.
    pub(super) usage: Usage,
    /// The bytes of variables that buffers have.
    pub(super) variables: Variables,
    /// The kernels, by their handles, that may use as much shared memory as the device allows.
    pub(super) large_shared: Mutex<Vec<usize>>,
    /// The runtime reads the code object from here as long as the module is loaded.
    _image: Image,
    /// The library of which this is the part on a device. The library is unloaded instead of this.
    #[cfg(feature = "rocm-10-0")]
    library: Option<Arc<LibraryInner>>,
}

// SAFETY: a hipModule_t is a handle that the HIP runtime allows any thread to use; it is unloaded only in Drop, when no other reference
// exists. The image is not modified after it is created.
unsafe impl Send for ModuleInner {}
// SAFETY: as above.
unsafe impl Sync for ModuleInner {}

impl ModuleInner {
    pub(super) fn new(raw: hipModule_t, device: Device, kernels: Vec<Arc<KernelInfo>>, image: Image) -> Self {
        Self {
            raw,
            device,
            kernels,
            usage: Usage::module(),
            variables: Variables::default(),
            large_shared: Mutex::default(),
            _image: image,
            #[cfg(feature = "rocm-10-0")]
            library: None,
        }
    }

    /// Creates the module of a library on a device, which shares the library's uses and variables.
    #[cfg(feature = "rocm-10-0")]
    pub(crate) fn of_library(
        device: Device,
        usage: Usage,
        variables: &Variables,
        library: Arc<LibraryInner>,
    ) -> Arc<Self> {
        let mut module = Self::new(ptr::null_mut(), device, Vec::new(), Image::default());
        (module.usage, module.variables, module.library) = (usage, Arc::clone(variables), Some(library));
        Arc::new(module)
    }

    /// Returns the loaded code object.
    pub(super) fn code(&self) -> &[u8] {
        self._image.bytes()
    }

    #[inline]
    pub(crate) fn device(&self) -> Device {
        self.device
    }

    #[inline]
    pub(crate) fn usage(&self) -> &Usage {
        &self.usage
    }
}

impl Drop for ModuleInner {
    fn drop(&mut self) {
        #[cfg(feature = "rocm-10-0")]
        if self.library.is_some() {
            return;
        }
        let (address, device, image) = (self.raw.expose_provenance(), self.device, std::mem::take(&mut self._image));
        // Code that may still run stays loaded, and its image is kept.
        let mut image = std::mem::ManuallyDrop::new(image);
        self.usage.release_when_idle(device, move || {
            if device.activate().is_ok() {
                // SAFETY: from hipModuleLoadData, not unloaded yet, and no launch of its kernels is left.
                let _ = unsafe { hip_sys::hipModuleUnload(ptr::with_exposed_provenance_mut(address)) };
                // SAFETY: dropped once, here, and not used after.
                unsafe { std::mem::ManuallyDrop::drop(&mut image) };
            }
        });
    }
}
