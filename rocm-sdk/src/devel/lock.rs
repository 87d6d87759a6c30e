//! Allows one process at a time to change a wheel. The lock is the one that TheRock's Python takes (a record lock on
//! the file), so both wait for each other.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use super::error::Error;

/// A lock, held until it is dropped.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Locks the file, which must exist unless `create` is set; calls `waiting` once if another process holds the lock.
    pub(super) fn take(path: &Path, create: bool, mut waiting: impl FnMut()) -> Result<Self, Error> {
        let mut told = false;
        // A lock on Windows excludes everyone, including this process, so it is on a separate file.
        let aside = cfg!(windows).then(|| path.with_extension("rocm-sdk-lock"));
        let (path, create) = aside.as_deref().map_or((path, create), |aside| (aside, true));
        loop {
            let mut options = OpenOptions::new();
            options.read(true).append(true).create(create);
            let file = open(&options, path).map_err(Error::io("open for writing", path))?;
            if !try_lock(&file).map_err(Error::io("lock", path))? {
                if !std::mem::replace(&mut told, true) {
                    waiting();
                }
                wait_for(&file).map_err(Error::io("lock", path))?;
            }
            // The previous holder may have replaced the file.
            if is_at(&file, path) {
                return Ok(Self { _file: file });
            }
        }
    }
}

fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(windows)]
    {
        use std::os::windows::fs::OpenOptionsExt as _;
        const SHARING_VIOLATION: i32 = 32;
        loop {
            match options.clone().share_mode(0).open(path) {
                Err(e) if e.raw_os_error() == Some(SHARING_VIOLATION) => {
                    std::thread::sleep(std::time::Duration::from_millis(50));
                }
                opened => return opened,
            }
        }
    }
    #[cfg(not(windows))]
    options.open(path)
}

#[cfg(target_os = "linux")]
fn try_lock(file: &File) -> io::Result<bool> {
    lock(file, libc::F_OFD_SETLK)
}

#[cfg(target_os = "linux")]
fn wait_for(file: &File) -> io::Result<()> {
    lock(file, libc::F_OFD_SETLKW).map(|_| ())
}

/// The lock belongs to the open file, not the process: it also excludes other threads, and closing another handle does
/// not release it.
#[cfg(target_os = "linux")]
fn lock(file: &File, command: libc::c_int) -> io::Result<bool> {
    use std::os::fd::AsRawFd as _;
    // SAFETY: all zeros is a valid value of this structure of integers.
    let mut whole: libc::flock = unsafe { std::mem::zeroed() };
    whole.l_type = libc::F_WRLCK as libc::c_short;
    whole.l_whence = libc::SEEK_SET as libc::c_short;
    loop {
        // SAFETY: the descriptor is open, and these commands read the structure, which lives through the call.
        if unsafe { libc::fcntl(file.as_raw_fd(), command, &raw const whole) } == 0 {
            return Ok(true);
        }
        match io::Error::last_os_error() {
            e if matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => return Ok(false),
            e if e.kind() == io::ErrorKind::Interrupted => {}
            e => return Err(e),
        }
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
fn try_lock(file: &File) -> io::Result<bool> {
    flock(file, libc::LOCK_EX | libc::LOCK_NB)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn wait_for(file: &File) -> io::Result<()> {
    flock(file, libc::LOCK_EX).map(|_| ())
}

#[cfg(all(unix, not(target_os = "linux")))]
fn flock(file: &File, operation: libc::c_int) -> io::Result<bool> {
    use std::os::fd::AsRawFd as _;
    loop {
        // SAFETY: the descriptor is open.
        if unsafe { libc::flock(file.as_raw_fd(), operation) } == 0 {
            return Ok(true);
        }
        match io::Error::last_os_error() {
            e if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            e if e.kind() == io::ErrorKind::Interrupted => {}
            e => return Err(e),
        }
    }
}

/// Opening the file without sharing is the lock.
#[cfg(windows)]
fn try_lock(_: &File) -> io::Result<bool> {
    Ok(true)
}

#[cfg(windows)]
fn wait_for(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        // The file no longer exists: the next round reports that.
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    fs::metadata(path).is_ok()
}
