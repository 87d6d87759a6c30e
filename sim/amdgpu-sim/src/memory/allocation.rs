//! Allocations, and requests for them.

use std::fmt;

use super::agent::{Agent, Agents, Rights};

/// The minimum alignment in bytes of [`Memory::alloc`](super::Memory::alloc), as for `hipMalloc`.
pub const MIN_ALIGN: u64 = 256;

/// The largest alignment that [`Memory::alloc`](super::Memory::alloc) accepts.
pub const MAX_ALIGN: u64 = 1 << 30;

/// The purpose of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AllocKind {
    /// Device memory.
    Device,
    /// Host memory that the device can access (pinned).
    Host,
    /// Memory for both sides (managed, unified).
    Managed,
    /// A segment of a loaded code object: instructions, constants and read-only data.
    Code,
    /// A segment of a loaded code object: device variables.
    Globals,
    /// The arguments of a kernel.
    Kernarg,
    /// Memory of the program, made accessible by [`Memory::register_host`](super::Memory::register_host).
    Registered,
}

impl fmt::Display for AllocKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "device memory",
            Self::Host => "pinned host memory",
            Self::Managed => "managed memory",
            Self::Code => "code and constants",
            Self::Globals => "device variables",
            Self::Kernarg => "kernel arguments",
            Self::Registered => "registered host memory",
        })
    }
}

/// An allocation, live or freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Address of the first byte.
    pub base: u64,
    /// Size in bytes.
    pub size: u64,
    /// Its purpose.
    pub kind: AllocKind,
    /// Whether kernels may write it.
    pub writable: bool,
    /// The GPU whose memory it uses; `None` for host memory.
    pub owner: Option<Agent>,
    /// The GPUs' access rights.
    pub rights: Rights,
}

impl Allocation {
    /// Address just past the last byte.
    pub fn end(&self) -> u64 {
        self.base.saturating_add(self.size)
    }

    /// The end for reads: the next multiple of `granule`.
    pub(crate) fn read_end(&self, granule: u64) -> u64 {
        self.end().checked_next_multiple_of(granule).unwrap_or(self.end())
    }

    /// Whether `address` is inside the allocation.
    pub fn contains(&self, address: u64) -> bool {
        address >= self.base && address < self.end()
    }

    /// Bytes between `address` and this allocation; 0 inside it.
    pub(super) fn distance(&self, address: u64) -> u64 {
        if address < self.base {
            self.base - address
        } else if address < self.end() {
            0
        } else {
            (address - self.end()).saturating_add(1)
        }
    }
}

impl fmt::Display for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of {} at {:#x}..{:#x}", self.size, self.kind, self.base, self.end())
    }
}

/// The allocation nearest to an address, for error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// The allocation.
    pub allocation: Allocation,
    /// Whether it has been freed.
    pub freed: bool,
    /// The address in question.
    pub address: u64,
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Allocation { base, .. } = self.allocation;
        let end = self.allocation.end();
        if self.address < base {
            write!(f, "{} bytes before ", base - self.address)?;
        } else if self.address >= end {
            write!(f, "{} bytes past the end of ", self.address - end)?;
        } else {
            write!(f, "at byte {} of ", self.address - base)?;
        }
        write!(f, "{}{}", if self.freed { "freed " } else { "" }, self.allocation)
    }
}

/// The parameters of an allocation. [`Request::new`] returns one to modify.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Bytes.
    pub size: u64,
    /// Alignment in bytes: a power of two up to [`MAX_ALIGN`]; values below [`MIN_ALIGN`] mean [`MIN_ALIGN`].
    pub align: u64,
    /// Its purpose.
    pub kind: AllocKind,
    /// The GPU whose memory it uses; `None` for host memory, which no limit counts.
    pub owner: Option<Agent>,
    /// The GPUs' access rights.
    pub rights: Rights,
}

impl Request {
    /// A request for `size` bytes of memory of `owner`, for its use only; or of the host, for all GPUs.
    pub fn new(size: u64, kind: AllocKind, owner: Option<Agent>) -> Self {
        Self { size, align: MIN_ALIGN, kind, owner, rights: Rights::full(owner.map_or(Agents::ALL, Agents::of)) }
    }
}
