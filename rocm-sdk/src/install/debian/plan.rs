//! The plan of an installation before its download.

use std::fmt;
use std::path::PathBuf;

use super::Package;
use crate::install::bytes::Bytes;

/// The packages to download and unpack.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// The destination.
    pub folder: PathBuf,
    /// The packages, including dependencies.
    pub packages: Vec<Package>,
    /// Bytes still to download, without those of an earlier, interrupted run.
    pub download: u64,
    /// Unpacked size of the packages in bytes, according to the packages.
    pub unpacked: u64,
    /// Free space of the folder in bytes.
    pub free: u64,
}

impl Plan {
    /// Returns the space needed during the installation in bytes: the packages and their content.
    pub fn needed(&self) -> u64 {
        self.download.saturating_add(self.unpacked)
    }
}

/// Prints one line: the number of packages, the download size, the unpacked size, and the destination.
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
