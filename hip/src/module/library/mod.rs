//! The library API of ROCm 7.1: code that is loaded without choosing a device.

#[cfg(feature = "rocm-10-0")]
mod on_devices;

#[cfg(feature = "rocm-7-2")]
use std::ffi::CStr;
use std::ffi::{CString, c_uint};
use std::fmt;
use std::ptr;
use std::sync::Arc;

use hip_sys::{hipKernel_t, hipLibrary_t};

use crate::core::arch::Arch;
use crate::core::backend::runtime;
use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::module::{Image, KernelInfo, Variables, image_for};
use crate::stream::usage::Usage;

/// Code that is loaded for all devices (`hipLibrary_t`), at the first use on each: what a [`Module`](crate::Module) is on one.
///
/// It names and counts kernels. With the feature `rocm-10-0`, a kernel of it becomes a [`Kernel`](crate::Kernel) of a device
/// (`LibraryKernel::on`), and variables become buffers (`Library::global`); before, launching takes a module.
#[doc(alias("hipLibraryUnload", "cuLibraryUnload", "cudaLibraryUnload"))]
#[derive(Clone)]
pub struct Library {
    inner: Arc<LibraryInner>,
}

pub(crate) struct LibraryInner {
    raw: hipLibrary_t,
    /// What the code is for.
    #[cfg_attr(not(feature = "rocm-10-0"), allow(dead_code))]
    arch: Arch,
    kernels: Vec<Arc<KernelInfo>>,
    /// Launches of its kernels on all devices, and what is done with its variables.
    usage: Usage,
    #[cfg_attr(not(feature = "rocm-10-0"), allow(dead_code))]
    variables: Variables,
    /// The runtime reads the code object here as long as the library is loaded.
    _image: Image,
}

// SAFETY: a hipLibrary_t is a handle that any thread may use; it is unloaded only in Drop, when no other reference exists.
unsafe impl Send for LibraryInner {}
// SAFETY: as above.
unsafe impl Sync for LibraryInner {}

/// A kernel of a [`Library`] (`hipKernel_t`), which it keeps loaded.
#[derive(Clone)]
pub struct LibraryKernel {
    raw: hipKernel_t,
    library: Arc<LibraryInner>,
    info: Arc<KernelInfo>,
}

// SAFETY: a hipKernel_t is a handle that any thread may use; it lives as long as the library, which is kept.
unsafe impl Send for LibraryKernel {}
// SAFETY: as above.
unsafe impl Sync for LibraryKernel {}

impl Library {
    /// Loads the part of an image that fits a device's architecture (`hipLibraryLoadData`): a code object, or an offload bundle.
    ///
    /// # Errors
    /// [`Error::Image`] if it is neither; [`Error::Architecture`] if it has no code for the device.
    #[doc(alias("hipLibraryLoadData", "cuLibraryLoadData", "cudaLibraryLoadData"))]
    pub fn load(device: &Device, image: &[u8]) -> Result<Self> {
        runtime()?;
        let arch: &Arch = &device.properties()?.arch;
        let (image, kernels) = image_for(image, arch)?;
        device.activate()?;
        let mut raw: hipLibrary_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write; the image is a whole ELF file, which says its own size, and outlives the library;
        // there are no options.
        let status = unsafe {
            hip_sys::hipLibraryLoadData(
                &mut raw,
                image.bytes().as_ptr().cast(),
                ptr::null_mut(),
                ptr::null_mut(),
                0,
                ptr::null_mut(),
                ptr::null_mut(),
                0,
            )
        };
        check(status, "hipLibraryLoadData", || format!("a code object of {} bytes", image.bytes().len()))?;
        let (arch, usage) = (arch.clone(), Usage::module());
        let inner = LibraryInner { raw, arch, kernels, usage, variables: Variables::default(), _image: image };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// How many kernels there are (`hipLibraryGetKernelCount`).
    #[doc(alias("hipLibraryGetKernelCount", "cuLibraryGetKernelCount", "cudaLibraryGetKernelCount"))]
    pub fn kernel_count(&self) -> Result<usize> {
        context::check_caller()?;
        let mut count: c_uint = 0;
        // SAFETY: `count` is valid for a write; the library is loaded.
        let status = unsafe { hip_sys::hipLibraryGetKernelCount(&mut count, self.inner.raw) };
        check(status, "hipLibraryGetKernelCount", || "a library".to_owned())?;
        Ok(count as usize)
    }

    /// A kernel by name (`hipLibraryGetKernel`).
    ///
    /// # Errors
    /// [`Error::KernelNotFound`] if there is none, with the names that there are.
    #[doc(alias("hipLibraryGetKernel", "cuLibraryGetKernel", "cudaLibraryGetKernel"))]
    pub fn kernel(&self, name: &str) -> Result<LibraryKernel> {
        let info = self.inner.info(name)?;
        let c_name = CString::new(name).map_err(|_| self.inner.not_found(name))?;
        context::check_caller()?;
        let mut raw: hipKernel_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write; the library is loaded; the name is terminated.
        let status = unsafe { hip_sys::hipLibraryGetKernel(&mut raw, self.inner.raw, c_name.as_ptr()) };
        check(status, "hipLibraryGetKernel", || format!("the kernel {name:?}"))?;
        Ok(LibraryKernel { raw, library: Arc::clone(&self.inner), info })
    }

    /// All kernels (`hipLibraryEnumerateKernels`, `hipKernelGetName`), in no order.
    #[doc(alias("hipLibraryEnumerateKernels", "cuLibraryEnumerateKernels", "cudaLibraryEnumerateKernels"))]
    #[doc(alias("hipKernelGetName", "cuKernelGetName"))]
    #[cfg(feature = "rocm-7-2")]
    pub fn kernels(&self) -> Result<Vec<LibraryKernel>> {
        let mut raw: Vec<hipKernel_t> = vec![ptr::null_mut(); self.kernel_count()?];
        let room = c_uint::try_from(raw.len()).unwrap_or(c_uint::MAX);
        // SAFETY: `raw` has room for as many kernels; the library is loaded.
        let status = unsafe { hip_sys::hipLibraryEnumerateKernels(raw.as_mut_ptr(), room, self.inner.raw) };
        check(status, "hipLibraryEnumerateKernels", || format!("{room} kernels"))?;
        let named = |raw: hipKernel_t| {
            let mut name = ptr::null();
            // SAFETY: `name` is valid for a write; the kernel is of a library that is loaded.
            let status = unsafe { hip_sys::hipKernelGetName(&mut name, raw) };
            check(status, "hipKernelGetName", || "a kernel of a library".to_owned())?;
            // SAFETY: the call has succeeded, and so gives a terminated string that lives as long as the library.
            let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
            Ok(LibraryKernel { raw, library: Arc::clone(&self.inner), info: self.inner.info(&name)? })
        };
        raw.into_iter().map(named).collect()
    }

    /// The C handle, for calls of [`hip_sys`] beside this crate. It stays this library's.
    #[must_use]
    pub fn as_raw(&self) -> hipLibrary_t {
        self.inner.raw
    }
}

impl LibraryKernel {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// What the code object says of it: parameters, registers, shared memory, limits.
    #[must_use]
    pub fn info(&self) -> &KernelInfo {
        &self.info
    }

    /// The library that it is of.
    #[must_use]
    pub fn library(&self) -> Library {
        Library { inner: Arc::clone(&self.library) }
    }

    /// The C handle, for calls of [`hip_sys`] beside this crate. It stays this library's.
    #[must_use]
    pub fn as_raw(&self) -> hipKernel_t {
        self.raw
    }
}

impl LibraryInner {
    fn info(&self, name: &str) -> Result<Arc<KernelInfo>> {
        self.kernels.iter().find(|kernel| kernel.name == name).cloned().ok_or_else(|| self.not_found(name))
    }

    fn not_found(&self, name: &str) -> Error {
        let available = self.kernels.iter().map(|kernel| kernel.name.clone()).collect();
        Error::KernelNotFound { name: name.to_owned(), available }
    }
}

impl Drop for LibraryInner {
    fn drop(&mut self) {
        let (address, image) = (self.raw.expose_provenance(), std::mem::take(&mut self._image));
        // Code that may still run stays loaded, and its image with it.
        let mut image = std::mem::ManuallyDrop::new(image);
        self.usage.release(move || {
            // SAFETY: from hipLibraryLoadData, not unloaded yet, nobody has it any more, and no launch of its kernels is left.
            let _ = unsafe { hip_sys::hipLibraryUnload(ptr::with_exposed_provenance_mut(address)) };
            // SAFETY: dropped once, here, and not used after.
            unsafe { std::mem::ManuallyDrop::drop(&mut image) };
        });
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").field("raw", &self.inner.raw).finish()
    }
}

impl fmt::Debug for LibraryKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LibraryKernel").field("name", &self.info.name).finish()
    }
}
