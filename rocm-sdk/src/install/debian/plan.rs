//! What an installation will download, before it does.

use std::fmt;
use std::path::PathBuf;

use super::Package;
use crate::install::bytes::Bytes;

/// What is going to be downloaded and unpacked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// Where to.
    pub folder: PathBuf,
    /// The packages, with what they depend on.
    pub packages: Vec<Package>,
    /// Bytes still to be downloaded; what an earlier, interrupted run has left is not counted again.
    pub download: u64,
    /// Bytes that the packages take when they are unpacked, as they say themselves.
    pub unpacked: u64,
    /// Bytes free in the folder.
    pub free: u64,
}

impl Plan {
    /// Bytes needed while it is being done: the packages and what they hold.
    pub fn needed(&self) -> u64 {
        self.download.saturating_add(self.unpacked)
    }
}

/// One line: how many packages, what is downloaded, what it takes in the end, and where.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} packages for {}: {} to download, {} on disk ({} free)",
            self.packages.len(),
            self.folder.display(),
            Bytes(self.download),
            Bytes(self.unpacked),
            Bytes(self.free),
        )
    }
}
