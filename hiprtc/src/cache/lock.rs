//! Makes one process at a time write an entry. A lock is a file next to the entry, which its last user removes.

use std::path::Path;

/// A lock, held until it is dropped.
pub(super) struct Lock {
    #[cfg(unix)]
    file: (std::fs::File, std::path::PathBuf),
}

#[cfg(unix)]
impl Lock {
    /// How long to wait for a process, which may have been stopped. After that both compile.
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

    /// Takes the lock of the entry at `place`; `None` if it cannot be created, or its holder takes too long.
    pub(super) fn take(place: &Path) -> Option<Self> {
        use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};

        use rustix::fs::{FlockOperation, OFlags, flock};

        super::store::make_folder(place.parent()?).ok()?;
        let path = place.with_extension("lock");
        let end = std::time::Instant::now() + Self::PATIENCE;
        let mut options = std::fs::OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        // Opening a foreign pipe of this name would block.
        options.custom_flags(OFlags::NONBLOCK.bits() as i32);
        loop {
            let file = options.open(&path).ok()?;
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
                // Its last holder has removed the file: other processes open a new one.
                let same = |there: std::fs::Metadata| file.metadata().is_ok_and(|ours| ours.ino() == there.ino());
                if std::fs::metadata(&path).is_ok_and(same) {
                    return Some(Self { file: (file, path) });
                }
                continue;
            }
            if std::time::Instant::now() > end {
                return None;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

#[cfg(unix)]
impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while it is still locked: see above. Closing the file unlocks it.
        let _ = std::fs::remove_file(&self.file.1);
    }
}

#[cfg(not(unix))]
impl Lock {
    /// This platform has no locks: each process compiles on its own, and the last one's entry stays.
    pub(super) fn take(_: &Path) -> Option<Self> {
        Some(Self {})
    }
}
