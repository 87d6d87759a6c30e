//! The record of a device's loss.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use super::hip_error::HipError;
use super::lock::Mutex;

/// The loss of one device, if there was one.
#[derive(Default)]
pub(crate) struct Loss(pub(super) OnceLock<Arc<Found>>);

/// A loss, of one device or of all.
pub(super) struct Found {
    pub(super) device: Option<usize>,
    pub(super) first: HipError,
    pub(super) launches: Mutex<Launches>,
    /// Whether the loss was reported to the program.
    pub(super) told: AtomicBool,
}

/// Launches that were not known to be over when a device was lost.
#[derive(Default)]
pub(crate) struct Launches {
    pub(crate) names: Vec<String>,
    /// Streams whose launches could not be read, because a thread, perhaps the calling one, has locked them.
    pub(crate) unread: Vec<u64>,
}

impl Loss {
    #[inline]
    pub(crate) fn is_some(&self) -> bool {
        self.0.get().is_some()
    }
}
