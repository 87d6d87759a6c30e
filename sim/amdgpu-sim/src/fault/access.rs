//! Accesses: their kinds, and why one is not permitted.

use crate::memory::Agent;

/// The kind of memory that was accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Space {
    /// Device and host memory.
    Global,
    /// The workgroup's LDS; addresses are offsets into it.
    Lds,
    /// A lane's scratch; addresses are offsets into it.
    Private,
}

/// The kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Access {
    /// A read.
    Read,
    /// A write.
    Write,
    /// An atomic read-modify-write.
    Atomic,
    /// An instruction fetch.
    Fetch,
}

/// Why an access is not permitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Denied {
    /// Not completely inside a live allocation (or the kernel's LDS or scratch).
    OutOfBounds,
    /// Inside a freed allocation.
    Freed,
    /// The memory is read-only for kernels, or for kernels of this GPU.
    ReadOnly,
    /// The memory belongs to another GPU (or the host), and the GPU has no access to it.
    NoAccess {
        /// The GPU that ran the kernel.
        agent: Agent,
        /// The GPU that owns the memory; `None` for host memory.
        owner: Option<Agent>,
    },
    /// The address is not a multiple of this many bytes.
    Misaligned(u32),
}
