//! Streams of execution contexts.

use std::sync::Arc;

use hip_sys::hipDevResource_st;

use super::{ComputeUnits, ExecutionContext};
use crate::core::call::check;
use crate::core::error::{Error, Result};
use crate::stream::{Stream, StreamInner, StreamOptions, create_in_context};

impl Stream {
    /// Creates a stream whose kernels run on the compute units of an execution context (`hipExecutionCtxStreamCreate`).
    /// It keeps the context, and does not wait for the legacy default stream.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for a [`blocking`](StreamOptions::blocking) stream, which contexts do not support, and
    /// for a priority outside of [`Device::stream_priority_range`](crate::Device::stream_priority_range).
    #[doc(alias("hipExecutionCtxStreamCreate", "cudaExecutionCtxStreamCreate"))]
    pub fn in_context(context: &ExecutionContext, options: StreamOptions) -> Result<Self> {
        if options.blocking {
            return Err(Error::InvalidValue {
                what: "a stream of an execution context",
                value: "one that waits for the default stream".to_owned(),
                allowed: "one that is not blocking".to_owned(),
            });
        }
        let device = context.device();
        if let Some(priority) = options.priority {
            Self::check_priority(&device, priority)?;
        }
        let raw = create_in_context(context.inner(), options.priority.unwrap_or(0))?;
        let inner = StreamInner::of_context(raw, context.inner());
        Ok(Self { inner })
    }

    /// Returns the execution context, if the stream was created [in one](Self::in_context).
    #[must_use]
    pub fn execution_context(&self) -> Option<ExecutionContext> {
        self.inner.context.as_ref().map(|context| ExecutionContext::from_inner(Arc::clone(context)))
    }

    /// Returns the compute units that its kernels may run on (`hipStreamGetDevResource`): those of its execution
    /// context or its [mask](Self::with_cu_mask), else all.
    ///
    /// # Errors
    /// [`Error::NoSymbol`] from a runtime before 10.0.
    #[doc(alias("hipStreamGetDevResource", "cuStreamGetDevResource", "cudaStreamGetDevResource"))]
    pub fn compute_units(&self) -> Result<ComputeUnits> {
        self.inner.device().activate()?;
        let mut raw = hipDevResource_st::default();
        // SAFETY: the stream is alive as long as `inner`; `raw` is valid for a write.
        let status =
            unsafe { hip_sys::hipStreamGetDevResource(self.inner.raw(), &mut raw, hip_sys::hipDevResourceTypeSm) };
        check(status, "hipStreamGetDevResource", || self.inner.describe())?;
        ComputeUnits::from_raw(raw, self.device(), 0).ok_or_else(|| Error::Unsupported {
            what: "a resource of compute units",
            reason: format!("{} gives none", self.inner.describe()),
        })
    }
}
