//! Streams.

use std::sync::Arc;

use crate::execution::Context;
use crate::queue::QueueKey;
use crate::units::UnitSet;

/// The stream behind a `hipStream_t`.
pub(crate) struct Stream {
    pub(crate) queue: QueueKey,
    pub(crate) device: usize,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    /// The compute units that the stream was restricted to, if any.
    pub(crate) units: Option<UnitSet>,
    /// The execution context that the stream was created in, if any.
    pub(crate) context: Option<Arc<Context>>,
}
