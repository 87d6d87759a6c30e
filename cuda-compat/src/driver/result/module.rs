//! Modules.

use std::ffi::{CString, c_void};

use super::calls::calls;
use super::{DriverError, sys};

calls! {
    /// Loads a file: a code object or an offload bundle.
    fn load(fname: CString) -> sys::CUmodule = |out| cuModuleLoad(out, fname.as_ptr());

    /// Loads an image: a code object or an offload bundle. It must be complete: HIP reads its size from the image.
    unsafe fn load_data(image: *const c_void) -> sys::CUmodule = |out| cuModuleLoadData(out, image);

    /// Returns a kernel of a module.
    unsafe fn get_function(module: sys::CUmodule, name: CString) -> sys::CUfunction = |out| cuModuleGetFunction(out, module, name.as_ptr());

    /// Unloads a module.
    unsafe fn unload(module: sys::CUmodule) = cuModuleUnload(module);
}

/// Returns the address and size of a module's variable.
///
/// # Errors
/// The status of `cuModuleGetGlobal`.
///
/// # Safety
/// The module must be loaded.
#[doc(alias = "cuModuleGetGlobal_v2")]
pub unsafe fn get_global(module: sys::CUmodule, name: CString) -> Result<(sys::CUdeviceptr, usize), DriverError> {
    let (mut address, mut bytes) = (0, 0);
    // SAFETY: the caller's contract, and room for two results.
    unsafe { sys::cuModuleGetGlobal_v2(&mut address, &mut bytes, module, name.as_ptr()) }.result()?;
    Ok((address, bytes))
}
