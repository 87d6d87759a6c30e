//! The functions as a provider, and the stub for functions that are not supported.

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use hip_sys::rocm_7_2::{API_LEVEL, hipError_t, hipErrorNotSupported};
use rocm_loader::Provider;

use crate::functions::find;
use crate::status::{Failure, finish};
use crate::table::Function;

/// HIP functions that do not return a status and that are not supported here.
const NO_STATUS: &[&str] =
    &["hipApiName", "hipCreateChannelDesc", "hipGetStreamDeviceId", "hipKernelNameRef", "hipKernelNameRefByPtr"];

struct Nvidia;

static NVIDIA: Nvidia = Nvidia;

/// NVIDIA's GPUs as a replacement for `libamdhip64`, for [`hip_sys::set_provider`].
///
/// Nothing is loaded before the first function is called. [`devices`](crate::devices) returns whether there is a GPU.
pub fn provider() -> &'static dyn Provider {
    &NVIDIA
}

/// The stub for HIP functions that are not supported. It declares no parameters: in the C ABIs of x86-64 and AArch64
/// the caller removes its arguments, so a function may ignore them.
extern "C" fn not_supported() -> hipError_t {
    finish(Err(Failure::new(
        hipErrorNotSupported,
        "this HIP function is not supported on NVIDIA GPUs: see COVERAGE.md of hip-nvidia",
    )))
}

/// Returns whether the function is supported on NVIDIA GPUs. Unsupported ones return `hipErrorNotSupported`.
///
/// ```
/// assert!(hip_nvidia::is_supported("hipModuleLaunchKernel"));
/// assert!(!hip_nvidia::is_supported("hipExtStreamCreateWithCUMask"));
/// ```
pub fn is_supported(name: &str) -> bool {
    find(name).is_some()
}

impl Provider for Nvidia {
    fn name(&self) -> &str {
        "hip-nvidia (CUDA driver)"
    }

    fn release(&self) -> Option<(u32, u32)> {
        Some(API_LEVEL)
    }

    fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        let name = name.to_str().ok()?;
        if let Some(function) = find(name) {
            return NonNull::new(function.address());
        }
        let known = hip_sys::coverage::FUNCTIONS.binary_search_by(|(other, ..)| (*other).cmp(name)).is_ok();
        let answer = Function(not_supported as *const ());
        NonNull::new(answer.address()).filter(|_| known && !NO_STATUS.contains(&name))
    }
}
