//! The findings and the profile of a GPU.

use std::sync::Mutex;

use super::finding::Findings;
use super::profile::Store;

/// The findings and the profile of a GPU.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(super) findings: Mutex<Findings>,
    pub(super) profile: Mutex<Store>,
}
