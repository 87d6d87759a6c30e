//! How a pool is made and what it says of itself.

use hip_sys::{
    hipMemAccessFlags, hipMemAccessFlagsProtNone, hipMemAccessFlagsProtRead, hipMemAccessFlagsProtReadWrite,
    hipMemAllocationTypePinned, hipMemHandleTypeNone, hipMemHandleTypePosixFileDescriptor, hipMemPoolProps,
};

use super::location;
use crate::core::device::Device;

/// How a [`MemoryPool`](super::MemoryPool) is made. The default: of any size, not to be shared with other processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolOptions {
    shareable: bool,
    max_bytes: usize,
}

impl PoolOptions {
    /// Of any size, not to be shared with other processes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the pool can be [exported](super::MemoryPool::export) to other processes.
    #[must_use]
    pub fn shareable(mut self, shareable: bool) -> Self {
        self.shareable = shareable;
        self
    }

    /// The most bytes that the pool may have, 0 for no limit of its own. Runtimes before ROCm 6.2, and programs built for
    /// an API level before `rocm-6-2`, know of no such limit and ignore it.
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

/// Bytes of a pool ([`MemoryPool::usage`](super::MemoryPool::usage)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolUsage {
    /// Had from the system now.
    pub reserved: u64,
    /// The most that was had since [`reset_high_watermarks`](super::MemoryPool::reset_high_watermarks).
    pub reserved_high: u64,
    /// In buffers now.
    pub used: u64,
    /// The most that was in buffers.
    pub used_high: u64,
}

/// When memory that was freed in the order of one stream may be allocated in the order of another. All are on unless set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolReuse {
    /// When the second stream already waits for the first one's free, by an event.
    pub event_dependencies: bool,
    /// When the free has come to pass.
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

/// What a device may do with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemoryAccess {
    /// Nothing.
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

    /// The least that an unknown value can mean.
    pub(crate) fn from_raw(flags: hipMemAccessFlags) -> Self {
        match flags.0 {
            value if value == hipMemAccessFlagsProtReadWrite.0 => Self::ReadWrite,
            value if value == hipMemAccessFlagsProtRead.0 => Self::Read,
            _ => Self::None,
        }
    }
}
