//! Accesses that are not permitted.

use crate::fault::{Access, Denied, Space};

/// An access that is not permitted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AccessFault {
    pub(crate) space: Space,
    pub(crate) access: Access,
    pub(crate) address: u64,
    pub(crate) bytes: u32,
    pub(crate) why: Denied,
    /// The first invalid lane; `None` for scalar accesses.
    pub(crate) lane: Option<u32>,
}

/// The result of a part of a handler.
pub(super) type Checked<T = ()> = Result<T, Box<AccessFault>>;
