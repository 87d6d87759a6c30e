//! The function table as a provider, and the stub for functions that it lacks.

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use hip_sys::rocm_7_2::{hipError_t, hipErrorNotSupported};
use rocm_loader::Provider;

use crate::api::table::table;
use crate::api::{Function, device};

/// HIP functions that do not return a status and that the software GPU does not support.
const NO_STATUS: &[&str] =
    &["hipApiName", "hipCreateChannelDesc", "hipGetStreamDeviceId", "hipKernelNameRef", "hipKernelNameRefByPtr"];

struct Simulator;

static SIMULATOR: Simulator = Simulator;

/// The software GPU as a replacement for `libamdhip64`, for [`hip_sys::set_provider`].
///
/// Nothing starts before the first function is called.
pub fn provider() -> &'static dyn Provider {
    &SIMULATOR
}

/// The stub for HIP functions that the software GPU does not support. It declares no parameters: in the C ABIs of
/// x86-64 and AArch64 the caller removes its arguments, so a function may ignore them.
extern "C" fn not_supported() -> hipError_t {
    crate::status::guard(|| Err(hipErrorNotSupported.into()))
}

/// Returns whether the software GPU supports the function. Unsupported ones return `hipErrorNotSupported`.
///
/// ```
/// assert!(hip_sim::is_supported("hipModuleLaunchKernel"));
/// assert!(!hip_sim::is_supported("hipTexObjectCreate"));
/// ```
pub fn is_supported(name: &str) -> bool {
    table().contains_key(name)
}

impl Provider for Simulator {
    fn name(&self) -> &str {
        "hip-sim (software GPU)"
    }

    fn release(&self) -> Option<(u32, u32)> {
        Some(device::RELEASE)
    }

    fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        let name = name.to_str().ok()?;
        if let Some(function) = table().get(name) {
            return NonNull::new(function.address());
        }
        let known = hip_sys::coverage::FUNCTIONS.binary_search_by(|(other, ..)| (*other).cmp(name)).is_ok();
        let answer = Function(not_supported as *const ());
        NonNull::new(answer.address()).filter(|_| known && !NO_STATUS.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Symbols of libamdhip64 that the headers rename, or that other headers declare.
    const BESIDE_THE_HEADERS: &[&str] =
        &["hipExtGetLastError", "hipExtModuleLaunchKernel", "hipGetDeviceProperties", "hipGetDevicePropertiesR0000"];

    #[test]
    fn every_name_of_the_table_is_one_of_hips() {
        for name in table().keys() {
            let known = hip_sys::coverage::FUNCTIONS.binary_search_by(|f| f.0.cmp(name)).is_ok();
            assert!(known || BESIDE_THE_HEADERS.contains(name), "{name}");
        }
        assert!(table().len() > 115);
    }

    #[test]
    fn functions_that_return_no_status_are_absent_rather_than_answered() {
        for name in NO_STATUS {
            assert!(!is_supported(name), "{name}");
            let name = std::ffi::CString::new(*name).unwrap();
            assert!(SIMULATOR.symbol(&name).is_none(), "{name:?}");
        }
        assert!(SIMULATOR.symbol(c"hipTexObjectCreate").is_some());
        assert!(SIMULATOR.symbol(c"hipNoSuchFunction").is_none());
    }
}
