//! Common code of batches: copies, prefetches, discards.

use std::fmt;

use hip_sys::{hipError_t, hipStream_t};

use super::graph_copy::{GraphCopy, GraphCopy3d};
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::Result;
use crate::core::trace;
use crate::stream::Stream;
use crate::stream::usage::Access;

/// The methods of every batch: `new`, `len`, `is_empty`. The field lists its operations.
macro_rules! batch {
    ($type:ident, $field:ident) => {
        impl $type<'_> {
            /// Creates an empty batch.
            #[must_use]
            pub fn new() -> Self {
                Self::default()
            }

            /// Returns the number of operations. Operations on no elements are left out.
            #[must_use]
            pub fn len(&self) -> usize {
                self.$field.len()
            }

            /// Returns whether there are no operations.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.$field.is_empty()
            }
        }
    };
}
pub(super) use batch;

/// A copy in a batch.
pub(super) trait Copied: fmt::Debug {
    fn device(&self) -> Device;
    fn accesses(&self) -> [Access<'_>; 2];
    fn bytes(&self) -> usize;
}

impl Copied for GraphCopy<'_> {
    fn device(&self) -> Device {
        self.device
    }

    fn accesses(&self) -> [Access<'_>; 2] {
        self.accesses
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Copied for GraphCopy3d<'_> {
    fn device(&self) -> Device {
        self.device
    }

    fn accesses(&self) -> [Access<'_>; 2] {
        self.accesses
    }

    fn bytes(&self) -> usize {
        self.extent.elements().unwrap_or(usize::MAX).saturating_mul(self.element_bytes)
    }
}

/// Returns `Ok` if copies can be queued on the stream as a batch.
pub(super) fn admit(stream: &Stream, copies: &[impl Copied]) -> Result<()> {
    // The runtime would copy immediately, and leave the copies out of the graph.
    stream.inner.refuse_captured("a batch of copies")?;
    copies.iter().try_for_each(|copy| stream.device().expect(copy.device(), "a copy of the batch"))
}

/// Queues copies with one call, which reports the index of a failed copy. Makes no call if there are no copies.
pub(super) fn submit(
    stream: &Stream,
    copies: &[impl Copied],
    function: &'static str,
    call: impl FnOnce(&mut usize, hipStream_t) -> hipError_t,
) -> Result<()> {
    let Some(last) = copies.len().checked_sub(1) else { return Ok(()) };
    let accesses: Vec<Access<'_>> = copies.iter().flat_map(Copied::accesses).collect();
    let bytes = copies.iter().map(Copied::bytes).fold(0, usize::saturating_add);
    trace::copy(Some(stream.device()), Some(stream.inner.id()), "batch", bytes);
    stream.inner.submit(&accesses, None, |raw| {
        let mut failed = usize::MAX;
        check(call(&mut failed, raw), function, || match copies.get(failed) {
            Some(copy) => format!("copy {failed} of 0 to {last}: {copy:?}"),
            None => format!("{} copies", last + 1),
        })
    })
}
