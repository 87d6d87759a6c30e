//! Functions of ROCm 10.0: kernels and variables of a library on devices.

use std::ffi::c_int;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use bytemuck::Pod;
use hip_sys::{
    HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
    hipFunction_attribute, hipFunction_t,
};

use super::inner::LibraryInner;
use super::{Library, LibraryKernel};
use crate::core::attribute::FunctionAttribute;
use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::memory::DeviceBuffer;
use crate::module::global::variable;
use crate::module::inner::ModuleInner;
use crate::module::kernel::Kernel;

impl Library {
    /// Returns a variable of the library on a device (`__device__`, `__constant__`) by name (`hipLibraryGetGlobal`), as
    /// a buffer of the `T` that fill its bytes. It behaves like [`Module::global`](crate::Module::global), keeps the
    /// library loaded, and is ordered with the launches of all of its kernels on all devices.
    ///
    /// # Errors
    /// Those of [`Module::global`](crate::Module::global); [`Error::Architecture`] if the library has no code for the
    /// device; [`Error::NoSymbol`] from a runtime before 10.0.
    #[doc(alias("hipLibraryGetGlobal", "cuLibraryGetGlobal", "cudaLibraryGetGlobal"))]
    pub fn global<T: Pod>(&self, device: &Device, name: &str) -> Result<DeviceBuffer<T>> {
        let module = self.inner.on(device)?;
        variable(&module, name, "hipLibraryGetGlobal", |pointer, bytes, name| {
            // SAFETY: both are valid for a write, the library is loaded, the name is terminated.
            unsafe { hip_sys::hipLibraryGetGlobal(pointer, bytes, self.inner.raw, name.as_ptr()) }
        })
    }

    /// Returns a managed variable of the library (`__managed__`) by name (`hipLibraryGetManaged`), as a buffer. Like
    /// [`global`](Self::global), but all devices share it. `device` is the device for the buffer's copies.
    ///
    /// # Errors
    /// Those of [`global`](Self::global).
    #[doc(alias("hipLibraryGetManaged", "cuLibraryGetManaged", "cudaLibraryGetManaged"))]
    pub fn managed<T: Pod>(&self, device: &Device, name: &str) -> Result<DeviceBuffer<T>> {
        let module = self.inner.on(device)?;
        variable(&module, name, "hipLibraryGetManaged", |pointer, bytes, name| {
            // SAFETY: both are valid for a write, the library is loaded, the name is terminated.
            unsafe { hip_sys::hipLibraryGetManaged(pointer, bytes, self.inner.raw, name.as_ptr()) }
        })
    }
}

impl LibraryKernel {
    /// Returns the kernel on a device, for launches there (`hipKernelGetFunction`). It keeps the library loaded.
    ///
    /// ```
    /// # fn main() -> hip::Result<()> {
    /// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
    /// use hip::{Device, DeviceBuffer, LaunchConfig, Stream};
    /// use hip::module::Library;
    ///
    /// let device = Device::get(0)?;
    /// # if device.properties()?.arch.name() != "gfx90a" { return Ok(()) }
    /// // extern "C" __global__ void add_in_place(int* data, int value, unsigned n)
    /// let code = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels/kernels.gfx90a.co"));
    /// let library = Library::load(&device, code)?;
    /// let add = match library.kernel("add_in_place")?.on(&device) {
    ///     // A runtime older than 10.0.
    ///     Err(error) if error.status() == Some(hip::Status::SYMBOL_NOT_FOUND) => return Ok(()),
    ///     add => add?,
    /// };
    /// let mut data = DeviceBuffer::from_slice(&device, &[1, 2, 3])?;
    /// let stream = Stream::new(&device)?;
    /// // SAFETY: adds to as many elements as it is told.
    /// unsafe { add.launch(&stream, LaunchConfig::for_elements(3, 64), (&mut data, 10, 3u32))? };
    /// assert_eq!(data.to_vec()?, [11, 12, 13]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Architecture`] if the library has no code for the device; [`Error::NoSymbol`] from a runtime before
    /// 10.0.
    #[doc(alias("hipKernelGetFunction", "cuKernelGetFunction"))]
    pub fn on(&self, device: &Device) -> Result<Kernel> {
        let module = self.library.on(device)?;
        let mut raw: hipFunction_t = ptr::null_mut();
        // SAFETY: `raw` is valid for a write; the kernel is of a library that is loaded, and its device is current.
        let status = unsafe { hip_sys::hipKernelGetFunction(&mut raw, self.raw) };
        check(status, "hipKernelGetFunction", || self.describe(device))?;
        Ok(Kernel::new(raw, Arc::clone(&self.info), module))
    }

    /// Returns an attribute on a device (`hipKernelGetAttribute`); [`info`](Self::info) returns the code object's
    /// information without a call.
    ///
    /// # Errors
    /// The runtime's status if it does not know the attribute; those of [`on`](Self::on).
    #[doc(alias("hipKernelGetAttribute", "cuKernelGetAttribute"))]
    pub fn attribute(&self, device: &Device, attribute: FunctionAttribute) -> Result<i32> {
        self.library.expect(device)?;
        device.activate()?;
        let mut value: c_int = 0;
        // SAFETY: `value` is valid for a write; the kernel is of a loaded library; for an attribute that the runtime does not know, it
        // returns an error.
        let status = unsafe { hip_sys::hipKernelGetAttribute(&mut value, attribute.raw(), self.raw, device.raw()) };
        check(status, "hipKernelGetAttribute", || format!("{attribute:?} of {}", self.describe(device)))?;
        Ok(value)
    }

    /// Allows launches on a device with this much dynamic shared memory (`hipKernelSetAttribute`,
    /// `HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`). AMD's devices do not need this.
    ///
    /// # Errors
    /// [`Error::Geometry`] for more than the device has; those of [`on`](Self::on).
    #[doc(alias("hipKernelSetAttribute", "cuKernelSetAttribute"))]
    pub fn set_max_dynamic_shared(&self, device: &Device, bytes: u32) -> Result<()> {
        let most = device.properties()?.shared_memory_per_block_opt_in;
        if u64::from(bytes) + u64::from(self.info.static_shared_bytes) > most {
            let fixed = self.info.static_shared_bytes;
            let reason = format!("{bytes} bytes of shared memory beside its {fixed} are more than {most}");
            return Err(Error::Geometry { kernel: self.info.name.clone(), reason });
        }
        self.set_attribute(device, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes)
    }

    /// Sets the part of a compute unit's fast memory that should be shared memory rather than cache, in percent
    /// (`hipKernelSetAttribute`, `HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT`): a hint.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for more than 100; those of [`on`](Self::on).
    #[doc(alias("hipKernelSetAttribute", "cuKernelSetAttribute"))]
    pub fn set_shared_carveout(&self, device: &Device, percent: u32) -> Result<()> {
        if percent > 100 {
            return Err(Error::InvalidValue {
                what: "the part of shared memory",
                value: format!("{percent} %"),
                allowed: "up to 100 %".to_owned(),
            });
        }
        self.set_attribute(device, HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, percent)
    }

    fn set_attribute(&self, device: &Device, attribute: hipFunction_attribute, value: u32) -> Result<()> {
        self.library.expect(device)?;
        device.activate()?;
        let value = c_int::try_from(value).unwrap_or(c_int::MAX);
        // SAFETY: the kernel is of a loaded library; for an invalid value, the runtime returns an error.
        let status = unsafe { hip_sys::hipKernelSetAttribute(attribute, value, self.raw, device.raw()) };
        check(status, "hipKernelSetAttribute", || format!("{attribute:?} = {value} for {}", self.describe(device)))
    }

    /// Returns the range of a parameter in the kernel's argument memory (`hipKernelGetParamInfo`), as the runtime
    /// reports it; [`info`](Self::info) has it without a call.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if the parameter does not exist.
    #[doc(alias("hipKernelGetParamInfo", "cuKernelGetParamInfo"))]
    pub fn parameter(&self, index: usize) -> Result<Range<usize>> {
        let count = self.info.parameters.len();
        if index >= count {
            return Err(Error::InvalidValue {
                what: "the number of a parameter",
                value: index.to_string(),
                allowed: format!("less than {count}, which {} has", self.info),
            });
        }
        context::check_caller()?;
        let (mut offset, mut size) = (0usize, 0usize);
        // SAFETY: both are valid for a write; the kernel is of a library that is loaded.
        let status = unsafe { hip_sys::hipKernelGetParamInfo(self.raw, index, &mut offset, &mut size) };
        check(status, "hipKernelGetParamInfo", || format!("parameter {index} of {}", self.info))?;
        Ok(offset..offset.saturating_add(size))
    }

    fn describe(&self, device: &Device) -> String {
        format!("{} on device {}", self.info.name, device.index())
    }
}

impl LibraryInner {
    /// Returns the library as a module of a device, and makes the device current.
    fn on(self: &Arc<Self>, device: &Device) -> Result<Arc<ModuleInner>> {
        self.expect(device)?;
        device.activate()?;
        Ok(ModuleInner::of_library(*device, self.usage.shared(), &self.variables, Arc::clone(self)))
    }

    /// Returns `Ok` if the code runs on `device`.
    fn expect(&self, device: &Device) -> Result<()> {
        let arch = &device.properties()?.arch;
        if *arch == self.arch {
            return Ok(());
        }
        Err(Error::Architecture { device: arch.clone(), found: vec![self.arch.to_string()] })
    }
}
