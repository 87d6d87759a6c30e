//! C streams, created with the options of this crate's streams.

use std::ptr;

use hip_sys::hipStream_t;

#[cfg(feature = "rocm-10-0")]
use super::execution::create_in_context;
use super::inner::StreamInner;
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::Result;
use crate::core::later::with_memory;

/// Creates a C stream whose kernels only run on some compute units.
pub(super) fn create_with_cu_mask(device: &Device, mask: &[u32]) -> Result<hipStream_t> {
    device.activate()?;
    let words = u32::try_from(mask.len()).unwrap_or(u32::MAX);
    let mut raw: hipStream_t = ptr::null_mut();
    // SAFETY: `raw` is valid for a write, and the mask has `words` words.
    let status =
        with_memory(device, || unsafe { hip_sys::hipExtStreamCreateWithCUMask(&mut raw, words, mask.as_ptr()) });
    check(status, "hipExtStreamCreateWithCUMask", || {
        format!("a stream on the compute units {mask:x?} of device {}", device.index())
    })?;
    Ok(raw)
}

impl StreamInner {
    /// Creates another C stream with the same options.
    pub(super) fn another_like_this(&self) -> Result<hipStream_t> {
        self.device.activate()?;
        let (raw, mut flags, mut priority) = (self.raw(), 0, 0);
        // SAFETY: the stream is alive; `priority` is valid for a write.
        let status = unsafe { hip_sys::hipStreamGetPriority(raw, &mut priority) };
        check(status, "hipStreamGetPriority", || self.describe())?;
        #[cfg(feature = "rocm-10-0")]
        if let Some(context) = &self.context {
            return create_in_context(context, priority);
        }
        if let Some(mask) = &self.cu_mask {
            return create_with_cu_mask(&self.device, mask);
        }
        // SAFETY: the stream is alive; `flags` is valid for a write.
        let status = unsafe { hip_sys::hipStreamGetFlags(raw, &mut flags) };
        check(status, "hipStreamGetFlags", || self.describe())?;
        let mut new = ptr::null_mut();
        // SAFETY: `new` is valid for a write.
        let status = unsafe { hip_sys::hipStreamCreateWithPriority(&mut new, flags, priority) };
        check(status, "hipStreamCreateWithPriority", || self.describe())?;
        Ok(new)
    }
}
