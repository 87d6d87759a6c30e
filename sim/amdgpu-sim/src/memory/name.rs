//! Names by which other processes open memory.
//!
//! Memory without an address is in an anonymous file of its process (`memfd`). Another process of the same user opens
//! it as `/proc/PID/fd/N`. So nothing is left behind when a process ends, and no server is needed. A name identifies
//! the process and the file, with enough data to detect a stale or invented name.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;

use super::{MemoryError, Physical};

/// The name of a [`Physical`] for other processes, as long as the process that made it keeps it.
///
/// ```
/// use amdgpu_sim::{Config, Gpu, SharedName};
///
/// let gpu = Gpu::new(Config::default());
/// let memory = gpu.memory().create_physical(4096, None)?;
/// let words = memory.name()?.words(); // to be sent to another process
/// let file = SharedName::from_words(words).open().expect("it is there");
/// assert_eq!(gpu.memory().import_physical(file, None)?.size(), 4096);
/// drop(memory);
/// assert!(SharedName::from_words(words).open().is_none());
/// # Ok::<(), amdgpu_sim::MemoryError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedName {
    process: u32,
    /// The start time of the process, since process IDs are reused.
    started: u32,
    descriptor: u32,
    /// The file's inode number, since descriptor numbers are reused.
    file: u64,
}

impl SharedName {
    /// The words to send.
    pub fn words(&self) -> [u32; 5] {
        [self.process, self.started, self.descriptor, self.file as u32, (self.file >> 32) as u32]
    }

    /// From the result of [`words`](Self::words) in the other process.
    pub fn from_words([process, started, descriptor, low, high]: [u32; 5]) -> Self {
        Self { process, started, descriptor, file: u64::from(high) << 32 | u64::from(low) }
    }

    /// The process that owns the memory.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Opens the memory's file for [`Memory::import_physical`](super::Memory::import_physical). `None` if the process
    /// or the memory no longer exists, or belongs to another user.
    pub fn open(&self) -> Option<OwnedFd> {
        let path = format!("/proc/{}/fd/{}", self.process, self.descriptor);
        let started = started(self.process)?;
        let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
        // Checked after opening: if the process is still the same, so was the one whose file was opened.
        let same = started == self.started && file.metadata().ok()?.ino() == self.file;
        same.then(|| file.into())
    }
}

/// The start time of a process, in the kernel's ticks.
fn started(process: u32) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may contain anything; the time is the 20th field after it.
    let fields = text.rsplit_once(')')?.1;
    Some(fields.split_ascii_whitespace().nth(19)?.parse::<u64>().ok()? as u32)
}

impl Physical {
    /// A name by which another process of this user can open the memory while this process keeps it.
    ///
    /// # Errors
    /// [`MemoryError::NoPages`] if the system provides no information about the process or the memory.
    pub fn name(&self) -> Result<SharedName, MemoryError> {
        let refused = || MemoryError::NoPages { what: "name for memory (from /proc)" };
        let process = std::process::id();
        let file = File::from(self.as_fd().try_clone_to_owned().map_err(|_| refused())?);
        Ok(SharedName {
            process,
            started: started(process).ok_or_else(refused)?,
            descriptor: self.as_fd().as_raw_fd() as u32,
            file: file.metadata().map_err(|_| refused())?.ino(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Gpu};

    #[test]
    fn what_is_gone_is_not_opened() {
        let gpu = Gpu::new(Config::default());
        let physical = gpu.memory().create_physical(8192, None).unwrap();
        let good = physical.name().unwrap();
        assert_eq!(SharedName::from_words(good.words()), good);
        assert!(good.open().is_some() && good.process() == std::process::id());
        assert!(SharedName { started: good.started ^ 1, ..good }.open().is_none(), "another process of that number");
        assert!(SharedName { file: good.file ^ 1, ..good }.open().is_none(), "another file of that number");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert!(SharedName { process: child.id(), ..good }.open().is_none(), "a process that has ended");
        drop(physical);
        assert!(good.open().is_none(), "memory that is gone");
    }
}
