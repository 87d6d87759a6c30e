//! Directories that may hold an installation.

use std::path::PathBuf;

use crate::folders::LIBRARY_DIRS;
use crate::installs;
use crate::report::Origin;
use crate::version::{Release, release_at};

/// A directory that may hold a ROCm installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// Its root, an absolute path.
    pub root: PathBuf,
    /// The step of the search that names it.
    pub origin: Origin,
}

impl Installation {
    /// Its release, as it states it.
    pub fn release(&self) -> Option<Release> {
        release_at(&self.root)
    }

    /// The directories that may contain its libraries. One with a loader comes first: an installation with a C library
    /// of its own has the libraries there, and in others only links to them.
    pub fn library_dirs(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let mut dirs: Vec<PathBuf> = LIBRARY_DIRS.iter().map(|dir| self.root.join(dir)).collect();
        let others = |dir: &PathBuf| !dir.ends_with("lib64") && dir.join(installs::LOADER).is_file();
        if let Some(at) = dirs.iter().position(others) {
            dirs[..=at].rotate_right(1);
        }
        dirs.into_iter()
    }
}
