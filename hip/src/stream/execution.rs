//! The execution context of a stream.

use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;

use hip_sys::{hipExecutionCtx_t, hipStream_t};

use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::Result;
use crate::core::later;

/// An execution context. Its streams keep it.
pub(crate) struct ContextInner {
    pub(crate) raw: hipExecutionCtx_t,
    pub(crate) device: Device,
    /// Whether it is the device's own context, which is never destroyed.
    pub(crate) is_primary: bool,
    /// Number of groups of compute units that it was made of, which is the maximum that the runtime reports.
    pub(crate) groups: usize,
}

// SAFETY: a hipExecutionCtx_t is a handle that the runtime allows any thread to use (it locks the list of its streams); it is destroyed
// only in Drop, when no other reference exists. All other fields are Send and Sync.
unsafe impl Send for ContextInner {}
// SAFETY: as above.
unsafe impl Sync for ContextInner {}

/// Creates a C stream in a context.
pub(crate) fn create_in_context(context: &ContextInner, priority: c_int) -> Result<hipStream_t> {
    context.device().activate()?;
    let mut raw: hipStream_t = ptr::null_mut();
    // SAFETY: `raw` is valid for a write; the context is alive.
    let status = unsafe {
        hip_sys::hipExecutionCtxStreamCreate(&mut raw, context.raw(), hip_sys::hipStreamNonBlocking, priority)
    };
    check(status, "hipExecutionCtxStreamCreate", || {
        format!("a stream of priority {priority} in {}", context.describe())
    })?;
    Ok(raw)
}

impl ContextInner {
    pub(crate) fn new(raw: hipExecutionCtx_t, device: Device, is_primary: bool, groups: usize) -> Arc<Self> {
        Arc::new(Self { raw, device, is_primary, groups })
    }

    pub(crate) fn device(&self) -> Device {
        self.device
    }

    pub(crate) fn raw(&self) -> hipExecutionCtx_t {
        self.raw
    }

    pub(crate) fn describe(&self) -> String {
        match self.is_primary {
            true => format!("the execution context of device {}", self.device.index()),
            false => format!("an execution context on device {}", self.device.index()),
        }
    }
}

impl Drop for ContextInner {
    fn drop(&mut self) {
        if self.is_primary {
            return; // owned by the device
        }
        let raw = self.raw.expose_provenance();
        later::in_time(move || {
            // SAFETY: owned by this object, made by hipGreenCtxCreate. This is the last reference, and its streams, which kept it, are
            // destroyed.
            let _ = unsafe { hip_sys::hipExecutionCtxDestroy(ptr::with_exposed_provenance_mut(raw)) };
        });
    }
}
