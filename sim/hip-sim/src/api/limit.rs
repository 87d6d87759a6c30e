//! Limits on kernel resources, and cache preferences.

use std::sync::atomic::Ordering;

use hip_sys::rocm_7_2::*;

use super::{hip_functions, put};
use crate::device::Device;
use crate::runtime::runtime;
use crate::status::{Refusal, ensure};

/// The largest stack size that AMD's runtime accepts.
const MOST_STACK: usize = (128 << 10) - 16;

/// Sets the stack size for kernels whose call depth the compiler does not know.
pub(crate) fn set_stack(device: &Device, bytes: usize) {
    device.stack.store(bytes, Ordering::Relaxed);
    device.gpu.set_dynamic_stack(u32::try_from(bytes).unwrap_or(u32::MAX));
}

/// The refusal of a limit on a feature that kernels do not support here; the text names the feature.
fn unsupported(limit: hipLimit_t) -> Refusal {
    let text = format!("{limit:?}: kernels have neither `printf` nor `malloc` here, and no other limit");
    Refusal::new(hipErrorUnsupportedLimit, text)
}

hip_functions! {
    fn hipDeviceGetLimit(value: *mut usize, limit: hipLimit_t) {
        let runtime = runtime()?;
        ensure(!value.is_null(), hipErrorInvalidValue)?;
        if limit != hipLimitStackSize {
            return Err(unsupported(limit));
        }
        put(value, runtime.current().stack.load(Ordering::Relaxed))
    }

    fn hipDeviceSetLimit(limit: hipLimit_t, value: usize) {
        let runtime = runtime()?;
        if limit != hipLimitStackSize {
            return Err(unsupported(limit));
        }
        if value > MOST_STACK {
            let text = format!("{value} bytes of stack a thread, of which there are at most {MOST_STACK}");
            return Err(Refusal::new(hipErrorInvalidValue, text));
        }
        // Rounded as in AMD's runtime.
        set_stack(runtime.current(), value.next_multiple_of(16));
        Ok(())
    }

    fn hipDeviceGetCacheConfig(preference: *mut hipFuncCache_t) {
        runtime()?;
        put(preference, hipFuncCachePreferNone)
    }

    fn hipDeviceSetCacheConfig(preference: hipFuncCache_t) {
        runtime()?.captures.deny_concerned()?;
        // A hint that AMD's devices ignore.
        ensure(preference.0 <= hipFuncCachePreferEqual.0, hipErrorInvalidValue)
    }

    fn hipDeviceGetSharedMemConfig(width: *mut hipSharedMemConfig) {
        runtime()?;
        put(width, hipSharedMemBankSizeFourByte)
    }

    fn hipDeviceSetSharedMemConfig(width: hipSharedMemConfig) {
        runtime()?;
        // AMD's devices have a fixed bank width.
        ensure(width.0 <= hipSharedMemBankSizeEightByte.0, hipErrorInvalidValue)
    }
}
