//! Modules of device code: loading, kernels and their arguments, launches, libraries, the linker.

mod args;
mod bundle;
mod code_object;
mod compressed;
#[cfg(feature = "nvidia")]
mod cubin;
mod declare;
mod declared;
mod elf;
mod global;
mod image;
mod inner;
mod kernel;
mod launch;
mod layout;
#[cfg(feature = "rocm-7-1")]
mod library;
mod limits;
#[cfg(feature = "rocm-6-4")]
mod linker;
mod loaded;
mod metadata;
mod msgpack;
mod multi_device;
#[cfg(feature = "nvidia")]
mod nvidia;
mod options;
#[cfg(feature = "nvidia")]
mod ptx;
#[doc(hidden)]
pub mod typed;

use std::borrow::Cow;
use std::ffi::CString;
use std::fmt;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use hip_sys::hipModule_t;

pub use args::{Arguments, KernelArg, KernelArgs};
pub use declared::{Declaration, Number};
pub use kernel::{Kernel, Occupancy};
#[cfg(feature = "rocm-7-0")]
pub use launch::LaunchAttributes;
#[cfg(feature = "rocm-7-1")]
pub use library::{Library, LibraryKernel};
#[cfg(feature = "rocm-6-4")]
pub use linker::{LinkInput, Linker};
pub use metadata::{KernelInfo, Parameter, ParameterKind};
pub use multi_device::{DeviceLaunch, launch_cooperative_multi_device};
pub use options::{LoadLog, LoadOptions};

use crate::core::arch::Arch;
pub use crate::core::attribute::FunctionAttribute;
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
pub use crate::core::geometry::{Dim3, LaunchConfig};
use crate::core::later::with_memory;
use crate::core::releases::one_at_a_time;
use crate::core::trace;
use code_object::CodeObject;
use inner::ModuleInner;
use loaded::Image;

/// Code loaded on a device (`hipModule_t`). Cheap to clone: a clone is the same module, and the code stays loaded as
/// long as a module, one of its kernels or a queued launch exists.
#[doc(alias("hipModuleUnload", "cuModuleUnload"))]
#[derive(Clone)]
pub struct Module {
    inner: Arc<ModuleInner>,
}

/// The `load` of [`kernel!`](crate::kernel) takes it.
impl AsRef<Self> for Module {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Module {
    /// Loads a code object, or the part of an offload bundle that fits the device (`hipModuleLoadData`). The bytes are
    /// copied.
    ///
    /// Compressed bundles (`CCOB`) are decompressed first, so that launches can be checked and releases that cannot
    /// read them can load them too. This requires the crate's feature `compressed`.
    ///
    /// # Errors
    /// [`Error::Image`] if it is neither; if it is compressed and the feature is off; if it is damaged so that the
    /// runtime's loader would read or write elsewhere; or if loading it would run code because its metadata marks a
    /// kernel `.kind: init` or `fini` (see [`load_with_init_kernels`](Self::load_with_init_kernels)).
    /// [`Error::Architecture`] if it has no code for the device, with the architectures that it has.
    #[doc(alias("hipModuleLoadData", "cuModuleLoadData"))]
    #[doc(alias("hipModuleLoadFatBinary", "cuModuleLoadFatBinary"))]
    pub fn load(device: &Device, image: &[u8]) -> Result<Self> {
        Self::load_declared(device, image, |_| None)
    }

    /// Like [`load`](Self::load), for code whose source is known: `declarations` returns the source's declarations of a
    /// kernel's parameters, one [`Declaration`] for each, or `None`. Launches then also reject an argument of another
    /// type than the source declares, and memory lent for reading (`&buffer`) where the kernel may write. The crate
    /// `hiprtc` loads with the source that it compiled.
    ///
    /// Declarations that differ from the code in number, kind or size are ignored: they belong to another source.
    ///
    /// # Errors
    /// Those of [`load`](Self::load).
    pub fn load_declared(
        device: &Device,
        image: &[u8],
        mut declarations: impl FnMut(&KernelInfo) -> Option<Vec<Declaration>>,
    ) -> Result<Self> {
        let _span = trace::module_load(*device, image.len());
        let object = image::select_inert(image, &device.properties()?.arch)?;
        let image = Image::copy(&object.bytes);
        device.activate()?;
        let mut raw: hipModule_t = ptr::null_mut();
        let status = with_memory(device, || {
            let _one = one_at_a_time();
            // SAFETY: `raw` is valid for a write; the image is a whole ELF file, which contains its own size, and outlives the module.
            unsafe { hip_sys::hipModuleLoadData(&mut raw, image.bytes().as_ptr().cast()) }
        });
        check(status, "hipModuleLoadData", || {
            format!("a code object of {} bytes on device {}", image.bytes().len(), device.index())
        })?;
        let declared = |mut kernel: KernelInfo| {
            if let Some(declarations) = declarations(&kernel) {
                kernel.declare(declarations);
            }
            Arc::new(kernel)
        };
        let kernels = object.metadata.kernels.into_values().map(declared).collect();
        Ok(Self { inner: Arc::new(ModuleInner::new(raw, *device, kernels, image)) })
    }

    /// Like [`load`](Self::load), with options, and returns the runtime's messages (`hipModuleLoadDataEx`).
    ///
    /// # Errors
    /// Those of [`load`](Self::load). The error contains the runtime's log.
    #[doc(alias("hipModuleLoadDataEx", "cuModuleLoadDataEx"))]
    pub fn load_with(device: &Device, image: &[u8], options: &LoadOptions) -> Result<(Self, LoadLog)> {
        let _span = trace::module_load(*device, image.len());
        let object = image::select_inert(image, &device.properties()?.arch)?;
        Self::load_object(device, object, options)
    }

    /// Like [`load_with`](Self::load_with), for code that runs when it is loaded: kernels that its metadata marks
    /// `.kind: init`, such as constructors of device variables, run here, and those marked `fini` when the module is
    /// unloaded, which is when its last handle is dropped and its last launch has ended. The runtime runs each with one
    /// thread and waits for it.
    ///
    /// # Errors
    /// Those of [`load_with`](Self::load_with), except for such kernels. The runtime does not report a fault of these
    /// kernels here.
    ///
    /// # Safety
    /// The caller must ensure that these kernels access nothing but variables of the module and memory that is valid
    /// when they run, and that nothing else uses that memory then.
    pub unsafe fn load_with_init_kernels(
        device: &Device,
        image: &[u8],
        options: &LoadOptions,
    ) -> Result<(Self, LoadLog)> {
        let _span = trace::module_load(*device, image.len());
        let object = image::select(image, &device.properties()?.arch)?;
        Self::load_object(device, object, options)
    }

    fn load_object(device: &Device, object: CodeObject<'_>, options: &LoadOptions) -> Result<(Self, LoadLog)> {
        let image = Image::copy(&object.bytes);
        device.activate()?;
        let mut raw: hipModule_t = ptr::null_mut();
        let _one = one_at_a_time();
        let (status, log) = options.with_raw(|count, names, values| {
            // SAFETY: as for `load`; there are `count` options, each with a value of its kind, and the logs' buffers have the lengths that
            // are passed.
            unsafe { hip_sys::hipModuleLoadDataEx(&mut raw, image.bytes().as_ptr().cast(), count, names, values) }
        });
        check(status, "hipModuleLoadDataEx", || {
            format!("a code object of {} bytes on device {}: {}", image.bytes().len(), device.index(), log.errors)
        })?;
        let kernels = object.metadata.kernels.into_values().map(Arc::new).collect();
        Ok((Self { inner: Arc::new(ModuleInner::new(raw, *device, kernels, image)) }, log))
    }

    /// Loads the contents of a file, like [`load`](Self::load).
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read; those of [`load`](Self::load).
    #[doc(alias("hipModuleLoad", "cuModuleLoad"))]
    pub fn load_file(device: &Device, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let image =
            std::fs::read(path).map_err(|reason| Error::File { path: path.to_owned(), reason: Arc::new(reason) })?;
        Self::load(device, &image)
    }

    /// Returns the architectures that an image has code for: that of a code object, or those of the entries of an
    /// offload bundle.
    ///
    /// # Errors
    /// [`Error::Image`] if it is neither.
    pub fn architectures(image: &[u8]) -> Result<Vec<Arch>> {
        image::targets(image)
    }

    /// Returns the kernels of an image without loading it and without a device: those of the code that fits `arch`
    /// best, sorted by name.
    ///
    /// # Errors
    /// Those of [`load`](Self::load) that concern the image.
    pub fn describe(image: &[u8], arch: &Arch) -> Result<Vec<KernelInfo>> {
        Ok(image::select_inert(image, arch)?.metadata.kernels.into_values().collect())
    }

    /// Returns the entries of an offload bundle, each with its name, such as `hipv4-amdgcn-amd-amdhsa--gfx90a`, and its
    /// bytes. Host entries are included; they are empty. Bytes after the last entry are ignored. A compressed bundle
    /// must be [decompressed](Self::decompress) first.
    ///
    /// # Errors
    /// [`Error::Image`] if it is not a bundle, or damaged.
    pub fn bundle_entries(bundle: &[u8]) -> Result<Vec<(&str, &[u8])>> {
        bundle::bundle_entries(bundle)
    }

    /// Decompresses an offload bundle (`CCOB`); returns any other bytes unchanged.
    ///
    /// # Errors
    /// [`Error::Image`] if it is damaged, or compressed and the feature `compressed` is off.
    pub fn decompress(image: &[u8]) -> Result<Cow<'_, [u8]>> {
        if image.starts_with(compressed::MAGIC) {
            compressed::decompress(image).map(Cow::Owned)
        } else {
            Ok(Cow::Borrowed(image))
        }
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.inner.device
    }

    /// Returns the C handle, for calls of [`hip_sys`] that this crate does not make. The module keeps ownership.
    #[must_use]
    pub fn as_raw(&self) -> hipModule_t {
        self.inner.raw
    }

    /// Returns a section of the code object by name, for crates that build on this one.
    #[doc(hidden)]
    #[must_use]
    pub fn section(&self, name: &str) -> Option<&[u8]> {
        elf::Elf::parse(self.inner.code()).ok()?.section(name)
    }

    /// Returns the code object's information about its kernels, sorted by name.
    pub fn kernels(&self) -> impl ExactSizeIterator<Item = &KernelInfo> {
        self.inner.kernels.iter().map(Arc::as_ref)
    }

    /// Returns a kernel by name (`hipModuleGetFunction`): the name in the source for `extern "C"`, else the mangled
    /// name.
    ///
    /// # Errors
    /// [`Error::KernelNotFound`] if it does not exist, with the names of all kernels.
    #[doc(alias("hipModuleGetFunction", "cuModuleGetFunction"))]
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let not_found = || Error::KernelNotFound {
            name: name.to_owned(),
            available: self.kernels().map(|kernel| kernel.name.clone()).collect(),
        };
        let info = self.inner.kernels.iter().find(|kernel| kernel.name == name).ok_or_else(not_found)?;
        let c_name = CString::new(name).map_err(|_| not_found())?;
        self.inner.device.activate()?;
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` is valid for a write, the module is loaded, the name is terminated.
        let status = unsafe { hip_sys::hipModuleGetFunction(&mut raw, self.inner.raw, c_name.as_ptr()) };
        check(status, "hipModuleGetFunction", || format!("the kernel {name:?}"))?;
        Ok(Kernel::new(raw, Arc::clone(info), Arc::clone(&self.inner)))
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.kernels().map(|kernel| kernel.name.as_str()).collect();
        f.debug_struct("Module").field("device", &self.inner.device.index()).field("kernels", &names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_described_without_a_device() {
        let image = include_bytes!("../../tests/kernels/kernels.gfx90a.co");
        let kernels = Module::describe(image, &"gfx90a:xnack-".parse().unwrap()).unwrap();
        assert!(kernels.iter().any(|kernel| kernel.name == "vector_add" && kernel.parameters.len() == 4));
        assert!(kernels.is_sorted_by(|a, b| a.name <= b.name));
        let error = Module::describe(image, &"gfx942".parse().unwrap()).unwrap_err();
        assert!(matches!(error, Error::Architecture { .. }), "{error}");
        assert!(Module::describe(b"junk", &"gfx90a".parse().unwrap()).is_err());
    }
}
