//! One process at a time changes a wheel. The lock is the one that TheRock's Python takes (a record lock on the file),
//! so the two wait for each other.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use super::error::Error;

/// Held until it is dropped.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Locks the file, which need not exist if `create` is set; calls `waiting` once if another process has it.
    pub(super) fn take(path: &Path, create: bool, mut waiting: impl FnMut()) -> Result<Self, Error> {
        let mut told = false;
        // Windows' lock shuts everybody out, this process too: a file of its own.
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
            // Whoever had it may have put another file in its place.
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

/// Of the open file, not of the process: two threads exclude each other too, and closing another handle leaves it be.
#[cfg(target_os = "linux")]
fn lock(file: &File, command: libc::c_int) -> io::Result<bool> {
    use std::os::fd::AsRawFd as _;
    // SAFETY: all zeros is a value of this struct of integers.
    let mut whole: libc::flock = unsafe { std::mem::zeroed() };
    whole.l_type = libc::F_WRLCK as libc::c_short;
    whole.l_whence = libc::SEEK_SET as libc::c_short;
    loop {
        // SAFETY: the descriptor is open, and these commands read the struct, which lives through the call.
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

/// Opening it without sharing was the lock.
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
        // Gone: the next round says so.
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    fs::metadata(path).is_ok()
}
