//! The state of a library, shared by its handles, its kernels and their modules on devices.

use std::ptr;
use std::sync::Arc;

use hip_sys::hipLibrary_t;

use crate::core::arch::Arch;
use crate::core::error::{Error, Result};
use crate::module::loaded::{Image, Variables};
use crate::module::metadata::KernelInfo;
use crate::stream::usage::Usage;

pub(crate) struct LibraryInner {
    pub(super) raw: hipLibrary_t,
    /// The architecture of the code.
    #[cfg_attr(not(feature = "rocm-10-0"), allow(dead_code))]
    pub(super) arch: Arch,
    kernels: Vec<Arc<KernelInfo>>,
    /// Launches of its kernels on all devices, and uses of its variables.
    pub(super) usage: Usage,
    #[cfg_attr(not(feature = "rocm-10-0"), allow(dead_code))]
    pub(super) variables: Variables,
    /// The runtime reads the code object from here as long as the library is loaded.
    _image: Image,
}

// SAFETY: a hipLibrary_t is a handle that any thread may use; it is unloaded only in Drop, when no other reference exists.
unsafe impl Send for LibraryInner {}
// SAFETY: as above.
unsafe impl Sync for LibraryInner {}

impl LibraryInner {
    pub(super) fn new(raw: hipLibrary_t, arch: Arch, kernels: Vec<Arc<KernelInfo>>, image: Image) -> Arc<Self> {
        let (usage, variables) = (Usage::module(), Variables::default());
        Arc::new(Self { raw, arch, kernels, usage, variables, _image: image })
    }

    pub(super) fn info(&self, name: &str) -> Result<Arc<KernelInfo>> {
        self.kernels.iter().find(|kernel| kernel.name == name).cloned().ok_or_else(|| self.not_found(name))
    }

    pub(super) fn not_found(&self, name: &str) -> Error {
        let available = self.kernels.iter().map(|kernel| kernel.name.clone()).collect();
        Error::KernelNotFound { name: name.to_owned(), available }
    }
}

impl Drop for LibraryInner {
    fn drop(&mut self) {
        let (address, image) = (self.raw.expose_provenance(), std::mem::take(&mut self._image));
        // Code that may still run stays loaded, and its image is kept.
        let mut image = std::mem::ManuallyDrop::new(image);
        self.usage.release(move || {
            // SAFETY: from hipLibraryLoadData, not unloaded yet, this is the last reference, and no launch of its kernels is left.
            let _ = unsafe { hip_sys::hipLibraryUnload(ptr::with_exposed_provenance_mut(address)) };
            // SAFETY: dropped once, here, and not used after.
            unsafe { std::mem::ManuallyDrop::drop(&mut image) };
        });
    }
}
