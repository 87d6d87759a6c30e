//! Attributes of kernels.

use super::calls::calls;
use super::{DriverError, sys, written};

calls! {
    /// Returns an attribute of a kernel.
    unsafe fn get_function_attribute(f: sys::CUfunction, attribute: sys::CUfunction_attribute_enum) -> i32 = |out| cuFuncGetAttribute(out, attribute, f);
}

/// Checks a value for an attribute of a kernel. AMD GPUs have no such settings: a kernel can use all shared memory of a
/// block, and caches and shared memory are separate.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for more dynamic shared memory than a block can have, or for a carveout outside -1 to
/// 100; `CUDA_ERROR_NOT_SUPPORTED` for other attributes.
///
/// # Safety
/// `f` must be a kernel of a loaded module.
#[doc(alias = "cuFuncSetAttribute")]
pub unsafe fn set_function_attribute(
    f: sys::CUfunction,
    attribute: sys::CUfunction_attribute_enum,
    value: i32,
) -> Result<(), DriverError> {
    type Attribute = sys::CUfunction_attribute_enum;
    let fits = match attribute {
        Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => {
            // SAFETY: `out` is valid for the write.
            let device = written(|out| unsafe { sys::cuCtxGetDevice(out) })?;
            let most = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK;
            // SAFETY: the current device.
            let most = unsafe { super::device::get_attribute(device, most) }?;
            // SAFETY: the caller's contract.
            let fixed = unsafe { get_function_attribute(f, Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) }?;
            (0..=most.saturating_sub(fixed)).contains(&value)
        }
        Attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => (-1..=100).contains(&value),
        _ => return Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_SUPPORTED)),
    };
    if fits { Ok(()) } else { Err(DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE)) }
}

/// Accepts a preference for caches or shared memory, which AMD GPUs ignore.
///
/// # Errors
/// None.
///
/// # Safety
/// `f` must be a kernel of a loaded module.
#[doc(alias = "cuFuncSetCacheConfig")]
pub unsafe fn set_function_cache_config(
    _f: sys::CUfunction,
    _attribute: sys::CUfunc_cache_enum,
) -> Result<(), DriverError> {
    Ok(())
}
