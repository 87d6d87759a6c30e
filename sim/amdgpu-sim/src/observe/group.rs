//! The observed state of a running workgroup.

use super::{init, race};

/// The state of a running workgroup.
#[derive(Default)]
pub(crate) struct GroupState {
    /// Number of its first wave in the dispatch.
    pub(super) first: u32,
    /// The last barrier that each wave has reached.
    pub(super) barriers: Vec<u32>,
    pub(super) race: race::Group,
    pub(super) init: init::Group,
}
