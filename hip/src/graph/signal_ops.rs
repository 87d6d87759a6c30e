//! Operations on signals, as nodes keep them.

use std::ptr;
use std::sync::Arc;

use hip_sys::{hipBatchMemOpNodeParams, hipCtx_t, hipStreamBatchMemOpParams};
use smallvec::SmallVec;

use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::stream::SignalOp;
use crate::stream::usage::Access;

/// The operations on signals of a node. The runtime reads them in place whenever a graph is instantiated or launched.
pub(super) struct SignalOps(Box<[hipStreamBatchMemOpParams]>);

// SAFETY: numbers, and the addresses of words that only the runtime dereferences; it is never changed after creation.
unsafe impl Send for SignalOps {}
// SAFETY: as above.
unsafe impl Sync for SignalOps {}

impl SignalOps {
    /// Maximum number of operations per node, the same as per call: the runtime's limit.
    const MOST: usize = 256;

    pub(super) fn new(operations: &[SignalOp<'_>]) -> Result<Arc<Self>> {
        if operations.is_empty() || operations.len() > Self::MOST {
            return Err(Error::InvalidValue {
                what: "the operations on signals of a node",
                value: operations.len().to_string(),
                allowed: format!("from 1 to {}", Self::MOST),
            });
        }
        Ok(Arc::new(Self(operations.iter().map(SignalOp::raw).collect())))
    }

    pub(super) fn accesses<'a>(operations: &'a [SignalOp<'_>]) -> SmallVec<[Access<'a>; 8]> {
        operations.iter().map(SignalOp::access).collect()
    }

    /// Returns the C parameters.
    pub(super) fn params(&self, device: Device) -> Result<hipBatchMemOpNodeParams> {
        device.activate()?;
        let mut context: hipCtx_t = ptr::null_mut();
        // SAFETY: `context` is valid for a write.
        let status = unsafe { hip_sys::hipCtxGetCurrent(&mut context) };
        check(status, "hipCtxGetCurrent", || format!("that of device {}", device.index()))?;
        // The runtime only reads them.
        let operations = self.0.as_ptr().cast_mut();
        Ok(hipBatchMemOpNodeParams { ctx: context, count: self.0.len() as u32, paramArray: operations, flags: 0 })
    }
}
