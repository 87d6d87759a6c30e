//! The library API of ROCm 7.1: code that is loaded without selecting a device.

pub(super) mod inner;
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
#[cfg(doc)]
use crate::core::error::Error;
use crate::core::error::Result;
use crate::module::loaded::image_for;
use crate::module::metadata::KernelInfo;
use inner::LibraryInner;

/// Code for all devices (`hipLibrary_t`), which is loaded on each at first use. A [`Module`](crate::Module) is code on
/// one device.
///
/// Without the feature `rocm-10-0`, it only lists kernels, and launches need a module. With that feature,
/// `LibraryKernel::on` returns a [`Kernel`](crate::Kernel) on a device, and `Library::global` returns variables as
/// buffers.
#[doc(alias("hipLibraryUnload", "cuLibraryUnload", "cudaLibraryUnload"))]
#[derive(Clone)]
pub struct Library {
    inner: Arc<LibraryInner>,
}

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
    /// Loads the part of an image that fits a device's architecture (`hipLibraryLoadData`): a code object, or an
    /// offload bundle.
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
        // SAFETY: `raw` is valid for a write; the image is a whole ELF file, which contains its own size, and outlives the library; there
        // are no options.
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
        Ok(Self { inner: LibraryInner::new(raw, arch.clone(), kernels, image) })
    }

    /// Returns the number of kernels (`hipLibraryGetKernelCount`).
    #[doc(alias("hipLibraryGetKernelCount", "cuLibraryGetKernelCount", "cudaLibraryGetKernelCount"))]
    pub fn kernel_count(&self) -> Result<usize> {
        context::check_caller()?;
        let mut count: c_uint = 0;
        // SAFETY: `count` is valid for a write; the library is loaded.
        let status = unsafe { hip_sys::hipLibraryGetKernelCount(&mut count, self.inner.raw) };
        check(status, "hipLibraryGetKernelCount", || "a library".to_owned())?;
        Ok(count as usize)
    }

    /// Returns a kernel by name (`hipLibraryGetKernel`).
    ///
    /// # Errors
    /// [`Error::KernelNotFound`] if it does not exist, with the names of all kernels.
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

    /// Returns all kernels (`hipLibraryEnumerateKernels`, `hipKernelGetName`), in no particular order.
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
            // SAFETY: the call has succeeded, and so returned a terminated string that lives as long as the library.
            let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
            Ok(LibraryKernel { raw, library: Arc::clone(&self.inner), info: self.inner.info(&name)? })
        };
        raw.into_iter().map(named).collect()
    }

    /// Returns the C handle, for calls of [`hip_sys`] that this crate does not make. The library keeps ownership.
    #[must_use]
    pub fn as_raw(&self) -> hipLibrary_t {
        self.inner.raw
    }
}

impl LibraryKernel {
    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Returns the code object's information: parameters, registers, shared memory, limits.
    #[must_use]
    pub fn info(&self) -> &KernelInfo {
        &self.info
    }

    /// Returns the library.
    #[must_use]
    pub fn library(&self) -> Library {
        Library { inner: Arc::clone(&self.library) }
    }

    /// Returns the C handle, for calls of [`hip_sys`] that this crate does not make. The library keeps ownership.
    #[must_use]
    pub fn as_raw(&self) -> hipKernel_t {
        self.raw
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
