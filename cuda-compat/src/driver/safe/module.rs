//! Modules: compiled code on a device.

use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

use super::usage::Usage;
use super::waits::explained;
use super::{CudaContext, CudaStream, CudaViewMut};
use crate::driver::result::{self, DriverError};
use crate::driver::sys;
use crate::nvrtc::Ptx;

/// Code that is loaded on a device.
#[derive(Debug)]
pub struct CudaModule {
    module: hip::Module,
    context: Arc<CudaContext>,
    /// The uses of variables, by address.
    globals: Mutex<Vec<(sys::CUdeviceptr, Box<Usage>)>>,
}

impl CudaContext {
    /// Loads code that [`nvrtc`](crate::nvrtc) compiled, a code object, or an offload bundle. Code that HIP would run
    /// during loading or unloading (constructors of device variables) is `CUDA_ERROR_INVALID_IMAGE`:
    /// `hip::Module::load_with_init_kernels` loads it.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_PTX` for PTX; `CUDA_ERROR_INVALID_IMAGE` for other invalid images;
    /// `CUDA_ERROR_NO_BINARY_FOR_GPU` for code of other GPUs; `CUDA_ERROR_FILE_NOT_FOUND` for a file that cannot be
    /// read. The error message contains the reason.
    #[doc(alias("cuModuleLoadData", "hipModuleLoadData"))]
    pub fn load_module(self: &Arc<Self>, ptx: Ptx) -> Result<Arc<CudaModule>, DriverError> {
        self.bind_to_thread()?;
        let image = ptx.image()?;
        let device = hip::Device::get(self.ordinal()).map_err(|error| explained(&error))?;
        let loaded = hip::Module::load_with(&device, &image, &hip::module::LoadOptions::default());
        let (module, _log) = loaded.map_err(|error| explained(&error))?;
        Ok(Arc::new(CudaModule { module, context: Arc::clone(self), globals: Mutex::default() }))
    }
}

impl CudaModule {
    /// Returns the bytes of a variable (`__device__`, `__constant__`). Copies and fills on several streams are ordered,
    /// through any of its views; the caller must order kernels of the module that use it.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_FOUND` if the module has no such variable; `CUDA_ERROR_INVALID_VALUE` for a name with a null.
    #[doc(alias("cuModuleGetGlobal", "hipModuleGetGlobal"))]
    pub fn get_global<'a>(
        self: &'a Arc<Self>,
        name: &str,
        stream: &'a Arc<CudaStream>,
    ) -> Result<CudaViewMut<'a, u8>, DriverError> {
        let name = CString::new(name).map_err(|_| DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE))?;
        self.context.bind_to_thread()?;
        // SAFETY: the module is loaded.
        let (ptr, bytes) = unsafe { result::module::get_global(self.module.as_raw(), name) }?;
        Ok(CudaViewMut::new(ptr, bytes, self.usage_of(ptr)?, stream))
    }

    /// Returns the uses of the variable at an address: the same for all its views.
    fn usage_of(self: &Arc<Self>, ptr: sys::CUdeviceptr) -> Result<&Usage, DriverError> {
        let mut globals = self.globals.lock().unwrap_or_else(PoisonError::into_inner);
        let usage: *const Usage = match globals.iter().find(|(of, _)| *of == ptr) {
            Some((_, usage)) => &raw const **usage,
            None => {
                let usage = Usage::new(&self.context)?;
                let own = Arc::downgrade(self);
                usage.set_code(own);
                globals.push((ptr, Box::new(usage)));
                &raw const *globals[globals.len() - 1].1
            }
        };
        // SAFETY: the usage is in a box, which stays in the list as long as the module is borrowed.
        Ok(unsafe { &*usage })
    }

    pub(super) fn kernel(&self, name: &str) -> Result<hip::Kernel, DriverError> {
        self.module.kernel(name).map_err(|error| explained(&error))
    }

    pub(super) fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }
}
