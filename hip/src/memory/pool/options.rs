//! Options and usage of pools.

use hip_sys::{
    hipMemAccessFlags, hipMemAccessFlagsProtNone, hipMemAccessFlagsProtRead, hipMemAccessFlagsProtReadWrite,
    hipMemAllocationTypePinned, hipMemHandleTypeNone, hipMemHandleTypePosixFileDescriptor, hipMemPoolProps,
};

use crate::core::device::Device;
use crate::memory::location::location;

/// Options for creating a [`MemoryPool`](super::MemoryPool). The default: unlimited size, not shareable with other
/// processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolOptions {
    shareable: bool,
    max_bytes: usize,
}

impl PoolOptions {
    /// Creates the default options: unlimited size, not shareable with other processes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether the pool can be [exported](super::MemoryPool::export) to other processes.
    #[must_use]
    pub fn shareable(mut self, shareable: bool) -> Self {
        self.shareable = shareable;
        self
    }

    /// Sets the maximum size of the pool in bytes, 0 for unlimited. Runtimes before ROCm 6.2, and programs built for an
    /// API level before `rocm-6-2`, ignore it.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    pub(super) fn properties(self, device: &Device) -> hipMemPoolProps {
        hipMemPoolProps {
            allocType: hipMemAllocationTypePinned,
            handleTypes: if self.shareable { hipMemHandleTypePosixFileDescriptor } else { hipMemHandleTypeNone },
            location: location(device),
            #[cfg(feature = "rocm-6-2")]
            maxSize: self.max_bytes,
            ..hipMemPoolProps::default()
        }
    }
}

/// Usage of a pool in bytes ([`MemoryPool::usage`](super::MemoryPool::usage)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolUsage {
    /// Currently reserved from the system.
    pub reserved: u64,
    /// Highest reserved amount since [`reset_high_watermarks`](super::MemoryPool::reset_high_watermarks).
    pub reserved_high: u64,
    /// Currently in buffers.
    pub used: u64,
    /// Highest amount in buffers.
    pub used_high: u64,
}

/// When memory that was freed in the order of one stream may be reused in the order of another. By default, all are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolReuse {
    /// If the second stream already waits for the first one's free, through an event.
    pub event_dependencies: bool,
    /// If the free has already completed.
    pub opportunistic: bool,
    /// Always: the runtime makes the second stream wait for the free.
    pub internal_dependencies: bool,
}

impl Default for PoolReuse {
    /// All on, as in a new pool.
    fn default() -> Self {
        Self { event_dependencies: true, opportunistic: true, internal_dependencies: true }
    }
}

/// The access of a device to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemoryAccess {
    /// No access.
    None,
    /// Read.
    Read,
    /// Read and write.
    ReadWrite,
}

impl MemoryAccess {
    pub(crate) fn raw(self) -> hipMemAccessFlags {
        match self {
            Self::None => hipMemAccessFlagsProtNone,
            Self::Read => hipMemAccessFlagsProtRead,
            Self::ReadWrite => hipMemAccessFlagsProtReadWrite,
        }
    }

    /// Converts C's flags; an unknown value counts as the least access that it can mean.
    pub(crate) fn from_raw(flags: hipMemAccessFlags) -> Self {
        match flags.0 {
            value if value == hipMemAccessFlagsProtReadWrite.0 => Self::ReadWrite,
            value if value == hipMemAccessFlagsProtRead.0 => Self::Read,
            _ => Self::None,
        }
    }
}
