//! Memory of other APIs.

use std::sync::Arc;

use amdgpu_sim::Physical;

/// The memory behind a `hipExternalMemory_t`.
pub(crate) struct ExternalMemory {
    pub(crate) physical: Arc<Physical>,
    pub(crate) device: usize,
    /// The size in bytes that the program passed.
    pub(crate) size: u64,
}
