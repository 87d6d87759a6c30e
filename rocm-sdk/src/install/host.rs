//! Differences between operating systems.

use std::fs::File;
use std::io;
use std::path::Path;

/// Returns whether this process runs as root.
pub(crate) fn is_root() -> bool {
    #[cfg(unix)]
    return rustix::process::geteuid().is_root();
    #[cfg(not(unix))]
    false
}

/// Locks the file for this process until it is closed. With `wait`, it blocks until others release the lock; without,
/// it returns `false` if another process holds it.
pub(crate) fn lock(file: &File, wait: bool) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use rustix::fs::{FlockOperation, flock};
        use rustix::io::Errno;
        let operation = if wait { FlockOperation::LockExclusive } else { FlockOperation::NonBlockingLockExclusive };
        loop {
            match flock(file, operation) {
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) if !wait => return Ok(false),
                other => return Ok(other.map(|()| true)?),
            }
        }
    }
    #[cfg(not(unix))]
    {
        let _ = (file, wait);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Returns the bytes that this user may still write in the file system of `folder`.
pub(crate) fn free_space(folder: &Path) -> io::Result<u64> {
    #[cfg(unix)]
    {
        let stat = rustix::fs::statvfs(folder)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Flushes the file system of `folder` to disk, so that after a power failure a later rename never exposes files
/// without content.
pub(crate) fn sync(folder: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(File::open(folder)?)?;
    let _ = folder;
    Ok(())
}

/// Exchanges two folders in one step, if the file system supports it.
pub(crate) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (one, other);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Makes a symbolic link to `target` at `link`, replacing an existing one.
pub(crate) fn link(target: &Path, link: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        if std::fs::symlink_metadata(link).is_ok_and(|data| data.is_symlink()) {
            std::fs::remove_file(link)?;
        }
        std::os::unix::fs::symlink(target, link)
    }
    #[cfg(not(unix))]
    {
        let _ = (target, link);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Copies the symbolic link at `from` to `to`.
pub(crate) fn copy_link(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::symlink(std::fs::read_link(from)?, to);
    #[cfg(not(unix))]
    {
        let _ = (from, to);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Removes the set-uid and set-gid bits of a file.
pub(crate) fn drop_special_rights(path: &Path, data: &std::fs::Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = data.permissions().mode();
        if mode & 0o7000 != 0 {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode & 0o777))?;
        }
    }
    let _ = (path, data);
    Ok(())
}
