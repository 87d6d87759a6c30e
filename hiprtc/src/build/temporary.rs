//! What a compilation needs for a while: a folder, and the messages so far.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::clang::file_error;
use crate::error::Result;

/// The compiler's messages for several architectures, without repetitions.
#[derive(Default)]
pub(super) struct Log(pub(super) String);

impl Log {
    pub(super) fn add(&mut self, messages: &str) {
        let new: Vec<&str> = messages.lines().filter(|line| !self.0.lines().any(|known| known == *line)).collect();
        new.iter().for_each(|line| self.0 += &format!("{line}\n"));
    }
}

/// A private folder for temporary files, removed with its content on drop.
pub(super) struct Temporary(pub(super) PathBuf);

impl Temporary {
    pub(super) fn new(parent: &Path) -> Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("hiprtc-build-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let path = parent.join(name);
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        // Creation fails if the folder exists: it could belong to another user.
        builder.create(&path).map_err(|reason| file_error(&path, reason))?;
        Ok(Self(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
