//! The context of a device.

use super::calls::calls;
use super::sys;

calls! {
    /// Returns the context of the device. Each call needs one of [`release`].
    unsafe fn retain(dev: sys::CUdevice) -> sys::CUcontext = |out| cuDevicePrimaryCtxRetain(out, dev);

    /// Releases the context.
    unsafe fn release(dev: sys::CUdevice) = cuDevicePrimaryCtxRelease_v2(dev);
}
