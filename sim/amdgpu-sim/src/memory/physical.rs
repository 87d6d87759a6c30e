//! Physical memory: memory without an address.

use std::fmt;

use super::agent::Agent;
use super::error::MemoryError;
use super::pages::{self, Fd};

/// Memory without an address. It can be mapped at several addresses and in several processes.
pub struct Physical {
    pub(super) file: Fd,
    pub(super) size: u64,
    pub(super) owner: Option<Agent>,
}

impl Physical {
    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The GPU whose memory it counts as while it is mapped; `None` for host memory.
    pub fn owner(&self) -> Option<Agent> {
        self.owner
    }

    /// A file descriptor for the memory, for another process to [import](super::Memory::import_physical).
    ///
    /// # Errors
    /// [`MemoryError::NoPages`] if the process has too many open descriptors.
    #[cfg(target_os = "linux")]
    pub fn export(&self) -> Result<std::os::fd::OwnedFd, MemoryError> {
        pages::duplicate(&self.file).ok_or(MemoryError::NoPages { what: "another file descriptor" })
    }
}

#[cfg(target_os = "linux")]
impl std::os::fd::AsFd for Physical {
    /// The memory's file. While the descriptor is open, another process can also open the memory through `/proc`.
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl fmt::Debug for Physical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Physical").field("size", &self.size).field("owner", &self.owner).finish_non_exhaustive()
    }
}
